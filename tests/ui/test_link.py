"""What a link may ask for: anything, and none of it is our mistake."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pages.visiting import said, visit


@pytest.mark.parametrize(
    ("page", "key"),
    [("memory", "then_swap_gib"), ("rollout", "replicas")],
)  # fmt: skip
@pytest.mark.parametrize(
    "value", ["1e400", "-1e400", "nan", "99999999999999999999", "²", ":material/home: https://e.example"]
)
def test_numbers_that_are_none(page: str, key: str, value: str) -> None:
    query: dict[str, Any] = {key: value}
    app = visit(page, **query)
    assert "Our mistake" not in said(app)
    app.run()
    assert "Our mistake" not in said(app)
