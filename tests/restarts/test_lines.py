from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.health.restarts.known_messages import Sign, read
from planner.health.restarts.log_line_templates import (
    LONGEST_TEMPLATE,
    content,
    digest,
    is_alarming,
    last_words,
    template,
    written_at,
)
from planner.kubernetes.object_records import PodLog

NUMPY = (
    "/usr/lib/python3.11/site-packages/numpy/core/getlimits.py:499: UserWarning: The value of the smallest subnormal for "
    "<class 'numpy.float32'> type is zero."
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[2026-11-20 08:50:31 +0000] [1] WORKER TIMEOUT (pid:7)", "[2026-11-21 09:00:00 +0000] [12] WORKER TIMEOUT (pid:99)"),
        ("2026-11-20T08:50:31.123Z job 4f2c1a9e-0000-1111-2222-333344445555 failed after 12.5 s",
         "2026-11-20T09:50:31.999Z job 00000000-aaaa-bbbb-cccc-333344445555 failed after 7 s"),
        ("E1120 08:50:00.123456       1 main.go:12] oops", "E1121 10:51:01.654321      77 main.go:13] oops"),
        ("Nov 20 08:50:31 host app[12]: gone", "Nov  3 18:00:01 host app[9]: gone"),
        ("10.4.0.1:51234 refused", "10.99.3.2:80 refused"),
        ("object at 0x7f01 <id>", "object at 0xdeadbeef <id>"),
        ("\x1b[31mERROR\x1b[0m 3 left", "ERROR 4 left"),
        ("took 120ms", "took 7ms"),
    ],
)  # fmt: skip
def test_what_changes_from_run_to_run_is_taken_out(one: str, other: str) -> None:
    assert template(one) == template(other)


def test_what_tells_lines_apart_stays() -> None:
    assert template(NUMPY) != template(NUMPY.replace("float32", "float64"))
    assert template('"GET / HTTP/1.1" 200 5') != template('"GET / HTTP/1.1" 503 5')


@pytest.mark.parametrize(
    "line",
    [
        "DATABASE_PASSWORD=hunter2",
        "db_password: hunter2",
        '{"password": "hunter2", "n": 1}',
        "{'api_key': 'hunter2'}",
        "connecting to postgres://app:hunter2@db:5432/x",
        "redis://:hunter2@redis:6379",
        "postgres://app:a/hunter2@db",
        "Authorization: Bearer hunter2hunter2",
        "header Authorization=Basic hunter2hunter2==",
        "token=hunter2,more",
        "AWS_SECRET_ACCESS_KEY => hunter2",
        "PASSWORD='hunter2'",
    ],
)
def test_secrets_are_hidden(line: str) -> None:
    assert "hunter2" not in template(line)
    assert "<hidden>" in template(line)


@given(st.text(max_size=400))
def test_a_template_is_short_and_stands_for_itself(line: str) -> None:
    once = template(line)
    assert len(once) <= LONGEST_TEMPLATE
    assert "\n" not in once


@pytest.mark.parametrize(
    "line",
    [
        NUMPY,
        "WARNING: retrying",
        "E1120 08:50:00.123456       1 main.go:12] oops",
        "Traceback (most recent call last):",
        "dial tcp: connection refused",
        "java.lang.NullPointerException",
        "panic: runtime error",
        "DeprecationWarning: old",
    ],
)
def test_alarming(line: str) -> None:
    assert is_alarming(line)


@pytest.mark.parametrize(
    "line",
    [
        "[INFO] Booting worker with pid: 7",
        "INFO retried without error",
        '{"level":"info","msg":"no error"}',
        "listening",
        "",
    ],
)
def test_not_alarming(line: str) -> None:
    assert not is_alarming(line)


def test_times_give_differences() -> None:
    first, second = written_at("[2026-11-20 08:50:00 +0000] a"), written_at("2026-11-20T08:50:31.5Z b")
    assert first is not None
    assert second is not None
    assert second - first == 31
    assert written_at("no time") is None
    assert written_at("2026-13-45 08:50:00") is None


def test_frames_of_a_dump_are_no_content() -> None:
    lines = (
        "==== START logs for container a of pod b/c ====",
        "hello",
        "",
        "==== END logs for container a of pod b/c ====",
    )
    assert content(PodLog(namespace="b", pod="c", container="a", is_previous=False, lines=lines)) == ("hello",)


def test_workers_count_as_starts() -> None:
    found = digest(["Listening at: x", *["Booting worker with pid: 3", NUMPY] * 4])
    assert found.starts == 4
    assert found.alarming == {template(NUMPY): 4}
    assert digest([NUMPY]).starts == 1


def test_last_words_are_the_last_alarms_each_once() -> None:
    lines = ["ok", "ERROR a", "ERROR b", "ERROR a", "bye"]
    assert last_words(lines) == ("ERROR b", "ERROR a")
    assert last_words(["one", "two"]) == ("one", "two")
    assert last_words([]) == ()


def test_a_kill_after_a_timeout_is_the_supervisors_and_one_without_is_not() -> None:
    signs = read(
        [
            "Booting worker with pid: 7",
            "WORKER TIMEOUT (pid:7)",
            "Worker (pid:7) was sent SIGKILL! Perhaps out of memory?",
            "Booting worker with pid: 7",
            "Worker (pid:7) was sent SIGKILL! Perhaps out of memory?",
        ]
    )
    assert len(signs.of(Sign.WORKER_TIMEOUT)) == 1
    assert len(signs.killed_by_others()) == 1


@given(st.lists(st.text(max_size=200), max_size=20))
def test_any_log_can_be_read(lines: list[str]) -> None:
    read(lines)
    digest(lines)
    last_words(lines)


@pytest.mark.parametrize(
    "line", ["Killed 3 stale sessions", "Skilled workers", "memory: 12 MiB", "timeout=30", "no error"]
)
def test_harmless_words_are_no_signs(line: str) -> None:
    assert read([line]).of(*Sign) == ()
