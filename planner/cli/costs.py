"""``headroom costs``: the made command, and what was really billed beside its answer."""

from __future__ import annotations

from typing import Final

import click

from planner.cli import options, terminal
from planner.cli.given import FILE
from planner.cli.plain import Called, Hooks, command_of
from planner.ground.words import usd
from planner.pricing.actual import reconciled
from planner.pricing.bill import ClusterBill
from planner.sources.bills import load_bill

_ACTUAL: Final = options.option("", "--actual", "bill_file", type=FILE, metavar="FILE",
    is_everyday=True, help="What was really billed, beside the list: FOCUS or Google's billing export (CSV, Parquet), OpenCost's /allocation (JSON).",
)  # fmt: skip


def _print_actual(called: Called, bill: ClusterBill) -> None:
    """The line that tells, and where bill and list part; beside tables and JSON on standard error."""
    file = called.values["bill_file"]
    if file is None:
        return
    found = reconciled(bill, called.snapshots[0].nodes, load_bill(file))
    if called.values["output_format"] != "text":
        click.echo(found.sentence, err=True)
        return
    terminal.say(f"\n{found.sentence}")
    if not found.parts:
        return
    rows = [
        {
            "machine": part.machine_type,
            "region": part.region_id,
            "bought": part.provisioning,
            "nodes": part.nodes,
            "list USD/h": f"{part.list_usd_per_hour:.6g}",
            "billed USD/h": f"{part.billed_usd_per_hour:.6g}",
            "list a month": usd(part.list_usd),
            "billed a month": usd(part.billed_usd),
            "SKUs": ", ".join(part.skus[:3]),
        }
        for part in found.parts
    ]
    click.echo()
    terminal.say_rows(rows)


command = command_of("costs", Hooks(options=_ACTUAL, beside=_print_actual))
