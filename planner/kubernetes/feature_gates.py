"""Feature gates by Kubernetes minor version: the defaults on which a rule here depends.

What is recorded was recorded with `RECORDED`. The snapshot has no version of the API server: its nodes' newest kubelet stands for it,
which is of the same version or an earlier one (version skew policy). The API server drops a field while its gate is off, so that an
object in the cluster that has it shows the gate to be on, whatever the default is.

Sources: kubernetes `pkg/features/kube_features.go` of 1.28 to 1.36 and `pkg/scheduler/.../features` of 1.37 (each gate's `Version`,
`Default`); kubernetes/website `feature-gates/*.md`, for MaxUnavailableStatefulSet by patch release (kubernetes#137904: off since 1.35.4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.node_properties import minor_version
from planner.kubernetes.object_records import Finding, PodSpec, Severity, Snapshot

RECORDED: Final = 36
"""The minor version whose controllers and scheduler were recorded."""
FIRST: Final = 28
LAST: Final = 37
"""The versions that the table is about; those before count as the first, those after as the last."""


class Gate(Record):
    """A feature gate that a rule depends on.

    Attributes
    ----------
    on_since : the first minor version that has it on by default; None: none up to `LAST`
    known_since : the first that has it at all
    rule : what depends on it, in a few words
    otherwise : what the planner does where it is off and nothing shows it to be on
    fields : where an object asks for it beside its pods, as paths below ``spec``
    exceptions : minor versions in which it is on in some patch releases only, or is carried out by other rules than the recorded
    """

    name: str
    on_since: int | None
    known_since: int
    rule: str
    otherwise: str = "not known"
    fields: tuple[str, ...] = ()
    exceptions: tuple[int, ...] = ()

    def is_on(self, minor: int) -> bool:
        """Whether it is on by default in ``1.<minor>``, in every patch release."""
        since = self.on_since
        return since is not None and min(max(minor, FIRST), LAST) >= since and minor not in self.exceptions

    def state(self, minor: int) -> str:
        """``on``, ``off``, ``-`` where there is none, and ``on or off`` where patch releases differ."""
        if minor in self.exceptions and not (self.on_since is not None and minor >= self.on_since):
            return "on or off"
        return "on" if self.is_on(minor) else "off" if minor >= self.known_since else "-"


class Becomes(StrEnum):
    """What is made here of a change of Kubernetes."""

    PLAYED = "played"
    NOT_PLAYED = "not played"  # by the recorded version's rules instead
    NOT_KNOWN = "not known"
    NO_EFFECT = "no effect"


class VersionChange(Record):
    """A change of a part of Kubernetes in ``1.<minor>``, and why it becomes what it does."""

    minor: int
    part: str
    change: str
    becomes: Becomes
    why: str
    source: str


CHANGES: Final = typed_json.decode(table_beside(__name__, "version_changes.json"), tuple[VersionChange, ...])
"""What versions after the recorded changed, as far as it was read: CHANGELOG/CHANGELOG-1.37.md up to v1.37.0-alpha.1, the pull requests of
alpha.2, and the scheduler's feature gates of 1.37."""


_DEVICES: Final = "DynamicResourceAllocation"
_ASKS: Final[Mapping[str, Callable[[PodSpec], bool]]] = {
    "SidecarContainers": lambda spec: bool(spec.sidecars),
    "PodLevelResources": lambda spec: bool(spec.pod_requests or spec.pod_limits),
    "MatchLabelKeysInPodAffinity": lambda spec: any(
        term.match_label_keys or term.mismatch_label_keys for term in (*spec.pod_affinity, *spec.pod_anti_affinity)
    ),
    "TaintTolerationComparisonOperators": lambda spec: any(
        toleration.operator in ("Lt", "Gt") for toleration in spec.tolerations
    ),
    _DEVICES: lambda spec: bool(spec.resource_claims),
}
"""Whether a pod asks for what a gate guards; of the others a pod's spec doesn't tell. A group's is left out: its rules aren't
modelled, on or off."""

GATES: Final = typed_json.decode(table_beside(__name__, "feature_gates.json"), tuple[Gate, ...])
"""Every gate that a rule depends on."""
GANGS: Final = next(gate for gate in GATES if gate.name == "GenericWorkload")
MAX_UNAVAILABLE: Final = next(gate for gate in GATES if gate.name == "MaxUnavailableStatefulSet")


@once_a_snapshot
def minor_of(snapshot: Snapshot) -> int | None:
    """The minor version of the newest kubelet; None where no node tells one."""
    each = {node.kubelet_version: node for node in snapshot.nodes}  # of thousands of nodes a few
    return max((minor for node in each.values() if (minor := minor_version(node)) is not None), default=None)


def read_minor(text: str) -> int:
    """The minor version of ``1.36``, ``v1.36.2``.

    Raises
    ------
    InputError
        For a text that is none, or a version that the tables of fields don't go back to.
    """
    match = re.fullmatch(r"v?1\.(\d{1,2})(\.\S*)?", text.strip())
    if match is None or not FIRST <= int(match[1]) <= LAST:
        what = f'"{text[:40]}" is no version of Kubernetes that is known here'
        raise InputError(what, fix=f"Give 1.{FIRST} to 1.{LAST}")
    return int(match[1])


def not_recorded(snapshot: Snapshot) -> str:
    """One sentence where the snapshot is of another version than the recorded; "" else."""
    minor = minor_of(snapshot)
    if minor is None or minor == RECORDED:
        return ""
    return f"Its nodes run Kubernetes 1.{minor}: answers are by documentation, not recorded (1.{RECORDED} is)"


def newer_than_recorded(snapshot: Snapshot) -> str:
    """What keeps an answer about a version after the recorded from being proven; "" of others."""
    minor = minor_of(snapshot)
    if minor is None or minor <= RECORDED:
        return ""
    changed = [change for change in CHANGES if change.minor <= minor and change.becomes is Becomes.NOT_PLAYED]
    more = f", and {len(changed)} changes since 1.{RECORDED} aren't played" if changed else ""
    return f"nothing of Kubernetes 1.{minor} is recorded{more} (docs/versions.md)"


def version_findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """`not_recorded`, as an answer's note."""
    what = not_recorded(snapshot)
    code = "version-not-recorded"
    return (Finding(severity=Severity.INFO, code=code, object="", what=what),) if what else ()


def doubted(snapshot: Snapshot, spec: PodSpec) -> tuple[Gate, ...]:
    """Gates that the pods need, that are off by default in the snapshot's version, and that no pod there shows to be on."""
    minor = minor_of(snapshot)
    minor = RECORDED if minor is None else minor
    needed = [gate for gate in GATES if gate.name in _ASKS and not gate.is_on(minor) and _ASKS[gate.name](spec)]
    return tuple(gate for gate in needed if not snapshot.derived.once(_is_shown, snapshot, gate.name))


def _is_shown(snapshot: Snapshot, gate: str) -> bool:
    """Whether a pod has what the gate guards, or a list is there that only exists with it."""
    if gate == _DEVICES and (snapshot.resource_slices or snapshot.resource_claims or snapshot.device_classes):
        return True
    specs = {id(pod.spec): pod.spec for pod in snapshot.pods}
    return any(map(_ASKS[gate], specs.values()))


def max_unavailable_doubt(snapshot: Snapshot) -> bool:
    """Whether it isn't known what a StatefulSet's maxUnavailable does: in 1.35 some patch releases have it on, and 1.37 carries it out
    by rules that aren't recorded (kubernetes#137666)."""
    minor = minor_of(snapshot)
    return minor is not None and (minor == 35 or minor >= 37)
