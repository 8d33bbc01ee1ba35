"""Commands for somebody to copy into a shell. Each word is quoted: names come from files that anybody may have written.

kubectl is given ``kind/name``, so that a name can't pass for an option either.
"""

from __future__ import annotations

import json
import re
import shlex

from planner.kubernetes.kinds import kind_in

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def command(*words: str) -> str:
    """One command of these words."""
    return shlex.join(words)


def kubectl(verb: str, key: str, *more: str) -> str:
    """``kubectl scale deployment/api -n prod --replicas=2``; `key` is ``Deployment/prod/api``."""
    _, namespace, name = key.split("/", 2)
    return command("kubectl", *verb.split(), f"{kind_in(key).singular}/{name}", "-n", namespace, *more)


def patch(key: str, change: object) -> str:
    """``kubectl patch deployment/api -n prod -p '{"spec": …}'``: a strategic merge patch."""
    return kubectl("patch", key, "-p", json.dumps(change))


def scale(key: str, replicas: int) -> str:
    """``kubectl scale deployment/api -n prod --replicas=2``."""
    return kubectl("scale", key, f"--replicas={replicas}")


def wait(key: str, seconds: float) -> str:
    """``kubectl rollout status deployment/api -n prod --timeout=20m``: at least `seconds`, in whole minutes."""
    return kubectl("rollout status", key, f"--timeout={max(1, -int(-seconds // 60))}m")


def comment(text: str) -> str:
    """``  # text`` for the end of a line; a name in it can't end the comment."""
    return f"  # {_CONTROL.sub(' ', text)}"


def positional(name: str, placeholder: str) -> str:
    """`name` as a word of its own, or `placeholder` where it would pass for an option."""
    return placeholder if not name or name.startswith("-") else name
