from planner.health.memory.kubelet import KubeletSettings, SwapBehavior
from planner.health.memory.node_memory import cluster_memory
from planner.health.memory.risks import risks
from planner.inventory.cadvisor import ContainerMemoryStats, NodeMemoryStats
from planner.kubernetes.object_records import Finding, Pod, PodMetrics, Severity
from tests.builders.records import amounts
from tests.memory.objects import (
    GIB,
    container,
    metrics,
    node,
    pod,
    snapshot,
    stateful_set_owner,
)

GPU_NODE = node(nvidia_com_gpu="1")


def found(
    *pairs: tuple[Pod, PodMetrics], settings: KubeletSettings | None = None, gpu: bool = False
) -> dict[str, Finding]:
    pods, seen = [one for one, _ in pairs], [used for _, used in pairs]
    cluster = cluster_memory(snapshot([GPU_NODE if gpu else node()], pods, seen), settings or KubeletSettings())
    return {one.code: one for one in risks(cluster)}


def using(one: Pod, **used: str | tuple[str, int]) -> tuple[Pod, PodMetrics]:
    return one, metrics(one, **used)


def test_nothing_risky_gives_nothing() -> None:
    assert found(using(pod("a", container("main", "1Gi", "1Gi")), main="512Mi")) == {}


def test_best_effort_on_a_gpu_node() -> None:
    pair = using(pod("a"), main="1Gi")
    finding = found(pair, gpu=True)["memory-best-effort-on-gpu-node"]
    assert finding.object == "Pod/dev/a"
    assert "1 pod of class BestEffort on 1 GPU node" in finding.what
    assert finding.fix
    assert "memory-best-effort-on-gpu-node" not in found(pair)


def test_evicted_first_though_within_its_limit() -> None:
    finding = found(using(pod("a", container("main", "1Gi", "4Gi")), main="2Gi"))["memory-evicted-first-within-limit"]
    assert finding.severity is Severity.WARNING
    assert "use up to 2 GiB with a request of 1Gi (limit 4Gi)" in finding.what
    no_limit = found(using(pod("a", container("main", "1Gi")), main="2Gi"))["memory-evicted-first-within-limit"]
    assert "(no limit)" in no_limit.what
    for harmless in (
        using(pod("a", container("main", "3Gi", "4Gi")), main="3500Mi"),  # the limit isn't far over the request
        using(pod("a", container("main", "1Gi", "4Gi")), main="1Gi"),  # at its request
        using(pod("a", container("main", "1Gi", "4Gi"), priority=2_000_000_000), main="2Gi"),  # never evicted
    ):
        assert "memory-evicted-first-within-limit" not in found(harmless)


def test_near_its_limit_at_nine_tenths() -> None:
    limited = pod("a", container("main", "1000Mi", "1000Mi"))
    assert "memory-near-limit" in found(using(limited, main="900Mi"))
    assert "(90%)" in found(using(limited, main="900Mi"))["memory-near-limit"].what
    assert "memory-near-limit" not in found(using(limited, main="899Mi"))


def test_pods_of_a_workload_are_one_finding() -> None:
    owner = stateful_set_owner("db")
    pods = [pod(f"db-{index}", container("main", "1Gi", "1Gi"), owner=owner) for index in range(3)]
    answer = found(using(pods[0], main="1000Mi"), using(pods[1], main="1010Mi"), using(pods[2], main="100Mi"))
    assert answer["memory-near-limit"].object == "StatefulSet/dev/db"
    assert answer["memory-near-limit"].what.startswith("2 of 3 pods of container main")


def test_priority_does_not_protect_from_the_own_limit() -> None:
    important = pod("a", container("main", "1Gi", "2Gi"), priority=1000)
    assert "uses 1 GiB of 2Gi" in found(using(important, main="1Gi"))["memory-priority-does-not-protect"].what
    unlimited = pod("a", container("main", "1Gi"), priority=1000)
    assert "memory-priority-does-not-protect" not in found(using(unlimited, main="1Gi"))
    unknown = found((important, metrics(pod("other"))))["memory-priority-does-not-protect"]
    assert "use unknown" in unknown.what


def test_cold_memory_without_swap() -> None:
    idle = using(pod("a", container("main", "2Gi", "4Gi")), main=("1Gi", 2))
    assert "at 2m CPU or less" in found(idle)["memory-cold-without-swap"].what
    swap = KubeletSettings(swap_behavior=SwapBehavior.LIMITED_SWAP, swap_bytes=8 * GIB)
    assert "memory-cold-without-swap" not in found(idle, settings=swap)
    busy = using(pod("a", container("main", "2Gi", "4Gi")), main=("1Gi", 500))
    assert "memory-cold-without-swap" not in found(busy)
    equal = using(pod("a", container("main", "2Gi", "2Gi")), main=("1Gi", 2))
    assert "request smaller than the limit" in found(equal)["memory-cold-without-swap"].fix


def test_a_node_near_eviction() -> None:
    pair = using(pod("a", container("main", "13Gi", "20Gi")), main="13Gi")
    finding = found(pair)["memory-node-near-eviction"]
    assert finding.object == "Node/node"
    assert "evictions begin after 1 GiB more" in finding.what


def test_missing_metrics_are_said_once() -> None:
    finding = found((pod("a", container("main", "1Gi")), metrics(pod("other"))))["memory-use-unknown"]
    assert "unknown for 1 of 1 pod on nodes" in finding.what
    assert "kubectl get --raw" in finding.fix


def test_the_worst_comes_first() -> None:
    owner = stateful_set_owner("db")
    cluster = cluster_memory(
        snapshot(
            [node()],
            [
                pod("db-0", container("main", "1Gi", "1Gi"), owner=owner, priority=5),
                pod("new", pod_requests=amounts({})),
            ],
            [metrics(pod("db-0"), main="1Gi")],
        ),
        KubeletSettings(),
    )
    severities = [one.severity for one in risks(cluster)]
    assert severities == sorted(severities, key=[Severity.ERROR, Severity.WARNING, Severity.INFO].index)
    assert severities[0] is Severity.WARNING


def test_file_cache_is_not_cold_memory() -> None:
    one = pod("a", container("main", "2Gi", "4Gi"))
    stats = NodeMemoryStats(
        working_set_bytes=None,
        containers=(
            ContainerMemoryStats(namespace="dev", pod="a", container="main", anonymous_bytes=100, cache_bytes=GIB),
        ),
    )
    cluster = cluster_memory(snapshot([node()], [one], [metrics(one, main=("1Gi", 2))]), KubeletSettings(), (stats,))
    assert risks(cluster) == ()
