import pytest

from planner.ground.errors import InputError
from planner.inventory.cadvisor import ContainerMemoryStats, parse

# The shape of a kubelet's /metrics/cadvisor; names and figures made up.
TEXT = """\
# HELP container_memory_rss Size of RSS in bytes.
# TYPE container_memory_rss gauge
container_memory_working_set_bytes{container="",id="/",image="",name="",namespace="",pod=""} 7.5e+09 1763629370000
container_memory_working_set_bytes{container="",id="/kubepods.slice/pod1",image="",name="",namespace="dev",pod="api-1"} 300 1
container_memory_working_set_bytes{container="api",id="/k/1",image="x",name="c1",namespace="dev",pod="api-1"} 2.5e+08 1763629370000
container_memory_rss{container="api",id="/k/1",image="x",name="c1",namespace="dev",pod="api-1"} 2e+08 1763629370000
container_memory_cache{container="api",id="/k/1",image="x",name="c\\"1",namespace="dev",pod="api-1"} 1e+08
container_memory_swap{container="api",id="/k/1",image="x",name="c1",namespace="dev",pod="api-1"} NaN 1763629370000
container_memory_rss{container="POD",id="/k/0",image="pause",name="p",namespace="dev",pod="api-1"} 45056
container_cpu_usage_seconds_total{container="api",namespace="dev",pod="api-1"} 5
"""


def test_containers_by_kind_and_the_node() -> None:
    stats = parse(TEXT)
    assert stats.working_set_bytes == 7_500_000_000
    assert stats.containers == (
        ContainerMemoryStats(
            namespace="dev",
            pod="api-1",
            container="api",
            working_set_bytes=250_000_000,
            anonymous_bytes=200_000_000,
            cache_bytes=100_000_000,
        ),
    )
    assert stats.pods_bytes == 250_000_000


@pytest.mark.parametrize("text", ["", "hello", "container_memory_working_set_bytes 5", "node_memory_MemFree_bytes 3"])
def test_something_else_is_refused_with_what_to_give(text: str) -> None:
    with pytest.raises(InputError, match="metrics/cadvisor"):
        parse(text)
