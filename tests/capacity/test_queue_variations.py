"""Cases beside the recorded ones, with other numbers, limits, flavors and policies; who gets quota worked out by hand from kueue at
ff69552e79ad: `resource_node.go` (`available`, `potentialAvailable`), `scheduler.go` (the order of a cycle), `preemption.go`,
`flavorassigner.go` (`findFlavorForPodSets`)."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity.kueue_queues import queues
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import API, flavor, local, queue, read, workload

Object = dict[str, Any]
IN, WAITS, NEVER, EVICTS, BEHIND = (
    AdmissionOutcome.LET_IN,
    AdmissionOutcome.QUOTA,
    AdmissionOutcome.NEVER,
    AdmissionOutcome.EVICTS,
    AdmissionOutcome.BEHIND,
)
Quotas = dict[str, tuple[str, ...]]
Queues = dict[str, tuple[Quotas, Object]]


def cluster(queues_of: Queues, *more: Object, flavors: tuple[str, ...] = ("f",)) -> list[Object]:
    """Each queue has a namespace of its name."""
    return [
        *map(flavor, flavors),
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in queues_of),
        *(queue(name, quotas, **spec) for name, (quotas, spec) in queues_of.items()),
        *(local(name, name) for name in queues_of),
        *more,
    ]


def said(objects: list[Object]) -> dict[str, tuple[AdmissionOutcome, str]]:
    """Workload → what becomes of it, and of whom it takes what."""
    return {
        one.workload.removeprefix("Job/"): (one.outcome, ",".join(one.evicts) or str(one.why))
        for one in queues(read(objects)).waiting
    }


def outcomes(objects: list[Object]) -> dict[str, AdmissionOutcome]:
    return {name: outcome for name, (outcome, _) in said(objects).items()}


PAIR: Object = {"cohort": "c"}


@pytest.mark.parametrize(("wants", "outcome"), [(10, IN), (11, NEVER)])
def test_no_more_is_borrowed_than_another_lends(wants: int, outcome: AdmissionOutcome) -> None:
    of: Queues = {"a": ({"f": ("8",)}, PAIR), "b": ({"f": ("8", "", "2")}, PAIR)}
    assert outcomes(cluster(of, workload("a", "w", wants))) == {"a/w": outcome}


@pytest.mark.parametrize(("held", "wants", "outcome"), [(0, 11, IN), (0, 12, NEVER), (6, 11, WAITS), (6, 10, IN)])
def test_no_more_is_borrowed_than_a_queue_may(held: int, wants: int, outcome: AdmissionOutcome) -> None:
    """8 of its own and at most 3 more; of the other's 8 so many are in use."""
    of: Queues = {"a": ({"f": ("8", "3")}, PAIR), "b": ({"f": ("8",)}, PAIR)}
    there = [workload("b", "old", held, held=("b", "f"))] if held else []
    assert outcomes(cluster(of, *there, workload("a", "w", wants))) == {"a/w": outcome}


@pytest.mark.parametrize(
    ("policy", "priority", "outcome"),
    [("Any", 0, EVICTS), ("LowerPriority", 1, EVICTS), ("LowerPriority", 0, WAITS), ("Never", 1, WAITS)],
)
def test_what_is_lent_is_taken_back_from_the_youngest(policy: str, priority: int, outcome: AdmissionOutcome) -> None:
    """The other queue uses 12 of its 8: without the 4 that came last the 8 fit."""
    of: Queues = {
        "a": ({"f": ("8",)}, {**PAIR, "preemption": {"reclaimWithinCohort": policy}}),
        "b": ({"f": ("8",)}, PAIR),
    }
    there = [
        workload("b", "first", 8, held=("b", "f"), created=-5000),
        workload("b", "last", 4, held=("b", "f"), created=-4000),
    ]
    found = said(cluster(of, *there, workload("a", "w", 8, priority=priority)))
    assert found["a/w"][0] is outcome
    assert (found["a/w"][1] == "Job/b/last") is (outcome is EVICTS)


def test_who_lives_on_its_own_quota_is_not_evicted_by_other_queues() -> None:
    of: Queues = {"a": ({"f": ("4",)}, {**PAIR, "preemption": {
        "reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}}), "b": ({"f": ("12",)}, PAIR)}  # fmt: skip
    there = [workload("b", f"old{at}", 4, held=("b", "f"), priority=-5) for at in range(3)]
    assert outcomes(cluster(of, *there, workload("a", "w", 8, priority=9))) == {"a/w": WAITS}


@pytest.mark.parametrize(("strategy", "second"), [("StrictFIFO", BEHIND), ("BestEffortFIFO", IN)])
def test_who_stands_behind_one_that_waits(strategy: str, second: AdmissionOutcome) -> None:
    of: Queues = {"a": ({"f": ("8",)}, {"queueingStrategy": strategy})}
    there = [workload("a", "old", 3, held=("a", "f"), created=-9000)]
    some = [workload("a", "big", 6, created=-200), workload("a", "small", 5, created=-100)]
    assert outcomes(cluster(of, *there, *some)) == {"a/big": WAITS, "a/small": second}


@pytest.mark.parametrize(("wants", "held", "got"), [(4, 0, "spot"), (6, 0, "demand"), (4, 1, "demand"), (3, 1, "spot")])
def test_the_next_flavor_is_taken_where_the_first_has_too_little(wants: int, held: int, got: str) -> None:
    of: Queues = {"a": ({"spot": ("4",), "demand": ("8",)}, {})}
    there = [workload("a", "old", held, held=("a", "spot"), created=-9000)] if held else []
    found = said(cluster(of, *there, workload("a", "w", wants), flavors=("spot", "demand")))
    assert found == {"a/w": (IN, f"quota of {got}")}


@pytest.mark.parametrize(("rule", "got"), [("MayStopSearch", "spot"), ("TryNextFlavor", "demand")])
def test_what_has_to_be_borrowed_is_taken_or_the_next_flavor_is(rule: str, got: str) -> None:
    of: Queues = {
        "a": ({"spot": ("2",), "demand": ("8",)}, {**PAIR, "flavorFungibility": {"whenCanBorrow": rule}}),
        "b": ({"spot": ("8",), "demand": ("0",)}, PAIR),
    }
    found = said(cluster(of, workload("a", "w", 4), flavors=("spot", "demand")))
    assert found == {"a/w": (IN, f"quota of {got}")}


def test_a_higher_priority_goes_first_though_it_came_later() -> None:
    some = [workload("a", "old", 8, created=-500), workload("a", "urgent", 8, created=-10, priority=3)]
    assert outcomes(cluster({"a": ({"f": ("8",)}, {})}, *some)) == {"a/urgent": IN, "a/old": WAITS}


@pytest.mark.parametrize(
    ("policy", "priority", "created", "outcome"),
    [
        ("LowerPriority", 1, -10, EVICTS), ("LowerPriority", 0, -10, WAITS), ("LowerOrNewerEqualPriority", 0, -10, WAITS),
        ("LowerOrNewerEqualPriority", 0, -4500, EVICTS), ("Never", 9, -10, WAITS),
    ],
)  # fmt: skip
def test_whom_a_queue_evicts_of_its_own(policy: str, priority: int, created: int, outcome: AdmissionOutcome) -> None:
    """Of two that are equal the younger goes, and the older only where it came later than who waits."""
    of: Queues = {"a": ({"f": ("8",)}, {"preemption": {"withinClusterQueue": policy}})}
    there = [
        workload("a", "first", 4, held=("a", "f"), created=-5000),
        workload("a", "last", 4, held=("a", "f"), created=-4000),
    ]
    found = said(cluster(of, *there, workload("a", "w", 4, priority=priority, created=created)))
    assert found["a/w"][0] is outcome
    assert (found["a/w"][1] == "Job/a/last") is (outcome is EVICTS)


@pytest.mark.parametrize(("held", "outcome"), [(0, IN), (1, WAITS)])
def test_cohorts_of_cohorts_lend_what_their_root_has(held: int, outcome: AdmissionOutcome) -> None:
    """4 of its own, 4 of its sister's, 4 of the root's."""

    def cohort(name: str, **spec: Any) -> Object:
        return {"apiVersion": API, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}

    nominal = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [
        {"name": "f", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "4"}]}]}]  # fmt: skip
    of: Queues = {"a": ({"f": ("4",)}, {"cohort": "left"}), "b": ({"f": ("4",)}, {"cohort": "right"})}
    above = [
        cohort("root", resourceGroups=nominal),
        cohort("left", parentName="root"),
        cohort("right", parentName="root"),
    ]
    there = [workload("b", "old", held, held=("b", "f"))] if held else []
    assert outcomes(cluster(of, *above, *there, workload("a", "w", 12))) == {"a/w": outcome}


def test_who_borrows_comes_after_who_does_not() -> None:
    """Though it came first: in a cycle those that stay within their own quota are dealt with before."""
    of: Queues = {"a": ({"f": ("4",)}, PAIR), "b": ({"f": ("4",)}, PAIR)}
    some = [workload("a", "old", 8, created=-900), workload("b", "new", 4, created=-10)]
    assert outcomes(cluster(of, *some)) == {"a/old": WAITS, "b/new": IN}


def test_of_two_that_borrow_the_older_is_first() -> None:
    of: Queues = {"a": ({"f": ("4",)}, PAIR), "b": ({"f": ("4",)}, PAIR), "lender": ({"f": ("4",)}, PAIR)}
    some = [workload("b", "old", 8, created=-900), workload("a", "new", 8, created=-10)]
    assert outcomes(cluster(of, *some)) == {"b/old": IN, "a/new": WAITS}


@pytest.mark.parametrize(
    ("quota", "outcome", "why"), [("8", IN, "quota of f"), ("4", IN, "quota of f"), ("3", NEVER, "")]
)
def test_one_that_may_start_smaller_starts_with_what_fits(quota: str, outcome: AdmissionOutcome, why: str) -> None:
    """5 pods of 2 GPUs, at least 2 of them."""
    one = workload("a", "w", 2, count=5)
    one["spec"]["podSets"][0]["minCount"] = 2
    found = said(cluster({"a": ({"f": (quota,)}, {})}, one))["a/w"]
    assert found[0] is outcome
    assert found[1].startswith(why)


@pytest.mark.parametrize("stop", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_lets_nobody_in_and_its_quota_is_lent_still(stop: str) -> None:
    of: Queues = {
        "a": ({"f": ("4",)}, {**PAIR, "stopPolicy": stop}),
        "b": ({"f": ("4",)}, PAIR),
    }  # `snapshot.go`: its cohort has it still
    found = outcomes(cluster(of, workload("a", "w", 1), workload("b", "w", 8)))
    assert found == {"a/w": AdmissionOutcome.STOPPED, "b/w": IN}
