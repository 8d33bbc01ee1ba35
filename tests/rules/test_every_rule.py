"""Each line of docs/where-is.md is asked about: by a mark that tells a second copy, or by tests that put the question to it.

A new line of that page finds its place here, or this fails.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Final

import pytest

from tests.architecture.tree import ROOT
from tests.house import documents

# Rule → what the code of a copy would have in it, and the modules that may (its place; who reads or writes the field).
ONLY_THERE: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "Pod.holds_room": (r"phase in \('Succeeded'", ("kubernetes/object_records.py",)),
    "is_gke": (r"GKE_NODE_POOL in|is GKE\b", ("kubernetes/node_properties.py", "spot/termination_notice.py")),
    "is_ready": (r"conditions\.get\('Ready'", ("kubernetes/node_properties.py",)),
    "rolling_limits": (r"\.rounds_unavailable_up", ("kubernetes/surge_and_unavailable.py",)),
    "qos_class": (r"QosClass\.GUARANTEED if", ("kubernetes/qos.py",)),
    "provisioning_model": (r"\.get\(GKE_SPOT\)|tables\(\)\.bought", ("kubernetes/node_properties.py",)),
    "physical_gpus": (r"tables\(\)\.count", ("kubernetes/node_properties.py",)),
    "learn_start": (r"\.ready_at -", ("kubernetes/pod_properties.py",)),
    "headers": (r"nosniff|frame-ancestors", ("ui/web_security.py",)),
    "node_data": (
        r"\.kind (?:==|in) \(?'(?:hostPath|emptyDir|local)'",
        ("kubernetes/pod_properties.py", "kubernetes/pod_security.py", "health/restarts/causes_memory.py"),
    ),
    "unseen": (
        r"Presence\.ABSENT, Presence\.REFUSED|Presence\.REFUSED, Presence\.ABSENT",
        ("kubernetes/object_records.py",),
    ),
    "arrival_seconds": (r"(?<![\d.])(?:300|150)(?:\.0)? (?:with|without)", ()),
    "masked": (r"detect_secrets", ("inventory/log_secret_masking.py",)),
}

# Place → the test that asks its rules through those who use them, where none reads the module itself.
ASKED_BY: Final[dict[str, str]] = {
    "planner/capacity/scale_up_simulation.py": "tests/capacity/test_tied_to_nodes.py",
    "planner/capacity/seat_map.py": "tests/pages/test_headroom.py",
    "planner/capacity/what_if.py": "tests/capacity/test_what_if.py",
    "planner/health/restarts/container_case.py": "tests/restarts/test_statuses.py",
    "planner/health/restarts/kubelet_refusal_loops.py": "tests/restarts/test_refusals.py",
    "planner/inventory/api_version_checks.py": "tests/inventory/test_field_validation.py",
    "planner/inventory/custom_resource_validation.py": "tests/inventory/test_field_validation.py",
    "planner/inventory/indirect_pod_effects.py": "tests/questions/test_manifest_cases.py",
    "planner/inventory/flux_timeouts.py": "tests/cli/test_deploy_timeouts.py",
    "planner/inventory/stored_snapshot_validation.py": "tests/history/test_kept.py",
    "planner/kubernetes/volume_attach_rules.py": "tests/rollout/test_volumes_elsewhere.py",
    "planner/rollout/webhook_match_conditions.py": "tests/questions/test_unplayed_admission.py",
    "planner/capacity/new_node_kinds.py": "tests/remedies/test_doors.py",
    "planner/remedies/devices_from_manifests.py": "tests/remedies/test_room_without_cluster.py",
    "planner/remedies/stuck_rollout_room.py": "tests/remedies/test_room_of_stuck.py",
    "planner/remedies/lever_outcomes.py": "tests/questions/test_plan.py",
    "planner/remedies/plan_added_nodes.py": "tests/questions/test_plan.py",
    "planner/remedies/costless_action_search.py": "tests/questions/test_plan.py",
    "planner/remedies/readiness_plan_state.py": "tests/questions/test_plan.py",
    "planner/remedies/sequential_rollouts.py": "tests/capacity/test_joint_plans.py",
    "planner/remedies/random_draw_checks.py": "tests/capacity/test_joint_plans.py",
    "planner/remedies/levers/user_change_steps.py": "tests/rollout/test_remedies.py",
    "planner/remedies/levers/lending.py": "tests/rollout/test_remedies.py",
    "planner/remedies/levers/moves.py": "tests/capacity/test_making_room.py",
    "planner/remedies/levers/nodes.py": "tests/rollout/test_remedies.py",
    "planner/remedies/levers/order.py": "tests/rollout/test_in_flight.py",
    "planner/remedies/levers/pods.py": "tests/rollout/test_volumes_elsewhere.py",
    "planner/remedies/levers/quota.py": "tests/rollout/test_remedies.py",
    "planner/remedies/levers/strategy.py": "tests/rollout/test_remedies.py",
    "planner/remedies/levers/stuck_rollout_trial.py": "tests/rollout/test_remedies.py",
    "planner/remedies/levers/template.py": "tests/rollout/test_volumes_elsewhere.py",
    "planner/remedies/levers/lever_position.py": "tests/rollout/test_volumes_elsewhere.py",
    "planner/remedies/ways_out.py": "tests/rollout/test_remedies.py",
    "planner/rollout/volume_attachments.py": "tests/rollout/test_volumes_elsewhere.py",
    "planner/rollout/controllers/daemonset.py": "tests/rules/test_reach.py",
    "planner/rollout/controllers/registry.py": "tests/rollout/test_changed_again.py",
    "planner/rollout/silent_node_cures.py": "tests/rollout/test_silent_nodes.py",
    "planner/rollout/past_rollouts.py": "tests/conformance/test_after.py",
    "planner/rollout/rollout_backtest.py": "tests/conformance/test_after.py",
    "planner/rollout/past_causes.py": "tests/conformance/test_after.py",
    "planner/rollout/past_revisions.py": "tests/conformance/test_after.py",
    "planner/rollout/doubt_rules.py": "tests/rollout/test_doubts.py",
    "planner/rollout/image_pulls.py": "tests/rollout/test_kubelets_say.py",
    "planner/rollout/kubelet_refusals.py": "tests/rollout/test_kubelets_say.py",
    "planner/inventory/kubelet_configuration.py": "tests/inventory/test_kubelets.py",
    "planner/rollout/never_ready_pods.py": "tests/rollout/test_never_ready.py",
    "planner/rollout/pods.py": "tests/rollout/test_silent_nodes.py",
    "planner/rollout/taint_evictions.py": "tests/rollout/test_taint_evictions.py",
    "planner/rollout/room_when_empty.py": "tests/remedies/test_price.py",
    "planner/rollout/simulation.py": "tests/rollout/test_scaled.py",
    "planner/rollout/doubly_advertised_devices.py": "tests/rollout/test_devices_not_there.py",
    "planner/scheduling/devices.py": "tests/rollout/test_devices_not_there.py",
    "planner/scheduling/kueue/admission_cycles.py": "tests/capacity/test_queues.py",
    "planner/scheduling/kueue/requests.py": "tests/capacity/test_queues.py",
    "planner/scheduling/kueue/queue_state.py": "tests/scheduling/kueue/test_quota_holders.py",
    "planner/inventory/last_applied.py": "tests/inventory/test_last_applied.py",
    "planner/capacity/summary_with_growth.py": "tests/rules/test_growth_at_every_door.py",
    "planner/rollout/independent_actors.py": "tests/rollout/test_by_themselves.py",
    "planner/inventory/archives.py": "tests/inventory/test_archives.py",
    "planner/inventory/incomplete_lists.py": "tests/properties/test_gaps.py",
    "planner/inventory/json_scanner.py": "tests/inventory/test_documents.py",
    "planner/rollout/controllers/protocol.py": "tests/kubernetes/test_kinds.py",
    "planner/inventory/manifest_comparison.py": "tests/questions/test_kinds.py",
    "planner/inventory/operator_updates.py": "tests/rollout/test_updates.py",
    "planner/inventory/referenced_pod_templates.py": "tests/rollout/test_updates.py",
    "planner/inventory/generated_deployments.py": "tests/rollout/test_updates.py",
    "planner/kubernetes/operator_update_rules.py": "tests/rollout/test_updates.py",
    "planner/rollout/kueue_admission.py": "tests/rollout/test_queued.py",
    "planner/scheduling/kueue/kueue_verdicts.py": "tests/rollout/test_queued.py",
    "planner/capacity/work_limits.py": "tests/capacity/test_survival.py",
    "planner/inventory/reading_limits.py": "tests/inventory/test_archives.py",
    "planner/rollout/simulation_limits.py": "tests/rollout/test_film.py",
    "planner/sources/source_limits.py": "tests/sources/test_bounds.py",
    "planner/spot/suitability_checks.py": "tests/spot/test_spot_label.py",
    "planner/spot/workload_savings.py": "tests/spot/test_listed_cures.py",
    "planner/spot/cluster_savings.py": "tests/questions/test_doors_of_money.py",
    "planner/kubernetes/accelerators.py": "tests/questions/test_kinds.py",
    "planner/kubernetes/unknown_kind_requests.py": "tests/questions/test_kinds.py",
    "planner/kubernetes/owners.py": "tests/questions/test_kinds.py",
    "planner/kubernetes/kinds_without_pods.py": "tests/questions/test_kinds.py",
    "planner/kubernetes/kueue_managed_pods.py": "tests/questions/test_kinds.py",
    "planner/kubernetes/disruption_budgets.py": "tests/rules/test_budgets.py",
    "planner/kubernetes/priorities.py": "tests/rules/test_priorities.py",
    "planner/inventory/spot_node_lifetimes.py": "tests/spot/test_own_history.py",
    "planner/capacity/recent_scale_up_attempts.py": "tests/rules/test_two_doors.py",
    "planner/capacity/cluster_autoscaler.py": "tests/conformance/test_growth_recordings.py",
    "planner/capacity/karpenter.py": "tests/capacity/test_karpenter.py",
    "planner/capacity/unneeded_scale_ups.py": "tests/capacity/test_unasked.py",
    "planner/scheduling/node_facts.py": "tests/rules/test_free.py",
    "planner/serve/caller_authentication.py": "tests/ui/test_sign_in_middleware.py",
    "planner/inventory/change_validation.py": "tests/inventory/test_change.py",
    "planner/health/memory/deleted_pod_owners.py": "tests/sources/test_prometheus.py",
    "planner/sources/node_pool_files.py": "tests/rules/test_nodes_and_times.py",
    "planner/inventory/kubectl_apply.py": "tests/cli/test_gate_command.py",
    "planner/inventory/helm_hooks.py": "tests/questions/test_brought.py",
    "planner/cli/options_from_settings.py": "tests/cli/test_options_that_need_another.py",
    "planner/ground/typed_json.py": "tests/ground/test_typed.py",
    "planner/ui/settings_form.py": "tests/pages/test_rollout.py",
    "planner/ui/as_if.py": "tests/pages/test_overview.py",
    "planner/history/schema.py": "tests/sources/test_store.py",
    "planner/sources/kubernetes_api.py": "tests/sources/test_bounds.py",
    "planner/sources/store.py": "tests/sources/test_store.py",
    "planner/cli/control_character_filter.py": "tests/cli/test_terminal.py",
    "planner/ground/well_known_names.py": "tests/rules/test_vocabulary.py",
    "planner/rollout/race_doubts.py": "tests/rollout/test_meanwhile.py",
    "planner/rollout/scheduling_queue.py": "tests/rollout/test_meanwhile.py",
    "planner/rollout/scripted_event_playback.py": "tests/capacity/test_timeline.py",
    "planner/rollout/film.py": "tests/rollout/test_film.py",
    "planner/capacity/scale_down.py": "tests/capacity/test_scale_down.py",
    "planner/scheduling/kueue/admission_cycle.py": "tests/scheduling/kueue/test_tables.py",
    "planner/scheduling/kueue/flavor_assignment.py": "tests/scheduling/kueue/test_tables.py",
    "planner/scheduling/kueue/preemption.py": "tests/scheduling/kueue/test_tables.py",
    "planner/scheduling/kueue/topology.py": "tests/scheduling/kueue/test_topology.py",
    "planner/scheduling/kueue/cohort_tree.py": "tests/scheduling/kueue/test_tables.py",
    "planner/rollout/unknowns.py": "tests/rules/test_half_inputs.py",
}


@cache
def code() -> dict[str, str]:
    """Every module without its docstrings and comments, in one layout."""
    found = {}
    for path in sorted((ROOT / "planner").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                node.value.value = ""
        found[path.relative_to(ROOT / "planner").as_posix()] = ast.unparse(tree)
    return found


@pytest.mark.parametrize("rule", sorted(ONLY_THERE))
def test_a_rule_stands_once(rule: str) -> None:
    mark, places = ONLY_THERE[rule]
    found = {name for name, text in code().items() if re.search(mark, text)}
    assert found == set(places), f"a second copy of {rule}, or its mark has gone"


@cache
def files_of_tests() -> dict[str, tuple[frozenset[str], str]]:
    """Every file of tests: the modules that it reads, and its text."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        read = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                read |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
            elif isinstance(node, ast.Import):
                read |= {one.name for one in node.names}
        found[path.relative_to(ROOT).as_posix()] = frozenset(read), text
    return found


def asking(path: str, rule: str) -> list[str]:
    """The tests that read the rule's module and have its name."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    name = re.compile(rf"\b{re.escape(rule.rpartition('.')[2])}\b")
    return [test for test, (read, text) in files_of_tests().items() if module in read and name.search(text)]


@pytest.mark.parametrize("line", sorted({(path, names) for path, names in documents.places()}))
def test_every_line_of_the_page_is_asked_about(line: tuple[str, tuple[str, ...]]) -> None:
    path, rules = line
    found = [rule for rule in rules if rule in ONLY_THERE or asking(path, rule)]
    assert found or ASKED_BY.get(path) in files_of_tests(), f"no test asks {' or '.join(rules)} of {path}"
