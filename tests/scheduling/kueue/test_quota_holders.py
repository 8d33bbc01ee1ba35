"""Which forms of a Workload hold quota, and how much: kueue at ff69552e79ad, `pkg/workload/workload.go` (`HasActiveQuotaReservation`,
`totalRequestsFromAdmission`, `IsAdmissible`), `pkg/controller/core/workload_controller.go` (`Update`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from planner.capacity.kueue_queues import Queues, queues
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import flavor, local, moment, node, queue, read, workload
from tests.rollout.test_queued import job

Object = dict[str, Any]


def said(kind: str, status: str = "True", reason: str = "X") -> Object:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": moment(-60)}


def holder(*conditions: Object, of: int = 4, reclaimed: int = 0, active: bool = True, **metadata: Any) -> Object:
    """A Workload with quota of 8 GPUs for 4 pods, of a pod set of `of` pods of which `reclaimed` have ended for good."""
    one = workload("a", "old", 2, count=4, held=("q", "f"), active=active)
    one["metadata"] |= metadata
    one["spec"]["podSets"][0] |= {"count": of, "minCount": 1}
    one["status"]["conditions"] += conditions
    one["status"]["reclaimablePods"] = [{"name": "main", "count": reclaimed}]
    return one


def uncounted(one: Object) -> Object:
    """As Kueue wrote it before its assignments had a count."""
    del one["status"]["admission"]["podSetAssignments"][0]["count"]
    return one


def objects(*more: Object) -> list[Object]:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    return [node("n", 16), space, flavor("f"), queue("q", {"f": ("8",)}), local("a", "q"), *more]


def answer(*more: Object) -> Queues:
    return queues(read(objects(*more)))


FORMS: Final[dict[str, tuple[Callable[[], Object], int]]] = {
    "it runs": (holder, 8),
    "it is evicted, and its pods end": (lambda: holder(said("Evicted")), 8),
    "it is to be deactivated": (lambda: holder(said("DeactivationTarget")), 8),
    "it is deleted, and a finalizer keeps it": (lambda: holder(deletionTimestamp=moment(-5), finalizers=["kueue.x-k8s.io/resource-in-use"]), 8),
    "it was deactivated, and its pods end": (lambda: holder(active=False), 0),
    "it was deactivated and is evicted": (lambda: holder(said("Evicted"), active=False), 0),
    "it has finished": (lambda: holder(said("Finished")), 0),
    "one of four pods has ended": (lambda: holder(reclaimed=1), 6),
    "more than all have ended": (lambda: holder(reclaimed=9), 0),
    "one of six has ended, of which four were let in": (lambda: holder(of=6, reclaimed=1), 8),
    "four of six have ended, of which four were let in": (lambda: holder(of=6, reclaimed=4), 4),
    "one of four has ended, and no count is said": (lambda: uncounted(holder(reclaimed=1)), 6),
    "no count is said": (lambda: uncounted(holder()), 8),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_each_form_holds(form: str) -> None:
    make, used = FORMS[form]
    [row] = answer(make()).queues
    assert (row.used, row.free) == (used, 8 - used)
    free = 8 - used
    snapshot = read(objects(make()))
    verdicts = [
        rollout(snapshot, Scenario(manifest=json.dumps(job(gpus, namespace="a")))).verdict
        for gpus in (free, free + 1)
        if gpus
    ]
    assert verdicts == [Verdict.COMPLETES] * bool(free) + [Verdict.STUCK]


def test_a_deactivated_one_waits_for_no_check() -> None:
    one = holder(active=False)
    one["status"]["conditions"] = [said("QuotaReserved"), said("Admitted", "False")]
    assert answer(one).waiting == ()


@pytest.mark.parametrize(
    ("conditions", "outcome", "why"),
    [
        ([said("QuotaReserved", "False", "Pending")], AdmissionOutcome.LET_IN, "quota of f"),
        ([said("QuotaReserved", "False", "OnHold")], None, ""),  # of a StatefulSet without replicas
        ([said("QuotaReserved", "False", "AdmissionGated")], AdmissionOutcome.REFUSED, "nothing gates its admission"),
        ([said("QuotaReserved", "False", "Pending"), said("WaitingForReplacementPods")], AdmissionOutcome.REFUSED, "pods that its group lacks"),
    ],
)  # fmt: skip
def test_who_isnt_queued_keeps_nobody_waiting(
    conditions: list[Object], outcome: AdmissionOutcome | None, why: str
) -> None:
    """`IsAdmissible`: the other one is the first of its StrictFIFO queue where this one stands in none."""
    old = workload("a", "old", 8, created=-900)
    old["status"] = {"conditions": conditions}
    made = objects(old, workload("a", "new", 1, created=-10))
    made[3]["spec"]["queueingStrategy"] = "StrictFIFO"
    found = {row.workload: row for row in queues(read(made)).waiting}
    new = found["Job/a/new"].outcome
    assert new is (AdmissionOutcome.QUOTA if outcome is AdmissionOutcome.LET_IN else AdmissionOutcome.LET_IN)
    if outcome is None:
        assert "Job/a/old" not in found
    else:
        assert (found["Job/a/old"].outcome, why in str(found["Job/a/old"].why)) == (outcome, True)
