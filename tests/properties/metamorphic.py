"""Changes of a recorded cluster that change no answer: other order, other names, other units, other files, things that nothing may use.

``python -m tests.properties.metamorphic [COUNT]`` asks so many recordings (all of them) in every form and prints what differs.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from planner.ground.errors import HeadroomError
from planner.ground.quantity import parse_decimal
from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import WORKLOADS
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RolloutResult
from planner.rollout.prepared_change import Scenario
from planner.sources.cluster_argument import read_cluster
from tests.properties.random_rollouts import LISTED

Items = list[dict[str, Any]]
FOLDER: Final = Path(__file__).parents[1] / "conformance"
FAMILIES: Final = ("rollouts", "rollouts4", "rollouts5")
_AMOUNTS: Final = ("requests", "limits", "allocatable", "capacity", "hard", "used", "overhead")
_BUILT_IN: Final = ("default", "kube-system", "kube-public", "kube-node-lease")


def recordings() -> list[Path]:
    """Every recorded rollout."""
    return [path for family in FAMILIES for path in sorted((FOLDER / family).glob("*.json*"))]


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    case: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return case


@dataclass
class Form:
    """A cluster as another might write it. `names`: a new name → the recorded one; `is_reordered`: names sort otherwise."""

    snapshot: Snapshot
    names: Mapping[str, str] = field(default_factory=dict)
    is_reordered: bool = False


def _snapshot(items: Items) -> Snapshot:
    """Every list was seen: what isn't in the recording wasn't there."""
    every = (*LISTED, *(kind.name for kind in WORKLOADS), "ReplicaSet", "Pod", "Node", "PodDisruptionBudget")
    return build_snapshot([Part(items=items, listed=every)], source="recording")


def permuted(items: Items, rng: random.Random) -> Form:
    some = copy.deepcopy(items)
    rng.shuffle(some)
    for item in some:
        if isinstance(labels := item["metadata"].get("labels"), dict):
            keys = list(labels)
            rng.shuffle(keys)
            item["metadata"]["labels"] = {key: labels[key] for key in keys}
    return Form(_snapshot(some))


def _renamed(items: Items, new: Callable[[str, int], str], *, is_reordered: bool) -> Form:
    """Namespaces, nodes, Deployments and DaemonSets under other names, wherever a text is exactly such a name."""
    kinds = ("Namespace", "Node", "Deployment", "DaemonSet")
    old = sorted({item["metadata"]["name"] for item in items if item["kind"] in kinds} - set(_BUILT_IN))
    names = {name: new(name, place) for place, name in enumerate(old)}
    return Form(_snapshot(_with_names(items, names)), {new: name for name, new in names.items()}, is_reordered)


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_names(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_names(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def renamed(items: Items, rng: random.Random) -> Form:
    return _renamed(items, lambda name, _: f"q7x{name}"[:63], is_reordered=False)


def renamed_backwards(items: Items, rng: random.Random) -> Form:
    return _renamed(
        items,
        lambda name, place: f"{'zyxwvutsrqponmlkjihgfedcba'[place % 26]}{999 - place}{name}"[:63],
        is_reordered=True,
    )


def other_units(items: Items, rng: random.Random) -> Form:
    """``1`` as ``1000m``, ``2Gi`` as bytes."""

    def written(name: str, amount: Any) -> Any:
        value = parse_decimal(str(amount))
        if name.endswith("cpu") and value * 1000 == int(value * 1000):
            return f"{int(value * 1000)}m"
        return str(int(value)) if value == int(value) and name.endswith(("memory", "storage")) else amount

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        return {
            key: {name: written(name, amount) for name, amount in inner.items()}
            if key in _AMOUNTS and isinstance(inner, dict) and all(isinstance(one, str | int) for one in inner.values())
            else walk(inner)
            for key, inner in value.items()
        }

    return Form(_snapshot(walk(items)))


def split(items: Items, rng: random.Random) -> Form:
    """Over the files of a folder, JSON and YAML, one object or many in each; the nodes in one, since files that have nodes and pods
    each and point to no other's are two clusters."""
    nodes = [item for item in items if item["kind"] == "Node"]
    some = [item for item in items if item["kind"] != "Node"]
    rng.shuffle(some)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        number = 0
        while some:
            number += 1
            part, some = some[: (size := rng.choice([1, 3, 40]))], some[size:]
            if number % 4:
                (Path(folder) / f"{number}.json").write_text(
                    json.dumps({"apiVersion": "v1", "kind": "List", "items": part})
                )
            else:
                (Path(folder) / f"{number}.yaml").write_text(yaml.dump_all(part, Dumper=yaml.CSafeDumper))
        return Form(read_cluster(folder))


def with_idle(items: Items, rng: random.Random) -> Form:
    """With what nothing may use: a node that takes no pod, a label that nothing selects, a namespace with a quota, a budget and a
    workload of its own at zero. A DaemonSet could want a pod on the node, so that there it is left out."""
    meta = {"namespace": "idle-of-ours"}
    labels = {"app": "idle-of-ours"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "idle:1"}]}}
    some = [
        *copy.deepcopy(items),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "idle-of-ours", "uid": "idle-ns"}},
    ]
    some.append({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "idle", "uid": "idle-q", **meta},
                 "spec": {"hard": {"pods": "0"}}, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})  # fmt: skip
    some.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "idle", "uid": "idle-p", **meta},
                 "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}})  # fmt: skip
    some.append({"apiVersion": "apps/v1", "kind": "Deployment",
                 "metadata": {"name": "idle", "uid": "idle-d", "generation": 1, "annotations": {"deployment.kubernetes.io/revision": "1"}, **meta},
                 "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}, "status": {"observedGeneration": 1}})  # fmt: skip
    of = {"app": "idle-of-ours", "pod-template-hash": "1"}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "idle", "uid": "idle-d", "controller": True}
    some.append({"apiVersion": "apps/v1", "kind": "ReplicaSet",
                 "metadata": {"name": "idle-1", "uid": "idle-r", "labels": of, "ownerReferences": [owner], "generation": 1,
                              "annotations": {"deployment.kubernetes.io/revision": "1"}, **meta},
                 "spec": {"replicas": 0, "selector": {"matchLabels": of}, "template": template | {"metadata": {"labels": of}}},
                 "status": {"replicas": 0, "observedGeneration": 1}})  # fmt: skip
    if not any(item["kind"] == "DaemonSet" for item in items):
        taint = {"key": "example.com/idle-of-ours", "effect": "NoExecute"}
        some.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "idle-of-ours", "uid": "idle-n"},
                     "spec": {"taints": [taint], "unschedulable": True},
                     "status": {"allocatable": {"cpu": "0", "memory": "0", "pods": "0"}, "capacity": {"cpu": "0", "memory": "0", "pods": "0"},
                                "conditions": [{"type": "Ready", "status": "True"}]}})  # fmt: skip
    for item in some:
        if item["kind"] in ("Node", "Deployment"):
            item["metadata"].setdefault("labels", {})["example.com/idle-of-ours"] = "yes"
    return Form(_snapshot(some))


FORMS: Final[Mapping[str, Callable[[Items, random.Random], Form]]] = {
    one.__name__: one for one in (permuted, renamed, renamed_backwards, other_units, split, with_idle)
}


SAID_ALIKE: Final = ("permuted", "other_units")
"""Forms whose sentence is the same to the letter; the others' has other names, or counts of nodes."""


def scenario(case: Mapping[str, Any], names: Mapping[str, str]) -> Scenario:
    """The recorded change, of a cluster whose names are those."""
    new = {old: one for one, old in names.items()}
    changes = case["change"] if isinstance(case["change"], list) else [case["change"]]
    return Scenario(
        changes=tuple(
            WorkloadChange(
                workload=f"{one['kind']}/{new.get(one['namespace'], one['namespace'])}/{new.get(one['name'], one['name'])}",
                patch=json.dumps(_with_names(one["patch"], new)), new_revision=False,
            )
            for one in changes
        )
    )  # fmt: skip


def answer(case: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """What may not differ, in the recorded names."""
    back = re.compile("|".join(re.escape(name) for name in sorted(form.names, key=len, reverse=True)) or "(?!)")

    def told(text: object) -> str:
        return back.sub(lambda name: form.names[name.group()], str(text))

    try:
        found: RolloutResult = rollout(form.snapshot, scenario(case, form.names))
    except HeadroomError as error:
        return {"error": told(error.what)}
    ties = found.ties
    if ties is not None and 0 < ties.completed_runs < ties.runs:
        # the commonest of so many draws is shown, which are drawn from nodes in their order: where half complete it may be either
        return {"verdict": "depends on placement", "doubts": sorted({told(doubt.about) for doubt in found.doubts})}
    ways = [
        (way.kind.value, way.lowest_ready, way.extra_nodes, way.replicas, "" if form.is_reordered else told(way.title))
        for way in found.remedies
    ]
    return {
        "verdict": found.verdict.value,
        "proven": None if found.ties is None else found.ties.proven,
        "workloads": sorted((told(part.workload), part.verdict.value, part.reason and part.reason.value) for part in found.workloads),
        "ways": ways,
        "sentence": told(found.sentence),
        "doubts": sorted({(told(doubt.about), str(doubt.could_change)) for doubt in found.doubts}),
    }  # fmt: skip


def differences(path: Path, forms: Mapping[str, Callable[[Items, random.Random], Form]] = FORMS) -> Iterator[str]:
    """What a recording says otherwise in another form."""
    case = read(path)
    items = case["cluster"]["items"]
    plain = answer(case, Form(_snapshot(copy.deepcopy(items))))
    one_file: dict[str, Any] | None = None
    for name, make in forms.items():
        form = make(copy.deepcopy(items), random.Random(f"{path.name}: {name}"))
        wanted, found = dict(plain), answer(case, form)
        if name == "split":  # read from a disk, as one file
            if one_file is None:
                with tempfile.TemporaryDirectory() as folder:
                    (Path(folder) / "one.json").write_text(
                        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
                    )
                    one_file = answer(case, Form(read_cluster(str(Path(folder) / "one.json"))))
            wanted = one_file
        if name not in SAID_ALIKE:
            wanted.pop("sentence", None), found.pop("sentence", None)
        if form.is_reordered and "ways" in wanted:
            wanted = wanted | {"ways": [(*way[:4], "") for way in wanted.get("ways", ())]}
        for key in sorted(set(wanted) | set(found)):
            if wanted.get(key) != found.get(key):
                yield f"{path.parent.name}/{path.name} {name}: {key} {wanted.get(key)} → {found.get(key)}"


if __name__ == "__main__":
    every = recordings()
    chosen = sorted(
        random.Random(61).sample(every, k=min(int(sys.argv[1]) if sys.argv[1:] else len(every), len(every)))
    )
    bad = 0
    for place, one in enumerate(chosen, 1):
        for line in differences(one):
            bad += 1
            print(line, flush=True)
        if not place % 20:
            print(f"… {place} of {len(chosen)}", file=sys.stderr, flush=True)
    print(f"{len(chosen)} recordings, {len(chosen) * len(FORMS)} forms of them, {bad} differences")
    raise SystemExit(bool(bad))
