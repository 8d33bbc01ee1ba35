"""The other readers, each with inputs made of right ones: changed by what a field is, and by their bytes."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import yaml

from planner.ground.table_formats import as_json
from planner.history import snapshot_bytes
from planner.inventory import cadvisor
from planner.inventory.change import document_of
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.pricing.price_table_parser import read_table
from planner.questions import question_called
from planner.questions.gate import GateSettings
from planner.questions.question import Inputs, document
from planner.questions.rollout import RolloutSettings
from planner.rollout.gate_policy import read_policy
from planner.serve.admission_review import read_request, review
from planner.sources import cluster_dumps, demo, node_pool_files, pod_log_folder, prometheus_usage
from planner.sources.shipped_files import data_folder
from planner.spot.interruption import parse_lives
from tests.builders.objects import read_items
from tests.fuzz.mutations import Item, change_value, piece

Read = Callable[[random.Random], None]

_POOL: Final = {
    "name": "gpu", "locations": ["a", "b"], "autoscaling": {"enabled": True, "maxNodeCount": 3, "totalMaxNodeCount": 6, "minNodeCount": 1},
    "config": {"machineType": "g2-standard-8", "spot": True, "accelerators": [{"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}],
               "labels": {"a": "b"}, "taints": [{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}], "reservationAffinity": {"values": ["r"]}},
    "upgradeSettings": {"strategy": "BLUE_GREEN", "maxSurge": 1, "blueGreenSettings": {"nodePoolSoakDuration": "3600s", "standardRolloutPolicy": {"batchNodeCount": 1}}},
}  # fmt: skip
_KARPENTER: Final = {
    "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"},
    "spec": {"limits": {"cpu": "100", "nvidia.com/gpu": "8"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
        "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
        "taints": [{"key": "k", "effect": "NoSchedule"}]}}},
}  # fmt: skip
_STATUS: Final = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"},
    "data": {"status": "autoscalerStatus: Running\nnodeGroups:\n- name: gpu\n  health:\n    minSize: 1\n    maxSize: 4\n"},
}  # fmt: skip
_POLICY: Final = """
fail = ["stuck", "unknown"]
least_ready = "50%"
most_extra_gpus = 2
most_extra_usd_per_month = 100.5
[[exceptions]]
workload = "Deployment/prod/*"
reason = "known"
expires = "2026-12-01"
"""
_CADVISOR: Final = (
    "# HELP container_memory_working_set_bytes x\n"
    'container_memory_working_set_bytes{container="web",namespace="prod",pod="web-1"} 1.2e+08 1700000000000\n'
    'container_memory_rss{container="web",namespace="prod",pod="web-1"} 100\ncontainer_memory_working_set_bytes{id="/"} 5e9\n'
)
_LOG: Final = (
    b"==== START logs for container web of pod prod/web-1 ====\nERROR: no memory\nat x.y(z)\n"
    b"==== END logs for container web of pod prod/web-1 ====\n"
)
_BYTES: Final = (
    b"",
    b"\0",
    b"\xff",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"-",
    b"&a ",
    b"*a",
    b"<<: ",
    b"1e999",
    b"\\ud800",
)


def spoilt(data: bytes, drawn: random.Random) -> bytes:
    """`data` as it is, cut off, or with some bytes put in or taken away."""
    how = drawn.random()
    if how < 0.6 or not data:
        return data
    if how < 0.75:
        return data[: drawn.randrange(len(data))]
    for _ in range(drawn.choice((1, 1, 2, 5))):
        at = drawn.randrange(len(data) + 1)
        data = data[:at] + drawn.choice(_BYTES) + data[at + drawn.choice((0, 0, 1, 3)) :]
    return data


def changed(value: Any, drawn: random.Random) -> Any:
    """A copy with a few values changed."""
    found = [copy.deepcopy(value)]
    for _ in range(drawn.choice((1, 1, 2, 3))):
        change_value(found, drawn)
    return found[0] if found else None


def _text(value: Any, drawn: random.Random) -> str:
    """The value as JSON or YAML, perhaps spoilt."""
    is_json = drawn.random() < 0.6
    try:
        text = json.dumps(value) if is_json else yaml.safe_dump(value, sort_keys=False)
    except yaml.YAMLError:
        text = json.dumps(value)
    return spoilt(text.encode("utf-8", "surrogatepass"), drawn).decode("utf-8", "replace")


@cache
def _snapshot() -> Snapshot:
    return demo.read()


@cache
def _workloads() -> tuple[Item, ...]:
    found = json.loads(gzip.decompress((data_folder() / "demo/cluster.json.gz").read_bytes()))["items"]
    kinds = (
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "PodDisruptionBudget",
        "ResourceQuota",
        "PriorityClass",
    )
    return tuple(one for one in found if one["kind"] in kinds)


def _printed(name: str, snapshot: Snapshot, settings: Any) -> None:
    question = question_called(name)
    answer = question.answer(snapshot, settings, Inputs(now=snapshot.taken_at))
    as_json(document(question, snapshot, settings, answer)).encode()


def manifest(drawn: random.Random) -> None:
    """What ``-f`` takes: the gate's and the rollout's reading of it."""
    some = [changed(one, drawn) for one in drawn.sample(_workloads(), drawn.choice((1, 1, 2)))]
    value = some[0] if len(some) == 1 else {"apiVersion": "v1", "kind": "List", "items": some}
    text = _text(value, drawn)
    if drawn.random() < 0.5:
        _printed("rollout", _snapshot(), RolloutSettings(manifest=text, runs=1))
    else:
        _printed("gate", _snapshot(), GateSettings(manifest=text))


def patch(drawn: random.Random) -> None:
    """What ``--patch`` takes, of a workload that is there."""
    one = drawn.choice([one for one in _snapshot().workloads if one.traits.rolls_out])
    template = document_of(one)["spec"]["template"]
    spec = {
        "template": {key: template[key] for key in ("metadata", "spec") if key in template and drawn.random() < 0.8}
    }
    whole = {"metadata": {"labels": {"a": "b"}}, "spec": {**spec, "replicas": 2, "strategy": {"type": "RollingUpdate"}}}
    _printed(
        "rollout", _snapshot(), RolloutSettings(workloads=(one.key,), patch=_text(changed(whole, drawn), drawn), runs=1)
    )


def pools(drawn: random.Random) -> None:
    """Node pools of gcloud, Karpenter, the autoscaler."""
    value = changed(drawn.choice(([_POOL], {"nodePools": [_POOL]}, _KARPENTER, _STATUS)), drawn)
    node_pool_files.read_bytes(_text(value, drawn).encode("utf-8", "surrogatepass"), name="pools.json")


def prices(drawn: random.Random) -> None:
    """Prices of one's own."""
    path = drawn.choice(sorted((data_folder() / "prices").glob("gcp_*prices.csv")))
    lines = path.read_bytes().splitlines(keepends=True)
    text = b"".join([lines[0], *drawn.sample(lines[1:], min(6, len(lines) - 1))])
    for _ in range(drawn.choice((0, 1, 3))):
        text = spoilt(text, drawn)
    read_table(text.decode("utf-8", "replace"), where="own.csv", source="own", is_own=drawn.random() < 0.7)


def lives(drawn: random.Random) -> None:
    """Lifetimes of spot nodes."""
    rows = [
        f"{drawn.choice((1, 0, -1, '1e400', 'nan', 'inf', 2.5, '', 'x', '٣'))},{drawn.choice(('yes', '0', '', 'é'))}"
        for _ in range(4)
    ]
    parse_lives(spoilt("\n".join(["hours,ended", "3,yes", *rows]).encode(), drawn).decode("utf-8", "replace"))


def policy(drawn: random.Random) -> None:
    """The gate's policy."""
    read_policy(spoilt(spoilt(_POLICY.encode(), drawn), drawn).decode("utf-8", "replace"), "policy.toml")


def logs(drawn: random.Random) -> None:
    """Logs by themselves, and among documents."""
    data = spoilt(_LOG * drawn.choice((1, 2)), drawn)
    pod_log_folder.of_upload(data, default=drawn.choice(("", "prod/web-1/web")))
    cluster_dumps.read_bytes(
        spoilt(data + json.dumps(piece(drawn)).encode(), drawn), name=drawn.choice(("logs.txt", "dump.json"))
    )


def stored(drawn: random.Random) -> None:
    """Snapshots as a store keeps them."""
    whole = read_items(piece(drawn))
    value = changed(json.loads(snapshot_bytes.encode(whole)), drawn)
    found = snapshot_bytes.decode(spoilt(json.dumps(value).encode("utf-8", "surrogatepass"), drawn), "stored.json")
    name = drawn.choice(("overview", "capacity", "findings"))
    _printed(name, found, question_called(name).settings())


def reviews(drawn: random.Random) -> None:
    """What the API server asks a webhook."""
    one = drawn.choice(_workloads())
    kind = {"group": one["apiVersion"].rpartition("/")[0], "version": "v1", "kind": one["kind"]}
    request = {"uid": "u", "kind": kind, "name": one["metadata"]["name"], "namespace": one["metadata"].get("namespace"), "operation": "UPDATE", "object": one, "oldObject": one}  # fmt: skip
    value = changed({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}, drawn)
    review(_snapshot(), read_request(spoilt(json.dumps(value).encode("utf-8", "surrogatepass"), drawn)))


def usage(drawn: random.Random) -> None:
    """What nodes tell of their memory, and Prometheus of usage."""
    cadvisor.parse(spoilt(spoilt(_CADVISOR.encode(), drawn), drawn).decode("utf-8", "replace"))


def answers(drawn: random.Random) -> None:
    """What Prometheus answers."""
    series = {
        "metric": {"namespace": "prod", "pod": "web-1", "container": "web"},
        "values": [[1700000000, "1.5"], [1700000300, "NaN"]],
    }
    value = changed({"status": "success", "data": {"resultType": "matrix", "result": [series]}}, drawn)
    found = prometheus_usage.Prometheus("http://prometheus")._decoded(
        spoilt(json.dumps(value).encode("utf-8", "surrogatepass"), drawn)
    )
    for one in found.data.result if found.data else ():
        prometheus_usage._joined(FrozenMap(one.metric), [one], 1.7e9, 1.8e9)


READERS: Final[tuple[Read, ...]] = (
    manifest,
    patch,
    pools,
    prices,
    lives,
    policy,
    logs,
    stored,
    reviews,
    usage,
    answers,
)


def try_reader(drawn: random.Random) -> None:
    """One of the readers, the slow and the deep ones more often."""
    drawn.choice((*READERS, manifest, manifest, patch, patch, reviews))(drawn)
