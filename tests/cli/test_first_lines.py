"""The first line of every command is its answer: on a cluster, on one of each kind, on an empty one; in a pipe, at 80 and 120 columns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from planner.cli import COMMANDS, main
from tests.builders.wrapped import wrapped_to
from tests.cli.test_dump import MANIFEST

LISTS: Final = {
    "v1": ("Node", "Pod", "Namespace", "Event", "ResourceQuota"),
    "apps/v1": ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
}
CASES: Final[dict[str, tuple[str, str, str, str]]] = {
    "overview": ("overview {cluster}", "5 of 20 workloads would get stuck", "5 of 11 workloads would get stuck", "The snapshot holds no workload that rolls out."),
    "rollout": ("rollout {cluster}", "5 of 20 workloads would get stuck", "5 of 11 workloads would get stuck", "The snapshot holds no workload that rolls out."),
    "gate": ("gate {cluster} -f {folder}/gate.yaml", "passes: ", "passes: ", "fails: 1 of 1 workload stuck"),
    "capacity": ("capacity {cluster}", "1 of 27 GPUs is free.", "0 of 52 GPUs are free.", "The cluster has no GPUs."),
    "capacity --seats": ("capacity {cluster} --seats", "1 of 27 GPUs on 17 nodes is free", "0 of 52 GPUs on 9 nodes are free", "No node has GPUs."),
    "make-room": ("make-room {cluster}", "No moves start any of the 2 waiting pods (proven).", "No pod waits for a node.", "No pod waits for a node."),
    "survive": ("survive {cluster}", "12 of 24 nodes are single points of failure", "9 of 12 nodes are single points of failure", "There is no node."),
    "fleet": ("fleet {cluster} {cluster}", "2 clusters: 10 of 40 workloads would get stuck", "2 clusters: 10 of 22 workloads would get stuck", "2 clusters: 0 of 0 workloads"),
    "fleet --shape": ("fleet {cluster} {cluster} --shape gpu=1", "", "", ""),
    "memory": ("memory {cluster}", "No node is past its eviction threshold", "How near eviction the nodes are is unknown", "No pod runs on a node of this snapshot"),
    "restarts": ("restarts {cluster}", "2 workloads restart or fail to start", "No container restarts or fails to start", "No container restarts or fails to start"),
    "costs": ("costs {cluster}", "$", "$", "No nodes, so nothing to pay for."),
    "costs --price-list": ("costs --price-list", r"prices in US dollars an hour", "prices in US dollars", "prices in US dollars"),
    "spot": ("spot {cluster} --runs 100", "Without spot, packing more tightly saves", "Spot would save", "Moving to spot saves nothing"),
    "report": ("report {cluster} --to {folder}/report.md", "report.md: ", "report.md: ", "report.md: "),
    "diff": ("diff {cluster} {cluster}", "Nothing that is compared differs.", "Nothing that is compared differs.", "Nothing that is compared differs."),
    "review": ("review {cluster}", "This snapshot shows no past rollout.", "This snapshot shows no past rollout.", "This snapshot shows no past rollout."),
    "doctor": ("doctor {cluster}", "Everything that answers need could be read", "kinds could be read", "kinds could be read"),
    "dump": ("dump {cluster} --to {folder}/c.json.gz", "c.json.gz: 24 nodes, 133 pods", "c.json.gz: 12 nodes, 51 pods", "c.json.gz: 0 nodes, 0 pods"),
    "store snapshot": ("store snapshot {cluster} --store {folder}/s --questions capacity --taken-at 2026-11-17T09:30Z", "wrote store:", "wrote store:", "wrote store:"),
    "store anonymize": ("store anonymize {cluster} --to {folder}/a.json.gz --yes", "a.json.gz: 24 nodes", "a.json.gz: 12 nodes", "a.json.gz: 0 nodes"),
    "overview --plan": ("overview {cluster} --plan", "15 of 20 workloads can be rolled out now", "6 of 11 workloads can be rolled out now", "There is no workload that rolls out."),
    "overview --findings": ("overview {cluster} --findings", "2 errors, 8 warnings", "4 warnings", "1 warning"),
    "rollout --peak": ("rollout {cluster} --peak", "", "", ""),
    "rollout --in-flight": ("rollout {cluster} --in-flight", "", "", ""),
    "diff --between": ("diff {cluster} --between dev,prod", "The difference explains the trouble of", "no environment", "no environment"),
    "capacity --queues": ("capacity {cluster} --queues", "not known", "not known", "not known"),
    "capacity --change": ("capacity {cluster} --change add:gpu-t4=1", "", "pool", "pool"),
    "costs --idle": ("costs {cluster} --idle", "no Prometheus is given", "no Prometheus is given", "no Prometheus is given"),
}  # fmt: skip
"""Command → its line, and what the first line says on the demo, on one of each kind, on an empty cluster; "" where any answer does."""
SERVERS: Final = {"app", "serve", "serve --mcp"}  # they print no answer
OF_A_STORE: Final = {
    "store",
    "store trends",
    "store commitments",
    "store sweep",
}  # they ask a store: tests/cli/test_history_commands.py
HEADING: Final = re.compile(r"^\s|^(note|warning|headroom): ", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("first")
    (place / "gate.yaml").write_text(MANIFEST)
    (place / "empty").mkdir()
    for version, kinds in LISTS.items():
        for kind in kinds:
            listed = {"apiVersion": version, "kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": []}
            (place / "empty" / f"{kind}.json").write_text(json.dumps(listed))
    return place


def first_line(capsys: pytest.CaptureFixture[str], command: str) -> tuple[str, bool]:
    """The first line that a command prints, the whole of it where it is wrapped; of standard error where it has no answer."""
    with pytest.raises(SystemExit):
        main(command.split())
    out, err = capsys.readouterr()
    assert out or err
    lines = (out or err).splitlines()
    return lines[0], bool(out)


def test_every_command_has_its_case() -> None:
    assert set(COMMANDS) == set(CASES) | SERVERS | OF_A_STORE


@pytest.mark.parametrize("name", CASES)
def test_the_first_line_is_an_answer(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, *answers = CASES[name]
    for cluster, said in zip(("demo", "ml-platform", str(folder / "empty")), answers, strict=True):
        line, is_answer = first_line(capsys, command.format(cluster=cluster, folder=folder))
        assert said in line, cluster
        assert len(line) > 10
        assert HEADING.search(line) is None if is_answer else line.startswith("headroom: ")


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "name",
    ["overview", "costs", "survive", "memory"],
)
def test_the_first_line_fits_the_terminal(
    name: str, columns: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, said, *_ = CASES[name]
    with wrapped_to(columns):
        line, _ = first_line(capsys, command.format(cluster="demo", folder=folder))
    assert line.startswith(said[: columns - 20])
    assert len(line) <= columns
