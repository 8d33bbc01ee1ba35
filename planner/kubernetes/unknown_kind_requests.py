"""What an object of an unknown kind requests, as far as its fields show: accelerators, pod templates, gangs.

Such a field is a resource's name with a number (``limits: {nvidia.com/gpu: 8}``), a number of GPUs without a name (Dynamo's
``limits: {gpu: "8"}``), or a name beside its number (Spark's ``gpu: {name, quantity}``, KubeVirt's ``deviceName``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from planner.ground.records import Record
from planner.kubernetes.accelerators import Unit, accelerator
from planner.kubernetes.composite_kinds import digits
from planner.kubernetes.feature_gates import GANGS
from planner.kubernetes.operator_update_rules import at
from planner.kubernetes.pod_template_kinds import Document, Gang, Templated, hidden_templates, told_lists, untold_places

_DEEPEST: Final = 24
_MOST_OF_A_LIST: Final = 100
_PLAIN_NAMES: Final = frozenset({"gpu", "gpus", "gpucount", "numgpus", "gpuspernode"})
_COPIES: Final = ("replicas", "numNodes", "instances", "parallelism", "minReplicas")
_NAMES: Final = ("deviceName", "name", "resourceName")
_NUMBERS: Final = ("quantity", "count")
_DEVICE_NAME: Final = re.compile(r"(nvidia|amd|intel)\.com/\S+", re.ASCII)


class RequestedAmount(Record):
    """`amount` of `resource` at `path`, and `copies` of that as far as can be read."""

    path: str
    resource: str
    amount: int
    copies: int = 1

    @property
    def total(self) -> int:
        return self.amount * self.copies

    def __str__(self) -> str:
        times = f"{self.copies} × " if self.copies > 1 else ""
        return f"{times}{self.amount} {self.resource} at {self.path}"


class Untold(Record):
    """`places`: paths at which an object has pods that aren't told; `asked`: the accelerators that it asks for there."""

    places: tuple[str, ...]
    asked: tuple[RequestedAmount, ...]

    def __bool__(self) -> bool:
        return bool(self.places or self.asked)


def unmodelled_requests(row: Templated | None, document: Document) -> Untold:
    """What an object asks for beyond the pods that its kind's `row` tells; without a row all of it."""
    if row is None:
        return Untold(places=tuple(hidden_templates(document)), asked=accelerators_asked(document))
    own = _apart(document)
    listed_parts = told_lists(row, own)
    places = tuple(untold_places(row, own, listed_parts))
    if row.gang is Gang.IN_TURN and not places:  # what its entrypoint doesn't lead to makes no pods
        return Untold(places=(), asked=())
    requests = accelerators_asked(own, apart=listed_parts)
    # a known kind's fields that are called so repeat what its containers ask for: KubeRay's resources: {GPU: 1}
    counted = tuple(f"{place}." for place in row.composes(own).counted_at) if row.composes is not None else ()
    named = tuple(
        request
        for request in requests
        if request.resource.lower() not in _PLAIN_NAMES and not request.path.startswith(counted)
    )
    return Untold(places=places, asked=named)


_OWN_GROUPS: Final = ("", "apps", "batch")


def gangs_asked(document: Document) -> tuple[str, ...]:
    """Where an object of Kubernetes' own asks that its pods are scheduled as a group: what becomes of them isn't modeled, whether the
    feature is on or off.

    Source: kubernetes `staging/src/k8s.io/api/batch/v1/types.go` `JobSpec.Scheduling` (1.37), `core/v1/types.go` `PodSpec.WorkloadRef`
    (1.35) and `PodSpec.SchedulingGroup` (1.36); KEP-6276 for the workloads of ``apps``.
    """
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    paths = [f"spec.{field}" for field in GANGS.fields] if group in _OWN_GROUPS else []
    return tuple(path for path in paths if at(document, path) is not None)


def _apart(value: Any) -> Any:
    """A copy in which nothing stands twice as one object, as YAML's aliases do."""
    if isinstance(value, Mapping):
        return {key: _apart(child) for key, child in value.items()}
    return [_apart(child) for child in value] if isinstance(value, list) else value


def accelerators_asked(document: Document, apart: frozenset[int] = frozenset()) -> tuple[RequestedAmount, ...]:
    """Where an object asks for accelerators, and for how many; requests and limits of one place once. What stands below one
    of `apart` (``id`` of lists) is told elsewhere."""
    requests: dict[tuple[str, str], RequestedAmount] = {}
    for request in _walked(document, "", 1, 0, apart):
        place = re.sub(r"\.(limits|requests)$", "", request.path), request.resource
        if place not in requests or request.total > requests[place].total:
            requests[place] = request
    return tuple(sorted(requests.values(), key=lambda device_request: device_request.path))


def _walked(value: Any, path: str, copies: int, depth: int, apart: frozenset[int]) -> Iterator[RequestedAmount]:
    if depth > _DEEPEST or id(value) in apart:
        return
    if isinstance(value, list):
        for place, child in enumerate(value[:_MOST_OF_A_LIST]):
            yield from _walked(child, f"{path}[{place}]", copies, depth + 1, apart)
    if not isinstance(value, Mapping):
        return
    # `replicas: 3` multiplies whatever is requested below it.
    copies *= next((number for name in _COPIES if (number := _number(value.get(name)))), 1)
    # Some kinds write a device and its number in two fields: `deviceName: nvidia.com/gpu`, `quantity: 2`.
    named = next((name for key in _NAMES if (name := value.get(key)) and _is_device(name)), None)
    if named is not None:
        amount = next((number for key in _NUMBERS if (number := _number(value.get(key)))), 1)
        yield RequestedAmount(path=path, resource=str(named), amount=amount, copies=copies)
    for key, child in value.items():
        number = _number(child)
        row = accelerator(str(key))
        if number and ((row is not None and row.unit is not Unit.MEMORY) or str(key).lower() in _PLAIN_NAMES):
            yield RequestedAmount(path=path or ".", resource=str(key), amount=number, copies=copies)
        elif isinstance(child, Mapping | list):
            yield from _walked(child, f"{path}.{key}".lstrip("."), copies, depth + 1, apart)


def _is_device(name: object) -> bool:
    return isinstance(name, str) and (accelerator(name) is not None or _DEVICE_NAME.fullmatch(name) is not None)


def _number(value: object) -> int:
    """A whole number above 0 that fits in 32 bits, else 0."""
    return digits(value, most=9) or 0
