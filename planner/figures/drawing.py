"""A chart that can't be drawn is no reason to lose the page: its place says so, and the numbers are in the tables."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from planner.ground.records import Record

P = ParamSpec("P")
R = TypeVar("R")

_LOG = logging.getLogger(__name__)


class NotDrawn(Record):
    """What stands in the place of a figure; `kind` is the error's name."""

    kind: str


def drawn(figure: Callable[P, R]) -> Callable[P, R]:
    """`figure`, giving `NotDrawn` where it fails; the traceback goes to the log."""

    @wraps(figure)
    def safely(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return figure(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a picture isn't worth a page
            _LOG.exception("a chart can't be drawn")
            return cast("R", NotDrawn(kind=type(error).__name__))

    return safely
