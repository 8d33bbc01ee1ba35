"""All strategies on a page: the grid that chooses one, why rows are alike, and the commands of the chosen one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.strategy_prices import StrategyCosts
from planner.capacity.strategy_unneeded_scale_ups import options_with_scale_ups
from planner.figures import strategy_grid
from planner.ground import words
from planner.ground.records import replace
from planner.ground.setting_declarations import setting_of
from planner.kubernetes.node_properties import gpu_model
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import requested_gpus
from planner.kubernetes.workload_kinds import ROLLING_UPDATE, kind_in
from planner.questions import rollout as rollout_question
from planner.questions import strategies
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.remedies import limits, room_by_strategy
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import RECREATE, Pair, RolloutResult, StrategyGrid, Verdict, WorkloadRollout
from planner.rollout.strategy_choice import Weights
from planner.ui import (
    answer_view,
    errors,
    link,
    pasted_manifest,
    rollout_inputs,
    session_prices,
    shared_answers,
    strategy_prices_view,
)
from planner.ui.custom_components import component

_GRID = "strategy_grid"
_CALL = "strategyGrid(place, data, (pair) => setTriggerValue('pair', pair))"


def has_grid(rollout: WorkloadRollout, snapshot: Snapshot) -> bool:
    """Whether maxSurge and maxUnavailable are its strategy's to choose, and what a cell says can be known."""
    is_known = not strategies.QUESTION.not_known(snapshot)
    return kind_in(rollout.workload).surges_freely and rollout.replicas > 0 and is_known


@errors.part
def show(
    snapshot: Snapshot, settings: RolloutSettings, given: Inputs, rollout: WorkloadRollout, below: DeltaGenerator
) -> None:
    """The strategies to choose from, and the one that is chosen; `below`: where they are a table."""
    st.header("Choose the strategy")
    if settings.meanwhile.then:
        st.caption("Strategies are compared without what happens meanwhile: take that away to see them.")
        return
    if kind_in(rollout.workload).is_custom and rollout.replicas and not strategies.QUESTION.not_known(snapshot):
        _in_its_own_fields(snapshot, settings, rollout)
        return
    if not has_grid(rollout, snapshot):
        st.caption(
            "Only a Deployment, an Argo Rollout or a LeaderWorkerSet that has pods has other strategies to choose from; and the lists that "
            "it depends on have to be in the snapshot."
        )
        return
    grid, bare = _grid(snapshot, settings, rollout.workload), strategies.without_strategy(settings)
    costs = strategy_prices_view.known(snapshot, bare, grid, strategy_prices_view.typed())
    choice = strategies.weighed(grid, rollout.replicas, _weights_given(), costs)
    chosen = (rollout.max_surge, rollout.max_unavailable) if rollout.strategy_kind == ROLLING_UPDATE else RECREATE
    shown, places = grid, dict[Pair, int]()
    if pasted_manifest.is_one(snapshot):  # each strategy completes with some room: how much is what is asked
        scenario = rollout_question.scenario_of(snapshot, bare)
        shown, roomy = shared_answers.answer(room_by_strategy.with_room, snapshot, scenario, grid)
        places |= roomy
    drawn = strategy_grid.grid_document(shown, choice, rollout.replicas, chosen, places)
    component(_GRID, _CALL)(key=_GRID, data=drawn, on_pair_change=partial(_adopted, rollout.strategy_kind))
    _caption(shown, snapshot, rollout, places)
    best = choice.recommended
    is_as_good = best is not None and best.is_current
    sentence = choice.sentence if best is not None else f"{choice.sentence} Ways out are below."
    st.markdown("Today's strategy is as good as any." if is_as_good else words.literal(sentence))
    if best is not None and best.pair != chosen and not best.is_current:
        st.button(
            f"Look at {best.name}", key="look-recommended", icon=":material/star:",
            on_click=rollout_inputs.adopt_strategy, args=(best.pair, rollout.strategy_kind),
        )  # fmt: skip
    if link.toggle("Every strategy as a table, with what each costs", key="spares_open"):
        with below:
            pools = growable_pools(snapshot, bare.pools.known(given))
            how = replace(bare.autoscaling, arrival_seconds=bare.arrival_seconds)
            scenario, key = rollout_question.scenario_of(snapshot, bare), rollout.workload
            brought = shared_answers.answer(
                options_with_scale_ups, snapshot, scenario, key, choice.options, pools, how, session_prices.book()
            )
            told = strategies.StrategiesAnswer(  # with the nodes that an autoscaler brings to each unasked
                workload=key, replicas=rollout.replicas, sentence=choice.sentence, options=brought, recommended=best, apply=None, nouns=grid.nouns
            )  # fmt: skip
            answer_view.table(strategies.QUESTION, told, "strategies")
            _weights()
            strategy_prices_view.show(snapshot, settings, grid, given)


def _adopted(kind: str) -> None:
    """A cell was chosen: by a slider, a click or a key."""
    pair = st.session_state[_GRID].pair
    if pair is not None:
        rollout_inputs.adopt_strategy(pair, kind)


def _caption(grid: StrategyGrid, snapshot: Snapshot, rollout: WorkloadRollout, places: Mapping[Pair, int]) -> None:
    """What a cell says, and why rows are one."""
    parts = ["In a cell: the fewest pods Ready. Dashed: today's."]
    parts += ["+1: it needs room for 1 more pod."] if places else []
    cells = room_by_strategy.cells_of(grid)
    if pasted_manifest.is_one(snapshot) and any(cell.verdict is Verdict.STUCK for cell in cells):
        parts.append(limits.GRID_PLACES.reached())
    if grid.keep_ready is not None:
        parts.append(f"Hatched: below the budget of {grid.keep_ready:,} (PodDisruptionBudget).")
    parts.append(strategy_grid.why_alike(grid, _device(grid, snapshot, rollout), places))
    st.caption(words.literal(" ".join(filter(None, parts))))


def _device(grid: StrategyGrid, snapshot: Snapshot, rollout: WorkloadRollout) -> str:
    """What a pod of it asks for: ``T4`` where all of its pods are on such nodes, else ``GPU``; "" without accelerators."""
    workload = snapshot.workload(rollout.workload)
    if workload is None or not requested_gpus(workload.template.spec):
        return ""
    keys = workload_keys(snapshot)
    on = {pod.node_name for pod in snapshot.pods if keys[pod.uid] == rollout.workload}
    models = {gpu_model(node) for node in snapshot.nodes if node.name in on}
    return next(iter(models)) if len(models) == 1 and "" not in models else grid.nouns.one


def _in_its_own_fields(snapshot: Snapshot, settings: RolloutSettings, rollout: WorkloadRollout) -> None:
    """An Argo Rollout's strategies, or a LeaderWorkerSet's: what completes, and the patch of the one that is recommended."""
    first = replace(settings, workloads=(rollout.workload,)) if settings.workloads else settings
    asked = strategies.StrategiesSettings(rollout=first, weights=_weights_given())
    strategies_answer = shared_answers.answer(strategies.answer, snapshot, asked)
    if strategies_answer.workload != rollout.workload:
        st.caption("Strategies are compared of the first workload of a change: choose this one alone to see its own.")
        return
    st.markdown(words.literal(strategies_answer.sentence))
    answer_view.table(strategies.QUESTION, strategies_answer, "strategies", is_whole=True)
    if strategies_answer.apply is not None:
        st.code(strategies_answer.apply.command, language=None, wrap_lines=True)
        st.caption(f"Undo: `{words.printable(strategies_answer.apply.undo, one_line=True)}`")


def _grid(snapshot: Snapshot, settings: RolloutSettings, key: str) -> StrategyGrid:
    """With today's strategy as the current one, whichever is looked at: so one grid serves for all of them."""
    settings = strategies.without_strategy(settings)
    return shared_answers.answer(grids.strategy_grid, snapshot, rollout_question.scenario_of(snapshot, settings), key)


def costs_of(
    snapshot: Snapshot, settings: RolloutSettings, rollout_result: RolloutResult, typed_terms: Mapping[str, float]
) -> StrategyCosts | None:
    """What strategies cost, for the document: of the first workload, where it has a grid."""
    rollout = rollout_result.workloads[0]
    if settings.meanwhile.then or not has_grid(rollout, snapshot):
        return None
    grid = _grid(snapshot, settings, rollout.workload)
    return strategy_prices_view.known(snapshot, strategies.without_strategy(settings), grid, typed_terms)


def _weights_given() -> Weights:
    """As the link or the session has them: their widgets are drawn once somebody opens the table."""
    given = {field.name: link.typed_number(f"weigh_{field.name}") for field in fields(Weights)}
    return Weights(
        **{name: int(weight) for name, weight in given.items() if weight is not None and weight in range(11)}
    )


def _weights() -> None:
    st.caption("What matters more, 0 to 10: the recommendation follows.")
    with st.grid(min_column_width=150, gap="small"):
        for weight in fields(Weights):
            setting = setting_of(Weights, weight.name)
            link.number(
                setting.label, key=f"weigh_{weight.name}", least=0, most=10, default=setting.default, help=setting.help
            )
