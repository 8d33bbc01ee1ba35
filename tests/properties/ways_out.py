"""The commands of a way out, given one after the other to the second simulation, as somebody would who copies them."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Sequence

from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import Remedy, RemedyKind, RolloutResult
from planner.rollout.prepared_change import Scenario
from tests.properties.random_rollouts import LISTED
from tests.reference.controllers import sync_daemon_set
from tests.reference.objects import Object
from tests.reference.simulation import PATIENCE_MS, Simulation

KINDS = {
    name.lower(): name for name in ("Deployment", "StatefulSet", "DaemonSet", "ResourceQuota")
}  # as kubectl takes them
# What the manifest of the change must not set back: the way out sets it itself.
STRATEGY = ("strategy", "updateStrategy")
SETS = {
    RemedyKind.SCALE_DOWN_FIRST: ("replicas",),
    RemedyKind.SWITCH_STRATEGY: STRATEGY,
    RemedyKind.RECREATE: STRATEGY,
    RemedyKind.FREE_CAPACITY: STRATEGY,
}
OF_THE_TEMPLATE = (
    RemedyKind.SMALLER_REQUEST,
    RemedyKind.FIX_SELECTOR,
)  # they stand in the manifest of the change itself


def ways_out(items: list[Object], change: Object) -> RolloutResult:
    """What `headroom rollout` answers of one patch."""
    snapshot = build_snapshot([Part(items=copy.deepcopy(items), listed=(*LISTED, "Pod"))], source="case")
    asked = WorkloadChange(workload=name_of(change), patch=json.dumps(change["patch"]), new_revision=False)
    return rollout_with_remedies.rollout(snapshot, Scenario(changes=(asked,), runs=1))


def name_of(change: Object) -> str:
    return f"{change['kind']}/{change['namespace']}/{change['name']}"


def where_it_ends(
    items: list[Object], change: Object, never_ready: list[dict[str, str]], remedy: Remedy, seeds: Sequence[int] = range(4)
) -> str:  # fmt: skip
    """The command that is waited for in vain in each of the placements tried; "" where all are through in one."""
    waited = ""
    for seed in seeds:
        waited = _Hand(items, change, never_ready, remedy, seed).carry_out()
        if not waited:
            break
    return waited


class _Hand:
    """Somebody who copies the commands."""

    def __init__(
        self, items: list[Object], change: Object, never_ready: list[dict[str, str]], remedy: Remedy, seed: int
    ) -> None:
        self.simulation = Simulation(copy.deepcopy(items), never_ready, seed)
        self.simulation.cluster.draws_order = seed > 0
        self.remedy, self.change = remedy, copy.deepcopy(change)
        for field in SETS.get(remedy.kind, ()):
            self.change["patch"].get("spec", {}).pop(field, None)

    def carry_out(self) -> str:
        for number in range(self.remedy.extra_nodes):
            self.add_node(number)
        for item in self.simulation.cluster.of("DaemonSet"):  # its pods bear a node that isn't Ready yet, others don't
            sync_daemon_set(self.simulation.cluster, item)
        self.simulation.scheduler.run()  # who waits already is tried on them first
        for step in self.remedy.steps:
            if not all(self.run(command) for command in step.commands):
                return f"{step.what}: {listed(step.commands)}"
        return ""

    def run(self, command: str) -> bool:
        """Whether it ends well; a step that no shell can do here (a comment, a cloud's command) does."""
        words = shlex.split(command, comments=True)
        if words[:1] != ["kubectl"]:
            return True
        options = {name: value for name, _, value in (word.partition("=") for word in words if word.startswith("--"))}
        if words[1] in ("apply", "create"):
            self.simulation.apply([self.change])
            return True
        if words[1:3] == ["delete", "pod"]:  # its own, whose manifest is the new one by now
            cluster, place = self.simulation.cluster, words.index("-n")
            for name in words[3:place]:
                cluster.delete_pod(cluster.kinds["Pod"][words[place + 1], name])
            return True
        if words[1] == "uncordon":  # the node lifecycle controller takes its taint off with it
            for name in (word.removeprefix("node/") for word in words[2:]):
                taints = self.simulation.cluster.kinds["Node"]["", name]["spec"].get("taints") or []
                left = [taint for taint in taints if taint["key"] != "node.kubernetes.io/unschedulable"]
                self.simulation.happen({"node": name, "cordoned": False, "taints": left})
            return True
        at = 3 if words[1] == "rollout" else 2
        kind, name = words[at].split("/")
        named = {"kind": KINDS[kind.split(".")[0]], "namespace": words[words.index("-n") + 1], "name": name}
        if words[1] == "scale":
            self.simulation.apply([{**named, "patch": {"spec": {"replicas": int(options["--replicas"])}}}])
        elif words[1] == "patch":
            patch = next(word for word in words if word.startswith("{"))
            self.simulation.apply([{**named, "patch": json.loads(patch)}])
        elif words[1:3] == ["rollout", "status"]:
            item = self.simulation.cluster.kinds[named["kind"]][named["namespace"], name]
            return self.waits_until(lambda: self.simulation.is_complete(item))
        elif words[1] == "wait":
            item = self.simulation.cluster.kinds[named["kind"]][named["namespace"], name]
            field, _, number = options["--for"].removeprefix("jsonpath={.status.").partition("}=")
            return self.waits_until(lambda: item["status"].get(field) == int(number))
        else:
            raise AssertionError(command)
        return True

    def waits_until(self, is_done: Callable[[], bool]) -> bool:
        """Until it is, or nobody has anything left to do."""
        while True:
            for is_patient in (False, True):
                if is_patient:
                    self.simulation.wait(PATIENCE_MS)
                else:
                    self.simulation.settle()
                if is_done():
                    return True
                if self.simulation.advance():
                    break
            else:
                return False

    def add_node(self, number: int) -> None:
        like = self.simulation.cluster.kinds["Node"]["", self.remedy.node_template]
        node, name = copy.deepcopy(like), f"more-{number}"
        node["metadata"] |= {"name": name, "uid": name}
        node["metadata"]["labels"] = {**node["metadata"]["labels"], "kubernetes.io/hostname": name}
        node["spec"].pop("unschedulable", None)  # whatever the one that it is like is, a new node is open and Ready
        taints = node["spec"].get("taints") or []
        node["spec"]["taints"] = [taint for taint in taints if not taint["key"].startswith("node.kubernetes.io/")]
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        self.simulation.cluster.create(node)


def listed(commands: Sequence[str]) -> str:
    return "; ".join(commands)
