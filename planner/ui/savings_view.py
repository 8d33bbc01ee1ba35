"""The savings estimate on a page: assumptions, verdicts, key figures, steps, mix, checklist, history, downloads."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.ground.setting_declarations import Setting, settings_of
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import kind_in
from planner.questions.question import Inputs
from planner.questions.savings import QUESTION, SavingsAnswer, SavingsSettings, detail_of
from planner.spot import savings_columns as spot_rows
from planner.spot import savings_inputs as spot_inputs
from planner.spot.assumptions import (
    COUNTED,
    LOSSES,
    POOL,
    SETTINGS,
    SIMULATION,
    WORK,
    Assumptions,
    Capacity,
    Fallback,
    Work,
)
from planner.spot.economics import Savings
from planner.spot.savings_inputs import Derived
from planner.spot.spot_on_demand_mix import Mix
from planner.spot.suitability import Fitness, Suitability
from planner.spot.suitability_checks import CHECK_NAME, CheckResult, Status
from planner.spot.workload_savings import SavingsDetail
from planner.ui import (
    answer_view,
    downloads,
    errors,
    link,
    session_prices,
    shared_answers,
    spot_node_history,
    tables,
    verdict,
)
from planner.ui.settings_form import SettingsForm

_BADGE: Final = {  # its color, its words
    Status.OK: ("green", "✓ ok"),
    Status.CHANGE: ("orange", "△ change"),
    Status.UNSUITABLE: ("red", "✗ unsuitable"),
    Status.UNSEEN: ("gray", "? try it"),
    Status.MIND: ("blue", "○ mind"),
}
_FITNESS: Final = {
    Fitness.READY: "✓ Ready for spot",
    Fitness.NEEDS_CHANGES: "△ Needs changes for spot",
    Fitness.UNSUITABLE: "✗ Unsuitable for spot",
    Fitness.OPTED_OUT: "○ Kept off spot",
}
_ONLY_JOBS = frozenset({"job_minutes", "checkpoint_minutes", "checkpoint_seconds", "late_factor", "retries"})
_ONLY_SERVING = frozenset({"request_seconds"})
_COUNTED = {"", *COUNTED}  # the label says it already


def _verdict(detail: SavingsDetail) -> tuple[str, bool]:
    """Whether spot saves, in a few words, and as yes or no."""
    fitness, derived = detail.suitability.fitness, detail.derived
    if fitness in (Fitness.UNSUITABLE, Fitness.OPTED_OUT):
        return "✗ Not for spot", False
    if not derived.is_running or not detail.assumed.nodes:
        return "○ Nothing to save now", False
    if not detail.estimate.savings.is_worth_it:
        return "✗ Spot doesn't pay", False
    if derived.is_on_spot:
        return "✓ Spot saves already", True
    return ("✓ Spot saves" if fitness is Fitness.READY else "○ Spot would save, after changes"), True


_ALL: Final = "spot"  # whether all of it is drawn
PARAMETERS: Final = {_ALL, "part", *(setting.name for setting in settings_of(SavingsSettings))} - {
    "workload",
    *link.EVERYWHERE,
}
"""Of the link, that say something of what spot saves."""
_MUCH, _PAYS, _FIT, _WAYS, _BASIS = (
    "How much", "Until when it pays", "Is it fit for spot?", "Every way of buying", "What it rests on",
)  # fmt: skip


@errors.part
def show(snapshot: Snapshot, key: str) -> None:
    """What spot saves a workload, and whether it may go there; all that this rests on where one asks for it."""
    place = st.container()
    label = "All of it: fitness, steps, mix, ways of buying, assumptions"
    # a link that gives one of them opens it
    is_whole = link.toggle(label, key=_ALL, default=link.says(PARAMETERS - {_ALL}))
    if not is_whole:
        with place:
            try:
                given = Inputs(book=session_prices.book())
                figures(
                    detail_of(shared_answers.ask(QUESTION, snapshot, SavingsSettings(workload=key), given)),
                    is_whole=False,
                )
            except HeadroomError as error:  # no mistake of a page that is asked about a rollout
                st.caption(f"Not known: {words.literal(words.sentence(error.what))}")
        return
    parts = st.container()
    derived = shared_answers.answer(spot_inputs.derive, snapshot, session_prices.book(), key)
    settings = _settings(derived)
    with st.grid(2):
        own = spot_node_history.given(snapshot)
    result = shared_answers.ask(QUESTION, snapshot, settings, own)
    detail = detail_of(result)
    with place:
        figures(detail, is_whole=True)
    with parts:
        fit, much, pays, buying, basis = link.tabs([_FIT, _MUCH, _PAYS, _WAYS, _BASIS], key="part")
    with fit:
        if fit.open:
            checklist(detail.suitability)
    with much:
        if much.open:
            answer_view.table(QUESTION, result, "steps", is_whole=True)
            st.caption("USD a month. Means add up; percentiles of the steps don't.")
            spot_node_history.show(result)
    with pays:
        if pays.open:
            break_even(detail.estimate.savings)
            mixes(detail.estimate.mix, detail.assumed)
    with buying:
        if buying.open:
            ways(result)
    with basis:
        if basis.open:
            for note in detail.estimate.savings.notes:
                st.caption(words.literal(note))
            st.caption("Every assumption with its value and source is in the downloads.")
            downloads.answer(QUESTION, snapshot, settings, result)


def _settings(derived_inputs: Derived) -> SavingsSettings:
    """What an estimate assumes: one widget an assumption, each a parameter of the link. A field left empty takes what the cluster or the price
    book says, which stands in it in grey."""
    form = SettingsForm(SavingsSettings)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        guessed = f"Guessed: {derived_inputs.work_source}."
        work = form.show("work", default=derived_inputs.work, help=guessed)
        if Capacity.PREEMPTIBLE not in derived_inputs.unsold:
            form.show("capacity", label="Buy instead", default=derived_inputs.capacity)
        how = "Wait for one, or let on-demand nodes stand in."
        form.show("fallback", words={Fallback.ON_DEMAND: "buy on demand"}, default=Fallback.ON_DEMAND, help=how)
    open_group = next((setting.group for setting in SETTINGS if setting.name in st.query_params), None)
    with form.more("Assumptions", but=("workload",)) as is_drawn:
        if is_drawn:
            _assumptions(form, work, derived_inputs, open_group)
    return form.settings(workload=derived_inputs.workload)


def _assumptions(
    widgets: SettingsForm[SavingsSettings], work: Work, derived_assumptions: Derived, open_group: str | None
) -> None:
    """Every number that an estimate rests on, by what it is about; `open_group`: the group that is in sight at first."""
    hidden = _ONLY_SERVING if work is Work.JOBS else _ONLY_JOBS
    groups = (POOL, LOSSES, WORK, SIMULATION)
    for group, tab in zip(groups, st.tabs(groups, default=open_group), strict=True):
        with tab:
            _fields(widgets, group, derived_assumptions, hidden)
            if group == WORK and work is Work.JOBS:
                widgets.show(
                    "saves_on_notice", label="Writes a checkpoint on SIGTERM",
                    help="Then an interruption loses nothing, if it can be written within the notice.",
                )  # fmt: skip


def _fields(form: SettingsForm[SavingsSettings], group: str, derived: Derived, hidden: frozenset[str]) -> None:
    with st.grid(min_column_width=220, gap="small", vertical_alignment="bottom"):
        for setting in SETTINGS:
            if setting.group == group and setting.name not in hidden:
                default_number = derived.values.get(setting.name, setting.assumed)
                unknown = "none" if setting.optional else "not known"
                more: dict[str, Any] = {} if setting.whole else {"format": "%g", "step": _step(setting)}
                form.show(
                    setting.name,
                    label=setting.label if setting.unit in _COUNTED else f"{setting.label}, {setting.unit}",
                    placeholder=unknown if default_number is None else f"{default_number:g}",
                    help=f"{setting.help} Source: {derived.sources.get(setting.name, setting.source)}.",
                    **more,
                )


def _step(setting: Setting) -> float:
    if "per VM-hour" in setting.unit:
        return 0.001
    return 0.01 if setting.unit in ("USD/h", "share") else 1.0


@errors.part
def figures(detail: SavingsDetail, *, is_whole: bool) -> None:
    """Whether spot saves, what is expected with its band, and what has to change. `is_whole`: with the sentence of the estimate, how old its
    prices are, and whether its nodes are spot nodes now."""
    saved, assumptions, derived, fitness = detail.estimate.savings, detail.assumed, detail.derived, detail.suitability
    title, saves = _verdict(detail)
    if is_whole:
        verdict.box(title, detail.sentence)
        if old := session_prices.age(derived.as_of):
            st.caption(old)
        if derived.is_on_spot:
            comparison_text = "this is what they save against on-demand ones, not a further saving"
            st.caption(f"Its nodes are {words.literal(derived.bought_as)} nodes now: {comparison_text}.")
    bill = saved.on_demand_usd
    parts = [
        f"{words.usd(saved.saved_usd.mean)} of {words.usd(bill)} a month, in nine of ten months {words.usd(saved.saved_usd.p5)} to {words.usd(saved.saved_usd.p95)}",
        f"{saved.interruptions.mean:,.0f} {words.plural(round(saved.interruptions.mean), 'interruption')}",
    ]
    if assumptions.work is Work.JOBS:
        parts.append(
            f"{saved.late_jobs.mean:,.0f} of {saved.jobs:,.0f} jobs late, {saved.failed_jobs.mean:,.0f} failed"
        )
    if assumptions.needed_nodes:
        short = words.duration(saved.shortfall_hours * 3_600)
        parts.append(f"{short} with fewer than {words.count(assumptions.needed_nodes, 'node')} ready")
    if saved.usd_per_useful_gpu_hour is not None and saved.on_demand_usd_per_gpu_hour is not None:
        price, now = saved.usd_per_useful_gpu_hour.mean, saved.on_demand_usd_per_gpu_hour
        parts.append(f"a useful GPU-hour {words.unit_price(price)}, on demand {words.unit_price(now)}")
    said = words.literal(f"Expected: {'; '.join(parts[is_whole:])}.") if saves or is_whole else ""
    head = "" if is_whole else f"**{title}.** "
    fit = f"{_FITNESS[fitness.fitness]}: {fitness.sentence}"
    st.markdown(f"{head}{said}  \n:gray[{words.literal(fit)}]")


@errors.part
def ways(answer: SavingsAnswer) -> None:
    """Every way of buying the same work, the cheapest marked."""
    answer_view.table(QUESTION, answer, "ways", names=("way", "price_usd", "expected_usd", "cheapest", "risk", "asks"))
    st.caption("USD a month. Expected: with what is lost, done again or covered on demand.")


@errors.part
def break_even(saved: Savings) -> None:
    """At which rate of losses nothing is saved any more, and how often to write checkpoints."""
    st.markdown(words.literal(saved.break_even.sentence))
    if saved.best_checkpoint_minutes is not None and saved.young_checkpoint_minutes is not None:
        st.caption(
            f"Checkpoints lose least when written after {words.duration(saved.best_checkpoint_minutes * 60)} of work (Daly; Young's "
            f"first-order rule says {saved.young_checkpoint_minutes:.0f}). Shorter jobs don't gain from them."
        )


@errors.part
def mixes(mix: Mix, assumptions: Assumptions) -> None:
    """Each mix with its cost and risk, the best of them in words, and which is chosen."""
    st.header("How much of the pool on spot")
    st.markdown(words.literal(mix.sentence))
    rows = [
        {
            "on spot": point.spot_nodes,
            "on demand": point.base_nodes,
            "net cost, USD a month": words.usd(point.net_usd.mean),
            "with too few nodes, a month": words.duration(point.shortfall_hours * 3_600),
            "note": "" if point.is_on_frontier else "another mix is as safe and cheaper",
        }
        for point in mix.points
    ]
    tables.show(rows, alt=str(mix.sentence))
    chosen = min(mix.points, key=lambda point: abs(point.base_nodes - assumptions.base_nodes))
    hours, needed = words.duration(chosen.shortfall_hours * 3_600), words.count(assumptions.needed_nodes, "node")
    short = f", {hours} with fewer than {needed} ready" if assumptions.needed_nodes else ""
    st.caption(
        f"Chosen now: {chosen.spot_nodes} spot, {chosen.base_nodes} on demand, "
        f"{words.literal(words.usd(chosen.net_usd.mean))} a month{short}. Another: under Assumptions."
    )


@errors.part
def checklist(fitness: Suitability) -> None:
    """Each point with what was found and what cures it; then the patch, the commands, and what a worker should do."""
    passed = [check for check in fitness.checks if check.status is Status.OK]
    for check in fitness.checks:
        if check.status is not Status.OK:
            with st.expander(_line(check)):
                if check.cure:
                    st.markdown(f"**Cure:** {words.literal(check.cure + spot_rows.worth(check))}")
                if check.by_hand:
                    st.code(check.by_hand, language=None, wrap_lines=True)
                if source := check.source:
                    st.caption(f"Source: {source if source.startswith('http') else words.literal(source)}")
    if passed:
        with st.expander(f"{len(passed):,} more are ok", icon=":material/check:"):
            st.markdown("\n\n".join(map(_line, passed)))
    _cures(fitness)


def _line(check: CheckResult) -> str:
    """What was found: a badge, the point, the evidence."""
    colour, said = _BADGE[check.status]
    return f":{colour}-badge[{said}] **{CHECK_NAME[check.check]}**: {words.literal(check.evidence)}"


def _cures(fitness: Suitability) -> None:
    if fitness.patch_yaml:
        with st.expander("Patch for what a manifest can cure", icon=":material/edit_note:"):
            if kind_in(fitness.workload).rolls_out:
                st.code(shell_commands.kubectl("patch", fitness.workload, "--patch-file", "spot.yaml"), language=None)
            else:
                st.caption("For its manifest: the API server takes no other pod template for what is there already.")
            st.code(fitness.patch_yaml, language=None)
    if fitness.objects_yaml:
        with st.expander("Objects to add", icon=":material/add_box:"):
            st.code(fitness.objects_yaml, language=None)
    with st.expander("What the worker should do, and how to prove it", icon=":material/terminal:"):
        st.caption(f"Notice: {fitness.window.seconds} s. {words.literal(fitness.window.what)}.")
        st.markdown("\n".join(f"1. {words.literal(line)}" for line in fitness.advice))
        for command in fitness.commands:
            st.caption(f"Shows: {words.literal(command.proves)}.")
            st.code(command.command, language=None, wrap_lines=True)
