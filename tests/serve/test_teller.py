"""The process that works metrics out."""

from __future__ import annotations

import pytest

from planner.ground.errors import HeadroomError, SourceError
from planner.ground.records import replace
from planner.questions.question import Inputs
from planner.serve.cluster_metrics import cluster_metrics
from planner.serve.metrics_process import Teller
from tests.builders.objects import deployment, node, pod_spec, snapshot

CLUSTER = snapshot(node("gpu-0", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1)))


def test_it_says_what_would_be_said_here() -> None:
    teller = Teller(Inputs())
    try:
        assert teller.metrics(CLUSTER) == cluster_metrics(CLUSTER, Inputs())
        later = snapshot(node("gpu-0", gpus=2), deployment("serve", ["gpu-0"], pod_spec(gpus=1)))
        assert teller.metrics(later) == cluster_metrics(later, Inputs())
    finally:
        teller.stop()


def test_one_that_ended_gives_way_to_another() -> None:
    teller = Teller(Inputs())
    try:
        teller.metrics(CLUSTER)
        assert teller._process is not None
        teller._process._process.kill()
        with pytest.raises(SourceError, match="ended"):
            teller.metrics(CLUSTER)
        assert teller.metrics(CLUSTER) == cluster_metrics(CLUSTER, Inputs())
    finally:
        teller.stop()
    with pytest.raises(SourceError):
        teller.metrics(replace(CLUSTER))


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (SourceError("no prices", where="the catalog", fix="Give a file"), "the catalog: no prices. Give a file"),
        (RuntimeError("KeyError"), "this server: a mistake of ours: KeyError"),
    ],
)
def test_what_could_not_be_worked_out_says_where_and_how_to_fix_it(
    raised: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails:
        def run(self, *_: object) -> None:
            raise raised

    teller = Teller(Inputs())
    monkeypatch.setattr(teller, "_process", Fails())
    with pytest.raises(HeadroomError) as found:
        teller.metrics(CLUSTER)
    assert str(found.value) == said
