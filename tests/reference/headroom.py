"""How many more pods of a shape the scheduler places, one after another, until the first stays pending
(kubernetes-sigs/cluster-capacity; conformance/README.md, headroom)."""

from __future__ import annotations

from typing import Any

from tests.reference.admission import set_tolerations
from tests.reference.cluster import Cluster
from tests.reference.objects import Object, copied
from tests.reference.scheduler import Scheduler


def headroom(cluster_items: list[Object], pod: Object, seed: int = 0) -> dict[str, Any]:
    """``fits``, ``by_node`` and ``stops_because`` of a recording. No admission but default tolerations: priority 0."""
    cluster = Cluster(cluster_items, seed)
    scheduler = Scheduler(cluster)
    scheduler.queue.clear()  # pods that were pending before stay out of it
    by_node: dict[str, int] = {}
    while True:
        clone = copied(pod)
        clone["kind"] = "Pod"
        clone["metadata"]["name"] += f"-{sum(by_node.values())}"
        clone["status"] = {"phase": "Pending", "conditions": []}
        set_tolerations(clone)
        cluster.create(clone)
        scheduler.run(limit=1)
        if "nodeName" not in clone["spec"]:
            words = next(c["message"] for c in clone["status"]["conditions"] if c["type"] == "PodScheduled")
            return {"fits": sum(by_node.values()), "by_node": by_node, "stops_because": words}
        by_node[clone["spec"]["nodeName"]] = by_node.get(clone["spec"]["nodeName"], 0) + 1
