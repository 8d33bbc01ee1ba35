"""How long Flux waits for what it applies: a HelmRelease and a Kustomization, of a manifest or a cluster.

Sources: fluxcd helm-controller `api/v2/helmrelease_types.go` (`GetTimeout`: 5 minutes by default; `Upgrade.Timeout`, `DisableWait`,
`UpgradeRemediation`; `Suspend`), kustomize-controller `api/v1/kustomization_types.go` (`GetTimeout`: the interval; `Wait`, `HealthChecks`;
it never rolls back).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.inventory.records.read_context import go_duration
from planner.kubernetes.operator_update_rules import at, text_at
from planner.kubernetes.records import FluxRelease, Workload

HELM: Final = "HelmRelease"
_KUSTOMIZE: Final = "Kustomization"
GROUPS: Final = {HELM: "helm.toolkit.fluxcd.io", _KUSTOMIZE: "kustomize.toolkit.fluxcd.io"}
HELM_SECONDS: Final = 300.0


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
    timeout = own or _seconds(spec, "timeout")
    waits = not at(spec, "upgrade.disableWait") if is_helm else bool(at(spec, "wait") or at(spec, "healthChecks"))
    # A Kustomization without a timeout waits as long as its interval.
    seconds = timeout or (None if is_helm else _seconds(spec, "interval")) or HELM_SECONDS
    retries = at(spec, "upgrade.remediation.retries")
    return FluxRelease(
        kind=kind, name=name, namespace=namespace, release=text_at(spec, "releaseName") or name,
        target_namespace=text_at(spec, "targetNamespace") or namespace,
        seconds=seconds if waits and at(spec, "suspend") is not True else None, is_default=timeout is None,
        retries=retries if is_helm and isinstance(retries, int) else 0,
        uninstalls=text_at(spec, "upgrade.remediation.strategy") == "uninstall",
    )  # fmt: skip


def _seconds(spec: Any, path: str) -> float | None:
    return go_duration(text_at(spec, path)) or None


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
