"""The cost of a million tokens by model and namespace: what the serving pods cost, and the part paid while they served
no tokens. With other pods and unrequested capacity it adds up to the bill.

OpenCost has a cost per token since July 2026; ours is of the same cents as the bill (`planner.pricing.projected_bill`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from planner.ground.answer_layout import Column
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import count, listing, plural, usd
from planner.inventory.token_use import TokenUse
from planner.kubernetes.object_records import Snapshot
from planner.pricing.cent_rounding import shared_out
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import bill, usd_of_pods


class TokenShare(StrEnum):
    """The owner of this line of the bill."""

    SERVES = "serves tokens"
    OTHERS = "other pods, shared pods and unused commitments"
    NOBODY = "nobody requests"


class TokenCost(Record):
    """A line: a model in a namespace, or the others. Tokens and USD are a month's, at the pace seen; money is whole cents, None without a
    price of any of its pods' nodes (`unpriced_pods`: in no sum). `idle_usd`: of `usd_per_month`, the share of the time without a token."""

    share: TokenShare
    namespace: str = ""
    model: str = ""
    pods: int = 0
    unpriced_pods: int = 0
    prompt_tokens: float = 0.0
    generation_tokens: float = 0.0
    usd_per_month: float | None = None
    idle_usd: float | None = None

    @property
    def tokens(self) -> float:
        return self.prompt_tokens + self.generation_tokens

    def usd_per_million(self, *, with_idle: bool) -> float | None:
        """USD per million tokens, of the time in which it served; with what was paid in between, too."""
        if self.usd_per_month is None or not self.tokens:
            return None
        return (self.usd_per_month - (0.0 if with_idle else self.idle_usd or 0.0)) / self.tokens * 1e6


def _dollars(amount: float | None) -> str | None:
    return None if amount is None else f"${amount:,.4g}"


COLUMNS: Final[tuple[Column[TokenCost], ...]] = (
    Column("share", lambda line: line.share.value),
    Column("namespace", label="namespace"),
    Column("model", label="model"),
    Column("pods", lambda line: line.pods or None),
    Column("prompt_tokens", lambda line: round(line.prompt_tokens) or None, heading="prompt tokens a month"),
    Column("generation_tokens", lambda line: round(line.generation_tokens) or None, heading="generated a month"),
    Column("usd_per_month", heading="$/month"),
    Column("idle_usd", heading="of it without a token"),
    # whole cents would be too coarse: their names don't say "usd"
    Column("price_per_million_tokens", lambda line: line.usd_per_million(with_idle=False), heading="$/million tokens",
        words=lambda line: _dollars(line.usd_per_million(with_idle=False)), metric="token_price", unit="USD per million tokens"),
    Column("price_per_million_tokens_with_idle", lambda line: line.usd_per_million(with_idle=True), heading="with idle",
        words=lambda line: _dollars(line.usd_per_million(with_idle=True))),
    Column("unpriced_pods", lambda line: line.unpriced_pods or None, heading="pods without a price"),
)  # fmt: skip


def token_costs(snapshot: Snapshot, uses: Iterable[TokenUse], book: PriceBook) -> tuple[TokenCost, ...]:
    """The lines, dearest model first; they add up to the bill. Pods that are gone bear nothing today: their tokens aren't counted."""
    uids = {(pod.namespace, pod.name): pod.uid for pod in snapshot.pods if pod.holds_room}
    hourly, whole = usd_of_pods(book, snapshot), bill(book, snapshot)
    of_pod: dict[str, list[TokenUse]] = defaultdict(list)
    for use in uses:
        if use.seconds and (uid := uids.get((use.namespace, use.pod))) is not None:
            of_pod[uid].append(use)
    lines: dict[tuple[str, str], TokenCost] = {}
    for uid, models in of_pod.items():
        served = sum(use.prompt_tokens + use.generation_tokens for use in models)
        idle_share = 1 - min(1.0, sum(use.busy_seconds for use in models) / max(use.seconds for use in models))
        for use in models:
            key = use.namespace, use.model
            line = lines.get(key) or TokenCost(share=TokenShare.SERVES, namespace=use.namespace, model=use.model)
            # A pod that served nothing bears its cost in equal parts for its models: none may drop out of the sum.
            part = (use.prompt_tokens + use.generation_tokens) / served if served else 1 / len(models)
            month = HOURS_PER_MONTH * 3_600 / use.seconds
            usd_a_month = hourly[uid] * HOURS_PER_MONTH * part if uid in hourly else None
            lines[key] = replace(
                line,
                pods=line.pods + 1,
                unpriced_pods=line.unpriced_pods + (usd_a_month is None),
                prompt_tokens=line.prompt_tokens + use.prompt_tokens * month,
                generation_tokens=line.generation_tokens + use.generation_tokens * month,
                usd_per_month=_added(line.usd_per_month, usd_a_month),
                idle_usd=_added(line.idle_usd, None if usd_a_month is None else usd_a_month * idle_share),
            )
    return _in_cents(list(lines.values()), whole.bill_usd_per_month, whole.bill_idle.total if whole.bill_idle else 0.0)


def _added(first_cost: float | None, other: float | None) -> float | None:
    return first_cost if other is None else (first_cost or 0.0) + other


def _in_cents(lines: list[TokenCost], bill_usd: float | None, nobody_usd: float) -> tuple[TokenCost, ...]:
    """Whole cents, with the other lines of the bill; nothing of these where nothing has a price."""
    lines.sort(key=lambda line: (-(line.usd_per_month or 0.0), line.namespace, line.model))
    if bill_usd is None or not lines:
        return tuple(lines)
    amounts = [line.usd_per_month or 0.0 for line in lines]
    others = max(0.0, bill_usd - sum(amounts) - nobody_usd)
    *each, other_cents, nobody = shared_out([*amounts, others, nobody_usd], bill_usd)
    return (
        *(
            line if line.usd_per_month is None
            else replace(line, usd_per_month=cents / 100, idle_usd=round(line.idle_usd or 0.0, 2))
            for line, cents in zip(lines, each, strict=True)
        ),
        TokenCost(share=TokenShare.OTHERS, usd_per_month=other_cents / 100),
        TokenCost(share=TokenShare.NOBODY, usd_per_month=nobody / 100),
    )  # fmt: skip


def tokens_sentence(lines: Iterable[TokenCost]) -> str:
    """What a million tokens cost, of the dearest models; "" where none was served."""
    return listing([_said(line) for line in lines if line.share is TokenShare.SERVES and line.tokens], most=3)


def _said(line: TokenCost) -> str:
    """``$0.42 per million tokens of llama in ml ($1,200 a month, $300 of it without a token)``."""
    each = line.usd_per_million(with_idle=False)
    unpriced = (
        f", {count(line.unpriced_pods, 'pod')} without a price {plural(line.unpriced_pods, 'is', 'are')} not in it"
        if line.unpriced_pods
        else ""
    )
    where = f"{line.model or 'a model without a name'} in {line.namespace}"
    if each is None or line.usd_per_month is None:
        return f"no price of the tokens of {where}"
    idle = f", {usd(line.idle_usd or 0.0)} of it without a token" if line.idle_usd else ""
    return f"{_dollars(each)} per million tokens of {where} ({usd(line.usd_per_month)} a month{idle}{unpriced})"
