"""A figure over its target is called not met."""

from tests.bench.table import Figure, header, spoken


def test_target_in_seconds() -> None:
    assert Figure(figure="a", cluster="", seconds=0.02, at_most_seconds=0.02).is_met is True
    slow = Figure(figure="a", cluster="", seconds=0.021, at_most_seconds=0.02)
    assert slow.is_met is False
    assert slow.line().endswith("<= 20 ms  NOT MET")
    assert slow.line(is_markdown=True).endswith("| <= 20 ms | NOT MET |")


def test_a_table_for_documents_has_as_many_cells_in_each_row() -> None:
    rows = [*header(is_markdown=True).splitlines(), Figure(figure="a", cluster="b").line(is_markdown=True)]
    assert {row.count("|") for row in rows} == {8}


def test_target_as_a_ratio_to_what_stands_beside_it() -> None:
    assert Figure(figure="a", cluster="", seconds=6, beside="bare", beside_seconds=2, at_most_ratio=3).is_met is True
    assert Figure(figure="a", cluster="", seconds=6.1, beside="bare", beside_seconds=2, at_most_ratio=3).is_met is False
    assert Figure(figure="a", cluster="", ratio=3.5, at_most_ratio=3).is_met is False


def test_no_target_no_verdict() -> None:
    assert Figure(figure="a", cluster="", seconds=6).is_met is None


def test_spoken() -> None:
    assert [spoken(seconds) for seconds in (None, 0.00042, 0.0205, 3.14159)] == ["", "0.42 ms", "20.5 ms", "3.14 s"]
