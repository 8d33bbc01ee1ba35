"""What the kubelet, container runtimes and NVIDIA's runtime write into a status: each reason, and each message that tells why.

``inputs/*.json.gz`` are small clusters written by hand after what was reported of real ones; ``nvidia-runtime-error`` holds
the messages of libnvidia-container (a driver that isn't loaded, one too old for the image), the others those of the kubelet.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.ground.records import replace
from planner.health.drift.service_differences import drift
from planner.health.restarts.container_case import OUTCOMES
from planner.health.restarts.container_observations import START_EVENTS
from planner.health.restarts.model import Activity, Cause, Confidence, Loop
from planner.health.restarts.report import findings, restarts
from planner.health.restarts.status_messages import _PATTERNS, outcome_of_message, quoted
from planner.history import anonymization_allowlist
from planner.kubernetes.object_records import ContainerState, FrozenMap, PodLog, PodSpec, Presence, Probe, Snapshot
from planner.kubernetes.status_reasons import ROWS, UNTOLD, WORDS, StatusReason, outcome_of
from planner.questions import drift as plan_drift
from planner.questions import restarts as plan_restarts
from planner.rollout.answers import Verdict
from planner.sources.cluster_argument import read_cluster
from tests.builders.records import amounts
from tests.restarts.cases import MIB, NOW, RUNNING, Cluster, container, crashed, one_loop, single
from tests.seen import each

INPUTS = Path(__file__).parent / "inputs"
GROUPS = {group for group, _, _ in _PATTERNS}
KILLED, SURE, LIKELY, POSSIBLE = 137, Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE
NO_EVENTS = FrozenMap({"Event": Presence.ABSENT})


def waiting(reason: str, message: str = "", **fields: object) -> ContainerState:
    return ContainerState(name="", state="waiting", reason=reason, message=message, **fields)  # type: ignore[arg-type]


def failed(reason: str, message: str = "", *, spec: PodSpec | None = None) -> Loop:
    """A pod that its node's kubelet failed before a container of it ran."""
    return one_loop(single(ContainerState(name=""), phase="Failed", reason=reason, message=message, spec=spec)[0])


def without_events(cluster: Cluster) -> Loop:
    report = restarts(replace(cluster.snapshot(), presence=NO_EVENTS))
    assert len(report.loops) == 1
    return report.loops[0]


def told(loop: Loop) -> tuple[Cause, Confidence]:
    return loop.diagnosis.cause, loop.diagnosis.confidence


def evidence(loop: Loop) -> str:
    return "\n".join(one.text for one in loop.diagnosis.evidence)


# ── one table ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_each_reason_stands_once_with_a_source_and_an_outcome_that_is_there() -> None:
    assert len({(row.place, row.reason) for row in ROWS}) == len(ROWS) > 50
    for row in ROWS:
        assert row.place in ("waiting", "terminated", "pod"), row
        assert row.source.startswith(("kubernetes ", "containerd ", "cri-o ", "cri-api ", "cri-dockerd ")), row
        assert row.outcome in OUTCOMES or row.outcome in GROUPS or row.outcome in (UNTOLD, "image"), row
    assert {outcome for _, outcome, _ in _PATTERNS} <= set(OUTCOMES)


REJECTIONS = (  # kubernetes pkg/kubelet/kubelet.go `admissionRejectionReasons`, and the names of the plugins that predicate.go asks
    "AppArmor", "PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "InvalidNodeInfo", "InitContainerRestartPolicyForbidden",
    "SupplementalGroupsPolicyNotSupported", "UnexpectedAdmissionError", "UnknownReason", "UnexpectedPredicateFailureType", "OutOfcpu",
    "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "PodLevelResourcesNotSupported", "PodFeatureUnsupported", "Evicted",
    "SysctlForbidden", "TopologyAffinityError", "NodeShutdown", "VolumeAttachmentLimitExceeded", "TaintToleration", "NodeAffinity",
    "NodeName", "NodePorts",
)  # fmt: skip


def test_every_reason_with_which_kubelets_reject_pods_has_a_row_and_no_other_is_made_up() -> None:
    for reason in each(REJECTIONS):
        assert outcome_of("pod", reason) not in ("", UNTOLD), reason
    assert outcome_of("pod", "UnmetFeatureGate") == ""  # it stands in no source of Kubernetes: quoted as it is


def test_anonymous_snapshots_keep_the_words_of_the_same_table() -> None:
    assert WORDS <= anonymization_allowlist.ENUMERATIONS
    assert "TopologyAffinityError" in WORDS
    assert not WORDS & set(anonymization_allowlist._WORDS["enumerations"].split())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place}-{row.reason}")
def test_each_reason_is_explained_and_shown_with_its_message(row: StatusReason) -> None:
    reason, place, outcome = row.reason.replace("*", "cpu"), row.place, row.outcome
    message = "Sixpence was in the way"
    if place == "pod":
        loop = failed(reason, message)
    elif place == "waiting":
        cluster, pod = single(waiting(reason, message), phase="Pending")
        if outcome == UNTOLD:
            cluster.event(pod, START_EVENTS[0], message)
        loop = one_loop(cluster)
    else:
        code = 0 if reason == "Completed" else 128 if outcome == "start" else 1
        loop = one_loop(single(crashed(code, reason, last_message=message if outcome == "start" else ""))[0])
    assert (loop.diagnosis.cause is not Cause.UNKNOWN) or outcome == UNTOLD
    assert (reason in evidence(loop)) or outcome == UNTOLD
    assert message in evidence(loop) or place == "terminated" or outcome == UNTOLD


@pytest.mark.parametrize("place", ["waiting", "pod"])
def test_a_reason_that_no_row_has_is_quoted_and_never_certain(place: str) -> None:
    reason, message = "FrobnicationError", "the frobnicator of this node is away"
    loop = failed(reason, message) if place == "pod" else one_loop(single(waiting(reason, message), phase="Pending")[0])
    assert outcome_of("pod", reason) == ""
    assert f"{reason}: {message}" in evidence(loop)
    assert loop.diagnosis.confidence is not SURE
    assert reason in loop.diagnosis.what
    assert loop.diagnosis.cause is (Cause.REJECTED if place == "pod" else Cause.UNKNOWN)


def test_a_pod_that_ran_and_failed_with_a_reason_of_its_own_was_not_refused() -> None:
    ended = ContainerState(
        name="", state="terminated", reason="Error", exit_code=3, started_at=NOW - 90, finished_at=NOW - 60
    )
    loop = one_loop(single(ended, phase="Failed", reason="FrobnicationError", message="away")[0])
    assert loop.diagnosis.cause is Cause.ERROR_EXIT
    assert "FrobnicationError: away" in evidence(loop)


def test_a_reason_that_no_row_has_is_a_refusal_where_the_kubelet_says_that_it_rejected_the_pod() -> None:
    assert told(failed("FrobnicationError", "Pod was rejected: no frobnicator")) == (Cause.REJECTED, SURE)


# ── the kubelet's admission ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("reason", "message", "what"),
    [
        ("TopologyAffinityError", "Resources cannot be allocated with Topology locality", "NUMA node with 4 nvidia.com/gpu"),
        ("SMTAlignmentError", "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2", "whole cores"),
        ("OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu, requested: 4, used: 8", "no room"),
        ("OutOfcpu", "Node didn't have enough resource: cpu", "no room"),
        ("UnexpectedAdmissionError", "Allocate failed due to requested number of devices unavailable", "devices"),
        ("UnexpectedAdmissionError", "Unexpected error while attempting to recover from admission failure", "refused"),
        ("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector", "labels"),
        ("NodePorts", "Predicate NodePorts failed", "host port"),
        ("TaintToleration", "Predicate TaintToleration failed", "taint"),
        ("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS", "operating system"),
        ("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host", "AppArmor"),
        ("SysctlForbidden", 'forbidden sysctl: "net.core.somaxconn" not allowlisted', "sysctl"),
        ("SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported", "doesn't support"),
        ("PodFeatureUnsupported", "feature not supported", "doesn't support"),
        ("InitContainerRestartPolicyForbidden", "Init container may not have a non-default restartPolicy", "doesn't support"),
        ("VolumeAttachmentLimitExceeded", "Node has reached its volume limit", "volumes"),
    ],
)  # fmt: skip
def test_refused_at_admission(reason: str, message: str, what: str) -> None:
    gpus = container(requests=amounts(cpu="8", **{"nvidia.com/gpu": "4"}), limits=amounts(**{"nvidia.com/gpu": "4"}))
    loop = failed(reason, f"Pod was rejected: {message}", spec=PodSpec(containers=(gpus,)))
    assert told(loop) == (Cause.REJECTED, SURE)
    assert what in loop.diagnosis.what
    assert message[:40] in evidence(loop)


def test_a_pod_that_a_node_going_down_does_not_take_is_no_refusal() -> None:
    loop = failed("NodeShutdown", "Pod was rejected as the node is shutting down.")
    assert told(loop) == (Cause.NODE_LOST, SURE)


# ── evictions ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("message", "what", "cure", "wants_memory"),
    [
        ("The node was low on resource: memory. Container api was using 900Mi, request is 256Mi, has larger consumption of memory. ", "low on memory (900Mi used, 256Mi requested)", "Request the memory", True),
        ("The node was low on resource: ephemeral-storage. Container api was using 90Gi, which exceeds its request of 0. ",
         "ephemeral-storage (90Gi used, 0 requested)", "More memory doesn't help", False),
        ('Container api exceeded its local ephemeral storage limit "2Gi". ', "ephemeral-storage limit (2Gi)", "Raise the ephemeral", False),
        ("Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ", "limit (10Gi)", "Raise the", False),
        ('Usage of EmptyDir volume "cache" exceeds the limit "256Mi". ', "volume cache outgrew its sizeLimit (256Mi)", "sizeLimit", False),
        ("The node was low on resource: inodes. ", "inodes", "fewer files", False),
        ("The node was low on resource: pids. ", "process ids", "fewer processes", False),
        ("The node had condition: [DiskPressure]. ", "which had DiskPressure", "lacks", False),
        ("", "was evicted by its node", "isn't known", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("by_event", [False, True])
def test_evictions_name_the_resource(message: str, what: str, cure: str, wants_memory: bool, by_event: bool) -> None:
    ended = ContainerState(name="", state="terminated", exit_code=KILLED, reason="Error")
    cluster, pod = single(ended, phase="Failed", reason="Evicted", message="" if by_event else message)
    if by_event:
        cluster.event(pod, "Evicted", message)
    loop = one_loop(cluster)
    assert (loop.diagnosis.cause, loop.activity) == (Cause.EVICTED, Activity.GONE)
    assert what in loop.diagnosis.what
    assert cure in loop.diagnosis.cure
    assert loop.diagnosis.wants_memory is wants_memory


def test_an_eviction_names_the_container_that_used_it_to_the_others() -> None:
    message = (
        "The node was low on resource: ephemeral-storage. Container proxy was using 90Gi, request is 0, has larger."
    )
    loop = failed("Evicted", message)
    assert "(proxy: 90Gi used, 0 requested)" in loop.diagnosis.what


def test_pods_that_have_gone_are_told_by_the_resource_too() -> None:
    cluster, pod = single(RUNNING)
    cluster.event(replace(pod, name="api-1-x", uid="u"), "Evicted", "The node was low on resource: ephemeral-storage. ")
    assert "More memory doesn't help" in one_loop(cluster).diagnosis.cure


# ── the runtime's messages ───────────────────────────────────────────────────────────────────────────────────────────
RUNC = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
NVIDIA = f"{RUNC}unable to start container process: error running prestart hook #0: exit status 1, stderr: nvidia-container-cli: "


@pytest.mark.parametrize(
    ("message", "cause", "what"),
    [
        (f"{NVIDIA}initialization error: nvml error: driver not loaded: unknown", Cause.GPU_DRIVER, "driver isn't loaded"),
        (f"{NVIDIA}initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown",
         Cause.GPU_DRIVER, "driver isn't loaded"),
        (f"{NVIDIA}initialization error: nvml error: driver/library version mismatch: unknown", Cause.GPU_DRIVER, "different versions"),
        (f"{NVIDIA}requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer version", Cause.GPU_DRIVER,
         "needs cuda>=12.4"),
        (f"{NVIDIA}requirement error: unsatisfied condition: brand = tesla: unknown", Cause.GPU_DRIVER, "(brand = tesla)"),
        (f"{NVIDIA}device error: GPU-0a1b: unknown device: unknown", Cause.GPU_DRIVER, "isn't there"),
        (f"{NVIDIA}mount error: file creation failed: /run/libnvidia-ml.so.1: file exists: unknown", Cause.GPU_DRIVER, "runtime fails"),
        (f"{RUNC}CDI device injection failed: unresolvable CDI devices vendor.com/nic=0", Cause.RUNTIME, "doesn't know the device"),
        (f'{RUNC}exec: "gunicron": executable file not found in $PATH: unknown', Cause.BAD_COMMAND, "isn't found"),
        (f'{RUNC}exec: "/app/run": stat /app/run: no such file or directory: unknown', Cause.BAD_COMMAND, "isn't found"),
        (f'{RUNC}exec: "/app/run": permission denied: unknown', Cause.BAD_COMMAND, "isn't executable"),
        (f"{RUNC}exec /app/run: exec format error", Cause.BAD_COMMAND, "another CPU"),
        (f'{RUNC}chdir to cwd ("/srv") set in config.json failed: no such file or directory: unknown', Cause.BAD_COMMAND, "working directory"),
        (f'{RUNC}error mounting "/var/x" to rootfs at "/etc/x": not a directory: Are you trying to mount a directory onto a file', Cause.VOLUME,
         "can't be mounted"),
        (f"{RUNC}container init was OOM-killed (memory limit too low?): unknown", Cause.OOM_OWN_LIMIT, "too low"),
        (f"{RUNC}write /run/x: no space left on device: unknown", Cause.RUNTIME, "disk of node node-1 is full"),
        (f"{RUNC}unable to find user app: unknown", Cause.BAD_COMMAND, "user"),
        (f"{RUNC}apparmor failed to apply profile: no such file or directory", Cause.SECURITY, "AppArmor"),
        ('failed to reserve container name "api_0": name "api_0" is reserved for "0a"', Cause.RUNTIME, "in time"),
        ("something that nobody has written down", Cause.RUNTIME, "can't be started by the container runtime"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reason", ["RunContainerError", "CreateContainerError", "StartError", "ContainerCannotRun"])
def test_a_reason_of_the_runtime_is_what_its_message_says(message: str, cause: Cause, what: str, reason: str) -> None:
    is_ended = reason in ("StartError", "ContainerCannotRun")
    state = crashed(128, reason, last_message=message) if is_ended else waiting(reason, message)
    loop = one_loop(single(state)[0])
    assert told(loop) == (cause, SURE)
    assert what in loop.diagnosis.what
    assert message[-30:].strip(" .") in evidence(loop)


def test_without_a_message_the_runtimes_event_tells_and_without_both_nothing_is_blamed() -> None:
    cluster, pod = single(crashed(128, "StartError"))
    silent = one_loop(cluster)
    assert told(silent) == (Cause.RUNTIME, LIKELY)
    assert "wasn't in the input" in silent.diagnosis.what
    assert "kubectl describe pod" in silent.diagnosis.cure
    cluster.event(pod, "Failed", f"Error: {NVIDIA}initialization error: nvml error: driver not loaded")
    assert told(one_loop(cluster)) == (Cause.GPU_DRIVER, SURE)


def test_the_exit_code_of_a_shell_still_tells_a_missing_program() -> None:
    assert told(one_loop(single(crashed(127))[0])) == (Cause.BAD_COMMAND, LIKELY)


@pytest.mark.parametrize(
    ("message", "cause", "what"),
    [
        ('secret "db" not found', Cause.CONFIG, 'secret "db" not found'),
        ("couldn't find key url in Secret dev/db", Cause.CONFIG, "couldn't find key"),
        ("container has runAsNonRoot and image will run as root (pod: api)", Cause.SECURITY, "runs as root"),
        ("failed to create subPath directory for volumeMount data", Cause.VOLUME, "subPath"),
    ],
)
def test_configuration_that_cannot_be_made(message: str, cause: Cause, what: str) -> None:
    loop = one_loop(single(waiting("CreateContainerConfigError", message), phase="Pending")[0])
    assert told(loop) == (cause, SURE)
    assert what in loop.diagnosis.what


def test_a_post_start_hook_that_fails() -> None:
    message = "Exec lifecycle hook ([sh -c x]) for Container \"api\" failed - error: command 'sh -c x' exited with 1"
    state = waiting("PostStartHookError", message, last_state="terminated", last_exit_code=KILLED, last_reason="Error")
    loop = one_loop(single(state)[0])
    assert (told(loop), loop.activity) == ((Cause.HOOK, SURE), Activity.NOT_STARTING)
    assert "exited with 1" in loop.diagnosis.what


def test_in_back_off_an_event_tells_of_the_hook_and_without_it_nobody_knows() -> None:
    cluster, pod = single(crashed(KILLED))
    assert told(one_loop(cluster)) == (Cause.KILLED, POSSIBLE)
    cluster.event(pod, "FailedPostStartHook", "PostStartHook failed")
    assert told(one_loop(cluster)) == (Cause.HOOK, LIKELY)


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("FailedCreatePodSandBox", 'rpc error: no runtime for "nvidia" is configured', Cause.GPU_DRIVER),
        ("FailedCreatePodSandBox", 'plugin type="calico" failed (add): stat /var/lib/calico/nodename: no such file or directory', Cause.RUNTIME),
        ("FailedPrepareDynamicResources", "Failed to prepare dynamic resources: NodePrepareResources failed", Cause.RUNTIME),
        ("FailedAttachVolume", "Multi-Attach error for volume pvc-1", Cause.VOLUME),
    ],
)  # fmt: skip
def test_what_keeps_a_pod_in_container_creating(reason: str, message: str, cause: Cause) -> None:
    cluster, pod = single(waiting("ContainerCreating"), phase="Pending")
    cluster.event(pod, reason, message)
    assert one_loop(cluster).diagnosis.cause is cause
    running, pod = single(RUNNING)
    running.event(pod, reason, message)
    assert restarts(running.snapshot()).loops == ()


def test_a_mount_that_failed_before_the_image_was_pulled_is_past() -> None:
    cluster, pod = single(waiting("ContainerCreating"), phase="Pending")
    cluster.event(pod, "FailedMount", 'MountVolume.SetUp failed for volume "c" : timed out', last_seen_at=NOW - 300)
    assert one_loop(cluster).diagnosis.cause is Cause.VOLUME
    cluster.event(pod, "Pulling", 'Pulling image "api:1"', kind="Normal", last_seen_at=NOW - 200)
    assert restarts(cluster.snapshot()).loops == ()
    cluster.event(pod, "FailedMount", 'MountVolume.SetUp failed for volume "c" : timed out', last_seen_at=NOW - 100)
    assert one_loop(cluster).diagnosis.cause is Cause.VOLUME


def test_a_node_that_was_not_given_is_no_lost_node() -> None:
    """Where some nodes are missing from the input, a pod's exit code is believed before its node is called gone."""
    cluster, _ = single(crashed(1), node="node-2", previous_log="ValueError: bad shape")
    assert told(one_loop(cluster)) == (Cause.NODE_LOST, SURE)
    partial = FrozenMap({"Node": Presence.PARTIAL})
    (loop,) = restarts(replace(cluster.snapshot(), presence=partial)).loops
    assert loop.diagnosis.cause is Cause.ERROR_EXIT
    unknown, _ = single(crashed(255, "Unknown"), node="node-2")
    (loop,) = restarts(replace(unknown.snapshot(), presence=partial)).loops
    assert told(loop) == (Cause.NODE_LOST, LIKELY)


def test_a_message_keeps_its_end_and_no_secret() -> None:
    long = f"password=hunter2 {'wrapped: ' * 90}the cause"
    assert quoted(long).startswith("…")
    assert quoted(long).endswith("the cause")
    assert "hunter2" not in quoted("can't run with password=hunter2")
    assert outcome_of_message("start", "x" * 100_000 + " exec format error")[0] == "command.cpu"


# ── last words of programs on GPUs ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("line", "cause", "what"),
    [
        ("RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version", Cause.GPU_DRIVER, "too old"),
        ("RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", Cause.GPU_DRIVER, "no NVIDIA driver"),
        ("ImportError: libcuda.so.1: cannot open shared object file: No such file or directory", Cause.GPU_DRIVER, "no NVIDIA driver"),
        ("Failed to initialize NVML: Driver/library version mismatch", Cause.GPU_DRIVER, "NVIDIA driver"),
        ("RuntimeError: No CUDA GPUs are available", Cause.GPU_DRIVER, "sees no GPU"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", Cause.GPU_DRIVER, "fails or is taken"),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", Cause.GPU_DRIVER, "isn't built"),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", Cause.GPU_MEMORY, "KV cache"),
        ("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error", Cause.DEPENDENCY, "NCCL"),
        ("huggingface_hub.errors.GatedRepoError: 401 Client Error.", Cause.CONFIG, "may not download"),
    ],
)  # fmt: skip
def test_last_words_of_programs_on_gpus(line: str, cause: Cause, what: str) -> None:
    loop = one_loop(single(crashed(1), previous_log=f"starting\n{line}")[0])
    assert told(loop) == (cause, LIKELY)
    assert what in loop.diagnosis.what
    assert loop.suggestion is None


def test_a_gpus_warning_before_another_error_is_not_the_cause() -> None:
    log = "Failed to initialize NVML: Driver Not Loaded\nKeyError: 'DATABASE_URL'"
    assert one_loop(single(crashed(1), previous_log=log)[0]).diagnosis.cause is Cause.CONFIG
    assert restarts(single(RUNNING, log=log)[0].snapshot()).loops == ()


# ── certain only where what would contradict was looked at ───────────────────────────────────────────────────────────
PROBE = Probe(handler="exec", initial_delay_seconds=1, period_seconds=3, failure_threshold=3)


def probed(ran: float, code: int = 0, *, restarts: int = 1, **probes: Probe) -> Cluster:
    """A container that ended a minute ago, with these probes."""
    spec = PodSpec(containers=(replace(container(), **probes),))  # type: ignore[arg-type]
    return single(crashed(code, "Completed" if code == 0 else "Error", ran=ran, restarts=restarts), spec=spec)[0]


@pytest.mark.parametrize(("code", "restarted"), [(0, 1), (0, 9), (143, 1), (137, 2)])
def test_a_run_as_long_as_the_startup_probes_patience_without_events_was_its_kill(code: int, restarted: int) -> None:
    cluster = probed(11, code, restarts=restarted, startup_probe=PROBE, liveness_probe=PROBE)
    assert told(without_events(cluster)) == (Cause.STARTUP_PROBE, LIKELY)


def test_with_the_events_of_that_moment_the_same_run_ended_by_itself_or_was_killed_for_certain() -> None:
    cluster = probed(11, startup_probe=PROBE)
    assert told(one_loop(cluster)) == (Cause.COMPLETED, SURE)
    cluster.event(cluster.pods[0], "Killing", "Container api failed startup probe, will be restarted", kind="Normal")
    assert told(one_loop(cluster)) == (Cause.STARTUP_PROBE, SURE)


def test_a_liveness_probe_alone_makes_it_possible() -> None:
    assert told(without_events(probed(11, liveness_probe=PROBE))) == (Cause.LIVENESS_PROBE, POSSIBLE)


def test_a_run_of_another_length_ended_by_itself_likely_where_a_probe_may_have_ended_it() -> None:
    loop = without_events(probed(4_000, liveness_probe=PROBE))
    assert told(loop) == (Cause.COMPLETED, LIKELY)
    assert "its liveness probe may have ended it too" in evidence(loop)


def test_a_task_without_probes_in_back_off_ends_by_itself_for_certain_though_there_are_no_events() -> None:
    assert told(without_events(probed(11, restarts=7))) == (Cause.COMPLETED, SURE)
    once = ContainerState(
        name="", state="running", restart_count=1, started_at=NOW - 50, last_state="terminated", last_reason="Completed",
        last_exit_code=0, last_started_at=NOW - 90, last_finished_at=NOW - 60,
    )  # fmt: skip
    assert told(without_events(single(once)[0])) == (Cause.COMPLETED, LIKELY)  # a reboot looks the same


def test_a_readiness_probe_kills_nobody() -> None:
    assert told(without_events(probed(11, restarts=7, readiness_probe=PROBE))) == (Cause.COMPLETED, SURE)


def test_events_of_an_ending_hours_ago_are_no_more() -> None:
    cluster = probed(11, startup_probe=PROBE)
    earlier = replace(cluster.pods[0].containers[0], last_started_at=NOW - 9_011, last_finished_at=NOW - 9_000)
    cluster.pods[0] = replace(cluster.pods[0], containers=(earlier,))
    assert told(one_loop(cluster)) == (Cause.STARTUP_PROBE, LIKELY)


SMALL = PodSpec(containers=(container(limits=amounts(memory="256Mi"), requests=amounts(memory="256Mi")),))


def test_its_own_limit_is_certain_where_the_nodes_events_or_its_use_were_looked_at() -> None:
    cluster, _ = single(crashed(KILLED, "OOMKilled"), spec=SMALL)
    assert told(one_loop(cluster)) == (Cause.OOM_OWN_LIMIT, SURE)
    assert told(without_events(cluster)) == (Cause.OOM_OWN_LIMIT, LIKELY)
    full, _ = single(crashed(KILLED, "OOMKilled"), spec=SMALL, working_set=250 * MIB)
    assert told(without_events(full)) == (Cause.OOM_OWN_LIMIT, SURE)


def test_a_container_that_the_kubelet_no_longer_found_is_likely_its_nodes_doing() -> None:
    assert told(one_loop(single(crashed(KILLED, "ContainerStatusUnknown"))[0])) == (Cause.NODE_LOST, LIKELY)


# ── at every door ────────────────────────────────────────────────────────────────────────────────────────────────────
RIGHT = {
    "probe-kill-exits-zero": {"ml/api": ("startup_probe", "likely", "killed by its startup probe, 10 s after its start")},
    "nvidia-runtime-error": {
        "ml/llm": ("gpu_driver", "certain", "the NVIDIA driver isn't loaded on node a"),
        "ml/tts": ("gpu_driver", "certain", "the NVIDIA driver of node a is too old for the image, which needs cuda>=12.4"),
    },
    "post-start-hook": {"ml/hook": ("hook", "certain", "its postStart hook failed")},
    "topology-affinity": {"ml/train": ("rejected", "certain", "no NUMA node with 4 nvidia.com/gpu and 1 cpu together")},
    "evicted-for-disk": {"ml/op": ("evicted", "certain", "low on ephemeral-storage (90Gi used, 0 requested)")},
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_recorded_statuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(INPUTS / f"{name}.json.gz")
    for output in ("text", "json"):
        with pytest.raises(SystemExit) as caught:
            main(["restarts", path, "--output", output])
        assert not caught.value.code
        shown = capsys.readouterr().out
        if output == "text":
            for workload, (_, _, what) in RIGHT[name].items():
                assert what in shown, workload
            continue
        loops = json.loads(shown)["result"]["report"]["loops"]
        found = {one["workload"].split("/", 1)[1]: one["diagnosis"] for one in loops}
        assert {key: (one["cause"], one["confidence"]) for key, one in found.items()} == {
            key: (cause, confidence) for key, (cause, confidence, _) in RIGHT[name].items()
        }


def test_the_capacity_review_and_the_findings_say_the_same(tmp_path: Path) -> None:
    to = tmp_path / "report.md"
    with pytest.raises(SystemExit):
        main(["report", str(INPUTS / "nvidia-runtime-error.json.gz"), "--to", str(to)])
    assert "the NVIDIA driver isn't loaded on node a" in to.read_text()
    codes = {one.code for one in findings(read_cluster(str(INPUTS / "nvidia-runtime-error.json.gz")))}
    assert codes == {"restarts-gpu-driver"}


# ── a cure that can be applied ───────────────────────────────────────────────────────────────────────────────────────
def starved(*, with_metrics: bool) -> Snapshot:
    """dev/api loses gunicorn's workers at 200m of CPU and 256Mi, prod/api works with ten times that.

    The log is cut from a report of workers that restart for ever.
    """
    found = read_cluster(str(INPUTS / "cpu-request-over-its-limit.json.gz"))
    lines = [
        line
        for minute in range(10, 30)
        for line in (
            f"[2026-11-20 09:{minute}:00 +0000] [{minute}] [INFO] Booting worker with pid: {minute}",
            f"[2026-11-20 09:{minute}:30 +0000] [1] [CRITICAL] WORKER TIMEOUT (pid:{minute})",
            f"[2026-11-20 09:{minute}:30 +0000] [1] [WARNING] Worker with pid {minute} was terminated due to signal 9",
        )
    ]
    pod = next(pod for pod in found.pods if pod.namespace == "dev")
    log = PodLog(namespace="dev", pod=pod.name, container="api", is_previous=False, lines=tuple(lines))
    return replace(found, logs=(log,), pod_metrics=found.pod_metrics if with_metrics else ())


@pytest.mark.parametrize(
    ("with_metrics", "suggested"),
    [
        (True, "memory request 1152Mi, limit 1152Mi, CPU request 1040m, limit 1040m"),
        (False, "memory request 2Gi, limit 2Gi, CPU request 2, limit 2"),
    ],
)
def test_what_is_suggested_is_taken_by_the_api_server_and_rolls_out(with_metrics: bool, suggested: str) -> None:
    snapshot = starved(with_metrics=with_metrics)
    plan = plan_restarts.answer(snapshot, plan_restarts.RestartsSettings())
    (cure,) = plan.cures
    assert cure.suggestion.text == suggested
    assert cure.rollout is not None
    assert cure.rollout.verdict is Verdict.COMPLETES
    assert ("isn't known" in cure.note) is not with_metrics
    service = next(one for one in drift((snapshot,)).services if one.service == "api")
    (value,) = service.suggestions
    assert (value.environment, value.suggestion.text) == ("dev", suggested)
    assert value.today == "memory request 256Mi, limit 256Mi, CPU request 200m, limit 200m"
    adopted = plan_drift.adopt(snapshot, value)
    assert adopted.error is None
    assert adopted.rollout is not None


def test_without_trouble_and_without_metrics_drift_suggests_nothing() -> None:
    quiet = replace(starved(with_metrics=False), logs=())
    assert [one.suggestions for one in drift((quiet,)).services] == [()]


@pytest.mark.parametrize(
    ("reason", "kept"), [("StartError", True), ("ContainerCannotRun", True), ("Error", False), ("OOMKilled", False)]
)
def test_only_messages_that_the_runtime_wrote_are_read_of_containers_that_ended(
    reason: str, kept: bool, tmp_path: Path
) -> None:
    """A program's own last words (/dev/termination-log) may hold anything."""
    ended = {"terminated": {"exitCode": 1, "reason": reason, "message": "order 4711 of Mr. Brown"}}
    status = {"name": "api", "restartCount": 1, "state": ended, "lastState": ended}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "api-1", "namespace": "dev", "uid": "u1"},
        "spec": {"nodeName": "n1", "containers": [{"name": "api", "image": "api:1"}]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }  # fmt: skip
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod))
    state = read_cluster(str(path)).pods[0].containers[0]
    text = "order 4711 of Mr. Brown" if kept else ""
    assert (state.message, state.last_message) == (text, text)
