"""Rollouts beside which nodes come, go, are cordoned or tainted and replicas change: against the reference, and what must hold in any
cluster."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from planner.capacity.timed_cluster_events import LaterEvents, timeline
from planner.capacity.what_if_syntax import parse_later
from planner.ground.errors import NotKnownError
from planner.ground.records import replace
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.workload_kinds import kind_called
from planner.rollout.pod_durations import PodTimes
from planner.rollout.prepared_change import Prepared
from planner.rollout.run import Run, simulate
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening
from tests.conformance.rollout_cases import revisions_of
from tests.properties.random_rollouts import MOST_SEEDS, case_of, cluster_of, with_empty_node
from tests.quick import floor, seeds
from tests.reference.objects import Object, copied
from tests.reference.random_clusters import Case
from tests.reference.simulation import simulate as play_reference
from tests.seen import premise

SEEDS = seeds(70, share=3)
AT_LAST = 10**6  # ticks, and seconds: when nobody has anything left to do


class Event(NamedTuple):
    """One for both: what happens to the engine's cluster, and how it is told the reference; `node` is one that comes, `change` as
    `planner.capacity.timed_cluster_events` takes it instead, which may say that it isn't played."""

    happening: Happening
    told: Object
    node: Object | None = None
    change: str = ""


def added(case: Case) -> Event:
    nodes = [item for item in case.items if item["kind"] == "Node"]
    node = with_empty_node(case, nodes[0]).items[-1]
    happening = Happening(after_seconds=0.0, words="", nodes_come=(node["metadata"]["name"],))
    return Event(happening, {"add": node}, node)


def deleted(case: Case, luck: random.Random) -> Event:
    name = luck.choice([item["metadata"]["name"] for item in case.items if item["kind"] == "Node"])
    return Event(Happening(after_seconds=0.0, words="", nodes_go=(name,)), {"delete": name})


def scaled(case: Case, luck: random.Random) -> Event:
    change, replicas = case.changes[0], luck.randrange(6)
    named = (change["kind"], change["namespace"], change["name"])
    happening = Happening(after_seconds=0.0, words="", scales="/".join(named), replicas=replicas)
    return Event(happening, {"workload": named, "replicas": replicas})


POOL = "cloud.google.com/gke-nodepool"


def barred(case: Case, luck: random.Random) -> tuple[Case, Event]:
    """The case, in which a node is a pool of its own: it is uncordoned, tainted or has its taint taken off, whichever it can."""
    case = copied(case)
    nodes = [item for item in case.items if item["kind"] == "Node"]
    node = next((item for item in nodes if item["spec"].get("unschedulable")), luck.choice(nodes))
    name, taints = node["metadata"]["name"], list(node["spec"].get("taints") or [])
    node["metadata"]["labels"][POOL] = name
    told: Object
    if node["spec"].get("unschedulable"):
        change, told = f"uncordon:{name}", {"cordoned": False}
    elif taints and luck.random() < 0.5:
        change, told = f"untaint:{name}={taints[0]['key']}", {"taints": taints[1:]}
    else:
        effect = luck.choice(("NoSchedule", "NoExecute"))
        change, told = f"taint:{name}=m:{effect}", {"taints": [*taints, {"key": "m", "value": "", "effect": effect}]}
    return case, Event(Happening(after_seconds=0.0, words=""), {"node": name, **told}, change=change)


TAINT: Object = {"key": "m", "value": "", "effect": "NoExecute"}
DAY_SECONDS = 86_400  # longer than any of these rollouts takes


def tolerated(case: Case, luck: random.Random) -> tuple[Case, Event]:
    """The case, in which a node with pods gets a NoExecute taint that all tolerate: some of those there for a day or two, new ones forever."""
    case = copied(case)
    nodes = {item["metadata"]["name"]: item for item in case.items if item["kind"] == "Node"}
    used = sorted({item["spec"].get("nodeName", "") for item in case.items if item["kind"] == "Pod"} & {*nodes})
    name = luck.choice(used or sorted(nodes))
    nodes[name]["metadata"]["labels"][POOL] = name
    for item in case.items:
        owner = (item["metadata"].get("ownerReferences") or [{}])[0]
        holder = item.get("data", item).get("spec") or {}  # a ControllerRevision has its template there
        spec = item["spec"] if item["kind"] == "Pod" else (holder.get("template") or {}).get("spec")
        if spec is not None and item["kind"] != "PodTemplate":
            stays = {"tolerationSeconds": luck.choice((DAY_SECONDS, 2 * DAY_SECONDS))} if luck.random() < 0.7 else {}
            is_there = item["kind"] == "Pod" and spec.get("nodeName") == name and owner.get("kind") != "DaemonSet"
            own = {"key": "m", "operator": "Exists", "effect": "NoExecute", **(stays if is_there else {})}
            spec["tolerations"] = [*(spec.get("tolerations") or []), own]
    told = {"node": name, "taints": [*(nodes[name]["spec"].get("taints") or []), TAINT]}
    return case, Event(Happening(after_seconds=0.0, words=""), told, change=f"taint:{name}=m:NoExecute")


def drawn(case: Case, seed: int) -> tuple[str, Event]:
    luck = random.Random(f"event {seed}")
    can_scale = kind_called(case.changes[0]["kind"]).has_replicas
    what = luck.choice(("add", "delete", "scale") if can_scale else ("add", "delete"))
    return what, added(case) if what == "add" else deleted(case, luck) if what == "delete" else scaled(case, luck)


def engine(case: Case, event: Event | None, seconds: float, seed: int = 0, *, is_thorough: bool = False) -> Run:
    cluster = cluster_of(case)
    snapshot = cluster.snapshot
    if event is not None and event.change:
        found = revisions_of({"change": case.changes}, snapshot)
        unused = PodTimes(startup_seconds=30, termination_seconds=30, source="")
        prepared = Prepared(snapshot=snapshot, revisions=tuple(found), pod_times=(unused,) * len(found), findings=())
        cluster = timeline(prepared, LaterEvents(later=parse_later(f"0s:{event.change}"))).cluster
        cluster = cluster.expecting(tuple(replace(one, after_seconds=seconds) for one in cluster.later))
    elif event is not None:
        one = event.happening
        come = build_snapshot([Part(items=copied([event.node]))], source="node").nodes if event.node is not None else ()
        later = Happening(
            after_seconds=seconds, words="", nodes_come=one.nodes_come, nodes_go=one.nodes_go, scales=one.scales,
            replicas=one.replicas,
        )  # fmt: skip
        cluster = (cluster.grown(come) if come else cluster).expecting((later,))

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in s.items()) for s in case.never_ready)

    revisions = revisions_of({"change": case.changes}, snapshot)
    return simulate(
        cluster, revisions, seed=seed, never_ready=never_ready, is_thorough=is_thorough, draws_order=seed > 0,
        draws_ends=seed > 0,
    )  # fmt: skip


def reference(case: Case, event: Event, tick: int, seed: int = 0) -> bool:
    told = [(tick, event.told)]
    verdict = play_reference(case.items, case.changes, case.never_ready, seed, told)["verdict"]
    return bool(verdict == "complete")


class Moment(NamedTuple):
    """When an event comes, and the engine's run with it."""

    tick: int
    seconds: float
    run: Run


def moments(case: Case, event: Event) -> Sequence[Moment]:
    """At once, after the first step, at last."""
    last = engine(case, event, AT_LAST)
    ends = last.tick_ends
    early = [(0, 0.0), *([(1, ends[0])] if len(ends) > 2 else [])]
    return [
        *(Moment(tick, seconds, engine(case, event, seconds)) for tick, seconds in early),
        Moment(AT_LAST, AT_LAST, last),
    ]


def differs(case: Case, event: Event, moment: Moment) -> str:
    tick, seconds, run = moment
    ours, theirs = run.completed, reference(case, event, tick)
    if ours is theirs or any(reference(case, event, tick, seed) is ours for seed in range(1, MOST_SEEDS)):
        return ""
    if any(engine(case, event, seconds, seed).completed is theirs for seed in range(1, MOST_SEEDS)):
        return ""
    return f"tick {tick}: the engine says {ours}, the reference {theirs}"


def test_the_verdicts_agree_with_the_reference() -> None:
    tried: Counter[str] = Counter()
    wrong: dict[tuple[int, str], str] = {}
    for seed in SEEDS:
        case = case_of(seed)
        what, event = drawn(case, seed)
        for moment in moments(case, event):
            tried[what] += 1
            if said := differs(case, event, moment):
                wrong[seed, what] = said
    assert wrong == {}
    assert min(tried.values()) > floor(20)


def test_cordons_and_taints_agree_with_the_reference() -> None:
    """Or aren't known: where some tolerate the taint and others don't."""
    tried: Counter[str] = Counter()
    decides = 0
    wrong: dict[int, str] = {}
    for seed in seeds(150, share=6):
        case, event = barred(case_of(seed), random.Random(f"bars {seed}"))
        what = event.change.partition(":")[0]
        try:
            each = moments(case, event)
        except NotKnownError:
            tried["not known"] += 1
            continue
        found = {moment.run.completed for moment in each}
        decides += len(found | {engine(case, None, 0).completed}) > 1
        for moment in each:
            tried[what] += 1
            if said := differs(case, event, moment):
                wrong[seed] = f"{event.change}: {said}"
    assert wrong == {}
    assert min(tried[what] for what in ("uncordon", "untaint", "taint")) > floor(20)
    assert tried["not known"] < 50
    assert decides > floor(10)


def test_pods_that_tolerate_a_taint_that_comes_for_some_seconds_agree_with_the_reference() -> None:
    decides, tried = 0, 0
    wrong: dict[int, str] = {}
    for seed in seeds(120, share=6):
        case, event = tolerated(case_of(seed), random.Random(f"stays {seed}"))
        try:
            each = moments(case, event)
        except NotKnownError:
            continue
        tried += 1
        plain = engine(case, None, 0).completed
        decides += any(moment.run.completed is not plain for moment in each)
        for moment in each:
            if said := differs(case, event, moment):
                wrong[seed] = f"{event.change}: {said}"
    assert wrong == {}
    assert tried > floor(40)
    assert decides >= floor(2)


def test_a_daemon_pod_that_waits_goes_with_its_node() -> None:
    """Seed 940: no scheduler ever places it, and no garbage collector deletes it, so its DaemonSet does (daemon_controller.go
    `getUnscheduledPodsWithoutNode`)."""
    case = case_of(940)
    what, event = drawn(case, 940)
    assert (what, event.told) == ("delete", {"delete": "cpu-0"})
    found = moments(case, event)
    assert [moment.run.completed for moment in found] == [True] * 3
    assert [differs(case, event, moment) for moment in found] == [""] * 3
    assert not engine(case, None, 0).completed  # the opposite: with the node it waits there for ever


def test_an_event_after_the_end_is_played_and_may_undo_it() -> None:
    completed, undone = 0, 0
    for seed in SEEDS:
        case = case_of(seed)
        what, event = drawn(case, seed)
        plain = engine(case, None, 0)
        if not plain.completed:
            continue
        completed += 1
        later = engine(case, event, AT_LAST)
        assert len(later.came) == 1
        assert not later.happened or plain.others != later.others
        undone += not later.completed
        has_replicas = all(
            kind_called(change["kind"]).has_replicas for change in case.changes
        )  # else one more node is one more pod
        if plain.others == later.others and what == "add" and has_replicas:
            assert (later.completed, later.ticks, later.status) == (True, plain.ticks, plain.status), seed
    assert completed > len(SEEDS) // 4
    assert undone > floor(3)


def spreads_hard(case: Case) -> bool:
    """Whether somebody's pods must spread: an empty host in the midst of it is one from which the others are too far."""
    return '"DoNotSchedule"' in json.dumps(case.items) or '"DoNotSchedule"' in json.dumps(case.changes)


def test_a_node_that_comes_keeps_no_rollout_from_completing() -> None:
    """But where pods must spread; what then comes of it the test above holds against the reference."""
    helped = 0
    for seed in SEEDS:
        case = case_of(seed)
        if case.never_ready or len(case.changes) > 1:
            continue
        event, plain = added(case), engine(case, None, 0).completed
        for moment in moments(case, event):
            completes = any(
                run.completed
                for run in (moment.run, *(engine(case, event, moment.seconds, luck) for luck in range(1, 5)))
            )
            assert completes or not plain or spreads_hard(case), seed
            helped += completes and not plain
    assert helped > floor(10)


def test_a_thorough_run_says_the_same() -> None:
    """Every pod tried for itself by all filters: no short way forgets that nodes came or went."""
    for seed in SEEDS:
        case = case_of(seed)
        _, event = drawn(case, seed)
        for moment in moments(case, event):
            short, thorough = moment.run, engine(case, event, moment.seconds, is_thorough=True)
            if premise(short.choices == short.orders == 0 == thorough.choices):
                assert (short.completed, short.ticks, short.status) == (
                    thorough.completed, thorough.ticks, thorough.status,
                ), seed  # fmt: skip
