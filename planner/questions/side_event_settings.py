"""Settings for cluster events during a rollout, shared by all questions; columns of events and doubts."""

from __future__ import annotations

from typing import Final

import msgspec

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import FORMS, Later, parse_later
from planner.ground import typed_json
from planner.ground.answer_layout import Column
from planner.ground.errors import ChangeError, InputError
from planner.ground.records import dataclass
from planner.ground.setting_declarations import setting
from planner.inventory.pool_limits import PoolLimits
from planner.rollout.answers import EventBeside
from planner.rollout.doubts import Doubt

_FORMS: Final = "; ".join(f"{form} ({does})" for form, does in FORMS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanwhileSettings:
    then: tuple[Later, ...] = setting(
        (),
        label="What if, meanwhile, …",
        form="TIME:CHANGE",
        parse=parse_later,
        is_everyday=True,
        help=f"What else happens while it goes on, after 90s, 2m or 1h30m: 2m:add:POOL=1. {_FORMS}.",
    )
    applied: str = setting(
        "", name="then_manifests", on_command=False, is_private=True,
        help="The manifests that are applied meanwhile: a JSON list, in the order of those events.",
    )  # fmt: skip

    def check_none(self) -> None:
        """For what compares strategies: it is played without events.

        Raises
        ------
        ChangeError
            Where there are some.
        """
        if self.then:
            what = "strategies aren't compared with events beside the rollout"
            raise ChangeError(what, where=str(self.then[0])[:120], fix="Ask for one or the other")

    def beside(self, limits: tuple[PoolLimits, ...], *, first: tuple[str, ...] = ()) -> LaterEvents:
        """What happens, with the pools' limits as far as they are known; `first`: `Beside.first`.

        Raises
        ------
        InputError
            When the manifests aren't a JSON list of texts: programs give them, so that anything may stand there.
        """
        try:
            texts = typed_json.decode(self.applied, tuple[str, ...]) if self.applied else ()
        except (msgspec.MsgspecError, ValueError, RecursionError):
            fix = "Give each manifest as a text of the list, in the order of the events"
            raise InputError("it isn't a JSON list of texts", where="then_manifests", fix=fix) from None
        return LaterEvents(later=self.then, manifests=texts, limits=limits, first=first)


EVENTS: Final[tuple[Column[EventBeside], ...]] = tuple(
    Column(name)
    for name in (
        "event", "after_seconds", "happened", "bearing", "until_seconds", "from_seconds", "completes_without", "sentence",
    )
)  # fmt: skip
"""Of one event beside a rollout, and how late it may come."""

DOUBTS: Final[tuple[Column[Doubt], ...]] = tuple(Column(name) for name in ("about", "could_change", "why", "advice"))
"""Of one thing that an answer isn't sure of."""
