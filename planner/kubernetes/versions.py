"""Which feature gates are on by default, by Kubernetes' minor version, as far as a rule here hangs on them.

What is recorded was recorded with `RECORDED`. The snapshot has no version of the API server: its nodes' newest kubelet stands for it,
which is of the same version or an earlier one (version skew policy). A field whose gate is off is dropped by the API server, so that an
object in the cluster that has it shows the gate to be on, whatever the default is.

Sources: kubernetes `pkg/features/kube_features.go` of 1.28 to 1.36 and `pkg/scheduler/.../features` of 1.37 (each gate's `Version`,
`Default`); kubernetes/website `feature-gates/*.md`, for MaxUnavailableStatefulSet by patch release (kubernetes#137904: off since 1.35.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.nodes import minor_version
from planner.kubernetes.records import Finding, PodSpec, Severity, Snapshot

RECORDED: Final = 36
"""The minor version whose controllers and scheduler were recorded."""
FIRST: Final = 28
LAST: Final = 37
"""The versions that the table is about; those before count as the first, those after as the last."""


class Gate(Record):
    """A feature gate that a rule hangs on.

    Attributes
    ----------
    on_since : the first minor version that has it on by default; None: none up to `LAST`
    known_since : the first that has it at all
    rule : what hangs on it, in a few words
    otherwise : what the planner does where it is off and nothing shows it to be on
    exceptions : minor versions in which it is on in some patch releases only, or is carried out by other rules than the recorded
    asks : whether a pod asks for what it guards; None where a pod's spec doesn't tell
    """

    name: str
    on_since: int | None
    known_since: int
    rule: str
    otherwise: str = "not known"
    exceptions: tuple[int, ...] = ()
    asks: Callable[[PodSpec], bool] | None = None

    def is_on(self, minor: int) -> bool:
        """Whether it is on by default in ``1.<minor>``, in every patch release."""
        since = self.on_since
        return since is not None and min(max(minor, FIRST), LAST) >= since and minor not in self.exceptions

    def state(self, minor: int) -> str:
        """``on``, ``off``, ``-`` where there is none, and ``on or off`` where patch releases differ."""
        if minor in self.exceptions and not (self.on_since is not None and minor >= self.on_since):
            return "on or off"
        return "on" if self.is_on(minor) else "off" if minor >= self.known_since else "-"


def _shares_sidecars(spec: PodSpec) -> bool:
    return bool(spec.sidecars)


def _claims(spec: PodSpec) -> bool:
    return bool(spec.resource_claims)


def _asks_as_a_pod(spec: PodSpec) -> bool:
    return bool(spec.pod_requests or spec.pod_limits)


def _names_keys_of_affinity(spec: PodSpec) -> bool:
    terms = (*spec.pod_affinity, *spec.pod_anti_affinity)
    return any(one.match_label_keys or one.mismatch_label_keys for one in terms)


def _compares(spec: PodSpec) -> bool:
    return any(one.operator in ("Lt", "Gt") for one in spec.tolerations)


def _is_of_a_group(spec: PodSpec) -> bool:
    return "schedulingGroup" in spec.unmodelled


MAX_UNAVAILABLE: Final = Gate(
    name="MaxUnavailableStatefulSet", on_since=37, known_since=24, exceptions=(35,),
    rule="maxUnavailable of a StatefulSet",
    otherwise="the field doesn't count, one pod is replaced at a time; from 1.35.0 to 1.35.3 and since 1.37 not known",
)  # fmt: skip
_SHOWN: Final = "the snapshot shows it: an object has the field"
GATES: Final = (
    MAX_UNAVAILABLE,
    Gate(name="SidecarContainers", on_since=29, known_since=28, asks=_shares_sidecars,
         rule="init containers that go on (restartPolicy Always)"),
    Gate(name="PodLevelResources", on_since=34, known_since=32, asks=_asks_as_a_pod, rule="resources of a pod as a whole"),
    Gate(name="MatchLabelKeysInPodAffinity", on_since=31, known_since=29, asks=_names_keys_of_affinity,
         rule="matchLabelKeys, mismatchLabelKeys of pod affinity"),
    Gate(name="MatchLabelKeysInPodTopologySpread", on_since=27, known_since=25, rule="matchLabelKeys of topology spreading"),
    Gate(name="NodeInclusionPolicyInPodTopologySpread", on_since=26, known_since=25,
         rule="nodeAffinityPolicy, nodeTaintsPolicy of topology spreading"),
    Gate(name="MinDomainsInPodTopologySpread", on_since=27, known_since=24, rule="minDomains of topology spreading"),
    Gate(name="PodSchedulingReadiness", on_since=27, known_since=26, rule="schedulingGates"),
    Gate(name="PDBUnhealthyPodEvictionPolicy", on_since=27, known_since=26, rule="unhealthyPodEvictionPolicy of a budget"),
    Gate(name="TaintTolerationComparisonOperators", on_since=None, known_since=35, asks=_compares,
         rule="tolerations that compare numbers (Lt, Gt)"),
    Gate(name="DynamicResourceAllocation", on_since=34, known_since=26, asks=_claims, rule="resourceClaims of a pod"),
    Gate(name="DRAPrioritizedList", on_since=34, known_since=33, rule="firstAvailable of a device request", otherwise=_SHOWN),
    Gate(name="DRAAdminAccess", on_since=34, known_since=32, rule="adminAccess of a device request", otherwise=_SHOWN),
    Gate(name="DRAPartitionableDevices", on_since=36, known_since=33, rule="shared counters of devices", otherwise=_SHOWN),
    Gate(name="DRAConsumableCapacity", on_since=36, known_since=34, rule="devices that several claims share", otherwise=_SHOWN),
    Gate(name="DRADeviceTaints", on_since=36, known_since=33, rule="taints of devices", otherwise=_SHOWN),
    Gate(name="DRADeviceBindingConditions", on_since=36, known_since=34, rule="bindingConditions of devices", otherwise=_SHOWN),
    Gate(name="DRAExtendedResource", on_since=36, known_since=34, rule="extended resources that a DeviceClass stands for",
         otherwise=_SHOWN),
    Gate(name="InPlacePodVerticalScaling", on_since=33, known_since=27, rule="pods resized in place", otherwise=_SHOWN),
    Gate(name="InPlacePodLevelResourcesVerticalScaling", on_since=36, known_since=35, rule="the same of a pod as a whole",
         otherwise=_SHOWN),
    Gate(name="NodeSwap", on_since=30, known_since=22, rule="swap of nodes", otherwise="off unless `--swap` is given"),
    Gate(name="MemoryQoS", on_since=None, known_since=22, rule="memory.high, memory.min", otherwise="off unless `--memory-qos` is given"),
    Gate(name="SchedulerQueueingHints", on_since=32, known_since=28, rule="which events wake a pod that waits",
         otherwise="as recorded: only seconds may differ"),
    Gate(name="SchedulerPopFromBackoffQ", on_since=33, known_since=33, rule="a pod that backs off is tried where no other is",
         otherwise="as recorded: only seconds may differ"),
    Gate(name="GenericWorkload", on_since=None, known_since=35, asks=_is_of_a_group,
         rule="gangs (schedulingGroup), and since 1.37 preemption by group", otherwise="not known, on or off"),
)  # fmt: skip
"""Every gate that a rule hangs on."""


@once_a_snapshot
def minor_of(snapshot: Snapshot) -> int | None:
    """The minor version of the newest kubelet; None where no node tells one."""
    each = {one.kubelet_version: one for one in snapshot.nodes}  # of thousands of nodes a few
    return max((minor for one in each.values() if (minor := minor_version(one)) is not None), default=None)


def not_recorded(snapshot: Snapshot) -> str:
    """One sentence where the snapshot is of another version than the recorded; "" else."""
    minor = minor_of(snapshot)
    if minor is None or minor == RECORDED:
        return ""
    return f"Its nodes run Kubernetes 1.{minor}: answers are by documentation, not recorded (1.{RECORDED} is)"


def version_findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """`not_recorded`, as an answer's note."""
    what = not_recorded(snapshot)
    code = "version-not-recorded"
    return (Finding(severity=Severity.INFO, code=code, object="", what=what),) if what else ()


def doubted(snapshot: Snapshot, spec: PodSpec) -> tuple[Gate, ...]:
    """Gates that the pods need, that are off by default in the snapshot's version, and that no pod there shows to be on.

    A group's gate is left out: its rules aren't modelled, on or off.
    """
    minor = minor_of(snapshot)
    minor = RECORDED if minor is None else minor
    asked = [one for one in GATES if one.asks is not None and one.asks is not _is_of_a_group]
    needed = [one for one in asked if not one.is_on(minor) and one.asks is not None and one.asks(spec)]
    return tuple(one for one in needed if not snapshot.derived.once(_is_shown, snapshot, one))


def _is_shown(snapshot: Snapshot, gate: Gate) -> bool:
    """Whether a pod has what the gate guards, or a list is there that only exists with it."""
    if gate.asks is _claims and (snapshot.resource_slices or snapshot.resource_claims or snapshot.device_classes):
        return True
    specs = {id(one.spec): one.spec for one in snapshot.pods}
    return any(gate.asks is not None and gate.asks(spec) for spec in specs.values())


def max_unavailable_doubt(snapshot: Snapshot) -> bool:
    """Whether it isn't known what a StatefulSet's maxUnavailable does: in 1.35 some patch releases have it on, and 1.37 carries it out
    by rules that aren't recorded (kubernetes#137666)."""
    minor = minor_of(snapshot)
    return minor is not None and (minor == 35 or minor >= 37)
