"""Bytes → objects: every form they come in, and every way they are damaged."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.inventory.archives import TooLarge
from planner.inventory.documents import objects_of, parts_of, values_of
from planner.inventory.json_scanner import LARGEST_OBJECT_BYTES
from planner.inventory.reading_limits import LIMITS
from planner.inventory.snapshot_parser import build_snapshot
from planner.kubernetes.object_records import Finding, Presence, Severity, Snapshot
from planner.sources import cluster_dumps
from tests.inventory.objects import a_list, node, pod, workload
from tests.seen import may_refuse

ITEMS = [node("a"), node("b"), pod("p1"), pod("p2"), workload()]
LIST = a_list(*ITEMS)
JSON = json.dumps(LIST, indent=4).encode()
YAML = yaml.safe_dump(LIST).encode()


def read(data: bytes) -> Snapshot:
    problems: list[Finding] = []
    snapshot = build_snapshot(parts_of(data, "dump", problems), source="dump", problems=problems)
    reading = snapshot.reading
    assert reading.objects == reading.used + reading.repeated + reading.unreadable + sum(reading.other_kinds.values())
    return snapshot


def names(snapshot: Snapshot) -> list[str]:
    kinds: tuple[tuple[Any, ...], ...] = (snapshot.nodes, snapshot.pods, snapshot.workloads)
    return sorted(one.name for many in kinds for one in many)


WHOLE = read(JSON)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(YAML, id="yaml"),
        pytest.param(json.dumps(LIST).encode(), id="compact json"),
        pytest.param(b"\xef\xbb\xbf" + JSON, id="byte order mark"),
        pytest.param(JSON.decode().encode("utf-16"), id="utf-16 as PowerShell writes it"),
        pytest.param(YAML.decode().encode("utf-16-be").join([b"\xfe\xff", b""]), id="utf-16 big endian"),
        pytest.param(gzip.compress(JSON, mtime=0), id="gzip"),
        pytest.param(gzip.compress(JSON[:100], mtime=0) + gzip.compress(JSON[100:]), id="gzip in two members"),
        pytest.param(gzip.compress(YAML, mtime=0), id="gzip of yaml"),
        pytest.param(b"\n\n  " + JSON + b"  \n", id="blanks around"),
        pytest.param(b"\n".join(json.dumps(item).encode() for item in ITEMS), id="one object a line"),
        pytest.param(b"".join(json.dumps(item).encode() for item in ITEMS), id="objects without anything between"),
        pytest.param(b"\n---\n".join(json.dumps(item).encode() for item in ITEMS), id="json between dashes"),
        pytest.param(b"---\n" + b"---\n".join(yaml.safe_dump(item).encode() for item in ITEMS), id="yaml documents"),
        pytest.param(json.dumps(ITEMS).encode(), id="a plain array"),
        pytest.param(yaml.safe_dump(ITEMS).encode(), id="a plain yaml list"),
        pytest.param(
            json.dumps({"items": ITEMS, "kind": "List", "apiVersion": "v1"}, sort_keys=False).encode(), id="kind last"
        ),
        pytest.param(JSON.replace(b"\n", b"\r\n"), id="windows line ends"),
    ],
)
def test_every_form_gives_the_same_snapshot(data: bytes) -> None:
    snapshot = read(data)
    assert snapshot.problems == ()
    assert snapshot.digest == WHOLE.digest


def test_typed_lists_give_their_items_the_kind() -> None:
    bare = [{key: value for key, value in pod(name).items() if key not in ("kind", "apiVersion")} for name in "ab"]
    for data in (
        json.dumps({"kind": "PodList", "apiVersion": "v1", "items": bare}),
        yaml.safe_dump({"kind": "PodList", "apiVersion": "v1", "items": bare}),
    ):
        assert names(read(data.encode())) == ["a", "b"]


@pytest.mark.parametrize("items", [None, []])
def test_an_empty_typed_list_says_that_there_are_none(items: Any) -> None:
    for dump in (json.dumps, yaml.safe_dump):
        snapshot = read(dump({"kind": "JobList", "apiVersion": "batch/v1", "items": items}).encode())
        assert snapshot.presence["Job"] == "present"
        assert snapshot.problems == ()


# ── nothing in it ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty"),
        (b" \n\t " * 1000, "empty"),
        (b" " * 30_000_000, "empty"),
        (b"---\n---\n", "empty"),
        (bytes(30_000_000), "binary"),
        (bytes(range(256)), "binary"),
        (b"\xff\xfe\x00", "UTF-16 text is damaged"),
        (b"caf\xe9: 1", "isn't UTF-8"),
        (gzip.compress(JSON, mtime=0)[:-20], "gzip data is cut off"),
        (gzip.compress(JSON, mtime=0)[:15], "gzip data is cut off"),
        (b"\x1f\x8b" + b"x" * 100, "gzip data is damaged"),
    ],
)
def test_what_cannot_be_read_at_all(data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        read(data)
    assert refused.value.where == "dump"
    assert refused.value.fix


def test_a_gzip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(80 * 2**20), 9, mtime=0)
    with pytest.raises(InputError, match="unpack to more than"):
        read(bomb)


@pytest.mark.parametrize(
    "data", [b"3", b"hello", b'"text"', b"[1, 2]", b"- 1", b"- x", b"-", b"true", b'{"kind": "List", "items": {}}']
)
def test_what_holds_no_object_is_told(data: bytes) -> None:
    snapshot = read(data)
    assert names(snapshot) == []
    assert snapshot.problems
    assert {problem.severity for problem in snapshot.problems} == {Severity.ERROR}


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 200_000, b'{"items":[' + b"[" * 200_000, b"- " * 200_000])
def test_deep_nesting_is_told(data: bytes) -> None:
    snapshot = read(data)
    assert names(snapshot) == []
    assert "deep" in snapshot.problems[0].what


# ── cut off, damaged in part ─────────────────────────────────────────────────────────────────────────────────────────
@given(st.integers(1, len(JSON) - 3))
def test_a_json_list_that_is_cut_off_gives_its_whole_objects_and_says_so(length: int) -> None:
    data = JSON[:length]
    snapshot = read(data)
    assert set(names(snapshot)) <= set(names(WHOLE))
    [problem] = snapshot.problems
    assert problem.severity is Severity.ERROR
    assert "cut off" in problem.what or "left out" in problem.what
    everything = {one: one for one in (*WHOLE.nodes, *WHOLE.pods, *WHOLE.workloads)}
    assert all(one in everything for one in (*snapshot.nodes, *snapshot.pods, *snapshot.workloads))


def test_a_cut_list_says_how_many_objects_were_read() -> None:
    snapshot = read(JSON[: JSON.index(b'"p2"')])
    assert names(snapshot) == ["a", "b", "p1"]
    assert "the first 3 items were read" in snapshot.problems[0].what


def test_a_cut_typed_list_keeps_the_kind() -> None:
    items = [{"metadata": one["metadata"], "spec": one["spec"]} for one in (pod("p1"), pod("p2"))]
    data = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": items})
    snapshot = read(data[: data.index('"p2"')].encode())
    assert names(snapshot) == ["p1"]


@given(st.integers(1, len(YAML) - 3))
def test_a_yaml_list_that_is_cut_off_never_gives_half_an_object_silently(length: int) -> None:
    snapshot = read(YAML[:length])
    everything = {one: one for one in (*WHOLE.nodes, *WHOLE.pods, *WHOLE.workloads)}
    assert all(one in everything for one in (*snapshot.nodes, *snapshot.pods, *snapshot.workloads))
    lost = len(names(WHOLE)) - len(names(snapshot))
    assert not lost or snapshot.problems


def test_one_broken_yaml_document_costs_only_itself() -> None:
    documents = [yaml.safe_dump(item) for item in ITEMS]
    documents[1] = "a: b: c\n"
    snapshot = read("---\n".join(documents).encode())
    assert names(snapshot) == ["a", "app", "p1", "p2"]
    [problem] = snapshot.problems
    assert "document 2 was left out" in problem.what


def test_damage_in_the_middle_of_a_json_list() -> None:
    snapshot = read(JSON.replace(b'"name": "p1"', b'"name" "p1"'))
    assert names(snapshot) == ["a", "b"]
    assert "the first 2 items were read" in snapshot.problems[0].what


def test_json_after_a_broken_document_is_not_read_silently() -> None:
    snapshot = read(json.dumps(ITEMS[0]).encode() + b'\n{"kind": "Pod", "metadata": {"na')
    assert names(snapshot) == ["a"]
    assert len(snapshot.problems) == 1


def test_bad_characters_in_a_text_cost_that_object() -> None:
    snapshot = read(JSON.replace(b'"name": "p1"', b'"name": "p\xff"'))
    assert names(snapshot) == ["a", "app", "b", "p2"]
    assert [problem.code for problem in snapshot.problems] == ["object-unreadable"]


@given(st.binary(max_size=60), st.integers(0, len(JSON) - 1))
def test_any_bytes_are_read_or_refused(noise: bytes, position: int) -> None:
    with may_refuse(InputError):
        read(JSON[:position] + noise + JSON[position + len(noise) :])
    with may_refuse(InputError):
        read(YAML[:position] + noise + YAML[position + len(noise) :])
    with may_refuse(InputError):
        read(noise)


# ── manifests and patches: strict ────────────────────────────────────────────────────────────────────────────────────
def test_items_of_a_typed_list_in_a_manifest_are_of_its_kind() -> None:
    text = "apiVersion: apps/v1\nkind: DeploymentList\nitems: [{metadata: {name: a}}, {kind: Job, metadata: {name: b}}]"
    first, second = objects_of(text, "m")
    assert (first["kind"], first["apiVersion"]) == ("Deployment", "apps/v1")
    assert second["kind"] == "Job"


def test_objects_of_takes_lists_apart() -> None:
    text = json.dumps(LIST) + "\n---\n" + json.dumps(node("c"))
    assert [one["metadata"]["name"] for one in objects_of(text, "m")] == ["a", "b", "p1", "p2", "app", "c"]
    assert objects_of(yaml.safe_dump_all(ITEMS), "m") == ITEMS
    assert objects_of("", "m") == []


@pytest.mark.parametrize("text", ['{"a": ', "a: [", "3", "[3]", '{"kind": "List", "items": 3}', '{"a": 1} x', "- a"])
def test_objects_of_lets_nothing_damaged_through(text: str) -> None:
    with pytest.raises(InputError) as refused:
        objects_of(text, "m")
    assert refused.value.where == "m"


def test_values_of() -> None:
    assert values_of('{"a": 1}', "p") == [{"a": 1}]
    assert values_of("a: 1\n---\n# nothing\n---\nb: 2", "p") == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(("cut", "said"), [(1, "all 2 items of it were read"), (2, "what follows is missing")])
def test_a_list_without_its_last_bracket_says_what_was_read(cut: int, said: str) -> None:
    items = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in ("a", "b")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    found = cluster_dumps.read_bytes(text[:-cut].encode(), name="cut.json")
    assert len(found.nodes) == 2
    assert any(said in one.what for one in found.problems)


@pytest.mark.parametrize("more", [b"garbage", b"\0" * 99, b"\x1f\x8bxx", b"\x1fgarbage"])
def test_what_follows_a_gzip_is_left_out_as_gzip_does(more: bytes) -> None:
    text = b'{"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "a"}}]}'
    assert len(cluster_dumps.read_bytes(gzip.compress(text) + more, name="a.gz").nodes) == 1


@pytest.mark.parametrize("text", [b"a\\ud800", b"\\udc00b", b"\\ud83d\\ud83d\\ude00", b"\\\\\\ud800", b"\\ud800\\n"])
def test_half_of_a_surrogate_pair_ends_no_list(text: bytes) -> None:
    pods = b",".join(
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p%d","annotations":{"a":"%s"}},"spec":{"containers":[]}}'
        % (n, text if n == 1 else b"\\\\ud800 \\ud83d\\ude00")
        for n in range(3)
    )
    found = cluster_dumps.read_bytes(b'{"kind":"List","apiVersion":"v1","items":[%s]}' % pods, name="c.json")
    assert [pod.name for pod in found.pods] == ["p0", "p1", "p2"]
    assert found.problems == ()


@pytest.mark.parametrize(
    "text", [b"error: ", b"error: \n", b"\n Warning: \n---\n", b"W1111 11:11:11\n", b"error: \xff"]
)
def test_only_what_kubectl_said_is_told_as_such(text: bytes) -> None:
    with pytest.raises(InputError, match=r"only what kubectl said: [eWE]"):
        cluster_dumps.read_bytes(text, name="c.json")


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading takes a hundred objects, counted beforehand from a hundred commas on."""
    for module in ("json_scanner", "documents", "snapshot_parser", "yaml_text"):
        monkeypatch.setattr(f"planner.inventory.{module}.LIMITS", replace(LIMITS, objects=100))
    monkeypatch.setattr("planner.inventory.json_scanner._COUNTED_FROM_COMMAS", 100)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "data",
    [
        b"[" + b"1," * 1_000 + b"1]",
        b'{"kind": "List", "items": [' + b"{}," * 1_000 + b"{}]}",
        b'{"a": {"items": []}, "kind": "List", "items": [' + b"{}," * 1_000 + b"{}]}",
        b"{}\n" * 1_000,
        b"[" + b'{"kind": "List", "items": [' + b"{}," * 1_000 + b"{}]}]",
        b'{"kind": "List", "items": [' + b"{}," * 1_000,  # cut off
        b"items:\n" + b"- {}\n" * 1_000,
        b"---\n]\n" * 1_000,  # each broken
        b"[" + b'{"kind":"Pod","metadata":{"name":"a"},"spec":{}},' * 200 + b"{}]",
    ],
)
def test_more_objects_than_a_reading_takes_are_refused(data: bytes) -> None:
    with pytest.raises(TooLarge, match="more than 100 objects"):
        cluster_dumps.read_bytes(data, name="many")


def test_more_workloads_than_are_played_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """740,000 empty Deployments, 2.2 MB of gzip, took 1.7 GB and were being played after seven minutes."""
    monkeypatch.setattr("planner.inventory.snapshot_parser.LIMITS", replace(LIMITS, workloads=10))
    job = '{"kind":"Job","metadata":{"name":"j%d"},"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}'
    jobs = [job % number for number in range(11)]
    assert len(cluster_dumps.read_bytes("".join(jobs[:10]).encode(), name="few").workloads) == 10
    with pytest.raises(TooLarge, match="more than 10 workloads"):
        cluster_dumps.read_bytes("".join(jobs).encode(), name="many")


@pytest.mark.parametrize("text", ["items:\n- {a: [%s]}\n" % ("1," * 90), "a: 1\n---\n" * 40, "---\n]\n" * 60])
def test_the_values_of_yaml_are_counted_over_all_files(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.inventory.archives.LIMITS", replace(LIMITS, yaml_values=100))
    with pytest.raises(TooLarge, match=r"more than 100 values of YAML\. Give it as JSON"):
        cluster_dumps.read_uploads([("a.yaml", text.encode()), ("b.yaml", text.encode())])


@pytest.mark.parametrize("beside", ["", "{}\n---\n"])
def test_the_values_of_a_manifest_are_counted(beside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.inventory.archives.LIMITS", replace(LIMITS, yaml_values=100))
    with pytest.raises(TooLarge, match="values of YAML"):
        values_of(beside + "a: 1\n---\n" * 60, "manifest")


def test_a_thousand_directives_are_read_by_nobody() -> None:
    """libyaml compares each with all before it: 2.5 MB of them took 42 s."""
    text = "".join(f"%TAG !a{n}! tag:x{n}\n" for n in range(1_000)) + "---\na: 1\n"
    for read in (lambda: objects_of(text, "m"), lambda: list(parts_of(text.encode(), "x.yaml", []))):
        with pytest.raises(InputError, match="directives of YAML"):
            read()
    assert objects_of("%YAML 1.1\n---\nkind: Pod\n", "m") == [{"kind": "Pod"}]


@pytest.mark.parametrize(("broken", "line"), [("a: [\n", 6), ("a: {{}: 1}\n", 5), ("a: !!int x\n", 5)])
def test_an_error_names_the_line_of_the_whole_file(broken: str, line: int) -> None:
    with pytest.raises(InputError, match=rf"\(line {line}\)"):
        objects_of('{"kind": "Pod"}\n---\n{"kind": "Pod"}\n---\n' + broken, "m")


@pytest.mark.usefixtures("few")
def test_as_many_as_a_reading_takes_are_read() -> None:
    found = cluster_dumps.read_bytes(json.dumps(a_list(*(node(f"n{n}") for n in range(100)))).encode(), name="many")
    assert len(found.nodes) == 100


def test_what_is_larger_than_any_object_is_left_out() -> None:
    large = {**node("large"), "status": {"allocatable": {"cpu": "1"}, "capacity": {"a": "x" * LARGEST_OBJECT_BYTES}}}
    found = cluster_dumps.read_bytes(json.dumps(a_list(node("n"), large)).encode(), name="c.json")
    assert [one.name for one in found.nodes] == ["n"]
    assert "which no object has" in found.problems[0].what
    assert found.presence["Node"] is Presence.PARTIAL


def test_lists_by_name_may_be_larger_than_an_object() -> None:
    some = [pod(f"p{n}", "n", annotations={"a": "x" * 1_000}) for n in range(9_000)]
    data = json.dumps({"pods": {"items": some}}).encode()
    assert len(data) > LARGEST_OBJECT_BYTES
    assert len(cluster_dumps.read_bytes(data, name="c.json").pods) == 9_000


def test_one_object_of_yaml_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.inventory.yaml_text.LIMITS", replace(LIMITS, values_of_an_object=1_000))
    many = "kind: List\napiVersion: v1\nitems:\n" + "".join(
        f"- {{kind: Node, metadata: {{name: n{n}}}}}\n" for n in range(900)
    )
    assert len(cluster_dumps.read_bytes(many.encode(), name="c.yaml").nodes) == 900, "each by itself"
    with pytest.raises(InputError, match="more than 1,000 values"):
        cluster_dumps.read_bytes(b"kind: Node\nmetadata:\n  name: [" + b"{}," * 2_000 + b"{}]\n", name="c.yaml")


def test_a_thousand_problems_are_counted_and_not_kept() -> None:
    found = cluster_dumps.read_bytes(
        b"[" + b'{"kind":"Pod","metadata":{}},' * 1_000 + b'{"kind":"Node","metadata":{"name":"n"}}]', name="c.json"
    )
    assert found.reading.unreadable == 1_000
    assert len(found.problems) == 6
    assert found.problems[-1].what.startswith("995 more like these")
