"""What is kept for a browser: for its owner alone, within bounds, and not for ever."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st

from planner.sources.dashboard_access import Person
from planner.ui import least_used_cache, sign_in, upload_cache
from planner.ui.upload_cache import UploadCache
from planner.ui.web_security import BROWSER

ANN, BOB = "a" * 43, "b" * 43


def test_it_is_found_by_its_owner_and_its_digest_together() -> None:
    store = UploadCache()
    store.keep("ann", "1" * 16, "hers", 3)
    assert store.find("ann", "1" * 16) == "hers"
    assert store.find("bob", "1" * 16) is None
    assert store.find("ann", "2" * 16) is None


def test_it_is_forgotten_an_hour_after_it_was_last_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(least_used_cache, "time", SimpleNamespace(monotonic=lambda: now[0]))
    store = UploadCache()
    store.keep("ann", "x", "hers", 3)
    now[0] = upload_cache.SECONDS - 1
    assert store.find("ann", "x") == "hers"
    store.keep("ann", "x", "hers", 3)  # a run that has it
    now[0] += upload_cache.SECONDS - 1
    assert store.find("ann", "x") == "hers"
    now[0] += 1
    assert store.find("ann", "x") is None


def test_its_bounds_are_of_all_and_of_one() -> None:
    store = UploadCache(most=1_000, most_of_one=2)
    for digest in "abc":
        store.keep("ann", digest, digest, 0)
    assert [store.find("ann", digest) for digest in "abc"] == [None, "b", "c"], "of one browser the newest"
    store.keep("bob", "d", "d", 900)
    assert [store.find("ann", digest) for digest in "bc"] == [None, "c"], "the longest not looked at goes first"
    store.keep("bob", "e", "e", 1_001)
    assert store.find("bob", "e") is None, "what is heavier than all"
    assert store.find("bob", "d") == "d", "and drives nothing else out"


def test_the_browser_and_the_person_both_have_to_be_who_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    who: dict[str, object] = {}
    cookies: dict[str, str] = {}
    monkeypatch.setattr(st, "context", SimpleNamespace(cookies=cookies))
    monkeypatch.setattr(sign_in, "configured", lambda: who or None)
    monkeypatch.setattr(sign_in, "person", lambda: who["person"])

    def ask(browser: str, name: str = "", *, give: bool = False) -> object:
        cookies.clear()
        cookies.update({BROWSER: browser} if browser else {})
        who.update({"person": Person(name=name, until=0.0)} if name else {})
        if give:
            upload_cache.keep("0" * 16, f"of {name or browser}")
        return upload_cache.find("0" * 16)

    monkeypatch.setattr(upload_cache, "_kept", UploadCache())
    assert ask("", give=True) is None, "without a cookie nothing is kept"
    assert ask("guessed", give=True) is None
    assert ask(ANN, give=True) == f"of {ANN}"
    assert ask(BOB) is None
    assert ask(ANN, "ann") is None, "the same browser, and now somebody is signed in"
    assert ask(ANN, "ann", give=True) == "of ann"
    assert ask(ANN, "bob") is None
    assert ask(ANN, "ann") == "of ann"
