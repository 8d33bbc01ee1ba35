import pytest

from planner.figures import rollout_timeline
from planner.ground.records import replace
from planner.kubernetes.records import FrozenMap
from planner.rollout.answers import WorkloadRollout
from planner.rollout.film import scarce_resource
from tests.figures import answers


@pytest.mark.parametrize("rollout", [answers.stuck(), answers.completes()], ids=["stuck", "completes"])
def test_bands_add_up_to_the_pods_there_are(rollout: WorkloadRollout) -> None:
    drawn = rollout_timeline.figure(rollout, 9).to_dict()
    bands = [trace for trace in drawn["data"] if trace.get("stackgroup")]
    heights = [sum(column) for column in zip(*(band["y"] for band in bands), strict=True)]
    assert heights[:-1] == [sum(row.counts.values()) for row in rollout.timeline]
    assert heights[-1] == heights[-2]  # the last state is drawn on
    assert {band["line"]["shape"] for band in bands} == {"hv"}


def test_time_runs_from_before_the_change_to_after_the_end() -> None:
    drawn = rollout_timeline.figure(answers.completes()).to_dict()
    x = drawn["data"][0]["x"]
    assert x[0] < 0 < x[-1]
    assert x == sorted(x)
    assert "seconds" in drawn["layout"]["xaxis2"]["title"]["text"]


def test_capacity_is_a_line_with_its_number() -> None:
    drawn = rollout_timeline.figure(answers.stuck(), 9).to_dict()
    assert "9<br>capacity" in [note["text"] for note in drawn["layout"]["annotations"]]
    assert {shape["y0"] for shape in drawn["layout"]["shapes"]} == {6, 9}
    without = rollout_timeline.figure(answers.stuck()).to_dict()
    assert {shape["y0"] for shape in without["layout"]["shapes"]} == {6}


def test_capacity_of_some_nodes_stands_without_what_the_whole_cluster_holds() -> None:
    drawn = rollout_timeline.figure(answers.stuck(), 6, is_whole_cluster=False).to_dict()
    assert "6<br>it can use" in [note["text"] for note in drawn["layout"]["annotations"]]
    names = {trace["name"] for trace in drawn["data"]}
    assert "held by this workload" in names
    assert "held by all" not in names


def test_no_seconds_are_made_up_where_nothing_moves() -> None:
    axis = rollout_timeline.figure(answers.stuck()).to_dict()["layout"]["xaxis2"]
    assert list(axis["ticktext"]) == ["the change"]
    assert "ticktext" not in rollout_timeline.figure(answers.completes()).to_dict()["layout"]["xaxis2"]


def test_a_workload_without_devices_has_no_second_panel() -> None:
    rollout = replace(answers.stuck(), requests=FrozenMap({"cpu": 1000}))
    assert scarce_resource(rollout.requests) == ""
    assert "xaxis2" not in rollout_timeline.figure(rollout).to_dict()["layout"]


def test_the_gpu_is_drawn_before_any_other_device() -> None:
    rollout = replace(answers.stuck(), requests=FrozenMap({"example.com/nic": 1, answers.GPU: 1}))
    assert scarce_resource(rollout.requests) == answers.GPU


def test_nothing_to_draw_is_no_error() -> None:
    rollout = replace(answers.stuck(), timeline=())
    assert rollout_timeline.figure(rollout, 9).to_dict()["data"]
    assert "No timeline" in rollout_timeline.alt(rollout)


def test_words_name_the_end() -> None:
    assert "6 old, Ready, 2 pending" in rollout_timeline.alt(answers.stuck())
    assert "never fewer than 4 Ready" in rollout_timeline.alt(answers.completes())


def test_names_never_become_markup() -> None:
    timeline = (answers.row(0, 0, event='<a href="http://elsewhere.example">x</a>', old_ready=1),)
    drawn = rollout_timeline.figure(replace(answers.stuck(), timeline=timeline)).to_dict()
    assert "<a" not in str(drawn["data"])


def test_events_are_marked_where_they_come() -> None:
    done = answers.completes()
    at = next(row for row in done.timeline if row.seconds > 0)
    rows = tuple(
        replace(row, event=f"meanwhile node a deleted, {row.event}") if row is at else row for row in done.timeline
    )
    drawn = rollout_timeline.figure(replace(done, timeline=rows)).to_dict()["layout"]
    assert [note["x"] for note in drawn["annotations"] if note["text"] == "event"] == [at.seconds]
    assert {shape["x0"] for shape in drawn["shapes"] if shape["x0"] == shape["x1"]} == {at.seconds}
