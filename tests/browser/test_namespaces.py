"""Two people of two teams at a live cluster, one after the other on the same pages: nobody is sent a word of the other's.

What they are sent is every frame of the websocket, every file to download, and what a link with another's names gets.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from planner.inventory.api_types import READ
from tests.bench.webhook import certificate
from tests.browser.dashboard import ROOT, Visitor, pages
from tests.browser.test_live import Served, wait
from tests.browser.test_sign_in import arrive, heard, provider, sign_in
from tests.builders.teams import shared, team
from tests.ports import reserved
from tests.seen import each
from tests.sources import kubeconfigs
from tests.sources.api_server import Tls, api_server
from tests.sources.living import LivingCluster

TEAMS = ("otter", "zebra")
PEOPLE = [
    {"sub": f"{one}-person", "email": f"{one}-person@example.com", "groups": [f"g{place}"]}
    for place, one in enumerate(TEAMS)
]
CONFIGURATION = """
[auth]
redirect_uri = "http://localhost:{port}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "headroom"
client_secret = "not-a-secret"
server_metadata_url = "{provider}/.well-known/openid-configuration"
[access]
domains = ["example.com"]
[access.namespaces]
g0 = ["otter-lab"]
g1 = ["zebra-lab"]
"""  # fmt: skip
LINKS = (
    "rollout?workload={kind}/{space}/{name}", "rollout?about=Spot&spot=true&workload={kind}/{space}/{name}", "?namespace={space}&search={name}",
    "restarts?loop={name}", "inventory?search={name}", "compare?changes=scale:{kind}/{space}/{name}:3", "what_if?changes=scale:{kind}/{space}/{name}:3",
)  # fmt: skip


@dataclass
class Person:
    """One of the two, signed in, and all they were sent."""

    team: str
    visitor: Visitor
    sent: list[bytes]

    @property
    def page(self) -> Page:
        return self.visitor.page

    def open(self, path: str) -> str:
        """Go to a page and take what it says."""
        self.visitor.open(path)
        return self.visitor.main().inner_text()

    def download(self) -> int:
        """Every file that the page offers; how many there were."""
        buttons = self.page.get_by_test_id("stMain").get_by_test_id("stDownloadButton").get_by_role("button")
        count = buttons.count()
        for place in range(count):
            if buttons.nth(place).is_visible():
                with self.page.expect_download(timeout=60_000) as found:
                    buttons.nth(place).click()
                self.sent.append(Path(found.value.path()).read_bytes())
        return count

    def was_told(self, word: str) -> list[bytes]:
        """Where what they were sent has `word` in it, whatever its letters."""
        every = [re.search(rb".{0,100}%b.{0,40}" % word.encode(), one, re.IGNORECASE | re.DOTALL) for one in self.sent]
        return [one.group() for one in every if one]


@contextmanager
def shared_cluster(folder: Path) -> Iterator[str]:
    """``headroom serve --dashboard`` of both teams' live cluster, where people sign in, beside a store of it; its URL."""
    cluster = LivingCluster(bookmark_seconds=1)
    every = [*shared(), *(item for one in TEAMS for item in team(one))]
    cluster.put_many([one for one in every if one["kind"] in READ])
    with (
        api_server(cluster.play, Tls(*certificate(folder))) as (configuration, _),
        provider(folder, people=PEOPLE) as at,
    ):
        config = kubeconfigs.write(folder / "config", configuration.host, certificate_authority=folder / "tls.crt")
        environment = {**os.environ, "KUBECONFIG": str(config), "HEADROOM_STORE": str(folder / "store")}
        port = reserved()
        (folder / "sign-in.toml").write_text(CONFIGURATION.format(provider=at, port=port))
        python = [sys.executable, "-c", "from planner.cli import main; main()"]
        for name in ("one", "other"):
            keep = [*python, "snapshot", "context:edu", "--name", name, "--store", str(folder / "store")]
            subprocess.run(keep, check=True, cwd=ROOT, env=environment, capture_output=True)
        command = [*python, "serve", "context:edu", "--dashboard", "--port", str(port), "--workers", "1"]
        with (folder / "serve.log").open("wb") as log, subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=log, env={**environment, "HEADROOM_SIGN_IN": str(folder / "sign-in.toml")}
        ) as process:  # fmt: skip
            served = Served(f"http://127.0.0.1:{port}", cluster, [False], folder / "serve.log", [])
            try:
                wait(served, process)
                yield f"http://localhost:{port}"
            finally:
                process.terminate()
                process.wait(20)


@pytest.fixture(scope="module")
def people(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, Person]]:
    with shared_cluster(tmp_path_factory.mktemp("teams")) as url:
        found = []
        for one in TEAMS:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = arrive(context, url)
            person = Person(one, Visitor(page, url), heard(page))
            sign_in(page, f"{one}-person")
            expect(page.get_by_text("Namespaces you see")).to_be_visible()
            found.append(person)
        yield found[0], found[1]
        for person in found:
            person.page.context.close()


@pytest.mark.parametrize("path", [path for path, _ in pages()])
def test_one_after_the_other_on_the_same_page(people: tuple[Person, Person], path: str) -> None:
    otter, zebra = people
    first = [(zebra, otter), (otter, zebra)]
    for person, other in each(reversed(first) if len(path) % 2 else first):
        person.sent.clear()
        text = person.open(path)
        person.download()
        assert person.was_told(other.team) == []
        assert other.team not in text.lower()
        if path in ("", "rollout", "memory", "restarts", "headroom", "costs", "drift"):
            assert person.was_told(person.team), "and they see their own"


@pytest.mark.parametrize("link", LINKS)
def test_a_link_with_anothers_names_says_no_more_than_one_with_none(people: tuple[Person, Person], link: str) -> None:
    """Whether such a workload or namespace is there can't be told either."""
    otter, zebra = people
    names = {"space": "zebra-lab", "name": "zebra-serve"}
    own = zebra.open(link.format(kind="Deployment", **names))  # so that it is answered and kept
    assert "zebra" in own.lower()
    nobody = {"space": "heron-lab", "name": "heron-serve"}
    theirs, none = _as_of_one_snapshot(lambda which: otter.open(link.format(kind="Deployment", **which)), names, nobody)
    assert theirs.replace("zebra", "heron") == none


def _as_of_one_snapshot(
    opened: Callable[[dict[str, str]], str], first: dict[str, str], second: dict[str, str]
) -> tuple[str, str]:
    """The words of both, once they were taken of the same snapshot: a newer one comes once a minute, with other ages."""
    for _ in range(5):
        one, other = opened(_quoted(first)), opened(_quoted(second))
        if _TAKEN.findall(one) == _TAKEN.findall(other):
            return _LIVE.sub("", one), _LIVE.sub("", other)
    pytest.fail("five times in a row a newer snapshot came between two opens")


_LIVE = re.compile(r"Live: as it .*")
_TAKEN = re.compile(r"\d\d:\d\d UTC")


def _quoted(names: dict[str, str]) -> dict[str, str]:
    return {key: quote(one) for key, one in names.items()}


def test_another_time_of_the_store_is_seen_with_the_same_eyes(people: tuple[Person, Person]) -> None:
    otter, zebra = people
    for person, other in ((zebra, otter), (otter, zebra)):
        person.sent.clear()
        assert "History is kept of all namespaces together" in person.open("history")
        person.open("compare?two_times=true&of_store=one")
        person.open("clusters?clusters=edu&clusters=one+(store)&clusters=other+(store)")
        person.download()
        assert person.was_told(person.team)
        assert person.was_told(other.team) == []


def test_metrics_and_others_files_are_closed(people: tuple[Person, Person]) -> None:
    otter, _ = people
    answers = {
        path: otter.page.request.get(f"{otter.visitor.url}/{path}")
        for path in ("metrics", "_stcore/metrics", "media/none.json")
    }
    assert answers["metrics"].status == 403
    assert "zebra" not in answers["metrics"].text()
    assert answers["media/none.json"].status == 404
    assert "zebra" not in answers["_stcore/metrics"].text()
