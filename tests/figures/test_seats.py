"""GPUs drawn as seats by node."""

from collections.abc import Sequence
from typing import Any

from planner.capacity.gpu_holders import NodeSeats
from planner.capacity.seat_map import NodeLoss, PendingSeats
from planner.capacity.survival import Fewer
from planner.figures import seat_map
from tests.figures import answers
from tests.figures.answers import node


def told(nodes: Sequence[NodeSeats], **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"waiting": (), "loss": None, "beside": {}, "note": "so it is."} | more
    return seat_map.seat_map_document(nodes, **given)


def test_every_gpu_is_a_seat_and_every_holder_a_letter_and_a_colour() -> None:
    drawn = told(answers.NODES, beside={"gpu-t4": "2 nodes"})
    assert [[letter, name] for letter, name, _ in drawn["holders"]] == [
        ["A", "prod/llm-serve"], ["B", "prod/ml-worker"], ["–", "out of use"], ["·", "free"],
    ]  # fmt: skip
    assert len({colour for *_, colour in drawn["holders"][:2]}) == 2
    assert [(pool["name"], pool["note"]) for pool in drawn["pools"]] == [("gpu-t4", "2 nodes"), ("gpu-a100", "")]
    assert [one[2:] for pool in drawn["pools"] for one in pool["nodes"]] == [
        ["B", "prod/ml-worker 1"], ["–", "cordoned"], ["AA··", "prod/llm-serve 2, 2 free"],
    ]  # fmt: skip
    assert drawn["alt"] == "2 of 6 seats on 3 nodes are free."


def test_more_holders_than_colours_share_one() -> None:
    drawn = told([node(f"n{place}", f"Deployment/x/w{place}") for place in range(12)])
    assert [name for _, name, _ in drawn["holders"]] == [
        *(f"x/w{place}" for place in (0, 1, 10, 11, 2, 3, 4)),
        "others",
    ]


def test_who_waits_lights_up_the_nodes_of_its_place_and_a_lost_node_says_what_stays_outside() -> None:
    waits = PendingSeats(
        workloads=("Deployment/x/new", "Deployment/y/new"),
        pods=2,
        needs="1 GPU",
        nodes=("a100-0", "elsewhere"),
        holders=(),
    )
    loss = NodeLoss(node="t4-0", pods=3, back=1, outside=(Fewer(workload=answers.WORKER, pods=2),), unknown=1)
    drawn = told(answers.NODES, waiting=[(waits, ["Needs it."], "add:gpu=1")], loss=loss)
    assert drawn["pending"] == [
        {"name": "x/new and 1 alike ×2", "say": ["Needs it."], "change": "add:gpu=1", "nodes": [2]}
    ]
    assert drawn["lost"]["at"] == 0
    assert drawn["lost"]["say"] == [
        "1 of 3 pods comes back elsewhere.", "2 pods of prod/ml-worker stay pending.",
        "Of 1 of these it isn't known: what makes them isn't played.",
    ]  # fmt: skip
    assert seat_map.loss_words(NodeLoss(node="n", pods=0, back=0, outside=(), unknown=0)) == [
        "It has no pods but those of DaemonSets."
    ]


def test_of_many_seats_a_square_stands_for_several() -> None:
    drawn = told([node(f"n{place}", *["Deployment/x/a"] * 8) for place in range(3_000)])
    assert [len(one[2]) for pool in drawn["pools"] for one in pool["nodes"]] == [8_000]
    assert not drawn["named"]
