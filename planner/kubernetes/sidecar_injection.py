"""Istio's sidecar injector: the proxy container that it adds to a pod, with CPU and memory requests.

Sources: istio `pkg/kube/inject/inject.go` `injectRequired` (who gets one), `manifests/charts/istio-control/istio-discovery/files/
injection-template.yaml` (its resources: by annotations where the pod has one of them, else `global.proxy.resources`),
`manifests/charts/istio-control/istio-discovery/values.yaml` (their default). The injector's ConfigMap isn't read: what proxies have that
run already tells what it says, without one the default stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.ground.errors import HeadroomError
from planner.ground.quantity import parse
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, ISTIO_INJECT, ISTIO_LIMITS, ISTIO_REQUESTS, MEMORY
from planner.kubernetes.object_records import EMPTY, AdmissionHook, Container, FrozenMap, Labels, Pod, PodSpec, Snapshot
from planner.kubernetes.selectors import labels_match

PROXY: Final = "istio-proxy"
_HOOK: Final = "sidecar-injector.istio.io"
_NEVER: Final = frozenset({"kube-system", "kube-public", "kube-node-lease", "local-path-storage"})
_YES: Final = frozenset({"y", "yes", "true", "on"})
_DEFAULT: Final = Container(
    name=PROXY,
    requests=FrozenMap({CPU: 100, MEMORY: 128 << 20}),
    limits=FrozenMap({CPU: 2_000, MEMORY: 1 << 30}),
)


class Injected(Record):
    """The proxy that a pod gets. `is_seen`: its resources are those of proxies that run, or the pod's annotations say them."""

    proxy: Container
    is_seen: bool


def is_injector(hook: AdmissionHook) -> bool:
    """Whether a webhook is Istio's sidecar injector, of whatever revision."""
    name = hook.name.rpartition("/")[2]
    return hook.kind == "MutatingWebhookConfiguration" and (name == _HOOK or name.endswith(f".{_HOOK}"))


class SidecarInjection:
    """The injectors of a cluster, the labels of its namespaces, and the proxies that run in it."""

    def __init__(self, snapshot: Snapshot) -> None:
        every = (hook for configuration in snapshot.webhook_configurations for hook in configuration.hooks)
        self._hooks = tuple(hook for hook in every if is_injector(hook))
        self._namespaces = {namespace.name: namespace.labels for namespace in snapshot.namespaces}
        self._running = _newest_proxy(snapshot.pods) if self._hooks else None

    def of(self, namespace: str, labels: Labels, spec: PodSpec) -> Injected | None:
        """The proxy that a new pod gets; None where it gets none, has one of its own, or nothing tells."""
        # Istio never redirects the traffic of a host network's pods: the rules would be the node's (`injectRequired`).
        if not self._hooks or spec.host_network or namespace in _NEVER or namespace not in self._namespaces:
            return None
        if any(container.name == PROXY for container in (*spec.containers, *spec.init_containers)):
            return None
        inject_label = labels.get(ISTIO_INJECT) or spec.injection.get(ISTIO_INJECT, "")
        if inject_label and inject_label.lower() not in _YES:
            return None
        here = self._namespaces[namespace]
        if not any(_sees(hook, here, labels) for hook in self._hooks):
            return None
        if any(name in spec.injection for name in (*ISTIO_REQUESTS, *ISTIO_LIMITS)):
            requests, limits = (_amounts(spec.injection, names) for names in (ISTIO_REQUESTS, ISTIO_LIMITS))
            proxy = replace(self._running or _DEFAULT, requests=requests, limits=limits)
            return Injected(proxy=proxy, is_seen=True)
        return Injected(proxy=self._running or _DEFAULT, is_seen=self._running is not None)

    def injected(self, namespace: str, labels: Labels, spec: PodSpec) -> PodSpec:
        """`spec` with the proxy that such pods get."""
        injected_proxy = self.of(namespace, labels, spec)
        if injected_proxy is None:
            return spec
        if injected_proxy.proxy.is_sidecar:
            return replace(spec, init_containers=(injected_proxy.proxy, *spec.init_containers))
        return replace(spec, containers=(*spec.containers, injected_proxy.proxy))


def _sees(hook: AdmissionHook, namespace: Labels, labels: Labels) -> bool:
    in_namespace = hook.namespace_selector is None or labels_match(hook.namespace_selector, namespace)
    return in_namespace and (hook.object_selector is None or labels_match(hook.object_selector, labels))


def _newest_proxy(pods: Iterable[Pod]) -> Container | None:
    """The proxy of the pod that was made last, of those without its resources in their annotations."""
    proxies = [
        (pod.created_at or 0.0, pod.namespace, pod.name, container)
        for pod in pods
        if not any(name in pod.annotations for name in (*ISTIO_REQUESTS, *ISTIO_LIMITS))
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        if container.name == PROXY
    ]
    return max(proxies, key=lambda proxy: proxy[:3])[3] if proxies else None


def _amounts(annotations: Labels, names: tuple[str, str]) -> FrozenMap[int]:
    amounts: dict[str, int] = {}
    for resource, name in zip((CPU, MEMORY), names, strict=True):
        try:
            amounts |= {resource: parse(annotations[name], resource=resource)} if name in annotations else {}
        except HeadroomError:  # the injector fails on it, and the pod goes without
            continue
    return FrozenMap(amounts) if amounts else EMPTY
