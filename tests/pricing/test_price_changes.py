from __future__ import annotations

import pytest

from planner.ground.errors import InputError
from planner.pricing.price_history import read_changes
from planner.sources.prices import load_changes


def test_every_change_is_read() -> None:
    changes = load_changes()
    assert len(changes) == 867
    assert changes[0].observed_on >= "2022-02-09"


@pytest.mark.parametrize(
    "text",
    [
        "observed_on,machine_type,region,total_ondemand\n2024-01-01,x,y,1\n",
        "observed_on,machine_type,region,total_ondemand,total_spot\n2024-01-01,x,y,,1\n",
        "observed_on,machine_type,region,total_ondemand,total_spot\n2024-01-01,x,y,a,1\n",
    ],
)
def test_a_damaged_history_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="line 2"):
        read_changes(text, where="h.csv")
