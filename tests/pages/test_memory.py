import pytest
from streamlit.testing.v1 import AppTest

from planner.kubernetes.object_records import Snapshot
from tests.memory.objects import container, node, pod, snapshot
from tests.pages.visiting import visit

CELERY = {"workload": "Deployment/dev/celery", "container": "celery"}
NODES = {"nodes": "true"}


def page(given: Snapshot | None = None, query: dict[str, str] | None = None) -> AppTest:
    return visit("memory", given, **(query or {}))


def shown(app: AppTest) -> str:
    """All words in boxes and lines, as they are read."""
    kinds = (app.success, app.info, app.warning, app.error, app.markdown, app.caption)
    return "\n".join(str(one.value) for kind in kinds for one in kind).replace("\\", "")


def test_the_demo_says_which_pod_is_evicted_first() -> None:
    app = page(query=NODES)
    assert app.title[0].value == "Health"
    words = shown(app)
    assert "No node is past its eviction threshold" in words
    assert "Is within 10% of its memory limit." in shown(page())
    assert "Change a value above" in shown(page(query={**CELERY, "memory_what_if": "true"}))


def test_a_link_shows_another_node_and_a_soft_threshold() -> None:
    app = page(query={"node": "gke-edu-default-7f3a02", "soft": "2Gi"})
    assert app.selectbox(key="node").value == "gke-edu-default-7f3a02"
    assert "First to go: prod/celery" in shown(app)
    order = next(one.value for one in app.dataframe if "Evicted" in one.value)
    assert order["Pod"].iloc[0].startswith("prod/celery")


def test_what_if_joins_the_rollout() -> None:
    app = page(query={**CELERY, "request": "2Gi", "limit": "2Gi", "equal_cpu": "true"})
    assert "Class Burstable becomes Guaranteed" in shown(app)
    assert "Rollout: completes" in shown(app)
    assert str(app.code[-1].value).startswith("kubectl patch deployment/celery -n dev -p ")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"hard": "1K"}, "not a Kubernetes quantity"),
        ({**CELERY, "request": "9Gi", "limit": "1Gi"}, "request more memory than its limit"),
        ({**CELERY, "request": "lots"}, "not a Kubernetes quantity"),
    ],
)
def test_what_would_be_refused_is_a_sentence(query: dict[str, str], words: str) -> None:
    app = page(query=query)
    assert words in app.error[0].value


def test_without_metrics_use_is_unknown() -> None:
    app = page(snapshot([node()], [pod("p", container("main", "1Gi", "2Gi"))]), NODES)
    assert "How near eviction the nodes are is unknown" in shown(app)
    assert "no PodMetrics" in shown(app)


def test_without_nodes_the_page_says_what_to_read() -> None:
    assert "no nodes" in shown(page(snapshot(), NODES))
