"""kube-controller-manager: one ``sync_…`` function per controller, each True when it changed something."""

from __future__ import annotations

from typing import Any

from tests.reference import storage
from tests.reference.admission import admit_pod, check_claim
from tests.reference.cluster import Cluster, age_class
from tests.reference.devices import deallocate
from tests.reference.objects import (
    Object,
    controller_of,
    copied,
    is_active,
    is_available,
    is_bound,
    is_ready,
    is_terminating,
    key,
    labels,
    required_node_affinity_matches,
    scaled,
    selector_matches,
    tolerates,
)
from tests.reference.quotas import Refused, check

HASH = "pod-template-hash"
REVISION = "controller-revision-hash"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"
FIRST_RETRY_MS, LAST_RETRY_MS = (
    5.0,
    1_000_000.0,
)  # client-go/util/workqueue: ItemExponentialFailureRateLimiter(5 ms, 1000 s)


def owned_pods(cluster: Cluster, owner: Object) -> list[Object]:
    return [pod for pod in cluster.of("Pod") if (controller_of(pod) or {}).get("uid") == owner["metadata"]["uid"]]


def owned_replica_sets(cluster: Cluster, deployment: Object) -> list[Object]:
    return [
        rs for rs in cluster.of("ReplicaSet") if (controller_of(rs) or {}).get("uid") == deployment["metadata"]["uid"]
    ]


def new_pod(owner: Object, template: Object, name: str) -> Object:
    meta = copied(template.get("metadata") or {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": meta.get("labels") or {},
            "annotations": meta.get("annotations") or {},
            "ownerReferences": [
                {
                    "apiVersion": owner["apiVersion"],
                    "kind": owner["kind"],
                    "name": owner["metadata"]["name"],
                    "uid": owner["metadata"]["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": copied(template["spec"]),
        "status": {"phase": "Pending", "conditions": []},
    }


def update_status(item: Object, status: Object) -> bool:
    """Write a status; True when that changed anything."""
    old = item.get("status") or {}
    if {name: value for name, value in status.items() if old.get(name) != value}:
        item["status"] = {**old, **status}
        return True
    return False


def without_hash(template: Object) -> Object:
    """deployment_util.go EqualIgnoreHash."""
    metadata = template.get("metadata")
    if not metadata:
        return template
    bare = {name: value for name, value in metadata.items() if name != "creationTimestamp"}
    if HASH in (bare.get("labels") or {}):
        bare["labels"] = {name: value for name, value in bare["labels"].items() if name != HASH}
    return {**template, "metadata": bare}


# --- Deployment (pkg/controller/deployment) -----------------------------------------------------------------------


def surge_and_unavailable(deployment: Object) -> tuple[int, int]:
    """util/deployment_util.go ResolveFenceposts, MaxSurge, MaxUnavailable."""
    spec = deployment["spec"]
    strategy = spec.get("strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), spec["replicas"], round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), spec["replicas"], round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, spec["replicas"])


def total(replica_sets: list[Object]) -> int:
    return sum(int(rs["spec"]["replicas"]) for rs in replica_sets)


def total_status(replica_sets: list[Object], field: str) -> int:
    return sum(int((rs.get("status") or {}).get(field) or 0) for rs in replica_sets)


def by_age(replica_set: Object) -> tuple[Any, ...]:
    """ReplicaSetsByCreationTimestamp: what was in the dump is older than what was made since."""
    meta = replica_set["metadata"]
    return meta.get("created", (-9, 0)), meta.get("creationTimestamp", ""), meta["name"]


def scale(replica_set: Object, replicas: int, deployment: Object, force: bool = False) -> bool:
    """sync.go scaleReplicaSet."""
    if not force and replica_set["spec"]["replicas"] == replicas:
        return False
    wanted = deployment["spec"]["replicas"]
    annotations = {DESIRED: str(wanted), MAX: str(wanted + surge_and_unavailable(deployment)[0])}
    have = replica_set["metadata"].setdefault("annotations", {})
    changed = bool(replica_set["spec"]["replicas"] != replicas)
    if changed or any(have.get(name) != value for name, value in annotations.items()):
        replica_set["spec"]["replicas"] = replicas
        have.update(annotations)
    return changed


def new_replicas(deployment: Object, everything: list[Object], newest: Object) -> int:
    """deployment_util.go NewRSNewReplicas."""
    wanted = int(deployment["spec"]["replicas"])
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        return wanted
    have = int(newest["spec"]["replicas"])
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    most = wanted + scaled(rolling.get("maxSurge", "25%"), wanted, round_up=True)
    count = total(everything)
    return have if count >= most else have + min(most - count, wanted - have)


def make_replica_set(cluster: Cluster, deployment: Object, old: list[Object]) -> Object:
    """sync.go getNewReplicaSet, when there is none; raises Refused when a quota on objects has no room for it."""
    suffix = cluster.fresh_name("")
    template = copied(deployment["spec"]["template"])
    template.setdefault("metadata", {}).setdefault("labels", {})[HASH] = suffix
    selector = copied(deployment["spec"]["selector"])
    selector.setdefault("matchLabels", {})[HASH] = suffix
    wanted = deployment["spec"]["replicas"]
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{suffix}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {DESIRED: str(wanted), MAX: str(wanted + surge_and_unavailable(deployment)[0])},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": deployment["metadata"]["name"],
                    "uid": deployment["metadata"]["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": {
            "replicas": 0,
            "selector": selector,
            "template": template,
            "minReadySeconds": deployment["spec"].get("minReadySeconds") or 0,
        },
        "status": {"replicas": 0},
    }
    made["spec"]["replicas"] = new_replicas(deployment, [*old, made], made)  # type: ignore[index]
    check(cluster, made)
    return cluster.create(made)


def sync_deployment(cluster: Cluster, deployment: Object) -> bool:
    """deployment_controller.go syncDeployment: a scaling event first, else the strategy; one write a round, the status
    last."""
    sets = sorted(owned_replica_sets(cluster, deployment), key=by_age)
    template = without_hash(deployment["spec"]["template"])
    newest = next((rs for rs in sets if without_hash(rs["spec"]["template"]) == template), None)
    old = [rs for rs in sets if rs is not newest]
    if newest is not None:  # getNewReplicaSet: the found one follows the Deployment's minReadySeconds
        newest["spec"]["minReadySeconds"] = deployment["spec"].get("minReadySeconds") or 0
    changed = False
    if deployment["spec"].get("paused"):
        changed = bool(sets) and proportional(deployment, newest, old)  # syncDeployment: sync, which only scales
    elif any(
        int(rs["metadata"]["annotations"][DESIRED]) != deployment["spec"]["replicas"]
        for rs in sets
        if rs["spec"]["replicas"] and DESIRED in (rs["metadata"].get("annotations") or {})
    ):
        changed = proportional(deployment, newest, old)
    else:
        play = recreate if deployment["spec"]["strategy"]["type"] == "Recreate" else roll
        try:
            changed, newest = play(cluster, deployment, newest, old)
        except Refused:
            return False  # the sync ends here, before the status
    if changed:
        return True
    everything = [*old, newest] if newest else old
    available = total_status(everything, "availableReplicas")
    status = {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": total_status(everything, "replicas"),
        "updatedReplicas": total_status([newest] if newest else [], "replicas"),
        "readyReplicas": total_status(everything, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(everything) - available),
        "terminatingReplicas": total_status(everything, "terminatingReplicas"),
    }
    return update_status(deployment, status)


def roll(cluster: Cluster, deployment: Object, newest: Object | None, old: list[Object]) -> tuple[bool, Object | None]:
    """rolling.go rolloutRolling: scale up if that is possible, else scale down."""
    if newest is None:
        return True, make_replica_set(cluster, deployment, old)
    wanted, have = deployment["spec"]["replicas"], newest["spec"]["replicas"]
    if have > wanted:
        return scale(newest, wanted, deployment), newest
    if have < wanted and scale(newest, new_replicas(deployment, [*old, newest], newest), deployment):
        return True, newest
    return scale_down_old(deployment, newest, old), newest


def scale_down_old(deployment: Object, newest: Object, old: list[Object]) -> bool:
    """rolling.go reconcileOldReplicaSets: unhealthy old pods first, then as many as availability allows."""
    if total(old) == 0:
        return False
    least = deployment["spec"]["replicas"] - surge_and_unavailable(deployment)[1]
    new_unavailable = newest["spec"]["replicas"] - total_status([newest], "availableReplicas")
    most = total([*old, newest]) - least - new_unavailable
    if most <= 0:
        return False
    cleaned = 0
    for rs in old:
        unhealthy = rs["spec"]["replicas"] - total_status([rs], "availableReplicas")
        if unhealthy < 0 and rs["spec"]["replicas"]:
            return cleaned > 0  # cleanupUnhealthyReplicas errs on a status that is behind ("invalid request")
        if cleaned < most and rs["spec"]["replicas"] and unhealthy:
            count = min(most - cleaned, unhealthy)
            scale(rs, rs["spec"]["replicas"] - count, deployment)
            cleaned += count
    spare, down = total_status([*old, newest], "availableReplicas") - least, 0
    for rs in old:
        if down < spare and rs["spec"]["replicas"]:
            count = min(rs["spec"]["replicas"], spare - down)
            scale(rs, rs["spec"]["replicas"] - count, deployment)
            down += count
    return cleaned + down > 0


def recreate(
    cluster: Cluster, deployment: Object, newest: Object | None, old: list[Object]
) -> tuple[bool, Object | None]:
    """recreate.go rolloutRecreate: all old pods gone (terminating ones too) before the first new one."""
    scaled_down = [scale(rs, 0, deployment) for rs in old]
    if any(scaled_down):
        return True, newest
    running = [pod for rs in old for pod in owned_pods(cluster, rs) if pod["status"].get("phase") != "Failed"]
    if running or total_status(old, "replicas"):
        return False, newest
    created = newest is None
    if newest is None:
        newest = make_replica_set(cluster, deployment, old)
    return scale(newest, deployment["spec"]["replicas"], deployment) or created, newest


def proportional(deployment: Object, newest: Object | None, old: list[Object]) -> bool:
    """sync.go scale: one active ReplicaSet (FindActiveOrLatest) takes all, else each its share."""
    wanted = deployment["spec"]["replicas"]
    everything = [*old, newest] if newest else old
    active = [rs for rs in everything if rs["spec"]["replicas"]]
    if len(active) == 1:
        return scale(active[0], wanted, deployment)
    if not active:
        return scale(newest or old[-1], wanted, deployment)
    if newest and newest["spec"]["replicas"] == wanted and total_status([newest], "availableReplicas") == wanted:
        if int(newest["metadata"]["annotations"].get(DESIRED, -1)) == wanted:
            scaled_down = [scale(rs, 0, deployment) for rs in old]
            return any(scaled_down)
    if deployment["spec"]["strategy"]["type"] != "RollingUpdate":
        return False
    most = wanted + surge_and_unavailable(deployment)[0] if wanted else 0
    more = most - total(active)
    # ReplicaSetsBySizeNewer / BySizeOlder: the larger first; of equals the newer when growing, the older when shrinking.
    active.sort(key=by_age, reverse=more > 0)
    active.sort(key=lambda rs: -rs["spec"]["replicas"])
    sizes, added = [], 0
    for rs in active:
        share = 0
        if more:
            fraction = fraction_of(rs, deployment)
            share = min(fraction, more - added) if more > 0 else max(fraction, more - added)
        sizes.append(rs["spec"]["replicas"] + share)
        added += share
    if more:
        sizes[0] = max(0, sizes[0] + more - added)
    before = [(rs["spec"]["replicas"], dict(rs["metadata"]["annotations"])) for rs in active]
    for rs, size in zip(active, sizes, strict=True):
        scale(rs, size, deployment, force=True)
    return before != [(rs["spec"]["replicas"], rs["metadata"]["annotations"]) for rs in active]


def sync_autoscaler(cluster: Cluster, autoscaler: Object) -> bool:
    """podautoscaler/horizontal.go reconcileAutoscaler, without metrics: replicas outside the bounds are set to the nearer."""
    spec = autoscaler["spec"]
    target = spec["scaleTargetRef"]
    item = cluster.get(target["kind"], autoscaler["metadata"]["namespace"], target["name"])
    if item is None:
        return False
    replicas = item["spec"]["replicas"]
    least = spec.get("minReplicas", 1)
    if replicas == 0 and least:
        return False  # switched off
    wanted = min(max(replicas, least), spec["maxReplicas"])
    if wanted == replicas:
        return False
    item["spec"]["replicas"] = wanted
    item["metadata"]["generation"] = item["metadata"].get("generation", 1) + 1
    return True


def sync_job(cluster: Cluster, job: Object) -> bool:
    """job_controller.go syncJob, of preempted pods alone: beyond backoffLimit the Job fails and its other pods go."""
    spec, pods = job["spec"], owned_pods(cluster, job)
    work = job["metadata"].setdefault("work", {"lost": {}})
    for pod in pods:
        if (pod["metadata"].get("annotations") or {}).get("preempted") == "true":
            work["lost"][pod["metadata"]["uid"]] = True
    policy = spec.get("podFailurePolicy") or {}
    ended_only = spec.get("podReplacementPolicy") == "Failed" or bool(policy)
    there = {pod["metadata"]["uid"] for pod in pods}
    lost = [uid for uid in work["lost"] if not ended_only or uid not in there]
    rules = [
        rule["action"]
        for rule in policy.get("rules") or []
        if any(one["type"] == "DisruptionTarget" for one in rule.get("onPodConditions") or [])
    ]
    if not lost or rules[:1] == ["Ignore"]:
        return False
    most = float("inf") if "backoffLimitPerIndex" in spec else spec.get("backoffLimit", 6)
    if rules[:1] != ["FailJob"] and (job.get("status") or {}).get("failed", 0) + len(lost) <= most:
        return False
    left = [pod for pod in pods if not is_terminating(pod)]
    for pod in left:
        cluster.delete_pod(pod)
    return bool(left)


def fraction_of(replica_set: Object, deployment: Object) -> int:
    """deployment_util.go getReplicaSetFraction; integer.RoundToInt32 rounds half away from zero."""
    wanted, have = deployment["spec"]["replicas"], replica_set["spec"]["replicas"]
    if wanted == 0:
        return -int(have)
    before = int(replica_set["metadata"]["annotations"].get(MAX, 0)) or total_status([deployment], "replicas")
    if not before:
        return 0
    size = have * (wanted + surge_and_unavailable(deployment)[0]) / before
    return int(size + 0.5) - int(have)


# --- ReplicaSet (pkg/controller/replicaset) -----------------------------------------------------------------------


def sync_replica_set(cluster: Cluster, rs: Object) -> bool:
    """replica_set.go syncReplicaSet, one batch of slowStartBatch at a time so that others act in between.

    A creation once begun creates what it set out to, whatever becomes of ``spec.replicas`` meanwhile.
    """
    work = rs["metadata"].setdefault("work", {"left": 0, "batch": 1, "seen": None, "failures": 0, "due": None})
    active = [pod for pod in owned_pods(cluster, rs) if is_active(pod)]
    if work["left"]:
        return create_batch(cluster, rs, work)
    missing = rs["spec"]["replicas"] - len(active)
    if missing > 0 and may_try(cluster, rs, work):
        work.update(left=missing, batch=1)
        if create_batch(cluster, rs, work):
            return True
    if missing < 0:
        for pod in ranked_for_deletion(cluster, rs, active)[:-missing]:
            cluster.delete_pod(pod)
        return True
    return update_status(rs, replica_set_status(cluster, rs, active))


def replica_set_status(cluster: Cluster, rs: Object, active: list[Object]) -> Object:
    ready = sum(is_ready(pod) for pod in active)
    seconds = rs["spec"].get("minReadySeconds") or 0
    return {
        "replicas": len(active),
        "fullyLabeledReplicas": len(active),
        "readyReplicas": ready,
        "availableReplicas": sum(is_available(pod, seconds) for pod in active),
        "terminatingReplicas": sum(is_terminating(pod) for pod in owned_pods(cluster, rs)),
    }


def create_batch(cluster: Cluster, rs: Object, work: Object) -> bool:
    """One batch of slowStartBatch; a refusal ends the loop."""
    count = min(work["batch"], work["left"])
    work.update(left=work["left"] - count, batch=work["batch"] * 2)
    changed = refused = False
    for _ in range(count):
        pod = new_pod(rs, rs["spec"]["template"], cluster.fresh_name(rs["metadata"]["name"] + "-"))
        try:
            admit_pod(cluster, pod)
        except Refused:
            refused = True
            continue
        cluster.create(pod)
        changed = True
    if refused:  # AddRateLimited: the earliest of the retries asked for counts
        due = cluster.milliseconds + min(FIRST_RETRY_MS * 2 ** min(work["failures"], 30), LAST_RETRY_MS)
        if work["due"] is not None and work["due"] > cluster.milliseconds:
            due = min(due, work["due"])
        work.update(left=0, failures=work["failures"] + 1, due=due)
    elif not work["left"]:
        work.update(failures=0, due=None)  # Forget
    work["seen"] = own_state(cluster, rs)
    return changed


def own_state(cluster: Cluster, rs: Object) -> list[Any]:
    """What makes a ReplicaSet look again: its size, its pods, its status."""
    pods = [(key(pod), is_bound(pod), is_ready(pod), is_terminating(pod)) for pod in owned_pods(cluster, rs)]
    status = [(rs.get("status") or {}).get(name) for name in ("replicas", "readyReplicas", "terminatingReplicas")]
    return [rs["spec"]["replicas"], pods, status]


def may_try(cluster: Cluster, rs: Object, work: Object) -> bool:
    """After a refusal (quota) a ReplicaSet tries again at an event of its own, each such failure doubling the delay,
    or when the delay is over (client-go/util/workqueue/default_rate_limiters.go)."""
    if not work["failures"]:
        return True
    return bool(own_state(cluster, rs) != work["seen"] or work["due"] <= cluster.milliseconds)


def next_retry(cluster: Cluster) -> float | None:
    """When the next delayed retry is due, if any is waiting."""
    works = [rs["metadata"].get("work") or {} for rs in cluster.of("ReplicaSet")]
    dues = [float(work["due"]) for work in works if work.get("due") is not None]
    return min((due for due in dues if due > cluster.milliseconds), default=None)


def ranked_for_deletion(cluster: Cluster, rs: Object, pods: list[Object]) -> list[Object]:
    """controller_utils.go ActivePodsWithRanks: the first of the list goes first."""
    owner = (controller_of(rs) or {}).get("uid")
    crowd: dict[str, int] = {}
    for sibling in cluster.of("ReplicaSet"):
        if sibling is rs or (owner and (controller_of(sibling) or {}).get("uid") == owner):
            for pod in owned_pods(cluster, sibling):
                if is_active(pod):
                    crowd[pod["spec"].get("nodeName", "")] = crowd.get(pod["spec"].get("nodeName", ""), 0) + 1
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}
    draws = {key(pod): cluster.random.random() for pod in pods}  # the informer lists them in no order

    def order(pod: Object) -> tuple[Any, ...]:
        cost = int((pod["metadata"].get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", 0))
        restarts = max((s.get("restartCount", 0) for s in pod["status"].get("containerStatuses") or []), default=0)
        return (
            is_bound(pod),
            phases.get(pod["status"].get("phase", "Pending"), 0),
            is_ready(pod),
            cost,
            -crowd.get(pod["spec"].get("nodeName", ""), 0),
            -age_class(pod["metadata"].get("ready")),
            -restarts,
            -age_class(pod["metadata"].get("created")),
            draws[key(pod)],
        )

    return sorted(pods, key=order)


# --- StatefulSet (pkg/controller/statefulset) ---------------------------------------------------------------------


def sync_stateful_set(cluster: Cluster, item: Object) -> bool:
    """stateful_set_control.go updateStatefulSet and the status."""
    if not has_revision(cluster, item, item["status"]["updateRevision"]):
        return False
    changed = update_pods_of_stateful_set(cluster, item)
    pods = owned_pods(cluster, item)
    status, spec = item["status"], item["spec"]
    seconds = spec.get("minReadySeconds") or 0
    alive = [pod for pod in pods if not is_terminating(pod)]
    counted = {
        "observedGeneration": item["metadata"].get("generation", 1),
        "replicas": len(pods),
        "readyReplicas": sum(is_ready(pod) for pod in pods),
        "availableReplicas": sum(is_available(pod, seconds) for pod in pods),
        "currentReplicas": sum(labels(pod).get(REVISION) == status["currentRevision"] for pod in alive),
        "updatedReplicas": sum(labels(pod).get(REVISION) == status["updateRevision"] for pod in alive),
    }
    rolling = spec["updateStrategy"]["type"] == "RollingUpdate"
    if rolling and all(counted[n] == spec["replicas"] for n in ("updatedReplicas", "readyReplicas", "replicas")):
        counted["currentReplicas"] = counted["updatedReplicas"]
        counted["currentRevision"] = status["updateRevision"]
    return update_status(item, counted) or changed


def has_revision(cluster: Cluster, item: Object, name: str) -> bool:
    """getStatefulSetRevisions, constructHistory: a new template's ControllerRevision is made before anything else is
    done."""
    if item["metadata"].get("unmade") == name:
        made = controller_revision(item, name)
        try:
            check(cluster, made)
        except Refused:
            return False
        cluster.create(made)
        del item["metadata"]["unmade"]
    return True


def controller_revision(item: Object, name: str) -> Object:
    """newRevision, snapshot: the template that a revision of a StatefulSet or DaemonSet has, as a patch (getPatch)."""
    namespace, own = key(item)
    templates = item["metadata"]["templates"]
    owner = {
        "apiVersion": "apps/v1",
        "kind": item["kind"],
        "name": own,
        "uid": item["metadata"]["uid"],
        "controller": True,
    }
    of_daemon = item["kind"] == "DaemonSet"
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "namespace": namespace,
            "name": f"{own}-{name}" if of_daemon else name,
            "labels": {REVISION: name} if of_daemon else {},
            "ownerReferences": [owner],
        },
        "data": {"spec": {"template": {**copied(templates[name]), "$patch": "replace"}}},
        "revision": list(templates).index(name) + 1,
    }


def held_revisions(cluster: Cluster, item: Object) -> dict[str, Object]:
    """Hash → template of the ControllerRevisions that there are, the latest last."""
    owned = [
        one
        for one in cluster.of("ControllerRevision")
        if (controller_of(one) or {}).get("uid") == item["metadata"]["uid"]
    ]
    found = {}
    for one in sorted(owned, key=lambda one: int(one["revision"])):
        template = copied(one["data"]["spec"]["template"])
        del template["$patch"]
        found[labels(one).get(REVISION, one["metadata"]["name"])] = template
    return found


def looks_like(pod: Object, template: Object) -> bool:
    """Whether a pod is of a template: has all that the template says (the API server and controllers add to it)."""
    said, shown = template["spec"], pod["spec"]
    of_template = (template.get("metadata") or {}).get("labels") or {}
    if any(labels(pod).get(name) != value for name, value in of_template.items()):
        return False
    own = {name for name in labels(pod) if not name.startswith(ADDED_LABELS)}
    if own != {name for name in of_template if not name.startswith(ADDED_LABELS)}:
        return False
    return all(covers(shown.get(name), value) for name, value in said.items() if name != "affinity")


ADDED_LABELS = (REVISION, "pod-template-generation", "statefulset.", "apps.kubernetes.io/pod-index", "topology.")


def covers(shown: Any, said: Any) -> bool:
    if isinstance(said, dict):
        return isinstance(shown, dict) and all(covers(shown.get(name), value) for name, value in said.items())
    if isinstance(said, list) and isinstance(shown, list):
        if said and isinstance(said[0], dict) and "name" in said[0]:
            by_name = {one.get("name"): one for one in shown}
            return all(covers(by_name.get(one["name"]), one) for one in said)
        return all(any(covers(other, one) for other in shown) for one in said)
    return bool(shown == said)


def revision_again(cluster: Cluster, item: Object) -> str:
    """The ControllerRevision that a template goes back to (FindEqualRevisions, Match), or a new one; where a dump holds
    none, as far as pods show it."""
    template = item["spec"]["template"]
    held = held_revisions(cluster, item)
    for name, known in held.items():
        if known == template:
            return name
    today = item["metadata"].get("revision") or item["status"].get("updateRevision")
    pods = [pod for pod in owned_pods(cluster, item) if not held and labels(pod).get(REVISION) != today]
    again = next((pod for pod in pods if looks_like(pod, template)), None)
    if again is not None:
        return labels(again)[REVISION]
    name = item["metadata"]["unmade"] = cluster.fresh_name(f"{key(item)[1]}-")
    return name


def make_volume_claims(cluster: Cluster, item: Object, pod: Object) -> None:
    """stateful_pod_control.go createPersistentVolumeClaims; raises Refused when a quota has no room for one."""
    templates = item["spec"].get("volumeClaimTemplates") or []
    for template in templates:
        name = template["metadata"]["name"]
        own = f"{name}-{pod['metadata']['name']}"
        volumes = pod["spec"].setdefault("volumes", [])
        volumes[:] = [one for one in volumes if one["name"] != name]
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": own}})
        if cluster.get("PersistentVolumeClaim", pod["metadata"]["namespace"], own) is None:
            claim = storage.make_claim(pod["metadata"]["namespace"], own, template)
            check_claim(cluster, claim)
            check(cluster, claim)
            storage.provision_at_once(cluster, cluster.create(claim))


def update_pods_of_stateful_set(cluster: Cluster, item: Object) -> bool:
    spec, status, name = item["spec"], item["status"], item["metadata"]["name"]
    seconds = spec.get("minReadySeconds") or 0
    monotonic = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
    start = (spec.get("ordinals") or {}).get("start", 0)
    by_ordinal = {int(key(pod)[1].rsplit("-", 1)[1]): pod for pod in owned_pods(cluster, item)}
    partition = (spec["updateStrategy"].get("rollingUpdate") or {}).get("partition", 0)
    changed = False
    for ordinal in range(start, start + spec["replicas"]):  # processReplica
        pod = by_ordinal.get(ordinal)
        if pod is None:
            old = spec["updateStrategy"]["type"] == "RollingUpdate" and ordinal < start + partition
            revision = status["currentRevision"] if old else status["updateRevision"]
            template = item["metadata"].get("templates", {}).get(revision, spec["template"])
            pod = new_pod(item, template, f"{name}-{ordinal}")
            pod["metadata"]["labels"].update(
                {REVISION: revision, "statefulset.kubernetes.io/pod-name": f"{name}-{ordinal}"}
            )
            try:
                make_volume_claims(cluster, item, pod)
                admit_pod(cluster, pod)
            except Refused:
                return changed
            cluster.create(pod)
            by_ordinal[ordinal] = pod
            changed = True
        if monotonic and is_down(pod, seconds):
            return changed
    condemned = sorted((o for o in by_ordinal if o >= start + spec["replicas"] or o < start), reverse=True)
    sick = [ordinal for ordinal in reversed(condemned) if is_down(by_ordinal[ordinal], seconds)]
    for ordinal in condemned:  # processCondemned
        pod = by_ordinal[ordinal]
        if monotonic and not is_terminating(pod) and not is_available(pod, seconds) and ordinal != sick[0]:
            return changed
        if not is_terminating(pod):
            cluster.delete_pod(pod)
            changed = True
        if monotonic:
            return changed
    if spec["updateStrategy"]["type"] != "RollingUpdate":
        return changed
    most = (spec["updateStrategy"].get("rollingUpdate") or {}).get("maxUnavailable")
    ordinals = range(start + spec["replicas"] - 1, start + partition - 1, -1)
    if most is not None:  # MaxUnavailableStatefulSet
        down = sum(is_down(p, seconds) for o, p in by_ordinal.items() if o not in condemned)
        room = max(1, scaled(most, spec["replicas"], round_up=False)) - down
        for ordinal in ordinals:
            pod = by_ordinal[ordinal]
            if room > 0 and labels(pod).get(REVISION) != status["updateRevision"] and not is_terminating(pod):
                cluster.delete_pod(pod)
                room, changed = room - 1, True
        return changed
    for ordinal in ordinals:
        pod = by_ordinal[ordinal]
        if labels(pod).get(REVISION) != status["updateRevision"] and not is_terminating(pod):
            cluster.delete_pod(pod)
            return True
        if is_down(pod, seconds):
            return changed
    return changed


def is_down(pod: Object, seconds: int) -> bool:
    """stateful_set_utils.go isUnavailable."""
    return is_terminating(pod) or not is_available(pod, seconds)


# --- DaemonSet (pkg/controller/daemon) ----------------------------------------------------------------------------

DAEMON_TOLERATIONS = [  # daemon/util/daemonset_util.go AddOrUpdateDaemonPodTolerations
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]


def daemon_pod(item: Object, node: str, name: str) -> Object:
    pod = new_pod(item, item["spec"]["template"], name)
    pod["metadata"]["labels"][REVISION] = item["metadata"]["revision"]
    affinity = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    }
    pod["spec"].setdefault("tolerations", []).extend(copied(DAEMON_TOLERATIONS))
    return pod


def target_node(pod: Object) -> str:
    if is_bound(pod):
        return str(pod["spec"]["nodeName"])
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def daemon_should_run(item: Object, node: Object) -> tuple[bool, bool]:
    """daemon_controller.go NodeShouldRunDaemonPod: (should start, may stay)."""
    template = {"metadata": {"labels": {}}, "spec": item["spec"]["template"]["spec"]}
    if not required_node_affinity_matches(template, node):
        return False, False
    tolerations = [*(template["spec"].get("tolerations") or []), *DAEMON_TOLERATIONS]
    untolerated = [
        t["effect"] for t in node["spec"].get("taints") or [] if not any(tolerates(x, t) for x in tolerations)
    ]
    return not {"NoSchedule", "NoExecute"} & set(untolerated), "NoExecute" not in untolerated


def sync_daemon_set(cluster: Cluster, item: Object) -> bool:
    """updateDaemonSet: manage, then the rolling update once nothing is outstanding; then the status."""
    if not has_revision(cluster, item, item["metadata"]["revision"]):
        return False
    seconds = item["spec"].get("minReadySeconds") or 0
    changed = manage_daemons(cluster, item)
    if not changed and item["spec"]["updateStrategy"]["type"] == "RollingUpdate":
        changed = roll_daemons(cluster, item)
    by_node = daemons_by_node(cluster, item)
    status = dict.fromkeys(
        (
            "desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled",
            "numberReady", "numberAvailable", "updatedNumberScheduled",
        ),
        0,
    )  # fmt: skip
    for node in cluster.of("Node"):
        pods = sorted(by_node.get(node["metadata"]["name"], []), key=daemon_age)
        if not daemon_should_run(item, node)[0]:
            status["numberMisscheduled"] += bool(pods)
            continue
        status["desiredNumberScheduled"] += 1
        if pods:
            status["currentNumberScheduled"] += 1
            status["numberReady"] += is_ready(pods[0])
            status["numberAvailable"] += is_available(pods[0], seconds)
            status["updatedNumberScheduled"] += labels(pods[0]).get(REVISION) == item["metadata"]["revision"]
    status["observedGeneration"] = item["metadata"].get("generation", 1)
    status["numberUnavailable"] = status["desiredNumberScheduled"] - status["numberAvailable"]
    return update_status(item, status) or changed


def daemon_age(pod: Object) -> tuple[Any, ...]:
    """podByCreationTimestampAndPhase: bound before unbound, then the older."""
    return not is_bound(pod), pod["metadata"].get("created", (-9, 0))


def daemons_by_node(cluster: Cluster, item: Object) -> dict[str, list[Object]]:
    by_node: dict[str, list[Object]] = {}
    for pod in owned_pods(cluster, item):
        by_node.setdefault(target_node(pod), []).append(pod)
    return by_node


def manage_daemons(cluster: Cluster, item: Object) -> bool:
    """daemon_controller.go podsShouldBeOnNode for every node."""
    seconds = item["spec"].get("minReadySeconds") or 0
    by_node, surge = daemons_by_node(cluster, item), daemon_limits(cluster, item)[0] > 0
    create, delete = [], []
    for node in cluster.of("Node"):
        name = node["metadata"]["name"]
        start, stay = daemon_should_run(item, node)
        pods = by_node.get(name, [])
        if start and not pods:
            create.append(name)
        elif stay:
            alive = sorted((pod for pod in pods if not is_terminating(pod)), key=daemon_age)
            if not surge:
                delete += alive[1:]
            elif not alive and start:
                create.append(name)
            elif len(alive) > 1:
                new = [p for p in alive if labels(p).get(REVISION) == item["metadata"]["revision"]]
                old = [p for p in alive if p not in new]
                delete += new[1:] + old[1:]
                if new and old and (not is_ready(old[0]) or is_available(new[0], seconds)):
                    delete.append(old[0])
        else:
            delete += pods
    there = {node["metadata"]["name"] for node in cluster.of("Node")}  # getUnscheduledPodsWithoutNode
    delete += [pod for name, pods in by_node.items() if name not in there for pod in pods if not is_bound(pod)]
    return sync_daemons(cluster, item, create, [pod for pod in delete if not is_terminating(pod)])


def daemon_limits(cluster: Cluster, item: Object) -> tuple[int, int]:
    """updatedDesiredNodeCounts: (maxSurge, maxUnavailable), both rounded up."""
    desired = sum(daemon_should_run(item, node)[0] for node in cluster.of("Node"))
    rolling = item["spec"]["updateStrategy"].get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", 0), desired, round_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", 1), desired, round_up=True)
    return surge, unavailable if surge or unavailable else 1


def roll_daemons(cluster: Cluster, item: Object) -> bool:
    """update.go rollingUpdate."""
    seconds = item["spec"].get("minReadySeconds") or 0
    by_node = daemons_by_node(cluster, item)
    surge, unavailable = daemon_limits(cluster, item)
    replace, candidates, spare_new, spare_candidates = [], [], [], []
    down = surging = 0
    wanted = [n["metadata"]["name"] for n in cluster.of("Node") if daemon_should_run(item, n)[0]]
    names = [*wanted, *(name for name in by_node if name not in wanted)]  # nodeToDaemonPods has both
    cluster.random.shuffle(names)  # the controller walks a map
    available = 0
    unwanted: list[Object] = []
    for name in names:
        alive = [pod for pod in by_node.get(name, []) if not is_terminating(pod)]
        new = next((p for p in alive if labels(p).get(REVISION) == item["metadata"]["revision"]), None)
        old = next((p for p in alive if labels(p).get(REVISION) != item["metadata"]["revision"]), None)
        speaks = old if old is not None else new
        available += speaks is not None and is_available(speaks, seconds)
        if surge == 0:
            if (old is None) == (new is None):
                down += 1
            elif new is not None:
                down += not is_available(new, seconds)
            elif old is not None and not is_available(old, seconds):
                replace.append(old)
                down += 1
            elif old is not None:
                candidates.append(old)
        elif old is not None and new is None:
            if name not in wanted:
                (unwanted if is_available(old, seconds) else replace).append(old)
            elif is_available(old, seconds):
                spare_candidates.append(name)
            else:
                spare_new.append(name)
        elif old is not None and new is not None:
            if is_available(new, seconds):
                replace.append(old)
            else:
                surging += 1
    if surge == 0:
        return sync_daemons(cluster, item, [], replace + candidates[: max(0, unavailable - down)])
    replace += unwanted[: max(0, available - len(wanted))]
    return sync_daemons(cluster, item, spare_new + spare_candidates[: max(0, surge - surging)], replace)


def sync_daemons(cluster: Cluster, item: Object, create: list[str], delete: list[Object]) -> bool:
    changed = False
    for name in create:
        pod = daemon_pod(item, name, cluster.fresh_name(item["metadata"]["name"] + "-"))
        try:
            admit_pod(cluster, pod)
        except Refused:
            continue
        cluster.create(pod)
        changed = True
    for pod in delete:
        cluster.delete_pod(pod)
        changed = True
    return changed


# --- PodDisruptionBudget (pkg/controller/disruption) ----------------------------------------------------------------


def sync_budget(cluster: Cluster, budget: Object) -> bool:
    """disruption.go trySync: how many of the matching pods may go."""
    spec = budget["spec"]
    pods = [
        pod
        for pod in cluster.of("Pod")
        if pod["metadata"]["namespace"] == budget["metadata"]["namespace"]
        and selector_matches(spec.get("selector"), labels(pod))
        and pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    healthy = sum(is_ready(pod) and not is_terminating(pod) for pod in pods)
    expected = len(pods)
    if spec.get("maxUnavailable") is not None:
        expected = expected_by_controllers(cluster, pods)
        desired = max(0, expected - scaled(spec["maxUnavailable"], expected, round_up=True))
    else:
        least = spec.get("minAvailable", 1)
        if isinstance(least, str):
            expected = expected_by_controllers(cluster, pods)
        desired = scaled(least, expected, round_up=True)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
    }
    return update_status(budget, status)


def expected_by_controllers(cluster: Cluster, pods: list[Object]) -> int:
    """getExpectedScale: the replicas that the pods' controllers ask for."""
    scales: dict[str, int] = {}
    for pod in pods:
        owner = controller_of(pod)
        found = owner and cluster.get(owner["kind"], pod["metadata"]["namespace"], owner["name"])
        top = found and controller_of(found)
        if found and top:
            found = cluster.get(top["kind"], pod["metadata"]["namespace"], top["name"]) or found
        if found:
            scales[found["metadata"]["uid"]] = int(found["spec"].get("replicas", 0))
    return sum(scales.values())


# --- ResourceClaims (pkg/controller/resourceclaim) ------------------------------------------------------------------


def sync_claims(cluster: Cluster) -> bool:
    """controller.go: a claim for each template of a pod; gone with the pod."""
    changed = False
    for pod in cluster.of("Pod"):
        for entry in pod["spec"].get("resourceClaims") or []:
            made = pod["status"].setdefault("resourceClaimStatuses", [])
            template_name = entry.get("resourceClaimTemplateName")
            if not template_name or any(s["name"] == entry["name"] for s in made):
                continue
            namespace = pod["metadata"]["namespace"]
            template = cluster.get("ResourceClaimTemplate", namespace, template_name)
            if template is None:
                continue
            claim = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {
                    "name": cluster.fresh_name(f"{pod['metadata']['name']}-{entry['name']}-"),
                    "namespace": namespace,
                    "ownerReferences": [
                        {
                            "apiVersion": "v1",
                            "kind": "Pod",
                            "name": pod["metadata"]["name"],
                            "uid": pod["metadata"]["uid"],
                            "controller": True,
                        }
                    ],
                },
                "spec": copied(template["spec"]["spec"]),
            }
            try:
                check(cluster, claim)
            except Refused:
                continue
            made.append({"name": entry["name"], "resourceClaimName": claim["metadata"]["name"]})
            cluster.create(claim)
            changed = True
    uids = {pod["metadata"]["uid"] for pod in cluster.of("Pod")}
    running = {
        pod["metadata"]["uid"] for pod in cluster.of("Pod") if pod["status"].get("phase") not in ("Succeeded", "Failed")
    }
    for claim in cluster.of("ResourceClaim"):
        owner = controller_of(claim)
        if owner and owner["kind"] == "Pod" and owner["uid"] not in uids:
            cluster.remove(claim)
            changed = True
            continue
        status = claim.get("status") or {}
        reserved = status.get("reservedFor") or []
        status["reservedFor"] = [one for one in reserved if one.get("resource") != "pods" or one["uid"] in running]
        if len(status["reservedFor"]) < len(reserved):  # syncClaim: who has gone needs it no more
            changed = True
            if not status["reservedFor"]:
                deallocate(cluster, claim)
    return changed


def sync_ephemeral_volumes(cluster: Cluster) -> bool:
    """pkg/controller/volume/ephemeral: a claim for each generic ephemeral volume of a pod; gone with the pod."""
    changed = False
    for pod in cluster.of("Pod"):
        namespace = pod["metadata"]["namespace"]
        for name, volume in storage.claim_names(pod):
            if not volume.get("ephemeral") or cluster.get("PersistentVolumeClaim", namespace, name) is not None:
                continue
            claim = storage.make_claim(namespace, name, volume["ephemeral"]["volumeClaimTemplate"], pod)
            try:
                check_claim(cluster, claim)
                check(cluster, claim)
            except Refused:
                continue
            storage.provision_at_once(cluster, cluster.create(claim))
            changed = True
    uids = {pod["metadata"]["uid"] for pod in cluster.of("Pod")}
    for claim in cluster.of("PersistentVolumeClaim"):
        owner = controller_of(claim)
        if owner and owner["kind"] == "Pod" and owner["uid"] not in uids:
            cluster.remove(claim)
            changed = True
    return changed


def sync_all(cluster: Cluster) -> bool:
    """One round: each controller does about one request's worth of work."""
    changed = [sync_claims(cluster), sync_ephemeral_volumes(cluster)]
    changed += [sync_budget(cluster, item) for item in cluster.of("PodDisruptionBudget")]
    if not cluster.draws_order:
        return any([*changed, *(sync(cluster, item) for kind, sync in SYNCS.items() for item in cluster.of(kind))])
    turns = [(sync, item) for kind, sync in SYNCS.items() for item in cluster.of(kind)]
    cluster.random.shuffle(turns)
    return any([*changed, *(sync(cluster, item) for sync, item in turns)])


SYNCS = {
    "Deployment": sync_deployment,
    "ReplicaSet": sync_replica_set,
    "StatefulSet": sync_stateful_set,
    "DaemonSet": sync_daemon_set,
    "Job": sync_job,
}
