"""Known admission webhooks of clouds and common projects: ``known_admission_webhooks.json``, one row each with its source.

A webhook is known by its configuration's name and its own: one of these names alone is anybody's.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.kubernetes.object_records import AdmissionHook, Template

MUTATING: Final = frozenset({"MutatingWebhookConfiguration", "MutatingAdmissionPolicy"})
KINDS: Final = (*sorted(MUTATING), "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy")


class HookChanges(StrEnum):
    """What a known webhook changes of how pods are made, placed and get Ready."""

    NOTHING = "nothing"
    TIME = "time"
    PLAYED = "played"  # what the engine plays, or what never changes or refuses anything


class KnownHook(msgspec.Struct, frozen=True):
    """A row. It holds of pods without the annotation or the node selector that it names: those change otherwise."""

    configuration: str
    webhooks: tuple[str, ...]
    changes: HookChanges
    does: str
    source: str
    unless_annotation: str = ""
    unless_node_selector: tuple[str, str] | None = None

    def holds_of(self, template: Template) -> bool:
        """Whether pods of the template are among those of which the row speaks."""
        selector = self.unless_node_selector
        is_selected = selector is not None and template.spec.node_selector.get(selector[0]) == selector[1]
        return not is_selected and self.unless_annotation not in template.annotations


_ROWS: Final = typed_json.decode(table_beside(__name__, "known_admission_webhooks.json"), tuple[KnownHook, ...])


def known_hook(hook: AdmissionHook, templates: tuple[Template, ...]) -> KnownHook | None:
    """The row of a webhook that holds of pods of all these templates; None of one that may change or refuse them."""
    configuration, _, name = hook.name.partition("/")
    for row in _ROWS:
        is_named = row.configuration == configuration and any(fnmatchcase(name, pattern) for pattern in row.webhooks)
        if is_named and all(map(row.holds_of, templates)):
            return row
    return None
