"""A small EKS cluster with Karpenter (`tests.builders.eks`, made up) on every page."""

from __future__ import annotations

import pytest

from tests.browser.dashboard import pages
from tests.builders import eks
from tests.pages.visiting import said, visit


@pytest.mark.parametrize("page", [path or "overview" for path, _ in pages()])
def test_page_of_an_eks_cluster(page: str) -> None:
    assert "Our mistake" not in said(visit(page, eks.snapshot()))
