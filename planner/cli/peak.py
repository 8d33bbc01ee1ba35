"""``headroom peak``: rollouts between the bounds of their autoscalers."""

from __future__ import annotations

import click

from planner.cli import output, terminal
from planner.cli.cluster import read_cluster
from planner.ground.words import sentence
from planner.questions.peak import QUESTION, PeakAnswer, PeakSettings, answer
from planner.rollout.wording import words


@click.command("peak")
@click.argument("cluster")
@output.printing(QUESTION)
def command(cluster: str, rows: str, output_format: str) -> int:
    """Which rollouts go at their autoscaler's highest replicas, and which only while there are few pods.

    HorizontalPodAutoscalers and KEDA's ScaledObjects are read. One workload by itself: headroom rollout --at highest.
    """
    snapshot = read_cluster(cluster)
    settings = PeakSettings()
    found = answer(snapshot, settings)
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found)


def _print(found: PeakAnswer) -> None:
    terminal.say(sentence(found.sentence))
    for line in found.lines:
        terminal.say(f"\n{line.workload} ({line.autoscaler})")
        for name, one in (("lowest", line.lowest), ("today", line.today), ("highest", line.highest)):
            is_short = one.reached is not None and one.reached < one.replicas
            room = f"; only {one.reached:,} of them find a node" if is_short else ""
            head = f"  {name:<8}{one.replicas:>5}  "
            terminal.say_verdict(one.verdict, head, f"{words(one.verdict, one.reason)}{room}", indent=" " * len(head))
    if found.not_asked:
        terminal.say(f"\n{found.not_asked:,} more are scaled and weren't asked")
