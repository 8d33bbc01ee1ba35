from __future__ import annotations

import pytest

from planner.kubernetes.pod_properties import system_directory


@pytest.mark.parametrize(
    ("path", "directory"),
    [
        ("/dev/shm", "/dev"),
        ("/var/run/docker.sock", "/var/run"),
        ("/home/kubernetes/bin/nvidia", "/home/kubernetes"),
        ("/dev/", "/dev"),
        ("/dev/../mnt/data", ""),
        ("/devices-of-mine", ""),
        ("/mnt/data", ""),
        ("", ""),
    ],
)
def test_directories_that_every_node_has(path: str, directory: str) -> None:
    assert system_directory(path) == directory
