"""Which volumes Kubernetes attaches to a node before a pod starts there, and which it attaches to one node at a time.

Sources: kubernetes `pkg/volume/csi/csi_plugin.go` `CanAttach`, `skipAttach`; `pkg/volume/util/util.go` `IsMultiAttachAllowed`;
`staging/src/k8s.io/csi-translation-lib/plugins` `TranslateInTreeInlineVolumeToCSI`; `pkg/volume/flexvolume/plugin.go` `NewFlexVolumePlugin`,
`driver-call.go` `defaultCapabilities`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.well_known_names import IN_TREE_DRIVERS
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import FLEX_VOLUME, PersistentVolume, Snapshot, Volume

ATTACHING: Final = typed_json.decode(table_beside(__name__, "volume_attach_rules.json"), dict[str, str])
"""CSI drivers with a CSIDriver that says that they attach → where it stands."""
_MANY: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})


class Attaching(Enum):
    """Whether a driver's volumes are attached."""

    NO = auto()
    YES = auto()
    PRESUMED = auto()  # no CSIDriver was read, and the driver's own manifests say so
    UNKNOWN = auto()  # no CSIDriver was read, and nothing else tells


@once_a_snapshot
def _by_driver(snapshot: Snapshot) -> dict[str, bool]:
    return {csi_driver.driver: csi_driver.attaches for csi_driver in snapshot.csi_drivers}


def attaching(snapshot: Snapshot, driver: str) -> Attaching:
    """Whether a driver's volumes are attached. A CSI driver's: as its CSIDriver says, and where the cluster has none, they are. Of a
    FlexVolume's its program tells its node alone, when Kubernetes starts it: they are where some node has one attached."""
    if driver.startswith(FLEX_VOLUME):
        names = (name for node in snapshot.nodes for name in node.volumes_attached)
        return Attaching.YES if any(name.startswith(f"{driver}/") for name in names) else Attaching.UNKNOWN
    cached_attaching = _by_driver(snapshot).get(driver)
    if cached_attaching is not None:
        return Attaching.YES if cached_attaching else Attaching.NO
    if not snapshot.lacks("CSIDriver"):
        return Attaching.YES
    return Attaching.PRESUMED if driver in ATTACHING else Attaching.UNKNOWN


def is_for_one_node(access_modes: Iterable[str]) -> bool:
    """Whether a volume with these access modes (the PersistentVolume's, not its claim's) is attached to one node at a time."""
    modes = set(access_modes)
    return bool(modes) and not modes & _MANY


def held_by_one_node(snapshot: Snapshot, volume: PersistentVolume) -> Attaching:
    """Whether a volume is attached, and to one node only. NFS, hostPath and local volumes are never attached."""
    if not is_for_one_node(volume.access_modes):
        return Attaching.NO
    if volume.csi_driver:
        return attaching(snapshot, volume.csi_driver)
    return Attaching.YES if volume.is_san else Attaching.NO


def inline_held_by_one_node(snapshot: Snapshot, volume: Volume) -> Attaching:
    """The same of a volume that a pod names itself. A cloud's disk becomes a ReadWriteOnce volume of its CSI driver, a GCE disk for reading a
    ReadOnlyMany one; any other, a FlexVolume too, `IsMultiAttachAllowed` lets be attached to several nodes."""
    driver = IN_TREE_DRIVERS.get(volume.kind)
    if driver is None or not volume.disk_id or (volume.kind == "gcePersistentDisk" and volume.read_only):
        return Attaching.NO
    return attaching(snapshot, driver)
