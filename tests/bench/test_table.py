"""A figure over its target is called not met; one that can't be measured is told, and the others are measured."""

from collections.abc import Iterator

from tests.bench.table import Figure, Found, header, measured, spoken, times


def test_target_in_seconds() -> None:
    assert Figure(figure="a", cluster="", seconds=0.02, at_most_seconds=0.02).is_met is True
    slow = Figure(figure="a", cluster="", seconds=0.021, at_most_seconds=0.02)
    assert slow.is_met is False
    assert slow.line().endswith("≤ 20 ms  NOT MET")
    assert len(header()) < len(slow.line())


def test_target_as_a_ratio_to_what_stands_beside_it() -> None:
    assert Figure(figure="a", cluster="", seconds=6, beside="bare", beside_seconds=2, at_most_ratio=3).is_met is True
    assert Figure(figure="a", cluster="", seconds=6.1, beside="bare", beside_seconds=2, at_most_ratio=3).is_met is False
    assert Figure(figure="a", cluster="", ratio=3.5, at_most_ratio=3).is_met is False


def test_a_speed_up_is_at_least_its_target() -> None:
    assert Figure(figure="a", cluster="", ratio=1.7, at_least_ratio=1.7).is_met is True
    assert Figure(figure="a", cluster="", ratio=1.69, at_least_ratio=1.7).is_met is False


def test_no_target_no_verdict() -> None:
    assert Figure(figure="a", cluster="", seconds=6).is_met is None


def test_spoken() -> None:
    assert [spoken(seconds) for seconds in (None, 0.00042, 0.0205, 0.3, 3.14159)] == [
        "",
        "0.42 ms",
        "20.5 ms",
        "0.3 s",
        "3.14 s",
    ]


def test_times() -> None:
    assert [times(ratio) for ratio in (None, 0.0104, 1.7, 1340.0)] == ["", "0.0104 x", "1.7 x", "1,340 x"]


def test_what_cannot_be_measured_is_told_and_the_others_go_on() -> None:
    def broken() -> float:
        raise ValueError("no such\ncluster")

    def figures() -> Iterator[Figure]:
        yield Figure(figure="a", cluster="c", at_most_seconds=1.0, take=broken)
        yield Figure(figure="b", cluster="c", at_most_ratio=2.0, take=lambda: Found(seconds=3.0, beside=2.0))
        yield Figure(figure="c", cluster="c", take=lambda: 0.5)
        raise RuntimeError("the rest")

    first, second, third, rest = measured(figures(), "this part")
    assert (first.failed, first.is_met, first.seconds) == ("ValueError no such cluster", False, None)
    assert "FAILED: ValueError no such cluster" in first.line()
    assert (second.quotient, second.is_met) == (1.5, True)
    assert (third.seconds, third.is_met) == (0.5, None)
    assert (rest.figure, rest.failed) == ("what this part would have measured further", "RuntimeError the rest")
