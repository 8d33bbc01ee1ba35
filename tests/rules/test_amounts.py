"""Numbers and shares, and what a pod asks for: wherever they are read or added up, the same."""

from __future__ import annotations

from random import Random

import pytest

from planner.capacity.capacity_answer import capacity
from planner.cli import main
from planner.ground.errors import ChangeError
from planner.ground.well_known_names import CPU, MEMORY, NVIDIA_GPU
from planner.health.memory.kubelet import KubeletSettings
from planner.health.memory.node_memory import cluster_memory
from planner.inventory import cluster_oddities
from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.object_records import Container, FrozenMap, PodSpec
from planner.kubernetes.requests import pod_request, pod_requests, requested_gpus
from planner.kubernetes.surge_and_unavailable import parse_share, rolling_limits, scaled_value
from planner.scheduling.cluster import Cluster
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.pages.visiting import said, visit
from tests.rollout.rollouts import rolling

ODD = ["²", "٣", "1.5", "-1", "25 %", "%", "1e3", "9" * 5000, "9" * 5000 + "%", "many", ""]


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:2] + text[-2:] + str(len(text)))
def test_what_is_no_share_is_refused_in_our_words_everywhere(text: str) -> None:
    with pytest.raises(ChangeError, match="neither a number nor a percentage"):
        parse_share(text)
    with pytest.raises(ChangeError):
        scaled_value(text, 4, round_up=True)
    found = snapshot(node("n0"), deployment("a", ["n0"], pod_spec()))
    with pytest.raises(ChangeError, match="maxSurge"):
        apply_change(found.workloads[0], WorkloadChange(workload=found.workloads[0].key, max_surge=text))


def test_command_and_page_refuse_a_superscript(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rollout", "demo", "-w", "deployment/prod/api", "--max-surge", "²"])
    assert ended.value.code == 1
    refused = capsys.readouterr().err
    assert '--max-surge: "²" is neither a number nor a percentage' in refused
    assert "Traceback" not in refused
    page = said(visit("rollout", workload="Deployment/prod/api", max_surge="²"))
    assert '"²" is neither a number nor a percentage' in page


@pytest.mark.parametrize("share", ["9x%", "1", -1, "٣%"])
@pytest.mark.parametrize("field", ["minAvailable", "maxUnavailable"])
def test_a_budget_that_says_no_share_is_named_before_it_is_used(field: str, share: int | str) -> None:
    """The API server refuses it (`ValidatePodDisruptionBudgetSpec`); until it is fixed it lets nobody go."""
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "prod", "name": "b"}}
    found = snapshot(node("n0"), budget | {"spec": {field: share, "selector": {"matchLabels": {"app": "nobody"}}}})
    (problem,) = [one for one in cluster_oddities.check(found) if one.code == "share-unreadable"]
    assert problem.object == "PodDisruptionBudget/prod/b"
    assert problem.what.startswith(f'spec.{field}: "{share}" is neither a number nor a percentage')
    assert "25%" in problem.fix


@pytest.mark.parametrize(("typed", "value"), [("1", 1), ("25%", "25%"), (" 3 ", 3), ("007", 7), ("05%", "5%")])
def test_what_is_one_is_read_as_the_api_holds_it(typed: str, value: int | str) -> None:
    assert parse_share(typed) == value
    assert scaled_value(parse_share(typed), 100, round_up=True) == int(str(value).rstrip("%"))


@pytest.mark.parametrize(("unavailable", "says"), [("20%", True), ("25%", False), (0, True), (1, False)])
def test_the_finding_about_surging_rounds_as_the_controller_does(unavailable: int | str, says: bool) -> None:
    """25% of 4 is a pod that may be away, 20% of 4 is none: then the finding holds."""
    nodes = [node(f"n{i}", gpus=1) for i in range(4)]
    four = deployment("a", [f"n{i}" for i in range(4)], pod_spec(gpus=1), strategy=rolling(1, unavailable))
    found = snapshot(nodes, four)
    codes = [one.code for one in cluster_oddities.check(found)]
    assert ("deployment-no-room-to-surge" in codes) is says
    assert (rolling_limits(found.workloads[0])[1] == 0) is says


# ── what a pod asks for ──────────────────────────────────────────────────────────────────────────────────────────────
def random_spec(luck: Random) -> PodSpec:
    def amounts() -> FrozenMap[int]:
        chosen = {CPU: luck.randrange(1, 900), MEMORY: luck.randrange(1, 2**30), NVIDIA_GPU: luck.randrange(3)}
        return FrozenMap({name: amount for name, amount in chosen.items() if luck.random() < 0.7})

    def containers(prefix: str, most: int, *, init: bool) -> tuple[Container, ...]:
        return tuple(
            Container(
                name=f"{prefix}{i}",
                requests=amounts(),
                restart_policy="Always" if init and luck.random() < 0.5 else None,
            )
            for i in range(luck.randrange(1 - init, most))
        )

    return PodSpec(
        containers=containers("c", 4, init=False), init_containers=containers("i", 4, init=True),
        overhead=amounts() if luck.random() < 0.3 else FrozenMap(),
        pod_requests=amounts() if luck.random() < 0.3 else None,
    )  # fmt: skip


def step_by_step(spec: PodSpec, name: str) -> int:
    """The pod's life, moment by moment: what runs at once, and the most of it."""
    running = most = 0
    for one in spec.init_containers:
        amount = one.requests.get(name, 0)
        most = max(most, running + amount)
        running += amount if one.restart_policy == "Always" else 0
    most = max(most, running + sum(one.requests.get(name, 0) for one in spec.containers))
    if spec.pod_requests is not None and name in spec.pod_requests:
        most = spec.pod_requests[name]
    return most + int(spec.overhead.get(name, 0))


def test_requests_are_the_most_that_runs_at_once() -> None:
    luck = Random(7)
    for _ in range(2_000):
        spec = random_spec(luck)
        found = pod_requests(spec)
        for name in (CPU, MEMORY, NVIDIA_GPU):
            assert found.get(name, 0) == pod_request(spec, name) == step_by_step(spec, name)
        assert requested_gpus(spec) == found.get(NVIDIA_GPU, 0)


def test_scheduler_findings_memory_and_capacity_add_up_the_same_pods() -> None:
    """Two pods fill a node by what they ask for; a finished one and one that waits hold nothing."""
    spec = pod_spec(cpu="3", memory="6Gi", gpus=1)
    items = deployment("a", ["n0", "n0", "n0", ""], spec)
    items[4]["status"] = {"phase": "Succeeded"}
    found = snapshot(node("n0", cpu="5", gpus=2), items)
    cluster = Cluster(found)
    assert sum(len(group.pods) for group in cluster.groups) == 2
    (finding,) = [one for one in cluster_oddities.check(found) if one.code == "node-overcommitted"]
    assert "more cpu than is allocatable" in finding.what
    (report,) = cluster_memory(found, KubeletSettings()).nodes
    assert report.request_bytes == 12 * 2**30
    (line,) = capacity(found).pools
    assert line.requested is not None
    assert (line.requested[CPU], line.requested[MEMORY], line.requested[NVIDIA_GPU]) == (6000, 12 * 2**30, 2)
