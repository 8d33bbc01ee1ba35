"""Signed-out sessions: after a sign-out its cookie is refused, in every process.

What is signed out is told by what the provider said and signed, not by how it was sent: the session at the provider (``sid``)
with everything issued for it until then, or else the person and the moment (``sub`` and ``iat``).

Where a folder is named, it is kept there, over restarts and for all who share the folder. Where none is, it is kept for as long
as the process runs, and so is every sign-in: cookies are signed with a key of the process' own, so that another one, of a
restart or a second replica, takes none of them.

Sources: OpenID Connect Core 1.0, 2 (``iss``, ``sub``, ``iat``); OpenID Connect Front-Channel Logout 1.0, 3 (``sid``).
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final

from planner.ground.errors import InputError

VARIABLE: Final = "HEADROOM_SESSIONS"
"""A folder that is kept over restarts and shared by replicas; without it a restart signs everybody out."""
_KEY: Final = "key"
_KEY_BYTES: Final = 32


class SignedOut:
    """The sign-ins that are over.

    Raises
    ------
    InputError
        Where `folder` can't be written to.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._own = secrets.token_bytes(_KEY_BYTES) if folder is None else _kept_key(folder)
        self._out: dict[str, tuple[float, float]] = {}  # of `identity` → (issued until then, would hold until)

    def secret(self, configured: str) -> str:
        """What cookies are signed with: the `configured` secret, and what this process, or the folder, alone knows."""
        return hmac.new(self._own, configured.encode(), sha256).hexdigest()

    def add(self, claims: Mapping[str, Any], until: float) -> None:
        """The sign-in with these claims, which would hold `until` (epoch seconds), is over."""
        name, issued = identity(claims)
        before = self._known(name) or (issued, until)
        sign_out = max(before[0], issued), max(before[1], until)
        now = time.time()
        self._out = {name_digest: times for name_digest, times in self._out.items() if times[1] > now}
        self._out[name] = sign_out
        if self._folder is not None:
            try:
                _write(self._folder / name, json.dumps(sign_out).encode())
                _sweep(self._folder, now)
            except OSError as error:
                sys.stderr.write(
                    f"headroom: a sign-out is known to this process only: {self._folder}: {error.strerror}\n"
                )

    def __contains__(self, claims: Mapping[str, Any]) -> bool:
        name, issued = identity(claims)
        sign_out = self._known(name)
        return sign_out is not None and issued <= sign_out[0]

    def _known(self, name: str) -> tuple[float, float] | None:
        stored_sign_out = _read(self._folder / name) if self._folder else None
        return max(filter(None, (self._out.get(name), stored_sign_out)), default=None)


def identity(claims: Mapping[str, Any]) -> tuple[str, float]:
    """What tells a sign-in from others, and when it was issued (epoch seconds) where others go by the same name."""
    issued, issuer = claims.get("iat"), claims.get("iss")
    at = float(issued) if isinstance(issued, int | float) and not isinstance(issued, bool) else None
    if claims.get("sid"):
        return _named([issuer, "sid", claims["sid"]]), at or 0.0
    if claims.get("sub") and at is not None:
        return _named([issuer, "sub", claims["sub"], at]), at
    return _named(sorted((key, repr(value)) for key, value in claims.items())), 0.0


def _named(what: object) -> str:
    return blake2b(json.dumps(what).encode(), digest_size=20).hexdigest()


# ── the folder ───────────────────────────────────────────────────────────────────────────────────────────────────────
def configured() -> SignedOut:
    """As the environment says it."""
    named = os.environ.get(VARIABLE, "")
    return SignedOut(Path(named) if named else None)


def _kept_key(folder: Path) -> bytes:
    """The folder's key, made by whichever comes first."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (folder / _KEY).exists():
            new_key_file = folder / f".{secrets.token_hex(8)}"
            _write(new_key_file, secrets.token_bytes(_KEY_BYTES))
            with suppress(FileExistsError):  # another replica was here first
                os.link(new_key_file, folder / _KEY)
            new_key_file.unlink()
        key_bytes = (folder / _KEY).read_bytes()
    except OSError as error:
        fix = f"Name a folder in {VARIABLE} that Headroom may write to, or none"
        raise InputError(f"can't be used: {error.strerror or error}", where=str(folder), fix=fix) from None
    if len(key_bytes) != _KEY_BYTES:
        raise InputError(
            "isn't a key of Headroom's", where=str(folder / _KEY), fix="Remove it: everybody signs in anew"
        )
    return key_bytes


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all, and for no other user to read."""
    temporary_file = file.with_name(f".{secrets.token_hex(8)}")
    with os.fdopen(os.open(temporary_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:
        output.write(content)
    temporary_file.replace(file)


def _read(file: Path) -> tuple[float, float] | None:
    """None for what isn't there; what can't be read is over."""
    try:
        issued, until = json.loads(file.read_bytes())
        return float(issued), float(until)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        return float("inf"), float("inf")


def _sweep(folder: Path, now: float) -> None:
    """Remove what would be over by now anyway."""
    for file in folder.iterdir():
        if file.name != _KEY and not file.name.startswith(".") and (_read(file) or (0.0, now))[1] < now:
            with suppress(OSError):
                file.unlink()
