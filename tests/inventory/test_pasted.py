"""Text as people paste it: prompts, color codes, Markdown's fences, UTF-16. It is read as what stands between, or refused by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from planner.ground.errors import InputError
from planner.inventory.pasted_text_cleanup import without_terminal
from planner.sources import cluster_dumps, manifest_files
from tests.inventory.objects import a_list, named, node, pod

LIST: Final = json.dumps(a_list(node(), pod()), indent=1).encode()
AS_YAML: Final = yaml.safe_dump(a_list(node(), pod())).encode()
PROMPTS: Final = (
    b"user@host:~$ kubectl get nodes,pods -A -o json", b"$ kubectl get nodes -o json", b"# kubectl get nodes -o yaml", b"[root@m0 ~]# oc get nodes -o json",
    b"PS C:\\Users\\me> kubectl get nodes -o json", b"C:\\Users\\me>kubectl get nodes -o json", b"bash-5.1$ k get po -ojson", b"+ kubectl get nodes -o json",
    "\u279c  ~ kubectl get nodes -o json".encode(), b"(venv) user@host:/srv/app$ sudo kubectl get nodes -o json", b"~/clusters % cat cluster.json",
)  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("name", ["cluster.txt", "cluster.json", "cluster.yaml"])
@pytest.mark.parametrize("text", [LIST, AS_YAML])
def test_a_prompt_before_a_list_and_the_next_behind_it(prompt: bytes, name: str, text: bytes) -> None:
    for given in (
        prompt + b"\n" + text,
        prompt + b"\r\n" + text + b"\nuser@host:~$ \n",
        text + b"\nuser@host:~$ exit\n",
    ):
        found = cluster_dumps.read_bytes(given, name=name)
        assert (len(found.nodes), len(found.pods), found.problems) == (1, 1, ())


def test_several_commands_one_after_another() -> None:
    nodes, pods = (json.dumps(a_list(one), indent=1).encode() for one in (node(), pod()))
    found = cluster_dumps.read_bytes(
        b"$ kubectl get nodes -o json\n%b\n$ kubectl get pods -o json\n%b\n$ " % (nodes, pods), name="a.txt"
    )
    assert (len(found.nodes), len(found.pods)) == (1, 1)


def test_color_codes() -> None:
    """kubecolor writes one around each key."""
    colored = LIST.replace(b'"kind"', b'\x1b[33m"kind"\x1b[0m')
    assert len(cluster_dumps.read_bytes(b"\x1b]0;title\x07" + colored, name="a.json").nodes) == 1


@pytest.mark.parametrize("mark", [b"```", b"```json", b"~~~", b"````yaml"])
def test_a_list_in_markdown(mark: bytes) -> None:
    end = mark.rstrip(b"jsonyaml")
    text = b"**What happened**: it hangs.\n\n%b\n%b\n%b\n\nand then\n```\nI0101 some log\n```\n" % (mark, LIST, end)
    found = cluster_dumps.read_bytes(text, name="issue.md")
    assert (len(found.nodes), len(found.pods)) == (1, 1)
    with_prompt = b"Hi\n```console\n$ kubectl get nodes -o json\n%b\n```\n" % LIST
    assert len(cluster_dumps.read_bytes(with_prompt, name="issue.md").nodes) == 1


def test_documents_stay_as_they_are() -> None:
    """What looks like a prompt or a fence within a document is a part of it."""
    script = "#!/bin/sh\n$ kubectl get pods\n```\nuser@host:~$ kubectl delete\n```\n"
    for text in (
        yaml.safe_dump(named("ConfigMap", "c", data={"run": script}), default_style="|").encode(),
        json.dumps(named("ConfigMap", "c", data={"run": script})).encode(), LIST, AS_YAML, b"", b"no document\n",
        b"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    $ kubectl get pods\n    user@host:~$ \n",
    ):  # fmt: skip
        assert without_terminal(text) == text


@pytest.mark.parametrize(
    "text", [PROMPTS[0] + b"\n" + LIST, b"text\n```\n" + LIST + b"\n```\nmore\n", LIST + b"\n" + PROMPTS[1]]
)
def test_lines_are_counted_as_in_the_file(text: bytes) -> None:
    assert without_terminal(text).count(b"\n") == text.count(b"\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("NAMESPACE     NAME        CPU(cores)   MEMORY(bytes)\nml   w-abc  120m   900Mi\n", "kubectl top prints"),
        ("NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nn-0  1  1%  1Mi  1%\n", "kubectl top prints"),
        ("POD   NAME   CPU(cores)   MEMORY(bytes)\nw c 1m 1Mi\n", "kubectl top prints"),
        ("Mon Nov 1\n+-----+\n| NVIDIA-SMI 550.54   Driver Version: 550.54 |\n", "nvidia-smi prints"),
        ("{'api_version': 'v1',\n 'items': [{'metadata': {'creation_timestamp': datetime.datetime(2026, 1, 1)}}]}", "what Python prints"),
        ("$ kubectl top pods\nNAME   CPU(cores)   MEMORY(bytes)\nw   1m   1Mi\n", "kubectl top prints"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused_by_its_name(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        cluster_dumps.read_bytes(text.encode(), name="a.txt")


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────
MANIFEST: Final = yaml.safe_dump(named("ConfigMap", "c", "ml", data={"a": "\u00e9"}), allow_unicode=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_manifests_as_powershell_writes_them(encoding: str, tmp_path: Path) -> None:
    """``helm template > m.yaml``: UTF-16 with its mark, lines that end in CR LF."""
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    file = tmp_path / "m.yaml"
    file.write_bytes(mark + MANIFEST.replace("\n", "\r\n").encode(encoding))
    found = manifest_files.read([str(file)])
    assert yaml.safe_load(found.text)["data"] == {"a": "\u00e9"}
    assert found.places["ConfigMap/ml/c"].line == 1


def test_a_manifest_with_a_prompt_or_in_markdown_keeps_its_lines(tmp_path: Path) -> None:
    for text, line in (
        (f"$ helm template chart\n{MANIFEST}", 2), (f"Try this:\n\n```yaml\n{MANIFEST}```\n", 4), (f"\x1b[36m{MANIFEST}\x1b[0m", 1),
    ):  # fmt: skip
        file = tmp_path / "m.yaml"
        file.write_text(text, encoding="utf-8")
        assert manifest_files.read([str(file)]).places["ConfigMap/ml/c"].line == line


def test_damaged_utf16_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes(b"\xff\xfe" + b"a\x00\x00\xd8b\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        manifest_files.read([str(file)])


def test_a_list_in_utf16_with_and_without_its_mark() -> None:
    for data in (LIST.decode().encode("utf-16"), LIST.decode().encode("utf-16-le"), LIST.decode().encode("utf-16-be")):
        assert len(cluster_dumps.read_bytes(data, name="a.json").nodes) == 1
    prompted = (PROMPTS[4] + b"\r\n" + LIST).decode().encode("utf-16")
    assert len(cluster_dumps.read_bytes(prompted, name="a.txt").nodes) == 1
