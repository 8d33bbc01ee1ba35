"""``headroom rollout``: will this change finish, if not why, and what would help?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click

from planner.capacity.display_filter import Filter
from planner.capacity.strategy_prices import SpareSettings, StrategyCosts
from planner.cli import options_from_settings, output, question_commands, terminal
from planner.cli.cluster_argument import one_reader_of_stdin, read_cluster
from planner.cli.input_options import manifests_of, oldest_price, say_age
from planner.ground.errors import HeadroomError, InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.ground.words import Text, count, duration, moment, sentence
from planner.inventory.patch_and_undo import Applied
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.shell_commands import comment
from planner.pricing.price_book import PriceBook
from planner.questions import strategies as strategies_question
from planner.questions import strategy_costs as costs_question
from planner.questions.overview import QUESTION as OVERVIEW
from planner.questions.overview import OverviewSettings
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import Inputs, Want, document
from planner.questions.rollout import QUESTION, RolloutSettings, StrategyKind
from planner.questions.strategies import STRATEGIES, StrategiesSettings
from planner.questions.strategy_costs import STRATEGIES as COSTED
from planner.questions.strategy_costs import StrategyCostSettings
from planner.remedies.levers.user_change_steps import steps_of
from planner.rollout.answers import RolloutResult, Step, Verdict, WorkloadRollout
from planner.rollout.doubts import AS_DOUBTS
from planner.rollout.resumable_scripts import in_context, script
from planner.rollout.strategy_choice import Weights
from planner.rollout.verdict_wording import WORD, details
from planner.sources import bounded_reading
from planner.sources.cluster_argument import context_of

if TYPE_CHECKING:
    from planner.remedies.pareto_plans_answer import Certificate

_OF_ONE: Final = (
    "--patch",
    "--recreate",
    "--costs",
    "--strategies",
    "--levers",
    "--script",
    "--prices",
    "--discount",
    "--commitments",
)
_PRICES: Final = ("own_prices", "discounts", "commitments")

_MOST_STEPS: Final = 3  # plans printed with their steps; --script prints any plan's
_MOST_ALIKE, _FEW_ALIKE = 5, 3  # steps of one kind in a row that are printed, and of more than these the first


@click.command("rollout", cls=options_from_settings.ShortHelp)
@click.argument("cluster")
@options_from_settings.asked(RolloutSettings)
@options_from_settings.option("The change", "--patch", "patch_file", metavar="FILE",
              help='Strategic merge patch, JSON or YAML: a file, "-", or the JSON itself as for kubectl patch -p.')  # fmt: skip
@question_commands.taking(Want.MANIFEST, Want.POOLS)
@options_from_settings.option("The change", "--recreate", is_flag=True, help="The same as --strategy Recreate.")
@options_from_settings.option("Which strategy", "--costs", "with_costs", is_flag=True,
              help="What each strategy's spare GPUs cost a month, against the Ready pods it gives up.")  # fmt: skip
@options_from_settings.asked(SpareSettings)
@question_commands.taking(Want.PRICES)
@options_from_settings.option("Which strategy", "--strategies", "with_strategies", is_flag=True,
              help="Which strategies nothing beats in Ready pods, time, GPUs, evictions and (with --costs) money; one is recommended.")  # fmt: skip
@options_from_settings.asked(Weights)
@options_from_settings.option("Ways out", "--levers", metavar="LIST", is_everyday=True,
              help="All plans within these levers that nothing beats, or the proof of none: strategy,order,lend,nodes,moves,quota,template,pods, or all.")  # fmt: skip
@options_from_settings.option("Ways out", "--script", "as_script", is_flag=True, is_everyday=True,
              help="Print the way out as a shell script that waits after each step and can be stopped; where none is "
              "needed, the change itself. Exits 0 when there is one, else as without it.")  # fmt: skip
@options_from_settings.option(
    "Ways out",
    "--way-out",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Which way out --script is for.",
)
@output.fail_on_option(OVERVIEW)
@output.printing(QUESTION)
def command(
    cluster: str, patch_file: str | None, recreate: bool, with_costs: bool, with_strategies: bool, levers: str | None, as_script: bool,
    way_out: int, **values: Any,
) -> int:  # fmt: skip
    """Will this rollout finish?

    Prints the verdict and exits 0 (completes), 2 (stuck), 3 (needs growth), 4 (not known) or 6 (Kueue evicts others). Without --workload or
    --filename it lists every workload's own rollout, as headroom overview does, and exits 0 unless --fail-on names what
    is in the list: --fail-on stuck exits 2 when a workload is stuck.
    """
    one_reader_of_stdin(cluster, *values["files"], patch_file or "")
    is_of_all = not values["workload"] and not values["files"]
    if is_of_all:
        rollout_flags = options_from_settings.flags_of(RolloutSettings)
        of_all = {"--workload", "--namespace", *options_from_settings.flags_of(PoolSettings)}
        options_from_settings.need(
            "--workload or --filename", [flag for flag in (*rollout_flags, *_OF_ONE) if flag not in of_all]
        )
    if not with_costs:
        options_from_settings.need("--costs", options_from_settings.flags_of(SpareSettings))
    if not with_strategies:
        options_from_settings.need("--strategies", options_from_settings.flags_of(Weights))
    if not as_script:
        options_from_settings.need("--script", ["--way-out"])
    snapshot = read_cluster(cluster)
    called = question_commands.Called((cluster,), [snapshot], None, values)
    given = question_commands.given_of(called, Want.POOLS, Want.STARTS)
    if not is_of_all:
        asks_prices = with_costs or levers is not None or any(map(options_from_settings.is_given, _PRICES))
        given = replace(given, book=_book(called, is_asked=asks_prices))
    output_format, rows = values["output_format"], values["rows"]
    if is_of_all:
        return question_commands.with_left_out(_of_all(snapshot, given, values), called)
    more: dict[str, Any] = {}
    if patch_file:  # `--patch '{"spec": …}'` as kubectl patch -p, or the name of a file
        is_text = patch_file.lstrip()[:1] in ("{", "[")
        more["patch"] = (
            patch_file if is_text else bounded_reading.read_text(patch_file, fix="Give JSON or YAML in UTF-8")
        )
    more |= manifests_of(values["then"])
    more |= {"strategy": StrategyKind.RECREATE} if recreate else {}
    settings = question_commands.settings_of(RolloutSettings, (cluster,), values, **more)
    settings = question_commands.named_settings(settings, snapshot, values)
    context = context_of(cluster, snapshot)
    if levers is not None:
        return _certify(snapshot, settings, given, levers, way_out if as_script else None, output_format, rows, context)
    rollout = QUESTION.answer(snapshot, settings, given)
    status = QUESTION.exit_status(snapshot, rollout)
    if as_script:
        is_lacking = rollout.verdict in (Verdict.STUCK, Verdict.UNKNOWN) and not rollout.remedies
        ways = [] if is_lacking else [steps_of(rollout, place + 1) for place in range(max(1, len(rollout.remedies)))]
        ways = [way for way in ways if way[1]]
        return _print_script("way out", ways, rollout.sentence, status, snapshot, way_out, context)
    costs, also = None, []
    if with_costs and not costs_question.QUESTION.not_known(snapshot):
        priced = StrategyCostSettings(rollout=settings, spares=options_from_settings.read(SpareSettings, values))
        costs = costs_question.answer(snapshot, priced, given)
        also = [document(costs_question.QUESTION, snapshot, priced, costs)]

    strategies_answer = None
    if with_strategies:
        weighed = StrategiesSettings(rollout=settings, weights=options_from_settings.read(Weights, values))
        strategies_answer = strategies_question.answer(snapshot, weighed, given)
        also.append(document(strategies_question.QUESTION, snapshot, weighed, strategies_answer))

    def text() -> None:
        _print(rollout, snapshot)
        if strategies_answer is not None:
            click.echo("\nWhich strategy")
            terminal.say(strategies_answer.sentence)
            question_commands.show_listing(STRATEGIES, strategies_answer)
            if strategies_answer.apply is not None:
                _print_applied(strategies_answer.apply)
        if costs is not None:
            _print_costs(costs, snapshot)
        else:
            _say_age(given, snapshot, (way.usd_per_month for way in rollout.remedies))

    output.show(output_format, QUESTION, snapshot, settings, rollout, text=text, rows=rows, also=also)
    return question_commands.with_left_out(status, called)


def _of_all(snapshot: Snapshot, inputs: Inputs, values: Mapping[str, Any]) -> int:
    """Every workload's own rollout, of the namespace where one is given."""
    settings = options_from_settings.read(OverviewSettings, {"limits": values["limits"]})
    if options_from_settings.is_given("manifest_namespace"):
        settings = replace(settings, filter=Filter(namespaces=options_from_settings.many(values["manifest_namespace"])))
    every = OVERVIEW.answer(snapshot, settings, inputs)
    how = {"output_format": values["output_format"], "fail_on": values["fail_on"]}
    return question_commands.tell(OVERVIEW, [snapshot], settings, every, **how)


def _book(called: question_commands.Called, *, is_asked: bool) -> PriceBook | None:
    """The prices; None where only the environment names a file of them, and it can't be read: the verdict doesn't depend on it."""
    try:
        return question_commands.book_of(called.values)
    except HeadroomError:
        if is_asked:
            raise
        return None


def _certify(
    snapshot: Snapshot, rollout: RolloutSettings, inputs: Inputs, levers: str, way_out: int | None, output_format: str, rows: str, context: str
) -> int:  # fmt: skip
    """The certificate in place of the ways out that are tried, or the script of one of its plans."""
    from planner.questions.certificate import QUESTION, CertificateSettings, notes, parse_levers

    settings = CertificateSettings(rollout=rollout, levers=parse_levers(levers))
    certificate = QUESTION.answer(snapshot, settings, inputs)
    status = QUESTION.exit_status(snapshot, certificate)
    if way_out is not None:
        plans = [(plan.title, plan.steps) for plan in certificate.plans]
        return _print_script("plan", plans, certificate.sentence, status, snapshot, way_out, context)

    def text() -> None:
        _print_certificate(certificate, snapshot, notes(certificate))
        _say_age(inputs, snapshot, (plan.usd_per_month for plan in certificate.plans))

    output.show(output_format, QUESTION, snapshot, settings, certificate, text=text, rows=rows)
    return status


def _say_age(inputs: Inputs, snapshot: Snapshot, usd: Iterable[float | None]) -> None:
    """How old the prices are, where a way has one: its dollars have their date."""
    if inputs.book is not None and any(amount is not None for amount in usd):
        say_age(oldest_price(inputs.book, (snapshot,)), snapshot.nodes)


def _print_script(
    what: str, ways: Sequence[tuple[str, tuple[Step, ...]]], why: Text, status: ExitStatus, snapshot: Snapshot, way_out: int, context: str
) -> ExitStatus:  # fmt: skip
    """The script of the way out with that number; `why` there is none."""
    if not ways:
        click.echo(f"headroom: no script: {why}", err=True)
        return status
    if way_out > len(ways):
        raise InputError(f"there is no {what} {way_out}", where="--way-out", fix=f"Give 1 to {len(ways)}")
    title, steps = ways[way_out - 1]
    taken = f"{snapshot.source}, taken {moment(snapshot.taken_at)}"
    click.echo(in_context(script(title, steps, source=taken), context), nl=False)
    return ExitStatus.ANSWERED


def _print_certificate(certificate: Certificate, snapshot: Snapshot, notes: Sequence[str]) -> None:
    terminal.say(sentence(certificate.sentence))
    for note in notes:
        terminal.say(note, indent="  ")
    for number, plan in enumerate(certificate.plans, 1):
        click.echo()
        more = f"  (--way-out {number})" if number > 1 else ""
        terminal.say(f"{plan.title}{more}", head=f"plan {number}: ", indent="  ")
        terminal.say(f"  {plan.sentence}", indent="  ")
        if number <= _MOST_STEPS:
            _print_steps(plan.steps)
    if len(certificate.plans) > _MOST_STEPS:
        click.echo(f"\n--script --way-out N prints the steps of any of the {len(certificate.plans)}")
    click.echo(f"\nfrom {snapshot.source}")


def _print_part(part: WorkloadRollout, *, is_cured: bool) -> None:
    """What stands under the verdict for one workload; where there are ways out (`is_cured`), these say what cures it."""
    if part.scheduler_message:
        terminal.say(f"kube-scheduler: {part.scheduler_message}", indent="  ")
    for cutoff in part.cutoffs:
        if cutoff.is_short:
            terminal.say(f"{part.workload}: {cutoff.sentence}", indent="  ")
    if part.exceeds_deadline and part.duration is None:
        terminal.say(
            f"{part.workload}: longer without progress than progressDeadlineSeconds "
            f"({duration(part.progress_deadline_seconds or 0)}), so kubectl rollout status will report a failure"
        )
    if part.room is not None:
        terminal.say(f"{part.workload} {part.room.sentence}", head="wherever it runs: ", indent="  ")
    for cure in part.cures:
        if cure.command and not is_cured:
            terminal.say(f"cure, {cure.sentence}: {cure.command}", indent="  ")


def _print(rollout: RolloutResult, snapshot: Snapshot) -> None:
    if rollout.verdict in (Verdict.COMPLETES, Verdict.UNKNOWN):  # for these the headline would only repeat the sentence
        terminal.say(rollout.sentence)
    else:
        terminal.say_verdict(rollout.verdict, f"{WORD[rollout.verdict]}: ", rollout.headline)
        terminal.say(details(rollout.verdict, rollout.sentence))
    if len(rollout.workloads) > 1:
        for part in rollout.workloads:
            terminal.say(f"  {part.workload}: {part.sentence}", indent="    ")
    for part in rollout.workloads:
        _print_part(part, is_cured=bool(rollout.remedies))
    first = rollout.workloads[0]
    shown = "" if first.shown_peak_pods is None else f" ({first.shown_peak_pods:,} in the placement shown)"
    terminal.say(
        f"at most {count(first.peak_pods, 'pod')}{shown}; start-up {duration(first.startup_seconds)} ({first.startup_source}), "
        f"termination {duration(first.termination_seconds)}; times are estimates"
    )
    if first.duration is not None:
        terminal.say(sentence(first.duration.sentence))
    if rollout.ties:
        proven = " (proven)" if rollout.ties.proven else ""
        terminal.say(f"placement: {rollout.ties.outcome}{proven}")
    for doubt in rollout.doubts:
        terminal.say(str(doubt.sentence), indent="  ")
    for event in rollout.meanwhile:
        terminal.say(str(event.sentence), head="meanwhile: ", indent="  ")
    if rollout.preempted:
        terminal.say(f"preempted on the way: {', '.join(rollout.preempted)}", indent="  ")
    for number, remedy in enumerate(rollout.remedies, 1):
        click.echo()
        more = f"  (--way-out {number})" if number > 1 else ""
        terminal.say(f"{remedy.title}{more}", head="way out: ", indent="  ")
        terminal.say(f"  {remedy.sentence}; about {duration(remedy.seconds)}", indent="  ")
        _print_steps(remedy.steps)
    for applied in rollout.apply:
        _print_applied(applied)
    for finding in (problem for problem in rollout.findings if problem.code not in AS_DOUBTS):
        click.echo()
        terminal.say(f"{finding.severity.value}: {finding.what}. {finding.fix}", indent="  ")
    click.echo(f"\nfrom {snapshot.source}")


def _print_steps(steps: Sequence[Step]) -> None:
    """Numbered; each line a command of its own, so that none runs before the one above it is done. Of many alike, one after another,
    the first few."""
    for verb, alike in groupby(enumerate(steps, 1), lambda numbered_step: numbered_step[1].what.split()[0]):
        alike_steps = list(alike)
        shown = len(alike_steps) if len(alike_steps) <= _MOST_ALIKE else _FEW_ALIKE
        _print_numbered(alike_steps[:shown])
        if more := alike_steps[shown:]:
            click.echo(f"  {more[0][0]}. to {more[-1][0]}. {verb} {len(more):,} more in the same way: --script has all")


def _print_numbered(steps: Sequence[tuple[int, Step]]) -> None:
    for place, step in steps:
        terminal.say(step.what, head=f"  {place}. ", indent="     ")
        for line in (*step.commands, *(comment(f"undo: {undo}").strip() for undo in step.undo)):
            click.echo(f"     {line}")


def _print_applied(applied_change: Applied) -> None:
    click.echo()
    terminal.say("what differs from today, and how to apply it:", head=f"{applied_change.workload}: ")
    for difference in applied_change.differences:
        terminal.say(f"  {difference.field}: {difference.today} → {difference.then}", indent="    ")
    click.echo(f"  {applied_change.command}")
    click.echo(f"  undo: {applied_change.undo}")


def _print_costs(costs: StrategyCosts, snapshot: Snapshot) -> None:
    """The sentence, and the strategies that no other beats in Ready pods, time and spare GPUs; JSON has all."""
    click.echo("\nWhat each strategy costs")
    if costs.sentence:
        click.echo(costs.sentence)
    for note in costs.notes:
        click.echo(note)
    if not COSTED.seen(costs):
        return
    question_commands.show_listing(COSTED, costs)
    terms = costs.terms
    click.echo(
        f"\nUSD a month: spare nodes kept on demand, kept on spot, or added for each of {terms.rollouts_per_month:g} "
        f"rollouts ({duration(terms.node_start_seconds)} before, {duration(terms.scale_down_seconds)} after it). What is stuck today "
        "is shown as it would be with them. Pod-hours missing, pods of others preempted, and the jobs that kills: a month."
    )
    if costs.as_of:
        click.echo(
            f"Nodes like pool {costs.node_pool}'s: {costs.machine_type} in {costs.region_id}, as of {costs.as_of}."
        )
        say_age(costs.as_of, snapshot.nodes)
