"""Pod Security Standards (pod-security-admission/policy/check_*.go), as far as random clusters and recordings go: whether
a namespace's enforced level forbids a pod."""

from __future__ import annotations

from collections.abc import Iterator

from tests.reference.objects import Object

LABEL = "pod-security.kubernetes.io/enforce"
DEFAULT_CAPABILITIES = {
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
}
PLAIN_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip


def is_forbidden(namespace: Object | None, pod: Object) -> bool:
    level = ((namespace or {}).get("metadata", {}).get("labels") or {}).get(LABEL, "privileged")
    if level == "privileged":
        return False
    if any(baseline(pod["spec"])):
        return True
    return level != "baseline" and any(restricted(pod["spec"]))


def containers_of(spec: Object) -> list[Object]:
    return [*(spec.get("initContainers") or []), *spec["containers"]]


def contexts_of(spec: Object) -> list[Object]:
    return [spec.get("securityContext") or {}, *((c.get("securityContext") or {}) for c in containers_of(spec))]


def baseline(spec: Object) -> Iterator[bool]:
    yield any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
    yield any(volume.get("hostPath") is not None for volume in spec.get("volumes") or [])
    for container in containers_of(spec):
        context = container.get("securityContext") or {}
        yield bool(context.get("privileged"))
        yield not set((context.get("capabilities") or {}).get("add") or []) <= DEFAULT_CAPABILITIES
        yield any(port.get("hostPort") for port in container.get("ports") or [])
        yield context.get("procMount", "Default") != "Default" and spec.get("hostUsers") is not False
    for context in contexts_of(spec):
        yield (context.get("seccompProfile") or {}).get("type") == "Unconfined"
        yield (context.get("appArmorProfile") or {}).get("type") == "Unconfined"
        yield bool((context.get("windowsOptions") or {}).get("hostProcess"))
        linux = context.get("seLinuxOptions") or {}
        yield bool(linux.get("user") or linux.get("role"))
        yield linux.get("type", "") not in (
            "",
            "container_t",
            "container_init_t",
            "container_kvm_t",
            "container_engine_t",
        )
    yield any(one["name"] not in SAFE_SYSCTLS for one in (spec.get("securityContext") or {}).get("sysctls") or [])


def restricted(spec: Object) -> Iterator[bool]:
    whole = spec.get("securityContext") or {}
    yield any(not PLAIN_VOLUMES & set(volume) for volume in spec.get("volumes") or [] if len(volume) > 1)
    for container in containers_of(spec):
        context = container.get("securityContext") or {}
        capabilities = context.get("capabilities") or {}
        yield context.get("allowPrivilegeEscalation") is not False
        yield "ALL" not in (capabilities.get("drop") or [])
        yield not set(capabilities.get("add") or []) <= {"NET_BIND_SERVICE"}
        if spec.get("hostUsers") is not False:
            own = context.get("runAsNonRoot")
            yield own is False or (own is None and not whole.get("runAsNonRoot"))
            yield context.get("runAsUser") == 0
        yield not (context.get("seccompProfile") or whole.get("seccompProfile"))
    if spec.get("hostUsers") is not False:
        yield whole.get("runAsUser") == 0 or whole.get("runAsNonRoot") is False
