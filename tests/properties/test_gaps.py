"""Part of a cluster is not the cluster: nothing that is stuck in the whole completes in a part, with exit status 0."""

from __future__ import annotations

import random

import pytest

from tests.properties.gaps import flips, items, part, stuck, text_of
from tests.quick import is_quick, seeds


def test_there_is_something_to_turn() -> None:
    assert len(stuck()) >= 5


@pytest.mark.parametrize("seed", seeds(60))
def test_no_part_of_a_cluster_lets_complete_what_is_stuck_in_it(seed: int) -> None:
    what, data = part(random.Random(seed))
    assert not list(flips(what, data))


@pytest.mark.parametrize("share", range(1, 20, 4 if is_quick() else 1))
def test_no_dump_that_is_cut_off_in_its_pods_does(share: int) -> None:
    data = text_of(sorted(items(), key=lambda one: one["kind"] == "Pod"))
    assert not list(flips(f"{share} of 20", data[: len(data) * share // 20]))
