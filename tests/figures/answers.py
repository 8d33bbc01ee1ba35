"""Answers made by hand: what the demo's stuck worker looks like, for tests of figures and words."""

from __future__ import annotations

from planner.capacity.gpu_holders import NodeSeats, Seat
from planner.capacity.gpu_inventory import GpuModelLine
from planner.ground.words import Text
from planner.kubernetes.object_records import FrozenMap
from planner.rollout.answers import (
    GridCell,
    PodState,
    Reason,
    StrategyGrid,
    TimelineRow,
    Verdict,
    WaitForEdge,
    WorkloadRollout,
)

GPU = "nvidia.com/gpu"
WORKER = "Deployment/prod/ml-worker"


def row(tick: int, seconds: float, held: int = 6, event: str = "", **counts: int) -> TimelineRow:
    return TimelineRow(
        tick=tick,
        seconds=seconds,
        counts=FrozenMap({PodState[name.upper()].value: number for name, number in counts.items()}),
        ready=counts.get("old_ready", 0) + counts.get("new_ready", 0),
        held=FrozenMap({GPU: held}),
        held_by_workload=FrozenMap({GPU: held}),
        event=event,
    )


CYCLE = (
    WaitForEdge(source="Deployment ml-worker", target="ReplicaSet ml-worker (new)", label="needs 1 more pod Ready"),
    WaitForEdge(source="ReplicaSet ml-worker (new)", target="1 nvidia.com/gpu", label="its 2 pods ask for one each"),
    WaitForEdge(source="1 nvidia.com/gpu", target="ReplicaSet ml-worker (old)", label="held by its 6 pods"),
    WaitForEdge(source="ReplicaSet ml-worker (old)", target="Deployment ml-worker", label="deletes none until then"),
)


def stuck() -> WorkloadRollout:
    return WorkloadRollout(
        workload=WORKER,
        verdict=Verdict.STUCK,
        reason=Reason.HOLD_AND_WAIT,
        headline=Text("in short"),
        sentence=Text("stuck: the new pod needs 1 nvidia.com/gpu; all 6 are held by the old pods."),
        replicas=6,
        max_surge=2,
        max_unavailable=0,
        strategy_kind="RollingUpdate",
        is_new_revision=True,
        peak_pods=8,
        lowest_ready=6,
        ticks=1,
        seconds=0,
        progress_deadline_seconds=600,
        exceeds_deadline=True,
        final=FrozenMap({"replicas": 8, "updatedReplicas": 2, "readyReplicas": 6}),
        pending=(),
        timeline=(
            row(-1, 0, event="before the change", old_ready=6),
            row(0, 0, event="2 new pods are created", old_ready=6, pending=2),
        ),
        wait_for=CYCLE,
        requests=FrozenMap({"cpu": 2000, "memory": 8 << 30, GPU: 1}),
    )


def completes() -> WorkloadRollout:
    return WorkloadRollout(
        workload=WORKER,
        verdict=Verdict.COMPLETES,
        reason=Reason.NONE,
        headline=Text("in short"),
        sentence=Text("completes in about 4 minutes."),
        replicas=6,
        max_surge=0,
        max_unavailable=2,
        strategy_kind="RollingUpdate",
        is_new_revision=True,
        peak_pods=6,
        lowest_ready=4,
        ticks=6,
        seconds=270,
        progress_deadline_seconds=600,
        exceeds_deadline=False,
        final=FrozenMap({"replicas": 6, "updatedReplicas": 6, "readyReplicas": 6}),
        pending=(),
        timeline=(
            row(-1, 0, old_ready=6),
            row(0, 0, old_ready=4, terminating=2, pending=2),
            row(1, 30, old_ready=4, new_starting=2),
            row(2, 90, old_ready=2, new_ready=2, terminating=2, pending=2),
            row(3, 120, old_ready=2, new_ready=2, new_starting=2),
            row(4, 180, new_ready=4, terminating=2, pending=2),
            row(5, 210, new_ready=4, new_starting=2),
            row(6, 270, new_ready=6),
        ),
        requests=FrozenMap({"cpu": 2000, GPU: 1}),
    )


def cell(surge: int, unavailable: int, replicas: int = 6, *, is_recreate: bool = False) -> GridCell:
    stuck_here = unavailable == 0
    return GridCell(
        max_surge=surge,
        max_unavailable=unavailable,
        verdict=Verdict.STUCK if stuck_here else Verdict.COMPLETES,
        reason=Reason.HOLD_AND_WAIT if stuck_here else Reason.NONE,
        peak_gpus=6,
        peak_pods=replicas + surge,
        lowest_ready=replicas - unavailable,
        ticks=12,
        seconds=0 if stuck_here else 540 / unavailable,
        is_valid=(surge, unavailable) != (0, 0),
        is_current=(surge, unavailable) == (2, 0),
        is_recreate=is_recreate,
    )


def grid(replicas: int = 6) -> StrategyGrid:
    steps = tuple(range(replicas + 1))
    return StrategyGrid(
        workload=WORKER,
        surges=steps,
        unavailables=steps,
        cells=tuple(tuple(cell(surge, unavailable, replicas) for unavailable in steps) for surge in steps),
        recreate=cell(0, replicas, replicas, is_recreate=True),
        sentence=Text("42 of 48 strategies complete; every one with maxUnavailable 0 is stuck."),
    )


GPUS = (
    GpuModelLine(model="nvidia-tesla-t4", resource=GPU, node_count=9, allocatable=9, requested=7, free=2, pending=1),
    GpuModelLine(model="nvidia-l4", resource=GPU, node_count=8, allocatable=8, requested=7, free=1, pending=0),
    GpuModelLine(model="nvidia-a100-80gb", resource=GPU, node_count=2, allocatable=8, requested=8, free=0, pending=4),
)


def node(name: str, *holders: str, cordoned: bool = False, pool: str = "gpu-t4", zone: str = "a") -> NodeSeats:
    return NodeSeats(
        node=name,
        node_pool=pool,
        zone=zone,
        model="nvidia-tesla-t4",
        is_cordoned=cordoned,
        seats=tuple(Seat(holder=holder, pod=f"{holder}-x" if holder else "") for holder in holders),
        free=FrozenMap({GPU: sum(not holder for holder in holders)}),
        could_take=() if all(holders) else ("Deployment/dev/notebook",),
        gpus=len(holders),
        gpus_free=0 if cordoned else holders.count(""),
        out_of_use="cordoned" if cordoned else "",
        gpus_out_of_use=holders.count("") if cordoned else 0,
    )


NODES = (
    node("t4-0", WORKER),
    node("t4-1", "", cordoned=True),
    node("a100-0", "Deployment/prod/llm-serve", "Deployment/prod/llm-serve", "", "", pool="gpu-a100"),
)
