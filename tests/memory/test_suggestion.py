from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.ground.vocabulary import CPU, MEMORY
from planner.health.memory.suggestion import Basis, round_up_bytes, suggest
from planner.inventory.usage import Usage
from planner.kubernetes.records import Container, FrozenMap
from tests.builders.records import amounts
from tests.restarts.cases import GIB, MIB

SIZES = st.integers(1, 2**42)


def usage(working_set: int, *, cpu: int | None = None, samples: int = 1, pod: str = "p") -> Usage:
    return Usage(
        namespace="n", pod=pod, container="c", working_set_bytes=working_set, cpu_millicores=cpu, samples=samples,
        started_at=0, ended_at=60.0 * (samples - 1), source="test",
    )  # fmt: skip


def made(limit: int | None = None, request: int | None = None, **cpu: str) -> Container:
    limits = {MEMORY: limit} if limit is not None else {}
    requests = {MEMORY: request} if request is not None else {}
    return Container(name="c", limits=FrozenMap({**limits, **amounts(**{k: v for k, v in cpu.items() if k == "cpu"})}),
                     requests=FrozenMap(requests))  # fmt: skip


def test_nothing_measured_nothing_suggested() -> None:
    assert suggest(made(limit=GIB), []) is None


def test_largest_seen_plus_the_margin() -> None:
    found = suggest(made(), [usage(500 * MIB, samples=99), usage(800 * MIB, samples=99)])
    assert found is not None
    assert (found.memory_request_bytes, found.basis) == (928 * MIB, Basis.SEEN)  # 800 × 1.15 = 920, to 32 MiB
    assert found.memory_limit_bytes is None  # there is none: none is suggested


def test_after_an_oom_kill_more_than_the_limit_it_died_at() -> None:
    small = suggest(made(limit=256 * MIB), [usage(100 * MIB)], was_oom_killed=True)
    large = suggest(made(limit=4 * GIB), [usage(100 * MIB)], was_oom_killed=True)
    assert small is not None
    assert large is not None
    assert small.memory_request_bytes >= 356 * MIB
    assert large.memory_request_bytes >= 4 * GIB * 12 // 10
    assert small.basis is large.basis is Basis.OOM
    assert "killed at its limit of 256Mi" in small.rule


def test_a_use_shaped_by_its_limit_asks_the_peers() -> None:
    found = suggest(made(limit=256 * MIB), [usage(250 * MIB)], [usage(2 * GIB)])
    assert found is not None
    assert found.is_starved
    assert found.basis is Basis.PEERS
    assert found.memory_request_bytes >= 2 * GIB * 115 // 100


def test_a_use_far_from_its_limit_does_not() -> None:
    found = suggest(made(limit=GIB), [usage(250 * MIB)], [usage(2 * GIB)])
    assert found is not None
    assert not found.is_starved
    assert found.memory_request_bytes < GIB


def test_one_moment_raises_and_never_lowers() -> None:
    kept = suggest(made(limit=4 * GIB, request=2 * GIB), [usage(500 * MIB, cpu=10)])
    assert kept is not None
    assert (kept.memory_request_bytes, kept.memory_limit_bytes) == (2 * GIB, 4 * GIB)
    assert "kept at 2Gi" in kept.rule
    lowered = suggest(made(limit=4 * GIB, request=2 * GIB), [usage(500 * MIB, samples=2_000)])
    assert lowered is not None
    assert lowered.memory_request_bytes < GIB


def test_cpu_is_a_request_only_and_rounded_up() -> None:
    found = suggest(made(), [usage(MIB, cpu=101, samples=9)])
    assert found is not None
    assert found.cpu_request_millicores == 120  # 101 × 1.15 = 116.15


def test_a_container_at_its_cpu_limit_asks_the_peers() -> None:
    found = suggest(made(cpu="200m"), [usage(MIB, cpu=190, samples=9)], [usage(MIB, cpu=900, samples=9)])
    assert found is not None
    assert found.cpu_request_millicores == 1_040


@given(
    own=st.lists(SIZES, max_size=4),
    peers=st.lists(SIZES, max_size=4),
    limit=st.none() | SIZES,
    request=st.none() | SIZES,
    killed=st.booleans(),
    samples=st.integers(1, 3),
)
def test_never_below_what_was_seen(
    own: list[int], peers: list[int], limit: int | None, request: int | None, killed: bool, samples: int
) -> None:
    container = made(limit=limit, request=request)
    found = suggest(
        container,
        [usage(size, samples=samples) for size in own],
        [usage(size) for size in peers],
        was_oom_killed=killed,
    )
    if found is None:
        assert not own
        return
    assert found.memory_request_bytes >= max(own, default=0)
    assert found.memory_request_bytes >= found.seen_bytes
    if limit is not None:
        assert found.memory_limit_bytes is not None
        assert found.memory_limit_bytes >= max(limit, found.memory_request_bytes)
        if killed:
            assert found.memory_limit_bytes > limit


@given(SIZES)
def test_rounding_never_goes_down_and_never_far(amount: int) -> None:
    rounded = round_up_bytes(amount)
    assert amount <= rounded < amount + 512 * MIB
    assert round_up_bytes(rounded) == rounded


def test_the_source_tells_how_long_was_looked() -> None:
    found = suggest(made(), [usage(MIB, samples=121)])
    assert found is not None
    assert "121 readings from test, over 2 h" in found.source
    assert CPU not in found.text


def test_what_a_sibling_that_works_is_given_is_the_least_where_nobody_measured() -> None:
    """640Mi was suggested where the same program works with a request of 1536Mi and a limit of 4Gi."""
    working = [made(request=1536 * MIB, limit=4 * GIB)]
    found = suggest(made(limit=512 * MIB), [], working=working, was_oom_killed=True)
    assert found is not None
    assert (found.memory_request_bytes, found.memory_limit_bytes) == (1536 * MIB, 4 * GIB)
    assert found.basis is Basis.GIVEN
    assert "wasn't measured" in found.rule
    smaller = suggest(made(limit=4 * GIB), [], working=[made(request=GIB, limit=GIB)], was_oom_killed=True)
    assert smaller is not None
    assert smaller.basis is Basis.OOM
    measured = suggest(made(limit=512 * MIB), [], [usage(2 * GIB)], working=working, was_oom_killed=True)
    assert measured is not None
    assert measured.basis is Basis.PEERS
    assert suggest(made(limit=512 * MIB), [], working=working) is None
