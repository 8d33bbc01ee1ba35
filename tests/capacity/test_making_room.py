"""Making room: the fewest moves, proven where they are, and stages that the engine has played."""

from __future__ import annotations

import json
import os
import re
from random import Random
from typing import Any

import pytest

from planner.capacity import exact_moves
from planner.capacity.eviction_simulation import at_rest, cordoned, evict, with_pending_pods_retried
from planner.capacity.fewest_moves import fewest
from planner.capacity.movable_pods import MoveObjective, Stays, movable
from planner.capacity.work_limits import LIMITS
from planner.ground.errors import InputError, NotKnownError
from planner.ground.records import replace
from planner.ground.words import usd
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.pricing.projected_bill import usd_of_pods
from planner.remedies.make_room import MadeRoom, RoomRequest, make_room, notes
from planner.rollout.eviction_requests import these
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import (
    MOVED_WHOLE,
    WHOLE,
    ZONE,
    Item,
    budget,
    deployment,
    node,
    owner,
    pod,
    pod_spec,
    snapshot,
)
from tests.capacity.plain_moves import PlainPod, best
from tests.quick import is_quick, seeds
from tests.seen import premise

TAKEN = {18, 112, 166, 255}
"""Seeds at which older pods that wait take the room that one who moves would need: no cordon keeps them from it."""
CASES = int(os.environ.get("HEADROOM_ROOM_CASES", "50"))


def made(*items: Item | list[Item], **asked: object) -> MadeRoom:
    return make_room(snapshot(MOVED_WHOLE, *items), RoomRequest(**asked))  # type: ignore[arg-type]


def four_halves() -> list[Item]:
    """Two nodes of 4 GPUs with 2 free each; a pod of 4 waits."""
    return [
        node("n0", gpus=4), node("n1", gpus=4),
        *deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1)),
        *deployment("large", [""], pod_spec(gpus=4)),
    ]  # fmt: skip


def test_the_fewest_moves_start_what_waits() -> None:
    found = made(four_halves())
    assert str(found.sentence) == "2 moves start the waiting pod; no plan needs fewer (proven)"
    assert {move.node for move in found.moves} in ({"n0"}, {"n1"})
    assert {move.to for move in found.moves} == {"n0", "n1"} - {move.node for move in found.moves}
    (start,) = found.starts
    assert start.node in {move.node for move in found.moves}
    assert (found.held, found.is_most, found.at_least) == (found.draws, True, 2)


def test_nobody_waits() -> None:
    assert str(made(node("n0", gpus=1)).sentence) == "no pod waits for a node"
    with pytest.raises(InputError, match="no pod of Deployment/ml/a waits"):
        made(node("n0", gpus=1), workload="Deployment/ml/a")


def test_what_no_node_has_is_said_to_be_so() -> None:
    found = made(node("n0", gpus=1), deployment("a", [""], pod_spec(gpus=4)))
    assert str(found.sentence) == "no moves start the waiting pod (proven)"
    assert str(found.left[0].why).startswith("no node takes it, even without every pod that may be moved")


def test_pods_that_nobody_makes_anew_and_those_a_budget_keeps_stay() -> None:
    bare = made(node("n0", gpus=2), node("n1", gpus=2), *[pod(f"b{i}", pod_spec(gpus=1), on=f"n{i}") for i in (0, 1)],
                deployment("large", [""], pod_spec(gpus=2)))  # fmt: skip
    assert (bare.moves, [(one.pods, one.why) for one in bare.kept]) == ((), [(2, Stays.BARE)])
    kept = made(four_halves(), budget("a", minAvailable="100%"))
    assert (kept.moves, [(one.pods, one.why) for one in kept.kept]) == ((), [(4, Stays.BUDGET)])
    one_by_one = made(four_halves(), budget("a", maxUnavailable=1))
    assert (len(one_by_one.moves), one_by_one.held) == (2, one_by_one.draws)


def test_a_gang_starts_whole_or_not_at_all() -> None:
    gang = {"scheduling.x-k8s.io/pod-group": "g"}
    pods = [pod(f"g{i}", pod_spec(gpus=4), labels=gang) for i in range(2)]
    found = made(node("n0", gpus=4), node("n1", gpus=2), deployment("a", ["n0"], pod_spec(gpus=1)), *pods)
    assert (found.moves, found.starts) == ((), ())


def test_what_is_the_least_for_some_is_not_called_so_for_as_many_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the solver isn't asked, and not all start, others might start for less."""
    monkeypatch.setattr(exact_moves, "LIMITS", replace(LIMITS, variables=0))
    found = made(four_halves(), deployment("other", [""], pod_spec(gpus=4)))
    assert (len(found.starts), found.is_proven, found.is_most) == (1, False, False)
    assert "any plan for these needs at least 2; that no more can start isn't proven" in str(found.sentence)


def test_places_are_made_for_a_shape_and_told_one_by_one() -> None:
    found = made(four_halves()[:-1], shape="gpu=4,cpu=1,memory=1Gi", number=1)
    assert str(found.sentence) == "2 moves make the place; no plan needs fewer (proven)"
    assert [(one.places, one.moves) for one in found.curve] == [(1, 2.0)]


def test_the_least_minutes_are_not_the_fewest_moves() -> None:
    slow = deployment("slow", ["n0"], pod_spec(gpus=2, terminationGracePeriodSeconds=3_600))
    quick = deployment("quick", ["n1", "n1"], pod_spec(gpus=1, terminationGracePeriodSeconds=1))
    items = [node("n0", gpus=4), node("n1", gpus=4), node("n2", gpus=2), *slow, *quick]
    items += deployment("large", [""], pod_spec(gpus=4))
    assert [move.workload for move in made(items).moves] == ["Deployment/ml/slow"]
    found = made(items, least=MoveObjective.MINUTES)
    assert [move.workload for move in found.moves] == ["Deployment/ml/quick"] * 2
    assert found.is_proven


NOW = 1_790_000_000.0


def running_job(name: str, on: str, gpus: int) -> list[Item]:
    """A Job that may lose pods, with the one that it has."""
    spec = pod_spec(gpus=gpus, restartPolicy="Never")
    by = {**owner("Job", name, f"j-{name}"), "apiVersion": "batch/v1"}
    meta = {"name": name, "namespace": "ml", "uid": f"j-{name}"}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    own = {"parallelism": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": own}
    return [job, pod(f"{name}-x", spec, on=on, labels={"app": name}, owner=by)]


def test_the_cheapest_moves_lose_the_least_work() -> None:
    """On n0 a Job's pod has run for ten hours, on n1 two pods of a Deployment: one move there, two here."""
    a100 = next(one for one in demo.read().nodes if node_pool(one) == "gpu-a100")
    items = [node("n0"), node("n1"), *running_job("train", "n0", 1), *deployment("a", ["n1", "n1"], pod_spec(gpus=1))]
    nodes = tuple(replace(a100, name=name, taints=()) for name in ("n0", "n1"))
    cluster = snapshot(MOVED_WHOLE, *items)
    pods = tuple(replace(one, started_at=NOW - 36_000) for one in cluster.pods)
    cluster = replace(cluster, pods=pods, nodes=nodes, taken_at=NOW)
    asked = RoomRequest(shape="gpu=4", book=embedded_book())
    fewest_ = make_room(cluster, asked)
    assert [move.workload for move in fewest_.moves] == ["Job/ml/train"]
    cheapest = make_room(cluster, replace(asked, least=MoveObjective.COST))
    assert [move.workload for move in cheapest.moves] == ["Deployment/ml/a"] * 2
    hour = usd_of_pods(embedded_book(), cluster)
    a, train = (next(one.uid for one in pods if one.name.startswith(name)) for name in ("a-", "train"))
    minute = 1.0  # 30 s to end, 30 s to start
    assert cheapest.weight == pytest.approx(2 * hour[a] * minute / 60)
    assert (cheapest.is_proven, str(cheapest.sentence)) == (
        True, f"2 moves make the place ({usd(cheapest.weight)}); no plan costs less (proven)",
    )  # fmt: skip
    kept = make_room(cluster, replace(asked, least=MoveObjective.COST, checkpoint_minutes=0.5))
    assert [move.workload for move in kept.moves] == ["Job/ml/train"], "what it loses is known to be little"
    assert kept.weight == pytest.approx(hour[train] * (minute + 0.5) / 60)


def test_the_cheapest_moves_arent_known_without_prices() -> None:
    with pytest.raises(InputError, match="need prices"):
        made(four_halves(), least=MoveObjective.COST)
    with pytest.raises(NotKnownError, match=r"what ml/a-.* costs isn't known: its node has no price"):
        made(four_halves(), least=MoveObjective.COST, book=embedded_book())


def test_a_script_cordons_evicts_waits_and_gives_back() -> None:
    found = made(four_halves())
    told = [command for step in found.steps for command in step.commands]
    assert told[2].startswith("kubectl cordon node/n")
    assert "/eviction -f -" in told[3]
    assert told[-2].startswith("kubectl uncordon node/n")
    assert told[-1].startswith("kubectl wait pod/large-")
    assert [step.is_lent for step in found.steps[:3]] == [False, True, False]


# ── what a real control plane makes of a script ──────────────────────────────────────────────────────────────────────
POOL = "cloud.google.com/gke-nodepool"


def commands_of(found: MadeRoom) -> list[str]:
    return [command for step in found.steps for command in step.commands]


def test_a_successor_that_has_to_wait_isnt_waited_for() -> None:
    """On n1 there is room for p only once q has left it, and on n0 for q once p has: p's successor waits meanwhile."""
    found = made(
        node("n0", gpus=4, pool="x"),
        node("n1", gpus=5, pool="y"),
        deployment("p", ["n0"], pod_spec(gpus=4)),
        deployment("q", ["n1"], pod_spec(gpus=2)),
        deployment("w", [""], pod_spec(gpus=2, nodeSelector={POOL: "x"})),
    )
    assert (len(found.moves), len(found.starts), found.held) == (2, 1, found.draws)
    assert [move.workload for move in found.moves] == ["Deployment/ml/p", "Deployment/ml/q"]
    waits = [command for command in commands_of(found) if "kubectl get deployment/p" in command]
    assert not waits, "no pod of p is Ready before q has left, and its Deployment wants one all along"


def test_a_node_that_is_cordoned_stays_so() -> None:
    """Pods that tolerate a cordon go to cordoned nodes too: these are neither cordoned anew nor opened."""
    tolerates = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    found = made(
        node("n0", gpus=4, cordoned=True), node("n1", gpus=2),
        *deployment("a", ["n0"], pod_spec(gpus=1)),
        *deployment("w", [""], pod_spec(gpus=4, tolerations=tolerates)),
    )  # fmt: skip
    assert (len(found.moves), len(found.starts)) == (1, 1)
    told = commands_of(found)
    assert any("/eviction" in command for command in told)
    assert not any("node/n0" in command for command in told)


def test_pods_of_a_node_that_isnt_ready_never_end() -> None:
    items = four_halves()
    for item in items[:2]:
        item["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    found = made(*items, node("n2", gpus=4), deployment("b", ["n2"], pod_spec(gpus=1)))
    assert {kept.why: kept.pods for kept in found.kept} == {Stays.NODE: 4}


def test_a_pod_of_a_node_that_has_gone_is_moved_as_any_other() -> None:
    """Its object is still there, and its node isn't in the list: nobody says that the node isn't Ready."""
    found = made(four_halves(), deployment("b", ["gone"], pod_spec(gpus=1)))
    assert (len(found.moves), found.kept) == (2, ())


def test_waits_are_as_long_as_pods_take() -> None:
    items = four_halves()
    slow = [
        node("n0", gpus=4), node("n1", gpus=4),
        *deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1, terminationGracePeriodSeconds=3_600)),
        *deployment("large", [""], pod_spec(gpus=4)),
    ]  # fmt: skip
    long, short = (next(c for c in commands_of(made(some)) if "/eviction" in c) for some in (slow, items))
    assert '"$n" -le 315 ]' in short
    assert '"$n" -le 2100 ]' in long
    (wait,) = (c for c in commands_of(made(slow)) if "kubectl get deployment/a" in c)
    (times,) = re.findall(r'"\$n" -le (\d+) ]', wait)
    assert 5 * int(times) >= 120 * 60, "seconds"


def zonal_disk(zone: str) -> list[Item]:
    """The claim ``d``, bound to a disk of one zone."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    shared = {"storageClassName": "ssd", "accessModes": ["ReadWriteOnce"]}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"}, "status": {"phase": "Bound"},
         "spec": {**shared, "capacity": {"storage": "1Gi"}, "claimRef": {"namespace": "ml", "name": "d"},
                  "csi": {"driver": "pd.csi.storage.gke.io", "volumeHandle": "v"},
                  "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d", "namespace": "ml", "uid": "d"},
         "status": {"phase": "Bound"}, "spec": {**shared, "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}}},
    ]  # fmt: skip


LATE_DISK: list[Item] = [
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
     "provisioner": "pd.csi.storage.gke.io", "volumeBindingMode": "WaitForFirstConsumer"},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "new", "namespace": "ml"},
     "spec": {"storageClassName": "late", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
]  # fmt: skip


@pytest.mark.parametrize(
    ("has_disk", "in_cluster", "in_manifest"), [(True, [], LATE_DISK), (True, LATE_DISK, []), (False, [], [])]
)
def test_a_manifest_brings_what_its_pods_need(has_disk: bool, in_cluster: list[Item], in_manifest: list[Item]) -> None:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "new"}}]
    [wanted, *_] = deployment("w", [""], pod_spec(gpus=4, volumes=volumes))
    manifest = json.dumps({"kind": "List", "items": [wanted, *in_manifest]})
    here = [node("n0", gpus=4), node("n1", gpus=1), *deployment("b", ["n0"], pod_spec(gpus=1))]
    found = made(*here, *zonal_disk("a"), *in_cluster, change=Scenario(manifest=manifest))  # the claims were listed
    first = "1 move makes the place" if has_disk else "no moves make the place (proven)"
    assert str(found.sentence).partition(";")[0] == first


SPREAD: Any = [
    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "s"}}}
]  # fmt: skip
GANG = {"training.kubeflow.org/job-name": "t", "app": "t"}
DISK: Any = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}


def ruled(rule: str, *, has_room: bool) -> list[Any]:
    """Nodes in zones a and b, and a pod whose move a rule confines: without `has_room` it has nowhere to go."""
    match rule:
        case "zone of a disk":
            spare = [node("n2", gpus=1, zone="a")] if has_room else []
            return [node("n0", gpus=4, zone="a"), node("n1", gpus=1, zone="b"), *spare, *zonal_disk("a"),
                deployment("b", ["n0"], pod_spec(gpus=1, **DISK)), deployment("w", [""], pod_spec(gpus=4))]  # fmt: skip
        case "spread":
            spare = [node("n2", gpus=1, zone="a")] if has_room else []
            first = pod_spec(gpus=4, nodeSelector={"kubernetes.io/hostname": "n0"})
            return [node("n0", gpus=4, zone="a"), node("n1", gpus=4, zone="b"), node("n3", gpus=1, zone="b"), *spare,
                deployment("s", ["n0", "n1"], pod_spec(gpus=1, topologySpreadConstraints=SPREAD)), deployment("w", [""], first)]  # fmt: skip
        case "gang":
            spare = [node("n2", gpus=2)] if has_room else [node("n2", gpus=1)]
            return [node("n0", gpus=4), node("n1", gpus=4), *spare, deployment("b", ["n0", "n1"], pod_spec(gpus=1)),
                *(pod(f"t-{i}", pod_spec(gpus=4), labels=GANG) for i in range(2))]  # fmt: skip
        case _:  # who waits pushes somebody out first, and he is to have another place
            spare = [node("n2", gpus=1)] if has_room else []
            high = pod_spec(gpus=4, priority=10, nodeSelector={"kubernetes.io/hostname": "n0"})
            return [node("n0", gpus=4), node("n1", gpus=4), *spare, deployment("low", ["n0"], pod_spec(gpus=4, priority=-10)),
                deployment("high", [""], high), deployment("b", ["n1"], pod_spec(gpus=1, priority=10))]  # fmt: skip


@pytest.mark.parametrize("rule", ["zone of a disk", "spread", "gang", "preemption"])
def test_scripts_under_rules_start_what_they_say_or_nothing_is_begun(rule: str) -> None:
    """Carried out by their text, in other draws than the plan's own: no rule is broken, gangs come whole or not at all."""
    first = at_rest(snapshot(*ruled(rule, has_room=True))).snapshot
    found = make_room(snapshot(*ruled(rule, has_room=True)))
    assert found.held == found.draws
    assert len(found.starts) == found.waiting == (2 if rule == "gang" else 1)
    ran = sum(1 for one in first.pods if one.node_name)
    for draw in range(1, 6):
        where = carried_out(first, found, draw)
        assert sum(map(bool, where.values())) == ran + found.waiting, "who ran runs, and who waited does, too"
    none = make_room(snapshot(*ruled(rule, has_room=False)))
    assert (none.moves, none.starts, none.steps) == ((), (), ())


def test_a_script_names_no_pod_that_isnt_there_yet() -> None:
    """What is pushed out is made anew under a name that nobody knows: its workload's Ready pods are waited for, and it isn't moved."""
    today = snapshot(*ruled("preemption", has_room=True))
    found = make_room(today)
    named = {name for command in commands_of(found) for name in re.findall(r"(?:pod/|/pods/)([a-z0-9.-]+)", command)}
    assert named == {"b-1-0"} <= {one.name for one in today.pods}
    assert [start.pod for start in found.starts] == ["a new pod of ml/low"]
    assert "kubectl get deployment/low " in commands_of(found)[-1]
    moved = {name for one in found.moves for name in [one.pod.partition("/")[2]]}
    assert moved <= {one.name for one in today.pods}


def test_budgets_that_werent_read_are_named() -> None:
    found = make_room(snapshot(WHOLE, four_halves()))
    assert (found.unread, found.is_least, found.is_proven) == (("PodDisruptionBudget",), True, False)
    assert str(found.sentence).endswith("; no plan needs fewer, as far as is known")
    assert any("no PodDisruptionBudgets were read. To add them, also" in str(note) for note in notes(found))
    assert (made(*four_halves()).unread, made(*four_halves()).doubts) == ((), ())


@pytest.mark.parametrize("lacks", ["ResourceQuota", "LimitRange"])
def test_lists_whose_objects_may_refuse_those_who_moved_are_doubts(lacks: str) -> None:
    whole = snapshot(MOVED_WHOLE, four_halves())
    found = make_room(replace(whole, presence=FrozenMap({**whole.presence, lacks: Presence.ABSENT})))
    assert (found.is_least, found.is_proven, [one.about for one in found.doubts]) == (True, False, [f"{lacks}s"])
    nothing_moves = snapshot(MOVED_WHOLE, node("n0", gpus=4), deployment("large", [""], pod_spec(gpus=5)))
    none = make_room(replace(nothing_moves, presence=FrozenMap({**nothing_moves.presence, lacks: Presence.ABSENT})))
    assert (str(none.sentence), none.doubts) == ("no moves start the waiting pod (proven)", ())


@pytest.mark.parametrize(
    ("kind", "is_proven"), [("MutatingWebhookConfiguration", False), ("ValidatingWebhookConfiguration", True)]
)
def test_only_what_may_change_pods_could_start_those_that_no_moves_start(kind: str, is_proven: bool) -> None:
    hook = {
        "name": "a.example.com",
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    hooks = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "a"},
        "webhooks": [hook],
    }
    found = made(
        hooks,
        node("n0", gpus=4),
        deployment("small", ["n0"], pod_spec(gpus=1)),
        deployment("large", [""], pod_spec(gpus=4)),
    )
    assert (found.is_most, bool(found.doubts)) == (is_proven, not is_proven)
    assert ("(proven)" in str(found.sentence)) is is_proven


# ── against every end ────────────────────────────────────────────────────────────────────────────────────────────────
def random_case(seed: int) -> tuple[dict[str, tuple[str, tuple[int, ...]]], list[PlainPod]]:
    """At most 4 nodes and 8 pods, some of which wait, are bound to a pool, or come before others."""
    luck = Random(seed)
    nodes: dict[str, tuple[str, tuple[int, ...]]] = {
        f"n{i}": (luck.choice(("x", "x", "y")), (luck.choice((2, 4, 4, 8)), luck.choice((4, 8, 16))))
        for i in range(luck.randint(2, 4))
    }
    left = {name: list(size) for name, (_, size) in nodes.items()}
    pods: list[PlainPod] = []
    for i in range(luck.randint(3, 8)):
        asks, pool = (luck.choice((1, 1, 2, 4)), luck.choice((1, 1, 2, 5))), luck.choice(("", "", "", "x", "y"))
        fitting = [
            n for n in nodes if all(a <= b for a, b in zip(asks, left[n], strict=True)) and pool in ("", nodes[n][0])
        ]
        home = luck.choice(fitting) if fitting and luck.random() < 0.75 else ""
        if home:
            left[home] = [a - b for a, b in zip(left[home], asks, strict=True)]
        pods.append(PlainPod(f"p{i}", asks, home, pool=pool))
    return nodes, pods


def as_items(nodes: dict[str, tuple[str, tuple[int, ...]]], pods: list[PlainPod]) -> list[Item]:
    items: list[Item] = [node(name, gpus=gpus, cpu=str(cpu), pool=pool) for name, (pool, (gpus, cpu)) in nodes.items()]
    for one in pods:
        selector = {"nodeSelector": {"cloud.google.com/gke-nodepool": one.pool}} if one.pool else {}
        items += deployment(
            one.name, [one.home], pod_spec(gpus=one.asks[0], cpu=str(one.asks[1]), memory="1Mi", **selector)
        )
    return items


@pytest.mark.parametrize("seed", seeds(CASES))
def test_as_few_moves_as_by_trying_every_end(seed: int) -> None:
    nodes, pods = random_case(seed)
    cluster = at_rest(snapshot(MOVED_WHOLE, *as_items(nodes, pods)))
    home = {p.labels["app"]: p.node_name for p in cluster.snapshot.pods}
    now = [PlainPod(one.name, one.asks, home[one.name], pool=one.pool) for one in pods]
    started, moves = best(nodes, now)
    found = fewest(cluster, cluster.waiting, movable(cluster).weights)
    assert (len(found.hosts), len(found.leaves)) == (sum(started), moves)
    assert found.is_proven
    assert found.is_most
    plan = make_room(cluster.snapshot)
    if seed not in TAKEN:
        assert plan.held == plan.draws
        assert (len(plan.starts), len(plan.moves)) == (sum(started), moves), str(plan.sentence)
        assert plan.is_proven
        assert plan.is_most
    else:  # a plan for less, which doesn't pass for the most or the least
        assert len(plan.starts) < sum(started) or len(plan.moves) > moves
        assert not (plan.is_proven and plan.is_most)


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def carried_out(first: Snapshot, found: MadeRoom, draw: int) -> dict[str, str]:
    """Pod → node after the commands of all steps, read from their text."""
    now, shut = first, set[str]()
    for number, step in enumerate(found.steps):
        evicted = set[tuple[str, str]]()
        for command in step.commands:
            words = command.split()
            if words[:2] == ["kubectl", "cordon"]:
                shut |= {word.removeprefix("node/") for word in words[2:]}
            elif words[:2] == ["kubectl", "uncordon"]:
                shut -= {word.removeprefix("node/") for word in words[2:]}
            else:
                evicted |= set(re.findall(r"/namespaces/([^/]+)/pods/([^/]+)/eviction", command))
        nodes = tuple(cordoned(one) if one.name in shut else one for one in first.nodes)
        cluster = Cluster(with_pending_pods_retried(replace(now, nodes=nodes)))
        asked = [i for i, one in enumerate(cluster.snapshot.pods) if (one.namespace, one.name) in evicted]
        assert len(asked) == len(evicted)
        run = evict(cluster, these(asked), seed=977 * draw + number)
        assert not run.left
        now = replace(run.simulation.snapshot_now(), nodes=first.nodes)
    assert not shut
    return {f"{one.namespace}/{one.name}": one.node_name for one in now.pods}


def half_full_case(seed: int) -> tuple[dict[str, tuple[str, tuple[int, ...]]], list[PlainPod]]:
    """Nodes of 4 GPUs with 2 small pods each; large ones wait."""
    luck = Random(seed)
    nodes: dict[str, tuple[str, tuple[int, ...]]] = {f"n{i}": ("x", (4, 8)) for i in range(luck.randint(3, 5))}
    pods = [PlainPod(f"p{i}{name}", (1, luck.choice((1, 2))), name) for name in nodes for i in range(2)]
    return nodes, [*pods, *(PlainPod(f"w{i}", (luck.choice((3, 4)), 2), "") for i in range(luck.randint(1, 2)))]


@pytest.mark.parametrize("seed", range(1_000, 1_030)[:: 3 if is_quick() else 1])
def test_a_script_that_is_carried_out_starts_what_it_says(seed: int) -> None:
    luck = Random(seed)
    nodes, pods = half_full_case(seed)
    items = as_items(nodes, pods)
    for item in items:
        if item["kind"] == "Node" and luck.random() < 0.15:
            item["spec"]["taints"] = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    for one in pods:
        if luck.random() < 0.4:
            items.append(
                budget(one.name, minAvailable=1) if luck.random() < 0.2 else budget(one.name, maxUnavailable=1)
            )
    cluster = at_rest(snapshot(*items))
    found = make_room(cluster.snapshot)
    if premise(found.held == found.draws and found.steps):
        where = carried_out(cluster.snapshot, found, seed)
        assert sum(bool(where[start.pod]) for start in found.starts) == len(found.starts)
        before = sum(1 for one in cluster.snapshot.pods if one.node_name)
        assert sum(map(bool, where.values())) == before + len(found.starts)
