"""Makes devices for a manifest's ResourceClaims without a cluster: each node has as many as its pods request, and each
satisfies the CEL selectors of its request and DeviceClass.

A device is made of what the selectors compare with constants, and is then put to them: one that they don't select is none, and the claim
isn't known. Source: kubernetes `staging/src/k8s.io/api/resource/v1/types.go`, KEP-4381.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from planner.ground.records import Record
from planner.inventory.kubectl_apply import Object
from planner.kubernetes.object_records import ClaimSpec, DeviceRequest, PodSpec, ResourceSlice, Snapshot
from planner.scheduling.cel_errors import CelError, NotEvaluated

API: Final = "resource.k8s.io/v1"
_DRIVER = re.compile(r"""device\.driver\s*==\s*["']([^"']+)["']""")
_ATTRIBUTE = re.compile(
    r"""device\.attributes\[["']([^"']+)["']\]\.(\w+)\s*(?:==\s*(?:["']([^"']*)["']|(true|false)\b|(-?\d+))|in\s*\[\s*["']([^"']*)["'])"""
)
_CAPACITY = re.compile(
    r"""device\.capacity\[["']([^"']+)["']\]\.(\w+)\.compareTo\(quantity\(["']([^"']+)["']\)\)\s*(?:>=|==)\s*0"""
)
_ASK: Final = "Ask with a cluster: headroom gate CLUSTER -f FILE"
_GIVE: Final = "Give it too: -f FILE"


class DeviceSet(Record):
    """So many devices of one request of an entry of a pod's ``resourceClaims``; `document`: one of them as its slice has it, without its name."""

    entry: str
    template: str
    request: str
    device_class: str
    driver: str
    count: int
    document: Any


def devices_of(
    spec: PodSpec, namespace: str, file_objects: Snapshot, read: Callable[[Object], ResourceSlice]
) -> tuple[tuple[DeviceSet, ...], tuple[str, str]]:
    """The devices that the pod's claims ask for, and ("", ""); or none, with why they aren't known and what would tell.

    Parameters
    ----------
    file_objects : the objects that the files hold beside workloads
    read : reads a ResourceSlice
    """
    templates = {
        claim_template.name: claim_template.spec
        for claim_template in file_objects.resource_claim_templates
        if claim_template.namespace == namespace
    }
    classes = {device_class.name: device_class.selectors for device_class in file_objects.device_classes}
    sets: list[DeviceSet] = []
    for claim in spec.resource_claims:
        name = claim.resource_claim_template_name
        if name is None:
            what = f"ResourceClaim {claim.resource_claim_name} is shared by its pods, and on which node its devices are isn't known without a cluster"
            return (), (what, _ASK)
        if name not in templates:
            return (), (
                f"ResourceClaimTemplate {name} isn't in the files, so which devices its pods ask for isn't known",
                _GIVE,
            )
        for request in templates[name].requests:
            first = request.first_available[0] if request.first_available else request
            if first.device_class_name not in classes:
                what = f"DeviceClass {first.device_class_name} isn't in the files, so which devices it stands for isn't known"
                return (), (what, _GIVE)
            selectors = (*classes[first.device_class_name], *first.selectors)
            device_document = _made(first, selectors, templates[name], read)
            if device_document is None:
                what = f"which device the selectors of DeviceClass {first.device_class_name} and of its claims select isn't known without a cluster"
                return (), (what, _ASK)
            called = request.name if first is request else f"{request.name}/{first.name}"
            driver, document = device_document
            sets.append(DeviceSet(entry=claim.name, template=name, request=called, device_class=first.device_class_name, driver=driver,
                                   count=first.count, document=document))  # fmt: skip
    return tuple(sets), ("", "")


def slice_document(node: str, driver: str, devices: Iterable[Object]) -> Object:
    """The ResourceSlice of a node's devices."""
    every = [{"name": f"device-{number}", **device} for number, device in enumerate(devices)]
    return {
        "apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": f"{node}-{driver}"},
        "spec": {"driver": driver, "nodeName": node, "devices": every, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}},
    }  # fmt: skip


def _made(
    request: DeviceRequest, selectors: Iterable[str], claim: ClaimSpec, read: Callable[[Object], ResourceSlice]
) -> tuple[str, Object] | None:
    """A driver and a device that the selectors select; None where none was made.

    The device is guessed from the words of the selectors (regular expressions) and then asked of CEL itself: a wrong guess is no device.
    """
    if request.allocation_mode != "ExactCount" or request.is_admin or request.capacity:
        return None
    every = list(selectors)
    text = "\n".join(every)
    attributes: dict[str, Object] = {}
    for domain, name, word, flag, number, first in _ATTRIBUTE.findall(text):
        value: Object = {"string": word or first}
        if flag:
            value = {"bool": flag == "true"}
        elif number:
            value = {"int": int(number)}
        attributes.setdefault(f"{domain}/{name}", value)
    for constraint in claim.constraints:
        if constraint.distinct_attribute:
            return None
        attributes.setdefault(constraint.match_attribute, {"string": "made"})
    capacity = {f"{domain}/{name}": {"value": amount} for domain, name, amount in _CAPACITY.findall(text)}
    domains = [key.partition("/")[0] for key in (*attributes, *capacity)]
    driver = next(iter([*_DRIVER.findall(text), *domains]), request.device_class_name)
    document: Object = {"attributes": attributes, "capacity": capacity}
    (device,) = read(slice_document("made", driver, [document])).devices
    from planner.scheduling.device_selectors import (
        satisfies,
    )  # imported here: the CEL library loads slowly, and most manifests have no selectors

    try:
        return (driver, document) if all(satisfies(selector, driver, device) for selector in every) else None
    except (CelError, NotEvaluated):
        return None
