"""``kubectl headroom``: the same commands with kubectl's own options. CLUSTER may be omitted.

``--context``, ``--kubeconfig`` and ``-n`` may stand anywhere, as with kubectl. A workload that is named without its namespace
is of ``-n``, else of the context's; so is an object in a manifest that names none. A list is of ``-n``, else of all
namespaces.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import click

from planner.ground.errors import InputError
from planner.sources.cluster_argument import CONTEXT_PREFIX

_KUBECTL = {"--context": "context", "--kubeconfig": "kubeconfig", "-n": "namespace", "--namespace": "namespace"}
_WORKLOAD_OPTIONS = ("-w", "--workload", "--also")
_MANIFEST_OPTIONS = ("-f", "--filename")
_SHORT = re.compile(r"[A-Za-z]+/[^/]+\Z")


def arguments(command_line: Sequence[str], commands: click.Group) -> list[str]:
    """headroom's arguments for those of ``kubectl headroom``; sets KUBECONFIG where it is given.

    Raises
    ------
    InputError
        For an option of kubectl without its value, and where no context is current.
    """
    flags, words = _taken(list(command_line))
    if "kubeconfig" in flags:
        os.environ["KUBECONFIG"] = flags["kubeconfig"]
    name = next((word for word in words if not word.startswith("-")), "")
    context = click.Context(commands, resilient_parsing=True)
    if not name or commands.get_command(context, name) is None:
        return words
    place = words.index(name) + 1
    _, command, command_words = commands.resolve_command(context, words[place - 1 :])
    assert command is not None
    if any(_has(words, option) for option in _WORKLOAD_OPTIONS):
        words = _in_namespace(words, flags.get("namespace") or _namespace_of(flags.get("context", "")))
    if any("--namespace" in param.opts for param in command.params):
        # a manifest without a namespace goes to the context's, as with kubectl apply; elsewhere --namespace is a filter, and a default
        # of the context must not leave out what was asked about
        reads_manifests = any(_has(words, option) for option in _MANIFEST_OPTIONS)
        namespace = flags.get("namespace") or (_namespace_of(flags.get("context", "")) if reads_manifests else "")
        words[place:place] = ["--namespace", namespace] if namespace else []
    if _lacks_cluster(command, command_words):
        words.insert(place, f"{CONTEXT_PREFIX}{flags.get('context') or _current()}")
    return words


def _has(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _taken(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """kubectl's options, and everything else."""
    flags: dict[str, str] = {}
    remaining_words: list[str] = []
    while words:
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if word == "--":
            return flags, [*remaining_words, word, *words]
        if name not in _KUBECTL:
            remaining_words.append(word)
        elif sign:
            flags[_KUBECTL[name]] = value
        elif words:
            flags[_KUBECTL[name]] = words.pop(0)
        else:
            raise InputError("has no value", where=name, fix=f"Write {name} NAME")
    return flags, remaining_words


def _in_namespace(words: list[str], namespace: str) -> list[str]:
    """``-w deployment/api`` as ``-w deployment/NAMESPACE/api``."""
    qualified_words = []
    for place, word in enumerate(words):
        option, sign, value = word.partition("=")
        if place and words[place - 1] in _WORKLOAD_OPTIONS and _SHORT.match(word):
            qualified_words.append(word.replace("/", f"/{namespace}/"))
        elif sign and option in _WORKLOAD_OPTIONS and _SHORT.match(value):
            qualified_words.append(f"{option}={value.replace('/', f'/{namespace}/')}")
        else:
            qualified_words.append(word)
    return qualified_words


def _lacks_cluster(command: click.Command, words: list[str]) -> bool:
    """Whether the command takes a CLUSTER that isn't among `words`."""
    first = next((param for param in command.params if isinstance(param, click.Argument)), None)
    if first is None or first.name not in ("cluster", "clusters") or {"--help", "-h"} & set(words):
        return False
    with command.make_context("", list(words), resilient_parsing=True) as context:
        return not context.params.get(first.name) or (
            not first.required and context.params[first.name] == first.default
        )


def _current() -> str:
    from planner.sources import kubeconfig

    contexts = kubeconfig.contexts()
    if not contexts:
        fix = "Name one with --context, or a CLUSTER; check KUBECONFIG"
        raise InputError("there is no context", where="the kubeconfig", fix=fix)
    return contexts[0]


def _namespace_of(context: str) -> str:
    from planner.sources import kubeconfig

    return kubeconfig.namespace_of(context)
