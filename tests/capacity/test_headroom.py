"""How many more pods fit: sums of floors, the scheduler where nodes depend on each other, quotas beside it."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

from planner.capacity import headroom
from planner.capacity.headroom import fit, fits
from planner.capacity.headroom_shapes import (
    PodShape,
    ShapeOrigin,
    gpu_resource,
    parse_shape,
    shape_of,
    standard_shapes,
    usual_share,
    workload_shapes,
)
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.work_budget import allowed
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State
from planner.sources import demo
from tests.builders.objects import Item, deployment, node, pod_spec, read_items, snapshot
from tests.conformance import headroom_cases
from tests.conformance.counts import RENEW, counted, told
from tests.reference.random_clusters import random_case
from tests.rollout.rollouts import stateful_set
from tests.rollout.test_admission import quota
from tests.seen import each, premise

RECORDED = Path(__file__).parents[1] / "conformance" / "headroom"


def test_every_recorded_count_message_and_node_agrees() -> None:
    found = list(headroom_cases.compare(RECORDED))
    assert len({c.case for c in found}) == 288
    assert counted(found) == told("headroom"), RENEW
    assert [(c.case, c.field, c.expected, c.got) for c in found if not c.agrees] == []


@pytest.fixture(scope="module")
def openb() -> Cluster:
    return Cluster(demo.read_large())


def test_openb_has_two_thousand_free_gpus_and_no_room_for_eight(openb: Cluster) -> None:
    row = openb.row["nvidia.com/gpu"]
    assert int(openb.allocatable[row].sum()) == 6_212
    assert int((openb.allocatable - openb.requested)[row].sum()) == 2_221
    assert fit(openb, parse_shape("gpu=8,cpu=1,memory=1Gi", openb)).count == 0


def test_openb_takes_as_many_as_cluster_capacity_says(openb: Cluster) -> None:
    found = fit(openb, parse_shape("gpu=1,cpu=8,memory=32Gi", openb))
    assert found.count == 1_719
    assert sum(number for _, number in found.by_node) == 1_719
    assert sum(number for _, _, number in found.by_place) == 1_719


@pytest.mark.parametrize("seed", range(40))
def test_sum_of_floors_is_what_the_scheduler_places(seed: int) -> None:
    cluster = Cluster(read_items(random_case(seed).items))
    shapes = workload_shapes(cluster)
    for asked in each(shapes) if premise(shapes) else ():
        shape = compile_shape(cluster, asked.namespace, asked.labels, asked.spec)
        counted = headroom._count(State(cluster), shape)
        placed, _ = headroom._one_by_one(State(cluster), repeat([(shape, 1)]), seed, 10_000)
        assert counted is None or np.array_equal(counted.counts, placed.counts)
        assert fits(cluster, [asked])[0].on_nodes == int(placed.counts.sum())


def test_alike_shapes_are_told_apart_by_what_refuses_them() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "b"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    cluster = Cluster(
        snapshot(
            node("n0", cpu="4"),
            node("n1", cpu="4"),
            deployment("a", ["n0"], pod_spec(affinity=apart)),
            deployment("b", [], pod_spec(), replicas=1),
            deployment("c", [], pod_spec(), replicas=1),
        )
    )
    counts = {found.shape: found.count for found in fits(cluster, workload_shapes(cluster))}
    assert counts == {"Deployment/ml/a": 7, "Deployment/ml/b": 4, "Deployment/ml/c": 7}


def test_spread_is_placed_one_by_one_and_stops_where_told() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    cluster = Cluster(
        snapshot(
            node("n0", cpu="2", zone="a"),
            node("n1", cpu="8", zone="b"),
            deployment("a", [], pod_spec(topologySpreadConstraints=[constraint]), replicas=1),
        )
    )
    (asked,) = workload_shapes(cluster)
    assert fit(cluster, asked).count == 5
    cut = fit(cluster, asked, most=2)
    assert (cut.count, cut.is_at_least, cut.message) == (2, True, "")
    assert str(cut.sentence).startswith("at least 2 more fit")


def test_the_sentence_says_number_place_and_obstacle() -> None:
    cluster = Cluster(snapshot(node("n0", pool="t4", gpus=2), node("n1", pool="t4", gpus=1), node("n2", pool="web")))
    found = fit(cluster, parse_shape("gpu=1,cpu=1", cluster))
    assert str(found.sentence) == "3 more fit, in t4 (3); then 3 nodes lack nvidia.com/gpu"
    none = fit(cluster, parse_shape("gpu=1,pool=web", cluster))
    assert str(none.sentence) == "none fits: 1 node lack nvidia.com/gpu".replace("1 node lack", "1 node lacks")


def test_quota_is_said_beside_what_the_nodes_would_take() -> None:
    quota: Item = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ml"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "2"}},
        "status": {"hard": {"requests.nvidia.com/gpu": "2"}, "used": {"requests.nvidia.com/gpu": "1"}},
    }
    cluster = Cluster(snapshot(node("n0", gpus=4), deployment("a", ["n0"], pod_spec(gpus=1)), quota))
    (found,) = fits(cluster, workload_shapes(cluster))
    assert (found.count, found.on_nodes, found.quota_limit, found.quota) == (1, 3, 1, "gpus")
    assert str(found.sentence).startswith(
        "1 more fit: the ResourceQuota gpus of ml lets in 1; on the nodes alone 3 more fit"
    )
    quota["spec"]["scopeSelector"] = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}
    for is_default, limit in ((False, 1), (True, None)):  # a new pod without a class is given the default one
        usual: Item = {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 9, "globalDefault": is_default}
        usual["apiVersion"] = "scheduling.k8s.io/v1"
        cluster = Cluster(snapshot(node("n0", gpus=4), deployment("a", ["n0"], pod_spec(gpus=1)), quota, usual))
        (found,) = fits(cluster, workload_shapes(cluster))
        assert found.quota_limit == limit


def test_waiting_pods_stay_out_of_it() -> None:
    waiting = deployment("a", ["", ""], pod_spec(gpus=1))
    cluster = Cluster(snapshot(node("n0", gpus=1), waiting))
    assert fit(cluster, parse_shape("gpu=1", cluster)).count == 1


def test_counting_stops_where_others_would_have_to_be_preempted() -> None:
    low = deployment("low", ["n0"], pod_spec(gpus=1, priority=-5))
    cluster = Cluster(snapshot(node("n0", gpus=1), low))
    shape = parse_shape("gpu=1", cluster)
    found = fit(cluster, replace(shape, spec=replace(shape.spec, priority=0)))
    assert (found.count, found.message) == (0, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


def test_standard_shapes_take_their_share_from_the_clusters_own_pods() -> None:
    cluster = Cluster(
        snapshot(node("n0", gpus=4, cpu="32"), deployment("a", ["n0"], pod_spec(gpus=2, cpu="6", memory="8Gi")))
    )
    assert usual_share(cluster)[:2] == (3_000, 4 * 2**30)
    shapes = standard_shapes(cluster)
    assert [dict(one.requests)["nvidia.com/gpu"] for one in shapes] == [1, 2, 4, 8]
    assert dict(shapes[1].requests) == {"nvidia.com/gpu": 2, "cpu": 6_000, "memory": 8 * 2**30}
    assert "default" in usual_share(Cluster(snapshot(node("n0"))))[2]


def test_a_shape_tolerates_taints_named_after_what_it_asks_for() -> None:
    cluster = Cluster(
        snapshot(
            node("n0", gpus=1, taints=(("nvidia.com/gpu", "NoSchedule"),)), node("n1", taints=(("spot", "NoSchedule"),))
        )
    )
    assert fit(cluster, parse_shape("gpu=1", cluster)).count == 1
    assert fit(cluster, parse_shape("cpu=1", cluster)).count == 0
    assert fit(cluster, parse_shape("cpu=1,tolerate=all", cluster)).count == 16


@pytest.mark.parametrize("text", ["gpu", "gpu=", "=1", "gpu=x", "gpu=-1", "", "gpu=0", "tolerate=some,gpu=1", "cpu=1K"])
def test_what_is_no_shape_is_said_so(text: str) -> None:
    with pytest.raises(InputError):
        parse_shape(text, Cluster(snapshot(node("n0", gpus=1))))


def test_no_nodes_is_an_answer() -> None:
    cluster = Cluster(snapshot(deployment("a", [], pod_spec(gpus=1), replicas=1)))
    assert gpu_resource(cluster) == "nvidia.com/gpu"
    found = fit(
        cluster, PodShape(name="x", origin=ShapeOrigin.TYPED, spec=shape_of({"cpu": 1}, origin=ShapeOrigin.TYPED).spec)
    )
    assert str(found.sentence) == "none fits: the cluster has no nodes"


def test_obstacles_say_nodes_and_resource_and_words_for_one_or_several() -> None:
    nodes = [node("gpu-0", gpus=1), node("n-0"), node("n-1")]
    cluster = Cluster(snapshot(nodes))
    found = fit(cluster, parse_shape("gpu=2,cpu=1", cluster))
    assert [(one.nodes, one.resource, str(one)) for one in found.obstacles] == [
        (3, "nvidia.com/gpu", "3 nodes lack nvidia.com/gpu")
    ]
    alone = fit(Cluster(snapshot(nodes[:1])), parse_shape("gpu=2,cpu=9", cluster))
    assert list(map(str, alone.obstacles)) == ["1 node lacks nvidia.com/gpu", "1 node lacks cpu"]
    assert str(alone.sentence) == "none fits: 1 node lacks nvidia.com/gpu, 1 lacks cpu"


# ── by preempting ────────────────────────────────────────────────────────────────────────────────────────────────────
def urgent() -> Cluster:
    """Two nodes of two GPUs: batch pods of priority -1 hold three, one of priority 5 the fourth."""
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("low", -1), ("high", 5), ("urgent", 5))
    ]
    batch = deployment("batch", ["n-0", "n-0", "n-1"], pod_spec(gpus=1, priority=-1, priorityClassName="low"))
    serve = deployment("serve", ["n-1"], pod_spec(gpus=1, priority=5, priorityClassName="high"))
    return Cluster(snapshot([node("n-0", gpus=2), node("n-1", gpus=2), *classes, *batch, *serve]))


def test_how_many_more_by_preempting_and_whom() -> None:
    cluster = urgent()
    plain = fit(cluster, parse_shape("gpu=1", cluster))
    assert (plain.count, plain.by_preempting, plain.victims) == (0, 3, (("Deployment/ml/batch", 3),))
    assert str(plain.sentence).endswith("; 3 more by preempting pods of Deployment/ml/batch (3)")
    large = fit(cluster, parse_shape("gpu=2,priority=urgent", cluster))
    assert (large.shape, large.by_preempting) == ("2 GPUs, of priority urgent", 1)
    assert large.victims == (("Deployment/ml/batch", 2),)


def test_who_may_not_preempt_does_not() -> None:
    cluster = urgent()
    low = fit(cluster, parse_shape("gpu=1,priority=low", cluster))
    assert (low.by_preempting, low.victims) == (0, ())
    with pytest.raises(InputError, match="there is no PriorityClass mighty"):
        parse_shape("gpu=1,priority=mighty", cluster)
    [serve] = [one for one in workload_shapes(cluster) if one.name == "Deployment/ml/serve"]
    never = replace(serve, spec=replace(serve.spec, preemption_policy="Never"))
    assert fit(cluster, serve).by_preempting == 3
    assert fit(cluster, never).by_preempting == 0


def test_pods_that_another_ones_anti_affinity_keeps_apart_are_counted_and_not_put_one_by_one() -> None:
    """A thousand million of them would be."""
    away = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "other"}}}
    spec = pod_spec(
        cpu="0", memory="0", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [away]}}
    )
    large = [node(f"n-{i}", extra={"pods": 10**9}) for i in range(3)]
    cluster = Cluster(snapshot(*large, deployment("a", [""], spec)))
    found = fit(cluster, workload_shapes(cluster)[0])
    assert found.count == 3 * 10**9
    assert str(found.sentence).endswith("then 3 nodes are at their pod limit")


def test_counting_one_by_one_ends_where_the_questions_work_does() -> None:
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    spec = pod_spec(cpu="1m", topologySpreadConstraints=[spread | {"labelSelector": {"matchLabels": {"app": "a"}}}])
    cluster = Cluster(snapshot(*(node(f"n-{i}") for i in range(3)), deployment("a", ["n-0"], spec)))
    with allowed(units=600):
        found = fit(cluster, workload_shapes(cluster)[0])
    assert found.is_at_least
    assert 0 < found.count < 20


def test_a_list_leaves_empty_what_only_the_single_question_plays() -> None:
    """Whom a pod of the demo's inference-api would push out is asked one shape at a time; who may push nobody out has 0 in both."""
    cluster = Cluster(demo.read())
    every = {shape.name: shape for shape in workload_shapes(cluster)}
    high, low = every["Deployment/prod/inference-api"], every["Deployment/batch/labs-runner"]
    assert [one.by_preempting for one in fits(cluster, [high, low])] == [None, 0]
    assert (fit(cluster, high).by_preempting, fit(cluster, low).by_preempting) == (3, 0)


@pytest.mark.parametrize(("used", "more"), [(4, 0), (2, 2), (0, 3)])
def test_quotas_let_in_no_more_by_preempting_either(used: int, more: int) -> None:
    cluster = urgent()
    hard = quota({"requests.nvidia.com/gpu": "4"}, {"requests.nvidia.com/gpu": str(used)}, scopes=["NotTerminating"])
    cluster = Cluster(replace(cluster.snapshot, resource_quotas=snapshot(hard).resource_quotas))
    [serve] = [one for one in workload_shapes(cluster) if one.name == "Deployment/ml/serve"]
    found = fit(cluster, serve)
    assert (found.count, found.by_preempting, found.quota_limit) == (0, more, 4 - used)


# ── a StatefulSet's next pod with its claims ─────────────────────────────────────────────────────────────────────────
FAST: Item = {
    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "pd.csi.storage.gke.io",
    "volumeBindingMode": "WaitForFirstConsumer",
}  # fmt: skip


def retained(ordinal: int, zone: str) -> list[Item]:
    """The claim of a pod that was scaled down, and its volume."""
    name, volume = f"data-db-{ordinal}", f"pv-{ordinal}"
    spec = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "ml"},
        "spec": {**spec, "volumeName": volume}, "status": {"phase": "Bound"},
    }  # fmt: skip
    source = {
        "csi": {"driver": "pd.csi.storage.gke.io", "volumeHandle": volume},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    disk = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "status": {"phase": "Bound"},
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "claimRef": {"namespace": "ml", "name": name}, **source},
    }  # fmt: skip
    return [claim, disk]


def with_claims(*more: Item | list[Item]) -> Snapshot:
    """Of two zones with a node of three GPUs each the first has one free, the second two; db's first pod is in the first."""
    template = {"metadata": {"name": "data"}, "spec": retained(0, "a")[0]["spec"]}
    template["spec"].pop("volumeName")
    own = stateful_set("db", ["n-a"], pod_spec(gpus=1), volumeClaimTemplates=[template])
    held = deployment("held", ["n-a", "n-b"], pod_spec(gpus=1))
    return snapshot(
        node("n-a", gpus=3, zone="a"), node("n-b", gpus=3, zone="b"), FAST, own, held, retained(0, "a"), *more
    )


@pytest.mark.parametrize(
    ("more", "fitting", "says"),
    [
        ([], 3, "lack nvidia.com/gpu"),  # claims that are made reach wherever the pod goes
        (retained(1, "b"), 3, "lack nvidia.com/gpu"),
        ([*retained(1, "a"), *retained(2, "a")], 1, "node affinity"),  # the second one's volume is where no GPU is left
        ([*retained(1, "b"), *retained(2, "b"), *retained(3, "b")], 2, "node affinity"),
        ([quota({"persistentvolumeclaims": "2"}, {"persistentvolumeclaims": "1"})], 1, "ResourceQuota"),
        ([*retained(1, "b"), quota({"persistentvolumeclaims": "2"}, {"persistentvolumeclaims": "2"})], 1, "ResourceQuota"),
    ],
)  # fmt: skip
def test_a_stateful_sets_next_pods_come_with_their_claims(more: list[Item], fitting: int, says: str) -> None:
    """As many as `rollout` completes with, and one more doesn't."""
    found = with_claims(*more)
    cluster, key = Cluster(found), "StatefulSet/ml/db"
    [shape] = [one for one in workload_shapes(cluster) if one.name == key]
    alone, (listed,) = fit(cluster, shape), fits(cluster, [shape])
    assert (alone.count, listed.count) == (fitting, fitting)
    assert says in str(alone.sentence)
    for number, verdict in ((fitting, Verdict.COMPLETES), (fitting + 1, Verdict.STUCK)):
        scaled = WorkloadChange(workload=key, replicas=1 + number, new_revision=False)
        assert rollout(found, Scenario(changes=(scaled,))).verdict is verdict


def test_where_volumes_are_not_told_how_many_more_fit_is_not_known() -> None:
    found = with_claims()
    blind = replace(found, presence=FrozenMap({**found.presence, "StorageClass": Presence.ABSENT}), storage_classes=())
    [shape] = [one for one in workload_shapes(Cluster(blind)) if one.name == "StatefulSet/ml/db"]
    asked = fit(Cluster(blind), shape)
    assert asked.known_count is None
    assert "doesn't hold StorageClasses" in str(asked.sentence)
    assert fit(Cluster(found), shape).known_count == 3
