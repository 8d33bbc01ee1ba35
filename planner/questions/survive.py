"""The question *survive*: what breaks if a node, zone, rack or a pool's spot nodes fail, and the spare to prevent it."""

from __future__ import annotations

from typing import Final

from planner.capacity.survival import Survival, notes, spare_words, survival, whose_words
from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.words import duration
from planner.ground.work_budget import LIST_UNITS, allowed
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.questions.side_event_settings import DOUBTS


class SurviveSettings(Record):
    label: str = setting("", form="KEY", help="Nodes that share this label's value are lost at once too.")
    upgrades: bool = setting(
        False, label="Upgrades too", help="Also each pool's upgrade, with surge and blue-green: which budget blocks it."
    )


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, asked: SurviveSettings, given: Inputs = NOTHING) -> Survival:
    """Every loss, played."""
    return survival(snapshot, label=asked.label, upgrades=asked.upgrades, limits=given.limits, book=given.book)


QUESTION: Final = Question(
    name="survive",
    settings=SurviveSettings,
    answer=answer,
    figures=(
        Figure("survive_nodes_broken", lambda answer: answer.nodes(broken=True), "nodes"),
        Figure("survive_spare_nodes", lambda answer: sum(one.nodes for one in answer.spare), "nodes"),
        Figure("survive_spare_cost", lambda answer: answer.usd_per_month, USD_A_MONTH),
    ),
    listings=(
        Listing(name="losses", title="What each loss breaks", items=lambda answer: answer.losses, most=40,
            told=lambda survival_answer: [loss for loss in survival_answer.losses if loss.missing or loss.preempted],
            columns=(Column("scope", lambda row: row.scope.value, heading="lost"), Column("name"), Column("alike"), Column("pool"), Column("nodes"), Column("gpus", heading="GPUs"),
                Column("pods"), Column("back", heading="come back"), Column("seconds", heading="within", words=lambda row: duration(row.seconds) if row.seconds else ""),
                Column("missing", heading="don't come back"), Column("whose", lambda row: whose_words(row.whose), heading="of workloads"), Column("waiting"), Column("unknown", heading=None),
                Column("preempted", lambda row: whose_words(row.pushed), heading="preempted"), Column("spare", lambda row: spare_words(row.spare), heading="spare that prevents it"))),
        Listing(name="together", title="How many nodes of a pool may fail at once", items=lambda answer: answer.together, columns=(
            Column("pool"), Column("nodes"), Column("survived", words=lambda row: f"{row.survived:,}" if row.is_every else f"at least {row.survived:,}"),
            Column("is_every", heading=None), Column("is_proven", heading=None), Column("breaks", lambda row: ", ".join(row.breaks), heading="single points of failure"))),
        Listing(name="spare", title="Spare nodes, for any one node", items=lambda losses: losses.spare, columns=(
            Column("pool"), Column("zone"), Column("nodes"), Column("usd_per_month"), Column("like"))),
        Listing(name="upgrades", title="Upgrades of node pools", items=lambda losses: losses.upgrades, columns=(
            Column("pool"), Column("strategy", lambda row: row.strategy.value), Column("is_done", lambda row: row.is_done if row.is_known else None, heading="gets through"),
            Column("budgets", lambda row: ", ".join(row.budgets), heading="held back by"), Column("sentence", lambda row: str(row.sentence), heading="what comes of it"))),
        Listing(name="doubts", columns=DOUBTS, is_shown=False),
    ),
    notes=notes,
    codes=lambda answer: dict(reversed(answer.manifests)),
    codes_file="manifests",
    about="""What breaks if a node, a zone, an NVLink or rack domain or all spot nodes of a pool fail at once.

    The pods that stay pending, the minutes of the others, preempted pods, how many nodes may fail together, and the cheapest spare.""",
    wants=(Want.POOLS, Want.PRICES),
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
)  # fmt: skip
