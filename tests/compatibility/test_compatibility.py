"""The promise of docs/everyday.md: documents keep their fields, files of earlier releases are read, links lead where they led."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from planner.capacity import rollout_readiness as overviews
from planner.questions import question_called
from planner.questions.gate import GateSettings
from planner.questions.question import Inputs, document
from planner.questions.rollout import RolloutSettings
from planner.rollout.gate_policy import read_policy
from planner.sources import demo
from planner.sources.cluster_argument import read_cluster
from planner.sources.prices import embedded_book
from planner.ui.link import MOVED
from tests.architecture.tree import ROOT

HERE = Path(__file__).parent
RELEASES = sorted(path for path in HERE.iterdir() if path.is_dir() and (path / "fields.json").exists())
QUESTIONS = ("rollout", "overview", "capacity", "gate", "diff", "findings", "restarts", "memory")
POLICY = """
[gate]
fail = ["stuck", "unknown", "needs_growth"]
least_ready = "75%"
most_extra_gpus = 4
most_extra_usd_per_month = 2000.5
[[gate.exceptions]]
workload = "Deployment/prod/*"
reason = "why"
expires = 2026-12-31
"""


def today(name: str) -> dict[str, Any]:
    """A document of the demo, as this release writes it."""
    question, snapshot = question_called(name), demo.read()
    settings = {
        "rollout": RolloutSettings(workloads=("Deployment/prod/llm-serve",), runs=1),
        "gate": GateSettings(manifest=(ROOT / "docs/examples/manifests/llm-serve.yaml").read_text(encoding="utf-8")),
    }.get(name) or question.settings()
    others = (snapshot,) if name == "diff" else ()
    found = question.answer(snapshot, settings, Inputs(book=embedded_book(), others=others))
    return document(question, snapshot, settings, found)


def fields_of(value: Any, path: str = "") -> Iterator[str]:
    """Every field that is there, as ``result.workloads.verdict``; a field of a list's records once."""
    found: dict[str, None] = {}
    _collect(value, path, found)
    yield from found


def _collect(value: Any, path: str, found: dict[str, None]) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            if "/" not in key and key.isidentifier():  # not a resource, a label: those are the cluster's
                found[f"{path}.{key}".lstrip(".")] = None
                _collect(one, f"{path}.{key}", found)
    elif isinstance(value, list):
        for one in value:
            _collect(one, path, found)


def test_there_is_an_example_of_a_release() -> None:
    assert RELEASES


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_no_field_was_taken_away(release: Path, name: str) -> None:
    """A field that a reader may hang on stays; another version has to be written for less."""
    before = json.loads((release / "fields.json").read_text(encoding="utf-8"))[name]
    gone = set(before) - set(fields_of(today(name)))
    assert not gone, f"{sorted(gone)}: write headroom.{name}/v2, or give them back"


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_snapshots_of_earlier_releases_are_read(release: Path) -> None:
    found = overviews.overview(read_cluster(str(release / "snapshot.json.gz")))
    assert (found.node_count, len(found.workloads)) == (24, 20)
    assert str(found.sentence) == "5 of 20 workloads would get stuck if changed now."


@pytest.mark.parametrize(
    "link",
    [
        "rollout?workload=Deployment/prod/llm-serve&max_surge=0&max_unavailable=1",
        "rollout?cluster=demo&workload=deployment/prod/llm-serve",
        "headroom?shape=gpu=1",
        "what_if?changes=drain:pool/gpu-t4",
    ],
)
def test_links_of_earlier_releases_still_lead_there(link: str) -> None:
    parts = urlsplit(link)
    file, opens, called = MOVED.get(
        parts.path, (f"{parts.path}.py", {}, {})
    )  # what the router does (tests/browser follow it)
    page = AppTest.from_file(str(ROOT / "pages" / file), default_timeout=90)
    for name, values in {**parse_qs(parts.query), **{name: [opened] for name, opened in opens.items()}}.items():
        page.query_params[called.get(name, name)] = values
    page.run()
    assert not page.exception
    assert not [one.value for one in page.warning if "The link asks for" in one.value]


def test_a_policy_of_an_earlier_release_is_read() -> None:
    policy = read_policy(POLICY, "headroom.toml")
    assert (policy.least_ready, policy.most_extra_gpus, policy.most_extra_usd_per_month) == ("75%", 4, 2000.5)
    assert policy.exceptions[0].covers("Deployment/prod/api")
