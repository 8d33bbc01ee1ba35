"""Validates a pod template as the API server does, beyond the types of its fields.

Fields that the planner doesn't keep are looked at in the document: they are there, as plain values or as digests.

Source: kubernetes 1.36 `pkg/apis/core/validation/validation.go` `ValidatePodSpec` and what it calls, as far as the planner
reads the fields.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from planner.ground import quantity
from planner.ground.well_known_names import CPU, EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY, is_extended_resource
from planner.inventory import api_types
from planner.inventory.records.pods import asked_at_once, read_pod_spec
from planner.inventory.records.read_context import Shared
from planner.inventory.redacted_value_digests import sealed
from planner.kubernetes.object_records import EMPTY, Amounts, PodSpec

Object = dict[str, Any]
_SOURCES = tuple(field.name for field in msgspec.structs.fields(api_types.Volume) if field.name != "name")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POD_LEVEL = (CPU, MEMORY)
_STANDARD = (CPU, MEMORY, EPHEMERAL_STORAGE)
_QUALIFIED = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")


def problems_of(template: api_types.PodTemplate, document: Object, claims: Iterable[str] = ()) -> Iterator[str]:
    """Each refusal: the field in ``spec.template.spec``, and what is wrong with it.

    `document` is the template as written, `claims` are the names of the workload's volumeClaimTemplates.
    """
    spec = template.spec or api_types.PodSpec()
    yield from _volumes(spec.volumes or ())
    for container in _containers(spec):
        yield from _resources(container)
    names = [*(volume.name for volume in spec.volumes or ()), *claims]
    yield from _written(document.get("spec") or {}, {*names, *map(sealed, names)})
    yield from _gates(spec.scheduling_gates or ())
    yield from _ports(spec)
    yield from _claims(spec)
    yield from _tolerations(spec.tolerations or ())
    yield from _affinity(spec.affinity or api_types.Affinity())
    yield from _spread(spec.topology_spread_constraints or ())
    if spec.resources is not None:
        yield from _pod_level(read_pod_spec(Shared(), spec))
    if spec.active_deadline_seconds is not None:
        yield "activeDeadlineSeconds is not supported in a workload's template"


def amount_problems(template: api_types.PodTemplate) -> Iterator[str]:
    """Of them what is wrong with a container's amounts, which is so of any pod."""
    for container in _containers(template.spec or api_types.PodSpec()):
        yield from _resources(container)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _volumes(volumes: Iterable[api_types.Volume]) -> Iterator[str]:
    for name in _repeated(volume.name for volume in volumes):
        yield f"volumes: the name {name} is used twice"
    for volume in volumes:
        sources = [source for source in _SOURCES if getattr(volume, source) is not None]
        if len(sources) > 1:
            yield f"volumes[{volume.name}]: may not specify more than 1 volume type; it has {len(sources)}"
        if volume.persistent_volume_claim is not None and not volume.persistent_volume_claim.claim_name:
            yield f"volumes[{volume.name}].persistentVolumeClaim: give a claimName"


def _containers(spec: api_types.PodSpec) -> list[api_types.Container]:
    return [*(spec.init_containers or ()), *(spec.containers or ())]


def _resources(container: api_types.Container) -> Iterator[str]:
    """`validateResourceRequirements`; what compares amounts is `inventory.change_validation`'."""
    resources = container.resources or api_types.Resources()
    requests, limits = resources.requests or {}, resources.limits or {}
    for name in dict.fromkeys([*requests, *limits]):
        place, is_huge = f"containers[{container.name}].resources: {name}", name.startswith(HUGE_PAGES)
        if "/" not in name and not is_huge and name not in _STANDARD:
            yield f"{place} must be a standard resource for containers, or have a domain"
        amounts = [quantity.parse_decimal(str(side[name])) for side in (requests, limits) if name in side]
        if is_extended_resource(name) and any(amount != amount.to_integral_value() for amount in amounts):
            yield f"{place} must be an integer"
        if is_huge and (name not in limits or len(set(amounts)) > 1):
            yield f"{place} can't be overcommitted: give a limit of the same amount"
        if is_huge and not {"cpu", "memory"}.intersection((*requests, *limits)):
            yield f"{place}: huge pages require cpu or memory"


def _written(spec: Object, volumes: set[str]) -> Iterator[str]:
    """Mounts, port names and handlers; `volumes` are the names there are."""
    for group in ("initContainers", "containers"):
        for container in (raw_container for raw_container in spec.get(group) or () if isinstance(raw_container, dict)):
            place = f"{group}[{container.get('name')}]"
            mounts = [mount for mount in container.get("volumeMounts") or () if isinstance(mount, dict)]
            if any(isinstance(mount.get("name"), str) and mount["name"] not in volumes for mount in mounts):
                yield f"{place}.volumeMounts: one names a volume that isn't there"
            if _repeated(str(mount.get("mountPath")) for mount in mounts):
                yield f"{place}.volumeMounts: mountPath must be unique"
            ports = [port for port in container.get("ports") or () if isinstance(port, dict)]
            # Within one container only: another one of the pod may use the name too (`validateContainerPorts`).
            if _repeated(str(port["name"]) for port in ports if port.get("name")):
                yield f"{place}.ports: a name is used twice"
            yield from _handlers(place, container, may_have=group == "containers")


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _handlers(place: str, container: Object, *, may_have: bool) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    probes = {name: container[name] for name in _PROBES if isinstance(container.get(name), dict)}
    if (probes or lifecycle) and not may_have and container.get("restartPolicy") != "Always":
        yield f"{place}: probes and lifecycle hooks are for containers that stay (restartPolicy Always)"
    probes |= {f"lifecycle.{name}": hook for name, hook in lifecycle.items() if isinstance(hook, dict)}
    for name, handler in probes.items():
        count = sum(handler.get(kind) is not None for kind in ("exec", "httpGet", "tcpSocket", "grpc", "sleep"))
        if count > 1:
            yield f"{place}.{name}: may not specify more than 1 handler type"
        elif not count:
            yield f"{place}.{name}: must specify a handler type"


def _gates(gates: Iterable[api_types.Named]) -> Iterator[str]:
    for name in _repeated(gate.name for gate in gates):
        yield f"schedulingGates: {name} is there twice"
    for gate in gates:
        if not _QUALIFIED.match(gate.name):
            yield f'schedulingGates: "{gate.name}" is no qualified name'


def _ports(spec: api_types.PodSpec) -> Iterator[str]:
    taken: list[str] = []
    for container in spec.containers or ():
        for port in container.ports or ():
            if not 1 <= (port.container_port or 0) <= 65_535:
                yield f"containers[{container.name}].ports: containerPort {port.container_port} is not from 1 to 65535"
            if spec.host_network and port.host_port and port.host_port != port.container_port:
                yield (
                    f"containers[{container.name}].ports: hostPort {port.host_port} must match containerPort "
                    f"{port.container_port} when hostNetwork is true"
                )
            if port.host_port:
                taken.append(f"{port.protocol or 'TCP'}/{port.host_ip or '0.0.0.0'}/{port.host_port}")
    for repeated_port in _repeated(taken):
        yield f"containers: the host port {repeated_port} is taken twice"


def _claims(spec: api_types.PodSpec) -> Iterator[str]:
    claim_names = [pod_resource_claim.name for pod_resource_claim in spec.resource_claims or ()]
    for name in _repeated(claim_names):
        yield f"resourceClaims: the name {name} is used twice"
    for claim in spec.resource_claims or ():
        claim_source = claim.source or claim
        if (claim_source.resource_claim_name is None) == (claim_source.resource_claim_template_name is None):
            yield f"resourceClaims[{claim.name}]: give one of resourceClaimName and resourceClaimTemplateName"
    for container in _containers(spec):
        for reference in (container.resources.claims if container.resources else None) or ():
            if reference.name not in claim_names:
                yield f"containers[{container.name}].resources.claims: {reference.name} is none of the pod's resourceClaims"


def _tolerations(tolerations: Iterable[api_types.Toleration]) -> Iterator[str]:
    for i, toleration in enumerate(tolerations):
        place, operator = f"tolerations[{i}]", toleration.operator or "Equal"
        if not toleration.key and operator != "Exists":
            yield f"{place}: operator must be Exists when key is empty"
        if operator not in ("Equal", "Exists", "Lt", "Gt"):
            yield f'{place}: the operator "{operator}" is none of Equal, Exists, Lt and Gt'
        if operator == "Exists" and toleration.value:
            yield f"{place}: value must be empty when operator is Exists"
        if toleration.effect and toleration.effect not in _EFFECTS:
            yield f'{place}: the effect "{toleration.effect}" is none of {", ".join(_EFFECTS)}'
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            yield f"{place}: effect must be NoExecute when tolerationSeconds is set"


def _affinity(affinity: api_types.Affinity) -> Iterator[str]:
    node = affinity.node_affinity or api_types.NodeAffinity()
    if node.required is not None and not node.required.node_selector_terms:
        yield "affinity.nodeAffinity: a required node selector must have at least one term"
    # Terms of required and preferred affinity hold the same requirements, and are checked alike.
    terms = [*((node.required.node_selector_terms if node.required else None) or ())]
    terms += [term.preference for term in node.preferred or () if term.preference is not None]
    for requirement in (r for term in terms for r in (*(term.match_expressions or ()), *(term.match_fields or ()))):
        yield from _requirement(requirement)
    for preferred in node.preferred or ():
        if not 1 <= preferred.weight <= 100:
            yield f"affinity.nodeAffinity: the weight {preferred.weight} is not from 1 to 100"
    for side in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if side is None:
            continue
        weighted = [term.pod_affinity_term or api_types.PodAffinityTerm() for term in side.preferred or ()]
        if any(not pod_term.topology_key for pod_term in (*(side.required or ()), *weighted)):
            yield "affinity: a term for pods must have a topologyKey"
        if any(not 1 <= term.weight <= 100 for term in side.preferred or ()):
            yield "affinity: the weight of a term for pods is not from 1 to 100"


def _requirement(requirement: api_types.Requirement) -> Iterator[str]:
    count, place = (
        len(requirement.values or ()),
        f"affinity.nodeAffinity, {requirement.key or 'a requirement without key'}",
    )
    if not requirement.key:
        yield f"{place}: give a key"
    if requirement.operator in ("In", "NotIn"):
        if not count:
            yield f"{place}: {requirement.operator} needs values"
    elif requirement.operator in ("Exists", "DoesNotExist"):
        if count:
            yield f"{place}: {requirement.operator} has no values"
    elif requirement.operator in ("Gt", "Lt"):
        if count != 1:
            yield f"{place}: {requirement.operator} needs one value"
    else:
        yield f'{place}: "{requirement.operator}" is no operator of node selectors'


def _spread(constraints: Iterable[api_types.TopologySpreadConstraint]) -> Iterator[str]:
    for spread_constraint in constraints:
        place = f"topologySpreadConstraints[{spread_constraint.topology_key}]"
        if not spread_constraint.topology_key:
            yield f"{place}: give a topologyKey"
        if spread_constraint.max_skew < 1:
            yield f"{place}: maxSkew must be greater than 0"
        if spread_constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
            yield f'{place}: "{spread_constraint.when_unsatisfiable}" is neither DoNotSchedule nor ScheduleAnyway'
        if spread_constraint.min_domains is not None and (
            spread_constraint.min_domains < 1 or spread_constraint.when_unsatisfiable != "DoNotSchedule"
        ):
            yield f"{place}: minDomains is at least 1, and for DoNotSchedule only"
    for name in _repeated(f"{constraint.topology_key}, {constraint.when_unsatisfiable}" for constraint in constraints):
        yield f"topologySpreadConstraints: {name} is there twice"


def _pod_level(spec: PodSpec) -> Iterator[str]:
    """`validatePodResourceConsistency`: requests of all containers together, limits of each."""
    requests: Amounts = spec.pod_requests or EMPTY
    limits: Amounts = spec.pod_limits or EMPTY
    for name, amount in requests.items():
        together = asked_at_once(spec.containers, spec.init_containers, name)
        if together > amount:
            yield (
                f"resources.requests: {name} {quantity.format_amount(amount, name)} is less than the containers' "
                f"{quantity.format_amount(together, name)}"
            )
        if amount > limits.get(name, amount):
            yield f"resources.requests: {name} is above its limit"
        if name not in _POD_LEVEL and not name.startswith(HUGE_PAGES):
            yield f"resources.requests: {name} can't be given for the pod as a whole"
    for container in spec.containers:
        for name, amount in container.limits.items():
            if amount > limits.get(name, amount):
                yield (
                    f"containers[{container.name}].resources.limits: {name} {quantity.format_amount(amount, name)} is above the "
                    f"pod's {quantity.format_amount(limits[name], name)}"
                )
