"""Secrets planted in a cluster, a manifest and a patch are in nothing that Headroom writes: a part of what `make trust` tries."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.builders.objects import snapshot
from tests.pages.visiting import said, visit
from tests.trust.planted import CROSS, SECRETS, cluster, found, manifest, patch

_ALWAYS = ("gate", "anonymize", "snapshot")
_DRAWN = random.Random(7).sample([one for one in CROSS if one[0] not in (*_ALWAYS, "sweep")], 24)
_PART = [*(one for one in CROSS if one[0] in _ALWAYS and "--write" not in one), *_DRAWN]


def test_each_secret_is_planted() -> None:
    given = json.dumps(cluster()) + manifest() + patch()
    assert [place for place, secret in SECRETS.items() if secret not in given] == []


@pytest.mark.parametrize("command", _PART, ids=[f"{n}-{one[0]}-{one[-1][:8]}" for n, one in enumerate(_PART)])
def test_no_command_lets_one_out(command: tuple[str, ...], tmp_path: Path) -> None:
    assert found(command, tmp_path) == []


@pytest.mark.parametrize(
    "query", [{"by": "manifest", "manifest": manifest()}, {"patch": patch()}], ids=["manifest", "patch"]
)
def test_no_page_lets_one_out(query: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    app = visit("rollout", snapshot(*cluster()["items"]), workload="Deployment/ml/web", **query)
    shown = said(app) + str(app.query_params) + caplog.text + "".join(one.value for one in app.code)
    assert len(shown) > 200
    assert [place for place, secret in SECRETS.items() if secret in shown] == []


@pytest.mark.parametrize("page", ["restarts", "inventory", "overview", "drift", "plan"])
def test_no_page_of_the_cluster_does(page: str) -> None:
    app = visit(page, snapshot(*cluster()["items"]))
    shown = said(app) + "".join(str(one.value) for one in (*app.code, *app.dataframe))
    assert [place for place, secret in SECRETS.items() if secret in shown] == []
