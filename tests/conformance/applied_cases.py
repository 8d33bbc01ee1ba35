"""Changes of other kinds (`kinds4/`, README there): a patched object as a manifest, asked as ``rollout -f`` asks, or played step by step
where the kind's controller is (LeaderWorkerSet)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.ground.errors import NotKnownError
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from tests.conformance import kind_cases
from tests.conformance.comparison import Comparison, each_case

SAYS = {Verdict.COMPLETES: "complete", Verdict.STUCK: "stuck", Verdict.UNKNOWN: "not known"}
_PLAYED = "leaderworkerset"
_LISTED = (*kind_cases._LISTS, "RayCluster", "RayService", "JobSet")


def compare(folder: Path) -> Iterator[Comparison]:
    """Of each project's folder every case."""
    for project in sorted(path for path in folder.iterdir() if path.is_dir()):
        is_played = project.name.startswith(_PLAYED)
        yield from each_case(project, kind_cases._compare_named if is_played else _compare_case)


def _compare_case(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    snapshot = build_snapshot([Part(items=case["cluster"]["items"], listed=_LISTED)], source="recording")
    said = answer_to_patch(snapshot, case["cluster"]["items"], case["change"])
    expected = case["outcome"]["verdict"]
    yield Comparison(name, case["family"], "verdict", expected, said, said in (expected, "not known"), is_verdict=True)
    yield Comparison(name, case["family"], "known", True, said != "not known", said != "not known")


def answer_to_patch(snapshot: Snapshot, items: Sequence[Mapping[str, Any]], change: Mapping[str, Any]) -> str:
    """What is said of an object as a merge patch leaves it."""
    [live] = [
        one for one in items
        if one["kind"] == change["kind"] and one["metadata"]["name"] == change["name"] and one["metadata"].get("namespace") == change["namespace"]
    ]  # fmt: skip
    merged = _merged({key: value for key, value in live.items() if key != "status"}, change["patch"])
    try:
        return SAYS.get(rollout(snapshot, Scenario(manifest=json.dumps(merged))).verdict, "else")
    except NotKnownError as error:  # of a JobSet: that its webhook refuses the change
        return "refused" if "refuses the change" in str(error) else "not known"


def _merged(document: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    found = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        found[key] = _merged(found.get(key), value)
    return {key: value for key, value in found.items() if value is not None}
