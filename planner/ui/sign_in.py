"""The signed-in user, and the page that asks a user to sign in.

`person` is asked by the router before anything else, on every run: where people sign in and no client is there, no page runs,
so that nothing of a cluster is read, worked out or sent.
"""

from __future__ import annotations

import time
from functools import cache, partial

import streamlit as st

from planner.ground import words
from planner.ground.records import replace
from planner.inventory.namespace_redaction import redacted_for
from planner.kubernetes.object_records import Snapshot
from planner.sources import dashboard_access, signed_out_sessions
from planner.sources.dashboard_access import Person, Refused, SignIn
from planner.sources.signed_out_sessions import SignedOut

_AFTER_SECONDS = 0.5  # after the end, and before the websocket is closed
_LONGEST_SECONDS = 86_400.0  # a browser's timers hold 24 days


@cache
def configured() -> SignIn | None:
    """How people sign in; read once, when the server starts. Cookies are signed with a secret that `signed_out` knows."""
    sign_in_settings = dashboard_access.configured()
    if sign_in_settings is None:
        return None
    secret = signed_out().secret(str(sign_in_settings.auth["cookie_secret"]))
    return replace(sign_in_settings, auth={**sign_in_settings.auth, "cookie_secret": secret})


@cache
def signed_out() -> SignedOut:
    """The sign-ins that are over."""
    return signed_out_sessions.configured()


def person() -> Person | None:
    """Who is signed in and let in; None: none fits. Only where `configured`."""
    judged_person = _judged()
    return judged_person if isinstance(judged_person, Person) else None


def _judged() -> Person | Refused | None:
    sign_in = configured()
    claims = st.user.to_dict()
    if sign_in is None or claims.get("is_logged_in") is not True:
        return None
    return dashboard_access.judged(claims, sign_in.access, time.time())


def seen(snapshot: Snapshot) -> Snapshot:
    """What the server has of a cluster, for the namespaces that the caller may see; what people give themselves is theirs."""
    patterns = _patterns()
    return snapshot if patterns is None else snapshot.derived.once(_seen, snapshot, patterns)


def _seen(snapshot: Snapshot, patterns: tuple[str, ...]) -> Snapshot:
    return redacted_for(snapshot, partial(dashboard_access.sees, patterns))


def sees(namespace: str) -> bool:
    """Whether the caller may see what is in it."""
    return dashboard_access.sees(_patterns(), namespace)


def sees_all() -> bool:
    """Whether no namespace is hidden from the caller."""
    return _patterns() is None


def _patterns() -> tuple[str, ...] | None:
    """Of the namespaces that are seen; None: all."""
    if configured() is None:
        return None
    user = person()
    return () if user is None else user.namespaces


def ask() -> None:
    """Where the caller isn't let in: the page that says so, and nothing after it."""
    if configured() is not None and person() is None:
        _show()
        st.stop()


def _show() -> None:
    """The page of a user who isn't let in: a way to the provider, or why this account isn't enough."""
    visitor, sign_in = _judged(), configured()
    assert sign_in is not None
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.title("Headroom")
        st.caption("Will this Kubernetes rollout finish? Clusters are shown to people who are signed in.")
        if isinstance(visitor, Refused) and not visitor.is_over:
            what = f"You are signed in as {words.literal(visitor.name)}, and {words.literal(visitor.why)}."
            st.error(f"{what}\n\nAsk the operator of this Headroom, or use another account.", title="✗ Not let in")
            if st.button("Sign out", icon=":material/logout:", key="sign-out"):
                st.logout()
            return
        if visitor is not None:
            st.info(
                "Sign in again to go on; what you are allowed to see is checked anew then.", title="Your time is up"
            )
        for provider in sign_in.providers or ("",):
            label = f"Sign in with {words.literal(provider)}" if provider else "Sign in"
            if st.button(label, icon=":material/login:", key=f"sign-in-{provider}"):
                st.login(provider or None)


def sidebar() -> None:
    """Who is signed in and until when, and the way out."""
    user = person() if configured() is not None else None
    if user is None:
        return
    st.caption(f"Signed in as {words.literal(user.name)} until {words.moment(user.until)}")
    if user.namespaces is not None:
        which = words.listing([f"`{words.literal(namespace)}`" for namespace in user.namespaces], most=6) or "none"
        st.caption(f"Namespaces you see: {which}. The others count in every answer, without their names.")
    if st.button("Sign out", icon=":material/logout:", key="sign-out"):
        st.logout()
        st.stop()  # no user is there any more: the rest would run the page again, and the way to the provider were lost
    # The page runs again when its reader's time is up, so that it isn't left standing; `Doorkeeper` ends the rest.
    remaining_seconds = min(max(1.0, user.until - time.time() + _AFTER_SECONDS), _LONGEST_SECONDS)

    @st.fragment(run_every=remaining_seconds)
    def look() -> None:
        if person() is None:
            st.rerun()

    look()
