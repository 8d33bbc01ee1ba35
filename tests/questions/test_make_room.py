"""Making room as a question: what the command prints, and its script in a real shell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from planner.cli import main
from planner.ground.records import replace
from planner.kubernetes import shell_commands
from planner.rollout.resumable_scripts import in_context
from planner.sources import demo
from planner.sources.cluster_argument import context_of
from tests.builders.objects import MOVED_WHOLE, Item
from tests.capacity.test_making_room import four_halves
from tests.questions.test_scripts import run


@pytest.fixture
def file(tmp_path: Path) -> str:
    items: list[Item] = [*MOVED_WHOLE, *four_halves()]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as status:
        main(["make-room", *words])
    assert status.value.code == 0
    return capsys.readouterr().out


def test_the_command_says_what_moves_and_what_starts(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, file)
    assert text.startswith("2 moves start the waiting pod; no plan needs fewer (proven).")
    assert "large-" in text
    found = json.loads(said(capsys, file, "-o", "json"))
    assert found["format"] == "headroom.make_room/v1"
    assert (len(found["result"]["moves"]), found["result"]["at_least"]) == (2, 2.0)


CLUSTER = """
node=$(sed -n 's/^cordon node.\\([^ ]*\\).*/\\1/p' note); pod=${2#pod/}
case "$*" in
  "get nodes"*) echo "$CORDONED";;
  *custom-columns*) echo "$WAITS";;
  "get deployment"*) echo "$READY";;
  get*) if [ ! -e "gone-$pod" ]; then printf 'first@%s' "$node"; else printf '%s' "$AFTERWARDS"; fi;;
  create*) pod=$(basename "$(dirname "$3")")
    if [ -e "refused-$pod" ]; then : >"gone-$pod"; else : >"refused-$pod"; echo "Error from server ($REFUSES)" >&2; exit 1; fi;;
esac
"""
"""kubectl, where each pod is evicted when that is asked a second time, and is there no more, or another of its name is."""


def carried_out(
    tmp_path: Path, script: str, afterwards: str, kubectl: str = CLUSTER, **more: str
) -> tuple[int, list[str], str]:
    for old in (*tmp_path.glob("gone-*"), *tmp_path.glob("refused-*")):
        old.unlink()
    (tmp_path / "sleep").write_text("#!/bin/sh\n")
    (tmp_path / "sleep").chmod(0o755)
    env = {
        "AFTERWARDS": afterwards,
        "CORDONED": "",
        "WAITS": "<none>",
        "READY": "4",
        "REFUSES": "TooManyRequests",
    } | more
    return run(tmp_path, script, kubectl=kubectl, **env)


def test_the_script_cordons_before_it_evicts_and_gives_the_cordon_back(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = said(capsys, file, "--script")
    for afterwards in ("", "second@n1", "second@n0"):  # of a StatefulSet's pod another has the name
        status, notes, _ = carried_out(tmp_path, script, afterwards)
        assert status == 0
        verbs = [note.split()[0] for note in notes][2:]
        assert verbs[0] == "cordon"
        assert verbs.count("create") == 4, "a budget refused each once"
        assert verbs[-2:] == ["uncordon", "wait"]
    dumb = CLUSTER.replace("get*) ", "get*) exit 1; ")
    status, notes, _ = carried_out(tmp_path, script, "", dumb)  # who doesn't answer isn't taken for a pod that went
    assert status != 0
    asked = [note for note in notes if not note.startswith("get ")]  # who was stopped may still be asking
    assert asked[-1].startswith("uncordon")


def test_a_pod_that_is_elsewhere_by_now_isnt_evicted(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = CLUSTER.replace("first@%s", "first@%s-b")
    status, notes, _ = carried_out(tmp_path, said(capsys, file, "--script"), "", elsewhere)
    assert status == 0
    assert not any(note.startswith("create") for note in notes)


NOTHING_DONE = ()
CORDON_GIVEN_BACK = ("cordon", "uncordon")


@pytest.mark.parametrize(
    ("now", "does", "why"),
    [
        ({"CORDONED": "node/n0\nnode/n1"}, NOTHING_DONE, "cordoned by another user"),
        ({"WAITS": "n1"}, NOTHING_DONE, "none of them waits any more"),
        ({"REFUSES": "Forbidden"}, CORDON_GIVEN_BACK, "Error from server (Forbidden)"),
        ({"READY": "3"}, CORDON_GIVEN_BACK, "not 4 Ready in time: Deployment/ml/a"),
        ({"READY": ""}, CORDON_GIVEN_BACK, "not 4 Ready in time: Deployment/ml/a"),
        ({"READY": "5", "CORDONED": "node/n7"}, ("cordon", "uncordon", "wait"), ""),  # an autoscaler added one
    ],
)
def test_what_others_did_since(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], now: dict[str, str], does: tuple[str, ...], why: str
) -> None:
    status, notes, told = carried_out(tmp_path, said(capsys, file, "--script"), "", **now)
    verbs = [note.split()[0] for note in notes]
    assert tuple(verb for verb in verbs if verb not in ("get", "create")) == does
    assert status == (1 if why else 0)
    assert why in told
    assert ("create" in verbs) == bool(does)
    assert ("Forbidden" in why) <= (verbs.count("create") <= 2), "it isn't asked again"


def test_a_live_clusters_script_names_its_context(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = in_context(said(capsys, file, "--script"), "my 'own'")
    status, notes, _ = carried_out(tmp_path, script, "")
    assert status == 0
    assert len(notes) > 8
    assert all(note.endswith("--context my 'own'") for note in notes)
    live = replace(demo.read(), source="prod")
    assert [context_of(spec, live) for spec in ("context:prod", "context:", "prod")] == ["prod", "prod", ""]
    assert context_of("context:", replace(live, source="in-cluster")) == ""


def test_a_jobs_pods_that_succeeded_count_as_ready() -> None:
    wait = shell_commands.wait_ready("Job/ml/train", 10, 4)
    for got, status in (("3 1", 0), (" 4", 0), ("2 1", 1), ("", 1)):
        shell = f"kubectl() {{ echo '{got}'; }}; sleep() {{ :; }}; {wait}"
        assert subprocess.run(["sh", "-euc", shell], check=False, capture_output=True).returncode == status


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_evictions_beside_each_other_stop_when_one_fails(shell: str) -> None:
    both = shell_commands.at_once(["(echo a)", "(echo b)"])
    done = subprocess.run([shell, "-euc", f"{both}; echo both"], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()[:2]) == ["a", "b"]
    assert done.stdout.endswith("both\n")
    failing = shell_commands.at_once(["(exit 3)", "(while :; do sleep 1; done)"])  # which would go on for ever
    failed = subprocess.run([shell, "-euc", f"{failing}; echo both"], capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, "")


MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer, namespace: ml}
spec:
  replicas: 2
  selector: {matchLabels: {app: trainer}}
  template:
    metadata: {labels: {app: trainer}}
    spec: {containers: [{name: main, image: trainer, resources: {requests: {cpu: "1", nvidia.com/gpu: "3"}, limits: {nvidia.com/gpu: "3"}}}]}
"""


def test_room_for_what_a_manifest_makes(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "trainer.yaml"
    manifest.write_text(MANIFEST.replace("replicas: 2", "replicas: 1"))
    assert said(capsys, file, "-f", str(manifest)).startswith("1 move makes the place; no plan needs fewer (proven).")
    same = said(capsys, file, "--shape", "gpu=3,cpu=1", "-o", "json")
    by_file = said(capsys, file, "-f", str(manifest), "-o", "json")
    assert json.loads(same)["result"]["moves"] == json.loads(by_file)["result"]["moves"]
    manifest.write_text(MANIFEST)
    assert "can start isn't proven" not in said(capsys, file, "-f", str(manifest))


def test_what_is_there_already_is_asked_elsewhere(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "there.yaml"
    for kind, cluster, why in (
        ("Deployment", file, "is there already"),
        ("DaemonSet", "demo", "has a pod on each node"),
    ):
        text = MANIFEST.replace("trainer", "large").replace("kind: Deployment", f"kind: {kind}")
        manifest.write_text(text if kind == "Deployment" else text.replace("  replicas: 2\n", ""))
        with pytest.raises(SystemExit):
            main(["make-room", cluster, "-f", str(manifest)])
        assert why in capsys.readouterr().err


def test_until_is_the_same_as_that_shape(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    until = json.loads(said(capsys, file, "--until", "shape=gpu=3", "--count", "1", "-o", "json"))["result"]
    shape = json.loads(said(capsys, file, "--shape", "gpu=3", "--count", "1", "-o", "json"))["result"]
    assert until == shape
    for words in (["--until", "gpu=3"], ["--until", "shape=gpu=3", "--shape", "gpu=3"]):
        with pytest.raises(SystemExit):
            main(["make-room", file, *words])
        assert "--until" in capsys.readouterr().err


def test_without_steps_there_is_no_script(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, file, "--shape", "gpu=64", "--script") == ""
