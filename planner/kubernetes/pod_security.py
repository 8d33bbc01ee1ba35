"""Pod Security Standards: what the levels baseline and restricted forbid, in the API server's words.

Source: kubernetes `staging/src/k8s.io/pod-security-admission/policy/check_*.go` of 1.36. AppArmor's annotations of before
1.30 are not kept, so not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.kubernetes.object_records import Container, Labels, PodSpec, SecurityContext

PRIVILEGED = "privileged"
_LATEST = 36
_LABEL = "pod-security.kubernetes.io/enforce"
_VERSION = re.compile(r"v1\.(\d{1,3})\Z", re.ASCII)
_TABLE = msgspec.json.decode(table_beside(__name__, "pod_security.json"))
_DEFAULT_CAPABILITIES = frozenset[str](_TABLE["capabilities"])
_RESTRICTED_VOLUMES = frozenset[str](_TABLE["volumes"])
_SYSCTLS: dict[str, int] = _TABLE["sysctls"]
_SE_LINUX_TYPES: dict[str, int] = _TABLE["se_linux_types"]


class Policy(Record):
    """What a namespace enforces: `level` is privileged, baseline or restricted; `minor` the version of its rules."""

    level: str = PRIVILEGED
    minor: int = _LATEST
    version: str = "latest"


def says_level(labels: Labels) -> bool:
    """Whether a namespace's labels say what it enforces."""
    return _LABEL in labels


def enforced(labels: Labels) -> Policy:
    """The policy that a namespace's labels ask for; what can't be understood is taken as restricted and latest.

    Source: `pod-security-admission/api/helpers.go` `PolicyToEvaluate`, `ParseLevel`.
    """
    level = labels.get(_LABEL, PRIVILEGED)
    version = labels.get(f"{_LABEL}-version", "latest")
    match = _VERSION.match(version)
    return Policy(
        level=level if level in (PRIVILEGED, "baseline") else "restricted",
        minor=min(int(match[1]), _LATEST) if match else _LATEST,
        version=version if match else "latest",
    )


class Forbidden(Record):
    """Something a level forbids. `check`: Kubernetes' name of the check; `thing`: what is forbidden; `details`: who has it."""

    check: str
    thing: str
    details: str

    @property
    def text(self) -> str:
        """In the API server's words: ``host namespaces (hostNetwork=true)``."""
        return f"{self.thing} ({self.details})"


def violation(policy: Policy, spec: PodSpec) -> str:
    """What the API server says of a pod that `policy` forbids; "" when it doesn't.

    ``violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)``
    """
    violations = forbidden(policy, spec)
    return (
        f'violates PodSecurity "{policy.level}:{policy.version}": {", ".join(refusal.text for refusal in violations)}'
        if violations
        else ""
    )


def forbidden(policy: Policy, spec: PodSpec) -> tuple[Forbidden, ...]:
    """What `policy` forbids of a pod."""
    if policy.level == PRIVILEGED:
        return ()
    checks = _BASELINE if policy.level == "baseline" else {**_BASELINE, **_RESTRICTED}
    ordered = sorted(checks.items(), key=lambda check: (check[0] in _RESTRICTED, check[0]))
    if policy.level == "restricted":
        ordered = [(name, check) for name, check in ordered if policy.minor < _OVERRIDDEN.get(name, _LATEST + 1)]
    return tuple(
        Forbidden(check=name, thing=subject, details=details)
        for name, check in ordered
        for subject, details in check(spec, policy.minor)
    )


_OVERRIDDEN = {"hostPathVolumes": 0, "capabilities_baseline": 22, "seccompProfile_baseline": 19, "procMount": 35}
"""Checks of baseline that a stricter one of restricted replaces, by the minor version from which on it does."""


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _many(names: list[str], noun: str = "container") -> str:
    return f"{noun}{'s' if len(names) != 1 else ''} {_quoted(names)}"


def _use(names: list[str], what: str, things: set[str], noun: str = "container") -> str:
    """``containers "a", "b" use hostPort``, with what they use, in the numbers' form."""
    uses, ending = "uses" if len(names) == 1 else "use", "s" if len(things) > 1 else ""
    return f"{_many(names, noun)} {uses} {what}{ending}"


def _everyone(spec: PodSpec) -> tuple[Container, ...]:
    return spec.init_containers + spec.containers


def _setters(spec: PodSpec, is_bad: Callable[[SecurityContext], bool]) -> str:
    """``pod and containers "a", "b"``: what has the bad security context."""
    who = ["pod"] if is_bad(spec.security) else []
    bad = [container.name for container in _everyone(spec) if is_bad(container.security)]
    return " and ".join(who + ([_many(bad)] if bad else []))


def _profiles(spec: PodSpec, of: Callable[[SecurityContext], str | None]) -> tuple[str, list[str]]:
    """The containers with a profile that is neither the runtime's default nor of the node, and these profiles."""

    def is_bad(context: SecurityContext) -> bool:
        return of(context) not in (None, "RuntimeDefault", "Localhost")

    contexts = (spec.security, *(container.security for container in _everyone(spec)))
    return _setters(spec, is_bad), sorted({of(context) or "" for context in contexts if is_bad(context)})


_Found = tuple[str, str]  # what is forbidden, and who has it


# ── baseline ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _app_armor(spec: PodSpec, _: int) -> Iterator[_Found]:
    who, bad = _profiles(spec, lambda context: context.app_armor)
    if who:
        noun = "forbidden AppArmor profile" + ("s" if len(bad) > 1 else "")
        yield noun, f"{who} must not set AppArmor profile type to {_quoted(bad)}"


def _capabilities(spec: PodSpec, _: int) -> Iterator[_Found]:
    bad = [
        container
        for container in _everyone(spec)
        if not _DEFAULT_CAPABILITIES.issuperset(container.security.added_capabilities)
    ]
    if bad:
        added = {name for container in bad for name in container.security.added_capabilities} - _DEFAULT_CAPABILITIES
        names = [container.name for container in bad]
        details = f"{_many(names)} must not include {_quoted(sorted(added))} in securityContext.capabilities.add"
        yield "non-default capabilities", details


def _host_namespaces(spec: PodSpec, _: int) -> Iterator[_Found]:
    host_flags = {"hostNetwork": spec.host_network, "hostPID": spec.host_pid, "hostIPC": spec.host_ipc}
    if any(host_flags.values()):
        yield "host namespaces", ", ".join(f"{name}=true" for name, on in host_flags.items() if on)


def _host_paths(spec: PodSpec, _: int) -> Iterator[_Found]:
    bad = [volume.name for volume in spec.volumes if volume.kind == "hostPath"]
    if bad:
        yield "hostPath volumes", _many(bad, "volume")


def _host_ports(spec: PodSpec, _: int) -> Iterator[_Found]:
    bad = [container for container in _everyone(spec) if container.host_ports]
    if bad:
        ports = {str(port.port) for container in bad for port in container.host_ports}
        yield "hostPort", f"{_use([container.name for container in bad], 'hostPort', ports)} {', '.join(sorted(ports))}"


def _handler_hosts(spec: PodSpec, minor: int) -> Iterator[_Found]:
    bad = [container for container in _everyone(spec) if container.handler_hosts]
    if bad and minor >= 34:
        hosts, what = {host for container in bad for host in container.handler_hosts}, "probe or lifecycle host"
        yield what, f"{_use(sorted({container.name for container in bad}), what, hosts)} {_quoted(sorted(hosts))}"


def _privileged(spec: PodSpec, _: int) -> Iterator[_Found]:
    bad = [container.name for container in _everyone(spec) if container.security.is_privileged]
    if bad:
        yield "privileged", f"{_many(bad)} must not set securityContext.privileged=true"


def _proc_mount(spec: PodSpec, _: int) -> Iterator[_Found]:
    bad = [container for container in _everyone(spec) if container.security.proc_mount not in (None, "Default")]
    if bad:
        kinds = sorted({container.security.proc_mount or "" for container in bad})
        names = [container.name for container in bad]
        yield "procMount", f"{_many(names)} must not set securityContext.procMount to {_quoted(kinds)}"


def _se_linux(spec: PodSpec, minor: int) -> Iterator[_Found]:
    def is_bad(context: SecurityContext) -> bool:
        kind, user, role = context.se_linux or ("", "", "")
        # Each type is allowed from a minor version on (`container_engine_t` since 1.31); one that is in no list never
        # is.
        return _SE_LINUX_TYPES.get(kind, minor + 1) > minor or bool(user or role)

    if who := _setters(spec, is_bad):
        contexts = [
            context.se_linux for context in (spec.security, *(c.security for c in _everyone(spec))) if context.se_linux
        ]
        types = sorted({context[0] for context in contexts if _SE_LINUX_TYPES.get(context[0], minor + 1) > minor})
        parts = [f"type{'s' if len(types) > 1 else ''} {_quoted(types)}"] if types else []
        parts += ["user may not be set"] if any(context[1] for context in contexts) else []
        parts += ["role may not be set"] if any(context[2] for context in contexts) else []
        yield "seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(parts)}"


def _seccomp(spec: PodSpec, minor: int) -> Iterator[_Found]:
    who, bad = _profiles(spec, lambda context: context.seccomp)
    if who and minor >= 19:
        yield "seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {_quoted(bad)}"


def _sysctls(spec: PodSpec, minor: int) -> Iterator[_Found]:
    bad = [name for name in spec.security.sysctls if _SYSCTLS.get(name, minor + 1) > minor]
    if bad:
        yield "forbidden sysctls", ", ".join(bad)


def _windows_host_process(spec: PodSpec, _: int) -> Iterator[_Found]:
    if who := _setters(spec, lambda context: context.is_host_process):
        yield "hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true"


# ── restricted ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _escalation(spec: PodSpec, minor: int) -> Iterator[_Found]:
    bad = [container.name for container in _everyone(spec) if container.security.may_escalate is not False]
    if bad and minor >= 8 and not _is_windows(spec, minor):
        yield (
            "allowPrivilegeEscalation != false",
            f"{_many(bad)} must set securityContext.allowPrivilegeEscalation=false",
        )


def _is_windows(spec: PodSpec, minor: int) -> bool:
    return minor >= 25 and spec.os == "windows"


def _drop_all(spec: PodSpec, minor: int) -> Iterator[_Found]:
    # The level *restricted* asks for it since 1.22, and only of Linux pods.
    if minor < 22 or _is_windows(spec, minor):
        return
    keeps = [container.name for container in _everyone(spec) if "ALL" not in container.security.dropped_capabilities]
    adds = [
        container for container in _everyone(spec) if set(container.security.added_capabilities) - {"NET_BIND_SERVICE"}
    ]
    details = [f'{_many(keeps)} must set securityContext.capabilities.drop=["ALL"]'] if keeps else []
    if adds:
        added = sorted({name for add in adds for name in add.security.added_capabilities} - {"NET_BIND_SERVICE"})
        names = [add.name for add in adds]
        details.append(f"{_many(names)} must not include {_quoted(added)} in securityContext.capabilities.add")
    if details:
        yield "unrestricted capabilities", "; ".join(details)


def _volumes(spec: PodSpec, _: int) -> Iterator[_Found]:
    bad = [volume for volume in spec.volumes if volume.kind not in _RESTRICTED_VOLUMES]
    if bad:
        kinds: set[str] = {volume.kind for volume in bad}
        uses = _use([volume.name for volume in bad], "restricted volume type", kinds, "volume")
        yield "restricted volume types", f"{uses} {_quoted(sorted(kinds))}"


def _non_root(spec: PodSpec, minor: int) -> Iterator[_Found]:
    if minor >= 35 and not spec.host_users:
        return
    if who := _setters(spec, lambda context: context.run_as_non_root is False):
        yield "runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false"
    elif not spec.security.run_as_non_root:
        bad = [container.name for container in _everyone(spec) if container.security.run_as_non_root is None]
        if bad:
            yield "runAsNonRoot != true", f"pod or {_many(bad)} must set securityContext.runAsNonRoot=true"


def _user(spec: PodSpec, minor: int) -> Iterator[_Found]:
    if minor < 23 or (minor >= 35 and not spec.host_users):
        return
    if who := _setters(spec, lambda context: context.run_as_user == 0):
        yield "runAsUser=0", f"{who} must not set runAsUser=0"


def _seccomp_given(spec: PodSpec, minor: int) -> Iterator[_Found]:
    if minor < 19 or _is_windows(spec, minor):
        return
    if bad := list(_seccomp(spec, minor)):
        yield from bad
    elif spec.security.seccomp is None:
        lacking = [container.name for container in _everyone(spec) if container.security.seccomp is None]
        if lacking:
            must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
            yield "seccompProfile", f"pod or {_many(lacking)} {must}"


_Check = Callable[[PodSpec, int], Iterator[_Found]]
_BASELINE: dict[str, _Check] = {
    "appArmorProfile": _app_armor,
    "capabilities_baseline": _capabilities,
    "hostNamespaces": _host_namespaces,
    "hostPathVolumes": _host_paths,
    "hostPorts": _host_ports,
    "hostProbesAndHostLifecycle": _handler_hosts,
    "privileged": _privileged,
    "procMount": lambda spec, minor: _proc_mount(spec, minor) if minor < 35 or spec.host_users else iter(()),
    "seLinuxOptions": _se_linux,
    "seccompProfile_baseline": _seccomp,
    "sysctls": _sysctls,
    "windowsHostProcess": _windows_host_process,
}
_RESTRICTED: dict[str, _Check] = {
    "allowPrivilegeEscalation": _escalation,
    "capabilities_restricted": _drop_all,
    "procMount_restricted": lambda spec, minor: _proc_mount(spec, minor) if minor >= 35 else iter(()),
    "restrictedVolumes": _volumes,
    "runAsNonRoot": _non_root,
    "runAsUser": _user,
    "seccompProfile_restricted": _seccomp_given,
}
