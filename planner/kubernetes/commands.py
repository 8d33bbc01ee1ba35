"""Commands for somebody to copy into a shell. Each word is quoted: names come from files that anybody may have written.

kubectl is given ``kind/name``, so that a name can't pass for an option either.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from planner.kubernetes.kinds import ON_DELETE, ROLLOUT_STATUS, kind_in

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def command(*words: str) -> str:
    """One command of these words."""
    return shlex.join(words)


def kubectl(verb: str, key: str, *more: str, resource: str = "") -> str:
    """``kubectl scale deployment/api -n prod --replicas=2``; `key` is ``Deployment/prod/api``.

    `resource`: what kubectl calls a kind that isn't in `planner.kubernetes.kinds`, ``rayservice.ray.io``.
    """
    _, namespace, name = key.split("/", 2)
    return command("kubectl", *verb.split(), f"{resource or kind_in(key).singular}/{name}", "-n", namespace, *more)


def patch(key: str, change: object) -> str:
    """``kubectl patch deployment/api -n prod -p '{"spec": …}'``: a strategic merge patch."""
    return kubectl("patch", key, "-p", json.dumps(change))


def scale(key: str, replicas: int) -> str:
    """``kubectl scale deployment/api -n prod --replicas=2``."""
    return kubectl("scale", key, f"--replicas={replicas}")


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
    return kubectl("wait", key, f"--for={how}{pods}", _timeout(seconds))


def wait_for(resource: str, key: str, waits: Sequence[str], seconds: float) -> tuple[str, ...]:
    """``kubectl wait rayservice.ray.io/llm -n prod --for=… --timeout=20m``, one for each of `waits`."""
    return tuple(kubectl("wait", key, f"--for={one}", _timeout(seconds), resource=resource) for one in waits)


def _timeout(seconds: float) -> str:
    return f"--timeout={max(1, -int(-seconds // 60))}m"


def chain(wanted: Sequence[str], *, always: Sequence[str] = (), on_failure: Sequence[str] = ()) -> str:
    """Commands in one line, each run where the one before succeeded. Whatever becomes of them, those of `always` run; those
    of `on_failure` where one failed."""
    line = " && ".join(wanted)
    if always:
        return f"{line}; {' && '.join(always)}"
    return f"{line} || {{ {'; '.join(on_failure)}; false; }}" if on_failure else line


def comment(text: str) -> str:
    """``  # text`` for the end of a line; a name in it can't end the comment."""
    return f"  # {_CONTROL.sub(' ', text)}"


def positional(name: str, placeholder: str) -> str:
    """`name` as a word of its own, or `placeholder` where it would pass for an option."""
    return placeholder if not name or name.startswith("-") else name
