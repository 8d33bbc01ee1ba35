import tomllib
from pathlib import Path

import pytest

from planner.figures import palette
from planner.rollout.answers import Verdict
from planner.rollout.verdict_wording import GLYPH

THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_has_the_palette(scheme: str) -> None:
    assert tuple(THEME[scheme]["chartCategoricalColors"]) == palette.CATEGORICAL


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["textColor", "linkColor", "greenTextColor", "redTextColor", "orangeTextColor"])
def test_words_stand_out(scheme: str, name: str) -> None:
    assert contrast(THEME[scheme][name], THEME[scheme]["backgroundColor"]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["green", "red", "orange", "blue"])
def test_words_stand_out_on_their_box(scheme: str, name: str) -> None:
    assert contrast(THEME[scheme][f"{name}TextColor"], THEME[scheme][f"{name}BackgroundColor"]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_of_axes_stand_out(scheme: str) -> None:
    assert contrast(palette.LINE, THEME[scheme]["backgroundColor"]) >= 2.9


@pytest.mark.parametrize("verdict", Verdict)
def test_a_verdict_has_a_glyph_and_a_colour_words_can_be_read_on(verdict: Verdict) -> None:
    assert GLYPH[verdict]
    assert contrast(palette.INK, palette.VERDICT[verdict]) >= 4.5
