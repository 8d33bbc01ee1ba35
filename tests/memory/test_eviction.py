from hypothesis import given
from hypothesis import strategies as st

from planner.health.memory.eviction import PodUsage, eviction_lines, eviction_order
from planner.health.memory.kubelet import KubeletSettings, NodeMemory, Threshold
from tests.memory.objects import GIB, MIB

NODE = NodeMemory(capacity_bytes=16 * GIB, allocatable_bytes=14 * GIB)


def usage(name: str, used: int | None, request: int = 0, priority: int = 0) -> PodUsage:
    return PodUsage(name=name, priority=priority, request_bytes=request, working_set_bytes=used)


def names(*pods: PodUsage) -> list[str]:
    return [pod.name for pod in eviction_order(pods)]


def test_over_request_goes_before_priority() -> None:
    assert names(usage("low", 1, 2, priority=-10), usage("high-over", 3, 2, priority=1000)) == ["high-over", "low"]


def test_then_low_priority_then_most_over() -> None:
    over = [usage("a", 5, 1), usage("b", 9, 1), usage("c", 50, 1, priority=1)]
    assert names(*over) == ["b", "a", "c"]
    assert names(usage("a", 1, 5), usage("b", 1, 2)) == ["b", "a"]  # below their requests: the nearest to it first


def test_pods_the_kubelet_knows_nothing_of_go_first() -> None:
    assert names(usage("known", 9, 1), usage("unknown", None, priority=1000)) == ["unknown", "known"]


def test_at_its_request_is_not_over() -> None:
    assert usage("a", 5, 5).over_request_bytes == 0
    assert names(usage("a", 5, 5), usage("b", 6, 5, priority=9)) == ["b", "a"]


PODS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([-1, 0, 5])), max_size=8)


@given(PODS)
def test_names_and_order_of_listing_change_nothing(given_pods: list[tuple[int, int, int]]) -> None:
    pods = [usage(str(index), *each) for index, each in enumerate(given_pods)]
    order = [(p.working_set_bytes, p.request_bytes, p.priority) for p in eviction_order(pods)]
    back = [(p.working_set_bytes, p.request_bytes, p.priority) for p in eviction_order(reversed(pods))]
    assert [_what_counts(*each) for each in order] == [_what_counts(*each) for each in back]


def _what_counts(used: int | None, request: int, priority: int) -> tuple[bool, int, int]:
    assert used is not None
    return used > request, priority, used - request


def test_hard_eviction_begins_when_pods_use_all_of_allocatable() -> None:
    lines = eviction_lines(NODE, KubeletSettings())
    assert lines.hard_bytes == 14 * GIB
    assert lines.limit_bytes == 14 * GIB + 100 * MIB
    assert lines.system_bytes == 2 * GIB - 100 * MIB
    assert lines.soft_bytes is None
    assert not lines.system_is_measured


def test_a_soft_threshold_lies_below() -> None:
    settings = KubeletSettings(soft=Threshold(amount_bytes=GIB))
    assert eviction_lines(NODE, settings).soft_bytes == 13 * GIB + 100 * MIB


def test_a_system_that_takes_more_than_its_share_moves_the_lines() -> None:
    settings = KubeletSettings(soft=Threshold(percent=10.0))
    lines = eviction_lines(NODE, settings, system_bytes=4 * GIB)
    assert lines.hard_bytes == 12 * GIB - 100 * MIB
    assert lines.soft_bytes == 12 * GIB - Threshold(percent=10.0).of(16 * GIB)
    assert lines.system_is_measured
    small = eviction_lines(NODE, settings, system_bytes=GIB)
    assert small.hard_bytes == 14 * GIB  # allocatable still binds


def test_without_a_hard_threshold_there_is_no_line() -> None:
    lines = eviction_lines(NODE, KubeletSettings(hard=None))
    assert lines.hard_bytes is None
    assert lines.limit_bytes == 14 * GIB
