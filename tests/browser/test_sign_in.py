"""Signing in at a real OIDC provider on this machine: nothing of a cluster before, an end, and who isn't let in."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.dashboard import OUTPUT, Visitor
from tests.ports import reserved
from tests.running_app import running_app

NODE = "gke-edu"  # how every node of the demo begins
SECONDS = 3600
PEOPLE = (
    {"sub": "ann", "email": "ann@example.com", "email_verified": True, "groups": ["sre"]},
    {"sub": "bob", "email": "bob@example.com", "email_verified": True, "groups": ["dev"]},
    {"sub": "eve", "email": "eve@elsewhere.example", "email_verified": True, "groups": ["sre"]},
    {"sub": "pat", "email": "pat@example.com", "email_verified": True, "groups": ["research"]},
)
CONFIGURATION = """
[auth]
redirect_uri = "http://localhost:{{port}}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "headroom"
client_secret = "not-a-secret"
server_metadata_url = "{provider}/.well-known/openid-configuration"

[access]
groups = ["sre", "research"]
domains = ["example.com"]

[access.namespaces]
sre = ["*"]
research = ["llm-lab"]
"""


@contextmanager
def provider(folder: Path, seconds: int = SECONDS, people: Sequence[Mapping[str, object]] = PEOPLE) -> Iterator[str]:
    """An OIDC provider of these people whose tokens hold so long; its URL."""
    port = reserved()
    claims = [word for one in people for word in ("--user-claims", json.dumps(one))]
    command = [
        sys.executable,
        "-m",
        "oidc_provider_mock",
        "-H",
        "localhost",
        "-p",
        str(port),
        "-e",
        str(seconds),
        *claims,
    ]
    url = f"http://localhost:{port}"
    with (folder / "provider.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(200):
                try:
                    with urlopen(f"{url}/.well-known/openid-configuration", timeout=2):
                        break
                except (URLError, OSError):
                    assert process.poll() is None, (folder / "provider.log").read_text()
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(20)


def configuration(folder: Path, provider_url: str) -> str:
    """The file that says how people sign in there."""
    file = folder / "sign-in.toml"
    file.write_text(CONFIGURATION.format(provider=provider_url))
    return str(file)


@contextmanager
def signed(folder: Path, seconds: int = SECONDS) -> Iterator[str]:
    """The dashboard where people sign in at such a provider; its URL."""
    with (
        provider(folder, seconds) as url,
        running_app(folder / "server.log", HEADROOM_SIGN_IN=configuration(folder, url)) as app,
    ):
        yield app.url


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with signed(tmp_path_factory.mktemp("signed")) as dashboard:
        yield dashboard


@pytest.fixture
def window(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    opened: list[BrowserContext] = []

    def new(*, width: int = 1280, scheme: str = "light") -> BrowserContext:
        opened.append(
            browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme="dark" if scheme == "dark" else "light"
            )
        )
        return opened[-1]

    yield new
    for one in opened:
        one.close()


def arrive(window: BrowserContext, url: str, path: str = "") -> Page:
    """Open a page of the dashboard; it asks to sign in."""
    page = window.new_page()
    page.goto(f"{url}/{path}")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    return page


def sign_in(page: Page, name: str) -> Page:
    page.get_by_role("button", name="Sign in").click()
    # oidc-provider-mock's page calls it by the name up to 0.3 and "Authorize as NAME" since 0.4, which Python 3.12 gets.
    page.locator(f"button[name=sub][value={name}]").first.click()
    return page


def heard(page: Page) -> list[bytes]:
    """Every frame of websockets that the page gets from now on."""
    frames: list[bytes] = []

    def hear(payload: object) -> None:
        frames.append(payload if isinstance(payload, bytes) else str(payload).encode())

    page.on("websocket", lambda one: one.on("framereceived", hear))
    return frames


@pytest.mark.parametrize(
    "path",
    [
        "",
        "rollout?workload=Deployment/prod/llm-serve",
        "what_if?changes=add:gpu-t4=1",
        "history",
        "headroom?cluster=demo",
    ],
)
def test_nothing_of_a_cluster_is_sent_before(window: Callable[..., BrowserContext], url: str, path: str) -> None:
    page = window().new_page()
    frames = heard(page)
    page.goto(f"{url}/{path}")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_test_id("stPageLink")).to_have_count(0)
    assert frames
    for word in (NODE, "llm-serve", "openb", "gpu-", "ml-worker"):
        assert not [one for one in frames if word.encode() in one], word
        assert word not in page.content() or word in path


@pytest.mark.parametrize("path", ["media/0123.json", "_stcore/metrics", "_stcore/upload_file/a/b", "metrics"])
def test_files_and_metrics_are_closed(url: str, path: str) -> None:
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{url}/{path}"), timeout=10)
    with refused.value as answer:
        assert answer.code == 401


def test_signed_in_by_a_link_and_out_again(window: Callable[..., BrowserContext], url: str) -> None:
    context = window()
    page = sign_in(arrive(context, url, "rollout?workload=Deployment/prod/ml-worker"), "ann")
    expect(page.get_by_role("heading", name="prod/ml-worker", exact=True)).to_be_visible()
    assert page.url.startswith(f"{url}/rollout?")
    assert "ml-worker" in page.url
    expect(page.get_by_text("Signed in as ann@")).to_be_visible()
    before = of_streamlit(context)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/oauth2/end_session**")
    kept = [one for one in context.cookies() if one["name"].startswith("_streamlit_user")]
    assert kept == []
    context.add_cookies(before)
    again = context.new_page()
    again.goto(f"{url}/")
    expect(again.get_by_role("button", name="Sign in")).to_be_visible()


def of_streamlit(context: BrowserContext) -> list[Any]:
    """The cookies of a sign-in."""
    return [one for one in context.cookies() if one["name"].startswith("_streamlit")]


@pytest.mark.parametrize("is_kept", [True, False], ids=["with a folder", "without"])
def test_who_signed_out_stays_out_over_a_restart(
    window: Callable[..., BrowserContext], tmp_path: Path, *, is_kept: bool
) -> None:
    """Of two who signed in one signs out, and the server is started anew. With a folder of sessions the other goes on; without one
    nobody does. The cookie of who signed out is nothing, whatever stands beside it."""
    port = reserved()
    with provider(tmp_path) as url:
        told = {"HEADROOM_SIGN_IN": configuration(tmp_path, url)}
        told |= {"HEADROOM_SESSIONS": str(tmp_path / "sessions")} if is_kept else {}
        stays, goes = window(), window()
        with running_app(tmp_path / "first.log", port=port, **told) as app:
            for one, name in ((stays, "ann"), (goes, "pat")):
                expect(sign_in(arrive(one, app.url), name).get_by_text("Signed in as")).to_be_visible()
            out = of_streamlit(goes)
            goes.pages[0].get_by_role("button", name="Sign out").click()
            goes.pages[0].wait_for_url("**/oauth2/end_session**")
            for one in (stays, goes):
                one.pages[0].goto("about:blank")
        with running_app(tmp_path / "second.log", port=port, **told) as app:
            junk = {**out[0], "name": "_streamlit_user_junk", "value": "1"}
            for sent in (out, [*out, junk]):
                goes.clear_cookies()
                goes.add_cookies(sent)
                page = goes.new_page()
                frames = heard(page)
                page.goto(app.url)
                expect(page.get_by_role("button", name="Sign in")).to_be_visible()
                assert frames
                assert not [one for one in frames if NODE.encode() in one]
            page = stays.pages[0]
            page.goto(app.url)
            shown = page.get_by_text("Signed in as ann@") if is_kept else page.get_by_role("button", name="Sign in")
            expect(shown).to_be_visible()
            assert is_kept or NODE not in page.content()


@pytest.mark.parametrize(("name", "why"), [("bob", "in no group"), ("eve", "isn't of a domain")])
def test_who_is_not_let_in_hears_why(window: Callable[..., BrowserContext], url: str, name: str, why: str) -> None:
    page = arrive(window(), url, "memory")
    frames = heard(page)
    sign_in(page, name)
    expect(page.get_by_text(why)).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert not [one for one in frames if NODE.encode() in one]


@pytest.mark.parametrize("path", ["", "headroom", "memory"])
def test_only_names_of_own_namespaces_are_sent(window: Callable[..., BrowserContext], url: str, path: str) -> None:
    page = arrive(window(), url, path)
    frames = heard(page)
    sign_in(page, "pat")
    expect(page.get_by_text("Namespaces you see")).to_be_visible()
    Visitor(page, url).settle()
    sent = b"".join(frames)
    assert b"llm-lab" in sent
    for name in (
        b"ml-worker",
        b"llm-serve",
        b"fluentbit",
        b"labs-runner",
        b"embed-nightly",
        b"inference-api",
        b"prod/api",
        b"dev/notebook",
    ):
        assert name not in sent, sent[max(0, sent.find(name) - 60) :][:120]


def test_a_session_ends_with_its_token(browser: Browser, tmp_path: Path) -> None:
    with signed(tmp_path, seconds=45) as url:
        context = browser.new_context()
        page = sign_in(arrive(context, url, "memory"), "ann")
        expect(page.get_by_role("heading", name="Health", exact=True)).to_be_visible()
        expect(page.get_by_role("heading", name="Health", exact=True)).to_have_count(0)
        expect(page.get_by_text("Your time is up")).to_be_visible()
        assert NODE not in page.content()
        sign_in(page, "ann")
        expect(page.get_by_text("Signed in as ann@")).to_be_visible()
        context.close()
        log = (tmp_path / "server.log").read_text()
        assert "Traceback" not in log, log


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sign_in_page_can_be_looked_at(
    window: Callable[..., BrowserContext], url: str, width: int, scheme: str
) -> None:
    page = arrive(window(width=width, scheme=scheme), url)
    visitor = Visitor(page, url)
    visitor.settle()
    visitor.is_within_width()
    visitor.screenshot(f"sign-in-{width}-{scheme}", OUTPUT)
    page.reload()
    visitor.settle()
    visitor.is_healthy()
