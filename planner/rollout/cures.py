"""What lets a rollout finish that is stuck behind nodes that don't answer: each cure is played before it is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.ground.records import replace
from planner.ground.words import Text, count, listing, plural
from planner.kubernetes import commands
from planner.rollout.answers import RolloutCure
from planner.rollout.limits import LIMITS
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.silent_nodes import answering
from planner.rollout.verdict import Impasse
from planner.scheduling.cluster import Cluster
from planner.scheduling.happening import Happening


def cures(run: Run, revision: Revision) -> tuple[RolloutCure, ...]:
    """Those that were played and complete; none of a rollout that isn't stuck, or where every node answers."""
    if run.done[revision.after.key] or run.is_cut or not run.simulation.pods.silent:
        return ()
    return tuple(_played(run, revision))


def _played(run: Run, revision: Revision) -> Iterator[RolloutCure]:
    simulation, cluster = run.simulation, run.simulation.cluster
    hanging = [pod for pod in run.pods[revision.after.key] if simulation.pods.hangs(pod)]
    places = sorted({pod.node for pod in hanging} or simulation.pods.silent)
    nodes = [cluster.node_names[place] for place in places]
    if len(nodes) <= LIMITS.nodes_of_a_cure and _completes(
        run, revision, answering(cluster, nodes), answers=tuple(nodes)
    ):
        said = f"once {plural(len(nodes), 'node')} {listing(nodes)} {plural(len(nodes), 'answers', 'answer')} again"
        yield RolloutCure(sentence=Text(said), events=tuple(f"answers:{name}" for name in nodes))
    names = sorted(f"{pod.namespace}/{pod.name}" for pod in hanging)
    if 0 < len(names) <= LIMITS.pods_of_a_cure and _completes(run, revision, cluster, deletes=tuple(names)):
        which = f"pod {names[0]} is" if len(names) == 1 else f"{count(len(names), 'pod')} there are"
        yield RolloutCure(
            sentence=Text(
                f"once {which} deleted by force, if {listing(nodes)} {plural(len(nodes), 'is', 'are')} surely down"
            ),
            events=tuple(f"force-delete:{name}" for name in names),
            command=_by_force(revision.after.namespace, [pod.name for pod in hanging]),
        )


def _by_force(namespace: str, names: Sequence[str]) -> str:
    return commands.command("kubectl", "delete", "pod", *sorted(names), "-n", namespace, "--force", "--grace-period=0")


def _completes(
    run: Run, revision: Revision, cluster: Cluster, *, answers: tuple[str, ...] = (), deletes: tuple[str, ...] = ()
) -> bool:
    """Whether the rollout finishes when that happens once nothing else moves."""
    event = Happening(after_seconds=WHEN_AT_REST, words="", answers=answers, deletes=deletes)
    then = simulate(cluster.expecting((*cluster.later, event)), run.revisions)
    return then.done[revision.after.key] and not then.is_cut


def with_cures(why: Impasse, found: Sequence[RolloutCure]) -> Impasse:
    """The reason with what would end it, which names objects of this workload alone."""
    if not found:
        return why
    said = f"{why.sentence}. It completes {', or '.join(str(cure.sentence) for cure in found)}"
    return replace(why, sentence=Text(said), names_objects=True, of=None)
