"""The garbage collector rests as long as anybody wants it to, and no longer."""

from __future__ import annotations

import gc

import pytest

from planner import collector


def test_it_rests_until_the_last_is_done() -> None:
    assert gc.isenabled()
    with collector.resting():
        with collector.resting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_wakes_after_an_error() -> None:
    with pytest.raises(ValueError, match="damaged"), collector.resting():
        raise ValueError("damaged")
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector.resting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
