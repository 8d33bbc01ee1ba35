"""The front hall: one module a question, and what they stand on.

=================  ================================================================================================
module             question
=================  ================================================================================================
`rollout`          Will these changes finish? Why not, and what would help?
`gate`             May this change be merged? Its workloads, alone and together, against a policy.
`overview`         What could not be rolled out now? GPUs by model.
`peak`             Which rollouts go at an autoscaler's highest replicas, and which only while there are few pods?
`plan`             What is the least that makes every workload rollable, and what does it cost?
`seats`            Who holds which GPU, and whose next pod would fit?
`capacity`         What is left, what still fits and where, what is stranded?
`what_if`          The same answers, after nodes are added, drained, lost, upgraded or tainted.
`costs`            What does the cluster cost a month, and what of it is idle?
`idle`             Which GPUs are held and not used, whose, since when, at what cost?
`savings`          Is a workload fit for spot, and what would it really save?
`strategies`       Which update strategy to choose: what nothing beats, and one that is recommended.
`strategy_costs`   What does each rollout strategy's spare GPUs cost?
`memory`           Who is evicted and killed first? What would another request or limit change?
`restarts`         What restarts or doesn't start, why, and what would help?
`drift`            What differs between environments, and what does that explain?
`diff`             What differs between two snapshots, or after a what-if?
`report`           What does a capacity review need to know?
`doctor`           What can be read, what is missing, and what that costs?
`findings`         What is worth a person's attention?
`trends`           What did the store's snapshots say day by day, since when, and when are GPUs full?
`commitments`      Which level of commitments would have cost least on the use that was?
`fleet`            Several clusters as one: GPUs by model, what is stuck where, the same workload in several.
`where`            Where would this fit, of several clusters? Verdict, room, price.
=================  ================================================================================================

Each has a record of settings (declared once, `planner.ground.settings`), ``answer(snapshot, settings, given)``, facts, tables,
and a `QUESTION` that holds them together (`question`). `pool_settings` are settings that several share, `filters` what of
an answer is listed. What computes stands in the rooms behind the hall.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

INDEX = {
    "rollout": "rollout.QUESTION",
    "gate": "gate.QUESTION",
    "overview": "overview.QUESTION",
    "peak": "peak.QUESTION",
    "plan": "plan.QUESTION",
    "seats": "seats.QUESTION",
    "capacity": "capacity.QUESTION",
    "what_if": "what_if.QUESTION",
    "costs": "costs.QUESTION",
    "idle": "idle.QUESTION",
    "savings": "savings.QUESTION",
    "strategies": "strategies.QUESTION",
    "strategy_costs": "strategy_costs.QUESTION",
    "memory": "memory.QUESTION",
    "memory_what_if": "memory.WHAT_IF",
    "restarts": "restarts.QUESTION",
    "drift": "drift.QUESTION",
    "findings": "findings.QUESTION",
    "doctor": "doctor.QUESTION",
    "diff": "diff.QUESTION",
    "report": "report.QUESTION",
    "trends": "trends.QUESTION",
    "commitments": "commitments.QUESTION",
    "fleet": "fleet.QUESTION",
    "where": "where.QUESTION",
}
"""Name → where the `Question` stands. A module is loaded when its question is asked."""


def question_called(name: str) -> Any:
    """The `planner.questions.question.Question` of that name."""
    module, _, attribute = INDEX[name].partition(".")
    return getattr(import_module(f"planner.questions.{module}"), attribute)
