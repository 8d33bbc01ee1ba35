"""``headroom report`` and ``headroom diff``: what is in them, what isn't known, and what names out of a cluster can't do."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from planner.capacity import rollout_readiness
from planner.cli import main
from planner.figures.review_first_page import lines
from planner.ground.words import usd
from planner.health.memory import node_memory
from planner.pricing import projected_bill as bill_room
from planner.pricing.allocation import AllocationKind
from planner.questions import findings
from planner.questions.question import Inputs
from planner.questions.report import CHAPTERS, ReportSettings, review
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders import eks
from tests.builders.objects import deployment, node, pod, pod_spec

EVIL = "<script src=//x.example></script>"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(str(stopped.value.code or 0)), out, err


def cluster(path: Path, *items: Any) -> str:
    listed = [one for item in items for one in (item if isinstance(item, list) else [item])]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    return str(path)


class _Tags(HTMLParser):
    """Every tag with its attributes, and the words of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


# ── report ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    names = [part for form in ("html", "md", "csv", "json") for part in ("--to", str(folder / f"r.{form}"))]
    with pytest.raises(SystemExit) as stopped:
        main(["report", "demo", "--quiet", *names])
    assert stopped.value.code in (0, None)
    return folder


def test_what_several_chapters_need_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(module: Any, name: str) -> None:
        whole = getattr(module, name)

        def counting(*asked: Any) -> Any:
            made.append(name)
            return whole(*asked)

        monkeypatch.setattr(module, name, counting)

    counted(rollout_readiness, "simulated_readiness")
    counted(node_memory, "_cluster_memory")
    review(demo.read(), ReportSettings(), Inputs(book=embedded_book()))
    assert sorted(made) == ["_cluster_memory", "simulated_readiness"]


def test_html_asks_nobody(files: Path) -> None:
    page = (files / "r.html").read_text()
    assert len(page.encode()) < 200_000
    seen = _Tags()
    seen.feed(page)
    assert not [tag for tag, given in seen.tags if "src" in given or tag in ("img", "iframe", "form", "base", "object")]
    links = [given["href"] for tag, given in seen.tags if tag in ("a", "link")]
    assert all(link is not None and link.startswith(("#", "data:")) for link in links)
    (policy,) = (
        str(given["content"]) for tag, given in seen.tags if given.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_every_chapter_is_in_every_form(files: Path) -> None:
    page, text = (files / "r.html").read_text(), (files / "r.md").read_text()
    for chapter in CHAPTERS:
        assert f"<h2>{chapter.title}</h2>" in page
        assert f"## {chapter.title}" in text.replace("\\", "")
    for name in ("What is not known", "Inputs and their ages"):
        assert name in page
        assert name in text
    rows = list(csv.DictReader(io.StringIO((files / "r.csv").read_text())))
    assert {chapter.title for chapter in CHAPTERS} >= {row["chapter"] for row in rows}
    document = json.loads((files / "r.json").read_text())
    assert document["format"] == "headroom.report/v1"
    formats = {one["format"] for one in document["also"]}
    assert {f"headroom.{chapter.question}/v1" for chapter in CHAPTERS} == formats
    assert "llm-canary" in page
    assert page.count("class='chart'") == 5
    for drawn in ("8 held · 4 wanted", "12 held · 1 free"):  # in words, for the browser's find
        assert drawn in page


def test_the_first_page_says_what_is_stuck_waits_breaks_and_costs_with_the_next_step(files: Path) -> None:
    page = (files / "r.html").read_text()
    first = page[page.index("<dl") : page.index("<nav")]
    for about, said, step in (
        ("Rollouts", "5 of 20 workloads would get stuck if changed now.", "dev/inference-api: maxSurge 0, maxUnavailable 1"),
        ("Waiting", "2 pods are pending for 5 GPUs.", "headroom make-room CLUSTER"),
        ("One loss", "12 of 24 nodes are single points of failure", "Keep spare, for any one node: 2 in gpu-a100"),
        ("Money", "$36,972 a month for 24 nodes", "Spot is expected to save $15,851 a month: Deployment/prod/llm-serve first"),
    ):  # fmt: skip
        (line,) = re.findall(rf"<dt>(?:<a href='#c\d+'>)?{about}<.*", first)
        assert said in line
        assert step in line.partition("Next:")[2]
    text = (files / "r.md").read_text().replace("\\", "")
    assert "- **Money**: $36,972 a month" in text


def test_what_nobody_can_tell_has_no_line_on_the_first_page() -> None:
    found = review(eks.snapshot(), ReportSettings(), Inputs())
    assert [one.about for one in lines(found)] == ["Rollouts", "Waiting", "One loss"]


CODE = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")  # what only programs should read: hold_and_wait
BYTES = re.compile(r"\b\d{1,3}(?:,\d{3}){3,}\b")


class _Cells(HTMLParser):
    """The headings and cells of the page's tables."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self._is_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_cell = tag in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._is_cell and data.strip():
            self.cells.append(data)


def test_people_get_words_and_units_and_programs_get_codes_and_bytes(files: Path) -> None:
    page = _Cells()
    page.feed((files / "r.html").read_text())
    markdown = (files / "r.md").read_text().replace("\\", "").splitlines()
    shown = [*page.cells, *(line for line in markdown if line.startswith("|"))]
    assert len(page.cells) > 500
    assert [cell for cell in shown if CODE.search(cell) or BYTES.search(cell)] == []
    for words in (
        "waits for itself",
        "✗ Stuck",
        "✗ looping now",
        "OOM-killed at its own limit",
        "26 GiB",
        "$7,502.85",
        "✓ read",
    ):
        assert words in page.cells
    rows = list(csv.DictReader(io.StringIO((files / "r.csv").read_text())))
    stuck = next(row for row in rows if row.get("workload") == "Deployment/prod/llm-serve" and row.get("verdict"))
    assert (stuck["verdict"], stuck["reason"]) == ("stuck", "hold_and_wait")
    assert next(row for row in rows if row["shape"].startswith("1 GPU"))["asks_memory_bytes"] == "25769803776"
    assert next(row for row in rows if row["node"])["allocatable_bytes"].isdecimal()


def test_a_sentence_is_said_in_one_chapter(files: Path) -> None:
    text = (files / "r.md").read_text().partition("## Unblock all")[2]
    for said in (
        "5 of 20 workloads would get stuck if changed now.",
        "1 of 27 GPUs is free. A typical pod of 1 GPU",
        "\\$36,972 a month for 24 nodes; \\$4,974 of it isn't requested",
    ):
        assert text.count(said) == 1


def test_the_summary_has_the_bill_that_costs_has_and_counts_the_findings_that_are_listed(files: Path) -> None:
    said = json.loads((files / "r.json").read_text())
    summary = said["result"]["sentence"]
    bill = bill_room.bill(embedded_book(), demo.read())
    assert bill.bill_usd_per_month is not None
    assert bill.usd_per_month is not None
    assert bill.bill_idle is not None
    assert (
        f"{usd(bill.bill_usd_per_month)} a month for 24 nodes; {usd(bill.bill_idle.total)} of it isn't requested"
        in summary
    )
    assert f"of the {usd(bill.bill_usd_per_month)} a month" in summary, "what spot would save has the same basis"
    assert usd(bill.list_usd_per_month) not in summary, (
        "the list price is in the chapter of pools, and called that there"
    )
    idle = sum(line.usd for line in bill.lines if line.share is AllocationKind.IDLE)
    assert bill.bill_idle.total == pytest.approx(idle, abs=0.001)
    listed = findings.answer(demo.read(), findings.FindingsSettings())
    assert str(listed.sentence) in summary, "the demo is meant to be old: that is no finding anywhere"
    (chapter,) = [one for one in said["result"]["chapters"] if one["question"] == "findings"]
    assert (chapter["rows"], chapter["sentence"]) == (len(listed.findings), str(listed.sentence))


def test_a_cluster_of_somebodys_own_that_is_old_is_told_so() -> None:
    at = demo.read().taken_at + 30 * 86_400
    counts = [
        len(findings.answer(demo.read(), findings.FindingsSettings(), Inputs(now=at, is_embedded=embedded)).findings)
        for embedded in (True, False)
    ]
    assert counts[1] == counts[0] + 1


def test_names_of_a_cluster_stay_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    waiting = pod("w", pod_spec(gpus=9))
    waiting["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": f"</script>{EVIL}\x1b[2J"}
    ]
    path = cluster(
        tmp_path / "<b>&.json", node("gpu-0", gpus=1), *deployment("api", ["gpu-0"], pod_spec(gpus=1)), waiting
    )
    target = tmp_path / "r.html"
    assert run(capsys, "report", path, "--to", str(target))[0] in (0, 4)
    page = target.read_text()
    assert EVIL not in page
    assert "\x1b" not in page
    assert "x.example" in page, "it is told, as text"
    seen = _Tags()
    seen.feed(page)
    assert not [tag for tag, given in seen.tags if "src" in given or tag == "b"]


def test_what_is_not_known_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = cluster(tmp_path / "c.json", node("a", gpus=1), *deployment("api", ["a"], pod_spec(gpus=1)))
    run(capsys, "report", path, "--to", str(tmp_path / "r.json"))
    result = json.loads((tmp_path / "r.json").read_text())["result"]
    told = " ".join(result["not_known"])
    assert "without a price" in told
    assert "when the snapshot was taken" in told
    assert any(one["name"].startswith("prices: ") and one["taken"] for one in result["inputs"])


def test_an_earlier_snapshot_puts_what_changed_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = cluster(tmp_path / "before.json", node("a", gpus=2), *deployment("api", ["a"], pod_spec(gpus=1)))
    after = cluster(tmp_path / "after.json", node("a", gpus=1), *deployment("api", ["a"], pod_spec(gpus=1)))
    run(capsys, "report", after, "--before", before, "--to", str(tmp_path / "r.json"))
    result = json.loads((tmp_path / "r.json").read_text())["result"]
    assert result["chapters"][0]["title"] == "What changed: workloads"
    assert result["sentence"].startswith("1 workload became stuck (Deployment/ml/api). 1 fewer T4")


@pytest.mark.parametrize("name", ["review", "review.pdf", "review.HTM2"])
def test_a_name_that_says_no_form_is_an_error(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, _, err = run(capsys, "report", "demo", "--to", name)
    assert status == 1
    assert "its extension names no format" in err


# ── diff ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_same_cluster_differs_in_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "diff", "demo", "demo")
    assert (status, out) == (0, "Nothing that is compared differs.\n\nfrom demo to demo\n")


def test_only_what_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calm, api = deployment("calm", ["b"], pod_spec()), deployment("api", ["a"], pod_spec(gpus=1))
    before = cluster(tmp_path / "before.json", node("a", gpus=1), node("b"), *calm, *api)
    more = [node("c", gpus=1), *deployment("new", ["b"], pod_spec())]
    after = cluster(tmp_path / "after.json", node("a", gpus=1), node("b"), *calm, *api, *more)
    status, out, _ = run(capsys, "diff", before, after, "-o", "json")
    document = json.loads(out)
    found = document["result"]
    assert status == 0
    assert [one["source"] for one in document["clusters"]] == ["before.json", "after.json"]
    assert [(one["workload"], one["before"], one["after"]) for one in found["workloads"]] == [
        ("Deployment/ml/api", "stuck", "completes"),
        ("Deployment/ml/new", None, "completes"),
    ]
    numbers = {one["metric"]: (one["before"], one["after"]) for one in found["numbers"]}
    assert numbers["nodes"] == (2, 3)
    assert numbers["gpus_free"] == (0, 1)
    assert "gpus_requested" not in numbers
    assert found["sentence"].startswith(
        "2 changes (Deployment/ml/new: workload not there → there and without a pool: nodes 2 → 3); "
        "1 workload can roll out now (Deployment/ml/api). 1 workload appeared (Deployment/ml/new); 1 more T4; "
    )
    line = next(
        line for line in run(capsys, "diff", before, after)[1].splitlines() if "Deployment/ml/new  not there" in line
    )
    assert "not known" not in line
    back = json.loads(run(capsys, "diff", after, before, "-o", "json")[1])["result"]
    assert [(one["workload"], one["before"], one["after"]) for one in back["workloads"]] == [
        ("Deployment/ml/api", "completes", "stuck"),
        ("Deployment/ml/new", "completes", None),
    ]
    assert {one["metric"]: (one["after"], one["before"]) for one in back["numbers"]} == numbers


def test_a_what_if_is_the_other_side(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "diff", "demo", "--change", "drain:pool/gpu-t4")
    assert status == 0
    assert "became stuck (Deployment/prod/ml-worker)" in out
    assert "doesn't get through" in out
    assert out.rstrip().endswith("from demo to demo, after drain:pool/gpu-t4")


def test_one_of_both_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("demo", "--change", "drain:pool/gpu-t4")):
        status, _, err = run(capsys, "diff", "demo", *more)
        assert status == 1
        assert "one of both" in err


def test_numbers_as_rows(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "diff", "demo", "--change", "drain:pool/gpu-t4", "-o", "csv", "--rows", "numbers")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert all(re.fullmatch(r"-?[\d.]*", row["change"].lstrip("'")) for row in rows)
    assert {row["what"] for row in rows} >= {"pods", "gpus out of use"}
    assert "gpus free" not in {row["what"] for row in rows}  # every T4 node is cordoned then
