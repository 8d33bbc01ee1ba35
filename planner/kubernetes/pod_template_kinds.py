"""Kinds with pod templates in their fields (operators' pod sets): where they are, and how many pods each makes.

A kind is added by its row in ``pod_template_kinds.json``: a word with a star stands for the list of words that is called so there, and a
`note` is for people. Sources, by API group: kubernetes `batch/v1`, `core/v1`; argoproj.io Rollout; LeaderWorkerSet
(kubernetes-sigs/lws `api/leaderworkerset/v1`); KubeRay `ray.io/v1`; Knative Serving v1; Kubeflow training-operator v1 and
mpi-operator v2beta1; JobSet v1alpha2; KServe v1beta1 and v1alpha1; Kaito v1beta1; Volcano v1alpha1; OpenKruise; OpenShift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from math import prod
from typing import Any, Final

import msgspec

from planner.ground import typed_json, words
from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.ground.well_known_names import DEFAULT_SCHEDULER
from planner.kubernetes import composite_kinds
from planner.kubernetes.accelerator_units import Units
from planner.kubernetes.composite_kinds import Composed, FoundSet, digits, mapping, number_in
from planner.kubernetes.kueue_managed_pods import named_queue
from planner.kubernetes.object_records import Labels, PodsAlike, Template
from planner.kubernetes.operator_update_rules import RULES, Updates, at
from planner.kubernetes.pod_properties import POD_GROUP_LABELS
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.unmodelled_fields import KnownNotes, Tree, strange_fields, strange_notes, tree
from planner.kubernetes.workload_kinds import REMOVED, several

Document = Mapping[str, Any]


class Gang(StrEnum):
    """Which of its pods have to be placed together."""

    NONE = "pod by pod"
    WHOLE = "all or nothing"
    APART = "pod by pod, though they only work together"
    GROUP = "group by group"
    IN_TURN = "one after another, as each ends"


GANG_SCHEDULERS: Final = frozenset(
    {
        "volcano", "yunikorn", "kai-scheduler", "scheduler-plugins-scheduler", "koord-scheduler", "runai-scheduler",
        "godel-scheduler",
    }
)  # fmt: skip
"""Schedulers that place the pods of a group all or nothing, as their projects name them."""
POD_GROUP_NOTES: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-min-member")


def gang_in(gang: Gang, scheduler: str, labels: Labels, templates: Sequence[Template]) -> Gang:
    """How pods that only work together are placed: all or nothing only where a scheduler of gangs, a PodGroup or Kueue is named.
    kube-scheduler binds each that finds a node, and those hold what they ask for while they wait for the others.

    Source: kubernetes `pkg/scheduler/schedule_one.go` (a pod at a time); training-operator `pkg/controller.v1/common/pod.go` and kuberay
    `ray-operator/controllers/ray/batchscheduler/schedulermanager.go` (no scheduler of gangs unless the operator's flags name one).
    """
    if gang is not Gang.WHOLE or named_queue(labels, templates):
        return gang
    names = {scheduler, *(template.spec.scheduler_name for template in templates)}
    marks = {key for template in templates for key in (*template.labels, *template.annotations)}
    is_group = not marks.isdisjoint((*POD_GROUP_LABELS, *POD_GROUP_NOTES))
    return gang if is_group or names & GANG_SCHEDULERS else Gang.APART


class Idle(StrEnum):
    """Why an object makes no pods now."""

    NO = ""
    SUSPENDED = "it is suspended and makes no pods"
    THERE = "it is there already, and none of its pods changes"


class Count(Record):
    """How many: the number at `path`, `default` where it isn't given, at least the one at `at_least` and at most the one at
    `at_most` if these are given.

    `floor`: it isn't fewer; `less` is taken off (a group's leader is one of its size). `annotations`: of the pod template, instead of a path; the largest.
    `only`: one where the text at `path` is this or isn't given, none else.
    """

    path: str = ""
    annotations: tuple[str, ...] = ()
    default: int = 1
    at_least: str = ""
    at_most: str = ""
    floor: int = 0
    less: int = 0
    only: str = ""


class PodSet(Record):
    """Pods of one template.

    Attributes
    ----------
    role : what the kind calls them, before the name of each of a list or a map: ``worker-gpu``
    base : where the set is; ``[]`` after a name means each of a list, ``{}`` each of a map, by its key
    template : from there to the template; `is_spec`: that is a PodSpec and no PodTemplateSpec
    fallback : where the template is if it isn't there
    counts : their product is the number of pods (in a group)
    default : the template that the controller takes where `base` has none, of what is at `base`
    sidecars : the containers that the controller adds to each, of a whole document
    is_last : whether they are made when all others are Ready
    """

    role: str = ""
    base: str = ""
    template: str = "template"
    is_spec: bool = False
    fallback: str = ""
    counts: tuple[Count, ...] = ()
    default: Callable[[Document], Document | None] | None = None
    sidecars: Callable[[Document], tuple[Document, ...]] | None = None
    is_last: bool = False


class Templated(Record):
    """One kind.

    Attributes
    ----------
    plural : what the API server calls a list of them; "" where that is the kind in small letters, as English has it
    waits : how kubectl waits until its pods are there, as `planner.kubernetes.workload_kinds.Kind.waits`; with ``{role}`` in it once
        for each set, and the number is the first of its `counts`; ``{groups}``: the number of groups; "" where applying it makes no
        pods yet
    groups : how many groups of its sets there are, all alike
    suspend : the field that, when true, keeps it from making pods; "" where it has none
    is_by_template : whether its pods change with their templates and numbers only, whatever else of it does
    updates : what a change of one that is there does to its pods; None where that isn't modelled
    versions : of its group, the first that is served is read live; () where no server of today has it
    is_reviewed : whether the webhook is asked about each write: not of what controllers make all day (Pods, ReplicaSets, Jobs)
    also : (where, names of fields there) that change neither how many pods there are nor where they go, or are read elsewhere. What
        stands neither here (with a dot behind it: as long as it says nothing) nor in `sets`, `groups` and `suspend` may do so: its pods aren't told; () of Kubernetes' own kinds
    defaults, schema : (where, ``name=value`` there) that the schema of its CRD writes into an object that says nothing, each of which
        means what nothing means; and the project's version whose CRD that is, "" of one that wasn't read
    notes : the same of annotations and labels, as `KnownNotes` has them; asked of those that its project, or one that it depends on, reads
    stops : the annotation that takes its pods away, whatever it says, or as ``name=value``
    scheduler : who places its pods where ``spec.schedulerName`` names none; "" is whom the pods name
    refers : where it names the objects that its own fields are laid over, one after another
    assumes, where : what of its pods isn't counted, as a sentence without a full stop; only of such documents (None: of all)
    composes : what tells its pods where paths and counts don't; `sets` is empty then
    counted : why Kueue counts other pods than its sets, and why it refuses it; None: its sets are what it counts
    role_of : of which set a pod is, by its labels; of a kind whose controller makes each pod anew that is missing, None of others
    status : how many pods an object's status counts, and how many Ready ones
    problem : why no pod or not all of a document's come, though the API server takes it; "" where they do
    scales : the role that ``kubectl scale`` counts; None where its kind has no such subresource
    """

    kind: str
    group: str
    sets: tuple[PodSet, ...]
    waits: str
    plural: str = ""
    versions: tuple[str, ...] = ("v1",)
    is_reviewed: bool = True
    scales: str | None = None
    composes: Callable[[Document], Composed] | None = None
    counted: Callable[[Document], Composed] | None = None
    problem: Callable[[Document], str] | None = None
    role_of: Callable[[Labels], str] | None = None
    status: Callable[[Document], tuple[int, int]] | None = None
    also: tuple[tuple[str, str], ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    schema: str = ""
    notes: str = ""
    stops: str = ""
    scheduler: str = ""
    refers: str = ""
    assumes: str = ""
    where: Callable[[Document], bool] | None = None
    gang: Gang = Gang.NONE
    groups: Count | None = None
    suspend: str = ""
    is_by_template: bool = False
    updates: Updates | None = None

    @property
    def resource(self) -> str:
        """What a ClusterRole and a path of the API server call the kind: ``rayclusters``."""
        return self.plural or several(self.kind).lower()


class Placed(Record):
    """What is asked where only placement is: the pods of one object, in sets and groups, and which go together.

    `resource`: what kubectl calls its kind,
    "" for an object that gets its name when it is created; `waits`: each ``--for`` with which ``kubectl wait`` waits until its pods are there.
    `idle`: why it makes none now; `is_assumed`: that it changes nothing depends on what was applied before.
    `uncounted`: why Kueue counts other pods than these; `not_taken`: why its webhook refuses it.
    `never`: why what it asks for never comes, as a sentence without a full stop, "" where it may.
    `exclusive`: the node label of whose values each group has one for itself, "" where it shares them (LeaderWorkerSet).
    `old`: the pods of the same object that the new ones take the place of; `leaving`: the uids of those that go first;
    `lacked`: how many of its pods were missing before, and come whether it changes or not;
    `scheduler`: who places its pods, "" whom they name; `assumes`: what of its pods isn't counted, `gpus_at_most`: that they may come to ask for by it; `rules`, `course`: of one that is there, by whose rules it changes, and how, as a sentence without a full stop.
    """

    sets: tuple[PodsAlike, ...]
    gang: Gang
    groups: int = 1
    resource: str = ""
    waits: tuple[str, ...] = ()
    idle: Idle = Idle.NO
    is_assumed: bool = False
    uncounted: str = ""
    not_taken: str = ""
    old: tuple[PodsAlike, ...] = ()
    leaving: frozenset[str] = frozenset()
    lacked: int = 0
    scheduler: str = ""
    assumes: str = ""
    gpus_at_most: int = 0
    rules: str = ""
    course: str = ""
    never: str = ""
    exclusive: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing of it changes; not so of what is asked for and never comes."""
        is_there = self.idle is Idle.THERE or (not self.idle and self.pods == self.lacked > 0)
        return is_there and not self.never

    @property
    def group_size(self) -> int:
        return sum(alike.count for alike in self.sets)

    @property
    def pods(self) -> int:
        return 0 if self.idle else self.groups * self.group_size

    @property
    def pods_at_once(self) -> int:
        """Those that are made at once. A gang has no others: kuberay `batchscheduler/volcano/volcano_scheduler.go` `handleRayJob`."""
        return self.groups * sum(alike.count for alike in self.sets if not alike.is_last)

    @property
    def gpus(self) -> int:
        """That its pods ask for, once there are any."""
        return sum(count * requested_gpus(template.spec) for template, count in self.templates)

    @property
    def idle_words(self) -> str:
        """What is said of one that makes no pods now, "" of others."""
        if self.idle is not Idle.SUSPENDED:
            return str(self.idle)
        pods = words.count(self.groups * self.group_size, "pod")
        resource_names = [name for template, _ in self.templates for name in pod_requests(template.spec)]
        gpus = f" with {Units(offered={}).nouns(resource_names).count(self.gpus)}" if self.gpus else ""
        return f"{self.idle}; resumed it makes {pods}{gpus}"

    @property
    def templates(self) -> tuple[tuple[Template, int], ...]:
        """Each set's template and how many pods there are of it in all groups, suspended or not."""
        return tuple((alike.template, self.groups * alike.count) for alike in self.sets)


_MANAGED: Final = ("spec.managedBy", "spec.runPolicy.managedBy")

_TABLE: Final = msgspec.json.decode(table_beside(__name__, "pod_template_kinds.json"))
_WORDS: Final[Mapping[str, str]] = _TABLE["words"]
_MANAGERS: Final = _WORDS["*managers"].split()
"""What ``managedBy`` says where the kind's own controller makes the pods: of any other value another cluster's does."""


def _spelled(text: str) -> str:
    return " ".join(_WORDS.get(word, word) for word in text.split())


def _row(row: Document) -> Templated:
    """A row of ``pod_template_kinds.json``; what it computes with is called as in `planner.kubernetes.composite_kinds`."""
    template_fields = {
        **{key: [(where, _spelled(names)) for where, names in row.get(key, ())] for key in ("also", "defaults")},
        "notes": _spelled(row.get("notes", "")),
        "updates": RULES[row["updates"]] if "updates" in row else None,
    }
    return typed_json.convert(
        {**row, **template_fields}, Templated, dec_hook=lambda _, name: getattr(composite_kinds, name)
    )


TEMPLATED: Final = tuple(map(_row, _TABLE["rows"]))

RUNTIME_GROUP: Final = "serving.kserve.io"
RUNTIMES: Final = {"ServingRuntime": True, "ClusterServingRuntime": False}
"""Kinds that give a model's pods their template → whether they are of a namespace; that one's come first."""
TRAINING_GROUP: Final = "trainer.kubeflow.org"
TRAINING_RUNTIMES: Final = {"TrainingRuntime": True, "ClusterTrainingRuntime": False}
"""The same of kinds that give a TrainJob its Jobs."""
BASE: Final = "LLMInferenceServiceConfig"
"""The kind that others are laid over."""
BASE_NAMESPACE: Final = "kserve"
"""Where one is looked for that the object's own namespace doesn't have: kserve `pkg/constants` `KServeNamespace`."""

_ROLE: Final = "{role}"
_GROUPS: Final = "{groups}"
_BY_KIND: Final = {(row.kind, row.group): row for row in TEMPLATED}


def resource_of(row: Templated) -> str:
    """What kubectl calls the kind, so that none of another group can be meant: ``rayservice.ray.io``, ``pod``."""
    return ".".join(filter(None, (row.kind.lower(), row.group)))


def templated(kind: str, api_version: str) -> Templated | None:
    """The row of a kind, None where its own fields don't tell its pods; nor do those of a version that isn't served, where one is
    named."""
    group, _, version = api_version.rpartition("/")
    row = _BY_KIND.get((kind, group))
    is_other = row is not None and row.versions and version and version not in row.versions
    return None if is_other and (kind, api_version) not in REMOVED else row


def group_count(row: Templated, document: Document) -> int:
    """How many groups of its sets a document asks for; 1 where its kind has none."""
    return _counted(row.groups, document) if row.groups else 1


def found_sets(row: Templated, document: Document, *, with_none: bool = False) -> list[FoundSet]:
    """The pod sets of a document, those without a template left out; those without a pod too, but `with_none`."""
    if row.composes is not None:
        sets = row.composes(document).sets
        # A Workflow's counts are those of its widest moment: a template with 0 there runs at another one and needs its node then.
        return [found_set for found_set in sets if found_set.count > 0 or with_none or row.gang is Gang.IN_TURN]
    pod_sets = []
    for pod_set in row.sets:
        for name, path, base in _places(document, pod_set.base):
            where, template = _template(base, pod_set)
            if template is None:
                continue
            counts = [
                _annotated(each, template) if each.annotations else _counted(each, base) for each in pod_set.counts
            ]
            count = prod(counts)
            if count > 0 or with_none:
                full = ".".join(part for part in (path, where) if part)
                pod_sets.append(
                    FoundSet(
                        role="-".join(filter(None, (pod_set.role, name))), path=full, template=template, count=count, units=next(iter(counts), 1),
                        sidecars=pod_set.sidecars(document) if pod_set.sidecars is not None else (), is_last=pod_set.is_last,
                    )
                )  # fmt: skip
    return pod_sets


def assumed_of(row: Templated, document: Document) -> str:
    """What of an object's pods isn't counted."""
    return row.assumes if row.where is None or row.where(document) else ""


def waits_of(row: Templated, sets: Sequence[FoundSet], groups: int) -> tuple[str, ...]:
    """Each ``--for`` with which ``kubectl wait`` waits for these sets."""
    if _ROLE in row.waits:
        return tuple(f"{row.waits.replace(_ROLE, found_set.role)}{found_set.units}" for found_set in sets)
    if _GROUPS in row.waits:
        return (row.waits.replace(_GROUPS, str(groups)),)
    pods = str(groups * sum(found_set.count for found_set in sets)) if row.waits.endswith("=") else ""
    return (f"{row.waits}{pods}",) if row.waits else ()


def is_suspended(row: Templated, document: Document) -> bool:
    """Whether a document says that no pods are made until it is resumed."""
    annotations, (name, _, value) = at(document, "metadata.annotations"), row.stops.partition("=")
    stopped = annotations.get(name) if name and isinstance(annotations, Mapping) else None
    is_stopped = stopped is not None and (not value or str(stopped).lower() == value)
    return is_stopped or (bool(row.suspend) and at(document, row.suspend) is True)


def other_scheduler(row: Templated, document: Document) -> str:
    """Who places the pods of an object, where that is another one than its pods name; "" else."""
    named = at(document, "spec.schedulerName") if row.scheduler else ""
    return "" if named == DEFAULT_SCHEDULER else str(named or row.scheduler)


def untold_places(row: Templated, document: Document, known_lists: frozenset[int]) -> list[str]:
    """Where a document has pods that its kind's row doesn't tell: a set whose template another object gives (a runtime, a
    preset), and a template at a place that the row doesn't know. `known_lists`: its `told_lists`."""
    places = strange_places(row, document)
    places += [path for path in _MANAGED if at(document, path) not in (None, *_MANAGERS)]
    if row.groups is not None and not _is_number(at(document, row.groups.path)):
        places.append(row.groups.path)
    if row.composes is not None:
        return list(dict.fromkeys([*places, *row.composes(document).untold]))
    for set_row in row.sets:
        for _, path, base in _places(document, set_row.base):
            places += [
                f"{path}.{count.path}"
                for count in set_row.counts
                if count.path and not count.only and not _is_number(at(base, count.path))
            ]
            places += [
                f"{path}[{name}]"
                for count in set_row.counts
                for name in _unread_numbers(count, _template(base, set_row)[1])
            ]
    without = [
        path or pod_set.template
        for pod_set in row.sets
        for _, path, base in _places(document, pod_set.base)
        if _template(base, pod_set)[1] is None
        and not (pod_set.default is not None and at(base, pod_set.template) is None)
    ]
    # A set without a template is named once, not again for each field below it.
    told_of = [place for place in places if not any(place.startswith(f"{where}.") for where in without)]
    return list(dict.fromkeys(told_of + without + hidden_templates(document, apart=known_lists)))


def strange_places(row: Templated, document: Document) -> list[str]:
    """What of a document, or of a patch of one, its row doesn't list; [] of a row that lists nothing."""
    stops = {row.stops, row.stops.partition("=")[0]}
    notes = KnownNotes([*row.notes.split(), *stops])
    return [*strange_fields(document, _known(row)), *strange_notes(document, notes)] if row.also else []


@cache
def _known(row: Templated) -> Tree:
    """The fields that are read of a document, or change nothing."""
    paths = [row.suspend, row.groups.path if row.groups else "", *_MANAGED]
    paths += [f"{where}.{name}" for where, names in (*row.also, *row.defaults) for name in names.split()]
    for pod_set in row.sets:
        fields = (
            _WORDS["*pod"].split() if pod_set.is_spec and not pod_set.template else [pod_set.template, pod_set.fallback]
        )
        fields += [name for count in pod_set.counts for name in (count.path, count.at_least, count.at_most)]
        paths += [f"{pod_set.base}.{name}".lstrip(".") for name in fields if name]
    return tree(filter(None, paths))


def told_lists(row: Templated, document: Document) -> frozenset[int]:
    """The lists of containers (their ``id``) of the pods that a kind's row tells."""
    specs = [pod_set.template["spec"] for pod_set in found_sets(row, document, with_none=True)]
    return frozenset(id(spec.get(key)) for spec in specs for key in _CONTAINERS if spec.get(key) is not None)


_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def hidden_templates(document: Document, deepest: int = 12, apart: frozenset[int] = frozenset()) -> list[str]:
    """The paths at which an object has what looks like a pod's spec: a list of named containers, those of `apart` left out."""
    templates: list[str] = []
    todo: list[tuple[str, Any, int]] = [("", document, 0)]
    while todo:
        path, value, depth = todo.pop()
        if depth > deepest:
            continue
        if isinstance(value, Mapping):
            containers = value.get("containers")
            is_told = id(containers) in apart
            if (
                isinstance(containers, list) and containers and not is_told
                and all(isinstance(c, Mapping) for c in containers)
            ):  # fmt: skip
                templates.append(path or ".")
                continue
            todo += [
                (f"{path}.{key}".lstrip("."), child, depth + 1)
                for key, child in value.items()
                if id(child) not in apart
            ]
        elif isinstance(value, list):
            todo += [(f"{path}[{place}]", element, depth + 1) for place, element in enumerate(value[:100])]
    return sorted(templates)


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _template(base: Document, pod_set: PodSet) -> tuple[str, Document | None]:
    """(path, PodTemplateSpec) of a set; None where it has none."""
    for path in (pod_set.template, pod_set.fallback) if pod_set.fallback else (pod_set.template,):
        value = at(base, path)
        if not isinstance(value, Mapping):
            continue
        spec = value if pod_set.is_spec else value.get("spec")
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            return path, {"spec": spec} if pod_set.is_spec else value
    if pod_set.default is not None and at(base, pod_set.template) is None:
        return pod_set.template, pod_set.default(base)
    return "", None


def _annotated(count: Count, template: Document) -> int:
    template_annotations = mapping(at(template, "metadata.annotations"))
    numbers = (digits(template_annotations.get(name)) for name in count.annotations)
    return max([count.default, *(number for number in numbers if number is not None)])


def _unread_numbers(count: Count, template: Document | None) -> list[str]:
    """The annotations of a template that should be a number and aren't."""
    pod_annotations = mapping(at(template, "metadata.annotations"))
    return [
        name for name in count.annotations if name in pod_annotations and not str(pod_annotations[name]).isdecimal()
    ]


def _counted(count: Count, base: Document) -> int:
    if count.only:
        return int((at(base, count.path) or count.only) == count.only)
    value = number_in(at(base, count.path))
    number = count.default if value is None else value
    least = number_in(at(base, count.at_least)) if count.at_least else None
    most = number_in(at(base, count.at_most)) if count.at_most else None
    number = max(number, least or 0, count.floor)
    return max(0, (number if most is None else min(number, most)) - count.less)


def _is_number(value: object) -> bool:
    """Whether a number stands there, or none is given; a text is another's to fill in."""
    return value is None or number_in(value) is not None


def _places(document: Document, path: str) -> Iterator[tuple[str, str, Document]]:
    """(name, path, value) of every place that `path` means."""
    head, mark, path_tail = path.partition("[]")
    if not mark:
        head, mark, path_tail = path.partition("{}")
    value = at(document, head)
    if not mark:
        if isinstance(value, Mapping):
            yield "", path, value
        return
    items: list[tuple[str, Any]] = []
    if mark == "[]" and isinstance(value, list):
        items = [(_named(element, place), element) for place, element in enumerate(value)]
    elif mark == "{}" and isinstance(value, Mapping):
        items = [(str(key).lower(), child) for key, child in value.items()]
    for name, subtree in items:
        if isinstance(subtree, Mapping):
            for _, below, subdocument in _places(subtree, path_tail.lstrip(".")):
                yield name, f"{head}[{name}]{'.' if below else ''}{below}", subdocument


def _named(element: object, place: int) -> str:
    name = (element.get("name") or element.get("groupName")) if isinstance(element, Mapping) else ""
    return str(name or place)
