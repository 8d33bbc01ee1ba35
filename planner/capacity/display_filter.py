"""The display filter: which namespaces, pools and GPU models a page, command or table shows.

A filter changes nothing that is worked out: placements, prices and verdicts are the whole cluster's. It says which
workloads, pods, nodes and findings are listed, and a list of fewer says so (`Kept.said`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields
from typing import Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.words import NO_WORDS, Text, choice, count, listing, plural
from planner.kubernetes.node_properties import NO_POOL, node_pool
from planner.kubernetes.object_records import EMPTY, Labels, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.selectors import labels_match, read_selector
from planner.kubernetes.workload_kinds import NODE, POD, WORKLOADS
from planner.rollout.answers import Verdict
from planner.rollout.verdict_wording import WORD

_WORKLOADS: Final = frozenset(kind.name for kind in WORKLOADS)
"""How a node that says no pool is asked for."""


class Filter(Record):
    """Which part is listed; all that is asked for has to hold. Empty: everything."""

    search: str = setting("", form="TEXT", is_everyday=True, help="Only what has this in its name; case doesn't count.")
    namespaces: tuple[str, ...] = setting(
        (), name="namespace", short="-n", form="NAME", is_everyday=True, help="Only this namespace."
    )
    labels: str = setting(
        "", name="label", label="Labels", short="-l", form="SELECTOR",
        is_everyday=True, help="Only workloads with these labels, of their own or of their pods, as kubectl -l takes them: app=api,tier!=test.",
    )  # fmt: skip
    verdicts: tuple[Verdict, ...] = setting(
        (),
        name="verdict",
        help="Only workloads with this verdict: how their rollout would end if their template changed now.",
    )
    pools: tuple[str, ...] = setting(
        (), name="pool", form="NAME", help=f'Only this node pool, and what has pods on it; "{NO_POOL}" is one too.'
    )

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, field.name) for field in fields(self))


class Selection(Record):
    """What a filter lets through of a snapshot. `filter_words`: ``in namespace prod``, or empty where nothing is filtered."""

    said: Text = NO_WORDS
    workloads: frozenset[str] = frozenset()  # keys
    pods: frozenset[str] = frozenset()  # namespace/name
    nodes: frozenset[str] = frozenset()  # names
    namespaces: frozenset[str] = frozenset()  # those with something of it
    pools: frozenset[str] = frozenset()  # those with a node of it

    @property
    def is_all(self) -> bool:
        return not self.said

    def workload(self, key: str) -> bool:
        return self.is_all or key in self.workloads

    def pod(self, namespace: str, name: str) -> bool:
        return self.is_all or f"{namespace}/{name}" in self.pods

    def node(self, name: str) -> bool:
        return self.is_all or name in self.nodes

    def namespace(self, name: str) -> bool:
        return self.is_all or name in self.namespaces

    def pool(self, name: str) -> bool:
        return self.is_all or name in self.pools

    def about(self, key: str) -> bool:
        """Whether a finding's object passes; one about all that was read ("") always does."""
        kind, _, name = key.partition("/")
        if self.is_all or not key or key in self.workloads:
            return True
        if kind == NODE.name:
            return name in self.nodes
        if kind == POD.name:
            return name in self.pods
        return kind not in _WORKLOADS and name.partition("/")[0] in self.namespaces

    def only(self, key: str, existing: Iterable[str]) -> Selection:
        """What it lets through of one workload; of "" all.

        Raises
        ------
        InputError
            For a workload that isn't among `existing`.
        """
        if not key:
            return self
        _check("workload", (key,), existing)
        kept = frozenset({key}) if self.workload(key) else frozenset()
        return Selection(said=Text(", ".join(filter(None, (f"of {key}", str(self.said))))), workloads=kept)

    def headline(self, shown: int, total: int, noun: str) -> Text:
        """``5 workloads in namespace prod; 15 hidden``."""
        return Text(f"{count(shown, noun)} {self.said}; {total - shown:,} hidden")

    def beside(self, whole: str | Text, shown: int, total: int, noun: str) -> Text:
        """What is listed, then `whole`, the whole cluster's sentence, named as that."""
        return Text(f"{self.headline(shown, total, noun)}. Whole cluster: {whole}")


ALL: Final = Selection()


def keep(snapshot: Snapshot, query: Filter, verdicts: Mapping[str, Verdict] = EMPTY) -> Selection:
    """What `query` lets through. A workload is in a pool where it has pods on its nodes; a node is listed for the pods on it.

    `verdicts` of each workload's own rollout (`overview`) are only needed where the filter asks for one.

    Raises
    ------
    InputError
        For a selector that can't be read, and for a namespace or a pool that isn't in the snapshot.
    """
    if query.is_empty:
        return ALL
    pool_of = {node.name: node_pool(node) or NO_POOL for node in snapshot.nodes}
    _check("namespace", query.namespaces, namespaces_of(snapshot))
    _check("pool", query.pools, pool_of.values())
    keys = workload_keys(snapshot)
    own: dict[str, Labels | dict[str, str]] = {w.key: {**w.template.labels, **w.labels} for w in snapshot.workloads}
    passes = _passes(query, verdicts)
    pods, nodes, workloads = set(), set(), set()
    for pod in snapshot.pods:
        key, is_there = keys[pod.uid], not query.pools or pool_of.get(pod.node_name) in query.pools
        if is_there and passes(key, pod.namespace, {**pod.labels, **own.get(key, EMPTY)}, pod.name):
            pods.add(f"{pod.namespace}/{pod.name}")
            nodes.add(pod.node_name)
            workloads.add(key)
    if not query.pools:
        workloads |= {w.key for w in snapshot.workloads if passes(w.key, w.namespace, own[w.key])}
    if not (
        query.namespaces or query.labels or query.verdicts
    ):  # only --pool and --search are given, and these name nodes as well
        pool_nodes = [name for name, pool in pool_of.items() if not query.pools or pool in query.pools]
        nodes |= {name for name in pool_nodes if query.search.casefold() in name.casefold()}
    return _kept(query, pods, nodes, workloads, pool_of)


def _passes(query: Filter, verdicts: Mapping[str, Verdict]) -> Callable[..., bool]:
    selector, sought = read_selector(query.labels), query.search.casefold()

    def passes(key: str, namespace: str, labels: Mapping[str, str], *names: str) -> bool:
        return (
            (not query.namespaces or namespace in query.namespaces)
            and (not sought or any(sought in name.casefold() for name in (key, *names)))
            and (not query.labels or labels_match(selector, labels))
            and (not query.verdicts or verdicts.get(key) in query.verdicts)
        )

    return passes


def _kept(query: Filter, pods: Set[str], nodes: Set[str], workloads: Set[str], pool_of: Mapping[str, str]) -> Selection:
    return Selection(
        said=filter_words(query),
        workloads=frozenset(workloads),
        pods=frozenset(pods),
        nodes=frozenset(nodes & pool_of.keys()),
        namespaces=frozenset(name.partition("/")[0] for name in pods) | {key.split("/")[1] for key in workloads},
        pools=frozenset(pool_of[name] for name in nodes if name in pool_of),
    )


def namespaces_of(snapshot: Snapshot) -> frozenset[str]:
    """Every namespace that something is in."""
    of = {workload.namespace for workload in snapshot.workloads} | {pod.namespace for pod in snapshot.pods}
    return frozenset(of | {namespace.name for namespace in snapshot.namespaces})


def filter_words(query: Filter) -> Text:
    """``in namespace prod, with app=api, with verdict stuck, on pool gpu-t4``."""
    parts = []
    if query.namespaces:
        parts.append(f"in {plural(len(query.namespaces), 'namespace')} {listing(query.namespaces, most=None)}")
    if query.labels:
        parts.append(f"with {query.labels}")
    if query.verdicts:
        parts.append(f"with verdict {' or '.join(WORD[verdict].lower() for verdict in query.verdicts)}")
    if query.pools:
        parts.append(f"on {plural(len(query.pools), 'pool')} {listing(query.pools, most=None)}")
    if query.search:
        parts.append(f"with “{query.search}” in the name")
    return Text(", ".join(parts))


_OPTIONS: Final = {"namespace": "-n", "pool": "--pool"}


def _check(what: str, names: Iterable[str], existing: Iterable[str]) -> None:
    choices = sorted(set(existing))
    for name in names:
        if name not in choices:
            parts, option = name.split(","), _OPTIONS.get(what, "-w")
            several = (
                f"Give each {what} by itself (as options: {' '.join(f'{option} {part}' for part in parts)})"
                if len(parts) > 1 and set(parts) <= set(choices)
                else ""
            )
            raise InputError(
                f'there is no {what} "{name[:60]}" in the snapshot', where=what, fix=several or choice(name, choices)
            )
