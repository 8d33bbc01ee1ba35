"""``action.yml``: its shell steps, run one after another as a runner does, with a GitHub of this file's own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.cli.gate_formats import MARK
from tests.architecture.tree import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
EXAMPLE = ROOT / "docs/examples/github-actions.yml"
MANIFESTS = ROOT / "docs/examples/manifests"
# gh as far as the action asks it: comments are a file; --jq is answered as its one expression would be
GH = """#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
words, state = sys.argv[1:], Path(os.environ["COMMENTS"])
comments = json.loads(state.read_text())
assert words[0] == "api", words
assert os.environ["GH_TOKEN"] == "secret"
place = next(one for one in words if one.startswith("repos/"))
if "--jq" in words:
    wanted = '.[] | select(.user.login == env.COMMENTER and (.body | startswith("<!-- headroom gate -->"))) | .id'
    assert words[words.index("--jq") + 1] == wanted
    assert place == "repos/team/manifests/issues/7/comments"
    mine = [one for one in comments if one["user"]["login"] == os.environ["COMMENTER"]]
    print("\\n".join(str(one["id"]) for one in mine if one["body"].startswith("<!-- headroom gate -->")))
    sys.exit()
body = Path(words[words.index("--field") + 1].removeprefix("body=@")).read_text()
if words[words.index("--method") + 1] == "PATCH":
    (mine,) = [one for one in comments if place == f"repos/team/manifests/issues/comments/{one['id']}"]
    assert mine["user"]["login"] == "github-actions[bot]", "somebody else's can't be edited by the token"
    mine["body"] = body
else:
    comments.append({"id": len(comments) + 1, "body": body, "user": {"login": "github-actions[bot]"}})
state.write_text(json.dumps(comments))
"""


def carried_out(folder: Path, **inputs: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit status of the last step, and the pull request's comments."""
    given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | {
        "install": "false",
        "token": "secret",
    }
    values = {f"inputs.{name}": value for name, value in (given | inputs).items()}
    values |= {"github.repository": "team/manifests", "github.event.pull_request.number": "7"}
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    comments = folder / "comments.json"
    if not comments.exists():
        comments.write_text(json.dumps([{"id": 1, "body": "Looks good", "user": {"login": "anna"}}]))
    output = folder / "output"
    status = 0
    for step in ACTION["runs"]["steps"]:
        output.touch()
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.gate.outputs.{name}"] = value
        if not _is_run(step.get("if", ""), values):
            continue
        environment = {name: _filled(value, values) for name, value in step.get("env", {}).items()}
        told = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={
                "PATH": f"{programs}:{ROOT / '.venv/bin'}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "COMMENTS": str(comments),
                "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(folder / "summary"), **environment,
            },
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert step["shell"] == "bash"
        assert step["name"] == "Verdict" or told.returncode == 0, told.stderr
        status = told.returncode
    return status, json.loads(comments.read_text())


def _filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: values[found[1]], text)


def _is_run(condition: str, values: dict[str, str]) -> bool:
    """Conditions of the form ``name == 'text' && name != ''``."""
    for part in filter(None, condition.split(" && ")):
        name, sign, text = part.split(" ", 2)
        if (values[name] == text.strip("'")) != (sign == "=="):
            return False
    return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    return tmp_path


def test_a_stuck_rollout_fails_the_job_and_is_told_once(folder: Path) -> None:
    status, comments = carried_out(folder, cluster="demo")
    assert status == 2
    assert comments[0]["body"] == "Looks good", "somebody else's"
    assert comments[1]["body"].startswith(MARK)
    assert "Deployment/prod/llm-serve" in comments[1]["body"]
    assert json.loads((folder / "headroom.sarif").read_text())["runs"]
    assert (folder / "summary").read_text() == comments[1]["body"]
    (folder / "manifests" / "llm-serve.yaml").unlink(missing_ok=True)
    for path in (folder / "manifests").iterdir():
        if "llm-serve" in path.read_text():
            path.unlink()
    status, anew = carried_out(folder, cluster="demo")
    assert status == 0
    assert len(anew) == len(comments), "the comment is kept up to date"
    assert "Deployment/prod/llm-serve" not in anew[1]["body"]


def test_a_comment_that_somebody_else_began_with_the_mark_stays_his(folder: Path) -> None:
    """Its author could edit it afterwards: a table that says "passes"."""
    theirs = {"id": 1, "body": f"{MARK}\nAll pass", "user": {"login": "mallory"}}
    (folder / "comments.json").write_text(json.dumps([theirs]))
    for _ in range(2):
        status, comments = carried_out(folder, cluster="demo")
        assert status == 2
        assert comments[0] == theirs
        assert [one["user"]["login"] for one in comments[1:]] == ["github-actions[bot]"], (
            "one of our own, kept up to date"
        )


def test_nothing_is_installed_that_this_repository_does_not_hold() -> None:
    """No name of a package index: who registers it would run code in every pipeline that uses the action."""
    (install,) = [step["run"] for step in ACTION["runs"]["steps"] if step["name"] == "Install"]
    asked = [
        line for line in install.replace("\\\n", " ").splitlines() if " pip install " in line or " pip wheel " in line
    ]
    assert len(asked) == 4
    for line in asked:
        assert "--require-hashes" in line or "--no-deps --no-index" in line, line
    assert set(re.findall(r"[\w.-]+\.(?:lock|txt)", install)) == {
        "requirements.lock",
        "requirements-gate.txt",
        "build.lock",
    }
    for lock in ("requirements.lock", "requirements-gate.txt", "build.lock"):
        pinned = re.findall(r"^[\w.-]+==", (ROOT / "deploy" / lock).read_text(), re.MULTILINE)
        assert pinned
        assert len(re.findall(r"--hash=sha256:", (ROOT / "deploy" / lock).read_text())) >= len(pinned)


def test_hostile_inputs_stay_words(folder: Path) -> None:
    """What a pull request can name reaches the shell as values, never as its text."""
    hostile = '$(touch broken) `touch broken` "; touch broken; #'
    status, _ = carried_out(folder, cluster="demo", manifests=hostile)
    assert status == 1
    assert not (folder / "broken").exists()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], "given by the environment"


@pytest.mark.parametrize("is_link", [False, True])
def test_what_a_branch_brings_is_not_told_as_ours(folder: Path, is_link: bool) -> None:
    """The gate refuses its input and writes nothing: a table and findings of the branch's own would be uploaded as the gate's."""
    kept = folder / "kept"
    kept.write_text("All pass")
    for name in ("headroom.sarif", "headroom.md"):
        (folder / name).symlink_to(kept) if is_link else (folder / name).write_text("All pass")
    status, comments = carried_out(folder, cluster="demo", manifests="nothing/")
    assert (status, len(comments)) == (1, 1)
    assert not (folder / "headroom.sarif").exists()
    assert not (folder / "summary").exists()
    carried_out(folder, cluster="demo")
    assert kept.read_text() == "All pass"


@pytest.mark.parametrize("arguments", ["--write\njunit={}", "--write=junit={}"])
def test_no_file_that_is_written_may_be_the_branchs_own(folder: Path, arguments: str) -> None:
    """The gate refuses its input: a link of the branch's own, and findings it made up, would be uploaded as the gate's."""
    for name in ("headroom.xml", "-headroom.xml"):
        (folder / name).write_text("All pass")
        (folder / "other.xml").write_text("stays")
        status, _ = carried_out(folder, cluster="demo", manifests="nothing/", arguments=arguments.format(name))
        assert status == 1
        assert not (folder / name).exists()
        assert (folder / "other.xml").read_text() == "stays"


def test_of_several_comments_the_first_is_kept_up_to_date(folder: Path) -> None:
    ours = [{"id": number, "body": f"{MARK}\nold", "user": {"login": "github-actions[bot]"}} for number in (1, 2)]
    (folder / "comments.json").write_text(json.dumps(ours))
    _, comments = carried_out(folder, cluster="demo")
    assert [one["body"] == f"{MARK}\nold" for one in comments] == [False, True]


def test_without_a_comment_and_with_more_arguments(folder: Path) -> None:
    status, comments = carried_out(
        folder, cluster="demo", comment="false", arguments="--write\njunit=headroom.xml", sarif=""
    )
    assert (status, len(comments)) == (2, 1)
    assert (folder / "headroom.xml").exists()
    assert not (folder / "headroom.sarif").exists()


def test_the_example_gives_inputs_that_there_are() -> None:
    (step,) = [
        one
        for one in yaml.safe_load(EXAMPLE.read_text())["jobs"]["gate"]["steps"]
        if one.get("uses", "").startswith("OWNER/REPO@")
    ]
    assert set(step["with"]) <= set(ACTION["inputs"])
    needed = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert needed <= set(step["with"])
    assert all(isinstance(value, str) for value in step["with"].values())


def test_without_a_cluster_it_tells_the_room(tmp_path: Path) -> None:
    assert not ACTION["inputs"]["cluster"].get("required")
    manifest = ROOT / "tests/remedies/no_cluster/one-gpu-defaults.yaml"
    status, comments = carried_out(tmp_path, manifests=str(manifest))
    assert status == 3
    assert "needs room for 1 more pod" in comments[-1]["body"]
