from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.ground.records import replace
from planner.ground.well_known_names import CPU, MEMORY
from planner.health.memory.request_suggestions import Basis, round_up_bytes, suggest
from planner.inventory.change_validation import check_resources
from planner.inventory.usage import Usage
from planner.kubernetes.object_records import Container, FrozenMap
from tests.builders.records import amounts
from tests.restarts.cases import GIB, MIB
from tests.seen import premise

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
    if not premise(found) or found is None:
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


# ── what the API server takes ────────────────────────────────────────────────────────────────────────────────────────
def bound(cpu: str = "200m") -> Container:
    return Container(name="c", limits=amounts(memory="256Mi", cpu=cpu), requests=amounts(memory="256Mi", cpu=cpu))


ROOMY = Container(name="c", limits=amounts(memory="2Gi", cpu="2"), requests=amounts(memory="2Gi", cpu="2"))


def test_a_cpu_limit_goes_along_with_a_request_above_it() -> None:
    found = suggest(bound(), [usage(250 * MIB, cpu=199)], [usage(950 * MIB, cpu=900)], working=[ROOMY])
    assert found is not None
    assert found.text == "memory request 1152Mi, limit 1152Mi, CPU request 1040m, limit 1040m"
    assert "the CPU limit goes along" in found.rule
    check_resources(found.applied(bound()), "c")
    container = found.patch["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {
        "requests": {"memory": "1152Mi", "cpu": "1040m"},
        "limits": {"memory": "1152Mi", "cpu": "1040m"},
    }


def test_a_cpu_limit_above_the_request_is_left_alone_and_none_is_made() -> None:
    wide = replace(bound(), limits=amounts(memory="256Mi", cpu="2"))
    for container in (wide, replace(bound(), limits=amounts(memory="256Mi"))):
        found = suggest(container, [usage(100 * MIB, cpu=500)])
        assert found is not None
        assert (found.cpu_request_millicores, found.cpu_limit_millicores) == (580, None)
        assert "cpu" not in found.patch["spec"]["template"]["spec"]["containers"][0]["resources"].get("limits", {})


def test_where_nothing_was_measured_the_same_programs_values_are_the_suggestion() -> None:
    found = suggest(bound(), [], working=[ROOMY], is_short=True)
    assert found is not None
    assert (found.text, found.basis) == ("memory request 2Gi, limit 2Gi, CPU request 2, limit 2", Basis.GIVEN)
    assert "isn't known" in found.unproven
    check_resources(found.applied(bound()), "c")


def test_a_program_that_is_given_no_more_where_it_works_suggests_nothing() -> None:
    assert suggest(ROOMY, [], working=[bound(), ROOMY], is_short=True) is None
    assert suggest(bound(), [], is_short=True) is None
    assert suggest(bound(), [], working=[ROOMY]) is None  # nothing tells that it is short
    assert suggest(bound(), [], working=[Container(name="c")], is_short=True) is None


def test_only_what_is_more_where_it_works_is_changed() -> None:
    unlimited = Container(name="c", requests=amounts(cpu="1"))
    found = suggest(bound(), [], working=[unlimited], is_short=True)
    assert found is not None
    assert found.text == "memory request 256Mi, limit 256Mi, CPU request 1, limit 1"
    without = suggest(Container(name="c", requests=amounts(cpu="100m")), [], working=[unlimited], is_short=True)
    assert without is not None
    assert without.text == "CPU request 1"


CORES = st.none() | st.integers(1, 100_000)
AMOUNTS = st.none() | st.integers(1, 2**42)


@given(
    AMOUNTS,
    AMOUNTS,
    CORES,
    CORES,
    st.lists(st.tuples(SIZES, CORES), max_size=3),
    st.lists(st.tuples(SIZES, CORES), max_size=2),
    st.booleans(),
)
def test_whatever_is_suggested_the_api_server_takes(
    memory: int | None, memory_limit: int | None, cpu: int | None, cpu_limit: int | None,
    own: list[tuple[int, int | None]], peers: list[tuple[int, int | None]], was_killed: bool,
) -> None:  # fmt: skip
    def given_of(first: int | None, second: int | None) -> FrozenMap[int]:
        return FrozenMap({name: one for name, one in ((MEMORY, first), (CPU, second)) if one is not None})

    limits = given_of(memory_limit, cpu_limit)
    requests = given_of(memory, cpu)
    container = Container(
        name="c", limits=limits, requests=FrozenMap({n: min(r, limits.get(n, r)) for n, r in requests.items()})
    )
    found = suggest(
        container, [usage(size, cpu=used) for size, used in own], [usage(size, cpu=used) for size, used in peers],
        working=[ROOMY], was_oom_killed=was_killed, is_short=not own,
    )  # fmt: skip
    if premise(found is not None):
        assert found is not None
        check_resources(found.applied(container), "c")
