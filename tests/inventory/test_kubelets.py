"""Configurations of kubelets beside a cluster's objects: of which node each is, and what is kept of it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.history import snapshot_bytes
from planner.history.anonymization import anonymised
from planner.inventory.kubelet_configuration import node_of, of_arguments, of_document, of_topology
from planner.kubernetes.object_records import KubeletConfiguration, Snapshot, TopologyManagerPolicy
from planner.sources import cluster_dumps
from tests.builders.objects import Item, deployment, node, pod_spec, read_items

ALIGNED = {
    "topologyManagerPolicy": "single-numa-node",
    "topologyManagerScope": "pod",
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "memoryManagerPolicy": "Static",
    "evictionHard": {"nodefs.available": "10%"},
    "clusterDNS": ["10.0.0.10"],
}
FOUND = KubeletConfiguration(
    topology_manager_policy=TopologyManagerPolicy.SINGLE_NUMA_NODE,
    is_pod_scope=True,
    is_cpu_static=True,
    is_memory_static=True,
    gives_whole_cores=True,
)
OBJECTS = [node("g0", gpus=8), node("g1", gpus=8), *deployment("worker", ["g0"], pod_spec(gpus=1))]


def bundle(folder: Path, files: dict[str, Any], objects: list[Item] | None = None) -> Path:
    for name, document in {
        "cluster.json": {"apiVersion": "v1", "kind": "List", "items": objects or OBJECTS},
        **files,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(document) if name.endswith(".yaml") else json.dumps(document))
    return folder


def kubelets(snapshot: Snapshot) -> dict[str, KubeletConfiguration | None]:
    return {one.name: one.kubelet for one in snapshot.nodes}


OF_KIND = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **ALIGNED}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("hosts/g0/configz.json", {"kubeletconfig": ALIGNED}),  # sonobuoy
        ("g0-configz.json", {"kubeletconfig": ALIGNED}),
        ("kubelets/configz-g0.json", {"kubeletconfig": ALIGNED}),
        ("kubelets/g0.json", {"kubeletconfig": ALIGNED}),
        ("g0/kubelet-config.yaml", OF_KIND),
        ("g0/config.json", OF_KIND),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_beside_the_objects_tells_its_nodes_kubelet(
    tmp_path: Path, name: str, document: Any, is_packed: bool
) -> None:
    place = bundle(tmp_path / "bundle", {name: document})
    if is_packed:
        with tarfile.open(tmp_path / "bundle.tar.gz", "w:gz") as archive:
            archive.add(place, "bundle")
        place = tmp_path / "bundle.tar.gz"
    found = cluster_dumps.read(place)
    assert kubelets(found) == {"g0": FOUND, "g1": None}
    assert found.problems == ()
    assert found.digest != cluster_dumps.read(bundle(tmp_path / "without", {})).digest


def test_a_file_of_no_node_is_named_and_not_used(tmp_path: Path) -> None:
    found = cluster_dumps.read(bundle(tmp_path, {"configz.json": {"kubeletconfig": ALIGNED}}))
    assert kubelets(found) == {"g0": None, "g1": None}
    (problem,) = found.problems
    assert (
        problem.what
        == "configz.json: it is a kubelet's configuration, and its path names no node of the input: it isn't used"
    )


def test_where_there_is_one_node_the_file_is_that_ones(tmp_path: Path) -> None:
    one_node = [node("g0", gpus=8), *deployment("worker", ["g0"], pod_spec(gpus=1))]
    found = cluster_dumps.read(bundle(tmp_path, {"configz.json": {"kubeletconfig": ALIGNED}}, one_node))
    assert kubelets(found) == {"g0": FOUND}
    assert found.problems == ()


@pytest.mark.parametrize(
    ("where", "node_name"),
    [("hosts/a/b/configz.json", ""), ("hosts/a/configz.json", "a"), ("a-b.json", ""), ("configz.ab.json", "ab"), ("xa.json", ""), ("ab", "ab")],
)  # fmt: skip
def test_whose_a_file_is(where: str, node_name: str) -> None:
    assert node_of(where, {"a", "b", "ab"}) == node_name


def topology(name: str, **fields: Any) -> Item:
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        **fields,
    }


def test_node_feature_discovery_tells_the_policy_of_each_node() -> None:
    attributes = [
        {"name": "topologyManagerPolicy", "value": "restricted"},
        {"name": "topologyManagerScope", "value": "container"},
    ]
    found = read_items([*OBJECTS, topology("g1", attributes=attributes), topology("g9", attributes=attributes)])
    restricted = KubeletConfiguration(topology_manager_policy=TopologyManagerPolicy.RESTRICTED)
    assert kubelets(found) == {"g0": None, "g1": restricted}
    old = of_topology(topology("g0", topologyPolicies=["SingleNUMANodePodLevel"]))
    assert old == KubeletConfiguration(
        topology_manager_policy=TopologyManagerPolicy.SINGLE_NUMA_NODE, is_pod_scope=True
    )
    assert of_topology(topology("g0", zones=[])) is None


@pytest.mark.parametrize("key", ["k3s.io/node-args", "rke2.io/node-args"])
def test_arguments_of_k3s_tell_the_policy_and_nothing_else_is_kept(key: str) -> None:
    arguments = [
        "agent",
        "--token",
        "s3cret-s3cret",
        "--kubelet-arg",
        "topology-manager-policy=restricted",
        "--kubelet-arg=cpu-manager-policy=static",
    ]
    told = node("g0", gpus=8)
    told["metadata"]["annotations"] = {key: json.dumps(arguments)}
    found = read_items([told, node("g1")])
    assert kubelets(found)["g0"] == KubeletConfiguration(
        topology_manager_policy=TopologyManagerPolicy.RESTRICTED, is_cpu_static=True
    )
    assert b"s3cret" not in snapshot_bytes.encode(found)
    assert found.nodes[0].annotations == {}
    assert of_arguments(json.dumps(["server", "--node-name", "x"])) is None
    assert of_arguments("no json") is None


@pytest.mark.parametrize("document", [{}, {"kubeletconfig": None}, {"kind": "ConfigMap"}, {"kubeletconfig": []}])
def test_what_is_no_configuration(document: Item) -> None:
    assert of_document(document) is None


def test_a_policy_that_nobody_knows_refuses_nothing() -> None:
    assert of_document({"kubeletconfig": {"topologyManagerPolicy": "new-one"}}) == KubeletConfiguration()


def test_it_is_stored_and_stays_in_an_anonymous_snapshot(tmp_path: Path) -> None:
    found = cluster_dumps.read(bundle(tmp_path, {"hosts/g0/configz.json": {"kubeletconfig": ALIGNED}}))
    assert kubelets(snapshot_bytes.decode(snapshot_bytes.encode(found), "x"))["g0"] == FOUND
    assert FOUND in kubelets(snapshot_bytes.decode(anonymised(found).content, "x")).values()
