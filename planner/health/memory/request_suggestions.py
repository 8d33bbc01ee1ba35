"""Suggests memory and CPU requests and limits from containers' observed use.

The rule, in one place:

* memory: the largest working set seen, plus 15%. A container that was OOM-killed needs more than the limit it died at:
  at least that limit plus 20%, and at least 100 MiB more. What a container uses under a limit that kills or starves
  it says little about its need, so the same program's use in pods that work counts as well. Where nothing measured
  that use, what those pods are given is the least: their request, and their limit, under which they live (our choice).
  Rounded up; never below what was seen; the limit is left alone where it is large enough already.
* CPU: the 95th percentile seen, plus 15%, as the request; of a container that runs into its CPU limit, what the same
  program uses where it works counts as well. A CPU limit below that request goes along; none is suggested otherwise.
* Where nothing was measured at all, what the same program is given where it works, memory and CPU.
* What the API server would refuse isn't suggested (`planner.inventory.change_validation` `check_resources`).
* One moment (metrics-server) may raise a value and never lowers one: a peak wasn't looked for.

Source: the vertical pod autoscaler's recommender, kubernetes/autoscaler `vertical-pod-autoscaler/pkg/recommender`,
read 2026-11-20: `logic/recommender.go` (recommendation-margin-fraction 0.15), `model/aggregations_config.go`
(DefaultOOMBumpUpRatio 1.2, DefaultOOMMinBumpUp 100 MiB; peaks of memory, percentiles of CPU). It takes the 90th
percentile of daily peaks; here it is the largest, because a snapshot or a few days of history hold few peaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from planner.ground.errors import ChangeError
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import count, duration, measured_bytes
from planner.inventory.change_validation import check_resources
from planner.inventory.usage import Usage
from planner.kubernetes.object_records import Container, FrozenMap
from planner.kubernetes.strategic_merge_patch import Object, container_patch

MARGIN_PERCENT = 15
OOM_BUMP_PERCENT = 20
OOM_MIN_BUMP_BYTES = 100 * 2**20
STARVED_PERCENT = 90  # a working set this near its limit is shaped by the limit, not by the need; our choice
CPU_BOUND_PERCENT = 80  # use this near a CPU limit, averaged over a scrape, means throttling at every peak; our choice
_MIB = 2**20
_STEPS = ((2**30, 32 * _MIB), (8 * 2**30, 128 * _MIB))  # below 1 GiB round up to 32 MiB, below 8 GiB to 128 MiB
_LARGEST_STEP = 512 * _MIB
_CPU_STEP_MILLICORES = 10

RULE_SOURCE = "vertical pod autoscaler's defaults (kubernetes/autoscaler, recommender)"


class Basis(StrEnum):
    """Which of the rule's parts set the memory value."""

    SEEN = "seen"  # the largest working set seen, plus the margin
    OOM = "oom"  # the limit it was killed at, plus the bump
    PEERS = "peers"  # the largest working set of the same program where it works, plus the margin
    GIVEN = "given"  # what the same program is given where it works: not measured: what it uses there


class Suggestion(Record):
    """Values for one container. None: nothing to say about that one, leave it as it is."""

    container: str
    memory_request_bytes: int
    memory_limit_bytes: int | None
    cpu_request_millicores: int | None
    cpu_limit_millicores: int | None = None  # only where the request would be above today's limit
    seen_bytes: int  # largest working set that went in
    basis: Basis
    is_one_moment: bool  # seen once only: a peak may be higher
    is_starved: bool  # the container's own use was cut off by its limit
    rule: str  # with the numbers put in
    source: str  # where the numbers come from

    @property
    def text(self) -> str:
        """``memory request 2Gi, limit 2Gi, CPU request 500m``."""
        lines = []
        for resource, word in ((MEMORY, "memory"), (CPU, "CPU")):
            amounts = ((kind, resource_amounts.get(resource)) for kind, resource_amounts in self._values.items())
            texts = [f"{kind} {format_amount(amount, resource)}" for kind, amount in amounts if amount is not None]
            lines += [f"{word} {', '.join(texts)}"] if texts else []
        return ", ".join(lines)

    @property
    def _values(self) -> dict[str, dict[str, int]]:
        """What is set, as a container has it; a memory request of 0 is none that anybody knows of."""
        requests = {MEMORY: self.memory_request_bytes or None, CPU: self.cpu_request_millicores}
        limits = {MEMORY: self.memory_limit_bytes, CPU: self.cpu_limit_millicores}
        return {
            kind: {name: amount for name, amount in resource_amounts.items() if amount is not None}
            for kind, resource_amounts in (("request", requests), ("limit", limits))
        }

    def applied(self, container: Container) -> Container:
        """`container` with the values."""
        requests, limits = (FrozenMap({**of, **suggested_amounts}) for of, suggested_amounts in
                            zip((container.requests, container.limits), self._values.values(), strict=True))  # fmt: skip
        return replace(container, requests=requests, limits=limits)

    @property
    def unproven(self) -> str:
        """That a rollout with these values ends isn't that they are enough; empty where what is needed was measured."""
        if self.basis not in (Basis.OOM, Basis.GIVEN):
            return ""
        return "Whether these values are enough isn't known: what the program needs wasn't measured."

    @property
    def patch(self) -> Object:
        """The values as a strategic merge patch of the workload."""
        resources: Object = {
            f"{kind}s": {name: format_amount(amount, name) for name, amount in resource_amounts.items()}
            for kind, resource_amounts in self._values.items()
            if resource_amounts
        }
        return container_patch(self.container, resources)


def is_starved(limit_bytes: int | None, seen_bytes: int | None) -> bool:
    """Whether a working set of `seen_bytes` is so near `limit_bytes` that the limit shapes it."""
    return limit_bytes is not None and seen_bytes is not None and seen_bytes * 100 >= limit_bytes * STARVED_PERCENT


def suggest(
    container: Container,
    own: Sequence[Usage],
    peers: Sequence[Usage] = (),
    *,
    working: Sequence[Container] = (),
    was_oom_killed: bool = False,
    is_short: bool = False,
) -> Suggestion | None:
    """Values for `container` that the API server takes, or None where nothing was measured and nothing is known.

    Parameters
    ----------
    own : sequence of Usage
        Of this container in all pods of its workload.
    peers : sequence of Usage
        Of the same program in pods that work; used where the container is starved or was OOM-killed.
    working : sequence of Container
        The same program in pods that work; what it is given counts where `peers` is empty, and is all there is to
        suggest where `own` is too and `is_short` says that it wants more.
    was_oom_killed : bool
        Whether the kernel killed it at its own limit.
    is_short : bool
        Whether something else than a measurement tells that it has too little memory or CPU.
    """
    values = _from_use(container, own, peers, working, was_oom_killed) or (
        _as_where_it_works(container, working) if is_short else None
    )
    if values is None:
        return None
    try:
        check_resources(values.applied(container), container.name)
    except ChangeError:
        return None
    return values


def _from_use(
    container: Container,
    own: Sequence[Usage],
    peers: Sequence[Usage],
    working: Sequence[Container],
    was_oom_killed: bool,
) -> Suggestion | None:
    """Of what was measured, and of the limit it was killed at."""
    limit = container.limits.get(MEMORY)
    own_peak = max((usage.working_set_bytes for usage in own), default=None)
    peer_peak = max((usage.working_set_bytes for usage in peers), default=None)
    # A container that was killed at its limit shows the limit, not its need: only then peers and a bump count as well.
    starved = was_oom_killed or is_starved(limit, own_peak)
    candidates: list[tuple[int, Basis]] = []
    if own_peak is not None:
        candidates.append((_plus_percent(own_peak, MARGIN_PERCENT), Basis.SEEN))
    if was_oom_killed and limit is not None:
        candidates.append((max(_plus_percent(limit, OOM_BUMP_PERCENT), limit + OOM_MIN_BUMP_BYTES), Basis.OOM))
    if starved and peer_peak is not None:
        candidates.append((_plus_percent(peer_peak, MARGIN_PERCENT), Basis.PEERS))
    given_limit = 0
    if starved and candidates and peer_peak is None:
        candidates += [(request, Basis.GIVEN) for peer in working if (request := peer.requests.get(MEMORY))]
        given_limit = max((peer.limits.get(MEMORY, 0) for peer in working), default=0)
    if not candidates:
        return None
    need, basis = max(candidates)
    used = (*own, *peers) if starved else tuple(own)
    peak_bytes = max((usage.working_set_bytes for usage in used), default=0)
    # A single look at metrics-server misses the peak: it may raise a request, never lower it (`keeps`).
    is_one_moment = all(usage.samples <= 1 for usage in used)
    request = need if basis is Basis.GIVEN else round_up_bytes(need)
    cpu = _cpu_request(container, own, peers, raise_only=is_one_moment)
    cpu_limit = _cpu_limit(container, cpu, () if peers else working)
    today = container.requests.get(MEMORY, 0)
    keeps = is_one_moment and today >= need
    return Suggestion(
        container=container.name,
        memory_request_bytes=today if keeps else request,
        memory_limit_bytes=None if limit is None else max(today if keeps else request, limit, given_limit),
        cpu_request_millicores=cpu,
        cpu_limit_millicores=cpu_limit,
        seen_bytes=peak_bytes,
        basis=basis,
        is_one_moment=is_one_moment,
        is_starved=starved,
        rule=_rule(basis, peak_bytes, limit, request)
        + (f"; kept at {format_amount(today, MEMORY)}" if keeps else "")
        + ("; the CPU limit goes along, since no request may be above its limit" if cpu_limit is not None else ""),
        source=_source(used),
    )


def round_up_bytes(amount: int) -> int:
    """`amount` rounded up to a value a person would write: 32 MiB steps below 1 GiB, 128 MiB below 8 GiB, else 512."""
    step = next((step for below, step in _STEPS if amount <= below), _LARGEST_STEP)
    return -(-amount // step) * step


def _plus_percent(amount: int, percent: int) -> int:
    return -(-amount * (100 + percent) // 100)


def _cpu_request(container: Container, own: Sequence[Usage], peers: Sequence[Usage], *, raise_only: bool) -> int | None:
    """None where nothing was measured, or nothing is to be changed."""
    limit = container.limits.get(CPU)
    peak_cpu = _most_cpu(own)
    if peak_cpu is not None and limit is not None and peak_cpu * 100 >= limit * CPU_BOUND_PERCENT:
        peak_cpu = max(peak_cpu, _most_cpu(peers) or 0)
    if peak_cpu is None:
        return None
    request = max(
        _CPU_STEP_MILLICORES, -(-_plus_percent(peak_cpu, MARGIN_PERCENT) // _CPU_STEP_MILLICORES) * _CPU_STEP_MILLICORES
    )
    return None if raise_only and request <= container.requests.get(CPU, 0) else request


def _most_cpu(usages: Sequence[Usage]) -> int | None:
    return max((usage.cpu_millicores for usage in usages if usage.cpu_millicores is not None), default=None)


def _cpu_limit(container: Container, request: int | None, working: Sequence[Container]) -> int | None:
    """The limit that goes along with a CPU request above today's: the API server refuses a request above its limit."""
    today = container.limits.get(CPU)
    if request is None or today is None or request <= today:
        return None
    return max(request, *(peer.limits.get(CPU, 0) for peer in working), 0)


def _as_where_it_works(container: Container, working: Sequence[Container]) -> Suggestion | None:
    """What the same program is given in pods that work, where nothing was measured: the most of each, never less than today."""
    requests, limits = (
        {
            name: max((amount for peer in working if (amount := getattr(peer, kind).get(name)) is not None), default=0)
            for name in (MEMORY, CPU)
        }
        for kind in ("requests", "limits")
    )
    memory = max(container.requests.get(MEMORY, 0), requests[MEMORY])
    limit, cpu = container.limits.get(MEMORY), requests[CPU]
    cpu_today, cpu_limit = container.requests.get(CPU, 0), container.limits.get(CPU)
    # A container without a limit gets none from its peers: it might then be killed for what it uses today.
    raised = limit is not None and max(limit, limits[MEMORY], memory) > limit
    raised_cpu = cpu_limit is not None and max(cpu_limit, limits[CPU], cpu) > cpu_limit
    if not (raised or raised_cpu or memory > container.requests.get(MEMORY, 0) or cpu > cpu_today):
        return None
    return Suggestion(
        container=container.name,
        memory_request_bytes=memory,
        memory_limit_bytes=None if limit is None else max(limit, limits[MEMORY], memory),
        cpu_request_millicores=cpu if cpu > cpu_today else None,
        cpu_limit_millicores=max(limits[CPU], cpu) if raised_cpu else None,
        seen_bytes=0,
        basis=Basis.GIVEN,
        is_one_moment=False,
        is_starved=False,
        rule="what the same program is given where it works; what it uses wasn't measured, and metrics would tell how much",
        source="requests and limits of the same program in pods that work",
    )


def _rule(basis: Basis, peak_bytes: int, limit: int | None, request: int) -> str:
    rounding_text = f"rounded up to {format_amount(request, MEMORY)}"
    if basis is Basis.OOM and limit is not None:
        died_at = format_amount(limit, MEMORY)
        return f"killed at its limit of {died_at}: that plus {OOM_BUMP_PERCENT}% and at least 100 MiB, {rounding_text}"
    if basis is Basis.GIVEN:
        return (
            f"the same program works with a request of {format_amount(request, MEMORY)}; what it uses there wasn't "
            "measured, so this is the least it needs, and metrics would tell how much"
        )
    where = "in pods of the same program that work, " if basis is Basis.PEERS else ""
    return f"largest working set seen {where}{measured_bytes(peak_bytes)}, plus {MARGIN_PERCENT}%, {rounding_text}"


def _source(usages: Sequence[Usage]) -> str:
    if not usages:
        return RULE_SOURCE
    readings = sum(usage.samples for usage in usages)
    names = sorted({usage.source for usage in usages})
    span = max(usage.seconds for usage in usages)
    stretch = f"over {duration(span)}" if span else "one moment only, a peak may be higher"
    return f"{count(readings, 'reading')} from {' and '.join(names)}, {stretch}; rule: {RULE_SOURCE}"
