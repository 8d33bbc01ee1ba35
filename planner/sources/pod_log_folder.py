"""Reads containers' logs from a folder.

Understood, relative to the folder, in any mix:

* ``<namespace>/<pod>/logs.txt``: what ``kubectl cluster-info dump`` writes (all containers in one file, framed);
* ``<namespace>/<pod>/<container>.log`` and ``<container>.previous.log``: what a loop over ``kubectl logs`` writes;
* ``namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/current.log`` and ``previous.log``: must-gather;
* ``podlogs/<namespace>/<pod>/logs/<container>.txt``: sonobuoy;
* ``namespaces/<namespace>/pods/<pod>/containers/<container>/logs/<any>.log``: OpenShift insights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from planner.ground.errors import InputError, SourceError
from planner.ground.records import Record, replace
from planner.inventory import log_sections
from planner.kubernetes.object_records import PodLog
from planner.sources import bounded_reading

LARGEST_BYTES = 512 * 2**20  # of all files
_PREVIOUS = re.compile(r"[.-]previous$")


def read_folder(folder: str | Path) -> tuple[PodLog, ...]:
    """The logs under `folder`, in the order of their paths; empty logs are left out.

    Raises
    ------
    InputError
        When the folder isn't there, holds no log in any known layout, or more than can be held.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError("is not a folder", where=str(folder), fix="Name the folder that holds the logs")
    logs: list[PodLog] = []
    files = total = 0
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".log", ".txt") or not path.is_file():
            continue
        pod_logs_read = list(_logs_of(path, path.relative_to(root).parts))
        files += bool(pod_logs_read)
        total += sum(len(line) for log in pod_logs_read for line in log.lines)
        if total > LARGEST_BYTES:
            raise InputError("holds more than 512 MiB of logs", where=str(folder), fix="Keep the pods in question only")
        logs += [log for log in pod_logs_read if log.lines]
    if not files:
        raise InputError(
            "holds no log",
            where=str(folder),
            fix="Expected <namespace>/<pod>/logs.txt (kubectl cluster-info dump) or <namespace>/<pod>/<container>.log",
        )
    return tuple(logs)


def read_live(
    context: str, log_requests: Iterable[tuple[str, str, str, bool]]
) -> tuple[tuple[PodLog, ...], tuple[SourceError, ...]]:
    """The logs `log_requests` (namespace, pod, container, whether of the run before) of a live cluster, and what couldn't be
    read: a pod may be gone, a previous run may have left nothing, the right to read logs may be missing."""
    from planner.sources import kubernetes_api

    logs: list[PodLog] = []
    problems: list[SourceError] = []
    for namespace, pod, container, is_previous in log_requests:
        try:
            logs.append(kubernetes_api.read_log(context, namespace, pod, container, is_previous=is_previous))
        except SourceError as error:
            problems.append(error)
    return tuple(log for log in logs if log.lines), tuple(problems)


def read_text(text: str, *, namespace: str, pod: str, container: str = "", is_previous: bool = False) -> PodLog:
    """One log given as text, such as an uploaded file or an answer of the API server."""
    return PodLog(
        namespace=namespace, pod=pod, container=container, is_previous=is_previous, lines=tuple(text.splitlines())
    )


def of_upload(data: bytes, *, default: str = "", is_previous: bool = False) -> tuple[PodLog, ...]:
    """The logs in one uploaded file: framed ones by their frames, else one log of `default` ("namespace/pod/container").

    Nothing where the file has no frames and no `default` is given.
    """
    data = data[-LARGEST_BYTES:]
    logs = [log_sections.log_of(data, section) for section in log_sections.sections(data) if section.pod]
    if logs or not default:
        return tuple(log for log in logs if log.lines)
    namespace, pod, container = default.split("/")
    text = data.decode("utf-8", errors="replace")
    return (read_text(text, namespace=namespace, pod=pod, container=container, is_previous=is_previous),)


class LogSource(Record):
    """The pod and container of a log file, by its path. `is_framed`: of all containers of the pod, each in a frame."""

    namespace: str
    pod: str
    container: str = ""
    is_previous: bool = False
    is_framed: bool = False

    def logs(self, data: bytes) -> tuple[PodLog, ...]:
        """The logs in the file's last bytes; empty ones too."""
        if self.is_framed:
            return _framed(data, self)
        return (
            PodLog(
                namespace=self.namespace, pod=self.pod, container=self.container, is_previous=self.is_previous,
                lines=tuple(log_sections.last_lines(data)),
            ),
        )  # fmt: skip


def place_of(parts: tuple[str, ...]) -> LogSource | None:
    """The pod and container of the log at this path, None where the path doesn't tell."""
    *folders, name = parts
    stem, _, suffix = name.rpartition(".")
    if suffix not in ("log", "txt") or len(folders) < 2:
        return None
    is_previous = _PREVIOUS.search(stem) is not None or stem == "previous"
    container = _PREVIOUS.sub("", stem)
    if name == "logs.txt":
        return LogSource(namespace=folders[-2], pod=folders[-1], is_framed=True)
    if folders[-1] == "logs":
        if len(folders) >= 6 and folders[-5] == "pods":  # must-gather; insights: containers/CONTAINER/logs
            of = folders[-2]
            return LogSource(namespace=folders[-6], pod=folders[-4], container=of, is_previous=is_previous)
        if len(folders) >= 3 and suffix == "txt":  # sonobuoy: podlogs/NAMESPACE/POD/logs/CONTAINER.txt
            return LogSource(namespace=folders[-3], pod=folders[-2], container=container, is_previous=is_previous)
    if suffix == "log":
        return LogSource(namespace=folders[-2], pod=folders[-1], container=container, is_previous=is_previous)
    return None


def _framed(data: bytes, place: LogSource) -> tuple[PodLog, ...]:
    """The logs in a ``logs.txt`` of ``kubectl cluster-info dump``, one a container; text without frames is one log of
    an unnamed container."""
    logs = []
    for section in log_sections.sections(data):
        log = log_sections.log_of(data, section)
        if section.pod or log.lines:
            logs.append(replace(log, namespace=place.namespace, pod=place.pod))
    return tuple(logs)


def _logs_of(path: Path, parts: tuple[str, ...]) -> Iterator[PodLog]:
    place = place_of(parts)
    if place is not None:
        yield from place.logs(tail(path))


def tail(path: Path) -> bytes:
    """The last `log_sections.LARGEST_LOG_BYTES` of a file, and one more where it is longer."""
    try:
        with bounded_reading.opened(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - log_sections.LARGEST_LOG_BYTES - 1))
            return file.read()
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", where=str(path), fix="Check the file's rights") from None
