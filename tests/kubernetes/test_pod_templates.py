"""Where each kind has its pod templates, and how many pods of each it makes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.kubernetes.pod_template_kinds import (
    TEMPLATED,
    Gang,
    Templated,
    found_sets,
    group_count,
    hidden_templates,
    resource_of,
    templated,
    told_lists,
    untold_places,
    waits_of,
)
from planner.kubernetes.workload_kinds import _ROWS

SPEC = {"containers": [{"name": "main"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}


def sets(kind: str, group: str, spec: dict[str, Any], **more: Any) -> list[tuple[str, int, str]]:
    version = next(
        f"{group}/{one.versions[0]}" if group else "v1" for one in TEMPLATED if (one.kind, one.group) == (kind, group)
    )
    row = templated(kind, version)
    assert row is not None
    document = {"kind": kind, "apiVersion": version, "metadata": {"name": "x"}, "spec": spec} | more
    return [(one.role, one.count, one.path) for one in found_sets(row, document)]


@pytest.mark.parametrize(
    ("kind", "group", "spec", "expected"),
    [
        ("Pod", "", SPEC, [("", 1, "")]),
        ("Job", "batch", {"template": TEMPLATE}, [("", 1, "spec.template")]),
        ("Job", "batch", {"template": TEMPLATE, "parallelism": 4}, [("", 4, "spec.template")]),
        ("Job", "batch", {"template": TEMPLATE, "parallelism": 0}, []),
        (
            "CronJob", "batch", {"jobTemplate": {"spec": {"template": TEMPLATE, "parallelism": 2}}},
            [("", 2, "spec.jobTemplate.spec.template")],
        ),
        ("Rollout", "argoproj.io", {"replicas": 5, "template": TEMPLATE}, [("", 5, "spec.template")]),
        ("Rollout", "argoproj.io", {"replicas": 5, "workloadRef": {"kind": "Deployment"}}, []),
        (
            "LeaderWorkerSet", "leaderworkerset.x-k8s.io",
            {"replicas": 3, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE}},
            [("leader", 1, "spec.leaderWorkerTemplate.workerTemplate"), ("worker", 3, "spec.leaderWorkerTemplate.workerTemplate")],
        ),
        (
            "LeaderWorkerSet", "leaderworkerset.x-k8s.io",
            {"leaderWorkerTemplate": {"size": 1, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE}},
            [("leader", 1, "spec.leaderWorkerTemplate.leaderTemplate")],
        ),
        (
            "RayCluster", "ray.io",
            {
                "headGroupSpec": {"template": TEMPLATE},
                "workerGroupSpecs": [
                    {"groupName": "gpu", "replicas": 2, "numOfHosts": 2, "template": TEMPLATE},
                    {"groupName": "few", "minReplicas": 1, "template": TEMPLATE},
                    {"groupName": "none", "template": TEMPLATE},
                ],
            },
            [("head", 1, "spec.headGroupSpec.template"), ("worker-gpu", 4, "spec.workerGroupSpecs[gpu].template"),
             ("worker-few", 1, "spec.workerGroupSpecs[few].template")],
        ),
        (
            "RayService", "ray.io", {"rayClusterConfig": {"headGroupSpec": {"template": TEMPLATE}}},
            [("head", 1, "spec.rayClusterConfig.headGroupSpec.template")],
        ),
        (
            "PyTorchJob", "kubeflow.org",
            {"pytorchReplicaSpecs": {"Master": {"template": TEMPLATE}, "Worker": {"replicas": 3, "template": TEMPLATE}}},
            [("master", 1, "spec.pytorchReplicaSpecs[master].template"), ("worker", 3, "spec.pytorchReplicaSpecs[worker].template")],
        ),
        (
            "JobSet", "jobset.x-k8s.io",
            {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": TEMPLATE}}}]},
            [("w", 6, "spec.replicatedJobs[w].template.spec.template")],
        ),
        (
            "InferenceService", "serving.kserve.io",
            {"predictor": {"minReplicas": 2, **SPEC}, "transformer": SPEC},
            [("predictor", 2, "spec.predictor"), ("transformer", 1, "spec.transformer")],
        ),
        ("InferenceService", "serving.kserve.io", {"predictor": {"model": {"modelFormat": {"name": "sklearn"}}}}, []),
        ("LLMInferenceService", "serving.kserve.io", {"replicas": 2, "template": SPEC}, [("", 2, "spec.template")]),
        ("Service", "serving.knative.dev", {"template": TEMPLATE}, [("", 1, "spec.template")]),
        (
            "Service", "serving.knative.dev",
            {"template": TEMPLATE | {"metadata": {"annotations": {"autoscaling.knative.dev/min-scale": "3"}}}},
            [("", 3, "spec.template")],
        ),
        ("Job", "batch.volcano.sh", {"tasks": [{"name": "t", "replicas": 2, "template": TEMPLATE}]}, [("t", 2, "spec.tasks[t].template")]),
    ],
)  # fmt: skip
def test_sets_of_each_kind(kind: str, group: str, spec: dict[str, Any], expected: list[tuple[str, int, str]]) -> None:
    assert sets(kind, group, spec) == expected


def test_kaito_has_its_template_beside_the_spec() -> None:
    more = {"resource": {"count": 2}, "inference": {"template": TEMPLATE}}
    assert sets("Workspace", "kaito.sh", {}, **more) == [("", 2, "inference.template")]
    assert sets("Workspace", "kaito.sh", {}, inference={"preset": {"name": "phi-4"}}) == []


def test_gangs_are_those_the_table_names() -> None:
    gangs = {row.kind: row.gang for row in TEMPLATED if row.gang is not Gang.NONE}
    assert gangs == {
        "LeaderWorkerSet": Gang.GROUP, "RayJob": Gang.WHOLE, "RayCronJob": Gang.WHOLE, "PyTorchJob": Gang.WHOLE, "MPIJob": Gang.WHOLE,
        "Workflow": Gang.IN_TURN, "CronWorkflow": Gang.IN_TURN, "TrainJob": Gang.WHOLE, "PodCliqueSet": Gang.GROUP, "ModelServing": Gang.GROUP,
    }  # fmt: skip
    lws = templated("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1")
    assert lws is not None
    assert group_count(lws, {"spec": {"replicas": 3}}) == 3
    assert group_count(lws, {"spec": {}}) == 1


def test_other_groups_are_other_kinds() -> None:
    assert templated("Rollout", "example.com/v1") is None
    assert templated("Service", "v1") is None


@pytest.mark.parametrize("count", [-1, "3", True, 2.5, None, [], {}])
def test_a_count_that_is_none_counts_as_not_given(count: object) -> None:
    assert sets("Rollout", "argoproj.io", {"replicas": count, "template": TEMPLATE}) == [("", 1, "spec.template")]


@pytest.mark.parametrize(
    "spec", [None, [], "x", {"template": 3}, {"template": {"spec": []}}, {"template": {"spec": {}}}]
)
def test_damage_gives_no_pods(spec: Any) -> None:
    assert sets("Rollout", "argoproj.io", spec) == []


def test_templates_of_unknown_kinds_are_found() -> None:
    assert hidden_templates({"spec": {"a": [{"podTemplate": TEMPLATE}], "b": {"containers": []}}}) == [
        "spec.a[0].podTemplate.spec"
    ]
    deep: Any = SPEC
    for _ in range(1000):
        deep = {"x": deep}
    assert hidden_templates(deep) == []


# ── how kubectl waits ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("row", TEMPLATED, ids=lambda row: f"{row.kind}.{row.group}")
def test_every_kind_says_how_to_wait_for_it_or_makes_no_pods_yet(row: Any) -> None:
    assert row.waits.startswith(("condition=", "jsonpath={.status.")) or row.kind in (
        "CronJob",
        "CronWorkflow",
        "RayCronJob",
    )


def test_a_kind_of_both_tables_is_waited_for_in_one_way() -> None:
    both = [
        (row, kind) for row in TEMPLATED for kind in _ROWS.values() if (row.kind, row.group) == (kind.name, kind.group)
    ]
    assert {row.kind for row, _ in both} == {"Pod", "Job", "ReplicaSet", "Rollout", "LeaderWorkerSet"}
    assert all(row.waits == kind.waits for row, kind in both)


def waits(kind: str, group: str, spec: dict[str, Any]) -> tuple[str, ...]:
    row = templated(kind, f"{group}/")
    assert row is not None
    document = {"spec": spec}
    return waits_of(row, found_sets(row, document), group_count(row, document))


def test_what_is_waited_for_counts_the_pods_or_the_sets() -> None:
    assert waits("CloneSet", "apps.kruise.io", {"replicas": 3, "template": TEMPLATE}) == (
        "jsonpath={.status.readyReplicas}=3",
    )
    assert waits("Rollout", "argoproj.io", {"replicas": 3, "template": TEMPLATE}) == (
        "jsonpath={.status.phase}=Healthy",
    )
    jobs = [
        {"name": name, "replicas": replicas, "template": {"spec": {"parallelism": 4, "template": TEMPLATE}}}
        for name, replicas in (("driver", 1), ("workers", 2))
    ]
    assert waits("JobSet", "jobset.x-k8s.io", {"replicatedJobs": jobs}) == (
        'jsonpath={.status.replicatedJobsStatus[?(@.name=="driver")].ready}=1',
        'jsonpath={.status.replicatedJobsStatus[?(@.name=="workers")].ready}=2',
    )
    assert waits("CronJob", "batch", {"jobTemplate": {"spec": {"template": TEMPLATE}}}) == ()
    clique = {"name": "decode", "spec": {"replicas": 4, "podSpec": TEMPLATE["spec"]}}
    assert waits("PodCliqueSet", "grove.io", {"replicas": 2, "template": {"cliques": [clique]}}) == (
        "jsonpath={.status.availableReplicas}=2",  # Grove counts sets there, not pods
    )


def test_a_kind_is_called_by_its_group_too() -> None:
    """A Knative Service is no Service, a Volcano Job no Job."""
    named = {resource_of(row) for row in TEMPLATED}
    assert {"pod", "job.batch", "job.batch.volcano.sh", "service.serving.knative.dev"} <= named
    assert len(named) == len(TEMPLATED)


@pytest.mark.parametrize(
    ("group", "count"),
    # KubeRay `ray-operator/controllers/ray/utils/util.go` `GetWorkerGroupDesiredReplicas`: within both bounds, the upper one last
    [
        ({}, 0), ({"replicas": 3}, 3), ({"replicas": 1, "minReplicas": 2}, 2), ({"replicas": 7, "maxReplicas": 4}, 4),
        ({"minReplicas": 3}, 3), ({"minReplicas": 5, "maxReplicas": 2}, 2), ({"replicas": 2, "numOfHosts": 4}, 8),
    ],
)  # fmt: skip
def test_a_group_of_ray_workers_stays_within_its_bounds(group: dict[str, int], count: int) -> None:
    spec = {
        "headGroupSpec": {"template": TEMPLATE},
        "workerGroupSpecs": [{"groupName": "g", "template": TEMPLATE, **group}],
    }
    found = {role: number for role, number, _ in sets("RayCluster", "ray.io", spec)}
    assert found.get("worker-g", 0) == count


@pytest.mark.parametrize(
    ("replicas", "count"),
    # mpi-operator `pkg/apis/kubeflow/v2beta1/default.go` (commit 0b32af39): a launcher is one, workers are none
    [({}, {"launcher": 1}), ({"Worker": 3}, {"launcher": 1, "worker": 3}), ({"Worker": 0}, {"launcher": 1})],
)
def test_an_mpi_job_has_a_launcher_and_as_many_workers_as_it_says(
    replicas: dict[str, int], count: dict[str, int]
) -> None:
    parts = {
        role: {"template": TEMPLATE, **({"replicas": replicas[role]} if role in replicas else {})}
        for role in ("Launcher", "Worker")
    }
    assert {role: number for role, number, _ in sets("MPIJob", "kubeflow.org", {"mpiReplicaSpecs": parts})} == count


@pytest.mark.parametrize(
    ("annotations", "count"),
    # knative serving `pkg/reconciler/autoscaling/kpa/kpa.go` `activeThreshold`, `resources/decider.go` `GetInitialScale`: the larger of
    # the least and the first scale, and one where zero isn't allowed
    [
        ({}, 1),
        ({"min-scale": "3"}, 3),
        ({"initial-scale": "5", "min-scale": "2"}, 5),
        ({"initial-scale": "0"}, 1),
        ({"min-scale": "0"}, 1),
    ],
)
def test_a_revision_begins_with_the_larger_of_its_first_and_its_least_scale(
    annotations: dict[str, str], count: int
) -> None:
    metadata = {"annotations": {f"autoscaling.knative.dev/{name}": value for name, value in annotations.items()}}
    found = sets("Service", "serving.knative.dev", {"template": {**TEMPLATE, "metadata": metadata}})
    assert [number for _, number, _ in found] == [count]


def put(document: Any, path: str, value: Any) -> None:
    """Writes `value` at a path of a row, once in a list (``[]``) and once in a map (``{}``)."""
    *names, last = path.split(".")
    for name in names:
        key, is_list, is_map = name.removesuffix("[]").removesuffix("{}"), name.endswith("[]"), name.endswith("{}")
        document = document.setdefault(key, [{}] if is_list else {"Worker": {}} if is_map else {})
        document = document[0] if is_list else document["Worker"] if is_map else document
    document[last] = value


def bare(row: Templated) -> dict[str, Any]:
    document: dict[str, Any] = {
        "kind": row.kind,
        "apiVersion": f"{row.group}/{row.versions[0]}",
        "metadata": {"name": "x"},
    }
    for one in row.sets:
        if one.default is None:
            template = json.loads(json.dumps(TEMPLATE["spec"] if one.is_spec else TEMPLATE))
            put(document, f"{one.base}.{one.template}".lstrip("."), template)
    if row.kind == "JobSet":
        put(document, "spec.replicatedJobs[].name", "workers")  # without one its group names it
    if row.kind == "DynamoGraphDeployment":  # its schema says how many nodes only where there are several
        put(document, "spec.services{}.multinode", {})
        put(document, "spec.services{}.resources.limits.gpu", "1")
    return document


def schema_defaults(row: Templated) -> list[tuple[str, Any]]:
    each = [(f"{where}.{name}", *name.split("=", 1)) for where, names in row.defaults for name in names.split()]
    return [(path.split("=")[0], json.loads(value)) for path, _, value in each]


READ = [row for row in TEMPLATED if row.schema]


def test_schemas_of_the_kinds_whose_changes_are_played_were_read() -> None:
    """Of each other project's kind; those of Kubernetes' own are `tests/inventory/test_api_fields.py`'s."""
    played = {(row.kind, row.group) for row in TEMPLATED if row.updates is not None and row.group != "batch"}
    played |= {("LeaderWorkerSet", "leaderworkerset.x-k8s.io"), ("Rollout", "argoproj.io")}
    assert played - {(row.kind, row.group) for row in READ} == set()
    assert len(played) >= 16
    assert all(row.schema for row in TEMPLATED if row.defaults)


@pytest.mark.parametrize("row", [row for row in READ if row.defaults], ids=lambda row: f"{row.kind}.{row.group}")
def test_every_default_of_a_schema_is_neutral(row: Templated) -> None:
    """An object as the API server gives it back is told as the manifest that it came from: KubeRay 1.7 writes ``priority: 0``."""
    plain, whole = bare(row), bare(row)
    defaults = schema_defaults(row)
    assert defaults
    for path, value in defaults:
        put(whole, path, value)
    assert whole != plain
    assert untold_places(row, whole, told_lists(row, whole)) == untold_places(row, plain, told_lists(row, plain)) == []
    numbers = [[(one.role, one.count) for one in found_sets(row, each, with_none=True)] for each in (plain, whole)]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("kind", ["RayCluster", "RayService", "RayJob", "RayCronJob"])
@pytest.mark.parametrize("value", [1, -1, "0", False, {"value": 0}])
def test_another_priority_than_the_default_of_a_ray_group_is_not_known(kind: str, value: Any) -> None:
    row = next(row for row in TEMPLATED if row.kind == kind)
    document = bare(row)
    [path] = [path for path, _ in schema_defaults(row) if path.endswith(".priority")]
    put(document, path, value)
    assert untold_places(row, document, told_lists(row, document)) == [path.replace("[]", "[0]")]
