"""A plan of the fewest pod moves, simulated stage by stage under several random tie-breaks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from planner.capacity.fewest_moves import Moves, fewest
from planner.capacity.movable_pods import Movable
from planner.capacity.move_stages import Replay, Stage, guided_stages, replay, uncontrolled_stages
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, replace
from planner.kubernetes.pod_properties import gang_of
from planner.scheduling.cluster import Cluster

Draws = Callable[[int], int]
"""In how many draws moves are played, by the work that one costs."""


class MovesPlan(Record):
    """The moves that were searched for, in stages, as they were played in several draws."""

    moves: Moves
    stages: tuple[Stage, ...]
    replays: tuple[Replay, ...]

    @property
    def held(self) -> int:
        """In how many of them it does what it says."""
        return sum(stage_replay.does(len(self.moves.hosts)) for stage_replay in self.replays)


def plan_moves(cluster: Cluster, asked: Sequence[int], movable: Movable, draws: Draws) -> MovesPlan:
    """The moves that start as many of the pods `asked` as can, played in `draws` of kube-scheduler's ties; pods that a budget holds
    back stay, and the search is made again.

    Raises
    ------
    TooLargeError
        When it costs more than a question may.
    """
    weights, wanted = dict(movable.weights), list(asked)
    plan = MovesPlan(
        moves=Moves(hosts={}, leaves={}, weight=0, at_least=0, hopeless=(), is_most=False), stages=(), replays=()
    )
    for _ in range(LIMITS.replanned):
        moves = fewest(cluster, wanted, weights)
        torn = _torn(cluster, wanted, moves)
        if torn:
            wanted = [number for number in wanted if number not in torn]
            continue
        plan = _played(cluster, wanted, moves, draws)
        held = {number for draw in plan.replays for number in draw.held}
        if not plan.held and moves.is_exact:
            plan = _second(cluster, wanted, weights, plan, draws)
        if plan.held or not held:
            break
        # Pods that a budget held back in some draw are taken as fixed, and the search begins again.
        weights = {number: weight for number, weight in weights.items() if number not in held}
    return plan if plan.replays else replace(plan, replays=(replay(cluster, (), wanted),))


def _second(
    cluster: Cluster, wanted: Sequence[int], weights: Mapping[int, float], plan: MovesPlan, draws: Draws
) -> MovesPlan:
    """Where the least that a solver finds can't be played, since those who wait take what was meant for others: what the search
    finds may be, or a plan for fewer of them. Which is the most that can be played isn't proven then."""
    best, requested_pods = plan, list(wanted)
    for is_exact in (False, *[True] * LIMITS.replanned):
        moves = fewest(cluster, requested_pods, weights, exact=is_exact)
        is_as_much = len(moves.hosts) == len(plan.moves.hosts)
        moves = replace(
            moves, is_most=is_as_much, at_least=max(plan.moves.at_least, moves.at_least) if is_as_much else 0.0
        )
        other = _played(cluster, wanted, moves, draws)
        if other.held and len(moves.hosts) > len(best.moves.hosts) * bool(best.held):
            best = other
        if best.held and is_exact:
            break
        last = min(
            moves.hosts, key=lambda pod: (cluster.priority_of(cluster.snapshot.pods[pod].spec), -pod), default=None
        )
        requested_pods = [number for number in requested_pods if number != last]
    return best


def _torn(cluster: Cluster, required_pods: Iterable[int], moves: Moves) -> set[int]:
    """Waiting pods of groups that only work together, of which not all would start."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number in required_pods:
        if gang := gang_of(cluster.snapshot.pods[number]):
            groups[gang].append(number)
    return {n for group in groups.values() if 0 < sum(n in moves.hosts for n in group) < len(group) for n in group}


def _played(cluster: Cluster, wanted: Sequence[int], moves: Moves, draws: Draws) -> MovesPlan:
    """The stages that do what they say in most draws; those that leave the landing to kube-scheduler first."""
    best = MovesPlan(moves=moves, stages=(), replays=(replay(cluster, (), wanted),))
    if not moves.leaves:
        return best
    for stages in _ways(cluster, moves):
        first = replay(cluster, stages, wanted)
        # does what it says: as many start as were searched for, and no other pod fares worse; only then is it worth more draws
        if first.does(len(moves.hosts)):
            others = [replay(cluster, stages, wanted, draw=draw) for draw in range(1, draws(first.work))]
            plan = MovesPlan(moves=moves, stages=stages, replays=(first, *others))
            best = max(best, plan, key=lambda candidate: candidate.held)
            if best.held == len(best.replays):
                break
        elif first.held and not best.held:  # a budget held pods back: `plan_moves` searches again without these
            best = MovesPlan(moves=moves, stages=stages, replays=(first,))
    return best


def _ways(cluster: Cluster, moves: Moves) -> Iterator[tuple[Stage, ...]]:
    if stages := uncontrolled_stages(cluster, moves):
        yield stages
    if len(moves.leaves) <= LIMITS.led:
        for order in range(LIMITS.led_orders):
            yield guided_stages(cluster, moves, order)
