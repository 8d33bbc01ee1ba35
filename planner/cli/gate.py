"""``headroom gate``: may this change be merged? For pipelines, with an exit status and machine-readable formats."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from planner.cli import gate_formats, gate_without_cluster, options_from_settings, output, question_commands
from planner.cli.cluster_argument import one_reader_of_stdin, read_cluster
from planner.cli.input_options import manifests_of, policy_of, policy_option
from planner.ground import table_formats
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.gate import QUESTION, GateSettings, answer, answer_without_cluster
from planner.questions.question import FACTS, Inputs, Want, document
from planner.rollout.answers import Verdict
from planner.sources import manifest_files

FORMATS: Final = (*output.FORMATS, "junit", "sarif", "github")
_WANTS: Final = (Want.POOLS, Want.PRICES, Want.CLOCK, Want.STARTS)
_OF_A_CLUSTER: Final = ("--then", "--limits", "--node-pools", "--instance-types", "--gke", "--link")


class _Write(click.ParamType[Any]):
    """``junit=gate.xml``."""

    name = "format=file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        name, _, file = value.partition("=")
        if name not in FORMATS or not file:
            self.fail(f"write it as FORMAT=FILE, with a format of {', '.join(FORMATS)}.", param, ctx)
        return name, Path(file)


@click.command("gate", cls=options_from_settings.ShortHelp)
@click.argument("cluster", required=False)
@options_from_settings.option("", "--filename", "-f", "names", multiple=True, required=True, metavar="FILE",
              is_everyday=True, help='What would be applied: a file, a folder, or "-" for what kustomize or helm prints; repeatable.')  # fmt: skip
@options_from_settings.option(
    "", "--recursive", "-R", is_flag=True, is_everyday=True, help="Folders below a folder as well."
)
@options_from_settings.option("", "--chart", type=click.Path(exists=True, file_okay=False), metavar="DIR", is_everyday=True,
              help="Without CLUSTER: the folder of the chart that helm template rendered. Each cure is printed as its values too.")  # fmt: skip
@policy_option
@options_from_settings.asked(GateSettings)
@question_commands.taking(*_WANTS)
@click.option("--link", default="", metavar="URL", help="The dashboard's address, for links in the comment.")
@options_from_settings.option("Output", "--output", "-o", "output_format", type=click.Choice(FORMATS), default="text", show_default=True,
              is_everyday=True, help="Words; a versioned document (JSON, YAML); rows (CSV); a comment (Markdown); reports of pipelines.")  # fmt: skip
@click.option("--rows", type=click.Choice([*QUESTION.tables, FACTS]), default="workloads", show_default=True,
              help="What each row of CSV is.")  # fmt: skip
@options_from_settings.option("Output", "--write", "writes", type=_Write(), multiple=True, metavar="FORMAT=FILE",
              is_everyday=True, help="The answer in another format to a file as well, such as junit=gate.xml; repeatable.")  # fmt: skip
def command(
    cluster: str | None,
    names: tuple[str, ...],
    recursive: bool,
    chart: str | None,
    policy_file: str | None,
    link: str,
    output_format: str,
    rows: str,
    writes: tuple[tuple[str, Path], ...],
    **asked: Any,
) -> int:
    """May this change be merged?

    Without CLUSTER: which room each rollout needs, wherever it runs.

    Every workload that the manifests change is rolled out alone and together with the others. Exits as headroom rollout
    does: 0 (completes), 2 (stuck), 3 (once there is room), 4 (not known), 6 (Kueue evicts others); 5 where only the policy refuses. A
    verdict or a workload that the policy lets pass counts as 0; so does growth within the known maximum of an
    autoscaled node pool, unless the policy says otherwise.
    """
    is_alone = cluster is None
    one_reader_of_stdin(*([] if cluster is None else [cluster]), *names)
    if is_alone:
        options_from_settings.need("CLUSTER", _OF_A_CLUSTER)
    elif chart is not None:
        raise InputError(
            "--chart prints cures as values, and works without CLUSTER only", where="--chart", fix="Leave CLUSTER out"
        )
    policy = policy_of(policy_file)
    given_manifests = manifest_files.read(names, recursive=recursive)
    clusters = [] if cluster is None else [_read(cluster)]
    later = manifests_of(asked["then"])
    settings = options_from_settings.read(
        GateSettings, asked, manifest=given_manifests.text, unread=given_manifests.unread, **later
    )
    settings = replace(settings, policy=policy, without_cluster=is_alone)
    called = question_commands.Called((str(cluster),), clusters, settings, asked)
    if clusters:
        gate_answer = answer(clusters[0], settings, question_commands.given_of(called, *_WANTS))
    else:
        gate_answer = answer_without_cluster(settings, Inputs(now=time.time()))
        if chart is not None:
            gate_answer = gate_without_cluster.with_values(
                gate_answer, manifest_files.read_chart(chart), given_manifests.places
            )
    places, source = given_manifests.places, clusters[0].source if clusters else ", ".join(names)

    def content() -> Any:
        return document(QUESTION, clusters, settings, gate_answer)

    writers: dict[str, Callable[[], str]] = {
        "text": lambda: gate_formats.text(gate_answer, source),
        "json": lambda: table_formats.as_json(content()),
        "yaml": lambda: output.as_yaml(content()),
        "csv": lambda: table_formats.as_csv(QUESTION.rows(gate_answer, rows)),
        "markdown": lambda: gate_formats.markdown(gate_answer, source, link),
        "junit": lambda: gate_formats.junit(gate_answer, places),
        "sarif": lambda: gate_formats.sarif(gate_answer, places),
        "github": lambda: gate_formats.github(gate_answer, places),
    }
    for name, file in writes:
        output.write_file(file, writers[name]())
    click.echo(writers[output_format](), nl=False)
    if output_format == "text" and gate_answer.together is Verdict.UNKNOWN:
        output.told(kind.name for kind in (NODE, POD, *ROLLING) if any(here.lacks(kind.name) for here in clusters))
    return question_commands.with_left_out(QUESTION.exit_status(clusters, gate_answer), called)


def _read(cluster: str) -> Snapshot:
    """CLUSTER, but for one that is a manifest: then it was meant for ``-f``.

    Raises
    ------
    InputError
        For a file without nodes and pods that no API server has written.
    """
    if manifest_files.is_manifest(cluster):
        what = "is read as CLUSTER, and holds manifests: no node, no pod, nothing that an API server has written"
        raise InputError(what, where=cluster, fix=f"Give each file its own -f: -f {cluster}")
    return read_cluster(cluster)
