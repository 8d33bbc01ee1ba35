"""Answers AdmissionReviews from the latest snapshot in time: a warning, or nothing.

Source of the documents: Kubernetes, "Dynamic Admission Control", Webhook request and response; admission.k8s.io/v1.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from planner.serve.admission_review import API_VERSION, Silence, WebhookReview, read_uid
from planner.serve.metrics import Metrics, said_of
from planner.serve.review_processes import Reviewers
from planner.serve.snapshot_refresher import Keeper

ANSWER_SECONDS: Final = 0.9
"""An answer is there within a second, or nothing is said; the rest of the second is the way back."""
SHARE_OF_TIMEOUT: Final = 0.8  # of what the API server waits, which it says as ?timeout=2s
OLDEST_LISTINGS: Final = 5  # a live snapshot that missed so many listings isn't answered from


class Webhook:
    """Answers reviews.

    Parameters
    ----------
    denies : bool
        Whether a rollout that would be stuck is refused instead of warned of.
    within_seconds : float
        Until then there is an answer, or nothing is said.
    is_live : bool
        Whether the snapshot ages: one from a file is as old as it says, and a user chose it.
    keep : callable
        Gets the review of each write that is let pass, before its answer goes back.
    """

    def __init__(
        self, keeper: Keeper, metrics: Metrics, reviewers: Reviewers, *, denies: bool, is_live: bool,
        within_seconds: float = ANSWER_SECONDS, keep: Callable[[WebhookReview], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._keep = keep
        self._keeper, self._metrics, self._reviewers = keeper, metrics, reviewers
        self._denies, self._is_live, self._within_seconds = denies, is_live, within_seconds

    async def answer(self, body: bytes, timeout_seconds: float | None) -> dict[str, Any]:
        """The AdmissionReview that goes back.

        Raises
        ------
        InputError
            When `body` isn't one.
        """
        began = time.monotonic()
        uid = read_uid(body)
        wait = self._within_seconds
        if timeout_seconds is not None:
            wait = min(wait, SHARE_OF_TIMEOUT * timeout_seconds)
        admission_answer = await self._reviewed(body, began + wait, wait)
        is_denied = self._denies and admission_answer.is_stuck
        if admission_answer.rolls and not is_denied:
            self._reviewers.remember(body)
            self._keep(admission_answer)
        self._metrics.count(said_of(admission_answer, is_denied=is_denied), time.monotonic() - began)
        return response(uid, admission_answer, is_denied=is_denied)

    async def _reviewed(self, body: bytes, until: float, wait: float) -> WebhookReview:
        age = self._keeper.age_seconds()
        oldest = OLDEST_LISTINGS * max(60.0, self._keeper.every_seconds)
        if self._is_live and (age is None or age > oldest):
            return WebhookReview(silence=Silence.NOT_KNOWN)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._reviewers.ask(body, until)), wait)
        except TimeoutError:
            return WebhookReview(silence=Silence.TIME_UP)


def response(uid: str, admission_answer: WebhookReview, *, is_denied: bool) -> dict[str, Any]:
    """The review's answer: allowed, with a warning where there is one; refused only when that was asked for."""
    answer: dict[str, Any] = {"uid": uid, "allowed": not is_denied}
    if is_denied:
        answer["status"] = {"code": 403, "reason": "Forbidden", "message": admission_answer.warning}
    elif admission_answer.warning:
        answer["warnings"] = [admission_answer.warning]
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": answer}


def timeout_of(query: Mapping[str, str]) -> float | None:
    """``?timeout=2s`` in seconds, as Go writes durations of whole or broken seconds and milliseconds."""
    text = query.get("timeout", "")
    for unit, seconds in (("ms", 0.001), ("s", 1.0)):
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdecimal() and number.isascii():
            return float(number) * seconds
    return None
