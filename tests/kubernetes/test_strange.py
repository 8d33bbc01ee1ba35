"""What an object says that its kind's row doesn't list."""

from __future__ import annotations

from planner.kubernetes.unmodelled_fields import strange_fields, strange_notes, tree

KNOWN = tree(
    ("spec.tasks[].replicas", "spec.sets{}.template", "spec.tasks[].scale.", "spec.policy.ends", "spec.policy")
)


def test_what_is_listed_is_known_with_all_below_it() -> None:
    document = {
        "apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "status": {"pods": 3},
        "spec": {"tasks": [{"replicas": 2}, {"replicas": {"any": 1}, "scale": {}}], "sets": {"A": {"template": {"spec": 1}}}, "policy": {"other": 1}},
    }  # fmt: skip
    assert list(strange_fields(document, KNOWN)) == []


def test_all_else_is_strange_unless_it_says_nothing() -> None:
    tasks = [
        {"replicas": 2, "dependsOn": ["a"], "scale": {"deleted": ["a"]}},
        {"empty": [], "none": None, "suspend": False, "off": False, "said": True},
    ]
    document = {"data": {"a": 1}, "spec": {"tasks": tasks, "sets": {"A": {"replicas": 0}}}}
    assert list(strange_fields(document, KNOWN)) == [
        "data",
        "spec.tasks[0].dependsOn",
        "spec.tasks[0].scale.deleted",
        "spec.tasks[1].off",  # a default of true may be switched off by it
        "spec.tasks[1].said",
        "spec.sets.A.replicas",
    ]


def test_a_name_may_be_known_with_one_value_alone() -> None:
    known = tree(("spec.tasks[].replicas", 'spec.tasks[].mode="a.b"', "spec.tasks[].rank=0"))
    assert list(strange_fields({"spec": {"tasks": [{"replicas": 2, "mode": "a.b", "rank": 0}]}}, known)) == []
    others: list[dict[str, object]] = [{"mode": "a", "rank": 1}, {"mode": {"a": "b"}, "rank": "0"}, {"rank": False}]
    assert list(strange_fields({"spec": {"tasks": others}}, known)) == [
        f"spec.tasks[{place}].{name}" for place, one in enumerate(others) for name in one
    ]


def test_another_shape_than_listed_is_strange() -> None:
    assert list(strange_fields({"spec": ["a"]}, KNOWN)) == ["spec"]
    assert list(strange_fields({"spec": {"tasks": {"replicas": 1}}}, KNOWN)) == ["spec.tasks.replicas"]
    assert list(strange_fields({"spec": {"tasks": 3}}, KNOWN)) == ["spec.tasks"]


def test_annotations_and_labels_that_a_controller_of_pods_reads_are_strange_unless_listed() -> None:
    notes = {
        "ray.io/gang": "true",
        "ray.io/fine": "x",
        "mode.kserve.io/m": "b",
        "app.kubernetes.io/name": "x",
        "xray.io/a": "b",
    }
    template = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q", "jobset.sigs.k8s.io/a": "b"}}}
    document = {"metadata": {"annotations": notes}, "spec": {"sets": [{"template": template}]}}
    known = {"ray.io/fine", "mode.kserve.io/m=b"}
    assert list(strange_notes(document, known)) == [
        "metadata.annotations[ray.io/gang]",
        "spec.sets[0].template.metadata.labels[jobset.sigs.k8s.io/a]",
    ]
    assert "metadata.annotations[mode.kserve.io/m]" in strange_notes(document, {"mode.kserve.io/m=other"})
