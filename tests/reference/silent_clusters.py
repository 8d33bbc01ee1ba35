"""Clusters in which nodes don't answer, or put pods out, for properties: ``silent_case(seed)`` and ``tainted_case(seed)`` give what
``simulate`` takes.

A case grows as a random one does, or as one with others in flight; then the kubelets of one or two nodes aren't heard any more. Pods there
are evicted in their turn, long after all else has come to rest (`tests.reference.silence`).
"""

from __future__ import annotations

import random

from tests.reference.flying_clusters import crowded_case, flying_case
from tests.reference.objects import Object, controller_of, copied, is_bound, tolerates
from tests.reference.random_clusters import Case, random_case
from tests.reference.silence import NO_EXECUTE, OUT_OF_SERVICE, silence

MAINTENANCE: Object = {"key": "maintenance", "effect": "NoExecute"}
STAYS_SECONDS = 86_400  # longer than any of these rollouts takes


def silent_case(seed: int) -> Case:
    """A small cluster some of whose nodes are silent, and a rollout to play on it; the same for the same seed."""
    rng, taken_out = random.Random(f"silent {seed}"), random.Random(f"out of service {seed}")
    case, nodes = _some_nodes(rng, seed)
    for item in case.items:
        if item["kind"] == "Node" and item["metadata"]["name"] in nodes:
            silence(item)
            if taken_out.random() < 0.25:  # who would have to go for NoExecute at once has gone before
                item["spec"]["taints"].append({"key": OUT_OF_SERVICE, "effect": "NoSchedule"})
        elif item["kind"] == "Pod" and item["spec"].get("nodeName") in nodes:
            stay_a_while(item, NO_EXECUTE)
            for condition in item["status"].get("conditions") or []:
                if condition["type"] == "Ready":
                    condition["status"] = "False"
    return case


def tainted_case(seed: int) -> Case:
    """The same with nodes that answer and have a taint, which the pods there tolerate for a time, and no others do."""
    case, nodes = _some_nodes(random.Random(f"tainted {seed}"), seed)
    for item in case.items:
        if item["kind"] == "Node" and item["metadata"]["name"] in nodes:
            item["spec"]["taints"] = [*(item["spec"].get("taints") or []), dict(MAINTENANCE)]
        elif item["kind"] == "Pod" and item["spec"].get("nodeName") in nodes:
            stay_a_while(item, MAINTENANCE)
    return case


def _some_nodes(rng: random.Random, seed: int) -> tuple[Case, list[str]]:
    """A case, and the names of a node or two of it, mostly such as hold pods of the change."""
    kinds = (random_case, lambda one: flying_case(one).case, lambda one: crowded_case(one).case)
    case = kinds[seed % len(kinds)](seed)
    items = copied(case.items)
    pods = [item for item in items if item["kind"] == "Pod" and is_bound(item)]
    changed = {one["name"] for one in case.changes}
    held = sorted({pod["spec"]["nodeName"] for pod in pods if belongs(pod, changed)})
    others = sorted({pod["spec"]["nodeName"] for pod in pods} - {*held})
    nodes = rng.sample(held, min(len(held), rng.choice((1, 1, 1, 2))))
    if not nodes or (others and rng.random() < 0.2):
        nodes = [*others, *(item["metadata"]["name"] for item in items if item["kind"] == "Node")][:1]
    return Case(items, case.changes, case.never_ready), nodes


def belongs(pod: Object, names: set[str]) -> bool:
    return (pod["metadata"].get("labels") or {}).get("app") in names


def stay_a_while(pod: Object, taint: Object) -> None:
    """As admitted (admission/defaulttolerationseconds); a DaemonSet's stays for ever (AddOrUpdateDaemonPodTolerations)."""
    own = pod["spec"].setdefault("tolerations", [])
    if not any(tolerates(one, taint) for one in own):
        by = controller_of(pod) or {}
        seconds = {} if by.get("kind") == "DaemonSet" else {"tolerationSeconds": STAYS_SECONDS}
        own.append({"key": taint["key"], "operator": "Exists", "effect": "NoExecute", **seconds})
