"""A cluster under other names: the same answers up to names, and no name of it left."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner.capacity.kueue_queues import queues
from planner.cli import main
from planner.ground import well_known_names
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import replace
from planner.health.drift.model import ENVIRONMENT_WORDS
from planner.history import anonymization_allowlist, snapshot_bytes
from planner.history.anonymization import anonymised
from planner.history.anonymization_allowlist import PROGRAMS, is_plain_number
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.kubernetes.node_properties import machine_type, node_pool
from planner.kubernetes.object_records import FrozenMap, Owner, Snapshot, Taint
from planner.questions import overview, question_called
from planner.questions import rollout as question
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import cluster_dumps, demo, node_pool_files
from planner.sources.cluster_argument import read_cluster
from planner.sources.prices import embedded_book
from planner.spot.suitability import BACKGROUND
from tests.architecture.tree import ROOT
from tests.builders import eks
from tests.builders.objects import deployment, node, pod_spec
from tests.builders.objects import snapshot as of_items
from tests.builders.planted import Planter, texts_of
from tests.capacity.teams import queue, teams
from tests.capacity.teams import read as read_teams
from tests.seen import premise

ASKED = ("overview", "capacity", "seats", "costs", "savings", "memory", "restarts", "drift", "findings", "doctor")
RECORDINGS = sorted((ROOT / "tests/conformance/rollouts").rglob("*.json*"))


def hidden(snapshot: Snapshot) -> Snapshot:
    return snapshot_bytes.decode(anonymised(snapshot, ENVIRONMENT_WORDS, BACKGROUND).content, "anonymous")


def told(snapshot: Snapshot, name: str) -> Counter[Any]:
    """An answer's facts without names: what is told, how often."""
    question = question_called(name)
    try:
        found = question.answer(snapshot, question.settings(), Inputs(book=embedded_book()))
    except HeadroomError as error:
        return Counter([type(error).__name__])
    facts = question.facts(found)
    return Counter((one.metric, tuple(sorted(one.labels)), one.unit, _value(one.value)) for one in facts)


def _value(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


@cache
def the_demo() -> tuple[Snapshot, Snapshot]:
    known = replace(demo.read(), logs=())
    return known, hidden(known)


@pytest.mark.parametrize("name", ASKED)
def test_answers_are_the_same_up_to_names(name: str) -> None:
    before, after = the_demo()
    assert told(after, name) == told(before, name)


@pytest.mark.parametrize("place", range(len(the_demo()[0].workloads)))
def test_rollouts_are_the_same_up_to_names(place: int) -> None:
    before, after = the_demo()
    if not premise(before.workloads[place].traits.rolls_out):
        return
    results = []
    for one in (before, after):
        change = WorkloadChange(workload=one.workloads[place].key)
        found = rollout(one, Scenario(changes=(change,), runs=3))
        ways = [(way.kind, way.lowest_ready, round(way.seconds), way.extra_gpus) for way in found.remedies]
        first = found.workloads[0]
        results.append(
            (found.verdict, found.reason, found.ticks, round(found.seconds), first.lowest_ready, first.peak_pods, ways)
        )
    assert results[0] == results[1]


def test_kueues_queues_are_the_same_up_to_names() -> None:
    """The words of its policies and conditions stay; names of queues, cohorts and teams go."""
    before = read_teams([*teams(), queue("extra", {"h100": ("4",)}, cohort="secretive", stopPolicy="Hold")])
    after = hidden(before)
    results = [
        [(one.place, one.outcome, one.priority, len(one.evicts), bool(one.remedy)) for one in sorted(found.waiting, key=lambda one: (one.since_seconds or 0.0))]
        for found in (queues(before), queues(after))
    ]  # fmt: skip
    assert results[0] == results[1]
    assert len(results[0]) == 5
    same = (
        "strategy",
        "within_queue",
        "reclaim",
        "borrow_policy",
        "when_can_borrow",
        "when_can_preempt",
        "preference",
        "stop",
    )
    policies = [
        sorted(tuple(getattr(one, name) for name in same) for one in each.cluster_queues) for each in (before, after)
    ]
    assert policies[0] == policies[1]
    kept = {one.name for one in after.cluster_queues} | {one.cohort for one in after.cluster_queues}
    assert not kept & {"extra", "secretive", "research", "team-a", "team-b", "team-c"}


def recorded() -> Iterator[Any]:
    of_devices = [path for path in RECORDINGS if "t-dra3" in path.name]
    for path in dict.fromkeys((*RECORDINGS[::20], *of_devices)):
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        content = json.loads(raw)
        for place, case in enumerate((content if isinstance(content, list) else [content])[:3]):
            yield pytest.param(case["cluster"], id=f"{path.stem}-{place}")


@pytest.mark.parametrize("cluster", list(recorded()))
def test_recorded_clusters_roll_out_the_same(cluster: Any) -> None:
    """All that the recordings have: quotas, affinity, spread, volumes, devices, priorities."""
    before = replace(cluster_dumps.read_bytes(json.dumps(cluster).encode(), name="recorded"), logs=())
    assert told(hidden(before), "overview") == told(before, "overview")


def test_no_name_is_left() -> None:
    before, _ = the_demo()
    text = anonymised(before, ENVIRONMENT_WORDS, BACKGROUND).content.decode()
    named: list[Any] = [*before.workloads, *before.pods, *before.nodes, *before.replica_sets]
    names = {one.name for one in named}
    names |= {container.image for one in before.workloads for container in one.template.spec.containers}
    words = {part for name in names for part in re.split(r"[-./:@]", name)}
    public = set(
        re.split(
            r"\W+",
            "kube system node gke gpu web api dns local pool default nvidia device io com a100 spot asia northeast3 docker worker trainer",  # the last is a field of TrainJob
        )
    )
    secret = {word for word in words if not word.isdecimal() and word not in public and len(word) > 3}
    assert len(secret) > 100
    left = sorted(
        word
        for word in secret
        if re.search(rf"\b{re.escape(word)}\b", text) and word not in {*ENVIRONMENT_WORDS, *PROGRAMS}
    )
    assert left == [], left


def test_no_text_of_any_record_is_left() -> None:
    """But for what Headroom's own reader writes: the code of a finding."""
    planter = Planter()
    text = texts_of(anonymised(planter.snapshot()).content)
    assert len(planter.words) > 1000
    assert {where for word, where in planter.words.items() if word in text} == {"Finding.code"}


TOLD = (
    "ip-10-12-34-56.ec2.internal", "10.12.34.56", "172.31.5.9:8080", "210987654321", "210987654321.dkr.ecr.eu-west-1.amazonaws.com",
    "registry.acmecorp.example", "someone@acmecorp.example", "acmecorp", "acme-scheduler",
)  # fmt: skip


@pytest.mark.parametrize("told", TOLD)
def test_addresses_accounts_and_people_go_from_names_and_sentences(told: str) -> None:
    before = demo.read()
    node, pod, event = before.nodes[0], before.pods[0], before.events[0]
    labels = FrozenMap(
        {**node.labels, "node.kubernetes.io/instance-id": told, "acmecorp.k8s.io/team": "acmepayments", "subnet": told}
    )
    taint = Taint(key="cloud.google.com/owner", value=told, effect="NoSchedule")
    holder = replace(
        before,
        nodes=(replace(node, name=told, labels=labels, taints=(taint,)), *before.nodes[1:]),
        pods=(replace(pod, spec=replace(pod.spec, scheduler_name=told), node_name=told), *before.pods[1:]),
        events=(replace(event, reason=told, message=f'refused "{told}" (from {told}), by {told}.'), *before.events[1:]),
    )
    secret = (part for part in re.split(r"[.:@-]", told) if part not in PUBLIC_PARTS and not is_plain_number(part))
    text = anonymised(holder).content.decode()
    assert told not in text
    assert "acmepayments" not in text
    assert [part for part in secret if part in text] == []


PUBLIC_PARTS = frozenset(
    ["ip", "ec2", "internal", "com", "amazonaws", "registry", "dkr", "ecr", "scheduler", "eu", "west"]
)


def test_what_stays_is_listed_before_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["anonymize", "demo", "--to", str(tmp_path / "shown.json")])
    told = capsys.readouterr().err
    assert "label topology.kubernetes.io/zone: asia-northeast3-a, asia-northeast3-b, asia-northeast3-c" in told
    assert "resources: nvidia.com/gpu" in told
    assert "ml-worker" not in told
    assert "inference" not in told


def test_on_a_terminal_it_asks_and_writes_nothing_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "shown.json"
    monkeypatch.setattr("sys.stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})("n\n"))
    with pytest.raises(SystemExit) as stopped:
        main(["anonymize", "demo", "--to", str(target)])
    assert stopped.value.code == 0
    assert not target.exists()
    with pytest.raises(SystemExit):
        main(["anonymize", "demo", "--to", str(target), "--yes"])
    assert target.exists()


def test_words_of_clouds_in_names_go_and_what_their_labels_say_stays() -> None:
    before, after = the_demo()
    pools = [{node.labels["cloud.google.com/gke-nodepool"] for node in one.nodes} for one in (before, after)]
    assert pools[0] & pools[1] <= {"default"}, "a pool's name is a name"
    for label in (
        "topology.kubernetes.io/zone",
        "node.kubernetes.io/instance-type",
        "cloud.google.com/gke-accelerator",
    ):
        assert Counter(n.labels.get(label) for n in before.nodes) == Counter(n.labels.get(label) for n in after.nodes)
    uids = {pod.labels["controller-uid"] for pod in before.pods if "controller-uid" in pod.labels}
    assert uids
    text = anonymised(before, ENVIRONMENT_WORDS, BACKGROUND).content.decode()
    assert not [uid for uid in uids if uid in text]


def test_it_says_the_same_every_time_and_keeps_the_order() -> None:
    before, after = the_demo()
    assert anonymised(before, ENVIRONMENT_WORDS, BACKGROUND) == anonymised(before, ENVIRONMENT_WORDS, BACKGROUND)
    for of in ("nodes", "pods", "workloads"):
        names = [[one.name for one in getattr(side, of)] for side in (before, after)]
        order = [sorted(range(len(each)), key=each.__getitem__) for each in names]
        assert order[0] == order[1], of
    assert len({one.name for one in after.pods}) == len({one.name for one in before.pods})


@pytest.mark.parametrize("name", ["shown.json", "shown.json.gz"])
def test_every_command_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    target = tmp_path / name
    with pytest.raises(SystemExit) as stopped:
        main(["anonymize", "demo", "--to", str(target)])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"{target}: 24 nodes, 133 pods")
    with pytest.raises(SystemExit):
        main(["overview", str(target)])
    assert capsys.readouterr().out.startswith("5 of 20 workloads would get stuck if changed now.")
    assert read_cluster(str(target)).source == name


def test_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    whole = anonymised(demo.read()).content
    for name, data in (("a.json", whole[:5000]), ("b.json.gz", gzip.compress(whole)[:-9000])):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(InputError, match="damaged"):
            read_cluster(str(path))
    (tmp_path / "c.json").write_bytes(whole)
    with pytest.raises(InputError, match="larger than may be read"):
        read_cluster(str(tmp_path / "c.json"), limit_bytes=1000)


def verdicts(cluster: Snapshot, limits: tuple[PoolLimits, ...]) -> list[tuple[Any, ...]]:
    given = Inputs(limits=limits)
    lines = overview.answer(cluster, overview.OverviewSettings(), given).workloads
    found = [question.answer(cluster, RolloutSettings(workloads=(line.workload,), runs=1), given) for line in lines]
    return [
        (
            line.verdict,
            one.verdict,
            one.extra_nodes,
            one.fewest_nodes,
            sorted(machine_type(node) for node in one.new_nodes),
        )
        for line, one in zip(lines, found, strict=True)
    ]


@pytest.mark.parametrize("has_types", [False, True])
def test_a_cluster_of_karpenters_grows_the_same_under_other_names(has_types: bool) -> None:
    """Its NodePools choose machines by labels that tell family and size."""
    before = eks.snapshot()
    types = (
        node_pool_files.read_bytes(json.dumps(eks.instance_types()).encode(), name="types.json") if has_types else ()
    )
    found = verdicts(before, types)
    assert found == verdicts(hidden(before), types)
    assert [one for one in found if one[0] is Verdict.NEEDS_GROWTH]
    assert hidden(before).node_pools[0].requirements == before.node_pools[0].requirements


def test_a_gke_cluster_grows_the_same_under_other_names() -> None:
    surge: Any = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    labels = {
        "cloud.google.com/gke-nodepool": "secretive",
        "cloud.google.com/machine-family": "g2",
        "topology.kubernetes.io/zone": "us-west1-b",
    }
    nodes = [node(f"gke-c-secretive-1-{i}", gpus=1, labels=labels) for i in range(2)]
    picky = pod_spec(gpus=1, nodeSelector={"cloud.google.com/machine-family": "g2"})
    before = of_items(nodes, deployment("serve", [one["metadata"]["name"] for one in nodes], picky, **surge))
    after = hidden(before)
    assert after.nodes[0].labels["cloud.google.com/machine-family"] == "g2"
    assert node_pool(after.nodes[0]) not in ("secretive", "")
    for most in (2, 8):
        assert verdicts(before, parse_typed_limits(f"secretive={most}")) == verdicts(after, parse_typed_limits(f"{node_pool(after.nodes[0])}={most}"))  # fmt: skip
    assert verdicts(before, parse_typed_limits("secretive=8"))[0][0] is Verdict.NEEDS_GROWTH


def test_where_the_program_stands_on_this_machine_is_no_word_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(well_known_names, "__file__", "/srv/acmecorp/prodteam/vocabulary.py")
    assert not {"acmecorp", "prodteam"} & anonymization_allowlist._parts_of_tables()


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("ReplicaSet", "extensions"),
        ("RayCluster", "ray.io"),
        ("JobSet", "jobset.x-k8s.io"),
        ("PyTorchJob", "kubeflow.org"),
    ],
)
def test_an_owner_is_of_the_same_project_under_another_name(kind: str, group: str) -> None:
    """Else a ReplicaSet of an old server would be another project's there, and who was listed and is gone wouldn't be known to be."""
    found = of_items(node("n0", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1)))
    owner = Owner(kind=kind, name="x", uid="u", api_group=group)
    shown = hidden(replace(found, pods=(replace(found.pods[0], owner=owner),))).pods[0].owner
    assert shown is not None
    assert (shown.kind, shown.api_group) == (kind, group)
