"""The story of the demo cluster: two dev services that restart, a warning that has nothing to do with it."""

from __future__ import annotations

import pytest

from planner.health.drift.model import Aspect
from planner.health.drift.service_differences import drift
from planner.health.restarts.log_selection import wanted_logs
from planner.health.restarts.model import Cause, Confidence, LineVerdict, Loop
from planner.health.restarts.report import findings
from planner.kubernetes.object_records import Snapshot
from planner.questions.restarts import RestartPlan, RestartsSettings, answer
from planner.rollout.answers import Verdict
from planner.sources import demo
from planner.sources.cluster_argument import read_cluster


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


@pytest.fixture(scope="module")
def plan(snapshot: Snapshot) -> RestartPlan:
    return answer(snapshot, RestartsSettings())


def of(plan: RestartPlan, workload: str) -> Loop:
    return next(loop for loop in plan.report.loops if loop.workload == workload)


def test_only_these_two_are_in_trouble(plan: RestartPlan) -> None:
    assert [loop.workload for loop in plan.report.loops] == ["Deployment/dev/celery", "Deployment/dev/api"]
    assert plan.report.gaps == ()


def test_celery_is_killed_at_its_own_limit(plan: RestartPlan) -> None:
    loop = of(plan, "Deployment/dev/celery")
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.OOM_OWN_LIMIT, Confidence.CERTAIN)
    assert (loop.restarts, loop.memory_limit_bytes) == (41, 512 * 2**20)


def test_api_loses_its_workers_to_gunicorns_timeout_not_to_the_kernel(plan: RestartPlan) -> None:
    loop = of(plan, "Deployment/dev/api")
    assert loop.diagnosis.cause is Cause.CHILD_TIMEOUT
    assert "gunicorn's own timeout after 31 s and its readiness probe fails" in str(loop.sentence)
    assert "Memory is full (241 MiB of 256Mi)" in str(loop.sentence)
    assert any("118 times" in one.text for one in loop.diagnosis.evidence)
    assert (loop.restarts, loop.most_restarts, len(loop.pods)) == (18, 9, 2)


@pytest.mark.parametrize(("workload", "working"), [("Deployment/dev/celery", 3), ("Deployment/dev/api", 4)])
def test_the_numpy_warning_is_noise_with_the_count_of_working_pods(
    plan: RestartPlan, workload: str, working: int
) -> None:
    noise = of(plan, workload).noise
    assert len(noise) == 2  # float32 and float64
    for line in noise:
        assert "numpy" in line.template
        assert line.verdict is LineVerdict.NOISE
        assert (line.healthy_pods, line.healthy_pods_with_log) == (working, working)
        assert line.healthy_elsewhere + line.healthy_pods == 24
        assert line.per_start == line.per_start_healthy == 1


def test_the_timeouts_are_what_only_the_failing_pods_print(plan: RestartPlan) -> None:
    suspects = of(plan, "Deployment/dev/api").suspects
    assert ["WORKER TIMEOUT" in line.template or "SIGKILL" in line.template for line in suspects] == [True, True]
    assert {line.verdict for line in suspects} == {LineVerdict.ONLY_FAILING}


def test_cures_ask_for_what_the_program_uses_where_it_works_and_roll_out(plan: RestartPlan) -> None:
    assert len(plan.cures) == 2
    for cure in plan.cures:
        loop = of(plan, cure.workload)
        assert loop.peers is not None
        assert cure.suggestion.memory_request_bytes > (loop.peers.working_set_bytes or 0)
        assert all(room.fits for room in cure.rooms)
        assert "the room" in cure.room_sentence
        assert cure.rollout is not None
        assert cure.rollout.verdict is Verdict.COMPLETES
        assert f"patch deployment/{cure.workload.rpartition('/')[2]}" in cure.command


def test_findings_reach_the_overview(snapshot: Snapshot) -> None:
    assert [(one.code, one.object) for one in findings(snapshot)] == [
        ("restarts-oom-own-limit", "Deployment/dev/celery"),
        ("restarts-child-timeout", "Deployment/dev/api"),
    ]


def test_dev_api_against_prod_api(snapshot: Snapshot) -> None:
    service = next(one for one in drift((snapshot,)).services if one.service == "api")
    assert service.environments == ("prod", "dev")
    assert str(service.sentence) == (
        "environment dev has 1/8 of prod's memory request (256Mi of 2Gi) and 1/12 of prod's memory limit (256Mi of 3Gi), "
        "and 18 restarts of dev/api; prod has none."
    )
    texts = {row.aspect: [cell.text if cell else None for cell in row.cells] for row in service.rows}
    assert texts[Aspect.REPLICAS] == ["4", "2"]
    assert texts[Aspect.NODE_POOL] == ["default, web", "default"]
    assert texts[Aspect.VERSION] == ["2026.11.3", "2026.11.3"]


def test_logs_worth_reading_are_those_in_trouble_and_a_few_that_work(snapshot: Snapshot) -> None:
    wanted = wanted_logs(snapshot)
    assert {one.namespace for one in wanted} == {"dev", "prod"}
    assert sum(one.is_previous for one in wanted) == 3  # each pod that restarted: the run before, too
    assert all(one.container in ("api", "celery") for one in wanted)
    assert len(wanted) == len(set(wanted)) == 12


def test_without_metrics_the_sibling_that_works_is_the_least_and_nothing_is_called_cured() -> None:
    """The README's own kubectl command brings no PodMetrics: 640Mi was suggested, beside a green "completes"."""
    bare = answer(read_cluster("data/demo/cluster.json.gz"), RestartsSettings())
    suggestion = of(bare, "Deployment/dev/celery").suggestion
    assert suggestion is not None
    assert suggestion.text == "memory request 1536Mi, limit 4Gi"
    assert "isn't known" in bare.cures[0].note
