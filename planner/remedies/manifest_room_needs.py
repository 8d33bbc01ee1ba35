"""The room that each workload of some manifests needs, without a cluster: parts of the gate's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planner.capacity.gate_result import GatedWorkload, unknown_workload
from planner.ground.records import Record, replace
from planner.ground.well_known_names import DEFAULT_NAMESPACE
from planner.ground.words import NO_WORDS, Text, listing, with_article
from planner.inventory.kubectl_apply import UnknownObject
from planner.kubernetes.accelerator_units import units_of
from planner.kubernetes.feature_gates import RECORDED
from planner.kubernetes.object_records import EMPTY, Finding, Snapshot
from planner.kubernetes.operator_update_rules import UpdateEffect
from planner.kubernetes.workload_kinds import CRON_JOB, JOB, POD, REPLICA_SET, REPLICATION_CONTROLLER
from planner.remedies.cluster_from_manifests import Files
from planner.remedies.full_replacement_room import ROLLS_NOTHING, asked_anew, way_of
from planner.remedies.limits import TOGETHER
from planner.remedies.needed_room import WorkloadNeed, asked_together, need_by_replicas, smaller_request
from planner.rollout.answers import Reason, Verdict
from planner.rollout.clusterless_room_need import Need, RoomNeed
from planner.rollout.deploy_timeouts import DeployTimeout, probe_cutoff, timeouts
from planner.rollout.doubts import Doubt, Effect, each_once
from planner.rollout.gate_policy import GatePolicy
from planner.rollout.rollout_warnings import rollout_warnings

GIVEN: Final = Text("No cluster was given: this is the room that each rollout needs, wherever it runs.")
_NOT_LOOKED_AT: Final = Text("A cluster's quotas, webhooks and cordoned nodes were not looked at.")
_SAME_REQUESTS: Final = Text("The old revision is taken to request the same as the new one.")
_ROLL_NOTHING: Final = (JOB.name, CRON_JOB, POD.name, REPLICA_SET.name, REPLICATION_CONTROLLER)
_LEFT_OUT: Final = (
    "manifest-new-namesake",
    "namespace-missing",
    "placement-only",
    "apply-assumed",
    "helm-hook",
    "manifest-twice:",
)
_VERDICTS: Final = {
    Need.NOTHING: Verdict.COMPLETES, Need.ROOM: Verdict.NEEDS_GROWTH, Need.SAME_NODE: Verdict.NEEDS_GROWTH, Need.NEVER: Verdict.STUCK,
    Need.UNKNOWN: Verdict.UNKNOWN,
}  # fmt: skip


_GRAVEST: Final = (Verdict.STUCK, Verdict.UNKNOWN, Verdict.NEEDS_GROWTH, Verdict.COMPLETES)


class WithoutCluster(Record):
    """What was found. `together`, `room`: of all workloads at once, None for fewer than two; `notes`: what is taken to be so, and what wasn't looked
    at; `rolls_nothing`: objects that make pods and roll nothing out."""

    parts: tuple[GatedWorkload, ...]
    together: Verdict
    room: RoomNeed | None
    together_sentence: Text
    rolls_nothing: tuple[str, ...]
    notes: tuple[Text, ...]
    findings: tuple[Finding, ...]
    doubts: tuple[Doubt, ...]


def without_cluster(
    text: str, *, namespace: str, unread: Sequence[str] = (), minor: int, named_timeouts: Mapping[str, float] = EMPTY,
    spare: Mapping[str, int] = EMPTY,
) -> WithoutCluster:  # fmt: skip
    """What each workload of a manifest needs, alone and with the others. `minor`: of Kubernetes' version; `named_timeouts`: what
    waits for it, and how long, where that is given; `spare`: what a node always has free.

    Raises
    ------
    ChangeError
        When the manifest can't be read, or an API server would refuse it.
    """
    files = Files(text, namespace=namespace, unread=unread, minor=minor)
    singles = {key: _with_smaller(files, key, need_by_replicas(files, key), spare) for key in files.workloads}
    rolling = {key: workload_need for key, workload_need in singles.items() if not _is_idle(files, key)}
    together = asked_together(files, rolling)
    # A place that one rollout frees may be taken by another's pod: what needs none alone may need one when all are
    # applied together, and that is told of each.
    is_more = together is not None and (
        together.need.need is Need.UNKNOWN
        or together.need.places > sum(len(workload_need.places) for workload_need in rolling.values())
    )
    waits, governing = timeouts(files.objects, list(files.workloads.values()), named_timeouts)
    parts = [
        _warned(files, _part(files, key, workload_need, together, is_more=is_more), workload_need, waits.get(key))
        for key, workload_need in singles.items()
    ]
    rolls_nothing = [
        f"{finding.object} (a hook of Helm's)" for finding in files.manifest.findings if finding.code == "helm-hook"
    ]
    for placed in files.manifest.placed:
        key, document = placed.workload.key, files.documents.get(placed.workload.key, {})
        way = way_of(placed, document)
        if placed.workload.kind in _ROLL_NOTHING or way in ROLLS_NOTHING:
            rolls_nothing.append(key)
        # Its pods aren't played one by one: the operator replaces all of them at once, and its rule says whether the
        # old ones hold their room meanwhile.
        elif key not in singles and way in (UpdateEffect.BESIDE, UpdateEffect.AFTER):
            parts.append(_part(files, key, asked_anew(files, placed, document), None, is_more=False))
        elif key not in singles:
            what = f"how {with_article(placed.workload.kind)} rolls out isn't played without a cluster"
            fix = "Ask with a cluster: headroom gate CLUSTER -f FILE"
            parts.append(unknown_workload(UnknownObject(key=key, what=what, fix=fix)))
    parts += [unknown_workload(gap) for gap in files.manifest.unknown if gap.key not in (*singles, *governing)]
    return WithoutCluster(
        parts=tuple(parts), together=_verdict_together(parts, together), room=together.need if together is not None else None,
        together_sentence=_together_words(together, rolling), rolls_nothing=tuple(rolls_nothing), notes=tuple(_notes(files, is_asked_anew=any(part.room is not None for part in parts))),
        findings=tuple(finding for finding in files.manifest.findings if not finding.code.startswith(_LEFT_OUT)),
        doubts=each_once(doubt for part in parts for doubt in part.doubts),
    )  # fmt: skip


def _warned(files: Files, part: GatedWorkload, need: WorkloadNeed, timeout: DeployTimeout | None) -> GatedWorkload:
    """`part` with what waits for it, and what else is told beside its room."""
    workload = files.workloads[part.workload]
    timeline = need.result.workloads[0].timeline if need.result is not None else ()
    cutoff = probe_cutoff(workload, timeline, timeout) if timeout is not None and timeline else None
    warnings = rollout_warnings(files.cluster({workload.key: max(1, need.need.replicas)}), workload, cutoff)
    return replace(part, warnings=tuple(warnings), cutoffs=() if cutoff is None else (cutoff,))


def _with_smaller(files: Files, key: str, room_need: WorkloadNeed, spare: Mapping[str, int]) -> WorkloadNeed:
    """`room_need` with smaller requests as its second cure, where they would do."""
    if not room_need.need.cures or not spare:
        return room_need
    smaller = smaller_request(files.stands[key], room_need.need, spare, units_of(files.cluster({key: 1})))
    if smaller is None:
        return room_need
    first, *others = room_need.need.cures
    return replace(room_need, need=replace(room_need.need, cures=(first, smaller, *others)))


def tightest_cluster_of(
    text: str, replicas: Mapping[str, int], *, namespace: str = DEFAULT_NAMESPACE, minor: int = RECORDED
) -> Snapshot:
    """The cluster that holds those workloads of a manifest exactly (key → replicas), all of them; others of the manifest aren't there."""
    files = Files(text, namespace=namespace, minor=minor)
    return files.cluster({key: number for key, number in replicas.items() if key in files.stands})


def _verdict_together(parts: Sequence[GatedWorkload], together: WorkloadNeed | None) -> Verdict:
    every = [part.together for part in parts] + ([_VERDICTS[together.need.need]] if together is not None else [])
    return min(every, key=_GRAVEST.index, default=Verdict.COMPLETES)


def fails_together(check: WithoutCluster, parts: Sequence[GatedWorkload], policy: GatePolicy) -> bool:
    """Whether the policy refuses that all of them together need more than each alone."""
    if all(part.together is part.alone for part in parts):
        return False
    if check.room is not None and check.together is Verdict.NEEDS_GROWTH:
        return policy.refuses_room(check.room)
    return policy.refuses(check.together, is_growth_automatic=False)


def _is_idle(files: Files, key: str) -> bool:
    """Whether it has no replicas, and no autoscaler gives it some: nothing rolls out."""
    workload = files.workloads.get(key)
    return workload is not None and workload.traits.has_replicas and workload.replicas == 0


def _notes(files: Files, *, is_asked_anew: bool) -> list[Text]:
    if not files.workloads and not is_asked_anew:
        return [GIVEN]
    notes = [GIVEN, _SAME_REQUESTS]
    if files.assumed:
        notes.append(Text(f"Taken to be there: {listing(list(dict.fromkeys(files.assumed)), most=None)}."))
    return [*notes, _NOT_LOOKED_AT]


def _part(
    files: Files, key: str, room_need: WorkloadNeed, together: WorkloadNeed | None, *, is_more: bool
) -> GatedWorkload:
    """One workload as the gate tells of it."""
    need, rollout = room_need.need, room_need.result
    is_idle = _is_idle(files, key)
    verdict = Verdict.COMPLETES if is_idle else _VERDICTS[need.need]
    doubts = list(rollout.doubts) if rollout is not None else []
    if room_need.why:
        doubts.append(Doubt(about=key, why=room_need.why, could_change=Effect.VERDICT, advice=room_need.advice))
    if need.claims:
        doubts.append(_of_claims(need))
    shared = verdict
    if is_more and verdict is Verdict.COMPLETES and not is_idle and together is not None:
        shared = _VERDICTS[together.need.need]  # by itself it needs nothing, and the others may take what it frees
    sentence = _sentence(room_need)
    return GatedWorkload(
        workload=key, is_new=False, verdict=verdict, alone=verdict, together=shared,
        reason=rollout.reason if rollout is not None and verdict is Verdict.STUCK else Reason.UNKNOWN if verdict is Verdict.UNKNOWN else Reason.NONE,
        sentence=Text(f"rolls nothing out at 0 replicas; at 1 it {sentence}" if is_idle else sentence),
        replicas=need.replicas * need.size, lowest_ready=need.lowest_ready, seconds=need.seconds, more_gpus=0, more_usd_per_month=0.0, added_usd_per_month=0.0,
        is_told=verdict is not Verdict.UNKNOWN, doubts=each_once(doubts), room=need,
    )  # fmt: skip


def _of_claims(need: RoomNeed) -> Doubt:
    what = f"that {need.claims_attach} to one node is taken from its access mode, ReadWriteOnce"
    return Doubt(about=f"PersistentVolumeClaim {listing(list(need.claims))}", why=Text(what), could_change=Effect.VERDICT,
                 advice="Give its StorageClass too, where its driver attaches to many nodes, such as NFS")  # fmt: skip


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _sentence(room_need: WorkloadNeed) -> str:
    """What it needs, and with which change of the manifest it needs none; it follows the workload's name."""
    need = room_need.need
    if need.need is Need.UNKNOWN:
        text = str(room_need.result.sentence) if room_need.result is not None else ""
        return f"not known: {str(room_need.why) or text.removeprefix('not known: ')}"
    if need.need is Need.NEVER:
        text = str(room_need.result.workloads[0].sentence) if room_need.result is not None else ""
        return f"{need.sentence}: {text.removeprefix('stuck: ')}{_cure_words(need)}"
    if need.need is Need.NOTHING:
        sure = " (proven, for this workload alone)" if need.is_proven else ""
        numbers = f" at {_numbers(need)} replicas" if need.by_replicas else ""
        return f"needs no spare room{numbers}: it completes on a full cluster{sure}{_ready_with(need)}"
    return f"{need.sentence}{_cure_words(need)}"


def _numbers(need: RoomNeed) -> str:
    first, last = need.by_replicas[0].first, need.by_replicas[-1].last
    return f"{first} to {last}" if last else f"{first} or more"


def _cure_words(need: RoomNeed) -> str:
    if not need.cures:
        return ""
    cure = need.cures[0]
    return f". With {cure.title} it needs none; {_ready(cure.lowest_ready, cure.replicas)}."


def _ready(lowest: int | None, replicas: int) -> str:
    return f"at worst {lowest} of {replicas:,} {'is' if replicas == 1 else 'are'} Ready"


def _ready_with(need: RoomNeed) -> str:
    return "" if need.lowest_ready is None else f"; {_ready(need.lowest_ready, need.replicas * need.size)}"


def _together_words(together: WorkloadNeed | None, singles: dict[str, WorkloadNeed]) -> Text:
    if together is None:
        why = TOGETHER.reached(number=len(singles))
        return Text(f"together: not known: {why}") if len(singles) > TOGETHER.most else NO_WORDS
    need, first = together.need, "together, applied one right after the other, they need"
    if need.need is Need.UNKNOWN:
        return Text(f"together: not known: {together.why}")
    if not need.places:
        return Text(f"{first} no spare room{' (proven)' if need.is_proven else ''}")
    # A DaemonSet's room isn't among those together.
    apart = sum(single_need.need.pod_count for single_need in singles.values() if not single_need.need.is_per_node)
    of = f", {apart:,} if each had its own" if apart > need.pod_count else ""
    return Text(f"{first} {need.words}{of}")
