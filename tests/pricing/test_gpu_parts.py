"""Shared GPUs are billed by size: MIG slices by compute slices, HAMi's by the larger of cores and memory, equal turns by number."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Final

import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import Container, FrozenMap, Node, PodSpec, Snapshot
from planner.pricing.allocation import AllocationKind
from planner.pricing.pod_gpu_shares import amounts_on, gpu_parts
from planner.pricing.projected_bill import NAMESPACE, WORKLOAD, bill, cost_cluster, usd_of_pods
from planner.questions import costs, where
from planner.questions.question import Inputs
from planner.sources.prices import embedded_book
from tests.builders.objects import read_items
from tests.pricing.books import make_node

DATA: Final = Path(__file__).parent / "data"
BOOK: Final = embedded_book()
REGISTER: Final = "hami.io/node-nvidia-register"


def case(name: str) -> Snapshot:
    """``mig-mixed``: one A100 as 3g.20gb and four 1g.5gb; ``hami-quarters``: one T4 as ten vGPUs, four pods of a quarter each."""
    return read_items(json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))["items"])


def gpu_usd(snapshot: Snapshot, by: str) -> dict[str, float]:
    return {line.name or line.share.value: line.gpu_usd for line in bill(BOOK, snapshot, by).lines}


# 2,141.74 USD a month for an A100 40GB in us-central1 (2.93391 an hour); 3 and 2 of its 7 compute slices are held
MIG: Final = {"a": 917.89, "b": 611.93, "idle": 611.93}
HAMI: Final = {"a": 89.42, "b": 89.42, "idle": 0.0}  # 178.85 a month: half of the T4 each


@pytest.mark.parametrize(("name", "right"), [("mig-mixed", MIG), ("hami-quarters", HAMI)])
def test_every_namespace_bears_the_part_of_the_gpu_that_it_holds(name: str, right: dict[str, float]) -> None:
    found = gpu_usd(case(name), NAMESPACE)
    assert found == pytest.approx(right, abs=0.011)
    assert sum(found.values()) == pytest.approx(sum(right.values()), abs=0.011)


@pytest.mark.parametrize(("name", "right"), [("mig-mixed", MIG), ("hami-quarters", HAMI)])
def test_idle_is_one_figure_in_the_sentence_the_pools_and_the_lines(name: str, right: dict[str, float]) -> None:
    whole = bill(BOOK, case(name))
    assert whole.bill_idle is not None
    assert whole.idle is not None
    assert whole.bill_idle.gpu == pytest.approx(right["idle"], abs=0.011)
    assert whole.idle.gpu == pytest.approx(right["idle"], abs=0.011)
    assert whole.pools[0].idle is not None
    assert whole.pools[0].idle.gpu == pytest.approx(right["idle"], abs=0.011)
    said = costs.answer(case(name), costs.CostsSettings(), Inputs(book=BOOK)).sentence
    assert f"GPUs ${right['idle']:,.0f}," in str(said)


def test_four_pods_of_a_quarter_bear_a_quarter_each() -> None:
    found = gpu_usd(case("hami-quarters"), WORKLOAD)
    assert [amount for name, amount in found.items() if name != "idle"] == pytest.approx([44.71] * 4, abs=0.011)


def test_what_pods_bear_is_the_bill_of_their_node() -> None:
    given = case("mig-mixed")
    hours = usd_of_pods(BOOK, given)
    names = {pod.uid: pod.namespace for pod in given.pods}
    for space in ("a", "b"):
        line = next(line for line in bill(BOOK, given).lines if line.name == space)
        assert 730 * sum(usd for uid, usd in hours.items() if names[uid] == space) == pytest.approx(line.usd, abs=0.02)


def test_room_for_one_more_slice_costs_its_size() -> None:
    """A 1g.5gb is a seventh of the GPU: 305.96 USD a month beside its CPU and memory."""
    found = where.answer(
        case("mig-mixed"), where.WhereSettings(shape="nvidia.com/mig-1g.5gb=1,cpu=100m"), Inputs(book=BOOK)
    )
    ((room,),) = [one.room for one in found.clusters]
    (node,) = cost_cluster(BOOK, case("mig-mixed")).nodes
    assert room.usd_per_month == pytest.approx(node.cost.gpu / 7 + node.cost.cpu * 100 / 11_400, abs=0.01)


# ── each way of sharing ──────────────────────────────────────────────────────────────────────────────────────────────
def sharing(offered: dict[str, int], *, register: str = "", **labels: str) -> Node:
    node = make_node(labels=labels)
    annotations = FrozenMap({REGISTER: register}) if register else node.annotations
    amounts = FrozenMap({**node.allocatable, **offered})
    return replace(node, allocatable=amounts, capacity=amounts, annotations=annotations)


def pod(*containers: dict[str, int]) -> PodSpec:
    return PodSpec(
        containers=tuple(Container(name=f"c{i}", requests=FrozenMap(one)) for i, one in enumerate(containers))
    )


GPU, CORES, MIB, PERCENT = "nvidia.com/gpu", "nvidia.com/gpucores", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage"
SMALL, LARGE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
TWO: Final = sharing({GPU: 20}, register="10x15360,10x15360")
VOLCANO: Final = sharing({"volcano.sh/vgpu-number": 10, "volcano.sh/vgpu-memory": 16_000, "volcano.sh/vgpu-cores": 100})


@pytest.mark.parametrize(
    ("node", "spec", "part"),
    [
        (sharing({GPU: 4}), pod({GPU: 1}), 1 / 4),
        (sharing({GPU: 4}, **{"nvidia.com/gpu.replicas": "4"}), pod({GPU: 1}), 1 / 4),  # time slices: equal turns
        (sharing({SMALL: 7}), pod({SMALL: 2}), 2 / 7),
        (sharing({LARGE: 2}), pod({LARGE: 1}), 1 / 2),  # 6 of 7 slices can be asked for: none of the seventh is idle
        (sharing({"nvidia.com/mig-1g.10gb.me": 1, LARGE: 2}), pod({LARGE: 1}), 3 / 7),
        (sharing({GPU: 1, LARGE: 2}, **{"nvidia.com/gpu.count": "2"}), pod({GPU: 1}), 1 / 2),  # a whole card of two
        (sharing({GPU: 1, LARGE: 2}), pod({GPU: 1}), 7 / 13),
        (TWO, pod({GPU: 1, CORES: 25, PERCENT: 50}), 1 / 4),  # the larger of cores and memory, of one of two cards
        (TWO, pod({GPU: 1, CORES: 25, MIB: 3_840}), 1 / 8),
        (TWO, pod({GPU: 1, MIB: 7_680}), 1 / 4),
        (TWO, pod({GPU: 1}), 1 / 2),  # without an amount it has all of the card's memory
        (TWO, pod({GPU: 2, PERCENT: 50}), 1 / 2),  # half of each card
        (TWO, pod({GPU: 1, CORES: 60, PERCENT: 10}, {GPU: 1, CORES: 10, PERCENT: 40}), 1 / 2),  # by container
        (TWO, pod({"cpu": 100}), 0),
        (sharing({GPU: 20}, register="10,10"), pod({GPU: 1, MIB: 3_840}), 1 / 20),  # of before the MiB were kept
        (sharing({"aliyun.com/gpu-mem": 30}), pod({"aliyun.com/gpu-mem": 6}), 1 / 5),
        (VOLCANO, pod({"volcano.sh/vgpu-number": 2, "volcano.sh/vgpu-memory": 4_000}), 1 / 2),
        (VOLCANO, pod({"volcano.sh/vgpu-number": 1}), 1 / 10),
        (sharing({"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2}), pod({"aws.amazon.com/neuroncore": 1}), 1 / 2),
        (sharing({"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2}), pod({"aws.amazon.com/neuron": 1}), 1),
    ],
)  # fmt: skip
def test_a_pod_holds_its_size_of_the_node(node: Node, spec: PodSpec, part: float) -> None:
    there, (held,) = gpu_parts(node, (amounts_on(node, spec),))
    assert held / there == pytest.approx(part)


def test_a_card_that_is_given_out_more_than_once_is_shared_by_what_is_held() -> None:
    """Five pods of a quarter on one card: a fifth each, nothing idle."""
    given = case("hami-quarters")
    extra = replace(given.pods[0], name="w4-5", uid="fifth")
    found = bill(BOOK, replace(given, pods=(*given.pods, extra), digest="five"), NAMESPACE)
    assert {line.name: line.gpu_usd for line in found.lines if line.share is AllocationKind.USED} == pytest.approx(
        {"a": 107.31, "b": 71.54}, abs=0.011
    )
    assert sum(line.gpu_usd for line in found.lines if line.share is AllocationKind.IDLE) == 0
