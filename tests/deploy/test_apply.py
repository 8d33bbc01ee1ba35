"""What a manifest makes of what is there, as a real kubectl does it, on its own side of the wire and on the server's.

The order of lists is compared on kubectl's side only. Not drawn: an element of which kubectl itself takes away more than asked for
(one port number of two protocols, one of which goes), and ``$patch`` in a map, of which kubectl does one thing or another.
"""

from __future__ import annotations

import os

import pytest

from tests.deploy import kubectl
from tests.deploy.applying import applied_here, compared, drawn

COUNT = 210


def test_a_manifest_makes_of_an_object_what_kubectl_makes_of_it() -> None:
    if kubectl.folder() is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(kubectl.MISSING)
    assert list(compared(COUNT)) == []


def test_most_cases_are_taken() -> None:
    """The API server refuses few of them: else little would be compared."""
    refused = [case.name for case in drawn(COUNT) if applied_here(case) is None]
    assert len(refused) < COUNT / 5, refused
