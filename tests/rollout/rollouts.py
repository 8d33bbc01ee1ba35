"""Small rollouts: one workload of a small cluster, changed and played to its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.object_records import Snapshot
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.stuck_diagnosis import Impasse, explain
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from tests.builders.objects import Item, snapshot

WORKER = "Deployment/ml/worker"


def revision(found: Snapshot, key: str = WORKER, *, patch: Item | None = None, **change: Any) -> Revision:
    before = found.workload(key)
    assert before is not None
    asked = WorkloadChange(workload=key, patch=json.dumps(patch) if patch else "", **change)
    after, is_new, _ = apply_change(before, asked)
    return Revision(before=before, after=after, has_new_template=is_new, never_ready=asked.never_ready)


def roll(
    *items: Item | list[Item],
    key: str = WORKER,
    seed: int = 0,
    never_ready: Callable[[LivePod], bool] | None = None,
    **change: Any,
) -> Run:
    found = snapshot(*items)
    return simulate(Cluster(found), [revision(found, key, **change)], seed=seed, never_ready=never_ready)


def why(*items: Item | list[Item], key: str = WORKER, **change: Any) -> Impasse:
    """Why the rollout is stuck."""
    found = snapshot(*items)
    asked = revision(found, key, **change)
    run = simulate(Cluster(found), [asked])
    assert not run.done[key]
    return explain(run, asked)


def stateful_set(name: str, nodes: Sequence[str], spec: Item, *, ready: Sequence[bool] = (), **more: Any) -> list[Item]:
    """A StatefulSet and its pods, pod i on nodes[i]; all Ready unless `ready` says otherwise."""
    labels = {"app": name, "controller-revision-hash": f"{name}-1"}
    body = {
        "replicas": len(nodes),
        "selector": {"matchLabels": {"app": name}},
        "serviceName": name,
        "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        **more,
    }
    own = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "ml", "uid": f"s-{name}"},
        "spec": body,
        "status": {"currentRevision": f"{name}-1", "updateRevision": f"{name}-1"},
    }
    return [own, *_pods("StatefulSet", name, f"s-{name}", labels, nodes, spec, ready)]


def daemon_set(name: str, nodes: Sequence[str], spec: Item, **more: Any) -> list[Item]:
    """A DaemonSet with a Ready pod on each of `nodes`."""
    labels = {"app": name, "controller-revision-hash": "1"}
    body = {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        **more,
    }
    own = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "ml", "uid": f"s-{name}"},
        "spec": body,
        "status": {},
    }
    return [own, *_pods("DaemonSet", name, f"s-{name}", labels, nodes, spec, ())]


def with_env(spec: Item, value: str) -> Item:
    """`spec` with a variable of this value: nothing that is kept of a pod shows it."""
    return {**spec, "containers": [{**one, "env": [{"name": "REV", "value": value}]} for one in spec["containers"]]}


def controller_revision(owned: Item, spec: Item, *, number: int) -> Item:
    """A ControllerRevision of a StatefulSet or DaemonSet, as its controller writes it; pods of it have the hash `number`, in
    a StatefulSet after its name."""
    kind, name = owned["kind"], owned["metadata"]["name"]
    metadata = owned["spec"]["template"]["metadata"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{name}-{number}",
            "namespace": "ml",
            "uid": f"cr-{name}-{number}",
            "labels": {
                **metadata["labels"],
                **({"controller-revision-hash": str(number)} if kind == "DaemonSet" else {}),
            },
            "ownerReferences": [{"kind": kind, "name": name, "uid": owned["metadata"]["uid"], "controller": True}],
        },
        "data": {
            "spec": {
                "template": {"$patch": "replace", "metadata": {"creationTimestamp": None, **metadata}, "spec": spec}
            }
        },
        "revision": number,
    }


def _pods(
    kind: str, name: str, uid: str, labels: dict[str, str], nodes: Sequence[str], spec: Item, ready: Sequence[bool]
) -> list[Item]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}
    pods = []
    for i, where in enumerate(nodes):
        is_ready = bool(where) and (ready[i] if ready else True)
        metadata = {"name": f"{name}-{i}", "namespace": "ml", "uid": f"p-{name}-{i}", "labels": labels}
        pods.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata | {"ownerReferences": [owner]},
                "spec": {**spec, "nodeName": where} if where else spec,
                "status": {
                    "phase": "Running" if where else "Pending",
                    "conditions": [{"type": "Ready", "status": "True" if is_ready else "False"}],
                    "containerStatuses": [
                        {
                            "name": "main",
                            "restartCount": 0 if is_ready else 9,
                            "ready": is_ready,
                            "image": "",
                            "imageID": "",
                        }
                    ],
                },
            }
        )
    return pods


def rolling(surge: int | str, unavailable: int | str) -> Item:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
