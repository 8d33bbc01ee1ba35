"""Metrics of a cluster: a few families, each with a bounded number of series.

Labels are names out of the cluster, so a family has at most `LIMITS.series` of them, the ones that matter most first, and says
how many it left out. What isn't known is left out, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from planner.capacity.fragmentation import fragments as fragments_of
from planner.capacity.rollout_readiness import ClusterOverview, by_trouble
from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.kubernetes.node_properties import noun_of
from planner.kubernetes.object_records import Snapshot
from planner.questions import costs, overview, savings
from planner.questions.question import Inputs
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import compiled
from planner.serve.request_limits import LIMITS

STATES: Final = ("allocatable", "held", "free", "out_of_use", "waited_for", "stranded")


class Family(Record):
    """One gauge. `samples`: label values in the order of `labels`, and the number."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: tuple[tuple[tuple[str, ...], float], ...]
    left_out: int = 0


class ClusterMetrics(Record):
    families: tuple[Family, ...]
    problems: tuple[str, ...] = ()  # why a family is missing


def cluster_metrics(snapshot: Snapshot, inputs: Inputs, most_series: int = LIMITS.series) -> ClusterMetrics:
    """Verdicts, GPUs by model, cost and savings of one snapshot."""
    cluster_overview = overview.answer(snapshot, overview.OverviewSettings(), inputs)
    families = [*_verdicts(cluster_overview, most_series), _gpus(snapshot, cluster_overview, most_series)]
    problems = []
    if inputs.book is not None:
        for question, ask in ((costs.QUESTION, _costs), (savings.QUESTION, _savings)):
            try:
                if (why := question.not_known(snapshot)) is not None:
                    raise why
                families += ask(snapshot, inputs, most_series)
            except HeadroomError as error:
                problems.append(str(error))
    return ClusterMetrics(families=tuple(families), problems=tuple(problems))


def _verdicts(overview_answer: ClusterOverview, most: int) -> list[Family]:
    counts = Counter(line.verdict for line in overview_answer.workloads)
    judged_lines = [line for line in by_trouble(overview_answer.workloads) if line.verdict is not Verdict.UNKNOWN]
    names = ("kind", "namespace", "name")
    return [
        _family(
            "workloads", "Workloads by the verdict of their own rollout, were their template changed now.", ("verdict",),
            [((verdict.value,), counts[verdict]) for verdict in Verdict], most,
        ),
        _family(
            "workload_rollable", "Whether a workload could be rolled out now, with nodes that an autoscaler brings: 1 or 0; one that isn't known is left out.",
            names, [(tuple(line.workload.split("/", 2)), line.is_growth_automatic or line.verdict is Verdict.COMPLETES) for line in judged_lines], most,
        ),
        _family(
            "workload_gpus", "GPUs that all replicas of a workload ask for; without any it is left out.", names,
            [(tuple(line.workload.split("/", 2)), line.gpus) for line in by_trouble(overview_answer.workloads) if line.gpus], most,
        ),
    ]  # fmt: skip


def _gpus(snapshot: Snapshot, cluster_overview: ClusterOverview, most: int) -> Family:
    cluster = compiled(snapshot)
    stranded: Counter[tuple[str, str]] = Counter()
    fragments = fragments_of(cluster)
    for node in fragments.sizes[0].nodes if fragments.sizes else ():
        stranded[node.model, fragments.resource] += node.stranded
    samples = []
    for line in cluster_overview.gpus:
        amounts = {
            "allocatable": line.allocatable,
            "held": line.requested,
            "free": line.free,
            "out_of_use": line.out_of_use,
            "waited_for": line.pending,
        }
        if line.free is not None and (line.resource, line.sharing) == (fragments.resource, fragments.sharing):
            amounts["stranded"] = stranded[line.model, line.resource]
        samples += [
            ((line.model, line.resource, noun_of(line.resource, line.sharing, profile=line.profile), state), amount)
            for state, amount in amounts.items()
            if amount is not None
        ]
    help_text = (
        f"GPUs by model and state: {', '.join(STATES)}. Stranded ones are free, and no pod of the cluster's mix can use them; "
        "those out of use are free, on cordoned or not Ready nodes."
    )
    return _family("gpus", help_text, ("model", "resource", "offered_as", "state"), samples, most)


def _costs(snapshot: Snapshot, inputs: Inputs, most: int) -> list[Family]:
    bill = costs.answer(snapshot, costs.CostsSettings(), inputs)
    pools = sorted(bill.pools, key=lambda pool: -(pool.usd_per_month or 0))
    labels = ("node_pool", "provisioning")
    priced = [(pool, (pool.node_pool, pool.provisioning.value), pool.usd_per_month) for pool in pools]
    return [
        _family(
            "cost_usd_per_month", "What a pool's nodes cost a month, after discounts and sustained use.", labels,
            [(names, usd) for _, names, usd in priced if usd is not None], most,
        ),
        _family(
            "idle_usd_per_month", "What of it no bound pod requests.", labels,
            [(names, pool.idle.total) for pool, names, _ in priced if pool.idle is not None], most,
        ),
        _family(
            "nodes_without_price", "Nodes that the cost leaves out, since their price isn't known.", (),
            [((), sum(len(group.nodes) for group in bill.unpriced))], most,
        ),
    ]  # fmt: skip


def _savings(snapshot: Snapshot, inputs: Inputs, most: int) -> list[Family]:
    lines = [
        line for line in savings.answer(snapshot, savings.SavingsSettings(), inputs).lines if line.saved_usd is not None
    ]
    lines.sort(key=lambda line: -(line.saved_usd or 0))
    samples = [(tuple(line.workload.split("/", 2)), line.saved_usd or 0.0) for line in lines]
    help_text = "What moving a workload to spot would save as part of the whole cluster, after interruptions."
    return [_family("spot_saving_usd_per_month", help_text, ("kind", "namespace", "name"), samples, most)]


def _family(
    name: str, help_text: str, labels: tuple[str, ...], samples: Sequence[tuple[Iterable[str], float]], most: int
) -> Family:
    shown_samples = tuple((tuple(names), float(number)) for names, number in samples[:most])
    return Family(name=name, help=help_text, labels=labels, samples=shown_samples, left_out=max(0, len(samples) - most))
