"""The question *what-if*: the cluster after a list of changes, answered like today's, beside it."""

from __future__ import annotations

from typing import Final

from planner.capacity.change_comparison import FitChange, VerdictChange, WhatIfAnswer, what_if
from planner.capacity.gpu_inventory import gpu_figures
from planner.capacity.what_if import Step
from planner.capacity.what_if_syntax import FORMS, Change, parse_changes
from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.errors import ChangeError, InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.words import plural, usd
from planner.ground.work_budget import allowed
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.rollout.verdict_wording import details, words

_SHOWN: Final = 10  # of the pods that a drain leaves
_FORMS: Final = "; ".join(f"{form} ({what})" for form, what in FORMS.values())


class WhatIfSettings(Record):
    changes: tuple[Change, ...] = setting(
        (),
        option="--change",
        label="Changes, in their order",
        form="TEXT",
        parse=parse_changes,
        help=f"A change to look beyond: {_FORMS}.",
    )
    shape: str = setting("", form="TEXT", help="A pod shape to fit before and after: gpu=2,cpu=8,memory=64Gi.")
    with_rollouts: bool = setting(
        True,
        name="rollouts",
        label="Compare every workload's rollout too",
        help="Play every workload's rollout before and after: seconds, on a cluster of thousands of nodes.",
    )
    pools: PoolSettings = settings_within(PoolSettings)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
@allowed()
def answer(snapshot: Snapshot, settings: WhatIfSettings, given: Inputs = NOTHING) -> WhatIfAnswer:
    """`what_if` of what was asked.

    Raises
    ------
    HeadroomError
        When a change doesn't apply to the snapshot, or the shape can't be read.
    """
    if not settings.changes:
        raise ChangeError("nothing is changed", fix="Give a change, such as drain:NODE")
    limits = settings.pools.known(given)
    try:
        return what_if(snapshot, settings.changes, limits, settings.shape, settings.with_rollouts, given.book)
    except InputError as error:  # "there is no pool" of nodes that weren't listed is no bad input
        raise QUESTION.not_known(snapshot) or error from None


Beside = tuple[str, str, float | None, float | None]


def _figures(answer: WhatIfAnswer) -> list[Beside]:
    """The key figures with their units, today and then; None where one isn't known."""
    sides = (answer.before, answer.after)
    unknown = answer.unknown_before, answer.unknown_after
    return [
        ("nodes", "nodes", *(sum(line.pool.node_count for line in side.pools) for side in sides)),
        *(
            (f"{gpu.noun} {gpu.called}" if gpu.field == "pending" else gpu.name, gpu.resource, gpu.today, gpu.then)
            for gpu in gpu_figures(answer.before.gpus, answer.after.gpus)
        ),
        ("pods waiting", "pods", answer.waiting_before, answer.waiting_after),
        ("rollouts that complete", "workloads", answer.completing_before, answer.completing_after),
        *([("rollouts not known", "workloads", *unknown)] if any(unknown) else ()),
        ("cost", USD_A_MONTH, answer.usd_per_month_before, answer.usd_per_month_after),
    ]


def _change(today: float | None, then: float | None) -> float | None:
    return None if today is None or then is None else then - today


def _written(unit: str, amount: float | None) -> str | None:
    """An amount for people; money in whole dollars."""
    return None if amount is None else usd(amount) if unit == USD_A_MONTH else f"{amount:,.0f}".replace("-", "−")


def _told(step: Step) -> str:
    """What a change came to, who is held back, who finds no place."""
    drain = step.drain
    held_pods = [f"{pods.pod} on {pods.node}: {pods.why}" for pods in drain.held_back[:_SHOWN]] if drain else ()
    waiting = [
        f"{pods.count} of {pods.workload} {plural(pods.count, 'waits', 'wait')} ({pods.before} did before): {pods.message}"
        for pods in (drain.unplaced[:_SHOWN] if drain else ())
    ]
    return "\n".join([f"{step.mark} {step.sentence}", *held_pods, *waiting])


_FIGURES: Final[Listing[WhatIfAnswer, Beside]] = Listing(
    name="figures",
    items=_figures,
    columns=(
        Column("figure", lambda of: of[0]),
        Column("unit", lambda of: of[1], heading=None),
        Column("today", lambda of: of[2], words=lambda of: _written(of[1], of[2])),
        Column("then", lambda of: of[3], words=lambda of: _written(of[1], of[3])),
        Column("change", lambda of: _change(*of[2:]), words=lambda of: _written(of[1], _change(*of[2:]))),
    ),
)
_FITS: Final[Listing[WhatIfAnswer, FitChange]] = Listing(
    name="fits",
    title="what fits, where it changes",
    told=lambda answer: [fit_change for fit_change in answer.fits if fit_change.before != fit_change.after],
    columns=(
        Column("shape", label="shape"),
        Column("today", lambda fit_change: fit_change.before, metric="fits_today", unit="pods"),
        Column("then", lambda fit_change: fit_change.after, metric="fits_then", unit="pods"),
    ),
)
_STEPS: Final[Listing[WhatIfAnswer, tuple[int, Step]]] = Listing(
    name="steps",
    items=lambda answer: list(enumerate(answer.steps, 1)),
    line=lambda of: _told(of[1]),
    columns=(
        Column("step", lambda of: of[0], heading=None, label="step", is_said_only=True),
        Column("change", lambda of: str(of[1].change), label="change"),
        Column("done", lambda of: of[1].is_done, metric="step_is_done"),
        Column("sentence", lambda of: of[1].sentence),
    ),
)
_VERDICTS: Final[Listing[WhatIfAnswer, VerdictChange]] = Listing(
    name="verdicts",
    title="rollouts with another verdict",
    line=lambda row: f"{row.workload}\t({row.before.value.replace('_', ' ')} today) {details(row.after, row.sentence)}",
    verdict=lambda verdict_change: verdict_change.after,
    columns=(
        Column("workload", label="workload"),
        Column(
            "today", lambda row: row.before.value, words=lambda row: words(row.before), metric="workload_verdict_today"
        ),
        Column("then", lambda row: row.after.value, words=lambda row: words(row.after), metric="workload_verdict_then"),
        Column(
            "sentence", lambda row: str(row.sentence), heading="why", words=lambda row: details(row.after, row.sentence)
        ),
    ),
)


def _status(answer: WhatIfAnswer) -> ExitStatus:
    """A change that doesn't get through is stuck."""
    if any(not step.is_done and step.is_known for step in answer.steps):
        return ExitStatus.STUCK
    return ExitStatus.ANSWERED if all(step.is_known for step in answer.steps) else ExitStatus.NOT_KNOWN


QUESTION: Final = Question(
    name="what_if",
    settings=WhatIfSettings,
    answer=answer,
    figures=(
        Figure("pods_waiting_today", lambda answer: answer.waiting_before, "pods"),
        Figure("pods_waiting_then", lambda answer: answer.waiting_after, "pods"),
        Figure("cost_today", lambda answer: answer.usd_per_month_before, USD_A_MONTH),
        Figure("cost_then", lambda answer: answer.usd_per_month_after, USD_A_MONTH),
        Figure("rollouts_completing_today", lambda answer: answer.completing_before, "workloads"),
        Figure("rollouts_completing_then", lambda answer: answer.completing_after, "workloads"),
    ),
    listings=(_FIGURES, _FITS, _STEPS, _VERDICTS),
    about="""The cluster after changes, made one after another, beside today's.

    Drains respect PodDisruptionBudgets. Exits 2 where a change doesn't get through, 4 where that isn't known.
    """,
    wants=(Want.POOLS, Want.PRICES),
    status=_status,
    leaves_open=lambda answer: bool(answer.unknown_before or answer.unknown_after),
    hangs_on=(NODE.name, POD.name),
    lists=("PodDisruptionBudget", *(kind.name for kind in ROLLING)),
    is_of_lists=True,
)
