"""Records and words of the room that a rollout needs on any cluster; `planner.remedies.needed_room` works it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from planner.ground.quantity import format_amount
from planner.ground.records import Record
from planner.ground.well_known_names import CPU, MEMORY, is_extended_resource
from planner.ground.words import NO_WORDS, Text, count, listing
from planner.kubernetes.accelerator_units import Units
from planner.kubernetes.accelerators import is_gpu_resource, once
from planner.kubernetes.object_records import EMPTY, Amounts


class Need(StrEnum):
    """What a rollout needs of a cluster that holds its workload exactly."""

    NOTHING = "nothing"
    ROOM = "room"
    SAME_NODE = "same_node"  # room, or none, and the new pod must land on the node of the old one
    NEVER = "never"  # it completes on no cluster
    UNKNOWN = "unknown"


class PodsToPlace(Record):
    """So many pods of one shape; `role`: of a group that has several; `words`: what one requests."""

    count: int
    requests: Amounts = EMPTY
    role: str = ""
    words: Text = NO_WORDS


class NeedAtReplicas(Record):
    """What a rollout needs at `first` to `last` replicas; `last` None: from `first` on."""

    first: int
    last: int | None
    need: Need
    places: int


class ManifestCure(Record):
    """A change of the manifest with which it needs none. `manifest`: what the manifest has then, `kustomize`: the same as a patch of a
    kustomization; both YAML. `lowest_ready`: of `replicas` pods, at the worst moment. `values`: what a file of values has, where the chart's
    folder is given; `no_values`: why that isn't known."""

    title: str
    lowest_ready: int
    replicas: int
    manifest: str
    kustomize: str
    values: str = ""
    no_values: str = ""


class RoomNeed(Record):
    """What one rollout, or several together, need.

    Attributes
    ----------
    places : how many more of what rolls (a pod, or a group of pods) find room; 0: it completes on a full cluster
    pods : the pods of these places, by shape
    is_per_node : the room is needed on each node (a DaemonSet's)
    is_on_its_node : the room is needed on the node that its pods share, or of those that they have to be near to
    needs_same_node : the new pod must land on the node of the old one; `shares_one_node`: all its pods must be on one node
    claims : those that attach to one node, for which it must
    is_proven : no placement needs more, for this workload alone
    lowest_ready : Ready pods at the worst moment, of `size` a replica, with that room
    by_replicas : what it needs at each number that its autoscaler may set; () without one
    fits_spare : what the policy says a node always has free is room enough
    """

    need: Need
    places: int = 0
    unit: str = "pod"
    pods: tuple[PodsToPlace, ...] = ()
    is_per_node: bool = False
    is_on_its_node: bool = False
    in_other_zone: bool = False
    needs_same_node: bool = False
    shares_one_node: bool = False
    claims: tuple[str, ...] = ()
    is_proven: bool = False
    lowest_ready: int | None = None
    replicas: int = 0
    by_replicas: tuple[NeedAtReplicas, ...] = ()
    cures: tuple[ManifestCure, ...] = ()
    fits_spare: bool = False
    size: int = 1
    seconds: float = 0.0

    @property
    def words(self) -> str:
        """``room for 1 more pod (1 GPU, 4 CPU, 16 GiB on one node)``."""
        number, what = self.parts
        return f"room for {number} {what}"

    @property
    def parts(self) -> tuple[str, str]:
        """``1 more pod`` and ``(1 GPU, 4 CPU, 16 GiB on one node)``."""
        if len(self.pods) > 1 or self.unit != "pod":
            each = [f"{_called(pods)} ({_asks(pods)})" for pods in self.pods]
            if self.unit == "pod":
                total = sum(pods.count for pods in self.pods)
                return f"{total:,} more pods:", listing(each, most=None)
            return count(self.places, f"more {self.unit}", f"more {self.unit}s"), f"({listing(each, most=None)})"
        pod_set = self.pods[0]
        if self.is_per_node:
            return "1 more pod on each node", f"({_asks(pod_set)})"
        where = "on the node of its pods" if self.is_on_its_node else "on one node"
        if pod_set.count > 1:
            where = f"{where} together" if self.is_on_its_node else f"{where} each"
        if self.in_other_zone:
            where = f"{where} of another zone"
        return count(pod_set.count, "more pod", "more pods"), f"({_asks(pod_set)} {where})"

    @property
    def pod_count(self) -> int:
        """How many more pods find room: a group's place is one of each of its pods."""
        return sum(pods.count for pods in self.pods) * (1 if self.unit == "pod" else self.places)

    @property
    def headline(self) -> str:
        """``needs room for 1 more pod and the old pod's node``: the sentence in a dozen words."""
        node = "all its pods on one node" if self.shares_one_node else "the old pod's node"
        room = f"room for {self.parts[0].rstrip(':')}" if self.places else ""
        return f"needs {' and '.join(filter(None, (room, node if self.needs_same_node else '')))}"

    @property
    def sentence(self) -> str:
        """``needs room for 1 more pod (…) while it rolls out``; of what needs room, the same node, or never completes."""
        if self.need is Need.NEVER:
            return "completes on no cluster, however much room there is"
        if any(step.places for step in self.by_replicas):
            sentence = f"needs room while it rolls out: {self._at_each_number}"
        else:
            sentence = f"needs {self.words} while it rolls out" if self.places else ""
        if not self.needs_same_node:
            return sentence
        where = "the new pod must land on the old pod's node"
        if self.shares_one_node:
            where = "all its pods must be on one node"
            where += ", the new ones beside the old ones" if self.places else ""
        because = f"{self.claims_attach} to one node (unless its driver attaches to many, such as NFS)"
        return f"{sentence or 'needs no more room'}, {'and' if sentence else 'but'} {where}: {because}"

    @property
    def claims_attach(self) -> str:
        """``claim data attaches``."""
        names = listing(list(self.claims))
        return f"claim {names} attaches" if len(self.claims) == 1 else f"claims {names} attach"

    @property
    def _at_each_number(self) -> str:
        """``at 1 to 3 replicas room for 1 more pod (…), from 4 on none``."""
        if len(self.by_replicas) == 1 and self.places:
            return f"at each number of replicas {self.words}"
        need_texts = []
        for need_step in self.by_replicas:
            if need_step.last is None:
                at = f"from {need_step.first} on"
            elif need_step.last == need_step.first:
                at = f"at {count(need_step.first, 'replica')}"
            else:
                at = f"at {need_step.first} to {need_step.last} replicas"
            if need_step.need is Need.NOTHING or not need_step.places:
                need_texts.append(f"{at} {'none' if need_step.need is Need.NOTHING else 'no more room'}")
            else:
                need_texts.append(f"{at} room for {count(need_step.places, f'more {self.unit}', f'more {self.unit}s')}")
        return f"{', '.join(need_texts)} {self.parts[1] if self.pods else ''}".rstrip()


def _called(pods: PodsToPlace) -> str:
    """``1 leader pod``, ``2 pods of ml/app``, ``2 worker pods of ml/app``."""
    role, _, of = pods.role.rpartition("of ") if "of " in pods.role else (pods.role, "", "")
    noun = f"{role.strip()} pod" if role.strip() else "pod"
    return f"{count(pods.count, noun)}{f' of {of}' if of else ''}"


def _asks(pods: PodsToPlace) -> str:
    return str(pods.words) or "no requests"


def request_words(units: Units, requests: Mapping[str, int]) -> Text:
    """``1 GPU, 4 CPU, 16 GiB``: devices first."""
    return Text(", ".join(_parts(units, requests)))


_BINARY: Final = {"Ki": "KiB", "Mi": "MiB", "Gi": "GiB", "Ti": "TiB"}


def _parts(units: Units, requests: Mapping[str, int]) -> Sequence[str]:
    parts_text = [words] if (words := units.words(requests)) else []
    names = [name for name in requests if is_extended_resource(name) and not is_gpu_resource(name)]
    parts_text += [f"{requests[name]:,} {name}" for name in names if name in once(requests)]
    if requests.get(CPU):
        parts_text.append(f"{format_amount(requests[CPU], CPU)} CPU")
    if requests.get(MEMORY):
        parts_text.append(_bytes(requests[MEMORY]))
    others = [name for name in requests if name not in (CPU, MEMORY) and not is_extended_resource(name)]
    return [*parts_text, *(f"{_bytes(requests[name])} of {name}" for name in others if requests[name])]


def _bytes(amount: int) -> str:
    """``16 GiB``, ``1536 MiB``; exact."""
    text = format_amount(amount, MEMORY)
    unit = text[-2:]
    return f"{text[:-2]} {_BINARY[unit]}" if unit in _BINARY else f"{text} bytes"
