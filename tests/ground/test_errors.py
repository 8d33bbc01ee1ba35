"""The errors that reach a user."""

from __future__ import annotations

import pickle

import pytest

from planner.ground.errors import HeadroomError


def _kinds(kind: type[HeadroomError]) -> list[type[HeadroomError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _kinds(child))]


@pytest.mark.parametrize("kind", _kinds(HeadroomError), ids=lambda kind: kind.__name__)
def test_one_goes_from_process_to_process_whole(kind: type[HeadroomError]) -> None:
    sent = kind("no price", where="prices.csv, line 3", fix="Give one")
    got = pickle.loads(pickle.dumps(sent))
    assert type(got) is kind
    assert (got.what, got.where, got.fix) == (sent.what, sent.where, sent.fix)
    assert str(got) == str(sent) == "prices.csv, line 3: no price. Give one"
