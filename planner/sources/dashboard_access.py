"""Reads who may use the dashboard: the file with sign-in settings, allowed users, and their namespaces.

One TOML file: ``[auth]`` is Streamlit's (an OIDC client: ``redirect_uri``, ``cookie_secret``, ``client_id``, …), ``[access]``
is Headroom's. Nothing of it is written anywhere.

Sources: OpenID Connect Core 1.0, 2 (ID Token: ``exp``) and 5.1 (``email``, ``email_verified``); Streamlit, ``st.login``.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from planner.ground.errors import InputError
from planner.ground.records import Record

VARIABLE: Final = "HEADROOM_SIGN_IN"
"""The file. Without it a ``secrets.toml`` where Streamlit looks for one counts, when it has an ``[auth]``."""
LOCAL_ONLY: Final = "without sign-in the dashboard answers on localhost only"
HOW_TO: Final = f"Name a file that says who signs in ({VARIABLE}=FILE or --sign-in FILE; docs/deploy.md)"
CALLBACK: Final = "/oauth2callback"
EVERYBODY: Final = "*"
_AUTH: Final = ("redirect_uri", "cookie_secret")
_CLIENT: Final = ("client_id", "client_secret", "server_metadata_url")
_FEWEST_SECRET: Final = 32  # characters of cookie_secret: who guesses it signs cookies
_ASKED: Final = ("is_logged_in", "origin", "provider", "iss", "sub", "sid", "iat", "exp", "email", "email_verified",
                 "preferred_username", "name")  # fmt: skip
_KEYS: Final = ("groups", "domains", "anyone", "groups_claim", "namespaces")


class Access(Record):
    """Who is let in: a user in one of `groups` (where any are named) with an address of one of `domains` (likewise).

    `namespaces`: group → patterns of namespaces (``prod``, ``team-*``) that its people see, ``*`` for everybody's; None: all
    see all. `claim` is where the token names groups; dots lead into it (``realm_access.roles``).
    """

    groups: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    claim: str = "groups"
    namespaces: tuple[tuple[str, tuple[str, ...]], ...] | None = None


class SignIn(Record):
    """How people sign in: `auth` is what Streamlit gets; `providers` are the names of its sections, () for a single one."""

    auth: dict[str, Any]
    access: Access
    providers: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The name that people use."""
        return urlsplit(str(self.auth["redirect_uri"])).hostname or ""

    @property
    def is_https(self) -> bool:
        return str(self.auth["redirect_uri"]).startswith("https://")


class Person(Record):
    """A user who signed in and may be here until `until` (epoch seconds). `namespaces`: patterns; None: all."""

    name: str
    until: float
    namespaces: tuple[str, ...] | None = None


class Refused(Record):
    """A user who signed in and may not be here; `is_over`: because the time of their token is up."""

    name: str
    why: str
    is_over: bool = False


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def configured() -> SignIn | None:
    """What the file says; None where there is none.

    Raises
    ------
    InputError
        Where there is one and it can't be followed: no user is let in by mistake.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return read(Path(named))
    for folder in (Path(os.environ.get("HOME", "/")), Path.cwd()):
        file = folder / ".streamlit" / "secrets.toml"
        if file.is_file() and "auth" in _toml(file):
            return read(file)
    return None


def read(file: Path) -> SignIn:
    """The file's sections, checked.

    Raises
    ------
    InputError
        For what is missing, misspelt or too weak.
    """
    content = _toml(file)
    auth, access = content.get("auth"), content.get("access", {})
    where = str(file)
    if not isinstance(auth, dict) or not isinstance(access, dict):
        raise InputError("has no [auth] section", where=where, fix="Add one, with the OIDC client (docs/deploy.md)")
    providers = tuple(name for name, part in auth.items() if isinstance(part, dict) and "client_id" in part)
    clients = [auth[name] for name in providers] if providers else [auth]
    missing = [key for key in _AUTH if not auth.get(key)]
    missing += [key for client in clients for key in _CLIENT if not client.get(key)]
    if missing:
        raise InputError(f"[auth] lacks {', '.join(missing)}", where=where, fix="Add it (docs/deploy.md)")
    address = urlsplit(str(auth["redirect_uri"]))
    if not address.path.endswith(CALLBACK) or not address.hostname:
        what = f"redirect_uri of [auth] doesn't end in {CALLBACK}"
        raise InputError(what, where=where, fix=f"Give the dashboard's own address and {CALLBACK}")
    if address.scheme != "https" and not is_local(address.hostname):
        what = (
            "redirect_uri of [auth] isn't https, and others on the way could take over what people are signed in with"
        )
        raise InputError(what, where=where, fix="Put TLS before the dashboard, and write https://")
    if len(str(auth["cookie_secret"])) < _FEWEST_SECRET:
        what = f"cookie_secret of [auth] has fewer than {_FEWEST_SECRET} characters"
        raise InputError(what, where=where, fix="Make one: openssl rand -hex 32")
    return SignIn(auth=auth, access=_access(access, where), providers=providers)


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it isn't UTF-8"
        raise InputError(f"can't be read: {why}", where=str(file), fix="Check the path and its rights") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"isn't TOML: {error}", where=str(file), fix="Fix that line") from None


def _access(section: Mapping[str, Any], where: str) -> Access:
    unknown = sorted(set(section) - set(_KEYS))
    if unknown:
        raise InputError(f"[access] has no {', '.join(unknown)}", where=where, fix=f"It takes {', '.join(_KEYS)}")
    groups, domains = (_texts(section, key, where) for key in ("groups", "domains"))
    if not groups and not domains and section.get("anyone") is not True:
        what = "[access] names neither groups nor domains, so anybody with an account at the provider would be let in"
        raise InputError(what, where=where, fix='Add groups = ["…"] or domains = ["…"], or anyone = true')
    namespaces = section.get("namespaces")
    if namespaces is not None and not isinstance(namespaces, dict):
        fix = 'Write [access.namespaces] and lines such as payments = ["payments-*"]'
        raise InputError("namespaces of [access] isn't a table", where=where, fix=fix)
    group_patterns = (
        None if namespaces is None else tuple((group, _texts(namespaces, group, where)) for group in namespaces)
    )
    claim = section.get("groups_claim", "groups")
    if not isinstance(claim, str) or not claim:
        raise InputError("groups_claim of [access] isn't a name", where=where, fix='Write groups_claim = "groups"')
    return Access(
        groups=groups,
        domains=tuple(domain.strip().lower().removeprefix("@") for domain in domains),
        claim=claim,
        namespaces=group_patterns,
    )


def _texts(section: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    texts = section.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise InputError(f"{key} isn't a list of texts", where=where, fix=f'Write {key} = ["…"]')
    return tuple(texts)


# ── a person ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def judged(claims: Mapping[str, Any], access: Access, now: float) -> Person | Refused:
    """Whether a user with these claims of an ID token may be here at `now` (epoch seconds)."""
    name = next((str(claims[key]) for key in ("email", "preferred_username", "name", "sub") if claims.get(key)), "?")
    until = claims.get("exp")
    if isinstance(until, bool) or not isinstance(until, int | float):
        return Refused(name=name, why="the provider's token doesn't say until when it holds")
    if now >= until:
        return Refused(name=name, why="the time that the provider gave is up", is_over=True)
    if access.domains and not _is_of(claims, access.domains):
        return Refused(name=name, why="this address isn't of a domain that is let in")
    groups = frozenset(_groups(claims, access.claim))
    if access.groups and not groups & set(access.groups):
        return Refused(name=name, why="this account is in no group that is let in")
    if access.namespaces is None:
        return Person(name=name, until=float(until))
    patterns = tuple(
        pattern
        for group, group_patterns in access.namespaces
        if group in groups or group == EVERYBODY
        for pattern in group_patterns
    )
    return Person(name=name, until=float(until), namespaces=None if EVERYBODY in patterns else patterns)


def needed(claims: Mapping[str, Any], access: Access) -> dict[str, Any]:
    """What of a token's claims is asked for here: of groups those that let a user in or show something."""
    counted = {*access.groups, *(group for group, _ in access.namespaces or ())}
    needed_claims = {key: claims[key] for key in _ASKED if key in claims}
    return {**needed_claims, access.claim: [group for group in _groups(claims, access.claim) if group in counted]}


def _is_of(claims: Mapping[str, Any], domains: tuple[str, ...]) -> bool:
    """Whether the address is of one of them, and the provider doesn't say that it isn't verified."""
    address, verified = claims.get("email"), claims.get("email_verified", True)
    if not isinstance(address, str) or address.count("@") != 1 or str(verified).lower() != "true":
        return False
    return address.rpartition("@")[2].lower() in domains


def _groups(claims: Mapping[str, Any], claim: str) -> Iterator[str]:
    group_claim: Any = claims.get(claim)
    if group_claim is None:
        group_claim = claims
        for part in claim.split("."):
            group_claim = group_claim.get(part) if isinstance(group_claim, Mapping) else None
    if isinstance(group_claim, str):
        yield group_claim
    elif isinstance(group_claim, list | tuple):
        yield from (group for group in group_claim if isinstance(group, str))


def sees(patterns: tuple[str, ...] | None, namespace: str) -> bool:
    """Whether a user who sees `patterns` sees this namespace."""
    return patterns is None or any(fnmatchcase(namespace, pattern) for pattern in patterns)


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────
def is_local(host: str) -> bool:
    """Whether an address to listen on, or one that was asked, is this machine's own to itself."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
