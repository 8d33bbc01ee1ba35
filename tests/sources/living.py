"""A cluster that lives in an API server's place: objects that come, change and go, lists in pages, watches with bookmarks.

It behaves as the recordings of a real API server do (tests/sources/data/wire.json.gz): resourceVersions of one row for all
kinds, lists in the order of ``namespace/name`` and of one moment through all pages, 410 for what is too long ago.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from planner.inventory import api_types
from planner.kubernetes.unplayed_kinds import LISTED
from planner.sources.kubernetes_api import PATHS
from tests.sources.api_server import NOT_FOUND, Answer, Asked

Item = dict[str, Any]


def status(code: int, message: str, **more: Any) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}, "message": message, "code": code}
    return Answer(status=code, body={**body, **more})


def path_of(kind: str) -> str:
    return PATHS[kind][0]


def path_of_item(item: Item) -> str:
    group = str(item["apiVersion"]).rpartition("/")[0]
    listed = next((name for name, one in LISTED.items() if (one.kind, one.group) == (item["kind"], group)), "")
    return path_of(listed or item["kind"])


class LivingCluster:
    """Objects by path and ``namespace/name``. `bookmark_seconds` is a minute in life; tests haven't got one.

    `installed`: the lists of other projects that it has (`planner.kubernetes.unplayed_kinds`); `tells_groups`: whether it answers discovery.
    """

    def __init__(
        self, *, bookmark_seconds: float = 0.2, installed: Iterable[str] = (), tells_groups: bool = True
    ) -> None:
        self.tells_groups = tells_groups
        self.version = 100
        self.bookmark_seconds = bookmark_seconds
        self.kinds = {path_of(kind): kind for kind in (*api_types.READ, *installed)}
        self._objects: dict[str, dict[str, bytes]] = {path: {} for path in self.kinds}
        self._log: dict[str, list[tuple[int, bytes]]] = {path: [] for path in self.kinds}
        self._oldest = dict.fromkeys(self.kinds, 0)
        self._pages: dict[str, tuple[int, list[bytes]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        # One for each path: an event wakes those who watch its kind. Were all woken, each would send a bookmark for each event of
        # any kind, more than a busy machine reads.
        self._news = {path: threading.Condition(self._lock) for path in self.kinds}
        self._cuts = 0
        self.watching: dict[str, int] = dict.fromkeys(self.kinds, 0)

    # ── what happens in it ───────────────────────────────────────────────────────────────────────────────────────────
    def put(self, item: Item) -> None:
        """An object as it is now; new or changed."""
        path, key = path_of_item(item), _key(item)
        with self._lock:
            is_new = key not in self._objects[path]
            self._tell(path, "ADDED" if is_new else "MODIFIED", item)
            self._objects[path][key] = json.dumps(item).encode()
            self._news[path].notify_all()

    def put_many(self, items: Iterator[Item] | list[Item]) -> None:
        """Objects that are there from the beginning: no events."""
        with self._lock:
            for item in items:
                self.version += 1
                item["metadata"]["resourceVersion"] = str(self.version)
                self._objects[path_of_item(item)][_key(item)] = json.dumps(item).encode()

    def delete(self, item: Item) -> None:
        path = path_of_item(item)
        with self._lock:
            if self._objects[path].pop(_key(item), None) is not None:
                self._tell(path, "DELETED", item)
                self._news[path].notify_all()

    def _tell(self, path: str, event: str, item: Item) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        self._log[path].append((self.version, json.dumps({"type": event, "object": item}).encode() + b"\n"))
        del self._log[path][:-100_000]

    def compact(self) -> None:
        """Forget all events: whoever watches from before has to list anew. Watches that run are cut."""
        with self._lock:
            self.version += 1
            for path in self.kinds:
                self._log[path].clear()
                self._oldest[path] = self.version
        self.cut()

    def cut(self) -> None:
        """Break every watch off, in the middle of whatever is sent."""
        with self._lock:
            self._cuts += 1
            for news in self._news.values():
                news.notify_all()

    def go_back(self) -> None:
        """A restored backup: resourceVersions are smaller than they were."""
        with self._lock:
            self.version = 1
            for path in self.kinds:
                self._log[path].clear()
                self._oldest[path] = 0

    # ── what it answers ──────────────────────────────────────────────────────────────────────────────────────────────
    def play(self, asked: Asked) -> Answer:
        if asked.path == "/apis" and self.tells_groups:
            groups = sorted({path.split("/")[2] for path in self.kinds if path.startswith("/apis/")})
            return Answer(
                body={"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": one} for one in groups]}
            )
        if asked.path not in self.kinds or self.kinds[asked.path] == "PodMetrics":
            return Answer(status=404, body=NOT_FOUND)
        if asked.query.get("watch") in ("1", "true"):
            return self._watch(asked)
        return self._list(asked)

    def _list(self, asked: Asked) -> Answer:
        token = asked.query.get("continue", "")
        with self._lock:
            if token:
                if token not in self._pages:
                    return status(410, "The provided continue parameter is too old", reason="Expired")
                version, rest = self._pages.pop(token)
            else:
                version, objects = self.version, self._objects[asked.path]
                rest = [objects[key] for key in sorted(objects)]
        limit = int(asked.query.get("limit", 0)) or len(rest)
        page, rest = rest[:limit], rest[limit:]
        after = ""
        if rest:
            after = f"page-{next(self._numbers)}"
            self._pages[after] = version, rest
        name = self.kinds[asked.path]
        kind = LISTED[name].kind if name in LISTED else name
        group = asked.path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
        metadata = {"resourceVersion": str(version), **({"continue": after} if after else {})}
        head = json.dumps({"kind": f"{kind}List", "apiVersion": group, "metadata": metadata})
        return Answer(body=f'{head[:-1]}, "items": [{b",".join(page).decode()}]}}')

    def _watch(self, asked: Asked) -> Answer:
        version = asked.query.get("resourceVersion", "0")
        if not version.isdecimal():
            return status(500, f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: invalid syntax')
        seconds = float(asked.query.get("timeoutSeconds", 3600))
        return Answer(stream=self._events(asked.path, int(version), seconds))

    def _events(self, path: str, version: int, seconds: float) -> Iterator[bytes]:
        if version < self._oldest[path]:
            gone = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
                    "message": f"too old resource version: {version} ({self._oldest[path]})", "code": 410}  # fmt: skip
            yield json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n"
            return
        deadline, cuts, place = time.monotonic() + seconds, self._cuts, 0
        self.watching[path] += 1
        try:
            while time.monotonic() < deadline:
                with self._lock:
                    log = self._log[path]
                    fresh = [line for at, line in log[place if place <= len(log) else 0 :] if at > version]
                    if not fresh and self._cuts == cuts:
                        self._news[path].wait(self.bookmark_seconds)
                        log = self._log[path]
                        fresh = [line for at, line in log if at > version]
                    place = len(log)
                    if self._cuts != cuts:
                        if fresh:
                            yield fresh[0][: len(fresh[0]) // 2]  # the line never ends
                        raise ConnectionError
                    now = log[-1][0] if log else self.version
                if fresh:
                    version = now
                    yield b"".join(fresh)
                else:
                    version = max(version, now)
                    bookmark = {"kind": self.kinds[path], "metadata": {"resourceVersion": str(version)}}
                    yield json.dumps({"type": "BOOKMARK", "object": bookmark}).encode() + b"\n"
        finally:
            self.watching[path] -= 1


def _key(item: Item) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
