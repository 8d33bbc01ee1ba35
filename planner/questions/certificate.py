"""The question *certificate*: all unbeaten plans within named levers, or the proof that there is none."""

from __future__ import annotations

from typing import Final

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.words import count, duration, usd
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.questions.question import NOTHING, Inputs, Question
from planner.questions.rollout import RolloutSettings, at_replicas, scenario_of
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_answer import Certificate, WorthHaving
from planner.remedies.pareto_plans_report import certificate

ALL: Final = ",".join(Lever)


def parse_levers(text: str) -> str:
    """``strategy,lend``, in the order of `Lever`; ``all`` is every one.

    Raises
    ------
    InputError
        For a word that is no lever.
    """
    lever_names = [word.strip().lower() for word in text.split(",") if word.strip()]
    named = list(Lever) if lever_names in ([], ["all"]) else lever_names
    wrong = [word for word in named if word not in list(Lever)]
    if wrong:
        raise InputError(f'"{wrong[0][:60]}" is no lever', where="--levers", fix=f"Levers: {ALL}, or all")
    return ",".join(lever for lever in Lever if lever in named)


class CertificateSettings(Record):
    """The change, and what a plan may pull."""

    rollout: RolloutSettings = settings_within(RolloutSettings)
    levers: str = setting(
        ALL, parse=parse_levers, form="LIST",
        help=f"All plans within these levers that nothing beats, or the proof that there is none: {ALL}, or all.",
    )  # fmt: skip


def answer(snapshot: Snapshot, settings: CertificateSettings, inputs: Inputs = NOTHING) -> Certificate:
    """The plans for what the rollout changes.

    Raises
    ------
    ChangeError
        When the settings don't apply to the snapshot.
    """
    rollout = settings.rollout
    rollout.meanwhile.check_none()
    snapshot = at_replicas(snapshot, rollout)
    pools = growable_pools(snapshot, rollout.pools.known(inputs))
    levers = [Lever(lever_name) for lever_name in parse_levers(settings.levers).split(",")]
    return certificate(
        snapshot, scenario_of(snapshot, rollout), levers, pools, inputs.book, arrival_seconds=rollout.arrival_seconds
    )


def _price(plan: WorthHaving) -> str:
    if not plan.nodes:
        return "nothing"
    if plan.usd is None:
        return "no price"
    if not plan.is_kept or plan.usd_per_month is None:
        return usd(plan.usd)
    return f"{usd(plan.usd_per_month)} a month{'' if plan.usd_per_rollout is None else f', {usd(plan.usd_per_rollout)} once'}"


PLANS: Final[Listing[Certificate, tuple[int, WorthHaving]]] = Listing(
    name="plans",
    items=lambda answer: list(enumerate(answer.plans, 1)),
    columns=(
        Column("plan", lambda of: of[0]),
        Column("title", lambda of: of[1].title, heading="what is done"),
        Column("lowest_ready", lambda of: of[1].lowest_ready, heading="lowest Ready",
            words=lambda of: f"{of[1].lowest_ready:,} of {of[1].replicas:,}"),
        Column("replicas", lambda of: of[1].replicas, heading=None),
        Column("seconds", lambda of: of[1].seconds, heading="takes"),
        Column("down_seconds", lambda of: of[1].down_seconds, heading="none Ready for",
            words=lambda of: duration(of[1].down_seconds) if of[1].down_seconds else "never"),
        Column("usd", lambda of: of[1].usd, heading="costs", words=lambda of: _price(of[1])),
        Column("usd_per_month", lambda of: of[1].usd_per_month, heading=None),
        Column("usd_per_rollout", lambda of: of[1].usd_per_rollout, heading=None),
        Column("kept_nodes", lambda of: of[1].kept_nodes, heading=None),
        Column("nodes", lambda of: of[1].nodes, heading=None),
        Column("left", lambda of: of[1].left, heading=None),
        Column("disturbed", lambda of: of[1].disturbed, heading="pods of others that end"),
        Column("is_proven", lambda of: of[1].is_proven, heading="sure",
            words=lambda of: "wherever pods are placed" if of[1].is_proven else f"in {count(of[1].runs, 'placement')} tried"),
        Column("sentence", lambda of: of[1].sentence, heading=None),
    ),
)  # fmt: skip


def _status(answer: Certificate) -> ExitStatus:
    if not answer.is_known:
        return ExitStatus.NOT_KNOWN
    return ExitStatus.ANSWERED if answer.plans else ExitStatus.STUCK


def notes(answer: Certificate) -> list[str]:
    """Why nothing is proven, and the nearest lever."""
    notes_shown = [f"Not proven: {reason}." for reason in answer.why_not]
    return [*notes_shown, *([f"The nearest lever: {answer.nearest}."] if answer.nearest else [])]


QUESTION: Final = Question(
    name="certificate",
    settings=CertificateSettings,
    answer=answer,
    figures=(
        Figure("certificate_plans", lambda answer: len(answer.plans), "plans"),
        Figure("certificate_looked_at", lambda answer: answer.looked_at, "plans"),
        Figure("certificate_total", lambda answer: answer.total, "plans"),
    ),
    listings=(PLANS,),
    notes=notes,
    status=_status,
    hangs_on=(NODE.name, POD.name),
)
