"""No answer hangs on how a cluster is written: a drawn part of the recordings in every form of `metamorphic`; all of them by
``python -m tests.properties.metamorphic``."""

from __future__ import annotations

import copy
import random

import pytest

from tests.builders.objects import pod, pod_spec
from tests.properties.metamorphic import FORMS, answer, differences, read, recordings
from tests.quick import seeds
from tests.seen import each

RECORDINGS = 30
DRAWN = random.Random(610).sample(recordings(), k=RECORDINGS)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_a_recording_changes_no_answer(form: str) -> None:
    """Verdict, reasons, whether it is proven, ways out and doubts are the recorded cluster's."""
    found = [line for number in each(seeds(RECORDINGS)) for line in differences(DRAWN[number], {form: FORMS[form]})]
    assert found == []


DIFFERED = {
    "n-spread2-003": "renamed_backwards",  # whether a new node helps hung on the zone of the first by name
    "spread-046-affinity": "renamed_backwards",  # so did the reason, of which as many nodes had each
    "t-gate3-002-fix-broken": "permuted",  # the pod that the List had first was named
    "r-sts-scale-no-gpu": "with_idle",  # an idle Deployment showed that Deployments were listed
    "vol5b-tie-2": "renamed_backwards",  # half of the placements complete
}


@pytest.mark.parametrize(("name", "form"), DIFFERED.items())
def test_recordings_that_differed_once(name: str, form: str) -> None:
    (path,) = [one for one in recordings() if one.name.startswith(f"{name}.")]
    assert list(differences(path, {form: FORMS[form]})) == []


def test_a_new_node_is_looked_for_in_each_zone() -> None:
    """`spread-046-affinity`: only in the zone of the cache that the pods want to be beside, which is said; the cluster's first node by
    name is in the other one. The opposite: in any zone where nothing tells zones apart, and none is named."""
    (path,) = [one for one in recordings() if one.name.startswith("spread-046-affinity.")]
    case = read(path)
    items = case["cluster"]["items"]
    found = answer(case, FORMS["permuted"](copy.deepcopy(items), random.Random(0)))
    assert [way[-1] for way in found["ways"] if way[0] == "add_node"] == [
        "2 more nodes in gpu-pool, zone asia-northeast3-a"
    ]
    apart = copy.deepcopy(items)
    for item in apart:
        if item["kind"] == "Deployment":
            item["spec"]["template"]["spec"].pop("affinity", None)
        if item["kind"] == "Node":
            item["status"]["allocatable"] |= {"nvidia.com/gpu": "1"}
    apart += [taken(f"taken-{name}", name) for name in ("gpu-1", "gpu-3")]
    anywhere = answer(case, FORMS["permuted"](apart, random.Random(0)))
    assert [way[-1] for way in anywhere["ways"] if way[0] == "add_node"] == ["2 more nodes in gpu-pool"]


def taken(name: str, on: str) -> dict[str, object]:
    """A pod that has a node's only GPU."""
    return pod(name, pod_spec(gpus=1), on=on, namespace="other")


def test_who_is_named_hangs_on_no_order() -> None:
    """Three notebooks wait for the same node: the sentence named the one that the List had first."""
    (path,) = [one for one in recordings() if one.name.startswith("tight-041-none.")]
    case = read(path)
    items = case["cluster"]["items"]
    said = {answer(case, FORMS["permuted"](copy.deepcopy(items), random.Random(seed)))["sentence"] for seed in range(6)}
    assert len(said) == 1
    assert "other/nb-0 and 2 others waited too" in said.pop()


def test_what_changes_an_answer_is_seen() -> None:
    """Opposite: the same comparison tells a cluster apart that has lost a node."""

    def without_nodes(items: list[dict[str, object]], rng: random.Random) -> object:
        kept = [item for item in items if item["kind"] != "Node"]
        return FORMS["permuted"](kept, rng)

    told = [
        path
        for path in each(DRAWN[:10])
        if any(item["kind"] == "Node" for item in read(path)["cluster"]["items"])
        and list(differences(path, {"without nodes": without_nodes}))  # type: ignore[dict-item]
    ]
    assert len(told) >= 5
