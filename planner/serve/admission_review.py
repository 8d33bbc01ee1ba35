"""The answer to an admission review while the API server waits: a warning if the policy objects, else nothing.

Silence is the rule: where nothing rolls, where the answer isn't known, and where time is up. `admission_review` reads the request of an
AdmissionReview v1 (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

import msgspec

from planner.capacity.node_pools import NodePool
from planner.capacity.recent_scale_up_attempts import failed_scale_ups
from planner.capacity.summary_with_growth import summary_with_growth
from planner.ground import typed_json
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import Record, dataclass, replace
from planner.ground.well_known_names import WARNINGS_SWITCH
from planner.ground.words import listing, printable
from planner.ground.work_budget import TooLargeError, UnwantedError, allowed
from planner.inventory.change import has_new_template, read_changed, read_workload_document
from planner.inventory.kubectl_apply import (
    AppliedWorkload,
    PlacedWorkload,
    UnknownObject,
    read_autoscaler,
    read_scaled,
    read_written,
)
from planner.kubernetes.autoscaler_replica_bounds import brought_within, settled_replicas
from planner.kubernetes.kueue_managed_pods import named_queue
from planner.kubernetes.object_records import (
    CommandForm,
    Container,
    HorizontalPodAutoscaler,
    PodSpec,
    Snapshot,
    Template,
    Workload,
)
from planner.kubernetes.pod_template_kinds import Templated, templated
from planner.kubernetes.unknown_kind_requests import gangs_asked
from planner.kubernetes.unplayed_kinds import LISTED
from planner.kubernetes.workload_kinds import NODE, PLAYED, POD, STATEFUL_SET, kind_in
from planner.remedies.ways_out import find_remedies
from planner.rollout.answers import RUNS, Reason, RemedyKind, Ties, Verdict
from planner.rollout.doubt_rules import Played, unplayed_admission
from planner.rollout.doubts import is_proven
from planner.rollout.gate_policy import GatePolicy
from planner.rollout.observed_course import begins, follows
from planner.rollout.ownership import sets_by_owner
from planner.rollout.prepared_change import compiled, pod_times_of, revision_of
from planner.rollout.race_doubts import on_other_clocks
from planner.rollout.rollout_summary import Glance, OwnRollout, restarted
from planner.rollout.run import Revision, Run
from planner.rollout.tie_break_sensitivity import holds_in_every_placement, is_refused, sample
from planner.serve.request_limits import LIMITS

NO_POLICY: Final = GatePolicy()
_KINDS: Final = {(kind.group, kind.resource): kind.name for kind in PLAYED}
_LISTED: Final = {(listed.group, listed.resource): listed for listed in LISTED.values() if listed.asks_webhook}
_AUTOSCALERS: Final = (("autoscaling", "horizontalpodautoscalers"), ("keda.sh", "scaledobjects"))
_LEAST_WHY: Final = 60  # characters of the reason, before the way out is left away
_A_MOMENT: Final = 0.5  # seconds after a write that the snapshot doesn't show yet: its pods are made, and not yet Ready
_WAY_OUT_UNITS: Final = 10_000  # of work for a way out: the warning is worth more than it
_OTHERWISE_UNITS: Final = 100_000  # and for other placements, and for other seconds: about 0.1 s each


class _Resource(msgspec.Struct):
    group: str = ""
    resource: str = ""


class Request(msgspec.Struct, rename="camel"):
    """What of an AdmissionReview's request is read; user, groups and options aren't."""

    uid: str
    operation: str = ""
    namespace: str = ""
    name: str = ""
    resource: _Resource = msgspec.field(default_factory=_Resource)
    sub_resource: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool = False


class _ReviewUid(msgspec.Struct):
    uid: str


_Asked = TypeVar("_Asked", Request, _ReviewUid)


class _AdmissionReview(msgspec.Struct, Generic[_Asked], rename="camel"):
    kind: str
    api_version: str
    request: _Asked


def read_request(body: bytes) -> Request:
    """The request in an AdmissionReview.

    Raises
    ------
    InputError
        For anything but an ``admission.k8s.io/v1`` AdmissionReview with a request.
    """
    return _read(body, _AdmissionReview[Request])


def read_uid(body: bytes) -> str:
    """The uid that an answer to an AdmissionReview carries; its objects are passed over and not made, which takes a tenth of the
    time.

    Raises
    ------
    InputError
        As `read_request`, but for what is wrong within its objects.
    """
    return _read(body, _AdmissionReview[_ReviewUid]).uid


def _read(body: bytes, kind: type[_AdmissionReview[_Asked]]) -> _Asked:
    fix = "Send what an API server sends a validating webhook: AdmissionReview, " + API_VERSION
    try:
        review_object = typed_json.decode(body, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"isn't an AdmissionReview: {error}", where="the request's body", fix=fix) from None
    if (review_object.kind, review_object.api_version) != ("AdmissionReview", API_VERSION):
        raise InputError(f"is {review_object.api_version} {review_object.kind}", where="the request's body", fix=fix)
    return review_object.request


class Silence(StrEnum):
    """Why nothing is said."""

    NO_ROLLOUT = "no_rollout"  # labels, status, another kind, nothing that moves pods
    SWITCHED_OFF = "switched_off"
    COMPLETES = "completes"
    BY_POLICY = "by_policy"  # which lets it pass: an exception, a verdict
    NOT_KNOWN = "not_known"  # to the snapshot, to the engine, or unreadable
    TIME_UP = "time_up"


API_VERSION: Final = "admission.k8s.io/v1"  # of reviews, asked and answered


class WrittenRollout(Record):
    """The rollout that a write begins, if it is stored: of a workload that is there (`planner.rollout.observed_course.begins`). `digest`, `taken_at`: of the
    snapshot that it is judged by; the API server gives a write its generation before it asks validating webhooks."""

    uid: str
    generation: int
    template: Template
    digest: str
    taken_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookReview:
    """What is said of one write: `warning`, or why none. `workload` is its key, "" where it isn't one that rolls; `is_stuck`:
    the warning is of a rollout that would never complete. `rolls`: it rolls something out, if it is let through. `written`, `rollout`: what
    is kept as a prediction, and how it goes, None where that wasn't worked out."""

    workload: str = ""
    warning: str = ""
    is_stuck: bool = False
    rolls: bool = field(default=False, compare=False)
    silence: Silence | None = None
    written: WrittenRollout | None = field(default=None, compare=False)
    rollout: OwnRollout | None = field(default=None, compare=False)


def review(
    snapshot: Snapshot,
    request: Request,
    pools: tuple[NodePool, ...] = (),
    is_wanted: Callable[[], bool] | None = None,
    *,
    policy: GatePolicy = NO_POLICY,
    now: float | None = None,
    earlier: Sequence[bytes] = (),
    tells_ways: bool = True,
) -> WebhookReview:
    """The review of an AdmissionReview's `request`, against the cluster as `snapshot` has it.

    Parameters
    ----------
    pools : tuple of NodePool
        Pools that may grow.
    is_wanted : callable, optional
        Asked while the rollout is played; when it says no, nothing is said.
    policy : GatePolicy
        What is let pass, as at the gate; limits on GPUs and dollars are a whole change's, and the gate's only.
    now : float, optional
        Seconds since the epoch, for exceptions that expire.
    earlier : sequence of bytes
        AdmissionReviews of writes let through a moment ago, the latest last: what of them the snapshot doesn't show yet is played
        beside this one.
    tells_ways : bool
        Whether there is time to look for a way out, which takes as long as all else; without, who looks for one is told.
    """
    reviewed_object = _asked(request)
    if reviewed_object is None:
        other_kind = _other_kind(request)
        if other_kind is None:
            return WebhookReview(silence=Silence.NO_ROLLOUT)
        return _of_other_kind(
            snapshot, request, other_kind, pools, is_wanted, policy, now, earlier, tells_ways=tells_ways
        )
    kind, key = reviewed_object
    live_workload = snapshot.workload(key)
    if any(snapshot.lacks(listed_kind.name) for listed_kind in (NODE, POD)):
        return WebhookReview(workload=key, silence=Silence.NOT_KNOWN)
    rolls, written = False, None
    try:
        change = _change(kind, request, live_workload)
        if change is None or _is_scaled_past_kueue(request, live_workload):
            return WebhookReview(workload=key, silence=Silence.NOT_KNOWN)
        rolls = change.moves_pods and not _stays_paused(change) and not request.dry_run
        if _is_off(request, live_workload):
            return WebhookReview(workload=key, silence=Silence.SWITCHED_OFF, rolls=rolls)
        if not change.moves_pods or _stays_paused(change):
            return WebhookReview(workload=key, silence=Silence.NO_ROLLOUT)
        if any(exception.covers(key) for exception in policy.holding(now)):
            return WebhookReview(workload=key, silence=Silence.BY_POLICY, rolls=rolls)
        written = _written_rollout(snapshot, request, change) if rolls else None
        if gangs_asked(request.object or {}):
            return WebhookReview(workload=key, silence=Silence.NOT_KNOWN, rolls=rolls, written=written)
        with allowed(is_wanted):
            along = _unseen(snapshot, earlier, key)
            verdict_review = _said(
                snapshot, key, change, live_workload, pools, policy, along, is_autoscalers=_is_autoscaler(request),
                tells_ways=tells_ways,
            )  # fmt: skip
            return replace(verdict_review, rolls=rolls, written=written)
    except UnwantedError:
        return WebhookReview(workload=key, silence=Silence.TIME_UP, rolls=rolls, written=written)
    except HeadroomError:
        return WebhookReview(workload=key, silence=Silence.NOT_KNOWN, rolls=rolls, written=written)


def _written_rollout(snapshot: Snapshot, request: Request, change: AppliedWorkload) -> WrittenRollout | None:
    """The rollout that is kept as a prediction; None of a workload that is new, is only scaled, or waits for hands."""
    uid, generation = (_metadata(request).get(name) for name in ("uid", "generation"))
    if (
        change.before is None
        or not follows(change.after)
        or not begins(compiled(snapshot), change.before, change.after)
    ):
        return None
    if not isinstance(uid, str) or type(generation) is not int:
        return None
    return WrittenRollout(
        uid=uid,
        generation=generation,
        template=change.after.template,
        digest=snapshot.digest,
        taken_at=snapshot.taken_at,
    )


class _Earlier(Record, kw_only=False):
    """What an earlier write came to: of `key` this `revision`, None where the snapshot shows it. `scales`: of a Scale and an
    autoscaler, which change the replicas of what was written before."""

    key: str
    revision: Revision | None
    scales: Callable[[int], int] | None = None


def _unseen(snapshot: Snapshot, earlier: Sequence[bytes], key: str) -> tuple[Revision, ...]:
    """The changes that `earlier` writes made of other workloads, and that the snapshot doesn't show yet."""
    earlier_by_body = snapshot.derived.once(_of_earlier, snapshot)
    revision_by_key: dict[str, Revision] = {}
    for body in earlier:
        # Reading one takes as long as the review that it stands beside, and it stands beside many.
        if body not in earlier_by_body:
            earlier_by_body[body] = _made(snapshot, body)
        if (earlier_write := earlier_by_body[body]) is not None:
            _count(revision_by_key, earlier_write)
    for body in tuple(earlier_by_body)[: -LIMITS.earlier_writes]:
        del earlier_by_body[body]
    return tuple(revision for of, revision in revision_by_key.items() if of != key)


def _of_earlier(_: Snapshot) -> dict[bytes, _Earlier | None]:
    """What the last earlier writes came to."""
    return {}


def _count(revision_by_key: dict[str, Revision], earlier_write: _Earlier) -> None:
    """The next write: one of a whole object replaces earlier writes of it, and one that goes back to the snapshot's object cancels
    them."""
    revision, before = earlier_write.revision, revision_by_key.pop(earlier_write.key, None)
    if earlier_write.scales is not None and before is not None:
        after = replace(before.after, replicas=earlier_write.scales(before.after.replicas))
        is_back = not before.has_new_template and after == before.before
        revision = None if is_back else replace(before, after=after)
    if revision is not None:
        revision_by_key[earlier_write.key] = revision


def _made(snapshot: Snapshot, body: bytes) -> _Earlier | None:
    """What a write came to; None where it isn't known."""
    try:
        request = read_request(body)
        reviewed_object = _asked(request)
        if reviewed_object is None:
            other = _made_of_other_kind(snapshot, request)
            return None if other is None else _Earlier(other.after.key, other)
        kind, key = reviewed_object
        live_workload = snapshot.workload(key)
        if _is_seen(request, live_workload):
            return _Earlier(key, None)
        change = _change(kind, request, live_workload)
        if change is None:
            return None
        if request.sub_resource or _is_autoscaler(request):
            revision = (
                None if _is_scaled(request, change, live_workload) else _revision(snapshot, change, live_workload)
            )
            return _Earlier(key, revision, _scales(request, change))
        # Not against what it was made of: the snapshot may not show the write before, either.
        if live_workload is not None:
            is_new = has_new_template(live_workload, change.after)
            change = AppliedWorkload(before=live_workload, after=change.after, has_new_template=is_new)
        return _Earlier(key, _revision(snapshot, change, live_workload))
    except HeadroomError:
        return None


def _scales(request: Request, change: AppliedWorkload) -> Callable[[int], int]:
    """From how many replicas to how many a Scale or an autoscaler goes."""
    autoscaler = _autoscaler(request) if _is_autoscaler(request) else None
    if autoscaler is None:
        return lambda _: change.after.replicas
    return lambda now: now if autoscaler.is_paused else brought_within((autoscaler,), now)


def _is_seen(request: Request, live_workload: Workload | None) -> bool:
    """Whether the snapshot has a write of the workload itself, by the generation that the API server gave it."""
    if live_workload is None or request.sub_resource or _is_autoscaler(request):
        return False
    written = _metadata(request).get("generation")
    return type(written) is not int or live_workload.generation >= written


def _is_scaled(request: Request, change: AppliedWorkload, live_workload: Workload | None) -> bool:
    """Whether it has the replicas that a Scale or an autoscaler sets."""
    if live_workload is None or not (request.sub_resource or _is_autoscaler(request)):
        return False
    return live_workload.replicas == change.after.replicas


def _stays_paused(change: AppliedWorkload) -> bool:
    """Whether the controller rolls nothing out as long as it is paused; it scales all the same."""
    before, after = change.before, change.after
    return after.is_paused and (before is None or before.replicas == after.replicas)


def _change(kind: str, request: Request, live_workload: Workload | None) -> AppliedWorkload | None:
    if _is_autoscaler(request):
        return _autoscaled(request, live_workload)
    return _scaled(request, live_workload) if request.sub_resource else _applied(kind, request, live_workload)


def _autoscaled(request: Request, live_workload: Workload | None) -> AppliedWorkload | None:
    """What the autoscaler that is written sets as soon as it looks."""
    autoscaler = _autoscaler(request)
    if live_workload is None or autoscaler is None:
        return None
    replicas = live_workload.replicas if autoscaler.is_paused else brought_within((autoscaler,), live_workload.replicas)
    return AppliedWorkload(
        before=live_workload, after=replace(live_workload, replicas=replicas), has_new_template=False
    )


def _asked(request: Request) -> tuple[str, str] | None:
    """(kind, key) of the workload that is written, or scaled by an autoscaler that is written; None for everything else."""
    if _is_autoscaler(request):
        autoscaler = _autoscaler(request)
        return (
            (kind_in(autoscaler.target).name, autoscaler.target)
            if autoscaler is not None and kind_in(autoscaler.target).rolls_out
            else None
        )
    # by the resource: of `kubectl scale` the object is a Scale, and only the resource says of what
    kind = _KINDS.get((request.resource.group, request.resource.resource))
    is_write = request.operation in ("CREATE", "UPDATE") and request.sub_resource in ("", "scale")
    name = request.name or _metadata(request).get("name")  # that of a generateName isn't in the request
    if kind is None or not is_write or not request.namespace or not isinstance(name, str):
        return None
    return kind, f"{kind}/{request.namespace}/{name}"


def _is_autoscaler(request: Request) -> bool:
    return (request.resource.group, request.resource.resource) in _AUTOSCALERS


def _autoscaler(request: Request) -> HorizontalPodAutoscaler | None:
    if request.operation not in ("CREATE", "UPDATE") or request.sub_resource:
        return None
    try:
        return read_autoscaler(request.object or {})
    except HeadroomError:
        return None


def _metadata(request: Request) -> dict[str, Any]:
    return _part(request.object, "metadata")


def _part(of: dict[str, Any] | None, name: str) -> dict[str, Any]:
    section = (of or {}).get(name)
    return section if isinstance(section, dict) else {}


def _is_off(request: Request, live_workload: Workload | None) -> bool:
    """Whether the workload's annotation says so; a Scale doesn't carry it, so that the snapshot's counts there."""
    written = _part(_metadata(request), "annotations").get(WARNINGS_SWITCH)
    is_apart = request.sub_resource or _is_autoscaler(request)
    current_switch = live_workload.annotations.get(WARNINGS_SWITCH) if live_workload and is_apart else None
    return "off" in (written, current_switch)


# ── kinds that aren't played ──────────────────────────────────────────────────────────────────────────────────────────
def _other_kind(request: Request) -> tuple[Templated, str] | None:
    """The row and the key of the object that is written, where its kind is placed, or changes by rules that were read."""
    listed = _LISTED.get((request.resource.group, request.resource.resource))
    is_write = request.operation in ("CREATE", "UPDATE") and request.sub_resource in ("", "scale")
    name = request.name or _metadata(request).get("name")
    if listed is None or not is_write or not request.namespace or not isinstance(name, str):
        return None
    row = templated(listed.kind, f"{listed.group}/")
    if row is None or (request.sub_resource and listed.scales is None):
        return None
    return row, f"{row.kind}/{request.namespace}/{name}"


def _of_other_kind(
    snapshot: Snapshot, request: Request, other_kind: tuple[Templated, str], pools: tuple[NodePool, ...],
    is_wanted: Callable[[], bool] | None, policy: GatePolicy, now: float | None, earlier: Sequence[bytes],
    *, tells_ways: bool,
) -> WebhookReview:  # fmt: skip
    """As `review`, by the rules by which the gate answers."""
    row, key = other_kind
    if any(snapshot.lacks(kind.name) for kind in (NODE, POD)):
        return WebhookReview(workload=key, silence=Silence.NOT_KNOWN)
    rolls = False
    try:
        revision = _written(snapshot, request, row, key)
        if revision is None:
            return WebhookReview(workload=key, silence=Silence.NOT_KNOWN)
        is_there = revision.placed is not None and revision.placed.is_unchanged
        rolls = not is_there and not request.dry_run
        if _is_off(request, None):
            return WebhookReview(workload=key, silence=Silence.SWITCHED_OFF, rolls=rolls)
        if is_there:
            return WebhookReview(workload=key, silence=Silence.NO_ROLLOUT)
        if any(exception.covers(key) for exception in policy.holding(now)):
            return WebhookReview(workload=key, silence=Silence.BY_POLICY, rolls=rolls)
        with allowed(is_wanted):
            # Objects that were reviewed a moment ago and that no list shows yet (one `kubectl apply` of several) are
            # taken to be applied first.
            along = _unseen(snapshot, earlier, revision.after.key)
            later_revision = replace(revision, after_seconds=_A_MOMENT) if along else revision
            verdict_review = _judged(
                key, later_revision, _told(snapshot, later_revision, pools, along, tells_ways=tells_ways), policy
            )
            return replace(verdict_review, rolls=rolls)
    except UnwantedError:
        return WebhookReview(workload=key, silence=Silence.TIME_UP, rolls=rolls)
    except HeadroomError:
        return WebhookReview(workload=key, silence=Silence.NOT_KNOWN, rolls=rolls)


def _written(snapshot: Snapshot, request: Request, row: Templated, key: str) -> Revision | None:
    """What is to be played or placed for the write; None where that isn't known."""
    placement: AppliedWorkload | PlacedWorkload | UnknownObject | None
    if request.sub_resource:
        replicas = _part(request.object, "spec").get("replicas", 0)
        placement = read_scaled(row, key, replicas, snapshot) if _is_count(replicas) else None
    else:
        before = request.old_object if request.operation == "UPDATE" else None
        placement = read_written(row, request.object or {}, before, snapshot)
    return None if placement is None or isinstance(placement, UnknownObject) else revision_of(snapshot, placement)


def _made_of_other_kind(snapshot: Snapshot, request: Request) -> Revision | None:
    """The change that it made; what the snapshot shows is idle."""
    other_kind = _other_kind(request)
    revision = _written(snapshot, request, *other_kind) if other_kind is not None else None
    is_idle = revision is not None and revision.placed is not None and bool(revision.placed.idle)
    return None if is_idle else revision


# ── the change ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _scaled(request: Request, live_workload: Workload | None) -> AppliedWorkload | None:
    replicas, old = (_part(document, "spec").get("replicas", 0) for document in (request.object, request.old_object))
    if live_workload is None or not (_is_count(replicas) and _is_count(old)):
        return None
    before = replace(live_workload, replicas=old)
    return AppliedWorkload(before=before, after=replace(live_workload, replicas=replicas), has_new_template=False)


def _is_scaled_past_kueue(request: Request, live_workload: Workload | None) -> bool:
    """Whether a StatefulSet of Kueue's is scaled by its subresource, which Kueue's webhook isn't asked about: what Kueue makes of the
    pods then isn't modeled."""
    is_queued = live_workload is not None and bool(named_queue(live_workload.labels, [live_workload.template]))
    return (
        bool(request.sub_resource)
        and is_queued
        and live_workload is not None
        and live_workload.kind == STATEFUL_SET.name
    )


def _is_count(replicas: object) -> bool:
    """Whether the API server would take it: what it refuses it refuses after the webhooks."""
    return type(replicas) is int and 0 <= replicas < 2**31


def _applied(kind: str, request: Request, live_workload: Workload | None) -> AppliedWorkload | None:
    """What is written against what was there before, both as the API server has them."""
    where = f"{kind} {request.namespace}/{request.name}"
    if request.operation == "CREATE":
        if live_workload is not None:
            return None  # the snapshot has one of that name: it is older than its end
        after = read_workload_document(kind, request.object or {}, where)
        return AppliedWorkload(before=None, after=after, has_new_template=True)
    before = read_workload_document(kind, request.old_object or {}, where)
    after = read_changed(before, request.object or {})
    return AppliedWorkload(before=before, after=after, has_new_template=has_new_template(before, after))


def _revision(snapshot: Snapshot, change: AppliedWorkload, live_workload: Workload | None) -> Revision | None:
    """The change against the snapshot's own workload, with its known pods; None where nothing of it would move.

    One that the snapshot doesn't have is younger than it: asked as a new one it gets the places of its own old pods too.
    Stuck even so is stuck; anything else isn't known.
    """
    after = change.after
    if live_workload is None:
        return Revision(before=None, after=after, has_new_template=True)
    if change.before is not None and change.has_new_template is False:
        after = replace(live_workload, replicas=after.replicas, is_paused=after.is_paused, strategy=after.strategy)
        now = AppliedWorkload(before=live_workload, after=after, has_new_template=False)
        return Revision(before=live_workload, after=after, has_new_template=False) if now.moves_pods else None
    after = replace(
        after, uid=live_workload.uid, generation=live_workload.generation, current_revision=live_workload.current_revision,
        update_revision=live_workload.update_revision, created_at=live_workload.created_at, conditions=live_workload.conditions,
    )  # fmt: skip
    if _is_restart(snapshot, live_workload, after):
        return restarted(live_workload)
    return Revision(before=live_workload, after=after, has_new_template=has_new_template(live_workload, after))


def _is_restart(snapshot: Snapshot, live_workload: Workload, after: Workload) -> bool:
    """Whether the new pods are to the scheduler and the controllers what the old ones are: another image, environment.

    Not for an undo, which goes back to a ReplicaSet that is there.
    """
    same = ("replicas", "strategy", "is_paused", "selector", "min_ready_seconds", "start_ordinal", "claim_templates",
            "pod_management_policy")  # fmt: skip
    if any(getattr(live_workload, name) != getattr(after, name) for name in same):
        return False
    old, new = live_workload.template, after.template
    if named_queue(live_workload.labels, [old]) != named_queue(after.labels, [new]):
        return False
    if old.labels != new.labels or old.annotations != new.annotations or _placed_by(old.spec) != _placed_by(new.spec):
        return False
    sets = sets_by_owner(compiled(snapshot)).get(live_workload.uid, [])
    return not any(replica_set.template.makes_the_same_pods(new) for replica_set in sets)


def _placed_by(spec: PodSpec) -> PodSpec:
    """`spec` without what only the kubelet reads."""

    def bare(container: Container) -> Container:
        return replace(
            container, image="", command_form=CommandForm.IMAGE, program="", has_pre_stop=False, startup_probe=None,
            readiness_probe=None, liveness_probe=None,
        )  # fmt: skip

    return replace(
        spec, containers=tuple(map(bare, spec.containers)), init_containers=tuple(map(bare, spec.init_containers))
    )


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────
class _ReviewText(Record, kw_only=False):
    rollout: OwnRollout
    why: str = ""
    way_out: str = ""
    failed: str = ""  # of growth: a scale-up that failed lately
    otherwise: tuple[str, ...] = ()  # what may decide otherwise


def _said(
    snapshot: Snapshot,
    key: str,
    change: AppliedWorkload,
    live_workload: Workload | None,
    pools: tuple[NodePool, ...],
    policy: GatePolicy,
    along: tuple[Revision, ...] = (),
    *,
    is_autoscalers: bool,
    tells_ways: bool,
) -> WebhookReview:
    revision = _revision(snapshot, change, live_workload)
    if revision is None:
        return WebhookReview(workload=key, silence=Silence.NO_ROLLOUT)
    if (
        is_autoscalers and settled_replicas(snapshot, revision.after) != revision.after.replicas
    ):  # the older bounds are no more
        others = tuple(autoscaler for autoscaler in snapshot.autoscalers if autoscaler.target != key)
        snapshot = replace(snapshot, autoscalers=others)
    if along:
        assessment = _told(snapshot, replace(revision, after_seconds=_A_MOMENT), pools, along, tells_ways=tells_ways)
    elif revision.before is revision.after:  # many writes differ in an image only: they have one answer
        assessment = snapshot.derived.once(_restarted, snapshot, key, pools, tells_ways)
    else:
        assessment = _told(snapshot, revision, pools, tells_ways=tells_ways)
    is_younger = live_workload is None and change.before is not None
    return replace(_judged(key, revision, assessment, policy, is_younger=is_younger), rollout=assessment.rollout)


def _judged(
    key: str, revision: Revision, assessment: _ReviewText, policy: GatePolicy, *, is_younger: bool = False
) -> WebhookReview:
    """What the policy lets be said. `is_younger`: the workload is there, and not yet in the snapshot."""
    verdict, is_automatic = assessment.rollout.verdict, assessment.rollout.is_growth_automatic
    # `kubectl rollout pause` was asked for: a warning would tell the user what the user did.
    if verdict is Verdict.STUCK and assessment.rollout.reason is Reason.PAUSED:
        return WebhookReview(workload=key, silence=Silence.NO_ROLLOUT)
    is_failed = policy.refuses(verdict, is_growth_automatic=is_automatic)
    if verdict is Verdict.STUCK:
        if not is_failed:
            return WebhookReview(workload=key, silence=Silence.BY_POLICY)
        but = f", but {listing(assessment.otherwise)} may decide otherwise" if assessment.otherwise else ""
        return WebhookReview(workload=key, warning=_warning(f"{_STUCK}{but}: ", assessment), is_stuck=True)
    if verdict is Verdict.UNKNOWN or is_younger:
        return WebhookReview(workload=key, silence=Silence.NOT_KNOWN)
    if verdict is Verdict.EVICTIONS_BY_QUEUE:
        sentence = str(assessment.rollout.sentence)
        warning = _warning(_EVICTS, replace(assessment, why=sentence)) if is_failed else ""
        return WebhookReview(workload=key, warning=warning, silence=None if is_failed else Silence.BY_POLICY)
    if verdict is Verdict.NEEDS_GROWTH and is_failed:
        return WebhookReview(workload=key, warning=_warning(_UNSURE, assessment))
    if assessment.failed:
        return WebhookReview(workload=key, warning=_warning(_FAILED, replace(assessment, why=assessment.failed)))
    lowest = assessment.rollout.lowest_ready
    too_few = policy.too_few_ready(revision.before.replicas, revision.after.replicas, lowest) if revision.before else ""
    if too_few:
        return WebhookReview(workload=key, warning=_warning(_FEW, replace(assessment, why=too_few)))
    is_let_pass = verdict is Verdict.NEEDS_GROWTH and not is_automatic
    return WebhookReview(workload=key, silence=Silence.BY_POLICY if is_let_pass else Silence.COMPLETES)


def _restarted(snapshot: Snapshot, key: str, pools: tuple[NodePool, ...], tells_ways: bool) -> _ReviewText:
    workload = snapshot.workload(key)
    assert workload is not None
    return _told(snapshot, restarted(workload), pools, tells_ways=tells_ways)


def _told(
    snapshot: Snapshot, revision: Revision, pools: tuple[NodePool, ...], along: tuple[Revision, ...] = (),
    *, tells_ways: bool,
) -> _ReviewText:  # fmt: skip
    cluster = compiled(snapshot)
    first_look, growth = summary_with_growth(cluster, revision, pools, along)
    if growth is not None:
        failed = "; ".join(finding.what for finding in failed_scale_ups(cluster, growth.pool, revision.after.key))
        return _ReviewText(first_look.answer, growth.sentence, failed=failed)
    if first_look.answer.verdict is not Verdict.STUCK or first_look.answer.reason is Reason.PAUSED:
        return _ReviewText(first_look.answer)
    commonest, is_by_chance, ties = _commonest(snapshot, first_look)
    if commonest.done[revision.after.key]:
        assert ties is not None
        lowest = ties.extremes[revision.after.key].lowest_ready
        return _ReviewText(
            replace(first_look.answer, verdict=Verdict.COMPLETES, reason=Reason.NONE, lowest_ready=lowest)
        )
    otherwise = ["placement"] * is_by_chance + ["seconds"] * _is_open(snapshot, first_look)
    otherwise += ["webhooks"] if _are_unplayed(snapshot, first_look) else []
    looks = tells_ways or is_refused(commonest, revision)  # then there is none, which is known at once
    way_out = _way_out(snapshot, revision, first_look) if looks else _WHO_TELLS
    return _ReviewText(first_look.answer, str(first_look.answer.sentence), way_out, otherwise=tuple(otherwise))


def _commonest(snapshot: Snapshot, first_look: Glance) -> tuple[Run, bool, Ties | None]:
    """The run that the gate goes by where placement matters, the commonest of as many as it tries; whether another placement may
    change the verdict: it does, or so many were too large to play beside the answer; and what was found of those that were tried."""
    assert first_look.run is not None
    try:
        with allowed(lambda: True, units=_OTHERWISE_UNITS) as budget:
            if holds_in_every_placement(first_look.run, first_look.run.revisions):
                return first_look.run, False, None
            budget.foresee(RUNS * first_look.run.work)
            run, ties = sample(compiled(snapshot), first_look.run.revisions, first_look.run, seed=0, runs=RUNS)
    except TooLargeError:
        return first_look.run, True, None
    if ties.runs < RUNS:
        return first_look.run, True, None
    return run, 0 < ties.completed_runs < ties.runs, ties


def _are_unplayed(snapshot: Snapshot, first_look: Glance) -> bool:
    """Whether webhooks that aren't played may give the pods other requests, tolerations or selectors."""
    assert first_look.run is not None
    played = Played(cluster=compiled(snapshot), revisions=first_look.run.revisions, run=first_look.run)
    return not is_proven(unplayed_admission(played), ())


def _is_open(snapshot: Snapshot, first_look: Glance) -> bool:
    """Whether other seconds may change the verdict: they do, or that was too large to play beside the answer, which the gate may play
    through. The work is bounded, whatever the time: what is found is kept."""
    assert first_look.run is not None
    queue = first_look.run.simulation.queue
    try:
        with allowed(lambda: True, units=_OTHERWISE_UNITS) as budget:
            if queue.is_contested or queue.is_overtaken:
                budget.foresee(first_look.run.work)  # another run costs about as much
            clocks = on_other_clocks(compiled(snapshot), first_look.run.revisions, first_look.run, seed=0)
            return clocks.is_cut or bool(clocks.sentence)
    except TooLargeError:
        return True


def _way_out(snapshot: Snapshot, revision: Revision, looked: Glance) -> str:
    """``maxSurge 0, maxUnavailable 1 completes``; "" where none is found, or none in time: the warning stands without."""
    assert looked.run is not None
    assert looked.why is not None
    cluster = compiled(snapshot)
    try:
        times = pod_times_of(cluster, revision)
        with allowed(lambda: True, units=_WAY_OUT_UNITS):
            ways = find_remedies(cluster, looked.run.revisions, revision.after.key, looked.run, looked.why, times)
            remedy = next(ways, None)  # there is no time for all
    except TooLargeError:
        return ""
    if remedy is None:
        return ""
    is_strategy = remedy.kind in (RemedyKind.SWITCH_STRATEGY, RemedyKind.RECREATE)
    return f"{remedy.title} completes" if is_strategy else f"way out: {remedy.title}"


_WHO_TELLS: Final = "headroom gate looks for ways out"
_ASIDE: Final = re.compile(r" \([^()]*\)")  # what can go before anything else
_STUCK: Final = "headroom: this rollout would be stuck"
_UNSURE: Final = "headroom: this rollout needs nodes that may not come by themselves: "
_EVICTS: Final = "headroom: Kueue evicts other workloads for this: "
_FAILED: Final = "headroom: this rollout waits for new nodes, and they may not come: "
_FEW: Final = "headroom: this rollout is against the policy: "


def _warning(head: str, rollout_report: _ReviewText) -> str:
    """One line of `LIMITS.warning_characters` at most; the reason is cut before the way out is."""
    why = rollout_report.why.removeprefix("stuck: ")
    tail = f"; {rollout_report.way_out}" if rollout_report.way_out else ""
    if len(head) + len(tail) + _LEAST_WHY > LIMITS.warning_characters:
        tail = ""
    room = LIMITS.warning_characters - len(head) - len(tail)
    if len(why) > room:
        why = _ASIDE.sub("", why)
    cut = why if len(why) <= room else f"{why[: room - 1].rpartition(' ')[0].rstrip(' ,;(')} …"
    return printable(f"{head}{cut}{tail}", one_line=True)[: LIMITS.warning_characters]
