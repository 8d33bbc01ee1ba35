"""Colors of figures after Okabe and Ito (2008), distinct for people with any color vision, and what each means.

The same list is ``chartCategoricalColors`` in `.streamlit/config.toml`; a test compares the two. A colour never stands
alone: a name, a glyph or a pattern is beside it.

Source: https://jfly.uni-koeln.de/color/ (Masataka Okabe, Kei Ito, 2008).
"""

from __future__ import annotations

from typing import Final

from planner.rollout.answers import Verdict

BLUE: Final = "#0072B2"
GREEN: Final = "#009E73"
SKY: Final = "#56B4E9"
ORANGE: Final = "#E69F00"
VERMILION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
YELLOW: Final = "#F0E442"
GREY: Final = "#BBBBBB"
CATEGORICAL: Final = (BLUE, GREEN, SKY, ORANGE, VERMILION, PURPLE, YELLOW, GREY)

INK: Final = "#10161D"  # words and patterns on any of the colors above: 4.5:1 on all but blue
LINE: Final = "#8A97A5"  # axes' marks and annotations: 3:1 against both the light and the dark page
FREE: Final = "rgba(138,151,165,0.28)"  # an empty seat, on the light and on the dark page

VERDICT: Final = {
    Verdict.COMPLETES: GREEN,
    Verdict.STUCK: VERMILION,
    Verdict.NEEDS_GROWTH: ORANGE,
    Verdict.EVICTIONS_BY_QUEUE: PURPLE,
    Verdict.UNKNOWN: GREY,
}
