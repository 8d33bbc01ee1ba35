"""Nodes whose kubelet isn't heard: who isn't Ready, who is evicted when, who never ends, and what ends that.

Source: kubernetes `pkg/controller/nodelifecycle`, `pkg/controller/tainteviction`, `pkg/controller/podgc`; the recordings are
`tests/conformance/rollouts5` (`node5…`), of real controllers.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import Change, ChangeKind, parse_later
from planner.ground.errors import ChangeError, NotKnownError
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot, Taint
from planner.questions import gate, overview
from planner.questions.gate import GateSettings
from planner.questions.overview import OverviewSettings
from planner.questions.question import Inputs
from planner.remedies import rollout_with_remedies
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_report import certificate
from planner.rollout.answers import Reason, RemedyKind, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.silent_nodes import evictions, toleration_seconds
from planner.scheduling.cluster import Cluster
from planner.serve.admission_review import read_request, review
from tests.builders.objects import Item, deployment, node, pod, pod_spec
from tests.builders.objects import snapshot as read
from tests.builders.volumes import bound, csi_driver, using
from tests.conformance.rollout_cases import WHOLE_LISTS
from tests.rollout.rollouts import daemon_set, rolling, stateful_set

RECORDED = Path(__file__).parent.parent / "conformance" / "rollouts5"
SILENT_AT, NOW = "2026-11-28T12:00:00Z", 1_795_867_260.0  # a minute later
WORKER = "Deployment/ml/worker"
OUT_OF_SERVICE: Item = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


def recorded(name: str) -> tuple[Snapshot, str, str]:
    """The snapshot, the workload that was changed, and the patch."""
    case = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))
    found = build_snapshot([Part(items=case["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    change = case["change"]
    return found, f"{change['kind']}/{change['namespace']}/{change['name']}", json.dumps(change["patch"])


def asked(found: Snapshot, key: str = WORKER, then: str = "", patch: str = "", runs: int = 5) -> RolloutResult:
    change = WorkloadChange(workload=key, patch=patch, new_revision=not patch)
    scenario = Scenario(changes=(change,), runs=runs, with_remedies=False)
    return rollout_with_remedies.rollout(found, scenario, beside=LaterEvents(later=parse_later(then)))


def silent(name: str, gpus: int = 1, *, is_tainted: bool = True, **more: Any) -> Item:
    """A node that hasn't been heard since `SILENT_AT`."""
    made = node(name, gpus=gpus, **more)
    made["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": SILENT_AT}]
    effects = ("NoSchedule", "NoExecute") if is_tainted else ()
    made["spec"]["taints"] = [
        {"key": "node.kubernetes.io/unreachable", "effect": effect, "timeAdded": SILENT_AT} for effect in effects
    ]
    return made


def cluster_of(*items: Item | list[Item]) -> Snapshot:
    return replace(read(*items), taken_at=NOW)


# ── the recordings, at every door ────────────────────────────────────────────────────────────────────────────────────
KEPT = {
    "node5-before-recreate": ("force-delete:ml/serve-7c5b49c877-xvxzv", "Recreate makes no new pod before"),
    "node5-after-out-of-service": ("force-delete:ml/serve-7c5b49c877-xf9gz", "Recreate makes no new pod before"),
    "node5-before-sts": ("force-delete:ml/serve-1", "its successor has its name"),
    "node5-before-ds-0": ("force-delete:ml/agent-kpmw9", "it counts against maxUnavailable, which is 1 here"),
    "node5c-ds-mu-half": ("force-delete:ml/agent-fzjk4", "it counts against maxUnavailable, which is 1 here"),
}


@pytest.mark.parametrize("name", KEPT)
def test_who_waits_for_a_pod_that_cannot_end_is_stuck_and_hears_what_would_end_it(name: str) -> None:
    found, key, patch = recorded(name)
    by_force, why = KEPT[name]
    answer = asked(found, key, patch=patch)
    assert (answer.verdict, answer.reason) == (Verdict.STUCK, Reason.SILENT_NODE)
    assert why in str(answer.sentence)
    assert answer.ties is not None
    assert not answer.ties.proven
    assert any("b may answer again: with that it completes" in str(one.why) for one in answer.doubts)
    assert "It completes once node b answers again, or once pod ml/" in str(answer.sentence)
    back, forced = answer.workloads[0].cures
    assert (back.events, back.command) == (("answers:b",), "")
    assert forced.events == (by_force,)
    name_of_pod = by_force.rpartition("/")[2]
    assert forced.command == f"kubectl delete pod {name_of_pod} -n ml --force --grace-period=0"
    scenario = Scenario(changes=(WorkloadChange(workload=key, patch=patch, new_revision=False),), runs=5)
    ways = {way.kind: way for way in rollout_with_remedies.rollout(found, scenario).remedies}
    again, deleted = ways[RemedyKind.NODE_BACK], ways[RemedyKind.FORCE_DELETE]
    assert [step.commands[0] for step in deleted.steps][-1] == forced.command
    assert [step.commands[0] for step in again.steps][-1].startswith("# get node b to answer again")
    for way in (again, deleted):
        assert way.steps[-1].commands[-1].startswith("kubectl rollout status "), "it ends after that"
        assert way.events.endswith("answers:b" if way is again else by_force)
        assert way.seconds > 0
    plans = certificate(found, scenario, {Lever.PODS}).plans
    assert {str(plan.title) for plan in plans} & {str(again.title), str(deleted.title)}
    for event in ("answers:b", by_force, "taint:b=node.kubernetes.io/out-of-service:NoExecute"):
        assert asked(found, key, f"2h:{event}", patch, runs=0).verdict is Verdict.COMPLETES, event


@pytest.mark.parametrize(
    "name", ["node5-before-ds-2", "node5b-all-on-b", "node5-before-spare-1", "node5c-vol-scale-zero"]
)
def test_who_waits_for_no_end_completes_beside_a_pod_that_never_ends(name: str) -> None:
    """A DaemonSet that surges, Deployments whose new pods find room, one that is scaled to 0."""
    found, key, patch = recorded(name)
    answer = asked(found, key, patch=patch)
    assert answer.verdict is Verdict.COMPLETES
    assert answer.workloads[0].cures == ()


def test_a_daemon_set_that_may_miss_two_goes_on_behind_one_silent_node() -> None:
    """As recorded (`before-ds-*` kept apart): 1 hangs, 2 completes."""
    found, key, patch = recorded("node5-before-ds-0")
    two = json.loads(patch)
    two["spec"]["updateStrategy"] = {"rollingUpdate": {"maxUnavailable": 2}}
    assert asked(found, key, patch=json.dumps(two)).verdict is Verdict.COMPLETES


def test_a_cure_that_does_not_cure_is_not_told() -> None:
    """`node5-after-0`: b comes back, and it stays stuck for want of a GPU for the surge."""
    found, key, patch = recorded("node5-after-0")
    answer = asked(found, key, patch=patch)
    assert answer.verdict is Verdict.STUCK
    assert answer.workloads[0].cures == ()
    assert "answers again" not in str(answer.sentence)
    assert not any("may answer again: with that" in str(one.why) for one in answer.doubts)


@pytest.mark.parametrize(
    ("name", "verdict"), [("node5-before-recreate", Verdict.STUCK), ("node5-before-ds-2", Verdict.COMPLETES)]
)
def test_the_gate_the_webhook_and_the_list_say_the_same(name: str, verdict: Verdict) -> None:
    found, key, _ = recorded(name)
    case = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))
    kind, _, plain = key.split("/")
    manifest = next(
        item for item in case["cluster"]["items"] if item["kind"] == kind and item["metadata"]["name"] == plain
    )
    manifest.pop("status")
    before = json.loads(json.dumps(manifest))
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    at_gate = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    listed = overview.answer(found, OverviewSettings(), Inputs(now=found.taken_at))
    request = {
        "uid": "1", "operation": "UPDATE", "object": manifest, "oldObject": before, "namespace": "ml", "name": plain,
        "resource": {"group": "apps", "version": "v1", "resource": f"{kind.lower()}s"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    said = review(found, read_request(body.encode()), now=found.taken_at)
    assert [one.verdict for one in at_gate.workloads] == [verdict]
    assert [one.verdict for one in listed.workloads if one.workload == key] == [verdict]
    is_kept = verdict is Verdict.STUCK
    assert ("doesn't answer" in str(said)) is is_kept
    assert ("once node b answers again" in str(at_gate.workloads[0].sentence)) is is_kept


# ── Ready, and evicted when ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("is_said_ready", [True, False])
def test_pods_of_a_silent_node_are_not_ready_whatever_the_snapshot_says(is_said_ready: bool) -> None:
    """Today's bug was that such a pod got Ready by itself: 4 + 4 of 8 GPUs on g0, and the pod on g1 never serves."""
    mine = deployment("worker", ["g0", "g1"], pod_spec(gpus=4), strategy=rolling(1, 0))
    mine[-1]["status"]["conditions"] = [{"type": "Ready", "status": str(is_said_ready)}]
    stuck = asked(cluster_of(node("g0", gpus=8), silent("g1", 8), mine))
    assert stuck.verdict is Verdict.STUCK
    assert stuck.workloads[0].timeline[0].ready == 1
    assert asked(cluster_of(node("g0", gpus=12), silent("g1", 8), mine)).verdict is Verdict.COMPLETES
    assert asked(cluster_of(node("g0", gpus=8), node("g1", gpus=8), mine)).verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 300.0),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}], 30.0),
        ([{"operator": "Exists"}], float("inf")),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}], 300.0),
        ([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1}], 0.0),
    ],
)  # fmt: skip
def test_how_long_a_pod_stays_on_a_node_that_does_not_answer(tolerations: list[Item], seconds: float) -> None:
    mine = deployment("worker", ["g1"], pod_spec(gpus=1, tolerations=tolerations))
    found = cluster_of(node("g0", gpus=1), silent("g1"), mine)
    assert toleration_seconds(found.pods[0].spec) == seconds
    due = [one.after_seconds for one in evictions(Cluster(found))]
    assert due == ([] if seconds == float("inf") else [max(0.0, seconds - 60)])  # a minute of it is over


@pytest.mark.parametrize(
    ("dead", "alive", "is_tainted", "is_evicted"),
    [
        (1, 3, True, True),
        (1, 3, False, True),  # the taint comes
        (2, 0, False, False),  # no node is Ready: nobody is evicted
        (3, 2, False, False),  # most of the zone is down, and the cluster is small
        (3, 2, True, True),  # what has the taint is evicted all the same
    ],
)
def test_whether_pods_are_evicted_from_a_silent_node(dead: int, alive: int, is_tainted: bool, is_evicted: bool) -> None:
    nodes = [silent(f"d{i}", is_tainted=is_tainted) for i in range(dead)] + [
        node(f"a{i}", gpus=1) for i in range(alive)
    ]
    found = cluster_of(nodes, deployment("worker", ["d0"], pod_spec(gpus=1)))
    assert bool(evictions(Cluster(found))) is is_evicted


STAYS: Item = {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}


@pytest.mark.parametrize(
    ("status", "tolerations", "elsewhere", "verdict"),
    [
        ("Unknown", [], True, Verdict.UNKNOWN),  # it is evicted after 300 s, and the next one goes to a
        ("Unknown", [], False, Verdict.STUCK),
        ("Unknown", [STAYS], True, Verdict.STUCK),  # it stays there for ever
        ("False", [], True, Verdict.UNKNOWN),  # its kubelet answers: it may start them
        ("True", [], True, Verdict.COMPLETES),
    ],
)
def test_a_silent_node_whose_taint_is_not_there_yet_may_get_a_pod_that_another_follows(
    status: str, tolerations: list[Item], elsewhere: bool, verdict: Verdict
) -> None:
    """Source: kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go`: `monitorNodeHealth` writes the condition, and
    `doNoScheduleTaintingPass` and `processNoExecuteTaintingPass` bring the taints after it; kube-scheduler looks at the taints."""
    b = node("b", gpus=1)
    b["status"]["conditions"] = [{"type": "Ready", "status": status}]
    mine = deployment("worker", ["a"], pod_spec(gpus=1, tolerations=tolerations), strategy=rolling(1, 0))
    assert asked(read(node("a", gpus=2, cordoned=not elsewhere), b, mine)).verdict is verdict


def test_pods_are_evicted_once_whatever_taints_go_before() -> None:
    """40 taints of 20 keys, each of which may be taken off before: what was to be deleted at a time is (`processPodOnNode`)."""
    keys = [f"team-{i}" for i in range(20)]
    stays = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100 + i}
        for i, key in enumerate(keys)
    ]
    taints = tuple(Taint(key=key, value=value, effect="NoExecute") for key in keys for value in ("a", "b"))
    found = cluster_of(node("g0", gpus=1), silent("g1"), deployment("worker", ["g1"], pod_spec(tolerations=stays)))
    cluster = Cluster(found)
    lifted = cluster.with_nodes(cluster.nodes, {cluster.node_index["g1"]: taints})
    assert [one.after_seconds for one in evictions(lifted)] == [40.0]


@pytest.mark.parametrize(
    ("seconds", "then", "verdict"),
    [
        (75, "", Verdict.STUCK),
        (75, "10s:answers:g1", Verdict.STUCK),  # it is evicted for the other taint
        (75, "10s:untaint:node/g1=team", Verdict.STUCK),  # the node is silent still: when it was to be
        (75, "10s:untaint:node/g1=team;12s:answers:g1", Verdict.COMPLETES),
        (
            75,
            "10s:answers:g1;15s:untaint:node/g1=team",
            Verdict.COMPLETES,
        ),  # in the same second, whichever is told first
        (9_000, "10s:answers:g1", Verdict.COMPLETES),
        (9_000, "", Verdict.COMPLETES),
    ],
)
def test_a_silent_node_that_answers_evicts_for_its_other_taints(seconds: int, then: str, verdict: Verdict) -> None:
    """Silent for a minute, it evicts other's pod at 0:15, whose successor takes the GPU that the worker's second new pod needs at 0:30."""
    stays = {"key": "team", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    mine = deployment("worker", ["g0", "g0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    other = deployment("other", ["g1"], pod_spec(gpus=1, tolerations=[stays]))
    gone = silent("g1")
    gone["spec"]["taints"] += [{"key": "team", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    found = cluster_of(node("g0", gpus=2), gone, node("g2", gpus=1), mine, other)
    answer = asked(found, then=then)
    assert answer.verdict is verdict
    told = [row.event for row in answer.timeline if "evicted" in row.event]
    assert len(told) == (verdict is Verdict.STUCK), "who evicts nobody isn't told"
    assert all("which has a taint team that they tolerate for 1 min 15 s" in words for words in told)


def test_who_is_evicted_takes_room_from_then_on() -> None:
    """`other` is made anew once it is evicted, four minutes from now: too late for a rollout of two, in time for one that begins later."""
    mine = deployment("worker", ["g2", "g3"], pod_spec(gpus=1), strategy=rolling(1, 0))
    other = deployment("other", ["g1"], pod_spec(gpus=1))
    nodes = [node(name, gpus=1) for name in ("g0", "g2", "g3")]
    found = cluster_of(nodes, silent("g1"), mine, other)
    quick = asked(found)
    assert quick.verdict is Verdict.COMPLETES
    assert quick.ties is not None
    assert not quick.ties.proven
    assert "when pods are evicted from g1 may decide: with that at once it is stuck" in str(quick.ties.sentence)
    apart = cluster_of(nodes, silent("g1"), mine)  # nobody is evicted
    alone = asked(apart).ties
    assert alone is not None
    assert "evicted" not in str(alone.sentence)
    late = asked(found, then=f"5m:rollout:{WORKER}")
    assert late.verdict is Verdict.STUCK
    assert asked(found, then=f"5m:rollout:{WORKER};1m:answers:g1").verdict is Verdict.COMPLETES


def test_a_pod_without_a_grace_period_waits_for_no_kubelet() -> None:
    """The API server deletes it at once (`CheckGracefulDelete`), so Recreate goes on."""
    for grace, verdict in ((0, Verdict.COMPLETES), (1, Verdict.STUCK)):
        spec = pod_spec(gpus=1, terminationGracePeriodSeconds=grace)
        mine = deployment("worker", ["g1"], spec, strategy={"type": "Recreate"})
        assert asked(cluster_of(node("g0", gpus=1), silent("g1"), mine)).verdict is verdict, grace


@pytest.mark.parametrize(
    ("key", "made"),
    [
        (WORKER, deployment("worker", ["g1"], pod_spec(gpus=1), strategy={"type": "Recreate"})),
        ("StatefulSet/ml/worker", stateful_set("worker", ["g1"], pod_spec(gpus=1))),
        ("DaemonSet/ml/worker", daemon_set("worker", ["g0", "g1"], pod_spec(gpus=1))),
    ],
    ids=["Recreate", "StatefulSet", "DaemonSet"],
)
def test_what_is_deleted_on_a_node_that_is_out_of_service_ends(key: str, made: list[Item]) -> None:
    """The pod garbage collector lets it go, whatever the taint's effect (`gcTerminating`)."""
    for taint, verdict in (
        ("node.kubernetes.io/out-of-service:NoExecute", Verdict.COMPLETES),
        ("node.kubernetes.io/out-of-service:NoSchedule", Verdict.COMPLETES),
        ("maintenance:NoExecute", Verdict.STUCK),
    ):
        name, _, effect = taint.partition(":")
        gone = silent("g1")
        gone["spec"]["taints"].append({"key": name, "effect": effect})
        answer = asked(cluster_of(node("g0", gpus=1), gone, made), key)
        assert answer.verdict is verdict, taint
        if effect == "NoSchedule":  # the same of one that comes
            came = asked(cluster_of(node("g0", gpus=1), silent("g1"), made), key, then=f"1m:taint:node/g1={taint}")
            assert came.verdict is Verdict.COMPLETES
        # until the taint is taken off what is deleted ends; then no more
        lifted = cluster_of(node("g0", gpus=1), gone, made)
        for after, ends in ("1h", verdict), ("0s", Verdict.STUCK):
            answer = asked(lifted, key, then=f"{after}:untaint:node/g1={name};1m:rollout:{key}")
            assert answer.verdict is ends, (taint, after)


@pytest.mark.parametrize(
    ("effect", "after", "verdict"),
    [("NoExecute", "2m", Verdict.COMPLETES), ("NoExecute", "0s", Verdict.STUCK), ("NoSchedule", "2m", Verdict.STUCK)],
)
def test_who_has_to_go_for_out_of_service_has_gone_before_that_is_taken_off(
    effect: str, after: str, verdict: Verdict
) -> None:
    """NoExecute puts the pod out at once, and it ends while the taint is there; else it is deleted at 3:00 by the change, and never ends."""
    gone = silent("g1")
    gone["spec"]["taints"].append({"key": "node.kubernetes.io/out-of-service", "effect": effect})
    made = deployment("worker", ["g1"], pod_spec(gpus=1), strategy={"type": "Recreate"})
    then = f"{after}:untaint:node/g1=node.kubernetes.io/out-of-service;3m:rollout:{WORKER}"
    assert asked(cluster_of(node("g0", gpus=1), gone, made), WORKER, then=then).verdict is verdict


@pytest.mark.parametrize(
    ("key", "made", "verdict"),
    [
        ("StatefulSet/ml/worker", stateful_set("worker", ["g1"], pod_spec(gpus=1)), Verdict.COMPLETES),
        ("DaemonSet/ml/worker", daemon_set("worker", ["g0", "g1"], pod_spec(gpus=1)), Verdict.COMPLETES),
        (WORKER, deployment("worker", ["g1"], pod_spec(gpus=1), strategy={"type": "Recreate"}), Verdict.COMPLETES),
        (WORKER, deployment("worker", ["g1"], pod_spec(gpus=1), strategy=rolling(1, 0)), Verdict.STUCK),
    ],
    ids=["StatefulSet", "DaemonSet", "Recreate", "surge"],
)
def test_a_change_after_its_pods_were_evicted_and_made_again(key: str, made: list[Item], verdict: Verdict) -> None:
    """The pod that was evicted from g1 is made again on g0 before the change, of the old revision: only a surge waits for its GPU."""
    gone = silent("g1")
    gone["spec"]["taints"].append(OUT_OF_SERVICE)
    found = cluster_of(node("g0", gpus=1), gone, made)
    assert asked(found, key, then=f"2m:rollout:{key}").verdict is verdict
    assert asked(found, key).verdict is Verdict.COMPLETES


def test_who_tolerates_the_taint_that_lets_pods_end_isnt_played_while_it_goes() -> None:
    gone = silent("g1")
    gone["spec"]["taints"].append(OUT_OF_SERVICE)
    spec = pod_spec(gpus=1, tolerations=[{"operator": "Exists"}])
    found = cluster_of(node("g0", gpus=1), gone, deployment("worker", ["g1"], spec))
    with pytest.raises(NotKnownError, match="who may come to node g1 tolerates"):
        asked(found, then="1h:untaint:node/g1=node.kubernetes.io/out-of-service")


def test_a_volume_is_taken_off_a_node_that_is_out_of_service() -> None:
    made = deployment("worker", ["g1"], using(), strategy=rolling(1, 0))
    for taints, verdict in ([OUT_OF_SERVICE], Verdict.COMPLETES), ([], Verdict.STUCK):
        gone = silent("g1")
        gone["spec"]["taints"] += taints
        assert asked(cluster_of(node("g0"), gone, made, bound(), csi_driver())).verdict is verdict


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_node_stops_answering_while_a_rollout_goes_on_and_answers_again() -> None:
    mine = stateful_set("worker", ["g0", "g1"], pod_spec(gpus=1))
    found = cluster_of(node("g0", gpus=1), node("g1", gpus=1), mine)
    key = "StatefulSet/ml/worker"
    assert asked(found, key).verdict is Verdict.COMPLETES
    stuck = asked(found, key, then="0s:stops-answering:g0")
    assert (stuck.verdict, stuck.reason) == (Verdict.STUCK, Reason.SILENT_NODE)
    assert "after 0 s, node g0 stops answering" in str(stuck.meanwhile[0].sentence)
    back = asked(found, key, then="0s:stops-answering:g0;1h:answers:g0")
    assert back.verdict is Verdict.COMPLETES
    assert any("pods are evicted from g0" in row.event for row in back.timeline)
    early = asked(found, key, then="0s:stops-answering:g0;1m:answers:g0")  # before anybody is evicted
    assert not any("pods are evicted" in row.event for row in early.timeline)


def test_a_daemon_set_does_not_want_a_node_that_stops_answering() -> None:
    found = cluster_of(node("g0"), node("g1"), node("g2"), daemon_set("agent", ["g0", "g1", "g2"], pod_spec()))
    key = "DaemonSet/ml/agent"
    assert asked(found, key).verdict is Verdict.COMPLETES
    assert asked(found, key, then="0s:stops-answering:g1").verdict is Verdict.STUCK
    exists = daemon_set("agent", ["g0", "g1", "g2"], pod_spec(tolerations=[{"operator": "Exists"}]))
    tolerant = cluster_of(node("g0"), node("g1"), node("g2"), exists)
    assert asked(tolerant, key, then="0s:stops-answering:g1").verdict is Verdict.STUCK
    assert asked(tolerant, key, then="0s:stops-answering:g1;1h:answers:g1").verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("then", "problem"),
    [
        ("1m:answers:g0", "node g0 answers already"),
        ("1m:stops-answering:g9", "there is no node g9"),
        ("1m:force-delete:ml/none", "there is no pod none on a node in namespace ml"),
        ("1m:taint:g9=team:NoSchedule", "there is no pool g9"),
        ("1m:untaint:g0=team", "node g0 has no taint team"),
    ],
)
def test_what_is_not_there_is_refused(then: str, problem: str) -> None:
    found = cluster_of(node("g0", gpus=2), deployment("worker", ["g0"], pod_spec(gpus=1)))
    with pytest.raises(ChangeError, match=problem):
        asked(found, then=then)


def test_pods_that_tolerate_silence_and_others_are_not_played_beside_it() -> None:
    spec = pod_spec(gpus=1, tolerations=[{"operator": "Exists"}])
    found = cluster_of(node("g0", gpus=2), node("g1", gpus=2), deployment("worker", ["g0"], spec))
    with pytest.raises(NotKnownError, match=r"tolerates node\.kubernetes\.io/unreachable"):
        asked(found, then="1m:stops-answering:g1")


def test_a_taint_on_one_node_is_not_on_its_pool() -> None:
    mine = deployment("worker", ["g2"], pod_spec(gpus=1), strategy=rolling(1, 0))
    nodes = [node(name, gpus=1, pool="p") for name in ("g0", "g1", "g2")]
    taken = deployment("other", ["g1"], pod_spec(gpus=1))
    found = cluster_of(nodes, mine, taken)
    assert asked(found, then="0s:taint:g0=team:NoSchedule;1h:untaint:g0=team").verdict is Verdict.COMPLETES
    one = asked(found, then=f"0s:taint:g0=team:NoSchedule;1m:rollout:{WORKER}")
    assert one.verdict is Verdict.STUCK
    assert "node g0 gets the taint team:NoSchedule" in str(one.meanwhile[0].sentence)
    other = asked(found, then=f"0s:taint:node/g1=team:NoSchedule;1m:rollout:{WORKER}")
    assert other.verdict is Verdict.COMPLETES
    assert asked(found, then=f"0s:taint:p=team:NoSchedule;1m:rollout:{WORKER}").verdict is Verdict.STUCK


# ── what-if ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_if_a_node_stops_answering_and_answers_again() -> None:
    mine = deployment("worker", ["g0", "g1"], pod_spec(gpus=1))
    for free, fate in ((1, "all that are made anew find a node"), (0, "1 of their successors find no node")):
        found = cluster_of(node("g0", gpus=1 + free), node("g1", gpus=1), mine)
        gone = apply(Cluster(found), [Change(kind=ChangeKind.STOPS_ANSWERING, target="g1")])
        said = str(gone.steps[0].sentence)
        assert said == f"node g1 stops answering: 1 pod not Ready, 1 evicted after 5 min, {fate}"
        assert gone.steps[0].is_done is bool(free)
        kept = [one for one in gone.snapshot.pods if one.node_name == "g1"]
        assert [one.deleted_at is not None for one in kept] == [True]  # its object stays
        changes = [Change(kind=ChangeKind.STOPS_ANSWERING, target="g1"), Change(kind=ChangeKind.ANSWERS, target="g1")]
        back = apply(Cluster(found), changes)
        assert not any(one.deleted_at for one in back.snapshot.pods)
        assert all(one.is_ready for one in back.snapshot.pods)
        waited = "node g1 answers again" + ("" if free else ": 1 waiting pod placed")
        assert str(back.steps[1].sentence) == waited


def test_what_if_a_pod_is_deleted_by_force() -> None:
    found = cluster_of(
        node("g0", gpus=1),
        silent("g1"),
        stateful_set("worker", ["g1"], pod_spec(gpus=1)),
        pod("bare", pod_spec(), on="g1"),
    )
    changes = [Change(kind=ChangeKind.FORCE_DELETE, target=f"ml/{name}") for name in ("worker-0", "bare")]
    done, gone = apply(Cluster(found), changes).steps
    assert str(done.sentence) == "ml/worker-0 deleted by force from g1: its successor is on g0"
    assert str(gone.sentence) == "ml/bare deleted by force from g1: nothing makes it anew"


def test_a_drain_of_a_silent_node_does_not_end() -> None:
    """kubectl drain waits until its pods are gone."""
    mine = deployment("worker", ["g1"], pod_spec(gpus=1))
    gone = silent("g1")
    gone["spec"]["taints"].append(OUT_OF_SERVICE)
    for there, is_drained in ((silent("g1"), False), (gone, True), (node("g1", gpus=1), True)):
        found = cluster_of(node("g0", gpus=1), there, mine)
        (step,) = apply(Cluster(found), [Change(kind=ChangeKind.DRAIN, target="g1")]).steps
        assert step.is_done is is_drained
        assert step.drain is not None
        why = [held.why for held in step.drain.held_back]
        assert why == ([] if is_drained else ["node g1 doesn't answer, so the pod can't end"])
