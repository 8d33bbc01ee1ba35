from planner.health.memory.oom_kill_order import badness, kill_order, share_per_mille
from tests.memory.objects import GIB, MIB

TOTAL = 16 * GIB
PAGES = TOTAL // 4096


def test_points_are_pages_plus_thousandths_of_all_memory() -> None:
    assert badness(GIB, 0, TOTAL) == GIB // 4096
    assert badness(GIB, 1000, TOTAL) == GIB // 4096 + PAGES
    assert badness(GIB, -997, TOTAL) == GIB // 4096 - 997 * PAGES // 1000


def test_division_cuts_towards_zero_as_in_c() -> None:
    total = 4096 * 1500  # 1500 pages: −1 thousandth is −1.5 pages, cut to −1
    assert badness(0, -1, total) == -1
    assert badness(0, 1, total) == 1


def test_minus_1000_is_never_chosen() -> None:
    assert badness(8 * GIB, -1000, TOTAL) is None


def test_a_small_best_effort_goes_before_a_large_burstable() -> None:
    points = [badness(6 * GIB, 500, TOTAL), badness(100 * MIB, 1000, TOTAL), badness(12 * GIB, -997, TOTAL), None]
    assert kill_order(points) == (1, 0, 2)


def test_share_is_in_the_unit_of_oom_score_adj() -> None:
    assert share_per_mille(4 * GIB, TOTAL) == 250.0
    assert share_per_mille(1, 0) == 0.0
