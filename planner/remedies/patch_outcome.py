"""Simulates the rollout of a suggested patch, for packages that don't import `rollout`: memory, restarts and drift."""

from __future__ import annotations

import json

from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.inventory.change import WorkloadChange
from planner.inventory.patch_and_undo import as_its_kind_takes
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.strategic_merge_patch import Object, as_yaml
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import GROWING_REASONS, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario


class Patched(Record):
    """A patch of one workload, and what rolling it out does.

    `rollout` is None where nothing rolls it out (a bare pod, a Job) or the engine can't answer; `note` says so, `error`
    is what the engine refused it with. `command` applies it, "" where nothing rolls it out.
    """

    patch_yaml: str
    command: str = ""
    rollout: RolloutResult | None = None
    note: str = ""
    error: HeadroomError | None = None


def simulate_patch(snapshot: Snapshot, key: str, patch: Object) -> Patched:
    """`patch` applied to the workload called `key`, with the placements that the Rollout page tries."""
    written = as_yaml(patch)
    workload = snapshot.workload(key)
    if workload is None:
        note = "No workload of this snapshot makes this pod anew: change what made it."
        return Patched(patch_yaml=written, note=note)
    if not workload.traits.rolls_out:
        note = f"A {workload.kind} isn't rolled out: its next pods take the new values."
        return Patched(patch_yaml=written, note=note)
    taken = as_its_kind_takes(workload, patch)
    if taken is None:
        note = f"A patch of a {workload.kind} replaces its list of containers, of which the snapshot doesn't keep all: write it into its manifest."
        return Patched(patch_yaml=written, note=note)
    patch, command = taken, shell_commands.patch(workload.key, taken)
    change = WorkloadChange(workload=workload.key, patch=json.dumps(patch))
    try:
        rollout_result = rollout_with_remedies.rollout(snapshot, Scenario(changes=(change,), with_remedies=False))
    except HeadroomError as error:
        note = f"The rollout can't be worked out: {error.what}."
        return Patched(patch_yaml=written, command=command, note=note, error=error)
    return Patched(patch_yaml=written, command=command, rollout=rollout_result)


def refusal(snapshot: Snapshot, patch: str, *, key: str) -> str:
    """Why no node takes the pods of the workload called `key` with `patch` (YAML), on the nodes that `snapshot` has, in kube-scheduler's
    words; "" where nodes do, where something else than a node is missing, and where nothing rolls the workload out."""
    workload = snapshot.workload(key)
    if workload is None or not workload.traits.rolls_out:
        return ""
    change = WorkloadChange(workload=key, patch=patch)
    try:
        outcome = rollout_with_remedies.rollout(snapshot, Scenario(changes=(change,), runs=0, with_remedies=False))
    except HeadroomError:  # what the engine can't answer it doesn't refuse
        return ""
    if outcome.verdict is not Verdict.STUCK or outcome.reason not in GROWING_REASONS:
        return ""
    message, _, _ = str(outcome.workloads[0].scheduler_message).partition(". ")  # without what it says of preemption
    return message or str(outcome.headline)
