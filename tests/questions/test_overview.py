"""Workloads that can't be rolled out, by what is said of them."""

from __future__ import annotations

from planner.capacity.rollout_readiness import WorkloadOverview, by_cause, overview
from planner.ground.words import Text
from planner.rollout.answers import Reason, Verdict
from planner.sources import demo


def line(
    workload: str, headline: str, verdict: Verdict = Verdict.STUCK, reason: Reason = Reason.QUOTA, gpus: int = 0
) -> WorkloadOverview:
    return WorkloadOverview(
        workload=f"Deployment/{workload}", verdict=verdict, reason=reason, sentence=Text(), replicas=1, ready=1, gpus=gpus,
        gpu_model="", node_pools=(), headline=Text(headline),
    )  # fmt: skip


def names(*lines: WorkloadOverview) -> list[list[str]]:
    return [[one.workload.partition("/")[2] for one in cause] for cause in by_cause(lines)]


def test_the_same_is_said_once_and_most_at_stake_comes_first() -> None:
    found = names(
        line("a/one", "no room"), line("b/two", "no room", gpus=4), line("c/three", "no pods"), line("d/four", "no room")
    )  # fmt: skip
    assert found == [["b/two", "a/one", "d/four"], ["c/three"]]


def test_its_own_names_make_no_difference_and_others_do() -> None:
    quota = "the quota of namespace {} has no room beside {}"
    assert names(line("dev-0/api", quota.format("dev-0", "api")), line("dev-1/web", quota.format("dev-1", "web"))) == [
        ["dev-0/api", "dev-1/web"]
    ]
    assert names(line("dev/api", quota.format("dev-2", "api")), line("qa/api", quota.format("dev-3", "api"))) == [
        ["dev/api"], ["qa/api"],
    ]  # fmt: skip


def test_verdict_and_reason_tell_causes_apart_and_what_completes_has_none() -> None:
    assert names(
        line("a/one", "no room"),
        line("a/two", "no room", verdict=Verdict.UNKNOWN),
        line("a/three", "no room", reason=Reason.HOLD_AND_WAIT),
        line("a/four", "no room", verdict=Verdict.COMPLETES),
    ) == [["a/one"], ["a/three"], ["a/two"]]


def test_on_the_demo_every_cause_is_one_workload() -> None:
    assert [len(cause) for cause in by_cause(overview(demo.read()).workloads)] == [1] * 5
