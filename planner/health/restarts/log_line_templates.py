"""Turns log lines into templates without times, numbers, addresses and secrets, so that equal messages are equal texts.

Only these templates leave this module; a raw line is never shown, because programs print passwords.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from planner.ground.records import Record
from planner.health.restarts.log_limits import LIMITS
from planner.inventory.log_secret_masking import masked, without_keys
from planner.kubernetes.object_records import PodLog

LONGEST_TEMPLATE = 240
_LATE_LINES = 200  # the end of a log, where a program says why it ends
_LONGEST_LINE = 4_000  # what follows is not looked at: a line may be a megabyte of JSON
_SHOWN_FROM = 600  # what a template is made of: twice what it may be long, since numbers and times become shorter

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # of a terminal
_REPLACEMENTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\b\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?", "<time>"),
        (r"\b\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?", "<time>"),
        (r"\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?", "<time>"),
        (r"\b([EWIF])\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+", r"\1 <time>"),  # klog
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"),
        (r"\b(?:sha256:)?(?=[0-9a-fA-F]*[a-fA-F])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}\b", "<id>"),
        (r"\b0x[0-9a-fA-F]+\b", "<id>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<address>"),
        (r"(?<![\w.])(?<!\" )[-+]?\d+(?:[.,]\d+)*(?![\w.]*\w)", "<n>"),
        (r"(?<![\w.])\d+(?:\.\d+)?(?=(?:ms|us|ns|s|m|h|kB|KB|MB|GB|KiB|MiB|GiB|B|%)\b)", "<n>"),
        (r"\s+", " "),
    )
)
_ALARMING = re.compile(
    r"\b(?:warn(?:ing)?s?|err(?:or)?s?|critical|crit|fatal|emerg|alert|panic|exceptions?|traceback|fail(?:ed|ure|ures|s|ing)?|"
    r"deprecat\w*|killed|time[d]?[ -]?out|oom|abort\w*|refused|denied|forbidden|unable|cannot|can't|could not|couldn't|"
    r"invalid|missing|unhealthy|segfault|core dumped|out of memory|not found|\w+(?:Error|Exception|Warning))\b",
    re.IGNORECASE,
)
_HARMLESS_LEVEL = re.compile(r"(?:\[(?:INFO|DEBUG|TRACE)\]|\b(?:INFO|DEBUG|TRACE)\b|\"level\":\s?\"(?:info|debug)\")")
_KLOG_ALARM = re.compile(r"^[EWF]\d{4} ")
_DUMP_FRAME = re.compile(r"^==== (?:START|END) logs for container .* ====$")
_TIMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)"), "%Y-%m-%d %H:%M:%S"),
    (re.compile(r"(\d\d/[A-Z][a-z]{2}/\d{4}):(\d\d:\d\d:\d\d)"), "%d/%b/%Y %H:%M:%S"),
)


@lru_cache(maxsize=50_000)
def template(line: str) -> str:
    """`line` with what changes from run to run taken out, and what may be a secret hidden."""
    text = masked(_COLOURS.sub("", line[:_LONGEST_LINE])[:_SHOWN_FROM])
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    text = text.strip()
    return text if len(text) <= LONGEST_TEMPLATE else f"{text[: LONGEST_TEMPLATE - 1]}…"


def is_alarming(line: str) -> bool:
    """Whether a person who scrolls through the log would stop at `line`: a warning or worse, by its words.

    A level of INFO or below written in the line is believed.
    """
    head = line[:_LONGEST_LINE]
    if _KLOG_ALARM.match(head):
        return True
    return _ALARMING.search(head) is not None and _HARMLESS_LEVEL.search(head[:120]) is None


def written_at(line: str) -> float | None:
    """The time a line carries, as seconds of an unnamed clock: good for differences within one log only."""
    for pattern, form in _TIMES:
        match = pattern.search(line[:200])
        if match is not None:
            try:
                return datetime.strptime(" ".join(match.groups()), form).replace(tzinfo=UTC).timestamp()
            except ValueError:  # such as 2026-13-45
                return None
    return None


def content(log: PodLog) -> tuple[str, ...]:
    """The program's own lines: without the frame that ``kubectl cluster-info dump`` puts around them, and blank ones;
    private keys, which go over many lines, hidden."""
    lines = (line for line in log.lines if line.strip() and _DUMP_FRAME.match(line) is None)
    return tuple(without_keys(lines))


class Digest(Record):
    """One container's log as counts: alarming template → lines, and process starts seen (at least 1)."""

    alarming: dict[str, int]
    starts: int


_START = re.compile(
    r"Booting worker with pid|Started server process \[\d+\]|celery@\S+ ready|Listening at:|"  # gunicorn, uvicorn, celery
    r"worker=\d+ (?:spawned|ready)|\(PID: \d+\) booted|spawned uWSGI worker|"  # unicorn, puma, uWSGI
    r"Started \S+ in [\d.]+ seconds|Server startup in|server (?:is )?listening on|Starting nginx",
    re.IGNORECASE,
)
_WORKER_START = re.compile(
    r"Booting worker with pid|worker=\d+ spawned|\(PID: \d+\) booted|spawned uWSGI worker", re.IGNORECASE
)


# numbers that stand alone; those inside names (float32, python3.11) and HTTP status codes tell lines apart
_ALONE = re.compile(r"(?<![A-Za-z_.\d])(?<!\" )\d+(?![A-Za-z_\d])")


def digest(lines: Iterable[str]) -> Digest:
    """Counts of one container's log. Where a supervisor starts workers, each worker counts as a start: each of them
    prints the program's warnings anew.

    Lines that differ in numbers only are looked at once: taking times and secrets out of each costs ten times more.
    """
    first: dict[str, str] = {}
    line_counts: Counter[str] = Counter()
    for line in lines:
        shape = _ALONE.sub("0", line[:_LONGEST_LINE])
        first.setdefault(shape, line)
        line_counts[shape] += 1
    alarming: Counter[str] = Counter()
    starts = workers = told_apart = 0
    for shape, number in line_counts.items():
        line = first[shape]
        if is_alarming(line):
            told_apart += 1
            alarming[template(line) if told_apart <= LIMITS.shapes_of_lines else "…"] += number
        if _WORKER_START.search(line):
            workers += number
        elif _START.search(line):
            starts += number
    return Digest(alarming=dict(alarming), starts=max(1, workers or starts))


def last_words(lines: Sequence[str], most: int = 3) -> tuple[str, ...]:
    """Templates of the last alarming lines (of the last lines, where none alarms), in order, each once."""
    late = lines[-_LATE_LINES:]
    alarming = [template(line) for line in late if is_alarming(line)]
    chosen = alarming or [template(line) for line in late]
    return tuple(dict.fromkeys(reversed(chosen)))[:most][::-1]
