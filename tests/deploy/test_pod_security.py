"""Every pod of the manifests and of the chart, with whatever its values switch on, is one that a namespace with the level restricted takes.

Two readings of the Pod Security Standards judge them: Headroom's, and that of the second simulation, written apart from the standard.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from planner.kubernetes.object_records import FrozenMap
from planner.kubernetes.pod_security import enforced, forbidden
from tests.builders.objects import deployment, node, snapshot
from tests.deploy.chart import DEPLOY, WHEN
from tests.deploy.test_chart import EVERYTHING, rendered
from tests.reference.pod_security import LABEL, is_forbidden
from tests.seen import each

RESTRICTED: dict[str, Any] = {"metadata": {"labels": {LABEL: "restricted"}}}
VALUES: tuple[dict[str, Any], ...] = (
    {},
    EVERYTHING,
    {**EVERYTHING, "sessions": {"claim": "headroom-sessions"}, "certManager": True, "networkPolicy": {"enabled": True}},
)


def pods_in(found: object) -> Iterator[dict[str, Any]]:
    """The spec of every pod template in an object, however deep."""
    if isinstance(found, dict):
        if "containers" in found:
            yield found
        for value in found.values():
            yield from pods_in(value)
    elif isinstance(found, list):
        for value in found:
            yield from pods_in(value)


def judged(spec: dict[str, Any]) -> tuple[bool, bool]:
    """Whether each of the two readings forbids the pod."""
    (mine,) = snapshot(node("only"), deployment("headroom", ["only"], spec)).workloads
    policy = enforced(FrozenMap(RESTRICTED["metadata"]["labels"]))
    return forbidden(policy, mine.template.spec) != (), is_forbidden(RESTRICTED, {"spec": spec})


def test_pods_of_the_manifests_are_restricted() -> None:
    files = [(name, list(yaml.safe_load_all((DEPLOY / name).read_text()))) for name in WHEN]
    specs = [(name, spec) for name, objects in files for spec in pods_in(objects)]
    assert {name for name, _ in specs} == {"headroom.yaml", "snapshot.yaml"}
    for name, spec in each(specs):
        assert judged(spec) == (False, False), name


@pytest.mark.parametrize("values", VALUES, ids=["as it comes", "everything", "with sessions"])
def test_pods_of_the_chart_are_restricted(values: dict[str, Any]) -> None:
    for spec in each(list(pods_in(list(rendered(values).values())))):
        assert judged(spec) == (False, False)


def _added(of: str, name: str, value: object) -> Iterator[dict[str, Any]]:
    for whole in yaml.safe_load_all((DEPLOY / "headroom.yaml").read_text()):
        for spec in pods_in(whole):
            made = copy.deepcopy(spec)
            made.setdefault("volumes", [])
            place = made["containers"][0]["securityContext"] if of == "container" else made
            place[name] = [*made["volumes"], value] if name == "volumes" else value
            yield made


@pytest.mark.parametrize(
    ("of", "name", "value"),
    [
        ("container", "allowPrivilegeEscalation", True),
        ("container", "privileged", True),
        ("container", "runAsUser", 0),
        ("container", "capabilities", {"drop": ["NET_RAW"]}),
        ("container", "seccompProfile", {"type": "Unconfined"}),
        ("pod", "hostNetwork", True),
        ("pod", "hostPID", True),
        ("pod", "volumes", {"name": "host", "hostPath": {"path": "/"}}),
    ],
)
def test_a_pod_that_is_not_would_be_seen(of: str, name: str, value: object) -> None:
    """So that the tests above can fail."""
    for spec in each(list(_added(of, name, value))):
        assert judged(spec) == (True, True)
