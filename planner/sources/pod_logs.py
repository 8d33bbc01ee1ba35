"""Containers' logs out of a folder.

Understood, relative to the folder, in any mix:

* ``<namespace>/<pod>/logs.txt``: what ``kubectl cluster-info dump`` writes (all containers in one file, framed);
* ``<namespace>/<pod>/<container>.log`` and ``<container>.previous.log``: what a loop over ``kubectl logs`` writes;
* ``namespaces/<namespace>/pods/<pod>/<container>/<container>/logs/current.log`` and ``previous.log``: must-gather.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from planner.errors import InputError, SourceError
from planner.kubernetes.records import PodLog

LARGEST_LOG_BYTES = 2 * 2**20  # of one file; of a longer one the end is read: what happened last stands there
LARGEST_BYTES = 512 * 2**20  # of all files
_FRAME = re.compile(r"^==== (START|END) logs for container (\S+) of pod (\S+)/(\S+) ====$")
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
        raise InputError("is not a folder", where=str(folder), mend="Name the folder that holds the logs")
    logs: list[PodLog] = []
    files = total = 0
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".log", ".txt") or not path.is_file():
            continue
        found = list(_logs_of(path, path.relative_to(root).parts))
        files += bool(found)
        total += sum(len(line) for log in found for line in log.lines)
        if total > LARGEST_BYTES:
            raise InputError(
                "holds more than 512 MiB of logs", where=str(folder), mend="Keep the pods in question only"
            )
        logs += [log for log in found if log.lines]
    if not files:
        raise InputError(
            "holds no log",
            where=str(folder),
            mend="Expected <namespace>/<pod>/logs.txt (kubectl cluster-info dump) or <namespace>/<pod>/<container>.log",
        )
    return tuple(logs)


def read_live(
    context: str, wanted: Iterable[tuple[str, str, str, bool]]
) -> tuple[tuple[PodLog, ...], tuple[SourceError, ...]]:
    """The logs `wanted` (namespace, pod, container, whether of the run before) of a live cluster, and what couldn't be
    read: a pod may be gone, a previous run may have left nothing, the right to read logs may be missing."""
    from planner.sources import kubernetes_api

    logs: list[PodLog] = []
    problems: list[SourceError] = []
    for namespace, pod, container, is_previous in wanted:
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
    text = data[-LARGEST_BYTES:].decode("utf-8", errors="replace")
    found: list[PodLog] = []
    begin: tuple[str, str, str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame is None:
            lines.append(line)
        elif frame[1] == "START":
            begin, lines = (frame[3], frame[4], frame[2]), []
        elif begin is not None:
            found.append(
                PodLog(namespace=begin[0], pod=begin[1], container=begin[2], is_previous=False, lines=tuple(lines))
            )
            begin, lines = None, []
    if found or not default:
        return tuple(log for log in found if log.lines)
    namespace, pod, container = default.split("/")
    return (read_text(text, namespace=namespace, pod=pod, container=container, is_previous=is_previous),)


def framed(text: str, *, namespace: str, pod: str) -> tuple[PodLog, ...]:
    """The logs in a ``logs.txt`` of ``kubectl cluster-info dump``, one a container; text without frames is one log of
    an unnamed container."""
    lines: dict[str, list[str]] = {}
    container = ""
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame is None:
            lines.setdefault(container, []).append(line)
        elif frame[1] == "START":
            container = frame[2]
            lines.setdefault(container, [])
        else:
            container = ""
    return tuple(
        PodLog(namespace=namespace, pod=pod, container=name, is_previous=False, lines=tuple(some))
        for name, some in lines.items()
    )


def _logs_of(path: Path, parts: tuple[str, ...]) -> Iterator[PodLog]:
    if path.name == "logs.txt" and len(parts) >= 3:
        yield from framed(_tail(path), namespace=parts[-3], pod=parts[-2])
    elif (
        path.name in ("current.log", "previous.log") and len(parts) >= 8 and parts[-6] == "pods" and parts[-2] == "logs"
    ):
        yield read_text(
            _tail(path), namespace=parts[-7], pod=parts[-5], container=parts[-4], is_previous=path.stem == "previous"
        )
    elif path.suffix == ".log" and len(parts) >= 3:
        yield read_text(
            _tail(path),
            namespace=parts[-3],
            pod=parts[-2],
            container=_PREVIOUS.sub("", path.stem),
            is_previous=_PREVIOUS.search(path.stem) is not None,
        )


def _tail(path: Path) -> str:
    """The last `LARGEST_LOG_BYTES` of a file, from the first whole line on."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - LARGEST_LOG_BYTES)
            file.seek(start)
            data = file.read()
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", where=str(path), mend="Check the file's rights") from None
    text = data.decode("utf-8", errors="replace")
    return text if start == 0 else text.partition("\n")[2]
