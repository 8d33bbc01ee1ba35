"""Volumes: claims bound before and bound by the scheduler, limits of CSI drivers, claims that controllers make.

As in the recordings, a late-binding claim gets its (zonal) volume as soon as its pod is placed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.reference.cluster import Cluster
from tests.reference.objects import (
    Object,
    copied,
    is_bound,
    key,
    labels,
    node_selector_matches,
    quantity,
    selector_matches,
)

ZONE = "topology.kubernetes.io/zone"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def claim_names(pod: Object) -> list[tuple[str, Object]]:
    """(claim, volume of the pod) in order; a generic ephemeral volume's claim is ``<pod>-<volume>``."""
    names = []
    for volume in pod["spec"].get("volumes") or []:
        if volume.get("persistentVolumeClaim"):
            names.append((volume["persistentVolumeClaim"]["claimName"], volume))
        elif volume.get("ephemeral"):
            names.append((f"{pod['metadata']['name']}-{volume['name']}", volume))
    return names


def claims_of(cluster: Cluster, pod: Object) -> Iterator[tuple[str, Object | None]]:
    for name, _ in claim_names(pod):
        yield name, cluster.get("PersistentVolumeClaim", pod["metadata"]["namespace"], name)


def class_of(cluster: Cluster, claim: Object) -> Object | None:
    return cluster.get("StorageClass", "", claim["spec"].get("storageClassName") or "")


def is_late(cluster: Cluster, claim: Object) -> bool:
    found = class_of(cluster, claim)
    return bool(found and found.get("volumeBindingMode") == "WaitForFirstConsumer")


def is_bound_claim(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeName"))


def refusal_before_nodes(cluster: Cluster, pod: Object) -> str | None:
    """volumebinding PreFilter: what no node can fix."""
    immediate = False
    for name, claim in claims_of(cluster, pod):
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if (claim.get("status") or {}).get("phase") == "Lost":
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim["spec"].get("volumeName", "")}"'
        if claim["metadata"].get("deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
        if not is_bound_claim(claim) and not is_late(cluster, claim):
            immediate = True
    return "pod has unbound immediate PersistentVolumeClaims" if immediate else None


def refusals_on(cluster: Cluster, pod: Object, node: Object) -> list[str]:
    """volumebinding binder.go FindPodVolumes: why the pod's volumes can't be on a node."""
    reasons = []
    taken: set[str] = set()
    unbound = []
    for _, claim in claims_of(cluster, pod):
        if claim is None:
            continue
        if not is_bound_claim(claim):
            unbound.append(claim)
            continue
        volume = cluster.get("PersistentVolume", "", claim["spec"]["volumeName"])
        if volume is None:
            reasons.append("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
        elif not reaches(volume, node):
            reasons.append("node(s) didn't match PersistentVolume's node affinity")
        elif not is_in_zone(volume, node):
            reasons.append("node(s) had no available volume zone")
    for claim in sorted(unbound, key=storage_asked):
        volume = matching_volume(cluster, claim, node, taken)
        if volume is not None:
            taken.add(volume["metadata"]["name"])
        elif not can_provision(cluster, claim, node):
            reasons.append("node(s) didn't find available persistent volumes to bind")
        elif not has_space(cluster, claim, node):
            reasons.append("node(s) did not have enough free storage")
    return list(dict.fromkeys(reasons))


def reaches(volume: Object, node: Object) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or node_selector_matches(required, node)


def is_in_zone(volume: Object, node: Object) -> bool:
    """volumezone/volume_zone.go Filter: labels of the volume, the older ones translated to the newer."""
    newer = {f"failure-domain.beta.kubernetes.io/{one}": f"topology.kubernetes.io/{one}" for one in ("zone", "region")}
    known = labels(node)
    wanted = {name: value for name, value in labels(volume).items() if name in newer or name in newer.values()}
    if not any(name in known for name in (*newer, *newer.values())):
        return True
    return all(known.get(name, known.get(newer.get(name, ""))) in set(v.split("__")) for name, v in wanted.items())


def storage_asked(claim: Object) -> Fraction:
    return quantity(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", 0))


def matching_volume(cluster: Cluster, claim: Object, node: Object | None, taken: set[str]) -> Object | None:
    """component-helpers/storage/volume FindMatchingVolume: of what is free, the smallest that is large enough."""
    chosen = None
    for volume in cluster.of("PersistentVolume"):
        spec = volume["spec"]
        if volume["metadata"]["name"] in taken or (
            (spec.get("storageClassName") or "") != (claim["spec"].get("storageClassName") or "")
        ):
            continue
        owner = spec.get("claimRef")
        if owner and not is_kept_for(owner, claim):
            continue
        if (volume.get("status") or {}).get("phase") not in (None, "Available") and not owner:
            continue
        if not set(claim["spec"].get("accessModes") or []) <= set(spec.get("accessModes") or []):
            continue
        if claim["spec"].get("volumeMode", "Filesystem") != spec.get("volumeMode", "Filesystem"):
            continue
        if quantity(spec["capacity"]["storage"]) < storage_asked(claim):
            continue
        chosen_by = claim["spec"].get("selector")
        if chosen_by is not None and not selector_matches(chosen_by, labels(volume)):
            continue
        if node is not None and not reaches(volume, node):
            continue
        if chosen is None or quantity(spec["capacity"]["storage"]) < quantity(chosen["spec"]["capacity"]["storage"]):
            chosen = volume
    return chosen


def can_provision(cluster: Cluster, claim: Object, node: Object) -> bool:
    """checkVolumeProvisions: a class with a provisioner whose topology the node is in."""
    found = class_of(cluster, claim)
    if found is None or found.get("provisioner", NO_PROVISIONER) == NO_PROVISIONER:
        return False
    terms = found.get("allowedTopologies") or []
    return not terms or any(
        all(labels(node).get(one["key"]) in one["values"] for one in term.get("matchLabelExpressions") or [])
        for term in terms
    )


def has_space(cluster: Cluster, claim: Object, node: Object) -> bool:
    """hasEnoughCapacity: only of drivers that say how much there is; one object has to offer it all."""
    found = class_of(cluster, claim) or {}
    driver = cluster.get("CSIDriver", "", found.get("provisioner", ""))
    if driver is None or not driver["spec"].get("storageCapacity") or not storage_asked(claim):
        return True
    return any(
        one["storageClassName"] == found["metadata"]["name"]
        and quantity(one.get("maximumVolumeSize", one.get("capacity", -1))) >= storage_asked(claim)
        and "nodeTopology" in one
        and selector_matches(one["nodeTopology"], labels(node))
        for one in cluster.of("CSIStorageCapacity")
    )


def is_kept_for(claim_ref: Object, claim: Object) -> bool:
    """component-helpers/storage/volume IsVolumeBoundToClaim: a claim made anew under the same name is another."""
    is_same_name = (claim_ref.get("namespace"), claim_ref.get("name")) == key(claim)
    return is_same_name and claim_ref.get("uid") in (None, "", claim["metadata"].get("uid"))


def bind_claims(cluster: Cluster, pod: Object, node: Object) -> None:
    """VolumeBinding PreBind, and what the PV controller and the provisioner do after it."""
    taken: set[str] = set()
    unbound = [claim for _, claim in claims_of(cluster, pod) if claim is not None and not is_bound_claim(claim)]
    for claim in sorted(unbound, key=storage_asked):
        volume = matching_volume(cluster, claim, node, taken) or make_volume(cluster, claim, node)
        taken.add(volume["metadata"]["name"])
        namespace, name = key(claim)
        volume["spec"]["claimRef"] = {"namespace": namespace, "name": name, "uid": claim["metadata"].get("uid")}
        volume.setdefault("status", {})["phase"] = "Bound"
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        claim.setdefault("status", {})["phase"] = "Bound"
        cluster.tell("bound", claim)


def make_volume(cluster: Cluster, claim: Object, node: Object | None) -> Object:
    """external-provisioner: named by the claim's uid."""
    name = f"pvc-{claim['metadata']['uid'].replace('/', '-').lower()}"
    found = class_of(cluster, claim) or {}
    spec: Object = {
        "accessModes": claim["spec"].get("accessModes") or ["ReadWriteOnce"],
        "capacity": copied((claim["spec"].get("resources") or {}).get("requests") or {"storage": "1Gi"}),
        "csi": {"driver": found.get("provisioner", ""), "volumeHandle": name},
        "storageClassName": claim["spec"].get("storageClassName"),
    }
    if node is not None and ZONE in labels(node):
        expression = {"key": ZONE, "operator": "In", "values": [labels(node)[ZONE]]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"phase": "Bound"},
    }
    return cluster.create(volume)


def make_claim(namespace: str, name: str, template: Object, owner: Object | None = None) -> Object:
    """A claim as the StatefulSet or the ephemeral volume controller makes it."""
    meta: Object = {
        "name": name,
        "namespace": namespace,
        "labels": (template.get("metadata") or {}).get("labels") or {},
    }
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "spec": copied(template["spec"]),
        "status": {"phase": "Pending"},
    }


def provision_at_once(cluster: Cluster, claim: Object) -> None:
    """A claim that needn't wait for its pod is bound, if to anything, before anybody schedules that."""
    found = class_of(cluster, claim)
    if is_late(cluster, claim):
        return
    volume = matching_volume(cluster, claim, None, set())  # the PV controller takes one that is there first
    if volume is None and found and found.get("provisioner", NO_PROVISIONER) != NO_PROVISIONER:
        volume = make_volume(cluster, claim, None)
    if volume is not None:
        namespace, name = key(claim)
        volume["spec"]["claimRef"] = {"namespace": namespace, "name": name, "uid": claim["metadata"].get("uid")}
        volume.setdefault("status", {})["phase"] = "Bound"
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        claim["status"]["phase"] = "Bound"


# --- limits and exclusive use ------------------------------------------------------------------------------------


def csi_volumes(cluster: Cluster, pod: Object) -> dict[str, str]:
    """nodevolumelimits/csi.go filterAttachableVolumes: unique name -> driver."""
    found = {}
    for _, claim in claims_of(cluster, pod):
        if claim is None:
            continue
        volume = cluster.get("PersistentVolume", "", claim["spec"].get("volumeName") or "")
        if volume is not None:
            source = volume["spec"].get("csi")
            if source:
                found[f"{source['driver']}/{source['volumeHandle']}"] = source["driver"]
            continue
        storage_class = class_of(cluster, claim)
        if storage_class is not None:
            found[f"unmade/{'/'.join(key(claim))}"] = storage_class["provisioner"]
    return found


def exceeds_limits(cluster: Cluster, pod: Object, node: Object, here: list[Object]) -> bool:
    """nodevolumelimits/csi.go Filter: a volume that several pods of the node use counts once."""
    facts = cluster.get("CSINode", "", node["metadata"]["name"])
    limits = {
        one["name"]: one["allocatable"]["count"]
        for one in ((facts or {}).get("spec") or {}).get("drivers") or []
        if (one.get("allocatable") or {}).get("count") is not None
    }
    if not limits:
        return False
    attached: dict[str, str] = {}
    for other in here:
        attached.update(csi_volumes(cluster, other))
    new = {name: driver for name, driver in csi_volumes(cluster, pod).items() if name not in attached}
    return any(
        driver in limits and list(attached.values()).count(driver) + list(new.values()).count(driver) > limits[driver]
        for driver in new.values()
    )


def exclusive_claims(cluster: Cluster, pod: Object) -> set[str]:
    return {
        name
        for name, claim in claims_of(cluster, pod)
        if claim is not None and "ReadWriteOncePod" in (claim["spec"].get("accessModes") or [])
    }


def is_held_by_another(cluster: Cluster, pod: Object, placed: list[Object]) -> bool:
    """volumerestrictions satisfyReadWriteOncePod: a scheduled pod uses the claim already."""
    wanted = exclusive_claims(cluster, pod)
    return bool(wanted) and any(
        other["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and wanted & {name for name, _ in claim_names(other)}
        for other in placed
        if is_bound(other)
    )


def shares_claim(pod: Object, other: Object) -> bool:
    same = pod["metadata"]["namespace"] == other["metadata"]["namespace"]
    return same and bool({name for name, _ in claim_names(pod)} & {name for name, _ in claim_names(other)})
