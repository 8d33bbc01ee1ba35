"""Files given beside the cluster: what they say stays, their bytes don't, and one that can't be read changes nothing."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.clusters import node, worker
from tests.pages.visiting import said, visit

CLUSTER = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("node-0", 1), *worker(1)]}).encode()
POOLS = json.dumps(
    [{"name": "gpu-t4", "config": {}, "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 8}}]
).encode()
LOG = b"==== START logs for container app of pod dev/api-1 ====\nhello\n==== END logs for container app of pod dev/api-1 ====\n"
GIVEN = {
    "headroom": ("pools.json", POOLS, b"{"),
    "drift": ("other.json", CLUSTER, b"no cluster"),
    "restarts": ("logs.txt", LOG, b"frames of nobody"),
    "spot_savings": ("lives.csv", b"hours,ended\n5,yes\n9,no\n", b"hours,ended\nlong,perhaps\n"),
}


def upload(app: AppTest, data: bytes, name: str) -> AppTest:
    return app.file_uploader[0].upload(name, data).run()


@pytest.mark.parametrize("page", GIVEN)
def test_what_a_file_says_stays_until_it_is_removed(page: str) -> None:
    name, good, bad = GIVEN[page]
    app = upload(visit(page), good, name)
    assert not app.exception
    assert f"✓ read: {name}" in said(app).replace("\\", "")
    assert not app.file_uploader[0].value, "the uploader is empty, and Streamlit keeps no bytes"
    app = upload(app, bad, f"bad-{name}")
    assert "✗ This can't be answered" in [one.proto.title for one in app.error]
    assert f"✓ read: {name}" in said(app).replace("\\", ""), "what was given before still holds"
    next(one for one in app.button if one.label == "Remove").click().run()
    assert "✓ read" not in said(app)
