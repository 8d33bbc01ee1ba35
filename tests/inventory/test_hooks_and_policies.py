"""What of hooks, hostPaths and a Job's failure policy is read, and that a hook's command isn't kept."""

from __future__ import annotations

import pytest

from planner.kubernetes.records import Snapshot
from tests.inventory.test_parse import read


def job(rules: list[dict[str, object]], command: list[str]) -> Snapshot:
    container = {"name": "a", "command": ["python"], "lifecycle": {"preStop": {"exec": {"command": command}}}}
    volumes = [{"name": "v", "hostPath": {"path": "/mnt/data"}}, {"name": "d", "hostPath": {"path": "/dev/shm"}}]
    spec = {"containers": [container], "volumes": volumes}
    one = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n"},
        "spec": {"podFailurePolicy": {"rules": rules}, "template": {"spec": spec}},
    }
    return read(one)


IGNORE: dict[str, object] = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
FAIL: dict[str, object] = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}


@pytest.mark.parametrize(
    ("rules", "ignores"), [([IGNORE], True), ([FAIL, IGNORE], False), ([IGNORE, FAIL], True), ([], False)]
)
def test_the_first_rule_about_disruptions_counts(rules: list[dict[str, object]], ignores: bool) -> None:
    assert job(rules, []).workloads[0].ignores_disruptions is ignores


def test_a_hook_keeps_its_seconds_and_nothing_else() -> None:
    (container,) = job([], ["sh", "-c", "sleep 20"]).workloads[0].template.spec.containers
    assert (container.has_pre_stop, container.pre_stop_seconds) == (True, 20)
    secret = job([], ["curl", "-H", "token: s3cr3t"])
    (container,) = secret.workloads[0].template.spec.containers
    assert (container.has_pre_stop, container.pre_stop_seconds) == (True, None)
    assert "s3cr3t" not in repr(secret)
    assert "/mnt/data" not in repr(secret)
    assert [volume.host_path for volume in secret.workloads[0].template.spec.volumes] == ["", "/dev"]
