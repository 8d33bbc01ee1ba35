"""The GPUs' share of a machine's price if the price is a single number: solved from several machines, not assumed.

The sizes of a family differ in GPUs, vCPUs and memory: price = GPUs × g + host, by least squares. g4dn of AWS: one T4 with 4 vCPUs
and 16 GiB is 0.526, with 8 and 32 GiB 0.752; so that the T4 is 0.300, and four of them with 48 and 192 GiB are 3.912, as listed.
A family of one size (p4d) has the host's rates of machines without GPUs in the same list, else of AWS' m5 and r5 in us-east-1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Final

import numpy as np

from planner.ground.records import Record
from planner.ground.well_known_names import CPU, MEMORY
from planner.kubernetes import node_properties as node_words
from planner.kubernetes.node_properties import physical_gpus
from planner.kubernetes.object_records import Node
from planner.pricing.machine_price import OF_POOL
from planner.pricing.price_book import MachinePrice, Price, PriceBook, Provisioning

# m5.xlarge 0.192 (4 vCPUs, 16 GiB) and r5.xlarge 0.252 (4, 32) in us-east-1, on demand: 16 GiB are 0.060, 4 vCPUs 0.132.
VCPU_USD_PER_HOUR: Final = 0.033
GIB_USD_PER_HOUR: Final = 0.00375
_FEWEST_HOSTS: Final = 3  # machines without GPUs from which rates are taken
_MOST_OF_HOST: Final = 0.95  # of a price: what is more was bought for its GPUs all the same


class _MachineShape(Record):
    vcpus: float
    gib: float
    gpus: float


class GpuShares:
    """The share of GPUs in a machine's price.

    Where the book takes a type apart in some regions, it is the median over them: Google scales a type's parts alike from region to
    region. Prices that are one number everywhere (a user's own) are solved.
    """

    def __init__(self, book: PriceBook, nodes: Iterable[Node]) -> None:
        nodes = tuple(nodes)
        self._book = book
        self._own = (*book.own_machines.values(), *_listed(book, nodes))
        named = [(node_words.machine_type(node), node) for node in nodes]
        named += [(f"{OF_POOL}{node_words.node_pool(node)}", node) for node in nodes]
        self._seen = {name: _shape_of(node) for name, node in named} if self._own else {}
        self._solved: dict[tuple[str, str, Provisioning], float] = {}

    def of(self, price: Price) -> float:
        """Of the whole machine's price, 0 to 1."""
        bought = price.provisioning.priced_as
        key = price.machine_type, price.region_id, bought
        if key not in self._solved:
            rows = [row for row in self._book.of_type(price.machine_type) if bought in row.gpu_each_usd_per_hour]
            split_candidates = [
                row.gpu_count * row.gpu_each_usd_per_hour[bought] / total
                for row in rows
                if (total := row.total_usd_per_hour.get(bought))
            ]
            self._solved[key] = median(split_candidates) if split_candidates else self._solve(price, bought)
        return self._solved[key]

    def _solve(self, price: Price, bought: Provisioning) -> float:
        shape, usd = self._shape(price.machine_type, price.region_id), price.usd_per_hour
        if shape is None or not shape.gpus or not usd:
            return 1.0 if shape is None else 0.0
        if (each := self._each(_family(price.machine_type), price.region_id, bought)) is not None:
            return min(1.0, max(1 - _MOST_OF_HOST, shape.gpus * each / usd))
        vcpu, gib = self._host_rates(price.region_id, bought)
        return 1 - min(_MOST_OF_HOST, (shape.vcpus * vcpu + shape.gib * gib) / usd)

    def _shape(self, machine_type: str, region_id: str) -> _MachineShape | None:
        rows = [machine_price for machine_price in self._own if machine_price.machine_type == machine_type]
        row = next((region_row for region_row in rows if region_row.region_id == region_id), next(iter(rows), None))
        earlier_shape = self._seen.get(machine_type)
        if row is not None and row.vcpus:
            return _MachineShape(
                vcpus=row.vcpus,
                gib=row.memory_gib,
                gpus=row.gpu_count or (earlier_shape.gpus if earlier_shape else 0.0),
            )
        return earlier_shape

    def _sizes(self, region_id: str, bought: Provisioning) -> list[tuple[MachinePrice, _MachineShape, float]]:
        return [
            (row, shape, usd)
            for row in self._own
            if row.region_id == region_id
            and (usd := row.total_usd_per_hour.get(bought.value)) is not None
            and (shape := self._shape(row.machine_type, region_id)) is not None
        ]

    def _each(self, family: str, region_id: str, bought: Provisioning) -> float | None:
        """USD of one GPU an hour, from sizes of the family that differ in GPUs for what is around them; None: they don't."""
        sizes = [
            size for size in self._sizes(region_id, bought) if _family(size[0].machine_type) == family and size[1].gpus
        ]
        if len(sizes) < 2:
            return None
        ratio = VCPU_USD_PER_HOUR / GIB_USD_PER_HOUR
        # By parts of each price: else the largest machine, with its dearer disks and network, tells all.
        parts = np.array([(shape.gpus / usd, (shape.vcpus * ratio + shape.gib) / usd) for _, shape, usd in sizes])
        solution, _, rank, _ = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=1e-6)
        return float(solution[0]) if rank == 2 and min(solution) > 0 else None

    def _host_rates(self, region_id: str, bought: Provisioning) -> tuple[float, float]:
        """USD of a vCPU and of a GiB an hour."""
        hosts = [(shape, usd) for _, shape, usd in self._sizes(region_id, bought) if not shape.gpus]
        if len(hosts) >= _FEWEST_HOSTS:
            parts = np.array([(shape.vcpus, shape.gib) for shape, _ in hosts])
            solution, _, rank, _ = np.linalg.lstsq(parts, np.array([usd for _, usd in hosts]), rcond=1e-6)
            if rank == 2 and min(solution) > 0:
                return float(solution[0]), float(solution[1])
        return VCPU_USD_PER_HOUR, GIB_USD_PER_HOUR


# Machines without GPUs of lists with their sizes: their families tell what a vCPU and a GiB cost in a region.
_HOSTS: Final = frozenset({"m5", "r5", "Dsv5", "Esv5"})


def _listed(book: PriceBook, nodes: Iterable[Node]) -> Iterator[MachinePrice]:
    """Rows of other clouds' lists for the nodes' families, and for machines without GPUs, in the nodes' regions."""
    kinds = {(node_words.machine_type(node), node_words.region(node)) for node in nodes if physical_gpus(node)}
    families_by_region = defaultdict[str, set[str]](set)
    for machine_type, region in kinds:
        if f"{machine_type} {region}" not in book.machines and book.machine(machine_type, region) is not None:
            families_by_region[region] |= {_family(machine_type), *_HOSTS}
    for region, families in sorted(families_by_region.items()):
        for price_list in book.lists:
            for machine_type in price_list.machine_types:
                if _family(machine_type) in families and (row := price_list.find(machine_type, region)) is not None:
                    machine = book.machine(machine_type, region)
                    if machine is not None and (row.vcpus or (machine_type, region) in kinds):
                        yield machine


def _family(machine_type: str) -> str:
    """``g4dn`` of ``g4dn.12xlarge``; of Azure's types the letters before and after the size (``NCads_A100_v4``)."""
    if "." in machine_type:
        return machine_type.partition(".")[0]
    if machine_type.startswith("Standard_"):
        return "".join(char for char in machine_type.split("_", 1)[1].partition("_")[0] if not char.isdigit()) + (
            machine_type.split("_", 2)[2] if machine_type.count("_") > 1 else ""
        )
    return machine_type.rpartition("-")[0] or machine_type


def _shape_of(node: Node) -> _MachineShape:
    size = node.capacity or node.allocatable
    return _MachineShape(
        vcpus=size.get(CPU, 0) / 1000, gib=size.get(MEMORY, 0) / 2**30, gpus=float(physical_gpus(node) or 0)
    )
