"""What somebody sees who may see some namespaces: the same verdicts, and no name of another's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

import pytest

from planner.capacity.rollout_readiness import overview
from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.table_formats import as_csv, as_json
from planner.ground.well_known_names import SYSTEM_NAMESPACES
from planner.inventory import cluster_oddities
from planner.inventory.namespace_redaction import HIDDEN, redacted_for
from planner.kubernetes.argo_and_lws_rollouts import LEADER_READY
from planner.kubernetes.object_records import Snapshot
from planner.questions import INDEX, question_called, queues
from planner.questions.question import Inputs, document
from planner.questions.rollout import QUESTION, RolloutSettings
from planner.rollout.answers import Verdict
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders import objects
from tests.builders.teams import two_teams
from tests.capacity import teams

SEEN = [("prod",), ("dev",), ("llm-lab", "batch"), ()]


@cache
def whole() -> Snapshot:
    return demo.read()


def two_teams_snapshot() -> Snapshot:
    return objects.snapshot(two_teams())


@cache
def seen(spaces: tuple[str, ...]) -> Snapshot:
    return redacted_for(whole(), lambda one: one in spaces)


def hidden_names(spaces: tuple[str, ...]) -> set[str]:
    """Names that are of hidden namespaces alone; plain words such as ``api`` may stand anywhere."""
    kinds = (
        "workloads",
        "pods",
        "replica_sets",
        "services",
        "autoscalers",
        "pod_disruption_budgets",
        "persistent_volume_claims",
    )
    objects = [one for kind in kinds for one in getattr(whole(), kind)]
    mine = {one.name for one in objects if one.namespace in spaces}
    theirs = {one.name for one in objects if one.namespace not in spaces} - mine
    images = {one.image for pod in whole().pods if pod.namespace not in spaces for one in pod.spec.containers}
    images -= {one.image for pod in whole().pods if pod.namespace in spaces for one in pod.spec.containers}
    paths = {f"{one.namespace}/{one.name}" for one in objects if one.namespace not in spaces}
    return {one for one in theirs if "-" in one} | {one for one in images if one} | paths


def told(text: str, names: set[str]) -> set[str]:
    return {one for one in names if re.search(rf"(?<![A-Za-z0-9.-]){re.escape(one)}(?![A-Za-z0-9-])", text)}


@pytest.mark.parametrize("spaces", SEEN)
def test_no_hidden_name_is_in_it(spaces: tuple[str, ...]) -> None:
    text = repr(seen(spaces))
    names = hidden_names(spaces)
    assert names
    assert told(text, names) == set()
    theirs = {one.name for one in whole().namespaces} - set(spaces) - SYSTEM_NAMESPACES
    assert not theirs & {one.name for one in seen(spaces).namespaces}


def answers(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Every question's document and tables that can be asked of one snapshot alone."""
    given = Inputs(book=embedded_book())
    for name in INDEX:
        question: Any = question_called(name)
        if name == "plan":  # minutes; made of the answers of the others
            continue
        try:
            settings = question.settings()
            found = question.answer(snapshot, settings, given)
        except (HeadroomError, TypeError):
            continue
        yield name, as_json(document(question, snapshot, settings, found))
        for table in question.tables:
            yield f"{name} {table}", as_csv(question.rows(found, table))


@pytest.mark.parametrize("spaces", [("prod",)])
def test_no_answer_names_what_is_hidden(spaces: tuple[str, ...]) -> None:
    names = hidden_names(spaces)
    every = dict(answers(seen(spaces)))
    assert {"overview", "capacity", "memory", "costs", "restarts", "drift", "findings", "seats"} <= {
        one.split()[0] for one in every
    }
    assert {name: told(text, names) for name, text in every.items() if told(text, names)} == {}


@pytest.mark.parametrize("spaces", [("prod",), ("llm-lab", "batch")])
def test_verdicts_are_the_whole_clusters(spaces: tuple[str, ...]) -> None:
    view = seen(spaces)
    mine = [one for one in whole().workloads if one.namespace in spaces and one.traits.rolls_out]
    lines = {one.workload: one for one in overview(whole()).workloads}
    listed = {one.workload: one for one in overview(view).workloads}
    assert set(listed) == {one.key for one in mine}, "others' are not listed"
    assert mine
    for key, line in listed.items():
        assert line.verdict is lines[key].verdict, key
        if line.verdict is not Verdict.STUCK:
            continue
        settings = RolloutSettings(workloads=(key,))
        for_all, for_me = (QUESTION.answer(one, settings, Inputs()) for one in (whole(), view))
        assert (for_me.verdict, for_me.reason, for_me.peak_held) == (
            for_all.verdict,
            for_all.reason,
            for_all.peak_held,
        ), key


@pytest.mark.parametrize("spaces", [("otter-lab",), ("otter-lab", "default"), ("default",)])
def test_of_another_team_no_text_at_all_is_there(spaces: tuple[str, ...]) -> None:
    """Names, images, commands, messages, keys and values of labels, what a node's kernel said."""
    cluster = two_teams_snapshot()
    assert cluster.problems == ()
    view = redacted_for(cluster, lambda one: one in spaces)
    assert "zebra" in repr(cluster).lower()
    assert "zebra" not in repr(view).lower()
    for name, text in answers(view):
        assert "zebra" not in text.lower(), name
    for name in (one.name for one in fields(cluster) if one.name not in ("derived", "workloads", "others")):
        if isinstance(found := getattr(cluster, name), tuple) and name not in ("events", "logs"):
            assert len(getattr(view, name)) == len(found), "what they hold counts"


def shared_queues() -> list[objects.Item]:
    """A cohort of two teams; one flavor is of the hidden one alone."""
    queue, spaces = teams.queue, ("otter", "zebra")
    selects = {"matchLabels": {"team": "zebra"}}
    return [
        teams.flavor("a100"), teams.flavor("zebra-h100", nodeLabels={"zebra.io/pool": "zebra"}),
        queue("otter", {"a100": ("8",)}, cohort="zebra-and-otter"),
        queue("zebra", {"a100": ("8",), "zebra-h100": ("8",)}, cohort="zebra-and-otter", namespaceSelector=selects),
        {"apiVersion": teams.API, "kind": "Cohort", "metadata": {"name": "zebra-and-otter"}, "spec": {}},
        *(teams.local(f"{one}-lab", one, f"{one}-queue") for one in spaces),
        *(teams.workload(f"{one}-lab", f"{one}-train", 8, of=f"{one}-queue") for one in spaces),
    ]  # fmt: skip


def test_of_anothers_queues_nothing_is_there_and_who_waits_is_not_known() -> None:
    cluster = objects.snapshot([*two_teams(), *shared_queues()])
    assert len(queues.answer(cluster, queues.QueuesSettings()).waiting) == 2
    view = redacted_for(cluster, lambda one: one == "otter-lab")
    assert "zebra" in repr(cluster.cluster_queues)
    assert "zebra" not in repr(view).lower()
    for name, text in answers(view):
        assert "zebra" not in text.lower(), name
    assert [one.key for one in view.queued_workloads] == ["otter-lab/job-otter-train"]
    with pytest.raises(NotKnownError, match="ClusterQueues"):
        queues.answer(view, queues.QueuesSettings())


def test_a_default_queue_that_is_seen_counts() -> None:
    held = [*two_teams(), teams.local("otter-lab", "otter", "default"), *shared_queues()]
    view = redacted_for(objects.snapshot(held), lambda one: one == "otter-lab")
    assert {line.verdict for line in overview(view).workloads} == {Verdict.UNKNOWN}


def test_how_a_hidden_groups_pods_come_stays_the_apis_word() -> None:
    view = redacted_for(two_teams_snapshot(), lambda _: False)
    starts = {one.groups.starts for one in view.others if one.groups is not None}
    assert starts == {LEADER_READY}
    assert view.made, "StatefulSets that a LeaderWorkerSet makes"
    assert all(one.namespace.startswith(HIDDEN) for one in view.made)


def test_names_of_what_is_seen_stay_in_what_a_nodes_kernel_said() -> None:
    cluster = two_teams_snapshot()
    told = [
        one.message for one in redacted_for(cluster, lambda one: one != "zebra-lab").events if one.object_kind == "Node"
    ]
    assert any("otter-lab" in one for one in told)


def test_findings_are_of_what_is_seen() -> None:
    assert {one.object for one in cluster_oddities.check(seen(("prod",)))} == {"Deployment/prod/llm-serve"}


def test_who_sees_all_gets_the_snapshot_itself() -> None:
    assert redacted_for(whole(), lambda _: True) is whole()


def test_hidden_namespaces_have_names_that_no_real_one_has() -> None:
    spaces = {one.namespace for one in seen(("prod",)).others}
    assert {one for one in spaces if not one.startswith(HIDDEN)} == {"kube-system"}, "Kubernetes' own isn't a secret"
    assert len(spaces) == len({one.namespace for one in whole().workloads} - {"prod"})
