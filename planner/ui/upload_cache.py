"""Keeps a user's uploads for an hour after their last use: a reloaded page is a new session without them.

It is opened by three things together: a cookie that is random and that no script can read (`planner.ui.web_security.Guard` sets it), who is
signed in, where people sign in, and the digest of what was given, which stands in the link. The link alone opens nothing.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.ui import sign_in, web_security
from planner.ui.least_used_cache import NOTHING, ExpiringStore

SECONDS: Final = 3_600.0
_MOST_WEIGHT: Final = 100_000  # nodes and pods: some 2 kB each
_LEAST_WEIGHT: Final = 100  # a small snapshot, or a text of 200,000 letters
_MOST_OF_ONE: Final = 12  # of one browser


class UploadCache(ExpiringStore):
    """At most `most` in weight in all and `most_of_one` things of one owner."""

    def __init__(self, most: int = _MOST_WEIGHT, most_of_one: int = _MOST_OF_ONE, seconds: float = SECONDS) -> None:
        super().__init__(most, seconds)
        self._most_of_one = most_of_one

    def keep(self, owner: object, digest: str, value: object, weight: int) -> None:
        """Keep it from now on; of one owner the newest."""
        with self._guard:
            self.put((owner, digest), value, max(weight, _LEAST_WEIGHT))
            own = [key for key in self._held if isinstance(key, tuple) and key[0] == owner]
            for key in own[: -self._most_of_one]:
                del self._held[key]

    def find(self, owner: object, digest: str) -> Any:
        """What was kept for `owner` under that digest; None where nothing is."""
        value = self.get((owner, digest))
        return None if value is NOTHING else value


_kept = UploadCache()


def keep(digest: str, value: object, weight: int = 0) -> None:
    """Keep it for the caller now; at every run that has it."""
    owner = _owner()
    if owner is not None:
        _kept.keep(owner, digest, value, weight)


def find(digest: str) -> Any:
    """What the caller gave with that digest; None where it isn't kept, or another browser gave it."""
    owner = _owner()
    return None if owner is None else _kept.find(owner, digest)


def _owner() -> object:
    """The browser, and who is signed in and what they see; None where the browser has no cookie of ours, and nothing is kept."""
    browser = web_security.browser_of(st.context.cookies)
    if not browser:
        return None
    person = sign_in.person() if sign_in.configured() is not None else None
    return browser, person and (person.name, person.namespaces, st.user.get("iss"), st.user.get("sub"))
