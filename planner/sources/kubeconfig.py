"""Credentials for an API server: a kubeconfig context (tokens, client certificates, exec plugins), or the pod's service
account. They aren't stored, shown or written.

Source: Kubernetes "Organizing Cluster Access Using kubeconfig Files" and "client-go credential plugins", v1.36; the reading
itself is the `kubernetes` client's.
"""

from __future__ import annotations

import logging
import os
import shlex
from typing import Any, Final

import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigMerger

from planner.ground.errors import SourceError
from planner.ground.well_known_names import DEFAULT_NAMESPACE
from planner.ground.words import choice, duration
from planner.sources import bounded_reading

IN_CLUSTER: Final = "in-cluster"  # the context of a pod that looks at its own cluster
PLUGIN_SECONDS: Final = 60.0  # that an exec plugin may take
# What the client raises for kubeconfig files that aren't there, aren't YAML, or don't have the expected shape.
_UNUSABLE = (ConfigException, OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError)


def _file() -> str | None:
    """KUBECONFIG as it is now: the client looks once, when it is imported."""
    return os.environ.get("KUBECONFIG") or None


def contexts() -> tuple[str, ...]:
    """The contexts of the kubeconfig files, the current one first; empty when there is none."""
    try:
        kube_contexts, current = config.list_kube_config_contexts(_file())  # type: ignore[no-untyped-call] # not annotated there
    except _UNUSABLE:
        return ()
    names = [str(context["name"]) for context in kube_contexts]
    first = str(current["name"]) if current else ""
    return tuple(sorted(names, key=lambda name: name != first))


def namespace_of(context: str = "") -> str:
    """The namespace that `context` (the current one if "") stands in, as kubectl has it."""
    try:
        kube_contexts, current = config.list_kube_config_contexts(_file())  # type: ignore[no-untyped-call] # not annotated there
    except _UNUSABLE:
        return DEFAULT_NAMESPACE
    named_context = (
        next((context_entry for context_entry in kube_contexts if context_entry["name"] == context), current)
        if context
        else current
    )
    return str(((named_context or {}).get("context") or {}).get("namespace") or DEFAULT_NAMESPACE)


def log_in(context: str) -> client.Configuration:
    """The address and credentials of `context` as they are now: files are read, an exec plugin is run.

    Raises
    ------
    SourceError
        When there is no such context, or it can't be used.
    """
    try:
        return bounded_reading.within(PLUGIN_SECONDS, lambda: _configuration(context))
    except bounded_reading.OutOfTimeError:
        what = f"the exec plugin gave no credentials within {duration(PLUGIN_SECONDS)}"
        fix = f"Check that kubectl works with --context {shlex.quote(context)} and asks nothing"
        raise SourceError(what, where=f"context:{context}", fix=fix) from None


def _configuration(context: str) -> client.Configuration:
    configuration = client.Configuration()
    log_handler = _Said()
    logging.getLogger().addHandler(log_handler)  # the client logs why a plugin failed, and goes on without credentials
    try:
        if context == IN_CLUSTER:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=_file(), context=context, client_configuration=configuration, persist_config=False
            )
    except _UNUSABLE as error:
        known = contexts()
        near = choice(context, known, "Check KUBECONFIG")
        fix = f"{near}. Contexts of the kubeconfig: {', '.join(known) or 'none'}. kubectl has to work with --context {shlex.quote(context)}"
        why = str(error).rstrip(". ")
        raise SourceError(
            f"the context can't be used: {why}", where=f"context:{context}", fix=fix.replace("?.", "?")
        ) from None
    finally:
        logging.getLogger().removeHandler(log_handler)
    if not configuration.api_key and not configuration.cert_file and (plugin := _plugin(context)):
        what = f"the exec plugin {plugin} gave no credentials" + (f": {log_handler.last}" if log_handler.last else "")
        fix = f"Check that kubectl works with --context {shlex.quote(context)}; the plugin has to be installed here"
        raise SourceError(what, where=f"context:{context}", fix=fix)
    return configuration


class _Said(logging.Handler):
    """The last thing that was logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = " ".join(record.getMessage().split())[:300]


def _plugin(context: str) -> str:
    """The command that a context's user gets its credentials from; "" where it has none."""
    if context == IN_CLUSTER:
        return ""
    try:
        from kubernetes.config import kube_config  # looked at now: tests put another file there

        merged: Any = KubeConfigMerger(_file() or kube_config.KUBE_CONFIG_DEFAULT_LOCATION).config  # type: ignore[no-untyped-call]
        name = merged["contexts"].get_with_name(context)["context"]["user"]
        return str(merged["users"].get_with_name(name)["user"]["exec"]["command"])
    except _UNUSABLE:
        return ""
