"""The question *rollout*: will these changes finish, if not why, and what would help?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import partial
from typing import Any, Final

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.what_if_syntax import ALL, Change, ChangeKind, Later
from planner.ground.answer_layout import Column, Listing
from planner.ground.errors import ChangeError
from planner.ground.exit_status import ExitStatus, gravest
from planner.ground.quantity import parse
from planner.ground.records import dataclass, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.table_formats import Row
from planner.ground.well_known_names import CPU, MEMORY, NVIDIA_GPU
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.change import WorkloadChange
from planner.kubernetes import workload_kinds
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import ARRIVAL_SOURCE, ARRIVAL_WORDS
from planner.kubernetes.object_records import EMPTY, FrozenMap, Labels, Snapshot, Workload
from planner.kubernetes.surge_and_unavailable import parse_share
from planner.kubernetes.workload_kinds import NODE, POD
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import EXIT, NOTHING, Fact, Inputs, Question, column_of, fact, unit_of
from planner.questions.side_event_settings import DOUBTS, EVENTS, MeanwhileSettings
from planner.remedies.rollout_with_remedies import rollout
from planner.remedies.stuck_rollout_room import with_room
from planner.rollout.answers import (
    RUNS,
    EventBeside,
    PendingPods,
    PodState,
    Remedy,
    RolloutResult,
    Verdict,
    WorkloadRollout,
)
from planner.rollout.doubts import Doubt
from planner.rollout.prepared_change import Scenario, manifest_namespace, unread_files
from planner.rollout.scaled_cluster import At, at_bound

_MOST_SECONDS: Final = 86_400
_LABEL = re.compile(r"([\w./-]{1,317})\s*=\s*([\w.-]{0,63})", re.ASCII)  # about what the API server takes


def parse_node_selector(text: str) -> Labels:
    """``disk=ssd, zone=a``; ``none`` is the empty one.

    Raises
    ------
    ChangeError
        For anything else.
    """
    if text.lower() == "none":
        return EMPTY
    pairs = [_LABEL.fullmatch(part.strip()) for part in text.split(",")]
    if not all(pairs):
        raise ChangeError(f'"{text[:60]}" is not a node selector', fix='Write it like "disk=ssd, zone=a"')
    return FrozenMap({pair[1]: pair[2] for pair in pairs if pair})


class StrategyKind(StrEnum):
    """A workload's strategy, as Kubernetes names it."""

    ROLLING_UPDATE = workload_kinds.ROLLING_UPDATE
    RECREATE = workload_kinds.RECREATE
    ON_DELETE = workload_kinds.ON_DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """What is changed, and how the rollout is played. Every change goes to each of `workloads`; `also` roll out as
    they are in the same moment."""

    workloads: tuple[str, ...] = setting(
        (),
        name="workload",
        short="-w",
        is_workload=True,
        is_everyday=True,
        help="kind/namespace/name, namespace/name, or a name that only one has; several are changed together.",
    )
    after_seconds: float = setting(
        0, label="So many seconds later", least=0, most=_MOST_SECONDS, is_hidden=True,
        help="An older spelling of --then TIME:rollout:all.",
    )  # fmt: skip
    also: tuple[str, ...] = setting(
        (), label="Rolled out together with", is_workload=True,
        help="Another workload rolled out in the same moment, as it is: they share the free capacity.",
    )  # fmt: skip
    manifest: str = setting(
        "", on_command=False, is_private=True,
        help="What kubectl apply -f would get: several documents, new workloads too.",
    )  # fmt: skip
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()
    patch: str = setting(
        "", label="Strategic merge patch", on_command=False, is_private=True,
        help="JSON or YAML, as kubectl patch takes it. Applied first.",
    )  # fmt: skip
    strategy: StrategyKind | None = setting(None, is_everyday=True, help="Another update strategy.")
    max_surge: int | str | None = setting(
        None, label="maxSurge", parse=parse_share, form="N",
        is_everyday=True, help='Pods above the wanted number: a number or a share, such as 1 or "25%".',
    )  # fmt: skip
    max_unavailable: int | str | None = setting(
        None, label="maxUnavailable", parse=parse_share, form="N",
        is_everyday=True, help='Pods that may be missing meanwhile: a number or a share, such as 1 or "25%".',
    )  # fmt: skip
    replicas: int | None = setting(None, least=0, most=100_000, is_everyday=True, help="Replicas after the change.")
    cpu: int | None = setting(
        None, label="CPU per pod", parse=partial(parse, resource=CPU), form="Q", help="CPU request per pod: 500m or 2."
    )
    memory: int | None = setting(
        None, label="Memory per pod", parse=partial(parse, resource=MEMORY), form="Q",
        help="Memory request per pod: 8Gi.",
    )  # fmt: skip
    gpu: int | None = setting(
        None, label="GPUs per pod", parse=partial(parse, resource=NVIDIA_GPU), form="N",
        help="GPUs per pod, of the resource its pods ask for.",
    )  # fmt: skip
    node_selector: Labels | None = setting(
        None,
        parse=parse_node_selector,
        form="A=B,C=D",
        help='Node selector: key=value, key=value; "none" removes it.',
    )
    scale_only: bool = setting(
        False, label="Only scale", help="Keep the pod template: no new revision, pods are added or removed."
    )
    never_ready: bool = setting(
        False, label="New pods never become Ready",
        help="Suppose that the new pods start and never become Ready, as with a broken image or a failing probe.",
    )  # fmt: skip
    startup_seconds: float | None = setting(
        None, label="Start-up, seconds", least=0, most=_MOST_SECONDS,
        help="From bound to Ready; else learnt from the snapshot where it shows it.",
    )  # fmt: skip
    termination_seconds: float | None = setting(
        None, label="Termination, seconds", least=0, most=_MOST_SECONDS,
        help="From deletion until the pod is gone and its GPU is free; else its grace period.",
    )  # fmt: skip
    at: At = setting(
        At.TODAY, label="At its replicas", help="Replicas: today's, or its autoscaler's minimum or maximum."
    )
    seed: int = setting(0, least=0, most=2**31 - 1, help="Breaks the scheduler's ties.")
    runs: int = setting(RUNS, least=1, most=1000, help="Placements tried at most.")
    meanwhile: MeanwhileSettings = settings_within(MeanwhileSettings)
    pools: PoolSettings = settings_within(PoolSettings)
    autoscaling: Autoscaling = settings_within(Autoscaling)
    arrival_seconds: float | None = setting(
        None, label="Until a new node takes pods, seconds", option="--node-arrival-seconds", least=0, most=_MOST_SECONDS,
        help=f"Until a new node takes pods; else {ARRIVAL_WORDS} ({ARRIVAL_SOURCE}).",
    )  # fmt: skip

    @property
    def events(self) -> MeanwhileSettings:
        """What happens meanwhile, `after_seconds` written as the event that it is."""
        if not self.after_seconds:
            return self.meanwhile
        late = Later(after_seconds=self.after_seconds, change=Change(kind=ChangeKind.ROLLOUT, target=ALL))
        return replace(self.meanwhile, then=(*self.meanwhile.then, late))


def scenario_of(snapshot: Snapshot, settings: RolloutSettings) -> Scenario:
    """What the settings change.

    Raises
    ------
    ChangeError
        When they change nothing, or name something that isn't a workload.
    """
    changed = tuple(_change(snapshot, settings, key) for key in settings.workloads)
    return Scenario(
        changes=(*changed, *(WorkloadChange(workload=key) for key in settings.also)),
        manifest=settings.manifest,
        namespace=settings.namespace,
        unread=settings.unread,
        seed=settings.seed,
        runs=settings.runs,
    )


def gpu_resource_of(workload: Workload | None) -> str:
    """The GPU resource that the workload's containers ask for; nvidia.com/gpu where they ask for none."""
    asked = {name for container in workload.template.spec.containers for name in container.requests} if workload else ()
    return next((name for name in sorted(asked) if is_gpu_resource(name)), NVIDIA_GPU)


def _change(snapshot: Snapshot, settings: RolloutSettings, key: str) -> WorkloadChange:
    workload = snapshot.workload(key)
    amounts = {CPU: settings.cpu, MEMORY: settings.memory, gpu_resource_of(workload): settings.gpu}
    requests = {name: amount for name, amount in amounts.items() if amount is not None}
    kind = settings.strategy.value if settings.strategy else None
    return WorkloadChange(
        workload=key,
        patch=settings.patch,
        replicas=settings.replicas,
        strategy_kind=None if workload is not None and kind == workload.strategy.kind else kind,
        max_surge=settings.max_surge,
        max_unavailable=settings.max_unavailable,
        requests=FrozenMap(requests) if requests else EMPTY,
        node_selector=settings.node_selector,
        new_revision=not settings.scale_only,
        never_ready=settings.never_ready,
        startup_seconds=settings.startup_seconds,
        termination_seconds=settings.termination_seconds,
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: RolloutSettings, inputs: Inputs = NOTHING, **more: Any) -> RolloutResult:
    """`rollout` of what was asked; `more`: of the `Scenario`.

    Raises
    ------
    ChangeError
        When the settings don't apply to the snapshot.
    """
    snapshot = at_replicas(snapshot, settings)
    scenario = replace(scenario_of(snapshot, settings), **more)
    limits = settings.pools.known(inputs)
    later_events = settings.events.beside(limits, first=settings.also)
    how = replace(settings.autoscaling, arrival_seconds=settings.arrival_seconds)
    pools = growable_pools(snapshot, limits)
    outcome = rollout(snapshot, scenario, pools, how, beside=later_events, book=inputs.book, seen=inputs.seen)
    return with_room(outcome, snapshot, scenario)


def at_replicas(snapshot: Snapshot, settings: RolloutSettings) -> Snapshot:
    """The snapshot with the workloads at the replicas that are asked for: their autoscalers' lowest or highest.

    Raises
    ------
    ChangeError
        Where no autoscaler scales one of them.
    """
    for key in settings.workloads if settings.at is not At.TODAY else ():
        snapshot = at_bound(snapshot, key, settings.at)
    return snapshot


def first_answer(snapshot: Snapshot, settings: RolloutSettings, inputs: Inputs = NOTHING) -> RolloutResult:
    """The answer for the first placement only, without ways out: what is known soonest. `ties` is None where others may
    come out otherwise; `answer` says how many do."""
    outcome = answer(snapshot, settings, inputs, runs=0, with_remedies=False)
    return outcome if outcome.ties is not None and outcome.ties.proven else replace(outcome, ties=None)


def facts(answer: RolloutResult) -> Iterator[Fact]:
    """The verdict, what the cluster holds at most, and how many ways out there are."""
    yield fact("rollout_verdict", answer.verdict.value)
    yield fact("rollout_seconds", answer.seconds if _ends(answer.verdict) else None, "seconds")
    yield fact("rollout_ways_out", len(answer.remedies), "ways")
    yield fact("rollout_pods_waiting", sum(pods.count for pods in answer.pending), "pods")
    for name, amount in answer.capacity.items():
        yield fact("resource_capacity", amount, unit_of(name), resource=name)
        yield fact("resource_peak_held", answer.peak_held.get(name, 0), unit_of(name), resource=name)


def _ends(verdict: Verdict) -> bool:
    return verdict in (Verdict.COMPLETES, Verdict.NEEDS_GROWTH, Verdict.EVICTIONS_BY_QUEUE)


def timeline_rows(rollouts: Iterable[WorkloadRollout]) -> list[Row]:
    """One row a workload and quiet moment."""
    shown = list(rollouts)
    resource_names = sorted({name for rollout in shown for row in rollout.timeline for name in row.held})
    return [
        {
            "workload": rollout.workload,
            "step": row.tick,
            "seconds": row.seconds,
            "event": row.event,
            **{state.value: row.counts.get(state.value, 0) for state in PodState},
            "ready": row.ready,
            **{column_of("held", name): row.held.get(name, 0) for name in resource_names},
        }
        for rollout in shown
        for row in rollout.timeline
    ]


def _seconds(part: WorkloadRollout) -> float | None:
    return part.seconds if _ends(part.verdict) else None


_WORKLOADS: Final[Listing[RolloutResult, WorkloadRollout]] = Listing(
    name="workloads",
    columns=(
        Column("workload", label="workload"),
        Column("verdict", metric="workload_verdict"),
        Column("reason", metric="workload_reason"),
        Column("replicas", metric="workload_replicas", unit="pods"),
        Column("lowest_ready", metric="workload_lowest_ready", unit="pods"),
        Column("peak_pods", metric="workload_peak_pods", unit="pods"),
        Column("seconds", _seconds, metric="workload_seconds", unit="seconds"),
        Column("least_seconds", lambda part: part.duration and part.duration.least_seconds, heading=None),
        Column("most_seconds", lambda part: part.duration and part.duration.most_seconds, heading=None),
        Column("sentence"),
        Column(
            "late",
            lambda part: part.exceeds_deadline,
            heading=None,
            is_said_only=True,
            metric="workload_exceeds_deadline",
        ),
    ),
)
_REMEDIES: Final[Listing[RolloutResult, Remedy]] = Listing(
    name="remedies",
    columns=tuple(
        Column(name)
        for name in (
            "kind", "title", "lowest_ready", "replicas", "seconds", "extra_gpus", "extra_nodes", "kept_nodes", "usd_per_month",
            "usd_per_rollout", "price", "sentence", "command",
        )
    ),
)  # fmt: skip


_MEANWHILE: Final[Listing[RolloutResult, EventBeside]] = Listing(name="meanwhile", columns=EVENTS, is_shown=False)
_DOUBTS: Final[Listing[RolloutResult, Doubt]] = Listing(name="doubts", columns=DOUBTS, is_shown=False)


_PENDING: Final[Listing[RolloutResult, PendingPods]] = Listing(
    name="pending",
    columns=(
        Column("namespace"),
        Column("owner"),
        Column("workload"),
        Column("pods", lambda pods: pods.count),
        Column("scheduler_message", lambda pods: pods.message),
    ),
)


def _status(answer: RolloutResult) -> ExitStatus:
    if answer.verdict is Verdict.UNKNOWN:  # its parts say what would be without what lacks
        return ExitStatus.NOT_KNOWN
    return gravest(EXIT[verdict] for verdict in (answer.verdict, *(part.verdict for part in answer.workloads)))


QUESTION: Final = Question(
    name="rollout",
    version="v2",  # v1 held manifests and patches as they were given
    settings=RolloutSettings,
    answer=answer,
    facts=facts,
    listings=(_WORKLOADS, _REMEDIES, _PENDING, _MEANWHILE, _DOUBTS),
    tables={"timeline": lambda answer: timeline_rows(answer.workloads)},
    status=_status,
    hangs_on=(NODE.name, POD.name),
    stands=lambda answer: answer.verdict is not Verdict.UNKNOWN,
)
