"""The price of a node, from its labels and capacity.

Sources: GKE's, EKS', Karpenter's and AKS' label documentation as collected in the reference notes, section 3.2 and 3.3
(autumn 2026); a GPU's model is GKE's accelerator label, which is Compute Engine's own name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Final

from planner.ground.records import replace
from planner.ground.well_known_names import (
    AWS_ZONE_ID,
    CPU,
    GKE_ACCELERATOR_COUNT,
    INSTANCE_TYPE,
    MEMORY,
    REGION,
)
from planner.kubernetes import node_properties
from planner.kubernetes.clouds import AUTOPILOT_PREFIX, GKE, Cloud, seller_of
from planner.kubernetes.node_properties import gpu_model, local_ssd_gib, node_pool, physical_gpus, provisioning_model
from planner.kubernetes.object_records import Node
from planner.pricing.machine_price import (
    ANYWHERE,
    OF_POOL,
    SHARED_CORES,
    no_price,
    parse_custom_type,
    predefined_shape,
    price_machine,
)
from planner.pricing.price_book import NodePrice, Price, PriceBook, PriceReason, Provisioning
from planner.pricing.strategy_cost import SpareTerms


def price_node(book: PriceBook, node: Node, provisioning: Provisioning | None = None) -> NodePrice:
    """What a node costs an hour.

    Parameters
    ----------
    provisioning : Provisioning, optional
        The price it would have if bought in this way; the node's own way if not given.

    Returns
    -------
    NodePrice
        Without a price, and with the reason, for nodes whose machine the book doesn't hold (EKS, AKS and others, unless
        the user gave own prices), whose labels don't tell enough, or whose capacity contradicts their label. Boot
        disks, network and the cluster's management fee are not in it; attached local SSD is where the node tells how much
        and the book has its price.
    """
    bought = provisioning or Provisioning(provisioning_model(node))
    price = _price(book, node, bought, disks=True)
    if price.reason is PriceReason.NO_LOCAL_SSD_PRICE and provisioning is None:
        price = _price(book, node, bought, disks=False)
    return NodePrice(node=node.name, node_pool=node_pool(node), price=price)


def _price(book: PriceBook, node: Node, provisioning: Provisioning, *, disks: bool) -> Price:
    machine_type, region = node_properties.machine_type(node), node_properties.region(node)
    # first the user's own price of the pool, then one of the zone: both stand above the list's price of the region
    for name, place in ((f"{OF_POOL}{node_pool(node)}", ANYWHERE), (machine_type, node.labels.get(AWS_ZONE_ID, ""))):
        if place and f"{name} {place}" in book.own_machines:
            own = price_machine(
                book, name, place, provisioning, gpu=gpu_model(node), gpu_count=physical_gpus(node) or 0
            )
            return replace(own, region_id=region)

    refuse = partial(no_price, machine_type, region, provisioning)
    if not machine_type:
        return refuse(PriceReason.NO_MACHINE_TYPE, f"node {node.name} has no label {INSTANCE_TYPE}")
    if not region:
        return refuse(PriceReason.NO_REGION, f"node {node.name} has no label {REGION} and none for its zone")
    if node.name.startswith(AUTOPILOT_PREFIX):
        return refuse(
            PriceReason.AUTOPILOT,
            f"node {node.name} is one of GKE Autopilot's, billed by what pods request, not by node",
        )
    cloud = seller_of(node)
    if cloud and cloud.seller not in ("", GKE.seller) and f"{machine_type} {region}" not in book.own_machines:
        if why := _lacking(book, cloud, machine_type, region):
            return refuse(PriceReason.OTHER_CLOUD, why)
    mismatch = _mismatch(book, node, machine_type, region)
    if mismatch:
        return refuse(PriceReason.CAPACITY_MISMATCH, mismatch)
    model = gpu_model(node)
    count = physical_gpus(node)
    if count is None and machine_type.startswith(("n1-", "custom-")):
        return refuse(
            PriceReason.UNKNOWN_GPU_COUNT,
            f"the GPUs of node {node.name} are shared, and no label {GKE_ACCELERATOR_COUNT} tells how many there are",
        )
    gib = _attached_gib(book, node, f"{machine_type} {region}") if disks else 0
    return price_machine(book, machine_type, region, provisioning, gpu=model, gpu_count=count or 0, local_ssd_gib=gib)


def _lacking(book: PriceBook, cloud: Cloud, machine_type: str, region: str) -> str:
    """Why no list of another cloud has the machine, and how to get one; "" where one has."""
    if any(
        price_list.seller == cloud.seller and price_list.find(machine_type, region) is not None
        for price_list in book.lists
    ):
        return ""
    fix = "Give its price as a CSV of your own"
    for machine_list in book.lists:
        if (odd := machine_list.implausible(machine_type, region)) is not None:
            return f"the list's price of {machine_type} in {region}, {odd[0]}, is refused: the median of its regions is {odd[1]:.4g}. {fix}"
    if not cloud.prices:
        return f"{machine_type} in {region} is {cloud.seller}'s, of which the book has no prices. {fix}"
    regions = book.places(machine_type)
    where = f", but for {', '.join(regions[:3])}{', …' if len(regions) > 3 else ''}" if regions else ""
    refresh = f'"headroom costs --price-list refresh --cloud {cloud.prices} --region {region}"'
    return f"{cloud.seller}'s {machine_type} isn't in the book for {region}{where}. {fix}, or read it with {refresh}"


def refresh_commands(of: Iterable[Node]) -> tuple[str, ...]:
    """The commands that read today's list prices of these nodes' sellers, a cloud and its regions each; () where none has a list, or no
    node of it tells its region, without which there is no price either."""
    regions = defaultdict[str, set[str]](set)
    for node in of:
        cloud = seller_of(node)
        # Google's prices are the book's own, read for all regions at once.
        if cloud is None or cloud.seller == GKE.seller:
            regions[""].add("")
        elif cloud.prices and (region := node_properties.region(node)):
            regions[cloud.prices].add(region)
    return tuple(
        " ".join(
            ["headroom costs --price-list refresh", *([f"--cloud {name}"] if name else [])]
            + [f"--region {region}" for region in sorted(region_nodes) if region]
        )
        for name, region_nodes in sorted(regions.items())
    )


def unsold(node: Node) -> tuple[str, ...]:
    """Ways of buying (`Provisioning`) that the node's seller doesn't have; whose machine isn't known is taken for Google's."""
    cloud = seller_of(node)
    unsold_models = (Provisioning.PREEMPTIBLE, Provisioning.FLEX_START)
    return tuple(
        way.value for way in unsold_models if cloud is not None and cloud.seller and not cloud.sells(way.value)
    )


_WITH_DISKS: Final = "lssd"


def _attached_gib(book: PriceBook, node: Node, key: str) -> int:
    """GiB of local SSD to be priced beside the machine: none where its type bundles them (its row or its name, such as
    ``c4a-standard-8-lssd``, says so), or its price is the user's own."""
    row = book.machine(*key.split(" ", 1))
    if key in book.own_machines or (row is not None and (row.local_ssd_gib or _WITH_DISKS in row.machine_type)):
        return 0
    return local_ssd_gib(node) or 0


def _mismatch(book: PriceBook, node: Node, machine_type: str, region: str) -> str:
    """A sentence if the node can't be the machine its label names, else "".

    Up to the billed vCPUs is in order, and half of them where threads are switched off; shared-core types show 2.
    """
    row = book.own_machines.get(f"{machine_type} {region}") or book.machine(machine_type, region)
    custom = parse_custom_type(machine_type)
    shape = (custom.vcpus, custom.memory_gib) if custom else predefined_shape(machine_type)
    if row is not None and row.vcpus:
        shape = (row.vcpus, row.memory_gib)
    if shape is None or machine_type in SHARED_CORES or (custom is not None and custom.vcpus < 2):
        return ""
    cpus, gib = node.capacity.get(CPU, 0) / 1000, node.capacity.get(MEMORY, 0) / 2**30
    if cpus and not shape[0] / 2 <= cpus <= shape[0]:
        return f"node {node.name} has {cpus:g} CPUs, but {machine_type} has {shape[0]:g}"
    if shape[1] and gib > shape[1] * 1.001:
        return f"node {node.name} has {gib:.0f} GiB of memory, but {machine_type} has {shape[1]:g}"
    return ""


def spare_terms(book: PriceBook, node: Node) -> SpareTerms:
    """What one more GPU like those of `node` costs on demand and on Spot, for the price of a rollout strategy.

    A spare GPU needs a node: its price is its share of the whole node. The GPU's own price is `gpu_hour_price`.
    """
    demand, spot = (price_node(book, node, bought).price for bought in (Provisioning.ON_DEMAND, Provisioning.SPOT))
    # A node of shared GPUs advertises shares and doesn't tell its cards: the list's row of its machine does.
    gpus = physical_gpus(node) or round(demand.gpu_count)
    is_on_demand = provisioning_model(node) == Provisioning.ON_DEMAND
    own = None if is_on_demand else price_node(book, node).price.usd_per_hour
    return SpareTerms(
        on_demand_usd_per_gpu_hour=demand.usd_per_hour / gpus if gpus and demand.usd_per_hour is not None else None,
        spot_usd_per_gpu_hour=spot.usd_per_hour / gpus if gpus and spot.usd_per_hour is not None else None,
        gpus_per_node=gpus,
        gpu_model=demand.gpu_model,
        sustained_use_discount=demand.sustained_use_discount,
        own_usd_per_gpu_hour=own / gpus if gpus and own is not None else None,
    )
