"""Volumes that have to be on a node before a pod there starts: what the attach-detach controller makes of those that one node has at a time.

Written from `pkg/controller/volume/attachdetach` (`reconciler.go`, `util/util.go` ProcessPodVolumes), `pkg/volume/util/util.go`
IsMultiAttachAllowed, `pkg/volume/csi/csi_plugin.go` CanAttach and `pkg/volume/flexvolume/plugin.go`. External attachers answer at once, and kubelets say at once what
they have unmounted, as in the recordings.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.reference.cluster import Cluster
from tests.reference.objects import Object, is_bound, is_terminating
from tests.reference.silence import has_gone, not_heard
from tests.reference.storage import claims_of

MIGRATED = {
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "vsphereVolume": "csi.vsphere.vmware.com",
    "portworxVolume": "pxd.portworx.com",
}
OWN_ATTACHERS = ("iscsi", "fc")


def driver_of(volume: Object) -> str | None:
    spec = volume["spec"]
    if spec.get("csi"):
        return str(spec["csi"]["driver"])
    return next((driver for source, driver in MIGRATED.items() if spec.get(source)), None)


def can_attach(cluster: Cluster, volume: Object) -> bool:
    """csi_plugin.go skipAttach: only a CSIDriver that says false spares it."""
    name = driver_of(volume)
    if volume["spec"].get("flexVolume"):
        return any(flex_driver(volume) == other.rpartition("/")[0] for other in attached_names(cluster))
    if name is None:
        return any(volume["spec"].get(source) for source in OWN_ATTACHERS)
    driver = cluster.get("CSIDriver", "", name)
    return driver is None or (driver.get("spec") or {}).get("attachRequired") is not False


def flex_driver(volume: Object) -> str:
    """plugin.go GetPluginName; its capabilities (driver-call.go, attach unless it says otherwise) are in no object: that something of it
    is attached shows them."""
    return f"flexvolume-{volume['spec']['flexVolume']['driver']}"


def attached_names(cluster: Cluster) -> Iterator[str]:
    for node in cluster.of("Node"):
        yield from (one["name"] for one in node["status"].get("volumesAttached") or [])


def may_be_on_several_nodes(volume: Object) -> bool:
    modes = volume["spec"].get("accessModes") or []
    return not modes or "ReadWriteMany" in modes or "ReadOnlyMany" in modes


def needs(cluster: Cluster, pod: Object) -> Iterator[str]:
    """The volumes of a pod that one node has at a time."""
    for _, claim in claims_of(cluster, pod):
        name = claim["spec"].get("volumeName") if claim is not None else None
        volume = cluster.get("PersistentVolume", "", name) if name else None
        if volume is not None and can_attach(cluster, volume) and not may_be_on_several_nodes(volume):
            yield str(name)


def is_over(pod: Object) -> bool:
    """util.go IsPodTerminated: done, or deleted while no container runs."""
    phase = pod["status"].get("phase")
    return phase in ("Succeeded", "Failed") or (is_terminating(pod) and phase != "Running")


class Attacher:
    """Volume → the names of the nodes that have it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.on: dict[str, set[str]] = {}
        for one in cluster.of("VolumeAttachment"):
            if (one.get("status") or {}).get("attached"):
                self.on.setdefault(one["spec"]["source"]["persistentVolumeName"], set()).add(one["spec"]["nodeName"])
        flex = {
            f"{flex_driver(one)}/{one['metadata']['name']}": one["metadata"]["name"]
            for one in cluster.of("PersistentVolume")
            if one["spec"].get("flexVolume")
        }
        for node in cluster.of("Node"):
            for one in node["status"].get("volumesAttached") or []:
                if one["name"] in flex:
                    self.on.setdefault(flex[one["name"]], set()).add(node["metadata"]["name"])
        for pod in cluster.of("Pod"):
            if is_bound(pod) and not is_over(pod) and pod["status"].get("phase") == "Running":
                for name in needs(cluster, pod):
                    self.on.setdefault(name, set()).add(pod["spec"]["nodeName"])

    def wanted(self) -> dict[str, list[str]]:
        """Volume → the nodes some pod of which wants it, whose pods came first first."""
        found: dict[str, list[str]] = {}
        for pod in self.cluster.of("Pod"):
            if is_bound(pod) and not is_over(pod):
                for name in needs(self.cluster, pod):
                    found.setdefault(name, []).append(pod["spec"]["nodeName"])
        return {name: list(dict.fromkeys(nodes)) for name, nodes in found.items()}

    def reconcile(self) -> None:
        """Detach first, then attach."""
        wanted = self.wanted()
        for name, nodes in self.on.items():
            nodes -= {node for node in nodes if node not in wanted.get(name, ()) and self.is_unmounted(node)}
        for name, several in wanted.items():
            asking = [node for node in several if self.is_unmounted(node)]
            if not self.on.get(name) and asking:
                self.on[name] = {self.cluster.random.choice(asking) if self.cluster.draws_order else asking[0]}

    def is_unmounted(self, node: str) -> bool:
        """Whether a kubelet says there what isn't mounted any more, or nobody waits for one (hasOutOfServiceTaint)."""
        found = self.cluster.get("Node", "", node)
        return found is not None and (has_gone(found) or not not_heard(found))

    def detach_by_force(self) -> bool:
        """ReconcilerMaxWaitForUnmountDuration is over: what no pod wants where no kubelet answers is taken off; whether somebody waits for
        such a volume."""
        wanted, freed = self.wanted(), False
        for name, nodes in self.on.items():
            stale = {node for node in nodes if node not in wanted.get(name, ())}
            if stale and wanted.get(name):
                nodes -= stale
                freed = True
        return freed

    def has_its_volumes(self, pod: Object) -> bool:
        """volume_manager.go WaitForAttachAndMount."""
        return all(pod["spec"]["nodeName"] in self.on.get(name, ()) for name in needs(self.cluster, pod))
