"""Volumes: where bound ones are, what unbound ones wait for, what can't be shared."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity.node_groups import labels_in_zone
from planner.ground.records import replace
from planner.kubernetes.object_records import ClaimTemplate, FrozenMap
from planner.rollout.admission import volume_claim_usage
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import compile_shape
from planner.scheduling.template_node import bare_copy
from planner.scheduling.volume_placement import Volumes, class_name_of
from tests.builders.objects import POOL, Item, node, pod, pod_spec, snapshot
from tests.scheduling.questions import Question

ZONE = "topology.kubernetes.io/zone"
SPEC = pod_spec(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
NODES = [node("n-0", zone="a"), node("n-1", zone="b")]


def claim(volume: str = "", storage_class: str = "fast", modes: tuple[str, ...] = ("ReadWriteOnce",)) -> Item:
    spec: Item = {
        "accessModes": list(modes),
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "10Gi"}},
    }
    if volume:
        spec["volumeName"] = volume
    metadata = {"name": "data", "namespace": "ml", "uid": "pvc"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": {}}


def volume(zone: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Item:
    if zone:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    spec = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", **spec}
    metadata = {"name": "pv", "uid": "pv", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": {}}


def storage_class(mode: str = "WaitForFirstConsumer", provisioner: str = "csi.example", **more: Any) -> Item:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast", "uid": "sc"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def ask(*items: Item, spec: Item = SPEC) -> Question:
    return Question([*NODES, *items], spec)


def test_a_bound_volume_is_where_it_is() -> None:
    assert ask(claim("pv"), volume("b")).fitting() == ["n-1"]
    nowhere = ask(claim("pv"), volume("c"))
    assert nowhere.reasons() == "2 node(s) didn't match PersistentVolume's node affinity"


def test_a_volumes_zone_label() -> None:
    assert ask(claim("pv"), volume(labels={ZONE: "a"})).fitting() == ["n-0"]
    assert ask(claim("pv"), volume(labels={ZONE: "a__b"})).fitting() == ["n-0", "n-1"]
    assert ask(claim("pv"), volume(labels={ZONE: "c"})).reasons() == "2 node(s) had no available volume zone"


def test_a_claim_bound_to_a_volume_that_is_gone() -> None:
    lost = ask(claim("pv"), volume(labels={"x": "y"}) | {"metadata": {"name": "another", "uid": "u"}})
    assert lost.reasons() == "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def test_a_claim_that_is_not_there_blocks_the_pod() -> None:
    other = claim()
    other["metadata"]["name"] = "another"
    missing = ask(other)
    assert missing.attempt().message.startswith('0/2 nodes are available: persistentvolumeclaim "data" not found.')


def test_a_claim_that_waits_for_its_pod_goes_where_a_volume_can_be_had() -> None:
    topology = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    assert ask(claim(), storage_class()).fitting() == ["n-0", "n-1"]
    assert ask(claim(), storage_class(allowedTopologies=topology)).fitting() == ["n-1"]
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    assert ask(claim(), local, volume("b")).fitting() == ["n-1"]
    small = volume("b", capacity={"storage": "1Gi"})
    assert ask(claim(), local, small).reasons() == "2 node(s) didn't find available persistent volumes to bind"
    taken = volume("b", claimRef={"namespace": "ml", "name": "other"})
    assert ask(claim(), local, taken).fitting() == []


def test_an_unbound_claim_that_binds_at_once_blocks_the_pod() -> None:
    message = ask(claim(), storage_class("Immediate")).attempt().message
    assert message.startswith("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.")


def test_one_pod_alone_may_use_a_read_write_once_pod_claim() -> None:
    alone = claim("pv", modes=("ReadWriteOncePod",))
    assert ask(alone, volume()).fitting() == ["n-0", "n-1"]
    used = ask(alone, volume(), pod("there", SPEC, on="n-0"))
    assert used.fitting() == []
    assert "ReadWriteOncePod access mode already in-use by another pod" in used.reasons()


def test_a_disk_written_on_a_node_is_not_mounted_there_again() -> None:
    def disk(*, read_only: bool) -> Item:
        return pod_spec(volumes=[{"name": "d", "gcePersistentDisk": {"pdName": "disk-1", "readOnly": read_only}}])

    there = pod("there", disk(read_only=True), on="n-0")
    assert ask(there, spec=disk(read_only=False)).fitting() == ["n-1"]
    assert ask(there, spec=disk(read_only=True)).fitting() == ["n-0", "n-1"]


def limits(name: str, count: int, driver: str = "csi.example") -> Item:
    drivers = [{"name": driver, "nodeID": name, "allocatable": {"count": count}}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def on_claim(name: str) -> Item:
    return pod_spec(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])


def scratch() -> Item:
    wanted = {
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
        "accessModes": ["ReadWriteOnce"],
    }
    return pod_spec(volumes=[{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": wanted}}}])


def test_the_first_pods_node_is_where_the_others_have_to_go() -> None:
    question = ask(claim(), storage_class())
    question.place("n-1")
    assert question.fitting() == ["n-1"]


def test_a_local_volume_is_taken_once() -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    question = ask(volume("a"), local, claim("pv") | {"metadata": {"name": "x", "namespace": "x"}}, spec=scratch())
    assert question.fitting() == ["n-0"]
    question.place("n-0")
    assert question.fitting() == []
    assert question.reasons() == "2 node(s) didn't find available persistent volumes to bind"


def test_a_claim_that_pods_share_takes_one_volume() -> None:
    """It is bound with the first pod (`volumebinding/volume_binding.go` `PreBind`); the second pod finds it bound, so that the volume beside it
    is left for another claim."""
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    volumes = [volume("a") | {"metadata": {"name": name, "uid": name}} for name in ("pv-0", "pv-1")]
    question = ask(claim(), local, *volumes)
    for _ in range(2):
        assert question.fitting() == ["n-0"]
        question.place("n-0")
    assert question.state.volumes.taken == {"pv-0"}


def test_a_claim_chooses_by_labels_and_mode() -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    picky = claim()
    picky["spec"]["selector"] = {"matchLabels": {"tier": "gold"}}
    assert ask(picky, local, volume("b", labels={"tier": "gold"})).fitting() == ["n-1"]
    assert ask(picky, local, volume("b")).fitting() == []
    assert ask(claim(), local, volume("b", volumeMode="Block")).fitting() == []


def test_a_claim_that_is_being_provisioned_waits_for_its_node() -> None:
    chosen = claim()
    chosen["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "n-1"}
    assert ask(chosen, storage_class()).fitting() == ["n-1"]


def test_a_claim_on_its_way_out_blocks_the_pod() -> None:
    going = claim("pv")
    going["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
    lost = claim("pv") | {"status": {"phase": "Lost"}}
    assert 'persistentvolumeclaim "data" is being deleted' in ask(going, volume()).attempt().message
    assert 'claim "data" bound to non-existent persistentvolume "pv"' in ask(lost, volume()).attempt().message


def test_a_node_attaches_as_many_volumes_as_its_driver_says() -> None:
    csi = volume(csi={"driver": "csi.example", "volumeHandle": "h"})
    other = claim() | {"metadata": {"name": "other", "namespace": "ml"}}
    there = pod("there", SPEC, on="n-0")
    full = [claim("pv"), csi, other, storage_class(), limits("n-0", 1), limits("n-1", 1), there]
    assert ask(*full, spec=on_claim("other")).fitting() == ["n-1"]
    assert ask(*full).fitting() == ["n-0", "n-1"]  # the same volume twice is one
    assert ask(*full, spec=scratch()).fitting() == ["n-1"]
    question = ask(*full, spec=scratch())
    question.place("n-1")
    assert question.reasons() == "2 node(s) exceed max volume count"
    assert ask(*full, limits("n-2", 0), spec=pod_spec()).fitting() == ["n-0", "n-1"]


@pytest.mark.parametrize("pool", ["gpu", "another"])
def test_the_first_node_of_a_zone_has_the_limit_of_its_pool(pool: str) -> None:
    """It isn't there yet, so that no CSINode is; of nodes unlike all that are there no limit is known."""
    found = snapshot(
        node("n-0", pool="gpu", zone="a"), node("n-1", pool="gpu", zone="b"), storage_class(), limits("n-0", 1)
    )
    cluster = Cluster(found).grown(
        tuple(
            bare_copy(
                replace(found.nodes[0], labels=FrozenMap({**labels_in_zone(found.nodes[0], zone), POOL: pool})),
                f"new-{zone}",
            )
            for zone in "ac"
        )
    )
    two = pod_spec(volumes=[{**scratch()["volumes"][0], "name": name} for name in ("x", "y")])
    (asked,) = snapshot(pod("asked", two)).pods
    refused = Volumes(cluster).over_limit(compile_shape(cluster, asked.namespace, asked.labels, asked.spec).storage)
    assert refused.tolist() == [True, False, pool == "gpu", pool == "gpu"]


@pytest.mark.parametrize("counts", [(1, 3), (3, 1)])
def test_of_nodes_that_are_alike_the_lowest_limit_is_that_of_a_new_one(counts: tuple[int, int]) -> None:
    nodes = [node(f"n-{number}", pool="gpu", zone="a") for number in range(2)]
    found = snapshot(*nodes, storage_class(), *(limits(f"n-{number}", count) for number, count in enumerate(counts)))
    cluster = Cluster(found).grown((bare_copy(found.nodes[0], "new"),))
    two = pod_spec(volumes=[{**scratch()["volumes"][0], "name": name} for name in ("x", "y")])
    (asked,) = snapshot(pod("asked", two)).pods
    refused = Volumes(cluster).over_limit(compile_shape(cluster, asked.namespace, asked.labels, asked.spec).storage)
    assert refused.tolist() == [counts[0] == 1, counts[1] == 1, True]


def test_volumes_of_in_tree_plugins_count_as_their_csi_drivers() -> None:
    def disk(name: str) -> Item:
        return pod_spec(volumes=[{"name": "d", "gcePersistentDisk": {"pdName": name, "readOnly": True}}])

    one = limits("n-0", 1, "pd.csi.storage.gke.io")
    old = volume(gcePersistentDisk={"pdName": "disk-0"})
    other = claim() | {"metadata": {"name": "other", "namespace": "ml"}}
    made = storage_class(provisioner="kubernetes.io/gce-pd")
    full = [claim("pv"), old, other, made, one, pod("there", SPEC, on="n-0")]
    assert ask(*full, spec=on_claim("other")).fitting() == ["n-1"]
    assert ask(*full, spec=disk("disk-1")).fitting() == ["n-1"]
    assert ask(one, pod("there", disk("disk-1"), on="n-0"), spec=disk("disk-1")).fitting() == ["n-0", "n-1"]
    assert ask(one, pod("there", disk("disk-1"), on="n-0"), spec=disk("disk-2")).fitting() == ["n-1"]


def test_volumes_that_have_nothing_to_do_with_the_pod_make_nothing_unknown() -> None:
    made = storage_class(provisioner="pd.csi.storage.gke.io")
    question = ask(claim(), made)  # no PersistentVolume in the snapshot: none is needed
    assert question.shape.storage.unknown == ""
    assert ask(claim("pv")).shape.storage.unknown.endswith("PersistentVolumes")
    assert ask(claim()).shape.storage.unknown.endswith("StorageClasses")


def test_without_claims_in_the_snapshot_the_answer_is_unknown() -> None:
    question = ask()
    assert question.shape.storage.unknown
    assert question.fitting() == ["n-0", "n-1"]
    assert not ask(claim("pv"), volume()).shape.storage.unknown


def test_a_volumes_older_zone_label_is_met_by_the_newer_one_of_a_node() -> None:
    """Source: plugins/volumezone `Filter`, `translateToGALabel`."""
    older = "failure-domain.beta.kubernetes.io/zone"
    assert ask(claim("pv"), volume(labels={older: "a"})).fitting() == ["n-0"]


def test_only_some_kinds_of_disks_can_not_be_shared() -> None:
    """Source: plugins/volumerestrictions `needsRestrictionsCheck`, `isVolumeConflict`: EBS not even for reading, Azure at
    will."""
    for source, fits in (
        ({"awsElasticBlockStore": {"volumeID": "v", "readOnly": True}}, ["n-1"]),
        ({"gcePersistentDisk": {"pdName": "v", "readOnly": True}}, ["n-0", "n-1"]),
        ({"azureDisk": {"diskName": "v", "diskURI": "v"}}, ["n-0", "n-1"]),
    ):
        spec = pod_spec(volumes=[{"name": "disk", **source}])
        assert ask(pod("other", spec, on="n-0"), spec=spec).fitting() == fits, source


def test_a_claim_to_be_made_of_no_class_that_provisions_needs_a_volume_that_is_there() -> None:
    """Source: plugins/volumebinding `PreFilter`: a claim that nobody binds is an immediate one."""
    template = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}

    def of(class_name: str) -> Item:
        made = {"spec": {**template, "storageClassName": class_name}}
        return pod_spec(volumes=[{"name": "data", "ephemeral": {"volumeClaimTemplate": made}}])

    static = volume("b", storageClassName="typed-wrong")
    at_once = storage_class("Immediate")
    assert "unbound immediate" in ask(at_once, volume(), spec=of("typed-wrong")).attempt().message
    assert ask(at_once, static, spec=of("typed-wrong")).fitting() == ["n-1"]
    assert ask(at_once, volume(), spec=of("fast")).fitting() == ["n-0", "n-1"]


def driver(tells: bool = True) -> Item:
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.example", "uid": "driver"},
        "spec": {"storageCapacity": tells},
    }  # fmt: skip


def capacity(size: str, zone: str | None = "a", of: str = "fast", **more: Any) -> Item:
    topology = {} if zone is None else {"nodeTopology": {"matchLabels": {ZONE: zone}}}
    return {
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": f"{of}-{zone}-{size}".lower(), "namespace": "kube-system", "uid": f"{of}-{zone}-{size}".lower()},
        "storageClassName": of, "capacity": size, **topology, **more,
    }  # fmt: skip


def test_a_volume_is_made_where_its_driver_has_room() -> None:
    """hasEnoughCapacity: one object has to offer all of it, on nodes that its topology selects."""
    late = [claim(), storage_class(), driver()]
    assert ask(*late, capacity("20Gi")).fitting() == ["n-0"]
    assert ask(*late, capacity("10Gi", "b")).fitting() == ["n-1"]
    assert ask(*late, capacity("9Gi"), capacity("9Gi", "a")).reasons() == "2 node(s) did not have enough free storage"
    assert ask(*late, capacity("20Gi", of="slow")).fitting() == []
    assert ask(*late, capacity("20Gi", None)).fitting() == []  # no topology: on no node
    assert ask(*late, capacity("20Gi", maximumVolumeSize="5Gi")).fitting() == []
    assert ask(*late, capacity("5Gi", maximumVolumeSize="20Gi")).fitting() == ["n-0"]
    assert ask(claim(), storage_class(), driver(tells=False), capacity("1Gi")).fitting() == ["n-0", "n-1"]


def test_two_claims_each_need_room() -> None:
    claims = [claim(), {**claim(), "metadata": {"name": "more", "namespace": "ml", "uid": "more"}}]
    spec = pod_spec(volumes=[{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("data", "more")])
    late = [*claims, storage_class(), driver()]
    assert ask(*late, capacity("20Gi"), spec=spec).fitting() == ["n-0"]
    assert ask(*late, capacity("1Gi"), spec=spec).reasons() == "2 node(s) did not have enough free storage"


def test_a_driver_whose_capacities_were_not_read_makes_it_unknown() -> None:
    assert ask(claim(), storage_class()).shape.storage.unknown.endswith("CSIDrivers")
    assert ask(claim(), storage_class(), driver()).shape.storage.unknown.endswith("CSIStorageCapacities")
    assert ask(claim(), storage_class(), driver(tells=False)).shape.storage.unknown == ""
    assert ask(claim(), storage_class(), {**driver(), "metadata": {"name": "other"}}).shape.storage.unknown == ""


def default(name: str, made: str, annotation: str = "storageclass.kubernetes.io/is-default-class") -> Item:
    metadata = {"name": name, "uid": name, "creationTimestamp": made, "annotations": {annotation: "true"}}
    return {**storage_class(), "metadata": metadata}


def test_the_default_class_is_the_newest() -> None:
    """And of those made at once the first by name; the older annotation counts, too. Asked where a claim is placed and where
    a quota counts it."""
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    beta = "storageclass.beta.kubernetes.io/is-default-class"
    bare = ClaimTemplate(name="data", requested_bytes=1)
    for first, second, found in (
        (default("a", early), default("b", late), "b"),
        (default("b", late), default("a", early), "b"),
        (default("b", early), default("a", early), "a"),
        (default("a", early), default("b", late, beta), "b"),
    ):
        cluster = snapshot(*NODES, first, second)
        assert class_name_of(cluster, bare) == found
        assert f"{found}.storageclass.storage.k8s.io/requests.storage" in volume_claim_usage(cluster, bare)
        immediate = [
            {**one, "volumeBindingMode": "Immediate" if one["metadata"]["name"] == found else "WaitForFirstConsumer"}
            for one in (first, second)
        ]
        unnamed = claim()
        del unnamed["spec"]["storageClassName"]
        blocked = ask(unnamed, *immediate, volume(storageClassName="other")).shape.storage.blocked
        assert blocked == "pod has unbound immediate PersistentVolumeClaims"
    assert class_name_of(snapshot(*NODES, storage_class()), bare) == ""
    assert class_name_of(snapshot(*NODES, default("a", early)), replace(bare, storage_class_name="")) == ""
