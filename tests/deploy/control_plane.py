"""An API server that a real kubectl writes to, with controllers that are done at once, or never.

It refuses what a real one refuses: resource types that aren't installed, subresources that a type hasn't, names that are
taken or unknown, a strategic merge patch of a custom resource (415). Discovery is the unaggregated one, which kubectl falls back to.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner.kubernetes.strategic_merge_patch import merge
from tests.deploy import server_side
from tests.sources.api_server import Answer, Asked
from tests.sources.living import Item, status

VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]
_BUILT_IN: Final = ("", "apps", "batch")


@dataclass(frozen=True)
class Resource:
    """A resource type; `has_scale`: it has that subresource."""

    kind: str
    group: str
    version: str = "v1"
    has_scale: bool = False

    @property
    def plural(self) -> str:
        return f"{self.kind.lower()}s"

    @property
    def api(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.api}" if self.group else f"/api/{self.api}"


Finish = Callable[[Item], Item]
"""The status that its controller gives an object whose pods are there."""


class ControlPlane:
    """Objects by resource, namespace and name. `finish` says what a controller writes; of names in `stuck` it writes nothing,
    with `late_seconds` it takes so long."""

    def __init__(
        self, resources: list[Resource], finish: Finish, stuck: frozenset[str] = frozenset(), late_seconds: float = 0.0
    ) -> None:
        self.resources = {(one.root, one.plural): one for one in resources}
        self._finish, self._stuck, self._late_seconds = finish, stuck, late_seconds
        self._objects: dict[tuple[str, str, str, str], Item] = {}
        self._log: list[tuple[int, str, tuple[str, str, str, str], Item]] = []
        self._version = 100
        self._news = threading.Condition()

    def put(self, item: Item) -> None:
        """An object that is there from the beginning."""
        found = next(r for r in self.resources.values() if (r.api, r.kind) == (item["apiVersion"], item["kind"]))
        metadata = item["metadata"]
        self._write((found.root, found.plural, metadata["namespace"], metadata["name"]), json.loads(json.dumps(item)))

    def get(self, kind: str, name: str) -> Item | None:
        """The object of that kind and name, if it is there."""
        return next((o for key, o in self._objects.items() if (o["kind"], key[3]) == (kind, name)), None)

    # ── what it answers ──────────────────────────────────────────────────────────────────────────────────────────────
    def play(self, asked: Asked) -> Answer:
        """The answer to one request."""
        found = self._discovery(asked.path)
        if found is not None:
            return Answer(body=found)
        parts = asked.path.strip("/").split("/")
        root = "/" + "/".join(parts[: 2 if parts[0] == "api" else 3])
        rest = parts[2 if parts[0] == "api" else 3 :]
        if rest[:1] == ["namespaces"] and len(rest) == 2:
            return Answer(body={"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": rest[1]}})
        if rest[:1] != ["namespaces"] or len(rest) < 3 or (root, rest[2]) not in self.resources:
            return status(404, "the server could not find the requested resource", reason="NotFound")
        resource = self.resources[root, rest[2]]
        if len(rest) == 3:
            return self._of_all(resource, rest[1], asked)
        key = (root, rest[2], rest[1], rest[3])
        if len(rest) == 5 and (rest[4] != "scale" or not resource.has_scale):
            return status(404, "the server could not find the requested resource", reason="NotFound")
        with self._news:
            there = self._objects.get(key)
            if there is None:
                return status(404, f'{resource.plural} "{key[3]}" not found', reason="NotFound")
            if asked.method == "DELETE":
                del self._objects[key]
                self._tell("DELETED", key, there)
                return Answer(body={"kind": "Status", "apiVersion": "v1", "status": "Success"})
            if len(rest) == 5:
                return self._scaled(key, there, asked)
            return self._one(resource, key, there, asked)

    def _one(self, resource: Resource, key: tuple[str, str, str, str], there: Item, asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(body=there)
        change = json.loads(asked.body)
        if asked.content_type.startswith("application/strategic-merge-patch"):
            if resource.group not in _BUILT_IN:
                return status(415, "the body of the request was in an unknown format", reason="UnsupportedMediaType")
            return Answer(body=self._write(key, merge(there, change)))
        if asked.content_type.startswith("application/apply-patch"):
            return Answer(body=self._write(key, server_side.apply(there, change, asked.query["fieldManager"])))
        if asked.content_type.startswith("application/merge-patch"):
            return Answer(body=self._write(key, _merged(there, change)))
        return status(415, "the body of the request was in an unknown format", reason="UnsupportedMediaType")

    def _scaled(self, key: tuple[str, str, str, str], there: Item, asked: Asked) -> Answer:
        if asked.method != "GET":
            replicas = json.loads(asked.body)["spec"]["replicas"]
            there = self._write(key, {**there, "spec": {**there["spec"], "replicas": replicas}})
        metadata = {"name": key[3], "namespace": key[2], "resourceVersion": there["metadata"]["resourceVersion"]}
        spec = {"replicas": there["spec"]["replicas"]}
        return Answer(body={"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec})

    def _of_all(self, resource: Resource, namespace: str, asked: Asked) -> Answer:
        if asked.method == "POST":
            item = json.loads(asked.body)
            name = item["metadata"].get("name") or f"{item['metadata']['generateName']}x7k2p"
            item["metadata"] |= {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
            key = (resource.root, resource.plural, namespace, name)
            with self._news:
                if key in self._objects:
                    return status(409, f'{resource.plural} "{name}" already exists', reason="AlreadyExists")
                return Answer(status=201, body=self._write(key, item))
        name = asked.query.get("fieldSelector", "").removeprefix("metadata.name=")
        chosen = (resource.root, resource.plural, namespace, name)
        if asked.query.get("watch") in ("1", "true"):
            if "sendInitialEvents" in asked.query:
                return status(422, "sendInitialEvents is forbidden for watch", reason="Invalid")  # as without WatchList
            return Answer(stream=self._watch(chosen, int(asked.query.get("resourceVersion") or 0)))
        with self._news:
            items = [one for key, one in self._objects.items() if key[:3] == chosen[:3] and name in ("", key[3])]
            head = {"kind": f"{resource.kind}List", "apiVersion": resource.api}
            return Answer(body={**head, "metadata": {"resourceVersion": str(self._version)}, "items": items})

    def _watch(self, chosen: tuple[str, str, str, str], version: int) -> Iterator[bytes]:
        """Ended after half a second without news, as a real one is after minutes: whoever watches begins again."""
        for _ in range(10):
            with self._news:
                news = [(at, event, one) for at, event, key, one in self._log if at > version and key == chosen]
                if not news:
                    self._news.wait(0.05)
            for at, event, one in news:
                version = at
                yield json.dumps({"type": event, "object": one}).encode() + b"\n"

    # ── what happens in it ───────────────────────────────────────────────────────────────────────────────────────────
    def _write(self, key: tuple[str, str, str, str], item: Item) -> Item:
        """The object as it is after the write, and after what its controller does to it."""
        before = self._objects.get(key)
        generation = int((before or item)["metadata"].get("generation", 0))
        has_new_spec = before is None or before.get("spec") != item.get("spec")
        item = {**item, "metadata": {**item["metadata"], "generation": generation + has_new_spec}}
        if key[3] not in self._stuck and not self._late_seconds:
            item = self._finished(item)
        self._objects[key] = self._tell("MODIFIED" if before else "ADDED", key, item)
        if key[3] not in self._stuck and self._late_seconds:
            threading.Timer(self._late_seconds, self._finish_late, [key]).start()
        return item

    def _finished(self, item: Item) -> Item:
        return {**item, "status": {**self._finish(item), "observedGeneration": item["metadata"]["generation"]}}

    def _finish_late(self, key: tuple[str, str, str, str]) -> None:
        with self._news:
            there = self._objects.get(key)
            if there is not None:
                late = {**there, "metadata": dict(there["metadata"])}
                self._objects[key] = self._tell("MODIFIED", key, self._finished(late))

    def _tell(self, event: str, key: tuple[str, str, str, str], item: Item) -> Item:
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        self._log.append((self._version, event, key, item))
        with self._news:
            self._news.notify_all()
        return item

    # ── discovery ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _discovery(self, path: str) -> Any:
        every = list(self.resources.values())
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            names = dict.fromkeys(one.group for one in every if one.group)
            groups = [_group(name, [one for one in every if one.group == name]) for name in names]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        if path == "/openapi/v3":
            return {"paths": {one.root.strip("/"): {"serverRelativeURL": f"/openapi/v3{one.root}"} for one in every}}
        if path.startswith("/openapi/v3/"):
            return _openapi([one for one in every if one.root == path.removeprefix("/openapi/v3")])
        here = [one for one in every if one.root == path]
        if not here:
            return None
        resources: list[Item] = []
        for one in here:
            names = {"singularName": one.kind.lower(), "namespaced": True, "kind": one.kind}
            resources.append({"name": one.plural, **names, "verbs": VERBS})
            if one.has_scale:
                scale = {"kind": "Scale", "group": "autoscaling", "version": "v1"}
                resources.append({"name": f"{one.plural}/scale", **names, **scale, "verbs": ["get", "patch", "update"]})
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": here[0].api, "resources": resources}


def _group(name: str, resources: list[Resource]) -> Item:
    versions = [{"groupVersion": api, "version": api.rpartition("/")[2]} for api in sorted({r.api for r in resources})]
    return {"name": name, "versions": versions, "preferredVersion": versions[-1]}


def _openapi(resources: list[Resource]) -> Item:
    """As little as kubectl asks for: that a PATCH knows fieldValidation and dryRun."""
    known = [{"name": name, "in": "query"} for name in ("dryRun", "fieldValidation")]
    paths = {}
    for one in resources:
        kind = {"group": one.group, "version": one.version, "kind": one.kind}
        patch = {"parameters": known, "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind}
        paths[f"{one.root}/namespaces/{{namespace}}/{one.plural}/{{name}}"] = {"patch": patch}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": paths}


def _merged(there: Any, change: Any) -> Any:
    """A JSON merge patch: RFC 7396."""
    if not isinstance(change, dict):
        return change
    found = dict(there) if isinstance(there, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key), value)
    return found
