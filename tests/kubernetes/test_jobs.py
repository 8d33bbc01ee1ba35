"""How many pods a Job wants at once, and when it fails whole."""

from __future__ import annotations

import pytest

from planner.kubernetes.jobs import fails, wanted_pods
from planner.kubernetes.object_records import EMPTY, PodSpec, Template, Workload

JOB = {"kind": "Job", "namespace": "ml", "name": "train", "template": Template(labels=EMPTY, spec=PodSpec())}


@pytest.mark.parametrize(
    ("parallelism", "completions", "succeeded", "wanted"),
    [(4, None, 0, 4), (4, 8, 0, 4), (4, 3, 0, 3), (4, 8, 6, 2), (4, 4, 4, 0), (4, 2, 3, 0), (0, 5, 0, 0)],
)
def test_it_wants_no_more_pods_than_completions_are_left(
    parallelism: int, completions: int | None, succeeded: int, wanted: int
) -> None:
    job = Workload(**JOB, replicas=parallelism, completions=completions, succeeded_pods=succeeded)  # type: ignore[arg-type]
    assert wanted_pods(job) == wanted


@pytest.mark.parametrize(("lost", "failed", "does"), [(0, 9, False), (1, 0, False), (1, 2, True), (3, 0, True)])
def test_it_fails_whole_above_its_back_off_limit(lost: int, failed: int, does: bool) -> None:
    assert fails(Workload(**JOB, backoff_limit=2, failed_pods=failed), lost) is does  # type: ignore[arg-type]
