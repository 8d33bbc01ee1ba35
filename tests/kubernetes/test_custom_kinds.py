"""A row of another project's kind brings all that goes with it: how it is read, its rights, its webhook rule, kubectl's line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from planner.inventory import account, wire
from planner.kubernetes import commands, kinds
from planner.kubernetes.kinds import Kind
from planner.kubernetes.records import Snapshot
from planner.questions import doctor
from planner.rollout.controllers import registry
from planner.serve import review
from planner.sources.kubernetes_api import PATHS

ROOT = Path(__file__).parents[2]
CUSTOM = [kind for kind in kinds.PLAYED if kind.is_custom]


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.name)
def test_a_row_brings_its_rights_and_its_reading(kind: Kind) -> None:
    assert PATHS[kind.name] == (kind.path,)
    assert wire.READ[kind.name].is_rare, "kubectl's line would fail where the project isn't installed"
    assert f"{kind.resource}.{kind.group}" in account.CUSTOM_KINDS.split(",")
    role = yaml.safe_load((ROOT / "deploy/clusterrole.yaml").read_text(encoding="utf-8"))
    assert {"apiGroups": [kind.group], "resources": [kind.resource], "verbs": ["list", "watch"]} in role["rules"]
    assert kind.name in {
        one.kind for one in doctor.answer(Snapshot(taken_at=0, source="none", digest=""), doctor.DoctorSettings()).kinds
    }


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.name)
def test_a_row_brings_its_webhook_rule_and_its_scale(kind: Kind) -> None:
    hook = yaml.safe_load((ROOT / "deploy/webhook.yaml").read_text(encoding="utf-8"))["webhooks"][0]
    rule = next(one for one in hook["rules"] if one["apiGroups"] == [kind.group])
    assert rule["apiVersions"] == [kind.version]
    assert rule["resources"] == [kind.resource, *([f"{kind.resource}/scale"] if kind.has_scale else [])]
    assert review._KINDS[kind.group, kind.resource] == kind.name


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.name)
def test_a_row_brings_its_controller_its_source_and_its_commands(kind: Kind) -> None:
    assert kind.name in registry._CONTROLLERS
    assert kind.source
    assert kind.modelled
    key = kind.key("ml", "serve")
    assert commands.patch(key, {}).startswith(f"kubectl patch {kind.resource}.{kind.group}/serve -n ml --type=merge ")
    assert "rollout undo" not in commands.undo(key)
