"""The question *drift*: a service's environments side by side, and the effect of adopting suggested values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.rollout_readiness import filtered
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.health.drift.listing_rows import flat_rows, suggestion_rows
from planner.health.drift.model import DriftReport, EnvironmentSuggestion, Rule
from planner.health.drift.service_differences import drift
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import POD, ROLLING
from planner.questions.question import NOTHING, Fact, Inputs, Question, Want, fact
from planner.remedies.patch_outcome import Patched, simulate_patch


class DriftSettings(Record):
    """How services are recognised, and which are looked at (none named: all)."""

    services: tuple[str, ...] = setting(
        (), name="service", short="-s", form="S", is_everyday=True, help="Only this service."
    )
    rule: Rule = settings_within(Rule)
    filter: Filter = settings_within(Filter)


def adopt(snapshot: Snapshot, suggestion: EnvironmentSuggestion) -> Patched:
    """What rolling `suggestion` out in its own cluster (`snapshot`) would do."""
    return simulate_patch(snapshot, suggestion.workload, suggestion.suggestion.patch)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: DriftSettings, inputs: Inputs = NOTHING) -> DriftReport:
    """`drift` of the snapshot and those it was given to be compared with.

    Raises
    ------
    InputError
        When a service or the reference isn't there.
    """
    report = drift((snapshot, *inputs.others), settings.rule, (inputs.usages,))
    service_names = {service.service for service in report.services}
    for name in settings.services:
        if name not in service_names:
            services_text = ", ".join(sorted(service_names)) or "none"
            raise InputError(
                f'no service "{name}" runs in several environments', where="service", fix=f"There are: {services_text}"
            )
    if settings.services:
        report = replace(report, services=tuple(one for one in report.services if one.service in settings.services))
    return narrowed(report, filtered(snapshot, settings.filter))


def narrowed(whole: DriftReport, selection: Selection) -> DriftReport:
    """The services of which a workload is let through, whole."""
    if selection.is_all:
        return whole
    services = tuple(service for service in whole.services if any(map(selection.workload, service.workloads)))
    sentence = selection.beside(whole.sentence, len(services), len(whole.services), "service")
    return replace(whole, services=services, sentence=sentence)


def facts(answer: DriftReport) -> Iterator[Fact]:
    """What differs, what of it explains trouble, and each environment's restarts."""
    yield fact("services", len(answer.services), "services")
    yield fact("workloads_in_one_environment", answer.unmatched, "workloads")
    for service in answer.services:
        differing: int | None = sum(row.differs for row in service.differences)
        explained: int | None = len(service.explanations)
        if any(cell is not None and cell.is_unseen for row in service.rows for cell in row.cells):
            differing = None
        if None in service.restarts:
            explained = None
        yield fact("service_differences", differing, "values", service=service.service)
        yield fact("service_explanations", explained, "explanations", service=service.service)
        for environment, restarts in zip(service.environments, service.restarts, strict=True):
            yield fact("restarts", restarts, "restarts", service=service.service, environment=environment)


DIFFERS: Final = "differs"
EXPLAINS: Final = "explains"  # a difference explains trouble


def _states(answer: DriftReport) -> Iterator[str]:
    if any(service.differences for service in answer.services):
        yield DIFFERS
    if any(service.explanations for service in answer.services):
        yield EXPLAINS


QUESTION: Final = Question(
    name="drift",
    settings=DriftSettings,
    answer=answer,
    facts=facts,
    tables={
        "differences": flat_rows,
        "all": lambda answer: flat_rows(answer, everything=True),
        "suggestions": lambda answer: suggestion_rows(answer.services),
    },
    given_rows={"everything": {"csv": "all", "markdown": "all"}},
    about="""The same service in several namespaces or clusters: what differs, by how much, what that explains.

    With several clusters an environment is written CLUSTER/NAMESPACE, and --prometheus speaks for the first one. Exits 0
    when the question is answered; --fail-on explains exits 5 when a difference explains trouble.
    """,
    wants=(Want.OTHERS, Want.USAGE),
    states={DIFFERS: ExitStatus.REFUSED, EXPLAINS: ExitStatus.REFUSED},
    states_of=_states,
    parts_hang_on=(POD.name,),
    lists=tuple(kind.name for kind in ROLLING),
    is_of_lists=True,
)
