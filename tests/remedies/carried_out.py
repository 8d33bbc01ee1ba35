"""Printed steps carried out on a cluster by the engine, command by command, as kubectl and gcloud would: nothing but the text is read.

What is played is what follows from each command until nothing moves any more; a command that waits has to find what it waits for.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from planner.capacity.eviction_simulation import at_rest
from planner.capacity.node_pools import pool_key
from planner.capacity.what_if import apply as what_if
from planner.capacity.what_if_syntax import parse_change
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot, Taint, Workload
from planner.rollout.answers import Step
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run import Revision, simulate
from planner.scheduling.cluster import Cluster

COMMENTS = {
    re.compile(r"# grow node pool (\S+) from \d+ to ([\d,]+) nodes?"): "resize",
    re.compile(r"# give node pool (\S+) its ([\d,]+) nodes? again"): "resize",
    re.compile(r"# add (\d+) nodes? like (\S+)"): "like",
}
KINDS = {one.lower(): one for one in ("Deployment", "StatefulSet", "DaemonSet", "ResourceQuota")}


class NotCarriedOut(AssertionError):
    """A command that fails, or one that nothing here knows."""


class Carried:
    """A cluster on which commands are carried out one after another. `change`: what the user's manifest would do."""

    def __init__(self, snapshot: Snapshot, change: WorkloadChange | None = None) -> None:
        self.snapshot, self.change = snapshot, change
        self.done: dict[str, bool] = {}  # of each workload that was changed last
        self.lowest: dict[str, int] = {}
        self._names: list[list[str]] = []  # of nodes that were added

    # ── what is done ─────────────────────────────────────────────────────────────────────────────────────────────────
    def steps(self, steps: Iterable[Step]) -> Carried:
        for step in steps:
            for command in step.commands:
                self.run(command)
        return self

    def undo(self, steps: Sequence[Step]) -> Carried:
        """Each step's undo, the last first."""
        for step in reversed(steps):
            for command in step.undo:
                self.run(command)
        return self

    def apply_first(self) -> None:
        """The change is there before any step, and stuck."""
        assert self.change is not None
        self.roll(self.change)
        self.change = None

    def run_all(self, chain: str) -> None:
        for command in chain.split(" && "):
            self.run(command)

    def roll(self, change: WorkloadChange) -> None:
        """A rollout, until nothing moves any more."""
        self._play([*prepare(self.snapshot, Scenario(changes=(change,))).revisions])

    def run(self, command: str) -> None:
        for pattern, what in COMMENTS.items():
            if found := pattern.match(command):
                return (
                    self._resize(found[1], int(found[2].replace(",", "")))
                    if what == "resize"
                    else self._add(found[2], int(found[1]))
                )
        if command.startswith("# remove what was added"):
            return self._remove(self._names.pop())
        words = shlex.split(command, comments=True)
        if not words or words[0] == ":":
            return None  # words for people
        if words[0] == "gcloud":
            return self._resize(words[words.index("--node-pool") + 1], int(words[words.index("--num-nodes") + 1]))
        assert words[0] == "kubectl", command
        if words[1:3] in (["apply", "-f"], ["create", "-f"]):
            return self._settle() if self.change is None else self.roll(self.change)
        if words[1:3] == ["rollout", "status"] or words[1] == "wait":
            return self._wait(self._key(words, 3 if words[1] == "rollout" else 2), command)
        if words[1:3] == ["rollout", "undo"]:
            return self.roll(WorkloadChange(workload=self._key(words, 3)))
        return self._change(words, command)

    def _change(self, words: Sequence[str], command: str) -> None:
        if words[1] == "scale":
            number = next(int(word.partition("=")[2]) for word in words if word.startswith("--replicas="))
            return self.roll(WorkloadChange(workload=self._key(words, 2), replicas=number, new_revision=False))
        if words[1] == "delete" and words[2] == "pod":
            space = words[words.index("-n") + 1]
            for name in words[3 : words.index("-n")]:
                self._what_if(f"force-delete:{space}/{name}")
            return self._settle()
        if words[1] == "patch" and words[2].startswith("nodepools.karpenter.sh/"):
            return None  # more nodes may come: they come with a command of their own, or by themselves
        if words[1] == "patch":
            key, patch = self._key(words, 2), words[words.index("-p") + 1]
            return self._quota(key, json.loads(patch)) if key.startswith("ResourceQuota/") else self.roll(
                WorkloadChange(workload=key, patch=patch, new_revision=False)
            )  # fmt: skip
        if words[1] in ("cordon", "uncordon"):
            names = {word.removeprefix("node/") for word in words[2:]}
            return self._cordon(names, is_cordoned=words[1] == "cordon")
        raise NotCarriedOut(f"nothing here knows {command}")

    # ── how ──────────────────────────────────────────────────────────────────────────────────────────────────────────
    @staticmethod
    def _key(words: Sequence[str], place: int) -> str:
        kind, _, name = words[place].partition("/")
        return f"{KINDS[kind.lower()]}/{words[words.index('-n') + 1]}/{name}"

    def workload(self, key: str) -> Workload:
        return next(one for one in self.snapshot.workloads if one.key == key)

    def _play(self, revisions: Sequence[Revision]) -> None:
        run = simulate(Cluster(self.snapshot), revisions)
        self.done |= run.done
        for revision in revisions:
            key = revision.after.key
            self.lowest[key] = min([moment.ready for moment in run.moments[key][1:]], default=self.lowest.get(key, 0))
        self.snapshot = run.simulation.snapshot_now()

    def _settle(self) -> None:
        """Controllers and scheduler go on until nothing moves any more."""
        for key in self.done:
            workload = self.workload(key)
            self._play([Revision(before=workload, after=workload, has_new_template=False)])

    def _wait(self, key: str, command: str) -> None:
        if key not in self.done:  # one that is rolling out by itself
            workload = self.workload(key)
            self._play([Revision(before=workload, after=workload, has_new_template=False)])
        if not self.done.get(key, True):
            raise NotCarriedOut(f"{command}: error: timed out waiting for the condition")

    def _what_if(self, text: str) -> None:
        self.snapshot = what_if(Cluster(self.snapshot), (parse_change(text),)).snapshot

    def _quota(self, key: str, patch: dict[str, dict[str, dict[str, str]]]) -> None:
        _, space, name = key.split("/")
        for resource, amount in patch["spec"]["hard"].items():
            self._what_if(f"quota:{space}/{name}={resource}:{amount}")

    def _cordon(self, names: set[str], *, is_cordoned: bool) -> None:
        """``spec.unschedulable``, and the taint that the node lifecycle controller sets and takes off with it."""
        key = "node.kubernetes.io/unschedulable"
        taints = (Taint(key=key, value="", effect="NoSchedule"),) if is_cordoned else ()
        nodes = tuple(
            replace(node, is_cordoned=is_cordoned, taints=(*(t for t in node.taints if t.key != key), *taints))
            if node.name in names
            else node
            for node in self.snapshot.nodes
        )
        self.snapshot = replace(self.snapshot, nodes=nodes)

    def _resize(self, pool: str, wanted: int) -> None:
        mine = [node.name for node in self.snapshot.nodes if pool_key(node) == pool]
        if wanted >= len(mine):
            return self._add(mine[0], wanted - len(mine))
        return self._remove(mine[wanted:])

    def _add(self, like: str, number: int) -> None:
        there = {node.name for node in self.snapshot.nodes}
        pool = next(pool_key(node) for node in self.snapshot.nodes if node.name == like)
        self._what_if(f"add:{pool}={number}")
        self._names.append([node.name for node in self.snapshot.nodes if node.name not in there])
        self.snapshot = at_rest(self.snapshot).snapshot

    def _remove(self, names: Sequence[str]) -> None:
        for name in names:
            self._what_if(f"delete:{name}")


def settings_of(snapshot: Snapshot) -> dict[str, object]:
    """What steps may set: replicas, strategies and templates, quotas, nodes of each pool."""
    found: dict[str, object] = {
        one.key: (one.replicas, one.strategy, one.template.spec) for one in snapshot.workloads if one.traits.rolls_out
    }
    found |= {f"quota {one.namespace}/{one.name}": one.hard for one in snapshot.resource_quotas}
    found["cordoned"] = sorted(node.name for node in snapshot.nodes if node.is_cordoned)
    found |= {f"pool {pool}": number for pool, number in Counter(map(pool_key, snapshot.nodes)).items()}
    return found
