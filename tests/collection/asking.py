"""The collection put to the gate, and what came of it as a table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.kubernetes.object_records import Snapshot
from planner.questions.gate import GateSettings, answer
from tests.collection.clusters import CLUSTERS, HALVES
from tests.collection.manifests import Case, Seen, cases

NO_CLUSTER = "no cluster"


class Outcome(StrEnum):
    PASSES = "passes"
    NOTHING = "rolls nothing"
    STUCK = "stuck"
    GROWTH = "needs growth"
    ROOM = "needs room"
    NOT_KNOWN = "not known"
    REFUSED = "refused"


_OF_STATUS = {
    ExitStatus.STUCK: Outcome.STUCK,
    ExitStatus.NEEDS_GROWTH: Outcome.GROWTH,
    ExitStatus.NOT_KNOWN: Outcome.NOT_KNOWN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One manifest asked of one cluster. `gpus`: what the gate says it takes more; `workloads`: how many it names."""

    case: Case
    cluster: str
    outcome: Outcome
    workloads: int = 0
    gpus: int = 0
    sentence: str = ""

    @property
    def passed(self) -> bool:
        return self.outcome in (Outcome.PASSES, Outcome.NOTHING)

    @property
    def fault(self) -> str:
        """What is wrong with a pass; "" where nothing is. A refusal or "not known" is never a fault here."""
        case = self.case
        if not self.passed:
            return ""
        if case.seen in (Seen.NOT_KNOWN, Seen.REFUSED):
            return f"passes, and is {case.seen}"
        if case.seen is Seen.PODS and case.pods and (not self.workloads or self.gpus != case.gpus):
            return f"passes with {self.gpus} GPUs of {case.gpus}"
        if case.pods and self.cluster in HALVES:
            return "passes where part of the cluster is lacking"
        return ""


def ask(snapshot: Snapshot, cluster: str, case: Case) -> Asked:
    """The gate's answer in few words; `NO_CLUSTER` as cluster: the room that its rollouts need wherever they run."""
    is_alone = cluster == NO_CLUSTER
    try:
        found = answer(snapshot, GateSettings(manifest=case.text, without_cluster=is_alone))
    except NotKnownError as error:
        return Asked(case=case, cluster=cluster, outcome=Outcome.NOT_KNOWN, sentence=str(error))
    except HeadroomError as error:
        return Asked(case=case, cluster=cluster, outcome=Outcome.REFUSED, sentence=str(error))
    passing = Outcome.PASSES if found.workloads else Outcome.NOTHING
    outcome = passing if found.passes else _OF_STATUS[ExitStatus(found.exit_status)]
    outcome = Outcome.ROOM if is_alone and outcome is Outcome.GROWTH else outcome
    said = [str(one.sentence) for one in found.workloads]
    return Asked(
        case=case, cluster=cluster, outcome=outcome, workloads=len(found.workloads),
        gpus=sum(one.more_gpus or 0 for one in found.workloads), sentence=" ".join([str(found.sentence), *said]),
    )  # fmt: skip


@cache
def everything(cluster: str) -> tuple[Asked, ...]:
    """Every manifest asked of one cluster, or of none."""
    snapshot = CLUSTERS["empty" if cluster == NO_CLUSTER else cluster]()
    return tuple(ask(snapshot, cluster, case) for case in cases())


def as_tables() -> str:
    """Three tables: what may be said of the manifests, what each cluster says of all of them, and what is said without one."""
    lines = ["| what is true of them | manifests | kinds |", "| --- | ---: | --- |"]
    for seen, why in dict.fromkeys(
        (case.seen, case.why) for case in sorted(cases(), key=lambda case: list(Seen).index(case.seen))
    ):
        group = [case for case in cases() if (case.seen, case.why) == (seen, why)]
        kinds = sorted({case.kind for case in group})
        lines.append(f"| {seen}{': ' if why else ''}{why} | {len(group)} | {', '.join(kinds)} |")
    outcomes = [one for one in Outcome if one is not Outcome.ROOM]
    lines += ["", f"| cluster | {' | '.join(outcomes)} | passes unseen |", f"| --- |{' ---: |' * (len(outcomes) + 1)}"]
    for cluster in CLUSTERS:
        asked = everything(cluster)
        counts = Counter(one.outcome for one in asked)
        faults = sum(bool(one.fault) for one in asked)
        lines.append(f"| {cluster} | {' | '.join(str(counts[one]) for one in outcomes)} | {faults} |")
    alone = Counter(one.outcome for one in everything(NO_CLUSTER))
    said = {one: "needs no room" if one is Outcome.PASSES else str(one) for one in Outcome if one is not Outcome.GROWTH}
    lines += ["", f"| without a cluster | {' | '.join(said.values())} |", f"| --- |{' ---: |' * len(said)}"]
    lines.append(f"| manifests | {' | '.join(str(alone[one]) for one in said)} |")
    return "\n".join(lines) + "\n"


def with_tables(text: str) -> str:
    """`text` with the tables in their place."""
    return re.sub(
        r"(?<=<!-- collection -->\n).*?(?=<!-- end of collection -->)", lambda _: as_tables(), text, flags=re.DOTALL
    )
