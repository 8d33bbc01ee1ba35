"""One row an object: all that is wrong with it, the gravest first."""

from __future__ import annotations

from planner.health.drift.model import Rule
from planner.health.drift.service_differences import drift
from planner.health.memory.kubelet import KubeletSettings
from planner.health.memory.node_memory import cluster_memory
from planner.health.memory.risks import risks
from planner.health.restarts.report import restarts
from planner.health.troubles import Trouble, rows, troubles
from planner.kubernetes.object_records import Finding, Severity, Snapshot
from planner.sources import demo
from tests.drift.test_telling import many


def told(snapshot: Snapshot) -> list[Trouble]:
    found = risks(cluster_memory(snapshot, KubeletSettings()))
    return troubles(snapshot, restarts(snapshot).loops, found, drift((snapshot,), Rule()))


def test_the_demo_has_all_of_a_workload_in_its_row() -> None:
    celery, api, *others = told(demo.read())
    assert (celery.object, celery.kind) == ("Deployment/dev/celery", "restarts, drift")
    assert (api.object, api.kind) == ("Deployment/dev/api", "restarts, memory, drift")
    assert api.what[0] == "18 restarts: workers killed by timeout"
    assert api.fix == "memory request 1920Mi, limit 1920Mi, CPU request 130m"
    assert api.lasting == "23 h 53 min"
    assert api.is_grave
    assert [one.kind for one in others] == ["memory", "memory", "drift", "drift"]
    assert not any(one.is_grave or one.lasting for one in others)


def test_what_is_alike_has_an_equal_key_and_what_differs_another() -> None:
    every = [one for one in told(many(20, in_trouble=range(19)).snapshot()) if one.object != "Deployment/dev-19/api"]
    keys = {one.alike for one in every if one.kind == "restarts, drift"}
    assert len(keys) == 1
    assert len([one for one in every if one.alike in keys]) == 19


def test_a_note_stands_behind_what_a_difference_explains_and_one_about_all_in_no_row() -> None:
    snapshot = demo.read()
    note, about_all = (
        Finding(severity=Severity.INFO, code="memory-x", object=key, what="so: so", fix="do it")
        for key in ("Node/a", "")
    )
    every = troubles(snapshot, (), (note, about_all), drift((snapshot,), Rule()))
    assert [one.object for one in every][:3] == ["Deployment/dev/celery", "Deployment/dev/api", "Node/a"]
    assert [row["what is wrong"] for row in rows(every)][2] == "so: so"
    assert "" not in [one.object for one in every]
