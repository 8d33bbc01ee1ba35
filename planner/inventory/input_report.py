"""Reports on every input in words: what was read, what is missing, which answers that costs, how to add it."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from planner.ground import words
from planner.ground.errors import NotKnownError
from planner.ground.records import Record
from planner.ground.words import NO_WORDS, Text
from planner.inventory import api_types
from planner.inventory.cluster_oddities import needed_kinds
from planner.inventory.kind_detection import resource_of
from planner.kubernetes.object_records import Presence, Severity, Snapshot
from planner.kubernetes.owners import unjudged, workload_keys
from planner.kubernetes.unplayed_kinds import LISTED, Listed
from planner.kubernetes.workload_kinds import POD, ROLLING, kind_called, kind_in, several

SNAPSHOT_KINDS: Final = (
    *(
        name
        for name, kind in api_types.READ.items()
        if kind.group not in (api_types.DEVICES, api_types.METRICS) and not kind.is_rare
    ),
    *(name for name, listed_kind in LISTED.items() if "." not in listed_kind.group),  # that every server has
)
"""What a snapshot should hold; kubectl lists them with one command, which fails on a kind that the server doesn't have."""

DEVICE_KINDS: Final = ",".join(kind.resource for kind in api_types.READ.values() if kind.group == api_types.DEVICES)
"""To be added where the server has dynamic resource allocation."""

UNCHECKED: Final = "certificate-unchecked"
"""The code of the finding that a live server's certificate isn't checked."""
EXPIRES: Final = "certificate-expires"
"""The code of the finding that a certificate between us and a live server expires soon, or did."""
LEFT_OUT: Final = "store-entry-left-out"
"""The code of the finding that an entry of a store's manifest wasn't read."""

_PARTLY: Final = "the input holds part of the"
_ABSENT: Final = "the input holds no"
_WHOLE: Final = "Take the snapshot again, whole: all kinds at one time, and check that nothing cut it off"

_APART: Final = frozenset({"Event", "PodMetrics"})  # not of the cluster's state; the latter kubectl can't list with it


def get_command(kinds: Iterable[str] = SNAPSHOT_KINDS) -> str:
    """The command that writes all objects of `kinds`."""
    return f"kubectl get {','.join(resource_of(kind) for kind in kinds)} --all-namespaces --output json"


def role(kinds: Iterable[str]) -> str:
    """A ClusterRole that lets list `kinds`, as YAML."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in kinds:
        resource_kind = LISTED[name] if name in LISTED else api_types.READ[name]
        groups[resource_kind.group].append(resource_kind.resource)
    rules = "".join(
        f'  - apiGroups: ["{group}"]\n    resources: [{", ".join(resources)}]\n    verbs: [list]\n'
        for group, resources in groups.items()
    )
    head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: headroom-more\nrules:\n"
    return head + rules


def list_command(kind: str) -> str:
    """The command that writes the API's own list of `kind`, which says its kind where it is empty, too."""
    row = (
        next((listed_kind for listed_kind in LISTED.values() if listed_kind.kind == kind), None)
        if kind not in api_types.READ
        else None
    )
    if row is not None:
        path, resource = row.paths[0], row.resource
    else:
        resource_kind = api_types.READ[kind]
        root, resource = f"/apis/{resource_kind.group}" if resource_kind.group else "/api", resource_kind.resource
        path = f"{root}/{resource_kind.versions[0]}/{resource}"
    return f"kubectl get --raw {path} > {resource}.json"


def _folded(command: str) -> str:
    """The command in lines that a page is wide enough for."""
    kinds, options = command.split(" --all-namespaces", 1)
    lines = textwrap.wrap(kinds.replace(",", ", "), 96, break_on_hyphens=False)
    return "\\\n".join(line.replace(", ", ",") for line in lines) + f" \\\n  --all-namespaces{options}"


SNAPSHOT_COMMAND: Final = _folded(get_command()) + " | gzip > cluster.json.gz"
"""What writes a snapshot."""


def _resources() -> list[str]:
    """Every kind that is read, as ``kubectl api-resources --output name`` calls it."""
    resources = [(kind.resource, kind.group) for kind in api_types.READ.values() if kind.group != api_types.METRICS]
    resources += [(listed_kind.resource, listed_kind.group) for listed_kind in LISTED.values()]
    return list(dict.fromkeys(f"{resource}.{group}" if group else resource for resource, group in resources))


SHELL_COMMAND: Final = (
    "kubectl api-resources --verbs=list --output=name | grep -xE '{}' | while read -r kind; do\n"
    '  kubectl get "$kind" --all-namespaces --output json </dev/null || echo "left out: $kind" >&2\n'
    "done | gzip > cluster.json.gz"
).format("|".join(resource.replace(".", "\\.") for resource in _resources()))  # fmt: skip
"""What writes a snapshot of the kinds that the server has, each by a command of its own: one that is refused fails no other.

Unlike ``headroom dump`` it writes what kubectl gets, environment values among it; they are dropped when the file is read.
"""


def missing(snapshot: Snapshot) -> dict[str, tuple[Severity, str]]:
    """The kinds that answers need and nothing was read or told of → how much, and what they lack without."""
    readable = (Presence.PRESENT, Presence.INFERRED, Presence.PARTIAL)
    needed = needed_kinds(snapshot).items()
    return {kind: cost for kind, cost in needed if snapshot.presence.get(kind) not in readable}


class ServerLoad(Record):
    """Requests of this process to API servers in the last minute, and the most there are to one in any minute."""

    requests_last_minute: int
    most_per_minute: int


class Unseen(Record):
    """A kind without its objects in the input; there may be some.

    `sentence` says so, `lacking` what answers lack without, "" where nothing in this cluster needs them.
    """

    kind: str
    state: Presence
    sentence: Text
    lacking: Text
    fix: Text


def unseen(snapshot: Snapshot) -> tuple[Unseen, ...]:
    """Kinds that were refused or are there in part, or that answers need and were not in the input."""
    needed = needed_kinds(snapshot)
    unseen_kinds = []
    for kind, state in snapshot.presence.items():
        if state.hides or (state is Presence.ABSENT and kind in needed):
            why, fix = _why_unseen(snapshot, kind, state)
            lacking = Text(needed[kind][1]) if kind in needed else NO_WORDS
            unseen_kinds.append(Unseen(kind=kind, state=state, sentence=Text(why), lacking=lacking, fix=Text(fix)))
    return tuple(unseen_kinds)


def not_seen(snapshot: Snapshot) -> list[str]:
    """A sentence for each list that was refused, and one for all that are there in part; with how to fix it."""
    hidden = [gap for gap in unseen(snapshot) if gap.state.hides]
    sentences = [
        f"{gap.sentence}{f': {gap.lacking}' if gap.lacking else ''}. {gap.fix}"
        for gap in hidden
        if gap.state is Presence.REFUSED
    ]
    partial = [gap for gap in hidden if gap.state is Presence.PARTIAL]
    return [*sentences, f"{told(partial)}. {_WHOLE}"] if partial else sentences


def told(lacking: Sequence[Unseen]) -> str:
    """Why these weren't seen, in one sentence; what isn't there, or is cut off for the same reason, once."""
    parts: dict[str, list[str]] = {}
    for gap in lacking:
        _, _, why = str(gap.sentence).partition(": ")
        if gap.state is Presence.PARTIAL:
            parts.setdefault(why, []).append(_many(gap.kind))
        elif gap.state is Presence.ABSENT:
            parts.setdefault(_ABSENT, []).append(_many(gap.kind))
        else:
            parts[str(gap.sentence)] = []
    return words.listing([_why_each(why, kinds) for why, kinds in parts.items()], most=None)


def _why_each(why: str, kinds: Sequence[str]) -> str:
    named = words.listing(kinds, most=None)
    if why == _ABSENT:
        return f"{_ABSENT} {named}"
    return f"{_PARTLY} {named}: {why}" if kinds else why


def how_to_add(lacking: Sequence[Unseen]) -> str:
    """What adds them: one command for all that isn't there."""
    absent = [gap.kind for gap in lacking if gap.state is Presence.ABSENT]
    adds = [f"To add them: {get_command(absent)}"] if absent else []
    return "; ".join([*adds, *dict.fromkeys(str(gap.fix) for gap in lacking if gap.state is not Presence.ABSENT)])


def with_command(sentence: str, lacking: Iterable[Unseen]) -> Text:
    """`sentence`, and the command that adds what isn't there."""
    adds = how_to_add([gap for gap in lacking if not gap.state.hides])
    return Text(f"{sentence.removesuffix('.')}. {adds}" if adds else sentence)


def without_workloads(snapshot: Snapshot) -> str:
    """There are none, or they are not in the input: then its pods name them."""
    owners = {key for key in workload_keys(snapshot).values() if kind_in(key).rolls_out}
    absent = [kind.name for kind in ROLLING if snapshot.presence.get(kind.name, Presence.ABSENT).is_lacking]
    if absent and snapshot.lacks(POD.name):  # nothing tells whether there are any
        lacking = [POD.name, *absent]
        return f"Not known: the input holds no {words.listing([several(kind) for kind in lacking], most=None)}. To add them: {get_command(lacking)}"
    if not owners or not absent:
        which = "that Headroom plays" if unjudged(snapshot) else "that rolls out"
        return f"The snapshot holds no workload {which}."
    return (
        f"Not known: the input holds no {words.listing([several(kind) for kind in absent], most=len(absent))}; its pods are of "
        f"{words.count(len(owners), 'workload')}. To add them: {get_command(absent)}"
    )


def _why_unseen(snapshot: Snapshot, kind: str, state: Presence) -> tuple[str, str]:
    many = _many(kind)
    if state is Presence.PARTIAL:
        why = snapshot.reading.partial.get(kind, "")
        return f"{_PARTLY} {many}: {why or 'others tell of more'}", _WHOLE
    if state is Presence.REFUSED:
        return f"the API server refused to list {many} (403)", f"Ask for the right to get and list {resource_of(kind)}"
    return f"{_ABSENT} {many}", f"To add them: {get_command([kind])}"


def listed_in(snapshot: Snapshot) -> tuple[Listed, ...]:
    """Of the kinds that aren't played those that a cluster has to do with: listed, refused, or the owner of pods."""
    seen_kinds = {(unplayed.kind, unplayed.api_group) for unplayed in snapshot.unplayed}
    owners = {kind_in(key).name for unjudged_owner in unjudged(snapshot) for key in unjudged_owner.keys}
    listed_by_kind = {
        row.kind: row for row in reversed(LISTED.values()) if row.kind in owners and not kind_called(row.kind).group
    }
    return tuple(
        listed
        for name, listed in LISTED.items()
        if name in snapshot.presence
        or (listed.kind, listed.group) in seen_kinds
        or listed_by_kind.get(listed.kind) is listed
    )


def _many(kind: str) -> str:
    return kind if kind in LISTED else several(kind)


def hides(snapshot: Snapshot, key: str) -> bool:
    """Whether the list that the workload called `key` would stand in wasn't given, was refused, or is there in part."""
    return snapshot.lacks(kind_in(key).name)


def unseen_kind(snapshot: Snapshot, key: str) -> NotKnownError:
    """Whether there is a workload of that name isn't known: its list wasn't given, was refused, or is there in part."""
    kind = kind_in(key).name
    why, fix = _why_unseen(snapshot, kind, snapshot.presence.get(kind, Presence.ABSENT))
    return NotKnownError(f"whether there is a {key} is not known: {why}", fix=fix)


def read_sentence(snapshot: Snapshot) -> str:
    """``read 83 files: 245 objects, 40 used; not used: 69 ClusterRole, …``: every object and file is in one of the
    numbers."""
    reading = snapshot.reading
    sentences = [
        f"read {words.count(reading.files, 'file')}: {words.count(reading.objects, 'object')}, {reading.used:,} used",
    ]
    if reading.other_kinds:
        sentences.append(f"not used: {_counted(reading.other_kinds)}")
    if reading.repeated:
        sentences.append(f"there more than once: {reading.repeated:,}")
    if reading.unreadable:
        sentences.append(f"damaged and left out: {reading.unreadable:,}")
    if reading.foreign:
        sentences.append(
            f"{words.count(reading.foreign, 'value')} in {words.count(max(1, reading.foreign_files), 'file')} "
            f"{'is no object' if reading.foreign == 1 else 'are no objects'} of Kubernetes"
        )
    if reading.passed_over:
        sentences.append(f"files not looked into: {_counted(reading.passed_over)}")
    return "; ".join(sentences)


def missing_sentence(snapshot: Snapshot, but: Collection[str] = ()) -> str:
    """What the input lacks and what that costs; "" when nothing is lacking. `but`: the kinds that the answer tells of."""
    costs = missing(snapshot)
    lacking = "; ".join(f"{kind} ({costs[kind][1]})" for kind in _to_add(snapshot, but))
    return f"not in the input: {lacking}" if lacking else ""


def missing_command(snapshot: Snapshot, but: Collection[str] = ()) -> str:
    """The command that writes what the input lacks; "" when nothing is lacking."""
    kinds = _to_add(snapshot, but)
    return get_command(kinds) if kinds else ""


def _to_add(snapshot: Snapshot, but: Collection[str]) -> list[str]:
    refused = {kind for kind, state in snapshot.presence.items() if state is Presence.REFUSED}
    return [kind for kind in missing(snapshot) if kind not in _APART and kind not in refused and kind not in but]


def is_whole(snapshot: Snapshot) -> bool:
    """Whether all that was given was used, and nothing is lacking that verdicts depend on."""
    reading = snapshot.reading
    is_used = reading.objects == reading.used and not reading.foreign and not reading.passed_over
    return is_used and all(severity is Severity.INFO for severity, _ in missing(snapshot).values())


def _counted(counts: Mapping[str, int], most: int = 6) -> str:
    """``69 ClusterRole, 54 RoleBinding and 70 of 5 more kinds``: the most frequent first."""
    ranked = sorted(counts.items(), key=lambda kind_count: (-kind_count[1], kind_count[0]))
    shown = ", ".join(f"{number:,} {name}" for name, number in ranked[:most])
    more_kinds = ranked[most:]
    return (
        f"{shown} and {sum(number for _, number in more_kinds):,} of {words.count(len(more_kinds), 'other')}"
        if more_kinds
        else shown
    )
