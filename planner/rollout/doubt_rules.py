"""Rules that add a doubt to an answer without changing its verdict: a missing list, a webhook that isn't simulated.

To add one, write a function of `Played` that yields `Doubt`s and put it into `RULES`. What makes the verdict *not known* is an
`Unknown` of `planner.rollout.unknowns` instead; who may act meanwhile is played in `planner.rollout.race_doubts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from planner.ground.quantity import format_amount
from planner.ground.records import Record
from planner.ground.words import Text, count, duration, listing, plural
from planner.inventory.input_report import list_command
from planner.kubernetes.feature_gates import minor_of, newer_than_recorded
from planner.kubernetes.known_admission_webhooks import KINDS, MUTATING, HookChanges, known_hook
from planner.kubernetes.object_records import AdmissionHook, PodSpec, Presence, Workload
from planner.kubernetes.owners import uids_below
from planner.kubernetes.pod_properties import killed_after_seconds
from planner.kubernetes.pod_template_kinds import Idle
from planner.kubernetes.shell_commands import command
from planner.kubernetes.surge_and_unavailable import scaled_value
from planner.kubernetes.volume_attach_rules import Attaching
from planner.kubernetes.workload_kinds import CRON_JOB, JOB, NODE, POD, several
from planner.rollout.admission import Admission
from planner.rollout.controllers.daemonset import daemon_spec
from planner.rollout.controllers.leader_worker_set import versions_seen
from planner.rollout.doubly_advertised_devices import used_by
from planner.rollout.doubts import Doubt, Effect, each_once
from planner.rollout.image_pulls import failing_pulls, image_pulls
from planner.rollout.kubelet_refusals import doubt_words, expected_refusals, may_refuse, refusals, refusals_near
from planner.rollout.never_ready_pods import age, never_ready
from planner.rollout.ownership import workloads_by_key
from planner.rollout.run import Revision, Run
from planner.rollout.stuck_diagnosis import volume_waits
from planner.rollout.taint_evictions import executing_places, short_stays
from planner.rollout.unknowns import admission_hooks, unplayed_hooks
from planner.scheduling.cluster import Cluster
from planner.scheduling.scripted_event import Happening
from planner.scheduling.shape import alike, compile_shape

_REFUSE: Final = ("ResourceQuota", "LimitRange")
_MAKE: Final = (JOB.name, CRON_JOB)
_AUTOSCALER: Final = "HorizontalPodAutoscaler"
_INJECTOR: Final = (
    "See global.proxy.resources: kubectl get configmap istio-sidecar-injector --namespace istio-system --output yaml"
)
_DRY_RUN: Final = "See what it makes of the change: kubectl apply --dry-run=server --output yaml"
_DRY_RUN_OF_A_POD: Final = "See what it makes of a Pod with the template: kubectl apply --dry-run=server --output yaml (a dry run of the workload doesn't ask it)"


class Played(Record, eq=False):
    """What a rule may look at: the cluster, its changes, and how they went. Evictions, moves and losses have no `run` of a rollout: pods
    of all the revisions are made anew, and `is_done` says whether the answer has them all placed."""

    cluster: Cluster
    revisions: Sequence[Revision]
    run: Run | None
    is_done: bool = True

    @property
    def completes(self) -> bool:
        """Whether all of it does what is asked."""
        return self.is_done if self.run is None else self.run.completed

    def completes_of(self, revision: Revision) -> bool:
        """Whether one change does."""
        return self.is_done if self.run is None else self.run.done[revision.after.key]

    def makes_pods(self, revision: Revision) -> bool:
        """Whether pods of a change are made, or wait to be."""
        if revision.placed is not None:
            return not revision.placed.idle
        if self.run is None:
            return True
        before, *moments = self.run.moments[revision.after.key]
        is_new = revision.has_new_template or revision.before is None
        return is_new or any(moment.pending or moment.pods > before.pods for moment in moments)

    def nodes_of(self, revision: Revision) -> list[int]:
        """Places of the nodes that new pods of a change may come to, as far as labels, taints and sizes tell: where they are in the end
        isn't known of a run with a counted end. Kept for nobody: of 5,000 templates on 5,000 nodes that would be 25 million."""
        return nodes_for(self.cluster, revision.after)


def nodes_for(cluster: Cluster, workload: Workload) -> list[int]:
    """Places of the nodes that pods of a workload may come to."""
    shape = compile_shape(cluster, workload.namespace, workload.template.labels, made_spec(workload))
    return list(shape.candidates[alike(cluster, shape).large].tolist())


def made_spec(workload: Workload) -> PodSpec:
    """The spec that pods of a workload are made with: those of a DaemonSet tolerate more than their template says."""
    return daemon_spec(workload) if workload.traits.is_per_node else workload.template.spec


def missing_lists(played: Played) -> Iterator[Doubt]:
    """Missing lists with objects that may change the verdict: ResourceQuotas and LimitRanges may refuse each pod of a rollout
    that completes, autoscalers may set other replicas than a change does. kubectl leaves a kind without objects out of its List, so *none
    exist* and *not asked for* look the same. That Jobs weren't asked for shows where PriorityClasses lack, of which every cluster has some.
    A list that was refused or is cut off makes the verdict not known (`planner.rollout.unknowns`)."""
    snapshot = played.cluster.snapshot
    presence = snapshot.presence.get(_AUTOSCALER)
    if presence is not None and presence.is_lacking and any(
        r.after.traits.has_replicas
        and (presence.hides or (r.before is not None and r.before.replicas != r.after.replicas))
        for r in played.revisions
    ):  # fmt: skip
        why = Text("whether an autoscaler sets other replicas isn't known: none were read")
        yield Doubt(about=_many([_AUTOSCALER]), why=why, could_change=Effect.VERDICT, advice=_adds([_AUTOSCALER]))
    for kind in KINDS:
        state = snapshot.presence.get(kind)
        if state is not None and state.hides and (played.completes or kind in MUTATING):
            what = (
                "the API server refused to list them" if state is Presence.REFUSED else "only a part of them was read"
            )
            why = Text(f"whether one changes or refuses the pods isn't known: {what}")
            yield Doubt(about=_many([kind]), why=why, could_change=Effect.VERDICT, advice=_adds([kind]))
    if not played.completes or not any(map(played.makes_pods, played.revisions)):
        return
    # Every cluster has PriorityClasses (system-node-critical): without any the list was never asked for, and so perhaps neither
    # were Jobs.
    refuse = [kind for kind in _REFUSE if snapshot.presence.get(kind) is Presence.ABSENT]
    make: list[str] = []
    if snapshot.presence.get("PriorityClass") is Presence.ABSENT:
        read = {kind for kind, state in snapshot.presence.items() if state is not Presence.ABSENT}
        read |= {unplayed_object.kind for unplayed_object in snapshot.unplayed}
        make = [kind for kind in _MAKE if kind not in read]
    parts = [f"{_many(kinds)} {does} pods" for kinds, does in ((refuse, "refuse"), (make, "make")) if kinds]
    if parts:
        why = Text(f"whether {', or '.join(parts)}{',' * (len(parts) > 1)} isn't known: none were read")
        yield Doubt(about=_many([*refuse, *make]), why=why, could_change=Effect.VERDICT, advice=_adds([*refuse, *make]))


def waiting_already(played: Played) -> Iterator[Doubt]:
    """Objects that stay as they are, and pods of which wait for a node: that nothing of them changes isn't that they run."""
    snapshot = played.cluster.snapshot
    idle = (r.after.key for r in played.revisions if r.placed is not None and r.placed.idle is Idle.THERE)
    for key in idle:
        own = uids_below(snapshot, key)
        waiting = sum(not pod.node_name for pod in snapshot.pods if pod.uid in own)
        if waiting:
            why = Text(
                f"{count(waiting, 'pod')} of it {plural(waiting, 'waits', 'wait')} for a node, and the change brings none"
            )
            yield Doubt(
                about=key, why=why, could_change=Effect.VERDICT, advice="What would start it: headroom make-room"
            )


def unseen_group_controller(played: Played) -> Iterator[Doubt]:
    """LeaderWorkerSets that may end otherwise by the rules of 0.9: a group isn't Ready before its workers are (lws #705), and a surge of as
    many groups as there are stays where none may be missing (#778)."""
    if played.run is None or played.cluster.remember(versions_seen):
        return
    for after in (revision.after for revision in played.revisions if revision.after.groups is not None):
        assert after.groups is not None
        wanted, strategy = after.replicas, after.strategy
        waited = after.groups.size > 1 and any(moment.pending for moment in played.run.moments[after.key][1:])
        drops = scaled_value(strategy.max_surge, wanted, round_up=True) >= wanted
        drops &= scaled_value(strategy.max_unavailable, wanted, round_up=False) == 0
        if waited if played.run.done[after.key] else drops:
            why = "which version of LeaderWorkerSet runs isn't seen: this is by the rules of 0.8, and 0.9 has others"
            advice = "Add its controller's pod, whose image tells it: kubectl get pods --all-namespaces --output json"
            yield Doubt(about=after.key, why=Text(why), could_change=Effect.VERDICT, advice=advice)


def presumed_drivers(played: Played) -> Iterator[Doubt]:
    """Drivers with volumes that pods wait for, and that attach as far as their own manifests say: their CSIDrivers weren't read."""
    run = played.run
    waits = (
        [wait.volume for revision in played.revisions for wait in volume_waits(run, revision.after.key)] if run else []
    )
    for driver in sorted({volume.driver for volume in waits if volume.how is Attaching.PRESUMED}):
        why = Text(f"that {driver} attaches volumes to nodes is taken from its manifests: no CSIDrivers were read")
        yield Doubt(about=driver, why=why, could_change=Effect.VERDICT, advice=_adds(["CSIDriver"]))


def _many(kinds: Sequence[str]) -> str:
    return listing([several(kind) for kind in kinds], most=None)


def _adds(kinds: Sequence[str]) -> str:
    """The commands that write the lists: the API's own say so where there are none."""
    also = plural(len(kinds), "where it is empty", "where they are empty")
    return f"To add {plural(len(kinds), 'it', 'them')}, also {also}: {'; '.join(list_command(kind) for kind in kinds)}"


def unplayed_admission(played: Played) -> Iterator[Doubt]:
    """Webhooks and policies that see the pods of a change or its object, and aren't played: one that mutates may give the pods other
    requests, tolerations and selectors, and each may refuse them. Those of which a table knows what they change are told by that
    (`planner.kubernetes.known_admission_webhooks`)."""
    for revision in played.revisions:
        if not played.makes_pods(revision):
            continue
        after, templates = revision.after, tuple(template for template, _ in revision.templates)
        for hook in admission_hooks(played.cluster.snapshot, revision):
            known_webhook = known_hook(hook, templates)
            if known_webhook is not None and known_webhook.changes is not HookChanges.PLAYED:
                effect = Effect.TIME if known_webhook.changes is HookChanges.TIME else Effect.NOTHING
                advice = f"Source: {known_webhook.source}"
                yield Doubt(about=_called(hook), why=Text(known_webhook.does), could_change=effect, advice=advice)
        for hook in unplayed_hooks(played.cluster.snapshot, revision):
            mutates = hook.kind in MUTATING
            sees_workload = hook.is_about(after.traits.group, after.traits.resource)
            what = "the workload" if sees_workload and not hook.is_about(POD.group, POD.resource) else "its pods"
            why = Text(f"it may {'change or refuse' if mutates else 'refuse'} {what}, and what it does isn't played")
            # A hook that only refuses can't free a rollout that is stuck as it is.
            yield Doubt(
                about=_called(hook), why=why, could_change=Effect.VERDICT if mutates or played.completes else Effect.NOTHING,
                advice=_DRY_RUN if sees_workload else _DRY_RUN_OF_A_POD,
            )  # fmt: skip


def _called(hook: AdmissionHook) -> str:
    return f"{hook.kind} {hook.name}"


def never_ready_before(played: Played) -> Iterator[Doubt]:
    """A rollout that completes since its new pods are taken to get Ready, though none like them ever has."""
    for revision in played.revisions:
        after = revision.after
        is_asked = played.completes_of(revision) and played.makes_pods(revision) and not revision.never_ready
        pods = never_ready(played.cluster, revision) if is_asked else ()
        if not pods:
            continue
        restarts = max((state.restart_count for pod in pods for state in pod.containers), default=0)
        which = "its pod of today has" if len(pods) == 1 else f"none of its {len(pods):,} pods of today has"
        oldest = max(age(pod, played.cluster.snapshot.taken_at) for pod in pods)
        tells = count(restarts, "restart") if restarts or not oldest else f"in {duration(oldest)}"
        sentence = f"{which} {'never' if len(pods) == 1 else 'ever'} been Ready ({tells})"
        before, now = (killed_after_seconds(spec) for spec in (pods[0].spec, after.template.spec))
        if now is not None:
            same = ", as today" if now == before else ""
            sentence += f"; a container of the change that isn't up within {duration(now)} is killed by its probe{same}"
        why = Text(f"whether the new pods get Ready isn't known: {sentence}")
        yield Doubt(
            about=after.key,
            why=why,
            could_change=Effect.VERDICT,
            advice="To see what it comes to where they don't: --never-ready",
        )


def newer_version(played: Played) -> Iterator[Doubt]:
    """Of a version after the recorded nothing is proven: what was recorded are the rules of another one."""
    snapshot = played.cluster.snapshot
    if why := newer_than_recorded(snapshot):
        about = f"Kubernetes 1.{minor_of(snapshot)}"
        yield Doubt(about=about, why=Text(why), could_change=Effect.VERDICT)


def injected_proxies(played: Played) -> Iterator[Doubt]:
    """The proxy that Istio's injector adds: it is played with what proxies ask for that run today, or with the documented default."""
    injection = played.cluster.snapshot.derived.once(Admission, played.cluster.snapshot).injection
    for revision in played.revisions:
        namespace = revision.after.namespace
        every = [injection.of(namespace, template.labels, template.spec) for template, _ in revision.templates]
        injections = [proxy for proxy in every if proxy is not None]
        if not injections or not played.makes_pods(revision):
            continue
        guessed = [proxy for proxy in injections if not proxy.is_seen]
        # Where one is guessed, that one is what the doubt is about.
        asks = (guessed or injections)[0].proxy.requests
        says = ", ".join(f"{format_amount(amount, name)} {name}" for name, amount in asks.items()) or "no requests"
        why = f"it adds a proxy to each pod, which is played with {says}"
        why += ", the documented default: its ConfigMap isn't read, and no proxy runs that tells" if guessed else ""
        yield Doubt(
            about="Istio's sidecar injector", why=Text(why), could_change=Effect.VERDICT if guessed else Effect.NOTHING,
            advice=_INJECTOR if guessed else "",
        )  # fmt: skip


def offered_twice(played: Played) -> Iterator[Doubt]:
    """New pods that have devices which the device plugin and a DRA driver offer both: where more is given out than there is, the verdict
    isn't known (`planner.rollout.doubly_advertised_devices.given_out_twice`)."""
    for revision in played.revisions:
        is_asked = played.completes_of(revision) and played.makes_pods(revision)
        offers = tuple(used_by(played.cluster, revision.after)) if is_asked else ()
        places = played.nodes_of(revision) if offers else ()
        for offer in (offer for offer in offers if offer.node in places):
            name = played.cluster.node_names[offer.node]
            why = Text(
                f"{offer.words} there: neither knows what the other gives out, and a pod that gets one in use fails at its start"
            )
            advice = "Turn the device plugin or the DRA driver off on that node"
            yield Doubt(about=NODE.key("", name), why=why, could_change=Effect.VERDICT, advice=advice)


def kubelet_refusals(played: Played) -> Iterator[Doubt]:
    """A kubelet has refused pods of the workload, or others' where its new pods may come, or its configuration or its node's conditions let
    that expect: it may refuse these once they are bound."""
    is_expected = bool(refusals(played.cluster) or may_refuse(played.cluster))
    for revision in played.revisions if is_expected else ():
        if not (played.completes_of(revision) and played.makes_pods(revision)):
            continue
        places = played.nodes_of(revision)
        for refusal in refusals_near(played.cluster, revision.after.key, places):
            yield _at_kubelets([refusal.node], doubt_words(refusal))
        for cause in expected_refusals(played.cluster, made_spec(revision.after), places):
            yield _at_kubelets(cause.nodes, cause.words)


def short_of_time(played: Played) -> Iterator[Doubt]:
    """New pods may come to a node with a NoExecute taint that they tolerate for some seconds: each is evicted when these are over, and its
    successor may come there again, which isn't played. Those that are there before are (`planner.rollout.taint_evictions`)."""
    came = [event for event in played.run.came if isinstance(event, Happening)] if played.run is not None else []
    tainted = {name for event in came if event.expels is not None for name in event.tainted}
    places = executing_places(played.cluster) | {played.cluster.node_index[name] for name in tainted}
    for revision in played.revisions:
        nodes_by_taint = dict[tuple[str, float], list[str]]()
        is_asked = bool(places) and played.completes_of(revision) and played.makes_pods(revision)
        for place in sorted(places.intersection(played.nodes_of(revision))) if is_asked else ():
            node = played.cluster.nodes[place]
            later = (event.expels for event in came if event.expels is not None and node.name in event.tainted)
            for taint, seconds in short_stays(made_spec(revision.after), (*played.cluster.executing(place), *later)):
                nodes_by_taint.setdefault((taint.key, seconds), []).append(node.name)
        for (key, seconds), names in nodes_by_taint.items():
            why = Text(
                f"{plural(len(names), 'node')} {listing(names)} {plural(len(names), 'has', 'have')} the taint {key}:NoExecute: new pods "
                f"there tolerate it for {duration(seconds)}, and are evicted then"
            )
            advice = f"Remove the taint, or tolerate it without tolerationSeconds: {command('kubectl', 'describe', 'node', names[0])}"
            yield Doubt(about=NODE.key("", names[0]), why=why, could_change=Effect.VERDICT, advice=advice)


def _at_kubelets(nodes: Sequence[str], why: str) -> Doubt:
    advice = f"See why: {command('kubectl', 'describe', 'node', nodes[0])}"
    return Doubt(about=NODE.key("", nodes[0]), why=Text(why), could_change=Effect.VERDICT, advice=advice)


def pulled_images(played: Played) -> Iterator[Doubt]:
    """Images that nodes of the new pods lack: how long a pull takes isn't in the start-up that is taken. One that can't be pulled for pods
    that are there may not be for the new ones either."""
    for revision in (revision for revision in played.revisions if played.makes_pods(revision)):
        after, is_done = revision.after, played.completes_of(revision)
        for why in failing_pulls(played.cluster, after.template.spec) if is_done else ():
            advice = "Check its name, and the pods' imagePullSecrets"
            yield Doubt(
                about=f"image {why.partition(' ')[0]}", why=Text(why), could_change=Effect.VERDICT, advice=advice
            )
        nodes = played.nodes_of(revision) if played.run is not None else ()  # without a rollout no time is told
        for pull in image_pulls(played.cluster, after.template.spec, nodes):
            yield Doubt(about=f"image {pull.image}", why=Text(pull.words), could_change=Effect.TIME)


RULES: Final[tuple[Callable[[Played], Iterator[Doubt]], ...]] = (
    missing_lists,
    unplayed_admission,
    injected_proxies,
    never_ready_before,
    newer_version,
    waiting_already,
    unseen_group_controller,
    presumed_drivers,
    offered_twice,
    kubelet_refusals,
    short_of_time,
    pulled_images,
)
"""Each rule that doubts an answer, in the order in which their doubts are told."""


def standing_doubts(cluster: Cluster, revisions: Sequence[Revision], run: Run) -> tuple[Doubt, ...]:
    """What every rule doubts of `run` of the revisions."""
    played = Played(cluster=cluster, revisions=tuple(revisions), run=run)
    return each_once(doubt for rule in RULES for doubt in rule(played))


def decisive_doubts(cluster: Cluster, revisions: Sequence[Revision], *, is_done: bool = True) -> tuple[Doubt, ...]:
    """What every rule doubts of an answer that makes the pods of the revisions without a rollout of its own (evictions, moves, losses, the
    nodes of a plan), as far as it could be another answer. `is_done`: whether all of them find a place in it."""
    played = Played(cluster=cluster, revisions=tuple(revisions), run=None, is_done=is_done)
    every = (doubt for rule in RULES for doubt in rule(played)) if revisions else ()
    return each_once(doubt for doubt in every if doubt.could_change is Effect.VERDICT)


def made_anew(cluster: Cluster, keys: Iterable[str]) -> list[Revision]:
    """The workloads of these keys that make their pods anew as they are, as evictions and losses do."""
    workloads = workloads_by_key(cluster)
    return [
        Revision(before=workloads[key], after=workloads[key], has_new_template=False)
        for key in sorted({*keys} & workloads.keys())
    ]
