"""A cluster of one's own, uploaded in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor
from tests.pages.clusters import node, worker
from tests.sources import layouts


def test_an_upload_is_answered_on_every_page_and_a_damaged_one_changes_nothing(
    visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    good, bad = tmp_path / "mine.json", tmp_path / "bad.json"
    good.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("node-0", 1), *worker(1)]}))
    bad.write_text("no cluster at all")
    visitor = visit()
    visitor.open("inventory")
    chooser = visitor.page.get_by_test_id("stFileUploaderDropzoneInput")
    chooser.set_input_files(bad)
    expect(visitor.main().get_by_text("This can't be answered")).to_be_visible()
    expect(visitor.main().get_by_text("Still looking at demo")).to_be_visible()
    expect(chooser).to_have_count(1)  # the emptied one stands beside the next until the page is drawn
    chooser.set_input_files([good])
    expect(visitor.page.get_by_test_id("stSidebar").get_by_text("1 node, 1 pod")).to_be_visible()
    visitor.go("Now")
    expect(visitor.main().get_by_text("1 of 1 workload could not be rolled out now")).to_be_visible()


def test_a_must_gather_is_uploaded_as_it_was_packed(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    archive = tmp_path / "must-gather.tar.gz"
    archive.write_bytes(layouts.tar(layouts.must_gather(), "w:gz"))
    for width, scheme in ((1360, "light"), (390, "dark")):
        visitor = visit(width=width, scheme=scheme)
        visitor.open("inventory")
        visitor.page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(archive)
        expect(visitor.main().get_by_text("Read 2 nodes and 3 pods.")).to_be_visible()
        expect(
            visitor.main().get_by_text("9 objects, 9 used; files not looked into: 2 neither JSON, YAML nor a log")
        ).to_be_visible()
        expect(visitor.main().get_by_text("must-gather.tar.gz", exact=False).first).to_be_visible()
