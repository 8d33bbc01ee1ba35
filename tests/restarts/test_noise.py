"""Noise told apart: the warning that stands in every log, and the line that only dying pods print."""

from __future__ import annotations

from planner.health.restarts.model import LineVerdict, LogLine
from planner.kubernetes.object_records import PodSpec
from tests.restarts.cases import Cluster, container, crashed, one_loop

WARNING = "site-packages/numpy/core/getlimits.py:499: UserWarning: The value of the smallest subnormal is zero."
SPEC = PodSpec(containers=(container(),))


def lines(cluster: Cluster) -> dict[str, LogLine]:
    return {line.template.partition(":")[0].rpartition("/")[2]: line for line in one_loop(cluster).lines}


def two_environments(*, failing: str, working: str, pods: int = 3) -> Cluster:
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", SPEC), crashed(1), previous_log=failing)
    prod = cluster.workload("api", "prod", SPEC)
    for _ in range(pods):
        cluster.pod(prod, log=working)
    return cluster


def test_what_working_pods_print_is_noise_with_their_count() -> None:
    line = lines(two_environments(failing=f"{WARNING}\nERROR: boom", working=WARNING))["getlimits.py"]
    assert line.verdict is LineVerdict.NOISE
    assert (line.healthy_pods, line.healthy_pods_with_log) == (3, 3)
    assert str(line.sentence).startswith("Noise: 3 of 3 working pods of the same program print it as well")


def test_what_only_failing_pods_print_means_something() -> None:
    line = lines(two_environments(failing=f"{WARNING}\nERROR: boom", working=WARNING))["ERROR"]
    assert line.verdict is LineVerdict.ONLY_FAILING
    assert str(line.sentence) == "Only here: none of 3 working pods of the same program prints it"


def test_more_lines_because_of_more_starts_is_still_noise() -> None:
    start = "Booting worker with pid: 1"
    found = lines(two_environments(failing="\n".join([start, WARNING] * 40), working=f"{start}\n{WARNING}"))[
        "getlimits.py"
    ]
    assert found.verdict is LineVerdict.NOISE
    assert (found.lines, found.per_start, found.per_start_healthy) == (40, 1, 1)


def test_without_a_working_pods_log_nothing_is_called_noise() -> None:
    line = lines(two_environments(failing=WARNING, working="", pods=2))["getlimits.py"]
    assert line.verdict is LineVerdict.UNSURE
    assert str(line.sentence).startswith("Can't be compared")


def test_where_the_program_works_nowhere_other_programs_tell() -> None:
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", SPEC), crashed(1), previous_log=WARNING)
    other = cluster.workload("billing", "dev", PodSpec(containers=(container("billing", "registry/app/billing:1"),)))
    for _ in range(2):
        cluster.pod(other, log=WARNING)
    line = lines(cluster)["getlimits.py"]
    assert (line.verdict, line.healthy_elsewhere) == (LineVerdict.NOISE, 2)


def test_what_few_working_pods_print_is_not_called_noise() -> None:
    cluster = two_environments(failing="ERROR: cache is cold", working="ready", pods=4)
    cluster.pod(cluster.workloads[1], log="ERROR: cache is cold")
    line = lines(cluster)["ERROR"]
    assert (line.verdict, line.healthy_pods, line.healthy_pods_with_log) == (LineVerdict.UNSURE, 1, 5)


def test_a_sign_of_trouble_that_is_more_frequent_here_is_not_called_noise() -> None:
    late = "[CRITICAL] WORKER TIMEOUT (pid:7)"
    cluster = two_environments(failing="\n".join([late] * 9), working=late, pods=2)
    line = one_loop(cluster).lines[0]
    assert line.verdict is LineVerdict.UNSURE
    assert line.healthy_pods == 2


def test_info_lines_are_not_listed() -> None:
    assert lines(two_environments(failing="[INFO] hello\nready", working="[INFO] hello")) == {}
