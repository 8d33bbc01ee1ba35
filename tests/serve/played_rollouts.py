"""Rollouts played by the second simulation (`tests.reference`) into a living API server, step by step, as a control plane would show them.

What the simulation has no word for is added by Kubernetes' rules: times of a clock of its own, ``Progressing`` (`pkg/controller/deployment/progress.go`
`syncRolloutStatus`), revisions' numbers (`util/deployment_util.go` `SetNewReplicaSetAnnotations`), ControllerRevisions (`history.NewControllerRevision`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from unittest.mock import patch

from planner.sources.kubernetes_api import PATHS
from tests.reference import simulation as reference
from tests.reference.controllers import owned_replica_sets, without_hash
from tests.reference.objects import Object, copied, is_bound, is_ready, key
from tests.reference.simulation import RECORDERS_PATIENCE_MS, Simulation, simulate
from tests.sources.living import LivingCluster

STEP_SECONDS: Final = 10.0
_REVISION: Final = "deployment.kubernetes.io/revision"
_OURS: Final = ("created", "ready", "available", "templates", "revision", "unmade", "work", "held")
"""What the simulation keeps in an object's metadata."""


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Control:
    """A control plane: what `simulation` does is shown by `living`; `look` is called at each quiet moment."""

    def __init__(self, living: LivingCluster, look: Callable[[], None]) -> None:
        self.living, self.look = living, look
        self.now = float(int(time.time()))  # later than all that is recorded, and rollouts of long ago aren't followed
        self._is_late = False
        self._shown: dict[tuple[str, Any], str] = {}
        self._bound: dict[str, float] = {}
        self._ready: dict[str, float] = {}
        self._progress: dict[str, tuple[str, Object]] = {}
        self._revisions: dict[str, dict[str, tuple[int, float]]] = {}

    def show(self, simulation: Simulation) -> None:
        """Everything that changed since the last time, then a look."""
        self.now += STEP_SECONDS
        fresh: dict[tuple[str, Any], Object] = {}
        for deployment in simulation.cluster.of("Deployment"):
            self._number(simulation, deployment)
        for kind, objects in simulation.cluster.kinds.items():
            if kind in PATHS:
                fresh |= {(kind, name): self._wire(item) for name, item in objects.items()}
        for kind in ("StatefulSet", "DaemonSet"):
            for item in simulation.cluster.of(kind):
                fresh |= {("ControllerRevision", key(one)): one for one in self._controller_revisions(item)}
        for place, item in fresh.items():
            text = json.dumps(item, sort_keys=True)
            if self._shown.get(place) != text:
                self._shown[place] = text
                self.living.put(item)
        for place in [place for place in self._shown if place not in fresh]:
            self.living.delete(json.loads(self._shown.pop(place)))
        self.look()

    def pass_deadlines(self, simulation: Simulation, seconds: float = 700.0) -> None:
        """So long nothing moves."""
        self.show(simulation)
        self.now += seconds
        self._is_late = True
        self.show(simulation)
        self._is_late = False

    def _wire(self, item: Object) -> Object:
        shown = copied(item)
        metadata = shown["metadata"]
        for name in _OURS:
            metadata.pop(name, None)
        if item["metadata"].get("created") is not None:
            metadata.setdefault("creationTimestamp", self._first(metadata["uid"], self._bound, True))
        if "deletionTimestamp" in metadata and metadata["deletionTimestamp"].startswith("tick"):
            metadata["deletionTimestamp"] = iso(self.now)
        if item["kind"] == "Pod":
            self._pod(shown)
        if item["kind"] == "Deployment":
            self._progressing(shown)
        return shown

    def _first(self, uid: str, times: dict[str, float], holds: bool) -> str:
        return iso(times.setdefault(uid, self.now)) if holds else ""

    def _pod(self, pod: Object) -> None:
        uid, status = pod["metadata"]["uid"], pod["status"]
        if not str(status.get("startTime", "2")).startswith("2"):
            status["startTime"] = self._first(uid, self._ready, True)
        conditions = [
            one for one in status.get("conditions") or [] if one["type"] != "PodScheduled" or one["status"] != "True"
        ]
        conditions = [one for one in conditions if one["type"] != "Ready"]
        if is_bound(pod):
            conditions = [one for one in conditions if one["type"] != "PodScheduled"]
            conditions.append(
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": self._first(f"{uid} bound", self._bound, True),
                }
            )
        if is_ready(pod):
            conditions.append(
                {
                    "type": "Ready",
                    "status": "True",
                    "lastTransitionTime": self._first(f"{uid} ready", self._ready, True),
                }
            )
        elif is_bound(pod):
            conditions.append(
                {
                    "type": "Ready",
                    "status": "False",
                    "lastTransitionTime": self._first(f"{uid} unready", self._ready, True),
                }
            )
        status["conditions"] = conditions
        if is_bound(pod) and not status.get("containerStatuses"):
            running = {"running": {"startedAt": self._first(f"{uid} bound", self._bound, True)}}
            status["containerStatuses"] = [
                {"name": one["name"], "ready": is_ready(pod), "restartCount": 0, "state": running, "image": one.get("image", "")}
                for one in pod["spec"]["containers"]
            ]  # fmt: skip

    def _progressing(self, deployment: Object) -> None:
        """The condition, as the controller writes it when it syncs the status."""
        uid, spec, status = deployment["metadata"]["uid"], deployment["spec"], deployment["status"]
        generation = deployment["metadata"].get("generation", 1)
        numbers = [status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
        known = next((one for one in status.get("conditions") or [] if one["type"] == "Progressing"), None)
        before, condition = self._progress.get(uid, ("", known or {}))
        is_seen = status.get("observedGeneration", 0) >= generation
        if numbers == [spec["replicas"]] * 3 and is_seen:
            reason, value = "NewReplicaSetAvailable", "True"
        elif self._is_late and not spec.get("paused"):
            reason, value = "ProgressDeadlineExceeded", "False"
        else:
            reason, value = "ReplicaSetUpdated", "True"
        moved = json.dumps([generation, numbers, status.get("readyReplicas", 0)])
        if condition.get("reason") == reason == "NewReplicaSetAvailable":
            moved = before  # an end that is there isn't written again
        if (before and moved != before) or condition.get("reason") != reason:
            since = iso(self.now) if condition.get("status") != value else condition["lastTransitionTime"]
            condition = {
                "type": "Progressing", "status": value, "reason": reason, "lastUpdateTime": iso(self.now), "lastTransitionTime": since,
            }  # fmt: skip
        self._progress[uid] = moved, condition
        status["conditions"] = [one for one in status.get("conditions") or [] if one["type"] != "Progressing"] + [
            condition
        ]

    def _number(self, simulation: Simulation, deployment: Object) -> None:
        """The highest revision is the ReplicaSet's that has the template."""
        sets = owned_replica_sets(simulation.cluster, deployment)
        numbers = [int((one["metadata"].get("annotations") or {}).get(_REVISION, 0)) for one in sets]
        template = without_hash(deployment["spec"]["template"])
        for replica_set, number in zip(sets, numbers, strict=True):
            if without_hash(replica_set["spec"]["template"]) == template and number < max(1, *numbers, 0) + (
                number == 0
            ):
                annotations = replica_set["metadata"].setdefault("annotations", {})
                if number:
                    old = annotations.get(f"{_REVISION}-history", "")
                    annotations[f"{_REVISION}-history"] = ",".join(filter(None, (old, str(number))))
                annotations[_REVISION] = str(max(numbers) + 1)

    def _controller_revisions(self, item: Object) -> Iterator[Object]:
        known = self._revisions.setdefault(item["metadata"]["uid"], {})
        templates, latest = (
            item["metadata"].get("templates") or {},
            item["metadata"].get("revision") or item["status"].get("updateRevision"),
        )
        for name in templates:
            if name not in known or (name == latest and known[name][0] < max(number for number, _ in known.values())):
                number = max((number for number, _ in known.values()), default=0) + 1
                known[name] = number, known[name][1] if name in known else self.now - (0 if known else 86_400)
        for name, template in templates.items():
            hashed = name if name.startswith(item["metadata"]["name"]) else f"{item['metadata']['name']}-{name}"
            label = name if item["kind"] == "DaemonSet" else hashed
            yield {
                "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": known[name][0], "data": {"spec": {"template": template}},
                "metadata": {
                    "name": hashed, "namespace": item["metadata"]["namespace"], "uid": f"{item['metadata']['uid']}-{name}",
                    "creationTimestamp": iso(known[name][1]), "labels": {"controller-revision-hash": label},
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": item["kind"], "name": item["metadata"]["name"], "uid": item["metadata"]["uid"], "controller": True}],
                },
            }  # fmt: skip


@contextmanager
def shown(control: Control, between: Callable[[Simulation, int], None]) -> Iterator[list[Simulation]]:
    """Each quiet moment of what is simulated within; `between` may do what others do, after a moment was shown."""
    record, simulations = Simulation.record, list[Simulation]()

    def show(simulation: Simulation) -> None:
        record(simulation)
        if not simulations:
            simulations.append(simulation)
        control.show(simulation)
        between(simulation, len(simulation.timeline) - 2)

    with patch.object(reference.Simulation, "record", show):
        yield simulations


def play(
    recording: Object,
    control: Control,
    events: Sequence[tuple[int, Object]] = (),
    between: Callable[[Simulation, int], None] = lambda _, __: None,
) -> tuple[Object, Simulation]:
    """A recording's changes on its cluster; the outcome as the recorder would have written it."""
    changes = recording["change"] if isinstance(recording["change"], list) else [recording["change"]]
    with shown(control, between) as simulations:
        outcome = simulate(
            recording["cluster"]["items"], changes, recording["never_ready"] or [], events=events, patience_ms=RECORDERS_PATIENCE_MS,
            attaches="waiting" in recording["outcome"],
        )  # fmt: skip
    return outcome, simulations[0]


# ── what others do ───────────────────────────────────────────────────────────────────────────────────────────────────
class Script:
    """What happens beside a recording's rollouts, and so what each comes to; `name` is one of `SCRIPTS`."""

    def __init__(self, name: str, recording: Object) -> None:
        self.name, self.truths = name, dict[str, str]()
        self._changes = recording["change"] if isinstance(recording["change"], list) else [recording["change"]]
        self._has_acted = False

    def between(self, simulation: Simulation, moment: int) -> None:
        """Once, at the first moment after the change at which a rollout isn't done."""
        with patch.object(simulation, "can_end", lambda _: False):  # a status is complete while old pods terminate
            going = [one for one in simulation.workloads if not simulation.is_complete(one)]
        if moment < 1 or self._has_acted or not going:
            return
        self._has_acted = True
        if self.name == "overtaken":
            again = {"spec": {"template": {"metadata": {"annotations": {"again": "yes"}}}}}
            changes = [
                change
                for change in self._changes
                if (change["kind"], change["namespace"], change["name"]) in {_place(one) for one in going}
            ]
            self.truths |= {_id(one): "overtaken" for one in going}
            simulation.apply([{**change, "patch": again} for change in changes])
            simulation.settle()
        elif self.name == "node lost" and len(simulation.cluster.of("Node")) > 1:
            bound = [pod["spec"]["nodeName"] for one in going for pod in simulation.pods_of(one) if is_bound(pod)]
            simulation.happen({"delete": (bound or [simulation.cluster.of("Node")[0]["metadata"]["name"]])[0]})
        elif self.name == "another scales":
            others = [
                one
                for one in simulation.cluster.of("Deployment")
                if _place(one) not in {_place(own) for own in simulation.workloads}
            ]
            for other in others[:1]:
                simulation.happen({"workload": _place(other), "replicas": other["spec"]["replicas"] + 1})

    def end(self, control: Control, simulation: Simulation) -> dict[str, str]:
        """What each rollout came to, by its id; what is stuck is past its deadline, and where the script cures it, cured."""
        stuck = [one for one in simulation.workloads if not simulation.is_complete(one)]
        if stuck:
            control.pass_deadlines(simulation)
        for one in simulation.workloads:
            self.truths[_id(one)] = "stuck" if one in stuck else "completed"
            if one in stuck and self.name == "node lost" and self._has_acted and len(simulation.cluster.of("Node")):
                self.truths[_id(one)] = "node_lost or stuck"  # stuck where its pods could use other nodes as well
        if self.name == "cured" and stuck:
            self._cure(control, simulation, stuck)
        return self.truths

    def _cure(self, control: Control, simulation: Simulation, stuck: Sequence[Object]) -> None:
        """Four nodes more, each like one that is there and whole."""
        for number, node in enumerate(4 * simulation.cluster.of("Node")[:1]):
            more = copied(node)
            more["metadata"] |= {"name": f"more-{number}", "uid": f"more-{number}"}
            more["metadata"].setdefault("labels", {})["kubernetes.io/hostname"] = f"more-{number}"
            simulation.happen({"add": more})
        control.show(simulation)
        while simulation.advance():
            simulation.settle()
            control.show(simulation)
        for one in stuck:
            if simulation.is_complete(one):
                self.truths[_id(one)] = "cured"


SCRIPTS: Final = ("alone", "overtaken", "node lost", "another scales", "cured")


def _place(workload: Object) -> tuple[str, str, str]:
    return workload["kind"], workload["metadata"].get("namespace", ""), workload["metadata"]["name"]


def _id(workload: Object) -> str:
    return f"{workload['metadata']['uid']}-{workload['metadata'].get('generation', 1)}"
