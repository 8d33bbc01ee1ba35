"""Records made quickly are those that their class makes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from planner.kubernetes.quickly import Changer, maker
from planner.kubernetes.records import ContainerState, Event, NodeAffinity, Owner, Pod, PodSpec, Workload

MADE: list[tuple[type[Any], dict[str, Any]]] = [
    (Owner, {"kind": "Job", "name": "a", "uid": "u"}),
    (ContainerState, {"name": "a", "restart_count": 3}),
    (PodSpec, {"priority": 7}),
]


@pytest.mark.parametrize(("record", "fields"), MADE)
def test_what_is_made_quickly_is_the_record(record: type[Any], fields: dict[str, Any]) -> None:
    quick, plain = maker(record)(**fields), record(**fields)
    assert type(quick) is record
    assert quick == plain
    assert hash(quick) == hash(plain)
    assert repr(quick) == repr(plain)
    assert pickle.loads(pickle.dumps(quick)) == plain
    assert copy.deepcopy(quick) == plain
    with pytest.raises(FrozenInstanceError):
        setattr(quick, next(iter(fields)), 0)


def test_what_is_left_out_or_unknown_is_refused() -> None:
    for record in (Pod, Event, Workload):
        with pytest.raises(TypeError, match="missing"):
            maker(record)()
    with pytest.raises(TypeError, match="unexpected"):
        maker(PodSpec)(colour="red")  # type: ignore[call-arg]


def test_changing_one_field_is_replacing_it() -> None:
    spec, nodes = PodSpec(priority=7, host_network=True), NodeAffinity(required=())
    changed = Changer(PodSpec, "node_affinity")(spec, nodes)
    assert changed == replace(spec, node_affinity=nodes)
    assert spec.node_affinity == NodeAffinity()
