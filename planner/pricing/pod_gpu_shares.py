"""The share of a node's GPUs that a pod holds, by size: a MIG slice by compute slices, a vGPU by the larger of cores
and memory, a shared GPU in equal parts.

A bill that counted slices of two sizes alike let ``3g.20gb`` bear half of what two ``1g.5gb`` bear (OpenCost #3828, HAMi #3073).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from planner.ground.well_known_names import HAMI_CORES, HAMI_MEMORY, HAMI_MEMORY_PERCENT, NVIDIA_GPU, NVIDIA_MIG_PREFIX
from planner.kubernetes.accelerators import Unit, is_gpu_resource, once, unit
from planner.kubernetes.node_properties import hami_cards, hami_memory_mib, physical_gpus
from planner.kubernetes.object_records import Amounts, FrozenMap, Node, PodSpec
from planner.kubernetes.requests import pod_requests

GPU_BILLIONTHS: Final = "billionths of the node's GPUs"  # no resource can be called so
_WHOLE: Final = 1_000_000_000
_MIG_SLICES: Final = re.compile(r"(?:\d+c\.)?(\d+)g\.")
_SLICES_A_CARD: Final = 7  # where it is not known how many cards the slices are of (A100, H100, H200, B200)
_EACH: Final = ("volcano.sh/vgpu-",)  # what is asked beside a number of vGPUs is of each


def amounts_on(node: Node, spec: PodSpec) -> Amounts:
    """What a pod requests; on a node whose GPUs are shared by size also its part of them (`GPU_BILLIONTHS`), which no sum over
    containers tells: of each the larger of cores and memory counts."""
    requests = pod_requests(spec)
    if not is_by_size(node):
        return requests
    containers = (*spec.containers, *spec.sidecars)
    part = sum(_part(node, container.requests) for container in containers)
    return FrozenMap({**requests, GPU_BILLIONTHS: round(_WHOLE * part)}) if part else requests


def gpu_parts(node: Node, requests: Iterable[Amounts]) -> tuple[float, list[float]]:
    """What of the node's GPUs can be requested, and what each of `requests` (`amounts_on`) holds of it, in one unit. Amounts that
    weren't taken apart by container count as one container's."""
    if is_by_size(node):
        return float(_WHOLE), [
            float(amounts.get(GPU_BILLIONTHS, 0) or _WHOLE * _part(node, amounts)) for amounts in requests
        ]
    sizes = _sizes(node)
    total_parts = sum(node.allocatable.get(name, 0) * size for name, size in sizes.items())
    return total_parts, [sum(amounts.get(name, 0) * size for name, size in sizes.items()) for amounts in requests]


def _sizes(node: Node) -> dict[str, float]:
    """Resource → how much of a GPU one of it is, against the others of the node. Whole devices beside MIG slices are as large as
    all slices of a card."""
    names = [name for name in once(node.allocatable) if is_gpu_resource(name)]
    slices = {name: int(profile[1]) for name in names if (profile := _mig(name)) is not None}
    if not slices:
        return dict.fromkeys(names, 1.0)
    whole = sum(node.allocatable[name] for name in names if name not in slices)
    cut_cards = (physical_gpus(node) or 0) - whole
    cut = sum(node.allocatable[name] * size for name, size in slices.items())
    # not always seven: an A30 is cut into four, and a layout may leave a part of the card unused
    card = cut / cut_cards if cut_cards > 0 else _SLICES_A_CARD
    return {name: float(slices.get(name, card)) for name in names}


def _mig(resource: str) -> re.Match[str] | None:
    """``3`` of ``nvidia.com/mig-3g.20gb``: its compute slices (NVIDIA's MIG user guide, "GPU Instance Profiles")."""
    is_mig = resource.startswith(NVIDIA_MIG_PREFIX)
    return _MIG_SLICES.match(resource.removeprefix(NVIDIA_MIG_PREFIX)) if is_mig else None


def is_by_size(node: Node) -> bool:
    """Whether pods hold amounts of the node's GPUs beside, or in place of, a number of shares."""
    return _is_hami(node) or any(node.allocatable[name] for name in _part_names(node))


def _is_hami(node: Node) -> bool:
    return any(count > 1 for count in hami_cards(node))


def _part_names(node: Node) -> list[str]:
    """Amounts of cores and memory that the node lists."""
    return [name for name in node.allocatable if unit(name) in (Unit.CORE, Unit.MEMORY)]


def _part(node: Node, requests: Amounts) -> float:
    """What a container that asks for so much holds of all the node's GPUs."""
    if _is_hami(node):
        return _hami_part(node, requests)
    named = [name for name in _part_names(node) if requests.get(name)]
    shares = [name for name in once(node.allocatable) if is_gpu_resource(name) and requests.get(name)]
    if not named:  # whole cards, or shares of which nothing says a size
        return sum(requests[name] / node.allocatable[name] for name in shares)
    # Volcano's memory and cores are of each vGPU asked for; the others' are of the whole request.
    times = sum(requests[name] for name in shares) if named[0].startswith(_EACH) and shares else 1
    return max(requests[name] / node.allocatable[name] for name in named if node.allocatable[name]) * times


def _hami_part(node: Node, requests: Amounts) -> float:
    """Of all cards. A vGPU without an amount of memory takes all of its card's; one without cores as many as it likes.

    Source: Project-HAMi `pkg/device/nvidia/device.go` `GenerateResourceRequests` (memory percentage 100 where neither is asked).
    """
    number = requests.get(NVIDIA_GPU, 0)
    if not number:
        return 0.0
    memory = requests.get(HAMI_MEMORY_PERCENT, 0) / 100
    if not memory and (mib := requests.get(HAMI_MEMORY, 0)):
        card = hami_memory_mib(node)
        memory = mib / card if card else 1 / max(hami_cards(node))  # a snapshot of before its MiB were kept: one share
    elif not memory:
        memory = 1.0
    return number * min(1.0, max(memory, requests.get(HAMI_CORES, 0) / 100)) / len(hami_cards(node))
