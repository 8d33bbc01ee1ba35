"""What documents say by themselves: the command line's help, JSON Schemas, the output of examples. ``make docs`` writes it.

An example is a block marked ``console``: lines that begin with ``$ headroom``, each followed by what it prints. A
``| head -N`` is understood; a line after it that is only ``…`` says that more follows.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import click
from click.testing import CliRunner

from planner.cli import COMMANDS, ROOMS, WITHIN, headroom, main, name_of
from planner.ground.exit_status import ExitStatus
from planner.history import schema
from planner.inventory import api_types, input_report
from planner.inventory.field_coverage import FIELDS, Standing
from planner.kubernetes import feature_gates, kueue_managed_pods, unplayed_kinds, workload_kinds
from planner.kubernetes.operator_update_rules import Updates
from planner.kubernetes.pod_template_kinds import TEMPLATED, Templated
from planner.rollout import glossary, recording_agreement
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import savings_inputs as spot_inputs
from planner.spot.economics import savings
from tests.architecture import schemas, stub
from tests.architecture.tree import ROOT, VERSION, project_files
from tests.bench import page
from tests.builders.wrapped import wrapped_to
from tests.collection import asking
from tests.deploy import chart
from tests.rules import quantities
from tests.spot import worked_example, worlds
from tests.stories import table
from tests.stories.__main__ import asked_all
from tests.stories.tools import TOOLS

COMMAND_LINE = Path("docs/command-line.md")
GLOSSARY = Path("docs/glossary.md")
QUANTITIES = Path("docs/quantities.md")
KINDS = Path("docs/kinds.md")
VERSIONS = Path("docs/versions.md")
ROLLOUT = Path("docs/rollout.md")
CLUSTER = Path("docs/cluster.md")
CLUSTER_ROLE = "deploy/clusterrole.yaml"
WEBHOOK = "deploy/webhook.yaml"
STORE = Path("docs/store.md")
NAMES = "docs/decisions/0020-commands.md"
VERSIONED = (
    "deploy/headroom.yaml", "deploy/snapshot.yaml", "deploy/chart/Chart.yaml", "docs/deploy.md", "docs/everyday.md", "docs/mcp.md", "docs/sweep.md",
    *(f"docs/examples/{name}" for name in (
        "argocd-presync.yaml", "flux-gate.yaml", "github-actions.yml", "gitlab-ci.yml", "gitlab-ci-no-cluster.yml",
        "pre-commit-config.yaml", "pre-commit-config-no-cluster.yaml",
    )),
)  # fmt: skip
_OF_VERSION = re.compile(
    r"(registry\.example\.com/headroom:|OWNER/REPO@v|HEADROOM_TAG: v|^    rev: v|^version: |^appVersion: )\d+\.\d+\.\d+",
    re.MULTILINE,
)
HEAD = """\
# The command line

For people who type commands, or write them into scripts. Made from what `--help` says, by `make docs`. Every command ends with one of these:

{statuses}

Of several workloads the gravest counts: 2 before 4 before 3 before 0. A list (`overview`, `restarts`, `findings`, …)
ends with 0 unless an input that it depends on is missing or was refused (4), or `--fail-on` names something that is in it.

Every command prints `--output text|json|yaml|csv|markdown` (`table` is the same as `text`). JSON and YAML are a versioned
document, `headroom.<question>/<version>`; its JSON Schema is in [schemas](schemas). CSV and Markdown are rows: `--rows` says
of what, and `--rows facts` is the whole answer as metric, labels, value, unit.

{commands}
"""
WHERE_NEXT = "Where next: [everyday use](everyday.md), [a rollout's answer](rollout.md), [the gate](gate.md).\n"
KINDS_PAGE = """\
# Kinds

For people who ask whether Headroom knows their kind of workload. Made by `make docs` from the tables of kinds ([decision 15](decisions/0015-the-table-of-kinds.md)).

A rollout is *played* by the rules of its controller, pods of other kinds are *placed*, and what is in no table is *not known*, with the
accelerators it asks for and where.

## Played

{own}: by the controllers of Kubernetes 1.36, against 890 recordings ([Rollout](rollout.md)).

| kind | what is modelled | rules of | recorded |
| --- | --- | --- | --- |
{played}
What isn't modelled makes the verdict *not known*: `replicaProgressThreshold` and `antiAffinity` of an Argo Rollout, a step that is an experiment (it has pods of its own) or that isn't known, a strategy that it
refuses (InvalidSpec), a patch of its status (an abort, a promotion; set back, its template is played), a template that it
takes from another workload (`workloadRef`), a change of one that is midway with `dynamicStableScale`, a LeaderWorkerSet's change while
its groups are of two revisions, and one with `volumeClaimTemplates`. Two rules of LeaderWorkerSet are 0.9's, from its source and not recorded, where the image of its
controller in the snapshot shows it: a group is Ready only when its workers are, and the surge is kept where maxUnavailable is 0.

## Changed by rules that were read, not recorded

Of a new object its pods are placed. A change of one that is there is answered by the rules of its project, read from its source in
November 2026 (where it is named at a commit: that one); the answer says so ("by the rules of KubeRay, not recorded") and nothing of it is called
proven. Pods that a change takes away, an object midway in a change of before and a field that isn't named here are *not known*.

A new InferenceService with a `runtime` in its `predictor.model` has the pods of that ServingRuntime or ClusterServingRuntime, of the manifest or
of the input, with the model's resources over its own (KServe, not recorded; what its storage initializer asks for isn't counted).
Without a name KServe matches one by format, priority and age: not known. An LLMInferenceService is laid over the LLMInferenceServiceConfigs that
it names, one after another; KServe's own well-known ones aren't counted in.

Cases of the projects' own unit tests are tests here, each with its commit and name: `tests/rollout/test_projects_own_cases.py`. More than
a hundred manifests as people write them are answered, or not known with the GPUs that they ask for: `tests/questions/manifests_of_kinds.yaml`.

What an object says beyond its pods, their numbers and these fields may change how many there are or where they go, so it is *not known*, and named:

{hidden}
Of annotations and labels that a controller of pods reads (`ray.io`, `kserve.io`, `knative.dev`, `sigs.k8s.io`, `opendatahub.io` and the other
projects') as well those only that are named here.

Not known, too, is a version that isn't served, an object that another controller manages (`managedBy`), pods of another scheduler, and a number of pods
that is a text. Of a Workflow: `withParam` with GPUs, `templateRef`, `podSpecPatch`, `templateDefaults`, daemons, resource and plugin
templates; each of its pods has to find a node by itself, one after another.

One more kind is one row of `planner/kubernetes/pod_template_kinds.json`, its manifests with their answers in the two collections of tests, and
`make docs`, which writes its ClusterRole and webhook rules, kubectl's line and this page; doctor and the watches read the row, and
`tests/kubernetes/test_custom_kinds.py` compares them all. Measured with the last one, RayCronJob: four files by hand (its row, what a change
of it does in `planner/kubernetes/operator_update_rules.json`, two manifests) and a line in CHANGELOG; seven more that `make docs` wrote. A kind whose
pods paths can't tell, as a Workflow's, has a module of its own beside that.

| kind | what a change does to its pods | rules of | recorded |
| --- | --- | --- | --- |
{changed}
## Placed

Whether a new one's pods find nodes; a change of running pods is not known: {placed}.

Where next: [a rollout's answer](rollout.md), [the gate](gate.md), [tell us of a wrong answer](wrong-answer.md).
"""
VERSIONS_PAGE = """\
# Versions

For people with another version of Kubernetes than the recorded one. Made by `make docs` from one table (`planner/kubernetes/feature_gates.json`).

What is played was recorded with Kubernetes 1.{recorded}. A snapshot doesn't tell the API server's version: its newest kubelet stands for it.
Where that is another version, `overview`, `rollout` and `gate` say once that answers are *by documentation, not recorded*. Nodes without a
version count as 1.{recorded}.

The API server drops a field while its gate is off: an object of the snapshot that has it shows the gate to be on, whatever the default.
A change that asks for one that is off by default, and that nothing shows to be on, is *not known*. Before 1.{first} the table isn't
complete; after 1.{last} it is read as 1.{last}.

Gates as they are by default; `-`: there was none. A managed cluster may have others on.

| gate | {versions} | what depends on it | where it is off |
| --- |{dashes} --- | --- |
{rows}
From 1.35.0 to 1.35.3 `MaxUnavailableStatefulSet` was on, and off again from 1.35.4 (kubernetes#137904); 1.37 has it on with other rules
(kubernetes#137666), which aren't recorded. `GenericWorkload` is off by default in 1.37 too; what a pod of a group does is *not known* in
every version, and so is whom 1.37 preempts for it.

## What versions after 1.{recorded} changed

One row for each change of the scheduler, the controllers and the kubelet that may matter (`planner/kubernetes/version_changes.json`). Read were
`CHANGELOG/CHANGELOG-1.37.md` up to v1.37.0-alpha.1, the pull requests of alpha.2 and the feature gates of 1.37. The snapshot's version decides. Nothing of 1.37 is recorded, so
nothing is called proven there, and that is said. *Not played*: the rules of 1.{recorded} are played instead.

| version | part | change | here | why | source |
| --- | --- | --- | --- | --- | --- |
{changes}
Where next: [kinds](kinds.md), [what is played](rollout.md).
"""
_EXAMPLES = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CUSTOM_KINDS = ",".join(
    [kind.named for kind in workload_kinds.WORKLOADS if kind.is_custom]
    + [name for name, one in unplayed_kinds.LISTED.items() if "." in one.group]
    + [f"{resource}.{kueue_managed_pods.GROUP}" for resource in kueue_managed_pods.KINDS.values()]
    + [
        "podtemplates", "capacitybuffers.autoscaling.x-k8s.io", "provisioningrequests.autoscaling.x-k8s.io", "nodepools.karpenter.sh",
        "nodeclaims.karpenter.sh",
    ]
)  # fmt: skip
"""What kubectl's line takes beside the kinds that every cluster has, where the server has them."""
EMPTY_GROUP = '""'
_MORE = "…"


def documents_with_examples() -> list[Path]:
    """Markdown files that have at least one example to run."""
    return [
        path
        for path in project_files()
        if path.suffix == ".md" and "```console\n$ headroom" in (ROOT / path).read_text(encoding="utf-8")
    ]


def with_outputs(text: str) -> str:
    """`text` with the output of every example as it is now."""
    return _EXAMPLES.sub(lambda block: f"```console\n{_played(block.group(1))}```", text)


def glossary_page() -> str:
    """docs/glossary.md: the terms that the pages explain."""
    head = "# Glossary\n\nFor people who read an answer and meet a new word. The pages have it in their sidebar."
    tail = "Where next: [a rollout's answer](rollout.md), [memory](memory.md), [spot](spot.md)."
    return f"{head}\n\n{glossary.as_markdown()}\n\n{tail}\n"


def kinds_page() -> str:
    """docs/kinds.md: what is played, by whose rules, and what is only placed; of the tables of kinds."""
    own = ", ".join(f"`{kind.name}`" for kind in workload_kinds.ROLLING)
    played = "".join(
        f"| `{kind.name}` ({kind.group}) | {kind.modelled} | {kind.project}: {kind.source} | recorded: `tests/conformance/kinds` |\n"
        for kind in workload_kinds.PLAYED if kind.is_custom
    )  # fmt: skip
    known = {(kind.name, kind.group) for kind in (*workload_kinds.WORKLOADS, *workload_kinds.PARTS)}
    others = [row for row in TEMPLATED if (row.kind, row.group) not in known]
    changed = "".join(
        f"| `{row.kind}` ({row.group}) | {_modelled(row.updates)} | {row.updates.project}: {row.updates.source} | no |\n"
        for row in others if row.updates is not None
    )  # fmt: skip
    placed = ", ".join(f"`{row.kind}` ({row.group or 'core'})" for row in others if row.updates is None)
    hidden = "".join(
        f"- `{row.kind}` ({row.group}): {'; '.join(_read_of(row)) or 'none'}\n" for row in TEMPLATED if row.also
    )
    return KINDS_PAGE.format(own=own, played=played, changed=changed, placed=placed, hidden=hidden)


def _modelled(rule: Updates) -> str:
    """What a change does, and what each value of its field makes of it."""
    others = "; ".join(f"`{rule.by_field}: {value}` {way}" for value, way in rule.ways if way is not rule.way)
    kept = f"; with `{rule.one_at_a_time[0]}` {' or '.join(rule.one_at_a_time[1])} not before those are gone"
    return f"{rule.way}{kept if rule.one_at_a_time[0] else ''}{f'; {others}' if others else ''}"


def _read_of(row: Templated) -> Iterator[str]:
    for where, names in row.also:
        if names:
            yield f"{f'{where}: ' if where else ''}{', '.join(f'`{name}`' for name in names.split() if not name.endswith('.'))}"
    if row.notes:
        yield f"annotations {', '.join(f'`{name}`' for name in row.notes.split())}"


def versions_page() -> str:
    """docs/versions.md: the feature gates that rules depend on, by minor version."""
    minors = range(feature_gates.FIRST, feature_gates.LAST + 1)
    rows = "".join(
        f"| `{gate.name}` | {' | '.join(gate.state(minor) for minor in minors)} | {gate.rule} | {gate.otherwise} |\n"
        for gate in feature_gates.GATES
    )
    return VERSIONS_PAGE.format(
        recorded=feature_gates.RECORDED, first=feature_gates.FIRST, last=feature_gates.LAST, rows=rows,
        changes="".join(
            f"| 1.{one.minor} | {one.part} | {one.change} | {one.becomes} | {one.why} | {one.source} |\n" for one in feature_gates.CHANGES
        ),
        versions=" | ".join(f"1.{minor}" for minor in minors), dashes=" --- |" * len(minors),
    )  # fmt: skip


def command_line() -> str:
    """docs/command-line.md: the help of `headroom`, of each command and of its subcommands."""
    statuses = "".join(f"| {status.value} | {status.meaning} |\n" for status in ExitStatus)
    parts = [
        HEAD.format(statuses=f"| status | meaning |\n| ---: | --- |\n{statuses}".rstrip(), commands=_commands_table()),
        _section([]),
    ]
    for name in COMMANDS:
        command = headroom.get_command(click.Context(headroom), name)
        assert command is not None
        command._help_option = None  # click keeps it from its first run, which in tests may be without `headroom`
        parts.append(_section(name.split(" ")))
        if isinstance(command, click.Group):
            parts += [
                _section([*name.split(" "), below]) for below in command.commands if f"{name} {below}" not in COMMANDS
            ]
    return "\n".join([*parts, WHERE_NEXT])


def with_reading(text: str) -> str:
    """docs/cluster.md with kubectl's line and the ClusterRole as `wire.READ` has them."""
    text = re.sub(
        r"kubectl get nodes,.*?cluster\.json\.gz", lambda _: input_report.SNAPSHOT_COMMAND, text, flags=re.DOTALL
    )
    text = re.sub(r"allocation, add `[^`]*`", f"allocation, add `{input_report.DEVICE_KINDS}`", text)
    text = re.sub(r"is installed, add `[^`]*`", f"is installed, add `{CUSTOM_KINDS}`", text)
    groups: dict[str, list[str]] = {}
    every = [(kind.group, kind.resource) for kind in api_types.READ.values()]
    every += [(one.group, one.resource) for one in unplayed_kinds.LISTED.values()]
    for group, resource in every:
        groups.setdefault(group, []).append(resource)
    rules = "".join(
        f"  - apiGroups: [{group or EMPTY_GROUP}]\n    resources: [{', '.join(resources)}]\n    verbs: [{_verbs(group)}]\n"
        for group, resources in groups.items()
    )
    return re.sub(r"(?<=^rules:\n).*?(?=^```)", rules, text, count=1, flags=re.DOTALL | re.MULTILINE)


def with_webhook_rules(text: str) -> str:
    """deploy/webhook.yaml with a rule for each API group of other projects whose writes are reviewed."""
    groups: dict[tuple[str, str], list[str]] = {}
    for kind in workload_kinds.PLAYED:
        if kind.is_custom:
            scale = [f"{kind.resource}/scale"] if kind.has_scale else []
            groups.setdefault((kind.group, kind.version), []).extend([kind.resource, *scale])
    for one in unplayed_kinds.LISTED.values():
        if one.asks_webhook:
            scale = [f"{one.resource}/scale"] if one.scales is not None else []
            groups.setdefault((one.group, ", ".join(one.versions)), []).extend([one.resource, *scale])
    rules = "".join(
        f"      - apiGroups: [{group or EMPTY_GROUP}]\n        apiVersions: [{versions}]\n        operations: [CREATE, UPDATE]\n"
        f"        resources: [{', '.join(resources)}]\n        scope: Namespaced\n"
        for (group, versions), resources in groups.items()
    )
    head, first, _ = text.partition("      - apiGroups: [argoproj.io]\n")
    assert first
    return head + rules


def with_recordings(text: str) -> str:
    """The README with how often verdicts agree with recordings (`planner/rollout/recording_agreement.json`, made by ``python -m tests.conformance.counts``)."""
    rows = "".join(
        f"| {row.what} | {row.total:,} | {row.right:,} | {row.unknown or '–'} | {row.wrong or '–'} |\n"
        for row in recording_agreement.recorded_verdicts()
    )
    head = "| recorded on real control planes | verdicts | right | not known | wrong |\n| --- | ---: | ---: | ---: | ---: |\n"
    return re.sub(
        r"(?<=<!-- recordings -->\n).*?(?=<!-- end of recordings -->)",
        lambda _: f"{recording_agreement.sentence()}\n\n{head}{rows}", text, flags=re.DOTALL,
    )  # fmt: skip


def _commands_table() -> str:
    lines = "".join(f"| {_linked(name)} | {line.rstrip('.')} |\n" for name, line in COMMANDS.items())
    return f"| command | what it answers |\n| --- | --- |\n{lines}".rstrip()


def with_names(text: str) -> str:
    """Decision 20 with its table of the final names, and those of before."""
    rows = [
        f"| {room} | `{home}` | {', '.join(f'`{name_of(entry)}` (`{old}`)' for old, entry in WITHIN[home].items())} |\n"
        for room, commands in ROOMS.items() for home in commands
    ]  # fmt: skip
    return re.sub(r"(?<=^\| --- \| --- \| --- \|\n)(?:\| .*\n)+", lambda _: "".join(rows), text, flags=re.MULTILINE)


def _linked(name: str) -> str:
    page = {"serve": "serve.md", "app": "deploy.md", "store": "store.md"}.get(name)
    return f"[`headroom {name}`]({page})" if page else f"`headroom {name}`"


def _verbs(group: str) -> str:
    return "list" if group == api_types.METRICS else "list, watch"  # metrics-server serves lists only


def cluster_role(page_of_cluster: str) -> str:
    """deploy/clusterrole.yaml: that of docs/cluster.md."""
    block = re.search(r"```yaml\n(apiVersion: rbac.*?)```", page_of_cluster, re.DOTALL)
    assert block is not None
    return block.group(1)


def with_fields(text: str) -> str:
    """docs/rollout.md with its section "What is modelled" as `planner.inventory.field_coverage` has it."""
    lines = []
    for name, fields in FIELDS.items():
        groups: dict[tuple[Standing, str], list[str]] = {}
        for field, (standing, why) in sorted(fields.items()):
            groups.setdefault((standing, why), []).append(f"`{field}`")
        cells: dict[Standing, list[str]] = {standing: [] for standing in Standing}
        for (standing, why), names in groups.items():
            cells[standing].append(", ".join(names) + (f": {why}" if why else ""))
        lines.append(f"| {name} | " + " | ".join("; ".join(cells[standing]) for standing in Standing) + " |")
    head = ["", "| type | modelled | cannot matter | verdict becomes unknown |", "| --- | --- | --- | --- |"]
    table = "\n".join([*head, *lines, ""])
    return re.sub(r"(?<=<!-- fields -->\n).*?(?=\n<!-- end of fields -->)", lambda _: table, text, flags=re.DOTALL)


def with_tables(text: str) -> str:
    """docs/store.md with its tables as `planner.history.schema` has them."""
    parts = [
        _table("Columns of every table", "", schema.EVERY),
        _table("Columns of the path", "", schema.PARTITIONED_BY),
        *(_table(f"`{one.name}`", one.what, one.columns) for one in schema.TABLES),
    ]
    return re.sub(
        r"(?<=<!-- tables -->\n).*?(?=<!-- end of tables -->)", lambda _: "\n".join(parts) + "\n", text, flags=re.DOTALL
    )


def _table(title: str, what: str, columns: tuple[schema.TableColumn, ...]) -> str:
    said = f"{what[:1].upper()}{what[1:]}.\n\n" if what else ""
    rows = "".join(f"| `{one.name}` | {one.kind} | {one.what} |\n" for one in columns)
    return f"\n### {title}\n\n{said}| column | type | what |\n| --- | --- | --- |\n{rows}"


def with_worked_example(text: str) -> str:
    """docs/spot.md with its sums and its table of assumptions."""
    derived = spot_inputs.derive(demo.read(), embedded_book(), "Deployment/prod/ml-worker")
    assumed = spot_inputs.assume(derived, {"job_minutes": 5.0})
    return worked_example.with_parts(text, assumed, savings(assumed))


def _section(path: list[str]) -> str:
    said = CliRunner().invoke(headroom, [*path, "--help-all"], prog_name="headroom", terminal_width=100)
    if said.exit_code:  # a command whose options are few has one help
        said = CliRunner().invoke(headroom, [*path, "--help"], prog_name="headroom", terminal_width=100)
    return f"## {' '.join(['headroom', *path])}\n\n```text\n{said.output.rstrip()}\n```\n"


def _played(block: str) -> str:
    played = []
    for line in block.splitlines():
        if line.startswith("$ headroom "):
            command, _, pipe = line.removeprefix("$ headroom ").partition(" | head -")
            printed = _printed(shlex.split(command)).splitlines()
            kept = printed[: int(pipe)] if pipe else printed
            played += [line, *(text.rstrip() for text in kept), *([_MORE] if len(kept) < len(printed) else [])]
    return "".join(f"{line}\n" for line in played)


def _printed(arguments: list[str]) -> str:
    out = io.StringIO()
    os.environ["COLUMNS"] = "120"
    with redirect_stdout(out), redirect_stderr(out), suppress(SystemExit), wrapped_to(120):
        main(arguments)
    return re.sub(r"\b\d+ days old", "… days old", out.getvalue())  # a document doesn't age a day at midnight


def with_version(text: str) -> str:
    """A file with the version of pyproject.toml wherever it names Headroom's."""
    return _OF_VERSION.sub(rf"\g<1>{VERSION}", text)


if __name__ == "__main__":
    for name in VERSIONED:
        (ROOT / name).write_text(with_version((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
    for path in (ROOT / schemas.FOLDER).glob("*.json"):
        path.unlink()
    for path, text in schemas.schemas().items():
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
    (ROOT / stub.STUB).write_text(stub.stub(), encoding="utf-8")
    (ROOT / COMMAND_LINE).write_text(command_line(), encoding="utf-8")
    (ROOT / GLOSSARY).write_text(glossary_page(), encoding="utf-8")
    (ROOT / QUANTITIES).write_text(quantities.as_markdown(), encoding="utf-8")
    (ROOT / KINDS).write_text(kinds_page(), encoding="utf-8")
    (ROOT / VERSIONS).write_text(versions_page(), encoding="utf-8")
    rollout = ROOT / ROLLOUT
    rollout.write_text(with_fields(rollout.read_text(encoding="utf-8")), encoding="utf-8")
    store = ROOT / STORE
    store.write_text(with_tables(store.read_text(encoding="utf-8")), encoding="utf-8")
    speed = ROOT / page.PAGE
    speed.write_text(page.with_table(speed.read_text(encoding="utf-8")), encoding="utf-8")
    spot = ROOT / "docs/spot.md"
    spot.write_text(worlds.with_table(with_worked_example(spot.read_text(encoding="utf-8"))), encoding="utf-8")
    gate = ROOT / "docs/gate.md"
    gate.write_text(asking.with_tables(gate.read_text(encoding="utf-8")), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(with_recordings(readme.read_text(encoding="utf-8")), encoding="utf-8")
    cluster = ROOT / CLUSTER
    cluster.write_text(with_reading(cluster.read_text(encoding="utf-8")), encoding="utf-8")
    names = ROOT / NAMES
    names.write_text(with_names(names.read_text(encoding="utf-8")), encoding="utf-8")
    (ROOT / CLUSTER_ROLE).write_text(cluster_role(cluster.read_text(encoding="utf-8")), encoding="utf-8")
    webhook = ROOT / WEBHOOK
    webhook.write_text(with_webhook_rules(webhook.read_text(encoding="utf-8")), encoding="utf-8")
    for name, template in chart.templates().items():
        (chart.TEMPLATES / name).write_text(template, encoding="utf-8")
    stories = ROOT / table.PAGE
    found = list(asked_all(TOOLS["headroom"]))
    stories.write_text(table.with_table(stories.read_text(encoding="utf-8"), found), encoding="utf-8")
    for document in documents_with_examples():
        before = (ROOT / document).read_text(encoding="utf-8")
        (ROOT / document).write_text(with_outputs(before), encoding="utf-8")
