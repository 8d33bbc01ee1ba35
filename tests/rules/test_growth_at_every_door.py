"""Clusters whose pools may grow: every door says of a workload what ``headroom rollout`` says of it."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.rollout_readiness import on_todays_nodes
from planner.cli import main
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, overview, rollout
from planner.questions.question import Inputs
from planner.rollout.answers import Verdict
from planner.serve.admission_review import Silence, read_request, review
from planner.serve.cluster_metrics import cluster_metrics
from planner.sources import node_pool_files
from tests.builders import eks
from tests.builders.objects import Item, deployment, node, pod_spec, read_items, snapshot
from tests.conformance.rollout_cases import WHOLE_LISTS

RECORDED: Final = Path(__file__).parents[1] / "conformance" / "growth"
TAKEN_AT: Final = 1_790_000_000.0
SURGE: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def read(value: Any) -> tuple[PoolLimits, ...]:
    return node_pool_files.read_bytes(json.dumps(value).encode(), name="pools.json")


def of_recording(name: str) -> tuple[list[Item], Snapshot, tuple[PoolLimits, ...]]:
    case = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))
    items = case["cluster"]["items"]
    found = build_snapshot([Part(items=items, listed=WHOLE_LISTS)], source=name)
    files = [one for one in (case["node_pools"], case.get("instance_types")) if one]
    return items, found, node_pool_files.stated(found, tuple(limit for one in files for limit in read(one)))


def alike() -> list[Item]:
    """Four that differ in nothing but their namespaces, which have one answer."""
    found = [node(f"n{i}", pool="t4", gpus=1) for i in range(4)]
    for i in range(4):
        text = json.dumps(deployment("a", [f"n{i}"], pod_spec(gpus=1), namespace=f"ml-{i}", **SURGE))
        found += json.loads(text.replace('"uid": "', f'"uid": "{i}-'))
    return found


def karpenters(*, keeps: int | None = None, claim: Item | None = None, gpus: int = 1, **changes: Any) -> list[Item]:
    """One GPU node of Karpenter's, full, in a NodePool that keeps `keeps` nodes, and may have no more else; `claim`: a NodeClaim's status."""
    own = {"karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": "g4dn.xlarge"}
    taints = [{"key": "team", "value": "blue", "effect": "NoSchedule"}] if changes.get("is_tainted") else []
    wanted = {
        "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g4dn.xlarge"]}],
        "taints": taints,
    }
    spec = {"template": {"spec": wanted}, **({"limits": {"nodes": "1"}} if keeps is None else {"replicas": keeps})}
    of = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}
    found: list[Item] = [node("n0", labels=own, gpus=1, zone="a"), of]
    if claim is not None:
        metadata: Item = {
            "name": "gpu-x7k2p",
            "labels": {"karpenter.sh/nodepool": "gpu"},
            **changes.get("metadata", {}),
        }
        found.append({**of, "kind": "NodeClaim", "metadata": metadata, "spec": wanted, "status": claim})
    pods = pod_spec(gpus=gpus, **({"priority": changes["priority"]} if "priority" in changes else {}))
    return [*found, *deployment("a", ["n0"], pods, **SURGE)]


def status(*are_true: str, gpus: int = 1, **more: Any) -> Item:
    """A NodeClaim's, launched two minutes before the snapshot."""
    has = {"cpu": "8", "memory": "32Gi", "pods": "50", "nvidia.com/gpu": str(gpus)}
    at = datetime.fromtimestamp(TAKEN_AT - 120, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [{"type": one, "status": "True", "lastTransitionTime": at} for one in are_true]
    return {
        "conditions": conditions,
        **({"capacity": has, "allocatable": has} if "Launched" in are_true else {}),
        **more,
    }


def sliced(items: list[Item]) -> list[Item]:
    """The same where nodes that are there have slices of a GPU, and pods ask for one."""
    is_coming = [one["kind"] in ("NodePool", "NodeClaim") for one in items]
    cut = json.loads(json.dumps(items).replace('nvidia.com/gpu"', 'nvidia.com/mig-1g.5gb"'))
    return [one if comes else other for comes, one, other in zip(is_coming, items, cut, strict=True)]


LAUNCHED: Final = "1 node of pool gpu is on its way (NodeClaim gpu-x7k2p, launched 2 min ago)"
COMING: Final[dict[str, tuple[list[Item], Verdict, str]]] = {
    "one of Karpenter's": (karpenters(), Verdict.STUCK, ""),
    "static, all there": (karpenters(keeps=1), Verdict.STUCK, ""),
    "static, one to come": (
        karpenters(keeps=2), Verdict.UNKNOWN, "NodePool gpu keeps 2 nodes and has 1: what the one still to come has isn't known"
    ),
    "static, tainted": (karpenters(keeps=3, is_tainted=True), Verdict.STUCK, ""),
    "static, expendable": (karpenters(keeps=3, priority=-50), Verdict.UNKNOWN, "what the 2 still to come have isn't known"),
    "claim": (karpenters(claim=status("Launched")), Verdict.UNKNOWN, LAUNCHED),
    "claim, expendable": (karpenters(claim=status("Launched"), priority=-50), Verdict.UNKNOWN, LAUNCHED),
    "claim of a static": (karpenters(keeps=2, claim=status("Launched")), Verdict.UNKNOWN, LAUNCHED),
    "claim, registered": (karpenters(claim=status("Launched", "Registered", nodeName="n0")), Verdict.UNKNOWN, LAUNCHED),
    "claim, initialized": (
        karpenters(claim=status("Launched", "Registered", "Initialized", nodeName="n0")), Verdict.STUCK, ""
    ),
    "claim without room": (karpenters(claim=status("Launched", gpus=0)), Verdict.STUCK, ""),
    "claim, half told": (
        karpenters(claim=status("Launched", allocatable={"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"})), Verdict.UNKNOWN, LAUNCHED
    ),
    "claim, to be cut up": (sliced(karpenters(claim=status("Launched"))), Verdict.UNKNOWN, LAUNCHED),
    "claim of a machine without GPUs": (
        karpenters(claim=status("Launched", allocatable={"cpu": "8", "memory": "32Gi"})), Verdict.STUCK, ""
    ),
    "claim, not launched": (karpenters(claim=status()), Verdict.UNKNOWN, "(NodeClaim gpu-x7k2p, not launched)"),
    "claim, tainted": (karpenters(claim=status("Launched"), is_tainted=True), Verdict.STUCK, ""),
    "claim, not launched and tainted": (karpenters(claim=status(), is_tainted=True), Verdict.STUCK, ""),
    "claim that goes": (
        karpenters(claim=status("Launched"), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), Verdict.STUCK, ""
    ),
}  # fmt: skip
"""Nodes that are on their way: what each door says, and with which words."""


def cluster(name: str) -> tuple[list[Item], Snapshot, tuple[PoolLimits, ...]]:
    if name == "eks":
        return eks.items(), eks.snapshot(), ()
    if name == "eks with instance types":
        return eks.items(), eks.snapshot(), read(eks.instance_types())
    if name in COMING:
        return COMING[name][0], read_items(COMING[name][0], taken_at=TAKEN_AT), ()
    if name.startswith("alike"):
        return alike(), snapshot(alike()), parse_typed_limits(name.removeprefix("alike ")) if " " in name else ()
    return of_recording(name)


EVERY: Final = sorted(one.name.removesuffix(".json.gz") for one in RECORDED.glob("*.json.gz"))
NAMES: Final = [
    "eks",
    "eks with instance types",
    "alike",
    "alike t4=8",
    "alike t4=4",
    "alike other=9",
    *COMING,
    *EVERY[::6],
]


def changed(items: list[Item], key: str) -> tuple[Item, Item]:
    kind, namespace, name = key.split("/")
    there = next(
        one for one in items
        if (one["kind"], one["metadata"].get("namespace", "default"), one["metadata"]["name"]) == (kind, namespace, name)
    )  # fmt: skip
    there = {"apiVersion": "apps/v1", **there}
    other = copy.deepcopy(there)
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "app:another"
    return there, other


def at_webhook(found: Snapshot, there: Item, other: Item, limits: tuple[PoolLimits, ...]) -> set[Verdict]:
    request = {
        "uid": "1", "operation": "UPDATE", "namespace": other["metadata"].get("namespace", "default"), "name": other["metadata"]["name"],
        "object": other, "oldObject": there, "resource": {"group": "apps", "version": "v1", "resource": f"{other['kind'].lower()}s"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    said = review(found, read_request(body.encode()), growable_pools(found, limits), now=found.taken_at)
    if said.is_stuck:
        return {Verdict.STUCK}
    if said.silence is Silence.NOT_KNOWN:
        return {Verdict.UNKNOWN}
    return {Verdict.NEEDS_GROWTH} if said.warning else {Verdict.NEEDS_GROWTH, Verdict.COMPLETES}


@pytest.mark.parametrize("name", NAMES)
def test_every_door_says_the_same(name: str) -> None:
    items, found, limits = cluster(name)
    given = Inputs(limits=limits, now=found.taken_at)
    listed = overview.answer(found, overview.OverviewSettings(), given)
    for line in listed.workloads:
        asked = rollout.RolloutSettings(workloads=(line.workload,), runs=1)
        one = rollout.answer(found, asked, given)
        assert line.verdict is one.verdict, (line.workload, line.sentence, one.sentence)
        assert line.is_growth_automatic is one.is_growth_automatic, line.workload
        there, other = changed(items, line.workload)
        gated = gate.answer(found, gate.GateSettings(manifest=yaml.safe_dump(other)), given)
        assert [part.verdict for part in gated.workloads] == [line.verdict]
        assert line.verdict in at_webhook(found, there, other, limits)
    counted = Counter(line.verdict for line in listed.workloads)
    families = {one.name: dict(one.samples) for one in cluster_metrics(found, given).families}
    assert {Verdict(of): number for (of,), number in families["workloads"].items()} == {
        of: counted[of] for of in Verdict
    }
    for line in listed.workloads:
        rollable = families["workload_rollable"].get(tuple(line.workload.split("/", 2)))
        assert rollable == {
            Verdict.COMPLETES: 1.0, Verdict.STUCK: 0.0, Verdict.NEEDS_GROWTH: float(line.is_growth_automatic), Verdict.UNKNOWN: None,
        }[line.verdict]  # fmt: skip


@pytest.mark.parametrize("name", COMING)
def test_nodes_on_their_way_are_known_to_come(name: str) -> None:
    _, verdict, words = COMING[name]
    _, found, limits = cluster(name)
    said = rollout.answer(
        found,
        rollout.RolloutSettings(workloads=("Deployment/ml/a",), runs=1),
        Inputs(limits=limits, now=found.taken_at),
    )
    assert said.verdict is verdict
    assert words in str(said.sentence)
    assert ("still to come" in str(said.sentence) or "on its way" in str(said.sentence)) is bool(words)


def test_they_aren_t_all_stuck() -> None:
    """Of the clusters above some grow, some don't, and of some it isn't known: else nothing was compared."""
    seen = Counter[Verdict]()
    for name in NAMES:
        _, found, limits = cluster(name)
        lines = overview.answer(found, overview.OverviewSettings(), Inputs(limits=limits)).workloads
        today = {line.workload: line.verdict for line in on_todays_nodes(found).workloads}
        seen.update(line.verdict for line in lines if today[line.workload] is Verdict.STUCK)
    assert min(seen[one] for one in (Verdict.STUCK, Verdict.NEEDS_GROWTH)) > 3


def test_the_list_says_what_grows_and_what_does_not() -> None:
    _, found, limits = cluster("alike t4=8")
    said = overview.answer(found, overview.OverviewSettings(), Inputs(limits=limits)).sentence
    assert str(said) == "4 of 4 workloads can roll out once node pools grow."
    assert (
        str(overview.answer(found, overview.OverviewSettings(), Inputs()).sentence)
        == "4 of 4 workloads would get stuck if changed now."
    )


def test_the_command_takes_pools_with_and_without_a_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    eks.write(tmp_path)
    items = [one for one in eks.items() if one["kind"] != "NodePool"]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    pools = [
        "--node-pools",
        str(tmp_path / "nodepools.json"),
        "--instance-types",
        str(tmp_path / "instance-types.json"),
    ]
    said = []
    for command in ("overview", "rollout"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(tmp_path / "cluster.json"), *pools, "--rows", "workloads", "-o", "csv"])
        assert ended.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].count("needs_growth") == 2
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path / "cluster.json"), *pools, "--quiet", "--to", str(tmp_path / "review.md")])
    assert "2 of 7 workloads can roll out once node pools grow" in (tmp_path / "review.md").read_text()
