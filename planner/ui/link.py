"""Widgets with their value in the URL, so that a copied link shows the same page.

The key of a widget is its URL parameter. Values in a URL come from anyone: one that the widget would refuse is replaced
by the default, and the page says so beside the widget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any, Final, TypeVar

import streamlit as st

from planner.ground.errors import HeadroomError, InputError
from planner.ground.setting_declarations import digest_of, is_digest
from planner.ground.words import literal
from planner.ui import upload_cache

T = TypeVar("T")

_REFUSED = "_refused_"
_ENDLESS = "_endless_"  # a number without an end was asked for: this session's widget isn't bound to the link
_LINKED = "_linked"  # the parameters that widgets of this session have had
_PAGE = "_page"
_GIVEN = "_private_texts"  # of this session, by their digests
_MOST_GIVEN: Final = 8
FILTER: Final = frozenset({"search", "namespace", "labels", "verdict", "pool"})
OF_ONE_WORKLOAD: Final = frozenset({"rollout"})
"""Pages about one workload: its name is their title."""
AS_IF: Final = "as_if"
EVERYWHERE: Final = FILTER | {AS_IF}
"""Parameters of no page and no workload: the filter's (`planner.ui.page_filter`), and what is supposed (`planner.ui.as_if`)."""

MOVED: Final[Mapping[str, tuple[str, Mapping[str, str], Mapping[str, str]]]] = {
    "plan": ("overview.py", {"dialog": "plan"}, {}),
    "what_if": ("overview.py", {"dialog": "changes"}, {"changes": AS_IF}),
    "fleet_savings": ("costs.py", {"part": "Spot, workload by workload"}, {}),
    "compare?changes": ("overview.py", {"dialog": "changes"}, {"changes": AS_IF}),
    "compare": ("history.py", {}, {}),
    "inventory": ("overview.py", {"dialog": "cluster"}, {}),
    "spot_savings": ("rollout.py", {"about": "Spot", "spot": "true"}, {}),
    "restarts?loop": ("rollout.py", {"about": "Memory and restarts"}, {"loop": "workload"}),
    "restarts": ("health.py", {}, {}),
    "memory?workload": ("rollout.py", {"about": "Memory and restarts"}, {}),
    "memory?node": ("health.py", {"nodes": "true"}, {}),
    "memory": ("health.py", {}, {}),
    "drift": ("health.py", {}, {}),
}
"""Pages of earlier releases (``PAGE?NAME``: with that parameter) → where what they said stands now: its page, parameters that open it
there, and what parameters are called."""


def moved() -> list[Any]:
    """A page for each of them, so that a link to it arrives."""
    paths = dict.fromkeys(path.partition("?")[0] for path in MOVED)
    return [st.Page(lambda: None, title=path, url_path=path) for path in paths]


def forwarded(page: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The page and the parameters to which a link to `page` leads now; None where it stays."""
    path = next((path for path in (*(f"{page}?{name}" for name in given), page) if path in MOVED), None)
    if path is None:
        return None
    file, opens, called = MOVED[path]
    return file, {**{called.get(name, name): value for name, value in given.items()}, **opens}


def forward(page: str) -> None:
    """Send a link to a page of an earlier release to where its answer is now, with its parameters."""
    if target := forwarded(page, {name: st.query_params.get_all(name) for name in st.query_params}):
        st.switch_page(target[0], query_params=target[1])


def open_dialog(name: str) -> None:
    """Open the dialog of that name from the next run on; for callbacks."""
    st.query_params["dialog"] = name


def close_dialog() -> None:
    """Close the dialog from the next run on; for callbacks."""
    st.query_params.pop("dialog", None)


def arrive(page: str) -> None:
    """Before any widget of `page`: a link that names a page's parameters names all of them.

    Streamlit gives widgets back what they had when their page was left. That is right for a user who comes back by the
    menu; a link to one workload must not open with what was typed for another.
    """
    before = st.session_state.get(_PAGE)
    if before == page:
        return
    st.session_state[_PAGE] = page
    linked: set[str] = st.session_state.setdefault(_LINKED, set())
    here = linked - EVERYWHERE
    if here & set(st.query_params):
        forget(here - set(st.query_params))


def forget(keys: Iterable[str]) -> None:
    """Give the widgets called `keys` their defaults."""
    for key in keys:
        st.session_state.pop(key, None)


def keep(keys: Iterable[str] | None = None) -> None:
    """Write every value into the link again (or those of `keys`), after something changed another part of it."""
    for key in st.session_state.get(_LINKED, ()) if keys is None else keys:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def _asked(key: str) -> list[str]:
    """What the URL asks for, at the widget's first appearance in this session only."""
    st.session_state.setdefault(_LINKED, set()).add(key)
    return [] if key in st.session_state else st.query_params.get_all(key)


def _say_refused(key: str, refused: Sequence[str], why: str, value: object) -> None:
    """Tell once what a link asked for in vain; the note stays until the widget's value changes."""
    if refused:
        st.session_state[_REFUSED + key] = (", ".join(refused)[:80], value)
    note = st.session_state.get(_REFUSED + key)
    if note and note[1] == value:
        st.warning(
            f'△ The link asks for {key} "{literal(note[0])}": {why}. The default is used.', icon=":material/link_off:"
        )


def _write_as_offered(key: str, options: Sequence[str]) -> None:
    """``deployment/prod/api``, as the command line takes it, is the choice ``Deployment/prod/api``, and so is ``prod/api: image``, as
    links of earlier releases have it."""
    link_values = _asked(key)
    if len(link_values) == 1 and link_values[0] not in options:
        named, ending = link_values[0].lower(), f"/{re.split('[: ]', link_values[0].lower())[0]}"
        if alike := [option for option in options if option.lower() == named or option.lower().endswith(ending)]:
            st.session_state[key] = alike[0]


def name(values: Mapping[str, str]) -> None:
    """Write into the link, all at once, what widgets that aren't there yet are to begin with."""
    new = {key: value for key, value in values.items() if key not in (*st.query_params, *st.session_state)}
    if new:
        st.query_params.update(new)


def select(
    label: str,
    options: Sequence[str],
    *,
    key: str,
    default: str | None = None,
    on_change: Callable[[], None] | None = None,
    is_always: bool = False,
    **more: Any,
) -> str:
    """One of `options` (at least one); `default` or the first when the URL says nothing.

    `is_always`: in the link whichever it is (`name` puts it there).
    """
    _write_as_offered(key, options)
    link_values = _asked(key)
    if st.session_state.get(key) not in (None, *options):  # of the page before, which offers others
        del st.session_state[key]
    index = options.index(default) if default in options else 0
    more |= {"index": None, "placeholder": options[index]} if is_always else {"index": index}  # that isn't in the link
    value = st.selectbox(label, options, key=key, bind="query-params", on_change=on_change or "rerun", **more)
    _say_refused(key, [text for text in link_values if text not in options], "there is no such choice here", value)
    return value if isinstance(value, str) and value in options else options[index]


def choices(label: str, options: Sequence[str], *, key: str, **more: Any) -> tuple[str, ...]:
    """Any number of `options`."""
    link_values = _asked(key)
    if stale := [text for text in st.session_state.get(key, ()) if text not in options]:  # of another cluster
        st.session_state[key] = [text for text in st.session_state[key] if text not in stale]
    values = tuple(st.multiselect(label, options, key=key, bind="query-params", **more))
    _say_refused(key, [text for text in link_values if text not in options], "there is no such choice here", values)
    return tuple(value for value in values if value in options)


def segments(label: str, options: Sequence[str], *, key: str, default: str | None = None, **more: Any) -> str:
    """One of a few `options`, all visible."""
    link_values = _asked(key)
    first = default if default is not None and default in options else options[0]
    value = st.segmented_control(label, options, default=first, required=True, key=key, bind="query-params", **more)
    _say_refused(key, [text for text in link_values if text not in options], "there is no such choice here", value)
    return value if isinstance(value, str) and value in options else first


def tabs(names: Sequence[str], *, key: str, holds: Mapping[str, str] | None = None) -> Sequence[Any]:
    """Sections of one page, one in sight at a time; what isn't ``open`` need not be worked out.

    A link that names a parameter in `holds` (→ its section) and no section opens there: its answer isn't hidden.
    """
    if st.session_state.get(key) not in (None, *names):  # of the page before, which has other sections
        del st.session_state[key]
    is_new = key not in st.session_state
    link_values = _asked(key)
    named = [section for parameter, section in (holds or {}).items() if parameter in st.query_params]
    if is_new and not link_values and named:
        st.session_state[key] = named[0]
    shown = st.tabs(names, key=key, bind="query-params", on_change="rerun")
    _say_refused(key, [text for text in link_values if text not in names], "there is no such section", names[0])
    return shown


def toggle(label: str, *, key: str, default: bool = False, **more: Any) -> bool:
    """On or off."""
    link_values = _asked(key)
    value = st.toggle(label, value=default, key=key, bind="query-params", **more)
    refused = [text for text in link_values if text.lower() not in ("true", "false")]
    _say_refused(key, refused, "it is either true or false", value)
    return bool(value)


@contextmanager
def expander(label: str, *, key: str, is_open: bool = False, **more: Any) -> Iterator[bool]:
    """A part that is worked out and drawn only once it is opened; gives whether it is."""
    _asked(key)
    part = st.expander(label, expanded=is_open, key=key, on_change="rerun", bind="query-params", **more)
    with part:
        yield bool(part.open)


def gives(keys: Collection[str]) -> bool:
    """Whether the link or the session says something of one of `keys`, widgets that may not have been drawn; 0 is something."""
    widget_values = map(st.session_state.get, keys)
    return says(keys) or any(state not in (None, "", []) and state is not False for state in widget_values)


def typed_number(key: str) -> float | None:
    """What a field of a number says, or the link before the field was drawn; None where neither says one."""
    try:
        return float(st.session_state.get(key, st.query_params.get(key)))
    except (TypeError, ValueError):
        return None


def given(keys: Iterable[str]) -> dict[str, str]:
    """Those of `keys` that the link says something of."""
    return {key: st.query_params[key] for key in keys if key in st.query_params}


def says(keys: Collection[str]) -> bool:
    """Whether the link says something of one of `keys`."""
    return any(key in st.query_params for key in keys)


def number(
    label: str, *, key: str, least: float, most: float, default: float | None = None, whole: bool = True, **more: Any
) -> float | None:
    """A number from `least` to `most`, or None when left empty (only where `default` is None)."""
    link_values = _asked(key)
    if any(map(_is_endless, link_values)):  # Streamlit fails at such a number in a link, instead of refusing it
        st.session_state[_ENDLESS + key] = True
    if not st.session_state.get(_ENDLESS + key):
        more["bind"] = "query-params"
    kind = int if whole else float
    first = None if default is None else kind(default)
    value = st.number_input(label, min_value=kind(least), max_value=kind(most), value=first, key=key, **more)
    _say_refused(
        key, [t for t in link_values if not _is_number(t, least, most, whole)], f"give {least:g} to {most:g}", value
    )
    return default if value is None or not least <= value <= most else value


def _is_endless(text: str) -> bool:
    try:
        return not isfinite(float(text))
    except ValueError:
        return False


def _is_number(text: str, least: float, most: float, whole: bool) -> bool:
    try:
        return least <= (int(text) if whole else float(text)) <= most
    except ValueError:
        return False


def text(label: str, parse: Callable[[str], T], *, key: str, **more: Any) -> T | None:
    """What `parse` makes of the text typed; None when it is empty. A refusal of `parse` is shown and ends the page."""
    _asked(key)
    return _parsed(st.text_input(label, key=key, bind="query-params", **more), parse, label)


def private_text(label: str, parse: Callable[[str], T], *, key: str, **more: Any) -> T | None:
    """What `parse` makes of a longer text that may hold anything: the link has its digest. None when it is empty.

    Texts of this session, and of this browser's last hour, are found again by their digest; a visitor who opens the link elsewhere is asked for the text. One of
    an earlier release, with the text itself, is read, and its address changed.

    Raises
    ------
    InputError
        Where the link names a text that isn't there.
    """
    private_texts: dict[str, str] = st.session_state.setdefault(_GIVEN, {})
    if link_values := _asked(key):
        st.session_state[key] = (_private(link_values[0]) or "") if is_digest(link_values[0]) else link_values[0]
    typed = (st.text_area(label, key=key, **more) or "").strip()
    if typed:
        digest = digest_of(typed)
        # Taken out and put in anew, so that it is the last one: the oldest are forgotten first.
        private_texts.pop(digest, None)
        private_texts[digest] = typed
        upload_cache.keep(digest, typed)
        for old in list(private_texts)[:-_MOST_GIVEN]:
            del private_texts[old]
        if st.query_params.get(key) != digest:
            st.query_params[key] = digest
        return _parsed(typed, parse, label)
    if lacks(key):
        st.button("Go on without it", key=f"{key}_without", on_click=forget_private, args=(key,), type="tertiary")
        digest = st.query_params[key]
        fix = f'Paste it again under "{label}", or press "Go on without it" there'
        raise InputError(f"the link names a text ({digest[:19]}…) and doesn't hold it", where=label, fix=fix)
    forget_private(key)
    return None


def lacks(key: str) -> bool:
    """Whether the link names a private text that this session doesn't have."""
    link_text = st.query_params.get(key, "")
    return is_digest(link_text) and _private(link_text) is None


def _private(digest: str) -> str | None:
    """The text of that digest that was given here: in this session, or before its page was loaded again."""
    text = st.session_state.get(_GIVEN, {}).get(digest) or upload_cache.find(digest)
    return text if isinstance(text, str) else None


def forget_private(key: str) -> None:
    """Take a private text out of the link."""
    if key in st.query_params:
        del st.query_params[key]


def _parsed(typed: str | None, parse: Callable[[str], T], label: str) -> T | None:
    typed = (typed or "").strip()
    if not typed:
        return None
    try:
        return parse(typed)
    except HeadroomError as error:
        raise InputError(
            error.what, where=label if not error.where else f"{label}, {error.where}", fix=error.fix
        ) from error
