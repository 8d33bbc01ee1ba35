"""The cost of each strategy on a page: spare GPUs at three prices, beside the Ready pods lost without them."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from planner.capacity import strategy_prices, strategy_spare_gpus
from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.strategy_prices import SETTINGS, SpareSettings, StrategyCosts
from planner.capacity.strategy_spare_gpus import SpareNeeds
from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.kubernetes.object_records import Snapshot
from planner.pricing.added_nodes import money
from planner.pricing.strategy_cost import SpareTerms
from planner.questions import rollout as rollout_question
from planner.questions import strategy_costs
from planner.questions.question import Inputs
from planner.questions.question import document as document_of
from planner.questions.rollout import RolloutSettings
from planner.questions.strategy_costs import StrategyCostSettings
from planner.remedies.price import price_of_remedy
from planner.rollout.answers import Remedy, RolloutResult, StrategyGrid
from planner.ui import answer_view, errors, link, session_prices, shared_answers
from planner.ui.settings_form import SettingsForm

_ELSEWHERE = "node_start_seconds"  # asked for with the growth of node pools


def known(
    snapshot: Snapshot, rollout: RolloutSettings, grid: StrategyGrid, typed_terms: Mapping[str, float]
) -> StrategyCosts | None:
    """What each strategy costs by what is assumed and `typed_terms` (of `typed`); None where there is no price to go by."""
    needs = _needs(snapshot, rollout, grid)
    try:
        return _priced(snapshot, rollout, SpareSettings(**typed_terms), needs) if needs.gpus_per_pod else None
    except HeadroomError:  # said where the costs stand
        return None


def _needs(snapshot: Snapshot, rollout: RolloutSettings, grid: StrategyGrid) -> SpareNeeds:
    scenario = rollout_question.scenario_of(snapshot, rollout)
    return shared_answers.answer(strategy_spare_gpus.spare_needs, snapshot, scenario, grid)


def _priced(snapshot: Snapshot, rollout: RolloutSettings, terms: SpareSettings, needs: SpareNeeds) -> StrategyCosts:
    spares = strategy_costs.spare_values(StrategyCostSettings(rollout=rollout, spares=terms))
    return strategy_prices.price_strategies(snapshot, session_prices.book(), needs, spares)


def typed() -> dict[str, float]:
    """What was typed in this session or stands in its link, whether the section is open or not."""
    names = [setting.name for setting in SETTINGS if setting.name != _ELSEWHERE]
    return {name: value for name in names if (value := link.typed_number(name)) is not None}


@errors.part
def show(snapshot: Snapshot, rollout: RolloutSettings, grid: StrategyGrid, given: Inputs) -> StrategyCosts | None:
    """The section; None where it can't be answered, which is said in its place."""
    st.header("What each strategy costs")
    needs = _needs(snapshot, rollout, grid)
    try:
        if not needs.gpus_per_pod:
            st.caption("Its pods ask for no GPU, and only spare GPUs are priced.")
            return None
        message_place = st.container()
        with st.container(border=True), st.grid(min_column_width=190):
            terms = _inputs(strategy_prices.default_terms(snapshot, session_prices.book(), needs))
        costs = _priced(snapshot, rollout, terms, needs)
    except HeadroomError as error:
        errors.show(error)
        return None
    with message_place:
        st.markdown(words.literal(costs.sentence))
        for note in costs.notes:
            st.caption(f"△ {words.literal(words.sentence(note))}")
        pools = growable_pools(snapshot, rollout.pools.known(given))
        if any(pool.name == costs.node_pool and pool.is_autoscaled is False for pool in pools):
            st.caption(
                f"△ Pool {words.literal(costs.node_pool)} has a fixed size: add its nodes by hand, and remove them afterwards."
            )
    shown = [strategy for strategy in costs.strategies if strategy.is_worth]
    answer_view.table(strategy_costs.QUESTION, costs, "strategies", items=shown, within=_INSIDE_PIXELS)
    st.caption("Those that another beats in Ready pods, time and spare GPUs are in the download.")
    _basis(costs, needs)
    return costs


def _inputs(derived_terms: SpareTerms) -> SpareSettings:
    widgets = SettingsForm(SpareSettings)
    for field in SETTINGS:
        if field.name != _ELSEWHERE:
            value = getattr(derived_terms, field.name)
            widgets.show(
                field.name, format="%g", step=0.01 if field.unit == "USD/h" else 1.0,
                placeholder="no price" if value is None else f"{value:g}", help=f"{field.help} Source: {field.source}.",
            )  # fmt: skip
    return widgets.settings()


def document(
    snapshot: Snapshot, rollout: RolloutSettings, rollout_result: RolloutResult, costs: StrategyCosts | None
) -> dict[str, object]:
    """The rollout's document, with what its strategies cost where that is known."""
    also = []
    if costs is not None:
        terms = SpareSettings(**{setting.name: getattr(costs.terms, setting.name) for setting in SETTINGS})
        settings = StrategyCostSettings(rollout=rollout, spares=terms)
        also.append(document_of(strategy_costs.QUESTION, snapshot, settings, costs))
    return document_of(rollout_question.QUESTION, snapshot, rollout, rollout_result, *also)


_INSIDE_PIXELS = 770  # of a table in an opened section


def _basis(costs: StrategyCosts, needs: SpareNeeds) -> None:
    """What the columns mean, and what the prices rest on."""
    terms = costs.terms
    st.caption(
        "On demand, on spot: spare nodes kept all month (spot only where the workload is fit for it). Added: nodes on "
        f"demand for each of {terms.rollouts_per_month:g} {words.plural(terms.rollouts_per_month, 'rollout')}, from {words.duration(terms.node_start_seconds)} before "
        f"it until {words.duration(terms.scale_down_seconds)} after it. Extra GPUs come as whole nodes of "
        f"{words.count(terms.gpus_per_node, 'GPU')}. What is stuck today is shown as it would be with them. Pod-hours "
        "missing, pods of others preempted and the jobs that kills: a month."
    )
    if costs.as_of:
        place = f" like pool {costs.node_pool}'s" if costs.node_pool else f" like {needs.node}"
        st.caption(
            words.literal(f"Nodes{place}: {costs.machine_type} in {costs.region_id}, list prices of {costs.as_of}.")
            + session_prices.age(costs.as_of)
        )


def remedy_price(snapshot: Snapshot, remedy: Remedy) -> str:
    """What the nodes of a way out cost, in words; "" for one that adds none."""
    if not remedy.extra_nodes:
        return ""
    try:
        price = price_of_remedy(snapshot, session_prices.book(), remedy)
    except HeadroomError:  # said where the strategies' costs stand
        price = None
    return "no price" if price is None else money(price.usd_per_month, price.usd_per_rollout, price.kept)
