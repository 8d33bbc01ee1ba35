from __future__ import annotations

import re
from typing import Any

from planner.figures import film as drawing
from planner.figures import palette, strategy_grid
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import RECREATE, Reason, StrategyGrid, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_choice import choose
from planner.sources import demo
from tests.figures import answers
from tests.seen import each


def told(grid: StrategyGrid, replicas: int = 6, chosen: tuple[int, int] = (2, 0)) -> dict[str, Any]:
    choice = choose(
        [*(cell for row in grid.cells for cell in row), grid.recreate], replicas, keep_ready=grid.keep_ready
    )
    return strategy_grid.grid_document(grid, choice, replicas, chosen)


def of_demo(key: str) -> StrategyGrid:
    return grids.strategy_grid(demo.read(), Scenario(changes=(WorkloadChange(workload=key),)), key)


def test_rows_of_which_the_same_is_said_are_one_and_those_that_differ_are_not() -> None:
    drawn = told(answers.grid())
    assert [row["name"] for row in drawn["rows"]] == ["1 … 6", "0"]
    assert drawn["rows"][0]["takes"] == 2  # a click on it keeps today's surge
    assert [len(row["cells"]) for row in drawn["rows"]] == [7, 7]
    serving = of_demo("Deployment/prod/inference-api")  # each surge keeps the service up for another price
    names = [row["name"] for row in told(serving, 5)["rows"]]
    assert len(names) > 2
    assert sum(len(row["surges"]) for row in told(serving, 5)["rows"]) == len(serving.surges)


def test_why_rows_are_alike_is_said_and_nothing_where_none_are() -> None:
    assert strategy_grid.why_alike(answers.grid(), "T4") == "maxSurge 1 to 6: no T4 is free to surge into."
    lone = answers.grid(1)
    assert strategy_grid.why_alike(lone, "T4") == ""
    refused = replace(
        answers.grid(),
        cells=tuple(
            tuple(replace(c, reason=Reason.QUOTA) if c.verdict is Verdict.STUCK else c for c in row)
            for row in answers.grid().cells
        ),
    )
    assert strategy_grid.why_alike(refused, "T4") == "maxSurge 1 to 6: the quota has no room to surge into."


def test_the_colour_is_the_lowest_ready_and_no_two_numbers_share_one() -> None:
    _, zero = told(answers.grid())["rows"]
    done = [cell for cell in zero["cells"] if cell["text"] not in "–✗"]
    colours = {cell["text"].split()[0]: cell["colour"] for cell in done}
    assert len(set(colours.values())) == len(colours) == 6
    stuck = told(answers.grid())["rows"][0]["cells"][0]
    assert (stuck["text"], stuck["colour"]) == ("✗", palette.VERDICT[Verdict.STUCK])
    assert stuck["colour"] not in colours.values()


def test_below_the_budget_is_hatched_and_at_it_is_not() -> None:
    drawn = told(replace(answers.grid(), keep_ready=5))
    below = {cell["text"].split()[0]: cell["below"] for cell in drawn["rows"][1]["cells"] if cell["ready"] is not None}
    assert below == {"5": False, "4": True, "3": True, "2": True, "1": True, "0": True}
    assert "below the budget of 5" in drawn["rows"][1]["cells"][2]["words"]
    free = [cell for row in told(answers.grid())["rows"] for cell in row["cells"] if cell.get("below")]
    assert free == []


def stars(drawn: dict[str, Any]) -> list[str]:
    cells = [cell for row in drawn["rows"] for cell in row["cells"]] + [drawn["recreate"]]
    return [cell["words"] for cell in cells if "★" in cell["text"]]


def test_a_star_stands_where_todays_is_stuck_and_not_where_todays_is_as_good() -> None:
    [star] = stars(told(answers.grid()))  # today's, 2 and 0, is stuck
    assert star.startswith("maxSurge 0, maxUnavailable 2: 4 of 6 pods stay Ready")
    worker = of_demo("Deployment/prod/ml-worker")  # today's keeps 5 of 6, its budget
    assert stars(told(worker)) == []
    assert [cell["text"] for row in told(worker)["rows"] for cell in row["cells"] if cell["today"]] == ["5"]


def test_the_refused_pair_cannot_be_chosen_and_recreate_can() -> None:
    drawn = told(answers.grid(), chosen=RECREATE)
    assert [cell["text"] for row in drawn["rows"] for cell in row["cells"] if cell["ready"] is None] == ["–"]
    assert (drawn["recreate"]["pair"], drawn["chosen"]) == ([-1, -1], [-1, -1])


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_letters_have_contrast_on_every_colour() -> None:
    cells = [cell for row in told(answers.grid())["rows"] for cell in row["cells"] if cell["ready"] is not None]
    for cell in each(cells):
        back, ink = (_luminance(cell[name]) for name in ("colour", "ink"))
        dark, light = sorted((back, ink))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, cell


def test_words_count_what_completes_and_names_are_only_text() -> None:
    assert strategy_grid.alt(answers.grid()).startswith("42 of 48 pairs")
    script = drawing.file("strategy_grid.js")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)
