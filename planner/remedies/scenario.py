"""A cluster with levers pulled, and the rollouts played in it: whether they do what they say whatever chance decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from planner.ground.words import count, plural
from planner.remedies import limits
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.ties import holds_in_every_placement
from planner.scheduling.cluster import Cluster


def other_draws(cluster: Cluster, revisions: Sequence[Revision], *, seed: int = 0) -> Iterator[Run]:
    """The same rollouts in `limits.DRAWS` less one further draws: who of equals is placed, ends or comes first."""
    for draw in range(1, limits.DRAWS.most):
        yield simulate(cluster, revisions, seed=seed + draw, draws_order=True, draws_ends=True)


def ends_on_the_way(pods: int) -> str:
    """``1 pod of others ends on the way``."""
    return f"{count(pods, 'pod')} of others {plural(pods, 'ends', 'end')} on the way"


def preempted_of_others(run: Run, keys: Collection[str]) -> int:
    """Pods of others than the workloads `keys` that are preempted on the way: they end for it, too."""
    own = {owner for key in keys for owner in run.owners[key]}
    return len({pod.uid for pod in run.preempted if pod.owner not in own})


def holds_under_chance(
    cluster: Cluster, revisions: Sequence[Revision], run: Run, does: Callable[[Run], bool], *, seed: int = 0
) -> bool:
    """Whether `run`, which does what is asked, does so in every placement (proven), or in all draws that are tried. The one rule for
    ways out, the certificate and sequences: none is offered that one draw refutes."""
    return holds_in_every_placement(run.whole(), revisions) or all(
        map(does, other_draws(cluster, revisions, seed=seed))
    )
