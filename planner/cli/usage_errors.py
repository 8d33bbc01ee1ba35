"""What a newcomer types wrongly, and what to type instead: hints beside click's errors about commands, arguments and options."""

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
        return click.MissingParameter(_CLUSTERS, error.ctx, error.param)
    if isinstance(error, click.MissingParameter) and error.param is not None and error.ctx is not None:
        flag, value = min(error.param.opts, key=len), error.param.metavar or "VALUE"
        usage = " ".join(
            ("Write it like", error.ctx.command_path, *error.ctx.command.collect_usage_pieces(error.ctx)[1:])
        )
        return click.UsageError(f"{error.format_message()} {usage} {flag} {value}", error.ctx)
    if isinstance(error, click.NoSuchOption) and error.option_name in _ALL_NAMESPACES:
        return click.UsageError(f"{error.format_message()} All namespaces are read; -n NAME lists one", error.ctx)
    return error


def is_cluster(word: str) -> bool:
    """Whether a word names a cluster: the demo, a context, or a file that is there."""
    from planner.sources import bounded  # imported here: only an error needs what reads a cluster
    from planner.sources.cluster import CONTEXT_PREFIX, EMBEDDED

    return word in EMBEDDED or word.startswith(CONTEXT_PREFIX) or bounded.exists(word)


def command_hint(word: str) -> str:
    """What to type instead of a command that there isn't, where it is no typing mistake; else ""."""
    if word == _HELP:
        return "Write headroom --help"
    return f"The command comes first: headroom overview {word}" if is_cluster(word) else ""


def extra_arguments(ctx: click.Context, extra: Sequence[str]) -> click.UsageError:
    """Of arguments after CLUSTER: a workload goes to -w, and CLUSTER stands before it."""
    what = f"Got unexpected extra argument{'s' * (len(extra) > 1)} ({' '.join(extra)})"
    cluster, takes_workload = ctx.params.get("cluster"), any("-w" in param.opts for param in ctx.command.params)
    if takes_workload and is_cluster(extra[-1]) and not is_cluster(str(cluster)):
        fix = f"CLUSTER comes first, and -w names the workload: {ctx.command_path} {extra[-1]} -w {cluster}"
    elif takes_workload and extra[0][:1].isalnum() and not is_cluster(extra[0]):
        fix = f"Name a workload by -w: {ctx.command_path} {cluster} -w {extra[0]}"
    else:
        fix = "One CLUSTER is taken: join several files by commas, as a.json,b.json, and put quotes around a value with spaces"
    return click.UsageError(f"{what}. {fix}", ctx)


def namespace_twice(ctx: click.Context, words: Sequence[str]) -> click.UsageError | None:
    """Of a command that takes one namespace, the error where several are given: the last would count without a word."""
    flags = next(
        (p.opts for p in ctx.command.params if "--namespace" in p.opts and not getattr(p, "multiple", True)), ()
    )
    if sum(word in flags for word in words) < 2:
        return None
    return click.UsageError(
        "--namespace is given twice, and one is taken. Give it once, or write each workload as NAMESPACE/NAME", ctx
    )
