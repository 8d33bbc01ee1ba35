"""Fixes for a rollout that is stuck behind unreachable nodes: each is simulated before it is offered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.ground.records import Record, replace
from planner.ground.words import Text, count, listing, plural
from planner.kubernetes import shell_commands
from planner.rollout.answers import RolloutCure
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.silent_nodes import answering
from planner.rollout.simulation_limits import LIMITS
from planner.rollout.stuck_diagnosis import Impasse
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening


class SilentNodeCure(Record):
    """What ends the wait for nodes that don't answer: they answer again (`answers`), or pods there are deleted by force."""

    sentence: Text
    nodes: tuple[str, ...]
    answers: tuple[str, ...] = ()
    pods: tuple[LivePod, ...] = ()

    @property
    def events(self) -> tuple[str, ...]:
        """As ``--then`` takes them."""
        deleted = (f"force-delete:{pod.namespace}/{pod.name}" for pod in self.pods)
        return (*(f"answers:{name}" for name in self.answers), *deleted)

    @property
    def happening(self) -> Happening:
        """Once nothing else moves."""
        deletes = tuple(f"{pod.namespace}/{pod.name}" for pod in self.pods)
        return Happening(after_seconds=WHEN_AT_REST, words="", answers=self.answers, deletes=deletes)

    @property
    def command(self) -> str:
        names = [pod.name for pod in self.pods]
        if not names:
            return ""
        namespace = self.pods[0].namespace
        return shell_commands.command(
            "kubectl", "delete", "pod", *names, "-n", namespace, "--force", "--grace-period=0"
        )


def cures(run: Run, revision: Revision) -> tuple[RolloutCure, ...]:
    """Those that were played and complete."""
    cluster = run.simulation.cluster
    return tuple(
        RolloutCure(sentence=node_cure.sentence, events=node_cure.events, command=node_cure.command)
        for node_cure in silent_node_cures(run, revision)
        if _completes(run, revision, answering(cluster, node_cure.answers) if node_cure.answers else cluster, node_cure)
    )


def silent_node_cures(run: Run, revision: Revision) -> Iterator[SilentNodeCure]:
    """What could end the wait of a stuck rollout for nodes that don't answer; nothing of one that isn't stuck, or where every node answers."""
    simulation, cluster = run.simulation, run.simulation.cluster
    if run.done[revision.after.key] or run.is_cut or not simulation.pods.silent:
        return
    hanging = [pod for pod in run.pods[revision.after.key] if simulation.pods.hangs(pod)]
    places = sorted({pod.node for pod in hanging} or simulation.pods.silent)
    nodes = tuple(cluster.node_names[place] for place in places)
    if len(nodes) <= LIMITS.nodes_of_a_cure:
        sentence = f"once {plural(len(nodes), 'node')} {listing(nodes)} {plural(len(nodes), 'answers', 'answer')} again"
        yield SilentNodeCure(sentence=Text(sentence), nodes=nodes, answers=nodes)
    if 0 < len(hanging) <= LIMITS.pods_of_a_cure:
        pods = tuple(sorted(hanging, key=lambda pod: pod.name))
        which = (
            f"pod {pods[0].namespace}/{pods[0].name} is" if len(pods) == 1 else f"{count(len(pods), 'pod')} there are"
        )
        down = f"{listing(nodes)} {plural(len(nodes), 'is', 'are')} surely down"
        yield SilentNodeCure(sentence=Text(f"once {which} deleted by force, if {down}"), nodes=nodes, pods=pods)


def _completes(run: Run, revision: Revision, cluster: Cluster, silence: SilentNodeCure) -> bool:
    """Whether the rollout finishes when that happens once nothing else moves."""
    then = simulate(cluster.expecting((*cluster.later, silence.happening)), run.revisions)
    return then.done[revision.after.key] and not then.is_cut


def with_cures(why: Impasse, rollout_cures: Sequence[RolloutCure]) -> Impasse:
    """The reason with what would end it, which names objects of this workload alone."""
    if not rollout_cures:
        return why
    sentence = f"{why.sentence}. It completes {', or '.join(str(cure.sentence) for cure in rollout_cures)}"
    return replace(why, sentence=Text(sentence), names_objects=True, of=None)
