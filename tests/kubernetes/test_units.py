"""What a number of an accelerator's resource is called, and which are given out card by card."""

from __future__ import annotations

from planner.kubernetes.accelerator_units import (
    GPUS,
    Nouns,
    Offer,
    Units,
    card_by_card,
    either,
    is_listed,
    offer_unseen,
    parts_held,
    units_of,
)
from planner.kubernetes.node_properties import Sharing
from tests.builders.objects import ACCELERATOR, GPU, deployment, node, pod_spec, snapshot

SLICE, CORE = "nvidia.com/mig-1g.5gb", "koordinator.sh/gpu-core"
SHARED = {ACCELERATOR: "", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.product": "Tesla-T4-SHARED"}


def test_a_number_is_told_as_the_nodes_offer_it() -> None:
    whole, sliced = node("a", gpus=2), node("b", gpus=4, labels=SHARED, extra={SLICE: "7"})
    assert units_of(snapshot(whole)).words({GPU: 2}, times=3) == "6 GPUs"
    assert units_of(snapshot(sliced)).words({GPU: 1}) == "1 time slice"
    assert units_of(snapshot(sliced)).words({GPU: 2, SLICE: 1}) == "2 time slices and 1 MIG slice 1g.5gb"
    both = units_of(snapshot(whole, sliced))
    assert both.noun(GPU, 2) == "GPUs or time slices"
    assert both.nouns([GPU, "cpu"]).count(1) == "1 GPU or time slice"
    assert [(one.resource, one.sharing, amount) for one, amount in both.offered.items()] == [
        (GPU, Sharing.WHOLE, 2), (GPU, Sharing.TIME_SHARING, 4), (SLICE, Sharing.MIG, 7),
    ]  # fmt: skip


def test_what_no_node_offers_is_told_by_its_name() -> None:
    assert Units(offered={}).noun(GPU, 1) == "GPU"
    assert Units(offered={}).noun(SLICE, 2) == "MIG slices 1g.5gb"
    assert offer_unseen(CORE) == Offer(resource=CORE, sharing=Sharing.PARTS)
    assert either([]) == GPUS
    assert either([GPUS, Nouns(one="slice", many="slices"), GPUS]).many == "GPUs or slices"


def test_devices_of_two_resources_that_are_called_alike_are_told_by_their_names() -> None:
    given = units_of(snapshot(node("a", gpus=1, extra={"amd.com/gpu": "2", "google.com/tpu": "4"})))
    assert given.noun("amd.com/gpu", 2) == "amd.com/gpu"
    assert given.noun("google.com/tpu", 4) == "TPUs"


def test_parts_that_pods_hold_of_devices_are_told_with_them() -> None:
    spec = pod_spec(cpu="100m", memory="10Mi")
    for some in spec["containers"][0]["resources"].values():
        some[CORE] = "50"
    given = snapshot(node("a", gpus=4, extra={CORE: "400"}), *deployment("x", ["a", "a"], spec))
    assert parts_held(given) == {GPU: f"100 of 400 {CORE}"}
    assert card_by_card(given, [GPU, CORE, "cpu"]) == (GPU, CORE)
    assert is_listed(given, CORE)
    without = snapshot(node("a", gpus=4, extra={CORE: "400"}))
    assert parts_held(without) == {}
    assert card_by_card(without, [GPU]) == ()
