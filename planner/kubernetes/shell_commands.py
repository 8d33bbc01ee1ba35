"""Builds shell commands for a user to copy. Each word is quoted: names come from untrusted files.

kubectl is given ``kind/name``, so that a name can't pass for an option either.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from planner.kubernetes.workload_kinds import ON_DELETE, ROLLOUT_STATUS, Scale, kind_in

_NOTE = "  # "
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def command(*words: str) -> str:
    """One command of these words."""
    return shlex.join(words)


def kubectl(verb: str, key: str, *more: str, resource: str = "") -> str:
    """``kubectl scale deployment/api -n prod --replicas=2``; `key` is ``Deployment/prod/api``.

    `resource`: what kubectl calls a kind that isn't in `planner.kubernetes.workload_kinds`, ``rayservice.ray.io``.
    """
    _, namespace, name = key.split("/", 2)
    return command("kubectl", *verb.split(), f"{resource or kind_in(key).named}/{name}", "-n", namespace, *more)


def patch(key: str, change: object) -> str:
    """``kubectl patch deployment/api -n prod -p '{"spec": …}'``: a strategic merge patch; custom resources take a merge patch."""
    return kubectl("patch", key, *(["--type=merge"] if kind_in(key).is_custom else []), "-p", json.dumps(change))


def scale(key: str, replicas: int) -> str:
    """``kubectl scale deployment/api -n prod --replicas=2``."""
    return kubectl("scale", key, f"--replicas={replicas}")


def undo(key: str, *more: str) -> str:
    """What brings the revision before back: ``kubectl rollout undo deployment/api -n prod``, a plugin's command, or a comment where
    nothing does."""
    kind, (_, namespace, name) = kind_in(key), key.split("/", 2)
    if not kind.undoes:
        return no_undo(key)
    if kind.is_custom:
        return command(*kind.undoes.split(), name, "-n", namespace, *more)
    return kubectl(kind.undoes.removeprefix("kubectl "), key, *more)


def no_undo(key: str) -> str:
    """A comment where no command brings today's template back."""
    return comment(f"apply the manifest that {key} had before").strip()


def promote(key: str) -> str:
    """``kubectl argo rollouts promote api -n prod``, and beside it the plain patch of the status that the plugin sends.

    Source: argo-rollouts 1.9 `pkg/kubectl-argo-rollouts/cmd/promote/promote.go` ``clearPauseConditionsPatch``.
    """
    return f"{with_plugin('promote', key)}{comment(f'without the plugin: {promote_plainly(key)}')}"


def promote_plainly(key: str) -> str:
    """The patch of the status alone."""
    return kubectl("patch", key, "--subresource=status", "--type=merge", "-p", '{"status": {"pauseConditions": null}}')


def with_plugin(verb: str, key: str) -> str:
    """``kubectl argo rollouts promote api -n prod``."""
    _, namespace, name = key.split("/", 2)
    return command("kubectl", "argo", "rollouts", verb, name, "-n", namespace)


def wait_paused(key: str, seconds: float, step: int | None) -> tuple[str, ...]:
    """Waits until an Argo Rollout stands at the pause that is its canary's `step`, or (None) until it waits at all."""
    step_flags = (f"--for=jsonpath={{.status.currentStepIndex}}={step}",) if step is not None else ()
    return tuple(
        kubectl("wait", key, condition_flag, _timeout(seconds))
        for condition_flag in (*step_flags, "--for=jsonpath={.status.phase}=Paused")
    )


def resume(key: str) -> str:
    """What lets a paused workload roll out again."""
    return patch(key, {"spec": {"paused": False}}) if kind_in(key).is_custom else kubectl("rollout resume", key)


def wait(key: str, seconds: float, *, pods: int, strategy: str) -> str:
    """``kubectl rollout status deployment/api -n prod --timeout=20m``: at least `seconds`, in whole minutes.

    A kind that it doesn't know, or a `strategy` that it refuses (OnDelete: kubectl `pkg/polymorphichelpers/rollout_status.go`),
    is waited for until `pods` of it are Ready.
    """
    kind = kind_in(key)
    how = kind.waits
    if how == ROLLOUT_STATUS and strategy != ON_DELETE:
        return kubectl(ROLLOUT_STATUS, key, _timeout(seconds))
    if how == ROLLOUT_STATUS:
        how = f"jsonpath={{.status.{kind.status.ready if pods else kind.status.wanted}}}="
    return kubectl("wait", key, f"--for={how}{pods if how.endswith('=') else ''}", _timeout(seconds))


def wait_for(resource: str, key: str, waits: Sequence[str], seconds: float) -> tuple[str, ...]:
    """``kubectl wait rayservice.ray.io/llm -n prod --for=… --timeout=20m``, one for each of `waits`."""
    return tuple(
        kubectl("wait", key, f"--for={condition}", _timeout(seconds), resource=resource) for condition in waits
    )


def cordon(*nodes: str) -> str:
    """``kubectl cordon node/n0``."""
    return command("kubectl", "cordon", *(f"node/{name}" for name in nodes))


def uncordon(*nodes: str) -> str:
    """The nodes take new pods again."""
    return command("kubectl", "uncordon", *(f"node/{name}" for name in nodes))


def evict(namespace: str, name: str, node: str, grace_seconds: float = 30) -> str:
    """Evict a pod from a node, asking again while a budget refuses (429, for half an hour), until it is gone: one shell command of
    several. Any other refusal ends it, as it ends ``kubectl drain`` (`staging/src/k8s.io/kubectl/pkg/drain/drain.go`).

    One that is gone already, or came back under its name on another node (a StatefulSet's), isn't asked for; and that
    pod isn't waited for, as ``kubectl wait --for=delete`` would by its name. Once it is gone its controller has had two seconds at
    least to count its pods anew, so that who waits for that number doesn't read the one before.
    """
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
    ask = f"{command('printf', '%s', json.dumps(body))} | {command('kubectl', 'create', '--raw', path, '-f', '-')}"
    what = "jsonpath={.metadata.uid}@{.spec.nodeName}"
    get = command("kubectl", "get", f"pod/{name}", "-n", namespace, "--ignore-not-found", "-o", what)
    late = command("echo", f"not gone in time: {namespace}/{name}")
    capture_error = f"said=$({ask} 2>&1 >/dev/null)"
    refused = 'case "$said" in *TooManyRequests*) ;; *) printf "%s\\n" "$said" >&2; exit 1;; esac'
    request_loop = f'until {capture_error}; do now=$(get) || exit 1; [ "$now" = "$was" ] || exit 0; {refused}; {_no_more_than(180, late)}; sleep 10; done'
    tries = _no_more_than(300 + int(grace_seconds) // 2, late)
    wait_until_gone = f'n=0; while sleep 2; now=$(get) || exit 1; [ "$now" = "$was" ]; do {tries}; done'
    is_there = f'case "$was" in *@{shlex.quote(node)}) {request_loop}; {wait_until_gone};; esac'
    return f"(get() {{ {get}; }}; n=0; was=$(get) || exit 1; {is_there})"


def wait_ready(key: str, seconds: float, pods: int) -> str:
    """Wait until at least `pods` of a workload are Ready, as ``kubectl wait`` can't: another rollout, an autoscaler or a start from
    the beginning may have brought more of them. A Job's that have succeeded by then count too."""
    status = kind_in(key).status
    more = " {.status.succeeded}" if kind_in(key).scale is Scale.PARALLELISM else ""
    ask = kubectl("get", key, "-o", f"jsonpath={{.status.{status.ready}}}{more}")
    late = command("echo", f"not {pods} Ready in time: {key}")
    readiness_test = "set -- $got; [ $((${1:-0}+${2:-0}))"
    return f"(n=0; while got=$({ask}) || exit 1; {readiness_test} -lt {pods} ]; do {_no_more_than(int(seconds // 5), late)}; sleep 5; done)"


def untouched(nodes: Sequence[str], pods: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What fails where one of the nodes is cordoned, since another user did that, and where none of the pods (namespace, name)
    waits for a node any more."""
    checks = []
    if nodes:
        ask = "kubectl get nodes --field-selector=spec.unschedulable=true -o name"
        which = command("grep", "-xF", *(word for node in nodes for word in ("-e", f"node/{node}")))
        checks.append(
            f"(shut=$({ask}) || exit 1; if printf '%s\\n' \"$shut\" | {which} >&2; then echo 'cordoned by another user' >&2; exit 1; fi)"
        )
    by_namespace: dict[str, list[str]] = {}
    for namespace, name in pods:
        by_namespace.setdefault(namespace, []).append(f"pod/{name}")
    if pods:
        on = ("--no-headers", "-o", "custom-columns=NODE:.spec.nodeName")
        asks = " && ".join(command("kubectl", "get", *names, "-n", space, *on) for space, names in by_namespace.items())
        checks.append(
            f"(on=$({asks}) || exit 1; case \"$on\" in *'<none>'*) ;; *) echo 'none of them waits any more' >&2; exit 1;; esac)"
        )
    return tuple(checks)


def _no_more_than(number: int, late: str = ":") -> str:
    return f'n=$((n+1)); [ "$n" -le {number} ] || {{ {late} >&2; exit 1; }}'


def at_once(shell_commands: Sequence[str]) -> str:
    """Commands that go on beside each other until all are through; where one fails, or Ctrl-C comes, the others are stopped."""
    if len(shell_commands) < 2:
        return "".join(shell_commands)
    begun = " ".join(f'{shell_command} & pids="$pids $!";' for shell_command in shell_commands)
    stop = "kill $pids 2>/dev/null || :"
    return (
        f"(pids=; {begun} trap '{stop}; exit 130' HUP INT TERM; "  # after: one that still has the trap of its parent loses a kill
        f'for pid in $pids; do wait "$pid" || {{ {stop}; exit 1; }}; done)'
    )


def wait_scheduled(namespace: str, name: str) -> str:
    """``kubectl wait pod/api-1 -n prod --for=condition=PodScheduled --timeout=5m``."""
    return command("kubectl", "wait", f"pod/{name}", "-n", namespace, "--for=condition=PodScheduled", "--timeout=5m")


def _timeout(seconds: float) -> str:
    return f"--timeout={max(1, -int(-seconds // 60))}m"


def chain(shell_commands: Sequence[str], *, always: Sequence[str] = (), on_failure: Sequence[str] = ()) -> str:
    """Commands in one line, each run where the one before succeeded. Whatever becomes of them, each of `always` is run; those
    of `on_failure` where one failed. The line fails where one of them or of `always` did."""
    if len(shell_commands) + len(always) + len(on_failure) < 2:
        return "".join((*shell_commands, *always, *on_failure))
    line = " && ".join(map(_before_others, shell_commands))
    if always:
        # A loan that can't be given back keeps no other one, and a job that runs the line hears that the rollout failed before it.
        back = "; ".join(f"{_before_others(text)} || rc=$?" for text in always)
        return f"{line}; rc=$?; {back}; (exit $rc)"
    return f"{line} || {{ {'; '.join(map(_before_others, on_failure))}; false; }}" if on_failure else line


def _before_others(text: str) -> str:
    """A command with which a line can go on: a comment would swallow the rest of it. What is done by hand is waited for, as in a script; a
    note at the end is said first, to a command that does nothing."""
    if text.startswith("#"):
        wish = command("printf", "%s\\n", f"By hand: {text.lstrip('# ')}. Enter goes on.")
        return f"{{ {wish}; read -r _; }}"
    own, note = _noted(text)
    return f"{command(':', note)} && {own}" if note else text


def _noted(text: str) -> tuple[str, str]:
    """A command and the note of its `comment`, "" without one; what looks like one within quotes is none."""
    at = text.find(_NOTE)
    while at >= 0:
        try:
            shlex.split(text[:at])
        except ValueError:  # a quotation is open
            at = text.find(_NOTE, at + 1)
        else:
            return text[:at], text[at + len(_NOTE) :]
    return text, ""


def comment(text: str) -> str:
    """``  # text`` for the end of a line; a name in it can't end the comment."""
    return f"{_NOTE}{_CONTROL.sub(' ', text)}"


def remark(text: str) -> str:
    """``# text`` in the place of a command: what no command does, or what is left to do by hand."""
    return comment(text).strip()


def positional(name: str, placeholder: str) -> str:
    """`name` as a word of its own, or `placeholder` where it would pass for an option."""
    return placeholder if not name or name.startswith("-") else name
