"""Kinds that make no pods, so that applying them rolls nothing out. A kind neither here nor in `workload_kinds` and
`pod_template_kinds` is unknown.

In ``kinds_without_pods.txt`` a group (``-``: the core's; ``*.`` before it: all that end so) stands with ``*`` where none of its kinds makes pods, else
with those that don't: operators put both into one group (``monitoring.coreos.com`` has ServiceMonitor and Prometheus). A sign behind a kind
says what applying one does instead, as `PodEffect` has it. A line is enough for a new one; `tests/kubernetes/test_podless.py` holds the list
against the schemas of CustomResourceDefinitions.

Sources: the API references of Kubernetes 1.36 and of the projects, each group's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from planner.ground.data_files import table_beside
from planner.kubernetes.pod_template_kinds import hidden_templates


class PodEffect(StrEnum):
    """What an object that makes no pods itself does to those of others; the sign behind its kind."""

    NONE = ""
    NONE_WITHOUT_TEMPLATE = "?"  # with a pod template in it, it defines what others run
    LATER = ">"  # who runs it from then on reads it: what runs stays as it is
    SCALES = "="  # an autoscaler that isn't played: it sets the replicas of another object
    DEFINES = "~"  # objects that are there follow it, and their pods may be replaced
    LETS_BEGIN = "^"  # pods that are there wait for it


_SIGNS: Final = frozenset(effect.value for effect in PodEffect if effect)


def _rows() -> dict[str, dict[str, PodEffect]]:
    effects: dict[str, dict[str, PodEffect]] = {}
    for line in table_beside(__name__, "kinds_without_pods.txt").decode().splitlines():
        group, *kinds = line.split()
        row = effects.setdefault("" if group == "-" else group, {})
        for kind in kinds:
            sign = kind[-1] if kind[-1] in _SIGNS else ""
            row[kind.removesuffix(sign)] = PodEffect(sign)
    return effects


_KINDS: Final = _rows()
_ENDS: Final = tuple(group[1:] for group in _KINDS if group.startswith("*."))


def effect_of(document: Mapping[str, Any]) -> PodEffect | None:
    """What applying an object does to pods; None where its kind isn't known to make none."""
    kind, group = str(document.get("kind")), str(document.get("apiVersion") or "").rpartition("/")[0]
    effect_by_kind = _KINDS.get(group) or next((_KINDS[f"*{ending}"] for ending in _ENDS if group.endswith(ending)), {})
    effect = effect_by_kind.get(kind, effect_by_kind.get("*"))
    if effect is PodEffect.NONE_WITHOUT_TEMPLATE:
        return PodEffect.DEFINES if hidden_templates(document) else PodEffect.NONE
    return effect


def makes_no_pods(document: Mapping[str, Any]) -> bool:
    """Whether nothing of an object becomes pods, and no pod that is there changes for it."""
    return effect_of(document) in (PodEffect.NONE, PodEffect.LATER, PodEffect.SCALES)
