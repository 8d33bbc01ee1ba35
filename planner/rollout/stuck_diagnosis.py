"""Diagnoses a stuck rollout: reason, sentence, and the cycle of pods that wait for each other, from a run's end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numpy as np

from planner.ground.records import Record, replace
from planner.ground.well_known_names import (
    CPU,
    DEFAULT_SCHEDULER,
    DESIRED_REPLICAS,
    MEMORY,
    NVIDIA_GPU,
    NVIDIA_MIG_PREFIX,
    PODS,
    is_extended_resource,
)
from planner.ground.words import NO_WORDS, Text, count, listing, plural, roughly
from planner.ground.work_budget import TOO_LARGE
from planner.kubernetes import shell_commands
from planner.kubernetes.accelerator_units import Offer, Units
from planner.kubernetes.accelerators import Unit, accelerator, is_gpu_resource, unit
from planner.kubernetes.node_properties import Sharing, physical_gpus, unoffered
from planner.kubernetes.object_records import Workload
from planner.kubernetes.pod_template_kinds import Gang
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import ON_DELETE, PARTS, POD, RECREATE, kind_in
from planner.rollout.admission import Refusal
from planner.rollout.answers import PendingPods, Reason, WaitForEdge
from planner.rollout.controllers.daemonset import DaemonSetController
from planner.rollout.controllers.deployment import DeploymentController
from planner.rollout.controllers.generic_pod_controller import PlacedController
from planner.rollout.controllers.leader_worker_set import LeaderWorkerSetController
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.ownership import workloads_by_owner
from planner.rollout.run import Revision, Run
from planner.rollout.snapshot_pending_groups import Waiter
from planner.rollout.volume_attachments import VolumeWait
from planner.scheduling.cluster import BoolArray
from planner.scheduling.devices import classes_without_devices
from planner.scheduling.filters import Fails, fails, feasible, insufficient
from planner.scheduling.node_facts import gpu_models, node_pools, offers_by_node, said_of
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import Shape, Static
from planner.scheduling.volume_placement import NO_SPACE

_REFUSALS = {
    Fails.PORTS: Reason.HOST_PORT,
    Fails.RESOURCES: Reason.INSUFFICIENT_RESOURCE,
    Fails.EXCLUSIVE_CLAIM: Reason.VOLUME,
    Fails.DISK: Reason.VOLUME,
    Fails.VOLUME_LIMIT: Reason.VOLUME,
    Fails.SPREAD_LABEL: Reason.TOPOLOGY_SPREAD,
    Fails.SPREAD: Reason.TOPOLOGY_SPREAD,
    Fails.AFFINITY: Reason.POD_AFFINITY,
    Fails.ANTI_AFFINITY: Reason.POD_AFFINITY,
    Fails.EXISTING_ANTI_AFFINITY: Reason.POD_AFFINITY,
    Fails.DEVICES: Reason.DEVICE,
    Fails.CLAIM_ELSEWHERE: Reason.DEVICE,
    Fails.DEVICE_ERROR: Reason.DEVICE,
}


class Impasse(Record):
    """`headline`: a dozen words for the person who decides, without the verdict; `sentence`: with the details.

    `names_objects`: the words name the workload's namespace, or objects beside it: they aren't another workload's too, however
    alike. `tells_others`: the sentence alone does, of those who wait for what the old pods hold.
    """

    reason: Reason
    sentence: Text
    headline: Text = NO_WORDS
    wait_for: tuple[WaitForEdge, ...] = ()
    scheduler_message: Text = NO_WORDS
    quota_message: Text = NO_WORDS
    lacking: tuple[str, ...] = ()  # resources short on the nodes that match
    names_objects: bool = False
    tells_others: bool = False
    of: Callable[[Workload], Impasse] | None = (
        None  # says it of another that is alike, where its namespace is all that is named
    )


def _stuck(reason: Reason, why: str, headline: str, **more: Any) -> Impasse:
    return Impasse(reason=reason, sentence=Text(f"stuck: {why}"), headline=Text(headline), **more)


def _cycle(after: Workload, wants: str, resource: str, holding_text: str) -> tuple[WaitForEdge, ...]:
    """The controller waits for a new pod, that for a thing, and that is the old pods', which the controller keeps."""
    names = (f"{after.kind} {after.name}", "new pod", resource, "old pods")
    labels = ("waits until Ready", wants, holding_text, "are kept by")
    return tuple(WaitForEdge(source=names[i], target=names[(i + 1) % 4], label=label) for i, label in enumerate(labels))


def _asks(c: _Context, names: tuple[str, ...]) -> str:
    """``1 nvidia.com/gpu (a time slice), 4 cpu``."""
    amounts = pod_requests(c.shape.spec)
    return ", ".join(f"{roughly(amounts[n], n)} {n}{_as(c, n)}" for n in names if n in amounts) or "nothing"


def _ways(c: _Context, name: str) -> tuple[Offer, ...]:
    """How the matching nodes offer an accelerator's resource, whole devices first; () of what is none."""
    cluster = c.run.simulation.cluster
    row = cluster.row.get(name)
    if row is None or not is_gpu_resource(name):
        return ()
    offers = said_of(cluster, c.matching & (cluster.allocatable[row] > 0), offers_by_node, name)
    return tuple(sorted(offers, key=lambda offer: list(Sharing).index(offer.sharing)))


def _as(c: _Context, name: str) -> str:
    """`` (time slices)`` of what is offered in parts under the name of whole devices."""
    ways = _ways(c, name)
    units_text = " or ".join(dict.fromkeys(way.noun(0) for way in ways))
    return (
        f" ({units_text})"
        if unit(name) is Unit.DEVICE and any(way.sharing is not Sharing.WHOLE for way in ways)
        else ""
    )


def _where(run: Run, nodes: BoolArray) -> str:
    """The matching nodes as people name them: by pool where all nodes of the pools match, else by number."""
    cluster = run.simulation.cluster
    pools = sorted(said_of(cluster, nodes, node_pools))
    if pools and all(pools) and len(pools) <= 3:
        return f"a node of pool {listing(pools)}"
    number = int(nodes.sum())
    return "the only matching node" if number == 1 else f"one of {count(number, 'matching node')}"


def pending_pods(run: Run, keys: dict[str, str]) -> tuple[PendingPods, ...]:
    """Pods never placed, grouped; `keys` maps owners' keys to workload keys."""
    groups: Counter[tuple[str, str, str, str | None, bool]] = Counter()

    @cache
    def belongs(owner: str) -> tuple[str, str]:
        workload = keys.get(owner, owner if kind_in(owner) not in PARTS else "")
        return owner.split("/", 1)[0] + "/" + owner.rsplit("/", 1)[-1], workload

    for waiter in run.simulation.queue.waiters(of=lambda pod: not (pod.is_gone or pod.is_bound)):
        pod = waiter.pod
        owner, workload = belongs(waiter.owner)
        if not waiter.owner:
            owner = POD.key("", waiter.name)
        message = pod.message if pod is not None else str(waiter.words)
        groups[(waiter.namespace, owner, workload, message, pod is not None and pod.is_new)] += waiter.count
    return tuple(
        PendingPods(
            namespace=ns,
            owner=owner,
            workload=workload,
            count=count,
            message=None if message is None else Text(message),
            is_new=is_new,
        )
        for (ns, owner, workload, message, is_new), count in groups.items()
    )


def explain(run: Run, revision: Revision) -> Impasse:
    """Why `revision`'s rollout did not complete in `run`."""
    if run.is_cut:
        sentence = Text(f"not known: {TOO_LARGE} ({count(run.ticks, 'step')} of it were played)")
        return Impasse(reason=Reason.UNKNOWN, sentence=sentence, headline=Text("too much to play through"))
    if revision.never is not None:
        reason, explanation = revision.never
        return _stuck(reason, explanation, explanation, names_objects=True)
    why = _why(run, revision)
    more = placed_words(run, revision)
    return replace(why, sentence=Text(f"{why.sentence}; {more}"), of=None) if more else why


def placed_words(run: Run, revision: Revision) -> str:
    """How far an object's pods got where only placement is asked, "" elsewhere."""
    controller = run.simulation.controllers.get(revision.after.key)
    if revision.placed is None or not isinstance(controller, PlacedController):
        return ""
    pods_wanted = revision.placed.pods
    if revision.placed.gang is Gang.IN_TURN:
        sets = len(revision.placed.sets)
        done = run.done[revision.after.key]
        if sets == 1:
            return "its pods find a node" if done else "none of its pods finds a node"
        return f"{sets if done else controller.begun - 1} of its {sets} kinds of pods find a node, one after another"
    bound = sum(pod.is_bound for pod in run.pods[revision.after.key])
    if bound == pods_wanted:
        return f"all its {pods_wanted} pods are placed" if pods_wanted > 1 else "its pod is placed"
    if revision.placed.gang is Gang.WHOLE and bound < (together := revision.placed.pods_at_once):
        words = f"; {bound} of them would find a node" if bound else ""
        return f"its {together} pods are placed all or nothing, so none is{words}"
    if revision.placed.gang is Gang.GROUP:
        whole, label = controller.whole_groups(run.simulation), revision.placed.exclusive
        domains = {node.labels[label] for node in run.simulation.cluster.nodes if label in node.labels}
        apart = f": each needs a {label} of its own (exclusive-topology), of which the nodes have {len(domains):,}"
        return f"{whole} of its {revision.placed.groups} groups are placed whole{apart if label else ''}"
    if pods_wanted == 1:
        return "its pod isn't placed"
    waits = f"{_held_by_placed(run, revision)} and wait for the others" if bound else ""
    return f"{bound} of its {pods_wanted} pods are placed{waits if revision.placed.gang in (Gang.APART, Gang.WHOLE) else ''}"


def _held_by_placed(run: Run, revision: Revision) -> str:
    """``, hold 32 GPUs``: what the pods that are placed keep from others while they wait."""
    specs = [pod.shape.spec for pod in run.pods[revision.after.key] if pod.is_bound]
    gpus = sum(map(requested_gpus, specs))
    nouns = Units(offered={}).nouns([name for spec in specs for name in pod_requests(spec)])
    return f", hold {nouns.count(gpus)}" if gpus else ""


def _why(run: Run, revision: Revision) -> Impasse:
    key = revision.after.key
    pods = run.pods[key]
    waiting = [p for p in pods if not p.is_bound]
    # A new pod that waits explains a stuck rollout; old ones that wait do only where no new one was made.
    new_waiting = [p for p in waiting if p.is_new] or waiting
    refusal = _refusal(run, key)
    is_rolling = revision.has_new_template or _is_midway(run, key)
    # A paused Deployment at rest still scales.
    if revision.after.is_paused and (is_rolling or not (waiting or refusal)):
        return _stuck(
            Reason.PAUSED,
            f"the {revision.after.kind} is paused, so the controller rolls nothing out. "
            f"Resume it with {shell_commands.resume(revision.after.key)}",
            f"the {revision.after.kind} is paused, so nothing is rolled out until it is resumed",
            names_objects=True,
        )
    if revision.after.strategy.kind == ON_DELETE and _keeps_old(revision, pods):
        return _stuck(
            Reason.ON_DELETE,
            "the update strategy is OnDelete, so each pod keeps the old revision until someone deletes it",
            "each old pod stays until it is deleted by hand",
        )
    controller = run.simulation.controllers.get(key)
    if isinstance(controller, LeaderWorkerSetController) and controller.never_starts(run.simulation):
        return _surge_dropped(revision)
    if run.waits_for.get(key) == "promotion":
        return _stuck(
            Reason.PAUSED,
            f"it waits for a promotion. Promote it with {shell_commands.promote(key)}",
            "it waits until it is promoted by hand",
            names_objects=True,
        )
    stale = controller.never_goes_on() if isinstance(controller, DeploymentController) else None
    if stale is not None:
        return _stale(revision, stale)
    waits = volume_waits(run, key)
    # A quota's refusal is the cause only where no new pod waits: that one was let in, and lacks something else.
    if refusal is not None and not (new_waiting or any(wait.pod.is_new for wait in waits)):
        return replace(_refused(run, revision, refusal), names_objects=True)
    if waits:
        return _lacks_volume(run, revision, waits)
    if new_waiting:
        return _waits(run, revision, new_waiting)
    starting = [p for p in pods if p.is_bound and not p.is_ready and not p.is_terminating]
    hanging = [p for p in pods if run.simulation.pods.hangs(p)]
    if waited := [p for p in starting if p not in hanging]:
        return _never_ready(revision, waited)
    if hanging:
        return _on_silent(run, revision, hanging)
    return _stuck(
        Reason.UNKNOWN,
        "nothing moves any more, and the cause is not known",
        "nothing moves any more, and the cause is not known",
    )


def _keeps_old(revision: Revision, pods: Iterable[LivePod]) -> bool:
    """Whether pods of the old revision stand; a new workload has none, so no rule of a change holds for it.

    Source: kubernetes `pkg/controller/daemon/daemon_controller.go` `updateDaemonSet`: `manage` makes the pods that are missing
    before the update strategy is looked at.
    """
    is_change = revision.before is not None and revision.has_new_template
    return is_change and any(not (pod.is_new or pod.is_terminating) for pod in pods)


def volume_waits(run: Run, key: str) -> list[VolumeWait]:
    """What pods of a changed workload wait for on their nodes, since another node has it; those of the new revision first."""
    pods = sorted((pod for pod in run.pods[key] if not pod.is_terminating), key=lambda pod: not pod.is_new)
    return [wait for pod in pods for wait in run.simulation.attachments.waits_of(pod)]


def _lacks_volume(run: Run, revision: Revision, waits: list[VolumeWait]) -> Impasse:
    """Pods that have their nodes, with a volume that can't follow."""
    after, wait, names = revision.after, waits[0], run.simulation.cluster.node_names
    number, volume = len({volume_wait.pod.number for volume_wait in waits}), volume_name(wait)
    node = names[wait.pod.node]
    nodes = listing([f"node {names[place]}" for place in wait.holders])
    holders = listing([f"{pod.namespace}/{pod.name}" for pod in wait.pods], 3)
    has = f"{nodes} has it, for {plural(len(wait.pods), 'pod')} {holders}" if holders else f"{nodes} has it"
    own = {pod.number for pod in run.pods[after.key] if not pod.is_new}
    is_kept = _replaces(run, revision) and any(pod.number in own for pod in wait.pods)
    who = count(number, "new pod" if wait.pod.is_new else "pod")
    return _stuck(
        Reason.VOLUME_ATTACHED,
        f"{who} {plural(number, 'waits', 'wait')} for {volume} (Multi-Attach error). It is attached to one node at a time: {has}, "
        f"and {plural(number, 'the pod', 'one of them')} was placed on node {node}{_limits(after) if is_kept else ''}",
        f"{plural(number, 'a new pod is', f'{number} new pods are') if wait.pod.is_new else who} on another node than {volume}",
        wait_for=_cycle(after, "waits on its node for", volume, "attached for") if is_kept else (),
        names_objects=True,
    )


def volume_name(wait: VolumeWait) -> str:
    """``the volume of claim data``, or an inline disk."""
    namespace, name = wait.volume.key
    return f"the volume of claim {name}" if namespace else f"disk {name}"


def _is_midway(run: Run, key: str) -> bool:
    """Whether a Deployment has pods of several revisions."""
    controller = run.simulation.controllers.get(key)
    return (
        isinstance(controller, DeploymentController)
        and sum(replica_set.replicas > 0 for replica_set in controller.all_sets) > 1
    )


def _replaces(run: Run, revision: Revision) -> bool:
    """Whether old pods go when new ones are Ready: by the change, or since it is midway (one that is resumed, say)."""
    return revision.has_new_template or (not revision.after.is_paused and _is_midway(run, revision.after.key))


def _surge_dropped(revision: Revision) -> Impasse:
    groups = count(revision.after.replicas, "group")
    return _stuck(
        Reason.SURGE_DROPPED,
        f"it never starts, whatever is free: of {groups} none may be missing. LeaderWorkerSet 0.8 gives a surge of as many "
        "groups back before it makes them. Set maxSurge 0 and maxUnavailable 1",
        f"its surge is given back before it is made, and none of {groups} may be missing: it never starts",
    )


def _stale(revision: Revision, stale: ReplicaSetController) -> Impasse:
    fix = shell_commands.command(
        "kubectl", "annotate", f"replicaset/{stale.name}", "-n", stale.namespace, "--overwrite",
        f"{DESIRED_REPLICAS}={stale.replicas}",
    )  # fmt: skip
    return _stuck(
        Reason.STALE_ANNOTATION,
        f"ReplicaSet {stale.name} has {count(stale.replicas, 'replica')}, as it should, and its annotation "
        f"{DESIRED_REPLICAS} says {stale.desired}: the Deployment controller takes that for a scaling it never ends, and "
        f"rolls nothing out (kubernetes#138036). Set it right with {fix}",
        f"an annotation of ReplicaSet {stale.name} keeps the controller from rolling {revision.after.name} out",
        names_objects=True,
    )


def _refusal(run: Run, key: str) -> Refusal | None:
    return next((run.refusals[owner] for owner in (*run.owners[key], key) if owner in run.refusals), None)


def _refused(run: Run, revision: Revision, refusal: Refusal) -> Impasse:
    if not refusal.quota:
        return _stuck(
            Reason.ADMISSION,
            f"the API server refuses the new pods: {refusal.problem}",
            "the API server refuses the new pods",
            quota_message=Text(refusal.message),
        )
    old = sum(1 for p in run.pods[revision.after.key] if not p.is_new and not p.is_terminating)
    # Those that its scopes leave out count nothing, and where a pod asks for more than the whole quota, nobody's going makes room.
    is_counted = any(used and asked <= hard for _, asked, used, hard in refusal.over)
    of = partial(_over_quota, refusal, bool(old and is_counted and _replaces(run, revision) and refusal.what == "pod"))
    return replace(of(revision.after), of=of)


def _over_quota(refusal: Refusal, counts_old: bool, after: Workload) -> Impasse:
    name = f"ResourceQuota {refusal.quota}"
    if refusal.unstated:
        return _stuck(
            Reason.QUOTA,
            f"{name} of namespace {after.namespace} refuses pods that don't state {listing(list(refusal.unstated))}",
            f"namespace {after.namespace} only takes pods that state {listing(list(refusal.unstated))}",
            quota_message=Text(refusal.message),
        )
    used = listing(
        [f"{roughly(u, k)} of {roughly(h, k)} {k} are used, a new {refusal.what} asks for {roughly(a, k)}"
         for k, a, u, h in refusal.over]
    )  # fmt: skip
    keeps = "; the old pods count too, and are kept until new ones are Ready" if counts_old else ""
    headline = f"the quota of namespace {after.namespace} has no room for one more {refusal.what}"
    return _stuck(
        Reason.QUOTA,
        f"{name} refuses a new {refusal.what}: {used}{keeps}",
        f"{headline} beside the old ones" if keeps else headline,
        wait_for=_cycle(after, "needs room in", name, "used up by") if keeps else (),
        quota_message=Text(refusal.message),
    )


def _never_ready(revision: Revision, starting: list[LivePod]) -> Impasse:
    new = [p for p in starting if p.is_new]
    if not new and revision.after.traits.has_ordinals:
        return _unordered(revision, starting)
    group, keeps = new or starting, ", so the old pods are kept" if revision.has_new_template else ""
    return _stuck(
        Reason.NEVER_READY,
        f"{count(len(group), 'new pod' if new else 'pod')} started and never became Ready{keeps}",
        f"{count(len(group), 'new pod' if new else 'pod')} started and never became Ready",
    )


def _unordered(revision: Revision, starting: list[LivePod]) -> Impasse:
    """Pods of an old revision that aren't Ready keep a StatefulSet from replacing others: an OrderedReady one waits for the first, any for as
    many as maxUnavailable, which is 1 where it doesn't count.

    Source: kubernetes `pkg/controller/statefulset/stateful_set_control.go` `updateStatefulSet`.
    """
    after, pod = revision.after, min(starting, key=lambda starting_pod: (starting_pod.ordinal, starting_pod.name))
    if after.pod_management_policy == "Parallel":
        are = f"{count(len(starting), 'pod')} of it {plural(len(starting), 'is', 'are')} not Ready"
        return _stuck(
            Reason.POD_MANAGEMENT,
            f"{are}, as many as may be missing, so that no other is replaced: {listing(sorted(starting_pod.name for starting_pod in starting))}",
            f"{are}, so that no other is replaced",
        )
    return _stuck(
        Reason.POD_MANAGEMENT,
        f"{pod.name} is not Ready, and an OrderedReady {after.kind} goes on only when it is",
        f"pod {pod.name} is not Ready, and the others wait for it",
    )


def _on_silent(run: Run, revision: Revision, hanging: list[LivePod]) -> Impasse:
    """Its pods on nodes that don't answer keep it: one that was deleted never ends, the others aren't Ready.

    Sources: `oldPodsRunning` in pkg/controller/deployment/recreate.go; stateful_set_control.go, where a successor has the name of the
    pod before it (as in a LeaderWorkerSet's groups); `rollingUpdate` in pkg/controller/daemon/update.go.
    """
    pod = min(hanging, key=lambda p: (not p.is_terminating, p.number > 0, p.name))
    name = f"pod {pod.name}" if pod.number < 0 or pod.ordinal >= 0 else "a new pod"  # its name isn't known yet
    node, after = run.simulation.cluster.node_names[pod.node], revision.after
    others = f" (so {plural(len(hanging) - 1, 'is', 'are')} {len(hanging) - 1:,} more)" if len(hanging) > 1 else ""
    if not pod.is_terminating:
        return _stuck(
            Reason.SILENT_NODE,
            f"{name} isn't Ready{others}, since its node {node} doesn't answer, and the {after.kind} waits for it",
            f"{name} waits for node {node}, which doesn't answer",
            names_objects=True,
        )
    if after.strategy.kind == RECREATE:
        why = "Recreate makes no new pod before all old ones have ended"
    elif isinstance(controller := run.simulation.controllers.get(after.key), DaemonSetController):
        why = f"it counts against maxUnavailable, which is {controller.limits(run.simulation)[1]} here"
    else:
        why = "its successor has its name, so it can't be made before that"
    return _stuck(
        Reason.SILENT_NODE,
        f"{name} was deleted and can't end{others}, since its node {node} doesn't answer; {why}",
        f"{name} can't end, since its node {node} doesn't answer",
        names_objects=True,
    )


def _waits(run: Run, revision: Revision, waiting: list[LivePod]) -> Impasse:
    pod = waiting[0]
    shape, state = pod.shape, run.simulation.state
    message = pod.message or ""
    refused = run.simulation.claims.refusals.get(pod.number)
    if refused is not None:
        return replace(_refused(run, revision, refused), names_objects=True)
    if pod.is_gated:
        return _gated(pod, revision)
    if shape.blocked:
        # kube-scheduler's VolumeBinding looks before DynamicResources, and the first that refuses it is told (`PreFilter`)
        reason, headline = (
            (Reason.VOLUME, "the new pod's volume keeps it from every node")
            if shape.storage.blocked
            else (Reason.DEVICE, "a DeviceClass that the new pod asks for doesn't exist")
        )
        why = f"the new pod can't be scheduled: {shape.blocked}"
        return _stuck(reason, why, headline, scheduler_message=Text(message))
    codes = fails(state, shape)
    static = state.is_there(shape.static == Static.PASSES)
    if not static.any():
        return _no_node(shape, message)
    matching = static.copy()
    if shape.storage.codes is not None or shape.storage.late:
        kept_away = state.volumes.codes(shape.storage)
        matching &= kept_away == 0
        if not matching.any() and (codes[static & (kept_away == NO_SPACE)] == Fails.RESOURCES).any():
            # Some nodes lack something else too, and fail at another filter first: amounts still say what is short.
            matching = static & (kept_away == NO_SPACE)
        elif not matching.any():
            is_full = (kept_away[static] == NO_SPACE).any()
            can = "has room for a volume as large as it asks for" if is_full else "can reach its volume"
            return _stuck(
                Reason.VOLUME,
                f"no node that matches the pod {can}",
                f"no node that the new pod may run on {can}",
                scheduler_message=Text(message),
            )
    where = _where(run, matching)
    short, _ = insufficient(state, shape, np.flatnonzero(matching & (codes == Fails.RESOURCES)))
    names = tuple(name for name in short if name != PODS)
    decisive = Counter(codes[matching].tolist())
    decisive.pop(Fails.NOTHING, None)
    # Of two reasons that as many nodes have: in a change lack of room counts first (its old pods hold some), of a new workload last.
    # Which node was looked at first decides nothing.
    is_change = revision.before is not None
    commonest = max(
        decisive,
        key=lambda code: (decisive[code], (code == Fails.RESOURCES) is is_change, -code),
        default=Fails.RESOURCES,
    )
    if Fails.DEVICES in decisive and classes_without_devices(run.simulation.cluster, shape.devices):
        commonest = Fails.DEVICES  # whatever else some nodes lack, no room helps
    reason = _REFUSALS.get(commonest, Reason.INSUFFICIENT_RESOURCE)
    if PODS in short and not names:
        reason = Reason.TOO_MANY_PODS
    old = [p for p in run.pods[revision.after.key] if p.is_bound and not p.is_lost and not p.is_new]
    freed = fits_without(run, shape, old) if old and _replaces(run, revision) else False
    context = _Context(run, revision, shape, where, matching, names, old, Text(message), commonest)
    if freed:
        return _hold_and_wait(context, reason)
    return _held_by_others(context, reason)


class _Context(Record, kw_only=False):
    run: Run
    revision: Revision
    shape: Shape
    where: str
    matching: BoolArray
    lacking: tuple[str, ...]
    old: list[LivePod]
    message: Text
    refused_by: int  # the code (`Fails`, `Static` where an event closed a node, or a storage code) of most of the matching nodes


def _gated(pod: LivePod, revision: Revision) -> Impasse:
    missing = pod.shape.devices.missing
    if missing:
        return _stuck(
            Reason.MISSING_OBJECT,
            f"the new pod is never tried, because {missing} doesn't exist in namespace {pod.namespace}",
            f"the new pod needs {missing}, and there is none",
            names_objects=True,
        )
    spec = pod.shape.spec
    if spec.scheduler_name != DEFAULT_SCHEDULER:
        return Impasse(
            reason=Reason.OTHER_SCHEDULER,
            sentence=Text(
                f'stuck for kube-scheduler: the new pod asks for the scheduler "{spec.scheduler_name}", so it is never tried'
            ),
            headline=Text(f'the new pod is left to another scheduler, "{spec.scheduler_name}"'),
        )
    if revision.queued is not None and revision.queued.keeps_out:
        return _stuck(
            Reason.QUEUE,
            f"Kueue doesn't let the new pods in: {revision.queued.said}",
            "Kueue's queue doesn't let the new pods in",
            names_objects=True,
        )
    gates = ", ".join(spec.scheduling_gates)
    return _stuck(
        Reason.SCHEDULING_GATE,
        f"the new pod is never tried while its scheduling gates ({gates}) are there",
        "the new pod waits until its scheduling gates are taken away",
    )


def _no_node(shape: Shape, message: str) -> Impasse:
    codes = Counter(shape.static.tolist())
    parts = []
    for code, words in (
        (Static.CORDONED, "cordoned"),
        (Static.TAINT, "with a taint the pod doesn't tolerate"),
        (Static.NODE_AFFINITY, "that its node selector or affinity rules out"),
        (Static.NOT_NAMED, "not named in its affinity"),
        (Static.OTHER_NODE_NAME, "other than the one it names"),
    ):
        if codes.get(code):
            parts.append(f"{codes[code]} {words}")
    return _stuck(
        Reason.NO_MATCHING_NODE,
        f"no node matches the new pod ({', '.join(parts) or 'the cluster has no nodes'})",
        "no node is one that the new pod may run on" if parts else "the cluster has no nodes",
        scheduler_message=Text(message),
    )


def fits_without(run: Run, shape: Shape, pods: list[LivePod]) -> bool:
    """Whether the pod would fit somewhere if `pods` were gone."""
    state = run.simulation.state
    with state.devices.tried():
        for pod in pods:
            state.remove(pod.shape, pod.node, is_terminating=pod.is_terminating)
            state.devices.leave(pod.shape.devices, pod.uid, pod.devices)
        fits = bool(feasible(state, shape).any())
        for pod in pods:
            state.add(pod.shape, pod.node, is_terminating=pod.is_terminating)
    return fits


def _hold_and_wait(c: _Context, reason: Reason) -> Impasse:
    keeping_text = "which are kept until a new one is Ready"
    if c.lacking:
        resource_words = listing(list(c.lacking))
        holding_text, by_old_alone, share = _holder_words(c)
        headline = f"the new pod needs {_plain(c, _scarce(c))}, and the pods that it replaces hold {share}"
        keeping_text = keeping_text if by_old_alone else "and the old ones are kept until a new one is Ready"
        sentence = f"the new pod needs {_asks(c, c.lacking)} on {c.where}; {holding_text}, {keeping_text}"
    else:
        words = {
            Reason.HOST_PORT: "its host port",
            Reason.POD_AFFINITY: "a node its (anti-)affinity allows",
            Reason.TOPOLOGY_SPREAD: "a node its topology spread allows",
            Reason.DEVICE: "a device",
            Reason.TOO_MANY_PODS: "room under the node's pod limit",
            Reason.VOLUME: "room under the node's limit of volumes"
            if c.refused_by == Fails.VOLUME_LIMIT
            else "its volume",
        }
        resource_words = words.get(reason, "room")
        headline = f"the new pod needs {resource_words}, which the pods that it replaces hold"
        sentence = f"the new pod needs {resource_words} on {c.where}, taken by the old pods, {keeping_text}"
    (others, tells_others), after = _rivals(c), c.revision.after
    is_held = reason in (Reason.INSUFFICIENT_RESOURCE, Reason.HOST_PORT, Reason.DEVICE, Reason.TOO_MANY_PODS)
    return _stuck(
        Reason.HOLD_AND_WAIT if is_held else reason,
        f"{sentence}{others}{_limits(replace(after, replicas=c.run.replicas[after.key]))}",
        headline,
        wait_for=_cycle(after, "waits for", resource_words, "held by"),
        scheduler_message=c.message,
        lacking=c.lacking,
        tells_others=tells_others,
    )


def _limits(after: Workload) -> str:
    """What the strategy allows, in words: `` (2 replicas, maxSurge 1, maxUnavailable 0)``."""
    canary = after.strategy.canary
    if after.strategy.blue_green is not None or (canary is not None and canary.is_routed):
        return " (they come on top of the old ones, whatever maxSurge says)"
    surge, unavailable = rolling_limits(after)
    replicas = (
        f"{count(after.replicas, 'replica')}, " if after.traits.has_replicas else ""
    )  # a DaemonSet has none to count
    return f" ({replicas}maxSurge {surge}, maxUnavailable {unavailable})"


def _scarce(c: _Context) -> str:
    """The resource that a headline speaks of: a device before CPU and memory."""
    return next((name for name in c.lacking if is_extended_resource(name)), c.lacking[0])


def _plain(c: _Context, name: str) -> str:
    """What one pod asks for of a resource, as people say it: ``4 A100s``, ``40 CPU``, ``300Gi of memory``."""
    amount = pod_requests(c.shape.spec).get(name, 0)
    if not is_extended_resource(name):
        return {CPU: f"{roughly(amount, name)} CPU", MEMORY: f"{roughly(amount, name)} of memory"}.get(
            name, f"{roughly(amount, name)} of {name}"
        )
    ways = _ways(c, name)
    if any(way.sharing is not Sharing.WHOLE for way in ways):
        return f"{amount:,} {' or '.join(dict.fromkeys(way.noun(amount) for way in ways))}"
    device = accelerator(name)
    models = said_of(c.run.simulation.cluster, c.matching, gpu_models)
    noun = (len(models) == 1 and next(iter(models))) or (device.noun if device else "")
    return count(amount, noun) if noun and unit(name) is Unit.DEVICE else f"{amount} {name}"


def rivals(run: Run, key: str, shape: Shape, *, least_priority: int | None = None) -> list[Waiter]:
    """Other workloads' pods that wait, or waited and were placed, where `shape` could go; the most numerous owner first.

    `least_priority` leaves out pods of a lower one.
    """
    own = {p.owner for p in run.pods[key]}
    own_nodes = np.zeros(len(shape.static), dtype=np.bool_)
    own_nodes[shape.candidates] = True
    meets = cache(lambda other: bool(own_nodes[other.candidates].any()))

    def is_rival(rival: Waiter) -> bool:
        pod = rival.pod
        if least_priority is not None and rival.shape.priority < least_priority:
            return False
        if pod is not None and (pod.is_gone or pod.is_gated or pod.is_terminating):
            return False
        # where it is, once it has a node (one that is gone takes no room); else wherever it could go
        return not pod.is_lost and bool(own_nodes[pod.node]) if pod is not None and pod.is_bound else meets(rival.shape)

    others = run.simulation.queue.waiters(with_words=False, of=lambda pod: pod.owner not in own)
    rival_waiters = [waiter for waiter in others if waiter.owner not in own and is_rival(waiter)]
    numbers: Counter[str] = Counter()
    for waiter in rival_waiters:
        numbers[waiter.owner] += waiter.count
    return sorted(rival_waiters, key=lambda rival: (-numbers[rival.owner], rival.owner, rival.namespace, rival.name))


def workload_of(run: Run, waiter: Waiter) -> str:
    """The key of the workload waiting pods belong to; a bare pod is its own."""
    above = workloads_by_owner(run.simulation.cluster).get(waiter.owner)
    return above or waiter.owner or POD.key(waiter.namespace, waiter.name)


def _rivals(c: _Context) -> tuple[str, bool]:
    """Who else waits for what the old pods would give up, or took it; and whether of a workload that is alike others are told. Who waits is
    the same for both, unless some do in its own namespace, or came in the run."""
    rival_waiters, cluster = rivals(c.run, c.revision.after.key, c.shape), c.run.simulation.cluster
    names = list(dict.fromkeys(workload_of(c.run, p).split("/", 1)[1] for p in rival_waiters))
    if not names:
        return "", False
    tells_others = any(
        cluster.snapshot.pods[i].namespace == c.revision.after.namespace for i in cluster.unbound
    ) or any(waiter.pod is not None and waiter.pod.number > 0 for waiter in rival_waiters)
    who = names[0] + (f" and {count(len(names) - 1, 'other')}" if len(names) > 1 else "")
    if any(
        waiter.pod is not None and waiter.pod.is_bound for waiter in rival_waiters
    ):  # which of them depends on a tie, and their order in the List
        return f"; {who} waited too, and took what was freed", tells_others
    return (
        f"; {who} {'wait' if len(names) > 1 else 'waits'} for such nodes too, and may take what is freed",
        tells_others,
    )


def _holder_words(c: _Context) -> tuple[str, bool, str]:
    """Who holds the scarce resource on the matching nodes ("all 6 are held by the old pods"), whether the words end
    with the old pods, so that "which" after them means these, and how much of it these hold: ``all 8``, ``6 of 8``."""
    scarce = _scarce(c)
    cluster, state = c.run.simulation.cluster, c.run.simulation.state
    row = cluster.row.get(scarce)
    if row is None:
        return f"no node has {scarce}", False, "it"
    total = int(cluster.allocatable[row, c.matching].sum())
    free = int(np.maximum(state.free[row, c.matching], 0).sum())
    old_amount = sum(dict(p.shape.asks).get(row, 0) for p in c.old if c.matching[p.node])
    own = [pod for pod in c.run.pods[c.revision.after.key] if pod.is_new and pod.is_bound and not pod.is_lost]
    new = sum(
        dict(pod.shape.asks).get(row, 0) for pod in own if c.matching[pod.node]
    )  # summed over its pods: an autoscaler may have made more than `before` has
    if not is_extended_resource(scarce):
        return f"the old pods hold {roughly(old_amount, scarce)} of {roughly(total, scarce)}", False, "it"
    if old_amount == total:
        if total == 1:
            return f"the only {scarce} there is held by the old pods", True, "the only one"
        return f"all {total:,} {scarce} there are held by the old pods", True, f"all {total:,}"
    others = total - free - old_amount - new
    words = (
        f"of the {total:,} {scarce} there, {old_amount:,} {plural(old_amount, 'is', 'are')} held by the old pods"
        + (f", {new:,} by new ones" if new else "")
        + (f", {others} by others" if others > 0 else "")
        + (f" and {free} free {plural(free, 'is', 'are')} not where it would fit" if free else "")
    )
    return words, others <= 0 and not (free or new), f"{old_amount:,} of {total:,}"


def _held_by_others(c: _Context, reason: Reason) -> Impasse:
    old = f" The {count(len(c.old), 'old pod')} would not make room either." if c.old else ""
    if reason is Reason.INSUFFICIENT_RESOURCE and c.lacking:
        absent = [n for n in c.lacking if c.run.simulation.cluster.row.get(n) is None]
        if absent:
            short, explanation = _in_place_of(c, absent[0])
            sentence = f"the pod needs {_asks(c, tuple(absent))}, and {explanation or f'no node has {listing(absent)}'}"
            headline = f"the new pod needs {absent[0]}, and {short or 'no node has any'}"
        else:
            sentence = f"the pod needs {_asks(c, c.lacking)} on {c.where}; {_room(c)}.{old}".rstrip(".")
            headline = _most_free(c)
    else:
        words = {
            Reason.HOST_PORT: "the host port is taken on every node that matches",
            Reason.POD_AFFINITY: "affinity or anti-affinity to other pods leaves no node",
            Reason.TOPOLOGY_SPREAD: "the topology spread constraints leave no node with room",
            Reason.TOO_MANY_PODS: "the nodes that match run as many pods as they may",
            Reason.VOLUME: "the nodes that match have as many volumes as they may"
            if c.refused_by == Fails.VOLUME_LIMIT
            else "its volume is in use by another pod",
        }
        headline = _no_device(c) if reason is Reason.DEVICE else words.get(reason, "no node has room for the new pod")
        sentence = f"{headline}.{old}".rstrip(".")
    return _stuck(reason, sentence, headline, scheduler_message=c.message, lacking=c.lacking)


def _no_device(c: _Context) -> str:
    """``no ResourceSlice has a device of DeviceClass mig-1g``, or that those that there are aren't free, or not where there is room."""
    names = classes_without_devices(c.run.simulation.cluster, c.shape.devices)
    if not names:
        codes = fails(c.run.simulation.state, c.shape)[c.matching]
        lacks = "no node has the devices free that its claims ask for"
        is_all = all(_REFUSALS.get(code) is Reason.DEVICE for code in codes.tolist())
        return lacks if is_all else f"{lacks}, and room for the pod beside them"
    lacking = f"{plural(len(names), 'DeviceClass', 'DeviceClasses')} {listing(list(names))}"
    if c.run.simulation.snapshot.resource_slices:
        return f"no ResourceSlice has a device of {lacking}"
    return f"there is no ResourceSlice, so no device of {lacking}; whether a driver brings some isn't seen"


def _in_place_of(c: _Context, name: str) -> tuple[str, str]:
    """What the matching nodes have where none of them offers any of a device, in a few words and with what to do; "" for nothing."""
    nodes = [c.run.simulation.cluster.nodes[place] for place in np.flatnonzero(c.matching)]
    if away := sum(unoffered(node).get(name, 0) for node in nodes):
        short = f"no pod can use the {away:,} there {plural(away, 'is', 'are')}"
        return short, f"{short}: the device plugin is away, or {plural(away, 'it is', 'they are')} unhealthy"
    slices: Counter[str] = Counter()
    for node in nodes if name == NVIDIA_GPU else ():
        slices.update(
            {
                resource: amount
                for resource, amount in node.allocatable.items()
                if resource.startswith(NVIDIA_MIG_PREFIX)
            }
        )
    cut = {resource: amount for resource, amount in slices.items() if amount}
    if not cut:
        return "", ""
    cards = [physical_gpus(node) for node in nodes if any(node.allocatable.get(resource) for resource in cut)]
    which = "the only GPU there is" if cards == [1] else "the GPUs there are"
    into = listing(
        [f"{count(amount, 'slice')} of {resource.removeprefix(NVIDIA_MIG_PREFIX)}" for resource, amount in cut.items()]
    )
    short = f"{which} cut into {into} (MIG)"
    return short, f"{short}: ask for {' or '.join(cut)}, or set MIG back on a node"


def _most_free(c: _Context) -> str:
    """``the new pod needs 4 A100s on one node, and none is free``: of the first resource that no node has enough of; where
    each is enough somewhere, of all of them together."""
    for name in sorted(c.lacking, key=lambda resource: not is_extended_resource(resource)):
        request, largest, free = _on_one_node(c, name)
        needs = f"the new pod needs {_plain(c, name)} on one node"
        if request > largest and not largest and (short := _in_place_of(c, name)[0]):
            return f"the new pod needs {_plain(c, name)}, and {short}"
        if request > largest:
            return f"{needs}, and the largest has {roughly(largest, name)}"
        if request > free:
            return f"{needs}, and " + (
                f"at most {roughly(free, name)} {plural(free, 'is', 'are')} free" if free else "none is free"
            )
    return f"the new pod needs {_plain(c, _scarce(c))} with CPU and memory beside it, and no node has all of it free"


def _on_one_node(c: _Context, name: str) -> tuple[int, int, int]:
    """What a pod asks for of a resource, the most that a matching node has, and the most that is free on one."""
    cluster, state = c.run.simulation.cluster, c.run.simulation.state
    row = cluster.row[name]
    free = np.maximum(state.free[row, c.matching], 0)
    return dict(c.shape.asks)[row], int(cluster.allocatable[row, c.matching].max()), int(free.max())


def _room(c: _Context) -> str:
    """What the matching nodes have of the lacking resources: too small as they are, or too full."""
    small, full, none = list[str](), list[str](), list[str]()
    for name in c.lacking:
        request, largest, free = _on_one_node(c, name)
        if not largest and (substitute_text := _in_place_of(c, name)[1]):
            return substitute_text
        if request > largest:
            small.append(f"{roughly(largest, name)} {name}")
        else:
            (full if free else none).append(f"{roughly(free, name)} {name}" if free else name)
    if small:
        return f"even empty, the largest of them has only {listing(small)}"
    if none:
        return f"no {listing(none)} is free on any of them"
    return f"no more than {listing(full)} is free on any one of them"
