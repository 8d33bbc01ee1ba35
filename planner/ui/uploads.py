"""Reads uploaded files beside the cluster: parsed at once, the bytes dropped, the result kept in this session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.kubernetes.object_records import Snapshot
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources import bounded_reading
from planner.ui import errors, session_cluster

T = TypeVar("T")
N = TypeVar("N")


class ReadFiles(Record):
    """What was read (`value`) from files called `names`, and what it is for (a cluster's identity; None: for any)."""

    names: tuple[str, ...]
    of: str | None
    value: Any


def kept(key: str, nothing: T, *, of: Snapshot | None = None) -> T:
    """What was read from the files given at `key` for `of`; `nothing` where none were."""
    return stored.value if (stored := _stored(key, of)) else nothing


def names(key: str, *, of: Snapshot | None = None) -> tuple[str, ...]:
    """What was given is called so; () where nothing was."""
    return stored.names if (stored := _stored(key, of)) else ()


def _stored(key: str, of: Snapshot | None) -> ReadFiles | None:
    upload = st.session_state.get(f"{key}-kept")
    return upload if isinstance(upload, ReadFiles) and upload.of == _identity(of) else None


def _identity(of: Snapshot | None) -> str | None:
    return None if of is None else identity(session_cluster.as_read(of))


def keep(key: str, value: object, *, names: Sequence[str], of: Snapshot | None = None) -> None:
    """What was read elsewhere, kept as if it had been given as files called `names`."""
    st.session_state[f"{key}-kept"] = ReadFiles(names=tuple(names), of=_identity(of), value=value)


def taken(
    label: str,
    *,
    key: str,
    types: Sequence[str] | None = None,
    several: bool = True,
    most_mib: int | None = None,
    help: str | None = None,  # noqa: A002 - Streamlit's name
) -> list[tuple[str, bytes]]:
    """An uploader: the files just given, (name, bytes) each. It is empty in the next run, so that no batch joins another, and
    Streamlit keeps none of the bytes."""
    batch = f"{key}-batch"
    number = st.session_state.get(batch, 0)
    uploaded_files: Any = st.file_uploader(  # a list, or a file or None
        label, key=f"{key}-{number}", type=types, accept_multiple_files=several, max_upload_size=most_mib, help=help
    )
    files = uploaded_files if isinstance(uploaded_files, list) else [uploaded_files] if uploaded_files else []
    if not files:
        return []
    st.session_state[batch] = number + 1
    contents = [(file.name, file.getvalue()) for file in files]
    session_cluster.forget(files)
    return contents


def ask(
    label: str,
    *,
    key: str,
    read: Callable[[Sequence[tuple[str, bytes]]], T],
    nothing: N,
    of: Snapshot | None = None,
    types: Sequence[str] | None = None,
    several: bool = True,
    most_mib: int | None = None,
    help: str | None = None,  # noqa: A002 - Streamlit's name
) -> T | N:
    """An uploader that is emptied as soon as its files, (name, bytes) each, are read; what they say stays until removed.

    A file that can't be read changes nothing: the error is shown, and what was given before still holds.
    """
    refused = f"{key}-refused"
    contents = taken(label, key=key, types=types, several=several, most_mib=most_mib, help=help)
    if contents:
        st.session_state.pop(refused, None)
        try:
            with st.spinner("Reading …"):
                keep(key, read(contents), names=[name for name, _ in contents], of=of)
        except HeadroomError as error:
            st.session_state[refused] = error
        st.rerun()
    if refused in st.session_state:
        errors.show(st.session_state[refused], title=errors.UNREADABLE)
    told(key, of=of)
    return kept(key, nothing, of=of)


def ask_csv(label: str, parse: Callable[..., tuple[T, ...]], *, key: str, most_mib: int, help: str) -> tuple[T, ...]:  # noqa: A002
    """What `parse(text, where=name)` makes of one file of rows; too long for a link, so it stays in this session."""
    return ask(
        f"{label}, CSV", key=key, types=["csv"], several=False, most_mib=most_mib, nothing=(), help=help,
        read=lambda files: parse(text_of_csv(*files[0]), where=files[0][0]),
    )  # fmt: skip


def text_of_csv(name: str, content: bytes) -> str:
    """The text of such a file, which may be packed."""
    return bounded_reading.text_of(content, name, fix="Save it as CSV in UTF-8")


def told(key: str, *, of: Snapshot | None = None) -> None:
    """What was given, by its names, and the way to take it back."""
    if file_names := names(key, of=of):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"✓ read: {words.literal(', '.join(file_names))}")
            pop, args = st.session_state.pop, (f"{key}-kept", None)
            st.button("Remove", key=f"{key}-remove", on_click=pop, args=args, type="tertiary")
