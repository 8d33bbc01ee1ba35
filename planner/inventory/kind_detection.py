"""Guesses the kind of an object that doesn't state it: items of an API answer, of ``jq .items``, of a tool's file.

Told by where it says it was read (``metadata.selfLink``) or by fields that only one kind has. Source of the fields:
k8s.io/api 1.36, `core/v1`, `apps/v1`, `batch/v1`, `policy/v1`, `scheduling/v1`, `storage/v1`, `metrics.k8s.io/v1beta1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.inventory import api_types
from planner.kubernetes import kueue_managed_pods
from planner.kubernetes.unplayed_kinds import LISTED
from planner.kubernetes.workload_kinds import DEPLOYMENT

Fields = Mapping[str, Any]


def resource_of(kind: str) -> str:
    """What kubectl calls objects of a kind that is read: ``pods``, ``priorityclasses``, ``clusterqueues.kueue.x-k8s.io``."""
    if kind in LISTED:
        return kind if "." in LISTED[kind].group else LISTED[kind].resource
    resource_kind = api_types.READ[kind]
    return (
        f"{resource_kind.resource}.{resource_kind.group}"
        if kind in kueue_managed_pods.KINDS or resource_kind.group == api_types.SPARE
        else resource_kind.resource
    )


_PLURALS: Final = {readable_kind.resource: kind for kind, readable_kind in api_types.READ.items() if readable_kind.group != api_types.METRICS} | {
    "endpoints": "Endpoints",
    "configmaps": "ConfigMap", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "ingresses": "Ingress",
    "cronjobs": "CronJob", "replicationcontrollers": "ReplicationController",
}  # fmt: skip


def is_object(value: object) -> bool:
    """Whether `value` looks like an object of Kubernetes: it has metadata with a name, or says kind and version."""
    if not isinstance(value, dict):
        return False
    metadata = value.get("metadata")
    has_name = isinstance(metadata, dict) and bool(metadata.get("name") or metadata.get("generateName"))
    return has_name or (isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str))


def kind_of_shape(fields: Fields) -> str:
    """The kind that `fields` has the shape of, "" when it can't be told."""
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    linked_kind = _by_link(metadata.get("selfLink"))
    if linked_kind:
        return linked_kind
    return next((shape.kind for shape in _SHAPES if shape.fits(fields)), "")


def _by_link(link: object) -> str:
    """``/apis/apps/v1/namespaces/prod/deployments/api`` → Deployment: API servers before 1.20 wrote it."""
    if not isinstance(link, str) or not link.startswith(("/api/", "/apis/")):
        return ""
    parts = link.strip("/").split("/")
    path_parts = parts[2 if parts[0] == "api" else 3 :]
    if len(path_parts) >= 3 and path_parts[0] == "namespaces":
        path_parts = path_parts[2:]
    return _PLURALS.get(path_parts[0], "") if path_parts else ""


def _fields(fields: Fields, name: str) -> Fields:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


_SORTS: Final[dict[str, Callable[[Any], bool]]] = {
    "": lambda _: True,
    **{sort.__name__: partial(lambda sort, value: isinstance(value, sort), sort) for sort in (list, dict, int, str)},
    "given": lambda value: value is not None,
    "texts": lambda value: isinstance(value, dict) and bool(value) and all(isinstance(text, str) for text in value.values()),
    "of a Deployment": lambda owners: isinstance(owners, list)
    and any(isinstance(owner, dict) and owner.get("kind") == DEPLOYMENT.name for owner in owners),
    "of a Namespace": lambda phase: phase in ("Active", "Terminating"),
    "more than finalizers": lambda spec: isinstance(spec, dict) and bool(spec.keys() - {"finalizers"}),
}  # fmt: skip


class _ShapeRow(msgspec.Struct):
    """A row of ``kind_detection.json``: fields that are there, all of some, any of others, and none of the last. Behind a colon stands what has to
    be there (`_SORTS`)."""

    kind: str
    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()

    def fits(self, fields: Fields) -> bool:
        has = partial(_has, fields)
        return all(map(has, self.all)) and any(map(has, self.any or self.all)) and not any(map(has, self.none))


def _has(fields: Fields, place: str) -> bool:
    path, _, sort = place.partition(":")
    *above, last = path.split(".")
    for name in above:
        fields = _fields(fields, name)
    return last in fields and _SORTS[sort](fields[last])


_SHAPES: Final = typed_json.decode(table_beside(__name__, "kind_detection.json"), tuple[_ShapeRow, ...])
