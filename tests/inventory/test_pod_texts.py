"""Pods recognised by the text of their spec are read as those that are decoded as a whole."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.inventory import snapshot_parser
from planner.inventory.documents import parts_of
from planner.inventory.lists_from_watch_events import MODIFIED, Picture
from planner.inventory.records import pods as pods_module
from planner.inventory.records import repeated_pod_specs
from planner.inventory.snapshot_parser import build_snapshot
from planner.kubernetes.object_records import Finding, Snapshot
from tests.quick import examples
from tests.seen import each

CONTAINERS: Final = '"containers":[{"name":"main","image":"app:1","volumeMounts":[{"name":"kube-api-access-TOKEN"}]}]'
VOLUMES: Final = '"volumes":[{"name":"kube-api-access-TOKEN","projected":{}},{"name":"cache","emptyDir":{}}]'
ONE_NODE: Final = (
    '"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":'
    '[{"matchFields":[{"key":"metadata.name","operator":"In","values":["NODE"]}]}]}}}'
)
# Each is the inside of a spec; NODE and TOKEN differ from pod to pod.
SPECS: Final = {
    "as kubectl writes it": f'{CONTAINERS},"nodeName":"NODE","priority":0,{VOLUMES}',
    "as Go writes it": f'{VOLUMES},{CONTAINERS},"nodeName":"NODE","priority":0',
    "node first": f'"nodeName":"NODE",{CONTAINERS}',
    "blanks": f'{CONTAINERS} , "nodeName" : \n "NODE" , {VOLUMES}',
    "not bound": CONTAINERS,
    "a DaemonSet's": f'{CONTAINERS},{ONE_NODE},"nodeName":"NODE",{VOLUMES}',
    "a DaemonSet's that waits": f"{CONTAINERS},{ONE_NODE}",
    "another node's": f'{CONTAINERS},{ONE_NODE.replace("NODE", "elsewhere")},"nodeName":"NODE"',
    "in the node's fields as well": f'{CONTAINERS},{ONE_NODE.replace("metadata.name", "NODE")},"nodeName":"NODE"',
    "node as an argument": '"containers":[{"name":"a","args":["NODE"],"command":["NODE"]}],"nodeName":"NODE"',
    "node in an argument": '"containers":[{"name":"a","command":["x","--node=NODE"]}],"nodeName":"NODE"',
    "node in the environment": '"containers":[{"name":"a","env":[{"name":"N","value":"NODE"}]}],"nodeName":"NODE"',
    "node as a container": '"containers":[{"name":"NODE"}],"nodeName":"NODE"',
    "node as an image": '"containers":[{"name":"a","image":"NODE"}],"nodeName":"NODE"',
    "node as a label's value": f'{CONTAINERS},"nodeSelector":{{"a":"NODE"}},"nodeName":"NODE"',
    "node as a label": f'{CONTAINERS},"nodeSelector":{{"NODE":"a"}},"nodeName":"NODE"',
    "node as a field": f'{CONTAINERS},"NODE":7,"nodeName":"NODE"',
    "node as a claim": f'{CONTAINERS},"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"NODE"}}}}],"nodeName":"NODE"',
    "node as a host's path": f'{CONTAINERS},"volumes":[{{"name":"v","hostPath":{{"path":"NODE"}}}}],"nodeName":"NODE"',
    "node as a number's place": f'{CONTAINERS},"priority":"NODE","nodeName":"NODE"',
    "node among tolerations": f'{CONTAINERS},"tolerations":[{{"key":"NODE"}}],"nodeName":"NODE"',
    "given twice": f'{CONTAINERS},"nodeName":"other","nodeName":"NODE"',
    "given twice, the other last": f'{CONTAINERS},"nodeName":"NODE","nodeName":"other"',
    "deeper as well": f'{CONTAINERS},"nodeName":"NODE","later":{{"nodeName":"NODE"}}',
    "deeper only": f'{CONTAINERS},"later":{{"nodeName":"NODE"}}',
    "in a text": f'{CONTAINERS},"nodeName":"NODE","later":"\\"nodeName\\":\\"NODE\\""',
    "with an escape": f'{CONTAINERS},"node\\u004eame":"NODE"',
    "with an escape in the name": f'{CONTAINERS},"nodeName":"\\u0061NODE"',
    "with an escaped quote": f'{CONTAINERS},"nodeName":"a\\"NODE"',
    "null": f'{CONTAINERS},"nodeName":null,"later":"NODE"',
    "a number": f'{CONTAINERS},"nodeName":7,"later":"NODE"',
    "refused": f'{CONTAINERS},"nodeName":"No_NODE!"',
    "token as an image": f'"containers":[{{"name":"a","image":"kube-api-access-TOKEN"}}],{VOLUMES},"nodeName":"NODE"',
    "token as a claim": f'{CONTAINERS},"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"kube-api-access-TOKEN"}}}}]',
    "two tokens": f'{CONTAINERS},"volumes":[{{"name":"kube-api-access-TOKEN"}},{{"name":"kube-api-access-zzzzz"}}]',
    "a long token": f'{CONTAINERS},"volumes":[{{"name":"kube-api-access-TOKENx"}}]',
    "token for one node": f'{CONTAINERS},{ONE_NODE.replace("NODE", "kube-api-access-TOKEN")},"nodeName":"NODE"',
    "mark of a node": f'{CONTAINERS},"schedulerName":"headroom-mark-of-a-node","nodeName":"NODE"',
    "mark of a node, for one node": f'{CONTAINERS},{ONE_NODE.replace("NODE", "headroom-mark-of-a-node")},"nodeName":"NODE"',
    "mark of a token": f'"containers":[{{"name":"a","image":"headroom-mark-of-a-token"}}],{VOLUMES}',
    "a big priority": f'{CONTAINERS},"priority":99999999999,"nodeName":"NODE"',
    "a big number": f'{CONTAINERS},"later":1e400,"overhead":{{"cpu":123456789012345678901234567890}},"nodeName":"NODE"',
    "a bad container": '"containers":[{"name":"A_B"}],"nodeName":"NODE"',
    "a bad amount": '"containers":[{"name":"a","resources":{"requests":{"cpu":"1x"}}}],"nodeName":"NODE"',
    "asks for a cpu": '"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}],"nodeName":"NODE"',
    "keys twice": f'{CONTAINERS},"priority":1,"priority":2,"nodeName":"NODE",{CONTAINERS}',
    "nothing": "",
}  # fmt: skip
STATUSES: Final = (
    '{"phase":"Running","containerStatuses":[{"name":"main","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}',
    '{"containerStatuses":[{"name":"main","resources":{"requests":{"cpu":"2"}},"allocatedResources":{"cpu":"1"}}]}',
    '{"containerStatuses":[{"name":"main","resources":{"requests":{"cpu":"1"}},"allocatedResources":{"cpu":"1"}}]}',
    '{"phase":7}',
    '{"conditions":[{"type":"","status":"","reason":"","message":"","lastTransitionTime":null}],"phase":""}',
    "null",
)
NODES: Final = (
    "gke-a-1", "gke-a-2", "gke-pool-b-10", "a", "priority", "containers", "7", "gke-b-100", "gke-b-200", "elsewhere", "metadata.name",
)  # fmt: skip
TOKENS: Final = ("ab1de", "zzzzz", "00000", "headr")


def text_of(number: int, spec: str, status: str, node: str, token: str, whole: str = "") -> str:
    metadata = f'{{"name":"p-{number}","namespace":"prod","uid":"u-{number}","labels":{{"app":"a"}}}}'
    inside = spec.replace("NODE", node).replace("TOKEN", token)
    told = whole or f'"spec":{{{inside}}}'
    return f'{{"apiVersion":"v1","kind":"Pod","metadata":{metadata},{told},"status":{status}}}'


def read(pods: list[str]) -> Snapshot:
    problems: list[Finding] = []
    data = f'{{"kind":"List","apiVersion":"v1","items":[{",".join(pods)}]}}'.encode()
    return build_snapshot(parts_of(data, "dump", problems), source="dump", problems=problems)


def read_both_ways(pods: list[str]) -> Snapshot:
    """What is read of them, after it was read without looking at texts as well."""
    short = read(pods)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(repeated_pod_specs, "read_pod_text", lambda *_: None)
        long = read(pods)
    assert short == long
    assert short.digest == long.digest
    return short


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
@pytest.mark.parametrize("status", STATUSES)
def test_a_spec_known_by_its_text_is_read_as_one_that_is_decoded(spec: str, status: str) -> None:
    pods = [
        text_of(number, spec, status, node, TOKENS[number % len(TOKENS)])
        for number, node in enumerate((*NODES, *NODES))
    ]
    read_both_ways(pods)


@pytest.mark.parametrize(
    "whole",
    [
        '"spec":null',
        '"later":{}',
        '"spec":[]',
        '"spec":"text"',
        f'"spec":{{"priority":1}},"spec":{{{CONTAINERS}}}',
        f'"spec":{{{CONTAINERS}}},"spec":null',
        f'"s\\u0070ec":{{{CONTAINERS},"nodeName":"gke-a-1"}}',
    ],
)
def test_specs_that_are_no_objects_or_given_twice(whole: str) -> None:
    read_both_ways([text_of(number, "", STATUSES[0], "", "", whole) for number in range(4)])


@pytest.mark.parametrize(
    ("known", "twice"),
    [
        ('"spec":', '"spec":7,"spec":'),
        ('"labels":{"app":"a"}', '"labels":7,"labels":{"app":"a"}'),
        ('"namespace"', '"creationTimestamp":"never","creationTimestamp":null,"namespace"'),
    ],
)
def test_a_damaged_field_before_the_one_that_counts_hides_no_pod(known: str, twice: str) -> None:
    """Nor does a sound one before it: of a pod whose template is known the last is read, with the room that it holds."""
    texts = [text_of(n, SPECS["as kubectl writes it"], STATUSES[0], "gke-a-1", "ab1de") for n in range(4)]
    odd = texts[3].replace(known, twice, 1)
    assert odd != texts[3]
    found = read([*texts[:3], odd])
    assert found.pods == read(texts).pods
    assert all(one.holds_room and one.node_name == "gke-a-1" for one in found.pods)


LATE: Final = "2031-01-01T00:00:00Z"
TIMES: Final = (
    f'"{LATE}"', '"2026-11-19T17:15:21+09:00"', '"2026-11-19T17:15:21.5Z"', '"2026-11-19T17:15:21"', '"2026-02-30T00:00:00Z"',
    '"1969-01-01T00:00:00Z"', '"2026-11-19t17:15:21z"', '""', '"later"', "7", "null", "{}",
)  # fmt: skip
METADATA: Final = (
    "", '"labels":null', '"labels":{}', '"labels":{"b":"c", "a":"\\u0061"}', '"labels":{"a":1}', '"labels":{"no label!":""}', '"labels":[]',
    '"ownerReferences":null', '"ownerReferences":[]', '"ownerReferences":[{"kind":"ReplicaSet","name":"r","uid":"u"}]',
    '"ownerReferences":[{"controller":true,"uid":"u","name":"r","kind":"Job","apiVersion":"batch/v1"}]', '"ownerReferences":[null]',
    '"ownerReferences":{}', '"labels":{"app":"a"},"ownerReferences":{"app":"a"}',
    '"labels":[{"kind":"Job","name":"j","uid":"u"}],"ownerReferences":[{"kind":"Job","name":"j","uid":"u"}]',
    '"ownerReferences":[{"kind":"Job","name":"j","uid":"u"}]', '"annotations":{}', '"annotations":{"a":"b"}', f'"deletionTimestamp":"{LATE}"', '"deletionTimestamp":"x"',
    '"labels":{"a":"b"},"labels":{"a":"c"}', '"generation":1',
)  # fmt: skip
WITH_TIMES: Final = (
    '{"startTime":TIME}', '{"conditions":[{"type":"Ready","status":"","lastTransitionTime":TIME},{}]}',
    '{"conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-19T17:15:21Z"}],"startTime":TIME}',
    '{"containerStatuses":[{"name":"","state":{"running":{"startedAt":TIME}},"lastState":{}}]}',
    '{"containerStatuses":[{"state":{"running":{},"terminated":{"finishedAt":TIME}}}]}',
    '{"initContainerStatuses":[{"lastState":{"terminated":{"startedAt":TIME,"exitCode":0}}}]}',
)  # fmt: skip


@pytest.mark.parametrize("of_all", METADATA)
@pytest.mark.parametrize("time", TIMES)
def test_times_labels_and_owners_left_as_written_are_read_as_decoded_ones(time: str, of_all: str) -> None:
    """Whoever isn't read tells no time either: the newest is the same."""
    plain = text_of(0, CONTAINERS, "null", "", "")
    for status in WITH_TIMES:
        odd = text_of(3, CONTAINERS, status.replace("TIME", time), "", "")
        created = odd.replace('"uid"', f'"creationTimestamp":{time},"uid"').replace("p-3", "p-4")
        odd, created = (one.replace('"labels":{"app":"a"}', of_all or '"labels":{"app":"a"}') for one in (odd, created))
        read_both_ways([plain, plain.replace("p-0", "p-1"), odd, created, odd.replace("p-3", "p-5")])


def test_a_text_that_is_right_in_one_field_is_not_in_another() -> None:
    labels, owners = '{"app":"a"}', '[{"kind":"Job","name":"j","uid":"u","controller":true}]'
    pods = [text_of(n, CONTAINERS, "null", "", "") for n in range(5)]
    told = [(labels, owners), (labels, owners), (labels, owners), (labels, labels), (owners, owners)]
    pods = [
        pod.replace('"labels":{"app":"a"}', f'"labels":{of},"ownerReferences":{by}')
        for pod, (of, by) in zip(pods, told, strict=True)
    ]
    assert [pod.name for pod in read_both_ways(pods).pods] == ["p-0", "p-1", "p-2"]


PODS = st.lists(
    st.tuples(st.sampled_from(list(SPECS.values())), st.sampled_from(STATUSES), st.sampled_from(NODES), st.sampled_from(TOKENS)),
    max_size=30,
)  # fmt: skip


@settings(max_examples=examples(60))
@given(PODS)
def test_any_mixture_is_read_alike(drawn: list[tuple[str, str, str, str]]) -> None:
    read_both_ways([text_of(number, *one) for number, one in enumerate(drawn)])


def test_pods_of_a_template_are_decoded_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, whole = [], pods_module.read_pod

    def read_pod(*given: Any) -> Any:
        decoded.append(given)
        return whole(*given)

    monkeypatch.setattr(pods_module, "read_pod", read_pod)
    for name in ("as kubectl writes it", "as Go writes it", "a DaemonSet's", "node in the environment"):
        decoded.clear()
        pods = [text_of(n, SPECS[name], STATUSES[0], f"gke-a-{n}", f"{n:05}") for n in range(10, 40)]
        snapshot = read_both_ways(pods)
        assert {one.node_name for one in snapshot.pods} == {f"gke-a-{n}" for n in range(10, 40)}
        assert len(decoded) == 1 + len(pods), name  # the second is learnt from; the other way decodes all


def test_texts_of_a_template_are_hashed_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[bytes] = []

    def counted(text: bytes) -> Any:
        hashed.append(text)
        return sha256(text)

    monkeypatch.setattr(repeated_pod_specs, "sha256", counted)
    for name in ("as kubectl writes it", "as Go writes it", "a DaemonSet's", "not bound"):
        hashed.clear()
        read([text_of(n, SPECS[name], STATUSES[0], f"gke-a-{n}", f"{n:05}") for n in range(10, 40)])
        assert len(hashed) == 2, name


def test_a_text_of_the_same_length_that_is_another_is_not_taken_for_the_last() -> None:
    """Whether it differs around the holes, or in what they have in common."""
    spec = SPECS["a DaemonSet's"]
    pods = [text_of(n, spec, STATUSES[0], f"gke-a-{n}", f"{n:05}") for n in range(10, 14)]
    odd = [
        text_of(20, spec.replace("app:1", "app:2"), STATUSES[0], "gke-a-20", "00020"),
        text_of(21, spec.replace('"values":["NODE"]', '"values":["gke-a-77"]'), STATUSES[0], "gke-a-21", "00021"),
        text_of(
            22, spec.replace("kube-api-access-TOKEN", "kube-api-access-zzzzz", 1), STATUSES[0], "gke-a-22", "00022"
        ),
        text_of(23, spec.replace("kube-api-access-TOKEN", "kube-api-acces_-TOKEN"), STATUSES[0], "gke-a-23", "00023"),
        text_of(24, spec, STATUSES[0], "gke_a_24", "00024"),
        text_of(25, spec, STATUSES[0], "gke-a-25", "0-025"),
    ]
    for one in each(odd):
        assert len(read_both_ways([*pods, one, *pods[:1], one]).pods) >= len(pods)
    read_both_ways([*pods, *odd])


def test_no_secret_stays_in_what_is_known_of_texts() -> None:
    spec = '"containers":[{"name":"a","env":[{"name":"P","value":"hunter2"}]}],"nodeName":"NODE"'
    reader = snapshot_parser.Reader()
    pods = [json.loads(text_of(n, spec, "null", "gke-a-1", "")) for n in range(3)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "u", "later": "hunter2"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pods[0]["spec"]}
    workload = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }  # fmt: skip
    reader.read(snapshot_parser.Part(items=[json.dumps(one).encode() for one in (*pods, workload)]))
    assert [*map(len, reader.found.values())] == [3, 1]
    assert "hunter2" not in repr([vars(reader), vars(reader._shared)])


def test_no_secret_stays_of_a_watched_object_that_is_damaged() -> None:
    spec = '"containers":[{"name":"a","env":[{"name":"P","value":"hunter2"}]}],"nodeName":"NODE"'
    picture = Picture()
    picture.take("Pod", [text_of(n, spec, "null", "gke-a-1", "").encode() for n in range(3)])
    picture.fold("Pod", MODIFIED, text_of(1, spec, '{"startTime":"later"}', "gke-a-1", "").encode())
    assert "hunter2" not in repr(vars(picture._shared))
