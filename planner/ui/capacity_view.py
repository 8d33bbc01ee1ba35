"""The Headroom page's capacity sections, and what a what-if shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import streamlit as st

from planner import words
from planner.capacity.drain import DrainResult
from planner.capacity.fragmentation import Fragments
from planner.capacity.headroom import Fit
from planner.figures import capacity_pools, capacity_stranded
from planner.inventory.pool_limits import UpgradeSettings, UpgradeStrategy
from planner.kubernetes.records import Snapshot
from planner.questions import capacity
from planner.questions.capacity import CapacityAnswer, CapacitySettings
from planner.questions.filters import ALL, Kept
from planner.questions.overview import supplies_of
from planner.questions.what_if import WhatIfAnswer
from planner.ui import charts, downloads, errors, findings, link, opening, tables, verdict
from planner.vocabulary import CPU, MEMORY

_SHOWN_HELD = 20  # pods held back that are told one by one
_UNITS = {CPU: (1000.0, "CPU"), MEMORY: (2.0**30, "GiB")}


# ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def sentence(answer: CapacityAnswer, kept: Kept = ALL) -> None:
    """The honest measure first: what of the free GPUs takes a pod; of the whole cluster, whatever is listed below."""
    whole = "" if kept.is_all else "Whole cluster: "
    st.info(words.literal(whole + words.sentence(answer.sentence)), icon=":material/event_seat:")
    findings.show(answer.findings)


@errors.part
def pools(answer: CapacityAnswer) -> None:
    """Pools as bars of one resource, and all of them as a table."""
    resource = answer.fragments.resource
    names = [resource, CPU, MEMORY] if any(line.allocatable.get(resource) for line in answer.pools) else [CPU, MEMORY]
    chosen = link.segments("Resource", names, key="resource")
    divisor, unit = _UNITS.get(chosen, (1.0, "GPUs"))
    charts.show(
        capacity_pools.figure(answer.pools, chosen, divisor=divisor, unit=unit), key="pool_bars",
        alt=capacity_pools.alt(answer.pools, chosen, divisor=divisor, unit=unit),
    )  # fmt: skip
    if (hidden := len(answer.pools) - capacity_pools.MOST_POOLS) > 0:
        st.caption(f"The {capacity_pools.MOST_POOLS} largest are drawn; {hidden:,} more are in the table.")
    rows, facts = [], []
    for line in answer.pools:
        pool = line.pool
        total, held = line.allocatable.get(resource, 0), line.requested.get(resource, 0)
        rows.append(
            {
                "pool": pool.name,
                "nodes": pool.node_count,
                "GPUs": total or None,
                "GPUs held": _share(held, total),
                "GPUs free": total - held if total else None,
                "CPU held": _share(line.requested.get(CPU, 0), line.allocatable.get(CPU, 0)),
                "memory held": _share(line.requested.get(MEMORY, 0), line.allocatable.get(MEMORY, 0)),
                "may grow by": "unknown" if line.room is None else str(line.room),
            }
        )
        facts.append(
            {
                "pool": pool.name,
                "model": pool.accelerator or "none",
                "machine": ", ".join(pool.machine_types) or "unknown",
                "bought": ", ".join(pool.provisioning) or "unknown",
                "limits": pool.limit_text,
                "zones": ", ".join(f"{zone or 'no zone'} ({number})" for zone, number in pool.zones),
                "taints": ", ".join(f"{taint.key}:{taint.effect}" for taint in pool.taints) or "none",
                "upgrade": _upgrade(line.pool.upgrade),
                "reservation": pool.reservation or "none known",
            }
        )
    bar = st.column_config.ProgressColumn(min_value=0, max_value=100, format="%d %%")
    tables.show(
        rows, alt=f"{words.count(len(rows), 'node pool')} with what is held and free",
        columns={"GPUs held": bar, "CPU held": bar, "memory held": bar}, empty="No nodes in this snapshot.",
    )  # fmt: skip
    with link.expander("Machines, limits, zones, taints", key="pool_facts", icon=":material/dns:") as is_open:
        if is_open:
            tables.show(facts, alt="Each node pool's machines, limits, zones, taints and upgrades", empty="No nodes.")


def _share(part: int, whole: int) -> int | None:
    """In percent."""
    return round(100 * part / whole) if whole else None


def _upgrade(settings: UpgradeSettings | None) -> str:
    if settings is None:
        return "unknown"
    if settings.strategy is UpgradeStrategy.BLUE_GREEN:
        return "blue-green"
    return f"maxSurge {settings.max_surge}, maxUnavailable {settings.max_unavailable}"


@errors.part
def one_shape(found: Fit) -> None:
    """A typed shape: number, reason, where."""
    box = st.success if found.count else st.error
    glyph = "✓" if found.count else "✗"
    box(words.literal(words.sentence(found.sentence)), title=f"{glyph} {words.literal(found.shape)}")
    if found.message:
        st.caption("What kube-scheduler would say of the next one")
        st.code(str(found.message), language=None, wrap_lines=True)
    rows = [{"pool": pool or "no pool", "zone": zone or "no zone", "pods": n} for pool, zone, n in found.by_place]
    if rows:
        tables.show(rows, alt=f"Where {found.count:,} more of {found.shape} go")


@errors.part
def what_fits(answer: CapacityAnswer) -> None:
    """Every shape: how many more, what stops the next one, where they would go."""
    st.caption(
        f"Standard shapes: 1, 2, 4 and 8 GPUs with {words.literal(answer.standard_basis)}; each shape by itself."
    )
    has_quota = any(one.quota_limit is not None for one in (*answer.standard, *answer.workloads))
    shown = _alike((*answer.standard, *answer.workloads))
    rows = [
        {
            "shape": names,
            "more fit": f"{one.count:,}{'+' if one.is_at_least else ''}" + (" ✗" if not one.count else ""),
            "what stops the next": "; ".join(map(str, one.obstacles[:3])),
            "where": ", ".join(f"{pool or 'no pool'} {zone} ({n:,})" for pool, zone, n in one.by_place[:4]),
            "asks for": ", ".join(f"{words.roughly(n, name)} {name}" for name, n in one.requests.items()) or "nothing",
            **({"quota lets in": one.quota_limit} if has_quota else {}),
        }
        for names, one in shown
    ]
    fitting = sum(bool(one.count) for one in answer.workloads)
    tables.show(
        rows, alt=f"One more pod fits of {fitting} of {len(answer.workloads)} workloads", empty="No workload.",
        opens=[opening.rollout(one.shape) for _, one in shown], key="what_fits",
    )  # fmt: skip
    st.caption(f"{opening.SELECT} Standard shapes have none.")


def _alike(fits: Sequence[Fit]) -> list[tuple[str, Fit]]:
    """Shapes with the same answer in one row, under the first one's name."""
    groups: dict[object, list[Fit]] = {}
    for one in fits:
        groups.setdefault((one.requests, one.count, one.obstacles, one.quota_limit), []).append(one)
    return [(_first_of([one.shape for one in group]), group[0]) for group in groups.values()]


def _first_of(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1:,} alike" if len(names) > 1 else "")


@errors.part
def stranded(found: Fragments) -> None:
    """Free GPUs that serve no pod of a size: why, and where."""
    st.caption(
        f"{words.literal(words.sentence(found.sentence))} The mix: the pods of this cluster that ask for GPUs, waiting ones "
        "included. Fragmentation as in Weng et al., USENIX ATC 2023."
    )
    if not found.free:
        return
    charts.show(capacity_stranded.figure(found.sizes), key="stranded", alt=capacity_stranded.alt(found.sizes))
    names = {("any pod" if size.gpus == 0 else f"pods of {size.gpus}"): size for size in found.sizes}
    size = names[link.segments("Of no use to", list(names), key="size", default=list(names)[-1])]
    rows = [
        {
            "node": one.node,
            "of no use": f"{one.stranded} of {one.free} free",
            "why": one.sentence,
            "pool": one.node_pool,
            "model": one.model,
        }
        for one in size.nodes
    ]
    tables.show(
        rows, alt=f"{size.stranded:,} of {size.free:,} free GPUs are of no use to such pods",
        empty="Every free GPU serves such a pod.",
    )  # fmt: skip


@errors.part
def resources(answer: CapacityAnswer) -> None:
    """The whole cluster's resources, and GPUs by model with what is shared."""
    rows = [
        {
            "resource": line.resource,
            "allocatable": words.roughly(line.allocatable, line.resource),
            "requested": words.roughly(line.requested, line.resource),
            "free": words.roughly(line.free, line.resource),
            "held": _share(line.requested, line.allocatable),
            "free but cordoned": words.roughly(line.free_cordoned, line.resource),
            "wanted": words.roughly(line.pending, line.resource),
        }
        for line in answer.resources
    ]  # fmt: skip
    bar = st.column_config.ProgressColumn(min_value=0, max_value=100, format="%d %%")
    tables.show(rows, alt="Resources of the whole cluster", columns={"held": bar}, empty="No nodes in this snapshot.")
    supply = [
        {
            "GPU model": one.model or "unknown",
            "offered as": str(one.sharing),
            "resource": one.resource,
            "nodes": one.nodes,
            "physical GPUs": one.physical,
            "offered": one.offered,
            "requested": one.requested,
            "free": one.free,
        }
        for one in answer.supply
    ]
    tables.show(supply, alt="GPUs by model and way of sharing: physical and offered", empty="No GPUs in this snapshot.")


@errors.part
def download(
    snapshot: Snapshot, settings: CapacitySettings, answer: CapacityAnswer, typed: Sequence[Fit], shape: str
) -> None:
    """The answer as a versioned document, and what fits as rows; with the shape as it was typed."""
    asked = replace(settings, shapes=(shape,) if shape else ())
    downloads.answer(capacity.QUESTION, snapshot, asked, replace(answer, shapes=tuple(typed)))


# ── what if ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def steps(answer: WhatIfAnswer) -> None:
    """The answer in a sentence, then each change: what it came to, who is held back, who finds no place."""
    through = all(step.is_done for step in answer.steps)
    box = st.success if through and not any(one.before == "completes" for one in answer.verdicts) else st.warning
    title = "✓ Every change gets through" if through else "△ Not every change gets through"
    box(words.literal(words.sentence(answer.sentence)), title=title)
    for place, step in enumerate(answer.steps, start=1):
        with st.container(border=True):
            st.markdown(f"{'✓' if step.is_done else '✗'} **{place}. {words.literal(str(step.change))}**")
            st.markdown(words.literal(words.sentence(step.sentence)))
            if step.drain is not None:
                _drain(step.drain, place)


def _drain(drain: DrainResult, place: int) -> None:
    findings.show(drain.findings)
    held = [
        {"pod": one.pod, "workload": one.workload, "node": one.node, "budget": one.budget or "none", "why": one.why}
        for one in drain.held_back[:_SHOWN_HELD]
    ]
    if held:
        st.caption("Held back")
        tables.show(held, alt=f"{len(drain.held_back)} pods held back by disruption budgets", key=f"held-{place}")
    waiting = [
        {"workload": one.workload, "pods": one.count, "waited before": one.before, "kube-scheduler says": one.message}
        for one in drain.unplaced
        if one.count > one.before
    ]
    if waiting:
        st.caption("Find no other node")
        tables.show(waiting, alt=f"{len(waiting)} workloads with pods that find no node", key=f"unplaced-{place}")


@errors.part
def beside(answer: WhatIfAnswer) -> None:
    """Today and then, side by side: key figures, pools, what fits, verdicts that change."""
    sides = (("Today", answer.before, None), ("Then", answer.after, answer))
    for column, (name, one, other) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            st.header(name)
            done = answer.completing_after if other else answer.completing_before
            _figures(one, done, answer.waiting_after if other else answer.waiting_before, other)
    unit = answer.before.fragments.resource
    _money(answer)
    widest = max(
        (sum(capacity_pools.parts(line, unit)) for one in (answer.before, answer.after) for line in one.pools),
        default=0,
    )
    for column, (name, one, _) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            if capacity_pools.shown(one.pools, unit):
                st.caption(f"GPUs by node pool, {name.lower()}")
                drawn = capacity_pools.figure(one.pools, unit)
                drawn.update_xaxes(range=[0, widest * 1.08])  # both sides on one scale
                charts.show(drawn, key=f"pools-{name}", alt=capacity_pools.alt(one.pools, unit))
    groups: dict[tuple[int, int], list[str]] = {}
    for change in answer.fits:
        if change.before != change.after:
            groups.setdefault((change.before, change.after), []).append(change.shape)
    st.header("What fits, where it changes")
    tables.show(
        [
            {"shape": _first_of(names), "today": now, "then": later, "difference": later - now}
            for (now, later), names in groups.items()
        ],
        alt=f"How many more pods fit changes for {words.count(sum(map(len, groups.values())), 'shape')}",
        empty="As many more of every shape fit.",
    )  # fmt: skip
    if answer.completing_after is None:
        return
    st.header("Rollouts that go otherwise")
    if answer.unknown_before or answer.unknown_after:
        st.caption(
            f"△ Not known of {words.count(answer.unknown_before or 0, 'rollout')} today, {answer.unknown_after:,} then."
        )
    rows = [
        {
            "workload": turned.workload,
            "today": verdict.words(turned.before),
            "then": verdict.words(turned.after),
            "why": turned.sentence,
        }
        for turned in answer.verdicts
    ]
    tables.show(
        rows, alt=f"{words.count(len(rows), 'rollout')} go otherwise", empty="Every workload's rollout goes as today."
    )


def _money(answer: WhatIfAnswer) -> None:
    """What the cluster costs, today and then."""
    today, then = answer.usd_per_month_before, answer.usd_per_month_after
    if today is None or then is None:
        st.caption("△ What it costs isn't known: some node has no price.")
        return
    with st.grid(min_column_width=200):
        st.metric("Cost a month, today", words.usd(today), border=True)
        st.metric("Cost a month, then", words.usd(then), words.usd(then - today), "inverse", border=True)


def _figures(one: CapacityAnswer, completing: int | None, waiting: int, changed: WhatIfAnswer | None) -> None:
    values = _values(one, completing, waiting)
    base: dict[str, int] = {}
    if changed is not None:
        base = _values(changed.before, changed.completing_before, changed.waiting_before)
    with st.grid(min_column_width=150):
        for name, value in values.items():
            delta = value - base.get(name, 0) if base else None
            good: Literal["inverse", "normal"] = "inverse" if name == "Pods waiting" else "normal"
            st.metric(name, f"{value:,}", delta=delta, delta_color=good, border=True, height="stretch")


def _values(one: CapacityAnswer, completing: int | None, waiting: int) -> dict[str, int]:
    values = {
        "Nodes": sum(line.pool.node_count for line in one.pools),
        **{f"{s.noun}{what}": n for s in supplies_of(one.gpus) for what, n in (("", s.allocatable), (" free", s.free))},
        "Pods waiting": waiting,
    }
    return values if completing is None else values | {"Rollouts that complete": completing}
