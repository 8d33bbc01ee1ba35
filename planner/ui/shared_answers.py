"""Answers shared by all sessions for a while, keyed by everything they depend on (`snapshot_fingerprint`).

The key is ours: Streamlit's own cache hashes only a sample of large frames and arrays, so that two different inputs could
share an entry, and copies records to look into them. While an answer is worked out, after a second a line says what is being done, how far
and for how long, with a way to stop it.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, TypeVar, TypeVarTuple, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.ground import words
from planner.ground.progress import told_to
from planner.ground.work_budget import allowed
from planner.kubernetes.object_records import Snapshot
from planner.questions import INDEX, WORKING
from planner.questions.question import NOTHING, Inputs, Question
from planner.serve.processes import process_pool
from planner.serve.processes.snapshot_fingerprint import key_of
from planner.ui.least_used_cache import NOTHING as NOTHING_KEPT
from planner.ui.least_used_cache import Answers

QUICK_NODES: Final = 2_000  # of more nodes, what takes ten seconds of 1,000 isn't played unasked
Asked = TypeVarTuple("Asked")
Answer = TypeVar("Answer")
S = TypeVar("S")
A = TypeVar("A")


def answer(question: Callable[[Snapshot, *Asked], Answer], snapshot: Snapshot, *arguments: *Asked) -> Answer:
    """``question(snapshot, *asked)``, worked out once for each identity and question.

    `arguments` holds frozen records, texts and numbers; `question` is a function of a module (`plan.rollout`).
    """
    by = _key(question, snapshot, arguments)
    cached_answer = _answers.get(by)
    if cached_answer is NOTHING_KEPT:
        with _progress(by, _doing(question), is_wanted) as still:
            cached_answer = _worked_out(by, question, snapshot, arguments, still)
    return cast("Answer", cached_answer)


def ask(question: Question[S, A], snapshot: Snapshot, settings: S, inputs: Inputs = NOTHING) -> A:
    """The answer to a question of the hall, kept like any other.

    Raises
    ------
    HeadroomError
        As the question; `NotKnownError` where it depends on a list that wasn't seen.
    """
    if lacking := question.not_known((snapshot, *inputs.others)):
        raise lacking
    return answer(question.answer, snapshot, settings, inputs)


def known(question: Question[S, A], snapshot: Snapshot, settings: S, inputs: Inputs = NOTHING) -> A | None:
    """The answer where it is kept already; None where it isn't."""
    cached_answer = _answers.get(_key(question.answer, snapshot, (settings, inputs)))
    return None if cached_answer is NOTHING_KEPT else cast("A", cached_answer)


def is_quick(snapshot: Snapshot) -> bool:
    """Whether what takes long in a large cluster is played unasked."""
    return len(snapshot.nodes) <= QUICK_NODES


def quickly(question: Question[S, A], snapshot: Snapshot, settings: S, inputs: Inputs = NOTHING) -> A | None:
    """As `ask_unless_stopped`; of a large cluster only where it is kept already, else None."""
    return (ask_unless_stopped if is_quick(snapshot) else known)(question, snapshot, settings, inputs)


def ask_unless_stopped(question: Question[S, A], snapshot: Snapshot, settings: S, inputs: Inputs) -> A | None:
    """As `ask`; None where it was stopped, which is said in its place, and the rest of the page is shown."""
    by = _key(question.answer, snapshot, (settings, inputs))
    is_kept = _answers.get(by) is not NOTHING_KEPT
    return ask(question, snapshot, settings, inputs) if is_kept or not _is_stopped(by) else None


def work(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """``function(*asked)`` beside the server, not kept: reading what a user gave."""
    processes = process_pool.current()
    if processes is not None:
        return cast("Answer", processes.run(function, *arguments, is_wanted=is_wanted))
    return function(*arguments)


_answers = Answers(most=64, seconds=3_600)


def _key(question: Callable[..., Any], snapshot: Snapshot, arguments: tuple[Any, ...]) -> str:
    return key_of(f"{question.__module__}.{question.__qualname__}", snapshot, arguments)


def _worked_out(
    key: str, question: Callable[..., Any], snapshot: Snapshot, arguments: tuple[Any, ...], still: Callable[[], bool]
) -> Any:
    def work() -> Any:
        processes = process_pool.current()
        if processes is not None:
            return processes.run(question, snapshot, *arguments, is_wanted=still)
        with allowed(still):  # and told as a process would: what is kept mustn't hold the engine, or an old snapshot
            return pickle.loads(pickle.dumps(question(snapshot, *arguments)))  # noqa: S301 - our own

    return _answers.worked_out(key, work, still)


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


FIRST_SECONDS: Final = 1.0
_STOPPED: Final = "_stopped"
_numbers = count()  # of stop buttons: each has a name of its own


def _doing(question: Callable[..., object]) -> str:
    """What is done meanwhile, in words."""
    question_entry = INDEX.get(question.__module__.rpartition(".")[2])
    return question_entry.doing if question_entry else WORKING


def _is_stopped(key: str) -> bool:
    """Whether the question was stopped here; then that is said, with a way to work it out after all."""
    if st.session_state.get(_STOPPED) != key:
        return False
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Stopped before it was worked out.")
        again, args = st.session_state.pop, (_STOPPED, None)
        st.button("Work it out", key=f"again-{key}", icon=":material/play_arrow:", on_click=again, args=args)
    return True


@contextmanager
def _progress(key: str, what: str, is_wanted: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """Gives `is_wanted` that, asked again and again while the work goes on, draws the line from the first second on; the page
    ends here where the question was stopped before."""
    if _is_stopped(key):
        st.stop()
    began, said, done = time.monotonic(), "", what
    place: DeltaGenerator | None = None  # of the line: drawn by the run that waits, where the page has got to
    text: DeltaGenerator | None = None

    def listen(doing: str, share: float) -> None:
        nonlocal done
        done = f"{doing}, {share:.0%}"

    def asked() -> bool:
        nonlocal place, text, said
        seconds = time.monotonic() - began
        if seconds < FIRST_SECONDS or get_script_run_ctx(suppress_warning=True) is None:
            return is_wanted()
        if place is None or text is None:
            place = st.empty()
            with place.container(horizontal=True, vertical_alignment="center"):
                text = st.empty()
                st.button("Stop", key=f"stop-{next(_numbers)}", icon=":material/stop:", on_click=_stop, args=(key,))
        now = f":material/hourglass_top: {words.literal(done)} … {words.duration(int(seconds))}"
        if now != said:
            text.markdown(now)
            said = now
        return is_wanted()

    try:
        with told_to(listen):
            yield asked
    finally:
        if place is not None:
            place.empty()


def _stop(key: str) -> None:
    """The run that works it out ends, and the next one doesn't begin it again."""
    st.session_state[_STOPPED] = key
