"""Kueue's queues: what each uses, why each workload is pending and at which place, what would admit it, and what moving quota changes."""

from __future__ import annotations

from typing import Final

from planner.capacity.kueue_queues import Queues, QueueUse, queues
from planner.capacity.what_if_syntax import Change, parse_changes
from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.errors import NotKnownError
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.words import about, listing, moment, roughly
from planner.inventory.input_report import get_command
from planner.kubernetes.kueue_managed_pods import NEEDED
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import several
from planner.questions.question import NOTHING, Inputs, Question, Want, unit_of
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from planner.scheduling.kueue.kueue_verdicts import lacking


class QueuesSettings(Record):
    changes: tuple[Change, ...] = setting(
        (), option="--change", label="Other quotas", form="TEXT", parse=parse_changes,
        help="Another nominal quota to look beyond: quota:QUEUE/FLAVOR/RESOURCE=8.",
    )  # fmt: skip


def answer(snapshot: Snapshot, settings: QueuesSettings, inputs: Inputs = NOTHING) -> Queues:
    """Every queue, and everybody who waits.

    Raises
    ------
    NotKnownError
        Without one of Kueue's lists: an unseen list isn't an empty one.
    """
    if missing := lacking(snapshot):
        kinds = listing([several(kind) for kind in missing], most=None)
        raise NotKnownError(f"not known: the input holds no {kinds}, and the answer depends on them",
            where=snapshot.source, fix=f"To add them: {get_command(missing)}")  # fmt: skip
    return queues(snapshot, settings.changes, inputs.runs)


def _amount(name: str, heading: str = "", metric: str = "") -> Column[QueueUse]:
    return Column(name, heading=heading, words=lambda usage: roughly(getattr(usage, name), usage.resource),
        metric=metric, unit=lambda usage: unit_of(usage.resource))  # fmt: skip


_FINDS: Final = {True: "yes", False: "no", None: "not known"}
_NOT_LET_IN: Final = (AdmissionOutcome.QUOTA, AdmissionOutcome.NEVER, AdmissionOutcome.BEHIND)
QUESTION: Final = Question(
    name="queues",
    settings=QueuesSettings,
    answer=answer,
    figures=(
        Figure("queues_waiting", lambda queue_answer: len(queue_answer.waiting), "workloads"),
        Figure("queues_waiting_on_quota", lambda queues: queues.waiting_for(*_NOT_LET_IN), "workloads"),
        Figure("queues_evicting", lambda queues: queues.waiting_for(AdmissionOutcome.EVICTS), "workloads"),
    ),
    listings=(
        Listing(name="queues", title="Quotas", empty="There is no ClusterQueue.", columns=(
            Column("queue", label="queue"), Column("cohort"), Column("flavor", label="flavor"), Column("resource", label="resource"),
            _amount("nominal", "its own", "queue_nominal"), _amount("used", "", "queue_used"), _amount("borrowed", "of it borrowed"),
            _amount("idle", "of its own idle"), _amount("free", "free now", "queue_free"), _amount("at_most"), Column("waiting"))),
        Listing(name="waiting", title="Pending workloads", empty="No workload is pending in a queue.", most=40, columns=(
            Column("queue"), Column("place"), Column("workload"), Column("name", heading=None),
            Column("outcome", lambda row: row.outcome.value, heading="waits for"), Column("before", heading="before the change"),
            Column("why", lambda row: str(row.why)), Column("evicts", lambda row: ", ".join(row.evicts)),
            Column("remedy", lambda waiting_workload: str(waiting_workload.remedy), heading="what would let it in"),
            Column("finds_nodes", heading="its pods find nodes", words=lambda row: _FINDS[row.finds_nodes] if row.outcome is AdmissionOutcome.LET_IN else " "),
            Column("latest_seconds", heading="at the latest in", words=lambda row: about(row.latest_seconds) if row.latest_seconds is not None else str(row.untold) or " "),
            Column("usual_least_seconds", heading=None), Column("usual_most_seconds", heading=None), Column("usual_runs", heading=None),
            Column("usual", lambda waiting_workload: str(waiting_workload.usual), heading="as runs before took"),
            Column("untold", lambda waiting_workload: str(waiting_workload.untold), heading=None), Column("priority"),
            Column("since_seconds", heading="since", words=lambda row: moment(row.since_seconds) if row.since_seconds else "not known"))),
    ),
    notes=lambda queue_answer: queue_answer.assumed,
    about="""Kueue's queues: the use of each flavor, the pending workloads with their place and reason, and the workloads to evict for them.

    Played by Kueue's own rules, cycle after cycle; what isn't modelled (topologies, checks) is said to be not known.""",
    hangs_on=NEEDED, wants=(Want.RUNS,),
)  # fmt: skip
