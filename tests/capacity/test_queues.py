"""Queues as people ask about them, on three teams' made-up cluster."""

from __future__ import annotations

import json
from dataclasses import fields
from time import process_time
from typing import Any

import pytest

from planner.capacity.kueue_queues import Queues, Waiting, queues
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import parse_changes
from planner.ground.errors import ChangeError, NotKnownError
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import NOTHING
from planner.questions.queues import QUESTION, QueuesSettings
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario, compiled
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import API, GPU, KINDS, flavor, job, local, many, node, pod, queue, read, teams, workload


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read(teams())


def who(found: Queues) -> dict[str, Waiting]:
    return {one.workload: one for one in found.waiting}


def outcomes(objects: list[dict[str, object]]) -> dict[str, AdmissionOutcome]:
    return {name: one.outcome for name, one in who(queues(read(objects))).items()}


def test_who_waits_for_what(snapshot: Snapshot) -> None:
    found = who(queues(snapshot))
    assert {name: (one.outcome, one.place) for name, one in found.items()} == {
        "Job/team-a/big": (AdmissionOutcome.EVICTS, 1),
        "Job/team-a/next": (AdmissionOutcome.QUOTA, 2),
        "Job/team-b/eval": (AdmissionOutcome.LET_IN, 1),
        "Job/team-b/huge": (AdmissionOutcome.NEVER, 2),
        "Job/team-c/lost": (AdmissionOutcome.REFUSED, 1),
    }
    assert found["Job/team-a/big"].evicts == ("Job/team-a/tune",)
    assert "8 nvidia.com/gpu more of a100 than the queue can ever have" in str(found["Job/team-b/huge"].why)


def waits_with_cpu(quota: str, *more: dict[str, Any], counted: str = "", **spec: Any) -> AdmissionOutcome:
    """What a Workload of two pods, whose template says nothing, waits for in a queue with so much CPU; `counted`: what its status says."""
    waiting = workload("team-a", "x", 0, count=2)
    waiting["spec"]["podSets"][0]["template"]["spec"] = {"containers": [{"name": "c"}], **spec}
    if counted:
        waiting["status"] = {"resourceRequests": [{"name": "main", "resources": {"cpu": counted}}]}
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    own = queue("q", {"a100": (quota,)}, resource="cpu")
    return outcomes([space, flavor("a100"), own, local("team-a", "q"), waiting, *more])["Job/team-a/x"]


def limit_range(namespace: str = "team-a", kind: str = "Container", **limits: str) -> dict[str, Any]:
    item = {"type": kind, "default": limits or {"cpu": "2"}}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": namespace},
        "spec": {"limits": [item]},
    }


KATA = {
    "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata", "overhead": {"podFixed": {"cpu": "2"}},
}  # fmt: skip


def test_defaults_of_a_namespace_and_overhead_of_a_runtime_class_count_against_quota() -> None:
    assert waits_with_cpu("3") is AdmissionOutcome.LET_IN
    assert waits_with_cpu("3", limit_range()) is AdmissionOutcome.NEVER
    assert waits_with_cpu("4", limit_range()) is AdmissionOutcome.LET_IN
    assert waits_with_cpu("3", limit_range("team-b")) is AdmissionOutcome.LET_IN
    assert waits_with_cpu("3", limit_range(kind="Pod")) is AdmissionOutcome.LET_IN
    assert waits_with_cpu("3", KATA, runtimeClassName="kata") is AdmissionOutcome.NEVER
    assert waits_with_cpu("4", KATA, runtimeClassName="kata") is AdmissionOutcome.LET_IN
    assert waits_with_cpu("3", KATA) is AdmissionOutcome.LET_IN
    assert waits_with_cpu("3", KATA, runtimeClassName="kata", overhead={"cpu": "1"}) is AdmissionOutcome.LET_IN


def test_what_kueue_says_it_counted_is_taken_before_its_rules() -> None:
    assert waits_with_cpu("3", counted="4") is AdmissionOutcome.NEVER
    assert waits_with_cpu("3", limit_range(), counted="2") is AdmissionOutcome.LET_IN
    assert waits_with_cpu("2", limit_range(), counted="2") is AdmissionOutcome.LET_IN


def test_a_container_that_asks_for_more_than_its_default_limit_is_refused() -> None:
    asks: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    assert waits_with_cpu("9", limit_range(), **asks) is AdmissionOutcome.REFUSED
    assert waits_with_cpu("9", limit_range(cpu="3"), **asks) is AdmissionOutcome.LET_IN


@pytest.mark.parametrize(("quota", "verdict"), [("3", Verdict.STUCK), ("4", Verdict.COMPLETES)])
def test_the_gate_counts_them_by_the_same_rules(quota: str, verdict: Verdict) -> None:
    own = queue("q", {"a100": (quota,)}, resource="cpu")
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    held = read([space, node("gpu-0", 8), flavor("a100"), own, local("team-a", "q"), limit_range()])
    new = job("team-a", "new", 0, suspended=True)
    new["spec"] |= {"parallelism": 2, "completions": 2}
    new["spec"]["template"]["spec"]["containers"] = [{"name": "c"}]
    assert rollout(held, Scenario(manifest=json.dumps(new))).verdict is verdict


def borrower(first: int = 8, behind: tuple[int, ...] = (), **spec: Any) -> dict[str, AdmissionOutcome]:
    """Who waits in a cohort where a queue holds 4 of its own 8 GPUs and its `first` one waits, and in another queue one for the idle 4
    that it would borrow, with others `behind` it."""
    policy = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"}
    strict = {"preemption": policy, "queueingStrategy": "StrictFIFO"} | spec
    owner = queue("team-a", {"a100": ("8", "0")}, cohort="org", **strict)
    other = queue("team-b", {"a100": ("1",)}, cohort="org", preemption=policy)
    spaces: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("team-a", "team-b")
    ]
    return outcomes([
        *spaces, flavor("a100"), owner, other, local("team-a", "team-a"), local("team-b", "team-b"),
        workload("team-a", "held", 4, held=("team-a", "a100"), priority=100, created=-7200),
        workload("team-a", "first", first, created=-3000), workload("team-b", "borrower", 4, created=-2000),
        *(workload("team-b", f"behind-{place}", gpus, created=-1000 + place) for place, gpus in enumerate(behind)),
    ])  # fmt: skip


def test_the_first_of_a_strict_queue_keeps_its_queues_idle_quota_from_borrowers() -> None:
    """As recorded (cohort-1-1): "Workload no longer fits after processing another workload", cycle after cycle."""
    waiting = {"Job/team-a/first": AdmissionOutcome.QUOTA, "Job/team-b/borrower": AdmissionOutcome.QUOTA}
    assert borrower() == waiting
    assert borrower(behind=(1,)) == {**waiting, "Job/team-b/behind-0": AdmissionOutcome.BEHIND}


@pytest.mark.parametrize(
    "changed",
    [
        {"queueingStrategy": "BestEffortFIFO"},  # it is set aside after a try
        {
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        },  # it gets its own back at any time
        {"first": 9},  # it never fits, and reserves nothing
    ],
)
def test_who_keeps_nothing_from_borrowers(changed: dict[str, Any]) -> None:
    assert borrower(**changed)["Job/team-b/borrower"] is AdmissionOutcome.LET_IN


def grouped(name: str, owners: list[dict[str, Any]], **notes: str) -> dict[str, Any]:
    """A Workload as Kueue makes it of what it lets in by its pods: no owner is its controller."""
    one = workload("team-a", name, 1)
    one["metadata"]["ownerReferences"] = [{"uid": f"uid-{owner['name']}", **owner} for owner in owners]
    one["metadata"]["annotations"] = {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in notes.items()}
    return one


@pytest.mark.parametrize(
    ("owners", "notes", "name", "is_group"),
    [
        ([], {"job_owner_gvk": "apps/v1, Kind=StatefulSet", "job_owner_name": "db"}, "StatefulSet/team-a/db", False),
        (
            [{"apiVersion": "v1", "kind": "Pod", "name": "db-0"}, {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}],
            {"job_owner_gvk": "apps/v1, Kind=StatefulSet", "job_owner_name": "db", "is_group_workload": "true"},
            "StatefulSet/team-a/db", True,
        ),
        (
            [{"apiVersion": "v1", "kind": "Pod", "name": "s-0"}, {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "s"}],
            {}, "LeaderWorkerSet/team-a/s", True,
        ),
        ([{"apiVersion": "v1", "kind": "Pod", "name": "g-0"}], {"is_group_workload": "true"}, "Workload/team-a/job-x", True),
        ([], {}, "Workload/team-a/job-x", False),
        ([{"apiVersion": "batch/v1", "kind": "Job", "name": "x", "controller": True}], {"job_owner_name": "y"}, "Job/team-a/x", False),
    ],
)  # fmt: skip
def test_what_a_workload_was_made_for(
    owners: list[dict[str, Any]], notes: dict[str, str], name: str, is_group: bool
) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    objects = [space, flavor("a100"), queue("q", {"a100": ("1",)}), local("team-a", "q"), grouped("x", owners, **notes)]
    assert [one.is_group for one in read(objects).queued_workloads] == [is_group]
    assert outcomes(objects) == {name: AdmissionOutcome.LET_IN}


def test_each_queues_use(snapshot: Snapshot) -> None:
    found = {one.queue: one for one in queues(snapshot).queues}
    assert [(one.nominal, one.used, one.borrowed, one.free, one.at_most) for _, one in sorted(found.items())] == [
        (16, 16, 0, 4, 20), (16, 8, 0, 8, 24), (16, 0, 0, 16, 16),
    ]  # fmt: skip
    assert (found["team-a"].cohort, found["team-c"].cohort) == ("research", "")


def test_idle_quota_of_another_lets_it_in(snapshot: Snapshot) -> None:
    """What is said to let it in does, where it is put to the rules as a change."""
    found = who(queues(snapshot))["Job/team-a/next"]
    assert str(found.remedy) == f"1 {GPU} of nominal quota of a100 from team-c's idle 16"
    moved = parse_changes(f"quota:team-c/a100/{GPU}=15;quota:team-a/a100/{GPU}=17")
    then = who(queues(snapshot, moved))["Job/team-a/next"]
    assert (then.before, then.outcome) == ("quota", AdmissionOutcome.LET_IN)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"quota:nobody/a100/{GPU}=1", "there is no ClusterQueue nobody"),
        ("quota:team-a/h100/cpu=1", "has no quota of h100/cpu"),
        (f"quota:team-a/a100/{GPU}=many", "not a Kubernetes quantity"),
        (f"quota:team-a/a100/{GPU}=-1", "is negative"),
        ("drain:gpu-0", "changes no queue's quota"),
    ],
)
def test_changes_that_cannot_be_made(snapshot: Snapshot, text: str, said: str) -> None:
    with pytest.raises(ChangeError) as refused:
        queues(snapshot, parse_changes(text))
    assert said in str(refused.value)


def test_a_strict_queue_waits_for_its_first_one_and_another_does_not() -> None:
    waiting = [
        workload("a", "running", 8, held=("q", "f")), workload("a", "first", 8, created=-500), workload("a", "small", 1, created=-100),
    ]  # fmt: skip
    base = [flavor("f"), local("a", "q"), *waiting]
    assert outcomes([*base, queue("q", {"f": ("10",)}, queueingStrategy="StrictFIFO")]) == {
        "Job/a/first": AdmissionOutcome.QUOTA, "Job/a/small": AdmissionOutcome.BEHIND,
    }  # fmt: skip
    assert outcomes([*base, queue("q", {"f": ("10",)})]) == {
        "Job/a/first": AdmissionOutcome.QUOTA,
        "Job/a/small": AdmissionOutcome.LET_IN,
    }


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [
        ({}, AdmissionOutcome.EVICTS),
        ({"stopPolicy": "Hold"}, AdmissionOutcome.QUOTA),
        ({"is_active": False}, AdmissionOutcome.QUOTA),
        ({"stopPolicy": "HoldAndDrain", "is_active": False}, AdmissionOutcome.EVICTS),  # by the drain
    ],
)
def test_nobody_is_evicted_from_a_queue_that_isnt_active(spec: dict[str, Any], outcome: AdmissionOutcome) -> None:
    """`pkg/cache/scheduler/snapshot.go` `skipInactiveCQReason`: it is in no cycle, and its cohort counts what it borrows all the same."""
    is_active = spec.pop("is_active", True)
    owner = queue("a", {"f": ("8",)}, cohort="org", preemption={"reclaimWithinCohort": "Any"})
    other = queue("b", {"f": ("4",)}, cohort="org", **spec)
    other["status"] = {"conditions": [{"type": "Active", "status": str(is_active)}]}
    spaces: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("a", "b")
    ]
    waiting = [workload("b", "borrows", 8, held=("b", "f")), workload("a", "w", 8)]
    assert outcomes([*spaces, flavor("f"), owner, other, local("a", "a"), local("b", "b"), *waiting]) == {
        "Job/a/w": outcome
    }


def test_nobody_waits_behind_a_workload_that_kueue_puts_back_later() -> None:
    """`pkg/cache/queue/cluster_queue.go` `backoffWaitingTimeExpired`: it stands in no queue until then."""
    first = workload("a", "first", 8, created=-500)
    base = [flavor("f"), local("a", "q"), queue("q", {"f": ("4",)}, queueingStrategy="StrictFIFO")]
    small = workload("a", "small", 1, created=-100)
    assert outcomes([*base, first, small])["Job/a/small"] is AdmissionOutcome.BEHIND
    for status, outcome in (("True", AdmissionOutcome.BEHIND), ("False", AdmissionOutcome.LET_IN)):
        first["status"] = {"conditions": [{"type": "Requeued", "status": status, "reason": "PodsReadyTimeout"}]}
        assert outcomes([*base, first, small])["Job/a/small"] is outcome
    assert outcomes([*base, first, small])["Job/a/first"] is AdmissionOutcome.UNKNOWN


def test_the_higher_priority_stands_before_the_older() -> None:
    found = who(queues(read([
        flavor("f"), local("a", "q"), queue("q", {"f": ("8",)}),
        workload("a", "old", 8, created=-900), workload("a", "young", 8, created=-10, priority=5),
    ])))  # fmt: skip
    assert (found["Job/a/young"].place, found["Job/a/young"].outcome) == (1, AdmissionOutcome.LET_IN)
    assert (found["Job/a/old"].place, found["Job/a/old"].outcome) == (2, AdmissionOutcome.QUOTA)


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [
        ({"stopPolicy": "Hold"}, AdmissionOutcome.STOPPED),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, AdmissionOutcome.REFUSED),
        ({"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}, AdmissionOutcome.UNKNOWN),
        ({"concurrentAdmissionPolicy": {}}, AdmissionOutcome.UNKNOWN),
    ],
)
def test_queues_that_let_nobody_in_and_those_that_are_not_known(
    spec: dict[str, Any], outcome: AdmissionOutcome
) -> None:
    space: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "a", "labels": {"team": "a"}},
    }
    objects = [space, flavor("f"), local("a", "q"), queue("q", {"f": ("8",)}, **spec), workload("a", "w", 1)]
    assert outcomes(objects) == {"Job/a/w": outcome}
    if outcome is AdmissionOutcome.REFUSED:  # without the namespace's labels nobody knows
        assert outcomes(objects[1:]) == {"Job/a/w": AdmissionOutcome.UNKNOWN}


def test_a_topology_is_not_known_and_neither_is_who_shares_its_cohort() -> None:
    objects = [
        flavor("t", topologyName="rack"), flavor("f"), local("a", "near"), local("b", "far"),
        queue("near", {"t": ("8",)}, cohort="c"), queue("far", {"f": ("8",)}, cohort="c"), queue("alone", {"f": ("8",)}), local("d", "alone"),
        workload("a", "w", 1), workload("b", "w", 1), workload("d", "w", 1),
    ]  # fmt: skip
    assert outcomes(objects) == {
        "Job/a/w": AdmissionOutcome.UNKNOWN,
        "Job/b/w": AdmissionOutcome.UNKNOWN,
        "Job/d/w": AdmissionOutcome.LET_IN,
    }


def test_checks_come_after_quota_and_are_not_known() -> None:
    checks: dict[str, Any] = {"admissionChecksStrategy": {"admissionChecks": [{"name": "capacity"}]}}
    found = who(
        queues(read([flavor("f"), local("a", "q"), queue("q", {"f": ("8",)}, **checks), workload("a", "w", 1)]))
    )
    assert (found["Job/a/w"].outcome, str(found["Job/a/w"].why)) == (
        AdmissionOutcome.CHECK,
        "quota of f; then checked: capacity",
    )


def test_the_older_api_says_the_same() -> None:
    def older(one: dict[str, object]) -> dict[str, object]:
        if one["apiVersion"] != API:
            return one
        spec = dict(one["spec"])  # type: ignore[call-overload]
        if "cohortName" in spec:
            spec["cohort"] = spec.pop("cohortName")
        return {**one, "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": spec}

    assert outcomes([older(one) for one in teams()]) == outcomes(teams())


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue", "ResourceFlavor", "Workload"])
def test_without_one_of_the_lists_nothing_is_known(kind: str) -> None:
    from planner.inventory.snapshot_parser import Part, build_snapshot

    objects = [one for one in teams() if one["kind"] != kind]
    part = Part(where="made", items=objects, listed=tuple(one for one in KINDS if one != kind))
    found = build_snapshot([part], source="teams")
    with pytest.raises(NotKnownError) as refused:
        QUESTION.answer(found, QueuesSettings(), NOTHING)
    assert f"{kind.lower()}s" in str(refused.value)


def waits_for_room(*more: dict[str, Any], ends: int | None = None, **queues_: Any) -> tuple[Any, str]:
    found = who(queues(read([
        flavor("f"), local("a", "q"), queue("q", {"f": ("8",)}, **queues_),
        workload("a", "running", 8, held=("q", "f"), created=-3660, ends=ends), workload("a", "w", 4, created=-60), *more,
    ])))["Job/a/w"]  # fmt: skip
    return found.latest_seconds, str(found.untold)


def test_when_by_the_limits_of_those_that_run() -> None:
    assert waits_for_room(ends=7200) == (pytest.approx(3600), "")
    limited = job("a", "running", 8, suspended=False)
    limited["spec"]["activeDeadlineSeconds"] = 5400
    assert waits_for_room(limited) == (pytest.approx(1800), "")
    assert waits_for_room(limited, ends=4800) == (pytest.approx(1200), "")  # whichever is first
    assert waits_for_room() == (None, "who holds quota there has no limit of time that frees enough")


def test_when_is_not_known_where_others_may_come_first() -> None:
    others = [local("b", "r"), queue("r", {"f": ("0",)}, cohort="c"), workload("b", "x", 8, created=-30)]
    assert waits_for_room(*others, ends=7200, cohort="c") == (None, "Job/b/x waits in the same cohort")
    found = who(queues(read([
        flavor("f"), local("a", "q"), queue("q", {"f": ("8",)}), workload("a", "running", 8, held=("q", "f"), created=-3660, ends=7200),
        workload("a", "first", 4, created=-60), workload("a", "w", 4, created=-50),
    ])))["Job/a/w"]  # fmt: skip
    assert (found.latest_seconds, str(found.untold)) == (None, "others are before it")


def test_an_end_that_it_may_not_borrow_is_no_end_for_it() -> None:
    """What another queue frees of its own is beyond the limit of borrowing."""
    objects = [
        flavor("f"), local("a", "q"), local("b", "r"), queue("q", {"f": ("4", "0")}, cohort="c"), queue("r", {"f": ("8",)}, cohort="c"),
        workload("a", "own", 4, held=("q", "f"), created=-3660), workload("b", "theirs", 8, held=("r", "f"), created=-3660, ends=7200),
        workload("a", "w", 4, created=-60),
    ]  # fmt: skip
    found = who(queues(read(objects)))["Job/a/w"]
    assert (found.outcome, found.latest_seconds) == (AdmissionOutcome.QUOTA, None)


def test_quota_is_not_a_place(snapshot: Snapshot) -> None:
    """Of those that are let in: whether their pods find nodes, each beside the others; who isn't let in isn't asked."""
    assert {name: one.finds_nodes for name, one in who(queues(snapshot)).items() if one.finds_nodes is not None} == {
        "Job/team-b/eval": True
    }
    space = [flavor("f"), local("a", "q"), queue("q", {"f": ("16",)})]
    assert who(queues(read([*space, node("n", 4), workload("a", "w", 8)])))["Job/a/w"].finds_nodes is False
    two = who(queues(read([*space, node("n", 8), workload("a", "w", 8), workload("a", "x", 8)])))
    assert {name: one.finds_nodes for name, one in two.items()} == {"Job/a/w": True, "Job/a/x": None}  # it would alone
    assert who(queues(read([*space, workload("a", "w", 8)])))["Job/a/w"].finds_nodes is None


def test_kueues_version_is_read_and_said() -> None:
    manager = pod("kueue-system", "manager", 0, "gpu-0")
    manager["spec"]["containers"][0]["image"] = "registry.k8s.io/kueue/kueue:v0.14.2"
    assert "though its controllers here are of 0.14" in queues(read([*teams(), manager])).assumed[0]
    assert "though" not in queues(read(teams())).assumed[0]


def test_cohorts_that_were_refused_are_not_none() -> None:
    from dataclasses import replace

    from planner.kubernetes.object_records import FrozenMap, Presence

    found = read(teams())
    hidden = replace(found, presence=FrozenMap({**found.presence, "Cohort": Presence.REFUSED}))
    with pytest.raises(NotKnownError, match="Cohorts"):
        QUESTION.answer(hidden, QueuesSettings(), NOTHING)


def test_what_if_says_who_is_let_in() -> None:
    [step] = apply(compiled(read(teams())), parse_changes(f"quota:team-a/a100/{GPU}=17")).steps
    assert "Job/team-a/next: quota → let in" in str(step.sentence)


def test_two_thousand_workloads_in_fifty_queues() -> None:
    """How long it takes is printed for who asks, and held to nothing; docs/queues.md has the figure."""
    made = read(list(many(50, 2_000)))
    began = process_time()
    found = queues(made)
    print(f"{process_time() - began:.3f} CPU seconds, {len(found.waiting)} wait")  # noqa: T201 for who asks
    assert len(found.waiting) == 1_000
    assert {one.outcome for one in found.waiting} <= {
        AdmissionOutcome.LET_IN,
        AdmissionOutcome.EVICTS,
        AdmissionOutcome.QUOTA,
        AdmissionOutcome.UNKNOWN,
    }
    assert len(found.queues) == 50


def test_every_field_of_an_answer_is_in_its_document(snapshot: Snapshot) -> None:
    rows = QUESTION.rows(queues(snapshot), "waiting")
    assert {one.name for one in fields(Waiting)} == set(rows[0])


def test_the_example_in_the_documents_is_this_cluster() -> None:
    import json
    from pathlib import Path

    example = Path(__file__).parents[2] / "docs/examples/teams.json"
    assert json.loads(example.read_text(encoding="utf-8"))["items"] == teams()
