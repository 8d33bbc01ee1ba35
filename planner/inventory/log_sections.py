"""Finds container log sections among documents, as ``kubectl cluster-info dump`` writes them.

Source of the lines: kubernetes `staging/src/k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.object_records import PodLog

LARGEST_LOG_BYTES: Final = 2 * 2**20  # of one log; of a longer one the end is kept: what happened last stands there
_START = b"==== START logs for container "
_START_LINE = re.compile(rb"==== START logs for container (\S+) of pod ([^\s/]+)/(\S+) ====[ \t]*\r?(?:\n|\Z)")


class Section(Record):
    """``data[start:end]``: documents, or with `pod` the log of a container. `is_whole`: its last line is there."""

    start: int
    end: int
    namespace: str = ""
    pod: str = ""
    container: str = ""
    is_whole: bool = True


def sections(data: bytes | bytearray) -> Iterator[Section]:
    """`data` from its first to its last byte, without the lines that frame the logs; empty ones are left out.

    A log ends where the line for the same container says so, whatever else stands in it; one that is cut off ends with
    the data.
    """
    start = search = 0
    while (at := data.find(_START, search)) >= 0:
        match = _START_LINE.match(data, at)
        if match is None or (at and data[at - 1] != 0x0A):
            search = at + 1
            continue
        if at > start:
            yield Section(start=start, end=at)
        end_line = b"==== END logs for container %b of pod %b/%b ====" % match.groups()
        end = data.find(end_line, match.end())  # not always at the start of a line: a log need not end with one
        container, namespace, pod = (group.decode("utf-8", "replace") for group in match.groups())
        yield Section(
            start=match.end(), end=len(data) if end < 0 else end, namespace=namespace, pod=pod, container=container,
            is_whole=end >= 0,
        )  # fmt: skip
        after = data.find(b"\n", end + len(end_line))
        start = search = len(data) if end < 0 or after < 0 else after + 1
    if start < len(data):
        yield Section(start=start, end=len(data))


def log_of(data: bytes | bytearray, section: Section) -> PodLog:
    """The log in `section`: its last `LARGEST_LOG_BYTES`, from a whole line on."""
    return PodLog(
        namespace=section.namespace, pod=section.pod, container=section.container, is_previous=False,
        lines=tuple(last_lines(bytes(data[max(section.start, section.end - LARGEST_LOG_BYTES - 1) : section.end]))),
    )  # fmt: skip


def last_lines(data: bytes) -> list[str]:
    """The lines of at most `LARGEST_LOG_BYTES` at the end of `data`, from a whole line on."""
    text = data[-LARGEST_LOG_BYTES:].decode("utf-8", errors="replace")
    return (text.partition("\n")[2] if len(data) > LARGEST_LOG_BYTES else text).splitlines()
