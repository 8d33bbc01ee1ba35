"""Documents lead where they say: links, the index, `make` targets, the places of rules, who may act during a rollout."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.architecture.tree import ROOT, parsed, project_files
from tests.house.check import Check

_LINK: Final = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s]+)\)")
_TARGET: Final = re.compile(r"`make ([a-z-]+)")
_PATH: Final = re.compile(r"`((?:planner|pages|tests|docs|deploy|headroom_planner)/[\w./-]*\w/?|[\w/]+\.py)`")
_MODULE: Final = re.compile(r"`((?:planner|tests)(?:\.\w+)+)`")
_ARCHIVE: Final = Path("CHANGELOG-0.1.md")
_NAMES: Final = r"`planner/[\w/]+\.py` `[\w.]+`(?:, `[A-Za-z_][\w.]*`)*"
_PLACE: Final = re.compile(rf"^\| (?P<rule>[^|]+) \| (?P<places>{_NAMES}(?:, {_NAMES})*) \|$", re.MULTILINE)
_OF_A_MODULE: Final = re.compile(r"`(planner/[\w/]+\.py)` ((?:(?:, )?`[A-Za-z_][\w.]*`)+)")
WHERE_IS: Final = "docs/where-is.md"
WHO_ACTS: Final = "docs/rollout.md"

# kube-controller-manager's controllers that make, delete, move or stop pods, volumes and nodes (kubernetes
# `cmd/kube-controller-manager/names/controller_names.go`), and who else does; each with a word of its line.
ACTORS: Final = {
    "deployment": "Deployment, ", "replicaset": "ReplicaSet, ", "statefulset": "StatefulSet", "daemonset": "DaemonSet",
    "replicationcontroller": "ReplicationController", "job": "Job controller", "cronjob": "CronJobs",
    "horizontal-pod-autoscaler": "HorizontalPodAutoscaler", "disruption": "disruption controller", "resourcequota": "quotas",
    "namespace": "namespaces being deleted", "pod-garbage-collector": "pods of nodes that are gone",
    "garbage-collector": "owners that are gone", "node-lifecycle": "node lifecycle", "taint-eviction": "lifecycle controller, taint eviction",
    "device-taint-eviction": "device taint eviction", "persistentvolume-binder": "provisioners", "attachdetach": "attach and detach",
    "kubelet": "kubelet", "scheduler": "kube-scheduler", "keda": "KEDA", "vpa": "VerticalPodAutoscaler",
    "scale-up": "adding nodes", "scale-down": "taking nodes away", "descheduler": "descheduler", "upgrades": "node upgrades",
    "spot": "spot loss", "people": "other people, GitOps", "webhooks": "admission webhooks", "operators": "operators",
    "argo": "Argo Rollouts'", "new-pods": "pods that are made meanwhile", "leases": "leases",
    "drivers": "drivers of devices", "queues": "Kueue", "other-queues": "Volcano",
}  # fmt: skip


def documents() -> list[Path]:
    return [path for path in project_files() if path.suffix == ".md"]


def _text(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _numbered(path: Path | str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_text(path).splitlines(), 1):
        yield from ((number, match[1]) for match in pattern.finditer(line))


def _dead_links(path: Path) -> Iterator[str]:
    for number, target in _numbered(path, _LINK):
        if not (ROOT / path.parent / target.split("#")[0]).exists():
            yield f"{path}:{number} {target}"


def _living() -> list[Path]:
    """All but the archive: that tells of paths as they were."""
    return [path for path in documents() if path != _ARCHIVE]


@cache
def _places() -> frozenset[str]:
    """Every file, every folder, and a file by the end of its path, as ``rollout/scheduling_queue.py``."""
    files = project_files()
    folders = {parent.as_posix() for path in files for parent in path.parents}
    ends = {"/".join(path.parts[place:]) for path in files for place in range(len(path.parts))}
    return frozenset(folders | ends)


def _is_module(name: str) -> bool:
    """Whether ``planner.rollout.verdict_wording`` or ``planner.ground.errors.HeadroomError`` is there."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        path, names = "/".join(parts[:end]), parts[end:]
        for module in (f"{path}.py", f"{path}/__init__.py"):
            if module in _places():
                return not names or re.search(rf"\b{names[0]}\b", _text(module)) is not None
    return "/".join(parts) in _places()


def _gone(path: Path) -> Iterator[str]:
    for number, name in _numbered(path, _PATH):
        if name.rstrip("/") not in _places():
            yield f"{path}:{number} {name}"
    yield from (f"{path}:{number} {name}" for number, name in _numbered(path, _MODULE) if not _is_module(name))


def _guides() -> list[Path]:
    return [path for path in documents() if path.parent == Path("docs") and path.name != "README.md"]


def _without_ends(path: Path) -> Iterator[str]:
    _, first, *_ = [block for block in _text(path).split("\n\n") if block.strip()]
    if not first.startswith("For people "):
        yield f"{path} doesn't begin with whom it is for: {first[:60]}"
    last = _text(path).rstrip().rpartition("\n\n")[2]
    if not re.match(r"Where next: \[", last):
        yield f"{path} doesn't end with where to go next: {last[:60]}"


def _indexed() -> list[Path]:
    return [path for path in documents() if path.parts[0] == "docs" and path.name != "README.md"]


def _missing_in_index(path: Path) -> Iterator[str]:
    if f"({path.relative_to('docs')})" not in _text("docs/README.md"):
        yield f"docs/README.md leads nobody to {path}"


@cache
def _targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z-]+):", _text("Makefile"), re.MULTILINE))


def _no_targets(path: Path) -> Iterator[str]:
    yield from (f"{path}:{number} {name}" for number, name in _numbered(path, _TARGET) if name not in _targets())


def places(rows: str | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """(module, names in it) of each row of the table of rules; a rule may stand in several modules."""
    table = _text(WHERE_IS) if rows is None else rows
    return [
        (path, tuple(re.findall(r"`([\w.]+)`", names)))
        for row in _PLACE.finditer(table)
        for path, names in _OF_A_MODULE.findall(row["places"])
    ]


@cache
def defined(path: str) -> frozenset[str]:
    """The functions, classes and tables of a module, and of its classes the methods and fields: ``Pod.holds_room``."""
    found = set()
    for node in parsed(Path(path)).body if (ROOT / path).exists() else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{below.name}" for below in node.body if isinstance(below, ast.FunctionDef)}
            fields = (below.target for below in node.body if isinstance(below, ast.AnnAssign))
            found |= {f"{node.name}.{field.id}" for field in fields if isinstance(field, ast.Name)}
    return frozenset(found)


def _rows() -> list[tuple[int, str]]:
    every = enumerate(_text(WHERE_IS).splitlines(), 1)
    return [(number, row) for number, row in every if row.startswith("| ") and not row.startswith(("| rule", "| ---"))]


def elsewhere(row: tuple[int, str]) -> Iterator[str]:
    number, text = row
    found = places(text)
    if not found:
        yield f"{WHERE_IS}:{number} is no place: {text}"
    for path, names in found:
        yield from (f"{WHERE_IS}:{number} {path} has no {name}" for name in names if name not in defined(path))


def acting() -> list[str]:
    """What stands first in each line of the table of who may act."""
    table = _text(WHO_ACTS).partition("| who may act |")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]


def _without_one_line(actor: str) -> Iterator[str]:
    number = len([line for line in acting() if ACTORS[actor] in line])
    if number != 1:
        yield f"{WHO_ACTS} {actor} ({ACTORS[actor]}): {number} lines"


def _nobodys(line: str) -> Iterator[str]:
    if not any(word in line for word in ACTORS.values()):
        yield f"{WHO_ACTS} {line}: in ACTORS of tests/house/documents.py nobody is called so"


CHECKS: Final = (
    Check(holds="a link between files leads somewhere", subjects=documents, faults=_dead_links),
    Check(holds="a path or module named in a document is there", subjects=_living, faults=_gone),
    Check(holds="a document begins with its readers and ends with where next", subjects=_guides, faults=_without_ends),
    Check(holds="a document is in the index", subjects=_indexed, faults=_missing_in_index),
    Check(holds="a make target named in a document is one", subjects=documents, faults=_no_targets),
    Check(holds="a rule is where docs/where-is.md says", subjects=_rows, faults=elsewhere),
    Check(
        holds="whatever may act during a rollout has one line", subjects=lambda: list(ACTORS), faults=_without_one_line
    ),
    Check(holds="a line of what may act during a rollout is known", subjects=acting, faults=_nobodys),
)
