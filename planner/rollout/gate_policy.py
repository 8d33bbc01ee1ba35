"""The policy of the gate and the webhook, from ``headroom.toml``: what is allowed.

::

    [gate]
    fail = ["stuck", "unknown", "evictions_by_queue", "unsure_growth", "needs_room"]  # what fails; the rest is told and passes
    least_ready = "75%"                           # Ready pods at the worst moment: a number or a share
    most_extra_gpus = 4                           # GPUs that the change takes beyond today
    most_extra_usd_per_month = 2000
    timeouts = {"GitHub job" = "30m"}             # what waits for a rollout, and how long; with "deploy_timeout" in fail it counts
    spare = {cpu = "1", memory = "2Gi"}           # what each node always has free; counts where no cluster is given

    [[gate.exceptions]]
    workload = "Deployment/prod/llm-*"
    reason = "moves to the new pool next week"
    expires = 2026-12-31                          # the last day on which it holds, UTC
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from planner.ground.errors import HeadroomError, InputError
from planner.ground.quantity import parse
from planner.ground.records import Record, replace
from planner.ground.words import Text
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap
from planner.kubernetes.surge_and_unavailable import parse_share, scaled_value
from planner.rollout.answers import Cutoff, Verdict
from planner.rollout.clusterless_room_need import Need, RoomNeed
from planner.rollout.deploy_timeouts import read_timeout
from planner.rollout.simulation_limits import LIMITS


class Failing(StrEnum):
    """What may fail: verdicts, and of growth all, or that which is not known to happen by itself."""

    STUCK = Verdict.STUCK.value
    NEEDS_GROWTH = Verdict.NEEDS_GROWTH.value
    UNKNOWN = Verdict.UNKNOWN.value
    EVICTIONS_BY_QUEUE = Verdict.EVICTIONS_BY_QUEUE.value  # Kueue evicts others for the change
    UNSURE_GROWTH = "unsure_growth"  # by hand, or up to a maximum that isn't given
    NEEDS_ROOM = "needs_room"  # without a cluster: it needs room beside its own, or the node that its old pod is on
    DEPLOY_TIMEOUT = "deploy_timeout"  # it completes, and something that waits for it may give up before


FAILING: Final = (
    Failing.STUCK,
    Failing.EVICTIONS_BY_QUEUE,
    Failing.UNSURE_GROWTH,
    Failing.UNKNOWN,
    Failing.NEEDS_ROOM,
)
"""What fails where no policy says otherwise: docs/decisions/0012-two-doors.md."""


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
    spare: Amounts = EMPTY
    timeouts: FrozenMap[float] = EMPTY  # what waits for a rollout → seconds

    def with_deploy_timeout(self, seconds: float | None) -> GatePolicy:
        """With what ``--deploy-timeout`` says."""
        if seconds is None:
            return self
        return replace(self, timeouts=FrozenMap({**self.timeouts, "the deploy (--deploy-timeout)": seconds}))

    def has_spare(self, room: RoomNeed) -> bool:
        """Whether what every node always has free is room enough: for each pod on a node of its own, for those that must share one
        together."""
        if room.needs_same_node or not room.pods or room.need is not Need.ROOM:
            return False
        times = {pods: pods.count if room.is_on_its_node else 1 for pods in room.pods}
        return all(
            amount * times[pods] <= self.spare.get(name, 0)
            for pods in room.pods
            for name, amount in pods.requests.items()
        )

    def refuses_room(self, room: RoomNeed) -> bool:
        """Whether a workload fails that needs room, or the node of its old pod."""
        return Failing.NEEDS_ROOM in self.fail and not self.has_spare(room)

    def refuses(self, verdict: Verdict, *, is_growth_automatic: bool) -> bool:
        """Whether a workload with this verdict fails. `is_growth_automatic`: that growth is an autoscaler's, within a maximum
        that is known."""
        if verdict is Verdict.COMPLETES:
            return False
        is_unsure = verdict is Verdict.NEEDS_GROWTH and not is_growth_automatic
        return Failing(verdict.value) in self.fail or (is_unsure and Failing.UNSURE_GROWTH in self.fail)

    def cut_off(self, cutoffs: Iterable[Cutoff]) -> tuple[Text, ...]:
        """What the policy has against what waits for a rollout, and not long enough."""
        is_refused = Failing.DEPLOY_TIMEOUT in self.fail
        return tuple(cutoff.sentence for cutoff in cutoffs if cutoff.is_short) if is_refused else ()

    def too_few_ready(self, before: int, after: int, lowest: int) -> str:
        """What the policy has against so few Ready pods at the worst moment, of replicas before and after; "" for nothing."""
        if self.least_ready is None:
            return ""
        pod_count = min(before, after) or after
        if lowest >= min(scaled_value(self.least_ready, pod_count, round_up=True), pod_count):
            return ""
        return f"at worst {lowest:,} of {after:,} Ready, and the policy wants {self.least_ready}"

    def holding(self, now: float | None) -> tuple[GateException, ...]:
        """The exceptions that hold at `now`, seconds since the epoch; all where nothing says when that is."""
        return tuple(exception for exception in self.exceptions if now is None or exception.holds_at(now))


def read_policy(text: str, where: str) -> GatePolicy:
    """The table ``[gate]`` of a TOML document; other tables are another's.

    Raises
    ------
    InputError
        For anything that isn't TOML, and for a key or value that a policy doesn't have: a limit that is spelled wrongly must
        not pass for none.
    """
    import tomllib

    if any(line.count(".") > LIMITS.dots_of_a_line for line in text.splitlines()):
        raise InputError(f"a line has more than {LIMITS.dots_of_a_line} dots", where=where, fix="See docs/gate.md")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also an integer of more digits than Python reads
        raise InputError(f"isn't TOML: {error}", where=where, fix="See https://toml.io, or docs/gate.md") from None
    gate, names = _Table(document.get("gate", {}), f"{where}, [gate]", GatePolicy), [choice.value for choice in Failing]
    exceptions = gate.get("exceptions", lambda raw: isinstance(raw, list), "Write each as [[gate.exceptions]]") or []
    fail = gate.get(
        "fail", lambda raw: isinstance(raw, list) and all(name in names for name in raw), f"Give a list of {', '.join(names)}"
    )  # fmt: skip
    least = gate.get(
        "least_ready", lambda raw: isinstance(raw, str) or _is_number(raw, int), 'Give a number of pods or a share: 2 or "75%"'
    )  # fmt: skip
    return GatePolicy(
        fail=FAILING if fail is None else tuple(failing for failing in Failing if failing.value in fail),
        least_ready=None if least is None else parse_share(str(least), where=f"{gate.where}, least_ready"),
        most_extra_gpus=gate.get(
            "most_extra_gpus", lambda setting: _is_number(setting, int), "Give a whole number of 0 or more"
        ),
        most_extra_usd_per_month=gate.get(
            "most_extra_usd_per_month", lambda setting: _is_number(setting, int | float), "Give a number of 0 or more"
        ),
        spare=_spare(gate),
        timeouts=_timeouts(gate),
        exceptions=tuple(
            _exception(_Table(exception, f"{gate.where}, exception {place}", GateException))
            for place, exception in enumerate(exceptions, start=1)
        ),
    )


def _spare(gate: _Table) -> Amounts:
    fix = 'Write it as {cpu = "1", memory = "2Gi"}'
    spare_table = gate.get("spare", lambda setting: isinstance(setting, dict), fix) or {}
    try:
        return FrozenMap({name: parse(amount, name) for name, amount in spare_table.items()})
    except (HeadroomError, TypeError, AttributeError):
        raise gate.wrong("spare", fix) from None


def _timeouts(gate: _Table) -> FrozenMap[float]:
    fix = 'Write it as {"GitHub job" = "30m"}'
    given = gate.get("timeouts", lambda table: isinstance(table, dict), fix) or {}
    try:
        return FrozenMap({name: read_timeout(text) for name, text in given.items()})
    except (HeadroomError, AttributeError):
        raise gate.wrong("timeouts", fix) from None


def _exception(table: _Table) -> GateException:
    workload, reason = (
        table.get(
            name, lambda setting: isinstance(setting, str) and bool(setting.strip()), is_needed=True,
            fix=f"Give {name} as a text: an exception says for which workload, why and until when",
        ).strip()
        for name in ("workload", "reason")
    )  # fmt: skip
    if workload.count("/") != 2:
        raise table.wrong("workload", 'Write it as kind/namespace/name: "Deployment/prod/api", "Deployment/prod/*"')
    expires = table.get(
        "expires", lambda setting: isinstance(setting, date) and not isinstance(setting, datetime), is_needed=True,
        fix="Give the last day as a TOML date, without quotes: 2026-12-31",
    )  # fmt: skip
    return GateException(workload=workload, reason=reason, expires=expires.isoformat())


def _is_number(number: object, kind: Any) -> bool:
    return isinstance(number, kind) and not isinstance(number, bool) and number >= 0


class _Table:
    """One table of the document, and where it stands; it has the fields of `record`."""

    def __init__(self, table: object, where: str, record: Any) -> None:
        field_names = [field.name for field in fields(record)]
        if not isinstance(table, Mapping):
            raise InputError("isn't a table", where=where, fix=f"Write it with {', '.join(field_names)}")
        if unknown := sorted(set(table) - set(field_names)):
            raise InputError(f'there is no "{unknown[0]}"', where=where, fix=f"It may have {', '.join(field_names)}")
        self.table, self.where = table, where

    def get(self, name: str, is_right: Callable[[Any], bool], fix: str, *, is_needed: bool = False) -> Any:
        """What is given; None where that is nothing, and it isn't needed."""
        field_content = self.table.get(name)
        if (field_content is not None or is_needed) and not is_right(field_content):
            raise self.wrong(name, fix)
        return field_content

    def wrong(self, name: str, fix: str) -> InputError:
        field_content = self.table.get(name)
        what = f"{name} is missing" if field_content is None else f"{name} can't be {str(field_content)[:60]!r}"
        return InputError(what, where=self.where, fix=fix)
