"""The lever *order*: a change after others in flight, or changes one after another. It costs only time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from planner.ground.records import replace
from planner.ground.words import duration, listing, plural, short_name
from planner.kubernetes import shell_commands
from planner.remedies import limits
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.remedies.levers.user_change_steps import PATIENCE, SCALE_SECONDS
from planner.rollout.answers import Remedy, RemedyKind, Step
from planner.rollout.in_flight import is_midway
from planner.rollout.ownership import workloads_by_key
from planner.rollout.run import WHEN_AT_REST, Revision, Run
from planner.scheduling.cluster import Cluster


def ways_out(case: StuckRollout) -> Iterator[Remedy]:
    """Others that are in flight give room back when they have rolled out: the change after them, as it is."""
    flying = [flight.key for flight in case.run.others if flight.is_rolling]
    # A change of a workload in flight replaces that very rollout: there is nothing to wait for.
    if not flying or case.cluster.later or is_midway(case.cluster, [case.workload.key]):
        return
    run = case.played([replace(revision, after_seconds=WHEN_AT_REST) for revision in case.revisions])
    if run is None:
        return
    waited = run.waited[case.workload.key]
    names = listing([short_name(key) for key in flying])
    what = f"Wait until {names} {plural(len(flying), 'has', 'have')} rolled out"
    rolling = f"{plural(len(flying), 'it is', 'they are')} rolling out now, for about {duration(waited)} more"
    yield case.remedy(
        LeverPosition(kind=RemedyKind.WAIT, title=f"Wait for {names}"),
        f"{rolling}; then {case.at_worst(run)}, and nothing has to be changed",
        run, first=(wait(case.cluster, flying, max(waited, SCALE_SECONDS), what),),
    )  # fmt: skip


def orders(cluster: Cluster, revisions: Sequence[Revision], run: Run, cut: list[str]) -> Iterator[tuple[int, ...] | None]:  # fmt: skip
    """Of each the places of the changes, one after another; () is as asked, None after all that are in flight."""
    yield ()
    number = len(revisions)
    if cluster.later or any(r.after_seconds for r in revisions):
        return
    if 1 < number <= limits.ORDERED.most:
        yield from permutations(range(number))
    elif number > 1:
        cut.append(limits.ORDERED.reached(number=number))
    if any(flight.is_rolling for flight in run.others) and not is_midway(cluster, [r.after.key for r in revisions]):
        yield None


def wait(cluster: Cluster, flying: Sequence[str], seconds: float, what: str) -> Step:
    """A command for each that is rolling out, which waits until it has; it may take twice the `seconds` that are estimated."""
    workloads, most = workloads_by_key(cluster), limits.AWAITED.most
    known = [workloads[key] for key in flying[:most] if key in workloads]
    waits = [shell_commands.wait(w.key, PATIENCE * seconds, pods=w.replicas, strategy=w.strategy.kind) for w in known]
    if len(flying) > most:
        waits.append(shell_commands.remark(limits.AWAITED.reached(number=len(flying) - most)))
    return Step(what=what, commands=tuple(waits))
