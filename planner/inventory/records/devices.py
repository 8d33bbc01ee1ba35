"""Reads devices of dynamic resource allocation (DRA).

The shapes of resource.k8s.io differ: v1beta1 nests a device's body in ``basic`` and keeps a request's fields flat;
v1beta2 and v1 have flat devices and nest the request in ``exactly`` (or ``firstAvailable``).
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.inventory import api_types
from planner.inventory.records.read_context import Shared, amount, amount_or_none, given
from planner.inventory.records.record_layouts import CREATED, OWNER, RecordLayout, at, each, of
from planner.inventory.records.selectors import read_taints, read_terms, read_tolerations
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import EMPTY, FrozenMap


def _cel(_: Shared, selectors: list[api_types.DeviceSelector]) -> tuple[str, ...]:
    return tuple(selector.cel.expression for selector in selectors if selector.cel)


def _first_term(selector: api_types.NodeSelector | None) -> model.NodeSelectorTerm | None:
    terms = read_terms(selector) if selector else ()
    return terms[0] if terms else None


def _device(_: Shared, device: api_types.Device) -> model.Device:
    # Up to v1beta1 the fields of a device stand under `basic`.
    body = device.basic or device
    attributes: dict[str, str | int | bool] = {}
    for name, attribute in (body.attributes or {}).items():
        version = None if attribute.version is None else model.Version(attribute.version)
        for value in (attribute.bool_, attribute.int_, attribute.string, version):
            if value is not None:
                attributes[name] = value
    capacity = {
        name: amount(device_capacity if isinstance(device_capacity, str) else device_capacity.value, name)
        for name, device_capacity in (body.capacity or {}).items()
    }
    policies = {
        name: _policy(device_capacity.request_policy, name)
        for name, device_capacity in (body.capacity or {}).items()
        if not isinstance(device_capacity, str) and device_capacity.request_policy is not None
    }
    is_shared = bool(body.allow_multiple_allocations)
    is_complex = bool(body.binding_conditions or (is_shared and body.consumes_counters))
    return model.Device(
        name=device.name,
        attributes=FrozenMap(attributes),
        capacity=FrozenMap(capacity),
        taints=read_taints(body.taints or []),
        counters=_counters((counter.counter_set, counter) for counter in body.consumes_counters or ()),
        node_name=body.node_name or "",
        all_nodes=bool(body.all_nodes),
        node_selector=_first_term(body.node_selector),
        is_shared=is_shared,
        policies=FrozenMap(policies) if policies else EMPTY,
        is_complex=is_complex,
    )


def _policy(policy: api_types.CapacityPolicy, name: str) -> model.CapacityPolicy:
    steps = policy.valid_range or api_types.CapacityRange()
    return model.CapacityPolicy(
        default=amount_or_none(policy.default, name),
        values=tuple(amount(amount_text, name) for amount_text in policy.valid_values or ()),
        minimum=amount_or_none(steps.min, name),
        maximum=amount_or_none(steps.max, name),
        step=amount_or_none(steps.step, name),
    )


def _amounts(quantities: api_types.Quantities | None) -> model.Amounts:
    return FrozenMap({name: amount(text, name) for name, text in quantities.items()}) if quantities else EMPTY


def _counters(sets: Iterable[tuple[str, api_types.CounterSet]]) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (name, counter, amount(device_capacity.value, counter))
        for name, counters in sets
        for counter, device_capacity in (counters.counters or {}).items()
    )


def _device_request(shared: Shared, request: api_types.DeviceRequest) -> model.DeviceRequest:
    alternatives = tuple(
        _exact_request(shared, subrequest.name, subrequest) for subrequest in request.first_available or ()
    )
    if alternatives:
        return model.DeviceRequest(name=request.name, first_available=alternatives)
    return _exact_request(shared, request.name, request.exactly or request)


def _exact_request(shared: Shared, name: str, exact: api_types.ExactRequest) -> model.DeviceRequest:
    return model.DeviceRequest(
        name=name,
        device_class_name=exact.device_class_name or "",
        selectors=_cel(shared, exact.selectors or []),
        allocation_mode=exact.allocation_mode or "ExactCount",
        count=given(exact.count, 1),
        is_admin=bool(exact.admin_access),
        tolerations=read_tolerations(exact.tolerations or []),
        capacity=_amounts(exact.capacity.requests) if exact.capacity else EMPTY,
    )


_CONSTRAINT = RecordLayout(
    model.DeviceConstraint,
    is_object=False,
    requests="requests",
    match_attribute="matchAttribute",
    distinct_attribute="distinctAttribute",
)
_CLAIM = RecordLayout(
    model.ClaimSpec,
    is_object=False,
    requests=each("devices.requests", api_types.DeviceRequest, _device_request),
    constraints=each("devices.constraints", _CONSTRAINT),
)
DEVICE_CLASS = RecordLayout(
    model.DeviceClass,
    selectors=at("spec.selectors", list[api_types.DeviceSelector], _cel),
    extended_resource_name="spec.extendedResourceName",
    created_at=CREATED,
)
RESOURCE_SLICE = RecordLayout(
    model.ResourceSlice,
    driver="spec.driver",
    pool="spec.pool.name",
    generation=at("spec.pool.generation", api_types.Int64),
    slice_count="spec.pool.resourceSliceCount",
    node_name="spec.nodeName",
    all_nodes="spec.allNodes",
    node_selector=at("spec.nodeSelector", api_types.NodeSelector, lambda _, selector: _first_term(selector)),
    is_per_device="spec.perDeviceNodeSelection",
    counters=at(
        "spec.sharedCounters",
        list[api_types.CounterSet],
        lambda _, sets: _counters((counter_set.name, counter_set) for counter_set in sets),
    ),
    devices=each("spec.devices", api_types.Device, _device),
)


def _taken(allocation: api_types.Allocation) -> list[api_types.AllocatedDevice]:
    """The devices of an allocation that it takes: with admin access it takes nothing."""
    results = (allocation.devices.results or ()) if allocation.devices else ()
    return [allocated_device for allocated_device in results if not allocated_device.admin_access]


def _consumed(_: Shared, allocation: api_types.Allocation) -> tuple[model.Amounts, ...]:
    taken = _taken(allocation)
    is_shared = any(device.consumed_capacity for device in taken)
    return tuple(_amounts(device.consumed_capacity) for device in taken) if is_shared else ()


_ALLOCATION = "status.allocation"
RESOURCE_CLAIM = RecordLayout(
    model.ResourceClaim,
    spec=at("spec", _CLAIM),
    owner=OWNER,
    is_allocated=at(_ALLOCATION, api_types.Allocation, lambda *_: True),
    allocated=at(
        _ALLOCATION,
        api_types.Allocation,
        lambda _, allocation: tuple((each.driver, each.pool, each.device) for each in _taken(allocation)),
    ),
    consumed=at(_ALLOCATION, api_types.Allocation, _consumed),
    node_selector=at(
        _ALLOCATION,
        api_types.Allocation,
        lambda _, allocation: read_terms(allocation.node_selector) if allocation.node_selector else None,
    ),
    reserved_for=each("status.reservedFor", api_types.ObjectReference, lambda _, user: user.uid or ""),
)
RESOURCE_CLAIM_TEMPLATE = RecordLayout(model.ResourceClaimTemplate, spec=at("spec.spec", _CLAIM))


def _taint(_: Shared, where: api_types.DeviceTaintSelector | None, taint: api_types.Taint | None) -> model.Taint:
    """One without a selector taints nothing."""
    if taint is None or where is None:
        return model.Taint(key="", value="", effect="None")
    return read_taints([taint])[0]


_SELECTOR = "spec.deviceSelector"
DEVICE_TAINT_RULE = RecordLayout(
    model.DeviceTaintRule,
    taint=of(_taint, (_SELECTOR, api_types.DeviceTaintSelector), ("spec.taint", api_types.Taint)),
    driver=at(_SELECTOR, api_types.DeviceTaintSelector, lambda _, where: where.driver),
    pool=at(_SELECTOR, api_types.DeviceTaintSelector, lambda shared, where: shared.text(where.pool)),
    device=at(_SELECTOR, api_types.DeviceTaintSelector, lambda _, where: where.device),
)
