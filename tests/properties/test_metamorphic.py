"""No answer hangs on how a cluster is written: a drawn part of the recordings in every form of `metamorphic`; all of them by
``python -m tests.properties.metamorphic``."""

from __future__ import annotations

import copy
import random

import pytest

from tests.properties.metamorphic import FORMS, answer, differences, read, recordings
from tests.quick import seeds
from tests.seen import each

RECORDINGS = 30
DRAWN = random.Random(610).sample(recordings(), k=RECORDINGS)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_a_recording_changes_no_answer(form: str) -> None:
    """Verdict, reasons, whether it is proven, ways out and doubts are the recorded cluster's."""
    found = [line for number in seeds(RECORDINGS) for line in differences(DRAWN[number], {form: FORMS[form]})]
    assert found == []


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
