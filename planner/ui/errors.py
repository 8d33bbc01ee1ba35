"""Shows an error as a sentence on the page: what, where, and how to fix it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, NoReturn, ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.words import literal, sentence
from planner.ground.work_budget import UnwantedError

_LOG = logging.getLogger(__name__)


UNANSWERED: Final = "This can't be answered"
UNREADABLE: Final = "This file can't be read"


def show(error: HeadroomError, place: DeltaGenerator | None = None, title: str = UNANSWERED) -> None:
    """The error's sentence in a box under `title`, with a glyph and a word beside the colour; what isn't known has no owner mistake."""
    where = f"\n\nWhere: {literal(error.where)}" if error.where else ""
    fix = f"\n\nWhat to do: {literal(error.fix)}." if error.fix else ""
    message, target = f"{literal(sentence(error.what))}{where}{fix}", place or st
    if isinstance(error, NotKnownError):
        target.info(message, title="? This isn't known", icon=":material/help:")
    else:
        target.error(message, title=f"✗ {title}", icon=":material/error:")


def nothing(title: str, what: str, place: DeltaGenerator | None = None) -> NoReturn:
    """There is nothing to answer for, and that is no mistake: the page says so (in `place`, else here) and ends there."""
    (place or st).info(literal(sentence(what)), title=f"? {title}", icon=":material/help:")
    st.stop()


P = ParamSpec("P")
R = TypeVar("R")


def part(show_part: Callable[P, R]) -> Callable[P, R | None]:
    """A part of a page: where it fails its place says what is missing, and the rest of the page is shown.

    What it is, is the first sentence of its docstring.
    """

    @wraps(show_part)
    def safely(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return show_part(*args, **kwargs)
        except UnwantedError:
            st.stop()
        except HeadroomError as error:
            show(error)
        except Exception as error:  # noqa: BLE001 - nothing but a sentence may reach a user
            _LOG.exception("a part of a page failed")
            what = (show_part.__doc__ or "a part").strip().splitlines()[0].split(". ")[0].rstrip(".:;")
            st.warning(
                f"{literal(what)}. Headroom failed here ({type(error).__name__}); the server's log has the details. "
                "The rest of the page stands.",
                title="△ Missing",
                icon=":material/bug_report:",
            )
        return None

    return safely


@contextmanager
def shown(place: DeltaGenerator | None = None, title: str = UNANSWERED) -> Iterator[None]:
    """Show an error raised inside (in `place`, else here) and end the page there.

    A `HeadroomError` says itself what is wrong. Anything else is our mistake: its traceback goes to the log, and the
    page says so without showing what the cluster holds.
    """
    try:
        yield
    except UnwantedError:
        st.stop()
    except HeadroomError as error:
        show(error, place, title)
        st.stop()
    except Exception as error:  # noqa: BLE001 - nothing but a sentence may reach a user
        _LOG.exception("a page failed")
        (place or st).error(
            f"Headroom failed here ({type(error).__name__}). The server's log has the details.",
            title="✗ Our mistake",
            icon=":material/bug_report:",
        )
        st.stop()
