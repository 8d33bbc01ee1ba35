"""The processes that answer reviews."""

from __future__ import annotations

import json
import time

import pytest

from planner.questions.admission import Review, Silence
from planner.serve import reviewers
from tests.architecture.tree import ROOT
from tests.builders.objects import deployment, node, pod_spec, snapshot


def test_a_mistake_costs_one_answer_and_not_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> Review:
        raise AssertionError("never comes to rest")

    recorded = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())
    body = json.dumps(recorded["steps"][0]["reviews"][0]["body"]).encode()
    cluster = snapshot(node("gpu-0", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1)))
    monkeypatch.setattr(reviewers, "review", broken)
    found = reviewers._reviewed(cluster, (), body, time.monotonic() + 60)
    assert found == Review(silence=Silence.NOT_KNOWN)
    assert "a mistake of ours: AssertionError: never comes to rest" in capsys.readouterr().err
