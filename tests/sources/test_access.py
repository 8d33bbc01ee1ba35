"""Who is let in, by the file and by what the provider says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.sources import dashboard_access
from planner.sources.dashboard_access import Access, Person, Refused, judged, sees

AUTH = """
[auth]
redirect_uri = "https://headroom.example/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "headroom"
client_secret = "hidden"
server_metadata_url = "https://login.example/.well-known/openid-configuration"
"""
NOW = 1000.0


def written(folder: Path, text: str) -> Path:
    path = folder / "sign-in.toml"
    path.write_text(text)
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    text = AUTH + '[access]\ngroups = ["sre"]\ndomains = ["@Example.com"]\n[access.namespaces]\nsre = ["*"]\n'
    found = dashboard_access.read(written(tmp_path, text))
    assert found.access == Access(groups=("sre",), domains=("example.com",), namespaces=(("sre", ("*",)),))
    assert found.providers == ()
    assert found.is_https


def test_several_providers(tmp_path: Path) -> None:
    text = """
[auth]
redirect_uri = "http://localhost:8501/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
[auth.google]
client_id = "a"
client_secret = "b"
server_metadata_url = "https://accounts.google.com/.well-known/openid-configuration"
[access]
domains = ["example.com"]
"""
    found = dashboard_access.read(written(tmp_path, text))
    assert found.providers == ("google",)
    assert not found.is_https


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[access]\nanyone = true\n", "no \\[auth\\]"),
        ("auth = 3\n", "no \\[auth\\]"),
        ("[auth\n", "isn't TOML"),
        (AUTH, "anybody with an account"),
        (AUTH + "[access]\nanyone = 'yes'\n", "anybody with an account"),
        (AUTH + "[access]\ngroup = ['sre']\n", "has no group"),
        (AUTH + "[access]\ngroups = 'sre'\n", "groups isn't a list"),
        (AUTH + "[access]\ngroups = ['']\n", "groups isn't a list"),
        (AUTH + "[access]\ngroups = ['a']\nnamespaces = ['x']\n", "isn't a table"),
        (AUTH + "[access]\ngroups = ['a']\n[access.namespaces]\na = 'x'\n", "a isn't a list"),
        (AUTH.replace("0123456789abcdef0123456789abcdef", "short") + "[access]\nanyone = true\n", "fewer than 32"),
        (AUTH.replace("/oauth2callback", "/callback") + "[access]\nanyone = true\n", "doesn't end in"),
        (AUTH.replace("https://headroom", "http://headroom") + "[access]\nanyone = true\n", "isn't https"),
        (AUTH.replace('client_secret = "hidden"', "") + "[access]\nanyone = true\n", "lacks client_secret"),
    ],
)
def test_a_file_that_can_not_be_followed(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as seen:
        dashboard_access.read(written(tmp_path, text))
    assert seen.value.fix
    assert "hidden" not in str(seen.value), "no secret in a message"


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(dashboard_access.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert dashboard_access.configured() is None
    (tmp_path / ".streamlit").mkdir()
    streamlits = tmp_path / ".streamlit" / "secrets.toml"
    streamlits.write_text('password = "other"\n')
    assert dashboard_access.configured() is None, "secrets of something else"
    streamlits.write_text(AUTH)
    with pytest.raises(InputError, match="anybody"):
        dashboard_access.configured()
    streamlits.write_text(AUTH + "[access]\nanyone = true\n")
    assert dashboard_access.configured() is not None
    monkeypatch.setenv(dashboard_access.VARIABLE, str(tmp_path / "missing.toml"))
    with pytest.raises(InputError, match="can't be read"):
        dashboard_access.configured()


@pytest.mark.parametrize(
    ("claims", "rules", "is_in"),
    [
        ({}, Access(), True),
        ({"exp": NOW}, Access(), False),
        ({"exp": None}, Access(), False),
        ({"exp": True}, Access(), False),
        ({"exp": "9999999999"}, Access(), False),
        ({"groups": ["dev", "sre"]}, Access(groups=("sre",)), True),
        ({"groups": "sre"}, Access(groups=("sre",)), True),
        ({"groups": ["sre-readers"]}, Access(groups=("sre",)), False),
        ({"groups": [["sre"]]}, Access(groups=("sre",)), False),
        ({"groups": {"sre": 1}}, Access(groups=("sre",)), False),
        ({}, Access(groups=("sre",)), False),
        ({"realm": {"roles": ["sre"]}}, Access(groups=("sre",), claim="realm.roles"), True),
        ({"https://x.example/groups": ["sre"]}, Access(groups=("sre",), claim="https://x.example/groups"), True),
        ({"email": "ann@Example.com"}, Access(domains=("example.com",)), True),
        ({"email": "ann@example.com", "email_verified": False}, Access(domains=("example.com",)), False),
        ({"email": "ann@example.com", "email_verified": "false"}, Access(domains=("example.com",)), False),
        ({"email": "ann@evil.example.com"}, Access(domains=("example.com",)), False),
        ({"email": "ann@evil.com@example.com"}, Access(domains=("example.com",)), False),
        ({"email": "example.com"}, Access(domains=("example.com",)), False),
        ({"email": ["ann@example.com"]}, Access(domains=("example.com",)), False),
        ({"email": "ann@example.com"}, Access(domains=("example.com",), groups=("sre",)), False),
        ({"email": "ann@other.com", "groups": ["sre"]}, Access(domains=("example.com",), groups=("sre",)), False),
        ({"email": "ann@example.com", "groups": ["sre"]}, Access(domains=("example.com",), groups=("sre",)), True),
    ],
)
def test_who_is_let_in(claims: dict[str, Any], rules: Access, is_in: bool) -> None:
    found = judged({"sub": "ann", "exp": NOW + 60, **claims}, rules, NOW)
    assert isinstance(found, Person if is_in else Refused)


def test_until_when_and_as_whom() -> None:
    found = judged({"sub": "x", "email": "ann@example.com", "exp": NOW + 60}, Access(), NOW)
    assert found == Person(name="ann@example.com", until=NOW + 60)
    later = judged({"sub": "x", "exp": NOW + 60}, Access(), NOW + 60)
    assert isinstance(later, Refused)
    assert later.is_over


@pytest.mark.parametrize(
    ("groups", "patterns"),
    [
        (["sre"], None),
        (["payments"], ("payments-*", "shared")),
        (["payments", "web"], ("payments-*", "web", "shared")),
        (["other"], ("shared",)),
        ([], ("shared",)),
    ],
)
def test_which_namespaces(groups: list[str], patterns: tuple[str, ...] | None) -> None:
    rules = Access(namespaces=(("sre", ("*",)), ("payments", ("payments-*",)), ("web", ("web",)), ("*", ("shared",))))
    found = judged({"sub": "x", "groups": groups, "exp": NOW + 1}, rules, NOW)
    assert isinstance(found, Person)
    assert found.namespaces == patterns


def test_who_is_in_no_group_of_the_map_sees_none() -> None:
    rules = Access(namespaces=(("sre", ("*",)),))
    found = judged({"sub": "x", "groups": ["web"], "exp": NOW + 1}, rules, NOW)
    assert isinstance(found, Person)
    assert found.namespaces == ()
    assert not sees(found.namespaces, "web")


def test_patterns() -> None:
    assert sees(None, "anything")
    assert sees(("team-*", "prod"), "team-a")
    assert not sees(("team-*", "prod"), "my-team-a")
    assert not sees(("prod",), "production")


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("[::1]", True), ("::ffff:127.0.0.1", True),
        ("a.localhost", True), ("0.0.0.0", False), ("::", False), ("10.1.2.3", False), ("localhost.evil.example", False), ("", False),
        ("headroom.example", False), ("fe80::1%eth0", False), ("::ffff:10.0.0.1", False),
    ],
)  # fmt: skip
def test_addresses_of_this_machine(host: str, is_local: bool) -> None:
    assert dashboard_access.is_local(host) is is_local
