"""Every strategy, and which to choose: the grid, what nothing beats, the chosen one with its patch in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

import streamlit as st

from planner.capacity.strategy_growth import with_brought
from planner.capacity.strategy_prices import StrategyCosts
from planner.capacity.untold import growing
from planner.figures import strategy_grid
from planner.ground import words
from planner.ground.records import replace
from planner.ground.settings import setting_of
from planner.ground.words import usd
from planner.kubernetes.kinds import ROLLING_UPDATE, kind_in
from planner.kubernetes.records import Snapshot
from planner.questions import rollout as rollout_question
from planner.questions import strategies
from planner.questions.question import Given
from planner.questions.rollout import RolloutSettings
from planner.rollout import grid as grids
from planner.rollout.answers import RECREATE, GridCell, Pair, RolloutResult, StrategyGrid, Verdict, WorkloadRollout
from planner.rollout.choice import Choice, Option, Weights, strategy_name
from planner.ui import cache, charts, errors, link, prices, rollout_inputs, spares, tables, verdict

_PICK = "_pick_strategy"  # what is asked for beside the grid, by keyboard too


def has_grid(rollout: WorkloadRollout, snapshot: Snapshot) -> bool:
    """Whether maxSurge and maxUnavailable are its strategy's to choose, and what a cell says can be known."""
    is_known = not strategies.QUESTION.not_known(snapshot)
    return kind_in(rollout.workload).surges_freely and rollout.replicas > 0 and is_known


@errors.part
def show(
    snapshot: Snapshot, settings: RolloutSettings, given: Given, result: RolloutResult, rollout: WorkloadRollout
) -> None:
    """The section. Nothing of it is worked out before it is opened."""
    if settings.meanwhile.then:
        st.caption("Strategies are compared without what happens meanwhile: take that away to see them.")
        return
    if kind_in(rollout.workload).is_custom and rollout.replicas and not strategies.QUESTION.not_known(snapshot):
        _in_its_own_fields(snapshot, settings, rollout)
        return
    if not has_grid(rollout, snapshot):
        st.caption(
            "Only a Deployment, an Argo Rollout or a LeaderWorkerSet that has pods has other strategies to choose from; and the lists that "
            "it hangs on have to be in the snapshot."
        )
        return
    grid = _grid(snapshot, settings, rollout.workload)
    weights = _weights()
    bare = strategies.without_strategy(settings)
    costs = spares.known(snapshot, bare, grid, spares.typed())
    found = strategies.weighed(grid, rollout.replicas, weights, costs)
    st.header("Which strategy")
    st.markdown(words.literal(found.sentence))
    picture, chosen = st.columns([3, 2], gap="large")
    with chosen:
        _chosen(grid, found, rollout, result)
    with picture:
        drawn, said = strategy_grid.figure(grid, costs, found), strategy_grid.alt(grid, costs)
        charts.pick(drawn, key="grid", alt=said, on_pick=rollout_inputs.adopt_strategy)
        st.caption(
            "In a cell: the fewest pods Ready at any moment, and the minutes it takes. ★ recommended, ◆ nothing beats it, framed: "
            "today's. Click one, or pick it by name beside the grid."
        )
    pools = growing(snapshot, bare.pools.known(given))
    how = replace(bare.autoscaling, arrival_seconds=bare.arrival_seconds)
    scenario, key = rollout_question.scenario_of(snapshot, bare), rollout.workload
    brought = cache.answer(with_brought, snapshot, scenario, key, found.options, pools, how, prices.book())
    _table(brought, rollout.replicas)  # with the nodes that an autoscaler brings to each unasked
    with link.expander("What spare GPUs cost", key="spares_open", icon=":material/payments:") as is_open:
        if is_open:
            spares.show(snapshot, settings, grid, given)


def _in_its_own_fields(snapshot: Snapshot, settings: RolloutSettings, rollout: WorkloadRollout) -> None:
    """An Argo Rollout's strategies, or a LeaderWorkerSet's: what completes, and the patch of the one that is recommended."""
    first = replace(settings, workloads=(rollout.workload,)) if settings.workloads else settings
    asked = strategies.StrategiesSettings(rollout=first, weights=_weights())
    found = cache.answer(strategies.answer, snapshot, asked)
    if found.workload != rollout.workload:
        st.caption("Strategies are compared of the first workload of a change: choose this one alone to see its own.")
        return
    st.header("Which strategy")
    st.markdown(words.literal(found.sentence))
    _table(found.options, found.replicas)
    if found.apply is not None:
        st.code(found.apply.command, language=None, wrap_lines=True)
        st.caption(f"Undo: `{words.printable(found.apply.undo, one_line=True)}`")


def _grid(snapshot: Snapshot, settings: RolloutSettings, key: str) -> StrategyGrid:
    """With today's strategy as the current one, whichever is looked at: so one grid serves for all of them."""
    settings = strategies.without_strategy(settings)
    return cache.answer(grids.strategy_grid, snapshot, rollout_question.scenario_of(snapshot, settings), key)


def costs_of(
    snapshot: Snapshot, settings: RolloutSettings, result: RolloutResult, given: Mapping[str, float]
) -> StrategyCosts | None:
    """What strategies cost, for the document: of the first workload, where it has a grid."""
    rollout = result.workloads[0]
    if settings.meanwhile.then or not has_grid(rollout, snapshot):
        return None
    grid = _grid(snapshot, settings, rollout.workload)
    return spares.known(snapshot, strategies.without_strategy(settings), grid, given)


def _weights() -> Weights:
    with st.expander("What matters more", icon=":material/tune:"):
        st.caption("0: not at all. The recommendation follows.")
        values = {}
        with st.grid(min_column_width=150, gap="small"):
            for one in fields(Weights):
                setting = setting_of(Weights, one.name)
                value = link.number(
                    setting.label, key=f"weigh_{one.name}", least=0, most=10, default=setting.default, help=setting.help
                )
                values[one.name] = int(setting.default if value is None else value)
    return Weights(**values)


def _chosen(grid: StrategyGrid, found: Choice, rollout: WorkloadRollout, result: RolloutResult) -> None:
    """The strategy that the page answers for now: verdict, figures and patch stay beside the grid."""
    valid = [cell for row in grid.cells for cell in row if cell.is_valid]
    pairs: dict[str, Pair] = {_name(cell): cell.pair for cell in valid}
    pairs[strategy_name(RECREATE)] = RECREATE
    is_recreate = rollout.strategy_kind != ROLLING_UPDATE
    now = RECREATE if is_recreate else (rollout.max_surge, rollout.max_unavailable)
    names = list(pairs)
    shown = next((name for name, pair in pairs.items() if pair == now), None)
    st.session_state[_PICK] = shown
    st.selectbox("Strategy looked at", names, key=_PICK, on_change=_picked, args=(pairs,), index=None)
    verdict.badge(rollout.verdict, rollout.reason)
    lowest = f"lowest Ready **{rollout.lowest_ready:,} of {rollout.replicas:,}**"
    if rollout.verdict is Verdict.COMPLETES:
        st.markdown(f"{lowest}, **{words.about(rollout.seconds)}**")
    mine = [applied for applied in result.apply if applied.workload == rollout.workload]
    for applied in mine:
        st.code(applied.command, language=None, wrap_lines=True)
        st.caption(f"Undo: `{words.printable(applied.undo, one_line=True)}`")
    if not mine:
        st.caption("It is today's: nothing to apply.")
    best = found.recommended
    if best is not None and best.pair != now:
        st.button(
            f"Look at {best.name}",
            key="look-recommended",
            icon=":material/star:",
            on_click=rollout_inputs.adopt_strategy,
            args=(best.pair,),
        )


def _name(cell: GridCell) -> str:
    word = verdict.GLYPH[cell.verdict]
    said = (
        f"{cell.lowest_ready} Ready, {words.duration(cell.seconds)}" if cell.verdict is Verdict.COMPLETES else "stuck"
    )
    return f"{word} {cell.max_surge} / {cell.max_unavailable}: {said}"


def _picked(pairs: dict[str, Pair]) -> None:
    pair = pairs.get(str(st.session_state[_PICK]))
    if pair is not None:
        rollout_inputs.adopt_strategy(pair)


def _table(options: Sequence[Option], replicas: int) -> None:
    """Those that nothing beats, the best first; today's too."""
    shown = [option for option in options if option.is_best or option.is_current]
    is_brought = any(option.brought for option in shown)
    tables.small([_row(option, replicas, is_brought=is_brought) for option in shown])


def _row(one: Option, replicas: int, *, is_brought: bool) -> dict[str, object]:
    mark = "★ " if one.is_recommended else "◆ " if one.is_best else ""
    price = "no price" if one.usd_per_month is None else usd(one.usd_per_month)
    return {
        "strategy": f"{mark}{one.name}{' (today)' if one.is_current else ''}",
        "lowest Ready": f"{one.lowest_ready:,} of {replicas:,}",
        "takes": words.duration(one.seconds),
        "peak GPUs": f"{one.peak_gpus}{f' (+ {one.extra_gpus})' if one.extra_gpus else ''}",
        "evicts": one.evictions,
        "a month": price,
        **({"nodes brought unasked": one.brought and one.brought.words} if is_brought else {}),
    }
