"""The stair of places that moves buy."""

from planner.capacity.movable import MoveObjective
from planner.figures import moves_curve
from planner.remedies.make_room import MadeRoom, RoomRequest, make_room
from tests.builders.objects import deployment, node, pod_spec, snapshot


def made(least: MoveObjective = MoveObjective.MOVES) -> MadeRoom:
    """Of four nodes of 4 GPUs one is empty, and one pod is on each of the others: three places take two moves."""
    names = [f"n{i}" for i in range(4)]
    pods = deployment("small", names[:3], pod_spec(gpus=1))
    found = snapshot(*(node(name, gpus=4) for name in names), pods)
    return make_room(found, RoomRequest(shape="gpu=4", number=3, least=least))


def test_each_step_up_is_a_place_more() -> None:
    drawn = moves_curve.figure(made()).to_dict()["data"][0]
    assert list(zip(drawn["x"], drawn["y"], strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 3)]
    assert moves_curve.alt(made()) == "Places that moves buy. 3 places for 2 moves; 1 of them without any."


def test_minutes_are_called_so() -> None:
    assert moves_curve.figure(made(MoveObjective.MINUTES)).layout.xaxis.title.text == "Minutes"
