"""What a node says of itself is read in one way: readiness, who runs it, the words for no pool."""

from __future__ import annotations

import pytest

from planner.history.snapshot_rows import rows_of
from planner.kubernetes.node_properties import is_gke, out_of_use
from planner.rollout.admission import tolerates_extended_resources
from planner.spot.termination_notice import Provider, window_of
from tests.builders.objects import node, snapshot


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False), ("", True)])
def test_a_node_is_ready_in_the_store_where_pods_may_be_placed(status: str, ready: bool) -> None:
    one = node("n0")
    one["status"]["conditions"] = [{"type": "Ready", "status": status}] if status else []
    found = snapshot(one)
    assert (out_of_use(found.nodes[0]) == "") is ready
    (row,) = rows_of(found, (), written_by="test")["nodes"]
    assert row["is_ready"] is ready


def test_who_runs_a_node_is_told_alike_to_admission_and_to_the_notice() -> None:
    """Google's VMs carry ``gce://`` whoever runs them; GKE labels every node of its own."""
    bare, gke = node("n0"), node("n1", pool="p")
    bare["spec"]["providerID"] = gke["spec"]["providerID"] = "gce://p/z/n"
    for one, is_one in ((bare, False), (gke, True)):
        found = snapshot(one)
        assert is_gke(found.nodes[0]) is is_one
        assert tolerates_extended_resources(found) is is_one
        assert (window_of(found.nodes).provider is Provider.GKE) is is_one
