"""Manifests that few people write: disks that pods name themselves, claims that workloads share, devices by attribute, labels that contradict.

The right answer of each is worked out from Kubernetes' rules: `volumerestrictions`, `volumebinding` and `nodeaffinity` of kube-scheduler, the
attach/detach controller's `IsMultiAttachAllowed`, `resource.k8s.io/v1`.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from planner.ground.errors import InputError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.questions import rollout
from planner.questions.gate import GateSettings, answer, answer_without_cluster
from planner.questions.rollout import RolloutSettings
from planner.remedies.make_room import RoomRequest, make_room
from planner.remedies.manifest_room_needs import WithoutCluster, without_cluster
from planner.remedies.patch_outcome import simulate_patch
from planner.rollout.answers import Verdict, WorkloadRollout
from planner.rollout.clusterless_room_need import Need
from planner.rollout.gate_policy import GatePolicy
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.builders.records import amounts
from tests.remedies.test_room_without_cluster import (
    DEVICE_CLASS,
    DEVICES,
    HOST,
    VOLUME,
    ZONE,
    Object,
    claim,
    claim_template,
    files_of,
    groups,
    need_of,
    rolling,
    workload,
)

KEY: Final = "Deployment/ml/app"
SURGES: Final = rolling(1, 0)
RECREATE: Final = {"type": "Recreate"}
UNCLASSED: Final = claim(
    "ReadWriteOnce", volumeName="v", storageClassName=""
)  # bound to a volume that an administrator made


def without(*objects: Object) -> WithoutCluster:
    return without_cluster("\n---\n".join(map(json.dumps, objects)), namespace="default", minor=36)


def assumed(*objects: Object) -> str:
    """What the answer says that it takes to be there."""
    return next(str(note) for note in without(*objects).notes if str(note).startswith("Taken to be there: "))


def volume(mode: str = "ReadWriteOnce", **spec: Any) -> Object:
    shared = {"accessModes": [mode], "capacity": {"storage": "1Gi"}, "storageClassName": ""}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {**shared, **spec}}


def reached_from(key: str, *values: str) -> Object:
    """The node affinity of a volume."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
    return {"required": {"nodeSelectorTerms": terms}}


def required(*expressions: tuple[str, str, list[str]]) -> Object:
    """Required node affinity: key, operator, values."""
    every = [{"key": key, "operator": operator, **({"values": values} if values else {})} for key, operator, values in expressions]  # fmt: skip
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": every}]}}}  # fmt: skip


LOCAL: Final = volume(local={"path": "/mnt/disk"}, nodeAffinity=reached_from(HOST, "a"))  # a local volume must have one
ISCSI: Final = volume(iscsi={"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:disk", "lun": 0})


# ── what pods refer to ───────────────────────────────────────────────────────────────────────────────────────────────
def test_configuration_that_containers_name_is_told_where_no_file_holds_it() -> None:
    asks = workload()
    (container,) = asks["spec"]["template"]["spec"]["containers"]
    container["env"] = [
        {"name": "PLAIN", "value": "1"},
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "password", "key": "b"}}},
    ]
    container["envFrom"] = [{"configMapRef": {"name": "shared"}}, {"secretRef": {"name": "token"}}]
    shared: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "shared", "namespace": "ml"},
        "data": {},
    }
    assert assumed(asks, shared) == "Taken to be there: Namespace ml, ConfigMap settings, Secret password and Secret token."  # fmt: skip
    shared["metadata"]["namespace"] = "other"  # pods read those of their own namespace alone
    assert "ConfigMap shared" in assumed(asks, shared)


# ── disks ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def disk(kind: str, *, reads: bool = False) -> list[Object]:
    """A cloud's disk that a pod names itself."""
    fields = {
        "azureDisk": {"diskName": "d", "diskURI": "/disks/d"},
        "cinder": {"volumeID": "d"},
        "gcePersistentDisk": {"pdName": "d"},
        "awsElasticBlockStore": {"volumeID": "d"},
    }
    return [{"name": "disk", kind: {**fields[kind], **({"readOnly": True} if reads else {})}}]


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("kind", ["azureDisk", "cinder"])
def test_pods_that_name_one_disk_must_be_on_one_node_though_they_only_read(kind: str, reads: bool) -> None:
    """`TranslateInTreeInlineVolumeToCSI` makes it ReadWriteOnce whatever readOnly says; `volumerestrictions` doesn't know these kinds."""
    volumes = disk(kind, reads=reads)
    room = need_of(workload(2, RECREATE, volumes=volumes)).room
    assert (room.need, room.places, room.shares_one_node) == (Need.SAME_NODE, 0, True)
    room = need_of(workload(1, SURGES, volumes=volumes)).room
    assert (room.need, room.places, room.needs_same_node) == (Need.SAME_NODE, 1, True)


@pytest.mark.parametrize(
    ("kind", "reads"), [("gcePersistentDisk", False), ("awsElasticBlockStore", False), ("awsElasticBlockStore", True)]
)
def test_two_pods_that_may_not_share_a_disk_even_on_one_node_fit_no_cluster(kind: str, reads: bool) -> None:
    """`volumerestrictions`: of a GCE disk both have to read; of an EBS volume even that doesn't help. Two nodes can't have it either."""
    part = need_of(workload(2, RECREATE, volumes=disk(kind, reads=reads)))
    assert (part.verdict, part.room.need) == (Verdict.STUCK, Need.NEVER)
    assert need_of(workload(1, RECREATE, volumes=disk(kind, reads=reads))).room.need is Need.NOTHING


def test_a_gce_disk_that_pods_read_is_on_many_nodes() -> None:
    volumes = disk("gcePersistentDisk", reads=True)  # it alone becomes ReadOnlyMany
    room = need_of(workload(2, RECREATE, volumes=volumes)).room
    assert (room.need, room.needs_same_node) == (Need.NOTHING, False)


@pytest.mark.parametrize(
    "source",
    [
        ISCSI,
        volume(fc={"targetWWNs": ["5"], "lun": 0}),
        volume(gcePersistentDisk={"pdName": "d"}),
        volume(csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}),
    ],
    ids=["iscsi", "fc", "gcePersistentDisk", "csi"],
)
def test_a_volume_that_attaches_to_one_node_keeps_its_pods_there(source: Object) -> None:
    room = need_of(source, UNCLASSED, workload(1, SURGES, volumes=VOLUME)).room
    assert (room.need, room.places, room.claims) == (Need.SAME_NODE, 1, ("data",))


@pytest.mark.parametrize(
    "source",
    [
        volume(nfs={"server": "s", "path": "/"}),
        volume(csi={"driver": "nfs.csi.k8s.io", "volumeHandle": "share"}),
        volume(azureFile={"secretName": "s", "shareName": "share"}),
        volume("ReadWriteMany", csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}),
    ],
    ids=["nfs", "nfs.csi.k8s.io", "azureFile", "ReadWriteMany"],
)
def test_a_volume_that_is_not_attached_lets_its_pods_be_anywhere(source: Object) -> None:
    room = need_of(source, UNCLASSED, workload(1, SURGES, volumes=VOLUME)).room
    assert (room.need, room.places, room.is_on_its_node) == (Need.ROOM, 1, False)
    assert need_of(source, UNCLASSED, workload(2, RECREATE, volumes=VOLUME)).room.need is Need.NOTHING


def test_a_driver_of_which_no_csidriver_is_given_is_said_to_be_there() -> None:
    share = volume(csi={"driver": "nfs.csi.k8s.io", "volumeHandle": "share"})
    assert "CSIDriver nfs.csi.k8s.io" in assumed(share, UNCLASSED, workload(volumes=VOLUME))


def test_a_local_volume_keeps_its_pods_on_its_node() -> None:
    """The room is on that node; no node without its hostname reaches it."""
    room = need_of(LOCAL, UNCLASSED, workload(1, SURGES, volumes=VOLUME)).room
    assert (room.need, room.places, room.is_on_its_node) == (Need.ROOM, 1, True)
    assert need_of(LOCAL, UNCLASSED, workload(2, RECREATE, volumes=VOLUME)).room.need is Need.NOTHING
    elsewhere = workload(1, RECREATE, volumes=VOLUME, nodeSelector={HOST: "b"})
    assert need_of(LOCAL, UNCLASSED, elsewhere).room.need is Need.UNKNOWN


def test_a_disk_keeps_its_pods_in_its_zone() -> None:
    disk = volume(csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}, nodeAffinity=reached_from(ZONE, "eu-1a"))
    room = need_of(disk, UNCLASSED, workload(1, SURGES, volumes=VOLUME, affinity=required(("gpu", "Exists", [])))).room
    assert (room.need, room.places) == (Need.SAME_NODE, 1)
    files = files_of([disk, UNCLASSED, workload(volumes=VOLUME)])
    assert {found.labels[ZONE] for found in files.cluster({KEY: 1}).nodes} == {"eu-1a"}


# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_two_workloads_that_share_a_claim_are_on_one_node() -> None:
    first, other = workload(volumes=VOLUME), workload(name="other", volumes=VOLUME, nodeSelector={"gpu": "t4"})
    found = without(claim("ReadWriteOnce"), first, other)
    assert [part.room.need for part in found.parts if part.room] == [Need.SAME_NODE, Need.SAME_NODE]
    # Their own strategies don't cure it: while one is replaced the other holds the volume on its node.
    assert [part.room.cures for part in found.parts if part.room] == [(), ()]
    assert found.room is not None
    assert (found.room.places, found.room.is_on_its_node) == (1, True)  # the first one frees it for the other
    files = files_of([claim("ReadWriteOnce"), first, other])
    (shared,) = files.cluster({KEY: 1}).nodes
    assert shared.labels["gpu"] == "t4"


def test_claims_of_the_same_name_in_two_namespaces_are_two() -> None:
    second, other = claim("ReadWriteOnce"), workload(name="other", volumes=VOLUME)
    second["metadata"]["namespace"] = other["metadata"]["namespace"] = "web"
    files = files_of([claim("ReadWriteOnce"), second, workload(volumes=VOLUME), other])
    assert len(files.cluster(dict.fromkeys(files.workloads, 1)).nodes) == 2


def test_two_that_share_a_claim_and_end_first_need_nothing_together_either() -> None:
    found = without(claim("ReadWriteOnce"), *(workload(1, RECREATE, name=name, volumes=VOLUME) for name in ("a", "b")))
    assert str(found.together_sentence) == "together, applied one right after the other, they need no spare room"
    assert found.together is Verdict.NEEDS_GROWTH  # each has to land where the other holds the volume


@pytest.mark.parametrize("pod", [{"nodeName": "a"}, {"nodeSelector": {HOST: "a"}}], ids=["nodeName", "hostname"])
def test_a_node_that_two_workloads_name_is_one_node(pod: Object) -> None:
    objects = [workload(1, SURGES, **pod), workload(1, SURGES, name="other", **pod)]
    found = without(*objects)
    assert found.room is not None
    assert (found.room.places, found.room.is_on_its_node) == (1, True)  # what one gives back the other takes
    files = files_of(objects)
    assert [made.name for made in files.cluster(dict.fromkeys(files.workloads, 1)).nodes] == ["a"]


def storage_class(provisioner: str, annotation: str, value: str = "true") -> Object:
    metadata = {"name": "mine", "annotations": {annotation: value}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": provisioner}


DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"


@pytest.mark.parametrize("annotation", [DEFAULT, "storageclass.beta.kubernetes.io/is-default-class"])
@pytest.mark.parametrize(("provisioner", "need"), [("nfs.csi.k8s.io", Need.ROOM), ("ebs.csi.aws.com", Need.SAME_NODE)])
def test_a_claim_without_a_class_gets_the_default_one(annotation: str, provisioner: str, need: Need) -> None:
    """`IsDefaultAnnotation` knows both."""
    objects = [storage_class(provisioner, annotation), claim("ReadWriteOnce"), workload(volumes=VOLUME)]
    assert need_of(*objects).room.need is need
    assert "default StorageClass" not in assumed(*objects)


EPHEMERAL: Final = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]  # fmt: skip


def test_a_class_that_is_not_the_default_one_is_no_reason_for_a_claim_to_wait_forever() -> None:
    objects = [storage_class("nfs.csi.k8s.io", DEFAULT, "false"), workload(1, SURGES, volumes=EPHEMERAL)]
    assert need_of(*objects).room.need is Need.ROOM
    assert "a default StorageClass" in assumed(*objects)


def test_an_ephemeral_volume_is_each_pods_own_and_keeps_no_other_pod() -> None:
    objects = [workload(2, SURGES, volumes=EPHEMERAL)]
    room = need_of(*objects).room
    assert (room.need, room.places, room.needs_same_node) == (Need.ROOM, 1, False)
    cluster = files_of(objects).cluster({KEY: 2})
    assert {held.name for held in cluster.persistent_volume_claims} == {f"{pod.name}-scratch" for pod in cluster.pods}
    assert len({held.volume_name for held in cluster.persistent_volume_claims}) == 2


# ── labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("expressions", "value"),
    [
        ([("gpu", "Exists", [])], "true"),
        ([("gpu", "Exists", []), ("gpu", "NotIn", ["true"])], "made"),
        ([("gpu", "Exists", []), ("gpu", "In", ["t4"])], "t4"),
        ([("gpu", "In", ["t4", "l4"]), ("gpu", "NotIn", ["t4"])], "l4"),
        ([("gpu", "In", ["t4", "l4"]), ("gpu", "In", ["l4", "a100"])], "l4"),
        ([("gpu", "Gt", ["3"]), ("gpu", "Lt", ["5"])], "4"),
        ([("gpu", "NotIn", ["t4"])], None),
    ],
)
def test_requirements_of_one_label_are_all_met(
    expressions: list[tuple[str, str, list[str]]], value: str | None
) -> None:
    objects = [workload(1, SURGES, affinity=required(*expressions))]
    room = need_of(*objects).room
    assert (room.need, room.places) == (Need.ROOM, 1)
    (made,) = files_of(objects).cluster({KEY: 1}).nodes
    assert made.labels.get("gpu") == value


@pytest.mark.parametrize(
    "pod",
    [
        {"nodeSelector": {"gpu": "a100"}, "affinity": required(("gpu", "In", ["t4"]))},
        {"affinity": required(("gpu", "Exists", []), ("gpu", "DoesNotExist", []))},
        {"affinity": required(("gpu", "In", ["t4"]), ("gpu", "NotIn", ["t4"]))},
    ],
    ids=["selector", "exists", "values"],
)
def test_labels_that_contradict_are_named_and_no_room_is(pod: Object) -> None:
    part = need_of(workload(1, rolling(0, 1), **pod))
    assert part.room.need is Need.UNKNOWN
    assert str(part.sentence) == "not known: no node can have the labels that its selector and required affinity ask"


# ── devices ──────────────────────────────────────────────────────────────────────────────────────────────────────────
ATTRIBUTE: Final = "device.attributes['gpu.nvidia.com']."


def constrained(**constraint: str) -> Object:
    template = claim_template()
    template["spec"]["spec"]["devices"]["constraints"] = [constraint]
    return template


def every_device() -> Object:
    template = claim_template(allocationMode="All")
    del template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"]
    return template


@pytest.mark.parametrize(
    ("template", "attributes"),
    [
        (claim_template(f"{ATTRIBUTE}mig == true"), {"gpu.nvidia.com/mig": True}),
        (
            claim_template(f"{ATTRIBUTE}mig == false", f"{ATTRIBUTE}cores == 108"),
            {"gpu.nvidia.com/mig": False, "gpu.nvidia.com/cores": 108},
        ),
        (constrained(matchAttribute="gpu.nvidia.com/numa"), {"gpu.nvidia.com/numa": "made"}),
    ],
    ids=["bool", "int", "matchAttribute"],
)
def test_devices_have_the_attributes_that_are_asked_for(template: Object, attributes: Object) -> None:
    objects = [DEVICE_CLASS, template, workload(1, SURGES, resourceClaims=DEVICES)]
    part = need_of(*objects)
    assert part.room.need is Need.ROOM
    assert "1 more pod (2 devices of DeviceClass gpu.nvidia.com, 2 CPU, 8 GiB on one node)" in str(part.sentence)
    (of_node,) = files_of(objects).cluster({KEY: 1}).resource_slices
    assert [dict(device.attributes) for device in of_node.devices] == [attributes] * 2


@pytest.mark.parametrize(
    "template",
    [
        every_device(),
        claim_template(adminAccess=True),
        claim_template(capacity={"requests": {"memory": "10Gi"}}),
        constrained(distinctAttribute="gpu.nvidia.com/numa"),
    ],
    ids=["All", "adminAccess", "capacity", "distinctAttribute"],
)
def test_devices_of_which_one_does_not_stand_for_the_others_are_not_known(template: Object) -> None:
    part = need_of(DEVICE_CLASS, template, workload(1, SURGES, resourceClaims=DEVICES))
    assert part.room.need is Need.UNKNOWN
    assert "which device the selectors of DeviceClass gpu.nvidia.com" in str(part.sentence)


# ── stuck on a cluster ───────────────────────────────────────────────────────────────────────────────────────────────
def stuck_on(cluster: Snapshot, key: str = KEY) -> WorkloadRollout:
    (part,) = rollout.answer(cluster, RolloutSettings(workloads=(key,))).workloads
    return part


def full(*objects: Object, key: str = KEY, replicas: int = 1) -> Snapshot:
    """A cluster of somebody's with no room to spare."""
    return replace(files_of(list(objects)).cluster({key: replicas}), source="cluster")


GROUPS: Final = "LeaderWorkerSet/ml/app"


@pytest.mark.parametrize(
    ("has_leader_template", "pods"),
    [
        (True, "1 leader pod (1 CPU) and 2 worker pods (4 CPU)"),
        (False, "1 leader pod (4 CPU) and 2 worker pods (4 CPU)"),  # its leader is then made of the worker's template
    ],
)
def test_a_group_that_is_stuck_names_the_room_of_all_its_pods(has_leader_template: bool, pods: str) -> None:
    asks = groups(1, 0)
    templates = asks["spec"]["leaderWorkerTemplate"]
    if not has_leader_template:
        del templates["leaderTemplate"]
    cluster = full(asks, key=GROUPS, replicas=2)
    templates["workerTemplate"]["spec"]["containers"][0]["image"] = "x:2"
    (part,) = answer(cluster, GateSettings(manifest=json.dumps(asks))).workloads
    assert part.verdict is Verdict.STUCK
    assert part.room is not None
    assert (part.room.pod_count, part.room.is_on_its_node) == (3, False)
    assert part.room.sentence == f"needs room for 1 more group ({pods}) while it rolls out"


@pytest.mark.parametrize("source", [LOCAL, ISCSI], ids=["local", "iscsi"])
def test_what_is_stuck_on_its_volumes_node_needs_room_there(source: Object) -> None:
    part = stuck_on(full(source, UNCLASSED, workload(1, SURGES, volumes=VOLUME)))
    assert part.verdict is Verdict.STUCK
    assert part.room is not None
    assert (part.room.places, part.room.is_on_its_node) == (1, True)


def test_of_a_flexvolume_that_no_node_has_attached_no_room_is_told() -> None:
    """Its program alone says whether it attaches."""
    flex = volume(flexVolume={"driver": "example.com/disk"})
    assert need_of(flex, UNCLASSED, workload(1, SURGES, volumes=VOLUME)).room.need is Need.UNKNOWN
    part = stuck_on(full(flex, UNCLASSED, workload(1, SURGES, volumes=VOLUME)))
    assert part.verdict is Verdict.STUCK
    assert part.room is None


def test_on_a_pasted_manifests_cluster_no_room_is_told_for_devices() -> None:
    asks = [DEVICE_CLASS, claim_template(), workload(1, SURGES, resourceClaims=DEVICES)]
    part = stuck_on(files_of(asks).cluster({KEY: 1}))
    assert (part.verdict, part.room) == (Verdict.STUCK, None)


# ── several at once ──────────────────────────────────────────────────────────────────────────────────────────────────
def of_two_sizes(strategy: Object, larger: int = 1, smaller: int = 1) -> list[Object]:
    return [
        workload(larger, strategy, name="larger", requests={"cpu": "4"}),
        workload(smaller, strategy, name="smaller", requests={"cpu": "1"}),
    ]


def gated(objects: list[Object], policy: GatePolicy | None = None) -> tuple[int, set[Verdict], str]:
    settings = GateSettings(manifest="\n---\n".join(map(json.dumps, objects)), policy=policy or GatePolicy())
    found = answer_without_cluster(settings)
    return found.exit_status, {part.together for part in found.workloads}, str(found.together_sentence)


def test_a_small_pod_may_take_what_a_large_one_frees_and_the_gate_says_so() -> None:
    """Each alone needs nothing. Applied together the smaller one's new pod may fit what the larger one's old pod gave back."""
    objects = of_two_sizes(rolling(0, 1))
    assert [part.alone for part in without(*objects).parts] == [Verdict.COMPLETES] * 2
    status, together, sentence = gated(objects)
    assert (status, together) == (ExitStatus.NEEDS_GROWTH, {Verdict.NEEDS_GROWTH})
    assert sentence == "together, applied one right after the other, they need room for 1 more pod (4 CPU on one node)"
    status, _, _ = gated(objects, GatePolicy(spare=amounts(cpu="4")))
    assert status == ExitStatus.ANSWERED  # each node always has that free


def test_what_a_place_of_each_does_not_settle_is_not_known() -> None:
    """Three smaller pods may take all that the larger ones give back, and a place of each is too few for these."""
    objects = of_two_sizes(RECREATE, 3, 3)
    status, together, sentence = gated(objects)
    assert (status, together) == (ExitStatus.NOT_KNOWN, {Verdict.UNKNOWN})
    assert sentence == "together: not known: no room of their own was found with which all complete in every draw"


# ── cures, patches, places ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_stateful_set_is_told_no_strategy_of_another_kind() -> None:
    """It has no maxSurge, and ``rollingUpdateConfiguration`` is a LeaderWorkerSet's."""
    shared = workload(2, kind="StatefulSet", volumes=VOLUME)
    room = need_of(claim("ReadWriteOnce"), shared).room
    assert (room.need, [cure.title for cure in room.cures]) == (
        Need.SAME_NODE,
        ["required podAffinity to its own pods"],
    )
    surging = need_of(workload(strategy=SURGES, kind="DaemonSet")).room
    assert [cure.title for cure in surging.cures] == ["maxSurge 0, maxUnavailable 1"]
    assert "rollingUpdateConfiguration" not in surging.cures[0].manifest


def test_a_patch_that_would_drop_what_is_not_kept_is_not_suggested() -> None:
    """A custom resource's list is replaced whole, and of its environment a snapshot keeps digests alone."""
    asks = workload() | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    asks["spec"]["strategy"] = {"canary": {"maxSurge": 1, "maxUnavailable": 0}}
    asks["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "secret"}]
    cluster = files_of([asks]).cluster({"Rollout/ml/app": 1})
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}}}  # fmt: skip
    found = simulate_patch(cluster, "Rollout/ml/app", patch)
    assert (found.command, found.rollout) == ("", None)
    assert found.note.endswith("of which the snapshot doesn't keep all: write it into its manifest.")


THING: Final = workload(name="thing") | {"apiVersion": "example.com/v1", "kind": "Thing"}


@pytest.mark.parametrize(
    ("objects", "error", "said"),
    [
        ([workload(0)], InputError, "the manifest makes no pods"),
        ([THING], NotKnownError, "whether Thing/ml/thing makes pods isn't known"),
        ([workload(), THING], NotKnownError, "whether Thing/ml/thing makes pods isn't known"),
    ],
    ids=["no replicas", "unknown kind", "beside another"],
)
def test_no_place_is_made_for_what_makes_no_pods_or_may_not(
    objects: list[Object], error: type[Exception], said: str
) -> None:
    cluster = snapshot(node("n0", cpu="4"), *deployment("web", ["n0"], pod_spec(cpu="1")))
    manifest = "\n---\n".join(map(json.dumps, objects))
    with pytest.raises(error, match=said):
        make_room(cluster, RoomRequest(change=Scenario(manifest=manifest)))
