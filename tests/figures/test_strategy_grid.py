import pytest

from planner.capacity import strategy_prices
from planner.figures import palette, strategy_grid
from planner.inventory.change import WorkloadChange
from planner.rollout import grid as grids
from planner.rollout.answers import Verdict
from planner.rollout.choice import choose
from planner.rollout.prepared import Scenario
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.figures import answers


def test_every_valid_cell_can_be_clicked_and_says_which_it_is() -> None:
    grid = answers.grid()
    drawn = strategy_grid.figure(grid).to_dict()
    squares = drawn["data"][1]
    pairs = [tuple(pair) for pair in squares["customdata"]]
    assert len(pairs) == 7 * 7 - 1
    assert (0, 0) not in pairs
    assert [(int(y), int(x)) for x, y in zip(squares["x"], squares["y"], strict=True)] == pairs
    assert squares["marker"]["color"] == palette.CLEAR


def test_a_cell_has_glyph_and_number_and_its_verdicts_colour() -> None:
    drawn = strategy_grid.figure(answers.grid()).to_dict()
    heat = drawn["data"][0]
    assert heat["text"][2][0] == "✗"
    lowest, minutes = heat["text"][0][1].split("<br>")
    cell = answers.grid().cells[0][1]
    assert lowest == f"✓ {cell.lowest_ready}"
    assert float(minutes.removesuffix("m")) == pytest.approx(cell.seconds / 60, rel=0.1)
    assert heat["text"][0][0] == "–"
    scale = heat["colorscale"]
    place = (heat["z"][2][0] - heat["zmin"]) / (heat["zmax"] - heat["zmin"])
    assert next(colour for edge, colour in reversed(scale) if edge <= place) == palette.VERDICT[Verdict.STUCK]


@pytest.mark.parametrize(("replicas", "text"), [(6, "✓ 5<br>"), (12, "✓ 11"), (20, "✓"), (32, "")])
def test_a_cell_says_less_where_there_is_less_room(replicas: int, text: str) -> None:
    said = strategy_grid.figure(answers.grid(replicas)).to_dict()["data"][0]["text"][1][1]
    assert said.startswith(text) if "<br>" in text else said == text


def test_what_nothing_beats_is_marked_and_one_recommended() -> None:
    grid = answers.grid()
    cells = [cell for row in grid.cells for cell in row]
    found = choose([*cells, grid.recreate], 6)
    drawn = strategy_grid.figure(grid, None, found).to_dict()["data"][0]["text"]
    marks = {
        one.pair: "★" if one.is_recommended else "◆" for one in found.options if one.is_best and not one.is_recreate
    }
    assert list(marks.values()).count("★") == 1
    for row in grid.cells:
        for cell in row:
            pair = (cell.max_surge, cell.max_unavailable)
            text = drawn[grid.surges.index(pair[0])][grid.unavailables.index(pair[1])]
            assert [mark for mark in "★◆" if mark in text] == ([marks[pair]] if pair in marks else [])


def test_axes_are_categories_with_kubernetes_names() -> None:
    layout = strategy_grid.figure(answers.grid()).to_dict()["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("category", "category")
    assert (layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"]) == ("maxUnavailable", "maxSurge")


def test_todays_strategy_is_outlined() -> None:
    (frame,) = strategy_grid.figure(answers.grid()).to_dict()["layout"]["shapes"]
    assert (frame["x0"], frame["x1"], frame["y0"], frame["y1"]) == (-0.5, 0.5, 1.5, 2.5)


def test_words_count_what_completes() -> None:
    assert strategy_grid.alt(answers.grid()).startswith("42 of 48 pairs")


def test_a_priced_cells_hover_says_what_its_spare_costs() -> None:
    snapshot, key = demo.read(), "Deployment/prod/ml-worker"
    scenario = Scenario(changes=(WorkloadChange(workload=key),))
    costs = strategy_prices.costs_of(snapshot, scenario, key, embedded_book(), {})
    grid = grids.strategy_grid(snapshot, scenario, key)
    squares = strategy_grid.figure(grid, costs).to_dict()["data"][1]
    said = dict(zip(map(tuple, squares["customdata"]), squares["text"], strict=True))
    assert said[1, 0].endswith("with 1 spare GPU: $438 a month kept on demand, $273 on spot, $8.17 as nodes added")
    assert said[0, 1].endswith("no spare GPU")
    assert strategy_grid.alt(grid, costs).endswith(str(costs.sentence))
