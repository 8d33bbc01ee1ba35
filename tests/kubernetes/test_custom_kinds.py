"""A row of another project's kind brings all that goes with it: how it is read, its rights, its webhook rule, kubectl's line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from planner.inventory import api_types
from planner.inventory.input_report import SNAPSHOT_KINDS, role
from planner.inventory.kind_detection import resource_of
from planner.kubernetes import shell_commands, workload_kinds
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.kubernetes.pod_template_kinds import TEMPLATED, Templated
from planner.kubernetes.unplayed_kinds import LISTED, Listed
from planner.kubernetes.workload_kinds import Kind
from planner.questions import doctor
from planner.rollout.controllers import registry
from planner.serve import admission_review
from planner.sources.kubernetes_api import OPTIONAL, PATHS, RARE
from tests.architecture.documents import CUSTOM_KINDS

ROOT = Path(__file__).parents[2]
CUSTOM = [kind for kind in workload_kinds.PLAYED if kind.is_custom]


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.name)
def test_a_row_brings_its_rights_and_its_reading(kind: Kind) -> None:
    assert PATHS[kind.name] == (kind.path,)
    assert api_types.READ[kind.name].is_rare, "kubectl's line would fail where the project isn't installed"
    assert f"{kind.resource}.{kind.group}" in CUSTOM_KINDS.split(",")
    role = yaml.safe_load((ROOT / "deploy/clusterrole.yaml").read_text(encoding="utf-8"))
    (rule,) = (one for one in role["rules"] if one["apiGroups"] == [kind.group])
    assert kind.resource in rule["resources"]
    assert rule["verbs"] == ["list", "watch"]
    assert kind.name in {
        one.kind for one in doctor.answer(Snapshot(taken_at=0, source="none", digest=""), doctor.DoctorSettings()).kinds
    }


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.name)
def test_a_row_brings_its_webhook_rule_and_its_scale(kind: Kind) -> None:
    hook = yaml.safe_load((ROOT / "deploy/webhook.yaml").read_text(encoding="utf-8"))["webhooks"][0]
    rule = next(one for one in hook["rules"] if one["apiGroups"] == [kind.group])
    assert rule["apiVersions"] == [kind.version]
    own = [one for one in rule["resources"] if one.partition("/")[0] == kind.resource]
    assert own == [kind.resource, *([f"{kind.resource}/scale"] if kind.has_scale else [])]
    assert admission_review._KINDS[kind.group, kind.resource] == kind.name


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.name)
def test_a_row_brings_its_controller_its_source_and_its_commands(kind: Kind) -> None:
    assert kind.name in registry._CONTROLLERS
    assert kind.source
    assert kind.modelled
    key = kind.key("ml", "serve")
    assert shell_commands.patch(key, {}).startswith(
        f"kubectl patch {kind.resource}.{kind.group}/serve -n ml --type=merge "
    )
    assert "rollout undo" not in shell_commands.undo(key)


# ── kinds whose rollout isn't played: each row of the table brings everything that its objects need ───────────────────────
@pytest.mark.parametrize("one", LISTED.values(), ids=lambda one: one.name)
def test_a_row_of_a_kind_that_is_not_played_brings_its_list_and_its_right(one: Listed) -> None:
    assert PATHS[one.name] == one.paths
    assert one.name in OPTIONAL, "a project whose own webhook is broken would keep everything else from being read"
    assert (one.name in RARE) is ("." in one.group), "asked for where the server has no such group"
    role = yaml.safe_load((ROOT / "deploy/clusterrole.yaml").read_text(encoding="utf-8"))
    (rule,) = (rule for rule in role["rules"] if rule["apiGroups"] == [one.group])
    assert one.resource in rule["resources"]
    assert rule["verbs"] == ["list", "watch"]
    assert one.name in (CUSTOM_KINDS.split(",") if "." in one.group else SNAPSHOT_KINDS)
    assert resource_of(one.name) in (ROOT / "docs/cluster.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("one", LISTED.values(), ids=lambda one: one.name)
def test_its_webhook_rule_is_what_the_webhook_answers(one: Listed) -> None:
    hook = yaml.safe_load((ROOT / "deploy/webhook.yaml").read_text(encoding="utf-8"))["webhooks"][0]
    asked = {
        (group, resource): rule["apiVersions"]
        for rule in hook["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert ((one.group, one.resource) in asked) is one.asks_webhook
    assert ((one.group, f"{one.resource}/scale") in asked) is (one.asks_webhook and one.scales is not None)
    assert not one.asks_webhook or tuple(asked[one.group, one.resource]) == one.versions
    assert ((one.group, one.resource) in admission_review._LISTED) is one.asks_webhook


@pytest.mark.parametrize("one", LISTED.values(), ids=lambda one: one.name)
def test_doctor_has_its_line_where_the_cluster_has_it_or_refused_it(one: Listed) -> None:
    def line(presence: Presence | None) -> doctor.KindRead | None:
        held = FrozenMap({one.name: presence}) if presence is not None else FrozenMap()
        cluster = Snapshot(taken_at=0, source="none", digest="", presence=held)
        found = doctor.answer(cluster, doctor.DoctorSettings())
        return next((each for each in found.kinds if each.kind == one.name), None)

    assert line(None) is None, "what isn't installed has no line"
    there, refused = line(Presence.PRESENT), line(Presence.REFUSED)
    assert there is not None
    assert (there.objects, str(there.costs)) == (0, "")
    assert refused is not None
    assert refused.objects is None
    assert refused.costs
    assert f"resources: [{one.resource}]" in role([one.name])


def test_every_kind_with_pods_is_in_one_of_the_tables_of_lists() -> None:
    listed = {(one.kind, one.group) for one in LISTED.values()}
    read = {(name, known.group) for name, known in api_types.READ.items()}
    rows = {(row.kind, row.group) for row in TEMPLATED if row.versions}
    assert rows <= listed | read
    assert not listed & read


@pytest.mark.parametrize(
    ("kind", "plural", "resource"),
    [
        ("Sandbox", "", "sandboxes"), ("RayCluster", "", "rayclusters"), ("InferencePolicy", "", "inferencepolicies"),
        ("Gateway", "", "gateways"), ("Mesh", "", "meshes"), ("Storage", "storage", "storage"),
    ],
)  # fmt: skip
def test_what_the_api_server_calls_a_list_is_the_tables(kind: str, plural: str, resource: str) -> None:
    row = Templated(kind=kind, group="example.com", sets=(), waits="", plural=plural)
    assert row.resource == resource
