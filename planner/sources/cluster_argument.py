"""Resolves the command line argument CLUSTER to a snapshot."""

from __future__ import annotations

import gzip
import time
import zlib
from pathlib import PurePath
from typing import BinaryIO, Final

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.history import snapshot_names
from planner.inventory import input_report
from planner.inventory.archives import Content, Walk, inflated
from planner.inventory.finding_texts import finding
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_names import kind_written
from planner.sources import bounded_reading, cluster_dumps, demo

CONTEXT_PREFIX: Final = "context:"
CLUSTER_VARIABLE: Final = "HEADROOM_CLUSTER"  # of the environment: what the dashboard begins with
_BEGIN: Final = f'{{"format":"{snapshot_names.FORMAT}"'.encode()
_GZIP: Final = b"\x1f\x8b"
EMBEDDED: Final = tuple(demo.EMBEDDED)


def read_cluster(spec: str, *, stdin: BinaryIO | None = None, limit_bytes: int | None = None) -> Snapshot:
    """The snapshot of a file, a folder, an archive, ``-``, ``demo``, ``openb`` (the large example), ``ml-platform`` (one of each kind), ``context:NAME`` or
    ``store:URL#cluster@time``.

    Several files or folders are joined by commas: ``cluster.json,more.json``. A file or folder called ``demo`` is read
    when written with a path: ``./demo``. `limit_bytes`: what may be read and unpacked in all.

    Raises
    ------
    InputError
        When nothing can be read there.
    SourceError
        When the live cluster doesn't answer.
    """
    if spec in demo.EMBEDDED:
        return demo.EMBEDDED[spec]()
    if spec == CONTEXT_PREFIX:
        fix = "Write context:NAME; kubectl config get-contexts lists the names"
        raise InputError("names no context", where=spec, fix=fix)
    if spec.startswith(CONTEXT_PREFIX):
        from planner.sources import kubernetes_api

        return kubernetes_api.read(spec.removeprefix(CONTEXT_PREFIX))
    if snapshot_names.is_place(spec):
        return _stored(spec, limit_bytes)
    places = _places(spec)
    for place in places:
        _check_is_there(place)
    if len(places) == 1 and _is_kept(spec):
        from planner.history import snapshot_bytes

        return replace(snapshot_bytes.decode(_unpacked(spec, limit_bytes), spec), source=PurePath(spec).name)
    return cluster_dumps.read(places, stdin=stdin, limit_bytes=limit_bytes)


def _check_is_there(place: str) -> None:
    """Refuse a path at which nothing is, with what may have been meant: an address, a context, a workload that belongs to -w."""
    if place in (bounded_reading.STDIN, *EMBEDDED) or bounded_reading.exists(place):
        return
    if "://" in place:
        raise bounded_reading.address_refused(place)
    kind, _, name = place.partition("/")
    if name and kind_written(kind) and not cluster_dumps.is_named_as_file(name):
        first = (
            "Check the path" if bounded_reading.exists(kind) else "CLUSTER comes first: demo, a FILE or context:NAME"
        )
        fix = f"{first}. Name the workload by -w {place}"
    elif (context := place.rpartition(":")[2]) in _contexts():
        fix = f"That is a context of your kubeconfig: write context:{context}"
    else:
        fix = "Check the path. A live cluster is written context:NAME"
    raise InputError("can't be read: no such file or directory", where=place[:300], fix=fix)


def _contexts() -> tuple[str, ...]:
    """The kubeconfig's contexts; none where the client that reads it isn't installed (deploy/requirements-gate.txt)."""
    try:
        from planner.sources.kubeconfig import contexts
    except ModuleNotFoundError:
        return ()
    return contexts()


def bytes_to_read(spec: str) -> int:
    """How many bytes of plain files `spec` names; 0 where it isn't told before it is read, or can be read once only."""
    sizes = [
        0 if place in (bounded_reading.STDIN, *EMBEDDED) else bounded_reading.plain_bytes(place)
        for place in _places(spec)
    ]
    return sum(sizes) if all(sizes) else 0


def _places(spec: str) -> list[str]:
    return [spec] if "," not in spec or bounded_reading.exists(spec) else spec.split(",")


def context_of(spec: str, snapshot: Snapshot) -> str:
    """The context that kubectl has to be asked for, "" where the cluster isn't a live one or is the one that Headroom runs in."""
    return snapshot.source if spec.startswith(CONTEXT_PREFIX) and snapshot.source != "in-cluster" else ""


def expanded(spec: str) -> tuple[str, ...]:
    """`spec`; of a whole store (``store:URL``) the latest of each of its clusters."""
    if not snapshot_names.is_place(spec) or "#" in spec:
        return (spec,)
    from planner.sources.store import Store

    place = snapshot_names.read_place(spec)
    cluster_names = dict.fromkeys(snapshot.cluster for snapshot in Store(place.url).snapshots())
    return tuple(str(snapshot_names.SnapshotAddress(url=place.url, cluster=cluster)) for cluster in cluster_names) or (
        spec,
    )


def _is_kept(spec: str) -> bool:
    """Whether a file holds a snapshot as Headroom itself writes it (``headroom store anonymize``)."""
    if spec == "-" or not bounded_reading.exists(spec) or bounded_reading.is_folder(spec):
        return False
    with bounded_reading.opened(spec) as file:
        begin = file.read(len(_BEGIN))
        if begin[:2] == _GZIP:
            file.seek(0)
            try:
                begin = gzip.GzipFile(fileobj=file).read(len(_BEGIN))
            except (OSError, EOFError, zlib.error):
                return False
    return begin == _BEGIN


def _unpacked(spec: str, limit_bytes: int | None) -> Content:
    limit = bounded_reading.limit_bytes() if limit_bytes is None else limit_bytes
    with bounded_reading.opened(spec) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InputError("is larger than may be read", where=spec, fix="Raise --unpacked-limit")
    return inflated(content, spec, Walk(limit))


def _stored(spec: str, limit_bytes: int | None) -> Snapshot:
    from planner.sources.store import Store

    place = snapshot_names.read_place(spec)
    store = Store(place.url)
    stored = store.at(place, now=time.time())
    source = f"{stored.cluster}@{snapshot_names.time_text(stored.taken_at)}"
    snapshot = store.snapshot(stored, limit_bytes=limit_bytes)
    left_out = tuple(finding(input_report.LEFT_OUT, why=why) for why in store.left_out)
    return replace(snapshot, source=source, problems=(*snapshot.problems, *left_out))
