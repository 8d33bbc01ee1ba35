"""Images that nodes don't have yet, by their status: which new pods start with a pull, where, and its size.

A node's status lists its largest images only, 50 unless its kubelet is told otherwise (``nodeStatusMaxImages``): one that lists so many may
have others. Source: kubernetes `pkg/kubelet/nodestatus/setters.go` `Images`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.ground.records import Record
from planner.ground.words import listing, measured_bytes, plural
from planner.kubernetes.object_records import Node, PodSpec
from planner.kubernetes.status_reasons import outcome_of
from planner.rollout.simulation_limits import LIMITS
from planner.scheduling.cluster import Cluster, once_a_cluster

_DOCKER = "docker.io/"


class ImagePull(Record):
    """An image of the change, the nodes that new pods of it may come to and that lack it, and its bytes, None where no node tells."""

    image: str
    nodes: tuple[str, ...]
    size_bytes: int | None

    @property
    def words(self) -> str:
        size = f", {measured_bytes(self.size_bytes)}," if self.size_bytes else ""
        return f"new pods pull {self.image}{size} where they come to {listing(list(self.nodes))}, which {plural(len(self.nodes), 'lacks', 'lack')} it"


def failing_pulls(cluster: Cluster, spec: PodSpec) -> Iterator[str]:
    """In words, images of a template that kubelets fail to pull for pods that are there: each once."""
    images = {container.image for container in (*spec.init_containers, *spec.containers)}
    yield from (words for image, words in _failing(cluster).items() if image in images)


@once_a_cluster
def _failing(cluster: Cluster) -> Mapping[str, str]:
    """Image → of the first pod for which a kubelet fails to pull it, in words."""
    failure_by_image: dict[str, str] = {}
    for pod in cluster.snapshot.pods:
        if pod.is_ready or pod.is_terminal or not pod.node_name:
            continue
        images = {container.name: container.image for container in (*pod.spec.init_containers, *pod.spec.containers)}
        for state in pod.containers:
            image = images.get(state.name, "")
            if image and state.state == "waiting" and outcome_of("waiting", state.reason) == "image":
                place = f"{pod.namespace}/{pod.name} on {pod.node_name}"
                failure_by_image.setdefault(image, f"{image} can't be pulled for pod {place} ({state.reason})")
    return failure_by_image


def image_pulls(cluster: Cluster, spec: PodSpec, places: Sequence[int]) -> Iterator[ImagePull]:
    """The pulls of each image of a template, at these places of nodes."""
    for image in dict.fromkeys(
        container.image for container in (*spec.init_containers, *spec.containers) if container.image
    ):
        names = _names(image)
        lacking = tuple(cluster.node_names[n] for n in places if _lacks(cluster.nodes[n], names))
        sizes = (size for node in cluster.nodes for name, size in node.images.items() if name in names)
        if lacking:
            yield ImagePull(image=image, nodes=lacking, size_bytes=max(sizes, default=0) or None)


def lacking_share(cluster: Cluster, spec: PodSpec, places: Sequence[int]) -> float | None:
    """Which share of these places' nodes lack an image of a template; None where none lists all of its own."""
    telling = [n for n in places if _lists_all(cluster.nodes[n])]
    lacking = {name for pull in image_pulls(cluster, spec, telling) for name in pull.nodes}
    return len(lacking) / len(telling) if telling else None


def _lists_all(node: Node) -> bool:
    """Whether the node lists its images, all of them. An image has a name with its digest, and others beside it."""
    listed = sum("@" in name for name in node.images) or len(node.images)
    return 0 < listed < LIMITS.images_of_a_node


def _lacks(node: Node, names: frozenset[str]) -> bool:
    """Whether the node lists its images, all of them, and none is this one."""
    return _lists_all(node) and names.isdisjoint(node.images)


def _names(image: str) -> frozenset[str]:
    """What a runtime may call it: with the tag that is left out, and with Docker Hub's name (`distribution/reference` `familiarName`)."""
    name = image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"
    first, slash, _ = name.partition("/")
    if not slash:
        return frozenset({name, f"{_DOCKER}library/{name}"})
    is_host = "." in first or ":" in first or first == "localhost"
    return frozenset({name} if is_host else {name, f"{_DOCKER}{name}"})
