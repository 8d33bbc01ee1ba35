"""The price of added nodes in every answer: bought as their pool buys, for one rollout or for a whole month."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.words import plural, usd
from planner.kubernetes.node_properties import arrival_seconds, gpu_count, machine_type, provisioning_model, region
from planner.kubernetes.object_records import Node
from planner.pricing.node_price import price_node
from planner.pricing.owned_commitments import paid_for
from planner.pricing.price_book import PriceBook
from planner.pricing.strategy_cost import SpareTerms


class NodesPrice(Record):
    """USD of added nodes, after commitments that cover no other node.

    Attributes
    ----------
    number, kept : nodes, and of them those that pods stay on
    usd_per_month : of those that stay; where none does, of all, were they kept
    usd_per_rollout : of those that go again, for one rollout; None where all stay
    """

    number: int
    kept: int
    usd_per_month: float
    usd_per_rollout: float | None

    @property
    def usd(self) -> float:
        """What falls due: a month of the nodes that stay, and the rollout's time of the others."""
        return (self.usd_per_month if self.kept else 0.0) + (self.usd_per_rollout or 0.0)

    @property
    def words(self) -> str:
        return priced(self.usd_per_month, self.usd_per_rollout, self.number, self.kept)


def together(prices: Sequence[NodesPrice | None]) -> NodesPrice | None:
    """Of all the nodes of a plan; None where one isn't known. A month is counted of those that stay, where any do."""
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return None
    number, kept = sum(price.number for price in known), sum(price.kept for price in known)
    month = sum((price.usd_per_month for price in known if price.kept or not kept), 0.0)
    once = None if number == kept else sum((price.usd_per_rollout or 0.0 for price in known), 0.0)
    return NodesPrice(number=number, kept=kept, usd_per_month=month, usd_per_rollout=once)


_TERMS: Final = SpareTerms(on_demand_usd_per_gpu_hour=None, spot_usd_per_gpu_hour=None, gpus_per_node=0)


class AddedNodes:
    """Prices of more nodes like each of `likes`, beside `nodes`. `start_seconds`: until one takes pods, where that is given."""

    def __init__(
        self, book: PriceBook | None, nodes: Iterable[Node], likes: Sequence[Node], start_seconds: float | None = None
    ) -> None:
        self._each = [_hour_and_month(book, like) for like in likes]
        self._paid = _paid(book, tuple(nodes), likes)
        self._kinds = [(machine_type(like), region(like)) for like in likes]
        self._dearest = sorted(range(len(likes)), key=lambda i: self._each[i] or (0.0, 0.0), reverse=True)
        self._starts = [
            arrival_seconds(has_gpus=bool(gpu_count(like))) if start_seconds is None else start_seconds
            for like in likes
        ]

    @property
    def is_priced(self) -> bool:
        return None not in self._each

    def arrival_seconds(self, numbers: Sequence[int]) -> float:
        """Until so many of each take pods."""
        starts = (start for start, number in zip(self._starts, numbers, strict=True) if number)
        return max(starts, default=0.0)

    def price(self, numbers: Sequence[int], staying_nodes: Sequence[int], rollout_seconds: float) -> NodesPrice | None:
        """Of so many of each, `staying_nodes` of them, for a rollout that takes so long once they are there; None without a price."""
        return together(self.of_each(numbers, staying_nodes, rollout_seconds))

    def of_each(
        self, numbers: Sequence[int], staying_nodes: Sequence[int], rollout_seconds: float
    ) -> list[NodesPrice | None]:
        """The same of each by itself, as a part of the whole, without those of which there are none."""
        terms = replace(_TERMS, node_start_seconds=self.arrival_seconds(numbers))
        hours, prices = terms.added_hours(rollout_seconds), list[NodesPrice | None]()
        shares = self._shares(numbers, staying_nodes)
        for each, paid, number, stay in zip(self._each, shares, numbers, staying_nodes, strict=True):
            if number and each is None:
                prices.append(None)
            elif number and each is not None:
                month = max(0, (stay or number) - paid) * each[1]
                once = max(0, number - stay - max(0, paid - stay)) * each[0] * hours
                prices.append(NodesPrice(number=number, kept=stay, usd_per_month=month, usd_per_rollout=None if stay == number else once))  # fmt: skip
        return prices

    def _shares(self, numbers: Sequence[int], staying_nodes: Sequence[int]) -> list[int]:
        """Of each, how many commitments pay for: places of a pool share them, and first those have them that stay, which cost more; of
        these and of those that go again the dearest, in whichever order they are."""
        remaining: dict[tuple[str, str], int] = {}
        for kind, paid in zip(self._kinds, self._paid, strict=True):
            remaining[kind] = max(paid, remaining.get(kind, 0))
        shares = [0] * len(numbers)
        going = [number - stay for number, stay in zip(numbers, staying_nodes, strict=True)]
        for amounts in (staying_nodes, going):
            for i in self._dearest:
                kind = self._kinds[i]
                share = min(amounts[i], remaining[kind]) if self._paid[i] else 0
                shares[i] += share
                remaining[kind] -= share
        return shares


def price_of_nodes(
    book: PriceBook | None, nodes: Iterable[Node], like: Node, number: int, rollout_seconds: float, *, kept: int = 0,
    start_seconds: float | None = None,
) -> NodesPrice | None:  # fmt: skip
    """Of so many nodes of one pool beside `nodes`; None without a price."""
    return AddedNodes(book, nodes, [like], start_seconds).price([number], [kept], rollout_seconds)


def _hour_and_month(book: PriceBook | None, node: Node) -> tuple[float, float] | None:
    """USD an hour, and a month with sustained use, of one more node of the pool: a spot pool brings a spot node."""
    price = None if book is None else price_node(book, node).price
    if price is None or price.usd_per_hour is None or price.sustained_use_usd_per_month is None:
        return None
    return price.usd_per_hour, price.sustained_use_usd_per_month


def _paid(book: PriceBook | None, nodes: Sequence[Node], likes: Sequence[Node]) -> list[int]:
    """Nodes like each that commitments pay for already, which cover none; those of a machine and region have them together."""
    known: dict[tuple[str, str, str], int] = {}
    kinds = [(machine_type(like), region(like), provisioning_model(like)) for like in likes]
    for kind, like in zip(kinds, likes, strict=True):
        if kind not in known:
            known[kind] = 0 if book is None else paid_for(book, nodes, like)
    return [known[kind] for kind in kinds]


def money(month: float | None, once: float | None, staying_nodes: int) -> str:
    """``$438 a month kept, $4.57 for one rollout``; where pods stay on some ``$438 a month``, with ``, $4.57 for one rollout`` for
    those that go again."""
    if month is None:
        return "no price"
    each = "" if once is None else f", {usd(once)} for one rollout"
    return f"{usd(month)} a month{'' if staying_nodes else ' kept'}{each}"


def priced(month: float | None, once: float | None, number: int, staying_nodes: int) -> str:
    """`money`, and on how many of the nodes pods stay: ``$438 a month: it stays in use afterwards``."""
    if month is None or not staying_nodes:
        return money(month, once, staying_nodes)
    which = plural(number, "it stays", "they stay")
    if staying_nodes < number:
        which = f"{staying_nodes:,} of them {plural(staying_nodes, 'stays', 'stay')}"
    return f"{money(month, once, staying_nodes)}: {which} in use afterwards"
