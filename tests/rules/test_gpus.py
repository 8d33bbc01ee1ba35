"""What a GPU is: a slice, a share or a virtual one is none, and devices under two names are one. Everybody who counts agrees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity import capacity_answer as capacity_left
from planner.capacity import gpu_holders as seats_room
from planner.capacity import rollout_readiness as overviews
from planner.capacity.gpu_inventory import free_words, gpu_lines, supplies_of
from planner.capacity.headroom import fit
from planner.capacity.headroom_shapes import parse_shape
from planner.cli import gate_formats
from planner.history import snapshot_rows
from planner.inventory.change import WorkloadChange
from planner.inventory.gpu_use import GpuUse
from planner.kubernetes.accelerators import Unit, unit
from planner.kubernetes.node_properties import Sharing, is_virtual, physical_gpus
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, fleet, gate, idle, overview, seats, strategies, where
from planner.questions.question import NOTHING, Inputs
from planner.questions.rollout import RolloutSettings
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import Verdict
from planner.rollout.closed_form_rollout import certain_course
from planner.rollout.gate_policy import GatePolicy
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from planner.serve import cluster_metrics as metrics
from planner.sources.prices import embedded_book
from planner.ui.rollout_inputs import by_stake
from tests.builders import objects
from tests.builders.objects import ACCELERATOR, GPU, Item, deployment, node, pod, pod_spec
from tests.seen import each

TIME_SLICED = {
    ACCELERATOR: "", "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.sharing-strategy": "time-slicing",
}  # fmt: skip
SINGLE = {ACCELERATOR: "", "nvidia.com/gpu.product": "NVIDIA-A30-MIG-1g.6gb", "nvidia.com/gpu.count": "4"}
NEURON, DEVICE = "aws.amazon.com/neuron", "aws.amazon.com/neurondevice"


def snapshot(*items: Item | list[Item]) -> Snapshot:
    """The objects, and a pod that has finished: pods were listed, so that what nobody holds is free."""
    done = pod("done", pod_spec())
    return objects.snapshot(*items, done | {"status": {"phase": "Succeeded"}})


def sliced(name: str = "t4", held: int = 1) -> list[Item]:
    big: Any = {"cpu": "32", "memory": "128Gi"}
    return [node(name, gpus=4, labels=TIME_SLICED, **big), *deployment("a", [name] * held, pod_spec(gpus=1))]


def sentences(given: Snapshot) -> dict[str, str]:
    """What each door says of the GPUs that are free."""
    return {
        "lines": free_words(supplies_of(gpu_lines(Cluster(given)))),
        "capacity": str(capacity_left.capacity(given).sentence),
        "seats": str(seats.answer(given, seats.SeatsSettings()).sentence),
        "fleet": str(fleet.answer(given, fleet.FleetSettings()).sentence),
    }


def test_time_slices_are_no_gpus_at_any_door() -> None:
    given = snapshot(sliced())
    said = sentences(given)
    assert said["lines"].endswith("T4, offered as 4 time slices: 3 slices free")
    assert said["lines"].startswith("1 ")
    assert all("time slice" in one for one in said.values()), said
    assert not any("GPUs are free" in one or "2 GPU" in one for one in said.values()), said
    assert [one.shape for one in capacity_left.capacity(given).standard] == ["1 time slice, 1 cpu, 1Gi memory"]
    [line] = overviews.overview(given).gpus
    assert (line.sharing, line.physical, line.allocatable) == (Sharing.TIME_SHARING, 1, 4)
    asked = where.WhereSettings(shape="gpu=2")
    [place] = where.answer(given, asked, NOTHING).clusters
    assert place.room[0].pods == "2 time slices"


def test_a_whole_gpu_is_looked_for_where_whole_ones_are() -> None:
    given = snapshot(*sliced(held=0), node("whole", gpus=2, cpu="32", memory="128Gi"))
    cluster = Cluster(given)
    assert fit(cluster, parse_shape("gpu=2", cluster)).by_node == (("whole", 1),)
    assert fit(cluster, parse_shape("gpu=4", cluster)).count == 0
    found = {one.shape.split(",")[0]: one.count for one in capacity_left.capacity(given).standard}
    assert found["2 GPUs"] == 1
    assert found["4 GPUs"] == 0
    broken = capacity_left.capacity(given).fragments
    assert broken is not None
    assert broken.free == 2
    assert "2 of 2 GPUs are free; 1 " in str(capacity_left.capacity(given).sentence)


@pytest.mark.parametrize(
    ("labels", "amounts", "how", "words"),
    [
        (SINGLE, {GPU: "4"}, Sharing.MIG, "4 MIG slices 1g.6gb: 4 slices free"),
        ({ACCELERATOR: ""}, {"nvidia.com/mig-1g.5gb": "2"}, Sharing.MIG, "2 MIG slices 1g.5gb: 2 slices free"),
        ({**TIME_SLICED, "nvidia.com/gpu.sharing-strategy": "mps"}, {GPU: "4"}, Sharing.MPS, "4 MPS shares: 4 shares free"),
        ({ACCELERATOR: "", "nvidia.com/gpu.product": "Tesla-T4-SHARED"}, {GPU: "4"}, Sharing.TIME_SHARING, "4 time slices"),
        ({ACCELERATOR: ""}, {"nvidia.com/NVIDIA_A10-12Q": "2"}, Sharing.VGPU, "2 vGPU shares nvidia.com/NVIDIA_A10-12Q"),
        ({ACCELERATOR: ""}, {"tencent.com/vcuda-core": "200"}, Sharing.PARTS, "200 of 200 tencent.com/vcuda-core are free"),
    ],
)  # fmt: skip
def test_each_way_of_sharing_has_its_own_words(
    labels: dict[str, str], amounts: dict[str, str], how: Sharing, words: str
) -> None:
    given = snapshot(node("n", labels=labels, extra=amounts))
    [line] = overviews.overview(given).gpus
    assert line.sharing is how
    assert words in sentences(given)["lines"]
    assert "no GPU" not in " ".join(sentences(given).values())
    assert GPU in amounts or not any(GPU in one.requests for one in capacity_left.capacity(given).standard)


def test_slices_of_two_sizes_are_not_added() -> None:
    other = {**SINGLE, "nvidia.com/gpu.product": "NVIDIA-A30-MIG-2g.12gb"}
    given = snapshot(node("a", gpus=4, labels=SINGLE), node("b", gpus=2, labels=other))
    assert [(one.profile, one.allocatable) for one in supplies_of(overviews.overview(given).gpus)] == [
        ("1g.6gb", 4), ("2g.12gb", 2),
    ]  # fmt: skip


_JSON = json.dumps(
    [{"id": f"GPU-{i}", "count": 10, "devmem": 81920, "type": "NVIDIA-A100", "health": True} for i in range(2)]
)
_TEXT = "GPU-0,10,32768,100,NVIDIA-Tesla V100,0,true:GPU-1,10,32768,100,NVIDIA-Tesla V100,0,true:"


@pytest.mark.parametrize("written", [_JSON, _TEXT])
def test_hami_cards_are_counted_and_their_ids_forgotten(written: str) -> None:
    item = node("n", gpus=20)
    item["metadata"]["annotations"] = {"hami.io/node-nvidia-register": written}
    given = snapshot(item)
    assert physical_gpus(given.nodes[0]) == 2
    assert "2 " in sentences(given)["lines"]
    assert "offered as 20 vGPU shares" in sentences(given)["lines"]
    assert not any("more pod of" in one for one in sentences(given).values())
    assert "GPU-0" not in str(given.nodes[0].annotations)


@pytest.mark.parametrize("resource", ["nvidia.com/NVIDIA_A10-12Q", "volcano.sh/vgpu-number", "iluvatar.ai/vgpu"])
def test_nobody_tells_how_many_shares_are_of_one_card(resource: str) -> None:
    given = snapshot(node("n", labels={ACCELERATOR: "", "nvidia.com/gpu.product": "A10"}, extra={resource: "4"}))
    assert physical_gpus(given.nodes[0]) is None
    assert sentences(given)["lines"].startswith("A10, offered as 4 vGPU shares")


def test_a_register_that_cannot_be_read_says_nothing() -> None:
    item = node("n", gpus=2)
    item["metadata"]["annotations"] = {"hami.io/node-nvidia-register": "[{"}
    assert physical_gpus(snapshot(item).nodes[0]) == 2


# ── one device under two names ───────────────────────────────────────────────────────────────────────────────────────
def neuron_spec(*names: str) -> Item:
    spec = pod_spec(cpu="100m", memory="10Mi")
    for amounts in spec["containers"][0]["resources"].values():
        amounts.update(dict.fromkeys(names, "1"))
    return spec


def neurons(*names: str) -> Snapshot:
    both = {NEURON: "8", DEVICE: "8", "aws.amazon.com/neuroncore": "16"}
    return snapshot(node("inf", extra=both), *deployment("a", ["inf"] * 4, neuron_spec(*names)))


@pytest.mark.parametrize("names", [(NEURON, DEVICE), (NEURON,), (DEVICE,)])
def test_a_device_under_two_names_counts_once(names: tuple[str, ...]) -> None:
    given = neurons(*names)
    [line] = overviews.overview(given).gpus
    assert (line.resource, line.allocatable, line.requested, line.free) == (NEURON, 8, 4, 4)
    assert [one.offered for one in capacity_left.capacity(given).supply] == [8]
    assert [one.allocatable for one in fleet.answer(given, fleet.FleetSettings()).models] == [8]
    assert [(one.gpus, one.gpus_free) for one in seats_room.seats(given)] == [(8, 4)]
    [family] = [
        one
        for one in metrics.cluster_metrics(given, NOTHING).families
        if one.name.endswith("gpus") and "state" in one.labels
    ]
    told = {labels[-1]: amount for labels, amount in family.samples}
    assert (told["allocatable"], told["held"], told["free"]) == (8, 4, 4)
    stored = [
        row for row in snapshot_rows.rows_of(given, (), written_by="")["pools"] if row["resource"] in (NEURON, DEVICE)
    ]
    assert [(row["allocatable"], row["requested"], row["free"]) for row in stored] == [(8, 4, 4)]


def test_the_grid_counts_them_once_in_certain_cells_and_in_played_ones() -> None:
    spec, both = neuron_spec(NEURON, DEVICE), {NEURON: "8", DEVICE: "8"}
    asked = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),))
    here = ["inf"] * 4
    peaks = []
    plays: tuple[dict[str, Any], ...] = ({}, {"minReadySeconds": 1})
    for more in plays:  # counted, and played
        given = snapshot(node("inf", extra=both), *deployment("a", here, spec, **more))
        certain = certain_course(Cluster(given), given.workloads[0])
        assert (certain is None) is bool(more)
        grid = grids.strategy_grid(given, asked, "Deployment/ml/a")
        peaks.append([[(cell.peak_gpus, cell.extra_gpus) for cell in row] for row in grid.cells])
    assert peaks[0] == peaks[1]
    assert max(peak for row in peaks[0] for peak, _ in row) <= 8


def test_the_workload_with_most_gpus_stands_first_on_the_rollout_page() -> None:
    one = deployment("one", ["inf"] * 3, neuron_spec(NEURON, DEVICE))
    other = deployment("other", ["inf"] * 4, neuron_spec(NEURON))
    given = snapshot(node("inf", extra={NEURON: "8", DEVICE: "8"}), *one, *other)
    assert [workload.name for workload in by_stake(given)] == ["other", "one"]


# ── seats ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_node_that_offers_two_resources_has_two_rows_of_seats() -> None:
    small, large = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
    one = node("a", gpus=1, labels={ACCELERATOR: "", "nvidia.com/gpu.product": "A100"}, extra={small: "2", large: "1"})
    spec = pod_spec(cpu="100m", memory="10Mi")
    for amounts in spec["containers"][0]["resources"].values():
        amounts[small] = "1"
    given = snapshot(one, *deployment("a", ["a"], spec))
    found = seats.answer(given, seats.SeatsSettings())
    assert [(one.name, one.gpus, one.gpus_free, one.could_take) for one in found.nodes] == [
        ("A100", 1, 1, ()),
        ("A100, MIG slices 1g.5gb", 2, 1, ("Deployment/ml/a",)),
        ("A100, MIG slices 2g.10gb", 1, 1, ()),
    ]
    assert [seat.holder for one in found.nodes for seat in one.seats if seat.holder] == ["Deployment/ml/a"]
    assert str(found.sentence).split("; ") == [
        "1 of 1 GPU on 1 node is free", "at most 1 on one node",
        "1 of 2 MIG slices 1g.5gb on 1 node is free", "at most 1 on one node",
        "1 of 1 MIG slice 2g.10gb on 1 node is free", "at most 1 on one node",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("resource", "noun"), [(NEURON, "Neurons"), ("kunlunxin.com/xpu", "XPUs"), ("tenstorrent.com/n300", "NPUs")]
)
def test_what_is_no_gpu_is_not_called_one(resource: str, noun: str) -> None:
    given = snapshot(node("n", labels={ACCELERATOR: ""}, extra={resource: "8"}))
    said = sentences(given)
    del said["fleet"]  # of several clusters each resource stands by its name
    assert all(f"8 of 8 {noun}" in one and "GPU" not in one for one in each(said.values())), said


# ── pools ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_pool_tells_what_it_offers_each_by_itself() -> None:
    big: Any = {"cpu": "32", "memory": "128Gi", "pool": "gpu"}
    given = snapshot(node("slices", gpus=4, labels=TIME_SLICED, **big), node("whole", gpus=2, **big))
    rows = capacity.QUESTION.rows(capacity.answer(given, capacity.CapacitySettings()), "pools")
    assert [(row["node_pool"], row["offered_as"], row["gpus"]) for row in rows] == [
        ("gpu", "GPUs", 2), ("gpu", "time slices", 4),
    ]  # fmt: skip


def test_a_cluster_without_whole_gpus_is_asked_for_none() -> None:
    for amounts, asked_for in (
        ({"nvidia.com/mig-1g.5gb": "7"}, ["nvidia.com/mig-1g.5gb"]), ({"aliyun.com/gpu-mem": "30"}, []), ({}, []),
        ({GPU: "1"}, [GPU]),
    ):  # fmt: skip
        given = snapshot(node("n", labels={ACCELERATOR: ""}, extra=amounts))
        asked = {name for one in capacity_left.capacity(given).standard for name in one.requests}
        assert sorted(asked - {"cpu", "memory"}) == asked_for


# ── counted card by card ─────────────────────────────────────────────────────────────────────────────────────────────
def asks(wanted: dict[str, str], offered: dict[str, str], *, pods: int = 1) -> Snapshot:
    """A node that offers so much, and a Deployment whose pods ask for `wanted`."""
    spec = pod_spec(cpu="100m", memory="10Mi")
    for some in spec["containers"][0]["resources"].values():
        some.update(wanted)
    return snapshot(node("n", labels={ACCELERATOR: ""}, extra=offered), *deployment("a", ["n"] * pods, spec))


CORE = "koordinator.sh/gpu-core"
CARD_BY_CARD = {
    "vcuda": asks({"tencent.com/vcuda-core": "60"}, {"tencent.com/vcuda-core": "200"}, pods=2),
    "aliyun": asks({"aliyun.com/gpu-mem": "5"}, {"aliyun.com/gpu-mem": "30", "aliyun.com/gpu-count": "2"}),
    "volcano": asks({"volcano.sh/vgpu-number": "1"}, {"volcano.sh/vgpu-number": "20"}),
    "koordinator": asks({CORE: "50"}, {GPU: "4", CORE: "400"}),
    "no node lists it": asks({GPU: "1", "nvidia.com/gpumem": "3000"}, {GPU: "4"}),
}
NEURON_CORES = asks({"aws.amazon.com/neuroncore": "2"}, {NEURON: "8", "aws.amazon.com/neuroncore": "16"}, pods=4)


@pytest.mark.parametrize("given", CARD_BY_CARD.values(), ids=list(CARD_BY_CARD))
def test_what_another_scheduler_counts_card_by_card_is_not_known_at_any_door(given: Snapshot) -> None:
    """Of two cards with 100 each, two pods hold 60 of one: a third fits on neither, whatever the node's sum says."""
    [line] = overviews.overview(given).workloads
    assert line.verdict is Verdict.UNKNOWN
    [own] = capacity_left.capacity(given).workloads
    assert own.known_count is None
    assert str(own.sentence).startswith("not known: ")
    [row] = [
        row
        for row in capacity.QUESTION.rows(capacity.answer(given, capacity.CapacitySettings()), "fits")
        if row["shape"] == own.shape
    ]
    assert row["fits"] is None
    manifest = where.WhereSettings(manifest=MANIFEST.replace("ASKS", json.dumps(dict(own.requests) | {"cpu": "100m"})))
    [place] = where.answer(given, manifest, NOTHING).clusters
    assert place.verdict is Verdict.UNKNOWN
    assert [one.is_known for one in place.room] == [False]


MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: more, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: more}}
  template:
    metadata: {labels: {app: more}}
    spec: {containers: [{name: main, image: x, resources: {limits: ASKS}}]}
"""


def test_what_is_more_than_the_sums_is_stuck_all_the_same() -> None:
    given = asks({"tencent.com/vcuda-core": "100"}, {"tencent.com/vcuda-core": "200"}, pods=2)
    [line] = overviews.overview(given).workloads
    assert line.verdict is Verdict.STUCK
    assert [one.known_count for one in capacity_left.capacity(given).workloads] == [0]


def test_hami_decides_of_its_shares_by_the_name_of_gpus_too() -> None:
    item = node("n", gpus=20)
    item["metadata"]["annotations"] = {"hami.io/node-nvidia-register": _JSON}
    given = snapshot(item, *deployment("a", ["n"], pod_spec(gpus=1)))
    [line] = overviews.overview(given).workloads
    assert line.verdict is Verdict.UNKNOWN
    [place] = where.answer(given, where.WhereSettings(shape="gpu=3"), NOTHING).clusters
    assert place.verdict is Verdict.UNKNOWN
    broken = capacity_left.capacity(given).fragments
    assert broken is not None
    assert "for their own scheduler to say" in str(broken.sentence)


@pytest.mark.parametrize(
    ("given", "held"),
    [(CARD_BY_CARD["koordinator"], f"50 of 400 {CORE}"), (NEURON_CORES, "8 of 16 aws.amazon.com/neuroncore")],
)
def test_parts_that_are_held_make_what_is_free_less_sure(given: Snapshot, held: str) -> None:
    said = sentences(given)
    assert held in said["lines"]
    assert held in said["capacity"]
    assert held in said["seats"]
    assert not capacity_left.capacity(given).standard
    [place] = where.answer(given, where.WhereSettings(shape="gpu=1"), NOTHING).clusters
    assert place.verdict is Verdict.UNKNOWN


def test_shares_that_kubernetes_counts_fit_as_it_says() -> None:
    given = asks({"nvidia.com/NVIDIA_A10-12Q": "1"}, {"nvidia.com/NVIDIA_A10-12Q": "4"})
    assert [one.known_count for one in capacity_left.capacity(given).workloads] == [3]


def test_a_stuck_rollout_is_told_in_the_units_that_its_nodes_offer() -> None:
    full = [*sliced(held=2), *deployment("c", ["t4"] * 2, pod_spec(gpus=1))]
    whole = [node("whole", gpus=2, cpu="32", memory="128Gi"), *deployment("b", ["whole"], pod_spec(gpus=2))]
    for items, noun, held in ((full, "time slice", "2 of 4"), ([*full, *whole], "GPU or time slice", "2 of 6")):
        found = {line.workload: str(line.headline) for line in overviews.overview(snapshot(items)).workloads}
        said = f"the new pod needs 1 {noun}, and the pods that it replaces hold {held}"
        assert found["Deployment/ml/a"] == said


# ── what workloads hold ──────────────────────────────────────────────────────────────────────────────────────────────
SLICE = "nvidia.com/mig-1g.5gb"


@pytest.mark.parametrize(
    ("given", "noun", "asked"),
    [(snapshot(sliced()), "time slices", GPU), (asks({SLICE: "1"}, {SLICE: "7"}), "MIG slices 1g.5gb", SLICE)],
)
def test_what_workloads_ask_for_is_told_in_its_unit_at_every_door(given: Snapshot, noun: str, asked: str) -> None:
    found = overviews.overview(given)
    assert [line.nouns.many for line in found.workloads] == [noun]
    assert [one.unit for one in overview.QUESTION.facts(found) if one.metric == "workload_gpus"] == [noun]
    here = fleet.answer(given, fleet.FleetSettings(), Inputs(others=(given,)))
    assert {row["gpus_are"] for row in fleet.QUESTION.rows(here, "workloads")} == {noun}
    change = MANIFEST.replace("ASKS", json.dumps({asked: "1", "cpu": "100m"})).replace("replicas: 1", "replicas: 2")
    policy = GatePolicy(most_extra_gpus=1)
    answer = gate.answer(given, gate.GateSettings(manifest=change, policy=policy))
    assert [str(one) for one in answer.refusals] == [f"2 {noun} more than today, and the policy allows 1"]
    assert f"2 {noun} more than today" in gate_formats.text(answer, "here")
    pod = next(one for one in given.pods if one.node_name)
    use = GpuUse(
        node=pod.node_name, namespace=pod.namespace, pod=pod.name, gpu="0", model="", first_at=0.0, last_at=9e3, busy_at=None,
        peak_percent=0.0, mean_percent=0.0, samples=1,
    )  # fmt: skip
    unused = idle.answer(given, idle.IdleSettings(), Inputs(gpu_uses=(use,), book=embedded_book()))
    assert str(unused.sentence).startswith(f"1 of 1 held {unused.units[0].nouns.one} is held and not used")
    assert {one.unit for one in idle.QUESTION.facts(unused) if one.metric in ("gpus_held", "pod_gpus_idle")} == {noun}
    assert "GPU" not in str(unused.sentence)


def test_strategies_are_weighed_in_the_units_of_their_workload() -> None:
    given = snapshot(sliced())
    asked = strategies.StrategiesSettings(rollout=RolloutSettings(workloads=("Deployment/ml/a",)))
    found = strategies.answer(given, asked)
    assert "1 time slice more" in str(found.sentence)
    assert {one.unit for one in strategies.QUESTION.facts(found) if one.metric == "strategy_extra_gpus"} == {
        "time slices"
    }


def test_idle_tells_slices_and_gpus_apart() -> None:
    given = snapshot(*sliced(), node("whole", gpus=2), *deployment("b", ["whole"], pod_spec(gpus=2)))
    found = idle.answer(given, idle.IdleSettings(), Inputs(gpu_uses=(), book=embedded_book()))
    assert [(one.nouns.many, one.gpus, one.held, one.free) for one in found.units] == [
        ("GPUs", 2, 2, 0),
        ("time slices", 4, 1, 3),
    ]
    assert "0 of 2 held GPUs are held and not used; 0 of 1 held time slice are" in str(found.sentence)
    assert "Not requested: 0 more GPUs and 3 more time slices" in str(found.sentence)


# ── virtual kubelets ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_a_virtual_kubelet_offers_is_no_free_room() -> None:
    amounts: Any = {"cpu": "10000", "memory": "40Ti", "gpus": 100}
    tainted = node("vk", taints=(("virtual-kubelet.io/provider", "NoSchedule"),), **amounts)
    given = snapshot(tainted, node("vk2", labels={"type": "virtual-kubelet"}, **amounts), node("n", gpus=1, cpu="8"))
    found = capacity_left.capacity(given)
    assert [is_virtual(one) for one in given.nodes] == [False, True, True]
    assert {one.resource: one.free for one in found.resources}["cpu"] == 8_000
    assert [(one.allocatable, one.free) for one in found.gpus] == [(1, 1)]
    assert [one.code for one in found.findings] == ["virtual-nodes"]
    assert "20,000 cpu" in found.findings[0].what
    assert [one.count for one in found.standard] == [1, 0, 0, 0]
    assert fit(Cluster(given), parse_shape("gpu=8,tolerate=all", Cluster(given))).count == 0
    assert [one.node for one in seats.answer(given, seats.SeatsSettings()).nodes] == ["n"]
    assert {row["node_pool"]: row["gpus"] for row in capacity.QUESTION.rows(found, "pools")} == {"T4": 1}


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("resource", "of"),
    [
        ("nvidia.com/GA102GL_A10", Unit.DEVICE),
        ("nvidia.com/NVIDIA_A10-12Q", Unit.SHARE),
        ("koordinator.sh/gpu-core", Unit.CORE),
        ("koordinator.sh/gpu-memory-ratio", Unit.MEMORY),
        ("tencent.com/vcuda-core", Unit.CORE),
        ("doslab.io/vcuda-memory", Unit.MEMORY),
        ("aliyun.com/gpu-mem", Unit.MEMORY),
        ("kunlunxin.com/xpu", Unit.DEVICE),
        ("iluvatar.ai/vgpu", Unit.SHARE),
        ("tenstorrent.com/n300", Unit.DEVICE),
    ],
)
def test_accelerators_of_every_house_are_known(resource: str, of: Unit) -> None:
    assert unit(resource) is of


def test_cards_that_are_given_out_by_memory_are_not_free_gpus() -> None:
    given = snapshot(
        node("n", labels={ACCELERATOR: ""}, extra={"aliyun.com/gpu-count": "2", "aliyun.com/gpu-mem": "30"})
    )
    assert sentences(given)["lines"] == "30 of 30 aliyun.com/gpu-mem are free"
    assert physical_gpus(given.nodes[0]) == 2
