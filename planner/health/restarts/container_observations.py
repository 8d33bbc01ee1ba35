"""Joins every container with its log, events, use, and healthy containers of the same program."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import CPU, MEMORY
from planner.health.restarts import known_messages as signs_of
from planner.health.restarts.known_messages import Sign, Signs
from planner.health.restarts.log_line_templates import Digest, content, digest
from planner.health.restarts.model import Peers
from planner.inventory.usage import Usage, usage_now
from planner.kubernetes.object_records import Container, ContainerState, Event, Node, Pod, PodLog, Presence, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import start_seconds
from planner.kubernetes.workload_kinds import NODE, POD

SETTLED_SECONDS = 86_400.0  # restarted longer ago than this and running since: it works
FEW_CHILD_KILLS = 2  # one late worker in a log is not yet a story
_NO_LOG: Final = digest(())
_NO_SIGNS: Final = signs_of.read(())


START_EVENTS: Final = (
    "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedPrepareDynamicResources",
)  # fmt: skip
"""Events of a pod while its containers can't be created; its status says ContainerCreating then.

Source: kubernetes `pkg/kubelet/events/event.go`, `pkg/controller/volume/attachdetach`.
"""
_AFTER_START: Final = ("Pulling", "Pulled", "Created", "Started")


def _at(event: Event) -> float:
    """When it was seen last; one without a time is taken for the latest."""
    return event.last_seen_at if event.last_seen_at is not None else float("inf")


class ContainerCase(Record):
    """One container of one pod with all that is known about it."""

    pod: Pod
    workload: str  # key
    container: Container
    state: ContainerState
    is_init: bool
    taken_at: float
    node: Node | None  # None: not bound, or the node isn't in the snapshot
    has_nodes: bool  # whether the snapshot lists nodes at all
    has_every_node: bool  # and none is known to be missing
    has_events: bool  # whether the snapshot lists events
    events: tuple[Event, ...]  # about the pod, those that name another container left out
    node_events: tuple[Event, ...]
    lines: tuple[str, ...]
    previous_lines: tuple[str, ...]
    signs: Signs  # of both logs
    digest: Digest  # of both logs
    usage: Usage | None

    @property
    def start_failures(self) -> tuple[Event, ...]:
        """Events of what keeps the container from being created (`START_EVENTS`), oldest first, without those that are past.

        Volumes are mounted and the sandbox is made before an image is pulled: once it is, they succeeded. Source: kubernetes
        `pkg/kubelet/kubelet.go` `SyncPod`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go` `SyncPod`.
        """
        failures = [event for event in self.events if event.reason in START_EVENTS]
        if not failures:
            return ()
        succeeded = max((_at(event) for event in self.events if event.reason in _AFTER_START), default=0.0)
        return tuple(sorted((event for event in failures if _at(event) >= succeeded), key=_at))

    @property
    def key(self) -> tuple[str, str]:
        return self.workload, self.container.name

    @property
    def has_log(self) -> bool:
        return bool(self.lines or self.previous_lines)

    @property
    def child_kills(self) -> int:
        if not self.signs.hits:
            return 0
        return len(self.signs.of(Sign.WORKER_TIMEOUT)) + len(self.signs.killed_by_others())

    @property
    def ended_at(self) -> float | None:
        """When the last run that is known to have ended did."""
        return self.state.finished_at if self.state.state == "terminated" else self.state.last_finished_at

    @property
    def works(self) -> bool:
        """Ready, not restarted lately, and no children killed inside."""
        settled = self.state.restart_count == 0 or (
            self.state.last_finished_at is not None and self.taken_at - self.state.last_finished_at > SETTLED_SECONDS
        )
        ready = self.pod.phase == "Running" and self.pod.is_ready and self.pod.deleted_at is None
        return ready and settled and self.child_kills < FEW_CHILD_KILLS

    @property
    def startup_seconds(self) -> float | None:
        """From the container's start to the pod's Ready, where the container has run without a break since."""
        return start_seconds(self.pod, self.state.started_at) if self.works else None


def cases(snapshot: Snapshot, usages: Sequence[Usage] | None = None) -> tuple[ContainerCase, ...]:
    """A case for every container of every pod that is meant to run (finished pods that succeeded are left out).

    `usages` replaces the snapshot's own PodMetrics where given (a history has higher peaks).
    """
    workloads = workload_keys(snapshot)
    nodes = {node.name: node for node in snapshot.nodes}
    pod_events, node_events = _events(snapshot)
    logs: defaultdict[tuple[str, str], list[PodLog]] = defaultdict(list)
    for log in snapshot.logs:
        logs[log.namespace, log.pod].append(log)
    measured = {
        (usage.namespace, usage.pod, usage.container): usage
        for usage in (usage_now(snapshot) if usages is None else usages)
    }
    container_cases: list[ContainerCase] = []
    for pod in snapshot.pods:
        if pod.phase == "Succeeded":
            continue
        name = pod.namespace, pod.name
        of_pod, has_log = pod_events.get(name, ()), name in logs
        states = {state.name: state for state in pod.containers}
        # A log without a container's name can only be of this pod's one container.
        alone = len(pod.spec.containers) + len(pod.spec.init_containers) == 1
        for is_init, container in [(False, main_container) for main_container in pod.spec.containers] + [
            (True, init_container) for init_container in pod.spec.init_containers
        ]:
            lines, previous = _lines_of(logs[name], container.name, alone=alone) if has_log else ((), ())
            container_cases.append(
                ContainerCase(
                    pod=pod,
                    workload=workloads[pod.uid],
                    container=container,
                    state=states.get(container.name, ContainerState(name=container.name, is_init=is_init)),
                    is_init=is_init,
                    taken_at=snapshot.taken_at,
                    node=nodes.get(pod.node_name),
                    has_nodes=bool(
                        nodes
                    ),  # a node that is missing has gone only where nodes were listed, and all of them
                    has_every_node=not snapshot.presence.get(NODE.name, Presence.PRESENT).is_lacking,
                    has_events=not snapshot.presence.get("Event", Presence.PRESENT).is_lacking,
                    events=tuple([event for event in of_pod if _is_about(event, pod, container.name)])
                    if of_pod
                    else (),
                    node_events=node_events.get(pod.node_name, ()) if pod.node_name else (),
                    lines=lines,
                    previous_lines=previous,
                    signs=signs_of.read((*previous, *lines)) if lines or previous else _NO_SIGNS,
                    digest=digest((*previous, *lines)) if lines or previous else _NO_LOG,
                    usage=measured.get((pod.namespace, pod.name, container.name)),
                )
            )
    return tuple(container_cases)


def _events(snapshot: Snapshot) -> tuple[dict[tuple[str, str], tuple[Event, ...]], dict[str, tuple[Event, ...]]]:
    of_pods: defaultdict[tuple[str, str], list[Event]] = defaultdict(list)
    of_nodes: defaultdict[str, list[Event]] = defaultdict(list)
    for event in snapshot.events:
        if event.object_kind == POD.name:
            of_pods[event.namespace, event.object_name].append(event)
        elif event.object_kind == NODE.name:
            of_nodes[event.object_name].append(event)
    return {key: tuple(pod_events) for key, pod_events in of_pods.items()}, {
        key: tuple(node_events) for key, node_events in of_nodes.items()
    }


def _is_about(event: Event, pod: Pod, container: str) -> bool:
    """Whether an event of `pod` may concern `container`: events carry no container field here, but kubelet's texts name
    it (``Container api failed liveness probe``, ``container=api``, ``failed container api in pod``)."""
    if event.object_uid and pod.uid and event.object_uid != pod.uid:
        return False
    words = set(event.message.replace("=", " ").replace('"', " ").replace(",", " ").split())
    named = {spec_container.name for spec_container in (*pod.spec.containers, *pod.spec.init_containers)} & words
    return container in named or not named


def _lines_of(logs: Iterable[PodLog], container: str, *, alone: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(current lines, lines of the previous container); a log that names no container counts where there is only one."""
    current: list[str] = []
    previous: list[str] = []
    for log in logs:
        if log.container == container or (not log.container and alone):
            (previous if log.is_previous else current).extend(content(log))
    return tuple(current), tuple(previous)


# ── the same program elsewhere ───────────────────────────────────────────────────────────────────────────────────────
def image_repository(image: str) -> str:
    """``registry/path/api:2026.1@sha256:…`` → ``registry/path/api``."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def is_same_program(container: Container, other: Container) -> bool:
    """Whether two containers run the same program: the same image repository, or (environments often have registries
    of their own) the same last part of it under the same container name."""
    own_repository, theirs = image_repository(container.image), image_repository(other.image)
    if not own_repository or not theirs:
        return False
    if own_repository == theirs:
        return container.name == other.name or container.program == other.program
    return own_repository.rpartition("/")[2] == theirs.rpartition("/")[2] and container.name == other.name


_Program = tuple[str, str, str]


def _program(container: Container) -> _Program:
    """All that `is_same_program` looks at."""
    return container.image, container.name, container.program


class Population:
    """All cases, with a way to the working peers and the siblings of one of them.

    What is asked again and again (who works, who is whose peer, how many working pods print a line) is worked out once.
    """

    def __init__(self, all_cases: Sequence[ContainerCase]) -> None:
        self.cases = tuple(all_cases)
        self._working: defaultdict[str, list[ContainerCase]] = defaultdict(list)  # by the image's last part
        self._siblings: defaultdict[tuple[str, str], list[ContainerCase]] = defaultdict(list)
        self._peers: dict[_Program, tuple[ContainerCase, ...]] = {}
        self._summaries: dict[_Program | int, Peers | None] = {}
        self.printed_by_working: Counter[str] = Counter()  # alarming template → working pods that print it
        for case in self.cases:
            self._siblings[case.key].append(case)
            if case.works:
                self._working[_last_part(case.container.image)].append(case)
                if case.has_log:
                    self.printed_by_working.update(case.digest.alarming.keys())

    def siblings(self, case: ContainerCase) -> Sequence[ContainerCase]:
        """The same container in every pod of its workload, `case` too."""
        return self._siblings[case.key]

    def peers(self, case: ContainerCase) -> tuple[ContainerCase, ...]:
        """Working containers that run the same program, in any namespace, `case` left out."""
        program = _program(case.container)
        if program not in self._peers:
            alike = self._working[_last_part(case.container.image)]
            self._peers[program] = tuple(
                peer_case for peer_case in alike if is_same_program(case.container, peer_case.container)
            )
        peers = self._peers[program]
        return tuple(container_case for container_case in peers if container_case is not case) if case.works else peers

    def summary(self, case: ContainerCase) -> Peers | None:
        """What the program is given and uses where it works; None where it works nowhere else."""
        key = id(case) if case.works else _program(case.container)  # who works is left out of its own peers
        if key not in self._summaries:
            self._summaries[key] = self._summary(case)
        return self._summaries[key]

    def _summary(self, case: ContainerCase) -> Peers | None:
        peers = self.peers(case)
        if not peers:
            return None
        return Peers(
            workloads=tuple(sorted({peer.workload for peer in peers})),
            pods=len(peers),
            memory_request_bytes=_largest(peer.container.requests.get(MEMORY) for peer in peers),
            memory_limit_bytes=_largest(peer.container.limits.get(MEMORY) for peer in peers),
            cpu_request_millicores=_largest(peer.container.requests.get(CPU) for peer in peers),
            cpu_limit_millicores=_largest(peer.container.limits.get(CPU) for peer in peers),
            working_set_bytes=_largest(peer.usage.working_set_bytes for peer in peers if peer.usage),
            startup_seconds=max(
                (startup for peer in peers if (startup := peer.startup_seconds) is not None), default=None
            ),
        )


def _largest(amounts: Iterable[int | None]) -> int | None:
    return max((amount for amount in amounts if amount is not None), default=None)


@lru_cache(4_096)
def _last_part(image: str) -> str:
    return image_repository(image).rpartition("/")[2]
