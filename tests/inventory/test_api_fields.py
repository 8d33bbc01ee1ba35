"""The packed table of the API's fields: it is what kubernetes-validate carries, and knows the types that `field_coverage.json` was written for."""

from __future__ import annotations

import gzip
import json

import pytest

from planner.inventory.field_coverage import FIELDS
from planner.inventory.kubernetes_api_schema import groups, served, table, versions_of
from planner.kubernetes import feature_gates
from planner.kubernetes.workload_kinds import REMOVED
from tests.inventory import api_fields

MOST_BYTES = 3 * 2**20


def test_the_table_is_made_from_the_schemas() -> None:
    written = api_fields.TABLE.read_bytes()
    made = gzip.decompress(api_fields.packed())
    assert json.loads(gzip.decompress(written)) == json.loads(made), "run `make fields`"
    assert len(written) < MOST_BYTES


def test_it_has_the_versions_that_rules_are_about() -> None:
    assert table().first <= feature_gates.FIRST
    assert table().last >= feature_gates.LAST
    assert table().first <= feature_gates.RECORDED <= table().last


@pytest.mark.parametrize("type_name", FIELDS)
def test_both_tables_know_the_same_fields(type_name: str) -> None:
    """Those of the version that `field_coverage.json` was written for."""
    full = [name for name in table().types if name.rpartition(".")[2] == type_name]
    known = [
        {
            field
            for field, runs in table().types[name].items()
            if isinstance(runs, str) or _is_in(runs, feature_gates.RECORDED)
        }
        for name in full
    ]
    assert set(FIELDS[type_name]) in known


def _is_in(runs: tuple[tuple[int, int, str], ...], minor: int) -> bool:
    known = served(runs, minor)
    return bool(known.what) and known.is_certain


def test_every_shape_leads_to_a_type_that_is_there() -> None:
    shapes = [
        shape
        for fields in table().types.values()
        for runs in fields.values()
        for shape in ([runs] if isinstance(runs, str) else [what for _, _, what in runs])
    ]
    leading = {shape.rstrip("!").lstrip("[{")[1:] for shape in shapes if "#" in shape}
    assert len(shapes) > 4_000
    assert leading <= set(table().types)
    assert {shape.rstrip("!").lstrip("[{")[0] for shape in shapes} == set("silnbqxty*#")


def test_what_was_removed_earlier_is_not_in_it() -> None:
    """`REMOVED` is written by hand, and ends where the table begins."""
    for kind, version in REMOVED:
        runs = table().kinds.get(f"{version}/{kind}")
        assert runs is None or runs[-1][1] < REMOVED[kind, version], (kind, version)


def test_versions_stable_ones_first() -> None:
    assert versions_of("PodDisruptionBudget", 34) == ("policy/v1",)
    assert versions_of("ResourceClaimTemplate", 33) == (
        "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3",
    )  # fmt: skip
    assert versions_of("ResourceClaimTemplate", 34)[0] == "resource.k8s.io/v1"
    assert versions_of("Widget", 34) == ()


def test_groups_are_of_kubernetes_only() -> None:
    assert {"", "apps", "batch", "resource.k8s.io"} <= groups()
    assert not groups() & {"scheduling.x-k8s.io", "autoscaling.k8s.io", "metrics.k8s.io", "argoproj.io"}
