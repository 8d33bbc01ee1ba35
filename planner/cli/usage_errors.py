"""Hints for typical mistakes on the command line, beside click's errors: what to type instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

_CLUSTERS: Final = "Give demo, a FILE of kubectl get … -A -o json, or context:NAME of your kubeconfig"
_ALL_NAMESPACES: Final = ("-A", "--all-namespaces")
_HELP: Final = "help"


def hinted(error: click.ClickException) -> click.ClickException:
    """The error with what to type instead, where something is missing or has another name here."""
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Argument):
        is_of_cluster = error.param.human_readable_name.startswith("CLUSTER")  # not SQL, STORE or a shell's name
        return click.MissingParameter(_CLUSTERS, error.ctx, error.param) if is_of_cluster else error
    if isinstance(error, click.MissingParameter) and error.param is not None and error.ctx is not None:
        flag, value = min(error.param.opts, key=len), error.param.metavar or "VALUE"
        usage = " ".join(
            ("Write it like", error.ctx.command_path, *error.ctx.command.collect_usage_pieces(error.ctx)[1:])
        )
        return click.UsageError(f"{error.format_message()} {usage} {flag} {value}", error.ctx)
    if isinstance(error, click.NoSuchOption) and error.option_name in _ALL_NAMESPACES:
        params = error.ctx.command.params if error.ctx is not None else []
        lists = any(
            "-n" in param.opts and getattr(param, "multiple", False) for param in params
        )  # else it is of manifests
        fix = f"All namespaces are read{'; -n NAME lists one' * lists}"
        return click.UsageError(f"{error.format_message()} {fix}", error.ctx)
    return error


def _has(ctx: click.Context, flag: str) -> bool:
    return any(flag in param.opts for param in ctx.command.params)


def is_cluster(word: str) -> bool:
    """Whether a word names a cluster: the demo, a context, a place in a store, ``-``, or files that are there."""
    from planner.history import snapshot_names  # imported here: only an error needs what reads a cluster
    from planner.sources import bounded_reading
    from planner.sources.cluster_argument import CONTEXT_PREFIX, EMBEDDED

    if word in (*EMBEDDED, bounded_reading.STDIN) or word.startswith(CONTEXT_PREFIX) or snapshot_names.is_place(word):
        return True
    return bounded_reading.exists(word) or all(map(bounded_reading.exists, word.split(",")))


def command_hint(word: str) -> str:
    """What to type instead of a command that there isn't, where it is no typing mistake; else ""."""
    if word == _HELP:
        return "Write headroom --help"
    return f"The command comes first: headroom overview {word}" if is_cluster(word) else ""


def extra_arguments(ctx: click.Context, extra: Sequence[str]) -> click.UsageError:
    """Of arguments after CLUSTER: a workload goes to -w, and CLUSTER stands before it."""
    what = f"Got unexpected extra argument{'s' * (len(extra) > 1)} ({' '.join(extra)})"
    first, *others = (param for param in ctx.command.params if isinstance(param, click.Argument))
    cluster, takes_workload = str(ctx.params.get(first.name or "", "")), _has(ctx, "-w")
    if takes_workload and is_cluster(extra[-1]) and not is_cluster(cluster):
        fix = f"CLUSTER comes first, and -w names the workload: {ctx.command_path} {extra[-1]} -w {cluster}"
    elif takes_workload and extra[0][:1].isalnum() and not is_cluster(extra[0]):
        fix = f"Name a workload by -w: {ctx.command_path} {cluster} -w {extra[0]}"
    elif any(ctx.params.get(param.name or "") for param in ctx.command.params if "-f" in param.opts):
        fix = "Repeat -f before each manifest, or name their folder; join files of one CLUSTER by commas"  # the shell wrote out *.yaml
    elif first.human_readable_name != "CLUSTER":
        fix = f"One {first.human_readable_name} is taken: put quotes around a value with spaces"
    else:
        number = "Two clusters are compared" if others else "One CLUSTER is taken"
        fix = f"{number}: join several files by commas, as a.json,b.json, and put quotes around a value with spaces"
    return click.UsageError(f"{what}. {fix}", ctx)


def namespace_twice(ctx: click.Context, words: Sequence[str]) -> click.UsageError | None:
    """Of a command that takes one namespace, the error where several are given: the last would count without a word."""
    flags = next(
        (p.opts for p in ctx.command.params if "--namespace" in p.opts and not getattr(p, "multiple", True)), ()
    )
    if sum(word in flags or (word.startswith("-n") and "-n" in flags) for word in words) < 2:  # -nprod, too
        return None
    return click.UsageError(
        "--namespace is given twice, and one is taken. Give it once, or write each workload as NAMESPACE/NAME", ctx
    )
