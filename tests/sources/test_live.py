"""A reader against a cluster that lives: what changes is followed, what breaks is repaired, what was known stays.

With HEADROOM_TEST_CONTEXT the tests marked so are asked of that cluster too.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from planner.ground.errors import SourceError
from planner.inventory import api_types, input_report, snapshot_delta
from planner.inventory.lists_from_watch_events import Picture
from planner.kubernetes.object_records import Presence, Snapshot
from planner.kubernetes.unplayed_kinds import LISTED
from planner.questions import doctor
from planner.sources import kubernetes_api, kubernetes_watch, watched_cluster
from planner.sources.api_server_connection import Connection, Pace, requests_last_minute
from planner.sources.source_limits import LIMITS
from planner.sources.watched_cluster import LiveReader, Timing
from tests.architecture.tree import ROOT
from tests.bench.webhook import certificate
from tests.builders.certificates import DAY
from tests.builders.certificates import certificate as dated
from tests.builders.objects import deployment, node, pod_spec
from tests.sources.api_server import Answer, Asked, Play, Tls, api_server
from tests.sources.living import Item, LivingCluster, path_of, status

QUICK = Timing(
    snapshot=0.02, unchanged=0.2, pulse=0.05, watch=(1, 2), silence=2.0, poll=0.05, absent=0.2, first_wait=0.01, longest_wait=0.05,
)  # fmt: skip
REAL = os.environ.get("HEADROOM_TEST_CONTEXT", "")
MANY = 1_000_000  # requests a minute, for tests that list again and again until it holds
PODS, NODES = path_of("Pod"), path_of("Node")
WATCHED = json.loads(gzip.decompress((Path(__file__).parent / "data" / "watch.json.gz").read_bytes()))


def eventually(holds: Callable[[], bool], seconds: float = 240.0) -> None:
    """Wait until it holds; machines may be slow, so that nothing is said of how long that takes."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.01)


def pod(name: str, cpu: str = "100m", on: str = "n0") -> Item:
    return {
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "prod", "uid": f"uid-{name}"},
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"},
    }  # fmt: skip


@pytest.fixture
def cluster() -> LivingCluster:
    living = LivingCluster(bookmark_seconds=0.05)
    spec = pod_spec(gpus=1, cpu="3", memory="6Gi")
    living.put_many([node("n0", pool="gpu", gpus=1), *deployment("serve", ["n0"], spec)])
    living.put_many([pod(f"p{number}") for number in range(7)])
    return living


@contextmanager
def reading(
    play: Play,
    *,
    timing: Timing = QUICK,
    log_in: Callable[[], client.Configuration] | None = None,
    most_per_minute: int = LIMITS.requests_per_minute,
    **server: Any,
) -> Iterator[tuple[LiveReader, list[Asked]]]:
    with api_server(play, **server) as (configuration, asked):

        def connect(name: str) -> Connection:
            connection = Connection(configuration, name=name, log_in=log_in)
            connection.pace.most_per_minute = most_per_minute
            return connection

        reader = LiveReader("test", timing=timing, connect=connect)
        reader.start()
        try:
            yield reader, asked
        finally:
            reader.stop()
            # A connection that the server, gone, resets before its TLS begins is left open by Python's ssl (3.11), and
            # its warning fails whichever test runs then: the server goes after those who connect.
            for thread in reader._threads if server.get("tls") else ():
                thread.join(60)
                assert not thread.is_alive(), thread.name


def names(snapshot: Snapshot | None) -> set[str]:
    return {one.name for one in snapshot.pods} if snapshot is not None else set()


def listed(reader: LiveReader) -> Snapshot:
    return kubernetes_api.Api(reader._connection).snapshot()


def lists(asked: list[Asked], path: str) -> int:
    return sum(one.path == path and "watch" not in one.query and "continue" not in one.query for one in asked)


# ── what changes ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_changes_is_followed_without_listing_anew(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, asked):
        first = reader.wait(60)
        assert names(first) >= {f"p{number}" for number in range(7)}
        cluster.put(pod("new"))
        cluster.delete(pod("p3"))
        cluster.put(pod("p1", cpu="700m"))
        eventually(lambda: {"new"} <= names(reader.snapshot) and "p3" not in names(reader.snapshot))
        eventually(lambda: reader.snapshot is not None and reader.snapshot.digest == listed(reader).digest)
        once = lists(asked, PODS)
        found = reader.snapshot
        assert found is not None
        assert found.source == "test"
        assert snapshot_delta.path(found, lambda name: name == snapshot_delta.name_of(first)) is not None
    assert once == 1 + _compared(asked), "watched, not listed again"


def _compared(asked: list[Asked]) -> int:
    """How often the test itself listed: it asks for nodes as often as for pods."""
    return lists(asked, NODES) - 1


def test_a_quiet_cluster_keeps_its_name_and_gets_a_new_time(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, _):
        first = reader.wait(60)
        eventually(lambda: reader.snapshot is not None and reader.snapshot.taken_at > first.taken_at)
        found = reader.snapshot
        assert found is not None
        assert found.digest == first.digest
        assert found.pods is first.pods, "nothing was made anew"
        assert reader.condition.failing == ""


def test_every_kind_but_metrics_is_watched_with_bookmarks(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: reader.condition.watched == len(api_types.READ) - 1)
        opened = [one for one in asked if "watch" in one.query]
    assert {one.query["allowWatchBookmarks"] for one in opened} == {"true"}
    assert all(one.query["resourceVersion"].isdecimal() for one in opened)
    assert all(1 <= int(one.query["timeoutSeconds"]) <= 2 for one in opened)


# ── what breaks ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_watch_that_is_cut_goes_on_from_where_it_was(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: cluster.watching[PODS] == 1)
        for number in range(5):
            cluster.put(pod(f"cut-{number}"))
            cluster.cut()
        eventually(lambda: {f"cut-{number}" for number in range(5)} <= names(reader.snapshot))
        assert lists(asked, PODS) == 1


def test_too_old_a_version_is_listed_anew(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: cluster.watching[PODS] == 1)
        cluster.put(pod("seen"))
        eventually(lambda: "seen" in names(reader.snapshot))
        with cluster._lock:  # what happens while nobody looks, and is forgotten
            cluster._objects[PODS].pop("prod/p1")
        cluster.compact()
        eventually(lambda: "p1" not in names(reader.snapshot))
        assert lists(asked, PODS) >= 2


def test_a_restored_backup_is_noticed(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: reader._picture.versions.get("Namespace", "") != "")
        with cluster._lock:
            cluster._objects[PODS].pop("prod/p2")
        cluster.go_back()
        eventually(lambda: "p2" not in names(reader.snapshot))
        eventually(lambda: lists(asked, NODES) >= 2)


def test_a_late_answer_is_no_restored_backup(cluster: LivingCluster) -> None:
    """A look at the server is answered, and before the answer is read a watch tells of something newer."""
    readers: list[LiveReader] = []
    late: list[int] = []

    def play(asked: Asked) -> Answer:
        answer = cluster.play(asked)
        if readers and "watch" not in asked.query and asked.query.get("limit") == "1" and len(late) < 3:
            late.append(cluster.version)
            cluster.put(pod(f"new-{len(late)}"))
            eventually(lambda: int(readers[0]._picture.versions["Namespace"]) > late[-1])
        return answer

    with reading(play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: reader._picture.versions.get("Namespace", "") != "")
        once = lists(asked, NODES)
        readers.append(reader)
        eventually(lambda: len(late) == 3 and "new-3" in names(reader.snapshot))
        eventually(lambda: sum(one.query.get("limit") == "1" for one in asked) > len(late) + 3)
        assert lists(asked, NODES) == once == 1, "nothing was listed anew"


def test_gone_for_an_hour_the_last_good_snapshot_stays(cluster: LivingCluster) -> None:
    is_gone = threading.Event()

    def play(asked: Asked) -> Answer:
        return status(503, "the server is gone") if is_gone.is_set() else cluster.play(asked)

    with reading(play) as (reader, asked):
        before = reader.wait(60)
        is_gone.set()
        cluster.cut()
        eventually(lambda: reader.condition.failing != "")
        age = reader.condition.age_seconds
        count = len(asked)
        eventually(lambda: reader.condition.age_seconds > age + 0.3)
        assert names(reader.wait()) == names(before), "what was known is still there"
        assert len(asked) - count <= reader.pace.most_per_minute
        cluster.put(pod("since"))
        is_gone.clear()
        eventually(lambda: "since" in names(reader.snapshot))
        eventually(lambda: reader.condition.failing == "")


def test_a_frozen_server_ages_what_is_known_from_when_it_last_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to it hangs for a minute before it fails, and a watch is silent for as long before that is noticed."""
    now = [1_000_000.0]
    monkeypatch.setattr("planner.sources.watched_cluster.time.time", lambda: now[0])
    with api_server(lambda _: status(503, "gone")) as (configuration, _):
        reader = LiveReader(
            "test", timing=Timing(pulse=10.0), connect=lambda name: Connection(configuration, name=name)
        )
        pods = reader._kinds["Pod"]
        pods.is_listed, pods.heard_at = True, now[0]
        now[0] += 20
        assert reader._known_at(now[0]) == now[0], "a look may take a while"
        now[0] += 10
        assert reader._known_at(now[0]) == now[0] - 30, "nothing failed yet, and nothing was heard"
        now[0] += 30
        reader._fail("Pod", SourceError("the server sent nothing for 1 min"))
        assert reader._known_at(now[0]) == now[0] - 60, "since the last word, not since the failure was noticed"


@pytest.mark.parametrize("seed", range(20))
def test_the_age_never_falls_while_the_server_is_dead(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whichever watch notices first, whatever the pulse hears, and however often it is tried again."""
    now, chance = [1_000_000.0], random.Random(seed)
    monkeypatch.setattr("planner.sources.watched_cluster.time.time", lambda: now[0])
    with api_server(lambda _: status(503, "gone")) as (configuration, _):
        reader = LiveReader(
            "test", timing=Timing(pulse=10.0), connect=lambda name: Connection(configuration, name=name)
        )
        kinds = [kind for kind in reader._kinds if kind not in kubernetes_api.OPTIONAL]
        for kind in kinds:
            one = reader._kinds[kind]
            one.is_listed, one.heard_at = True, now[0] - chance.random() * 50
        died_at, oldest = now[0], 0.0
        for _ in range(60):
            now[0] += chance.random() * 6
            reader._fail(chance.choice(kinds), SourceError("the server sent nothing for 1 min"))
            if chance.random() < 0.5:
                reader._pulse_failing = "the server sent nothing for 1 min"
            age = now[0] - reader._known_at(now[0])
            assert age >= oldest
            oldest = age
        assert oldest >= now[0] - died_at


def test_not_there_at_the_start_is_an_error_and_then_it_comes(cluster: LivingCluster) -> None:
    is_gone = threading.Event()
    is_gone.set()

    def play(asked: Asked) -> Answer:
        return Answer(body="<html>") if is_gone.is_set() else cluster.play(asked)

    with reading(play) as (reader, _):
        with pytest.raises(SourceError, match="isn't a list in JSON"):
            reader.wait(60)
        is_gone.clear()
        eventually(lambda: names(reader.snapshot) != set())


@pytest.mark.parametrize("kinds", [("Pod",), ("Node", "Pod", "Deployment")])
def test_what_may_be_listed_and_not_watched_is_listed_every_so_often(
    cluster: LivingCluster, kinds: tuple[str, ...]
) -> None:
    paths = {path_of(kind) for kind in kinds}

    def play(asked: Asked) -> Answer:
        if asked.path in paths and "watch" in asked.query:
            return status(403, "pods is forbidden: cannot watch resource", reason="Forbidden")
        return cluster.play(asked)

    with reading(play) as (reader, _):
        reader.wait(60)
        cluster.put(pod("polled"))
        eventually(lambda: "polled" in names(reader.snapshot))
        eventually(lambda: set(kinds) <= set(reader.condition.polled))
        eventually(lambda: sum(one.code == "kind-not-watched" for one in reader.wait().problems) == len(kinds))


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    wait = watched_cluster._Wait(Timing(first_wait=0.5, longest_wait=30.0))
    assert 0.25 <= wait.next() <= 0.5
    assert wait.next(20.0) == 20.0
    assert wait.next(3600.0) == 30.0, "within the bound"


def test_a_watch_that_is_put_off_goes_on_later(cluster: LivingCluster) -> None:
    """API Priority and Fairness answers a watch that would be too much with 429 and Retry-After."""
    put_off = [3600, 1]

    def play(asked: Asked) -> Answer:
        if asked.path == PODS and "watch" in asked.query and put_off:
            return Answer(status=429, body="too many requests", headers={"Retry-After": str(put_off.pop())})
        return cluster.play(asked)

    with reading(play) as (reader, asked):
        reader.wait(60)
        cluster.put(pod("after"))
        eventually(lambda: "after" in names(reader.snapshot))
        assert lists(asked, PODS) == 1, "and not listed anew for it"
        assert not put_off


@pytest.mark.parametrize("seconds", [0.0, 7.0])
def test_what_a_watch_is_refused_with_is_told(cluster: LivingCluster, seconds: float) -> None:
    headers = {"Retry-After": str(int(seconds))} if seconds else {}
    with api_server(lambda _: Answer(status=503, body="", headers=headers)) as (configuration, _):
        connection = Connection(configuration, name="edu")
        with pytest.raises(SourceError, match="status 503") as told:
            kubernetes_watch.opened(connection, PODS, "1", seconds=1, silence_seconds=1.0)
    assert getattr(told.value, "seconds", 0.0) == seconds


def test_a_list_that_is_refused_is_refused_not_empty(cluster: LivingCluster) -> None:
    def play(asked: Asked) -> Answer:
        return status(403, "forbidden") if asked.path == PODS else cluster.play(asked)

    with reading(play) as (reader, _):
        assert reader.wait(60).presence["Pod"] is Presence.REFUSED


def test_an_optional_kind_that_fails_does_not_hold_the_rest_up(cluster: LivingCluster) -> None:
    def play(asked: Asked) -> Answer:
        return Answer(body="no list") if asked.path == path_of("Event") else cluster.play(asked)

    with reading(play) as (reader, _):
        snapshot = reader.wait(60)
        assert names(snapshot)
        eventually(lambda: any(one.code == "kind-unread" for one in reader.wait().problems))
        eventually(lambda: reader.condition.failing == "")


def test_a_token_that_expires_is_taken_anew(cluster: LivingCluster) -> None:
    good = ["first"]

    def play(asked: Asked) -> Answer:
        if asked.authorization != f"Bearer {good[0]}":
            return status(401, "Unauthorized")
        return cluster.play(asked)

    with api_server(play) as (configuration, _):
        logins: list[str] = []

        def log_in() -> client.Configuration:
            logins.append(good[0])
            new = client.Configuration()
            new.host, new.api_key = configuration.host, {"BearerToken": f"Bearer {good[0]}"}
            return new

        reader = LiveReader("test", timing=QUICK, connect=lambda name: Connection(log_in(), name=name, log_in=log_in))
        reader.start()
        try:
            reader.wait(60)
            good[0] = "second"
            cluster.cut()
            cluster.put(pod("after"))
            eventually(lambda: "after" in names(reader.snapshot))
            assert logins == ["first", "second"], "asked for once, by whichever watch was first"
        finally:
            reader.stop()


def test_over_tls_with_a_clock_that_is_ahead(cluster: LivingCluster, tmp_path: Path) -> None:
    tls = Tls(*certificate(tmp_path))
    with reading(cluster.play, tls=tls, clock_ahead_seconds=3600) as (reader, _):
        snapshot = reader.wait(60)
        assert snapshot.taken_at > time.time() + 3000, "ages are counted by the clock that wrote the objects' times"
        (said,) = (one for one in snapshot.problems if one.code == "clocks-differ")
        assert "1 h" in said.what
        assert reader.condition.age_seconds < 3000


def test_a_server_whose_certificate_ends_soon_says_so(cluster: LivingCluster, tmp_path: Path) -> None:
    now = time.time()
    tls = Tls(*dated(tmp_path, now - 300 * DAY, now + 3.5 * DAY))
    with reading(cluster.play, tls=tls) as (reader, _):
        (said,) = (one.what for one in reader.wait(60).problems if one.code == input_report.EXPIRES)
        assert said.startswith("the API server's certificate expires in 3 days")


def test_whatever_comes_it_is_what_a_listing_says(cluster: LivingCluster) -> None:
    draw = random.Random(5)
    with reading(cluster.play, most_per_minute=MANY) as (reader, _):
        reader.wait(60)
        for _ in range(300):
            name = f"p{draw.randrange(20)}"
            if draw.random() < 0.3:
                cluster.delete(pod(name))
            else:
                cluster.put(pod(name, cpu=f"{draw.randrange(1, 9)}00m"))
            if draw.random() < 0.03:
                draw.choice((cluster.cut, cluster.compact))()
        eventually(lambda: reader.wait().digest == listed(reader).digest)


def test_it_asks_for_what_the_cluster_role_grants_and_no_more() -> None:
    every = LivingCluster(bookmark_seconds=0.2, installed=LISTED)
    with reading(every.play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: reader.condition.watched == len(kubernetes_api.PATHS) - 1)
        done = {_right(one) for one in asked if one.path != "/apis"}  # which groups there are may be read by everybody
    role = yaml.safe_load((ROOT / "deploy/clusterrole.yaml").read_text())
    granted = {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert done == granted


def _right(asked: Asked) -> tuple[str, str, str]:
    parts = asked.path.strip("/").split("/")
    return ("" if parts[0] == "api" else parts[1]), parts[-1], "watch" if "watch" in asked.query else "list"


# ── what other projects bring ────────────────────────────────────────────────────────────────────────────────────────
def ray_service(gpus: int, name: str = "chat") -> Item:
    return {
        "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {"rayClusterConfig": {"headGroupSpec": {"template": {"spec": pod_spec(gpus=gpus)}}}},
    }  # fmt: skip


def told(snapshot: Snapshot | None) -> list[tuple[str, int]]:
    return [(one.key, one.pods[0].count) for one in snapshot.unplayed] if snapshot is not None else []


@pytest.mark.parametrize("tells_groups", [True, False])
def test_objects_of_other_projects_are_listed_and_watched_where_they_are_installed(tells_groups: bool) -> None:
    """What isn't installed is absent, not refused; where discovery answers it isn't even asked for."""
    there = LivingCluster(bookmark_seconds=0.05, installed=["rayservices.ray.io"], tells_groups=tells_groups)
    there.put_many([ray_service(1)])
    with reading(there.play, most_per_minute=MANY) as (reader, asked):
        assert told(reader.wait(60)) == [("RayService/ml/chat", 1)]
        there.put(ray_service(2, "other"))
        eventually(lambda: ("RayService/ml/other", 1) in told(reader.snapshot))
        eventually(lambda: reader.wait().digest == listed(reader).digest)
        once, live_one = listed(reader), reader.wait()
        assert once.presence == live_one.presence
        assert once.reading.objects == live_one.reading.objects
        assert live_one.presence["rayservices.ray.io"] is Presence.PRESENT
        assert "jobsets.jobset.x-k8s.io" not in live_one.presence
        there.put(ray_service(4, "other"))
        eventually(lambda: reader.wait().digest != live_one.digest)
        there.delete(ray_service(4, "other"))
        eventually(lambda: told(reader.snapshot) == [("RayService/ml/chat", 1)])
        assert reader.wait().problems == ()
    assert any("/jobset.x-k8s.io/" in one.path for one in asked) is not tells_groups


def test_a_list_of_another_project_that_is_refused_is_refused_not_empty() -> None:
    there = LivingCluster(installed=["rayservices.ray.io"])

    def play(one: Asked) -> Answer:
        return status(403, "not for you") if "/rayservices" in one.path else there.play(one)

    with reading(play) as (reader, _):
        snapshot = reader.wait(60)
        assert listed(reader).presence == snapshot.presence
    assert snapshot.presence["rayservices.ray.io"] is Presence.REFUSED
    assert [one for one in input_report.not_seen(snapshot) if "rayservices.ray.io" in one] == [
        "the API server refused to list rayservices.ray.io (403). Ask for the right to get and list rayservices.ray.io"
    ]
    found = doctor.answer(snapshot, doctor.DoctorSettings())
    assert '  - apiGroups: ["ray.io"]\n    resources: [rayservices]\n' in found.rbac


def test_a_project_whose_own_webhook_is_broken_keeps_nothing_else_from_being_read() -> None:
    there = LivingCluster(installed=["rayservices.ray.io"])
    there.put_many([pod("p")])

    def play(one: Asked) -> Answer:
        return (
            status(404 if one.query.get("watch") else 422, "conversion")
            if "/rayservices" in one.path
            else there.play(one)
        )

    with reading(play) as (reader, _):
        snapshot = reader.wait(60)
    assert names(snapshot) == {"p"}
    assert any(one.code == "kind-unread" and "rayservices.ray.io" in one.what for one in snapshot.problems)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_more_requests_a_minute_than_stated() -> None:
    pace, slept = Pace(3), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        pace._times.popleft()  # a minute later

    for _ in range(3):
        pace.wait(sleep)
    assert (slept, pace.last_minute) == ([], 3)
    pace.wait(sleep)
    assert len(slept) == 1
    assert 59 < slept[0] <= 60


def test_readers_readings_and_logs_of_a_server_share_one_pace(cluster: LivingCluster) -> None:
    with reading(cluster.play) as (reader, asked):
        reader.wait(60)
        eventually(lambda: reader.condition.watched == len(api_types.READ) - 1)
        other = Connection(client.Configuration(host=f"{reader._connection.host}/"), name="by another name")
        assert other.pace is reader.pace
        kubernetes_api.Api(other).snapshot()
        with pytest.raises(SourceError, match="no log"):
            kubernetes_api.Api(other).log("default", "p0", "c", False)
        assert any(one.path.endswith("/pods/p0/log") for one in asked)
        assert requests_last_minute() >= reader.condition.requests >= len(asked)
        assert reader.condition.most_requests == LIMITS.requests_per_minute == 600


def test_at_rest_it_asks_a_dozen_times_a_minute() -> None:
    """The statement of the documents, from the numbers that are used."""
    usual = Timing()
    watches_a_minute = (len(api_types.READ) - 1) * 60 / (sum(usual.watch) / 2)
    assert 10 < watches_a_minute + 60 / usual.pulse + 60 / usual.poll < 14


def made_by_hand(monkeypatch: pytest.MonkeyPatch, *items: Item) -> tuple[LiveReader, list[float]]:
    """A reader that no thread keeps, what it knows, and its clock."""
    now = [1_000_000.0]
    monkeypatch.setattr("planner.sources.watched_cluster.time.time", lambda: now[0])
    reader = LiveReader("test", connect=lambda name: Connection(client.Configuration(), name=name))
    for kind in api_types.READ:
        reader._picture.take(kind, [item for item in items if item["kind"] == kind])
    reader._make_one()
    return reader, now


def at(reader: LiveReader, now: list[float], seconds: float) -> Snapshot:
    """Its snapshot after so many seconds, in all of which the server answered."""
    now[0] += seconds
    reader._pulse_at = now[0]
    reader._make_one()
    assert reader.snapshot is not None
    return reader.snapshot


def test_in_a_quiet_cluster_a_list_that_lacks_something_counts_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, now = made_by_hand(monkeypatch, node("n0"), node("n1"), pod("p0", on="n0"))
    reader._picture.fold("Node", "DELETED", node("n0"))
    assert [at(reader, now, 3.0).presence["Node"] for _ in range(2)] == [Presence.PRESENT] * 2
    assert at(reader, now, watched_cluster.GAP_SECONDS - 4.0).presence["Node"] is Presence.PRESENT
    partial = at(reader, now, 2.0)
    assert partial.presence["Node"] is Presence.PARTIAL
    assert at(reader, now, 3.0) is partial, "and nothing is made anew for it again"


def test_what_nobody_follows_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    written = deployment("serve", [], pod_spec())[0]

    def writes(generation: int) -> list[int]:
        metadata = {**written["metadata"], "generation": generation}
        reader._picture.fold("Deployment", "MODIFIED", {**written, "metadata": metadata})
        at(reader, now, 3.0)
        return [] if reader._told is None else [write.generation for write in reader._told.writes]

    reader, now = made_by_hand(monkeypatch, written)
    assert writes(2) == []
    found, changes = reader.followed()
    assert (found, changes.writes, changes.is_whole) == (reader.snapshot, (), False), "what came before isn't known"
    assert (writes(3), writes(4)) == ([3], [3, 4])
    assert [write.generation for write in reader.followed()[1].writes] == [3, 4]


def test_nobody_asks_and_it_ends(cluster: LivingCluster) -> None:
    with reading(cluster.play, timing=Timing(snapshot=0.02, idle=0.0, first_wait=0.01)) as (reader, _):
        eventually(lambda: reader.is_ended)
        assert reader.is_ended


def test_one_reader_for_all_who_ask(cluster: LivingCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server(cluster.play) as (configuration, asked):
        monkeypatch.setattr(kubernetes_api, "log_in", lambda _: configuration)
        found: list[LiveReader] = []
        threads = [threading.Thread(target=lambda: found.append(watched_cluster.reader("shared"))) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        try:
            assert len({id(one) for one in found}) == 1
            found[0].wait(60)
            assert lists(asked, PODS) == 1
            assert watched_cluster.running("shared") is found[0]
        finally:
            found[0].stop()
        assert watched_cluster.running("shared") is None


# ── recordings ───────────────────────────────────────────────────────────────────────────────────────────────────────
def recorded(name: str) -> Play:
    one = WATCHED[name]
    if one["status"] != 200:
        return lambda _: Answer(status=one["status"], body=one["lines"][0])
    return lambda _: Answer(stream=iter([json.dumps(line).encode() + b"\n" for line in one["lines"]]))


def opened(name: str) -> tuple[list[kubernetes_watch.WatchEvent], Connection]:
    with api_server(recorded(name)) as (configuration, _):
        connection = Connection(configuration, name="test")
        _, events = kubernetes_watch.opened(connection, "/watched", "169", seconds=6, silence_seconds=5)
        return list(events), connection


def test_a_recorded_watch_folds_into_its_last_state() -> None:
    events, _ = opened("deployments from a resourceVersion, closed by timeoutSeconds")
    assert {one.type for one in events} == {"MODIFIED", kubernetes_watch.BOOKMARK}
    assert kubernetes_watch.version_in(events[-1].object) == "185"
    streamed, _ = opened("streaming list")
    folded, taken = Picture(), Picture()
    for event in events:
        folded.fold("Deployment", event.type, event.object)
    taken.take("Deployment", [one.object for one in streamed if one.type == "ADDED"])
    ours, theirs = (one.snapshot(source="x", taken_at=1.0).workloads for one in (folded, taken))
    assert ours == theirs


def test_recorded_pods_that_came_and_went() -> None:
    events, _ = opened("too old a resourceVersion")
    picture = Picture()
    for event in events:
        picture.fold("Pod", event.type, event.object)
    there = {json.loads(bytes(one.object))["metadata"]["name"] for one in events if one.type != "DELETED"}
    gone = {json.loads(bytes(one.object))["metadata"]["name"] for one in events if one.type == "DELETED"}
    assert gone
    assert {one.name for one in picture.snapshot(source="x", taken_at=1.0).pods} == there - gone


def test_a_version_of_the_future_says_nothing() -> None:
    assert opened("a resourceVersion of the future")[0] == []


def test_a_status_in_place_of_a_stream_is_told() -> None:
    with pytest.raises(SourceError, match="resourceVersion: Invalid value"):
        opened("bad resourceVersion")


# ── a real cluster ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.skipif(not REAL, reason="HEADROOM_TEST_CONTEXT names no context")
def test_a_real_cluster_is_watched_as_it_is_listed() -> None:
    reader = watched_cluster.reader(REAL)
    try:
        assert reader.wait(300).nodes
        eventually(lambda: reader.wait().digest == kubernetes_api.read(REAL).digest, 300)
        assert reader.condition.failing == ""
        assert reader.condition.watched >= 20
    finally:
        reader.stop()
