"""Files given beside the cluster: what they say stays, their bytes don't, and one that can't be read changes nothing."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import zipfile

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from tests.pages.clusters import node, worker
from tests.pages.visiting import said, visit

CLUSTER = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("node-0", 1), *worker(1)]}).encode()
POOLS = json.dumps(
    [{"name": "gpu-t4", "config": {}, "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 8}}]
).encode()
LOG = b"==== START logs for container app of pod dev/api-1 ====\nhello\n==== END logs for container app of pod dev/api-1 ====\n"
ITEMS = [node("node-0", 1), *worker(1)]
NOISE = random.Random(20261122).randbytes(20_000)
GIVEN = {
    "headroom": ("pools.json", POOLS, b"{"),
    "drift": ("other.json", CLUSTER, b"no cluster"),
    "restarts": ("logs.txt", LOG, b"frames of nobody"),
    "rollout": ("lives.csv", b"hours,ended\n5,yes\n9,no\n", b"hours,ended\nlong,perhaps\n"),
}
OPENS = {"rollout": {"spot": "true"}, "drift": {"more_drift": "true"}, "memory": {"more_kubelet": "true"}}


def upload(app: AppTest, data: bytes, name: str) -> AppTest:
    return app.file_uploader[0].upload(name, data).run()


@pytest.mark.parametrize("page", GIVEN)
def test_what_a_file_says_stays_until_it_is_removed(page: str) -> None:
    name, good, bad = GIVEN[page]
    app = upload(visit(page, None, **OPENS.get(page, {})), good, name)
    assert not app.exception
    assert f"✓ read: {name}" in said(app).replace("\\", "")
    assert not app.file_uploader[0].value, "the uploader is empty, and Streamlit keeps no bytes"
    app = upload(app, bad, f"bad-{name}")
    assert "✗ This file can't be read" in [one.proto.title for one in app.error]
    assert f"✓ read: {name}" in said(app).replace("\\", ""), "what was given before still holds"
    next(one for one in app.button if one.label == "Remove").click().run()
    assert "✓ read" not in said(app)


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{name}.json", data)
    return packed.getvalue()


UNREADABLE = {  # name: (bytes, what is said of it)
    "noise.json": (NOISE, "It is binary, not JSON or YAML"),
    "photo.json": (b"\x89PNG\r\n\x1a\n" + NOISE, "It is binary, not JSON or YAML"),
    "empty.json": (b"", "It is empty"),
    "cut.json.gz": (gzip.compress(CLUSTER)[:-20], "Its gzip data is cut off"),
    "cut.zip": (zipped(a=CLUSTER)[:-40], "The zip archive is damaged or cut off"),
    "bomb.json.gz": (gzip.compress(bytes(400 * 2**20), 9), "which no dump does"),
    "inventory.json": (json.dumps({"terraform_version": "1.5.0", "resources": []}).encode(), "it has no kind"),
    "page.json": (b"<!doctype html><html><body>Sign in</body></html>", "it is a web page (HTML)"),
    "said.json": (b"Error from server (Forbidden): pods is forbidden\n", "only what kubectl said: Error from server"),
    "number.json": (b"42", "it is a number, not a Kubernetes object"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_cluster_that_cannot_be_read_is_a_box_and_changes_nothing(name: str) -> None:
    data, what = UNREADABLE[name]
    app = upload(visit("inventory"), data, name)
    assert not app.exception
    assert [one.proto.title for one in app.error] == ["✗ This file can't be read"]
    box = str(app.error[0].value).replace("\\", "")
    assert what in box
    assert f"Where: {name}" in box
    assert "What to do: " in box
    assert "Still looking at demo" in said(app)
    assert app.query_params["dialog"] == "cluster", "it stays open"


BAD_AMONG_GOOD = "\n---\n".join(
    [yaml.safe_dump(ITEMS[0]), "foo: [1, 2\nbar: }", *map(yaml.safe_dump, ITEMS[1:])]
).encode()
DAMAGED = {  # name: (bytes, nodes that are read, what is said of the rest)
    "cut.json": (CLUSTER[: len(CLUSTER) * 2 // 3], "1 node", "the first 2 items were read"),
    "one-bad.yaml": (BAD_AMONG_GOOD, "1 node", "document 2 was left out: it isn't YAML"),
    "one-bad.zip": (zipped(good=CLUSTER, cut=CLUSTER[:300]), "1 node", "one-bad.zip/cut.json: its List is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_good_in_a_damaged_file_is_read_and_the_rest_is_said(name: str) -> None:
    data, read, lost = DAMAGED[name]
    app = upload(visit("inventory"), data, name)
    assert not app.exception
    assert not app.error
    boxes = [str(one.value).replace("\\", "") for one in app.warning]
    assert sum("input holds part of" in one for one in boxes) <= 1, "each kind by itself would fill the page"
    box, same = [one for one in boxes if "could not be used" in one]
    assert same in box, "under What was read too"
    assert f"{read} read. 1 part could not be used:" in box
    assert lost in box
    assert re.search(r"the copy is complete\.|near that place\.", box), "how to fix it"
    app = upload(visit("drift", None, **OPENS["drift"]), data, name)
    assert not app.exception
    said = [str(one.value).replace("\\", "") for one in (*app.error, *app.warning, *app.info)]
    assert any(lost in one or "input holds part of" in one for one in said), "what differs isn't known of a part"


def test_a_box_names_the_file() -> None:
    for page, name in (("memory", "noise.txt"), ("clusters", "empty.yaml")):
        app = upload(visit(page, None, **OPENS.get(page, {})), NOISE if page == "memory" else b" ", name)
        assert not app.exception
        assert any(f"Where: {name}" in str(one.value) for one in app.error)
