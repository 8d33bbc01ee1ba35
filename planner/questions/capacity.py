"""The question *capacity*: total and free resources, and what still fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from planner.capacity import rollout_readiness as overviews
from planner.capacity.capacity_answer import CapacityAnswer, capacity
from planner.capacity.display_filter import Filter, Selection
from planner.capacity.free_resources_by_pool import (
    PoolLine,
    PoolOffer,
    ResourceLine,
    of,
    shape,
)
from planner.capacity.headroom import Fit, stops, where
from planner.ground.answer_layout import Column, Listing
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.words import percent, roughly, sentence, some
from planner.ground.work_budget import allowed
from planner.kubernetes.node_properties import NO_POOL
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import NOTHING, Fact, Inputs, Question, Want, column_of, fact, unit_of


class CapacitySettings(Record):
    shapes: tuple[str, ...] = setting(
        (),
        name="shape",
        form="TEXT",
        is_everyday=True,
        help="A pod shape to fit: gpu=2,cpu=8,memory=64Gi, to which pool=NAME, tolerate=all and priority=CLASS may be added; "
        "or a workload's key.",
    )
    pools: PoolSettings = settings_within(PoolSettings)
    filter: Filter = settings_within(Filter)


def narrowed(whole: CapacityAnswer, selection: Selection) -> CapacityAnswer:
    """The pools and workloads that are let through; what is free and what of it is stranded stays the whole cluster's."""
    if selection.is_all:
        return whole
    own = tuple(workload for workload in whole.workloads if selection.workload(workload.shape))
    return replace(
        whole,
        sentence=selection.beside(sentence(whole.sentence), len(own), len(whole.workloads), "workload"),
        pools=tuple(line for line in whole.pools if selection.pool(line.pool.name or NO_POOL)),
        workloads=own,
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
@allowed()
def answer(snapshot: Snapshot, settings: CapacitySettings, given: Inputs = NOTHING) -> CapacityAnswer:
    """`capacity`, with the shapes that were asked for.

    Raises
    ------
    InputError
        When a text isn't a shape.
    """
    typed = tuple(shape(snapshot, text) for text in settings.shapes if not snapshot.lacks(POD.name))
    whole = replace(capacity(snapshot, settings.pools.known(given)), shapes=typed)
    return narrowed(whole, overviews.filtered(snapshot, settings.filter, settings.pools.known(given)))


def facts(answer: CapacityAnswer) -> Iterator[Fact]:
    """Each pool, and what of the free GPUs no pod of a size can use."""
    for place in answer.pools:
        yield fact("pool_nodes", place.pool.node_count, "nodes", node_pool=place.pool.name)
        yield fact("pool_room", place.room, "nodes", node_pool=place.pool.name)
        for name, amount in place.allocatable.items():
            labels = {"node_pool": place.pool.name, "resource": name}
            yield fact("pool_allocatable", amount, unit_of(name), **labels)
            yield fact("pool_requested", of(place.requested, name), unit_of(name), **labels)
    for size in answer.fragments.sizes[1:] if answer.fragments else ():
        yield fact("gpus_stranded", size.stranded, unit_of(answer.resource), pods_of=size.gpus)


def _fits(answer: CapacityAnswer) -> list[Fit]:
    return [*answer.shapes, *answer.standard, *answer.workloads]


def _number(fit: Fit) -> str:
    return "?" if fit.unknown else f"{fit.count:,}{'+' if fit.is_at_least else ''}"


def fit_columns(fits: Sequence[Fit]) -> tuple[Column[Fit], ...]:
    """What is shown of any shapes: what they ask for has a column a resource."""
    resource_names = sorted({name for fit in fits for name in fit.requests})
    return (
        Column("shape", label="shape"),
        *(Column(column_of("asks", name), partial(_asked_of, name), heading=None) for name in resource_names),
        Column("fits", lambda fit: fit.known_count, heading="more fit", words=_number, metric="fits", unit="pods"),
        Column("at_least", lambda fit: fit.is_at_least, heading=None),
        Column("by_preempting", heading=None),
        Column("on_nodes", heading=None),
        Column("quota_lets_in", lambda fit: fit.quota_limit, heading=None),
        Column("stops", lambda fit: fit.unknown or "; ".join(map(str, fit.obstacles)), heading="what stops the next",
            words=lambda fit: f"not known: {fit.unknown}" if fit.unknown else stops(fit.obstacles),
        ),
        Column("where", lambda fit: "; ".join(f"{pool or 'no pool'} {zone}: {number}" for pool, zone, number in fit.by_place),
            words=lambda fit: "" if fit.unknown else where(fit),
        ),
    )  # fmt: skip


def _asked_of(name: str, fit: Fit) -> int | None:
    return fit.requests.get(name)


def _amount(name: str, of: str, heading: str = "") -> Column[ResourceLine]:
    """An amount of a resource; of what is out of use none is left out."""

    def words(line: ResourceLine) -> str | None:
        amount = getattr(line, of)
        is_none = amount == 0 and of == "free_cordoned"
        return None if amount is None else "" if is_none else roughly(amount, line.resource)

    unit: Callable[[ResourceLine], str] = lambda line: unit_of(line.resource)  # noqa: E731
    return Column(
        name, lambda line: getattr(line, of), heading=heading, words=words, metric=f"resource_{of}", unit=unit
    )


def _stranded(answer: CapacityAnswer) -> list[str]:
    """``pods of 4: 0 of 1 usable (stranded: 1 taint)``."""
    return [
        f"pods of {size.gpus}: {size.free - size.stranded} of {size.free} usable"
        + (
            f" (stranded: {', '.join(f'{gpus} {reason}' for reason, gpus, _ in size.by_reason)})"
            if size.by_reason
            else ""
        )
        for size in (answer.fragments.sizes[1:] if answer.fragments else ())
    ]


_SHAPES: Final[Listing[CapacityAnswer, Fit]] = Listing(
    name="shapes",
    line=lambda fit: f"{fit.shape}: {fit.sentence}" + (f"\nkube-scheduler: {fit.message}" if fit.message else ""),
)
_FITS: Final[Listing[CapacityAnswer, Fit]] = Listing(
    name="fits",
    title="what fits",
    items=_fits,
    columns=lambda answer: fit_columns(_fits(answer)),
    note=lambda answer: f"Standard shapes: {answer.standard_basis}." if answer.standard_basis else "",
)
_RESOURCES: Final[Listing[CapacityAnswer, ResourceLine]] = Listing(
    name="resources",
    title="resources, as bound pods request them",
    columns=(
        Column("resource", label="resource"),
        Column("unit", lambda line: unit_of(line.resource), heading=None),
        _amount("allocatable", "allocatable"),
        _amount("requested", "requested"),
        _amount("free", "free"),
        _amount("free_cordoned", "free_cordoned", "out of use"),
        _amount("pending", "pending", "wanted"),
        Column("held", lambda line: percent(line.requested, line.allocatable), heading="held %", is_said_only=True),
    ),
    empty="No nodes in this snapshot.",
)
_POOLS: Final[Listing[CapacityAnswer, tuple[PoolLine, PoolOffer | None]]] = Listing(
    name="pools",
    title="node pools",
    items=lambda answer: [(line, offer) for line in answer.pools for offer in line.offers or (None,)],
    columns=(
        Column("node_pool", lambda of: of[0].pool.name, heading="pool"),
        Column("nodes", lambda of: of[0].pool.node_count),
        Column("machine_types", lambda of: ", ".join(of[0].pool.machine_types), heading="machine"),
        Column("gpu_model", lambda of: of[0].pool.accelerator, heading="GPU"),
        Column("gpu_label", lambda of: ", ".join(of[0].pool.gpu_labels), heading=None),
        Column("offered_as", lambda of: of[1].noun if of[1] else ""),
        Column("gpus", lambda of: of[1].allocatable if of[1] else 0, heading="offered"),
        Column("gpus_free", lambda of: of[1].free if of[1] else 0, heading="free"),
        Column("gpus_out_of_use", lambda of: of[1].out_of_use if of[1] else 0, heading="out of use",
            words=lambda of: some(of[1].out_of_use) if of[1] else "",
        ),
        Column("bought", lambda of: ", ".join(of[0].pool.provisioning)),
        Column("limits", lambda of: of[0].pool.limit_text),
        Column("may_grow_by", lambda of: of[0].room, words=lambda of: "not known" if of[0].room is None else f"{of[0].room:,}"),
    ),
)  # fmt: skip
_STRANDED: Final[Listing[CapacityAnswer, str]] = Listing(
    name="stranded", title="free GPUs", items=_stranded, line=str,
    note=lambda answer: sentence(answer.fragments.sentence) if answer.fragments else "",
)  # fmt: skip

QUESTION: Final = Question(
    name="capacity",
    settings=CapacitySettings,
    answer=answer,
    facts=facts,
    listings=(_SHAPES, _FITS, _STRANDED, _RESOURCES, _POOLS),
    notes=lambda answer: [f"{finding.severity.value}: {finding.what}. {finding.fix}" for finding in answer.findings],
    about="""What is left of the cluster, and what still fits.

    Counts are those of the real scheduler's rules: pods of a shape are placed until the first doesn't fit.
    """,
    wants=(Want.POOLS,),
    hangs_on=(NODE.name,),
    parts_hang_on=(POD.name,),
    lists=tuple(kind.name for kind in ROLLING),
)
