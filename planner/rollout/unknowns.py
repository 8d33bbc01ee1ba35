"""Unknown inputs on which an answer depends: they are named, and the verdict is "unknown" instead of a guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from planner.ground.records import Record, replace
from planner.ground.well_known_names import DEFAULT_SCHEDULER, HOSTNAME, TAINT_UNREACHABLE, is_extended_resource
from planner.ground.words import listing, with_article
from planner.inventory.field_coverage import FIELDS
from planner.inventory.inferred_replicasets import untold_revision
from planner.inventory.input_report import get_command
from planner.kubernetes import kueue_managed_pods
from planner.kubernetes.accelerator_units import card_by_card, is_listed
from planner.kubernetes.argo_and_lws_rollouts import invalid
from planner.kubernetes.feature_gates import MAX_UNAVAILABLE, RECORDED, doubted, max_unavailable_doubt, minor_of
from planner.kubernetes.known_admission_webhooks import known_hook
from planner.kubernetes.node_properties import NOT_READY, is_ready, is_silent
from planner.kubernetes.object_records import (
    FLEX_VOLUME,
    AdmissionHook,
    AdmissionPolicyBinding,
    ClaimSpec,
    FrozenMap,
    Labels,
    Node,
    Pod,
    PodSpec,
    Presence,
    Snapshot,
    Workload,
)
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_template_kinds import Idle
from planner.kubernetes.priorities import SYSTEM_CRITICAL_PRIORITY
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.shell_commands import command
from planner.kubernetes.sidecar_injection import is_injector
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.volume_attach_rules import Attaching
from planner.kubernetes.workload_kinds import NODE, POD, RECREATE, ROLLING_UPDATE, kind_called, several
from planner.rollout.admission import claim_usage, quota_covers, unknown_priority, unknown_security, usage
from planner.rollout.controllers.replicaset_owner import NEW_HASH
from planner.rollout.doubly_advertised_devices import given_out_twice
from planner.rollout.independent_actors import going_spaces
from planner.rollout.interfering_rollouts import unknown_destinations
from planner.rollout.ownership import untold_undo
from planner.rollout.run import Revision, Run
from planner.rollout.silent_nodes import out_of_service, silent_nodes, toleration_seconds
from planner.rollout.stuck_diagnosis import volume_waits
from planner.rollout.webhook_match_conditions import AdmittedObject, admitted_objects, is_skipped
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.devices import Demand, device_demand
from planner.scheduling.kueue.kueue_verdicts import lacking
from planner.scheduling.shape import Shape, alike, compile_shape

_ADD_KIND = "Add the missing kinds to kubectl get"
_TAKE_WHOLE = "Take the snapshot again, whole"
_WITHOUT = "Read the answer as one in which that keeps no pod from its node"
_ASK = "Ask for the right to list them (get, list on that resource)"
_NODE_BACK = "Ask again when the node is back or gone"
_ASK_KUEUE = "See what it says: kubectl get workloads.kueue.x-k8s.io --all-namespaces"
_TELL_OF_NOTHING = frozenset({"Event", "PodMetrics", "Service"})  # neither has a say in where pods go
_JUDGES = {"ResourceQuota": "refuse the pods", "LimitRange": "refuse the pods or change what they ask for"}


class Unknown(Record):
    """`may_help`: knowing it could make a rollout complete that is stuck without it, not only the other way round."""

    what: str
    may_help: bool = False
    fix: str = _ADD_KIND


def unknowns(cluster: Cluster, revision: Revision, new: Shape | None = None) -> tuple[Unknown, ...]:
    """What is lacking for a sure answer on this workload; `new` is the shape of its new pods, where any were made."""
    if revision.placed is not None and revision.placed.idle is Idle.THERE:
        return ()
    gaps = [*_queued(cluster.snapshot, revision), *_deleted(cluster.snapshot, revision)]
    gaps += _contradicted(cluster.snapshot, revision)
    gaps += _held_on_silent_nodes(cluster, revision, new)
    if revision.placed is not None and revision.placed.idle:
        return tuple(gaps)  # no pod is made
    gaps += _not_started(cluster, revision, new)
    if revision.placed is not None and revision.placed.scheduler:
        gaps.append(_of_scheduler(revision.placed.scheduler))
    after = revision.after
    for template, _ in revision.templates:
        gaps += _of_template(
            cluster, revision, after if template is after.template else replace(after, template=template)
        )
    if new is not None and new.storage.unknown:
        gaps.append(Unknown(what=new.storage.unknown))
    return tuple(dict.fromkeys(gaps))


def unknown_drivers(run: Run, keys: Iterable[str]) -> Iterator[tuple[str, Unknown]]:
    """Workload → not known whether the volume that its pod waits for is attached at all."""
    for key in keys:
        for wait in volume_waits(run, key):
            if wait.volume.how is Attaching.UNKNOWN:
                driver = wait.volume.driver
                lacks, fix = "the snapshot holds no CSIDrivers", f"To add them: {get_command(['CSIDriver'])}"
                if driver.startswith(FLEX_VOLUME):
                    driver = f"the FlexVolume driver {driver.removeprefix(FLEX_VOLUME)}"
                    lacks, fix = (
                        "no node's status.volumesAttached names one",
                        "The driver's answer to init tells, under capabilities",
                    )
                what = f"whether volumes of {driver} are attached to one node isn't known: {lacks}"
                yield key, Unknown(what=what, may_help=True, fix=fix)


def is_blind(cluster: Cluster, revision: Revision) -> bool:
    """Whether nothing that is played of it is true: nodes or pods weren't all seen, and it moves some."""
    is_idle = revision.placed is not None and bool(revision.placed.idle)
    return not is_idle and cluster.snapshot.if_known(True, NODE.name, POD.name) is None


def _queued(snapshot: Snapshot, revision: Revision) -> Iterator[Unknown]:
    """Whether and when Kueue lets the pods begin, and whom it evicts for them, depends on its quotas."""
    after, templates = revision.after, [template for template, _ in revision.templates]
    if revision.queued is not None:
        if revision.queued.unknown:
            yield Unknown(what=f"Kueue admits these pods, and {revision.queued.unknown}", may_help=True, fix=_ASK_KUEUE)
        return
    if queue_sentence := kueue_managed_pods.managing_reason(snapshot, after.namespace, after.labels, templates):
        missing = lacking(snapshot)
        lacks = (
            f"the input holds no {listing([several(kind) for kind in missing], most=None)}"
            if missing
            else "that isn't played here"
        )
        what, fix = f"{queue_sentence}, and {lacks}", f"To add them: {get_command(missing)}" if missing else _ASK_KUEUE
        if kueue_managed_pods.is_default_unseen(snapshot) and not kueue_managed_pods.named_queue(
            after.labels, templates
        ):
            fix = f"To add them: {get_command([kueue_managed_pods.LOCAL])}"
        yield Unknown(what=what, may_help=True, fix=fix)


def _deleted(snapshot: Snapshot, revision: Revision) -> Iterator[Unknown]:
    """What is being deleted rolls nothing out, and in such a namespace the API server takes nothing new (`NamespaceLifecycle`)."""
    if revision.before is not None and revision.before.is_deleting:
        yield Unknown(what="it is being deleted (deletionTimestamp)", fix="Ask again when it has gone")
    if revision.after.namespace in going_spaces(snapshot):
        what = f"namespace {revision.after.namespace} is being deleted, and nothing new is let in"
        yield Unknown(what=what, fix="Ask again when it has gone")


def _contradicted(snapshot: Snapshot, revision: Revision) -> Iterator[Unknown]:
    """Objects that the input has in several states, of which neither resourceVersion nor generation tells the latest: the order in a
    file or a folder says nothing of it. Nodes and pods are everybody's, what has no namespace too; of workloads a rollout depends on its own."""
    after = revision.after
    for kind, space, name in snapshot.reading.contradicted:
        is_own = f"{kind}/{space}/{name}" == after.key
        if kind in _TELL_OF_NOTHING or (kind_called(kind).rolls_out and not is_own):
            continue
        if is_own or kind in (NODE.name, POD.name) or space in ("", after.namespace):
            called = f"{kind} {space}/{name}" if space else f"{kind} {name}" if name else f"{with_article(kind)}"
            what = f"the input holds {called} in several states, and nothing tells the latest"
            yield Unknown(what=what, may_help=True, fix="Give one state of one cluster")


@once_a_cluster
def _on_silent(cluster: Cluster) -> Mapping[str, Sequence[Pod]]:
    """Workload → its pods on nodes that don't answer, where only the kubelet lets a pod end."""
    silent = {cluster.node_names[place] for place in silent_nodes(cluster).keys() - out_of_service(cluster)}
    keys = workload_keys(cluster.snapshot) if silent else {}
    pods_by_owner: dict[str, list[Pod]] = {}
    for pod in cluster.snapshot.pods if silent else ():
        if pod.node_name in silent and pod.holds_room:
            pods_by_owner.setdefault(keys[pod.uid], []).append(pod)
    return pods_by_owner


def _shapes(cluster: Cluster, revision: Revision, new: Shape | None) -> list[Shape]:
    """Those of the new pods: as their templates say, and as one was made."""
    hashed, namespace = {revision.after.traits.part_hash_label: NEW_HASH}, revision.after.namespace
    templates = [(FrozenMap({**template.labels, **hashed}), template.spec) for template, _ in revision.templates]
    return [*(compile_shape(cluster, namespace, *template) for template in templates), *filter(None, [new])]


def _held_on_silent_nodes(cluster: Cluster, revision: Revision, new: Shape | None) -> Iterator[Unknown]:
    """Of a change that is only placed: old pods on silent nodes; its new pods wait for their end. Only a kubelet lets a deleted pod go.
    Until it has ended a pod keeps those away, too, that its anti-affinity or theirs speaks of
    (plugins/interpodaffinity). What a controller does that is played shows in the run."""
    after, pods = revision.after, _on_silent(cluster).get(revision.after.key, ())
    if not (pods and revision.has_new_template and revision.placed is not None):
        return
    is_in_turn = after.traits.is_per_node or any(
        traits.has_ordinals for traits in (after.traits, kind_called(after.traits.part))
    )
    waits = after.strategy.kind == RECREATE or (is_in_turn and after.strategy.kind == ROLLING_UPDATE)
    shapes = [] if waits else _shapes(cluster, revision, new)

    def speaks_of(shape: Shape, other: Shape) -> bool:
        apart = (term for term in shape.anti_affinity if term.topology_key != HOSTNAME)
        return any(term.matches(cluster, other.namespace, other.labels) for term in apart)

    for pod in pods:
        old = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
        if waits or any(speaks_of(old, shape) or speaks_of(shape, old) for shape in shapes):
            which = "for whose end it waits" if waits else "which keeps its new pods away until it has ended"
            what = f"node {pod.node_name} doesn't answer: its pod there, {which}, ends once the node is back or deleted"
            yield Unknown(what=what, fix=_NODE_BACK)
            return


@once_a_cluster
def _out(cluster: Cluster) -> Mapping[int, Node]:
    """The nodes that start no pod, by their places; those that answer later are closed until then."""
    closed = {place for place, bar in cluster.closed if bar == TAINT_UNREACHABLE}
    return {place: node for place, node in enumerate(cluster.nodes) if not (is_ready(node) or place in closed)}


def _not_started(cluster: Cluster, revision: Revision, new: Shape | None) -> Iterator[Unknown]:
    """New pods that may be bound to a node that starts none: they name it, or tolerate that it is out of use. On a silent node
    those are played that stay there forever; the others are evicted, each some time after it was bound, and may come there again."""
    out = _out(cluster) if new is not None or revision.has_new_template else {}
    is_per_node = revision.after.traits.is_per_node
    for shape in _shapes(cluster, revision, new) if out else ():
        stays = is_per_node or shape.spec.node_name or toleration_seconds(shape.spec) == inf
        if stays and revision.placed is None:
            out = {place: node for place, node in out.items() if not is_silent(node)}
        candidates = set(shape.candidates[alike(cluster, shape).large].tolist())
        if fits := out.keys() & candidates:
            node = out[min(fits)]
            is_how = "doesn't answer" if is_silent(node) else f"is {NOT_READY}"
            what = f"node {node.name} {is_how}, and new pods that are bound there don't start until it is back"
            is_put_out = is_silent(node) and not stays  # the next one may go to a node that answers
            yield Unknown(what=what, may_help=is_put_out and not candidates <= out.keys(), fix=_NODE_BACK)


def _of_template(cluster: Cluster, revision: Revision, workload: Workload) -> Iterator[Unknown]:
    """What is lacking for the pods of one template, that of `workload`."""
    snapshot, spec = cluster.snapshot, workload.template.spec
    yield from _missing_kinds(cluster, revision, spec)
    yield from _unmodelled(cluster, revision, spec)
    # A custom scheduler's rules, and whether it runs at all, are in no list.
    if spec.scheduler_name != DEFAULT_SCHEDULER:
        yield _of_scheduler(spec.scheduler_name)
    if beyond := of_its_node(cluster, spec):
        what = f"the pods name their node (nodeName), and what its kubelet makes of {beyond} isn't modelled"
        yield Unknown(what=what, may_help=True, fix="Ask with a nodeSelector in place of nodeName")
    for flight in unknown_destinations(cluster, revision.after):
        yield Unknown(
            what=f"{flight.key} is in flight, and the snapshot doesn't hold ReplicaSets, which say where it is going",
            may_help=True,
            fix="Add replicasets to the kinds given to kubectl get",
        )
    if priority := unknown_priority(cluster, workload):
        yield Unknown(what=priority, may_help=True)
    if security := unknown_security(cluster, workload):
        yield Unknown(what=security)
    yield from _of_extenders(snapshot, spec)
    # The checks above saw its first template only: each of its templates has volumes of its own.
    if revision.placed is not None:
        shape = compile_shape(cluster, workload.namespace, workload.template.labels, spec)
        if shape.storage.unknown:
            yield Unknown(what=shape.storage.unknown)
    devices = device_demand(cluster, revision.after.namespace, spec)
    surge, _ = rolling_limits(workload)
    more = surge if revision.before is not None else 0
    if twice := given_out_twice(cluster, workload, workload.pods_wanted + more):
        yield Unknown(what=twice, fix="Turn the device plugin or the DRA driver off on that node")
    if devices.unknown:
        yield Unknown(what=devices.unknown, fix=_ADD_KIND if devices.is_unread else _WITHOUT)
    is_listed = snapshot.presence.get("ResourceClaim") is Presence.PRESENT
    if devices.delegated and not is_listed and _counts_claims(snapshot, revision.after.namespace, spec, devices):
        what = (
            "a quota counts the ResourceClaims that stand for the pods' extended resources, and the snapshot holds none"
        )
        yield Unknown(what=what, may_help=True)


def of_its_node(cluster: Cluster, spec: PodSpec) -> str:
    """What of pods that name their node kube-scheduler, which isn't asked, would see to, and a kubelet otherwise: it knows resources,
    node affinity and host ports, passes over resources that the node doesn't list, and evicts for critical pods alone (kubernetes
    pkg/kubelet/lifecycle/predicate.go, pkg/kubelet/preemption)."""
    node = cluster.node_index.get(spec.node_name)
    if node is None:
        return ""
    names = [name for name in pod_requests(spec) if is_extended_resource(name)]
    others = {
        "pod affinity": any(not term.weight for term in spec.pod_affinity + spec.pod_anti_affinity),
        "topology spread": any(constraint.when_unsatisfiable == "DoNotSchedule" for constraint in spec.topology_spread),
        "device claims": bool(spec.resource_claims),
        "volume claims": any(volume.kind in ("persistentVolumeClaim", "ephemeral") for volume in spec.volumes),
        "a critical priority": cluster.priority_of(spec) >= SYSTEM_CRITICAL_PRIORITY,
        "resources that it doesn't list": any(name not in cluster.nodes[node].allocatable for name in names),
    }
    return next((what for what, is_there in others.items() if is_there), "")


def _counts_claims(snapshot: Snapshot, namespace: str, spec: PodSpec, devices: Demand) -> bool:
    """Whether a quota of the namespace counts the claim that stands for the pod's extended resources, beyond the pod."""
    requests = tuple(request for _, _, delegated_requests in devices.delegated for request in delegated_requests)
    counted = claim_usage(snapshot, ClaimSpec(requests=requests), usage(spec))
    keys = {key for key, amount in counted.items() if amount > 0}
    quotas = (quota for quota in snapshot.resource_quotas if quota.namespace == namespace and quota_covers(quota, None))
    return any(not keys.isdisjoint(quota.hard) for quota in quotas)


def _missing_kinds(cluster: Cluster, revision: Revision, spec: PodSpec) -> Iterator[Unknown]:
    snapshot = cluster.snapshot

    lacks = snapshot.lacks
    needed = [NODE.name, POD.name]
    if revision.after.traits.part and revision.before is not None:
        needed.append(revision.after.traits.part)
    missing = [kind for kind in needed if lacks(kind)]
    partly = [kind for kind in missing if snapshot.presence[kind] is Presence.PARTIAL]
    absent = [kind for kind in missing if kind not in partly]
    if absent:  # without the pod list its own pods and those of its affinity terms may be anywhere
        names = " and ".join(f"{kind}s" for kind in absent)
        yield Unknown(
            what=f"the snapshot doesn't hold {names}", may_help=True, fix=f"To add them: {get_command(absent)}"
        )
    if partly:
        names = " and ".join(f"{kind}s" for kind in partly)
        yield Unknown(what=f"the snapshot holds part of the {names} only", may_help=True, fix=_TAKE_WHOLE)
    if revision.before is not None and (untold := untold_revision(snapshot, revision.before)):
        yield Unknown(what=untold, may_help=True)
    if revision.before is not None and (untold := untold_undo(cluster, revision.before, revision.after)):
        yield Unknown(what=untold, may_help=True, fix="Add controllerrevisions to the kinds given to kubectl get")
    name = spec.runtime_class_name
    if name and lacks("RuntimeClass") and name not in {class_record.name for class_record in snapshot.runtime_classes}:
        yield Unknown(
            what=f"the pods are of RuntimeClass {name}, and the snapshot doesn't hold RuntimeClasses", may_help=True
        )
    for kind, what in _JUDGES.items():
        if snapshot.presence.get(kind) is Presence.REFUSED:
            yield Unknown(what=f"the API server refused to list {kind}s (403), and they may {what}", fix=_ASK)
        elif snapshot.presence.get(kind) is Presence.PARTIAL:
            yield Unknown(what=f"the snapshot holds part of the {kind}s only, and they may {what}", fix=_TAKE_WHOLE)
    is_scaled = revision.before is not None and revision.before.replicas != revision.after.replicas
    if is_scaled and snapshot.presence.get("HorizontalPodAutoscaler") is Presence.REFUSED:
        what = "the API server refused to list HorizontalPodAutoscalers (403), and one may set other replicas than the change"
        yield Unknown(what=what, fix=_ASK)
    if lacks("Namespace") and any(t.namespace_selector for t in spec.pod_affinity + spec.pod_anti_affinity):
        yield Unknown(
            what="the pods' affinity selects namespaces by label, and the snapshot doesn't hold Namespaces",
            may_help=True,
        )


def _of_extenders(snapshot: Snapshot, spec: PodSpec) -> Iterator[Unknown]:
    """Resources that a scheduler's extender counts card by card, which isn't played. Where no node lists one, kube-scheduler doesn't
    look at it; where nodes do, what is more than their sums doesn't fit in any case."""
    fix = "Ask that scheduler: its nodes' annotations say what is left"
    for name in card_by_card(snapshot, pod_requests(spec)):
        what = f"no node lists {name}, which an extender of the scheduler counts by itself (as HAMi's does)"
        if is_present := is_listed(snapshot, name):
            what = (
                f"an extender of the scheduler, or one of its own, counts {name} card by card, and nodes list only sums"
            )
        yield Unknown(what=what, may_help=not is_present, fix=fix)


def _takers(snapshot: Snapshot) -> Mapping[str, Sequence[str]]:
    """Workload → those that take their pod template from it."""
    takers: dict[str, list[str]] = {}
    for workload in snapshot.workloads:
        if workload.template_of:
            takers.setdefault(workload.template_of, []).append(workload.key)
    return takers


def _of_strategy(snapshot: Snapshot, revision: Revision) -> Iterator[Unknown]:
    """What an Argo Rollout says that isn't modeled, and templates that one takes from another workload."""
    after = revision.after
    if after.template_of:
        what = f"it takes its pod template from {after.template_of} (workloadRef), which isn't followed"
        yield Unknown(what=what, may_help=True, fix="Ask with the template in the Rollout itself")
    takers = snapshot.derived.once(_takers, snapshot).get(after.key) if revision.has_new_template else None
    if takers:
        what = f"{', '.join(takers)} takes its pod template from it (workloadRef), and rolls it out by itself"
        yield Unknown(what=what, fix="Ask with the template in the Rollout itself")
    own = after.strategy.canary or after.strategy.blue_green
    if refused := invalid(own):
        yield Unknown(what=refused, fix="Fix its strategy")
    for field in own.unmodelled if own is not None else ():
        yield Unknown(
            what=f"{field} of its strategy is not modelled",
            may_help=True,
            fix="Read the answer as one without that field",
        )
    if after.groups is not None and after.groups.has_claims:
        what = "its pods get claims of their own (volumeClaimTemplates), which isn't modelled of a LeaderWorkerSet"
        yield Unknown(what=what, may_help=True, fix="Read the answer as one without them")
    progress = after.progress
    is_midway = progress is not None and progress.stable != progress.current
    if after.strategy.canary is not None and after.strategy.canary.scales_stable and is_midway:
        what = "it is midway with dynamicStableScale, and how it turns back to its stable set isn't modelled"
        yield Unknown(what=what, may_help=True, fix="Ask when it has come to rest")


def _unmodelled(cluster: Cluster, revision: Revision, spec: PodSpec) -> Iterator[Unknown]:
    """Fields that could change the verdict and that aren't modeled."""
    yield from _of_strategy(cluster.snapshot, revision)
    why = {**FIELDS["PodSpec"], **FIELDS["Container"]}
    for field in spec.unmodelled:
        if field == "readinessGates" and _are_ready_with_gates(cluster.snapshot, revision):
            continue  # the controller that sets the conditions does so for this workload's pods
        yield Unknown(
            what=f"the pods' {field} is not modelled ({why[field].why})",
            may_help=True,
            fix="Read the answer as one without that field",
        )
    yield from _of_version(cluster.snapshot, revision, spec)
    account = spec.service_account_name
    if account and (revision.after.namespace, account) not in cluster.remember(_accounts):
        yield Unknown(
            what=f"the pods run as ServiceAccount {account}, which no pod of namespace {revision.after.namespace} uses yet: "
            "without it they are refused",
            fix=f"Check with {command('kubectl', 'get', f'serviceaccount/{account}', '-n', revision.after.namespace)}",
        )


def _of_version(snapshot: Snapshot, revision: Revision, spec: PodSpec) -> Iterator[Unknown]:
    """What depends on feature gates that are off by default in the snapshot's version, and that nothing there shows to be on: the API
    server drops the fields, or refuses the pods (tolerations that compare: `ValidateTolerations`)."""
    minor = minor_of(snapshot) or RECORDED
    fix = "Ask the operator of the control plane"
    for gate in doubted(snapshot, spec):
        what = f"{gate.rule}: the feature gate {gate.name} is off by default in 1.{minor}, and no pod there shows that it is on"
        yield Unknown(what=what, may_help=True, fix=fix)
    after = revision.after
    if after.traits.has_ordinals and after.strategy.max_unavailable is not None and max_unavailable_doubt(snapshot):
        yield Unknown(
            what=f"what maxUnavailable of a StatefulSet does in 1.{minor} depends on the release, and wasn't recorded "
            f"(feature gate {MAX_UNAVAILABLE.name})",
            may_help=True,
            fix=f"Read the answer as that of 1.{RECORDED}",
        )


def _accounts(cluster: Cluster) -> frozenset[tuple[str, str]]:
    """(namespace, ServiceAccount) that exist: of the pods there are, of workloads with a Ready pod of today's template, whose
    pods may not be in the input, and those that the manifest brings."""
    snapshot = cluster.snapshot
    of_pods = {(p.namespace, p.spec.service_account_name) for p in snapshot.pods}
    of_workloads = {
        (workload.namespace, workload.template.spec.service_account_name)
        for workload in snapshot.every_workload
        if workload.ready_replicas and workload.updated_replicas == workload.status_replicas
    }
    return frozenset(of_pods | of_workloads | set(snapshot.service_accounts))


def _are_ready_with_gates(snapshot: Snapshot, revision: Revision) -> bool:
    before = revision.before
    return before is not None and any(
        p.is_ready and p.spec.has_readiness_gates and labels_match(before.selector, p.labels)
        for p in snapshot.pods
        if p.namespace == before.namespace
    )


# ── admission ────────────────────────────────────────────────────────────────────────────────────────────────────────
def admission_hooks(snapshot: Snapshot, revision: Revision) -> tuple[AdmissionHook, ...]:
    """Webhooks and policies that see the workload or its pods on their way in: what they do to them isn't played."""
    after = revision.after
    namespace_labels = next((n.labels for n in snapshot.namespaces if n.name == after.namespace), None)

    def sees(hook: AdmissionHook | AdmissionPolicyBinding, labels: Labels) -> bool:
        # Where Namespaces weren't read a selector on their labels may match: the hook is taken to see the object.
        in_namespace = (
            namespace_labels is None
            or hook.namespace_selector is None
            or labels_match(hook.namespace_selector, namespace_labels)
        )
        return in_namespace and (hook.object_selector is None or labels_match(hook.object_selector, labels))

    def concerns(hook: AdmissionHook, admitted: AdmittedObject) -> bool:
        is_about = hook.is_about(admitted.kind.group, admitted.kind.resource)
        return is_about and sees(hook, admitted.labels) and not is_skipped(hook, admitted)

    hooks: dict[AdmissionHook, None] = {}
    for admitted in admitted_objects(revision):
        for configuration in snapshot.webhook_configurations:
            hooks.update(dict.fromkeys(h for h in configuration.hooks if concerns(h, admitted)))
        for policy in snapshot.admission_policies:
            named = (policy.kind, policy.name)
            bindings = (
                b for b in snapshot.admission_policy_bindings if (b.policy_kind, b.policy) == named and b.denies
            )
            if any(sees(b, admitted.labels) for b in bindings) and concerns(policy, admitted):
                hooks[policy] = None
    return tuple(hooks)


def unplayed_hooks(snapshot: Snapshot, revision: Revision) -> tuple[AdmissionHook, ...]:
    """Those of them of which neither a table knows what they change, nor the engine plays it: Istio's injector, where the namespace's labels
    say whether it acts there."""
    templates = tuple(template for template, _ in revision.templates)
    is_there = any(namespace.name == revision.after.namespace for namespace in snapshot.namespaces)
    every = admission_hooks(snapshot, revision)
    return tuple(h for h in every if known_hook(h, templates) is None and not (is_there and is_injector(h)))


def _of_scheduler(name: str) -> Unknown:
    what = f'the pods are placed by the scheduler "{name}"; Headroom doesn\'t know its rules'
    return Unknown(what=what, may_help=True, fix="Read the answer as kube-scheduler's, which leaves these pods alone")
