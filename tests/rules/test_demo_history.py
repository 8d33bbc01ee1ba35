"""The demo's history is what its script makes of the demo today, its newest moment the demo itself; it holds no secret."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path

from planner.ground.records import replace
from planner.history import snapshot_bytes
from planner.history.snapshot_names import snapshot_id
from planner.sources import demo
from planner.sources.store import Store
from tests.builders import demo_history
from tests.prices_of_a_day import shipped

_TEMPLATE = re.compile(r'"(eyJ[A-Za-z0-9+/]+=*)"')  # JSON in base64


def test_it_is_what_its_script_makes(tmp_path: Path) -> None:
    with shipped():
        demo_history.write(tmp_path)
    stands, made = Store(str(demo.history_folder())), Store(str(tmp_path))
    again = "python -m tests.builders.demo_history"
    assert stands.snapshots() == made.snapshots(), again  # by their content's digests
    for old, new in zip(*([store.snapshot(one) for one in store.snapshots()] for store in (stands, made)), strict=True):
        assert (old.nodes, old.events) == (new.nodes, new.events), again  # templates have digests of each process' own
    assert replace(stands.history(), url="") == replace(made.history(), url=""), again


def test_its_newest_moment_is_the_demo_and_the_others_are_earlier() -> None:
    store = Store(str(demo.history_folder()))
    *before, newest = store.snapshots()
    assert newest.snapshot == snapshot_id(demo.read())
    assert [round((newest.taken_at - one.taken_at) / 86_400) for one in before] == [14, 7]
    for one in before:
        snapshot = store.snapshot(one)
        assert max(pod.created_at or 0.0 for pod in snapshot.pods) <= snapshot.taken_at
        assert max(node.created_at or 0.0 for node in snapshot.nodes) <= snapshot.taken_at


def test_its_files_are_small_and_hold_no_secret() -> None:
    files = [path for path in demo.history_folder().rglob("*") if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in files) < 200_000
    store = Store(str(demo.history_folder()))
    for one in store.snapshots():
        text = snapshot_bytes.encode(store.snapshot(one)).decode()
        plain = _TEMPLATE.sub(lambda found: b64decode(found[1]).decode(), text)
        assert '"containers"' in plain
        assert "not-a-real-secret" not in plain
        assert "DATABASE_PASSWORD" not in plain
