"""Warnings beside the room that a rollout needs: a deploy timeout shorter than the probes allow, a budget that blocks
drains, a shell that keeps SIGTERM from the program. They don't change a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.ground.words import Text, duration
from planner.kubernetes import disruption_budgets
from planner.kubernetes.object_records import CommandForm, Snapshot, Workload
from planner.kubernetes.selectors import labels_match
from planner.rollout.answers import Cutoff

_SHELLS: Final = (CommandForm.SHELL, CommandForm.INIT_SHELL)


def rollout_warnings(snapshot: Snapshot, workload: Workload, cutoff: Cutoff | None) -> Iterator[Text]:
    """What is worth a warning of one workload; `snapshot`: the cluster on which it stands, `cutoff`: what waits for it."""
    if cutoff is not None and cutoff.is_short:
        yield cutoff.sentence
    scales = disruption_budgets.scales(snapshot)
    for budget in snapshot.pod_disruption_budgets:
        if budget.namespace != workload.namespace or not labels_match(budget.selector, workload.template.labels):
            continue
        best = disruption_budgets.status_at_best(budget, snapshot, scales)
        if best.healthy and best.is_known and not best.allowed:
            yield Text(
                f"no drain of its nodes gets past PodDisruptionBudget {budget.name} ({disruption_budgets.why_never(budget, best)}); "
                "GKE's upgrades go on after an hour"
            )
    for container in workload.template.spec.containers:
        if container.command_form in _SHELLS:
            grace = duration(float(workload.template.spec.termination_grace_period_seconds))
            yield Text(
                f"container {container.name}: a shell may keep SIGTERM from the program, and each old pod then ends after its grace period ({grace}): put exec before it"
            )
