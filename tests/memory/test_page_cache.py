from hypothesis import given
from hypothesis import strategies as st

from planner.health.memory.page_cache_room import CacheRoom, Fate, ReadSource, cache_room, heap_fate, read_again
from tests.memory.objects import GIB, MIB

PROCESS = 20 * MIB  # a process that reads a file holds little besides


def test_the_measured_case_is_met() -> None:
    """A file of 4 GiB read a second time: under 1 GiB all of it from disk (4.295 GB), under 8 GiB nothing."""
    for limit, reading in (
        (GIB, ReadSource.FROM_DISK),
        (8 * GIB, ReadSource.CACHED),
    ):  # 29.5 s and 6.5 s (issue 6, 2026)
        assert read_again(4 * GIB, cache_room(limit, PROCESS)) is reading


def test_a_heap_larger_than_its_limit_is_killed_without_swap_and_lives_with_it() -> None:
    assert heap_fate(4 * GIB, GIB, 0) is Fate.OOM_KILLED
    assert heap_fate(4 * GIB, GIB, 4 * GIB) is Fate.SWAPS
    assert heap_fate(4 * GIB, GIB, None) is Fate.SWAPS
    assert heap_fate(4 * GIB, GIB, GIB) is Fate.OOM_KILLED
    assert heap_fate(4 * GIB, 8 * GIB, 0) is heap_fate(4 * GIB, None, 0) is Fate.FITS


def test_room_is_what_the_limit_leaves() -> None:
    assert cache_room(2 * GIB, GIB) == CacheRoom(room_bytes=GIB, reason="estimate: limit minus working set")
    by_kind = cache_room(2 * GIB, GIB, anonymous_bytes=512 * MIB)
    assert by_kind.room_bytes == 2 * GIB - 512 * MIB
    assert by_kind.reason == "estimate: limit minus anonymous memory"
    assert cache_room(GIB, 2 * GIB).room_bytes == 0


def test_without_a_limit_the_node_is_the_room() -> None:
    assert cache_room(None, GIB, node_free_bytes=3 * GIB).room_bytes == 3 * GIB
    assert cache_room(None, GIB).room_bytes is None


def test_unknown_use_stays_unknown() -> None:
    room = cache_room(GIB, None)
    assert room.room_bytes is None
    assert read_again(GIB, room) is ReadSource.UNKNOWN
    assert "no PodMetrics" in room.reason


@given(st.lists(st.integers(1, 64), min_size=2, max_size=6), st.integers(0, 64))
def test_a_larger_file_never_reads_less(files: list[int], room: int) -> None:
    left = CacheRoom(room_bytes=room, reason="")
    read = [size if read_again(size, left) is ReadSource.FROM_DISK else 0 for size in sorted(files)]
    assert read == sorted(read)
