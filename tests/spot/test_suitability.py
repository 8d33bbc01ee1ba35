from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.ground.records import replace
from planner.kubernetes.clouds import CLOUDS
from planner.kubernetes.object_records import (
    EMPTY,
    CommandForm,
    Container,
    ContainerState,
    FrozenMap,
    PersistentVolume,
    PersistentVolumeClaim,
    PriorityClass,
    Snapshot,
    Taint,
    Toleration,
    Volume,
    Workload,
)
from planner.kubernetes.pod_properties import LearntStart, learn_start
from planner.sources import demo
from planner.spot import suitability_checks
from planner.spot.assumptions import Capacity, Work
from planner.spot.suitability import Fitness, check_workload, guess_work, pods_by_workload
from planner.spot.suitability_checks import CHECK_NAME, OUTCOMES, Check, CheckResult, Status, in_sentence
from tests.spot import clusters
from tests.spot.clusters import PROBE, budget, cluster, container, node, pod, spec, workload

SPOT = {"cloud.google.com/gke-spot": "true"}


def check(of: Workload, which: Check, snapshot: Snapshot | None = None, **more: Any) -> CheckResult:
    found = check_workload(snapshot or cluster(of), of, **more)
    return next(result for result in found.checks if result.check is which)


def test_the_checklist_has_every_point_once() -> None:
    found = check_workload(cluster(workload()), workload())
    assert [result.check for result in found.checks] == list(Check)
    assert list(CHECK_NAME) == list(Check)


def test_every_outcome_of_the_checklist_is_one_that_a_check_says() -> None:
    """A name in `suitability_checks.py` that the table lacks, or a row that nothing says, is a slip of the pen."""
    tree = ast.parse(Path(suitability_checks.__file__).read_text(encoding="utf-8"))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "say"]
    said = {
        text.value
        for call in calls
        for text in ast.walk(call.args[0])
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    }
    said |= {"per_node", "ordinals", "again"}  # the controller's, by its traits
    said |= {
        cloud.quota_unit for cloud in CLOUDS if cloud.quota_command and not cloud.quotas_gpus
    }  # the quota's, by its cloud
    assert said == {key.partition(".")[2] for key in OUTCOMES}
    assert {key.partition(".")[0] for key in OUTCOMES} == {check.value for check in Check}


@pytest.mark.parametrize("check", list(Check))
def test_names_of_checks_keep_their_capitals_in_a_sentence(check: Check) -> None:
    name = in_sentence(check)
    assert name.lower() == CHECK_NAME[check].lower()
    assert ("SIGTERM" in name) == (check is Check.SIGTERM)
    assert name[0].islower() or check is Check.SIGTERM
    assert ("preStop" in name) == (check is Check.PRE_STOP)


def test_a_workload_named_sigterm_keeps_its_name() -> None:
    one = workload(spec(container(CommandForm.SHELL)), name="sigterm")
    assert str(check_workload(cluster(one), one).sentence).startswith("ml/sigterm ")


# ── SIGTERM ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("form", "program", "status", "words"),
    [
        (CommandForm.SHELL, "python", Status.CHANGE, "keeps SIGTERM to itself"),
        (CommandForm.SHELL, "", Status.CHANGE, "keeps SIGTERM to itself"),
        (CommandForm.SHELL_EXEC, "celery", Status.OK, "celery gets SIGTERM (sh -c exec): warm shutdown"),
        (CommandForm.EXEC, "gunicorn", Status.OK, "graceful_timeout"),
        (CommandForm.EXEC, "python3.11", Status.UNSEEN, "no handler of its own"),
        (CommandForm.EXEC, "tini", Status.UNSEEN, "passes SIGTERM on"),
        (CommandForm.EXEC, "npm", Status.CHANGE, "doesn't hear of SIGTERM"),
        (CommandForm.EXEC, "uwsgi", Status.CHANGE, "reloads on SIGTERM"),
        (CommandForm.EXEC, "nginx", Status.CHANGE, "SIGQUIT is the graceful one"),
        (CommandForm.EXEC, "entrypoint.sh", Status.CHANGE, "shell script as process 1"),
        (CommandForm.EXEC, "mine", Status.UNSEEN, "whether it has a handler can't be seen"),
        (CommandForm.IMAGE, "", Status.UNSEEN, "the image's own entrypoint"),
    ],
)
def test_how_the_process_is_started_decides(form: CommandForm, program: str, status: Status, words: str) -> None:
    found = check(workload(spec(container(form, program))), Check.SIGTERM)
    assert found.status is status
    assert words in found.evidence


def test_shell_form_is_cured_by_exec() -> None:
    found = check(workload(spec(container(CommandForm.SHELL, "python"))), Check.SIGTERM)
    assert "exec python" in found.by_hand
    assert not found.yaml, "the command's arguments are not known: it can't be a patch"


def test_the_worst_container_decides_and_sidecars_count() -> None:
    good, bad = container(), Container(name="side", command_form=CommandForm.SHELL, restart_policy="Always")
    pair = workload(spec(good).__class__(containers=(good,), init_containers=(bad,)))
    found = check(pair, Check.SIGTERM)
    assert found.status is Status.CHANGE
    assert "main: celery" in found.evidence
    assert "side: a shell" in found.evidence
    setup = Container(name="setup", command_form=CommandForm.SHELL)
    assert check(workload(spec(good, init_containers=(setup,))), Check.SIGTERM).status is Status.OK


# ── the other checks ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_grace_period_against_the_window() -> None:
    assert check(workload(spec(termination_grace_period_seconds=15)), Check.GRACE_PERIOD).status is Status.OK
    long = check(workload(spec(termination_grace_period_seconds=30)), Check.GRACE_PERIOD)
    assert long.status is Status.CHANGE
    assert yaml.safe_load(long.yaml)["spec"]["template"]["spec"] == {"terminationGracePeriodSeconds": 15}
    assert "up to 120 s" in long.cure
    too_long = check(workload(spec(termination_grace_period_seconds=300)), Check.GRACE_PERIOD)
    assert "120" not in too_long.cure
    preemptible = check(
        workload(spec(termination_grace_period_seconds=30)), Check.GRACE_PERIOD, capacity=Capacity.PREEMPTIBLE
    )
    assert "120" not in preemptible.cure


@pytest.mark.parametrize(
    ("replicas", "kind", "status"),
    [(1, "Deployment", Status.CHANGE), (2, "Deployment", Status.OK), (1, "Job", Status.OK)],
)
def test_one_replica_is_too_few(replicas: int, kind: str, status: Status) -> None:
    found = check(workload(kind=kind, replicas=replicas), Check.REPLICAS)
    assert found.status is status
    assert bool(found.yaml) == (status is Status.CHANGE)


def test_budget_missing_blocking_and_good() -> None:
    of = workload()
    missing = check(of, Check.BUDGET, cluster(of, pod_disruption_budgets=()))
    assert missing.status is Status.CHANGE
    assert missing.is_whole_object
    made = yaml.safe_load(missing.yaml)
    assert made["spec"] == {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "worker"}}}
    for limits in ({"max_unavailable": 0}, {"min_available": 3}, {"min_available": "100%"}):
        blocking = check(of, Check.BUDGET, cluster(of, pod_disruption_budgets=(budget(**limits),)))
        assert blocking.status is Status.CHANGE
        assert "no disruption at all" in blocking.evidence
    assert check(of, Check.BUDGET).status is Status.OK


def test_daemon_sets_and_system_pods_are_unsuitable() -> None:
    assert check(workload(kind="DaemonSet"), Check.CONTROLLER).status is Status.UNSUITABLE
    assert check(workload(kind="StatefulSet"), Check.CONTROLLER).status is Status.MIND
    system = workload(spec(priority_class_name="system-cluster-critical"))
    classes = (PriorityClass(name="system-cluster-critical", value=2_000_000_000), PriorityClass(name="high", value=10))
    assert check(system, Check.PRIORITY, cluster(system, priority_classes=classes)).status is Status.UNSUITABLE
    high = workload(spec(priority_class_name="high"))
    assert check(high, Check.PRIORITY, cluster(high, priority_classes=classes)).status is Status.MIND
    assert check(workload(), Check.PRIORITY, cluster(workload(), priority_classes=classes)).status is Status.OK


def test_pre_stop_takes_time_off_the_notice() -> None:
    assert check(workload(spec(container(has_pre_stop=True))), Check.PRE_STOP).status is Status.UNSEEN
    assert check(workload(), Check.PRE_STOP).status is Status.OK


def test_start_up_is_learnt_and_a_server_needs_a_readiness_probe() -> None:
    of = workload()
    assert "20 s (median of its pods)" in check(of, Check.START_UP).evidence
    slow = cluster(of, pods=(pod(of, "node-1", seconds=900.0),))
    assert check(of, Check.START_UP, slow).status is Status.MIND
    unseen = cluster(of, pods=(pod(of, "node-1", seconds=None),))
    assert "no time seen" in check(of, Check.START_UP, unseen).evidence.lower()
    web = workload(spec(container(program="gunicorn")), name="web")
    assert check(web, Check.START_UP).status is Status.CHANGE
    probed = workload(spec(container(program="gunicorn", readiness_probe=PROBE)), name="web")
    assert check(probed, Check.START_UP).status is Status.OK


def test_start_seconds_is_the_median_of_ready_pods() -> None:
    of = workload()
    pods = tuple(pod(of, "n", name=f"p{seconds}", seconds=seconds) for seconds in (10.0, 30.0, 500.0))
    assert learn_start(pods) == LearntStart(seconds=30.0, pods=3)
    assert learn_start(()) is None


@pytest.mark.parametrize(
    ("volume", "status"),
    [
        (Volume(name="v", kind="hostPath"), Status.UNSUITABLE),
        (Volume(name="v", kind="persistentVolumeClaim", claim_name="local"), Status.UNSUITABLE),
        (Volume(name="v", kind="persistentVolumeClaim", claim_name="disk"), Status.MIND),
        (Volume(name="v", kind="emptyDir"), Status.UNSEEN),
        (Volume(name="v", kind="emptyDir", medium="Memory"), Status.OK),
        (Volume(name="v", kind="configMap"), Status.OK),
    ],
)
def test_what_a_lost_node_takes_along(volume: Volume, status: Status) -> None:
    of = workload(spec(volumes=(volume,)))
    snapshot = cluster(
        of,
        persistent_volumes=(PersistentVolume(name="pv-local", is_local=True), PersistentVolume(name="pv-disk")),
        persistent_volume_claims=(
            PersistentVolumeClaim(namespace="ml", name="local", volume_name="pv-local"),
            PersistentVolumeClaim(namespace="ml", name="disk", volume_name="pv-disk"),
        ),
    )
    assert check(of, Check.STORAGE, snapshot).status is status


def test_length_of_jobs_against_notice_and_lifetime() -> None:
    of = workload()
    assert check(of, Check.JOB_LENGTH).status is Status.UNSEEN
    assert check(of, Check.JOB_LENGTH, job_minutes=0.2).status is Status.OK
    assert check(of, Check.JOB_LENGTH, job_minutes=5.0).status is Status.MIND
    longer = check(of, Check.JOB_LENGTH, job_minutes=24 * 60.0, capacity=Capacity.PREEMPTIBLE)
    assert longer.status is Status.CHANGE
    assert "24 h at most" in longer.evidence


def test_length_of_a_job_is_learnt_from_its_finished_pods() -> None:
    of = workload(kind="Job")
    ran = ContainerState(name="main", started_at=0.0, finished_at=7200.0)
    finished = replace(pod(of, "node-1", name="done"), phase="Succeeded", containers=(ran,))
    found = check(of, Check.JOB_LENGTH, cluster(of, pods=(finished,)))
    assert found.status is Status.MIND
    assert "Jobs of 2 h (the longest pod seen)" in found.evidence


def test_jobs_should_not_count_preemptions_as_failures() -> None:
    found = check(workload(kind="Job", backoff_limit=2), Check.RETRIES)
    assert found.status is Status.CHANGE
    assert "backoffLimit 2" in found.evidence
    assert yaml.safe_load(found.by_hand)["podFailurePolicy"]["rules"][0]["action"] == "Ignore"


def test_placement_lacks_selector_and_toleration_and_a_pool() -> None:
    gpu = Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule")
    pinned = FrozenMap({"cloud.google.com/gke-nodepool": "gpu-t4", "disk": "ssd"})
    of = workload(spec(node_selector=pinned, tolerations=(gpu,)))
    found = check(of, Check.PLACEMENT)
    assert found.status is Status.CHANGE
    assert "add a pool first" in found.evidence
    assert "gcloud container node-pools create gpu-t4-spot" in found.by_hand
    patch = yaml.safe_load(found.yaml)["spec"]["template"]["spec"]
    assert patch["nodeSelector"] == {"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-nodepool": None}
    assert [one["key"] for one in patch["tolerations"]] == ["cloud.google.com/gke-spot", "nvidia.com/gpu"]

    ready = workload(
        spec(
            node_selector=FrozenMap(SPOT),
            tolerations=(Toleration(key="cloud.google.com/gke-spot", operator="Exists"),),
        )
    )
    assert check(ready, Check.PLACEMENT, cluster(ready, node(), node("spot-1", SPOT))).status is Status.OK
    tainted = cluster(ready, node(), node("spot-1", SPOT, taints=(Taint(key="x", value="", effect="NoSchedule"),)))
    assert "it lacks a toleration of x" in check(ready, Check.PLACEMENT, tainted).evidence


@pytest.mark.parametrize(
    ("labels", "selector"),
    [
        ({"eks.amazonaws.com/nodegroup": "g"}, "eks.amazonaws.com/capacityType"),
        ({"kubernetes.azure.com/agentpool": "g"}, "kubernetes.azure.com/scalesetpriority"),
    ],
)
def test_other_clouds_have_their_own_labels(
    labels: dict[str, str], selector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "GKE", {})
    of = workload()
    found = check(of, Check.PLACEMENT, cluster(of, node(labels=labels)))
    assert selector in yaml.safe_load(found.yaml)["spec"]["template"]["spec"]["nodeSelector"]
    assert not found.by_hand


# ── the verdict ──────────────────────────────────────────────────────────────────────────────────────────────────────
def runs_on_spot(**more: Any) -> tuple[Workload, Snapshot]:
    of = workload(**more)
    return of, cluster(of, node(labels=SPOT))


def test_ready() -> None:
    of, snapshot = runs_on_spot()
    found = check_workload(snapshot, of, job_minutes=0.1)
    assert found.fitness is Fitness.READY
    assert str(found.sentence) == "ml/worker runs on spot and is ready for it, as far as a manifest can tell."
    assert found.patch_yaml == ""
    assert found.objects_yaml == ""


def test_needs_changes_has_one_patch_of_all_cures() -> None:
    of = workload(spec(termination_grace_period_seconds=60), replicas=1)
    found = check_workload(cluster(of), of)
    assert found.fitness is Fitness.NEEDS_CHANGES
    assert "replicas, grace period, selectors and tolerations" in str(found.sentence)
    patch = yaml.safe_load(found.patch_yaml)["spec"]
    assert patch["replicas"] == 2
    assert patch["template"]["spec"].keys() == {"terminationGracePeriodSeconds", "nodeSelector", "tolerations"}


def test_unsuitable_says_why() -> None:
    of, snapshot = runs_on_spot(pod=spec(volumes=(Volume(name="data", kind="hostPath"),)))
    found = check_workload(snapshot, of)
    assert found.fitness is Fitness.UNSUITABLE
    assert "data: data on the node's own disk is gone" in str(found.sentence)


def test_annotation_opts_out() -> None:
    of, snapshot = runs_on_spot(annotations=FrozenMap({"headroom.dev/spot": "never"}))
    found = check_workload(snapshot, of)
    assert found.fitness is Fitness.OPTED_OUT
    assert "headroom.dev/spot" in str(found.sentence)


def test_commands_name_a_real_pod_and_its_node() -> None:
    of, snapshot = runs_on_spot()
    commands = [one.command for one in check_workload(snapshot, of).commands]
    assert "kubectl delete pod/worker-a -n ml --grace-period=15" in commands
    assert "gcloud compute instances simulate-maintenance-event node-1 --zone zone-a" in commands
    assert any("/proc/1/status" in command for command in commands)


def test_advice_is_for_what_the_workload_does() -> None:
    of, snapshot = runs_on_spot()
    assert "take no new job" in check_workload(snapshot, of).advice[0]
    web, around = runs_on_spot(pod=spec(container(program="gunicorn")), name="web")
    assert "readiness probe" in check_workload(around, web).advice[0]


@pytest.mark.parametrize(
    ("of", "work"),
    [
        (workload(kind="Job"), Work.JOBS),
        (workload(spec(container(program="vllm")), name="llm-worker"), Work.SERVING),
        (workload(spec(container(program="python")), name="trainer"), Work.JOBS),
        (workload(spec(container(program="python", readiness_probe=PROBE)), name="api"), Work.SERVING),
        (workload(spec(container(program="python")), name="thing"), Work.JOBS),
    ],
)
def test_what_a_workload_does_is_guessed(of: Workload, work: Work) -> None:
    assert guess_work(of)[0] is work


def test_the_demo_tells_its_story() -> None:
    snapshot = demo.read()
    pods = pods_by_workload(snapshot)
    found = {one.key: check_workload(snapshot, one, pods=pods.get(one.key, ())) for one in snapshot.workloads}
    worker = found["Deployment/prod/ml-worker"]
    assert worker.fitness is Fitness.NEEDS_CHANGES
    changes = [one.check for one in worker.checks if one.status is Status.CHANGE]
    assert changes == [Check.GRACE_PERIOD, Check.SIGTERM, Check.PLACEMENT]
    runner = found["Deployment/batch/labs-runner"]
    assert str(runner.sentence).startswith(
        "batch/labs-runner runs on spot, and should be changed for it: disruption budget"
    )


# ── a review's list ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_init_over_a_shell_doesn_t_pass() -> None:
    found = check(workload(spec(container(CommandForm.INIT_SHELL, "python"))), Check.SIGTERM)
    assert found.status is Status.CHANGE
    assert "python is not told" in found.evidence
    assert "tini -g" in found.cure


def test_a_shell_with_a_trap_is_no_alarm() -> None:
    found = check(workload(spec(container(CommandForm.SHELL_TRAP, "python"))), Check.SIGTERM)
    assert found.status is Status.UNSEEN
    assert "has a trap for SIGTERM" in found.evidence


@pytest.mark.parametrize(("seconds", "status"), [(20, Status.CHANGE), (15, Status.CHANGE), (5, Status.UNSEEN)])
def test_a_hook_that_sleeps_the_notice_away_is_seen(seconds: int, status: Status) -> None:
    found = check(workload(spec(container(has_pre_stop=True, pre_stop_seconds=seconds))), Check.PRE_STOP)
    assert found.status is status
    if status is Status.CHANGE:
        assert f"sleeps {seconds} s, and a preemption leaves 15 s in all" in found.evidence


@pytest.mark.parametrize(
    ("limits", "second", "words"),
    [
        ({"min_available": "90%"}, False, "no disruption at all"),  # ⌈5.4⌉ = 6 of 6
        ({"min_available": 8}, False, "no disruption at all"),
        ({"max_unavailable": 1}, True, "Together they allow no disruption"),
    ],
)
def test_budgets_that_allow_nothing(limits: dict[str, Any], second: bool, words: str) -> None:
    of = workload(replicas=6)
    budgets = (budget(**limits), *((replace(budget(max_unavailable=2), name="other"),) if second else ()))
    found = check(of, Check.BUDGET, cluster(of, pod_disruption_budgets=budgets))
    assert found.status is Status.CHANGE
    assert words in found.evidence


@pytest.mark.parametrize(
    ("directory", "status"), [("/dev", Status.MIND), ("/var/run", Status.MIND), ("", Status.UNSUITABLE)]
)
def test_only_a_host_path_with_data_of_its_own_is_refused(directory: str, status: Status) -> None:
    of = workload(spec(volumes=(Volume(name="v", kind="hostPath", host_path=directory),)))
    assert check(of, Check.STORAGE).status is status


def test_a_job_that_ignores_disruptions_has_its_retries() -> None:
    job = workload(kind="Job", backoff_limit=3)
    assert check(job, Check.RETRIES).status is Status.CHANGE
    found = check(replace(job, ignores_disruptions=True), Check.RETRIES)
    assert found.status is Status.OK
    assert "podFailurePolicy ignores" in found.evidence


def test_the_quota_of_spot_gpus_is_named_and_local_ssd_said() -> None:
    on = node(labels={"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "topology.kubernetes.io/region": "asia-northeast3",
                      "cloud.google.com/gke-local-nvme-ssd": "true"})  # fmt: skip
    of = workload()
    found = check(of, Check.QUOTA, cluster(of, on))
    assert found.status is Status.UNSEEN
    assert "PREEMPTIBLE_NVIDIA_T4_GPUS" in found.evidence
    assert "local SSDs" in found.evidence
    assert "regions describe asia-northeast3" in found.by_hand


@pytest.mark.parametrize(
    ("labels", "said", "command"),
    [
        ({"eks.amazonaws.com/nodegroup": "a", "topology.kubernetes.io/region": "eu-west-1"}, "Spot Instance Requests", "aws service-quotas"),
        ({"kubernetes.azure.com/agentpool": "a", "topology.kubernetes.io/region": "westeurope"}, "lowPriorityCores", "az vm list-usage"),
        ({"cloud.google.com/gke-nodepool": "a", "topology.kubernetes.io/region": "asia-northeast3"}, "PREEMPTIBLE_CPUS", "gcloud compute"),
        ({}, "The cloud of these machines isn't known", ""),
    ],
    ids=["EKS", "AKS", "GKE without GPUs", "nobody's"],
)  # fmt: skip
def test_a_quota_that_was_not_looked_at_is_never_right(
    labels: dict[str, str], said: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "GKE", {})
    of, on = workload(), node(labels=labels, version="v1.31.0")
    without_gpus = replace(on, allocatable=EMPTY, capacity=EMPTY)
    found = check(of, Check.QUOTA, cluster(of, without_gpus))
    assert found.status is Status.UNSEEN
    assert said in found.evidence
    assert found.by_hand.startswith(command)


def test_who_runs_on_spot_has_the_quota() -> None:
    of = workload()
    on = node(labels={"cloud.google.com/gke-nodepool": "a", "cloud.google.com/gke-spot": "true"})
    assert check(of, Check.QUOTA, cluster(of, on)).status is Status.OK


@pytest.mark.parametrize(
    ("program", "status"),
    [("torchrun", Status.UNSEEN), ("uv", Status.UNSEEN), ("timeout", Status.UNSEEN), ("conda", Status.CHANGE)],
)
def test_wrappers_are_known(program: str, status: Status) -> None:
    assert check(workload(spec(container(CommandForm.EXEC, program))), Check.SIGTERM).status is status
