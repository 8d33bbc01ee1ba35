"""Chooses a strategy: those that no other beats, and of these one by weights that the user may change.

A strategy beats another when it is at least as good in pods Ready at the worst moment, minutes, GPUs held beyond today's,
pods of others evicted, and money, and better in one of them. Among those that nothing beats, each of the five is put on a
scale from 0 (the best of them) to 1 (the worst of them), and the least weighted sum is recommended, of those that may be: none
below the workload's PodDisruptionBudget where one keeps it (a rolling update doesn't ask budgets, but they say what the team wants),
and none that keeps fewer pods Ready than today's, which stays where nothing keeps more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TypeVar

from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting
from planner.ground.words import Text, count, duration, listing, usd
from planner.kubernetes import workload_kinds
from planner.kubernetes.accelerator_units import GPUS, Nouns
from planner.rollout.answers import RECREATE, GridCell, Pair, PlayedStrategy, Verdict

T = TypeVar("T")


def strategy_name(pair: Pair) -> str:
    """``maxSurge 1, maxUnavailable 0``, or ``Recreate``."""
    return workload_kinds.RECREATE if pair == RECREATE else f"maxSurge {pair[0]}, maxUnavailable {pair[1]}"


class Weights(Record):
    """How much each respect matters, 0 to 10; 0: not at all."""

    availability: int = setting(
        8, option="--weigh-availability", least=0, most=10, help="Pods Ready at the worst moment."
    )
    evictions: int = setting(
        5, option="--weigh-evictions", least=0, most=10, help="Pods of other workloads that are evicted meanwhile."
    )
    time: int = setting(3, option="--weigh-time", least=0, most=10, help="Until the rollout is complete.")
    extra_gpus: int = setting(
        2,
        label="Extra GPUs",
        option="--weigh-extra-gpus",
        least=0,
        most=10,
        help="GPUs held beyond what the workload holds today.",
    )
    money: int = setting(2, option="--weigh-money", least=0, most=10, help="What its spare GPUs cost a month.")


class Brought(Record):
    """Nodes that an autoscaler brings to one rollout, though it completes without: at most so many, the longest for so many
    seconds. `usd`: all of them together, None without a price."""

    nodes: int
    seconds: float
    usd: float | None = None

    @property
    def words(self) -> str:
        """``up to 3 nodes for about 12 min, $4.10``; ``none``."""
        if not self.nodes:
            return "none"
        price = "" if self.usd is None else f", {usd(self.usd)}"
        return f"up to {count(self.nodes, 'node')} for about {duration(self.seconds)}{price}"


class Option(PlayedStrategy):
    """A strategy that completes. `usd_per_month`: of its spare GPUs, None where there is no price. `is_best`: nothing beats
    it; `score`: less is better, of those only. `brought`: what an autoscaler that is awake does meanwhile, None where it
    wasn't asked or nothing says how far pools grow."""

    usd_per_month: float | None = None
    is_best: bool = False
    is_recommended: bool = False
    score: float | None = None
    brought: Brought | None = None
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or strategy_name(self.pair)


class Choice(Record):
    """The strategies that complete, the best first: that one is `recommended`, and `sentence` says why."""

    options: tuple[Option, ...]
    recommended: Option | None
    sentence: Text


def choose(
    cells: Iterable[GridCell], replicas: int, weights: Weights | None = None,
    usd_per_month: Mapping[Pair, float | None] | None = None, nouns: Nouns = GPUS, keep_ready: int | None = None,
) -> Choice:  # fmt: skip
    """The strategies among `cells` that nothing beats, and the one that is recommended.

    `usd_per_month`: what the spare GPUs of a pair cost; where it isn't known for all that complete, money isn't weighed. `nouns`: what
    the cells' GPUs are. `keep_ready`: pods that the workload's budgets keep Ready (`planner.kubernetes.disruption_budgets.kept_ready`).
    """
    money = usd_per_month or {}
    done = [
        Option(
            **{field.name: getattr(cell, field.name) for field in fields(PlayedStrategy)},
            usd_per_month=money.get(cell.pair),
            title=cell.title,
        )
        for cell in cells
        if cell.is_valid and cell.verdict is Verdict.COMPLETES
    ]
    if not done:
        return Choice(options=(), recommended=None, sentence=Text("No strategy was found that completes by itself."))
    is_priced = all(option.usd_per_month is not None for option in done)
    # of equals today's, else the one with the fewest pods more and the fewest missing
    ranked = sorted(
        done, key=lambda option: (option.is_recreate, not option.is_current, option.max_surge, option.max_unavailable)
    )
    best = unbeaten(ranked, partial(_figures, is_priced=is_priced))
    scores = _scores(best, weights or Weights(), is_priced=is_priced)
    best.sort(
        key=lambda option: (scores[option.pair], option.is_recreate, max(0, option.max_surge), option.max_unavailable)
    )
    star = _star(best, done, keep_ready)
    other_options = sorted(
        (option for option in done if option not in best),
        key=lambda option: (-option.lowest_ready, option.seconds, option.pair),
    )
    other_options = [option for option in other_options if option is not star]
    others = [replace(option, is_best=True, score=scores[option.pair]) for option in best if option is not star]
    recommended = replace(star, is_recommended=True, is_best=star in best, score=scores.get(star.pair))
    return Choice(
        options=(recommended, *others, *other_options),
        recommended=recommended,
        sentence=Text(_sentence(recommended, done, replicas, nouns, keep_ready)),
    )


def _star(best: Sequence[Option], done: Sequence[Option], keep_ready: int | None) -> Option:
    """The strategy that is recommended; `best` are those that nothing beats, by their weighted sum."""
    most = max(option.lowest_ready for option in done)
    today = next((option for option in done if option.is_current), None)
    if today is not None and today.lowest_ready == most:
        fewer = any(option.evictions < today.evictions for option in done if option.lowest_ready == most)
        if not fewer:
            return today  # as good as any for the pods, and there already
    floor = most if keep_ready is not None and most < keep_ready else keep_ready or 0
    floor = max(floor, today.lowest_ready if today is not None else 0)
    return next(option for option in best if option.lowest_ready >= floor)


def _figures(option: Option, *, is_priced: bool) -> tuple[float, ...]:
    """In the order of `Weights`, less is better."""
    usd = option.usd_per_month if is_priced and option.usd_per_month is not None else 0.0
    return (-option.lowest_ready, option.evictions, option.seconds, option.extra_gpus, usd)


def unbeaten(candidates: Iterable[T], figures: Callable[[T], tuple[float, ...]]) -> list[T]:
    """Those that no other is as good as in all `figures`, of which less is better; of equals the first."""
    first: dict[tuple[float, ...], T] = {}
    for candidate in candidates:
        first.setdefault(figures(candidate), candidate)
    best_figures: list[tuple[float, ...]] = []
    for own in sorted(first):  # whatever beats it comes before it
        if not any(all(a <= b for a, b in zip(other, own, strict=True)) for other in best_figures):
            best_figures.append(own)
    return [first[own] for own in best_figures]


def _scores(best: Sequence[Option], weights: Weights, *, is_priced: bool) -> dict[Pair, float]:
    columns = list(zip(*(_figures(option, is_priced=is_priced) for option in best), strict=True))
    scales = [(min(column), (max(column) - min(column)) or 1.0) for column in columns]
    heavy = [getattr(weights, field.name) for field in fields(Weights)]
    return {
        option.pair: sum(
            weight * (value - least) / span
            for weight, value, (least, span) in zip(heavy, _figures(option, is_priced=is_priced), scales, strict=True)
        )
        for option in best
    }


def _sentence(option: Option, done: Sequence[Option], replicas: int, nouns: Nouns, keep_ready: int | None) -> str:
    """``maxSurge 1, maxUnavailable 1 is recommended: 5 of 6 pods stay Ready, as many as with any; …``."""
    most = max(other.lowest_ready for other in done)
    alike = [other for other in done if other.lowest_ready >= option.lowest_ready and other.pair != option.pair]
    ready = f"{option.lowest_ready:,} of {count(replicas, 'pod stays', 'pods stay')} Ready"
    parts = [ready + (", as many as with any that completes" if option.lowest_ready == most and len(done) > 1 else "")]
    parts += (
        [f"below the budget of {keep_ready:,}"] if keep_ready is not None and option.lowest_ready < keep_ready else []
    )
    # Only compared with those that keep as many Ready: one that keeps fewer is nearly always faster, and says nothing
    # against this one.
    is_fastest = bool(alike) and all(option.seconds <= other.seconds for other in alike)
    parts.append(f"{duration(option.seconds)}{', and none that keeps as many is faster' if is_fastest else ''}")
    parts.append("no pod is evicted" if not option.evictions else f"evicts {count(option.evictions, 'pod')} of others")
    parts.append(f"{nouns.count(option.extra_gpus)} more" if option.extra_gpus else f"no more {nouns.many} than today")
    if option.usd_per_month:
        parts.append(f"{usd(option.usd_per_month)} a month")
    better = []
    if any(other.lowest_ready > option.lowest_ready for other in done):
        better.append(f"up to {count(most, 'pod')} Ready")
    fastest = min(other.seconds for other in done)
    if fastest < option.seconds:
        better.append(f"{duration(fastest)}")
    others_text = f" Other strategies offer {listing(better)} and are worse otherwise." if better else ""
    equal = next(
        (other for other in alike if _figures(other, is_priced=True) == _figures(option, is_priced=True)), None
    )
    also = f" {equal.name}{_todays(equal)} comes to the same." if equal else ""
    return f"{option.name}{_todays(option)} is recommended: {'; '.join(parts)}.{also}{others_text}"


def _todays(option: Option) -> str:
    return " (today's)" if option.is_current else ""
