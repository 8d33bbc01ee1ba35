"""A visit to a page without a browser: through the router, as a user comes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.strategic_merge_patch import Object
from planner.remedies import patch_outcome
from planner.remedies.patch_outcome import Patched
from planner.ui import link

ROUTER = Path(__file__).parents[2] / "pages" / "_router.py"


def visit(page: str, given: Snapshot | None = None, **query: str) -> AppTest:
    """The page `page` (``rollout``) after its first run, with `given` as the user's own cluster and `query` in the URL; a page of an
    earlier release where its link leads now."""
    if target := link.forwarded(page, query):
        page, query = target[0].removesuffix(".py"), target[1]
    app = AppTest.from_file(ROUTER, default_timeout=120)
    app.switch_page(f"{page}.py")
    if given is not None:
        app.session_state["_clusters"] = (given,)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def played(monkeypatch: pytest.MonkeyPatch, question: ModuleType) -> list[str]:
    """The workloads whose patches the module `question` puts to the engine from now on."""
    asked: list[str] = []

    def simulate(snapshot: Snapshot, key: str, patch: Object) -> Patched:
        asked.append(key)
        return patch_outcome.simulate_patch(snapshot, key, patch)

    monkeypatch.setattr(question, "simulate_patch", simulate)
    return asked


def said(app: AppTest) -> str:
    """Every word of the page in boxes, lines, code and small tables, as a reader sees it."""
    kinds = (app.title, app.error, app.warning, app.success, app.info, app.markdown, app.caption, app.code)
    boxes = [f"{box.proto.title}\n" for kind in (app.error, app.warning, app.success, app.info) for box in kind]
    tables = [convert_arrow_bytes_to_pandas_df(table.proto.arrow_data.styler.display_values) for table in app.table]
    cells = [str(cell) for table in tables for cell in (*table.columns, *table.to_numpy().ravel())]
    return (
        "\n".join([*boxes, *(str(one.value) for kind in kinds for one in kind), *cells])
        .replace("\\", "")
        .replace("\u2060", "")
    )
