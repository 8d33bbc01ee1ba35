"""A cloud is a row: what is known of one stands in `planner.kubernetes.clouds`, and everybody else asks the row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.kubernetes.clouds import CLOUDS
from tests.architecture.tree import parsed, python_files
from tests.house.check import Check

TABLES: Final = {Path("planner/kubernetes/clouds.py"), Path("planner/ground/well_known_names.py")}
VENDORS: Final = ("GKE", "EKS", "AKS", "OKE", "KARPENTER", "AUTOPILOT")
_CONSTANT: Final = re.compile(rf"({'|'.join(VENDORS)})(_[A-Z_]+)?\Z")
_PREFIX: Final = re.compile(r"(gke|gk3|eks|aks|oke|gce|k8s-aws)(-|://)")
_NAMES: Final = frozenset({one.name for one in CLOUDS} | {one.scheme for one in CLOUDS}) - {""}

# What one cloud alone has, said where it is used. A line goes when the module doesn't name the cloud any more; a new one
# needs a reason that no column of the table can hold.
_SHARED: Final = {"GKE_GPU_PARTITION_SIZE", "GKE_GPU_SHARING_STRATEGY", "GKE_MAX_SHARED_CLIENTS"}
MAY: Final[dict[str, set[str]]] = {
    "planner/kubernetes/node_properties.py": {"GKE", *_SHARED},  # is_gke; how GKE says that GPUs are shared
    "planner/history/anonymization_allowlist.py": _SHARED,  # label keys that aren't anybody's names
    "planner/capacity/node_pools.py": {"GKE_API", "KARPENTER"},  # who says how far a pool may grow (LimitSource)
    "planner/capacity/node_groups.py": {
        "GKE",
        "KARPENTER",
    },  # whose pools are told without a node (gcloud); LimitSource
    "planner/capacity/scale_up_simulation.py": {
        "KARPENTER"
    },  # LimitSource: Karpenter has no priority below which it ignores pods
    "planner/capacity/hypothetical_node_groups.py": {
        "KARPENTER",
        "KARPENTER_NODE_POOL",
    },  # its NodeClaims and static NodePools
    "planner/capacity/karpenter.py": {
        "KARPENTER_CAPACITY_TYPE",
        "KARPENTER_NODE_POOL",
    },  # how Karpenter labels its nodes
    "planner/inventory/indirect_pod_effects.py": {"KARPENTER_NODE_POOL"},  # whose drift replaces nodes
    "planner/inventory/instance_types.py": {"KARPENTER_GPU_NAME"},  # the label that Karpenter makes of a type's GPU
    "planner/sources/gcloud_node_pools.py": {"GKE_API"},
    "planner/sources/node_pool_files.py": {
        "GKE_API",
        "KARPENTER_CAPACITY_TYPE",
    },  # what Karpenter's kwok provider writes
    "planner/inventory/pool_limits.py": {"KARPENTER", "KARPENTER_CAPACITY_TYPE"},  # reads Karpenter's own objects
    "planner/sources/prometheus_node_lifetimes.py": {
        "GKE_NODE_POOL",
        "GKE_PROVISIONING",
        "GKE_SPOT",
    },  # an example in a message
    "planner/pricing/node_price.py": {
        "AUTOPILOT",
        "AUTOPILOT_PREFIX",
        "GKE",
        "GKE_ACCELERATOR_COUNT",
    },  # whose prices the book has
    "planner/spot/termination_notice.py": {
        "AUTOPILOT_PREFIX",
        "GKE",
        "GKE_NOTICE",
    },  # notices that hang on GKE's version and mode
    "planner/spot/suitability_checks.py": {
        "GKE",
        "GKE_ACCELERATOR",
        "GKE_NODE_POOL",
        "KARPENTER_CAPACITY_TYPE",
    },  # gcloud's commands; how Karpenter asks for spot
    "planner/remedies/levers/nodes.py": {"KARPENTER"},  # whose limits stand in an object (LimitSource)
}


def named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of each cloud's constant that code reads, and of each literal that a cloud's nodes or ids begin with, or that
    is compared with a cloud's name."""
    told = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}  # docstrings
    compared = {id(one) for place in ast.walk(tree) if isinstance(place, ast.Compare) for one in ast.walk(place)}
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and _CONSTANT.match(node.name):
            yield node.lineno, node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _CONSTANT.match(node.attr):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            is_decided = id(node) in compared and node.value in _NAMES
            if is_decided or _PREFIX.match(node.value):
                yield node.lineno, node.value


def _elsewhere(path: Path) -> Iterator[str]:
    may = MAY.get(str(path), set())
    yield from (f"{path}:{line} {name}" for line, name in named(parsed(path)) if name not in may)


def _unused(allowed: tuple[str, set[str]]) -> Iterator[str]:
    path, may = allowed
    for name in sorted(may - {name for _, name in named(parsed(Path(path)))}):
        yield f"{path} {name}"


CHECKS: Final = (
    Check(
        holds="no cloud is named outside the table",
        subjects=lambda: [path for path in python_files("planner", "pages", "app.py") if path not in TABLES],
        faults=_elsewhere,
        advice="ask the row of planner/kubernetes/clouds.py",
    ),
    Check(
        holds="what a module may name of a cloud it names",
        subjects=lambda: list(MAY.items()),
        faults=_unused,
        advice="take it from MAY in tests/house/clouds.py, so that the list only shrinks",
    ),
)
