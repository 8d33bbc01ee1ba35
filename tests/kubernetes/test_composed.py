"""Pods of kinds that paths and counts don't tell, counted by hand from each project's own documentation."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kubernetes.composite_kinds import cron_workflow, llm_inference_service, workflow

Item = dict[str, Any]
TRAIN = {"name": "train", "container": {"image": "x", "resources": {"limits": {"nvidia.com/gpu": 8}}}}
EVAL = {"name": "eval", "script": {"image": "x", "source": "…", "resources": {"limits": {"nvidia.com/gpu": "2"}}}}
TALK = {"name": "talk", "container": {"image": "x"}}


def step(template: str, name: str = "a", **more: Any) -> Item:
    return {"name": name, "template": template, **more}


def main(**more: Any) -> Item:
    return {"spec": {"entrypoint": "main", "templates": [{"name": "main", **more}, TRAIN, EVAL, TALK]}}


def told(document: Item) -> tuple[dict[str, int], list[str]]:
    found = workflow(document)
    return {one.role: one.count for one in found.sets}, list(found.untold)


def dag(*tasks: Item) -> Item:
    return main(dag={"tasks": list(tasks)})


@pytest.mark.parametrize(
    ("document", "pods"),
    [
        ({"spec": {"entrypoint": "train", "templates": [TRAIN, EVAL]}}, {"train": 1}),
        (main(steps=[[step("train")], [step("train")]]), {"train": 1}),
        (main(steps=[[step("train"), step("train", "b")]]), {"train": 2}),
        (main(steps=[[step("eval", withItems=[1, 2, 3])], [step("talk")]]), {"eval": 3, "talk": 0}),
        (main(steps=[[step("eval", withSequence={"count": "5"})]]), {"eval": 5}),
        (main(steps=[[step("eval", withSequence={"start": "2", "end": "4"})]]), {"eval": 3}),
        (main(steps=[[step("eval", withItems=[1, 2, 3]), step("train", "b")]], parallelism=2), {"eval": 1, "train": 1}),
        (main(steps=[[step("train", when="{{x}} == 1")]]), {"train": 1}),
        (main(steps=[[step("talk", withParam="{{steps.a.outputs.result}}")]]), {"talk": 1}),
        (main(steps=[[step("main")], [step("talk")]]), {"talk": 1}),  # a loop
        (main(steps=[[{"name": "a", "inline": {"container": TRAIN["container"]}}]]), {"a": 1}),
        (main(suspend={}), {}),
        (dag(step("train"), step("eval", "b", dependencies=["a"])), {"train": 1, "eval": 0}),
        (dag(step("train"), step("eval", "b", depends="a.Succeeded")), {"train": 1, "eval": 0}),
        (dag(step("train"), step("eval", "b"), step("talk", "c", depends="a && b")), {"train": 1, "eval": 1, "talk": 0}),
        (dag(step("eval"), step("eval", "b", dependencies=["a"]), step("train", "c", dependencies=["b"])), {"eval": 0, "train": 1}),
    ],
)  # fmt: skip
def test_a_workflows_pods_are_those_of_its_widest_moment(document: Item, pods: dict[str, int]) -> None:
    assert told(document)[1] == []
    found = told(document)[0]
    assert {role.rpartition("[")[2].rstrip("]"): count for role, count in found.items()} == pods


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (main(steps=[[step("train", withParam="{{x}}")]]), "spec.templates[main].steps[0][a].withParam"),
        (main(steps=[[step("train", withSequence={"count": "{{n}}"})]]), "spec.templates[main].steps[0][a].withSequence"),
        (main(steps=[[{"name": "a", "templateRef": {"name": "t", "template": "x"}}]]), "spec.templates[main].steps[0][a].templateRef"),
        (main(steps=[[step("nobody")]]), "spec.templates[main].steps[0][a]"),
        (main(steps=[[step("train")]], nodeSelector={"a": "b"}), "spec.templates[main].nodeSelector"),
        (main(resource={"action": "create", "manifest": "…"}), "spec.templates[main].resource"),
        (main(container={"image": "x"}, daemon=True), "spec.templates[main].daemon"),
        (main(container={"image": "x"}, podSpecPatch="{}"), "spec.templates[main].podSpecPatch"),
        (main(container={"image": "x", "resources": {"limits": {"nvidia.com/gpu": "{{inputs.parameters.n}}"}}}), "spec.templates[main]"),
        (main(http={"url": "https://example.com"}), "spec.templates[main].http"),
        ({"spec": {"workflowTemplateRef": {"name": "t"}}}, "spec.workflowTemplateRef"),
        ({"spec": {"templates": [TRAIN]}}, "spec.entrypoint"),
        ({"spec": {}}, "spec"), ({}, "spec"),
    ],
)  # fmt: skip
def test_what_a_workflow_does_not_tell_is_named(document: Item, place: str) -> None:
    assert place in told(document)[1]


def test_a_workflows_pod_has_what_its_template_or_the_whole_says() -> None:
    spec = {
        "entrypoint": "one", "nodeSelector": {"pool": "all"}, "tolerations": [{"operator": "Exists"}], "podPriorityClassName": "low",
        "podMetadata": {"labels": {"team": "a"}}, "volumes": [{"name": "v", "emptyDir": {}}],
        "templates": [{
            "name": "one", "nodeSelector": {"pool": "own"}, "metadata": {"labels": {"app": "b"}}, "container": {"image": "x"},
            "sidecars": [{"name": "s", "image": "y"}],
        }],
    }  # fmt: skip
    (found,) = workflow({"spec": spec}).sets
    pod = found.template["spec"]
    assert pod["nodeSelector"] == {"pool": "own"}
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["priorityClassName"] == "low"
    assert [one["name"] for one in pod["containers"]] == ["main", "s"]
    assert found.template["metadata"]["labels"] == {"team": "a", "app": "b"}
    assert cron_workflow({"spec": {"workflowSpec": spec}}).sets[0].path == "spec.workflowSpec.templates[one]"


SPEC = {"containers": [{"name": "main", "image": "x"}]}


@pytest.mark.parametrize(
    ("parallelism", "size"),
    # as `ParallelismSpec.GetSize` works it out: kserve `pkg/apis/serving/v1alpha1/llm_inference_service_types_func.go`
    [
        ({}, 1), ({"tensor": 8}, 1), ({"pipeline": 3}, 3), ({"data": 16, "dataLocal": 8}, 2), ({"data": 4}, 4), ({"dataLocal": 8}, 1),
        ({"data": 9, "dataLocal": 2}, 4), ({"data": 16, "dataLocal": 8, "pipeline": 5}, 2),
    ],
)  # fmt: skip
def test_a_group_of_an_llm_service_is_as_large_as_its_parallelism(parallelism: Item, size: int) -> None:
    spec = {"replicas": 3, "parallelism": parallelism, "template": SPEC, "worker": SPEC}
    found = llm_inference_service({"spec": spec})
    assert [(one.role, one.count) for one in found.sets] == [("leader", 3), ("worker", 3 * (size - 1))]
    assert found.untold == ()


def test_an_llm_service_without_a_leader_has_workers_for_leaders_and_scales_from_its_least() -> None:
    spec = {
        "scaling": {"minReplicas": 2},
        "parallelism": {"pipeline": 2},
        "worker": SPEC,
        "prefill": {"template": SPEC},
    }
    found = llm_inference_service({"spec": spec})
    assert [(one.role, one.path, one.count) for one in found.sets] == [
        ("leader", "spec.template", 2), ("worker", "spec.worker", 2), ("prefill", "spec.prefill.template", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "untold"),
    [
        ({}, ["spec.template"]),
        ({"template": SPEC, "baseRefs": [{"name": "b"}]}, ["spec.baseRefs"]),
        ({"template": SPEC, "runtime": "vllm"}, ["spec.runtime"]),
        ({"template": SPEC, "worker": {}}, ["spec.worker"]),
        ({"template": SPEC, "prefill": {}}, ["spec.prefill.template"]),
        ({"template": SPEC, "router": {"scheduler": {"template": {"nodeSelector": {}}}}}, ["spec.router.scheduler.template"]),
    ],
)  # fmt: skip
def test_what_an_llm_service_leaves_to_others_is_named(spec: Item, untold: list[str]) -> None:
    assert list(llm_inference_service({"spec": spec}).untold) == untold
