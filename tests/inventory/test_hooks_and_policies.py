"""What of hooks, hostPaths and a Job's failure policy is read, and that a hook's command isn't kept."""

from __future__ import annotations

import pytest

from planner.kubernetes.object_records import Snapshot
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


IGNORE_FALSE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]}


def on_exit(action: str, operator: str, *codes: int) -> dict[str, object]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(codes)}}


@pytest.mark.parametrize(
    ("rules", "ignores"),
    [
        ([IGNORE], True),
        ([FAIL, IGNORE], False),
        ([IGNORE, FAIL], True),
        ([], False),
        ([IGNORE_FALSE], False),  # a pod that is lost has the condition True
        ([on_exit("FailJob", "In", 143), IGNORE], False),  # 128 + SIGTERM: it catches the lost pod first
        ([on_exit("FailJob", "NotIn", 1, 2), IGNORE], False),
        ([on_exit("FailJob", "In", 42), IGNORE], True),
        ([on_exit("Ignore", "In", 143), IGNORE], True),
        ([on_exit("Ignore", "In", 143)], False),  # SIGKILL's 137 counts
        ([IGNORE, on_exit("FailJob", "In", 137)], True),
    ],
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
