from collections import Counter
from pathlib import Path

from tests.conformance.memory_cases import compare

RECORDINGS = Path(__file__).parents[1] / "conformance" / "memory"


def test_every_field_of_every_recording_agrees() -> None:
    found = compare(RECORDINGS)
    assert [one for one in found if not one.agrees] == []
    fields = Counter(one.field for one in found)
    assert fields["qosClass"] == 300
    assert fields["memory.high"] == fields["oomScoreAdj"] == 631
    assert fields["evictedFirstToLast"] == 100


def test_a_folder_without_recordings_has_no_cases(tmp_path: Path) -> None:
    assert compare(tmp_path) == []


def test_a_wrong_recording_is_noticed(tmp_path: Path) -> None:
    text = (RECORDINGS / "eviction.json").read_text(encoding="utf-8")
    (tmp_path / "eviction.json").write_text(text.replace('"pod-4"', '"pod-x"', 1), encoding="utf-8")
    assert [one.case for one in compare(tmp_path) if not one.agrees] == ["eviction-000"]
