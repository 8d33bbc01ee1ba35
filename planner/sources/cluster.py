"""CLUSTER as it is written on the command line → snapshot."""

from __future__ import annotations

from typing import BinaryIO, Final

from planner.kubernetes.records import Snapshot
from planner.sources import demo, kubectl

CONTEXT_PREFIX: Final = "context:"


def read_cluster(spec: str, *, stdin: BinaryIO | None = None) -> Snapshot:
    """The snapshot of a file, a dump folder, ``-``, ``demo``, ``openb`` (the large example) or ``context:NAME``.

    A file or folder called ``demo`` is read when written with a path: ``./demo``.

    Raises
    ------
    InputError
        When nothing can be read there.
    SourceError
        When the live cluster doesn't answer.
    """
    if spec == demo.DEMO_NAME:
        return demo.read()
    if spec == demo.LARGE_NAME:
        return demo.read_large()
    if spec.startswith(CONTEXT_PREFIX):
        from planner.sources import kubernetes_api

        return kubernetes_api.read(spec.removeprefix(CONTEXT_PREFIX))
    return kubectl.read(spec, stdin=stdin)
