"""Each cause, on clusters nobody recorded."""

from __future__ import annotations

import pytest

from planner.ground.records import replace
from planner.health.restarts.model import Activity, Cause, Confidence, EvidenceSource
from planner.health.restarts.report import restarts
from planner.kubernetes.object_records import ContainerState, FrozenMap, PodSpec, Presence, Probe, Snapshot, Volume
from planner.kubernetes.pod_properties import patience_seconds
from tests.builders.records import amounts
from tests.restarts.cases import (
    GIB,
    MIB,
    NOW,
    RUNNING,
    Cluster,
    container,
    crashed,
    one_loop,
    single,
)

SMALL = PodSpec(containers=(container(limits=amounts(memory="256Mi"), requests=amounts(memory="256Mi")),))


def waiting(reason: str, message: str = "") -> ContainerState:
    return ContainerState(name="", state="waiting", reason=reason, message=message)


def test_a_quiet_cluster_has_no_loops() -> None:
    cluster, _ = single(RUNNING)
    report = restarts(cluster.snapshot())
    assert report.loops == ()
    assert str(report.sentence) == "No container restarts or fails to start, of 1 container looked at."
    assert any("no logs" in gap for gap in report.gaps)


def test_an_empty_cluster_has_no_loops() -> None:
    assert restarts(Cluster().snapshot()).loops == ()


def test_own_limit() -> None:
    cluster, _ = single(crashed(137, "OOMKilled"), spec=SMALL)
    loop = one_loop(cluster)
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.OOM_OWN_LIMIT, Confidence.CERTAIN)
    assert loop.activity is Activity.LOOPING
    assert "its own memory limit (256Mi)" in str(loop.sentence)
    assert loop.suggestion is not None
    assert loop.suggestion.memory_request_bytes >= 356 * MIB  # the limit it died at, and 100 MiB
    assert loop.suggestion.memory_limit_bytes == loop.suggestion.memory_request_bytes


def test_pod_level_limit_counts_as_own() -> None:
    spec = PodSpec(containers=(container(),), pod_limits=amounts(memory="1Gi"))
    loop = one_loop(single(crashed(137, "OOMKilled"), spec=spec)[0])
    assert loop.diagnosis.cause is Cause.OOM_OWN_LIMIT
    assert "its pod's memory limit (1Gi)" in loop.diagnosis.what


def test_without_a_limit_the_node_ran_out() -> None:
    assert one_loop(single(crashed(137, "OOMKilled"))[0]).diagnosis.cause is Cause.OOM_NODE


def test_with_a_limit_and_the_nodes_own_oom_at_that_moment_the_node_ran_out() -> None:
    cluster, _ = single(crashed(137, "OOMKilled"), spec=SMALL)
    cluster.event(None, "SystemOOM", "System OOM encountered, victim process: python, pid: 12", node="node-1")
    assert one_loop(cluster).diagnosis.cause is Cause.OOM_NODE


def test_a_volume_in_memory_is_named() -> None:
    spec = PodSpec(containers=SMALL.containers, volumes=(Volume(name="shm", kind="emptyDir", medium="Memory"),))
    evidence = one_loop(single(crashed(137, "OOMKilled"), spec=spec)[0]).diagnosis.evidence
    assert any("emptyDir" in one.text for one in evidence)


GUNICORN = "\n".join(
    f"[2026-11-20 08:5{minute}:00 +0000] [1] [INFO] Booting worker with pid: {pid}\n"
    f"[2026-11-20 08:5{minute}:31 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:{pid})\n"
    f"[2026-11-20 08:5{minute}:32 +0000] [1] [ERROR] Worker (pid:{pid}) was sent SIGKILL! Perhaps out of memory?"
    for minute, pid in enumerate((7, 8, 9))
)
OLD_GUNICORN = GUNICORN.replace("was sent SIGKILL! Perhaps out of memory?", "was terminated due to signal 9").replace(
    "[ERROR]", "[WARNING]"
)
UNICORN = "\n".join(
    f"E, [2026-11-20T08:5{n}:00.1 #1] ERROR -- : worker=0 PID:{40 + n} timeout (61s > 60s), killing\n"
    f"E, [2026-11-20T08:5{n}:00.2 #1] ERROR -- : reaped #<Process::Status: pid {40 + n} SIGKILL (signal 9)> worker=0"
    for n in range(3)
)
PUMA = "\n".join(
    "[1] ! Terminating timed out worker (Worker 0 failed to check in within 60 seconds): 2" + str(n) for n in range(3)
)
UWSGI = "\n".join(
    f"Fri Nov 20 08:5{n}:00 2026 - *** HARAKIRI ON WORKER 1 (pid: 7{n}, try: 1) *** worker 1 (pid: 7{n})\n"
    f"DAMN ! worker 1 (pid: 7{n}) died, killed by signal 9 :( trying respawn ..."
    for n in range(3)
)
PHP = "\n".join(
    f"[20-Nov-2026 08:5{n}:00] WARNING: [pool www] child {30 + n}, script '/i.php' (request: \"GET /\") execution timed out "
    "(30.1 sec), terminating"
    for n in range(3)
)


@pytest.mark.parametrize(
    ("log", "program"),
    [
        (GUNICORN, "gunicorn"),
        (OLD_GUNICORN, "gunicorn"),
        (UNICORN, "unicorn"),
        (PUMA, "puma"),
        (UWSGI, "uwsgi"),
        (PHP, "php-fpm"),
    ],
    ids=["gunicorn", "old gunicorn", "unicorn", "puma", "uwsgi", "php-fpm"],
)
def test_workers_killed_by_their_supervisors_timeout_though_the_pod_shows_nothing(log: str, program: str) -> None:
    loop = one_loop(single(RUNNING, log=log)[0])
    assert loop.diagnosis.cause is Cause.CHILD_TIMEOUT
    assert loop.activity is Activity.SILENT
    assert program in loop.diagnosis.what
    assert loop.restarts == 0


def test_gunicorns_guess_about_memory_is_not_taken_over() -> None:
    loop = one_loop(single(RUNNING, log=GUNICORN)[0])
    assert any("own kill after the timeout" in one.text for one in loop.diagnosis.evidence)
    assert "after 31 s" in loop.diagnosis.what


CELERY = "\n".join(
    f"[2026-11-20 08:5{n}:00,101: ERROR/MainProcess] Process 'ForkPoolWorker-{n}' pid:{20 + n} exited with 'signal 9 (SIGKILL)'\n"
    f"[2026-11-20 08:5{n}:00,201: ERROR/MainProcess] Task handler raised error: WorkerLostError('Worker exited prematurely: "
    f"signal 9 (SIGKILL) Job: {n}.')"
    for n in range(3)
)
GUNICORN_SHOT = "\n".join(
    f"[2026-11-20 08:5{n}:00 +0000] [1] [ERROR] Worker (pid:{n}) was sent SIGKILL! Perhaps out of memory?"
    for n in range(3)
)
LOADER = "\n".join(["RuntimeError: DataLoader worker (pid 33) is killed by signal: Killed."] * 2)
NGINX = "\n".join(f"2026/11/20 08:5{n}:00 [alert] 1#1: worker process 3{n} exited on signal 9" for n in range(3))
POSTGRES = "\n".join(
    f"2026-11-20 08:5{n}:00 UTC [1] LOG:  server process (PID 9{n}) was terminated by signal 9: Killed"
    for n in range(3)
)
SHELL = "\n".join(f"/run.sh: line 12:    4{n} Killed                  python work.py" for n in range(3))


@pytest.mark.parametrize(
    "log",
    [CELERY, GUNICORN_SHOT, LOADER, NGINX, POSTGRES, SHELL],
    ids=["celery", "gunicorn", "loader", "nginx", "postgres", "shell"],
)
def test_children_killed_by_somebody_else(log: str) -> None:
    loop = one_loop(single(RUNNING, log=log)[0])
    assert loop.diagnosis.cause is Cause.CHILD_KILLED
    assert loop.diagnosis.confidence is Confidence.POSSIBLE  # nothing else speaks of memory
    assert any(one.source is EvidenceSource.SPEC and "1.28" in one.text for one in loop.diagnosis.evidence)


def test_children_killed_while_memory_is_full_were_killed_for_memory() -> None:
    cluster, _ = single(RUNNING, spec=SMALL, log=CELERY, working_set=250 * MIB)
    loop = one_loop(cluster)
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.CHILD_KILLED, Confidence.LIKELY)
    assert "Memory is full" in str(loop.sentence)


UVICORN = "\n".join(f"INFO:     Child process [{n}] died" for n in (8, 9, 10))


def test_uvicorns_children_that_die() -> None:
    loop = one_loop(single(RUNNING, log=UVICORN)[0])
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.CHILD_KILLED, Confidence.POSSIBLE)
    assert loop.activity is Activity.SILENT
    starved = one_loop(single(RUNNING, spec=SMALL, log=UVICORN, working_set=255 * MIB)[0])
    assert starved.diagnosis.confidence is Confidence.LIKELY
    assert starved.suggestion is not None


def test_a_data_loader_that_exits_unexpectedly_ends_the_container() -> None:
    log = "RuntimeError: DataLoader worker (pid(s) 33, 34) exited unexpectedly"
    loop = one_loop(single(crashed(1), previous_log=log)[0])
    assert loop.diagnosis.cause is Cause.CHILD_KILLED
    assert "Kubernetes only shows exit code 1" in str(loop.sentence)


def test_a_shells_killed_child_that_takes_the_container_along() -> None:
    loop = one_loop(single(crashed(137), spec=SMALL, previous_log="Killed", working_set=250 * MIB)[0])
    assert loop.diagnosis.cause is Cause.CHILD_KILLED
    assert "Kubernetes only shows exit code 137" in str(loop.sentence)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("UnexpectedAdmissionError", Cause.REJECTED),
        ("OutOfnvidia.com/gpu", Cause.REJECTED),
        ("OutOfcpu", Cause.REJECTED),
        ("DeadlineExceeded", Cause.DEADLINE),
    ],
)
def test_pods_their_node_refused_and_pods_out_of_time(reason: str, cause: Cause) -> None:
    cluster, _ = single(ContainerState(name=""), phase="Failed", reason=reason)
    assert one_loop(cluster).diagnosis.cause is cause


def test_a_task_as_long_as_a_probes_patience_ends_by_itself() -> None:
    loop = one_loop(single(crashed(0, "Completed", ran=45), spec=with_probe(liveness_probe=PROBE))[0])
    assert loop.diagnosis.cause is Cause.COMPLETED


def test_one_late_worker_is_no_story() -> None:
    log = "[2026-11-20 08:50:31 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:7)"
    assert restarts(single(RUNNING, log=log)[0].snapshot()).loops == ()


@pytest.mark.parametrize(
    ("log", "code", "cause"),
    [
        ("Exception in thread main java.lang.OutOfMemoryError: Java heap space", 1, Cause.HEAP_LIMIT),
        ("Terminating due to java.lang.OutOfMemoryError: Java heap space", 3, Cause.HEAP_LIMIT),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", 134, Cause.HEAP_LIMIT),
        ("FATAL ERROR: Ineffective mark-compacts near heap limit Allocation failed", 134, Cause.HEAP_LIMIT),
        ("Traceback (most recent call last):\n  x = big()\nMemoryError", 1, Cause.HEAP_LIMIT),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 40.0 GiB for an array", 1, Cause.HEAP_LIMIT),
        ("fatal error: runtime: out of memory", 2, Cause.HEAP_LIMIT),
        ("memory allocation of 1073741824 bytes failed", 134, Cause.HEAP_LIMIT),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", 1, Cause.GPU_MEMORY),
        ("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", 1,
         Cause.SHARED_MEMORY),
    ],
)  # fmt: skip
def test_memory_refused_inside(log: str, code: int, cause: Cause) -> None:
    loop = one_loop(single(crashed(code), previous_log=log)[0])
    assert loop.diagnosis.cause is cause


def test_more_container_memory_is_not_offered_for_gpu_memory() -> None:
    log = "torch.OutOfMemoryError: CUDA out of memory."
    loop = one_loop(single(crashed(1), spec=SMALL, previous_log=log, working_set=255 * MIB)[0])
    assert loop.suggestion is None


PROBE = Probe(handler="http", initial_delay_seconds=10, period_seconds=10, failure_threshold=3)


def test_patience_of_a_probe() -> None:
    assert patience_seconds(PROBE) == 40
    assert patience_seconds(Probe(handler="tcp")) == 30


def with_probe(*, cpu_limit: str | None = None, **probes: Probe) -> PodSpec:
    limits = amounts(cpu=cpu_limit) if cpu_limit else FrozenMap[int]()
    return PodSpec(containers=(replace(container(limits=limits), **probes),))  # type: ignore[arg-type]


def test_liveness_probe_too_tight_for_the_startup_of_its_peers() -> None:
    cluster, pod = single(crashed(137, ran=45), spec=with_probe(liveness_probe=PROBE))
    cluster.event(pod, "Unhealthy", "Liveness probe failed: connection refused", count=21)
    cluster.event(pod, "Killing", "Container api failed liveness probe, will be restarted", kind="Normal")
    slow = cluster.workload("api", "prod", PodSpec(containers=(container(),)))
    cluster.pod(slow, ready_at=NOW - 36_000 + 95)
    loop = one_loop(cluster)
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.LIVENESS_PROBE, Confidence.CERTAIN)
    assert "after 40 s, and needs 1 min 35 s to start" in str(loop.sentence)


def test_startup_probe() -> None:
    cluster, pod = single(crashed(143, ran=42), spec=with_probe(startup_probe=PROBE))
    cluster.event(pod, "Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 503", count=9)
    loop = one_loop(cluster)
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.STARTUP_PROBE, Confidence.LIKELY)


def test_without_events_a_run_as_long_as_the_probes_patience_is_a_hint() -> None:
    loop = one_loop(single(crashed(137, ran=71), spec=with_probe(liveness_probe=PROBE))[0])
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.LIVENESS_PROBE, Confidence.POSSIBLE)


def test_a_probe_that_kills_after_hours_is_not_about_the_start() -> None:
    cluster, pod = single(crashed(137, ran=9_000), spec=with_probe(liveness_probe=PROBE))
    cluster.event(pod, "Killing", "Container api failed liveness probe, will be restarted", kind="Normal")
    assert "stops answering" in one_loop(cluster).diagnosis.what


def test_a_failing_readiness_probe_alone_kills_nobody() -> None:
    cluster, pod = single(crashed(1), spec=with_probe(readiness_probe=PROBE))
    cluster.event(pod, "Unhealthy", "Readiness probe failed: connection refused", count=9)
    assert one_loop(cluster).diagnosis.cause is Cause.ERROR_EXIT


def test_throttled_at_start() -> None:
    cluster, pod = single(
        crashed(137, ran=45), spec=with_probe(liveness_probe=PROBE, cpu_limit="200m"), working_set=90 * MIB, cpu=195
    )
    cluster.event(pod, "Killing", "Container api failed liveness probe, will be restarted", kind="Normal")
    loop = one_loop(cluster)
    assert loop.diagnosis.cause is Cause.CPU_THROTTLED
    assert "195m used of a limit of 200m" in str(loop.sentence)


def test_throttled_at_start_by_comparison_with_peers_without_a_limit() -> None:
    cluster, pod = single(crashed(137, ran=45), spec=with_probe(liveness_probe=PROBE, cpu_limit="100m"))
    cluster.event(pod, "Killing", "Container api failed liveness probe, will be restarted", kind="Normal")
    cluster.pod(cluster.workload("api", "prod", PodSpec(containers=(container(),))), ready_at=NOW - 36_000 + 12)
    loop = one_loop(cluster)
    assert loop.diagnosis.cause is Cause.CPU_THROTTLED
    assert "there is none in prod/api" in str(loop.sentence)


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (crashed(127), "isn't found"),
        (crashed(126), "isn't executable"),
        (crashed(127, "ContainerCannotRun"), "isn't found"),
        (
            crashed(128, "StartError", last_message='exec: "/x": stat /x: no such file or directory: unknown'),
            "isn't found",
        ),
        (waiting("RunContainerError", 'exec: "gunicron": executable file not found in $PATH'), "isn't found"),
    ],
)
def test_bad_command(state: ContainerState, what: str) -> None:
    loop = one_loop(single(state)[0])
    assert loop.diagnosis.cause is Cause.BAD_COMMAND
    assert what in loop.diagnosis.what


def test_wrong_architecture() -> None:
    loop = one_loop(single(crashed(1), previous_log="exec /usr/bin/python: exec format error")[0])
    assert loop.diagnosis.cause is Cause.BAD_COMMAND
    assert "another CPU" in loop.diagnosis.what


@pytest.mark.parametrize(
    ("reason", "message", "what"),
    [
        ("ErrImagePull", "manifest unknown", "isn't in the registry"),
        ("ImagePullBackOff", 'Back-off pulling image "x": unauthorized: authentication required', "credentials"),
        ("ImagePullBackOff", "toomanyrequests: You have reached your pull rate limit", "rate limit"),
        ("ErrImagePull", "no match for platform in manifest: not found", "node's CPU"),
        ("ErrImagePull", "dial tcp: lookup registry.example: no such host", "doesn't answer"),
        ("InvalidImageName", "couldn't parse image name", "no registry can have"),
        ("ErrImageNeverPull", "", "imagePullPolicy is Never"),
    ],
)
def test_image(reason: str, message: str, what: str) -> None:
    loop = one_loop(single(waiting(reason, message), phase="Pending")[0])
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.IMAGE, Confidence.CERTAIN)
    assert loop.activity is Activity.NOT_STARTING
    assert what in loop.diagnosis.what


def test_missing_secret() -> None:
    loop = one_loop(single(waiting("CreateContainerConfigError", 'secret "db" not found'), phase="Pending")[0])
    assert loop.diagnosis.cause is Cause.CONFIG
    assert 'secret "db" not found' in loop.diagnosis.what


def test_volume_that_cannot_be_mounted() -> None:
    cluster, pod = single(waiting("ContainerCreating"), phase="Pending")
    cluster.event(
        pod, "FailedMount", 'MountVolume.SetUp failed for volume "c" : configmap "settings" not found', count=12
    )
    assert one_loop(cluster).diagnosis.cause is Cause.CONFIG
    cluster.events.clear()
    cluster.event(pod, "FailedMount", "Unable to attach or mount volumes: timed out waiting for the condition")
    assert one_loop(cluster).diagnosis.cause is Cause.VOLUME


def test_a_container_that_is_just_being_created_is_no_loop() -> None:
    assert restarts(single(waiting("ContainerCreating"), phase="Pending")[0].snapshot()).loops == ()


def test_lost_node() -> None:
    cluster, _ = single(crashed(255, "Unknown", restarts=1), node="spot-1")
    cluster.node("spot-1", {"cloud.google.com/gke-spot": "true"})
    cluster.event(None, "NodeNotReady", "Node spot-1 status is now: NodeNotReady", node="spot-1")
    loop = one_loop(cluster)
    assert loop.diagnosis.cause is Cause.NODE_LOST
    assert "a spot node" in loop.diagnosis.what


def test_pod_on_a_node_that_is_gone() -> None:
    cluster, _ = single(crashed(137, restarts=1), node="gone-1")
    assert one_loop(cluster).diagnosis.cause is Cause.NODE_LOST


@pytest.mark.parametrize(
    ("pod_reason", "event", "cause"),
    [
        ("Evicted", "The node was low on resource: memory. Container api was using 900Mi", Cause.EVICTED),
        ("NodeShutdown", "", Cause.NODE_LOST),
        ("Terminated", "", Cause.NODE_LOST),
        ("Preempting", "", Cause.PREEMPTED),
    ],
)
def test_failed_pods(pod_reason: str, event: str, cause: Cause) -> None:
    cluster, pod = single(
        ContainerState(name="", state="terminated", exit_code=137, reason="Error"), phase="Failed", reason=pod_reason
    )
    if event:
        cluster.event(pod, "Evicted", event)
    loop = one_loop(cluster)
    assert loop.diagnosis.cause is cause
    assert loop.activity is Activity.GONE


def test_a_task_in_a_deployment() -> None:
    loop = one_loop(single(crashed(0, "Completed"))[0])
    assert loop.diagnosis.cause is Cause.COMPLETED
    assert "Job" in loop.diagnosis.cure


@pytest.mark.parametrize(("code", "signal"), [(139, "SIGSEGV"), (134, "SIGABRT"), (132, "SIGILL")])
def test_crash(code: int, signal: str) -> None:
    loop = one_loop(single(crashed(code), previous_log="Segmentation fault (core dumped)")[0])
    assert loop.diagnosis.cause is Cause.CRASH
    assert signal in str(loop.sentence)


@pytest.mark.parametrize(
    "log",
    [
        "psycopg2.OperationalError: could not connect to server: Connection refused",
        "Error: getaddrinfo ENOTFOUND redis",
        "dial tcp: lookup db on 10.0.0.10:53: no such host",
    ],
)
def test_dependency(log: str) -> None:
    assert one_loop(single(crashed(1), previous_log=log)[0]).diagnosis.cause is Cause.DEPENDENCY


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("KeyError: 'DATABASE_URL'", Cause.CONFIG),
        ("django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty", Cause.CONFIG),
        ("ModuleNotFoundError: No module named 'numpy'", Cause.BAD_COMMAND),
        ("Error: Cannot find module '/app/server.js'", Cause.BAD_COMMAND),
    ],
)
def test_told_by_the_log(log: str, cause: Cause) -> None:
    assert one_loop(single(crashed(1), previous_log=log)[0]).diagnosis.cause is cause


def test_plain_error_shows_its_last_words() -> None:
    loop = one_loop(single(crashed(3), previous_log="starting\nValueError: bad shape (3, 4)\nbye")[0])
    assert loop.diagnosis.cause is Cause.ERROR_EXIT
    assert any("ValueError: bad shape" in one.text for one in loop.diagnosis.evidence)


def test_killed_and_nothing_says_by_whom() -> None:
    loop = one_loop(single(crashed(137))[0])
    assert (loop.diagnosis.cause, loop.diagnosis.confidence) == (Cause.KILLED, Confidence.POSSIBLE)


def test_restarts_without_a_last_state_are_unknown() -> None:
    state = ContainerState(name="", state="running", ready=True, restart_count=2, started_at=NOW - 100)
    assert one_loop(single(state)[0]).diagnosis.cause is Cause.UNKNOWN


def test_what_restarted_long_ago_and_works_is_settled() -> None:
    state = ContainerState(
        name="", state="running", ready=True, restart_count=1, started_at=NOW - 99_000, last_state="terminated",
        last_reason="Error", last_exit_code=1, last_finished_at=NOW - 99_001,
    )  # fmt: skip
    report = restarts(single(state)[0].snapshot())
    assert [loop.activity for loop in report.loops] == [Activity.SETTLED]
    assert "old restart" in str(report.sentence)


def test_init_containers_that_did_their_work_are_left_alone() -> None:
    done = ContainerState(
        name="migrate", is_init=True, state="terminated", reason="Completed", exit_code=0, restart_count=2
    )
    spec = PodSpec(containers=(container(),), init_containers=(container("migrate"),))
    running = ContainerState(name="api", state="running", ready=True, started_at=NOW - 100)
    cluster, _ = single(RUNNING, spec=spec, containers=(running, done))
    assert restarts(cluster.snapshot()).loops == ()


def test_init_container_in_a_loop() -> None:
    failing = ContainerState(
        name="migrate", is_init=True, state="waiting", reason="CrashLoopBackOff", restart_count=4, last_state="terminated",
        last_reason="Error", last_exit_code=1,
    )  # fmt: skip
    spec = PodSpec(containers=(container(),), init_containers=(container("migrate"),))
    cluster, _ = single(waiting("PodInitializing"), spec=spec, containers=(failing,), phase="Pending")
    assert one_loop(cluster).container == "migrate"


def test_pods_whose_log_was_not_read_join_the_cause_of_their_siblings() -> None:
    cluster = Cluster()
    cluster.node()
    workload = cluster.workload("api", "dev", SMALL, replicas=3)
    cluster.pod(workload, crashed(1), previous_log=GUNICORN)
    cluster.pod(workload, crashed(1))
    cluster.pod(workload, crashed(1))
    loop = one_loop(cluster)
    assert loop.diagnosis.cause is Cause.CHILD_TIMEOUT
    assert (len(loop.pods), loop.restarts, loop.most_restarts) == (3, 21, 7)


def test_the_same_program_elsewhere_is_what_to_ask_for() -> None:
    cluster, _ = single(crashed(137, "OOMKilled"), spec=SMALL, working_set=200 * MIB)
    roomy = PodSpec(containers=(container(image="other/registry/api:2", limits=amounts(memory="3Gi")),))
    cluster.pod(cluster.workload("api", "prod", roomy), working_set=2 * GIB)
    loop = one_loop(cluster)
    assert loop.peers is not None
    assert loop.peers.workloads == ("Deployment/prod/api",)
    assert loop.suggestion is not None
    assert loop.suggestion.memory_request_bytes >= 2 * GIB * 115 // 100


def test_another_program_of_the_same_size_is_no_peer() -> None:
    cluster, _ = single(crashed(137, "OOMKilled"), spec=SMALL)
    other = PodSpec(containers=(container("api", image="registry/app/billing:1"),))
    cluster.pod(cluster.workload("billing", "prod", other), working_set=2 * GIB)
    assert one_loop(cluster).peers is None


def test_renaming_changes_nothing_but_names() -> None:
    def causes(name: str, namespace: str) -> list[Cause]:
        cluster = Cluster()
        cluster.node()
        cluster.pod(cluster.workload(name, namespace, SMALL), crashed(137, "OOMKilled"))
        return [loop.diagnosis.cause for loop in restarts(cluster.snapshot()).loops]

    assert causes("api", "dev") == causes("zebra", "quux")


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("TaintManagerEviction", "Marking for deletion Pod dev/api-6c6bb8f8c6-kzqs6", Cause.NODE_LOST),
        ("NodeNotReady", "Node is not ready", Cause.NODE_LOST),
        ("Evicted", "The node was low on resource: memory.", Cause.EVICTED),
        ("Preempted", "Preempted by pod 123 on node node-1", Cause.PREEMPTED),
    ],
)
def test_pods_that_have_gone_are_told_by_their_events(reason: str, message: str, cause: Cause) -> None:
    cluster, pod = single(RUNNING)
    for name in ("api-6c6bb8f8c6-kzqs6", "api-6c6bb8f8c6-rz4vz"):
        cluster.event(replace(pod, name=name, uid=name), reason, message)
    loop = one_loop(cluster)
    assert (loop.workload, loop.diagnosis.cause, loop.activity) == ("Deployment/dev/api", cause, Activity.GONE)
    assert "2 pods that the snapshot no longer holds" in str(loop.sentence)
    assert "1 workload lost pods" in str(restarts(cluster.snapshot()).sentence)


def test_an_eviction_that_was_called_off_is_none() -> None:
    cluster, pod = single(RUNNING)
    cluster.event(replace(pod, name="x"), "TaintManagerEviction", "Cancelling deletion of Pod dev/x")
    assert restarts(cluster.snapshot()).loops == ()


def test_of_two_workloads_the_longer_name_made_the_pod() -> None:
    cluster, pod = single(RUNNING)
    cluster.workload("api-worker", "dev", SMALL)
    cluster.event(replace(pod, name="api-worker-6c6bb8f8c6-kzqs6", uid="u"), "Evicted", "low on memory")
    assert one_loop(cluster).workload == "Deployment/dev/api-worker"


def test_what_is_missing_is_named_as_kubernetes_does() -> None:
    refused = FrozenMap({"Event": Presence.REFUSED, "PodMetrics": Presence.REFUSED})
    gaps = restarts(Snapshot(taken_at=0, source="test", digest="d", presence=refused)).gaps
    assert gaps[0].startswith("Events were refused (403): ")
    assert gaps[1].startswith("PodMetrics were refused (403): ")
    assert not any("Add them" in gap for gap in gaps)  # the role is what lacks, not the command


def test_what_is_missing_is_said_with_what_hangs_on_it_and_the_command_that_adds_it() -> None:
    absent = FrozenMap({"Event": Presence.ABSENT})
    gaps = restarts(Snapshot(taken_at=0, source="test", digest="d", presence=absent)).gaps
    assert gaps[0] == (
        "Events were not in the input: probe failures and node losses are unknown, so few causes are certain. "
        "Add them: kubectl get events -A -o json."
    )
