"""One quantity, one number: every page, command and export of a cluster says the same of what has the same name and scope. All of the
demo; of the EKS cluster, the one with a kind of each and the large one what most people ask."""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from planner.cli import main
from planner.ground.errors import HeadroomError
from planner.kubernetes.object_records import Snapshot
from planner.questions import INDEX, question_called
from planner.questions.question import Fact, Inputs
from planner.sources.cluster_argument import read_cluster
from planner.sources.prices import embedded_book
from tests.browser.dashboard import pages
from tests.builders import eks
from tests.pages.visiting import said, visit
from tests.prices_of_a_day import shipped
from tests.rules.quantities import QUANTITIES, Quantity

COMMANDS = (
    "overview demo", "plan demo", "peak demo", "capacity demo", "seats demo", "what-if demo --change add:gpu-t4=1",
    "make-room demo", "survive demo", "costs demo", "costs demo --by workload", "savings demo", "fleet demo", "findings demo",
    "memory demo", "restarts demo", "drift demo", "where demo --shape gpu=1", "report demo", "diff demo --change add:gpu-t4=1",
    "savings demo --workload deployment/prod/ml-worker",
)  # fmt: skip
ASKED: Mapping[str, Mapping[str, str]] = {
    "rollout": {"workload": "Deployment/prod/ml-worker"},
}


def printed(command: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()), pytest.raises(SystemExit):
        main(command.split())
    return out.getvalue()


def places_of(commands: Iterable[str], visited: Iterable[str], given: Snapshot | None = None) -> dict[str, str]:
    """Page, command or export → all that it says."""
    found: dict[str, str] = {}
    for command in commands:
        for form in ("text", "markdown", *(("csv --rows facts",) if command in ("costs demo", "fleet demo") else ())):
            if not (command.startswith("report") and form != "markdown"):
                found[f"{command} -o {form}"] = printed(f"{command} -o {form} -q").replace("\\", "")
    for path in visited:
        app = visit(path or "overview", given, **(ASKED.get(path, {}) if given is None else {}))
        assert not app.metric, "what stands in a tile isn't looked at here"
        found[f"page {path}"] = said(app)
    return found


@pytest.fixture(scope="module")
def places() -> dict[str, str]:
    with shipped():  # the demo's history tells the bills of the day it was made, which has the shipped prices
        return places_of(COMMANDS, [*(path for path, _ in pages()), "plan"])  # a dialog


def figures(quantity: Quantity, text: str) -> Iterator[float]:
    plain = (
        re.sub(r"\s*\n(?=[a-z$(])", " ", text) if not text.startswith("metric,") else text
    )  # lines that were wrapped
    for pattern in quantity.patterns:
        for version in {text, plain}:
            yield from (float(one.replace(",", "")) for one in re.findall(pattern, version, re.MULTILINE))


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda one: one.name)
def test_a_quantity_is_one_number_wherever_it_stands(quantity: Quantity, places: dict[str, str]) -> None:
    found = {place: sorted({round(one) for one in figures(quantity, text)}) for place, text in places.items()}
    known = {place: numbers for place, numbers in found.items() if numbers}
    assert len({number for numbers in known.values() for number in numbers}) == 1, known
    assert len(known) >= quantity.least, known


OTHERS: Mapping[
    str, tuple[tuple[str, ...], int]
] = {  # cluster → pages, in how many places some quantity stands at least
    "eks": (tuple(path for path, _ in pages()), 3),
    "ml-platform": (("", "rollouts", "headroom", "costs", "clusters"), 8),
    "openb": (("", "rollouts", "costs"), 4),
}
ASKED_OF_OTHERS = ("overview", "capacity", "costs", "fleet", "costs --by workload")


@pytest.mark.parametrize("name", OTHERS)
def test_in_other_clusters_too(name: str, tmp_path: Path) -> None:
    eks.write(tmp_path)
    named = str(tmp_path / "cluster.json") if name == "eks" else name
    asked = [f"{one.partition(' ')[0]} {named} {one.partition(' ')[2]}" for one in ASKED_OF_OTHERS]
    visited, least = OTHERS[name]
    told = places_of(asked, visited, read_cluster(named))
    most = 0
    for quantity in QUANTITIES:
        found = {place: {round(one) for one in figures(quantity, text)} for place, text in told.items()}
        known = {place: numbers for place, numbers in found.items() if numbers}
        assert len({number for numbers in known.values() for number in numbers}) <= 1, (quantity.name, known)
        most = max(most, len(known))
    assert most >= least


_LONG = frozenset({"plan", "make_room", "survive", "report"})  # seconds each, on the large one


@pytest.mark.parametrize("name", ["demo", *OTHERS])
def test_the_same_fact_has_the_same_value_in_every_question(name: str) -> None:
    """A fact is a metric with labels: what metrics, stores and ``--rows facts`` are made of."""
    snapshot, given = eks.snapshot() if name == "eks" else read_cluster(name), Inputs(book=embedded_book())
    values: dict[object, dict[str, object]] = defaultdict(dict)
    for name_of_question in INDEX:
        if name == "openb" and name_of_question in _LONG:
            continue
        question = question_called(name_of_question)
        try:
            answer = question.answer(snapshot, question.settings(), given)
        except HeadroomError:
            continue  # it asks for something first
        facts: tuple[Fact, ...] = tuple(question.facts(answer))
        for one in facts:
            values[one.metric, one.unit, tuple(sorted(one.labels.items()))][name_of_question] = one.value
    shared = {key: by for key, by in values.items() if len(by) > 1}
    assert len(shared) > (10 if name in ("demo", "openb") else 5)
    assert not {key: by for key, by in shared.items() if len(set(by.values())) > 1}


def test_what_fits_is_what_quota_and_admission_let_in_everywhere() -> None:
    """A review: of dev/notebook 727 more fit on one page, 6 by a quota beside it, 0 by its rollout."""
    out = printed("capacity demo -o json -q")
    fits = {one["shape"]: one for one in json.loads(out)["result"]["workloads"]}
    notebook, web = fits["Deployment/dev/notebook"], fits["Deployment/dev/web"]
    assert (notebook["count"], notebook["on_nodes"], web["count"], web["on_nodes"]) == (0, 727, 6, 421)
    out = printed("rollout demo -w deployment/dev/notebook -q")
    assert "namespace dev only takes pods that state requests.memory" in out
    out = printed("what-if demo --change add:gpu-t4=1 -o json -q")
    changed = {one["shape"]: one for one in json.loads(out)["result"]["fits"]}
    assert {name: changed[name]["before"] for name in fits if name in changed} == {
        name: one["count"] for name, one in fits.items() if name in changed
    }
    out = printed("where demo -f docs/examples/manifests/llm-serve.yaml -o json -q")
    where = json.loads(out)["result"]
    assert [room["more"] for one in where["clusters"] for room in one["room"]] == [
        fits["Deployment/prod/llm-serve"]["count"]
    ]
