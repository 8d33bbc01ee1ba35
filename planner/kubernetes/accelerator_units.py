"""Units of accelerator resources: GPUs, time slices, MIG slices, shares. Every sentence with such a number takes its
noun from here, so that a part of a GPU is never called a GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import NVIDIA_GPU
from planner.ground.words import listing, roughly
from planner.kubernetes.accelerators import Unit, accelerator, is_gpu_resource, is_of_extender, once, unit
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.node_properties import Sharing, hami_cards, is_virtual, mig_profile, noun_of, sharing
from planner.kubernetes.object_records import Node, Snapshot
from planner.kubernetes.requests import pod_requests


class Offer(Record):
    """A resource and how nodes offer it. `profile`: of MIG slices that stand as whole GPUs, ``1g.10gb``."""

    resource: str
    sharing: Sharing = Sharing.WHOLE
    profile: str = ""

    def noun(self, number: int, *, is_only: bool = True) -> str:
        """``GPUs``, ``time slices``, ``MIG slice 1g.10gb``; `is_only`: whole devices of no other resource are there."""
        return noun_of(self.resource, self.sharing, is_only=is_only, number=number, profile=self.profile)

    def called(self, model: str) -> str:
        """What a line about it is called: ``T4``, ``T4, time slices``; the resource where nothing tells the model."""
        if self.sharing is Sharing.WHOLE:
            return model or self.resource
        return ", ".join(filter(None, (model, self.noun(0))))


def offer(node: Node, resource: str) -> Offer:
    """How `node` offers `resource`."""
    how = sharing(node, resource)
    is_single = how is Sharing.MIG and unit(resource) is Unit.DEVICE
    return Offer(resource=resource, sharing=how, profile=mig_profile(node) if is_single else "")


def offer_unseen(resource: str) -> Offer:
    """What a resource is by its name alone, where no node offers it."""
    ways = {Unit.SLICE: Sharing.MIG, Unit.SHARE: Sharing.VGPU, Unit.CORE: Sharing.PARTS, Unit.MEMORY: Sharing.PARTS}
    return Offer(resource=resource, sharing=ways.get(unit(resource) or Unit.DEVICE, Sharing.WHOLE))


class Units(Record):
    """What some nodes offer of accelerators that pods hold a number of: how many by `Offer`, whole devices first, of those the
    commonest."""

    offered: Mapping[Offer, int]

    def is_only(self, resource: str) -> bool:
        """Whether no other resource's whole devices are called as this one's: where one is, each is told by its own name."""
        whole = {resource_offer.resource for resource_offer in self.offered if resource_offer.sharing is Sharing.WHOLE}
        return all(_noun(whole_resource) != _noun(resource) for whole_resource in whole - {resource})

    def noun(self, resource: str, number: int) -> str:
        """``GPUs``, ``time slices``; ``GPUs or time slices`` where some nodes offer it whole and others in parts."""
        ways = [gpu_offer for gpu_offer in self.offered if gpu_offer.resource == resource] or [offer_unseen(resource)]
        is_only = self.is_only(resource)
        return " or ".join(dict.fromkeys(way.noun(number, is_only=is_only) for way in ways))

    def words(self, amounts: Mapping[str, int], times: int = 1) -> str:
        """``4 GPUs``, ``3 time slices``: what so many pods that ask for `amounts` hold of accelerators; "" of none."""
        gpu_amounts = {name: amount * times for name, amount in once(amounts).items() if is_gpu_resource(name)}
        parts = [f"{amount:,} {self.noun(name, amount)}" for name, amount in gpu_amounts.items() if amount]
        return listing(parts, most=None)

    def nouns(self, resources: Iterable[str]) -> Nouns:
        """What sums of `accelerators.alike` over pods that ask for these resources are a number of."""
        names = dict.fromkeys(name for name in resources if is_gpu_resource(name))
        return either(Nouns(one=self.noun(name, 1), many=self.noun(name, 0)) for name in names)


class Nouns(Record):
    """What one is called, and several: ``time slice``, ``time slices``."""

    one: str
    many: str

    def count(self, number: int) -> str:
        """``1 time slice``, ``1,200 GPUs``."""
        return f"{number:,} {self.one if number == 1 else self.many}"


GPUS: Final = Nouns(one="GPU", many="GPUs")


def either(noun_sets: Iterable[Nouns]) -> Nouns:
    """What sums over all of `noun_sets` are a number of: ``GPUs or time slices``."""
    kinds = tuple(dict.fromkeys(noun_sets))
    if not kinds:
        return GPUS
    return Nouns(one=" or ".join(each.one for each in kinds), many=" or ".join(each.many for each in kinds))


def _noun(resource: str) -> str:
    row = accelerator(resource)
    return row.noun if row else ""


def units_among(nodes: Iterable[Node]) -> Units:
    """What these nodes offer; what a virtual kubelet says it has is no device of the cluster's."""
    amounts: Counter[Offer] = Counter()
    for node in nodes:
        if not is_virtual(node):
            for name, amount in once(node.allocatable).items():
                if is_gpu_resource(name):
                    amounts[offer(node, name)] += amount
    ranked = sorted(
        amounts.items(),
        key=lambda counted_offer: (
            list(Sharing).index(counted_offer[0].sharing),
            -counted_offer[1],
            counted_offer[0].resource,
        ),
    )
    return Units(offered=dict(ranked))


@once_a_snapshot
def units_of(snapshot: Snapshot) -> Units:
    """What the cluster's machines offer."""
    return units_among(snapshot.nodes)


# ── card by card ─────────────────────────────────────────────────────────────────────────────────────────────────────
def card_by_card(snapshot: Snapshot, resources: Collection[str]) -> tuple[str, ...]:
    """Those of `resources` that a scheduler's extender, or a scheduler of its own, counts card by card (`is_of_extender`), GPUs
    where HAMi shares them, and devices of which pods hold parts: what kube-scheduler's sums let through may find no card."""
    shared_resources = _shared_out(snapshot)
    return tuple(name for name in resources if is_of_extender(name) or name in shared_resources)


@once_a_snapshot
def parts_held(snapshot: Snapshot) -> Mapping[str, str]:
    """A resource of devices → what pods hold of parts of such devices by another name, ``100 of 400 koordinator.sh/gpu-core``:
    of unknown devices, so that as many may be less free."""
    offered = {node.name: node.allocatable for node in snapshot.nodes if any(map(_is_part, node.allocatable))}
    requested_parts: dict[tuple[str, str], int] = {}
    for pod in snapshot.pods if offered else ():
        here = offered.get(pod.node_name) if pod.holds_room else None
        requests = pod_requests(pod.spec) if here else {}
        # A pod that asks for whole devices as well is counted by these: free devices are fewer by it already.
        if here is None or any(is_gpu_resource(name) for name in requests):
            continue
        for part in filter(_is_part, requests):
            for whole in once(here):
                if is_gpu_resource(whole) and _of_whom(whole) == _of_whom(part) and here.get(part):
                    requested_parts[whole, part] = requested_parts.get((whole, part), 0) + requests[part]
    words: dict[str, list[str]] = {}
    for (whole, part), amount in requested_parts.items():
        total = sum(here.get(part, 0) for here in offered.values())
        words.setdefault(whole, []).append(f"{roughly(amount, part)} of {roughly(total, part)} {part}")
    return {whole: listing(part_texts, most=None) for whole, part_texts in words.items()}


def _is_part(resource: str) -> bool:
    return unit(resource) in (Unit.CORE, Unit.MEMORY)


def _of_whom(resource: str) -> tuple[str, str] | None:
    row = accelerator(resource)
    return None if row is None else (row.vendor, row.noun)


def is_listed(snapshot: Snapshot, resource: str) -> bool:
    """Whether a node lists `resource`: more than the nodes' sum certainly doesn't fit."""
    return resource in _listed(snapshot)


@once_a_snapshot
def _shared_out(snapshot: Snapshot) -> frozenset[str]:
    is_hami = any(count > 1 for node in snapshot.nodes for count in hami_cards(node))
    return frozenset({*parts_held(snapshot), *([NVIDIA_GPU] if is_hami else [])})


@once_a_snapshot
def _listed(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(name for node in snapshot.nodes for name in node.allocatable)
