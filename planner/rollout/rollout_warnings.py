"""What is told beside the room that a rollout needs: a deploy timeout that is shorter than its probes allow, a budget that no drain gets
past, a shell that keeps SIGTERM from the program. No verdict hangs on it.

Sources: fluxcd helm-controller `api/v2/helmrelease_types.go` (`GetTimeout`: 5 minutes by default; `Upgrade.Timeout`, `DisableWait`,
`UpgradeRemediation`), kustomize-controller `api/v1/kustomization_types.go` (`GetTimeout`: the interval; `Wait`, `HealthChecks`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, duration
from planner.inventory.manifest import Object
from planner.inventory.records.shared import go_duration
from planner.kubernetes import budgets
from planner.kubernetes.pods import patience_seconds
from planner.kubernetes.records import CommandForm, Snapshot, Workload
from planner.kubernetes.selectors import labels_match
from planner.rollout.answers import PodState, RolloutResult

_HELM: Final = "HelmRelease"
_KUSTOMIZE: Final = "Kustomization"
_GROUPS: Final = {_HELM: "helm.toolkit.fluxcd.io", _KUSTOMIZE: "kustomize.toolkit.fluxcd.io"}
_HELM_SECONDS: Final = 300.0
_SHELLS: Final = (CommandForm.SHELL, CommandForm.INIT_SHELL)


class DeployTimeout(Record):
    """How long something waits for a rollout. `by`: what waits; `is_default`: nobody set it; `then`: what it does afterwards; `is_by_namespace`:
    no label names the release, and the workload is in its target namespace."""

    seconds: float
    by: str
    is_default: bool = False
    then: str = ""
    is_by_namespace: bool = False


def read_timeout(text: str) -> float:
    """Seconds of ``5m``, ``1h30m``, ``90s``.

    Raises
    ------
    InputError
        For a text that is none.
    """
    seconds = go_duration(text.strip(), whole=True)
    if seconds is None or seconds <= 0:
        raise InputError(f'"{text}" is no time', mend="Write it as 90s, 5m or 1h30m")
    return seconds


def releases(objects: Sequence[Object]) -> dict[str, Object]:
    """The HelmReleases and Kustomizations of Flux among the objects, by key."""
    return {
        f"{one['kind']}/{one['metadata'].get('namespace', '')}/{one['metadata']['name']}": one
        for one in objects
        if str(one.get("apiVersion") or "").startswith(f"{_GROUPS.get(str(one.get('kind')), '-')}/")
    }


def timeouts(
    objects: Sequence[Object], workloads: Sequence[Workload], option_seconds: float | None
) -> tuple[dict[str, DeployTimeout], set[str]]:
    """Workload → how long something waits for it, and the keys of the releases that govern some."""
    found: dict[str, DeployTimeout] = {}
    governing: set[str] = set()
    if option_seconds is not None:
        found = {
            one.key: DeployTimeout(seconds=option_seconds, by="the deploy (--deploy-timeout)") for one in workloads
        }
    for key, release in releases(objects).items():
        named = [one for one in workloads if _names(release, one)]
        chosen = named or [one for one in workloads if one.namespace == _namespace(release)]
        governing |= {key} if chosen else set()
        timeout = _of_release(key, release)
        if timeout is not None:
            told = replace(timeout, is_by_namespace=not named)
            for workload in chosen:
                found.setdefault(workload.key, told)
    return found, governing


def _names(release: Object, workload: Workload) -> bool:
    """Whether labels or annotations of a workload name the release."""
    name = str(release["metadata"]["name"])
    if release["kind"] == _KUSTOMIZE:
        return bool(workload.labels.get(f"{_GROUPS[_KUSTOMIZE]}/name") == name)
    called = (release.get("spec") or {}).get("releaseName") or name
    if (label := workload.labels.get(f"{_GROUPS[_HELM]}/name")) is not None:
        return bool(label == name)
    return called in (
        workload.annotations.get("meta.helm.sh/release-name"), workload.labels.get("app.kubernetes.io/instance"),
    )  # fmt: skip


def _namespace(release: Object) -> str:
    return str((release.get("spec") or {}).get("targetNamespace") or release["metadata"].get("namespace") or "")


def _of_release(key: str, release: Object) -> DeployTimeout | None:
    """How long a release waits, None where it doesn't wait for pods."""
    spec: Mapping[str, Any] = release.get("spec") or {}
    if release["kind"] == _KUSTOMIZE:
        if not (spec.get("wait") or spec.get("healthChecks")):
            return None
        given = go_duration(str(spec.get("timeout") or "")) or None
        seconds = given or go_duration(str(spec.get("interval") or "")) or _HELM_SECONDS
        return DeployTimeout(seconds=seconds, by=key, is_default=given is None, then="reports that it failed")
    upgrade = spec.get("upgrade") or {}
    if upgrade.get("disableWait"):
        return None
    given = go_duration(str(upgrade.get("timeout") or spec.get("timeout") or "")) or None
    remediation = upgrade.get("remediation") or {}
    retries = remediation.get("retries") or 0
    ends = "uninstalls it" if remediation.get("strategy") == "uninstall" else "rolls back"
    then = (
        f"{ends} and tries {count(retries, 'time')} more"
        if retries > 0
        else "rolls back and tries again"
        if retries
        else "gives up"
    )
    return DeployTimeout(seconds=given or _HELM_SECONDS, by=key, is_default=given is None, then=then)


def rollout_warnings(
    snapshot: Snapshot, workload: Workload, result: RolloutResult | None, timeout: DeployTimeout | None
) -> Iterator[Text]:
    """What is worth a warning of one workload; `snapshot`: the cluster on which it stands, `result`: its rollout there."""
    if timeout is not None and result is not None:
        yield from _too_short(workload, result, timeout)
    known = budgets.scales(snapshot)
    for budget in snapshot.pod_disruption_budgets:
        if budget.namespace != workload.namespace or not labels_match(budget.selector, workload.template.labels):
            continue
        best = budgets.status_at_best(budget, snapshot, known)
        if best.healthy and best.is_known and not best.allowed:
            yield Text(
                f"no drain of its nodes gets past PodDisruptionBudget {budget.name} ({budgets.why_never(budget, best)}); "
                "GKE's upgrades go on after an hour"
            )
    for container in workload.template.spec.containers:
        if container.command_form in _SHELLS:
            grace = duration(float(workload.template.spec.termination_grace_period_seconds))
            yield Text(
                f"container {container.name}: a shell keeps SIGTERM from the program, so each old pod ends after its grace period ({grace})"
            )


def _too_short(workload: Workload, result: RolloutResult, timeout: DeployTimeout) -> Iterator[Text]:
    """That the probes allow more time than is waited for: the startup probes' patience, for as many pods as start one after the other."""
    allowed = [
        patience_seconds(one.startup_probe)
        for one in workload.template.spec.containers
        if one.startup_probe is not None
    ]
    if not allowed:
        return
    rows = [row.counts.get(PodState.NEW_READY.value, 0) for row in result.workloads[0].timeline]
    waves = max(1, sum(after > before for before, after in itertools.pairwise(rows)))
    longest = waves * max(allowed)
    if longest <= timeout.seconds:
        return
    turns = f", {waves:,} one after the other" if waves > 1 else ""
    default = " by default" if timeout.is_default else ""
    of_namespace = " (it is in its target namespace)" if timeout.is_by_namespace else ""
    then = f", then {timeout.then}" if timeout.then else ""
    yield Text(
        f"up to {duration(float(max(allowed)))} a pod by its startup probe{turns}; {timeout.by}{of_namespace} waits "
        f"{duration(timeout.seconds)}{default}{then}"
    )
