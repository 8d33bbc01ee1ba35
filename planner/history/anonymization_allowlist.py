"""Words that anonymization keeps: Kubernetes' own, clouds' and event writers' (``anonymization_allowlist.json``).
`anonymization` renames all others. Reasons of statuses are in `planner.kubernetes.status_reasons`.

Sources: kubernetes `staging/src/k8s.io/api` (enumerations, condition types and reasons), `pkg/kubelet/events/event.go`,
`pkg/kubelet/images/types.go`, `pkg/scheduler/framework/plugins/*` (`ErrReason…`), `pkg/controller/*` (events).
"""

from __future__ import annotations

import json
import re
from typing import Final

from planner.ground import well_known_names
from planner.ground.data_files import table_beside
from planner.inventory import api_types
from planner.kubernetes import status_reasons
from planner.kubernetes.accelerators import tables
from planner.kubernetes.clouds import CLOUDS
from planner.kubernetes.pod_template_kinds import TEMPLATED
from planner.kubernetes.unplayed_kinds import LISTED
from planner.kubernetes.volume_attach_rules import ATTACHING
from planner.kubernetes.workload_kinds import NODE, OLD_GROUP, POD, REPLICATION_CONTROLLER

_ADDRESS: Final = r"(?<![\w.])(?:\d{1,3}([.-]))(?:\d{1,3}\1){2}\d{1,3}(?![\w.-]*\d)"
PART: Final = re.compile(rf"{_ADDRESS}|[^-./:@\s]+")
"""What a name is taken apart into; an address of IPv4 is one part, as it stands in the names of nodes too."""
WORD: Final = re.compile(rf"{_ADDRESS}|[^\W_]+(?:'[a-z]+)?")
"""What a sentence is taken apart into."""
_NUMBER: Final = re.compile(r"v?\d{1,7}(?:%|m|k|s|h|g|gb|[KMGTPE]i?)?")
_NOT_MATCHABLE: Final = frozenset({"0.0.0.0", "127.0.0.1"})

_WORDS: Final = {
    sort: " ".join(lines) for sort, lines in json.loads(table_beside(__name__, "anonymization_allowlist.json")).items()
}
"""Of enumerations, in names, of programs, in sentences."""


def matched_texts(pattern: re.Pattern[str], text: str) -> list[str]:
    """What of `text` is as `PART` or `WORD` says, in its order."""
    return [match.group() for match in pattern.finditer(text)]


def _parts_of_tables() -> set[str]:
    """Of label keys, resources and kinds that the planner knows by name."""
    ours = [
        value for name, value in vars(well_known_names).items() if name.isupper()
    ]  # not where the module stands on this machine
    texts = [value for value in ours if isinstance(value, str)]
    texts += [text for value in ours if isinstance(value, frozenset | tuple) for text in value]
    texts += [accelerator.resource for accelerator in tables().accelerators]
    texts += [*VALUED, *ATTACHING]  # whether volumes attach depends on the driver's name where no CSIDrivers are kept
    texts += [listed_kind.group for listed_kind in LISTED.values()] + [
        OLD_GROUP
    ]  # an owner's tells its kind from another project's
    texts += [
        key
        for cloud in CLOUDS
        for key in (*cloud.pool, *cloud.marks, *cloud.zone, *cloud.region, *cloud.machine_type, *cloud.count)
    ]
    return {part.rstrip("*") for text in texts if len(text) < 80 for part in matched_texts(PART, text)}


VALUED: Final = (
    *dict.fromkeys(
        key
        for cloud in CLOUDS
        for key in (*cloud.zone, *cloud.region, *cloud.machine_type, *cloud.model, *cloud.count, *cloud.bought)
    ),
    well_known_names.ARCHITECTURE,
    well_known_names.OPERATING_SYSTEM,
    well_known_names.OLD_ARCHITECTURE,
    well_known_names.OLD_OPERATING_SYSTEM,
    well_known_names.GKE_GPU_PARTITION_SIZE,
    well_known_names.GKE_GPU_SHARING_STRATEGY,
    well_known_names.GKE_MAX_SHARED_CLIENTS,
    well_known_names.NVIDIA_GPU_REPLICAS,
    well_known_names.NVIDIA_SHARING_STRATEGY,
)
"""Label keys with values that all clusters have: zones, machine types, GPU models, how a node was bought."""
_OF_MACHINES: Final = (
    "karpenter.k8s.aws/instance-", "eks.amazonaws.com/instance-", "karpenter.azure.com/sku-", "karpenter.k8s.gcp/instance-",
    "karpenter.kwok.sh/instance-", "cloud.google.com/machine-family", "cloud.google.com/gke-gpu-driver-version",
    "cloud.google.com/gke-os-distribution", "cloud.google.com/gke-max-pods-per-node", "cloud.google.com/gke-cpu-scaling-level",
)  # fmt: skip
"""What keys begin with that tell a machine's family, size and parts: NodePools choose by them."""
_KINDS: Final = {
    NODE.name,
    POD.name,
    REPLICATION_CONTROLLER,
    *api_types.READ,
    *(templated.kind for templated in TEMPLATED),
}
ENUMERATIONS: Final = frozenset(_WORDS["enumerations"].split()) | status_reasons.WORDS | _KINDS
NAMES: Final = frozenset(_WORDS["names"].split()) | ENUMERATIONS | _parts_of_tables()
PROGRAMS: Final = frozenset(_WORDS["programs"].split())
_SENTENCES: Final = ("sentences", "enumerations", "names")
_SAID: Final = frozenset(
    word.lower()
    for word in re.findall(r"[A-Za-z']+", " ".join([*map(_WORDS.__getitem__, _SENTENCES), *status_reasons.WORDS]))
)


def is_plain_number(part: str) -> bool:
    """A short number, which is an amount, a port, a version; a long one is an account's, an address tells a machine."""
    return part in _NOT_MATCHABLE or _NUMBER.fullmatch(part) is not None


def is_valued(key: str) -> bool:
    """Whether a label's key and its values are the same in everybody's cluster."""
    return key in VALUED or key.startswith(_OF_MACHINES)


def is_said(word: str) -> bool:
    """Whether a word of a sentence is one that Kubernetes and clouds say."""
    return word.lower() in _SAID or word in NAMES or is_plain_number(word)
