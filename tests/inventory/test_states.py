"""Objects that the input has in several states: the later one counts whatever the order, and where nothing tells it nothing is known.

A folder with yesterday's dump and today's is such an input.
"""

from __future__ import annotations

import copy
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.ground.records import replace
from planner.history.anonymization import anonymised
from planner.history.snapshot_bytes import decode
from planner.history.snapshot_rows import rows_of
from planner.inventory.namespace_redaction import redacted_for
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.questions.gate import GateSettings
from planner.questions.gate import answer as gate
from planner.questions.overview import OverviewSettings
from planner.questions.overview import answer as overview
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.questions.rollout import answer as rollout
from planner.rollout.answers import Verdict
from planner.sources.cluster_argument import read_cluster
from planner.sources.store import Store
from tests.builders.objects import Item, deployment, node, pod, pod_spec, snapshot
from tests.seen import each

WORKER = "Deployment/ml/worker"


def state(item: Item, version: object = None, generation: int | None = None, **metadata: Any) -> Item:
    """The object as of a resourceVersion and a generation."""
    made = copy.deepcopy(item)
    more = {"resourceVersion": version, "generation": generation}
    made["metadata"] |= {name: one for name, one in more.items() if one is not None} | metadata
    return made


def as_texts(*items: Item) -> Snapshot:
    """As they are read from a file: each object a text."""
    return build_snapshot([Part(items=[json.dumps(one).encode() for one in items])], source="objects")


def on(name: str) -> Item:
    return pod("app-1", pod_spec(gpus=1), on=name)


@pytest.mark.parametrize("read_them", [snapshot, as_texts])
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (state(on("a"), "99"), state(on("b"), "100")),  # as numbers, not as texts
        (on("a"), state(on("b"), "1")),
    ],
    ids=["both say it", "one says it"],
)
def test_the_higher_resource_version_counts_in_whichever_order(read_them: Any, older: Item, newer: Item) -> None:
    for items in permutations((older, newer)):
        found = read_them(*items)
        assert [one.node_name for one in found.pods] == ["b"]
        assert found.reading.contradicted == ()
        [problem] = found.problems
        assert problem.code == "duplicate-object"
        assert "higher resourceVersion or generation is used" in problem.what


def worker(gpus: int, **metadata: Any) -> list[Item]:
    """A Deployment that asks for so many GPUs a pod, and its pod, which has one."""
    made, *others = deployment("worker", ["gpu-0"], pod_spec(gpus=1))
    made = state(made, **metadata)
    made["spec"]["template"]["spec"] = pod_spec(gpus=gpus)
    return [made, *others]


def test_the_generation_tells_where_resource_versions_do_not() -> None:
    one, two = worker(1, generation=2)[0], worker(4, generation=3)[0]
    for items in permutations((one, two)):
        found = snapshot(*items)
        assert found.reading.contradicted == ()
        [kept] = found.workloads
        assert kept.template.spec.containers[0].requests["nvidia.com/gpu"] == 4


def test_of_two_that_are_alike_the_latest_of_three_decides() -> None:
    states = (state(on("a"), "1"), state(on("b"), "1"), state(on("c"), "2"))
    for items in permutations(states):
        found = snapshot(*items)
        assert ([one.node_name for one in found.pods], found.reading.contradicted) == (["c"], ())
    for items in permutations((state(on("a"), "2"), state(on("b"), "2"), state(on("c"), "1"))):
        assert snapshot(*items).reading.contradicted == (("Pod", "ml", "app-1"),)


def test_what_nothing_tells_apart_is_the_same_in_whichever_order() -> None:
    for versions in ((None, None), ("7", "7"), ("opaque", "other")):
        given = (state(on("a"), versions[0]), state(on("b"), versions[1]))
        one, two = (snapshot(*items) for items in permutations(given))
        assert one.pods == two.pods
        assert one.reading.contradicted == two.reading.contradicted == (("Pod", "ml", "app-1"),)
        [problem] = one.problems
        assert "neither resourceVersion nor generation tells" in problem.what


def test_a_volumes_claim_is_written_with_a_version_of_another() -> None:
    volume: Item = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
                    "spec": {"capacity": {"storage": "1Gi"}, "claimRef": {"name": "c", "namespace": "ml", "resourceVersion": "9"}}}  # fmt: skip
    larger = copy.deepcopy(volume)
    larger["spec"]["capacity"]["storage"] = "2Gi"
    larger["spec"]["claimRef"]["resourceVersion"] = "10"
    assert as_texts(volume, larger).reading.contradicted == (("PersistentVolume", "", "v"),)


def test_which_of_two_keeps_their_uid_does_not_hang_on_the_order() -> None:
    one, two = on("a"), state(on("b"), uid=on("a")["metadata"].get("uid", "u"))
    two["metadata"]["name"] = "app-2"
    one["metadata"]["uid"] = two["metadata"]["uid"] = "u"
    uids = [{each.name: each.uid for each in snapshot(*items).pods} for items in permutations((one, two))]
    assert uids[0] == uids[1]
    assert uids[0]["app-1"] == "u" != uids[0]["app-2"]


def verdicts(found: Snapshot) -> tuple[Verdict, Verdict, Verdict]:
    """Of the worker's restart, at three doors."""
    [listed] = [
        one.verdict for one in overview(found, OverviewSettings(), Inputs()).workloads if one.workload == WORKER
    ]
    own = rollout(found, RolloutSettings(workloads=(WORKER,)))
    change = found.workload(WORKER)
    assert change is not None
    manifest = yaml.safe_dump(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "worker", "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "worker"}},
                "template": {"metadata": {"labels": {"app": "worker"}}, "spec": pod_spec(gpus=2)},
            },
        }
    )
    [judged] = gate(found, GateSettings(manifest=manifest)).workloads
    return listed, own.verdict, judged.verdict


def test_a_workload_in_two_states_is_not_known_at_any_door() -> None:
    nodes = [node("gpu-0", gpus=2), node("gpu-1", gpus=2)]
    small, large = worker(1)[0], worker(9)[0]
    for items in permutations((small, large)):
        found = snapshot(*nodes, *items, *worker(1)[1:])
        assert verdicts(found) == (Verdict.UNKNOWN,) * 3
        own = rollout(found, RolloutSettings(workloads=(WORKER,)))
        assert str(own.sentence).startswith(
            "not known: the input holds Deployment ml/worker in several states, and nothing tells the latest"
        )
    told = snapshot(*nodes, state(large, "1"), state(small, "2"), *worker(1)[1:])
    assert verdicts(told) == (Verdict.COMPLETES,) * 3


@pytest.mark.parametrize(
    ("twice", "verdict"),
    [
        ((on("gpu-0"), on("gpu-1")), Verdict.UNKNOWN),  # whose room it holds is everybody's
        ((node("other", gpus=1), node("other", gpus=2)), Verdict.UNKNOWN),
        (
            deployment("else", ["gpu-1"], pod_spec())[:1] + deployment("else", ["gpu-1"], pod_spec(cpu="2"))[:1],
            Verdict.COMPLETES,
        ),
    ],
    ids=["a pod", "a node", "another workload"],
)
def test_what_else_a_rollout_hangs_on(twice: tuple[Item, ...], verdict: Verdict) -> None:
    found = snapshot(node("gpu-0", gpus=4), node("gpu-1", gpus=4), *worker(1), *twice)
    assert rollout(found, RolloutSettings(workloads=(WORKER,))).verdict is verdict


def test_who_may_not_see_a_namespace_is_not_told_its_names() -> None:
    found = snapshot(node("gpu-0", gpus=4), *worker(1), *(state(on(name), namespace="hidden") for name in ("a", "b")))
    seen = redacted_for(found, lambda namespace: namespace != "hidden")
    said = str(rollout(seen, RolloutSettings(workloads=(WORKER,))).sentence)
    assert "the input holds a Pod in several states" in said
    assert "app-1" not in said


def test_a_folder_of_two_days_is_answered_by_the_later(tmp_path: Path) -> None:
    """By whichever name the files are read first."""
    days = {
        "yesterday": [node("gpu-0", gpus=1), state(worker(9)[0], "10"), *worker(1)[1:]],
        "today": [node("gpu-0", gpus=2), state(worker(1)[0], "20"), *worker(1)[1:]],
    }
    days["yesterday"][0]["metadata"]["resourceVersion"], days["today"][0]["metadata"]["resourceVersion"] = "10", "20"
    for order in each(permutations(days)):
        folder = tmp_path / "-".join(order)
        folder.mkdir()
        for number, day in enumerate(order):
            (folder / f"{number}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": days[day]}))
        found = read_cluster(str(folder))
        assert rollout(found, RolloutSettings(workloads=(WORKER,))).verdict is Verdict.COMPLETES


@pytest.mark.parametrize("is_told", [False, True])
def test_a_store_keeps_that_nothing_tells_the_latest(is_told: bool, tmp_path: Path) -> None:
    """As a CLUSTER, in its tables, and with every name replaced; where a version tells, nothing is doubted."""
    nodes, (small, *rest) = [node("gpu-0", gpus=2)], worker(1)
    pair = (state(worker(9)[0], "1"), state(small, "2")) if is_told else (worker(9)[0], small)
    found, store = replace(snapshot(*nodes, *pair, *rest), taken_at=1_800_000_000.0), Store(str(tmp_path))
    store.write("edu", found, rows_of(found, (), written_by="test"))
    read = read_cluster(f"store:{tmp_path}#edu")
    assert verdicts(read) == verdicts(found)
    assert (verdicts(read)[0] is Verdict.UNKNOWN) is not is_told
    [row] = store.query("SELECT lacking FROM snapshots")
    assert ("Deployment" in str(row["lacking"]).split(",")) is not is_told
    hidden = decode(anonymised(found).content, "anonymous")
    named = tuple((one.kind, one.namespace, one.name) for one in hidden.workloads)
    assert hidden.reading.contradicted == (() if is_told else named)
