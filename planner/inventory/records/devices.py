"""Devices of dynamic resource allocation: wire → record.

The shapes of resource.k8s.io differ: v1beta1 nests a device's body in ``basic`` and keeps a request's fields flat;
v1beta2 and v1 have flat devices and nest the request in ``exactly`` (or ``firstAvailable``).
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.ground.vocabulary import DEFAULT_NAMESPACE
from planner.inventory import wire
from planner.inventory.records.selectors import read_taint, read_terms, read_tolerations
from planner.inventory.records.shared import Shared, amount, given, metadata_of, read_owner
from planner.kubernetes import records as model
from planner.kubernetes.records import EMPTY, FrozenMap


def read_device_class(_: Shared, device_class: wire.DeviceClass) -> model.DeviceClass:
    """A DeviceClass."""
    spec = device_class.spec or wire.DeviceClassSpec()
    return model.DeviceClass(
        name=metadata_of(device_class).name or "",
        selectors=_cel(spec.selectors),
        extended_resource_name=spec.extended_resource_name or "",
    )


def read_resource_slice(shared: Shared, resource_slice: wire.ResourceSlice) -> model.ResourceSlice:
    """A ResourceSlice: the devices a driver offers, of one pool."""
    spec = resource_slice.spec or wire.ResourceSliceSpec()
    pool = spec.pool or wire.ResourcePool()
    terms = read_terms(spec.node_selector) if spec.node_selector else ()
    return model.ResourceSlice(
        name=metadata_of(resource_slice).name or "",
        driver=spec.driver,
        pool=pool.name,
        generation=pool.generation or 0,
        slice_count=given(pool.resource_slice_count, 1),
        node_name=shared.text(spec.node_name),
        all_nodes=bool(spec.all_nodes),
        node_selector=terms[0] if terms else None,
        is_per_device=bool(spec.per_device_node_selection),
        counters=_counters((one.name, one) for one in spec.shared_counters or ()),
        devices=tuple(_device(one) for one in spec.devices or ()),
    )


def read_resource_claim(shared: Shared, claim: wire.ResourceClaim) -> model.ResourceClaim:
    """A ResourceClaim, with the devices allocated to it."""
    metadata = metadata_of(claim)
    status = claim.status or wire.ClaimStatus()
    allocation = status.allocation
    results = (allocation.devices.results or ()) if allocation and allocation.devices else ()
    taken = [one for one in results if not one.admin_access]
    selector = allocation.node_selector if allocation else None
    return model.ResourceClaim(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        spec=_claim_spec(claim.spec),
        owner=read_owner(shared, metadata),
        is_allocated=allocation is not None,
        allocated=tuple((one.driver, one.pool, one.device) for one in taken),
        consumed=tuple(_amounts(one.consumed_capacity) for one in taken)
        if any(one.consumed_capacity for one in taken)
        else (),
        node_selector=read_terms(selector) if selector else None,
        reserved_for=tuple(user.uid or "" for user in status.reserved_for or ()),
    )


def read_resource_claim_template(shared: Shared, template: wire.ResourceClaimTemplate) -> model.ResourceClaimTemplate:
    """A ResourceClaimTemplate."""
    metadata = metadata_of(template)
    return model.ResourceClaimTemplate(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        spec=_claim_spec(template.spec.spec if template.spec else None),
    )


def _cel(selectors: list[wire.DeviceSelector] | None) -> tuple[str, ...]:
    return tuple(one.cel.expression for one in selectors or () if one.cel)


def _device(device: wire.Device) -> model.Device:
    body = device.basic or device
    attributes: dict[str, str | int | bool] = {}
    for name, attribute in (body.attributes or {}).items():
        version = None if attribute.version is None else model.Version(attribute.version)
        for value in (attribute.bool_, attribute.int_, attribute.string, version):
            if value is not None:
                attributes[name] = value
    capacity = {
        name: amount(given if isinstance(given, str) else given.value, name)
        for name, given in (body.capacity or {}).items()
    }
    policies = {
        name: _policy(given.request_policy, name)
        for name, given in (body.capacity or {}).items()
        if not isinstance(given, str) and given.request_policy is not None
    }
    is_shared = bool(body.allow_multiple_allocations)
    is_complex = bool(body.binding_conditions or (is_shared and body.consumes_counters))
    terms = read_terms(body.node_selector) if body.node_selector else ()
    return model.Device(
        name=device.name,
        attributes=FrozenMap(attributes),
        capacity=FrozenMap(capacity),
        taints=tuple(read_taint(taint) for taint in body.taints or ()),
        counters=_counters((one.counter_set, one) for one in body.consumes_counters or ()),
        node_name=body.node_name or "",
        all_nodes=bool(body.all_nodes),
        node_selector=terms[0] if terms else None,
        is_shared=is_shared,
        policies=FrozenMap(policies) if policies else EMPTY,
        is_complex=is_complex,
    )


def _policy(policy: wire.CapacityPolicy, name: str) -> model.CapacityPolicy:
    steps = policy.valid_range or wire.CapacityRange()

    def read(text: str | int | float | None) -> int | None:
        return None if text is None else amount(text, name)

    return model.CapacityPolicy(
        default=read(policy.default),
        values=tuple(amount(one, name) for one in policy.valid_values or ()),
        minimum=read(steps.min),
        maximum=read(steps.max),
        step=read(steps.step),
    )


def _amounts(quantities: wire.Quantities | None) -> model.Amounts:
    return FrozenMap({name: amount(text, name) for name, text in quantities.items()}) if quantities else EMPTY


def read_device_taint_rule(shared: Shared, rule: wire.DeviceTaintRule) -> model.DeviceTaintRule:
    """A DeviceTaintRule; one without a selector taints nothing."""
    spec = rule.spec or wire.DeviceTaintRuleSpec()
    where = spec.device_selector
    taint = read_taint(spec.taint) if spec.taint and where is not None else model.Taint(key="", value="", effect="None")
    where = where or wire.DeviceTaintSelector()
    return model.DeviceTaintRule(
        name=metadata_of(rule).name or "",
        taint=taint,
        driver=where.driver or "",
        pool=shared.text(where.pool),
        device=where.device or "",
    )


def _claim_spec(spec: wire.ClaimSpec | None) -> model.ClaimSpec:
    devices = (spec.devices if spec else None) or wire.DeviceClaim()
    return model.ClaimSpec(
        requests=tuple(_device_request(one) for one in devices.requests or ()),
        constraints=tuple(
            model.DeviceConstraint(
                requests=tuple(one.requests or ()),
                match_attribute=one.match_attribute or "",
                distinct_attribute=one.distinct_attribute or "",
            )
            for one in devices.constraints or ()
        ),
    )


def _counters(sets: Iterable[tuple[str, wire.CounterSet]]) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (name, counter, amount(one.value, counter))
        for name, counters in sets
        for counter, one in (counters.counters or {}).items()
    )


def _device_request(request: wire.DeviceRequest) -> model.DeviceRequest:
    alternatives = tuple(_exact_request(one.name, one) for one in request.first_available or ())
    if alternatives:
        return model.DeviceRequest(
            name=request.name,
            first_available=alternatives,
        )
    return _exact_request(request.name, request.exactly or request)


def _exact_request(name: str, exact: wire.ExactRequest) -> model.DeviceRequest:
    return model.DeviceRequest(
        name=name,
        device_class_name=exact.device_class_name or "",
        selectors=_cel(exact.selectors),
        allocation_mode=exact.allocation_mode or "ExactCount",
        count=given(exact.count, 1),
        is_admin=bool(exact.admin_access),
        tolerations=read_tolerations(exact.tolerations or []),
        capacity=_amounts(exact.capacity.requests) if exact.capacity else EMPTY,
    )
