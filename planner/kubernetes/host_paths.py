"""Which directories of a node every node like it has: devices, sockets, drivers, clocks. What a pod wrote isn't there."""

from __future__ import annotations

from typing import Final

_SYSTEM: Final = (
    "/dev", "/sys", "/proc", "/run", "/var/run", "/etc", "/usr", "/lib", "/lib64", "/opt", "/boot", "/home/kubernetes",
    "/var/lib/kubelet", "/var/lib/nvidia",
)  # fmt: skip


def system_directory(path: str) -> str:
    """The directory of the system's own that `path` is in or is; "" for all other paths.

    Examples
    --------
    >>> system_directory("/dev/shm"), system_directory("/devices"), system_directory("/mnt/data")
    ('/dev', '', '')
    """
    parts = path.rstrip("/")
    if ".." in parts.split("/"):
        return ""
    return next((one for one in _SYSTEM if parts == one or parts.startswith(f"{one}/")), "")
