"""The policy of both doors, the gate and the webhook: what is let pass, as ``headroom.toml`` says it.

::

    [gate]
    fail = ["stuck", "unknown", "unsure_growth"]  # what fails; the rest is told and passes
    least_ready = "75%"                           # Ready pods at the worst moment: a number or a share
    most_extra_gpus = 4                           # GPUs that the change takes beyond today
    most_extra_usd_per_month = 2000

    [[gate.exceptions]]
    workload = "Deployment/prod/llm-*"
    reason = "moves to the new pool next week"
    expires = 2026-12-31                          # the last day on which it holds, UTC
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.kubernetes.shares import parse_share, scaled_value
from planner.rollout.answers import Verdict


class Failing(StrEnum):
    """What may fail: verdicts, and of growth all, or that which nobody is known to do by itself."""

    STUCK = Verdict.STUCK.value
    NEEDS_GROWTH = Verdict.NEEDS_GROWTH.value
    UNKNOWN = Verdict.UNKNOWN.value
    UNSURE_GROWTH = "unsure_growth"  # by hand, or up to a maximum that nobody states


FAILING: Final = (Failing.STUCK, Failing.UNSURE_GROWTH, Failing.UNKNOWN)
"""What fails where no policy says otherwise: docs/decisions/0012-two-doors.md."""

_MOST_DOTS: Final = 100  # in a line: a key of so many parts costs tomllib their square


class GateException(Record):
    """Workloads (``Kind/namespace/name``, ``*`` for any text) that pass whatever is found, until `expires` is over."""

    workload: str
    reason: str
    expires: str  # ISO date, the last day, UTC

    def covers(self, key: str) -> bool:
        return fnmatchcase(key.lower(), self.workload.lower())

    def holds_at(self, now: float) -> bool:
        """Whether it still holds at `now`, seconds since the epoch."""
        return datetime.fromtimestamp(now, UTC).date() <= date.fromisoformat(self.expires)


class GatePolicy(Record):
    """What is let through. Limits of None are none."""

    fail: tuple[Failing, ...] = FAILING
    least_ready: int | str | None = None
    most_extra_gpus: int | None = None
    most_extra_usd_per_month: float | None = None
    exceptions: tuple[GateException, ...] = ()

    def refuses(self, verdict: Verdict, *, is_growth_automatic: bool) -> bool:
        """Whether a workload with this verdict fails. `is_growth_automatic`: that growth is an autoscaler's, within a maximum
        that is known."""
        if verdict is Verdict.COMPLETES:
            return False
        is_unsure = verdict is Verdict.NEEDS_GROWTH and not is_growth_automatic
        return Failing(verdict.value) in self.fail or (is_unsure and Failing.UNSURE_GROWTH in self.fail)

    def too_few_ready(self, before: int, after: int, lowest: int) -> str:
        """What the policy has against so few Ready pods at the worst moment, of replicas before and after; "" for nothing."""
        if self.least_ready is None:
            return ""
        wanted = min(before, after) or after
        if lowest >= min(scaled_value(self.least_ready, wanted, round_up=True), wanted):
            return ""
        return f"at worst {lowest:,} of {after:,} Ready, and the policy wants {self.least_ready}"

    def holding(self, now: float | None) -> tuple[GateException, ...]:
        """The exceptions that hold at `now`, seconds since the epoch; all where nobody says when that is."""
        return tuple(one for one in self.exceptions if now is None or one.holds_at(now))


def read_policy(text: str, where: str) -> GatePolicy:
    """The table ``[gate]`` of a TOML document; other tables are somebody else's.

    Raises
    ------
    InputError
        For anything that isn't TOML, and for a key or value that a policy doesn't have: a limit that is spelt wrongly must
        not pass for none.
    """
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise InputError(f"a line has more than {_MOST_DOTS} dots", where=where, mend="See docs/gate.md")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also an integer of more digits than Python reads
        raise InputError(f"isn't TOML: {error}", where=where, mend="See https://toml.io, or docs/gate.md") from None
    table = document.get("gate", {})
    return _Table(table, f"{where}, [gate]", tuple(one.name for one in fields(GatePolicy))).policy()


class _Table:
    """One table of the document, and where it stands."""

    def __init__(self, table: object, where: str, known: tuple[str, ...]) -> None:
        if not isinstance(table, Mapping):
            raise InputError("isn't a table", where=where, mend=f"Write it with {', '.join(known)}")
        if unknown := sorted(set(table) - set(known)):
            raise InputError(f'there is no "{unknown[0]}"', where=where, mend=f"It may have {', '.join(known)}")
        self.table, self.where = table, where

    def policy(self) -> GatePolicy:
        exceptions = self.table.get("exceptions", [])
        if not isinstance(exceptions, list):
            raise self._wrong("exceptions", "Write each as [[gate.exceptions]]")
        return GatePolicy(
            fail=self._verdicts(),
            least_ready=self._share("least_ready"),
            most_extra_gpus=self._number("most_extra_gpus", whole=True),
            most_extra_usd_per_month=self._number("most_extra_usd_per_month", whole=False),
            exceptions=tuple(
                _Table(
                    one, f"{self.where}, exception {place}", tuple(one.name for one in fields(GateException))
                ).exception()
                for place, one in enumerate(exceptions, start=1)
            ),
        )

    def exception(self) -> GateException:
        workload, reason = self._text("workload"), self._text("reason")
        if workload.count("/") != 2:
            raise self._wrong("workload", 'Write it as kind/namespace/name: "Deployment/prod/api", "Deployment/prod/*"')
        expires = self.table.get("expires")
        if isinstance(expires, datetime) or not isinstance(expires, date):
            raise self._wrong("expires", "Give the last day as a TOML date, without quotes: 2026-12-31")
        return GateException(workload=workload, reason=reason, expires=expires.isoformat())

    def _verdicts(self) -> tuple[Failing, ...]:
        given = self.table.get("fail")
        if given is None:
            return FAILING
        names = [one.value for one in Failing]
        if not isinstance(given, list) or any(one not in names for one in given):
            raise self._wrong("fail", f"Give a list of {', '.join(names)}")
        return tuple(one for one in Failing if one.value in given)

    def _share(self, name: str) -> int | str | None:
        given = self.table.get(name)
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | str) or (isinstance(given, int) and given < 0):
            raise self._wrong(name, 'Give a number of pods or a share: 2 or "75%"')
        return parse_share(str(given), where=f"{self.where}, {name}")

    def _number(self, name: str, *, whole: bool) -> Any:
        given = self.table.get(name)
        if given is not None and (
            isinstance(given, bool) or not isinstance(given, int if whole else int | float) or not given >= 0
        ):
            raise self._wrong(name, f"Give a {'whole ' if whole else ''}number of 0 or more")
        return given

    def _text(self, name: str) -> str:
        given = self.table.get(name)
        if not isinstance(given, str) or not given.strip():
            raise self._wrong(name, f"Give {name} as a text: an exception says for which workload, why and until when")
        return given.strip()

    def _wrong(self, name: str, mend: str) -> InputError:
        given = self.table.get(name)
        what = f"{name} is missing" if given is None else f"{name} can't be {str(given)[:60]!r}"
        return InputError(what, where=self.where, mend=mend)
