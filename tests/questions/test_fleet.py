"""Several clusters: sums over the fleet, the same workload in several, and where something would fit."""

from __future__ import annotations

import pytest

from planner.capacity import rollout_readiness as overviews
from planner.capacity.fleet import cluster_names
from planner.capacity.gpu_inventory import known_sum
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.pricing.node_price import price_node
from planner.questions import fleet, where
from planner.questions.fleet import FleetSettings
from planner.questions.question import Inputs
from planner.questions.where import WhereAnswer, WhereSettings
from planner.rollout.answers import Verdict
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.architecture.tree import ROOT

BOOK = embedded_book()
MANIFEST = (ROOT / "docs/examples/manifests/llm-serve.yaml").read_text(encoding="utf-8")


def copy(name: str, **changes: object) -> Snapshot:
    return replace(demo.read(), source=name, digest=name, **changes)  # type: ignore[arg-type]


def without_pods(name: str) -> Snapshot:
    return copy(name, pods=())


def test_totals_are_the_sums_of_the_clusters() -> None:
    one = fleet.answer(demo.read(), FleetSettings(), Inputs(book=BOOK))
    two = fleet.answer(demo.read(), FleetSettings(), Inputs(book=BOOK, others=(copy("b"),)))
    assert one.usd_per_month is not None
    assert two.usd_per_month == pytest.approx(2 * one.usd_per_month)
    for single, both in zip(one.models, two.models, strict=True):
        assert (both.allocatable, both.requested, both.free, both.pending) == (
            2 * single.allocatable, *(known_sum((one, one)) for one in (single.requested, single.free, single.pending)),
        )  # fmt: skip
        assert both.clusters == ("demo", "b")
    lines = {(line.model, line.resource): line.free for line in overviews.overview(demo.read()).gpus}
    assert {(one.gpu_model, one.resource): one.free for one in one.models} == lines
    assert "10 of 40 workloads would get stuck if changed now" in str(two.sentence)


def test_the_same_workload_in_several_clusters_says_what_differs() -> None:
    workloads = tuple(
        replace(one, replicas=one.replicas + 1) if one.key == "Deployment/prod/api" else one
        for one in demo.read().workloads
        if one.key != "Deployment/dev/api"
    )
    found = fleet.answer(demo.read(), FleetSettings(), Inputs(others=(copy("b", workloads=workloads),)))
    by_key = {one.workload: one for one in found.workloads}
    assert "Deployment/dev/api" not in by_key  # in one cluster only
    assert "replicas" in by_key["Deployment/prod/api"].differs
    assert [one.cluster for one in by_key["Deployment/prod/api"].where] == ["demo", "b"]
    assert found.usd_per_month is None  # no prices were given


def test_clusters_of_one_name_stay_two() -> None:
    assert cluster_names([demo.read(), demo.read(), copy("x")]) == ("demo", "demo (2)", "x")


def test_a_list_that_was_refused_is_not_known() -> None:
    refused = copy("b", pods=(), presence=FrozenMap({**demo.read().presence, "Pod": Presence.REFUSED}))
    snapshots = [demo.read(), refused]
    found = fleet.answer(demo.read(), FleetSettings(), Inputs(others=(refused,)))
    assert fleet.QUESTION.exit_status(snapshots, found) is ExitStatus.NOT_KNOWN
    placed = asked(WhereSettings(shape="cpu=1"), refused)
    assert [one.verdict for one in placed.clusters] == [Verdict.COMPLETES, Verdict.UNKNOWN]


def asked(settings: WhereSettings, *others: Snapshot) -> WhereAnswer:
    return where.answer(demo.read(), settings, Inputs(book=BOOK, others=others))


def test_where_there_is_room_comes_first() -> None:
    found = asked(WhereSettings(shape="gpu=4,cpu=40,memory=300Gi"), without_pods("empty"))
    assert [(one.cluster, one.verdict) for one in found.clusters] == [
        ("empty", Verdict.COMPLETES), ("demo", Verdict.STUCK),
    ]  # fmt: skip
    assert str(found.sentence).startswith("It fits in 1 of 2 clusters: empty ($")
    assert where.QUESTION.status(found) is ExitStatus.ANSWERED
    assert where.QUESTION.status(asked(WhereSettings(shape="gpu=4"))) is ExitStatus.STUCK


def test_a_pods_price_is_its_part_of_the_node() -> None:
    """An A100 node whole: 4 GPUs and all its CPU and memory cost what the node costs."""
    node = next(
        one for one in demo.read().nodes if one.allocatable.get("nvidia.com/gpu") == 4 and "a100" in str(one.labels)
    )
    cpu, memory = node.allocatable["cpu"], node.allocatable["memory"]
    spec = f"gpu=4,cpu={cpu}m,memory={memory},pool=gpu-a100"
    (found,) = where.answer(without_pods("empty"), WhereSettings(shape=spec), Inputs(book=BOOK)).clusters
    whole = price_node(BOOK, node).price.usd_per_month
    assert found.usd_per_month == pytest.approx(whole)
    assert found.room[0].node_pool == "gpu-a100"
    (half,) = where.answer(
        without_pods("empty"), WhereSettings(shape=f"gpu=2,cpu={cpu // 2}m,memory={memory // 2},pool=gpu-a100", replicas=2),
        Inputs(book=BOOK),
    ).clusters  # fmt: skip
    assert half.usd_per_month == pytest.approx(whole, rel=1e-4)


def test_a_price_that_nobody_knows_is_not_nothing() -> None:
    (found,) = where.answer(without_pods("empty"), WhereSettings(shape="cpu=1"), Inputs()).clusters
    assert found.usd_per_month is None
    assert found.room[0].more > 0


def test_a_manifest_has_a_verdict_in_each_cluster() -> None:
    found = asked(WhereSettings(manifest=MANIFEST), without_pods("empty"))
    verdicts = {one.cluster: one.verdict for one in found.clusters}
    assert verdicts["demo"] is Verdict.STUCK
    assert found.clusters[0].cluster == "empty"


@pytest.mark.parametrize(("shape", "manifest"), [("", ""), ("cpu=1", MANIFEST)])
def test_one_thing_is_placed(shape: str, manifest: str) -> None:
    with pytest.raises(InputError, match="one thing is placed"):
        WhereSettings(shape=shape, manifest=manifest)


def test_a_shape_that_is_none_is_refused() -> None:
    with pytest.raises(InputError):
        asked(WhereSettings(shape="gpu"), copy("b"))
