"""A manifest in the place of a cluster: pasted under *Another cluster*, its rollout opens with the room that it needs."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from planner.remedies import limits
from planner.remedies.manifest_room_needs import GIVEN
from tests.architecture.tree import ROOT
from tests.pages.visiting import said, visit

FILES = ROOT / "tests/remedies/no_cluster"
CLAIM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ml}\n"


def pasted(text: str) -> AppTest:
    app = visit("inventory")
    next(one for one in app.text_area if one.label == "Manifest").set_value(text)
    return next(one for one in app.button if one.label == "Ask without a cluster").click().run()


def test_the_rollout_page_opens_with_the_room_it_needs() -> None:
    app = pasted((FILES / "one-gpu-defaults.yaml").read_text())
    assert app.selectbox(key="workload").value == "Deployment/speech/diarizer"
    words = said(app)
    assert str(GIVEN) in words
    assert (
        "Wherever it runs, Deployment/speech/diarizer needs room for 1 more pod (1 GPU, 4 CPU, 16 GiB on one node) while it rolls out."
        in words
    )
    assert app.selectbox(key="cluster").value == "no cluster"
    assert "△ Needs room for 1 more pod" in words
    assert "✗ Stuck" not in words


def test_what_needs_none_completes_there_and_names_none() -> None:
    app = pasted((FILES / "four-replicas-defaults.yaml").read_text())
    words = said(app)
    assert str(GIVEN) in words
    assert "Wherever it runs" not in words
    assert "completes" in words.lower()
    assert "Needs room" not in words


ONE_POD = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: ml}
spec: {accessModes: [ReadWriteOncePod], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: store, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}, volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""


def test_a_strategy_that_no_room_helps_says_how_much_was_tried() -> None:
    """Of a claim that one pod may use a surge is stuck with any room; where room helps, nothing of it is said."""
    tried = limits.GRID_PLACES.reached()
    assert tried in said(pasted(ONE_POD))
    assert tried not in said(pasted((FILES / "one-gpu-defaults.yaml").read_text()))


def test_what_rolls_nothing_out_is_told_where_it_was_pasted() -> None:
    app = pasted(CLAIM)
    assert "the manifest rolls nothing out" in said(app)
    assert app.selectbox(key="cluster").value == "demo"


def test_what_cannot_be_read_says_why() -> None:
    assert "No manifest is given" in said(pasted(" "))
    assert "stratgy" in said(pasted((FILES / "one-gpu-defaults.yaml").read_text().replace("replicas:", "stratgy:")))
