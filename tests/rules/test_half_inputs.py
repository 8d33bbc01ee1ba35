"""Half a snapshot says half: no number of any answer hangs on a list that wasn't seen.

A number that is given without a list must be the same whatever that list would have held. So each list of a small cluster is
taken away, and what is still said as a number is compared with the answers about several clusters that have it: as it was,
with nothing in it, and with more in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from planner.capacity import rollout_readiness as overviews
from planner.capacity.what_if_syntax import parse_changes
from planner.cli import main
from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.history.snapshot_rows import rows_of
from planner.inventory import cluster_oddities
from planner.inventory.input_report import how_to_add, told, unseen
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.kubernetes.workload_kinds import DEPLOYMENT, NODE, POD
from planner.questions import INDEX, capacity, gate, question_called, rollout, where
from planner.questions.capacity import CapacitySettings
from planner.questions.gate import GateSettings
from planner.questions.question import Inputs, Question, document
from planner.questions.rollout import RolloutSettings
from planner.questions.savings import SavingsSettings
from planner.questions.strategies import StrategiesSettings
from planner.questions.strategy_costs import StrategyCostSettings
from planner.questions.what_if import WhatIfSettings
from planner.questions.where import WhereSettings
from planner.rollout.answers import Verdict
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from planner.serve.cluster_metrics import cluster_metrics
from planner.sources.prices import embedded_book
from planner.spot.assumptions import SpotSettings
from tests.builders.objects import Item, deployment, node, pod, pod_spec, snapshot
from tests.seen import each, premise

WEB = "Deployment/ml/web"
GIVEN = Inputs(book=embedded_book())
LISTS = {NODE.name: "nodes", POD.name: "pods", DEPLOYMENT.name: "workloads"}
"""The lists that are taken away: kind → field of the snapshot."""
TAKEN = [taken for number in (1, 2, 3) for taken in combinations(LISTS, number)]
STATES = (Presence.ABSENT, Presence.REFUSED, Presence.PARTIAL)
CHANGED = RolloutSettings(workloads=(WEB,), max_surge=1, runs=1)
NEW = json.dumps(deployment("new", [], pod_spec(gpus=1), replicas=2)[0])
SAME = json.dumps(deployment("web", ["gpu-0", "gpu-0"], pod_spec(gpus=1))[0])
OTHER = json.dumps(deployment("web", ["gpu-0", "gpu-0"], pod_spec(gpus=2))[0])
ASKED: Mapping[str, Any] = {
    "where": WhereSettings(shape="gpu=1"),
    "rollout": CHANGED,
    "gate": GateSettings(manifest=NEW),
    "what_if": WhatIfSettings(changes=parse_changes("drain:pool/gpu")),
    "savings": SavingsSettings(workload=WEB, spot=SpotSettings(runs=20)),
    "strategies": StrategiesSettings(rollout=CHANGED),
    "strategy_costs": StrategyCostSettings(rollout=RolloutSettings(workloads=(WEB,), runs=1)),
}
OF_OTHERS = {
    "trends",
    "commitments",
    "idle",
    "diff",
    "memory_what_if",
}  # of a store, a Prometheus, two clusters, a patch
OF_THE_INPUT = {"doctor", "findings", "report"}  # they count what was read and found, of whatever there is
QUESTIONS = [name for name in INDEX if name not in OF_OTHERS | OF_THE_INPUT]
OF_VERDICTS = {"workloads", "workloads_stuck", "stuck", "unknown", "exit_status"}  # what is known of what was seen


N1 = {"node.kubernetes.io/instance-type": "n1-standard-8", "topology.kubernetes.io/region": "us-central1"}
ITEMS: list[Item] = [
    node("gpu-0", pool="gpu", gpus=4, memory="26Gi", labels=N1),
    node("gpu-1", pool="gpu", gpus=2, memory="26Gi", labels=N1),
    node("cpu-0", pool="cpu"),
    *deployment("web", ["gpu-0", "gpu-0"], pod_spec(gpus=1)),
    *deployment("api", ["gpu-1", ""], pod_spec(gpus=2)),
    *deployment("api", ["cpu-0"], pod_spec(), namespace="dev"),
    pod("alone", pod_spec(cpu="2"), on="cpu-0"),
]


@cache
def whole() -> Snapshot:
    """Two nodes with GPUs and one without, two Deployments, one of them in another namespace too, a pod of nobody and one that waits."""
    return snapshot(ITEMS)


def with_presence(of: Snapshot, kinds: tuple[str, ...], state: Presence, **lists: Any) -> Snapshot:
    digest = f"{of.digest}-{state}-{kinds}-{sorted((name, len(some)) for name, some in lists.items())}"
    return replace(of, presence=FrozenMap({**of.presence, **dict.fromkeys(kinds, state)}), digest=digest, **lists)


@cache
def without(kinds: tuple[str, ...], state: Presence = Presence.ABSENT) -> Snapshot:
    """The cluster as it is read where these lists weren't given, were refused, or hold a part."""
    if state is Presence.ABSENT:
        return snapshot([item for item in ITEMS if item["kind"] not in kinds])
    some = 1 if state is Presence.PARTIAL else 0
    return with_presence(whole(), kinds, state, **{LISTS[kind]: getattr(whole(), LISTS[kind])[:some] for kind in kinds})


def others(kinds: tuple[str, ...]) -> Iterator[Snapshot]:
    """Clusters that `without` may be of: the lists as they were, with nothing in them, and with more."""
    yield whole()
    yield with_presence(whole(), kinds, Presence.PRESENT, **{LISTS[kind]: () for kind in kinds})
    lists = {LISTS[kind]: getattr(whole(), LISTS[kind]) for kind in kinds}
    more = {
        name: (*some, *(replace(one, name=f"{one.name}-2", uid=f"{one.uid}-2") for one in some))
        for name, some in lists.items()
    }
    yield with_presence(whole(), kinds, Presence.PRESENT, **more)


def numbers(name: str, of: Snapshot) -> dict[tuple[str, ...], float]:
    """Every number of an answer, in its document, facts and tables, by where it stands; none where there is no answer."""
    question: Question[Any, Any] = question_called(name)
    settings = ASKED.get(name) or question.settings()
    try:
        answer = question.answer(of, settings, GIVEN)
    except HeadroomError:
        return {}
    if question.not_known(of, answer) is not None:
        return dict(leaves(document(question, of, settings, answer)["result"]))
    found = dict(leaves(document(question, of, settings, answer)["result"]))
    for table in (*question.tables, "facts"):
        found.update(leaves([dict(row) for row in question.rows(answer, table)], (table,)))
    return found


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Numbers below `value`; an element of a list is called by its texts, since its place may be another."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield path, value
    elif isinstance(value, Mapping) and value.get("metric") not in OF_VERDICTS:
        for key, one in value.items():
            if key not in OF_VERDICTS:
                yield from leaves(one, (*path, str(key)))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from leaves(one, (*path, called(one, place)))


NAMES = ["metric", "labels", "workload", "cluster", "model", "gpu_model", "resource", "node_pool", "node", "name", "shape", "pods", "change", "service", "environment", "aspect", "container", "what", "namespace", "share"]  # fmt: skip


def called(one: Any, place: int) -> str:
    texts = {key: text for key, text in one.items() if isinstance(text, str)} if isinstance(one, Mapping) else {}
    return ",".join(texts[key] for key in NAMES if key in texts) or ",".join(texts.values()) or str(place)


@cache
def numbers_of_others(name: str, kinds: tuple[str, ...]) -> tuple[dict[tuple[str, ...], float], ...]:
    return tuple(numbers(name, one) for one in others(kinds))


@pytest.mark.parametrize("kinds", TAKEN, ids=",".join)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_number_hangs_on_a_list_that_was_not_seen(name: str, kinds: tuple[str, ...]) -> None:
    # A workload of a part of the list is answered for.
    for state in STATES if DEPLOYMENT.name not in kinds else STATES[:2]:
        said = numbers(name, without(kinds, state))
        for other in each(numbers_of_others(name, kinds)) if premise(said) else ():
            hanging = {
                path: (is_said, other[path]) for path, is_said in said.items() if other.get(path, is_said) != is_said
            }
            assert not hanging, (state, hanging)


@pytest.mark.parametrize("kinds", TAKEN, ids=",".join)
def test_no_series_hangs_on_a_list_that_was_not_seen(kinds: tuple[str, ...]) -> None:
    for state in STATES:
        said = series(without(kinds, state))
        assert bool(said) is (NODE.name not in kinds)  # without nodes nothing is told of the cluster
        for other in each(map(series, others(kinds))):
            assert {name: other.get(name, number) for name, number in said.items()} == said


def series(of: Snapshot) -> dict[tuple[str, ...], float]:
    """What Prometheus is told, but for what is known of workloads."""
    families = (one for one in cluster_metrics(of, GIVEN).families if not one.name.startswith("workload"))
    return {(one.name, *names): number for one in families for names, number in one.samples}


@pytest.mark.parametrize("kinds", TAKEN, ids=",".join)
def test_nothing_is_kept_of_what_a_list_that_was_not_seen_would_tell(kinds: tuple[str, ...]) -> None:
    for state in STATES:
        kept = rows_of(without(kinds, state), (), written_by="test")
        if premise(POD.name in kinds):
            assert {row["requested_gpus"] for row in kept["nodes"]} <= {None}
            assert kept["pools"] == []
            assert kept["snapshots"][0]["pods"] is None


BLIND = [kinds for kinds in TAKEN if {NODE.name, POD.name} & {*kinds}]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kinds", BLIND, ids=",".join)
def test_without_nodes_or_pods_every_door_says_that_it_is_not_known(kinds: tuple[str, ...], state: Presence) -> None:
    of = without(kinds, state)
    for manifest in (NEW, OTHER):
        gated = gate.answer(of, GateSettings(manifest=manifest), GIVEN)
        assert (gated.together, gated.exit_status) == (Verdict.UNKNOWN, ExitStatus.NOT_KNOWN)
        for part in gated.workloads:
            assert (part.ways_out, part.lowest_ready, part.more_usd_per_month, str(part.scheduler_message)) == (
                (),
                None,
                None,
                "",
            )
        settings = RolloutSettings(manifest=manifest, runs=1)
        played = rollout.answer(of, settings, GIVEN)
        assert (played.verdict, played.remedies, played.ties) == (Verdict.UNKNOWN, (), None)
        assert document(rollout.QUESTION, of, settings, played)["result"] is None
        [there] = where.answer(of, WhereSettings(manifest=manifest), GIVEN).clusters
        assert (there.verdict, there.room, there.usd_per_month) == (Verdict.UNKNOWN, (), None)
        assert reviewed(of, manifest).silence is Silence.NOT_KNOWN
    lines = overviews.overview(of).workloads
    assert {line.verdict for line in lines} <= {Verdict.UNKNOWN}
    assert {line.lowest_ready for line in lines} <= {None}


def reviewed(of: Snapshot, manifest: str) -> WebhookReview:
    """What the webhook says of the same object."""
    written = json.loads(manifest)
    meta = written["metadata"]
    there = of.workload(f"{written['kind']}/{meta['namespace']}/{meta['name']}")
    request = {
        "uid": "u", "kind": {"group": "apps", "version": "v1", "kind": written["kind"]},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"}, "namespace": meta["namespace"],
        "name": meta["name"], "operation": "CREATE" if there is None else "UPDATE", "object": written, "oldObject": None,
    }  # fmt: skip
    return review(
        of,
        read_request(
            json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
        ),
    )


def test_of_a_workload_whose_kind_was_not_listed_nobody_says_that_it_is_new() -> None:
    of = without((DEPLOYMENT.name,))
    gated = gate.answer(of, GateSettings(manifest=OTHER), GIVEN)
    played = rollout.answer(of, RolloutSettings(manifest=OTHER, runs=1), GIVEN)
    [there] = where.answer(of, WhereSettings(manifest=OTHER), GIVEN).clusters
    assert [gated.together, played.verdict, there.verdict] == [Verdict.UNKNOWN] * 3
    assert played.remedies == ()
    for said in (gated.workloads[0].sentence, played.sentence, there.sentence):
        assert f"whether there is a {WEB} is not known" in str(said)
    with pytest.raises(NotKnownError, match=f"whether there is a {WEB} is not known"):
        rollout.answer(of, RolloutSettings(workloads=(WEB,), runs=1), GIVEN)


def test_one_that_has_no_pod_goes_as_a_new_one_whether_it_is_there_or_not() -> None:
    """Where all pods were listed and none is its own: there is nothing to replace, and the door says the same without the list."""
    of, there = without((DEPLOYMENT.name,)), with_presence(whole(), (DEPLOYMENT.name,), Presence.PRESENT)
    said = [
        (
            gate.answer(one, GateSettings(manifest=NEW), GIVEN).together,
            rollout.answer(one, RolloutSettings(manifest=NEW, runs=1), GIVEN).verdict,
            where.answer(one, WhereSettings(manifest=NEW), GIVEN).clusters[0].verdict,
        )
        for one in (of, there)
    ]
    assert said[0] == said[1] == (Verdict.STUCK,) * 3
    blind = without((DEPLOYMENT.name, POD.name))
    assert rollout.answer(blind, RolloutSettings(manifest=NEW, runs=1), GIVEN).verdict is Verdict.UNKNOWN
    unsaid = json.loads(NEW)
    del unsaid["spec"]["replicas"]  # one that is there may be scaled to any number, with its pods refused
    asked = json.dumps(unsaid)
    assert gate.answer(of, GateSettings(manifest=asked), GIVEN).together is Verdict.UNKNOWN
    assert rollout.answer(of, RolloutSettings(manifest=asked, runs=1), GIVEN).verdict is Verdict.UNKNOWN


def test_what_moves_no_pod_passes_without_pods_too() -> None:
    of = without((POD.name,))
    gated = gate.answer(of, GateSettings(manifest=SAME), GIVEN)
    played = rollout.answer(of, RolloutSettings(manifest=SAME, runs=1), GIVEN)
    assert (gated.exit_status, str(gated.sentence)[:31]) == (ExitStatus.ANSWERED, "passes: the change rolls nothin")
    assert played.verdict is not Verdict.STUCK


@pytest.mark.parametrize("kinds", BLIND, ids=",".join)
def test_no_finding_is_of_nodes_that_nobody_saw(kinds: tuple[str, ...]) -> None:
    of_nodes = {"no-room-to-surge", "gpu-node-idle", "pod-wants-unknown-resource", "node-overcommitted"}
    assert not {one.code for one in cluster_oddities.check(without(kinds))} & of_nodes - {"node-overcommitted"}


def test_what_the_nodes_have_is_said_and_that_what_is_held_is_not_known() -> None:
    of = without((POD.name, DEPLOYMENT.name))
    found = capacity.answer(of, CapacitySettings(shapes=("gpu=1",)), GIVEN)
    assert str(found.sentence).startswith(
        "6 GPUs in all; how many are free is not known: the input holds no Pods. To add them: "
    )
    assert [(line.model, line.allocatable, line.free, line.requested) for line in found.gpus] == [("T4", 6, None, None)]
    assert {row["node_pool"]: (row["gpus"], row["gpus_free"]) for row in capacity.QUESTION.rows(found, "pools")} == {
        "cpu": (0, 0), "gpu": (6, None),
    }  # fmt: skip
    assert (found.shapes, found.standard, found.workloads, found.fragments) == ((), (), (), None)
    seen = overviews.overview(of)
    assert seen.gpus == found.gpus
    assert (seen.node_count, seen.pod_count, seen.pending_pods) == (3, None, None)
    assert str(seen.sentence).startswith("Not known: the input holds no Pods, Deployments")


def test_one_cluster_of_several_without_pods_leaves_the_others_known() -> None:
    question = question_called("fleet")
    given = Inputs(book=GIVEN.book, others=(replace(without((POD.name,)), source="half"),))
    found = question.answer(whole(), question.settings(), given)
    [model] = found.models
    assert (model.allocatable, model.free) == (12, None)
    assert [(one.cluster, one.waiting) for one in found.clusters] == [("objects", 1), ("half", None)]
    assert question.not_known((whole(), *given.others), found) is None
    assert question.exit_status((whole(), *given.others), found) is ExitStatus.NOT_KNOWN


def test_what_is_missing_is_told_once_with_one_command() -> None:
    lacking = list(unseen(without((NODE.name, POD.name))))
    absent = [one for one in lacking if one.kind in (NODE.name, POD.name)]
    assert told(absent) == "the input holds no Nodes and Pods"
    assert how_to_add(absent) == "To add them: kubectl get nodes,pods --all-namespaces --output json"


@pytest.mark.parametrize("command", ["overview", "capacity", "seats", "plan", "costs", "fleet", "memory"])
@pytest.mark.parametrize("kinds", [("Node",), ("Pod",), ("Node", "Pod")], ids=",".join)
def test_a_command_names_what_is_missing_once(
    command: str, kinds: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "half.json"
    file.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [i for i in ITEMS if i["kind"] not in kinds]})
    )
    with pytest.raises(SystemExit) as ended:
        main([command, str(file)])
    said = "".join(capsys.readouterr())
    assert ended.value.code == ExitStatus.NOT_KNOWN
    adding = re.findall(r"kubectl get (\S+)", said)
    for kind in kinds:
        assert sum(f"{kind.lower()}s" in one.split(",") for one in adding) == 1, said
        assert said.count(f"no {kind}") + said.count(f"in the input: {kind}") <= 1, said
    if "Pod" in kinds:
        assert not re.search(r"\b\d[\d,]* (of [\d,]+ )?\S+ (is|are) free", said), said


def test_what_hangs_on_a_list_is_known_where_all_of_it_was_seen() -> None:
    for presence, expected in ((Presence.PRESENT, 7), (Presence.INFERRED, 7), (Presence.ABSENT, None), (Presence.REFUSED, None), (Presence.PARTIAL, None)):  # fmt: skip
        found = Snapshot(taken_at=0.0, source="", digest="", presence=FrozenMap({POD.name: presence}))
        assert found.if_known(7, POD.name) == expected
        assert found.if_known(7, NODE.name) == 7, "nobody looked for that list"


def test_a_workload_whose_claims_were_not_seen_is_not_known_at_any_door() -> None:
    """The list of all counts what is alike in place of playing it: a claim may keep its pods from nodes that have room."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    made = deployment("web", ["n0"], pod_spec(volumes=[volume]), strategy={"type": "Recreate"})
    of, other = snapshot(node("n0"), *made), json.loads(json.dumps(made[0]))
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    [line] = overviews.overview(of).workloads
    played = rollout.answer(of, RolloutSettings(workloads=(WEB,), runs=1), GIVEN)
    gated = gate.answer(of, GateSettings(manifest=json.dumps(other)), GIVEN)
    assert [line.verdict, played.verdict, gated.together] == [Verdict.UNKNOWN] * 3
    assert "the snapshot doesn't hold PersistentVolumeClaims" in str(line.sentence)
    assert reviewed(of, json.dumps(other)).silence is Silence.NOT_KNOWN
