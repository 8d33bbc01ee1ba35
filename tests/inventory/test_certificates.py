"""Whether a certificate's end is said in time, and not when there is time."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from planner.inventory.tls_certificate_validity import Validity, validity_of
from tests.builders.certificates import DAY, certificate

HOUR = DAY / 24
NOON = 1_795_348_800.0  # 2026-11-22 12:00 UTC


@pytest.mark.parametrize(
    ("whole", "left", "said"),
    [
        pytest.param(365 * DAY, 15 * DAY, "", id="a year's, two weeks left"),
        pytest.param(365 * DAY, 13.5 * DAY, "expires in 13 days (2026-12-06 00:00 UTC)", id="a year's, less"),
        pytest.param(90 * DAY, 30 * DAY, "", id="cert-manager renews now"),
        pytest.param(12 * HOUR, 4 * HOUR, "", id="a short one is short all its life"),
        pytest.param(12 * HOUR, 2.5 * HOUR, "expires in 2 hours (2026-11-22 14:30 UTC)", id="a short one that ends"),
        pytest.param(12 * HOUR, 60.0, "expires in less than an hour (2026-11-22 12:01 UTC)", id="at once"),
        pytest.param(365 * DAY, -3 * DAY, "expired 3 days ago (2026-11-19 12:00 UTC)", id="over"),
        pytest.param(DAY, 25 * HOUR, "isn't valid before 2026-11-22 13:00 UTC", id="not yet"),
    ],
)
def test_what_is_said_when(whole: float, left: float, said: str) -> None:
    assert Validity(begins_at=NOON + left - whole, ends_at=NOON + left).warning(NOON) == said


def test_a_file_is_read_in_either_form(tmp_path: Path) -> None:
    first, second = (certificate(tmp_path, NOON, NOON + number * DAY, f"c{number}")[0] for number in (1, 2))
    expected = Validity(begins_at=NOON, ends_at=NOON + DAY)
    chain = first.read_text() + second.read_text()
    assert validity_of(chain.encode()) == expected, "the server's own comes first"
    assert validity_of(ssl.PEM_cert_to_DER_cert(first.read_text())) == expected


@pytest.mark.parametrize("data", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_what_is_none_is_none(data: bytes) -> None:
    assert validity_of(data) is None
