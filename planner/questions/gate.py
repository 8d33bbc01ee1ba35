"""The question *gate*: may this change be merged? Each changed workload, alone and all together, judged by a policy.

Nothing of a rollout is worked out here: each answer is `planner.questions.rollout`'s. What the gate adds is which
workloads are asked for, what the change takes beyond today, and what the policy says to all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Final

from planner.capacity.gate_result import (
    GatedWorkload,
    added_gpus_and_cost,
    cluster_findings,
    fails,
    gate_sentence,
    gated_workload,
    held_to_limits,
    judged_by_policy,
    limits_passed,
    unknown_workload,
    verdict_of_all,
)
from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.exit_status import ExitStatus, gravest
from planner.ground.records import Record, dataclass, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.words import NO_WORDS, Text, count, duration, duration_between, plural, usd
from planner.ground.work_budget import LIST_UNITS, allowed
from planner.inventory.kubectl_apply import AppliedWorkload, Manifest, PlacedWorkload, UnknownObject, read_manifest
from planner.kubernetes.accelerator_units import GPUS, Nouns
from planner.kubernetes.feature_gates import RECORDED, read_minor
from planner.kubernetes.object_records import Finding, Snapshot
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import EXIT, NOTHING, Fact, Inputs, Question, fact
from planner.questions.side_event_settings import DOUBTS, EVENTS, MeanwhileSettings
from planner.remedies.manifest_room_needs import WithoutCluster, fails_together, without_cluster
from planner.remedies.rollout_with_remedies import rollout
from planner.remedies.stuck_rollout_room import with_room_of_part
from planner.rollout.answers import EventBeside, Remedy, RolloutResult, Verdict
from planner.rollout.clusterless_room_need import RoomNeed
from planner.rollout.deploy_timeouts import read_timeout
from planner.rollout.doubts import Doubt, check_answer, each_once, of_findings
from planner.rollout.gate_policy import GateException, GatePolicy
from planner.rollout.kueue_admission import group_of
from planner.rollout.prepared_change import Scenario, manifest_namespace, revision_of, unread_files
from planner.rollout.run import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    manifest: str = setting(
        "", on_command=False, is_private=True,
        help="What kubectl apply -f would get: several documents, new workloads too.",
    )  # fmt: skip
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()
    without_cluster: bool = setting(
        False, on_command=False, help="Ask what room each rollout needs wherever it runs, and not whether this cluster has it.",
    )  # fmt: skip
    kubernetes_minor: int = setting(
        RECORDED, name="kubernetes_version", form="VERSION", default_words=f"1.{RECORDED}", parse=read_minor,
        help="The Kubernetes version to judge by where no CLUSTER is given.",
    )  # fmt: skip
    deploy_timeout: float | None = setting(
        None, unit="seconds", form="TIME", parse=read_timeout, optional=True,
        help="How long the deploy waits, such as helm upgrade --timeout: 5m.",
    )  # fmt: skip
    meanwhile: MeanwhileSettings = settings_within(MeanwhileSettings)
    pools: PoolSettings = settings_within(PoolSettings)
    policy: GatePolicy = field(default_factory=GatePolicy)


class GateAnswer(Record):
    """What the gate says of a change.

    `together` is the verdict of all workloads at once. `extra_gpus` and `extra_usd_per_month` are the whole change's (those
    of excepted workloads left out): what it asks for beyond today, or what has to be added for it, whichever is more.
    `meanwhile`: what was to happen beside all of them. `doubts`: all that the answers of its workloads, alone and together, aren't
    sure of; `preempted`: pods of others that make way (namespace/pod). `without_cluster`: each part tells the `room` it needs;
    `rolls_nothing` names objects that make pods and roll nothing out, `notes` what is taken to be so. With an error among its findings it doesn't pass.
    """

    sentence: Text
    passes: bool
    exit_status: int
    workloads: tuple[GatedWorkload, ...]
    together: Verdict
    together_sentence: Text
    unchanged: tuple[str, ...]
    refusals: tuple[Text, ...]
    extra_gpus: int
    extra_usd_per_month: float | None
    expired: tuple[GateException, ...]
    findings: tuple[Finding, ...]
    meanwhile: tuple[EventBeside, ...] = ()
    nouns: Nouns = GPUS  # what `extra_gpus` are a number of
    doubts: tuple[Doubt, ...] = ()  # those that could change the most first
    preempted: tuple[str, ...] = ()
    without_cluster: bool = False
    room: RoomNeed | None = None  # without a cluster, what all need that are applied one right after the other
    rolls_nothing: tuple[str, ...] = ()
    notes: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        check_answer(passes=self.passes, is_called_proven=False, doubts=self.doubts, findings=self.findings)


Change = AppliedWorkload | PlacedWorkload


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, settings: GateSettings, given: Inputs = NOTHING) -> GateAnswer:
    """Every workload that the manifest rolls, alone and all together, held against the policy.

    Raises
    ------
    ChangeError
        When the manifest can't be read, or the API server would refuse it.
    """
    if settings.without_cluster:
        return answer_without_cluster(settings, given)
    manifest = read_manifest(settings.manifest, snapshot, namespace=settings.namespace, unread=settings.unread)
    then, unknown = manifest.snapshot, manifest.unknown
    every: list[Change] = [*manifest.workloads, *manifest.placed]
    changes = [(change, revision_of(then, change)) for change in every if change.moves_pods]
    unchanged = tuple(revision_of(then, change).after.key for change in every if not change.moves_pods)
    policy, now = settings.policy.with_deploy_timeout(settings.deploy_timeout), given.now
    exceptions = policy.holding(now)
    expired = tuple(exception for exception in policy.exceptions if exception not in exceptions)
    if not changes and not unknown:
        return _nothing(manifest, unchanged, expired)
    played = _player(then, settings, given)
    # Alone, to say which of them is stuck by itself; together, since each may find room that two of them don't.
    alone = _alone(changes, played)
    together = played(*(change for change, _ in changes), *unknown) if len(changes) > 1 else None
    parts = []
    for place, ((_, change), own) in enumerate(zip(changes, alone, strict=True)):
        part = gated_workload(then, change, own, together or own, place, given.book)
        parts.append(judged_by_policy(with_room_of_part(part, then, change), change.before, policy, exceptions))
    parts += [judged_by_policy(unknown_workload(change), None, policy, exceptions) for change in unknown]
    return _answer(parts, together or (alone[0] if alone else None), policy, unchanged, expired, manifest)


def answer_without_cluster(settings: GateSettings, inputs: Inputs = NOTHING) -> GateAnswer:
    """What room each workload that the manifest holds needs to roll out, wherever it runs, held against the policy.

    Raises
    ------
    ChangeError
        When the manifest can't be read, or the API server would refuse it.
    """
    policy = settings.policy.with_deploy_timeout(settings.deploy_timeout)
    needs = without_cluster(
        settings.manifest,
        namespace=settings.namespace,
        unread=settings.unread,
        minor=settings.kubernetes_minor,
        named_timeouts=policy.timeouts,
        spare=policy.spare,
    )
    exceptions = policy.holding(inputs.now)
    parts = [judged_by_policy(part, None, policy, exceptions) for part in needs.parts]
    counted = [part for part in parts if part.exception is None]
    status = _status_of_room(needs, parts, counted, policy)
    passes = status is ExitStatus.ANSWERED
    return GateAnswer(
        sentence=Text(gate_sentence(parts, counted, status) if parts else "passes: the manifest rolls nothing out"),
        passes=passes, exit_status=status, workloads=tuple(parts), together=needs.together, together_sentence=needs.together_sentence,
        unchanged=(), refusals=(), extra_gpus=0, extra_usd_per_month=0.0,
        expired=tuple(exception for exception in policy.exceptions if exception not in exceptions),
        findings=cluster_findings(list(needs.findings), passes=passes), doubts=needs.doubts,
        without_cluster=True, room=needs.room, rolls_nothing=needs.rolls_nothing, notes=needs.notes,
    )  # fmt: skip


def _status_of_room(
    room_check: WithoutCluster, parts: list[GatedWorkload], counted: list[GatedWorkload], policy: GatePolicy
) -> ExitStatus:
    """The gravest of what the policy refuses; where none is excepted, of all together too."""
    status = gravest(EXIT[part.verdict] for part in counted if fails(part, policy))
    if room_check.room is not None and len(counted) == len(parts) and fails_together(room_check, parts, policy):
        status = gravest([status, EXIT[room_check.together]])
    return ExitStatus.REFUSED if status is ExitStatus.ANSWERED and any(part.refusals for part in counted) else status


def _alone(changes: Sequence[tuple[Change, Revision]], played: Callable[..., RolloutResult]) -> list[RolloutResult]:
    """Each change played without the others; the Pods of a group of Kueue's together, of which none is let in alone
    (kueue `pkg/controller/jobs/pod/pod_controller.go` `constructGroupPodSets`), each with itself as the first workload."""
    members: dict[tuple[str, str], list[int]] = {}
    for place, (_, change) in enumerate(changes):
        members.setdefault((change.after.namespace, group_of(change) or f"\0{place}"), []).append(place)
    results_by_place: dict[int, RolloutResult] = {}
    for places in members.values():
        joint_rollout = played(*(changes[place][0] for place in places))
        for number, place in enumerate(places):
            own = joint_rollout.workloads
            results_by_place[place] = replace(joint_rollout, workloads=(own[number], *own[:number], *own[number + 1 :]))
    return [results_by_place[place] for place in range(len(changes))]


def _player(snapshot: Snapshot, settings: GateSettings, given: Inputs) -> Callable[..., RolloutResult]:
    """What plays some of the changes, with what happens beside them."""
    limits = settings.pools.known(given)
    pools, events = growable_pools(snapshot, limits), settings.meanwhile.beside(limits)

    def played(*changes: Change | UnknownObject) -> RolloutResult:
        return rollout(
            snapshot, Scenario(applied=changes, namespace=settings.namespace), pools, beside=events, seen=given.seen
        )

    return played


def _nothing(manifest: Manifest, unchanged: tuple[str, ...], expired: tuple[GateException, ...]) -> GateAnswer:
    """A change that rolls nothing passes."""
    stay = plural(len(unchanged), "stays as it is", "stay as they are")
    also = f" ({count(len(unchanged), 'workload')} {stay})" if unchanged else ""
    return GateAnswer(
        sentence=Text(f"passes: the change rolls nothing{also}"), passes=True, exit_status=ExitStatus.ANSWERED,
        workloads=(), together=Verdict.COMPLETES, together_sentence=NO_WORDS, unchanged=unchanged, refusals=(),
        extra_gpus=0, extra_usd_per_month=0.0, expired=expired,
        findings=cluster_findings(list(manifest.findings), passes=True), doubts=of_findings(manifest.findings),
    )  # fmt: skip


def _answer(
    parts: list[GatedWorkload], together: RolloutResult | None, policy: GatePolicy, unchanged: tuple[str, ...],
    expired: tuple[GateException, ...], manifest: Manifest,
) -> GateAnswer:  # fmt: skip
    counted = [part for part in parts if part.exception is None]
    gpus, nouns, dollars = added_gpus_and_cost(counted)
    refusals = limits_passed(policy, gpus, nouns, dollars)
    verdicts = [part.verdict for part in counted if fails(part, policy)]
    if together is not None and together.verdict is Verdict.UNKNOWN and len(counted) == len(parts):
        verdicts += [Verdict.UNKNOWN] if policy.refuses(Verdict.UNKNOWN, is_growth_automatic=False) else []
    status = gravest(EXIT[verdict] for verdict in verdicts)
    if status is ExitStatus.ANSWERED:
        status = held_to_limits(counted, dollars, policy, is_refused=bool(refusals))
    findings = [*(together.findings if together is not None else ()), *manifest.findings]
    passes = status is ExitStatus.ANSWERED
    return GateAnswer(
        sentence=Text(gate_sentence(parts, counted, status)), passes=passes, exit_status=status,
        workloads=tuple(parts),
        together=verdict_of_all(together, manifest),
        together_sentence=together.sentence if together else NO_WORDS,
        unchanged=unchanged, refusals=refusals, extra_gpus=gpus, nouns=nouns, extra_usd_per_month=dollars, expired=expired,
        findings=cluster_findings(findings, passes=passes),
        meanwhile=together.meanwhile if together is not None else (),
        doubts=each_once([*(doubt for part in parts for doubt in part.doubts), *of_findings(manifest.findings)]),
        preempted=tuple(dict.fromkeys(pod for part in parts for pod in part.preempted)),
    )  # fmt: skip


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
SIGN: Final = {True: "✓", False: "✗"}


def _at_worst(part: GatedWorkload) -> str:
    if part.is_placement_only:
        return "placement only"
    if not part.is_told:
        return "not known"
    return "new" if part.lowest_ready is None else f"{part.lowest_ready} of {part.replicas}"


def _about(part: GatedWorkload) -> str:
    ends = (Verdict.COMPLETES, Verdict.NEEDS_GROWTH, Verdict.EVICTIONS_BY_QUEUE)
    band = part.duration
    said = duration(part.seconds) if band is None else duration_between(band.least_seconds, band.most_seconds)
    return said if part.verdict in ends else ""


def _gpus(part: GatedWorkload) -> str:
    noun = "" if part.nouns == GPUS else f" {plural(abs(part.more_gpus), part.nouns.one, part.nouns.many)}"
    gpu_text = f"{part.more_gpus:+d}{noun}" if part.more_gpus else "0"
    return gpu_text if part.is_told else f"{gpu_text} or more" if part.more_gpus else "not known"


def _usd(part: GatedWorkload) -> str | None:
    return None if part.more_usd_per_month is None else usd(part.more_usd_per_month)


WORKLOADS: Final[Listing[GateAnswer, GatedWorkload]] = Listing(
    name="workloads",
    unknown="–",
    line=lambda part: f"{part.workload}: {part.sentence}",
    columns=(
        Column("sign", lambda part: "–" if part.exception else SIGN[part.passes], heading=" ", is_said_only=True),
        Column("workload", label="workload"),
        Column("alone", words=lambda part: part.alone.value.replace("_", " "), metric="workload_verdict_alone"),
        Column("together", words=lambda part: part.together.value.replace("_", " "), metric="workload_verdict_together"),
        Column("lowest_ready", heading="Ready at worst", words=_at_worst, metric="workload_lowest_ready", unit="pods"),
        Column("about", _about, is_said_only=True),
        Column("replicas", heading=None),
        Column("more_gpus", heading="GPUs", words=_gpus, metric="workload_more_gpus", unit=lambda part: part.nouns.many),
        Column("gpus_are", lambda part: part.nouns.many if part.more_gpus else "", heading=None),
        Column("more_usd_per_month", heading="a month", words=_usd),
        Column("passes", heading=None),
        Column("exception", lambda part: part.exception.reason if part.exception else "", heading=None),
        Column("sentence", heading=None),
        Column("verdict", heading=None, is_said_only=True, metric="workload_verdict"),
        Column("excepted", lambda part: part.exception is not None, heading=None, is_said_only=True, metric="workload_is_excepted"),
    ),
)  # fmt: skip
_REMEDIES: Final[Listing[GateAnswer, tuple[GatedWorkload, Remedy]]] = Listing(
    name="remedies",
    items=lambda gate_answer: [(part, remedy) for part in gate_answer.workloads for remedy in part.ways_out],
    columns=(
        Column("workload", lambda of: of[0].workload),
        Column("title", lambda of: of[1].title),
        Column("lowest_ready", lambda of: of[1].lowest_ready),
        Column("replicas", lambda of: of[1].replicas),
        Column("seconds", lambda of: of[1].seconds),
        Column("extra_gpus", lambda of: of[1].extra_gpus),
        Column("sentence", lambda of: of[1].sentence),
        Column("command", lambda of: of[1].command),
    ),
)


def facts(gate_answer: GateAnswer) -> Iterator[Fact]:
    """GPUs beyond today, in what they are counted in."""
    yield fact("gate_extra_gpus", gate_answer.extra_gpus, gate_answer.nouns.many)


_MEANWHILE: Final[Listing[GateAnswer, EventBeside]] = Listing(name="meanwhile", columns=EVENTS, is_shown=False)
_DOUBTS: Final[Listing[GateAnswer, Doubt]] = Listing(name="doubts", columns=DOUBTS, is_shown=False)


QUESTION: Final = Question(
    name="gate",
    version="v2",  # v1 held manifests and patches as they were given
    settings=GateSettings,
    answer=answer,
    figures=(
        Figure("gate_passes", lambda gate_answer: gate_answer.passes),
        Figure("gate_together", lambda gate_answer: gate_answer.together),
        Figure("gate_extra_cost", lambda gate_answer: gate_answer.extra_usd_per_month, USD_A_MONTH),
    ),
    facts=facts,
    listings=(WORKLOADS, _REMEDIES, _MEANWHILE, _DOUBTS),
    status=lambda gate_answer: ExitStatus(gate_answer.exit_status),
)
