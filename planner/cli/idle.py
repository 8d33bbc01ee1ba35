"""``headroom idle``: GPUs that pods hold and don't use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import ask_prometheus, price_book, price_options, prometheus_options
from planner.ground.errors import InputError
from planner.ground.tables import as_text
from planner.pricing.idle import IdleAnswer
from planner.questions.idle import QUESTION, IdleSettings, answer, pod_rows
from planner.questions.question import Given
from planner.questions.wording import for_people


@click.command("idle")
@click.argument("cluster")
@prometheus_options(what="It scrapes NVIDIA's DCGM exporter or AMD's device-metrics-exporter; needed.")
@options.asked(IdleSettings)
@price_options
@output.printing(QUESTION)
def command(
    cluster: str,
    prometheus_url: str,
    prometheus_token_file: Path | None,
    days: int,
    own_prices: tuple[Path, ...],
    discounts: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """GPUs that pods hold and don't use: whose, since when, and what they cost a month; GPUs that nobody asked for apart.

    Read from a Prometheus: DCGM_FI_PROF_GR_ENGINE_ACTIVE, DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED, or AMD's
    gpu_gfx_activity and gpu_used_vram. A held GPU without readings is counted as not measured, never as idle.
    """
    if not prometheus_url:
        mend = "Name one that scrapes DCGM's or AMD's exporter: --prometheus http://prometheus.example:9090"
        raise InputError("no Prometheus is given", where="--prometheus", mend=mend)
    from planner.sources.prometheus_gpus import gpu_use

    snapshot, settings = read_cluster(cluster), options.read(IdleSettings, asked)
    uses = ask_prometheus(
        prometheus_url,
        prometheus_token_file,
        lambda server: gpu_use(server, end=snapshot.taken_at, days=days, busy_percent=settings.busy_percent),
    )
    found = answer(snapshot, settings, Given(book=price_book(own_prices, discounts), gpu_uses=uses))
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found)


def _print(found: IdleAnswer) -> None:
    terminal.say(f"{found.sentence}.")
    if found.pods:
        click.echo("")
        click.echo(as_text(for_people(pod_rows(found)), unknown="not known"), nl=False)
