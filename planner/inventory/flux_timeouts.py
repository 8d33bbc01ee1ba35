"""How long Flux waits for what it applies: timeouts of HelmReleases and Kustomizations.

Sources: fluxcd helm-controller `api/v2/helmrelease_types.go` (`GetTimeout`: 5 minutes by default; `Upgrade.Timeout`, `DisableWait`,
`UpgradeRemediation`; `Suspend`; `GetReleaseName`), `internal/release/name.go` (`ShortenName`); kustomize-controller
`api/v1/kustomization_types.go` (`GetTimeout`: the interval less 30 s, and 30 s at least; `Wait`, with which `HealthChecks` are ignored; it
never rolls back).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from planner.ground.errors import InputError
from planner.inventory.records.read_context import go_duration
from planner.kubernetes.name_validation import check_workload_key
from planner.kubernetes.object_records import FluxRelease, Workload
from planner.kubernetes.operator_update_rules import at, text_at

HELM: Final = "HelmRelease"
_KUSTOMIZE: Final = "Kustomization"
GROUPS: Final = {HELM: "helm.toolkit.fluxcd.io", _KUSTOMIZE: "kustomize.toolkit.fluxcd.io"}
HELM_SECONDS: Final = 300.0
MOST_SECONDS: Final = 1e9
"""Longer than anything is waited for, 30 years: what is longer is no time."""
_INTERVAL_SECONDS: Final = 30.0  # that a Kustomization's timeout is shorter than its interval, and at least has
_LONGEST_NAME, _HASH = 53, 12  # characters of Helm's name of a release, and those of a longer name's hash in it
MOST_RETRIES: Final = 2**31 - 1


def flux_release(document: Mapping[str, Any]) -> FluxRelease | None:
    """What a HelmRelease or a Kustomization of Flux says of how long it waits; None of any other object."""
    kind, name, namespace = (
        str(document.get("kind")),
        text_at(document, "metadata.name"),
        text_at(document, "metadata.namespace"),
    )
    if not name or not str(document.get("apiVersion") or "").startswith(f"{GROUPS.get(kind, '-')}/"):
        return None
    is_helm, spec = kind == HELM, at(document, "spec") or {}
    own = _seconds(spec, "upgrade.timeout") if is_helm else None
    timeout = _seconds(spec, "timeout") if own is None else own
    checks = None if is_helm or at(spec, "wait") else tuple(_health_checks(spec, namespace))
    waits = not at(spec, "upgrade.disableWait") if is_helm else checks is None or bool(checks)
    if is_helm:  # with 0 s Helm 3 gives up at once and Helm 4 waits for 30 s (`pkg/kube/statuswait.go`)
        seconds = HELM_SECONDS if timeout is None else timeout or None
    else:
        seconds = _kustomization_seconds(timeout, _seconds(spec, "interval"))
    retries, target = at(spec, "upgrade.remediation.retries"), text_at(spec, "targetNamespace")
    is_number = is_helm and isinstance(retries, int) and not isinstance(retries, bool) and abs(retries) <= MOST_RETRIES
    return FluxRelease(
        kind=kind, name=name, namespace=namespace,
        release=text_at(spec, "releaseName") or _release_name(f"{target}-{name}" if target else name),
        target_namespace=target or namespace,
        seconds=seconds if waits and at(spec, "suspend") is not True else None, is_default=timeout is None,
        retries=retries if is_number else 0, uninstalls=text_at(spec, "upgrade.remediation.strategy") == "uninstall",
        health_checks=checks,
    )  # fmt: skip


def _kustomization_seconds(timeout: float | None, interval: float | None) -> float | None:
    """None without either: the API server takes no Kustomization without an interval."""
    if timeout is None and interval is None:
        return None
    return max(timeout if timeout is not None else (interval or 0.0) - _INTERVAL_SECONDS, _INTERVAL_SECONDS)


def _release_name(name: str) -> str:
    """What Helm calls a release of that name: a longer one is cut, with a hash of the whole."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - _HASH - 1]}-{sha256(name.encode()).hexdigest()[:_HASH]}"


def _health_checks(spec: Any, namespace: str) -> Iterator[str]:
    """Keys of the objects for which a Kustomization without ``wait`` does wait."""
    checks = at(spec, "healthChecks")
    for check in checks if isinstance(checks, list) else ():
        kind, name, space = (text_at(check, field) for field in ("kind", "name", "namespace"))
        try:
            key = check_workload_key("spec.healthChecks", f"{kind}/{space or namespace}/{name}")
        except InputError:
            continue  # no object is called so
        if name:
            yield key


def _seconds(spec: Any, path: str) -> float | None:
    seconds = go_duration(text_at(spec, path), whole=True)
    return seconds if seconds is not None and 0 <= seconds <= MOST_SECONDS else None


def waits_for(release: FluxRelease, workload: Workload) -> bool:
    """Whether a release that applies the workload waits for it too: a Kustomization without ``wait`` does for its health checks only."""
    return release.health_checks is None or workload.key in release.health_checks


def applies(release: FluxRelease, workload: Workload) -> bool:
    """Whether labels or annotations of a workload name the release. Of the labels of Flux's own the namespace counts too; a chart that is
    rendered without it has only Helm's name of the release, in its target namespace."""
    group = GROUPS[release.kind]
    if (label := workload.labels.get(f"{group}/name")) is not None:
        return (
            label == release.name and workload.labels.get(f"{group}/namespace", release.namespace) == release.namespace
        )
    names = workload.annotations.get("meta.helm.sh/release-name"), workload.labels.get("app.kubernetes.io/instance")
    space = workload.annotations.get("meta.helm.sh/release-namespace", workload.namespace)
    return release.kind == HELM and release.release in names and space == release.target_namespace
