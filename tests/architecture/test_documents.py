"""The documents are complete and true: every command and option, every page, every example that can be run."""

from __future__ import annotations

import doctest
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from planner.cli import COMMANDS, headroom
from planner.inventory import input_report
from planner.rollout import recording_agreement
from planner.sources.kubernetes_api import PATHS
from tests.architecture import documents, schemas
from tests.architecture.tree import ROOT, VERSION, project_files, python_files
from tests.browser.dashboard import pages
from tests.prices_of_a_day import shipped
from tests.rules import quantities

README = (ROOT / "README.md").read_text(encoding="utf-8")
CLUSTER = (ROOT / documents.CLUSTER).read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def _prices_as_they_come() -> Iterator[None]:
    """Documents tell the prices that people get, not those that other tests' figures were worked out on."""
    with shipped():
        yield


def test_command_line_document_is_what_help_says() -> None:
    assert (ROOT / documents.COMMAND_LINE).read_text(encoding="utf-8") == documents.command_line(), "run `make docs`"


@pytest.mark.parametrize("name", documents.VERSIONED)
def test_a_version_is_the_one_of_the_package(name: str) -> None:
    written = (ROOT / name).read_text(encoding="utf-8")
    assert VERSION in written
    assert documents.with_version(written) == written, "run `make docs`"


def test_no_document_installs_a_name_of_a_package_index() -> None:
    """The name isn't claimed on PyPI: a stranger who claims it would run code wherever a document is followed."""
    paths = [path for path in project_files() if path.parts[0] in ("docs", "deploy") or len(path.parts) == 1]
    texts = {
        path: (ROOT / path).read_text(encoding="utf-8") for path in paths if path.suffix in (".md", ".yml", ".yaml")
    }
    installs = [
        (path, line)
        for path, text in texts.items()
        for line in text.splitlines()
        if re.search(r"pipx? install|uv tool install", line)
    ]
    assert len(installs) > 6
    for path, line in installs:
        assert "headroom-planner" not in line or "git+https://github.com/OWNER/REPO@v" in line, path


def test_the_glossary_is_the_pages_glossary() -> None:
    assert (ROOT / documents.QUANTITIES).read_text(encoding="utf-8") == quantities.as_markdown(), "run `make docs`"
    assert (ROOT / documents.GLOSSARY).read_text(encoding="utf-8") == documents.glossary_page(), "run `make docs`"


def test_kinds_are_those_of_the_tables() -> None:
    assert (ROOT / documents.KINDS).read_text(encoding="utf-8") == documents.kinds_page(), "run `make docs`"
    assert (ROOT / documents.VERSIONS).read_text(encoding="utf-8") == documents.versions_page(), "run `make docs`"


def test_tables_of_a_store_are_those_of_the_schema() -> None:
    written = (ROOT / documents.STORE).read_text(encoding="utf-8")
    assert documents.with_tables(written) == written, "run `make docs`"
    assert "### `pods`" in written


def test_schemas_are_those_of_the_records() -> None:
    written = {
        path: (ROOT / path).read_text(encoding="utf-8") for path in project_files() if path.parent == schemas.FOLDER
    }
    assert written == schemas.schemas(), "run `make docs`; a field taken away or renamed needs another version"


@pytest.mark.parametrize("path", documents.documents_with_examples(), ids=str)
def test_examples_print_what_the_document_says(path: Path) -> None:
    written = (ROOT / path).read_text(encoding="utf-8")
    assert written == documents.with_outputs(written), "run `make docs`, and read what changed"


def test_kinds_of_the_documents_are_those_that_are_read() -> None:
    assert documents.with_reading(CLUSTER) == CLUSTER, "run `make docs`"
    assert input_report.SNAPSHOT_COMMAND in CLUSTER


def test_rights_of_the_documents_are_those_that_are_used() -> None:
    """The ClusterRole lists and watches exactly what a live snapshot asks for, and nothing may be written."""
    assert (ROOT / documents.CLUSTER_ROLE).read_text(encoding="utf-8") == documents.cluster_role(CLUSTER), (
        "run `make docs`"
    )
    block = re.search(r"```yaml\n(.*?)```", CLUSTER, re.DOTALL)
    assert block is not None
    role = yaml.safe_load(block.group(1))
    given = {
        (group, kind)
        for rule in role["rules"]
        if rule["verbs"] == (["list"] if rule["apiGroups"] == ["metrics.k8s.io"] else ["list", "watch"])
        for group in rule["apiGroups"]
        for kind in rule["resources"]
    }
    used = set()
    for paths in PATHS.values():
        parts = paths[0].strip("/").split("/")
        used.add(("" if parts[0] == "api" else parts[1], parts[-1]))
    assert given == used
    assert all("list" in rule["verbs"] for rule in role["rules"]), "logs are a right of their own: deploy/logs.yaml"


def test_the_readme_is_short_and_tells_how_often_it_is_right() -> None:
    assert documents.with_recordings(README) == README, "run `make docs`"
    assert len(README.splitlines()) <= 120
    assert str(recording_agreement.sentence()) in README
    assert [name for name in COMMANDS if f"`headroom {name}`" not in documents.command_line()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_command_explains_itself_and_its_options(name: str) -> None:
    command = headroom.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert command.help
    silent = [option.name for option in command.params if option.param_type_name == "option" and not option.help]
    assert not silent, f"headroom {name}: options without help: {silent}"


def test_unknown_command_is_a_sentence() -> None:
    result = CliRunner().invoke(headroom, ["rollut"])
    assert result.exit_code != 0
    assert "No such command 'rollut'" in result.output


def test_every_page_is_described() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8").lower()
    assert len(pages()) > 8
    assert not [title for _, title in pages() if f"**{title.lower()}**" not in index]


@pytest.mark.parametrize(
    "path", [path for path in python_files("planner") if ">>>" in (ROOT / path).read_text(encoding="utf-8")], ids=str
)
def test_examples_in_docstrings_are_true(path: Path) -> None:
    module = importlib.import_module(".".join(path.with_suffix("").parts))
    assert doctest.testmod(module).failed == 0


def test_version_has_one_home() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    result = CliRunner().invoke(headroom, ["--version"])
    assert project["version"] in result.output
