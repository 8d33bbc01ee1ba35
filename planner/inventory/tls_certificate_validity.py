"""When a TLS certificate expires, and from when on that is a finding."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record
from planner.ground.words import count, moment

SOON_SECONDS: Final = 14 * 86_400.0
SOON_SHARE: Final = 0.25
"""Of its whole time: what renews certificates by itself does so with a third of it left (cert-manager's `renewBefore`), so that with
less than a quarter left it failed to."""
_HOUR, _DAY = 3_600.0, 86_400.0


class Validity(Record):
    """From when until when a certificate holds, in seconds since the epoch."""

    begins_at: float
    ends_at: float

    def warning(self, now: float) -> str:
        """``expires in 5 days (2026-11-27 09:00 UTC)`` and the like; "" while there is time."""
        remaining_seconds, whole = self.ends_at - now, self.ends_at - self.begins_at
        if now < self.begins_at:
            return f"isn't valid before {moment(self.begins_at)}"
        if remaining_seconds <= 0:
            return f"expired {_words(-remaining_seconds)} ago ({moment(self.ends_at)})"
        if remaining_seconds < min(SOON_SECONDS, SOON_SHARE * whole):
            return f"expires in {_words(remaining_seconds)} ({moment(self.ends_at)})"
        return ""


def validity_of(data: bytes) -> Validity | None:
    """Of a certificate in DER, or of the first one in PEM, which a server's chain begins with; None where it is none."""
    from cryptography import x509

    try:
        read = x509.load_pem_x509_certificate if b"-----BEGIN" in data else x509.load_der_x509_certificate
        certificate = read(data)
    except ValueError:
        return None
    return Validity(
        begins_at=certificate.not_valid_before_utc.timestamp(),
        ends_at=certificate.not_valid_after_utc.timestamp(),
    )


def _words(seconds: float) -> str:
    """Whole days, and below two of them hours: what is said again and again shouldn't change every minute."""
    if seconds >= 2 * _DAY:
        return count(int(seconds // _DAY), "day")
    return count(int(seconds // _HOUR), "hour") if seconds >= _HOUR else "less than an hour"
