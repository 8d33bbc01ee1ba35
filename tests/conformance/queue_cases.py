"""What Kueue did (`queues/`, README there): who got quota after a hold was lifted or quota was moved, whether a new object was let in,
and whether a rollout completed. An answer *not known* is neither right nor wrong, and counted apart (`known`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.capacity.kueue_queues import with_changes
from planner.capacity.what_if_syntax import parse_changes
from planner.ground.exit_status import ExitStatus
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateSettings
from planner.rollout.kueue_admission import admitted_revisions
from planner.rollout.kueue_evictions import after_evictions, evictions
from planner.rollout.prepared_change import Scenario, prepare
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from planner.scheduling.kueue.kueue_verdicts import name_of, verdicts_of
from tests.capacity.teams import KINDS
from tests.conformance.applied_cases import answer_to_patch
from tests.conformance.comparison import Comparison, each_case

UNKNOWN = "not known"
_LISTED = (*KINDS, "RayCluster", "RayJob", "JobSet", "LeaderWorkerSet", "ControllerRevision")
_SAYS = {ExitStatus.ANSWERED: "let in", ExitStatus.EVICTIONS_BY_QUEUE: "let in", ExitStatus.NOT_KNOWN: UNKNOWN}


def compare(folder: Path) -> Iterator[Comparison]:
    """The answer to every recorded act, and whether it is known; of snapshots at rest that nobody who waits is "let in"."""
    return each_case(folder, _compare_case)


def _compare_case(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    snapshot = build_snapshot([Part(items=case["cluster"]["items"], listed=_LISTED)], source="recording")
    family, act = str(case["family"]), case["act"]
    expected, got = _answers(snapshot, case)
    known = [each for each in got.values() if each != UNKNOWN]
    agrees = all(each in (expected[key], UNKNOWN) for key, each in got.items())
    # Queues released one after another: whom Kueue's first cycles saw is in no snapshot (README, "order").
    is_ordered = "release" in act and len(set(_queues(case))) > 1
    yield Comparison(name, family, "in order" if is_ordered else "verdict", expected, got, agrees, not is_ordered)
    yield Comparison(name, family, "known", len(got), len(known), len(got) == len(known))
    if "patch" not in act and not is_ordered and (victims := _victims(snapshot, case)) != ({}, {}):
        yield Comparison(name, family, "evicted", *victims, victims[0] == victims[1])
    if "release" not in act:
        let_in = sorted(key for key, one in verdicts_of(snapshot).items() if one.outcome is AdmissionOutcome.LET_IN)
        yield Comparison(name, family, "at rest", [], let_in, not let_in, is_verdict=True)


def _victims(snapshot: Snapshot, case: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Whom Kueue evicted for others, and whether they got quota again: as recorded, and as Headroom says it."""
    act, outcome = case["act"], case["outcome"]
    if "create" in act:
        prepared = prepare(snapshot, Scenario(manifest=_listed(act["create"])))
        evicts = [
            one for revision in admitted_revisions(prepared.snapshot, prepared.revisions) for one in revision.evicts
        ]
    else:
        then = with_changes(snapshot, parse_changes(f"quota:{act['quota']}")) if "quota" in act else snapshot
        evicts = list(evictions(then, after_evictions(then, verdicts_of(then).values()), verdicts_of(then).values()))
    keys = {name_of(one): one.key for one in snapshot.queued_workloads}
    said = {"is let in ": "quota", "is deleted": "gone", "waits agai": "waits"}
    got = {keys[one.workload]: said.get(str(one.becomes)[:10], UNKNOWN) for one in evicts}
    evicted = [step[1] for step in outcome["trail"] if step[0] == "evicted" and step[2] == "Preempted"]
    left = outcome["workloads"]
    return {one: "gone" if one not in left else "quota" if left[one]["reserved"] else "waits" for one in evicted}, got


def _queues(case: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of each Workload that had no quota before: its namespace and LocalQueue."""
    for key, one in case["outcome"]["workloads"].items():
        if key in case["outcome"]["before"] and not case["outcome"]["before"][key]["reserved"]:
            yield key.partition("/")[0], one["queue"]


def _answers(snapshot: Snapshot, case: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """What was recorded, and what Headroom says."""
    act, outcome = case["act"], case["outcome"]
    if "create" in act:
        status = gate.answer(snapshot, GateSettings(manifest=_listed(act["create"]))).exit_status
        return {"created": _became_of_new(outcome)}, {"created": _SAYS.get(ExitStatus(status), "waits")}
    if "patch" in act:
        done = "refused" if outcome.get("refused") else "complete" if outcome["done"] else "stuck"
        return {"patched": done}, {"patched": answer_to_patch(snapshot, case["cluster"]["items"], act["patch"])}
    quota = act.get("quota")
    then = with_changes(snapshot, parse_changes(f"quota:{quota}")) if quota else snapshot
    got, expected = {}, {}
    for key, verdict in verdicts_of(then).items():
        is_unknown = verdict.outcome in (AdmissionOutcome.UNKNOWN, AdmissionOutcome.CHECK)
        is_in = verdict.outcome in (AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS)
        got[key] = UNKNOWN if is_unknown else "quota" if is_in else "waits"
        expected[key] = "quota" if outcome["workloads"][key]["reserved"] else "waits"
    return expected, got


def _listed(objects: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def _became_of_new(outcome: Mapping[str, Any]) -> str:
    """Whether all Workloads that came got quota, were admitted, and all their pods a node."""
    new = {key: one for key, one in outcome["workloads"].items() if key not in outcome["before"]}
    owners = {owner for one in new.values() for owner in one["owners"]}
    pods = [one for key, one in outcome["pods"].items() if f"Pod/{key}" in owners or _owner(key, one) in owners]
    is_in = bool(new) and all(one["admitted"] for one in new.values()) and all(pod["node"] for pod in pods)
    return "let in" if is_in else "waits"


def _owner(key: str, pod: Mapping[str, Any]) -> str:
    kind, _, name = str(pod["owner"]).partition("/")
    return f"{kind}/{key.partition('/')[0]}/{name}"
