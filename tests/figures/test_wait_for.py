from planner.figures import wait_for
from planner.rollout.answers import WaitForEdge
from tests.figures import answers


def test_every_object_is_a_box_once_and_the_cycle_leads_back() -> None:
    drawn = wait_for.figure(answers.CYCLE).to_dict()["layout"]
    boxes = [note["text"] for note in drawn["annotations"] if note.get("bordercolor")]
    assert boxes == [
        "<b>Deployment ml-worker</b>",
        "<b>ReplicaSet ml-worker (new)</b>",
        "<b>1 nvidia.com/gpu</b>",
        "<b>ReplicaSet ml-worker (old)</b>",
    ]
    arrows = [note for note in drawn["annotations"] if note.get("showarrow") is not False]
    assert len(arrows) == len(answers.CYCLE)
    assert len(drawn["shapes"]) == 2


def test_a_chain_has_no_way_back() -> None:
    assert "shapes" not in wait_for.figure(answers.CYCLE[:2]).to_dict()["layout"]
    assert wait_for.alt(answers.CYCLE[:2]).startswith("A chain")


def test_words_tell_every_edge() -> None:
    said = wait_for.alt(answers.CYCLE)
    assert said.startswith("A cycle")
    assert all(edge.label in said for edge in answers.CYCLE)


def test_long_and_odd_names_stay_names() -> None:
    edge = WaitForEdge(source="a very long name of an object in a cluster " * 2, target="<b>", label="<i>")
    notes = [note["text"] for note in wait_for.figure((edge,)).to_dict()["layout"]["annotations"]]
    assert "<br>" in notes[0]
    assert notes[1] == "<b>&lt;b&gt;</b>"
    assert "<i>&lt;i&gt;</i>" in notes
