"""GPUs drawn as bars by model, as seats by node, and as sums by pool and zone."""

from planner.figures import gpu_bars, node_seats, pool_seats
from planner.figures.drawing import as_figure
from planner.ground.records import replace
from tests.figures import answers
from tests.figures.answers import node


def test_bars_show_held_free_and_waited_for_in_words_too() -> None:
    drawn = as_figure(gpu_bars.figure(answers.GPUS)).to_dict()
    assert [trace["name"] for trace in drawn["data"]] == ["held", "free", "wanted"]
    assert list(drawn["data"][0]["x"]) == [7, 7, 8]
    assert list(drawn["data"][2]["text"]) == ["1 wanted", "", "4 wanted"]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "GPUs"
    assert "nvidia-l4: 7 of 8 held, 1 free" in gpu_bars.alt(answers.GPUS)
    assert gpu_bars.alt(()) == "No GPUs in this cluster."


def test_every_gpu_is_a_seat_and_every_holder_a_letter_and_a_colour() -> None:
    drawn = node_seats.figure(answers.NODES).to_dict()
    heat = drawn["data"][0]
    seats = [code for row in heat["z"] for code in row if code is not None]
    assert len(seats) == sum(len(n.seats) for n in answers.NODES)
    names = [trace["name"] for trace in drawn["data"][1:]]
    assert names == [
        "A  Deployment/prod/llm-serve: 2",
        "B  Deployment/prod/ml-worker: 1",
        "–  out of use: 1",
        "·  free: 2",
    ]
    assert heat["text"][1][0] == "B"


def test_pools_have_a_row_of_their_own_and_cordons_a_word() -> None:
    labels = node_seats.figure(answers.NODES).to_dict()["layout"]["yaxis"]["ticktext"]
    assert labels[0].startswith("<b>gpu-t4</b>")
    assert "t4-1 (cordoned)" in labels
    assert labels[3].startswith("<b>gpu-a100</b>")


def test_more_holders_than_colours_share_one() -> None:
    crowd = [node(f"n{place}", f"Deployment/x/w{place}") for place in range(12)]
    lines = node_seats.legend(crowd)
    assert [line[1] for line in lines[-2:]] == ["others", "free"]
    assert sum(seats for _, _, seats in lines) == 12


def test_terminating_pods_have_their_letter_in_brackets() -> None:
    leaving = node("n", answers.WORKER)
    leaving = replace(leaving, seats=(replace(leaving.seats[0], is_terminating=True),))
    assert node_seats.figure([leaving]).to_dict()["data"][0]["text"][1][0] == "(A)"


def test_forty_thousand_seats_stay_light() -> None:
    many = [node(f"n{place}", *["Deployment/x/a"] * 8) for place in range(500)]
    heat = node_seats.figure(many).to_dict()["data"][0]
    assert "customdata" not in heat
    assert "text" not in heat


def test_free_seats_say_what_fits() -> None:
    hover = node_seats.figure([node("n", "")]).to_dict()["data"][0]["customdata"][1][0]
    assert "next pods that fit: Deployment/dev/notebook" in hover


def test_a_seat_out_of_use_says_why() -> None:
    hover = node_seats.figure([node("n", "", cordoned=True)]).to_dict()["data"][0]["customdata"][1][0]
    assert hover.endswith("no pod holds it; the node is cordoned")


def test_gpus_out_of_use_have_a_bar_of_their_own() -> None:
    lines = [replace(answers.GPUS[0], free=0, out_of_use=2)]
    drawn = as_figure(gpu_bars.figure(lines)).to_dict()
    assert [trace["name"] for trace in drawn["data"]] == ["held", "free", "out of use", "wanted"]
    assert "7 of 9 held, 0 free, 2 out of use, 1 wanted" in gpu_bars.alt(lines)


def test_pool_sums_keep_cordoned_seats_apart_and_can_be_clicked() -> None:
    assert pool_seats.totals(answers.NODES) == {
        ("gpu-a100", "a", "GPUs"): (1, 2, 2, 0), ("gpu-t4", "a", "GPUs"): (2, 1, 0, 1),
    }  # fmt: skip
    drawn = as_figure(pool_seats.figure(answers.NODES)).to_dict()
    assert drawn["data"][0]["customdata"] == [["gpu-a100", "a"], ["gpu-t4", "a"]]
    assert [trace["name"] for trace in drawn["data"]] == ["held", "free", "out of use"]
    assert "gpu-t4, a: 1 GPUs held, 0 free, 1 out of use on 2 nodes" in pool_seats.alt(answers.NODES)
