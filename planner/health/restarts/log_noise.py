"""Tells alarming log lines that are noise from others: pods of the same program that work print them as well.

A team once looked at a numpy warning for days: it stood in the log of every pod that died, and in the log of every pod
that didn't. Lines are compared as templates, and counted a process start: a program that is restarted more often
prints its start-up warnings more often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.ground.words import Text, count
from planner.health.restarts.container_observations import ContainerCase, Population
from planner.health.restarts.log_limits import LIMITS
from planner.health.restarts.model import LineVerdict, LogLine

_NOISE_SHARE = 0.5  # of the working pods of the same program that have a log; our choice
_NOISE_ELSEWHERE = 2  # working pods of other programs, where the same program works nowhere


def judge(failing: Sequence[ContainerCase], population: Population) -> tuple[LogLine, ...]:
    """The alarming lines of `failing` (pods of one container in trouble), most frequent first, each with its verdict."""
    logged = [case for case in failing if case.has_log]
    if not logged:
        return ()
    peers = [peer for peer in population.peers(failing[0]) if peer.has_log]
    # `printed_by_working` counts all that work, these too: a case that is among the failing and among the peers is
    # taken out once, so that `elsewhere` is what other programs print.
    failing_counts = Counter(
        text
        for case in {id(container_case): container_case for container_case in (*failing, *peers)}.values()
        if case.works
        for text in case.digest.alarming
    )
    elsewhere = {text: number - failing_counts[text] for text, number in population.printed_by_working.items()}
    templates: dict[str, int] = {}
    for case in logged:
        for text, lines in case.digest.alarming.items():
            templates[text] = templates.get(text, 0) + lines
    ranked = sorted(templates, key=lambda text: (-templates[text], text))
    signs = {hit.template for case in logged for hit in case.signs.hits}
    judged = [_judge(text, logged, peers, elsewhere.get(text, 0), is_sign=text in signs) for text in ranked]
    order = (LineVerdict.ONLY_FAILING, LineVerdict.UNSURE, LineVerdict.NOISE)
    chosen = [line for verdict in order for line in judged if line.verdict is verdict]
    noise = [line for line in chosen if line.verdict is LineVerdict.NOISE][: LIMITS.noise_lines]
    return (*[line for line in chosen if line.verdict is not LineVerdict.NOISE][: LIMITS.noise_lines], *noise)


def _judge(
    text: str, failing: Sequence[ContainerCase], peers: Sequence[ContainerCase], elsewhere: int, *, is_sign: bool
) -> LogLine:
    printing = [case for case in failing if text in case.digest.alarming]
    working = [peer for peer in peers if text in peer.digest.alarming]
    lines = sum(case.digest.alarming[text] for case in printing)
    per_start = lines / sum(case.digest.starts for case in printing)
    per_start_healthy = None
    if working:
        healthy_lines = sum(case.digest.alarming[text] for case in working)
        per_start_healthy = healthy_lines / sum(case.digest.starts for case in working)
    is_noise = bool(working) and len(working) >= len(peers) * _NOISE_SHARE
    if not peers:
        is_noise = elsewhere >= _NOISE_ELSEWHERE
    verdict = (
        LineVerdict.NOISE if is_noise else LineVerdict.ONLY_FAILING if peers and not working else LineVerdict.UNSURE
    )
    is_more_often = per_start_healthy is None or per_start > 2 * per_start_healthy
    if verdict is LineVerdict.NOISE and is_sign and is_more_often:
        verdict = LineVerdict.UNSURE  # a known sign of trouble, and printed more often here
    return LogLine(
        template=text,
        verdict=verdict,
        lines=lines,
        failing_pods=len(printing),
        failing_pods_with_log=len(failing),
        healthy_pods=len(working),
        healthy_pods_with_log=len(peers),
        healthy_elsewhere=elsewhere,
        per_start=per_start,
        per_start_healthy=per_start_healthy,
        sentence=Text(_sentence(verdict, len(working), len(peers), elsewhere, per_start, per_start_healthy)),
    )


def _sentence(
    verdict: LineVerdict, working: int, peers: int, elsewhere: int, here: float, working_rate: float | None
) -> str:
    also = f", and in {count(elsewhere, 'working pod')} of other programs" if elsewhere else ""
    if verdict is LineVerdict.NOISE:
        if not peers:
            return f"Noise: {count(elsewhere, 'working pod')} of other programs print it as well"
        rate = f", {here:.3g} a start here, {working_rate:.3g} there" if working_rate is not None else ""
        return f"Noise: {working:,} of {count(peers, 'working pod')} of the same program print it as well{rate}{also}"
    if verdict is LineVerdict.ONLY_FAILING:
        return f"Only here: none of {count(peers, 'working pod')} of the same program prints it{also}"
    if not peers:
        return f"Can't be compared: no working pod of the same program has a log{also}"
    return f"Not only here: {working:,} of {count(peers, 'working pod')} of the same program print it{also}"
