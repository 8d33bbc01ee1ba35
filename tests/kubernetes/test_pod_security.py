"""Pod Security Standards, in the words of the API server."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kubernetes.object_records import (
    NO_SECURITY_CONTEXT,
    Container,
    FrozenMap,
    HostPort,
    PodSpec,
    SecurityContext,
    Volume,
)
from planner.kubernetes.pod_security import Policy, enforced, forbidden, violation

SAFE = SecurityContext(
    may_escalate=False, dropped_capabilities=("ALL",), run_as_non_root=True, seccomp="RuntimeDefault"
)
LABEL = "pod-security.kubernetes.io/enforce"


def pod(context: SecurityContext = SAFE, of_pod: SecurityContext = NO_SECURITY_CONTEXT, **more: Any) -> PodSpec:
    fields = {key: more.pop(key) for key in ("host_ports", "handler_hosts") if key in more}
    return PodSpec(containers=(Container(name="main", security=context, **fields),), security=of_pod, **more)


@pytest.mark.parametrize(
    ("labels", "level", "minor"),
    [
        ({}, "privileged", 36),
        ({LABEL: "baseline"}, "baseline", 36),
        ({LABEL: "restricted", f"{LABEL}-version": "v1.24"}, "restricted", 24),
        ({LABEL: "restricted", f"{LABEL}-version": "v1.99"}, "restricted", 36),
        ({LABEL: "strict"}, "restricted", 36),
    ],
)
def test_what_a_namespace_enforces(labels: dict[str, str], level: str, minor: int) -> None:
    found = enforced(FrozenMap(labels))
    assert (found.level, found.minor) == (level, minor)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (pod(host_pid=True, host_ipc=True), "host namespaces (hostPID=true, hostIPC=true)"),
        (pod(volumes=(Volume(name="v", kind="hostPath"),)), 'hostPath volumes (volume "v")'),
        (pod(host_ports=(HostPort(port=80),)), 'hostPort (container "main" uses hostPort 80)'),
        (
            pod(handler_hosts=("example.com",)),
            'probe or lifecycle host (container "main" uses probe or lifecycle host "example.com")',
        ),
        (
            pod(SecurityContext(is_privileged=True)),
            'privileged (container "main" must not set securityContext.privileged=true)',
        ),
        (
            pod(SecurityContext(added_capabilities=("KILL", "NET_RAW"))),
            'non-default capabilities (container "main" must not include "NET_RAW" in securityContext.capabilities.add)',
        ),
        (
            pod(SecurityContext(proc_mount="Unmasked")),
            'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            pod(of_pod=SecurityContext(seccomp="Unconfined")),
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            pod(SecurityContext(app_armor="Unconfined"), SecurityContext(app_armor="Unconfined")),
            'forbidden AppArmor profile (pod and container "main" must not set AppArmor profile type to "Unconfined")',
        ),
        (
            pod(of_pod=SecurityContext(se_linux=("spc_t", "u", ""))),
            'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
        ),
        (pod(of_pod=SecurityContext(sysctls=("kernel.msgmax",))), "forbidden sysctls (kernel.msgmax)"),
        (
            pod(SecurityContext(is_host_process=True)),
            'hostProcess (container "main" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
        (pod(), ""),
        (pod(SecurityContext()), ""),
    ],
)
def test_baseline(spec: PodSpec, words: str) -> None:
    assert ", ".join(one.text for one in forbidden(Policy(level="baseline"), spec)) == words


def test_restricted_names_everything_that_is_missing() -> None:
    assert violation(Policy(level="restricted"), pod(SecurityContext(), volumes=(Volume(name="v", kind="nfs"),))) == (
        'violates PodSecurity "restricted:latest": '
        'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false), '
        'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]), '
        'restricted volume types (volume "v" uses restricted volume type "nfs"), '
        'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true), '
        'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
        '"Localhost")'
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (pod(), ""),
        (pod(of_pod=SecurityContext(run_as_user=0)), "runAsUser=0 (pod must not set runAsUser=0)"),
        (pod(of_pod=SecurityContext(run_as_user=0), host_users=False), ""),
        (
            pod(of_pod=SecurityContext(run_as_non_root=False)),
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
        ),
    ],
)
def test_restricted(spec: PodSpec, words: str) -> None:
    assert ", ".join(one.text for one in forbidden(Policy(level="restricted"), spec)) == words


def test_an_older_version_asks_for_less() -> None:
    old = forbidden(
        Policy(level="restricted", minor=18), pod(SecurityContext(may_escalate=False, run_as_non_root=True))
    )
    assert old == ()
    assert forbidden(Policy(level="privileged"), pod(host_pid=True)) == ()
