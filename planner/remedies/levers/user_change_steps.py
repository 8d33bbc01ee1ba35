"""The commands for a user's change with levers: scale, patch, apply, wait for the rollout, and steps after it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.patch_and_undo import MANIFEST, applied, taken_back
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import Workload
from planner.kubernetes.strategic_merge_patch import Object
from planner.remedies.levers.lever_position import LeverPosition
from planner.rollout.answers import RolloutResult, Step
from planner.rollout.run import Revision, Run

PATIENCE: Final = 2  # how much longer than estimated kubectl waits: times are estimates
SCALE_SECONDS: Final = 600


def change(revision: Revision, run: Run, seconds: float, patch: Object | None = None) -> Step:
    """The user's change (`revision`), and the wait for its rollout, which takes about `seconds`.

    Strategy and replicas are the user's own, unless the way out sets others itself: then `run` played these. `patch`: of the template, that
    comes with the change (`comes_with_change`), unless only the user's file says what that is.
    """
    workload, key = revision.after, revision.after.key
    played = next(played.after for played in run.revisions if played.after.key == key)
    before, placed, patience = revision.before, revision.placed, PATIENCE * seconds
    plugin = shell_commands.with_plugin("promote", key)
    promoted = f"; then promote it ({plugin} does the same)" if run.promotions.get(key) else ""
    if placed is not None:
        patient = shell_commands.wait_for(placed.resource, key, placed.waits, patience) if placed.resource else ()
    else:
        traits = workload.traits
        pods = run.status[key].get(traits.status.wanted, 0) if traits.is_per_node else workload.replicas
        waits = shell_commands.wait(key, patience, pods=pods, strategy=played.strategy.kind)
        patient = (*_promotions(workload, run.promotions.get(key, 0), patience), waits)
    if before is not None and not _has_assumed_template(revision):
        strategy = workload.strategy if played.strategy == workload.strategy else before.strategy
        replicas = workload.replicas if played.replicas == workload.replicas else before.replicas
        after = replace(workload, strategy=strategy, replicas=replicas)
        if patch is not None:
            after = apply_change(after, WorkloadChange(workload=key, patch=json.dumps(patch)))[0]
        own = applied(before, after)
        if own is not None and own.is_whole:
            return Step(what=f"Apply the change{promoted}", commands=(own.command, *patient), undo=(own.undo,))
    is_named = placed is None or bool(placed.resource)
    # a placed object (a Job, a RayCluster) that exists has no `rollout undo`, and deleting it would take all of its pods
    undo = shell_commands.undo(key) if before is not None else ""
    if is_named and not undo:
        undo = shell_commands.kubectl("delete", key, resource=placed.resource if placed else "")
    return Step(
        what=f"Apply your change, unless it is applied already; its manifest must not set back what is set above{promoted}",
        commands=(shell_commands.command("kubectl", "apply" if is_named else "create", "-f", MANIFEST), *patient),
        is_change=True, undo=(undo,) if is_named and not (placed and placed.rules) else (),
    )  # fmt: skip


def _has_assumed_template(revision: Revision) -> bool:
    """Whether a new template is played that isn't told: then only the user's file has it, whatever else the change asks."""
    before, after = revision.before, revision.after
    return before is not None and revision.has_new_template and (
        (before.template, before.worker_template) == (after.template, after.worker_template)
    )  # fmt: skip


def _promotions(workload: Workload, times: int, seconds: float) -> Iterator[str]:
    """Each pause that waits for a user, waited for and ended: without that it never gets Healthy."""
    steps = workload.strategy.canary.steps if workload.strategy.canary is not None else ()
    pauses = [place for place, step in enumerate(steps) if step.is_pause and step.pause_seconds is None]
    places = pauses[-times:] if times and len(pauses) >= times else [None] * times
    for place in places:
        yield from shell_commands.wait_paused(workload.key, seconds, place)
        yield shell_commands.promote_plainly(workload.key)


# ── in order ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def before_change(revision: Revision, way: LeverPosition) -> Iterator[Step]:
    """What a position of its own knob does to a workload before its change."""
    before = revision.before
    if way.first is not None:
        yield way.first
    if way.replicas is not None and before is not None:
        yield scale(before, way.replicas)
    if way.patch is not None and not _is_late(revision, way):
        yield patched(before, way.title, way.patch)


def cure_of(revision: Revision, way: LeverPosition) -> Step | None:
    """The step after the change without which its rollout can't end."""
    if comes_with_change(revision, way):
        return None
    return patched(revision.before, way.title, way.patch) if way.patch and _is_late(revision, way) else way.then


def _is_late(revision: Revision, way: LeverPosition) -> bool:
    """Whether its patch goes after the change: one of the template first would start a rollout of the old version."""
    return way.template is not None and revision.before is not None


def comes_with_change(revision: Revision, way: LeverPosition) -> bool:
    """Whether its template and the change have to be one patch: a StatefulSet's controller waits for the pod of the stuck revision before it
    makes one of the next (`pkg/controller/statefulset/stateful_set_control.go` `processReplica`; kubernetes#67250)."""
    return _is_late(revision, way) and revision.after.traits.has_ordinals


def after_change(revision: Revision, way: LeverPosition) -> Iterator[Step]:
    """What takes it back once the change is through."""
    if way.replicas is not None:
        yield scale_back(revision.after)
    yield from way.last


def with_cure(revision: Revision, way: LeverPosition, run: Run, seconds: float) -> Iterator[Step]:
    """The change; with what has to be done after it and before it can end, its wait comes after that. What comes with it is in its patch,
    or is written into the user's file first."""
    cure, patch = cure_of(revision, way), way.patch if comes_with_change(revision, way) else None
    change_step = change(revision, run, seconds, patch)
    if cure is None:
        if patch is not None and change_step.is_change:
            yield patched(None, way.title, patch)
        yield change_step
    else:
        yield replace(change_step, commands=change_step.commands[:1])
        yield replace(cure, commands=(*cure.commands, *change_step.commands[1:]))


def at_once(steps: Sequence[Step]) -> Step:
    """Several changes, all applied before any is waited for."""
    first = tuple(step.commands[0] for step in steps)
    waits = tuple(command for step in steps for command in step.commands[1:])
    return replace(
        steps[0], what="Apply the changes", commands=(*dict.fromkeys(first), *waits),
        undo=tuple(undo for step in steps for undo in step.undo), is_change=any(step.is_change for step in steps),
    )  # fmt: skip


def as_shown(what: str, undo: str, *does: str) -> Step:
    """A change that needs no way out, or a plan's measure, as an answer shows it."""
    return Step(what=what, undo=(undo,), commands=does)


def steps_of(outcome: RolloutResult, way_out: int = 1) -> tuple[str, tuple[Step, ...]]:
    """The title and steps of the way out with that number, counted from 1; without one, those of the change itself."""
    if outcome.remedies:
        remedy = outcome.remedies[way_out - 1]
        return str(remedy.title), remedy.steps
    waits = {
        of.workload: [shell_commands.wait(of.workload, 2 * of.seconds, pods=of.replicas, strategy=of.strategy_kind)]
        for of in outcome.workloads
    }
    return "the change", tuple(
        as_shown(f"Change {one.workload}", one.undo, one.command, *waits.get(one.workload, ())) for one in outcome.apply
    )


def patched(before: Workload | None, title: str, patch: Object) -> Step:
    """A workload with other values: as a patch of one that is there, else in the user's own file."""
    if before is None:  # there is nothing to patch yet
        wanted = shell_commands.remark(f"write it into {MANIFEST}: {json.dumps(patch)}")
        return Step(what=title, commands=(wanted,))
    # Where only the user's change would set something else, nothing of today's is taken, and an empty patch gives nothing back.
    back = taken_back(before, patch)
    return Step(
        what=title, commands=(shell_commands.patch(before.key, patch),), undo=(shell_commands.patch(before.key, back),) if back else (),
        target=before.key, before=json.dumps(back), after=json.dumps(patch),
    )  # fmt: skip


def scale(workload: Workload, replicas: int) -> Step:
    """A workload scaled, and that waited for."""
    waits = shell_commands.wait(workload.key, SCALE_SECONDS, pods=replicas, strategy=workload.strategy.kind)
    return Step(
        what=f"Scale {workload.namespace}/{workload.name} to {replicas:,}", commands=(shell_commands.scale(workload.key, replicas), waits),
        undo=scale_back(workload).commands, is_lent=True, target=workload.key, before=str(workload.replicas), after=str(replicas),
    )  # fmt: skip


def scale_back(workload: Workload) -> Step:
    """A workload given its pods again; that they have room isn't waited for."""
    what = f"Scale {workload.namespace}/{workload.name} back to {workload.replicas:,}"
    return Step(what=what, commands=(shell_commands.scale(workload.key, workload.replicas),))
