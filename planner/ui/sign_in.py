"""Who looks at the dashboard, and the page for those who have to sign in first.

`person` is asked by the router before anything else, on every run: where people sign in and no client is there, no page runs,
so that nothing of a cluster is read, worked out or sent.
"""

from __future__ import annotations

import time
from functools import cache, partial

import streamlit as st

from planner.ground import words
from planner.ground.records import replace
from planner.inventory.sight import as_seen
from planner.kubernetes.records import Snapshot
from planner.sources import access, sessions
from planner.sources.access import Person, Refused, SignIn
from planner.sources.sessions import SignedOut

_AFTER_SECONDS = 0.5  # after the end, and before the websocket is closed
_LONGEST_SECONDS = 86_400.0  # a browser's timers hold 24 days


@cache
def configured() -> SignIn | None:
    """How people sign in; read once, when the server starts. Cookies are signed with a secret that `signed_out` knows."""
    found = access.configured()
    if found is None:
        return None
    secret = signed_out().secret(str(found.auth["cookie_secret"]))
    return replace(found, auth={**found.auth, "cookie_secret": secret})


@cache
def signed_out() -> SignedOut:
    """The sign-ins that are over."""
    return sessions.configured()


def person() -> Person | None:
    """Who is signed in and let in; None: none fits. Only where `configured`."""
    found = _judged()
    return found if isinstance(found, Person) else None


def _judged() -> Person | Refused | None:
    sign_in = configured()
    claims = st.user.to_dict()
    if sign_in is None or claims.get("is_logged_in") is not True:
        return None
    return access.judged(claims, sign_in.access, time.time())


def seen(snapshot: Snapshot) -> Snapshot:
    """What the server has of a cluster, for the namespaces that the caller may see; what people give themselves is theirs."""
    patterns = _patterns()
    return snapshot if patterns is None else snapshot.derived.once(_seen, snapshot, patterns)


def _seen(snapshot: Snapshot, patterns: tuple[str, ...]) -> Snapshot:
    return as_seen(snapshot, partial(access.sees, patterns))


def sees(namespace: str) -> bool:
    """Whether the caller may see what is in it."""
    return access.sees(_patterns(), namespace)


def sees_all() -> bool:
    """Whether no namespace is hidden from the caller."""
    return _patterns() is None


def _patterns() -> tuple[str, ...] | None:
    """Of the namespaces that are seen; None: all."""
    if configured() is None:
        return None
    found = person()
    return () if found is None else found.namespaces


def ask() -> None:
    """Where the caller isn't let in: the page that says so, and nothing after it."""
    if configured() is not None and person() is None:
        _show()
        st.stop()


def _show() -> None:
    """The page of a user who isn't let in: a way to the provider, or why this account isn't enough."""
    found, sign_in = _judged(), configured()
    assert sign_in is not None
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.title("Headroom")
        st.caption("Will this Kubernetes rollout finish? Clusters are shown to people who are signed in.")
        if isinstance(found, Refused) and not found.is_over:
            what = f"You are signed in as {words.literal(found.name)}, and {words.literal(found.why)}."
            st.error(f"{what}\n\nAsk the operator of this Headroom, or use another account.", title="✗ Not let in")
            if st.button("Sign out", icon=":material/logout:", key="sign-out"):
                st.logout()
            return
        if found is not None:
            st.info(
                "Sign in again to go on; what you are allowed to see is checked anew then.", title="Your time is up"
            )
        for provider in sign_in.providers or ("",):
            label = f"Sign in with {words.literal(provider)}" if provider else "Sign in"
            if st.button(label, icon=":material/login:", key=f"sign-in-{provider}"):
                st.login(provider or None)


def sidebar() -> None:
    """Who is signed in and until when, and the way out."""
    found = person() if configured() is not None else None
    if found is None:
        return
    st.caption(f"Signed in as {words.literal(found.name)} until {words.moment(found.until)}")
    if found.namespaces is not None:
        which = words.listing([f"`{words.literal(namespace)}`" for namespace in found.namespaces], most=6) or "none"
        st.caption(f"Namespaces you see: {which}. The others count in every answer, without their names.")
    if st.button("Sign out", icon=":material/logout:", key="sign-out"):
        st.logout()
        st.stop()  # no user is there any more: the rest would run the page again, and the way to the provider were lost
    # The page runs again when its reader's time is up, so that it isn't left standing; `Doorkeeper` ends the rest.
    left = min(max(1.0, found.until - time.time() + _AFTER_SECONDS), _LONGEST_SECONDS)

    @st.fragment(run_every=left)
    def look() -> None:
        if person() is None:
            st.rerun()

    look()
