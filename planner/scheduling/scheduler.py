"""kube-scheduler: one pod at a time; filters, scores, breaks ties by seed, preempts if nothing fits.

Source: kubernetes `pkg/scheduler/schedule_one.go`, `framework/preemption/preemption.go`,
`framework/plugins/defaultpreemption/default_preemption.go`, `framework/types.go` (`FitError.Error`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record, replace
from planner.kubernetes.disruption_budgets import spares
from planner.kubernetes.object_records import LabelSelector
from planner.scheduling.cluster import PODS_ROW, BoolArray
from planner.scheduling.filters import (
    Fails,
    could_preempt,
    distinct,
    fails,
    fails_on,
    feasible_nodes,
    is_judged_alone,
    reasons_for,
    refusing,
    scores_on,
)
from planner.scheduling.node_score_classes import ranking
from planner.scheduling.pod import NOWHERE, LivePod, Words
from planner.scheduling.preemption_dry_runs import dry_runs
from planner.scheduling.scores import total_scores
from planner.scheduling.shape import Shape, Static
from planner.scheduling.state import State

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"


class Budget(Record, eq=False):
    """A PodDisruptionBudget at one moment."""

    namespace: str
    selector: LabelSelector | None
    allowed: int


class Attempt(Record):
    """What one attempt came to: a node, or victims to delete on `nominated`, or a message only."""

    node: int = NOWHERE
    nominated: int = NOWHERE
    victims: tuple[LivePod, ...] = ()
    words: str | Words = ""
    refused_by: frozenset[int] = frozenset()  # filters that refused the pod somewhere
    deallocates: bool = False  # a claim allocated where the pod can't go is given up
    is_error: bool = False  # no refusal but an error: tried again and again
    gives_up: bool = False  # preemption was tried and helps nowhere: a nomination is cleared
    counts_for_alike: bool = False  # what is `alike` is refused too

    @property
    def message(self) -> str:
        return str(self.words)


class _NodeRefusals(Record, kw_only=False, eq=False):
    """`codes`: uint8[node] of `Fails`; `reasons` counted; `resolvable`: bool[node], where removing pods could help."""

    codes: NDArray[np.uint8]
    reasons: Counter[str]
    resolvable: BoolArray


def _rank(victims: list[LivePod]) -> tuple[float, ...]:
    """Top priority, sum of priorities, number, and the earliest start among the most important; the least is best."""
    top = victims[0].priority
    earliest = min(p.started_at for p in victims if p.priority == top)
    return top, sum(p.priority + 2**31 for p in victims), len(victims), -earliest


def histogram(node_count: int, reasons: Counter[str]) -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, 2 node(s) …``, sorted as `FitError.Error` sorts."""
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{node_count} nodes are available:" + (f" {listed}." if listed else "")


class Nominations:
    """Waiting pods with a nominated node, in the order in which they were nominated, and by that node: with thousands of them, a pod
    asks for the few nodes that it may run on."""

    def __init__(self, pods: Iterable[LivePod] = ()) -> None:
        self._pods: dict[LivePod, int] = {}
        self._on: dict[int, dict[LivePod, None]] = {}
        self.anti_affine = 0  # of them, those with anti-affinity
        for pod in pods:
            self.put(pod)

    def __iter__(self) -> Iterator[LivePod]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def put(self, pod: LivePod) -> None:
        """`pod` is nominated to its `LivePod.nominated`."""
        if pod in self._pods:
            self._leave(pod)
        self._pods[pod] = pod.nominated
        self._on.setdefault(pod.nominated, {})[pod] = None
        self.anti_affine += bool(pod.shape.anti_affinity)

    def take(self, pod: LivePod) -> None:
        """`pod` is nominated no more."""
        if pod in self._pods:
            self._leave(pod)
            del self._pods[pod]

    def _leave(self, pod: LivePod) -> None:
        here = self._on[self._pods[pod]]
        del here[pod]
        if not here:
            del self._on[self._pods[pod]]
        self.anti_affine -= bool(pod.shape.anti_affinity)

    def on(self, node: int) -> Iterable[LivePod]:
        return self._on.get(node, ())

    def on_any(self, nodes: NDArray[np.intp]) -> list[int]:
        """Those of `nodes`, ascending, that have some."""
        pod_nodes, last = np.fromiter(self._on, dtype=np.intp, count=len(self._on)), len(nodes) - 1
        node_list: list[int] = pod_nodes[nodes[np.minimum(nodes.searchsorted(pod_nodes), last)] == pod_nodes].tolist()
        return node_list

    def among(self, shape: Shape) -> Iterator[int]:
        """The nodes with nominated pods that the static filters leave to a shape: on others nothing that comes changes the refusal."""
        passes = shape.static == Static.PASSES
        if len(self._on) > 8 * np.count_nonzero(passes):
            return (node for node in np.flatnonzero(passes).tolist() if node in self._on)
        return (node for node in self._on if passes[node])


class Scheduler:
    """Places pods into a state.

    Parameters
    ----------
    pods_below : Callable[[int, int], list[LivePod]]
        The pods bound to a node whose priority is lower than so much, terminating ones included, as they came; asked only
        when preemption is tried.
    budgets : Callable[[str], list[Budget]]
        A namespace's disruption budgets, which are the snapshot's, as they stand; asked only for pods that preemption
        might remove.
    is_thorough : bool
        Every refusal is judged by all filters on every node and put into words at once: for tests, which hold the short
        way against it.
    """

    def __init__(
        self,
        state: State,
        seed: int,
        pods_below: Callable[[int, int], list[LivePod]],
        budgets: Callable[[str], list[Budget]],
        *,
        is_thorough: bool = False,
    ) -> None:
        self.state = state
        self.random = Random(seed)
        self.pods_below = pods_below
        self.budgets = budgets
        self.nominations = Nominations()
        self.is_thorough = is_thorough
        self.attempts = 0
        self._past: State | None = None  # of the refusal last put into words
        self._awaiting: dict[LivePod, tuple[object, Attempt]] = {}  # of whom victims end: as of what, and how
        self.choices = 0  # times chance decided between equals

    # ── one attempt ─────────────────────────────────────────────────────────────────────────────────────────────────
    def attempt(self, pod: LivePod) -> Attempt:
        """Try to place `pod`; the state isn't changed."""
        self.attempts += 1
        shape = pod.shape
        if shape.blocked:
            return Attempt(words=self._blocked(pod))
        # The ranking that is kept counts what is on the nodes; pods nominated to one hold room there too
        # (`RunFilterPluginsWithNominatedPods`).
        ranked = None if self.is_thorough or self.nominations else ranking(self.state, shape)
        if ranked is not None and ranked.count:
            equals = ranked.best()
            return Attempt(node=equals[self._choose(len(equals))] if ranked.count > 1 else equals[0])
        nodes = self._feasible(pod)
        if shape.uses_devices and self.state.devices.error:
            return Attempt(
                words=f'running "DynamicResources" filter plugin: {self.state.devices.error}',
                refused_by=frozenset((Fails.DEVICE_ERROR,)),
                is_error=True,
            )
        # Where its victims made room it goes, even if another node scores higher by now (`evaluateNominatedNode`).
        if pod.nominated != NOWHERE and pod.nominated in nodes:
            return Attempt(node=pod.nominated)
        if len(nodes) == 0:
            attempt = self._post_filter(pod)
            return replace(attempt, deallocates=True) if self._deallocates(pod) else attempt
        if len(nodes) == 1:
            return Attempt(node=int(nodes[0]))
        scores = total_scores(self.state, shape, scores_on(self.state, shape, nodes), nodes)
        (best,) = (scores == scores[scores.argmax()]).nonzero()
        return Attempt(node=nodes.item(best[self._choose(len(best))]))

    def bind(self, pod: LivePod, node: int) -> None:
        """Put a pod on a node."""
        pod.node = node
        if pod.nominated != NOWHERE:
            self.clear_nomination(pod)
        if pod.shape.uses_devices:
            pod.devices = self.state.devices.take(pod.shape.devices, node, pod.uid)
        if pod.shape.storage.late:
            self.state.volumes.bind(pod.shape.storage, node)
        self.state.add(pod.shape, node)

    def nominate(self, pod: LivePod, node: int) -> None:
        pod.nominated = node
        self.nominations.put(pod)

    def clear_nomination(self, pod: LivePod) -> None:
        pod.nominated = NOWHERE
        self.nominations.take(pod)

    # ── filters with nominated pods ─────────────────────────────────────────────────────────────────────────────────
    def _feasible(self, pod: LivePod) -> NDArray[np.intp]:
        """Nodes that pass every filter, ascending, with room left for nominated pods of equal or higher priority
        (`RunFilterPluginsWithNominatedPods`)."""
        nodes = feasible_nodes(self.state, pod.shape)
        if not (self.nominations and len(nodes)):
            return nodes
        crowded = {node: self._rivals_on(pod, node) for node in self.nominations.on_any(nodes)}
        full = [node for node, rivals in crowded.items() if rivals and not self._fits_beside(pod, node, rivals)]
        return nodes[~np.isin(nodes, full)] if full else nodes

    def _rivals_on(self, pod: LivePod, node: int) -> list[LivePod]:
        """Nominated pods of a node of equal or higher priority."""
        return [rival for rival in self.nominations.on(node) if rival is not pod and rival.priority >= pod.priority]

    def _rivals_by_node(self, pod: LivePod) -> dict[int, list[LivePod]]:
        """Nominated pods of equal or higher priority, by the node they are nominated to, as far as `pod` may go there."""
        rivals_by_node: dict[int, list[LivePod]] = {}
        for node in self.nominations.among(pod.shape) if self.nominations else ():
            if rivals := self._rivals_on(pod, node):
                rivals_by_node[node] = rivals
        return rivals_by_node

    def _fits_beside(self, pod: LivePod, node: int, rivals: list[LivePod]) -> bool:
        """Whether a node that the pod fits on has room for it beside `rivals`: by amounts, where they alone decide."""
        if not self.is_thorough and self.is_alone(pod.shape):
            free_amounts = self.state.free[:, node].tolist()
            for row, amount in (ask for rival in rivals for ask in (*rival.shape.asks, (PODS_ROW, 1))):
                free_amounts[row] -= amount
            return free_amounts[PODS_ROW] >= 1 and all(free_amounts[row] >= amount for row, amount in pod.shape.asks)
        with self._beside(rivals, node):
            return fails_on(self.state, pod.shape, node) == Fails.NOTHING

    @contextmanager
    def _beside(self, rivals: list[LivePod], node: int) -> Iterator[None]:
        """The state as if `rivals` were bound to `node` already."""
        with self.state.tried_out():
            for rival in rivals:
                self.state.add(rival.shape, node)
            yield
            for rival in rivals:
                self.state.remove(rival.shape, node, is_terminating=False)

    def _blocked(self, pod: LivePod) -> str:
        """The words where a plugin refuses the pod before any node is looked at (PreFilter)."""
        count = self.state.node_count
        message = f"0/{count} nodes are available: {pod.shape.blocked}."
        if pod.shape.storage.blocked:
            # DynamicResources comes later and hasn't looked at the pod: its PostFilter finds no state of its own, which
            # is an error, and preemption isn't tried.
            return f"{message} not found"
        preemption = f"preemption: {histogram(count, Counter({NOT_HELPFUL: count}))}"
        return f"{message} no new claims to deallocate, {preemption}"

    # ── when nothing fits ───────────────────────────────────────────────────────────────────────────────────────────
    def _with_post_filter(self, message: str, pod: LivePod, preemption: str) -> str:
        """DynamicResources' PostFilter speaks first, then DefaultPreemption's, if it failed."""
        devices = "still not schedulable" if pod.shape.uses_devices else "no new claims to deallocate"
        if self._deallocates(pod):
            devices = "deallocation of ResourceClaim completed"
        if not pod.shape.may_preempt:
            preemption = "not eligible due to preemptionPolicy=Never."
        return f"{message} {devices}, preemption: {preemption}"

    def _deallocates(self, pod: LivePod) -> bool:
        """Whether DynamicResources' PostFilter has a claim to give up that is allocated where the pod can't go."""
        if not pod.shape.uses_devices or Fails.CLAIM_ELSEWHERE not in fails(self.state, pod.shape):
            return False
        with self.state.devices.tried():
            return self.state.devices.deallocate_unused(pod.shape.devices, pod.uid)

    def _post_filter(self, pod: LivePod) -> Attempt:
        shape = pod.shape
        if not self.is_thorough and pod.nominated == NOWHERE and self.is_alone(shape):
            if not shape.may_preempt or not len(could_preempt(self.state, shape)):
                return self._refusal(pod)
        return self._explained(pod)

    def _refusal(self, pod: LivePod) -> Attempt:
        """A plain shape that fits nowhere, and no eviction would help: put into words only if a caller reads them."""
        return Attempt(
            words=self.words_at(pod, self.state.position, self.rivals()),
            refused_by=refusing(self.state.cluster, pod.shape),
            gives_up=pod.shape.may_preempt,
            counts_for_alike=True,
        )

    def rivals(self) -> tuple[tuple[LivePod, int], ...]:
        return tuple([(rival, rival.nominated) for rival in self.nominations]) if self.nominations else ()

    def words_at(self, pod: LivePod, position: int, rivals: tuple[tuple[LivePod, int], ...]) -> Words:
        """The words on a plain shape's refusal at an earlier position of the state."""

        def explain() -> str:
            now = position == self.state.position and rivals == self.rivals()
            if not now:
                self._past = self.state.at(position, self._past)
            then = self if now else Scheduler(self._past or self.state, 0, self.pods_below, self.budgets)
            if not now:
                then.nominations = Nominations(replace(rival, nominated=node) for rival, node in rivals)
            return then._explained(pod).message

        return Words(explain)

    def _explained(self, pod: LivePod) -> Attempt:
        refused = self._refused(pod)
        refused_by = frozenset(distinct(refused.codes).tolist())
        message = histogram(self.state.node_count, refused.reasons)
        if not pod.shape.may_preempt:
            return Attempt(words=self._with_post_filter(message, pod, ""), refused_by=refused_by)
        # While victims of an earlier preemption still end on its node, the pod may not preempt again
        # (`PodEligibleToPreemptOthers`).
        if pod.nominated != NOWHERE and refused.resolvable[pod.nominated]:
            if any(p.preempted for p in self.pods_below(pod.nominated, pod.priority)):
                waits = "not eligible due to a terminating pod on the nominated node."
                attempt = Attempt(words=self._with_post_filter(message, pod, waits), refused_by=refused_by)
                if not self.is_thorough and len(pod.shape.candidates) == 1 and self.is_alone(pod.shape):
                    self._awaiting[pod] = self._standing(pod.nominated), attempt
                return attempt
        return replace(self._preempt(pod, message, refused.resolvable), refused_by=refused_by)

    def awaited(self, pod: LivePod) -> Attempt | None:
        """The last refusal of a pod that waits for its victims to end, where nothing has happened since that could change it."""
        as_of, attempt = self._awaiting.get(pod, (None, None))
        return attempt if as_of is not None and as_of == self._standing(pod.nominated) else None

    def _standing(self, node: int) -> object:
        """What the refusal of a pod depends on that amounts alone decide about and that only this node may take: equal as long as nothing
        has happened to the node, and no pod came that keeps others away. Each pod that goes anywhere has such a one tried again, of which a
        DaemonSet that preempts has as many as nodes."""
        state, nominations = self.state, self.nominations
        return node, state.changes[node], state.fills, len(state.anti), nominations.anti_affine, [*nominations.on(node)]

    def _refused(self, pod: LivePod) -> _NodeRefusals:
        """Why each node refuses the pod: with the pods nominated to the node, where those make it refuse."""
        state, shape = self.state, pod.shape
        codes = fails(state, shape)
        reasons: Counter[str] = Counter()
        resolvable = np.zeros(len(codes), dtype=np.bool_)
        crowded: dict[int, int] = {}
        for node, rivals in self._rivals_by_node(pod).items():
            with self._beside(rivals, node):
                crowded[node] = fails_on(state, shape, node)
                if crowded[node] and node not in state.absent:
                    here = np.array([node])
                    node_reasons, helps = reasons_for(state, shape, np.array([crowded[node]], dtype=codes.dtype), here)
                    reasons.update(node_reasons)
                    resolvable[node] |= helps[0]
                    codes[node] = Fails.NOTHING
        node_reasons, helps = reasons_for(state, shape, codes)
        for node, code in crowded.items():
            codes[node] = code or codes[node]
        return _NodeRefusals(codes, reasons + node_reasons, resolvable | helps)

    def refusals(self, pod: LivePod) -> frozenset[int]:
        """Filters that refuse the pod on some node now."""
        return frozenset(distinct(self._refused(pod).codes).tolist())

    # ── preemption ──────────────────────────────────────────────────────────────────────────────────────────────────
    def _preempt(self, pod: LivePod, message: str, resolvable: BoolArray) -> Attempt:
        node_count = self.state.node_count
        statuses: Counter[str] = Counter({NOT_HELPFUL: node_count - int(resolvable.sum())})
        number = int(resolvable.sum())
        potential = self._rule_out(pod, np.flatnonzero(resolvable), statuses)
        # minCandidateNodesPercentage 10, minCandidateNodesAbsolute 100
        nodes_wanted = min(max(number // 10, 100), number)
        start = self.random.randrange(len(potential)) if len(potential) else 0
        budgets = cache(self.budgets)
        candidates = self._candidates(pod, np.roll(potential, -start), nodes_wanted, budgets, statuses)
        if len(candidates):
            node = int(candidates[self._choose(len(candidates))])
            with self.state.tried_out():
                victims, _, _ = self._select_victims(pod, node, budgets)
            return Attempt(nominated=node, victims=tuple(victims), words=message)
        return Attempt(words=self._with_post_filter(message, pod, histogram(node_count, +statuses)), gives_up=True)

    def _candidates(
        self,
        pod: LivePod,
        nodes: NDArray[np.intp],
        candidate_count: int,
        budgets: Callable[[str], list[Budget]],
        statuses: Counter[str],
    ) -> NDArray[np.intp]:
        """The best of the first `candidate_count` nodes on which a dry run finds victims (of more, until one breaks no budget).

        What a dry run comes to on a node as the snapshot has it is known; the status of others without victims is counted.
        Source: `DryRunPreemption`, and `pickOneNodeForPreemption`: fewest budgets broken, lowest top priority, lowest sum,
        fewest, started latest.
        """
        if not len(nodes):
            return nodes
        is_candidate, ranks = self._known_ranks(pod, nodes)
        candidate_sums = np.cumsum(is_candidate)
        number, is_harmless = 0, False
        for place in np.flatnonzero(~is_candidate).tolist():
            if candidate_sums[place] + number >= candidate_count and (candidate_sums[place] or is_harmless):
                break
            with self.state.tried_out():
                victims, violations, status = self._select_victims(pod, int(nodes[place]), budgets)
            if victims:
                number, is_harmless = number + 1, is_harmless or not violations
                is_candidate[place], ranks[:, place] = True, (violations, *_rank(victims))
            else:
                statuses.update(status)
        # Dry runs end once there are enough candidates and one breaks no budget: a better node after that is never
        # seen.
        is_enough = (np.cumsum(is_candidate) >= candidate_count) & (np.cumsum(is_candidate & (ranks[0] == 0)) > 0)
        end = int(is_enough.argmax()) + 1 if is_enough.any() else len(nodes)
        best = np.flatnonzero(is_candidate[:end])
        for rank in ranks:
            best = best[rank[best] == rank[best].min()] if len(best) > 1 else best
        return nodes[best]

    def _known_ranks(self, pod: LivePod, nodes: NDArray[np.intp]) -> tuple[BoolArray, NDArray[np.float64]]:
        """On which of `nodes` the outcome of a dry run is known, bool[node], and what the choice goes by."""
        ranks = np.zeros((5, len(nodes)))
        is_known = np.zeros(len(nodes), dtype=np.bool_)
        if self.is_thorough or len(nodes) == 1 or not self.is_alone(pod.shape):  # the dry run of one is less work
            return is_known, ranks
        cached_runs = dry_runs(self.state.cluster, pod.shape)
        if len(cached_runs.nodes):
            places = np.minimum(np.searchsorted(cached_runs.nodes, nodes), len(cached_runs.nodes) - 1)
            others = [*self.state.touched, *(rival.nominated for rival in self.nominations)]
            is_known = (cached_runs.nodes[places] == nodes) & ~np.isin(nodes, others)
            ranks[1:, is_known] = cached_runs.ranks[:, places[is_known]]
        return is_known, ranks

    def is_alone(self, shape: Shape) -> bool:
        """Whether amounts alone decide where such a pod fits, beside those nominated too."""
        return is_judged_alone(self.state, shape) and not self.nominations.anti_affine

    def _rule_out(self, pod: LivePod, nodes: NDArray[np.intp], statuses: Counter[str]) -> NDArray[np.intp]:
        """Nodes worth a dry run; the status of the others is counted: no victims, or too small even without them."""
        state, shape = self.state, pod.shape
        below = state.requested_below(shape.priority)[:, nodes]
        has_victims = below[PODS_ROW] > 0
        statuses[NO_VICTIMS] += int((~has_victims).sum())
        nodes, below = nodes[has_victims], below[:, has_victims]
        # Amounts alone decide only for pods without rules about neighbors or volumes; each node of the others needs
        # its dry run.
        if not len(nodes) or not shape.is_simple or self.nominations.anti_affine:
            return nodes
        free_amounts = state.free[:, nodes] + below
        # Nominated pods of at least its priority count as if they ran there (`RunFilterPluginsWithNominatedPods`).
        for node, rivals in self._rivals_by_node(pod).items():
            for row, amount in (ask for rival in rivals for ask in (*rival.shape.asks, (PODS_ROW, 1))):
                free_amounts[row, nodes == node] -= amount
        fits = free_amounts[PODS_ROW] >= 1
        lacking = {"Too many pods": ~fits}
        for row, amount in shape.asks:
            lacking[f"Insufficient {state.cluster.resources[row]}"] = free_amounts[row] < amount
            fits = fits & (free_amounts[row] >= amount)
        for reason, where in lacking.items():
            statuses[reason] += int(where.sum())
        worth: NDArray[np.intp] = nodes[fits]
        return worth

    def _select_victims(
        self, pod: LivePod, node: int, budgets: Callable[[str], list[Budget]]
    ) -> tuple[list[LivePod], int, Counter[str]]:
        """`SelectVictimsOnNode`: remove all of lower priority, then take back the most important that still fit."""
        lower = self.pods_below(node, pod.priority)
        if not lower:
            return [], 0, Counter({NO_VICTIMS: 1})
        if not self.is_thorough and self.is_alone(pod.shape):
            return self._select_by_amounts(pod, node, lower, budgets)
        for victim in lower:
            self._lift(victim)
        if not self._fits_on(pod, node):
            status = self._status_on(pod, node)
            for victim in lower:
                self._put_back(victim)
            return [], 0, status
        victims, violations = _least(lower, budgets, self._put_back, self._lift, lambda: self._fits_on(pod, node))
        for victim in victims:
            self._put_back(victim)
        return victims, violations, Counter()

    def _select_by_amounts(
        self, pod: LivePod, node: int, lower: list[LivePod], budgets: Callable[[str], list[Budget]]
    ) -> tuple[list[LivePod], int, Counter[str]]:
        """The same where nothing but amounts decides, on a node that is enough without all of `lower`."""
        free_amounts = self.state.free[:, node].tolist()
        requests = (*pod.shape.asks, (PODS_ROW, 1))

        def take(other: LivePod, sign: int) -> None:
            free_amounts[PODS_ROW] += sign
            for row, amount in other.shape.asks:
                free_amounts[row] += sign * amount

        for rival in self._rivals_by_node(pod).get(node, ()):
            take(rival, -1)
        for victim in lower:
            take(victim, 1)
        victims, violations = _least(
            lower, budgets, lambda victim: take(victim, -1), lambda victim: take(victim, 1),
            lambda: all(free_amounts[row] >= amount for row, amount in requests),
        )  # fmt: skip
        return victims, violations, Counter()

    def _lift(self, pod: LivePod) -> None:
        self.state.remove(pod.shape, pod.node, is_terminating=pod.is_terminating)

    def _put_back(self, pod: LivePod) -> None:
        self.state.add(pod.shape, pod.node, is_terminating=pod.is_terminating)

    def _fits_on(self, pod: LivePod, node: int) -> bool:
        return node in self._feasible(pod)

    def _status_on(self, pod: LivePod, node: int) -> Counter[str]:
        """The filters' reasons on one node, beside the pods nominated to it."""
        with self._beside(self._rivals_by_node(pod).get(node, []), node):
            codes = fails(self.state, pod.shape)
            only = np.zeros_like(codes)
            only[node] = codes[node]
            reasons, _ = reasons_for(self.state, pod.shape, only)
        return reasons

    def _choose(self, count: int) -> int:
        """One of `count` equals."""
        self.choices += count > 1
        return self.random.randrange(count)


def _least(
    pods: list[LivePod],
    budgets: Callable[[str], list[Budget]],
    put_back: Callable[[LivePod], None],
    lift: Callable[[LivePod], None],
    fits: Callable[[], bool],
) -> tuple[list[LivePod], int]:
    """Of pods that are all lifted who stays so, the most important first, and how many of them break a budget: each is put back,
    those with a budget that would break first, where all fits with it."""
    violating, others = _split_by_budget(sorted(pods, key=_importance), budgets)
    victims: list[LivePod] = []
    violations = 0
    for group, breaks_budget in ((violating, True), (others, False)):
        for pod in group:
            put_back(pod)
            if not fits():
                lift(pod)
                victims.append(pod)
                violations += int(breaks_budget)
    return sorted(victims, key=_importance), violations


def _importance(pod: LivePod) -> tuple[int, float]:
    return -pod.priority, pod.started_at


def _split_by_budget(
    pods: list[LivePod], budgets: Callable[[str], list[Budget]]
) -> tuple[list[LivePod], list[LivePod]]:
    """`filterPodsWithPDBViolation`: pods that break a budget by being evicted, and the others; order kept."""
    allowed: dict[Budget, int] = {}
    violating: list[LivePod] = []
    others: list[LivePod] = []
    for pod in pods:
        breaks = False
        for budget in budgets(pod.namespace):
            if spares(budget.selector, pod.shape.labels):
                allowed[budget] = allowed.get(budget, budget.allowed) - 1
                breaks = breaks or allowed[budget] < 0
        (violating if breaks else others).append(pod)
    return violating, others
