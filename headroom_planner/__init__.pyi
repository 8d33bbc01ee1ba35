# Made by `make docs` from the index of questions and their settings.
"""Headroom for who writes Python: docs/python.md."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from planner.cli.python_api import Answer as Answer
from planner.cli.python_api import Cluster as Cluster
from planner.cli.python_api import ask as ask
from planner.cli.python_api import read as read
from planner.ground.errors import HeadroomError as HeadroomError
from planner.ground.errors import NotKnownError as NotKnownError

def main(argv: list[str] | None = None) -> None: ...
def kubectl_plugin() -> None: ...

def rollout(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: Iterable[str] | str = ...,
    after_seconds: float | None = ...,
    also: Iterable[str] | str = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
    patch: str | Path | None = ...,
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] | None = ...,
    max_surge: Any = ...,
    max_unavailable: Any = ...,
    replicas: int | None = ...,
    cpu: int | str | None = ...,
    memory: int | str | None = ...,
    gpu: int | str | None = ...,
    node_selector: Any = ...,
    scale_only: bool | None = ...,
    never_ready: bool | None = ...,
    startup_seconds: float | None = ...,
    termination_seconds: float | None = ...,
    at: Literal["today", "lowest", "highest"] | None = ...,
    seed: int | None = ...,
    runs: int | None = ...,
    then: Any = ...,
    limits: Any = ...,
    expander: Literal["least-waste", "most-pods", "least-nodes", "random"] | None = ...,
    expendable_pods_priority_cutoff: int | None = ...,
    new_pod_delay_seconds: float | None = ...,
    new_gpu_pod_delay_seconds: float | None = ...,
    scale_down_unneeded_seconds: float | None = ...,
    arrival_seconds: float | None = ...,
) -> Answer:
    """Will this rollout finish? Why not, what would help, and what if others act meanwhile?"""

def gate(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
    kubernetes_version: int | str | None = ...,
    deploy_timeout: float | str | None = ...,
    then: Any = ...,
    limits: Any = ...,
) -> Answer:
    """May this change be merged? Manifests against a policy, for pipelines."""

def report(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    limits: Any = ...,
) -> Answer:
    """The capacity review as one file: HTML that works offline, Markdown, CSV, JSON."""

def diff(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    changes: Any = ...,
) -> Answer:
    """What differs between two snapshots, or after a what-if."""

def plan(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    least_ready_percent: int | None = ...,
    most_nodes: int | None = ...,
    most_usd: float | None = ...,
    rollouts_per_month: float | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
    limits: Any = ...,
) -> Answer:
    """The smallest set of changes after which every workload can roll out, in order, with cost."""

def peak(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
) -> Answer:
    """Rollouts at their autoscaler's maximum: those that complete, those with fewer pods only."""

def overview(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
    limits: Any = ...,
) -> Answer:
    """Would each workload's rollout finish if it changed now? GPUs by model."""

def in_flight(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
) -> Answer:
    """Which rollouts are under way, since when; which make no progress."""

def review(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
) -> Answer:
    """Look back: past rollouts, which hung, how long, why, and how it ended."""

def strategies(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: Iterable[str] | str = ...,
    after_seconds: float | None = ...,
    also: Iterable[str] | str = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
    patch: str | Path | None = ...,
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] | None = ...,
    max_surge: Any = ...,
    max_unavailable: Any = ...,
    replicas: int | None = ...,
    cpu: int | str | None = ...,
    memory: int | str | None = ...,
    gpu: int | str | None = ...,
    node_selector: Any = ...,
    scale_only: bool | None = ...,
    never_ready: bool | None = ...,
    startup_seconds: float | None = ...,
    termination_seconds: float | None = ...,
    at: Literal["today", "lowest", "highest"] | None = ...,
    seed: int | None = ...,
    runs: int | None = ...,
    then: Any = ...,
    limits: Any = ...,
    expander: Literal["least-waste", "most-pods", "least-nodes", "random"] | None = ...,
    expendable_pods_priority_cutoff: int | None = ...,
    new_pod_delay_seconds: float | None = ...,
    new_gpu_pod_delay_seconds: float | None = ...,
    scale_down_unneeded_seconds: float | None = ...,
    arrival_seconds: float | None = ...,
    availability: int | None = ...,
    evictions: int | None = ...,
    time: int | None = ...,
    extra_gpus: int | None = ...,
    money: int | None = ...,
) -> Answer:
    """The update strategies that no other beats, and the recommended one."""

def strategy_costs(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: Iterable[str] | str = ...,
    after_seconds: float | None = ...,
    also: Iterable[str] | str = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
    patch: str | Path | None = ...,
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] | None = ...,
    max_surge: Any = ...,
    max_unavailable: Any = ...,
    replicas: int | None = ...,
    cpu: int | str | None = ...,
    memory: int | str | None = ...,
    gpu: int | str | None = ...,
    node_selector: Any = ...,
    scale_only: bool | None = ...,
    never_ready: bool | None = ...,
    startup_seconds: float | None = ...,
    termination_seconds: float | None = ...,
    at: Literal["today", "lowest", "highest"] | None = ...,
    seed: int | None = ...,
    runs: int | None = ...,
    then: Any = ...,
    limits: Any = ...,
    expander: Literal["least-waste", "most-pods", "least-nodes", "random"] | None = ...,
    expendable_pods_priority_cutoff: int | None = ...,
    new_pod_delay_seconds: float | None = ...,
    new_gpu_pod_delay_seconds: float | None = ...,
    scale_down_unneeded_seconds: float | None = ...,
    arrival_seconds: float | None = ...,
    rollouts_per_month: float | None = ...,
    node_start_seconds: float | None = ...,
    scale_down_seconds: float | None = ...,
    on_demand_usd_per_gpu_hour: float | None = ...,
    spot_usd_per_gpu_hour: float | None = ...,
    usd_per_pod_hour: float | None = ...,
) -> Answer:
    """What each strategy costs a month in spare GPUs."""

def certificate(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: Iterable[str] | str = ...,
    after_seconds: float | None = ...,
    also: Iterable[str] | str = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
    patch: str | Path | None = ...,
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] | None = ...,
    max_surge: Any = ...,
    max_unavailable: Any = ...,
    replicas: int | None = ...,
    cpu: int | str | None = ...,
    memory: int | str | None = ...,
    gpu: int | str | None = ...,
    node_selector: Any = ...,
    scale_only: bool | None = ...,
    never_ready: bool | None = ...,
    startup_seconds: float | None = ...,
    termination_seconds: float | None = ...,
    at: Literal["today", "lowest", "highest"] | None = ...,
    seed: int | None = ...,
    runs: int | None = ...,
    then: Any = ...,
    limits: Any = ...,
    expander: Literal["least-waste", "most-pods", "least-nodes", "random"] | None = ...,
    expendable_pods_priority_cutoff: int | None = ...,
    new_pod_delay_seconds: float | None = ...,
    new_gpu_pod_delay_seconds: float | None = ...,
    scale_down_unneeded_seconds: float | None = ...,
    arrival_seconds: float | None = ...,
    levers: str | None = ...,
) -> Answer:
    """All plans within the given levers that no other beats, or the proof of none."""

def capacity(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    shape: Iterable[str] | str = ...,
    limits: Any = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """Free capacity: what still fits, where, and what is stranded."""

def seats(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """Each GPU of each node: the pod on it, or the workload with a next pod for it."""

def queues(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    changes: Any = ...,
) -> Answer:
    """Kueue: why each workload is pending, what would admit it, and the effect of moving quota."""

def what_if(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    changes: Any = ...,
    shape: str | None = ...,
    rollouts: bool | None = ...,
    limits: Any = ...,
) -> Answer:
    """The same answers after nodes are added, drained, lost, upgraded or tainted."""

def make_room(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: str | None = ...,
    shape: str | None = ...,
    until: str | None = ...,
    count: int | None = ...,
    least: Literal["moves", "minutes", "cost"] | None = ...,
    checkpoint_minutes: int | None = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
) -> Answer:
    """Which pods must move so that pending pods can start."""

def survive(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    label: str | None = ...,
    upgrades: bool | None = ...,
) -> Answer:
    """What breaks if a node, zone or rack fails, and the spare capacity that prevents it."""

def costs(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    by: str | None = ...,
    count_usage: bool | None = ...,
    share_idle: bool | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """What the cluster costs a month, by pool, and what of it is idle."""

def idle(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    busy_percent: float | None = ...,
    idle_minutes: float | None = ...,
) -> Answer:
    """GPUs that pods reserve but don't use: owner, since when, cost."""

def savings(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: str | None = ...,
    nodes: int | None = ...,
    gpus_per_node: int | None = ...,
    base_nodes: int | None = ...,
    needed_nodes: int | None = ...,
    committed_nodes: int | None = ...,
    on_demand_usd_per_hour: float | None = ...,
    stand_in_usd_per_hour: float | None = ...,
    spot_usd_per_hour: float | None = ...,
    committed_usd_per_hour: float | None = ...,
    committed_3y_usd_per_hour: float | None = ...,
    flex_start_usd_per_hour: float | None = ...,
    hours_per_month: float | None = ...,
    hazard_low_per_hour: float | None = ...,
    hazard_likely_per_hour: float | None = ...,
    hazard_high_per_hour: float | None = ...,
    zones: int | None = ...,
    zone_losses_per_month: float | None = ...,
    stock_out_hours: float | None = ...,
    availability: float | None = ...,
    node_start_seconds: float | None = ...,
    pod_start_seconds: float | None = ...,
    window_seconds: float | None = ...,
    job_minutes: float | None = ...,
    checkpoint_minutes: float | None = ...,
    checkpoint_seconds: float | None = ...,
    late_factor: float | None = ...,
    retries: int | None = ...,
    request_seconds: float | None = ...,
    runs: int | None = ...,
    seed: int | None = ...,
    work: Literal["jobs", "serving"] | None = ...,
    capacity: Literal["spot", "preemptible"] | None = ...,
    goes_together: bool | None = ...,
    works_as_gang: bool | None = ...,
    fallback: Literal["wait", "on-demand"] | None = ...,
    saves_on_notice: bool | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """Is a workload fit for spot, and what would it really save?"""

def memory(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    node: str | None = ...,
    memory_qos: bool | None = ...,
    reservation: Literal["None", "TieredReservation"] | None = ...,
    throttling_factor: float | None = ...,
    swap_behavior: Literal["NoSwap", "LimitedSwap"] | None = ...,
    swap: int | str | None = ...,
    hard: Any = ...,
    soft: Any = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """Which pods are evicted or OOM-killed first, their cgroup settings, and the effect of a change."""

def memory_what_if(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: str | None = ...,
    container: str | None = ...,
    request: int | str | None = ...,
    limit: int | str | None = ...,
    equal_cpu: bool | None = ...,
    memory_qos: bool | None = ...,
    reservation: Literal["None", "TieredReservation"] | None = ...,
    throttling_factor: float | None = ...,
    swap_behavior: Literal["NoSwap", "LimitedSwap"] | None = ...,
    swap: int | str | None = ...,
    hard: Any = ...,
    soft: Any = ...,
) -> Answer:
    """What another memory request or limit of one container would change."""

def restarts(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    cures: int | None = ...,
    workload: str | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """Pods that restart or don't start: cause, noise, and the fix."""

def drift(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    service: Iterable[str] | str = ...,
    match: Literal["auto", "name", "app.kubernetes.io/name", "app", "image", "label"] | None = ...,
    match_label: str | None = ...,
    environment_words: Iterable[str] | str = ...,
    same: Iterable[str] | str = ...,
    reference: str | None = ...,
    between: Iterable[str] | str = ...,
    system: bool | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """The same service in several namespaces or clusters, side by side."""

def findings(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    search: str | None = ...,
    namespace: Iterable[str] | str = ...,
    label: str | None = ...,
    verdict: Iterable[Literal["completes", "stuck", "needs_growth", "evictions_by_queue", "unknown"]] | str = ...,
    pool: Iterable[str] | str = ...,
) -> Answer:
    """What is worth a person's attention, from every room that looks for it."""

def doctor(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
) -> Answer:
    """What can be read, what is missing, what that costs, and the rights to add."""

def fleet(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
) -> Answer:
    """Several clusters side by side: GPUs by model, what is stuck, the same workload."""

def where(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    shape: str | None = ...,
    replicas: int | None = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
) -> Answer:
    """Where would this fit? A shape or a manifest against several clusters."""

def trends(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    time_zone: str | None = ...,
    lead_days: int | None = ...,
) -> Answer:
    """GPUs, cost and verdicts over time; since when, and when GPUs are full."""

def commitments(
    cluster: Cluster,
    *,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    fall: float | None = ...,
) -> Answer:
    """What 1- and 3-year commitments would have saved, and what they risk."""

def grid(
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = ...,
    discounts: Iterable[str] = ...,
    node_pools: Iterable[str | Path] = ...,
    others: Iterable[Cluster] = ...,
    store: str = ...,
    now: float | None = ...,
    workload: Iterable[str] | str = ...,
    after_seconds: float | None = ...,
    also: Iterable[str] | str = ...,
    manifest: str | Path | None = ...,
    manifest_namespace: str | None = ...,
    patch: str | Path | None = ...,
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] | None = ...,
    max_surge: Any = ...,
    max_unavailable: Any = ...,
    replicas: int | None = ...,
    cpu: int | str | None = ...,
    memory: int | str | None = ...,
    gpu: int | str | None = ...,
    node_selector: Any = ...,
    scale_only: bool | None = ...,
    never_ready: bool | None = ...,
    startup_seconds: float | None = ...,
    termination_seconds: float | None = ...,
    at: Literal["today", "lowest", "highest"] | None = ...,
    seed: int | None = ...,
    runs: int | None = ...,
    then: Any = ...,
    limits: Any = ...,
    expander: Literal["least-waste", "most-pods", "least-nodes", "random"] | None = ...,
    expendable_pods_priority_cutoff: int | None = ...,
    new_pod_delay_seconds: float | None = ...,
    new_gpu_pod_delay_seconds: float | None = ...,
    scale_down_unneeded_seconds: float | None = ...,
    arrival_seconds: float | None = ...,
    availability: int | None = ...,
    evictions: int | None = ...,
    time: int | None = ...,
    extra_gpus: int | None = ...,
    money: int | None = ...,
) -> Answer:
    """The update strategies that no other beats, and the recommended one."""
