"""Answers kept for a while, for all sessions: each by everything it hangs on (`planner.questions.identity`).

Streamlit hashes only a sample of large frames and arrays, so that two different inputs could share an entry, and copies
records to look into them; so that arguments start with an underscore, which it leaves alone, and the key is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.kubernetes.records import Snapshot
from planner.pricing.model import PriceBook
from planner.questions.identity import key_of
from planner.questions.question import NOTHING, Given, Question
from planner.rollout.budget import allowed
from planner.sources import prices
from planner.ui import pool

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
S = TypeVar("S")
A = TypeVar("A")


def answer(
    question: Callable[Concatenate[Snapshot, Asked], Answer],
    snapshot: Snapshot,
    *asked: Asked.args,
    **more: Asked.kwargs,
) -> Answer:
    """``question(snapshot, *asked, **more)``, worked out once for each identity and question.

    `asked` holds frozen records, texts and numbers; `question` is a function of a module (`plan.rollout`).
    """
    name = f"{question.__module__}.{question.__qualname__}"
    key = key_of(snapshot, asked, sorted(more.items()))
    return cast("Answer", _kept(name, key, question, snapshot, asked, more))


def ask(question: Question[S, A], snapshot: Snapshot, settings: S, given: Given = NOTHING) -> A:
    """The answer to a question of the hall, kept like any other.

    Raises
    ------
    HeadroomError
        As the question; `NotKnownError` where it hangs on a list that wasn't seen.
    """
    lacking = question.not_known((snapshot, *given.others))
    if lacking:
        raise lacking
    return answer(question.answer, snapshot, settings, given)


def work(function: Callable[..., Answer], *asked: Any) -> Answer:
    """``function(*asked)`` beside the server, not kept: reading what somebody gave."""
    processes = pool.current()
    if processes is not None:
        return cast("Answer", processes.run(function, *asked, is_wanted=is_wanted))
    return function(*asked)


@st.cache_resource(ttl="1h", max_entries=64, show_spinner="Working it out …")  # frozen records: nobody can change them
def _kept(
    name: str,  # noqa: ARG001 - with `key` it is what the answer is kept by
    key: str,  # noqa: ARG001
    _question: Callable[..., Any],
    _snapshot: Snapshot,
    _asked: tuple[Any, ...],
    _more: dict[str, Any],
) -> Any:
    processes = pool.current()
    if processes is not None:
        return processes.run(_question, _snapshot, *_asked, is_wanted=is_wanted, **_more)
    with allowed(is_wanted):
        return _question(_snapshot, *_asked, **_more)


def is_wanted() -> bool:
    """Whether the page still waits for its answer.

    Where it was left or changed Streamlit ends its run from here, as it does at any command of a page
    (`ScriptRunner._maybe_handle_execution_control_request`): by an exception of its own that nothing catches.
    """
    run = get_script_run_ctx(suppress_warning=True)
    if run is not None:
        run.yield_check()
        return not st.runtime.exists() or st.runtime.get_instance().is_active_session(run.session_id)
    return True


@st.cache_resource(ttl="6h", show_spinner="Reading prices …")
def price_book() -> PriceBook:
    """The embedded prices under the last refresh: files are read here, not on every run of a page."""
    return prices.load_book()
