"""One service in several environments: recognised by an editable rule, compared, explained."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.words import ratio, sentence
from planner.health.drift.aspects_by_environment import image_version
from planner.health.drift.listing_rows import flat_rows, matrix_rows, suggestion_rows
from planner.health.drift.model import Aspect, MatchBy, Rule, ServiceDrift, parse_between, parse_same_as, parse_words
from planner.health.drift.service_differences import drift, findings
from planner.health.drift.service_workloads import environment_names, members_of
from planner.health.memory.deleted_pod_owners import pod_name_pattern
from planner.inventory.usage import Usage
from planner.kubernetes.object_records import (
    Container,
    ContainerMetrics,
    ContainerState,
    FrozenMap,
    PodMetrics,
    PodSpec,
    Presence,
    Probe,
    Strategy,
)
from tests.builders.records import amounts
from tests.restarts.cases import GIB, MIB, NOW, RUNNING, Cluster, container, crashed


def spec(
    memory: str, *, cpu: str = "1", name: str = "api", image: str = "registry/app/api:1", **fields: object
) -> PodSpec:
    made = container(name, image, requests=amounts(memory=memory, cpu=cpu), limits=amounts(memory=memory))
    return PodSpec(containers=(replace(made, **fields),))  # type: ignore[arg-type]


def dev_and_prod() -> Cluster:
    """dev/api has an eighth of prod's memory and is OOM-killed; prod works."""
    cluster = Cluster()
    cluster.node(labels={"cloud.google.com/gke-nodepool": "default"})
    cluster.pod(
        cluster.workload("api", "dev", spec("256Mi")), crashed(137, "OOMKilled", restarts=9), working_set=200 * MIB
    )
    prod = cluster.workload("api", "prod", spec("2Gi"), replicas=2)
    for _ in range(2):
        cluster.pod(prod, working_set=GIB)
    return cluster


RULE = Rule()


def only(cluster: Cluster, rule: Rule = RULE) -> ServiceDrift:
    services = drift((cluster.snapshot(),), rule).services
    assert len(services) == 1, [service.service for service in services]
    return services[0]


def cell(service: ServiceDrift, aspect: Aspect, environment: str) -> tuple[str, str]:
    row = next(row for row in service.rows if row.aspect is aspect)
    found = row.cells[service.environments.index(environment)]
    assert found is not None
    return found.text, found.ratio


def test_what_differs_by_how_much_and_what_that_explains() -> None:
    service = only(dev_and_prod())
    assert service.environments == ("prod", "dev")  # the reference first
    assert cell(service, Aspect.MEMORY_LIMIT, "dev") == ("256Mi", "1/8")
    assert cell(service, Aspect.MEMORY_LIMIT, "prod") == ("2Gi", "")
    assert str(service.sentence) == (
        "environment dev has 1/8 of prod's memory request (256Mi of 2Gi) and 1/8 of prod's memory limit (256Mi of 2Gi), "
        "and 9 restarts of dev/api; prod has none."
    )


def test_only_differences_by_default() -> None:
    service = only(dev_and_prod())
    shown = {row.aspect for row in service.differences}
    assert Aspect.MEMORY_LIMIT in shown
    assert Aspect.KIND not in shown
    assert Aspect.KIND in {row.aspect for row in service.rows}
    assert {row["what"] for row in matrix_rows(service)} < {
        row["what"] for row in matrix_rows(service, everything=True)
    }


def test_equal_environments_show_nothing() -> None:
    cluster = Cluster()
    cluster.node()
    for namespace in ("dev", "prod"):
        cluster.pod(cluster.workload("api", namespace, spec("1Gi")), working_set=100 * MIB)
    service = only(cluster)
    assert service.differences == ()
    assert str(service.sentence) == "service api is set up the same in prod and dev."


def test_what_was_measured_is_no_difference_of_how_they_are_set_up() -> None:
    cluster = Cluster()
    cluster.node()
    for namespace, used in (("dev", 100), ("prod", 700)):
        cluster.pod(cluster.workload("api", namespace, spec("1Gi")), working_set=used * MIB)
    service = only(cluster)
    assert [row.aspect for row in service.rows if row.differs] == [Aspect.WORKING_SET]
    assert str(service.sentence) == "service api is set up the same in prod and dev."


@pytest.mark.parametrize("name", ["api", "api-v2", "Api"])
def test_a_name_keeps_its_case_where_a_sentence_begins(name: str) -> None:
    """As every page shows it (`sentence`); names have capitals in what isn't Kubernetes' own."""
    cluster = Cluster()
    cluster.node()
    for namespace, size in (("dev", "1Gi"), ("prod", "2Gi")):
        cluster.pod(cluster.workload(name, namespace, spec(size)))
    said = sentence(only(cluster).sentence)
    assert f"{name} differs between prod and dev" in said
    assert said.startswith("Service api ") is (name == "api")
    explained = sentence(only(dev_and_prod()).explanations[0].sentence)
    assert explained.startswith("Environment dev has ")
    assert all(one.what.startswith("environment dev has ") for one in findings(dev_and_prod().snapshot()))


def test_trouble_on_both_sides_is_not_explained_by_a_difference() -> None:
    cluster = dev_and_prod()
    cluster.pods[1] = replace(
        cluster.pods[1], is_ready=False, containers=(replace(crashed(137, "OOMKilled"), name="api"),)
    )
    assert only(cluster).explanations == ()


def test_trouble_with_more_than_the_reference_has_is_not_explained() -> None:
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", spec("4Gi")), crashed(137, "OOMKilled"))
    cluster.pod(cluster.workload("api", "prod", spec("2Gi")), working_set=GIB)
    assert only(cluster).explanations == ()


def test_another_version_explains_no_refusal_of_a_node() -> None:
    cluster = Cluster()
    cluster.node()
    refused = ContainerState(name="")
    dev = PodSpec(containers=(container(image="registry/app/api:2"),))
    cluster.pod(
        cluster.workload("api", "dev", dev),
        refused,
        phase="Failed",
        reason="SysctlForbidden",
        message="Pod was rejected: x",
    )
    cluster.pod(cluster.workload("api", "prod", PodSpec(containers=(container(),))))
    assert only(cluster).explanations == ()


def test_another_version_explains_an_error_exit_and_not_an_oom_kill() -> None:
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", spec("2Gi", image="registry/app/api:2")), crashed(1))
    cluster.pod(cluster.workload("api", "prod", spec("2Gi")))
    assert "version 2 where prod has 1" in str(only(cluster).sentence)


def test_another_probe_explains_a_probe_kill() -> None:
    tight = Probe(handler="http", period_seconds=5, failure_threshold=1)
    cluster = Cluster()
    cluster.node()
    pod = cluster.pod(cluster.workload("api", "dev", spec("2Gi", liveness_probe=tight)), crashed(137))
    cluster.event(pod, "Killing", "Container api failed liveness probe, will be restarted")
    cluster.pod(cluster.workload("api", "prod", spec("2Gi")))
    assert "another liveness probe than prod" in str(only(cluster).sentence)


# ── the rule ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def named(*workloads: tuple[str, str, dict[str, str]], image: str = "registry/app/api:1") -> Cluster:
    cluster = Cluster()
    cluster.node()
    for name, namespace, labels in workloads:
        cluster.pod(cluster.workload(name, namespace, spec("1Gi", image=image), labels=labels))
    return cluster


@pytest.mark.parametrize(
    ("rule", "first", "second", "service"),
    [
        (Rule(), ("api-dev", {}), ("api-prod", {}), "api"),
        (Rule(), ("dev-api", {}), ("api", {}), "api"),
        (Rule(), ("x", {"app": "api"}), ("y", {"app": "api"}), "api"),
        (Rule(), ("x", {"app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "web"}),
         ("y", {"app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "web"}), "shop-web"),
        (Rule(match_by=MatchBy.NAME), ("api", {"app": "a"}), ("api", {"app": "b"}), "api"),
        (Rule(match_by=MatchBy.IMAGE), ("x", {}), ("y", {}), "api"),
        (Rule(match_by=MatchBy.LABEL, label="team/svc"), ("x", {"team/svc": "q"}), ("y", {"team/svc": "q"}), "q"),
        (Rule(same_as=(("backend", "api"),)), ("backend", {}), ("api", {}), "api"),
        (Rule(environment_words=("blue",)), ("api-blue", {}), ("api", {}), "api"),
    ],
)  # fmt: skip
def test_recognising_a_service(
    rule: Rule, first: tuple[str, dict[str, str]], second: tuple[str, dict[str, str]], service: str
) -> None:
    cluster = named((first[0], "one", first[1]), (second[0], "two", second[1]))
    assert only(cluster, rule).service == service


def test_an_environment_word_alone_is_a_name() -> None:
    assert drift((named(("dev", "one", {}), ("prod", "two", {})).snapshot(),)).services == ()


def test_two_workloads_of_one_app_are_told_apart_by_their_names() -> None:
    app = {"app": "shop"}
    cluster = named(*[(name, place, app) for place in ("dev", "prod") for name in ("shop-web", "shop-worker")])
    found = [service.service for service in drift((cluster.snapshot(),)).services]
    assert sorted(found) == ["shop (shop-web)", "shop (shop-worker)"]


def test_workloads_without_the_rules_label_are_no_service() -> None:
    cluster = named(("x", "one", {"app": "a"}), ("y", "two", {"app": "a"}))
    assert drift((cluster.snapshot(),), Rule(match_by=MatchBy.LABEL, label="team/svc")).services == ()


def test_what_cannot_be_told_apart_is_said() -> None:
    cluster = named(("api-dev", "one", {}), ("api-prod", "one", {}), ("api", "two", {}))
    report = drift((cluster.snapshot(),))
    assert len(report.services) == 1
    assert "are both api in one" in report.ambiguous[0]


def test_the_reference_can_be_chosen_and_must_exist() -> None:
    assert only(dev_and_prod(), Rule(reference="dev")).environments == ("dev", "prod")
    with pytest.raises(InputError, match='no environment "moon"'):
        drift((dev_and_prod().snapshot(),), Rule(reference="moon"))


def test_without_production_the_largest_is_the_reference() -> None:
    cluster = named(("api", "blue", {}))
    cluster.workload("api", "green", spec("1Gi"), replicas=9)
    assert only(cluster).reference == "green"


@pytest.mark.parametrize("text", ["a", "a=", "=b", "a=b, c"])
def test_bad_pairs(text: str) -> None:
    with pytest.raises(InputError, match="not a pair"):
        parse_same_as(text)


def test_pairs() -> None:
    assert parse_same_as(" backend = api,\n shop-web=web ,") == (("backend", "api"), ("shop-web", "web"))
    assert parse_same_as("") == ()


def test_a_label_must_be_named() -> None:
    with pytest.raises(InputError, match="no label is named"):
        Rule(match_by=MatchBy.LABEL)


def test_system_namespaces_are_left_out_unless_asked_for() -> None:
    cluster = named(("dns", "kube-system", {}), ("dns", "prod", {}))
    assert drift((cluster.snapshot(),)).services == ()
    assert len(drift((cluster.snapshot(),), Rule(with_system=True)).services) == 1


# ── several clusters ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_environments_of_several_clusters() -> None:
    first, second = dev_and_prod().snapshot("east.json"), dev_and_prod().snapshot("west.json")
    report = drift((first, second))
    assert set(report.environments) == {"east/dev", "east/prod", "west/dev", "west/prod"}
    assert report.services[0].reference == "east/prod"
    assert environment_names((first, second)) == report.environments


def test_two_clusters_of_one_name_are_numbered() -> None:
    snapshot = dev_and_prod().snapshot("c.json")
    assert "c-1/dev" in drift((snapshot, snapshot)).environments
    assert "c-2/dev" in drift((snapshot, snapshot)).environments
    nameless = replace(snapshot, source="")
    assert {one.partition("/")[0] for one in drift((snapshot, nameless)).environments} == {"c", "cluster"}


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_suggestions_of_a_starved_environment_come_from_where_it_works() -> None:
    found = next(one for one in only(dev_and_prod()).suggestions if one.environment == "dev")
    assert found.suggestion.memory_request_bytes >= GIB * 115 // 100
    assert found.today == "memory request 256Mi, limit 256Mi, CPU request 1"
    assert suggestion_rows([only(dev_and_prod())])[0]["environment"] == "dev"  # the one in trouble first


def test_a_history_counts_pods_that_have_gone() -> None:
    cluster = Cluster()
    cluster.node()
    for namespace in ("dev", "prod"):
        cluster.pod(cluster.workload("api", namespace, spec("1Gi")))

    def seen(pod: str, size: int) -> Usage:
        return Usage(namespace="prod", pod=pod, container="api", working_set_bytes=size, cpu_millicores=1, samples=99,
                     started_at=NOW - 99, ended_at=NOW, source="test")  # fmt: skip

    usages = [
        seen("api-6c6bb8f8c6-kzqs6", 700 * MIB),
        seen("api-gateway-6c6bb8f8c6-kzqs6", 3 * GIB),
        seen("api-0", GIB),
    ]
    report = drift((cluster.snapshot(),), Rule(), (usages,))
    row = next(row for row in report.services[0].rows if row.aspect is Aspect.WORKING_SET)
    assert [one.text if one else None for one in row.cells] == ["1 GiB", "not measured"]


@pytest.mark.parametrize(
    ("kind", "pod", "belongs"),
    [
        ("Deployment", "api-6c6bb8f8c6-kzqs6", True),
        ("Deployment", "api-gateway-6c6bb8f8c6-kzqs6", False),
        ("Deployment", "api-0", False),
        ("StatefulSet", "api-12", True),
        ("StatefulSet", "api-x", False),
        ("DaemonSet", "api-kzqs6", True),
        ("Job", "api-28912340-kzqs6", True),
    ],
)
def test_names_of_pods_that_have_gone(kind: str, pod: str, belongs: bool) -> None:
    workload = Cluster().workload("api", "dev", spec("1Gi"), kind=kind)
    assert bool(pod_name_pattern(workload).fullmatch(pod)) is belongs


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry:5000/app/api:2026.1", "2026.1"),
        ("registry:5000/app/api", "latest"),
        ("api@sha256:0123456789abcdef0123", "@0123456789ab"),
        ("api:2@sha256:0123456789abcdef0123", "2@0123456789ab"),
    ],
)
def test_version_of_an_image(image: str, version: str) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(1, 8, "1/8"), (8, 8, "the same"), (16, 8, "2×"), (3, 4, "3/4"), (100, 431, "about 1/4"), (9, 10, "about 90%"),
     (5, 2, "about 2.5×"), (0, 5, "0×"), (1, 1000, "about 1/1000")],
)  # fmt: skip
def test_ratios_as_people_say_them(part: int, whole: int, said: str) -> None:
    assert ratio(part, whole) == said


def test_every_aspect_is_compared() -> None:
    cluster = Cluster()
    cluster.node()
    rich = Container(
        name="api", image="registry/app/api:1", requests=amounts(cpu="1", memory="1Gi", **{"nvidia.com/gpu": "1"}),
        limits=amounts(cpu="2", memory="1Gi", **{"nvidia.com/gpu": "1"}), startup_probe=Probe(handler="http"),
        readiness_probe=Probe(handler="tcp"), liveness_probe=Probe(handler="exec"), program="gunicorn",
    )  # fmt: skip
    full = PodSpec(containers=(rich,), priority_class_name="high", termination_grace_period_seconds=60)
    cluster.pod(
        cluster.workload("api", "prod", full, strategy=Strategy(max_surge=1, max_unavailable=0)), working_set=GIB
    )
    cluster.pod(cluster.workload("api", "dev", PodSpec(containers=(container(),))))
    service = only(cluster)
    assert {row.aspect for row in service.rows} == set(Aspect)
    assert all(len(row.cells) == 2 for row in service.rows)


def test_sidecars_in_one_environment_only() -> None:
    cluster = Cluster()
    cluster.node()
    both = PodSpec(containers=(container(), container("proxy", "registry/proxy:1")))
    cluster.pod(cluster.workload("api", "prod", both))
    cluster.pod(cluster.workload("api", "dev", PodSpec(containers=(container(),))))
    rows = matrix_rows(only(cluster))
    assert {"no such container"} == {str(row["dev"]) for row in rows if "(proxy)" in str(row["what"])}
    listed = flat_rows(drift((cluster.snapshot(),), RULE))
    proxys = {
        (row["environment"], row["value"], row["amount"], row["ratio"]) for row in listed if row["aspect"] == "image"
    }
    assert proxys == {("prod", "registry/proxy", None, ""), ("dev", None, None, "")}


def test_findings_name_the_workload_and_the_cure() -> None:
    found = findings(dev_and_prod().snapshot())
    assert [one.object for one in found] == ["Deployment/dev/api"]
    assert "memory request" in found[0].fix


def test_flat_rows_hold_every_cell() -> None:
    report = drift((dev_and_prod().snapshot(),))
    rows = flat_rows(report, everything=True)
    assert len(rows) == sum(len(service.rows) * len(service.environments) for service in report.services)


def test_an_empty_cluster() -> None:
    report = drift((Cluster().snapshot(),))
    assert report.services == ()
    assert str(report.sentence) == "No service runs in two environments."


def test_a_finished_job_is_no_member_of_a_service_and_one_that_runs_is() -> None:
    """Its pods ended with the release it was of: it would differ from the one that runs by every release since."""
    snapshot = dev_and_prod().snapshot()
    assert [service.environments for service in drift((snapshot,), RULE).services] == [("prod", "dev")]
    ended = tuple(replace(one, is_finished=one.namespace == "dev") for one in snapshot.workloads)
    assert [one.environments for one in drift((replace(snapshot, workloads=ended),), RULE).services] == []


def test_pods_that_succeeded_are_none_of_a_members_and_those_that_run_are() -> None:
    snapshot = dev_and_prod().snapshot()
    [members] = members_of((snapshot,), RULE, ()).values()
    assert {one.environment: one.restart_count for one in members} == {"dev": 9, "prod": 0}
    ended = tuple(replace(one, phase="Succeeded") if one.namespace == "dev" else one for one in snapshot.pods)
    [members] = members_of((replace(snapshot, pods=ended),), RULE, ()).values()
    assert {one.environment: (len(one.pods or ()), one.restart_count) for one in members} == {
        "dev": (0, 0),
        "prod": (2, 0),
    }


def test_each_value_is_told_as_people_write_it() -> None:
    cluster = Cluster()
    cluster.node(labels={"cloud.google.com/gke-nodepool": "default"})
    rich = Container(
        name="api", image="registry/app/api:1", requests=amounts(cpu="1", memory="1Gi", **{"nvidia.com/gpu": "1"}),
        limits=amounts(cpu="2", memory="1Gi", **{"nvidia.com/gpu": "1"}), liveness_probe=Probe(handler="exec"), program="gunicorn",
    )  # fmt: skip
    full = PodSpec(containers=(rich,), priority_class_name="high", termination_grace_period_seconds=60)
    plain = PodSpec(containers=(container("web"),))
    prod = cluster.workload("api", "prod", full, replicas=2, strategy=Strategy(max_surge=1, max_unavailable=0))
    cluster.pod(prod, working_set=GIB)
    cluster.pod(prod, working_set=GIB // 2, cpu=80)
    cluster.pod(cluster.workload("api", "dev", plain, replicas=4, strategy=Strategy(kind="Recreate")))
    cluster.pod(cluster.workload("api", "test", plain, kind="Job"), ContainerState(name="", restart_count=3), node="")
    [service] = drift((cluster.snapshot(),), RULE).services
    assert service.environments == ("prod", "dev", "test")
    told = {str(row["what"]): tuple(row.values())[1:] for row in matrix_rows(service, everything=True)}
    probe = "exec, after 0 s, every 10 s, 3 failures, timeout 1 s"
    assert told == {
        "kind": ("Deployment", "Deployment", "Job"), "replicas": ("2", "4 (2×)", "1 (1/2)"), "ready": ("2 of 2", "1 of 1", "0 of 1"),
        "restarts": ("0", "0", "3"), "memory request": ("1Gi", "none", "none"), "memory limit": ("1Gi", "none", "none"),
        "working set (largest seen)": ("1 GiB", "not measured", "not measured"), "CPU request": ("1", "none", "none"),
        "CPU limit": ("2", "none", "none"), "CPU used": ("80m", "not measured", "not measured"),
        "GPUs": ("1 nvidia.com/gpu", "none", "none"), "strategy": ("RollingUpdate (surge 1, unavailable 0)", "Recreate", "none"),
        "liveness probe": (probe, "none", "none"), "grace period": ("60 s", "30 s (1/2)", "30 s (1/2)"),
        "image": ("registry/app/api",) * 3, "image version": ("1",) * 3, "started as": ("image (gunicorn)", "image", "image"),
        "node pool": ("default", "default", ""), "priority class": ("high", "none", "none"),
    }  # fmt: skip
    # CSV has the same.
    rows = flat_rows(drift((cluster.snapshot(),), RULE), everything=True)
    assert {str(row["value"]) for row in rows if row["aspect"] == "priority class"} == {"high", "none"}
    assert {row["amount"] for row in rows if row["aspect"] == "replicas"} == {2, 4, 1}


def test_what_was_not_seen_is_not_known() -> None:
    snapshot = dev_and_prod().snapshot()
    unseen = replace(snapshot, pods=(), presence=FrozenMap({**snapshot.presence, "Pod": Presence.ABSENT}))
    [service] = drift((unseen,), RULE).services
    assert {cell(service, what, "prod")[0] for what in (Aspect.READY, Aspect.RESTARTS, Aspect.NODE_POOL)} == {
        "not known"
    }


# ── what a difference explains ───────────────────────────────────────────────────────────────────────────────────────
def crashing(code: int, reason: str = "Error", **dev: Any) -> Cluster:
    """dev/api restarts and prod/api, with 2Gi, doesn't."""
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", spec(dev.pop("memory", "2Gi"), **dev)), crashed(code, reason))
    cluster.pod(cluster.workload("api", "prod", spec("2Gi")), working_set=GIB)
    return cluster


def test_less_memory_explains_an_oom_kill_and_no_error_exit() -> None:
    assert "memory" in str(only(crashing(137, "OOMKilled", memory="1Gi")).explanations[0].sentence)
    assert only(crashing(1, memory="1Gi")).explanations == ()


def test_another_version_is_told_where_no_amount_explains_the_trouble() -> None:
    """The kernel kills any version at its limit; of what crashes near its limit the lower request is the explanation."""
    assert only(crashing(137, "OOMKilled", image="registry/app/api:2")).explanations == ()
    cluster = crashing(1, memory="1Gi", image="registry/app/api:2")
    assert "version 2 where prod has 1" in str(only(cluster).sentence)
    used = ContainerMetrics(container="api", cpu_millicores=50, working_set_bytes=1010 * MIB)
    name = cluster.pods[0].name
    cluster.metrics.append(PodMetrics(namespace="dev", name=name, taken_at=NOW, window_seconds=15, containers=(used,)))
    near_its_limit = str(only(cluster).sentence)
    assert "1/2 of prod's memory limit" in near_its_limit
    assert "version" not in near_its_limit


def test_what_went_wrong_once_is_not_explained() -> None:
    """It has run for more than a day since: who raised its limit meanwhile has nothing to do."""
    for seconds_ago, explained in ((60.0, 1), (90_000.0, 0)):
        cluster = dev_and_prod()
        ended = NOW - seconds_ago
        runs = replace(
            RUNNING, name="api", started_at=ended + 1, restart_count=1, last_state="terminated", last_reason="OOMKilled",
            last_exit_code=137, last_finished_at=ended, last_started_at=ended - 30,
        )  # fmt: skip
        cluster.pods[0] = replace(cluster.pods[0], is_ready=True, containers=(runs,))
        assert len(only(cluster).explanations) == explained, seconds_ago


def test_who_is_refused_memory_gets_as_much_as_where_it_works() -> None:
    """Nothing was measured: the trouble alone says what it wants, as long as it goes on."""

    def suggested(**dev: Any) -> list[tuple[str, str]]:
        cluster = Cluster()
        cluster.node()
        cluster.pod(cluster.workload("api", "dev", spec("1Gi")), **dev)
        cluster.pod(cluster.workload("api", "prod", spec("2Gi")))
        return [(one.environment, one.suggestion.text) for one in only(cluster).suggestions]

    refused = "Traceback (most recent call last):\n  x = big()\nMemoryError"
    ((environment, text),) = suggested(state=crashed(1), previous_log=refused)
    assert environment == "dev"
    assert "2Gi" in text
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
    ended = ContainerState(name="", state="terminated", exit_code=137, reason="Error")
    assert suggested(state=ended, **evicted) == []
    assert suggested(state=crashed(1)) == []


def test_a_limit_where_the_other_has_none_explains_too() -> None:
    cluster = crashing(137, "OOMKilled")
    cluster.workloads[1] = replace(
        cluster.workloads[1], template=replace(cluster.workloads[1].template, spec=PodSpec(containers=(container(),)))
    )
    assert "a memory limit (2Gi) where prod has none" in str(only(cluster).sentence)


def test_less_cpu_explains_a_start_that_its_limit_throttles() -> None:
    cluster = Cluster()
    cluster.node()
    slow = spec(
        "2Gi", limits=amounts(cpu="100m", memory="2Gi"), startup_probe=Probe(handler="http", failure_threshold=3)
    )
    fast = spec("2Gi", limits=amounts(cpu="2", memory="2Gi"), startup_probe=Probe(handler="http", failure_threshold=3))
    pod = cluster.pod(cluster.workload("api", "dev", slow), crashed(137), working_set=GIB, cpu=99)
    cluster.event(pod, "Killing", "Container api failed startup probe, will be restarted")
    cluster.pod(cluster.workload("api", "prod", fast), working_set=GIB)
    assert "has 1/20 of prod's CPU limit (100m of 2)" in str(only(cluster).sentence)


def test_the_cure_of_an_environment_is_its_own() -> None:
    cluster = dev_and_prod()
    cluster.pod(cluster.workload("api", "test", spec("512Mi")), crashed(137, "OOMKilled"), working_set=500 * MIB)
    own = {f"{one.workload}": f"api: {one.suggestion.text}" for one in only(cluster).suggestions}
    assert len(own) == 2
    assert {one.object: one.fix for one in findings(cluster.snapshot())} == own


def test_an_oom_kill_of_a_sidecar_is_about_the_sidecar() -> None:
    def with_proxy(memory: str) -> PodSpec:
        own, its = (amounts(memory=one, cpu="1") for one in ("256Mi", memory))
        proxy = container("proxy", "registry/proxy:1", requests=its, limits=its)
        return PodSpec(containers=(container(requests=own, limits=own), proxy))

    cluster = Cluster()
    cluster.node()
    runs, killed = (replace(RUNNING, name=one) for one in ("api", "proxy")), crashed(137, "OOMKilled")
    cluster.pod(cluster.workload("api", "prod", with_proxy("256Mi")), containers=tuple(runs))
    cluster.pod(
        cluster.workload("api", "dev", with_proxy("128Mi")),
        containers=(replace(RUNNING, name="api"), replace(killed, name="proxy")),
    )
    service = only(cluster)
    assert "1/2 of prod's memory limit (128Mi of 256Mi)" in str(service.sentence)
    assert {(one.environment, one.suggestion.container) for one in service.suggestions} == {("dev", "proxy")}


def test_a_suggestion_that_is_carried_out_is_given_no_more() -> None:
    cluster = Cluster()
    cluster.node()
    for place in ("dev", "prod"):
        cluster.pod(cluster.workload("api", place, spec("2Gi")), working_set=1_900 * MIB)
    service = only(cluster)
    assert [one.environment for one in service.suggestions] == ["prod", "dev"]
    for number, one in zip((1, 0), service.suggestions, strict=True):
        now = cluster.workloads[number]
        [own] = now.template.spec.containers
        carried_out = PodSpec(containers=(one.suggestion.applied(own),))
        cluster.workloads[number] = replace(now, template=replace(now.template, spec=carried_out))
    assert only(cluster).suggestions == ()


def test_the_name_that_a_rule_gives_can_be_the_same_as_another_by_hand() -> None:
    labelled = named(("x", "one", {"app": "backend"}), ("y", "two", {"app": "api"}))
    assert only(labelled, Rule(same_as=(("backend", "api"),))).service == "api"


@pytest.mark.parametrize("text", ["blue, green", " blue green ", "blue,,green,"])
def test_words_of_environments(text: str) -> None:
    assert parse_words(text) == parse_between(text) == ("blue", "green")
    assert parse_between(" all ") == ()


def test_an_environment_that_is_not_there_is_said_with_what_is() -> None:
    with pytest.raises(InputError) as told:
        drift((dev_and_prod().snapshot(),), Rule(between=("dev", "moon")))
    assert "dev and prod" in told.value.fix
    with pytest.raises(InputError) as told:
        drift((Cluster().snapshot(),), Rule(between=("dev", "moon")))
    assert "None is known" in told.value.fix


def test_a_container_that_the_reference_has_not_is_not_compared_with_another() -> None:
    cluster = Cluster()
    cluster.node()
    states = (replace(RUNNING, name="api"), replace(crashed(137, "OOMKilled"), name="proxy"))
    dev = PodSpec(containers=(container(), container("proxy", "registry/proxy:1")))
    prod = PodSpec(containers=(container(), container("logs", "registry/logs:1")))
    cluster.pod(cluster.workload("api", "dev", dev), containers=states)
    cluster.pod(
        cluster.workload("api", "prod", prod), containers=tuple(replace(RUNNING, name=n) for n in ("api", "logs"))
    )
    assert only(cluster).explanations == ()
