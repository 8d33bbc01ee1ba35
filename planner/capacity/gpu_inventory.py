"""The GPUs of a cluster in a table and a sentence: whole GPUs, slices, time-shares and DRA devices, each apart.

Every answer that tells how many GPUs there are, are held or are free takes them from here. Nothing is added that isn't alike: a
quarter of a card's time is no GPU, and two of them are none either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from planner.capacity.shared_gpus import gpu_supply
from planner.ground.records import Record, replace
from planner.ground.well_known_names import NVIDIA_GPU
from planner.ground.words import count, listing, plural
from planner.kubernetes.accelerator_units import Offer, Units, parts_held
from planner.kubernetes.accelerators import COUNTED, Unit, accelerator, is_gpu_resource, once, same_as, unit
from planner.kubernetes.derived import Same
from planner.kubernetes.node_properties import CORDONED, NOT_READY, PART, TAINTS_OUT_OF_USE, Sharing, noun_of, unoffered
from planner.kubernetes.object_records import PodSpec, Toleration
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import NODE, POD
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import gpu_models
from planner.scheduling.shape import Alike, alike, compile_shape

OUT_OF_USE: Final = f"out of use, on {CORDONED} or {NOT_READY} nodes"  # what no pod holds there


class GpuModelLine(Record):
    """GPUs of one model that are offered in one way: requested counts bound pods only.

    `physical`: GPUs in the machines, None where no label tells. The other numbers are of what is offered: GPUs, slices, shares;
    None where the pods, which hold or want them, weren't seen.
    """

    model: str
    resource: str
    node_count: int
    allocatable: int
    requested: int | None
    free: int | None  # on each node that takes new pods what isn't held there
    pending: int | None  # asked for by pods that wait
    overcommitted: int | None = 0  # held beyond what the nodes have
    out_of_use: int | None = 0  # not held either, on nodes that are cordoned or not Ready
    sharing: Sharing = Sharing.WHOLE
    physical: int | None = None
    profile: str = ""  # of MIG slices that stand as whole GPUs: ``1g.10gb``
    labels: tuple[str, ...] = ()  # what the nodes' own labels call the model, where that is another word
    unoffered: int = (
        0  # that the nodes have besides and no pod can use: the device plugin is away, or they are unhealthy
    )
    unoffered_on: tuple[str, ...] = ()  # names of those nodes
    parts_held: str = (
        ""  # what pods hold of parts of such devices, of unknown ones: ``100 of 400 koordinator.sh/gpu-core``
    )

    @property
    def name(self) -> str:
        """``T4``, ``T4, time slices``, ``A100, MIG slices 1g.5gb``; the resource where no label names the model. Pods that
        wait and may go to several, or to none, ask for any."""
        if not (self.model or self.node_count) and self.resource == NVIDIA_GPU:
            return "any GPU"
        return Offer(resource=self.resource, sharing=self.sharing, profile=self.profile).called(self.model)


def gpu_lines(cluster: Cluster) -> tuple[GpuModelLine, ...]:
    """GPUs by model, resource and way of sharing: allocatable, requested by bound pods, free, and asked for by pods that wait;
    none where the nodes, which have them, weren't seen."""
    if_known = cluster.snapshot.if_known
    if not if_known(True, NODE.name):
        return ()
    waiting: Counter[tuple[str, str]] = Counter()
    for i in cluster.waiting:
        for name, amount in once(pod_requests(cluster.snapshot.pods[i].spec)).items():
            if is_gpu_resource(name):
                waiting[_wanted_model(cluster, i), _called(cluster, name)] += amount
    lines = []
    for supply in gpu_supply(cluster):
        if supply.sharing is Sharing.DEVICES and accelerator(supply.resource) is None:
            continue
        lines.append(
            GpuModelLine(
                model=supply.model, resource=supply.resource, node_count=supply.nodes, allocatable=supply.offered, requested=supply.requested,
                free=supply.free, pending=if_known(waiting.pop((supply.model, supply.resource), 0), POD.name), overcommitted=supply.overcommitted,
                out_of_use=supply.out_of_use, sharing=supply.sharing, physical=supply.physical, profile=supply.profile,
                labels=supply.labels, parts_held=parts_held(cluster.snapshot).get(supply.resource, ""),
            )
        )  # fmt: skip
    for (model, name), amount in waiting.items():
        lines.append(
            GpuModelLine(model=model, resource=name, node_count=0, allocatable=0, requested=0, free=0, pending=amount)
        )
    lines = _with_unoffered(cluster, lines)
    return tuple(sorted(lines, key=lambda line: (line.model, line.resource, line.sharing, line.profile)))


def _with_unoffered(cluster: Cluster, lines: Sequence[GpuModelLine]) -> list[GpuModelLine]:
    """The lines with devices that no pod can use (`planner.kubernetes.node_properties.unoffered`), each beside its like that is offered, where there
    is any."""
    nodes_by_model: dict[tuple[str, str], dict[str, int]] = {}
    for node, model in zip(cluster.nodes, gpu_models(cluster), strict=True):
        for name, amount in unoffered(node).items():
            nodes_by_model.setdefault((model, _called(cluster, name)), {})[node.name] = amount
    model_lines = list(lines)
    for (model, resource), nodes in nodes_by_model.items():
        number, names = sum(nodes.values()), tuple(sorted(nodes))
        place = next(
            (
                i
                for i, model_line in enumerate(model_lines)
                if (model_line.model, model_line.resource) == (model, resource)
            ),
            None,
        )
        if place is None:
            waiting = next(
                (
                    i
                    for i, model_line in enumerate(model_lines)
                    if (model_line.model, model_line.resource) == ("", resource) and not model_line.node_count
                ),
                None,
            )
            # Pending pods of a resource that no node offers have a line without a model: merged, or it is listed twice.
            pending = model_lines.pop(waiting).pending if waiting is not None else 0
            line = GpuModelLine(
                model=model,
                resource=resource,
                node_count=len(nodes),
                allocatable=0,
                requested=0,
                free=0,
                pending=pending,
            )
            model_lines.append(replace(line, unoffered=number, unoffered_on=names))
        else:
            model_lines[place] = replace(model_lines[place], unoffered=number, unoffered_on=names)
    return model_lines


def unoffered_words(lines: Iterable[GpuModelLine]) -> str:
    """``1 A10G on g5-1 can't be used: its device plugin is away, or it is unhealthy``; "" where all is offered."""
    parts = [
        f"{count(line.unoffered, line.model or line.resource)} on {listing(list(line.unoffered_on))}"
        for line in lines
        if line.unoffered
    ]
    number = sum(line.unoffered for line in lines)
    state = plural(
        number, "its device plugin is away, or it is unhealthy", "the device plugin is away, or they are unhealthy"
    )
    return f"{listing(parts, most=len(parts))} can't be used: {state}" if parts else ""


def _called(cluster: Cluster, name: str) -> str:
    """The name that the same devices are counted under."""
    first = same_as(name)
    return first if first in cluster.row else name


class Supply(Record):
    """What is offered in one way, over all models.

    `noun`, in the plural: ``GPUs`` where it is the only resource of devices so called, ``time slices``. `cards`: the GPUs that
    slices and shares are of, ``1 T4``; "" where nothing tells it.
    """

    resource: str
    sharing: Sharing
    profile: str
    noun: str
    cards: str
    allocatable: int
    free: int | None
    overcommitted: int | None
    pending: int | None
    out_of_use: int | None
    parts_held: str = ""

    @property
    def is_whole(self) -> bool:
        return self.sharing is Sharing.WHOLE

    @property
    def offer(self) -> Offer:
        return Offer(resource=self.resource, sharing=self.sharing, profile=self.profile)

    def noun_for(self, number: int) -> str:
        """`noun` in the number's form."""
        return self.offer.noun(number, is_only=self.noun != self.resource)


def supplies_of(lines: Sequence[GpuModelLine]) -> tuple[Supply, ...]:
    """What there is by resource and way of sharing, devices first: devices, slices and shares are never added, nor is one
    vendor's to another's."""
    by: dict[tuple[str, Sharing, str], list[GpuModelLine]] = {}
    for line in lines:
        if line.allocatable:
            by.setdefault((line.resource, line.sharing, line.profile), []).append(line)
    ways, units = list(Sharing), {of: place for place, of in enumerate(COUNTED)}

    def rank(key: tuple[str, Sharing, str]) -> tuple[int, int, int]:
        of = units.get(unit(key[0]) or Unit.DEVICE, len(units))
        return ways.index(key[1]), of, -sum(gpu_model_line.allocatable for gpu_model_line in by[key])

    offered_units = Units(offered={Offer(resource=name, sharing=how, profile=profile): 0 for name, how, profile in by})
    pending = Counter[str]()  # wanted of a resource, of no model that there is
    for line in lines:
        pending[line.resource] += 0 if line.allocatable else line.pending or 0
    totals = []
    for key in sorted(by, key=rank):
        resource, how, profile = key
        supply_lines = by[key]
        totals.append(
            Supply(
                resource=resource,
                sharing=how,
                profile=profile,
                noun=noun_of(resource, how, is_only=offered_units.is_only(resource), profile=profile),
                cards=_cards(supply_lines),
                allocatable=sum(line.allocatable for line in supply_lines),
                free=known_sum(line.free for line in supply_lines),
                overcommitted=known_sum(line.overcommitted for line in supply_lines),
                pending=known_sum((*(line.pending for line in supply_lines), pending.pop(resource, 0))),
                out_of_use=known_sum(line.out_of_use for line in supply_lines),
                parts_held=supply_lines[0].parts_held,
            )
        )
    return tuple(totals)


def known_sum(numbers: Iterable[int | None]) -> int | None:
    """The sum of the amounts; None where one isn't known."""
    known_numbers = list(numbers)
    return None if None in known_numbers else sum(filter(None, known_numbers))


def _cards(model_lines: Sequence[GpuModelLine]) -> str:
    """``1 T4``, ``3 GPUs``: the physical ones; their model alone where it is not known how many."""
    models = {line.model for line in model_lines}
    model = models.pop() if len(models) == 1 else ""
    if any(line.physical is None for line in model_lines):
        return model
    number = sum(line.physical or 0 for line in model_lines)
    return (f"{number:,} {model}" if model else count(number, "GPU")) if number else model


def free_words(supplies: Sequence[Supply]) -> str:
    """``2,221 of 6,212 GPUs are free (8 more are out of use, on cordoned or not Ready nodes)``; what is no whole GPU by itself:
    ``1 T4, offered as 4 time slices: 3 time slices free``; and what is asked for beyond what there is. Where pods weren't seen what
    there is: ``6,212 GPUs in all; how many are free is not known``."""
    if any(supply.free is None for supply in supplies):
        offered = listing([_offered(supply) for supply in supplies], most=len(supplies))
        return f"{offered} in all; how many are free is not known"
    plain = [supply for supply in supplies if supply.is_whole or supply.sharing is Sharing.PARTS]
    parts = [
        f"{supply.free or 0:,} of {supply.allocatable:,} {supply.noun_for(supply.allocatable)}" for supply in plain
    ]
    is_single = len(plain) == 1 and 1 in (
        plain[0].free,
        plain[0].allocatable,
    )  # grammar: "1 of 4 GPUs is free", "0 of 1 GPU is free", "2 of 4 GPUs are free"
    verb = "is" if is_single else "are"
    shut = [
        f"{supply.out_of_use:,} more{f' {supply.noun}' if len(plain) > 1 else ''}"
        for supply in plain
        if supply.out_of_use
    ]
    is_one = known_sum(supply.out_of_use for supply in plain) == 1
    aside = f" ({listing(shut, most=len(shut))} {'is' if is_one else 'are'} {OUT_OF_USE})" if shut else ""
    clauses = [f"{listing(parts, most=len(parts))} {verb} free{aside}"] if plain else []
    clauses += [_shared(supply) for supply in supplies if supply not in plain]
    clauses += [
        f"pods hold parts of {supply.noun} too, {supply.parts_held}: fewer may be free"
        for supply in supplies
        if supply.parts_held
    ]
    return "; ".join(
        [
            *clauses,
            *(
                f"{supply.noun} are overcommitted by {supply.overcommitted:,}"
                for supply in supplies
                if supply.overcommitted
            ),
        ]
    )


def _offered(supply: Supply) -> str:
    """``6,212 GPUs``, ``1 T4, offered as 4 time slices``."""
    is_plain = supply.is_whole or supply.sharing is Sharing.PARTS
    noun = (
        supply.noun
        if is_plain
        else noun_of(supply.resource, supply.sharing, number=supply.allocatable, profile=supply.profile)
    )
    offered = f"{supply.allocatable:,} {noun}"
    return f"{supply.cards}, offered as {offered}" if supply.cards and not is_plain else offered


def _shared(supply: Supply) -> str:
    """``1 T4, offered as 4 time slices: 3 time slices free``."""
    free = supply.free or 0
    shut = f", {supply.out_of_use:,} more {OUT_OF_USE}" if supply.out_of_use else ""
    return f"{_offered(supply)}: {free:,} {plural(free, PART[supply.sharing].split()[-1])} free{shut}"


def _wanted_model(cluster: Cluster, pod_index: int) -> str:
    """The GPU model a waiting pod could go to; "" when it is several or none."""
    pod = cluster.snapshot.pods[pod_index]
    spec = cluster.remember(_whatever_is_out_of_use, Same(pod.spec))
    return cluster.remember(_model_for, alike(cluster, compile_shape(cluster, pod.namespace, pod.labels, spec)))


def _whatever_is_out_of_use(_: Cluster, of: Same[PodSpec]) -> PodSpec:
    """The spec as if every node were in use: a pod waits for the same GPUs, whether their nodes are cordoned or not."""
    more = tuple(Toleration(key=key, operator="Exists") for key in sorted(TAINTS_OUT_OF_USE))
    return replace(of.value, tolerations=(*of.value.tolerations, *more))


def _model_for(cluster: Cluster, kind: Alike) -> str:
    shape = kind.shape
    rows = [row for row, _ in shape.asks if is_gpu_resource(cluster.resources[row])]
    models = {
        gpu_models(cluster)[n]
        for n in np.flatnonzero(shape.static == 0).tolist()
        if any(cluster.allocatable[row, n] for row in rows)
    }
    return models.pop() if len(models) == 1 else ""


class GpuFigure(Record):
    """A number of one resource of GPUs today and then; `field` of `Supply`, and what people call it."""

    noun: str
    resource: str
    field: str
    called: str
    today: int
    then: int

    @property
    def name(self) -> str:
        return self.noun if self.field == "allocatable" else f"{self.noun} {self.called}"


_GPU_FIGURES: Final = {"allocatable": "in all", "free": "free", "out_of_use": "out of use", "pending": "wanted"}


def gpu_figures(*sides: Sequence[GpuModelLine]) -> Iterator[GpuFigure]:
    """GPUs in all, free, wanted, and out of use where some are: each resource of either side by itself."""
    today, then = (
        {(supply.resource, supply.sharing, supply.profile): supply for supply in supplies_of(side)} for side in sides
    )
    for key, resource_supply in {**then, **today}.items():
        for field, called in _GPU_FIGURES.items():
            now, later = (getattr(side.get(key), field, 0) for side in (today, then))
            if now or later or field != "out_of_use":
                yield GpuFigure(
                    noun=resource_supply.noun,
                    resource=resource_supply.resource,
                    field=field,
                    called=called,
                    today=now,
                    then=later,
                )
