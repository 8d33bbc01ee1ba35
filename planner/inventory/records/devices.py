"""Devices of dynamic resource allocation: wire → record.

The shapes of resource.k8s.io differ: v1beta1 nests a device's body in ``basic`` and keeps a request's fields flat;
v1beta2 and v1 have flat devices and nest the request in ``exactly`` (or ``firstAvailable``).
"""

from __future__ import annotations

from planner.inventory import wire
from planner.inventory.records.selectors import read_taint, read_terms, read_tolerations
from planner.inventory.records.shared import Shared, amount, given, metadata_of, read_owner
from planner.kubernetes import records as model
from planner.kubernetes.records import FrozenMap


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
        devices=tuple(_device(one) for one in spec.devices or ()),
    )


def read_resource_claim(shared: Shared, claim: wire.ResourceClaim) -> model.ResourceClaim:
    """A ResourceClaim, with the devices allocated to it."""
    metadata = metadata_of(claim)
    status = claim.status or wire.ClaimStatus()
    allocation = status.allocation
    results = (allocation.devices.results or ()) if allocation and allocation.devices else ()
    selector = allocation.node_selector if allocation else None
    return model.ResourceClaim(
        namespace=shared.text(metadata.namespace or "default"),
        name=metadata.name or "",
        spec=_claim_spec(claim.spec),
        owner=read_owner(shared, metadata),
        allocated=tuple((one.driver, one.pool, one.device) for one in results),
        node_selector=read_terms(selector) if selector else None,
        reserved_for=tuple(user.uid or "" for user in status.reserved_for or ()),
    )


def read_resource_claim_template(shared: Shared, template: wire.ResourceClaimTemplate) -> model.ResourceClaimTemplate:
    """A ResourceClaimTemplate."""
    metadata = metadata_of(template)
    return model.ResourceClaimTemplate(
        namespace=shared.text(metadata.namespace or "default"),
        name=metadata.name or "",
        spec=_claim_spec(template.spec.spec if template.spec else None),
    )


def _cel(selectors: list[wire.DeviceSelector] | None) -> tuple[str, ...]:
    return tuple(one.cel.expression for one in selectors or () if one.cel)


def _device(device: wire.Device) -> model.Device:
    body = device.basic or device
    attributes: dict[str, str | int | bool] = {}
    for name, attribute in (body.attributes or {}).items():
        for value in (attribute.bool_, attribute.int_, attribute.string, attribute.version):
            if value is not None:
                attributes[name] = value
    capacity = {
        name: amount(given if isinstance(given, str) else given.value, name)
        for name, given in (body.capacity or {}).items()
    }
    is_complex = bool(
        body.consumes_counters
        or body.allow_multiple_allocations
        or body.node_name
        or body.node_selector is not None
        or body.all_nodes
        or body.binding_conditions
    )
    return model.Device(
        name=device.name,
        attributes=FrozenMap(attributes),
        capacity=FrozenMap(capacity),
        taints=tuple(read_taint(taint) for taint in body.taints or ()),
        is_complex=is_complex,
    )


def _claim_spec(spec: wire.ClaimSpec | None) -> model.ClaimSpec:
    devices = (spec.devices if spec else None) or wire.DeviceClaim()
    return model.ClaimSpec(
        requests=tuple(_device_request(one) for one in devices.requests or ()),
        has_constraints=bool(devices.constraints),
    )


def _device_request(request: wire.DeviceRequest) -> model.DeviceRequest:
    exact = request.exactly or request
    return model.DeviceRequest(
        name=request.name,
        device_class_name=exact.device_class_name or "",
        selectors=_cel(exact.selectors),
        allocation_mode=exact.allocation_mode or "ExactCount",
        count=given(exact.count, 1),
        is_admin=bool(exact.admin_access),
        tolerations=read_tolerations(exact.tolerations or []),
        is_complex=bool(request.first_available) or exact.capacity is not None,
    )
