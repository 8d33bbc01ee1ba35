"""Timeouts of deploy tools that wait for a rollout: whether one cuts a completing rollout off, and the timeout to set.

Sources: helm `pkg/cmd/upgrade.go` (``--timeout``: 5 minutes by default; ``--wait``; Helm 4 calls ``--atomic`` ``--rollback-on-failure``; Helm
3 doesn't wait for the last maxUnavailable pods, Helm 4 does); kubernetes `kubectl/pkg/polymorphichelpers/rollout_status.go` (it fails with
``ProgressDeadlineExceeded``, and has no time of its own by default); argo-cd `gitops-engine/pkg/health/health_deployment.go` (the same
reason is ``Degraded``; its retries are of syncs that failed, and no sync waits for a Deployment's end by itself). Flux's are in
`planner.inventory.flux_timeouts`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, duration
from planner.inventory.flux_timeouts import GROUPS, HELM, HELM_SECONDS, MOST_SECONDS, applies, flux_release, waits_for
from planner.inventory.kubectl_apply import Object
from planner.inventory.past_durations import PastDurations
from planner.inventory.records.read_context import go_duration
from planner.kubernetes.object_records import FluxRelease, Workload
from planner.kubernetes.pod_properties import patience_seconds
from planner.rollout.answers import Cutoff, DurationBand, PodState, TimelineRow, Verdict, WorkloadRollout
from planner.rollout.rollout_duration_bands import NO_NODES, ComingNodes, duration_band
from planner.scheduling.cluster import Cluster, once_a_cluster

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_ARGO: Final = "argocd.argoproj.io/instance"
_MARGIN, _MOST_MARGIN = 1.9, 2.0  # of the 95th percentile: what is advised, and what is never passed
_STEP_SECONDS: Final = 60


class DeployTimeout(Record):
    """How long something waits for a rollout. `by`: what waits; `is_default`: not set; `then`: what it does afterwards; `is_by_namespace`:
    no label names the release, and the workload is in its target namespace; `setting`: what to set."""

    seconds: float
    by: str
    is_default: bool = False
    then: str = ""
    is_by_namespace: bool = False
    setting: str = ""


def read_timeout(text: str) -> float:
    """Seconds of ``5m``, ``1h30m``, ``90s``.

    Raises
    ------
    InputError
        For a text that is none, or more than anything waits.
    """
    seconds = go_duration(text.strip(), whole=True)
    if seconds is None or not 0 < seconds <= MOST_SECONDS:
        raise InputError(f'"{text}" is no time', fix="Write it as 90s, 5m or 1h30m")
    return seconds


def timeouts(
    objects: Sequence[Object], workloads: Sequence[Workload], others: Mapping[str, float]
) -> tuple[dict[str, DeployTimeout], set[str]]:
    """Workload → how long something waits for it, and the keys of the releases that govern some. `others`: what else waits, and how long."""
    timeouts_by_key: dict[str, DeployTimeout] = {}
    governing: set[str] = set()
    if others:
        shortest = min(others, key=others.__getitem__)
        timeouts_by_key = {governed.key: DeployTimeout(seconds=others[shortest], by=shortest) for governed in workloads}
    for release in filter(None, map(flux_release, objects)):
        named = [controller for controller in workloads if applies(release, controller)]
        # A HelmRelease doesn't list what its chart makes: where no workload names it, all of its target namespace may
        # be its own.
        chosen = named or [controller for controller in workloads if controller.namespace == release.target_namespace]
        governing |= {release.key} if chosen else set()
        if release.seconds is not None:
            deploy_timeout = replace(_of_release(release, release.seconds), is_by_namespace=not named)
            for workload in (governed for governed in chosen if waits_for(release, governed)):
                timeouts_by_key.setdefault(workload.key, deploy_timeout)
    return timeouts_by_key, governing


def _of_release(release: FluxRelease, seconds: float) -> DeployTimeout:
    """What a release of Flux that waits so long does then: a Kustomization never rolls back."""
    ends = "uninstalls it" if release.uninstalls else "rolls back"
    then = (
        "reports that it failed"
        if release.kind != HELM
        else f"{ends} and tries {count(release.retries, 'time')} more"
        if release.retries > 0
        else f"{ends} and tries again"
        if release.retries
        else "gives up"
    )
    return DeployTimeout(
        seconds=seconds, by=release.key, is_default=release.is_default, then=then, setting="spec.timeout"
    )


def timeouts_of(cluster: Cluster, workload: Workload) -> Iterator[DeployTimeout]:
    """What waits for a workload, as the releases of Flux in the snapshot tell that name it, else as its own labels do: then Flux's
    HelmRelease or Helm, by default. A Kustomization's timeout isn't in labels."""
    releases = [release for release in _releases(cluster) if applies(release, workload)]
    for release in releases:
        if release.seconds is not None and waits_for(release, workload):
            yield _of_release(release, release.seconds)
    # A release that was read has told its timeout; the labels below would only give the default.
    if any(release.kind == HELM for release in releases):
        return
    name = workload.labels.get(f"{GROUPS[HELM]}/name")
    if name is not None:
        key = f"{HELM}/{workload.labels.get(f'{GROUPS[HELM]}/namespace', workload.namespace)}/{name}"
        yield DeployTimeout(seconds=HELM_SECONDS, by=key, is_default=True, setting="spec.timeout")
    elif workload.labels.get(_MANAGED_BY) == "Helm":
        then = "rolls back with --atomic (Helm 4: --rollback-on-failure)"
        yield DeployTimeout(
            seconds=HELM_SECONDS, by="Helm with --wait", is_default=True, then=then, setting="--timeout"
        )


@once_a_cluster
def _releases(cluster: Cluster) -> tuple[FluxRelease, ...]:
    return tuple(unplayed.release for unplayed in cluster.snapshot.unplayed if unplayed.release is not None)


# ── held against how long it takes ───────────────────────────────────────────────────────────────────────────────────
def share_longer(percentiles: Sequence[float], seconds: float) -> float:
    """What share takes longer, of the 5th, 10th, … 95th percentile; beyond them 1 or 0."""
    step = 1 / (len(percentiles) + 1)
    longer = sum(percentile > seconds for percentile in percentiles)
    if longer in (0, len(percentiles)):
        return float(longer > 0)
    above, below = percentiles[-longer], percentiles[-longer - 1]
    return longer * step + (above - seconds) / (above - below) * step


def advised_seconds(late_seconds: float) -> int:
    """A time that hardly any rollout takes, of which 1 of 20 takes longer than `late_seconds`; at most twice that."""
    step = _STEP_SECONDS if late_seconds > 2 * _STEP_SECONDS else 1
    return min(ceil(late_seconds * _MARGIN / step), max(1, floor(late_seconds * _MOST_MARGIN / step))) * step


def cutoff(timeout: DeployTimeout, band: DurationBand) -> Cutoff:
    """Whether it would cut off a rollout that takes so long."""
    share = share_longer(band.percentiles, timeout.seconds)
    if timeout.seconds >= band.late_seconds:
        return Cutoff(
            by=timeout.by, seconds=timeout.seconds, is_default=timeout.is_default, share=share, is_short=False
        )
    advised = advised_seconds(band.late_seconds)
    then = f", then {timeout.then}" if timeout.then else ""
    what = timeout.setting or "it"
    to = f"{what} {go_text(advised)}" if what.startswith("-") else f"{what} to {go_text(advised)}"
    return Cutoff(
        by=timeout.by, seconds=timeout.seconds, is_default=timeout.is_default, share=share, is_short=True, advised_seconds=advised,
        sentence=Text(f"{_waits(timeout)}: too short in {_of_ten(share)}{then}. Set {to}"),
    )  # fmt: skip


def deadline_cutoff(workload: Workload, band: DurationBand) -> Cutoff | None:
    """The same of ``progressDeadlineSeconds``, which begins anew with each new pod that gets available."""
    deadline = workload.progress_deadline_seconds
    if deadline is None:
        return None
    late = band.pause_percentiles[-1]
    share, name = share_longer(band.pause_percentiles, deadline), "progressDeadlineSeconds"
    cutoff = Cutoff(by=name, seconds=float(deadline), is_default=False, share=share, is_short=deadline < late)
    if not cutoff.is_short:
        return cutoff
    advised = advised_seconds(late)
    argo = ", and Argo CD says Degraded" if _ARGO in workload.labels else ""
    text = f"{name} is {duration(deadline)}: no new pod gets available for longer in {_of_ten(share)}, and kubectl rollout status fails{argo}"
    return replace(cutoff, advised_seconds=advised, sentence=Text(f"{text}. Set it to {advised}"))


_STAYS: Final = (Verdict.STUCK, Verdict.UNKNOWN)


def with_duration(
    cluster: Cluster, after: Workload, part: WorkloadRollout, earlier: PastDurations, nodes: ComingNodes = NO_NODES
) -> WorkloadRollout:
    """A workload's part of a rollout with how long it takes and what would cut it off; as it is where it doesn't end or that isn't known."""
    band = None if part.verdict in _STAYS else duration_band(cluster, after, part, earlier, nodes)
    if band is None:
        return part
    deadline = deadline_cutoff(after, band)
    by_labels = [cutoff(timeout, band) for timeout in timeouts_of(cluster, after)]
    return replace(part, duration=band, cutoffs=(*([deadline] if deadline is not None else []), *by_labels))


def probe_cutoff(workload: Workload, timeline: Sequence[TimelineRow], timeout: DeployTimeout) -> Cutoff | None:
    """Where no start-up was seen: that the probes allow more time than is waited for: the startup probes' patience, for as many pods as
    start one after the other. None of a workload without such probes."""
    allowed = [
        patience_seconds(container.startup_probe)
        for container in workload.template.spec.containers
        if container.startup_probe is not None
    ]
    if not allowed:
        return None
    rows = [row.counts.get(PodState.NEW_READY.value, 0) for row in timeline]
    waves = max(1, sum(after > before for before, after in itertools.pairwise(rows)))
    is_short = waves * max(allowed) > timeout.seconds
    turns = f", {waves:,} one after the other" if waves > 1 else ""
    then = f", then {timeout.then}" if timeout.then else ""
    text = f"up to {duration(float(max(allowed)))} a pod by its startup probe{turns}; {_waits(timeout)}{then}"
    return Cutoff(
        by=timeout.by, seconds=timeout.seconds, is_default=timeout.is_default, share=None, is_short=is_short,
        sentence=Text(text) if is_short else NO_WORDS,
    )  # fmt: skip


def _waits(timeout: DeployTimeout) -> str:
    default = " by default" if timeout.is_default else ""
    of_namespace = " (it is in its target namespace)" if timeout.is_by_namespace else ""
    return f"{timeout.by}{of_namespace} waits {duration(timeout.seconds)}{default}"


def _of_ten(share: float) -> str:
    """``9 of 10 cases``, as the field counts; ``1 of 20`` of fewer."""
    tenths = round(share * 10)
    return "nearly every case" if tenths >= 10 else f"{tenths} of 10 cases" if tenths else "1 of 20 cases"


def go_text(seconds: int) -> str:
    """``25m``, ``1h5m``, ``90s``, as Go reads times."""
    hours, minutes = divmod(seconds // 60, 60)
    if seconds % 60:
        return f"{seconds}s"
    return f"{f'{hours}h' if hours else ''}{f'{minutes}m' if minutes or not hours else ''}"
