"""Lifetimes and gaps of the user's own spot nodes: fitted with censoring, compared with the defaults, back-tested.

What was seen of nodes (`planner.inventory.spot_node_lifetimes`) becomes lives and gaps as `planner.spot.interruption` takes them. A
node that an autoscaler took down, or that is still there, didn't end by being lost; one that was met when it was old counts
from then on. Where no event tells the moment of a loss it lies in the middle between two looks. A loss opens a gap, which
the pool's next new node closes; where the pool was taken down meanwhile, or it is still open, it was at least so long.

The back-test fits the first half of the time and lets the estimate's own months (`planner.spot.monte_carlo`) say, for windows of
the second half, how many losses and hours without a node to expect of so many places.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache, partial
from math import ceil, exp, inf, sqrt
from typing import Any, Final

import numpy as np

from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import Text, count, duration, moment
from planner.ground.work_budget import TOO_LARGE, TooLargeError, part
from planner.inventory.spot_node_lifetimes import NodeSeen, NodeSign, Watch, until
from planner.spot.assumptions import ASSUMED_GAP_HOURS, RATES, Assumptions, Fallback, Life, Work
from planner.spot.interruption import life_table, mean_life_hours
from planner.spot.monte_carlo import simulate

FEWEST_LOSSES: Final = 5
"""Lives of one machine type are used for it where so many were lost; else those of all are."""
_GAP_KNOWN_WITHIN: Final = 900.0  # seconds between two looks, above which a gap can't be told from them
_WINDOWS: Final = 10
_SHORTEST_WINDOW: Final = 3_600.0
_RUNS: Final = 1_000
_MOST_NODES: Final = 200  # places of a pool that are back-tested one by one
_HOUR: Final = 3_600.0
LIFE_DRIFT: Final = 0.69
GAP_DRIFT: Final = 1.17
"""How far the mean life and the mean gap of one part of the time are from those of another, σ of the logarithm: between the halves of
25 zones of public spot traces (skypilot-org/spot-traces 221da1ab; Wu et al., "Can't Be Late", NSDI 2024)."""
_PRIOR_PARTS: Final = 0.03
"""So many parts of one's own time the prior counts as. Zones with different parts show it within weeks (σ² 0.3 to 1.0 beyond chance in
seven of eight traces), processes that are steady don't: with a tenth of a part their band of 9 in 10 held 98% of 200 worlds."""
_PARTS: Final = 8
_FEWEST_A_PART: Final = 8  # losses, for a mean that says something
_SAME_MINUTES: Final = 300.0  # seconds within which losses coincide
_FEWEST_IN_COMMON: Final = 2
_MOST_OF_PLACE: Final = (
    0.75  # of the most nodes it had; the last two of three are lost in the same minutes by chance, too
)
_MOST_IN_COMMON: Final = 0.8  # of the losses: zones come and go together


class Spell(Record):
    """A node from its creation to its end; seconds since the epoch. `within`: how surely the end's moment is known."""

    cluster: str
    node_pool: str
    machine_type: str
    created_at: float | None  # None: not seen
    watched_at: float
    ended_at: float
    was_lost: bool
    is_over: bool  # lost or taken down
    within: float = 0.0
    zone: str = ""

    @property
    def life(self) -> Life | None:
        if self.created_at is None or self.ended_at <= max(self.created_at, self.watched_at):
            return None
        since = max(0.0, self.watched_at - self.created_at) / _HOUR
        return Life(hours=(self.ended_at - self.created_at) / _HOUR, ended=self.was_lost, since=since)

    @property
    def place(self) -> tuple[str, str, str]:
        """What shares its fate: nodes of one pool and zone."""
        return self.cluster, self.node_pool, self.zone


class Gap(Record):
    """From a loss until the pool's next new node; None: still open, or the pool was taken down, at `ended_at`."""

    cluster: str
    node_pool: str
    lost_at: float
    ended_at: float
    is_over: bool
    within: float


class FitLine(Record, kw_only=False):
    """One figure, as it is assumed and as it was seen; `low` to `high`: 90% of the rate's confidence. None: not known."""

    name: str
    unit: str
    assumed: float | None
    seen: float | None
    low: float | None = None
    high: float | None = None


class BackTest(Record):
    """Fitted on the first half: in how many windows (or lives) of the second the P5 to P95 band held."""

    windows: int
    losses_held: int
    hours_held: int | None  # hours without a node; None: gaps aren't known
    sentence: Text


class FittedLives(Record):
    """What spells and gaps come to, to reckon with; of a zone's nodes that are lost all at once the lives aren't among `lives`."""

    lives: tuple[Life, ...]  # in order of time
    machine_types: tuple[str, ...] = ()  # of each life; () where nothing says
    gaps: tuple[Life, ...]
    life_drift: float = LIFE_DRIFT  # how far a month's lives are from these: σ of the logarithm
    gap_drift: float = GAP_DRIFT
    zone_losses_per_month: float = 0.0  # of a pool's nodes in one zone, lost all at once
    goes_together: bool = False  # most losses were of a zone's nodes all at once

    @property
    def found(self) -> dict[str, Any]:
        """What an estimate that draws from the lives assumes beside them, of `Assumptions`."""
        names = ("life_drift", "gap_drift", "zone_losses_per_month", "goes_together")
        return {name: getattr(self, name) for name in names}

    @property
    def usable(self) -> dict[str, Any]:
        """What an estimate can draw from: () where nothing ended."""
        lives, gaps = (
            (observations if any(life.ended for life in observations) else ())
            for observations in (self.lives, self.gaps)
        )
        return {"lives": lives, "gaps": gaps}

    @property
    def assumed(self) -> dict[str, Any]:
        """What an estimate assumes by it, of `Assumptions`: where no node was lost by itself, none ever is."""
        return dict.fromkeys(RATES, 0.0) | self.usable | self.found


class OwnHistory(FittedLives):
    """What was seen, and what it comes to. `lives` and `gaps` are what the estimate draws from; () where too few."""

    source: str
    sentence: Text
    nodes: int
    node_hours: float  # watched
    lost: int
    taken_down: int
    still_there: int
    since: str  # date and time, "" where nothing says
    until: str
    lines: tuple[FitLine, ...]
    back_test: BackTest

    def lives_for(self, machine_types: Iterable[str]) -> tuple[Life, ...]:
        """The lives of these machine types where enough of them were lost, else all."""
        type_names = set(machine_types)
        pairs = zip(self.lives, self.machine_types or ("",) * len(self.lives), strict=True)
        machine_lives = tuple(life for life, machine in pairs if machine in type_names)
        return machine_lives if sum(life.ended for life in machine_lives) >= FEWEST_LOSSES else self.lives


# ── how a month differs from those that were seen ────────────────────────────────────────────────────────────────────
def drift(lives: Sequence[Life], prior: float) -> float:
    """How far the mean of a month is from that of `lives` (in order of time): σ of the logarithm.

    By how much eight parts of the time differ beyond chance, with the prior as `_PRIOR_PARTS` more; and how surely the mean of so few
    lives is known at all. Too few for two parts: the prior.
    """
    ended = [life for life in lives if life.ended]
    parts = min(_PARTS, len(ended) // _FEWEST_A_PART)
    if parts < 2:
        return prior
    hours = np.array([life.hours for life in ended])
    each = np.array_split(hours, parts)
    of_chance = float(np.mean([part.var(ddof=1) / part.mean() ** 2 / part.size for part in each]))
    observed_variance = float(np.var([np.log(part.mean()) for part in each], ddof=1))
    # parts of a steady process differ by less than chance as often as by more: both count, or its band is always too wide
    month = (_PRIOR_PARTS * prior**2 + (parts - 1) * (observed_variance - of_chance)) / (_PRIOR_PARTS + parts - 1)
    return sqrt(max(0.0, month) + float(hours.var(ddof=1)) / float(hours.mean()) ** 2 / hours.size)


def in_common(spells: Sequence[Spell]) -> tuple[frozenset[int], float]:
    """Losses of all nodes that a pool had in a zone, in the same minutes: which spells (by place), and how many such a month
    and zone. Where the moment of a loss isn't known well, nothing coincides."""
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, spell in enumerate(spells):
        places[spell.place].append(number)
    common: set[int] = set()
    events, hours = 0, 0.0
    for numbers in places.values():
        own = [spells[number] for number in numbers]
        hours += (max(spell.ended_at for spell in own) - min(spell.watched_at for spell in own)) / _HOUR
        begun, over = np.sort([spell.watched_at for spell in own]), np.sort([spell.ended_at for spell in own])
        most = int(max(np.searchsorted(begun, begun, side="right") - np.searchsorted(over, begun, side="right")))
        lost = sorted((spell.ended_at, number) for number, spell in zip(numbers, own, strict=True) if spell.was_lost)
        first = 0
        while first < len(lost):
            at, number = lost[first]
            within = max(_SAME_MINUTES, 2 * spells[number].within)
            until_here = bisect_right(lost, (at + within, len(spells)))
            group = [
                number for _, number in lost[first:until_here] if spells[number].watched_at <= at
            ]  # a node that came after the loss couldn't be lost with it
            first = until_here
            is_measured = all(spells[number].within <= _GAP_KNOWN_WITHIN for number in group)
            open_spells = np.searchsorted(begun, at - within) - np.searchsorted(over, at + within, side="right")
            if is_measured and len(group) >= max(_FEWEST_IN_COMMON, ceil(_MOST_OF_PLACE * most)) and open_spells <= 0:
                common |= set(group)
                events += 1
    return frozenset(common), events / hours * HOURS_PER_MONTH if hours else 0.0


# ── from what was seen ───────────────────────────────────────────────────────────────────────────────────────────────
def own_history(watch: Watch) -> OwnHistory:
    """Lives and gaps of the nodes that were watched."""
    spells = tuple(spells_of(watch))
    fitted = fit(spells, tuple(gaps_of_spells(watch, spells)))
    moments = [at for _, looks in watch.looks for at in looks] + [event.at for event in watch.events]
    return _made(
        watch.source,
        fitted,
        back_test(watch),
        nodes=len(spells),
        lost=sum(spell.was_lost for spell in spells),
        taken_down=sum(spell.is_over and not spell.was_lost for spell in spells),
        since=moment(min(moments)) if moments else "",
        until=moment(max(moments)) if moments else "",
    )


def fit(spells: Sequence[Spell], gaps: Sequence[Gap]) -> FittedLives:
    """Lives that end with a whole zone's are at least so long for a node by itself; the zones' losses are told apart. Where most
    losses are such, a zone is one node that is lost."""
    common, a_month = in_common(spells)
    lost = sum(spell.was_lost for spell in spells)
    together = bool(lost) and len(common) >= _MOST_IN_COMMON * lost
    apart = common if not together else frozenset[int]()
    timed = sorted(
        (spell.ended_at, number, life) for number, spell in enumerate(spells) if (life := spell.life) is not None
    )
    lives = tuple(replace(life, ended=life.ended and number not in apart) for _, number, life in timed)
    closed = measured(sorted(gaps, key=lambda gap: gap.lost_at))
    return FittedLives(
        lives=lives,
        machine_types=tuple(spells[number].machine_type for _, number, _ in timed),
        gaps=closed,
        life_drift=drift(lives, LIFE_DRIFT),
        gap_drift=drift(closed, GAP_DRIFT),
        zone_losses_per_month=0.0 if together else a_month,
        goes_together=together,
    )


def spells_of(watch: Watch) -> Iterator[Spell]:
    """Every node with its beginning and end, as far as looks and events tell."""
    looks = dict(watch.looks)
    events: dict[tuple[str, str], dict[NodeSign, list[float]]] = defaultdict(lambda: defaultdict(list))
    begun = {cluster: moments[0] for cluster, moments in looks.items()}
    for event in watch.events:
        events[event.cluster, event.node][event.told].append(event.at)
        begun[event.cluster] = min(event.at, begun.get(event.cluster, inf))
    by_name: dict[tuple[str, str], list[NodeSeen]] = defaultdict(list)
    for node in watch.nodes:
        by_name[node.cluster, node.node].append(node)
    for name, same in by_name.items():
        same.sort(key=lambda spell: spell.created_at)
        event_times = events.get(name, {})
        for node, after in zip(same, [*same[1:], None], strict=True):
            first_look = looks[node.cluster][0]
            watched = max(node.created_at, begun[node.cluster]) if node.first_at <= first_look else node.first_at
            yield _spell(node, watched, _missing_at(node, after, looks[node.cluster]), event_times)
    yield from _only_told(watch, by_name, events)


def _missing_at(node: NodeSeen, after: NodeSeen | None, looks: Sequence[float]) -> float | None:
    """The first moment at which the node was certainly gone."""
    place = bisect_right(looks, node.last_at)
    missing = looks[place] if place < len(looks) else None
    reborn = after.created_at if after is not None and after.created_at > node.last_at else None
    return min((at for at in (missing, reborn) if at is not None), default=None)


def _spell(node: NodeSeen, watched: float, missing: float | None, event_times: dict[NodeSign, list[float]]) -> Spell:
    deletion_times = [at for at in event_times.get(NodeSign.GONE, ()) if node.last_at < at <= (missing or inf)]
    # A node that an autoscaler or a user took down says nothing of the cloud: its life is censored, not lost.
    on_purpose = node.is_going or any(
        node.created_at < at and node.last_at - _HOUR <= at <= (missing or inf)
        for at in event_times.get(NodeSign.TAKEN_DOWN, ())
    )
    if deletion_times:
        ended, within = min(deletion_times), 0.0
    elif missing is not None:
        # It ended somewhere between the last snapshot with it and the first without: the middle, and how far off that
        # may be.
        ended, within = (node.last_at + missing) / 2, missing - node.last_at
    else:
        ended, within = node.last_at, 0.0
    is_over = bool(deletion_times) or missing is not None
    return Spell(
        cluster=node.cluster,
        node_pool=node.node_pool,
        machine_type=node.machine_type,
        zone=node.zone,
        created_at=node.created_at,
        watched_at=watched,
        ended_at=ended,
        was_lost=is_over and not on_purpose,
        is_over=is_over,
        within=within,
    )


def _only_told(
    watch: Watch,
    by_name: dict[tuple[str, str], list[NodeSeen]],
    events: dict[tuple[str, str], dict[NodeSign, list[float]]],
) -> Iterator[Spell]:
    """Nodes that only events know: gone before anybody looked. Their pool is that of nodes of the same instance group,
    with names alike up to the last hyphen; of others nothing is known, not even whether they were spot nodes."""
    kin = {(node.cluster, node.node.rpartition("-")[0]): node for node in watch.nodes}
    for (cluster, name), event_times in events.items():
        like = kin.get((cluster, name.rpartition("-")[0]))
        named_nodes = by_name.get((cluster, name), [])
        if like is None or not name.rpartition("-")[0]:
            continue
        registered = sorted(event_times.get(NodeSign.REGISTERED, ()))
        for ended in sorted(set(event_times.get(NodeSign.GONE, ()))):
            if any(node_seen.created_at <= ended and ended > node_seen.last_at for node_seen in named_nodes) or any(
                node_seen.first_at <= ended <= node_seen.last_at for node_seen in named_nodes
            ):
                continue  # the end of one that was seen
            place = bisect_left(registered, ended)
            created = registered[place - 1] if place else None
            yield Spell(
                cluster=cluster,
                node_pool=like.node_pool,
                machine_type=like.machine_type,
                zone=like.zone,
                created_at=created,
                watched_at=created if created is not None else ended,
                ended_at=ended,
                was_lost=not any(ended - _HOUR <= at <= ended for at in event_times.get(NodeSign.TAKEN_DOWN, ())),
                is_over=True,
            )


def gaps_of_spells(watch: Watch, spells: Sequence[Spell]) -> Iterator[Gap]:
    """Each loss with the pool's next new node, the oldest loss first."""
    last = {cluster: moments[-1] for cluster, moments in watch.looks}
    pools: dict[tuple[str, str], list[tuple[float, int, Spell]]] = defaultdict(list)
    for spell in spells:
        pool = pools[spell.cluster, spell.node_pool]
        if spell.created_at is not None:
            pool.append((spell.created_at, 1, spell))
        if spell.is_over:  # the earliest time it may have ended: its replacement may have come before the middle of the gap between two looks
            pool.append((spell.ended_at - spell.within / 2, 0, spell))
    for (cluster, name), turns in pools.items():
        open_: deque[Spell] = deque()
        for at, is_new, spell in sorted(turns, key=lambda turn: turn[:2]):
            if not is_new and spell.was_lost:
                open_.append(spell)
            elif not is_new:  # a node that was scaled down needs no replacement: the gaps that are open end unmeasured
                yield from (_gap(cluster, name, lost, at, is_over=False) for lost in open_)
                open_.clear()
            elif open_:
                yield _gap(cluster, name, open_.popleft(), at, is_over=True)
        yield from (_gap(cluster, name, lost, last.get(cluster, lost.ended_at), is_over=False) for lost in open_)


def _gap(cluster: str, node_pool: str, lost: Spell, at: float, *, is_over: bool) -> Gap:
    lost_at = lost.ended_at if at > lost.ended_at else (lost.ended_at - lost.within / 2 + at) / 2
    return Gap(cluster=cluster, node_pool=node_pool, lost_at=lost_at, ended_at=at, is_over=is_over, within=lost.within)


def measured(gaps: Sequence[Gap]) -> tuple[Life, ...]:
    """The gaps as lives; () where most losses' moments aren't known well enough to tell, or none was closed."""
    measured_gaps = [gap for gap in gaps if gap.within <= _GAP_KNOWN_WITHIN and gap.ended_at > gap.lost_at]
    if 2 * len(measured_gaps) < len(gaps) or not any(gap.is_over for gap in measured_gaps):
        return ()
    return tuple(Life(hours=(gap.ended_at - gap.lost_at) / _HOUR, ended=gap.is_over) for gap in measured_gaps)


# ── from files ───────────────────────────────────────────────────────────────────────────────────────────────────────
def from_files(lives: tuple[Life, ...], gaps: tuple[Life, ...], source: str) -> OwnHistory:
    """Lives and gaps that were given without dates; their order is taken to be that of time."""
    fitted = FittedLives(lives=lives, gaps=gaps, life_drift=drift(lives, LIFE_DRIFT), gap_drift=drift(gaps, GAP_DRIFT))
    lost = sum(life.ended for life in lives)
    return _made(source, fitted, _back_test_of_lives(lives), nodes=len(lives), lost=lost)


def _back_test_of_lives(lives: tuple[Life, ...]) -> BackTest:
    """How many lives of the second half lie between the 5th and the 95th percentile of the first."""
    first, second = lives[: len(lives) // 2], [life for life in lives[len(lives) // 2 :] if life.ended]
    if sum(life.ended for life in first) < FEWEST_LOSSES or not second:
        return _not_tested(f"fewer than {FEWEST_LOSSES} lives of the first half ended")
    low, high = np.percentile(life_table(first), (5, 95))
    hits = sum(bool(low <= life.hours <= high) for life in second)
    return BackTest(
        windows=len(second),
        losses_held=hits,
        hours_held=None,
        sentence=Text(
            f"Back-test: fitted on the first half of the rows, 90% of lives would be {duration(low * _HOUR)} to "
            f"{duration(high * _HOUR)}; {hits} of {len(second)} later ones were ({hits / len(second):.0%})."
        ),
    )


# ── what it comes to ─────────────────────────────────────────────────────────────────────────────────────────────────
def _made(
    source: str,
    fitted: FittedLives,
    back_test: BackTest,
    *,
    nodes: int,
    lost: int,
    taken_down: int = 0,
    since: str = "",
    until: str = "",
) -> OwnHistory:
    hours = sum(life.hours - life.since for life in fitted.lives)
    ended = sum(life.ended for life in fitted.lives)
    # One machine type a life: where `usable` leaves no lives (none ended) there are none either; `lives_for` zips the two.
    usable = replace(fitted, **fitted.usable, machine_types=fitted.machine_types if ended else ())
    what = f"{count(ended, 'loss', 'losses')} in {hours:,.0f} watched node-hours of {count(nodes, 'spot node')}"
    if not fitted.lives:
        what = "no spot node was watched for any time"
    used = "the estimate draws from these lives" if usable.lives else "too little to fit: the default rate stays"
    if usable.lives:
        used += " and gaps" if usable.gaps else "; gaps aren't known from it, the default stays"
    return OwnHistory(
        **{field.name: getattr(usable, field.name) for field in fields(FittedLives)},
        source=source,
        sentence=Text(f"{source}: {what}; {used}."),
        nodes=nodes,
        node_hours=round(hours, 2),
        lost=lost,
        taken_down=taken_down,
        still_there=max(0, nodes - lost - taken_down),
        since=since,
        until=until,
        lines=_lines(usable.lives, hours, ended, usable.gaps),
        back_test=back_test,
    )


def _lines(lives: tuple[Life, ...], hours: float, lost: int, gaps: tuple[Life, ...]) -> tuple[FitLine, ...]:
    mean = mean_life_hours(Assumptions(nodes=1, on_demand_usd_per_hour=1.0, spot_usd_per_hour=0.5))
    table = life_table(lives) if lives else None
    life = None if table is None else float(table.mean())
    gap = float(life_table(gaps).mean()) if gaps else None
    up = None if life is None or gap is None else life / (life + gap)
    return (
        FitLine(
            "losses per VM-hour", "per VM-hour", 1 / mean, lost / hours if hours else None, *rate_band(lost, hours)
        ),
        FitLine("mean life", "h", mean, life),
        FitLine("median life", "h", mean * float(np.log(2)), None if table is None else float(np.median(table))),
        FitLine("mean gap after a loss", "h", ASSUMED_GAP_HOURS, gap),
        FitLine("share of time up", "share", mean / (mean + ASSUMED_GAP_HOURS), up),
    )


def rate_band(losses: int, hours: float) -> tuple[float | None, float | None]:
    """90% confidence of a rate, losses per hour, exact for a Poisson count (Garwood, Biometrika 28, 1936)."""
    if hours <= 0:
        return None, None

    def mean_with(chance: float, most: int) -> float:
        """The mean of which so many or fewer have this chance."""
        low, high = 0.0, 10.0 * (most + 5)
        for _ in range(80):
            middle = (low + high) / 2
            term = total = exp(-middle)
            for n in range(1, most + 1):
                term *= middle / n
                total += term
            low, high = (middle, high) if total > chance else (low, middle)
        return (low + high) / 2

    if losses > 300:  # the normal curve is as good, and exp doesn't vanish
        spread = 1.645 * losses**0.5
        return (losses - spread) / hours, (losses + spread) / hours
    return (mean_with(0.95, losses - 1) if losses else 0.0) / hours, mean_with(0.05, losses) / hours


# ── back-test ────────────────────────────────────────────────────────────────────────────────────────────────────────
def back_test(watch: Watch) -> BackTest:
    """Windows of the second half, pool by pool, against what the first half makes expect; not where that is too much work."""
    try:
        with part():
            return _tested(watch)
    except TooLargeError:
        return _not_tested(TOO_LARGE)


def _tested(watch: Watch) -> BackTest:
    moments = [at for _, looks in watch.looks for at in looks] + [event.at for event in watch.events]
    if not moments or max(moments) - min(moments) < 4 * _SHORTEST_WINDOW:
        return _not_tested("it was watched for less than 4 hours")
    begin, end = min(moments), max(moments)
    middle = (begin + end) / 2
    first = until(watch, middle)
    known_spells = tuple(spells_of(first))
    fitted = fit(known_spells, tuple(gaps_of_spells(first, known_spells)))
    gaps = fitted.gaps
    lost = sum(spell.was_lost for spell in known_spells)
    if not lost:
        return _not_tested("no spot node was lost in the first half of the time")
    spells = tuple(spells_of(watch))
    all_gaps = tuple(gaps_of_spells(watch, spells))
    windows = max(1, min(_WINDOWS, int((end - middle) // _SHORTEST_WINDOW)))
    width = (end - middle) / windows
    expected = cache(partial(_expected, fitted, width / _HOUR))  # windows have a few numbers of places
    tried = hits = hours_held = 0
    for pool in sorted({(spell.cluster, spell.node_pool) for spell in spells}):
        own = [spell for spell in spells if (spell.cluster, spell.node_pool) == pool]
        missing = [gap for gap in all_gaps if (gap.cluster, gap.node_pool) == pool]
        for number in range(windows):
            start = middle + number * width
            stop = start + width
            up = sum(spell.created_at is not None and spell.created_at <= start < spell.ended_at for spell in own)
            places = up + sum(gap.lost_at <= start < gap.ended_at for gap in missing)
            if not 0 < places <= _MOST_NODES:
                continue
            losses = sum(spell.was_lost and start <= spell.ended_at < stop for spell in own)
            hours = sum(max(0.0, min(gap.ended_at, stop) - max(gap.lost_at, start)) for gap in missing) / _HOUR
            (low, high), (few, many) = expected(places, min(9, len({spell.zone for spell in own})))
            tried += 1
            hits += low <= losses <= high
            hours_held += few <= hours <= many
    if not tried:
        return _not_tested("no spot node was there in the second half of the time")
    also = f", hours without a node in {hours_held} ({hours_held / tried:.0%})" if gaps else ""
    long = duration(width)
    return BackTest(
        windows=tried,
        losses_held=hits,
        hours_held=hours_held if gaps else None,
        sentence=Text(
            f"Back-test: fitted on the first half ({count(lost, 'loss', 'losses')}), the band of 9 in 10 held the losses in "
            f"{hits} of {tried} windows of {long} of the second ({hits / tried:.0%}){also}."
        ),
    )


def _not_tested(why: str) -> BackTest:
    return BackTest(windows=0, losses_held=0, hours_held=None, sentence=Text(f"Not back-tested: {why}."))


def _expected(
    fitted: FittedLives, hours: float, places: int, zones: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """P5 and P95 of losses, and of hours without a node, of so many places in so many hours."""
    months = simulate(
        Assumptions(
            nodes=places,
            on_demand_usd_per_hour=1.0,
            spot_usd_per_hour=0.5,
            **fitted.assumed,
            zones=zones,
            hours_per_month=hours,
            node_start_seconds=0.0,
            pod_start_seconds=0.0,
            request_seconds=0.0,
            work=Work.SERVING,
            fallback=Fallback.ON_DEMAND,
            runs=_RUNS,
        )
    )
    (few, many), (low, high) = (
        np.percentile(each.sum(axis=1) * months.group, (5, 95))
        for each in (months.interruptions, months.on_demand_hours)
    )
    return (float(few), float(many)), (float(low), float(high))
