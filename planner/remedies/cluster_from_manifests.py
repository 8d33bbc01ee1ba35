"""Builds the smallest cluster that holds some manifests' workloads, to simulate rollouts without a cluster.

One node a pod, with exactly what the pod requests (pod slots ample) and the labels that its selector and required node affinity ask.
Pods that must share a node share one. The objects are made as an API server lists them, and are read as every dump is.

Sources: kubernetes `pkg/controller/deployment/sync.go` `getNewReplicaSet` (labels, owners), `pkg/controller/statefulset/stateful_set_utils.go`
(names, claims), `pkg/controller/daemon/util/daemonset_util.go`; lws `pkg/webhooks/pod_webhook.go`; argo-rollouts `rollout/sync.go`.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count as count_from
from itertools import groupby, product, starmap
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.well_known_names import (
    ARCHITECTURE,
    CONTROLLER_REVISION_HASH,
    DEFAULT_STORAGE_CLASS,
    HOSTNAME,
    IN_TREE_DRIVERS,
    IN_TREE_PROVISIONERS,
    LWS_EXCLUSIVE,
    LWS_GROUP_INDEX,
    LWS_GROUP_KEY,
    LWS_NAME,
    LWS_REVISION,
    LWS_WORKER_INDEX,
    OPERATING_SYSTEM,
    POD_INDEX,
    POD_TEMPLATE_GENERATION,
    REVISION,
    SCHEDULING_API,
    STATEFULSET_POD_NAME,
    STORAGE_API,
    ZONE,
)
from planner.ground.words import count
from planner.inventory import api_types, helm_hooks
from planner.inventory.kubectl_apply import Manifest, Object, objects_in, read_manifest, unread_in
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.autoscaler_replica_bounds import AUTOSCALERS
from planner.kubernetes.object_records import (
    Amounts,
    FrozenMap,
    Labels,
    NodeSelectorTerm,
    PodAffinityTerm,
    PodSpec,
    Requirement,
    ResourceSlice,
    Snapshot,
    Workload,
)
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import as_integer, labels_match, node_affinity_matches, requirement_matches
from planner.kubernetes.volume_attach_rules import Attaching, inline_held_by_one_node, is_for_one_node
from planner.kubernetes.workload_kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    LEADER_WORKER_SET,
    NODE,
    PARTS,
    PLAYED,
    POD,
    REPLICA_SET,
    ROLLOUT,
    STATEFUL_SET,
    WORKLOADS,
    kind_called,
)
from planner.remedies.devices_from_manifests import DeviceSet, devices_of, slice_document
from planner.rollout.admission import Admission

SOURCE: Final = "no cluster"
DAEMON_NODES: Final = 3
_DOMAINS: Final = 3  # zones, where a spread or an affinity names them
_HASH: Final = "1"
_DEFAULT_CLASS: Final = ("StorageClass", "default")  # made where a claim names no class
_DISK: Final = "attached-to-one-node"  # the driver of a volume of which the files don't tell the driver
_NOT_MADE: Final = frozenset({NODE.name, POD.name, "Event", "PodMetrics", "Service", *AUTOSCALERS,
                              *(kind.name for kind in (*WORKLOADS, *PARTS))})  # fmt: skip
_DRIVERS: Final = typed_json.decode(table_beside(__name__, "cluster_from_manifests.json"), dict[str, dict[str, str]])
"""Provisioners that attach no volume to a node, ``shared`` and ``local``, each → where it says so: what `attaching.ATTACHING` is not."""
_REPLICAS: Final = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
_DAEMONS: Final = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable", "updatedNumberScheduled")  # fmt: skip
_CRITICAL: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class RoomPlace(Record):
    """One more node, or as much more on a node where pods must share one, for what rolls of `workload`: a pod, or a group of pods.

    `domain`: of zones and the like, the number of its; `host`: on which of the nodes that the workload has; None: on a new one.
    """

    workload: str
    domain: int = 0
    host: int | None = None


class PodOf(Record):
    """One pod of what rolls: its role ("" where there is one), its spec as admitted, what that requests, and its claims' devices."""

    role: str
    spec: PodSpec
    requests: Amounts
    devices: tuple[DeviceSet, ...] = ()

    @property
    def device_words(self) -> tuple[str, ...]:
        """``2 devices of DeviceClass gpu.nvidia.com``."""
        return tuple(f"{count(device.count, 'device')} of DeviceClass {device.device_class}" for device in self.devices)


class Stand(Record):
    """A workload of the files as it stands.

    Attributes
    ----------
    unit : the pods of what rolls: one, or a leader and its workers
    labels : what a node of its has to have, without the labels of `keys`; None: no node can have them
    keys : labels of zones and the like that its spread or affinity names
    domains : how many of these there are for it
    beside, near : keys of workloads: its pods have to be on the nodes of these, or in their domains
    hosts : names of nodes of which its pods may run on these only, where there are several
    is_on_one_node : its pods must share a node
    lacks : why it can't be told on what it stands, with what would tell; ("", "") where it can
    """

    workload: Workload
    document: Object
    unit: tuple[PodOf, ...]
    labels: Labels | None
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    domains: int = 1
    is_in_one_domain: bool = False
    is_apart_by_domain: bool = False
    beside: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    is_on_one_node: bool = False
    hosts: tuple[str, ...] = ()
    one_node_claims: tuple[str, ...] = ()
    lacks: tuple[str, str] = ("", "")

    @property
    def daemon_nodes(self) -> int:
        """On how many nodes a DaemonSet stands; 0 for what is no DaemonSet."""
        most = len(self.hosts) or (1 if self.is_on_one_node else DAEMON_NODES)
        return min(DAEMON_NODES, most) if self.workload.traits.is_per_node else 0


class Files:
    """The objects of some manifests, read once for all clusters that are made of them. `version`: Kubernetes' minor version.

    Raises
    ------
    ChangeError
        When the manifests can't be read, or an API server would refuse them.
    """

    def __init__(self, text: str, *, namespace: str, unread: Sequence[str] = (), minor: int) -> None:
        self.minor = minor
        self.objects = [
            document
            for document in objects_in(text, namespace)
            if not helm_hooks.events(document) or helm_hooks.stays(document)
        ]
        self.manifest: Manifest = read_manifest(text, self.read([], is_base=True), namespace=namespace, unread=unread)
        self.documents = {_key(document): document for document in self.objects}
        self.workloads = {applied.after.key: applied.after for applied in self.manifest.workloads}
        custom = [
            document for key, document in self.documents.items()
            if (kind := kind_called(document["kind"])) in PLAYED and key not in self.workloads
            and document["apiVersion"].startswith(f"{kind.group}/")
        ]  # fmt: skip
        self.workloads |= {record.key: record for record in self.read(custom).workloads} if custom else {}
        self.beside = [
            document
            for document in self.objects
            if document["kind"] in api_types.READ and document["kind"] not in _NOT_MADE
        ]
        self._claims = {_called(document): document for document in self._all("PersistentVolumeClaim")}
        self.assumed: list[str] = []
        self.beside += self._assumed()
        self._given = self.read(self.beside)
        self._admission = Admission(self._given)
        self.priorities = {priority.name: priority.value for priority in self._given.priority_classes}
        self.stands = {key: self._stand(workload) for key, workload in self.workloads.items()}

    def _all(self, kind: str) -> Iterator[Object]:
        """The objects of a kind."""
        return (document for document in self.objects if document["kind"] == kind)

    # ── what is taken to be there ────────────────────────────────────────────────────────────────────────────────────
    def _assumed(self) -> list[Object]:
        """What pods refer to and the files don't hold: made as plain as it may be, and named in `assumed`."""
        specs = [
            (owner.namespace, template.spec) for owner in self.workloads.values() for template, _ in owner.templates
        ]
        named = {(document["kind"], document["metadata"].get("name")) for document in self.beside}
        object_by_name: dict[tuple[str, str], Object] = {}

        def take(kind: str, name: str, document: Object) -> None:
            if name and (kind, name) not in named and (kind, name) not in object_by_name:
                object_by_name[kind, name] = {**document, "kind": kind, "metadata": {"name": name, **document.get("metadata", {})}}  # fmt: skip

        for namespace, spec in specs:
            take("Namespace", namespace, {"apiVersion": "v1"})
            value = _CRITICAL.get(spec.priority_class_name, 0)
            take("PriorityClass", spec.priority_class_name, {"apiVersion": SCHEDULING_API, "value": value})
            take("RuntimeClass", spec.runtime_class_name, {"apiVersion": "node.k8s.io/v1", "handler": "made"})
        classes = [claim["spec"].get("storageClassName") for claim in self._claims.values()]
        for workload in self.workloads.values():
            every = [volume.claim_template for volume in workload.template.spec.volumes if volume.claim_template]
            classes += [claim_template.storage_class_name for claim_template in (*workload.claim_templates, *every)]
        late = {"apiVersion": STORAGE_API, "provisioner": _DISK, "volumeBindingMode": "WaitForFirstConsumer"}
        is_default = any(map(_is_default, self._all("StorageClass")))
        for name in classes:
            take("StorageClass", name or "", late)
        # A claim without a class gets the default one; a class named "" means none, which a volume made by hand has.
        if None in classes and not is_default:
            note = {"annotations": {DEFAULT_STORAGE_CLASS[0]: "true"}}
            take(*_DEFAULT_CLASS, {**late, "metadata": note})
        # A CSI driver without a CSIDriver attaches its volumes (`CanAttach`): one that ships a CSIDriver with
        # attachRequired false would be played as a disk of one node.
        for volume in self._all("PersistentVolume"):
            driver = _csi_driver_in(volume["spec"])
            if driver is not None and _driver_sort(driver) == "shared":
                take("CSIDriver", driver, {"apiVersion": STORAGE_API, "spec": {"attachRequired": False}})
        self.assumed = [
            f"{kind} {name}" if (kind, name) != _DEFAULT_CLASS else "a default StorageClass"
            for kind, name in object_by_name
        ]
        self.assumed += sorted({name for owner in self.workloads.values() for name in self._referred(owner)})
        return list(object_by_name.values())

    def _referred(self, workload: Workload) -> Iterator[str]:
        """ConfigMaps, Secrets and ServiceAccounts that a template names and the files don't hold."""
        spec = _template_of(self.documents[workload.key], workload).get("spec") or {}
        namespace = workload.namespace
        names = [("ServiceAccount", spec.get("serviceAccountName"))]
        for volume in spec.get("volumes") or ():
            names.append(("ConfigMap", (volume.get("configMap") or {}).get("name")))
            names.append(("Secret", (volume.get("secret") or {}).get("secretName")))
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            # `env` names configMapKeyRef and secretKeyRef, `envFrom` configMapRef and secretRef.
            sources = [(variable.get("valueFrom") or {}, "KeyRef") for variable in container.get("env") or ()]
            sources += [(env_source, "Ref") for env_source in container.get("envFrom") or ()]
            for source, end in sources:
                for kind in ("ConfigMap", "Secret"):
                    field = f"{kind[0].lower()}{kind[1:]}{end}"
                    names += [(kind, (source.get(field) or {}).get("name"))]
        for kind, name in names:
            if name and f"{kind}/{namespace}/{name}" not in self.documents:
                yield f"{kind} {name}"

    # ── what a workload stands on ────────────────────────────────────────────────────────────────────────────────────
    def _stand(self, workload: Workload) -> Stand:
        admitted = [
            self._admission.prepare(workload.namespace, template.spec, template.labels)
            for template, _ in workload.templates
        ]
        roles = [("", admitted[0])]
        if workload.groups is not None:
            roles = [("leader", admitted[0]), *[("worker", admitted[-1])] * (workload.groups.size - 1)]
        devices = [devices_of(spec, workload.namespace, self._given, self._read_slice) for _, spec in roles]
        unit = tuple(
            PodOf(role=role, spec=spec, requests=pod_requests(spec), devices=role_devices)
            for (role, spec), (role_devices, _) in zip(roles, devices, strict=True)
        )
        spec, own = admitted[0], workload.template.labels
        terms = [affinity_term for affinity_term in spec.pod_affinity if not affinity_term.weight]
        apart = [affinity_term for affinity_term in spec.pod_anti_affinity if not affinity_term.weight]
        spread = [constraint for constraint in spec.topology_spread if constraint.when_unsatisfiable == "DoNotSchedule"]
        keys = [
            *(pod_term.topology_key for pod_term in (*terms, *apart)),
            *(constraint.topology_key for constraint in spread),
        ]
        exclusive = workload.annotations.get(LWS_EXCLUSIVE, "")
        keys += [exclusive] if exclusive else []
        # Each place is a node of its own anyhow: only wider domains (a zone, a rack) need labels.
        keys = list(dict.fromkeys(key for key in keys if key != HOSTNAME))
        own_keys = {
            affinity_term.topology_key
            for affinity_term in terms
            if _selects(affinity_term, workload, workload.namespace, own)
        }
        aside = {pod_term.topology_key for pod_term in apart if _selects(pod_term, workload, workload.namespace, own)}
        same_node, near, lacks = list[str](), list[str](), ("", "")
        for term in terms:
            # The scheduler lets the first pod through where a term selects the pod's own labels.
            if term.topology_key in own_keys and _selects(term, workload, workload.namespace, own):
                continue
            others = [
                other.key for other in self.workloads.values()
                if other.key != workload.key and _selects(term, workload, other.namespace, other.template.labels)
            ]  # fmt: skip
            if not others:
                lacks = (f"its pods have to be near to pods that the files don't hold (podAffinity, {term.topology_key})",
                         "Give the manifest of that workload too: -f FILE")  # fmt: skip
            (same_node if term.topology_key == HOSTNAME else near).extend(others[:1])
        for volume in spec.volumes:
            if volume.kind == "persistentVolumeClaim" and (workload.namespace, volume.claim_name) not in self._claims:
                what = f"PersistentVolumeClaim {volume.claim_name} isn't in the files, so whether it attaches to one node isn't known"
                lacks = (
                    what,
                    f"Give it too: -f FILE. kubectl get persistentvolumeclaim {volume.claim_name} -n {workload.namespace} -o yaml",
                )
        claims = tuple(self._one_node_claims(workload, spec))
        reachable = self._near_its_volumes(workload, spec)
        labels = _labels_for(reachable)
        hosts = _hosts_of(reachable) if labels is not None and HOSTNAME in labels else ()
        required_domains = max((spread_constraint.min_domains or 0 for spread_constraint in spread), default=0)
        own_devices = next((why for _, why in devices if why != ("", "")), ("", ""))
        for unread in unread_in(workload.key, self.documents[workload.key]):
            lacks = unread.what, unread.fix
        values = next((v for key in keys if (v := _values_of(reachable, key))), ())
        if labels is None and lacks == ("", ""):
            lacks = "no node can have the labels that its selector and required affinity ask", "Check both"
        return Stand(
            workload=workload, document=self.documents[workload.key], unit=unit, labels=labels, keys=tuple(keys), values=values,
            domains=(len(values) or max(_DOMAINS, required_domains)) if keys else 1,
            is_in_one_domain=bool(own_keys & set(keys)), is_apart_by_domain=bool((aside & set(keys)) or exclusive),
            beside=tuple(same_node), near=tuple(near),
            is_on_one_node=HOSTNAME in own_keys or bool(claims) or len(hosts) == 1 or bool(spec.node_name),
            hosts=hosts if len(hosts) > 1 else (),
            one_node_claims=claims, lacks=lacks if lacks != ("", "") else own_devices,
        )  # fmt: skip

    def _one_node_claims(self, workload: Workload, spec: PodSpec) -> Iterator[str]:
        """Claims that all its pods share, with a volume that one node has at a time; a cloud's disk that its pods name themselves."""
        for volume in spec.volumes:
            claim = self._claims.get((workload.namespace, volume.claim_name)) if volume.claim_name else None
            if claim is not None and self._is_for_one_node(claim):
                yield volume.claim_name
            elif inline_held_by_one_node(self._given, volume) is Attaching.YES:
                yield volume.disk_id

    def _near_its_volumes(self, workload: Workload, spec: PodSpec) -> PodSpec:
        """`spec` with the node affinity of the PersistentVolumes of the files, which its nodes have to match too (`volumebinding`): a local
        volume's node, a disk's zone."""
        names = {
            volume["metadata"]["name"] for pod_volume in spec.volumes if pod_volume.claim_name
            if (claim := self._claims.get((workload.namespace, pod_volume.claim_name))) is not None
            and (volume := self._volume_of(claim)) is not None
        }  # fmt: skip
        terms = spec.node_affinity.required
        for disk in self._given.persistent_volumes:
            if disk.name in names and disk.node_affinity is not None:
                terms = disk.node_affinity if terms is None else tuple(starmap(_both, product(terms, disk.node_affinity)))  # fmt: skip
        return replace(spec, node_affinity=replace(spec.node_affinity, required=terms))

    def _is_for_one_node(self, claim: Object) -> bool:
        volume = self._volume_of(claim)
        modes = (volume or claim).get("spec", {}).get("accessModes") or ()
        return is_for_one_node(modes) and self.driver_of(claim) not in (None, "shared")

    def _volume_of(self, claim: Object) -> Object | None:
        """The PersistentVolume of the files that the claim names, or that names it."""
        for document in self._all("PersistentVolume"):
            is_named = document["metadata"]["name"] == claim["spec"].get("volumeName")
            if is_named or _called(claim) == _called({"metadata": document["spec"].get("claimRef") or {}}):
                return document
        return None

    def driver_of(self, claim: Object) -> str | None:
        """``shared``: its volume isn't attached to a node; ``local``: it is of its node; else a CSI driver that attaches; None: a volume of
        the files that isn't attached."""
        volume = self._volume_of(claim)
        if volume is not None:
            spec = volume["spec"]
            if spec.get("local"):
                return "local"
            driver = _csi_driver_in(spec)
            if driver is None:
                return _DISK if spec.get("iscsi") or spec.get("fc") else None
        else:
            name = claim["spec"].get("storageClassName")
            provisioners = (
                str(storage_class.get("provisioner") or "") for storage_class in self._all("StorageClass")
                if storage_class["metadata"]["name"] == name or (name is None and _is_default(storage_class))
            )  # fmt: skip
            # Without its StorageClass a claim is taken for a disk that attaches to one node, which is the tightest that
            # it can be.
            provisioner = next(provisioners, _DISK)
            driver = IN_TREE_PROVISIONERS.get(provisioner, provisioner)
        if sort := _driver_sort(driver):
            return sort
        attaches = (
            csi["spec"].get("attachRequired") for csi in self._all("CSIDriver") if csi["metadata"]["name"] == driver
        )
        return "shared" if False in attaches else driver

    def _read_slice(self, document: Object) -> ResourceSlice:
        return self.read([document]).resource_slices[0]

    def claim_template(self, namespace: str, name: str) -> Object:
        """A ResourceClaimTemplate of the files."""
        return next(
            document for document in self._all("ResourceClaimTemplate") if _called(document) == (namespace, name)
        )

    def companions(self, keys: Iterable[str]) -> tuple[str, ...]:
        """`keys`, before them those that have to stand for them to stand: whom their pods have to be near to, and who shares a claim."""
        companion_keys: dict[str, None] = {}

        def add(key: str) -> None:
            stand = self.stands[key]
            if key in companion_keys:
                return
            companion_keys[key] = None
            for other in (*stand.beside, *stand.near):
                add(other)
            for other_stand in self.stands.values():
                is_same = other_stand.workload.namespace == stand.workload.namespace
                if is_same and set(other_stand.one_node_claims) & set(stand.one_node_claims):
                    add(other_stand.workload.key)

        for key in keys:
            add(key)
        order: list[str] = []

        # `above` ends cycles: two workloads with affinity to each other's pods would recurse forever.
        def put(key: str, above: tuple[str, ...] = ()) -> None:
            for other in (*self.stands[key].beside, *self.stands[key].near):
                if other not in (*above, key):
                    put(other, (*above, key))
            if key not in order:
                order.append(key)

        for key in companion_keys:
            put(key)
        return tuple(order)

    # ── the cluster ──────────────────────────────────────────────────────────────────────────────────────────────────
    def items(
        self, counts: Mapping[str, int], places: Sequence[RoomPlace] = (), *, rooms_elsewhere: Iterable[str] = ()
    ) -> list[Object]:
        """The objects of the tightest cluster of the workloads of `counts` (key → replicas), with `places` more. `rooms_elsewhere`: of these
        workloads there is ample room on other nodes."""
        return _Making(self, counts).made(places, rooms_elsewhere)

    def cluster(
        self, counts: Mapping[str, int], places: Sequence[RoomPlace] = (), *, rooms_elsewhere: Iterable[str] = ()
    ) -> Snapshot:
        """The same, read."""
        return self.read(self.items(counts, places, rooms_elsewhere=rooms_elsewhere))

    def node(self, name: str, labels: Mapping[str, str], amounts: Mapping[str, int]) -> Object:
        """A node with exactly so much, and pod slots ample."""
        return _node(name, {HOSTNAME: name, ZONE: "zone-1", **labels}, amounts, self.minor)

    def read(self, items: list[Object], *, is_base: bool = False) -> Snapshot:
        """Objects as the whole of a cluster: every list was given, and most are empty. Without `is_base` namespaces are told, too."""
        listed = tuple(kind for kind in api_types.READ if not (is_base and kind == "Namespace"))
        base = [_node("made", {}, {}, self.minor)] if is_base else []
        part = Part(where=SOURCE, items=[*items, *base], listed=listed)
        return build_snapshot([part], source=SOURCE, taken_at=0.0)


class _Host:
    """A node while it is made."""

    def __init__(self, name: str, labels: Mapping[str, str], domain: int) -> None:
        self.name, self.labels, self.domain = name, dict(labels), domain
        self.amounts: Counter[str] = Counter()
        self.devices: defaultdict[str, list[Object]] = defaultdict(list)  # by driver
        self._handed: Counter[int] = Counter()  # by device document: a workload's devices alone are its own

    def take(self, pod: PodOf, times: int = 1) -> None:
        for name, amount in pod.requests.items():
            self.amounts[name] += amount * times
        for device in pod.devices:
            self.devices[device.driver] += [device.document] * (device.count * times)

    def slices(self) -> Iterator[Object]:
        yield from (slice_document(self.name, driver, devices) for driver, devices in self.devices.items())

    def handed(self, device_set: DeviceSet) -> list[Object]:
        """Devices for a request of a pod that is there, as its claim's allocation names them."""
        suits = [place for place, device in enumerate(self.devices[device_set.driver]) if device is device_set.document]
        first = self._handed[id(device_set.document)]
        self._handed[id(device_set.document)] += device_set.count
        return [
            {"request": device_set.request, "driver": device_set.driver, "pool": self.name, "device": f"device-{place}"}
            for place in suits[first : first + device_set.count]
        ]


class _Making:
    """One cluster while it is made."""

    def __init__(self, files: Files, counts: Mapping[str, int]) -> None:
        self.files, self.counts = files, counts
        self.hosts: list[_Host] = []
        self.standing = [files.stands[key] for key in files.companions(counts)]
        self.keys = tuple(dict.fromkeys(key for stand in self.standing for key in stand.keys))
        self.of: dict[str, list[list[_Host]]] = {}  # workload → of each of its units the nodes of its pods
        self.items: list[Object] = []
        self._claims: dict[tuple[str, str], _Host] = {}

    def made(self, places: Sequence[RoomPlace], rooms_elsewhere: Iterable[str]) -> list[Object]:
        for stand in self.standing:
            today = stand.daemon_nodes or max(1, stand.workload.replicas)
            self._place(stand, self.counts.get(stand.workload.key, today))
        for place in places:
            self._add(place)
        for key in rooms_elsewhere:
            stand = self.files.stands[key]
            times = 2 * max(1, self.counts[key]) + 2
            for number in range(times):
                for pod in stand.unit:
                    host = self._host(stand, number % stand.domains if not stand.is_in_one_domain else 0)
                    host.take(pod, times)
        for key in self.of:
            self._objects(self.files.stands[key])
        nodes = [_node(host.name, host.labels, host.amounts, self.files.minor) for host in self.hosts]
        return [*nodes, *(document for host in self.hosts for document in host.slices()), *self._beside(), *self.items]

    def _place(self, stand: Stand, count: int) -> None:
        units: list[list[_Host]] = []
        shared = self._shared(stand)
        for number in range(count):
            others = [self.of[key] for key in (*stand.beside, *stand.near) if key in self.of]
            near = others[0][number % len(others[0])][0] if others and others[0] else None
            domain = 0 if stand.is_in_one_domain else number if stand.is_apart_by_domain else number % stand.domains
            if near is not None:
                domain = near.domain
            hosts = []
            for pod in stand.unit:
                # Hosts that the pod names exist once each: once all have been made, further pods share them in turn.
                again = units[number % len(stand.hosts)][0] if len(stand.hosts) in range(1, number + 1) else None
                host = near if near is not None and stand.beside else shared or again or self._host(stand, domain)
                if stand.is_on_one_node:
                    shared = host
                host.take(pod)
                hosts.append(host)
            units.append(hosts)
        self.of[stand.workload.key] = units

    def _shared(self, stand: Stand) -> _Host | None:
        """The node that another has already on which its pods have to be: they share a claim."""
        for key, units in self.of.items():
            other = self.files.stands[key]
            is_same = other.workload.namespace == stand.workload.namespace
            if is_same and units and set(other.one_node_claims) & set(stand.one_node_claims):
                units[0][0].labels.update(stand.labels or {})
                return units[0][0]
        return None

    def _host(self, stand: Stand, domain: int) -> _Host:
        spec = stand.unit[0].spec
        labels = dict(stand.labels or {})
        taken = {host.name for host in self.hosts}
        if unused := [name for name in stand.hosts if name not in taken]:
            labels[HOSTNAME] = unused[0]
        name = spec.node_name or labels.get(HOSTNAME, "")
        for host in self.hosts:
            if host.name == name:  # a node that two workloads name is one node
                host.labels.update(labels)
                return host
        name = name or next(
            free for number in count_from(len(self.hosts) + 1) if (free := f"node-{number}") not in taken
        )
        for key in dict.fromkeys((ZONE, *self.keys)):
            values = stand.values if key in stand.keys else ()
            value = values[domain % len(values)] if values else f"{key.rpartition('/')[2]}-{domain + 1}"
            # A pod whose affinity says DoesNotExist of the key could run on no node that has it.
            if key not in labels and not _forbids(spec, key):
                labels[key] = value
        host = _Host(name, {HOSTNAME: name, OPERATING_SYSTEM: "linux", ARCHITECTURE: "amd64", **labels}, domain)
        self.hosts.append(host)
        return host

    def _add(self, place: RoomPlace) -> None:
        stand = self.files.stands[place.workload]
        units = self.of[place.workload]
        if stand.workload.traits.is_per_node:
            for unit in units:
                unit[0].take(stand.unit[0])
        elif place.host is not None:
            for pod, host in zip(stand.unit, units[place.host], strict=True):
                host.take(pod)
        else:
            for pod in stand.unit:
                self._host(stand, place.domain).take(pod)

    # ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _beside(self) -> Iterator[Object]:
        """Everything else of the files, claims with their volumes."""
        for document in self.files.beside:
            if document["kind"] != "PersistentVolumeClaim":
                if document["kind"] != "PersistentVolume":
                    yield document
                continue
            host = self._claims.get(_called(document))
            yield from self._bound(document, host) if host is not None else [document]

    def _bound(self, claim: Object, host: _Host) -> Iterator[Object]:
        """A claim with its volume, attached to the node of its pod where its driver does so."""
        namespace, name = _called(claim)
        volume, driver = self.files._volume_of(claim), self.files.driver_of(claim)
        spec = claim["spec"]
        called = volume["metadata"]["name"] if volume is not None else f"pv-{namespace}-{name}"
        yield {**claim, "spec": {**spec, "volumeName": called}, "status": {"phase": "Bound"}}
        volume_spec: Object = copy.deepcopy(volume["spec"]) if volume is not None else {
            "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
            "capacity": {"storage": ((spec.get("resources") or {}).get("requests") or {}).get("storage", "1Gi")},
            "storageClassName": spec.get("storageClassName") or "",
        }  # fmt: skip
        volume_spec["claimRef"] = {"namespace": namespace, "name": name}
        if volume is None and driver == "local":
            volume_spec["local"] = {"path": "/made"}
        elif volume is None and driver == "shared":
            volume_spec["nfs"] = {"server": "made", "path": "/"}
        elif volume is None:
            volume_spec["csi"] = {"driver": driver, "volumeHandle": called}
        # A local volume stays with its node; any other disk that one node takes at a time is taken to be of the
        # node's zone, as the clouds' disks are.
        key = HOSTNAME if driver == "local" else ZONE
        is_tied = driver not in (None, "shared") and is_for_one_node(volume_spec["accessModes"]) and key in host.labels
        if volume is None and is_tied:
            term = {"matchExpressions": [{"key": key, "operator": "In", "values": [host.labels[key]]}]}
            volume_spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        metadata = {"name": called}
        yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": volume_spec, "status": {"phase": "Bound"}}  # fmt: skip
        if "csi" in volume_spec and is_for_one_node(volume_spec["accessModes"]) and driver != "shared":
            attachment_spec = {"attacher": driver, "nodeName": host.name, "source": {"persistentVolumeName": called}}
            yield {"apiVersion": STORAGE_API, "kind": "VolumeAttachment", "metadata": {"name": f"at-{called}"},
                   "spec": attachment_spec, "status": {"attached": True}}  # fmt: skip

    def _objects(self, stand: Stand) -> None:
        """The workload, what it makes its pods through, and the pods."""
        workload, units = stand.workload, self.of[stand.workload.key]
        count, kind = len(units), workload.traits
        document = copy.deepcopy(stand.document)
        document["metadata"] |= {"uid": workload.key, "generation": 1}
        document["status"] = {
            "observedGeneration": 1,
            **dict.fromkeys(_DAEMONS if kind.is_per_node else _REPLICAS, count),
        }
        if kind.is_per_node:
            document["status"]["numberMisscheduled"] = 0
        else:
            document["spec"]["replicas"] = count
        self.items.append(document)
        template = _template_of(document, workload)
        make = {DEPLOYMENT.name: self._of_sets, ROLLOUT.name: self._of_sets, STATEFUL_SET.name: self._of_ordinals,
                LEADER_WORKER_SET.name: self._of_groups, DAEMON_SET.name: self._of_nodes}[kind.name]  # fmt: skip
        make(stand, document, template, units)

    def _of_sets(self, stand: Stand, document: Object, template: Object, units: list[list[_Host]]) -> None:
        workload, kind, count = stand.workload, stand.workload.traits, len(units)
        if kind.name == ROLLOUT.name:
            document["status"] |= {
                "stableRS": _HASH, "currentPodHash": _HASH, "phase": "Healthy", "HPAReplicas": count,
                "blueGreen": {"activeSelector": _HASH, "previewSelector": _HASH},
            }  # fmt: skip
        labels = {**_labels_in(template), kind.part_hash_label: _HASH}
        name, uid = f"{workload.name}-{_HASH}", f"{workload.key}-{_HASH}"
        selected = dict(document["spec"].get("selector") or {})
        selected["matchLabels"] = {**(selected.get("matchLabels") or {}), kind.part_hash_label: _HASH}
        self.items.append({
            "apiVersion": "apps/v1", "kind": REPLICA_SET.name,
            "metadata": {**_named(workload, name, uid), "labels": labels, "ownerReferences": [owner_of(document)],
                         "annotations": {REVISION: "1"}},
            "spec": {"replicas": count, "selector": selected, "template": _with_labels(template, labels)},
            "status": {"replicas": count, "readyReplicas": count, "availableReplicas": count, "observedGeneration": 1},
        })  # fmt: skip
        by = self.items[-1]
        for number, (host,) in enumerate(units):
            self._pod(stand, f"{name}-{number}", template, labels, by, host)

    def _of_ordinals(self, stand: Stand, document: Object, template: Object, units: list[list[_Host]]) -> None:
        document["status"] |= {"currentRevision": f"{stand.workload.name}-{_HASH}", "updateRevision": f"{stand.workload.name}-{_HASH}",
                               "currentReplicas": len(units)}  # fmt: skip
        for number, (host,) in enumerate(units, start=stand.workload.start_ordinal):
            name = f"{stand.workload.name}-{number}"
            labels = {**_labels_in(template), CONTROLLER_REVISION_HASH: f"{stand.workload.name}-{_HASH}",
                      STATEFULSET_POD_NAME: name, POD_INDEX: str(number)}  # fmt: skip
            own = copy.deepcopy(template)
            volumes = own.setdefault("spec", {}).setdefault("volumes", []) or []
            own["spec"]["volumes"] = volumes
            for claim in document["spec"].get("volumeClaimTemplates") or ():
                called = f"{claim['metadata']['name']}-{name}"
                volumes.append({"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": called}})
                self._claim(stand, called, claim["spec"], host)
            self._pod(stand, name, own, labels, document, host)

    def _claim(self, stand: Stand, name: str, spec: Object, host: _Host) -> None:
        """A claim that a controller made, with its volume."""
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                 "metadata": _named(stand.workload, name, f"claim-{stand.workload.namespace}-{name}"), "spec": copy.deepcopy(spec)}  # fmt: skip
        self.items += self._bound(claim, host)

    def _of_nodes(self, stand: Stand, document: Object, template: Object, units: list[list[_Host]]) -> None:
        labels = {**_labels_in(template), CONTROLLER_REVISION_HASH: _HASH, POD_TEMPLATE_GENERATION: "1"}
        for number, (host,) in enumerate(units):
            self._pod(stand, f"{stand.workload.name}-{number}", template, labels, document, host)

    def _of_groups(self, stand: Stand, document: Object, template: Object, units: list[list[_Host]]) -> None:
        workload, size = stand.workload, len(stand.unit)
        parts = document["spec"]["leaderWorkerTemplate"]
        worker = parts["workerTemplate"]
        own = {LWS_NAME: workload.name, LWS_REVISION: _HASH}
        leaders = self._set(workload, workload.name, document, template, {**own, LWS_WORKER_INDEX: "0"}, len(units), 0)
        for number, hosts in enumerate(units):
            group = {**own, LWS_GROUP_INDEX: str(number), LWS_GROUP_KEY: f"made-{number}"}
            name = f"{workload.name}-{number}"
            labels = {**_labels_in(template), **group, LWS_WORKER_INDEX: "0"}
            leader = self._pod(stand, name, template, labels, leaders, hosts[0])
            if size > 1:
                workers = self._set(workload, name, leader, worker, group, size - 1, 1)
                for index in range(1, size):
                    labels = {**_labels_in(worker), **group, LWS_WORKER_INDEX: str(index)}
                    self._pod(stand, f"{name}-{index}", worker, labels, workers, hosts[index])

    def _set(
        self, workload: Workload, name: str, by: Object, template: Object, labels: Mapping[str, str], count: int, start: int
    ) -> Object:  # fmt: skip
        """A StatefulSet of a LeaderWorkerSet: of its leaders, or of one leader's workers."""
        replica_set = {
            "apiVersion": "apps/v1", "kind": STATEFUL_SET.name,
            "metadata": {**_named(workload, name, f"set-{workload.namespace}-{name}"), "ownerReferences": [owner_of(by)],
                         "labels": {LWS_NAME: workload.name, LWS_REVISION: _HASH}},
            "spec": {"replicas": count, "serviceName": workload.name, "selector": {"matchLabels": dict(labels)},
                     "ordinals": {"start": start}, "template": _with_labels(template, {**_labels_in(template), **labels})},
            "status": {"replicas": count, "readyReplicas": count, "updatedReplicas": count, "currentReplicas": count},
        }  # fmt: skip
        self.items.append(replica_set)
        return replica_set

    def _pod(
        self, stand: Stand, name: str, template: Object, labels: Mapping[str, str], by: Object, host: _Host
    ) -> Object:
        namespace = stand.workload.namespace
        role = stand.unit[-1 if labels.get(LWS_WORKER_INDEX, "0") != "0" else 0]
        spec = {**admitted_template(template.get("spec") or {}, role.spec), "nodeName": host.name}
        if role.spec.priority_class_name in self.files.priorities:  # as admission writes it into each pod
            spec["priority"] = self.files.priorities[role.spec.priority_class_name]
        for volume in spec.get("volumes") or ():
            claimed = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claimed:
                self._claims.setdefault((namespace, claimed), host)
            if volume.get("ephemeral"):
                self._claim(stand, f"{name}-{volume['name']}", volume["ephemeral"]["volumeClaimTemplate"]["spec"], host)
        pod_document: Object = {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {**_named(stand.workload, name, f"pod-{namespace}-{name}"), "labels": dict(labels), "ownerReferences": [owner_of(by)],
                         "annotations": (template.get("metadata") or {}).get("annotations") or {}},
            "spec": spec, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }  # fmt: skip
        self.items.append(pod_document)
        if role.devices:
            pod_document["status"]["resourceClaimStatuses"] = list(self._device_claims(stand, pod_document, role, host))
        return pod_document

    def _device_claims(self, stand: Stand, pod: Object, role: PodOf, host: _Host) -> Iterator[Object]:
        """The ResourceClaims that were made for a pod, with devices of its node; yields what the pod's status says of each."""
        for claim_name, claim_devices in groupby(role.devices, lambda device_set: device_set.entry):
            device_sets = list(claim_devices)
            name = f"{pod['metadata']['name']}-{claim_name}"
            results = [device for each in device_sets for device in host.handed(each)]
            reservation = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
            template = self.files.claim_template(stand.workload.namespace, device_sets[0].template)
            self.items.append({
                "apiVersion": template["apiVersion"], "kind": "ResourceClaim",
                "metadata": {**_named(stand.workload, name, f"claim-{stand.workload.namespace}-{name}"), "ownerReferences": [owner_of(pod)]},
                "spec": copy.deepcopy(template["spec"]["spec"]),
                "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [reservation]},
            })  # fmt: skip
            yield {"name": claim_name, "resourceClaimName": name}


def admitted_template(written: Object, admitted: PodSpec) -> Object:
    """A pod's spec with what admission writes into it: a limit range's defaults, a RuntimeClass' overhead."""
    spec = dict(written)
    for field, containers in (("containers", admitted.containers), ("initContainers", admitted.init_containers)):
        container_documents = written.get(field) or []
        spec[field] = [
            {**document, "resources": {**(document.get("resources") or {}), "requests": _amounts(container.requests)}}
            for document, container in zip(container_documents, containers, strict=False)
        ]
    if admitted.overhead:
        spec["overhead"] = _amounts(admitted.overhead)
    return spec


def _amounts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_amount(amount, name) for name, amount in amounts.items()}


# ── pieces ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _node(name: str, labels: Mapping[str, str], amounts: Mapping[str, int], minor: int) -> Object:
    capacity = {"cpu": "0", "memory": "0", **_amounts(amounts), "pods": "1000"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"node-{name}", "labels": dict(labels)}, "spec": {},
        "status": {"allocatable": capacity, "capacity": capacity, "conditions": [{"type": "Ready", "status": "True"}],
                   "nodeInfo": {"kubeletVersion": f"v1.{minor}.0"}},
    }  # fmt: skip


def _key(document: Object) -> str:
    return "/".join(filter(None, (document["kind"], *_called(document))))


def _named(workload: Workload, name: str, uid: str) -> Object:
    return {"name": name, "namespace": workload.namespace, "uid": uid}


def owner_of(document: Object) -> Object:
    """The reference to it that what it makes has."""
    names = {name: document["metadata"][name] for name in ("name", "uid")}
    return {"apiVersion": document["apiVersion"], "kind": document["kind"], **names, "controller": True}


def _template_of(document: Object, workload: Workload) -> Object:
    """The template of its pods, of a LeaderWorkerSet that of its leaders."""
    spec = document.get("spec") or {}
    if workload.groups is None:
        return dict(spec.get("template") or {})
    parts = spec["leaderWorkerTemplate"]
    return dict(parts.get("leaderTemplate") or parts["workerTemplate"])


def _labels_in(template: Object) -> dict[str, str]:
    return dict((template.get("metadata") or {}).get("labels") or {})


def _with_labels(template: Object, labels: Mapping[str, str]) -> Object:
    return {**template, "metadata": {**(template.get("metadata") or {}), "labels": dict(labels)}}


def _is_default(storage_class: Object) -> bool:
    notes = storage_class["metadata"].get("annotations") or {}
    return any(str(notes.get(name)).lower() == "true" for name in DEFAULT_STORAGE_CLASS)


def _driver_sort(driver: str) -> str:
    """``shared`` or ``local`` for a driver that attaches no volume to a node; "" for one that does."""
    return next((sort for sort, names in _DRIVERS.items() if driver in names or driver.endswith(tuple(f"/{name}" for name in names))), "")  # fmt: skip


def _csi_driver_in(spec: Object) -> str | None:
    """The CSI driver of a PersistentVolume's spec, or the one that stands in for its in-tree plugin; None for other volumes."""
    disk = next((driver for kind, driver in IN_TREE_DRIVERS.items() if kind in spec), None)
    return disk or (spec.get("csi") or {}).get("driver")


def _called(document: Object) -> tuple[str, str]:
    return document["metadata"].get("namespace", ""), document["metadata"].get("name", "")


def _selects(term: PodAffinityTerm, workload: Workload, namespace: str, labels: Labels) -> bool:
    """Whether the term of a workload's pods selects pods of these labels in `namespace`."""
    spaces = term.namespaces or (() if term.namespace_selector is not None else (workload.namespace,))
    is_there = namespace in spaces if spaces else True
    return is_there and labels_match(term.label_selector, labels)


def _labels_for(spec: PodSpec) -> Labels | None:
    """Labels of a node that the pod may run on; None where none does."""
    terms = spec.node_affinity.required
    for term in terms if terms is not None else (NodeSelectorTerm(),):
        labels = dict(spec.node_selector)
        for key in dict.fromkeys(requirement.key for requirement in term.match_expressions):
            # Several requirements of one key are ANDed: In [a, b] beside NotIn [a] leaves b.
            same = [requirement for requirement in term.match_expressions if requirement.key == key]
            if key not in labels and not _all_match(same, {}):
                labels |= next(({key: value} for value in _candidates(same) if _all_match(same, {key: value})), {})
        if node_affinity_matches(spec, {OPERATING_SYSTEM: "linux", ARCHITECTURE: "amd64", **labels}, spec.node_name):
            return FrozenMap(labels)
    return None


def _both(term: NodeSelectorTerm, other: NodeSelectorTerm) -> NodeSelectorTerm:
    """A term that asks what both ask."""
    return NodeSelectorTerm(
        match_expressions=(*term.match_expressions, *other.match_expressions), match_fields=(*term.match_fields, *other.match_fields)
    )  # fmt: skip


def _all_match(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(requirement_matches(requirement, labels) for requirement in requirements)


def _candidates(requirements: Iterable[Requirement]) -> Iterator[str]:
    """Values of a label of which one satisfies all of its requirements, where any does."""
    for requirement in requirements:
        if requirement.operator == "In":
            yield from requirement.values
        elif requirement.operator in ("Gt", "Lt"):
            more = 1 if requirement.operator == "Gt" else -1
            yield str((as_integer(next(iter(requirement.values), "")) or 0) + more)
    yield from ("true", "made")  # for Exists, beside NotIn ["true"] too


def _required(spec: PodSpec, key: str, *operators: str) -> list[tuple[str, ...]]:
    """The values of each requirement of the pod's node affinity that has one of these operators on a label."""
    terms = spec.node_affinity.required or ()
    every = (requirement for term in terms for requirement in term.match_expressions if requirement.key == key)
    return [requirement.values for requirement in every if requirement.operator in operators]


def _selected(spec: PodSpec, key: str) -> tuple[str, ...]:
    return (spec.node_selector[key],) if key in spec.node_selector else ()


def _values_of(spec: PodSpec, key: str) -> tuple[str, ...]:
    """The values of a label that the pod's required node affinity allows; () where it names none."""
    return next(iter(_required(spec, key, "In")), _selected(spec, key))


def _hosts_of(spec: PodSpec) -> tuple[str, ...]:
    """The names of the only nodes that it may run on, by its selector and each term of its required node affinity; () where a term leaves
    others open."""
    names, selected = _required(spec, HOSTNAME, "In"), _selected(spec, HOSTNAME)
    if selected or len(names) < len(spec.node_affinity.required or ()):
        return selected
    return tuple(dict.fromkeys(name for values in names for name in values))


def _forbids(spec: PodSpec, key: str) -> bool:
    """Whether a label keeps the pod away."""
    return bool(_required(spec, key, "NotIn", "DoesNotExist"))
