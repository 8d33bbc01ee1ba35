"""The fields of every type of the API, of each version that PyPI's kubernetes-validate carries, as one packed table.

``python -m tests.inventory.api_fields`` (``make fields``) writes `planner/inventory/kubernetes_api_schema.json.gz`; `planner.inventory.kubernetes_api_schema`
says how it is read.
"""

from __future__ import annotations

import gzip
import json
import sys
from importlib import resources
from typing import Any, Final

from tests.architecture.tree import ROOT

TABLE: Final = ROOT / "planner" / "inventory" / "kubernetes_api_schema.json.gz"
Schema = dict[str, Any]
_PLAIN: Final = {
    "Quantity": "q",
    "IntOrString": "x",
    "Time": "t",
    "MicroTime": "t",
    "RawExtension": "*",
    "FieldsV1": "*",
    "Patch": "*",
}
_SCALARS: Final = {"string": "s", "integer": "l", "number": "n", "boolean": "b"}
_FORMATS: Final = {"byte": "y", "date-time": "t", "int32": "i"}
_NO_OBJECTS: Final = frozenset(  # what is sent to a subresource, or comes back: no object that kubectl apply takes
    {"APIGroup", "APIVersions", "DeleteOptions", "Eviction", "Scale", "Status", "TokenRequest", "WatchEvent"}
)


def definitions() -> dict[int, dict[str, Schema]]:
    """Minor version → full type name → JSON schema."""
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema"
    found: dict[int, dict[str, Schema]] = {}
    for version in folder.iterdir():
        name = version.name
        if name.endswith("-local"):
            text = (version / "_definitions.json").read_text(encoding="utf-8")
            found[int(name.split(".")[1])] = json.loads(text)["$defs"]
    return dict(sorted(found.items()))


def short(full: str) -> str:
    """``apps.v1.DeploymentSpec`` of ``io.k8s.api.apps.v1.DeploymentSpec``."""
    return ".".join(full.split(".")[-3:])


def shape(schema: Schema) -> str:
    """What a value has to be, as `planner.inventory.kubernetes_api_schema` reads it: ``[#core.v1.Container``."""
    if "$ref" in schema:
        full = schema["$ref"].rpartition("/")[2]
        name = full.rpartition(".")[2]
        return _PLAIN.get(name) or ("*" if name.startswith("JSON") and name != "JSONSchemaProps" else f"#{short(full)}")
    kind = schema.get("type")
    kind = next(one for one in kind if one != "null") if isinstance(kind, list) else kind
    if kind == "array":
        return f"[{shape(schema.get('items') or {})}"
    if kind == "object":
        return f"{{{shape(schema.get('additionalProperties') or {})}"
    return _FORMATS.get(schema.get("format", "")) or _SCALARS.get(str(kind), "*")


def table() -> dict[str, Any]:
    """The whole of it: what `TABLE` holds."""
    versions = definitions()
    kinds: dict[str, dict[int, str]] = {}
    types: dict[str, dict[int, dict[str, str]]] = {}
    for minor, every in versions.items():
        for full, schema in every.items():
            if not (schema.get("properties") or schema.get("type")) or full.rpartition(".")[2] in _PLAIN:
                continue
            needed = schema.get("required") or ()
            fields = {
                name: shape(body) + ("!" if name in needed else "")
                for name, body in (schema.get("properties") or {}).items()
            }
            assert minor not in types.setdefault(short(full), {}), full
            types[short(full)][minor] = fields
            for one in schema.get("x-kubernetes-group-version-kind") or ():
                if not one["kind"].endswith("List") and one["kind"] not in _NO_OBJECTS:
                    version = f"{one['group']}/{one['version']}" if one["group"] else one["version"]
                    kinds.setdefault(f"{version}/{one['kind']}", {})[minor] = short(full)
    first, last = min(versions), max(versions)
    return {
        "first": first,
        "last": last,
        "kinds": {key: _runs(by_minor) for key, by_minor in sorted(kinds.items())},
        "types": {
            name: {
                field: _field(by_minor, field) for field in sorted({field for one in by_minor.values() for field in one})
            }
            for name, by_minor in sorted(types.items())
        },
    }  # fmt: skip


def _field(by_minor: dict[int, dict[str, str]], field: str) -> str | list[tuple[int, int, str]]:
    runs = _runs({minor: fields[field] for minor, fields in by_minor.items() if field in fields})
    return runs[0][2] if len(runs) == 1 and runs[0][:2] == (min(by_minor), max(by_minor)) else runs


def _runs(by_minor: dict[int, str]) -> list[tuple[int, int, str]]:
    """(first, last, what) of the minor versions in which it is the same."""
    found: list[tuple[int, int, str]] = []
    for minor, what in sorted(by_minor.items()):
        if found and found[-1][1] == minor - 1 and found[-1][2] == what:
            found[-1] = (found[-1][0], minor, what)
        else:
            found.append((minor, minor, what))
    return found


def packed() -> bytes:
    """`table` as it stands in the file; the same bytes each time."""
    return gzip.compress(json.dumps(table(), separators=(",", ":")).encode(), 9, mtime=0)


if __name__ == "__main__":
    TABLE.write_bytes(packed())
    sys.stdout.write(f"{TABLE.relative_to(ROOT)}: {TABLE.stat().st_size:,} bytes\n")
