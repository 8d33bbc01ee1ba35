"""The targets that are asked of large clusters: nobody weakens one unseen."""

import pytest

from tests.bench import commands
from tests.bench.__main__ import _asked, _replicas
from tests.bench.inputs import COPIES, DEMO, FIVE, OPENB, QUIET, SOME, VARIED
from tests.bench.table import kept


def test_how_long_one_waits() -> None:
    asked = {(one.figure, one.cluster): one.at_most_seconds for one in commands.waited() if one.at_most_seconds}
    by_clock, cpu = "headroom {}; all cores, clock", "headroom {}; CPU"
    assert asked == {
        (by_clock.format("diff"), VARIED): 20,
        (by_clock.format("restarts"), VARIED): 20,
        (by_clock.format("plan"), VARIED): 20,
        (by_clock.format("plan"), COPIES): 5,
        (by_clock.format("plan"), SOME): 3,
        (by_clock.format("report"), VARIED): 30,
        (by_clock.format("report"), QUIET): 10,
        (cpu.format("survive"), VARIED): 20,
        (cpu.format("make-room"), OPENB): 10,
        (cpu.format("make-room"), COPIES): 10,
    }


def test_one_verdict() -> None:
    for cluster, most in ((DEMO, 0.02), (OPENB, 0.005), (COPIES, 0.02), (VARIED, 0.08)):
        asked = {one.figure: one.at_most_seconds for one in _asked(cluster)}
        assert [asked["one verdict, stuck; CPU"], asked["one verdict, completes; CPU"]] == [most, most]
    assert [one.at_most_seconds for one in _replicas()] == [1.0, 1.0, 1.0]


def test_reading() -> None:
    asked = {one.cluster: one.at_most_ratio for one in commands.load() if one.figure == "reading / a bare decode; CPU"}
    assert asked == dict.fromkeys(FIVE, 2.0)


def test_what_failed_is_not_tried_again() -> None:
    tried = []

    @kept
    def ask(what: str) -> str:
        tried.append(what)
        if what == "bad":
            raise ValueError(what)
        return what

    assert [ask("good"), ask("good")] == ["good", "good"]
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            ask("bad")
    assert tried == ["good", "bad"]
