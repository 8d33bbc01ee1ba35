"""The question *plan*: the smallest set of changes after which every workload can roll out, simulated, with its cost.

What costs nothing comes first (another strategy, a larger quota), then nodes, as few as do and within the budgets. Each
measure is tried on the cluster as the ones before it leave it, pods that wait today take their places first, and a measure
that turns out not to be needed is taken back. At the end every workload's rollout is played in that cluster, one at a time:
spare nodes are shared by rollouts that follow each other.
"""

from __future__ import annotations

from typing import Final

from planner.capacity import rollout_readiness as overviews
from planner.capacity.display_filter import Filter, Selection
from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.progress import tell
from planner.ground.records import replace
from planner.ground.setting_declarations import settings_within
from planner.ground.words import NO_WORDS, Text, numbered, sentence
from planner.ground.work_budget import LIST_UNITS, allowed
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.questions.side_event_settings import DOUBTS
from planner.remedies.lever_outcomes import LeveredCluster, own_rollout
from planner.remedies.plan_actions import Numbered, alike, together
from planner.remedies.readiness_plan_state import Aims, PlanState
from planner.remedies.readiness_planner import SEARCH, Left, PlanAnswer, Planner, Turn
from planner.rollout.prepared_change import compiled
from planner.rollout.verdict_wording import words


class PlanSettings(Aims):
    """What the plan may cost, and what every rollout has to keep."""

    filter: Filter = settings_within(Filter)
    pools: PoolSettings = settings_within(PoolSettings)


@allowed(units=1_000_000)  # about ten seconds: of 300 nodes the whole plan takes 20 to 40
def first_steps(snapshot: Snapshot, settings: PlanSettings, given: Inputs = NOTHING) -> PlanAnswer:
    """As `answer`, with what is found in about ten seconds: strategy changes come first. Its sums aren't the plan's."""
    return _plan(snapshot, settings, given)


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, settings: PlanSettings, given: Inputs = NOTHING) -> PlanAnswer:
    """The plan, worked out from every workload's own rollout on.

    Raises
    ------
    InputError
        Where there is a budget of money and no price book.
    """
    return _plan(snapshot, settings, given)


def _plan(snapshot: Snapshot, settings: PlanSettings, given: Inputs) -> PlanAnswer:
    if settings.most_usd is not None and given.book is None:
        raise InputError("a budget of money needs prices", where="most_usd", fix="Give a price book")
    tell("Every workload's rollout is played", 0.0)
    now = {line.workload: line for line in overviews.on_todays_nodes(snapshot).workloads}
    states = {
        key: own_rollout(line.verdict, line.reason, str(line.headline), line.lowest_ready or 0, line.replicas or 0)
        for key, line in now.items()
    }
    pools = growable_pools(snapshot, settings.pools.known(given))
    planner = Planner(PlanState(LeveredCluster(compiled(snapshot)), states, settings, given.book, snapshot, pools))
    whole = planner.plan()
    whole = replace(whole, sentence=QUESTION.of_those_seen(snapshot, whole.sentence))
    return narrowed(whole, overviews.filtered(snapshot, settings.filter, settings.pools.known(given)))


def narrowed(whole: PlanAnswer, selection: Selection) -> PlanAnswer:
    """The workloads that are let through; what to do is the whole cluster's, since the measures work together."""
    if selection.is_all:
        return whole
    order = tuple(turn for turn in whole.order if selection.workload(turn.workload))
    unsolved = tuple(stuck_workload for stuck_workload in whole.left if selection.workload(stuck_workload.workload))
    total, shown = len(whole.order) + len(whole.left), len(order) + len(unsolved)
    sentence = selection.beside(whole.sentence, shown, total, "workload")
    return replace(whole, order=order, left=unsolved, hidden=total - shown, sentence=sentence)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def doubt_of(answer: PlanAnswer) -> Text:
    """What wasn't looked at, where `doubts` don't say it."""
    return NO_WORDS if any(doubt.about == SEARCH for doubt in answer.doubts) else answer.doubt


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
_MEASURES: Final[Listing[PlanAnswer, Numbered]] = Listing(
    name="measures",
    items=lambda answer: list(enumerate(answer.measures, 1)),
    is_shown=False,  # `_STEPS` tell them
    columns=(
        Column("number", lambda of: of[0], label="measure"),
        Column("kind", lambda of: of[1].kind, label="kind"),
        Column("what", lambda of: of[1].what),
        Column("workload", lambda of: of[1].workload, label="workload"),
        Column("makes", lambda of: len(of[1].makes), metric="measure_makes", unit="workloads"),
        Column("nodes", lambda of: of[1].nodes, metric="measure_nodes", unit="nodes"),
        Column("usd_per_month", lambda of: of[1].usd_per_month, metric="measure_cost", unit=USD_A_MONTH),
        Column("usd_per_rollout", lambda of: of[1].usd_per_rollout),
        Column("is_kept", lambda of: of[1].is_kept),
        Column("kept_nodes", lambda of: of[1].kept_nodes),
        Column("limit", lambda of: of[1].limit),
        Column("command", lambda of: of[1].command),
        Column("undo", lambda of: of[1].undo),
    ),
)
_STEPS: Final[Listing[PlanAnswer, tuple[Numbered, ...]]] = Listing(name="steps", items=lambda answer: alike(answer.measures), line=together,
    code=lambda some: f"{some[0][1].command}\nundo: {some[0][1].undo}")  # fmt: skip
_ORDER: Final[Listing[PlanAnswer, tuple[int, Turn]]] = Listing(
    name="order",
    title=lambda answer: "in this order; workloads in between need no change"
    if answer.is_order_played
    else "each by itself, once what it needs is there: in no order that was played",
    items=lambda answer: list(enumerate(answer.order, 1)),
    told=PlanAnswer.turns,
    columns=(
        Column("turn", lambda of: of[0]),
        Column("workload", lambda of: of[1].workload),
        Column("lowest_ready", lambda of: of[1].lowest_ready, heading="lowest Ready",
            words=lambda of: f"{of[1].lowest_ready:,} of {of[1].replicas:,}",
        ),
        Column("replicas", lambda of: of[1].replicas, heading=None),
        Column("needs", lambda of: ", ".join(map(str, of[1].needs)),
            words=lambda of: numbered(of[1].needs) or "nothing",
        ),
    ),
)  # fmt: skip
_LEFT: Final[Listing[PlanAnswer, Left]] = Listing(
    name="left",
    title="left",
    items=lambda answer: answer.left,
    line=lambda stuck_workload: f"{stuck_workload.workload}\t{stuck_workload.why}",
    verdict=lambda stuck_workload: stuck_workload.verdict,
    columns=(
        Column("workload"),
        Column(
            "verdict",
            lambda stuck_workload: stuck_workload.verdict.value,
            heading="its rollout",
            words=lambda stuck_workload: words(stuck_workload.verdict, stuck_workload.reason),
        ),
        Column("reason", lambda stuck_workload: stuck_workload.reason.value, heading=None),
        Column("why", words=lambda stuck_workload: sentence(stuck_workload.why)),
    ),
)

QUESTION: Final = Question(
    name="plan",
    settings=PlanSettings,
    answer=answer,
    figures=(
        Figure("plan_total", lambda answer: answer.total, "workloads"),
        Figure("plan_ready_now", lambda answer: answer.ready_now, "workloads"),
        Figure("plan_ready_free", lambda answer: answer.ready_free, "workloads"),
        Figure("plan_ready_all", lambda answer: answer.ready_all, "workloads"),
        Figure("plan_unknown", lambda answer: answer.unknown, "workloads"),
        Figure("plan_nodes", lambda answer: answer.nodes, "nodes"),
        Figure("plan_nodes_at_least", lambda answer: answer.at_least_nodes, "nodes"),
        Figure("plan_cost", lambda answer: answer.usd_per_month, USD_A_MONTH),
        Figure("plan_cost_of_a_rollout", lambda answer: answer.usd_per_rollout, "USD/rollout"),
    ),
    listings=(_MEASURES, _STEPS, _ORDER, _LEFT, Listing(name="doubts", columns=DOUBTS, is_shown=False)),
    notes=lambda answer: [
        note for note in (answer.price_note, doubt_of(answer), *(doubt.sentence for doubt in answer.doubts)) if note
    ],
    about="""The smallest set of changes after which every workload can roll out: strategies, quotas, spare nodes, and an order.

    What costs nothing comes first (another strategy, a later turn, others scaled down while one rolls out, moves of pods); then as few nodes as do, within the budgets and the pools' maxima,
    and how few no plan can do without. Everything is simulated together. Exits 0;
    --fail-on left exits 5 when the plan leaves a workload that can't be rolled out.
    """,
    wants=(Want.PRICES, Want.POOLS),
    states={"left": ExitStatus.REFUSED},
    states_of=lambda answer: {"left"} if answer.left else set(),
    leaves_open=lambda answer: answer.unknown > 0,
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
    is_of_lists=True,
)
