import pytest

from planner.ground.errors import ChangeError
from planner.health.memory.kubelet import KubeletSettings, ReservationPolicy
from planner.health.memory.node_memory import cluster_memory
from planner.health.memory.what_if import Difference, MemoryChange, apply, changed_container, differences, patch
from planner.kubernetes.object_records import Container, Snapshot
from planner.kubernetes.qos import QosClass
from tests.builders.records import amounts
from tests.memory.objects import (
    GIB,
    container,
    metrics,
    node,
    pod,
    snapshot,
    stateful_set_owner,
)

CELERY = "StatefulSet/dev/celery"
MAIN = container("main", "1Gi", "4Gi", cpu="1")


def change(**values: object) -> MemoryChange:
    return MemoryChange(workload=CELERY, container="main", **values)  # type: ignore[arg-type]


def cluster() -> Snapshot:
    mine = pod("celery-0", MAIN, owner=stateful_set_owner("celery"), qos_class="Burstable")
    other = pod("other", container("main", "1Gi", "2Gi"))
    return snapshot([node()], [mine, other], [metrics(mine, main="2Gi"), metrics(other, main="1500Mi")])


def test_equal_request_and_limit_make_it_guaranteed_and_last() -> None:
    before = cluster_memory(cluster(), KubeletSettings())
    after = cluster_memory(apply(cluster(), change(request_bytes=4 * GIB)), KubeletSettings())
    assert {one.name: one.eviction_rank for one in before.pods} == {"celery-0": 1, "other": 2}
    assert {one.name: one.eviction_rank for one in after.pods} == {"celery-0": 2, "other": 1}
    assert {one.name: one.qos for one in after.pods}["celery-0"] is QosClass.GUARANTEED
    found = {(one.object, one.container, one.field): (one.before, one.after) for one in differences(before, after)}
    assert found["dev/celery-0", "", "QoS class"] == ("Burstable", "Guaranteed")
    assert found["dev/celery-0", "main", "oom_score_adj"] == (938, -997)
    assert found["dev/celery-0", "", "over request"] == (GIB, -2 * GIB)
    assert found["dev/other", "", "eviction rank"] == (2, 1)
    assert found["Node/node", "", "not requested yet"] == (12 * GIB, 9 * GIB)
    assert ("dev/celery-0", "main", "memory.max") not in found


def test_the_feature_alone_changes_values_of_every_container() -> None:
    tiered = KubeletSettings(memory_qos=True, reservation_policy=ReservationPolicy.TIERED)
    found = differences(cluster_memory(cluster(), KubeletSettings()), cluster_memory(cluster(), tiered))
    assert {(one.object, one.field) for one in found} == {
        ("dev/celery-0", "memory.high"),
        ("dev/celery-0", "memory.low"),
        ("dev/other", "memory.high"),
        ("dev/other", "memory.low"),
    }
    texts = {(one.object, one.field): (one.text(one.before), one.text(one.after)) for one in found}
    assert texts["dev/other", "memory.low"] == ("not set", "1 GiB")


def test_values_in_words() -> None:
    def words(field: str, before: int | None, after: int) -> tuple[str, str]:
        one = Difference(object="dev/a", container="", field=field, before=before, after=after)
        return one.text(one.before), one.text(one.after)

    assert words("oom_score_adj", 938, -997) == ("938", "-997")
    assert words("eviction rank", None, 1) == ("unknown", "1")
    assert words("over request", -GIB, GIB) == ("-1 GiB", "1 GiB")


def test_nothing_changed_is_no_difference() -> None:
    before = cluster_memory(cluster(), KubeletSettings())
    assert differences(before, cluster_memory(apply(cluster(), change()), KubeletSettings())) == ()
    assert change().is_empty
    assert not change(limit_bytes=0).is_empty


def test_a_limit_without_a_request_brings_one() -> None:
    bare = container("main")
    assert changed_container(bare, change(limit_bytes=GIB)).requests == {"memory": GIB}
    assert changed_container(MAIN, change(request_bytes=0, limit_bytes=0)).limits == {"cpu": 1000}


def test_what_the_api_server_refuses_is_refused() -> None:
    with pytest.raises(ChangeError, match="more memory than its limit"):
        changed_container(MAIN, change(request_bytes=5 * GIB))
    with pytest.raises(ChangeError, match="negative"):
        change(request_bytes=-1)
    with pytest.raises(ChangeError, match="no CPU"):
        changed_container(container("main"), change(equal_cpu=True))


def test_equal_cpu() -> None:
    request_only = Container(name="main", requests=amounts({"cpu": "500m"}))
    assert changed_container(request_only, change(equal_cpu=True)).limits == {"cpu": 500}


def test_a_workload_or_container_that_is_not_there() -> None:
    with pytest.raises(ChangeError, match="no pod of"):
        apply(cluster(), MemoryChange(workload="Deployment/dev/nobody", container="main"))
    with pytest.raises(ChangeError, match='container "web"'):
        apply(cluster(), MemoryChange(workload=CELERY, container="web"))
    assert apply(cluster(), MemoryChange(workload=CELERY.lower(), container="main")).pods


def test_patch_names_only_what_changes() -> None:
    assert patch(MAIN, change(request_bytes=2 * GIB)) == {
        "spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"memory": "2Gi"}}}]}}}
    }
    removed = patch(MAIN, change(limit_bytes=0), is_init=True)
    assert removed["spec"] == {
        "template": {"spec": {"initContainers": [{"name": "main", "resources": {"limits": {"memory": None}}}]}}
    }
