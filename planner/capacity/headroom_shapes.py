"""The pod shapes that headroom is counted for: every workload's own, standard shapes, and a typed one."""

from __future__ import annotations

from enum import StrEnum
from itertools import count as counting
from statistics import median

from planner.ground.errors import InputError
from planner.ground.quantity import parse
from planner.ground.records import Record
from planner.ground.well_known_names import (
    CPU,
    DEFAULT_NAMESPACE,
    LWS_EXCLUSIVE,
    LWS_SUBGROUP_EXCLUSIVE,
    MEMORY,
    NVIDIA_GPU,
    is_extended_resource,
)
from planner.ground.words import roughly
from planner.kubernetes.accelerator_units import card_by_card
from planner.kubernetes.accelerators import Unit, accelerator, tables
from planner.kubernetes.node_properties import ROLE, Sharing, noun_of, pool_label
from planner.kubernetes.object_records import (
    EMPTY,
    Amounts,
    ClaimTemplate,
    Container,
    FrozenMap,
    Labels,
    LabelSelector,
    PodSpec,
    Toleration,
    Workload,
)
from planner.kubernetes.requests import pod_requests
from planner.rollout.controllers.statefulset import claim_name, spec_with_claims
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.node_facts import node_pools, offers
from planner.scheduling.volume_placement import claims_by_key

STANDARD_GPUS = (1, 2, 4, 8)
# Used where no pod of the cluster asks for GPUs: the host's share of a GPU in the smallest common machines
# (n1-standard-8 with one T4, g2-standard-8: 8 vCPU and 30 to 32 GB a GPU; cloud.google.com/compute/docs/gpus, 2026-07).
DEFAULT_MILLICORES_A_GPU = 8_000
DEFAULT_BYTES_A_GPU = 32 * 2**30


class ShapeOrigin(StrEnum):
    WORKLOAD = "workload"
    STANDARD = "standard"
    TYPED = "typed"


class PodShape(Record):
    """One kind of pod to be counted.

    Attributes
    ----------
    name : a workload's key, or what it asks for: "2 GPUs, 8 cpu, 32Gi memory"
    default_selector : selector of the controller that owns such pods, for default spreading
    sharing : how the nodes offer its accelerator that it is counted on; None where the scheduler's rules alone decide
    beside : (spec, labels, how many) of the pods without which one such pod doesn't work: a group is counted whole
    keeps_apart : whether such groups keep each other away in a way that isn't counted
    retained : specs of the pods that come first, with claims that exist: a StatefulSet's next ordinals that were scaled down once
    claims : what each pod after those gets claims of its own from
    """

    name: str
    origin: ShapeOrigin
    spec: PodSpec
    namespace: str = DEFAULT_NAMESPACE
    labels: Labels = EMPTY
    default_selector: LabelSelector | None = None
    sharing: Sharing | None = None
    beside: tuple[tuple[PodSpec, Labels, int], ...] = ()
    keeps_apart: bool = False
    retained: tuple[PodSpec, ...] = ()
    claims: tuple[ClaimTemplate, ...] = ()

    @property
    def group_size(self) -> int:
        """Pods of a group; 1 where each works by itself."""
        return 1 + sum(number for _, _, number in self.beside)

    @property
    def requests(self) -> Amounts:
        """What one such pod asks for."""
        return pod_requests(self.spec)


def workload_shapes(cluster: Cluster) -> tuple[PodShape, ...]:
    """One shape a Deployment, StatefulSet and unfinished Job; daemons come with nodes and are left out."""
    return tuple(
        PodShape(
            name=workload.key,
            origin=ShapeOrigin.WORKLOAD,
            spec=spec_with_claims(workload, workload.template.spec),
            namespace=workload.namespace,
            labels=workload.template.labels,
            default_selector=workload.selector if workload.traits.has_replicas else None,
            beside=_beside(workload),
            keeps_apart=any(name in workload.annotations for name in (LWS_EXCLUSIVE, LWS_SUBGROUP_EXCLUSIVE)),
            retained=_retained(cluster, workload),
            claims=workload.claim_templates,
        )
        for workload in cluster.snapshot.workloads
        if not workload.traits.is_per_node and not workload.is_finished
    )


def _retained(cluster: Cluster, workload: Workload) -> tuple[PodSpec, ...]:
    """The specs of a StatefulSet's next pods, as long as a claim of theirs is there: claims stay when it is scaled down
    (`persistentVolumeClaimRetentionPolicy`), and a pod of that ordinal starts where their volumes are."""
    claims, specs = cluster.remember(claims_by_key), list[PodSpec]()
    for ordinal in counting(workload.start_ordinal + workload.replicas):
        name = f"{workload.name}-{ordinal}"
        if not any((workload.namespace, claim_name(template, name)) in claims for template in workload.claim_templates):
            return tuple(specs)
        specs.append(spec_with_claims(workload, workload.template.spec, name))
    return ()  # never: claims end


def _beside(workload: Workload) -> tuple[tuple[PodSpec, Labels, int], ...]:
    """The workers of a group's leader."""
    size = workload.groups.size if workload.groups is not None else 1
    worker = workload.worker_template or workload.template
    return ((worker.spec, worker.labels, size - 1),) if size > 1 else ()


def gpu_resource(cluster: Cluster) -> str:
    """The resource that counts GPUs here: whole ones, the commonest on nodes; ``nvidia.com/gpu`` where there are none."""
    return gpu_offer(cluster)[0]


def gpu_offer(cluster: Cluster) -> tuple[str, Sharing]:
    """The cluster's main GPU resource, and how nodes offer it: as slices or shares only where no node has whole GPUs."""
    return next(iter(offers(cluster)), (NVIDIA_GPU, Sharing.WHOLE))


def usual_share(cluster: Cluster, resource: str = "") -> tuple[int, int, str]:
    """(millicores, bytes, basis): what pods of this cluster ask for beside one GPU (`gpu_resource`, or another resource), the
    median of its GPU pods."""
    return cluster.remember(_usual_share, resource or gpu_resource(cluster))


def _usual_share(cluster: Cluster, resource: str) -> tuple[int, int, str]:
    millicores: list[float] = []
    size: list[float] = []
    for shape, count in asking_pods(cluster, resource):
        requests = shape.requests
        millicores += [requests.get(CPU, 0) / requests[resource]] * count
        size += [requests.get(MEMORY, 0) / requests[resource]] * count
    if not millicores:
        return DEFAULT_MILLICORES_A_GPU, DEFAULT_BYTES_A_GPU, "default: no pod of this cluster asks for GPUs"
    basis = f"the median of what {len(millicores):,} GPU pods of this cluster ask for beside each GPU"
    return _rounded(median(millicores), 100), _rounded(median(size), 2**28), basis


@once_a_cluster
def asking_pods(cluster: Cluster, resource: str) -> tuple[tuple[PodShape, int], ...]:
    """The pods that ask for `resource`, bound or waiting: each kind with the number of its pods."""
    pods = cluster.snapshot.pods
    counts: dict[tuple[str, int, int], list[int]] = {}  # namespace, ids of labels and spec → first pod, how many
    for alike in (*(group.pods for group in cluster.groups), *((index,) for index in cluster.waiting)):
        pod = pods[alike[0]]
        key = (pod.namespace, id(pod.labels), id(pod.spec))
        counted = counts.get(key)
        if counted is not None:
            counted[1] += len(alike)
        # What no container names is passed over without working out requests; the last line decides by what the whole pod asks.
        elif any(resource in c.requests for c in (*pod.spec.containers, *pod.spec.init_containers)) or (
            pod.spec.pod_requests is not None and resource in pod.spec.pod_requests
        ):
            counts[key] = [alike[0], len(alike)]
    first = ((pods[index], count) for index, count in counts.values())
    shapes_by_count = (
        (
            PodShape(name="", origin=ShapeOrigin.WORKLOAD, spec=pod.spec, namespace=pod.namespace, labels=pod.labels),
            count,
        )
        for pod, count in first
    )
    return tuple((shape, count) for shape, count in shapes_by_count if shape.requests.get(resource))


def _rounded(value: float, step: int) -> int:
    return max(step, round(value / step) * step)


def standard_shapes(cluster: Cluster) -> tuple[PodShape, ...]:
    """Pods of 1, 2, 4 and 8 whole GPUs where some are offered, and of one slice or share of each kind that is, with the CPU and
    memory usual in this cluster (`usual_share`). None where the cluster offers nothing that pods hold a number of."""
    offered = offers(cluster)
    shapes = []
    for resource, how in offered:
        if card_by_card(cluster.snapshot, [resource]):  # without more, HAMi's share takes a whole card
            continue
        millicores, size, _ = usual_share(cluster, resource)
        is_main = (resource, how) == offered[0]
        if how is Sharing.WHOLE and not is_main:
            continue
        for gpus in STANDARD_GPUS if how is Sharing.WHOLE else (1,):
            requests = {resource: gpus, CPU: millicores * gpus, MEMORY: size * gpus}
            shapes.append(shape_of(requests, origin=ShapeOrigin.STANDARD, sharing=how))
    return tuple(shapes)


def shape_of(
    requests: dict[str, int],
    *,
    origin: ShapeOrigin,
    node_pool: str = "",
    selector: Labels = EMPTY,
    tolerates_all: bool = False,
    priority_class: str = "",
    sharing: Sharing | None = None,
) -> PodShape:
    """A pod of one container with these requests; with `sharing`, for nodes that offer its accelerator so; with `selector`, for
    those of `node_pool`.

    It tolerates taints named after the extended resources it asks for, as the ExtendedResourceToleration admission
    plugin adds them on GKE (kubernetes `plugin/pkg/admission/extendedresourcetoleration/admission.go`).
    """
    amounts = {name: amount for name, amount in requests.items() if amount}
    tolerations = tuple(
        Toleration(key=name, operator="Exists") for name in sorted(amounts) if is_extended_resource(name)
    )
    if tolerates_all:
        tolerations = (Toleration(operator="Exists"),)
    name = shape_name(amounts, sharing or Sharing.WHOLE)
    extras = [f"in {node_pool}"] if node_pool else []
    extras += ["tolerates every taint"] if tolerates_all else []
    extras += [f"of priority {priority_class}"] if priority_class else []
    return PodShape(
        name=", ".join([name, *extras]),
        origin=origin,
        spec=PodSpec(
            containers=(Container(name="main", requests=FrozenMap(amounts), limits=FrozenMap(amounts)),),
            tolerations=tolerations,
            priority_class_name=priority_class,
            node_selector=selector,
        ),
        sharing=sharing,
    )


def _selector(cluster: Cluster, pool: str) -> Labels:
    """The labels that a pool's nodes have in common, any operator of them; of one that isn't there a label that no node has."""
    if not pool:
        return EMPTY
    node = next((cluster.nodes[n] for n, name in enumerate(node_pools(cluster)) if name == pool), None)
    if node is None:
        return FrozenMap({tables().pool[0]: pool})
    label = pool_label(node)
    return FrozenMap({label: pool} if label else {key: node.labels[key] for key in node.labels if key.startswith(ROLE)})


def shape_name(requests: dict[str, int] | Amounts, how: Sharing = Sharing.WHOLE) -> str:
    """``2 GPUs, 16 cpu, 64Gi memory``; ``1 time slice, 4 cpu`` of what is offered so."""
    order = sorted(requests, key=lambda name: (not is_extended_resource(name), name != CPU, name))
    words = []
    for name in order:
        row = accelerator(name)
        is_counted = row is not None and (row.unit is Unit.DEVICE or how is not Sharing.WHOLE)
        noun = noun_of(name, how, number=requests[name]) if is_counted else name
        words.append(f"{roughly(requests[name], name)} {noun}")
    return ", ".join(words) or "a pod that asks for nothing"


def parse_shape(text: str, cluster: Cluster) -> PodShape:
    """``gpu=2,cpu=8,memory=64Gi``: amounts by resource, ``gpu`` of what `gpu_offer` says; ``pool=NAME``, ``tolerate=all`` and ``priority=CLASS`` may be
    added.

    Raises
    ------
    InputError
        For a part that isn't ``name=value``, or an amount that isn't a quantity.
    """
    requests: dict[str, int] = {}
    pool, tolerates_all, priority_class = "", False, ""
    how: Sharing | None = None
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise InputError(
                f'"{part[:60]}" is not an amount of a resource',
                where="shape",
                fix="Write it like gpu=2,cpu=8,memory=64Gi",
            )
        if name == "pool":
            pool = value
        elif name == "tolerate":
            if value != "all":
                raise InputError(f'"{value[:60]}" is not known', where="tolerate", fix="Write tolerate=all")
            tolerates_all = True
        elif name == "priority":
            if value not in cluster.priorities:
                class_names = ", ".join(sorted(cluster.priorities)) or "none is in the snapshot"
                raise InputError(
                    f"there is no PriorityClass {value[:60]}", where="priority", fix=f"Known: {class_names}"
                )
            priority_class = value
        else:
            resource, how = gpu_offer(cluster) if name == "gpu" else (name, how)
            requests[resource] = parse(value, resource)
    if not any(requests.values()):
        raise InputError("the shape asks for nothing", where="shape", fix="Write it like gpu=2,cpu=8,memory=64Gi")
    return shape_of(
        requests,
        origin=ShapeOrigin.TYPED,
        node_pool=pool,
        selector=_selector(cluster, pool),
        tolerates_all=tolerates_all,
        priority_class=priority_class,
        sharing=how,
    )
