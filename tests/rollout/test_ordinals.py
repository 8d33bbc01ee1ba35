"""What is kept up to date of a StatefulSet's pods is what looking at all of them would find."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from planner.rollout.controllers.ordinals import Ordinals
from tests.seen import premise


def _pod(number: int, ordinal: int, random: Random) -> Any:
    return SimpleNamespace(
        number=number, ordinal=ordinal, revision=random.choice("ab"), is_gone=False, is_terminating=False,
        is_available=False,
    )  # fmt: skip


def _looked_at(pods: list[Any], wanted: range) -> tuple[object, ...]:
    by_ordinal = {p.ordinal: p for p in pods}
    inside = [p for o, p in sorted(by_ordinal.items()) if o in wanted]
    outside = [p for o, p in sorted(by_ordinal.items()) if o not in wanted]
    out_inside = [p.ordinal for p in inside if p.is_terminating or not p.is_available]
    out_outside = [p.ordinal for p in outside if p.is_terminating or not p.is_available]
    old = [p.ordinal for p in inside if p.revision != "b" and not p.is_terminating]
    return (
        next((o for o in wanted if o not in by_ordinal), None),
        len(by_ordinal),
        sum(p.revision == "b" and not p.is_terminating for p in pods),
        (len(out_inside), min(out_inside, default=None), max(out_inside, default=None)),
        old[::-1][:3],
        max((p.ordinal for p in outside), default=None),
        (len(out_outside), min(out_outside, default=None)),
        [p.ordinal for p in outside if not p.is_terminating][::-1],
    )


def _kept(pods: Ordinals) -> tuple[object, ...]:
    return (
        pods.first_missing,
        pods.count,
        pods.updated,
        (len(pods.unavailable), pods.unavailable.lowest, pods.unavailable.highest),
        pods.old.highest_first(3),
        pods.surplus.highest,
        (len(pods.surplus_unavailable), pods.surplus_unavailable.lowest),
        pods.surplus_standing.highest_first(99),
    )


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_a_look_at_all_pods_finds(seed: int) -> None:
    random = Random(seed)
    wanted = range(random.choice((0, 3)), random.choice((3, 8, 20)))
    there = [_pod(number, random.randrange(25), random) for number in range(random.randrange(20))]
    pods = Ordinals(wanted, "b", there)
    for number in range(100, 500):
        if not there or random.random() < 0.3:
            pod = _pod(number, random.randrange(25), random)
            there.append(pod)
        else:
            pod = random.choice(there)
            field = random.choice(("is_gone", "is_terminating", "is_available"))
            setattr(pod, field, field != "is_available" or not pod.is_available)
            if pod.is_gone:
                there.remove(pod)
        pods.take(pod)
        if premise(random.random() < 0.7):  # several things happen between two looks
            assert _kept(pods) == _looked_at(there, wanted), number
