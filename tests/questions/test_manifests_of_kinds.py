"""Manifests as people write them, of the kinds that GPU clusters run, put to every door: each is answered, or not known with the
GPUs that it asks for.

They are our own, after what public manifests of these kinds look like: old and new versions, optional fields left out, templates without
requests, values that no API server takes. Each case's heading in `manifests_of_kinds.yaml` is ``#### name | answer | GPUs``: on four free
nodes of eight GPUs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml

from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.pod_template_kinds import templated
from planner.questions import gate, rollout, where
from planner.questions.gate import GateSettings
from planner.questions.rollout import RolloutSettings
from planner.questions.where import WhereSettings
from tests.builders.objects import read_items
from tests.inventory.objects import gpu_container, gpu_node, named, pod
from tests.seen import premise

_ANSWERS: Final = {"completes": 0, "stuck": 2, "unknown": 4, "refused": 1}


def _cases() -> dict[str, tuple[str, int, str]]:
    text = (Path(__file__).parent / "manifests_of_kinds.yaml").read_text(encoding="utf-8")
    found = {}
    for case in text.split("#### ")[1:]:
        heading, _, manifest = case.partition("\n")
        name, answer, gpus = (part.strip() for part in heading.split("|"))
        found[name] = (answer, int(gpus), manifest)
    assert len(found) == text.count("#### ")
    return found


CASES: Final = _cases()


def cluster(*, is_full: bool) -> Snapshot:
    nodes = [gpu_node(f"gpu-{place}", 8) for place in range(4)]
    held = [pod(f"held-{place}", f"gpu-{place}", containers=[gpu_container(8)]) for place in range(4)]
    return read_items([*nodes, pod("idle", "gpu-0"), named("Namespace", "ml"), *(held if is_full else [])])


FREE: Final = cluster(is_full=False)
FULL: Final = cluster(is_full=True)


def statuses(snapshot: Snapshot, manifest: str) -> dict[str, int]:
    found = {}
    for name in ("gate", "rollout", "where"):
        try:
            if name == "gate":
                found[name] = gate.answer(snapshot, GateSettings(manifest=manifest)).exit_status
            elif name == "rollout":
                answer = rollout.answer(snapshot, RolloutSettings(manifest=manifest))
                found[name] = rollout.QUESTION.exit_status(snapshot, answer)
            else:
                placed = where.answer(snapshot, WhereSettings(manifest=manifest))
                found[name] = where.QUESTION.exit_status(snapshot, placed)
        except NotKnownError:
            found[name] = ExitStatus.NOT_KNOWN
        except HeadroomError:
            found[name] = ExitStatus.BAD_INPUT
    return {name: int(status) for name, status in found.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_answered_or_not_known_with_its_gpus(name: str) -> None:
    answer, gpus, manifest = CASES[name]
    assert statuses(FREE, manifest) == dict.fromkeys(("gate", "rollout", "where"), _ANSWERS[answer])
    if not premise(answer != "refused"):
        return
    found = gate.answer(FREE, GateSettings(manifest=manifest))
    assert sum(one.more_gpus or 0 for one in found.workloads) == gpus
    if answer == "unknown" and gpus and not any(one.is_told for one in found.workloads):
        said = " ".join(str(one.sentence) for one in found.workloads)
        assert "doesn't tell all of its pods" in said or "asks for" in said


@pytest.mark.parametrize("name", [name for name, (answer, gpus, _) in CASES.items() if gpus and answer != "refused"])
def test_what_asks_for_gpus_never_passes_where_none_is_free(name: str) -> None:
    assert not set(statuses(FULL, CASES[name][2]).values()) & {0}


@pytest.mark.parametrize("name", [name for name, (answer, gpus, _) in CASES.items() if answer == "completes" and gpus])
def test_a_field_that_nobody_read_makes_it_not_known(name: str) -> None:
    """Of our own kinds' rows: Kubernetes' are whole, and what a controller plays has its own list."""
    documents = [one for one in yaml.safe_load_all(CASES[name][2]) if one]
    row = templated(documents[-1]["kind"], documents[-1]["apiVersion"])
    if row is None or not row.also:
        pytest.skip("a kind of Kubernetes")
    unknown = dict.fromkeys(("gate", "rollout", "where"), int(ExitStatus.NOT_KNOWN))
    spec, metadata = documents[-1].get("spec", documents[-1]), documents[-1]["metadata"]
    spec["podsOnTop"] = {"count": 3}
    assert statuses(FREE, yaml.safe_dump_all(documents)) == unknown
    said = " ".join(
        str(one.sentence) for one in gate.answer(FREE, GateSettings(manifest=yaml.safe_dump_all(documents))).workloads
    )
    assert "podsOnTop" in said
    del spec["podsOnTop"]
    spec["podsOnTop"] = None  # as if it weren't there
    assert statuses(FREE, yaml.safe_dump_all(documents)) == statuses(FREE, CASES[name][2])
    metadata.setdefault("annotations", {})["topology.ray.io/pods-on-top"] = "3"
    assert statuses(FREE, yaml.safe_dump_all(documents)) == unknown


def test_most_are_answered_or_honestly_not_known() -> None:
    assert len(CASES) >= 90
    assert sum(answer == "refused" for answer, _, _ in CASES.values()) <= 0.05 * len(CASES)
