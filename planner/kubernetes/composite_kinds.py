"""Kinds that compose their pods from several fields (RayCluster, SparkApplication, Workflow, …): which fields exist
together, and which pods run at one time.

Sources: kserve `pkg/apis/serving/v1alpha1/llm_inference_service_types.go`, `pkg/controller/v1alpha1/llmisvc/{config_merge,
workload_multi_node,workload_single_node}.go` (commits 01bfd238, 0217bdab); argo-workflows `workflow/controller/{operator,steps,dag,
workflowpod}.go`, `docs/fields.md` (read November 2026); dynamo `deploy/operator/api/{v1alpha1,v1beta1}` (commits 015d780b, 006b6e10);
spark-operator `api/v1beta2/sparkapplication_types.go`, `defaults.go` (commits 07f3cecd, 0ac9ffe5).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from planner.ground.records import Record
from planner.ground.well_known_names import NVIDIA_GPU
from planner.kubernetes.accelerators import accelerator

Document = Mapping[str, Any]


class FoundSet(Record):
    """A set of one document: its pod template as it stands there, and how many pods of it a group has.

    `units` is the first of the counts: of a replicated Job its Jobs. `sidecars`: containers that the controller adds; `is_last`: it
    makes these pods when all others are Ready.
    """

    role: str
    path: str
    template: Document
    count: int
    units: int = 1
    sidecars: tuple[Document, ...] = ()
    is_last: bool = False


class Composed(Record):
    """The sets of a document, and the places at which it has pods that its own fields don't tell; `refused`: why Kueue's webhook
    doesn't take it, by the webhook's name; `counted_at`: paths at which it names accelerators that the sets ask for."""

    sets: tuple[FoundSet, ...]
    untold: tuple[str, ...] = ()
    counted_at: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def mapping(value: object) -> Mapping[str, Any]:
    """What isn't one is an empty one."""
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [element for element in _listed(value) if isinstance(element, Mapping)]


def number_in(value: object) -> int | None:
    """A whole number that isn't below 0, None for all else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _count(value: object, default: int = 0) -> int:
    number = number_in(value)
    return default if number is None else number


def digits(value: object, most: int = 6) -> int | None:
    """A whole number that isn't below 0, written as such or as a text of at most so many digits; None for all else."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= most else None


# ── KServe's LLMInferenceService ─────────────────────────────────────────────────────────────────────────────────────
def llm_inference_service(document: Document) -> Composed:
    """Pods of `replicas` Deployments' pods, or with a `worker` of as many groups of a leader and workers; the same of `prefill`, and
    the scheduler of the router. What the base configurations say has to be merged in before."""
    spec = mapping(document.get("spec"))
    pod_sets: list[FoundSet] = []
    untold = [f"spec.{field}" for field in ("baseRefs", "runtime") if spec.get(field)]

    def add(role: str, path: str, template_document: Any, count: int) -> None:
        template = _pod(template_document)
        if template is None:
            untold.append(path)
        else:
            pod_sets.append(FoundSet(role=role, path=path, template=template, count=count))

    for role, path, base in (("", "spec", spec), ("prefill-", "spec.prefill", spec.get("prefill"))):
        if isinstance(base, Mapping):
            replicas = max(_count(base.get("replicas"), 1), _count(mapping(base.get("scaling")).get("minReplicas")))
            leader, worker = base.get("template"), base.get("worker")
            is_group = worker is not None
            add(
                f"{role}leader" if is_group else role.rstrip("-"),
                f"{path}.template",
                worker if leader is None else leader,
                replicas,
            )
            if is_group:
                add(f"{role}worker", f"{path}.worker", worker, replicas * (_group_size(base) - 1))
    scheduler = mapping(mapping(spec.get("router")).get("scheduler"))
    if isinstance(scheduler.get("template"), Mapping) and not mapping(scheduler.get("pool")).get("ref"):
        add("scheduler", "spec.router.scheduler.template", scheduler["template"], _count(scheduler.get("replicas"), 1))
    return Composed(sets=tuple(pod_sets), untold=tuple(untold))


def _group_size(base: Document) -> int:
    """Pods of a group: `ParallelismSpec.GetSize`, and what LeaderWorkerSet takes where that is none."""
    parallel = mapping(base.get("parallelism"))
    data_parallel, local, pipeline = (_count(parallel.get(name)) for name in ("data", "dataLocal", "pipeline"))
    if data_parallel or local:
        return max(1, max(1, data_parallel) // max(1, local))
    return max(1, pipeline)


def _pod(spec: object) -> Document | None:
    """A PodTemplateSpec of a PodSpec, None where it has no container of its own."""
    is_one = isinstance(spec, Mapping) and isinstance(spec.get("containers"), list) and spec["containers"]
    return {"spec": spec} if is_one else None


# ── NVIDIA's DynamoGraphDeployment ───────────────────────────────────────────────────────────────────────────────────
def dynamo_graph(document: Document) -> Composed:
    """A set for each component, or service of v1alpha1: `replicas` pods, or as many groups of a pod on each of its nodes."""
    spec = mapping(document.get("spec"))
    components = [
        (str(component.get("name")), f"spec.components[{place}]", component)
        for place, component in enumerate(_mappings(spec.get("components")))
    ]
    services = [
        (str(name), f"spec.services.{name}", mapping(service))
        for name, service in mapping(spec.get("services")).items()
    ]
    sets, untold = [], []
    for name, path, part in (*components, *services):
        template = _dynamo_template(part)
        if template is None or mapping(part.get("resources")).get("claims"):
            untold.append(path)
            continue
        nodes = (
            _count(mapping(part["multinode"]).get("nodeCount"), 2) if isinstance(part.get("multinode"), Mapping) else 1
        )
        count = _count(part.get("replicas"), 1)
        sets.append(FoundSet(role=name.lower(), path=path, template=template, count=count * nodes, units=count))
    return Composed(sets=tuple(sets), untold=tuple(untold), counted_at=tuple(path for _, path, _ in services))  # fmt: skip


def _dynamo_template(part: Document) -> Document | None:
    """A component's pod template, or that which a service's fields make: its resources are those of its main container."""
    pod_template = part.get("podTemplate")
    if isinstance(pod_template, Mapping):
        return pod_template if _pod(pod_template.get("spec")) is not None else None
    extra, resources = mapping(part.get("extraPodSpec")), mapping(part.get("resources"))
    if not extra and not resources:
        return None
    main = mapping(extra.get("mainContainer"))
    own = mapping(main.get("resources"))
    amounts = {
        key: {**mapping(own.get(key)), **_dynamo_amounts(mapping(resources.get(key)))} for key in ("limits", "requests")
    }
    spec = {key: field for key, field in extra.items() if key != "mainContainer"}
    spec["containers"] = [{**main, "name": "main", "resources": amounts}, *_listed(extra.get("containers"))]
    more = mapping(part.get("extraPodMetadata"))
    metadata = {key: {**mapping(part.get(key)), **mapping(more.get(key))} for key in ("labels", "annotations")}
    return {"metadata": metadata, "spec": spec}  # fmt: skip


def _dynamo_amounts(document: Document) -> dict[str, Any]:
    named = {
        "cpu": document.get("cpu"),
        "memory": document.get("memory"),
        str(document.get("gpuType") or NVIDIA_GPU): document.get("gpu"),
    }
    return {name: amount for name, amount in (*named.items(), *mapping(document.get("custom")).items()) if amount}


# ── Spark's SparkApplication ─────────────────────────────────────────────────────────────────────────────────────────
_SPARK_PODS: Final = re.compile(
    r"spark\.(kubernetes|dynamicAllocation|memory\.offHeap|((driver|executor)\.(?!extra|maxResultSize|log)))"
)
"""Properties of Spark that may change how many pods there are or what they ask for."""
_SPARK_SIZE: Final = re.compile(r"(\d{1,9})([kmgt]?)(b|ib)?", re.IGNORECASE | re.ASCII)
_MEBIBYTES: Final = {"": 1.0, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
_LEAST_OVERHEAD_MEBIBYTES: Final = 384
"""Source: spark `core/src/main/scala/org/apache/spark/resource/ResourceProfile.scala` `MEMORY_OVERHEAD_MIN_MIB`; the share of it,
``docs/running-on-kubernetes.md`` `spark.kubernetes.memoryOverheadFactor`."""
_SPARK_SPEC: Final = (
    "affinity",
    "tolerations",
    "schedulerName",
    "initContainers",
    "hostNetwork",
    "runtimeClassName",
    "priorityClassName",
)


def spark_application(document: Document) -> Composed:
    """Its driver, and the executors with which it begins; what its properties say of pods isn't told."""
    spec = mapping(document.get("spec"))
    untold = [f"spec.sparkConf[{name}]" for name in mapping(spec.get("sparkConf")) if _SPARK_PODS.match(str(name))]
    if spec.get("mode") not in (None, "", "cluster"):
        untold.append("spec.mode")
    pod_sets = []
    for role in ("driver", "executor"):
        part, path = mapping(spec.get(role)), f"spec.{role}"
        memory = _spark_memory(spec, part)
        if memory is None:
            untold.append(f"{path}.memory")
        else:
            count = 1 if role == "driver" else _executors(spec)
            pod_sets.append(FoundSet(role=role, path=path, template=_spark_template(spec, part, memory), count=count))
    return Composed(sets=tuple(pod_sets), untold=tuple(untold), counted_at=("spec.driver", "spec.executor"))


def _executors(spec: Document) -> int:
    """With dynamic allocation the most of its numbers to begin with (`Utils.getDynamicAllocationInitialExecutors`)."""
    instances, grows = mapping(spec.get("executor")).get("instances"), mapping(spec.get("dynamicAllocation"))
    if grows.get("enabled") is not True:
        return _count(instances, 1)
    return max(_count(instances), _count(grows.get("initialExecutors")), _count(grows.get("minExecutors")))


def spark_grows(document: Document) -> bool:
    """Whether Spark's dynamic allocation may add executors to those that it begins with."""
    spec = mapping(document.get("spec"))
    grows = mapping(spec.get("dynamicAllocation"))
    return grows.get("enabled") is True and _executors(spec) < _count(grows.get("maxExecutors"), 2**31)


def _spark_memory(spec: Document, part: Document) -> str | None:
    """What a pod of it asks for: its memory, and beside it at least 384 MiB, or a tenth, of what is no JVM two fifths."""
    heap, overhead_field = _mebibytes(part.get("memory") or "1g"), part.get("memoryOverhead")
    is_other = str(spec.get("type")) in ("Python", "R")
    share = str(spec.get("memoryOverheadFactor") or (0.4 if is_other else 0.1))
    if heap is None or not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", share, re.ASCII):
        return None
    overhead = (
        max(_LEAST_OVERHEAD_MEBIBYTES, int(heap * float(share)))
        if overhead_field is None
        else _mebibytes(overhead_field)
    )
    return None if overhead is None else f"{int(heap) + int(overhead)}Mi"


def _mebibytes(value: object) -> float | None:
    match = _SPARK_SIZE.fullmatch(str(value))
    return int(match[1]) * _MEBIBYTES[match[2].lower()] if match else None


def _spark_template(spec: Document, part: Document, memory: str) -> Document:
    gpu = mapping(part.get("gpu"))
    limits = {"memory": memory, "cpu": part.get("coreLimit"), str(gpu.get("name")): gpu.get("quantity")}
    requests = {"memory": memory, "cpu": str(part.get("coreRequest") or part.get("cores") or 1)}
    main = {"name": "spark", "volumeMounts": _listed(part.get("volumeMounts")), "securityContext": part.get("securityContext"),
            "resources": {"limits": {name: amount for name, amount in limits.items() if amount}, "requests": requests}}  # fmt: skip
    # The operator gives a pod only those of the application's volumes that it mounts.
    mounted = {mount.get("name") for mount in _mappings(part.get("volumeMounts"))}
    own = {key: part[key] for key in _SPARK_SPEC if part.get(key)}
    own["volumes"] = [volume for volume in _mappings(spec.get("volumes")) if volume.get("name") in mounted]
    own["nodeSelector"] = part.get("nodeSelector") or spec.get("nodeSelector")
    own |= {"serviceAccountName": part.get("serviceAccount"), "securityContext": part.get("podSecurityContext")}
    own["containers"] = [{key: field for key, field in main.items() if field}, *_listed(part.get("sidecars"))]
    metadata = {key: mapping(part.get(key)) for key in ("labels", "annotations")}
    return {"metadata": metadata, "spec": {key: field for key, field in own.items() if field}}


# ── Argo's Workflow ──────────────────────────────────────────────────────────────────────────────────────────────────
_OF_POD: Final = ("nodeSelector", "tolerations", "affinity", "schedulerName", "securityContext")
"""Fields that a template has for itself, or the whole workflow for all that haven't: `addSchedulingConstraints`."""
_OF_SPEC: Final = ("hostNetwork", "dnsPolicy", "runtimeClassName")
_CHANGES_PODS: Final = ("podSpecPatch", "volumeClaimTemplates")
_NOT_PODS: Final = ("resource", "plugin", "http", "data")
"""Templates that make other objects, or pods of the controller's own."""
_LEAVES: Final = ("container", "script", "containerSet")
_MOST_OF_A_GRAPH: Final = 14
"""Tasks of which the widest moment is looked for; of more all are taken to run at once."""
_MOST_TEMPLATES: Final = 2_000


def workflow(document: Document) -> Composed:
    """The pods of a Workflow: a set for each template that its entrypoint leads to, with how many of it run in its widest moment."""
    return _Graph(mapping(document.get("spec")), "spec").composed()


def cron_workflow(document: Document) -> Composed:
    """The same of the Workflow that a CronWorkflow makes."""
    return _Graph(mapping(mapping(document.get("spec")).get("workflowSpec")), "spec.workflowSpec").composed()


class _Graph:
    def __init__(self, spec: Document, path: str) -> None:
        self._spec, self._path = spec, path
        self._templates = {
            str(template.get("name")): (template, f"{path}.templates[{template.get('name')}]")
            for template in _listed(spec.get("templates"))[:_MOST_TEMPLATES]
            if isinstance(template, Mapping)
        }
        self._sets: dict[str, FoundSet] = {}
        self._gpus: dict[str, int] = {}
        self._untold: dict[str, None] = {}

    def composed(self) -> Composed:
        spec, path = self._spec, self._path
        for field in (*_CHANGES_PODS, "workflowTemplateRef", "templateDefaults"):
            if spec.get(field):
                self._untold[f"{path}.{field}"] = None
        if (
            not spec
            or (not self._templates and not self._untold)
            or len(_listed(spec.get("templates"))) > _MOST_TEMPLATES
        ):
            self._untold[path] = None
        widest = self._of_name(spec.get("entrypoint"), path, ()) if not self._untold else Counter[str]()
        others = [hook.get("template") for hook in mapping(spec.get("hooks")).values() if isinstance(hook, Mapping)]
        # Hooks and the exit handler run at other moments than the entry point: the widest moment counts, not the sum.
        for other in (*others, spec.get("onExit")):
            if other and not self._untold:
                widest = self._wider(widest, self._of_name(other, path, ()))
        widest = self._capped(widest, spec.get("parallelism"))
        sets = tuple(
            FoundSet(role=found_set.role, path=found_set.path, template=found_set.template, count=widest[name])
            for name, found_set in self._sets.items()
        )
        return Composed(sets=sets, untold=tuple(self._untold))

    def _of_name(self, name: object, where: str, above: tuple[str, ...]) -> Counter[str]:
        if not isinstance(name, str) or name not in self._templates:
            self._untold[f"{where}.entrypoint" if not above else where] = None
            return Counter()
        if name in above or len(above) > 50:  # a loop: what it does again comes after what is counted
            return Counter()
        template, path = self._templates[name]
        return self._of(template, name, path, (*above, name))

    def _of(self, template: Document, name: str, path: str, above: tuple[str, ...]) -> Counter[str]:
        for field in (*_CHANGES_PODS, *_NOT_PODS, "templateRef", "daemon", "synchronization"):
            if template.get(field):
                self._untold[f"{path}.{field}"] = None
        if any(isinstance(template.get(field), Mapping) for field in _LEAVES):
            return self._leaf(template, name, path)
        for field in _OF_POD:  # a template of steps hands it to those of its pods that have none
            if template.get(field) and ("steps" in template or "dag" in template):
                self._untold[f"{path}.{field}"] = None
        if isinstance(template.get("steps"), list):
            widest = Counter[str]()
            for number, group in enumerate(template["steps"]):
                parallel_pods = Counter[str]()
                for step in group if isinstance(group, list) else [group]:
                    parallel_pods += self._task(mapping(step), f"{path}.steps[{number}]", above)
                widest = self._wider(widest, parallel_pods)
            return self._capped(widest, template.get("parallelism"))
        if isinstance(template.get("dag"), Mapping):
            return self._capped(self._dag(template["dag"], f"{path}.dag", above), template.get("parallelism"))
        if "suspend" not in template:
            self._untold[path] = None
        return Counter()

    def _task(self, task: Document, path: str, above: tuple[str, ...]) -> Counter[str]:
        """A step or task, as often as it is repeated. Whether its condition holds isn't asked: it may."""
        place = f"{path}[{task.get('name')}]"
        if task.get("templateRef"):
            self._untold[f"{place}.templateRef"] = None
            return Counter()
        for hook in mapping(task.get("hooks")).values():
            self._of_name(mapping(hook).get("template"), place, above)
        inline = task.get("inline")
        if isinstance(inline, Mapping):
            widest = self._of(inline, place, f"{place}.inline", above)
        else:
            widest = self._of_name(task.get("template"), place, above)
        times = self._times(task, place, widest)
        return Counter({name: number * times for name, number in widest.items()})

    def _times(self, task: Document, place: str, widest: Counter[str]) -> int:
        items, sequence = task.get("withItems"), task.get("withSequence")
        if isinstance(items, list):
            return len(items)
        if isinstance(sequence, Mapping):
            count, start, end = (digits(sequence.get(key)) for key in ("count", "start", "end"))
            if count is not None:
                return count
            if end is not None and "{{" not in str(sequence.get("start", "")):
                return abs(end - (start or 0)) + 1
        elif not task.get("withParam") and items is None:
            return 1
        if any(
            self._gpus.get(name) for name in widest
        ):  # as many as a step before gives: GPUs are a number all the same
            self._untold[f"{place}.{'withParam' if task.get('withParam') else 'withSequence'}"] = None
        return 1

    def _dag(self, dag: Document, path: str, above: tuple[str, ...]) -> Counter[str]:
        tasks = [task for task in _listed(dag.get("tasks")) if isinstance(task, Mapping)]
        each = {str(task.get("name")): self._task(task, f"{path}.tasks", above) for task in tasks}
        if len(each) > _MOST_OF_A_GRAPH:
            return sum(each.values(), Counter[str]())
        before = {str(task.get("name")): set(_dependencies(task)) & each.keys() for task in tasks}
        for _ in before:
            for name, predecessors in before.items():
                before[name] = predecessors.union(*(before[other] for other in predecessors))
        widest, names = Counter[str](), list(each)
        # Tasks may run at once where none waits for another, however far back: each such set is tried (an antichain),
        # since the widest isn't always of one level.
        for chosen in range(1, 2 ** len(names)):
            chosen_tasks = [name for place, name in enumerate(names) if chosen >> place & 1]
            if all(not before[name] & set(chosen_tasks) for name in chosen_tasks):
                widest = self._wider(widest, sum((each[name] for name in chosen_tasks), Counter[str]()))
        return widest

    def _leaf(self, template: Document, name: str, path: str) -> Counter[str]:
        if name not in self._sets:
            spec = self._pod_spec(template)
            spec_text = json.dumps(
                [spec.get(key) for key in _OF_POD] + [container.get("resources") for container in _containers(spec)]
            )
            if "{{" in spec_text or not _containers(spec):
                self._untold[path] = None
                return Counter()
            own, of_all = mapping(template.get("metadata")), mapping(self._spec.get("podMetadata"))
            metadata = {key: {**mapping(of_all.get(key)), **mapping(own.get(key))} for key in ("labels", "annotations")}
            self._sets[name] = FoundSet(role=name, path=path, template={"metadata": metadata, "spec": spec}, count=0)
            self._gpus[name] = sum(map(_asked, _containers(spec)))
        return Counter({name: 1})

    def _pod_spec(self, template: Document) -> dict[str, Any]:
        own = mapping(template.get("containerSet")).get("containers")
        main = template.get("container") or template.get("script")
        containers = _listed(own) or [{"name": "main", **mapping(main)}]
        volumes = [*_listed(self._spec.get("volumes")), *_listed(template.get("volumes"))]
        spec: dict[str, Any] = {
            "containers": [*containers, *_listed(template.get("sidecars"))],
            "initContainers": _listed(template.get("initContainers")), "volumes": volumes, "restartPolicy": "Never",
        }  # fmt: skip
        for field in _OF_POD:
            if field_document := template.get(field) or self._spec.get(field):
                spec[field] = field_document
        spec |= {field: self._spec[field] for field in _OF_SPEC if self._spec.get(field)}
        account = template.get("serviceAccountName") or self._spec.get("serviceAccountName")
        priority = template.get("priorityClassName") or self._spec.get("podPriorityClassName")
        named = {"serviceAccountName": account, "priorityClassName": priority}
        return spec | {field: pod_field for field, pod_field in named.items() if pod_field}

    def _wider(self, counts: Counter[str], other: Counter[str]) -> Counter[str]:
        return max(
            counts, other,
            key=lambda pod_counts: (sum(self._gpus.get(name, 0) * number for name, number in pod_counts.items()), pod_counts.total()),
        )  # fmt: skip

    def _capped(self, pod_counts: Counter[str], most: object) -> Counter[str]:
        """Of what would run at once no more than `most` pods, those with most GPUs first."""
        remaining_pods = _count(most) or pod_counts.total()
        capped_counts = Counter[str]()
        for name in sorted(pod_counts, key=lambda name: -self._gpus.get(name, 0)):
            capped_counts[name] = min(remaining_pods, pod_counts[name])
            remaining_pods -= capped_counts[name]
        return +capped_counts


def _dependencies(task: Document) -> Iterator[str]:
    yield from (str(dependency) for dependency in _listed(task.get("dependencies")))
    depends = task.get("depends")
    yield from re.findall(r"[A-Za-z0-9_-]+(?=\.|\b)", depends) if isinstance(depends, str) else ()


def _containers(spec: Document) -> list[Mapping[str, Any]]:
    return [container for container in _listed(spec.get("containers")) if isinstance(container, Mapping)]


def _asked(container: Document) -> int:
    resources = mapping(container.get("resources"))
    amounts = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
    return sum(digits(number) or 0 for name, number in amounts.items() if accelerator(str(name)) is not None)


# ── what KubeRay adds to Ray's pods, and what Kueue counts of them ───────────────────────────────────────────────────
_SUBMITTER: Final = {"name": "ray-job-submitter", "resources": {
    "requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}}  # fmt: skip
"""Source: kuberay at feeaf72f, `ray-operator/controllers/ray/common/job.go` `GetDefaultSubmitterContainer`."""


def _ray_job(document: Document) -> Mapping[str, Any]:
    spec = mapping(document.get("spec"))
    return mapping(spec.get("jobTemplate", spec))  # a RayCronJob's


def _ray_cluster(document: Document) -> Mapping[str, Any]:
    spec = _ray_job(document)
    return mapping(spec.get("rayClusterSpec", spec.get("rayClusterConfig", spec)))


def ray_head_sidecars(document: Document) -> tuple[Document, ...]:
    """The containers that KubeRay adds to a head: the autoscaler, and in SidecarMode the one that submits the job.

    Source: kuberay at feeaf72f, `ray-operator/controllers/ray/common/pod.go` `BuildAutoscalerContainer`, `mergeAutoscalerOverrides`,
    `ray-operator/controllers/ray/rayjob_controller.go` `constructRayClusterForRayJob`.
    """
    cluster = _ray_cluster(document)
    submitters = (_SUBMITTER,) if _ray_job(document).get("submissionMode") == "SidecarMode" else ()
    if cluster.get("enableInTreeAutoscaling") is not True:
        return submitters
    resources = mapping(cluster.get("autoscalerOptions")).get("resources")
    amounts = {"cpu": "500m", "memory": "512Mi"}
    autoscaler = {
        "name": "autoscaler",
        "resources": {"limits": amounts, "requests": amounts} if resources is None else resources,
    }
    return (*submitters, autoscaler)


def ray_submitter(job: Document) -> Document | None:
    """The pod template of a RayJob's submitter where the job gives none, with the image of its head; None without a head.

    Source: kuberay at feeaf72f, `ray-operator/controllers/ray/common/job.go` `GetSubmitterTemplate`.
    """
    head = mapping(mapping(mapping(job.get("rayClusterSpec")).get("headGroupSpec")).get("template"))
    containers = _containers(mapping(head.get("spec")))
    if not containers:
        return None
    submitter = {**_SUBMITTER, "image": containers[0].get("image")}
    return {"spec": {"containers": [submitter], "restartPolicy": "Never"}}


def ray_role(labels: Mapping[str, str]) -> str:
    """Of which set a pod of a RayCluster is, by the labels with which KubeRay looks for it; "" where they don't say.

    Source: kuberay at feeaf72f, `ray-operator/controllers/ray/common/pod.go` `labelPod`.
    """
    group = labels.get("ray.io/group", "")
    return "head" if labels.get("ray.io/node-type") == "head" else f"worker-{group}" if group else ""


def ray_status(document: Document) -> tuple[int, int]:
    """How many pods of a RayCluster its status counts, and how many of these are Ready.

    Source: kuberay at feeaf72f, `ray-operator/controllers/ray/raycluster_controller.go` `calculateStatus`, `updateHeadInfo`.
    """
    status = mapping(document.get("status"))
    said = [(condition.get("type"), condition.get("status")) for condition in _mappings(status.get("conditions"))]
    heads, ready_heads = bool(mapping(status.get("head")).get("podName")), ("HeadPodReady", "True") in said
    return _count(status.get("availableWorkerReplicas")) + heads, _count(
        status.get("readyWorkerReplicas")
    ) + ready_heads


def ray_problem(document: Document) -> str:
    """Why nothing is submitted of a RayJob, as a sentence without a full stop; "" where it may be.

    Source: kuberay at feeaf72f, `ray-operator/controllers/ray/utils/validation.go` `ValidateRayJobSpec`; kubernetes
    `pkg/apis/batch/validation/validation.go` `validateJobSpec`: the submitter's Job, which KubeRay creates without another restartPolicy.
    """
    job = _ray_job(document)
    mode, given = job.get("submissionMode") or "K8sJobMode", job.get("submitterPodTemplate")
    if mode == "SidecarMode" and (given is not None or job.get("submitterConfig") is not None):
        return "KubeRay refuses a RayJob in SidecarMode with a submitterPodTemplate or a submitterConfig"
    restarts = mapping(mapping(given).get("spec")).get("restartPolicy")
    if mode == "K8sJobMode" and given is not None and restarts not in ("OnFailure", "Never"):
        return (
            "the API server refuses the Job of its submitterPodTemplate: its restartPolicy has to be OnFailure or Never"
        )
    return ""


def ray_grows(document: Document) -> bool:
    """Whether Ray's autoscaler may add workers to those that are made: where a group may have more than it begins with."""
    cluster = _ray_cluster(document)
    if not cluster.get("enableInTreeAutoscaling"):
        return False
    groups = [mapping(group) for group in _listed(cluster.get("workerGroupSpecs"))]
    least = [max(_count(group.get("replicas")), _count(group.get("minReplicas"))) for group in groups]
    return any(few < _count(group.get("maxReplicas"), 2**31) for few, group in zip(least, groups, strict=True))


def ray_workers_at_most(document: Document) -> dict[str, int]:
    """How many pods each group of workers may have by Ray's autoscaler, by role (``worker-gpu``): maxReplicas of numOfHosts pods each.

    Source: kuberay `ray-operator/apis/ray/v1/raycluster_types.go` `WorkerGroupSpec`.
    """
    groups = [mapping(group) for group in _listed(_ray_cluster(document).get("workerGroupSpecs"))]
    return {
        f"worker-{group.get('groupName') or ''}": _count(group.get("maxReplicas")) * _count(group.get("numOfHosts"), 1)
        for group in groups
    }


def ray_counted(document: Document) -> Composed:
    """Why Kueue counts other pods of a RayCluster or RayJob than its sets, and why its webhook refuses it.

    Source: kueue at ff69552e79ad, `pkg/controller/jobs/raycluster/{common,raycluster_webhook}.go`, `rayjob/{rayjob_controller,
    rayjob_webhook}.go`.
    """
    spec = mapping(document.get("spec"))
    cluster, is_job = (mapping(spec.get("rayClusterSpec", spec)), "rayClusterSpec" in spec)
    notes, why, refused = mapping(mapping(document.get("metadata")).get("annotations")), [], []
    webhook = "vrayjob.kb.io" if is_job else "vraycluster.kb.io"
    if cluster.get("enableInTreeAutoscaling"):
        refused.append(f"{webhook} refuses one that scales itself (enableInTreeAutoscaling) and is no elastic job")
    if cluster.get("gcsFaultToleranceOptions") or str(notes.get("ray.io/ft-enabled")).lower() == "true":
        why.append("what Kueue counts for cleaning up Ray's Redis isn't modelled")
    for group in map(mapping, _listed(cluster.get("workerGroupSpecs"))):
        number = _count(group.get("replicas"), -1)
        if not _count(group.get("minReplicas")) <= number <= _count(group.get("maxReplicas"), 2**31):
            why.append("Kueue counts the replicas of a group, of which KubeRay makes another number of pods")
    if is_job and not spec.get("shutdownAfterJobFinishes"):
        refused.append(f"{webhook} refuses one that keeps its cluster (shutdownAfterJobFinishes)")
    return Composed(sets=(), untold=tuple(dict.fromkeys(why)), refused=tuple(refused))
