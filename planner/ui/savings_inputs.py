"""What the savings estimate assumes: one widget an assumption, each a parameter of the page's URL.

Fields left empty take what the cluster or the price book says; it stands in them in grey.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.errors import InputError
from planner.kubernetes.records import Snapshot
from planner.pricing.history import PriceChange
from planner.pricing.model import PriceBook
from planner.questions import savings as plan_savings
from planner.questions.savings import Derived
from planner.sources import prices
from planner.spot.assumptions import LOSSES, POOL, SETTINGS, SIMULATION, WORK, Capacity, Fallback, Life, Setting, Work
from planner.spot.interruption import parse_lives
from planner.ui import cache, link

_ONLY_JOBS = frozenset({"job_minutes", "checkpoint_minutes", "checkpoint_seconds", "late_factor", "retries"})
_ONLY_SERVING = frozenset({"request_seconds"})
_WORD = {
    Capacity.SPOT: "spot",
    Capacity.PREEMPTIBLE: "preemptible",
    Work.JOBS: "jobs",
    Work.SERVING: "serving",
    Fallback.WAIT: "wait",
    Fallback.ON_DEMAND: "buy on demand",
}
_COUNTED = frozenset({"", "nodes", "GPUs", "zones", "retries", "runs"})  # the label says it already
_ICON = {POOL: "payments", LOSSES: "flash_on", WORK: "work_history", SIMULATION: "casino"}


@st.cache_resource(show_spinner="Reading the history of prices …")
def price_changes() -> tuple[PriceChange, ...]:
    """How list prices moved."""
    return prices.load_changes()


def derived(snapshot: Snapshot, key: str) -> Derived:
    """What the cluster and the prices say of the workload, worked out once for each of their digests."""
    book = cache.price_book()
    return _derived(snapshot.digest, book.digest, key, snapshot, book)


@st.cache_data(ttl="1h", max_entries=64, show_spinner=False)
def _derived(digest: str, prices: str, key: str, _snapshot: Snapshot, _book: PriceBook) -> Derived:  # noqa: ARG001 - kept by
    return plan_savings.derive(_snapshot, _book, key)


def pick(snapshot: Snapshot) -> str:
    """The workload looked at: those with GPUs stand first."""
    keys = [workload.key for workload in plan_savings.workloads(snapshot)]
    if not keys:
        raise InputError(
            "this cluster has no Deployment, StatefulSet or Job",
            where=snapshot.source,
            mend="See Inventory for its kinds",
        )
    return link.select("Workload", keys, key="workload")


def asked(known: Derived) -> dict[str, Any]:
    """What the widgets say; None where a field is empty."""
    st.subheader("Assumptions")
    work = _choice("Kind of work", Work, "work", known.work, help=f"Guessed: {known.work_source}.")
    values: dict[str, Any] = {"work": work}
    with _group(POOL, expanded=True):
        values["capacity"] = _choice(
            "Buy instead", Capacity, "capacity", known.capacity,
            help="Preemptible VMs cost the same as Spot VMs and are stopped after 24 hours.",
        )  # fmt: skip
        _fields(POOL, known, values, hidden=frozenset())
    with _group(LOSSES, expanded=False):
        values["fallback"] = _choice(
            "While no spot node is to be had", Fallback, "fallback", Fallback.ON_DEMAND,
            help="Wait for one, or let on-demand nodes stand in.",
        )  # fmt: skip
        _fields(LOSSES, known, values, hidden=frozenset())
        values["lives"] = _lives()
    with _group(WORK, expanded=False):
        _fields(WORK, known, values, hidden=_ONLY_SERVING if work is Work.JOBS else _ONLY_JOBS)
        if work is Work.JOBS:
            values["saves_on_notice"] = link.toggle(
                "Writes a checkpoint on SIGTERM", key="saves_on_notice",
                help="Then an interruption loses nothing, if it can be written within the notice.",
            )  # fmt: skip
    with _group(SIMULATION, expanded=False):
        _fields(SIMULATION, known, values, hidden=frozenset())
    return values


def choose_base(point: list[int]) -> None:
    """A click on the mix: keep so many nodes on demand; for callbacks."""
    st.session_state["base_nodes"] = point[0]


def _group(name: str, *, expanded: bool) -> Any:
    """Open where the link says something about it, so that nothing given is hidden."""
    given = any(setting.name in st.query_params for setting in SETTINGS if setting.group == name)
    return st.expander(name, icon=f":material/{_ICON[name]}:", expanded=expanded or given)


def _fields(group: str, derived: Derived, values: dict[str, Any], hidden: frozenset[str]) -> None:
    for setting in SETTINGS:
        if setting.group == group and setting.name not in hidden:
            values[setting.name] = _field(setting, derived)


def _field(setting: Setting, derived: Derived) -> float | None:
    known = derived.values.get(setting.name, setting.default)
    unknown = "none" if setting.optional else "not known"
    more: dict[str, Any] = {} if setting.whole else {"format": "%g", "step": _step(setting)}
    unit = f", {setting.unit}" if setting.unit not in _COUNTED else ""
    return link.number(
        f"{setting.label}{unit}",
        key=setting.name,
        least=setting.least,
        most=setting.most,
        whole=setting.whole,
        placeholder=unknown if known is None else f"{known:g}",
        help=f"{setting.help} Source: {derived.sources.get(setting.name, setting.source)}.",
        **more,
    )


def _step(setting: Setting) -> float:
    if "per VM-hour" in setting.unit:
        return 0.001
    return 0.01 if setting.unit in ("USD/h", "share") else 1.0


def _choice(label: str, kind: Any, key: str, default: Any, **more: Any) -> Any:
    words = {_WORD[one]: one for one in kind}
    return words[link.segments(label, list(words), key=key, default=_WORD[default], **more)]


def _lives() -> tuple[Life, ...]:
    """Observed lifetimes: too long for a link, so they stay in this session."""
    upload = st.file_uploader(
        "Observed lifetimes, CSV", type="csv", key="lives", max_upload_size=5,
        help='Columns "hours" and "ended" (yes or no: still running). They replace the interruption rate. '
        "Not part of the link.",
    )  # fmt: skip
    if upload is None:
        return ()
    try:
        text = upload.getvalue().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", where=upload.name, mend="Save it as CSV in UTF-8") from error
    return parse_lives(text, where=upload.name)
