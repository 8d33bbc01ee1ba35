"""Answers kept for a while: each by the snapshot's digest and what was asked, never by hashing the snapshot itself.

Streamlit hashes only a sample of large frames and arrays, so that two different inputs could share an entry; the digest
can't. Arguments that start with an underscore are not hashed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import streamlit as st

P = ParamSpec("P")
R = TypeVar("R")


def answer(function: Callable[P, R]) -> Callable[P, R]:
    """Keep the last 64 answers of `function`; its arguments are ``(digest, what is asked …, _snapshot)``."""
    return st.cache_data(ttl="1h", max_entries=64, show_spinner="Working it out …")(function)
