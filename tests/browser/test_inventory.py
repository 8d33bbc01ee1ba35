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
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog.get_by_text("This file can't be read")).to_be_visible()
    expect(dialog.get_by_text("Still looking at demo")).to_be_visible()
    expect(chooser).to_have_count(1)  # the emptied one stands beside the next until the page is drawn
    chooser.set_input_files([good])
    expect(visitor.page.get_by_test_id("stSidebar").get_by_text("1 node, 1 pod")).to_be_visible()
    expect(dialog).to_have_count(0)
    expect(visitor.main().get_by_text("1 of 1 workload would get stuck")).to_be_visible()


def test_the_dialog_stays_open_over_a_refusal_and_what_a_read_one_lacks_is_said(
    visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    bad, cut = tmp_path / "bad.json", tmp_path / "cut.json"
    bad.write_text("no cluster at all")
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("node-0", 1), *worker(1)]})
    cut.write_text(whole[: len(whole) * 2 // 3])
    visitor = visit()
    visitor.open("restarts")
    opens = visitor.page.get_by_test_id("stSidebar").get_by_role("button", name="Another cluster")
    dialog = visitor.page.get_by_role("dialog")
    chooser = dialog.get_by_test_id("stFileUploaderDropzoneInput")
    opens.click()
    chooser.set_input_files(bad)
    expect(dialog.get_by_text("This file can't be read")).to_be_visible()
    expect(dialog.get_by_text("Still looking at demo")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    opens.click()
    expect(
        dialog.get_by_text("A live cluster").first
    ).to_be_visible()  # while it opens what it held before may be there too
    expect(dialog.get_by_text("This file can't be read")).to_have_count(0)
    expect(chooser).to_have_count(1)
    chooser.set_input_files(cut)
    expect(dialog.get_by_text("1 part could not be used").first).to_be_visible()


def test_a_must_gather_is_uploaded_as_it_was_packed(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    archive = tmp_path / "must-gather.tar.gz"
    archive.write_bytes(layouts.tar(layouts.must_gather(), "w:gz"))
    for width, scheme in ((1360, "light"), (390, "dark")):
        visitor = visit(width=width, scheme=scheme)
        visitor.open("inventory")
        visitor.page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(archive)
        dialog = visitor.page.get_by_role("dialog")
        expect(dialog).to_have_count(0)
        # The dialog may close before the archive is read: only then is the page of the uploaded cluster, not of the demo's 24 nodes.
        expect(visitor.page.get_by_test_id("stSidebar")).not_to_contain_text("24 nodes")
        visitor.open(f"inventory?{visitor.page.url.partition('?')[2]}")
        dialog.get_by_role("tab", name="What was read").click()
        expect(
            dialog.get_by_text("9 objects, 9 used; files not looked into: 2 neither JSON, YAML nor a log")
        ).to_be_visible()
        expect(dialog.get_by_text("must-gather.tar.gz", exact=False).first).to_be_visible()
