import pytest

from planner.ground.well_known_names import POD_TEMPLATE_HASH, ROLLOUTS_POD_TEMPLATE_HASH
from planner.kubernetes import workload_kinds
from planner.kubernetes.object_records import FrozenMap, Owner, Pod, PodSpec, Snapshot, Template, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.workload_kinds import Kind, kind_called, kind_in
from planner.rollout.controllers.registry import start
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster


def owner(kind: str, name: str) -> Owner:
    return Owner(kind=kind, name=name, uid=f"{kind}-{name}")


def made(kind: str, name: str, above: Owner | None = None) -> Workload:
    template = Template(labels=FrozenMap(), spec=PodSpec())
    return Workload(kind=kind, namespace="ml", name=name, uid=f"{kind}-{name}", template=template, owner=above)


def snapshot(*workloads: Workload) -> Snapshot:
    pod = Pod(
        namespace="ml", name="infer-0-1", uid="pod", labels=FrozenMap(), spec=PodSpec(),
        owner=owner("StatefulSet", "infer-0"),
    )  # fmt: skip
    return Snapshot(taken_at=0.0, source="test", digest="test", pods=(pod,), workloads=workloads)


def test_a_kind_that_is_not_in_the_table_says_nothing_of_itself() -> None:
    strange = kind_called("SparkApplication")
    assert strange.name == "SparkApplication"
    assert not any((strange.rolls_out, strange.has_replicas, strange.is_per_node, strange.is_batch))
    assert kind_in("DaemonSet/prod/agent") is workload_kinds.DAEMON_SET
    assert kind_in("") == Kind(name="")


def test_paths_and_keys_are_the_apis() -> None:
    assert [kind.path for kind in (workload_kinds.POD, workload_kinds.DEPLOYMENT, workload_kinds.JOB)] == [
        "/api/v1/pods", "/apis/apps/v1/deployments", "/apis/batch/v1/jobs",
    ]  # fmt: skip
    assert workload_kinds.POD.key("dev", "notebook") == "Pod/dev/notebook"
    assert workload_kinds.NODE.key("", "gpu-0") == "Node/gpu-0"
    assert workload_kinds.ROLLING_TEXT == "Deployment, StatefulSet, DaemonSet, Rollout or LeaderWorkerSet"


@pytest.mark.parametrize("kind", workload_kinds.ROLLING, ids=lambda kind: kind.name)
def test_every_kind_that_rolls_out_has_its_controller(kind: Kind) -> None:
    workload = made(kind.name, "infer")
    controller = start(Simulation(Cluster(snapshot(workload))), workload, before=workload, has_new_template=True)
    assert controller.key == workload.key
    assert {kind.status.updated, kind.status.ready, kind.status.available} <= controller.status(
        Simulation(Cluster(snapshot(workload)))
    ).keys()


def test_owners_are_followed_through_a_kind_added_to_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = made("StatefulSet", "infer-0", owner("Fleet", "infer"))
    before = workload_keys(snapshot(inner, made("Fleet", "infer")))
    assert before == {"pod": "StatefulSet/ml/infer-0"}
    row = Kind(name="Fleet", group="example.com", part="StatefulSet")
    monkeypatch.setitem(workload_kinds._ROWS, row.name, row)
    assert workload_keys(snapshot(inner, made(row.name, "infer"))) == {"pod": "Fleet/ml/infer"}


def test_owners_that_own_each_other_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(workload_kinds._ROWS, "Ring", Kind(name="Ring", part="StatefulSet"))
    monkeypatch.setitem(workload_kinds._ROWS, "StatefulSet", Kind(name="StatefulSet", part="Ring"))
    ring = (made("StatefulSet", "infer-0", owner("Ring", "r")), made("Ring", "r", owner("StatefulSet", "infer-0")))
    assert workload_keys(snapshot(*ring))["pod"] in ("StatefulSet/ml/infer-0", "Ring/ml/r")


def test_rows_spell_words_of_the_api_as_code_does() -> None:
    strategies = {
        workload_kinds.ROLLING_UPDATE,
        workload_kinds.RECREATE,
        workload_kinds.ON_DELETE,
        workload_kinds.CANARY,
        workload_kinds.BLUE_GREEN,
    }
    assert {one for kind in workload_kinds.WORKLOADS for one in kind.strategies} == strategies
    assert workload_kinds.DEPLOYMENT.part_hash_label == POD_TEMPLATE_HASH
    assert workload_kinds.ROLLOUT.part_hash_label == ROLLOUTS_POD_TEMPLATE_HASH
    assert {kind.part for kind in workload_kinds.WORKLOADS} == {
        "",
        workload_kinds.REPLICA_SET.name,
        workload_kinds.STATEFUL_SET.name,
    }
