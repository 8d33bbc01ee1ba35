"""Colours of figures: Okabe and Ito (2008), told apart by people with any colour vision, and what each stands for.

The same list is ``chartCategoricalColors`` in `.streamlit/config.toml`; a test compares the two. A colour never stands
alone: a name, a glyph or a pattern is beside it.

Source: https://jfly.uni-koeln.de/color/ (Masataka Okabe, Kei Ito, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.rollout.answers import PodState, Verdict

BLUE: Final = "#0072B2"
GREEN: Final = "#009E73"
SKY: Final = "#56B4E9"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
YELLOW: Final = "#F0E442"
GREY: Final = "#BBBBBB"
CATEGORICAL: Final = (BLUE, GREEN, SKY, ORANGE, VERMILION, PURPLE, YELLOW, GREY)

INK: Final = "#10161D"  # words and patterns on any of the colours above: 4.5:1 on all but blue
LINE: Final = "#8A97A5"  # axes' marks and annotations: 3:1 against both the light and the dark page
CLEAR: Final = "rgba(0,0,0,0)"
FREE: Final = "rgba(138,151,165,0.28)"  # an empty seat, on the light and on the dark page

_POD_STATES: Final = {  # colour, pattern, name
    PodState.OLD_READY: (BLUE, "", "old, Ready"),
    PodState.OLD_NOT_READY: (PURPLE, "x", "old, not Ready"),
    PodState.NEW_READY: (GREEN, "", "new, Ready"),
    PodState.NEW_STARTING: (SKY, "/", "new, starting"),
    PodState.PENDING: (ORANGE, ".", "pending"),
    PodState.TERMINATING: (GREY, "\\", "terminating"),
}
POD_STATE, POD_STATE_PATTERN, POD_STATE_NAME = (
    {state: look[i] for state, look in _POD_STATES.items()} for i in range(3)
)
VERDICT: Final = {
    Verdict.COMPLETES: GREEN,
    Verdict.STUCK: VERMILION,
    Verdict.NEEDS_GROWTH: ORANGE,
    Verdict.EVICTIONS_BY_QUEUE: PURPLE,
    Verdict.UNKNOWN: GREY,
}


def steps(colours: Sequence[str]) -> list[tuple[float, str]]:
    """A Plotly colour scale in steps: with ``zmin=-0.5`` and ``zmax=len(colours) - 0.5`` the value i gets ``colours[i]``."""
    last = len(colours)
    return [edge for i, colour in enumerate(colours) for edge in ((i / last, colour), ((i + 1) / last, colour))]
