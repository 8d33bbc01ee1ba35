"""``headroom costs``: the generated command, plus the billed costs beside its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from planner.cli import options_from_settings, terminal
from planner.cli.input_options import FILE
from planner.cli.question_commands import Called, Hooks, command_of
from planner.ground.errors import InputError
from planner.ground.words import count, listing, usd
from planner.pricing.billed_costs import Reconciled, price_list, reconciled
from planner.pricing.projected_bill import ClusterBill
from planner.sources.bills import load_bill
from planner.sources.prices import write_refreshed

_ACTUAL: Final = options_from_settings.option("", "--actual", "bill_file", type=FILE, metavar="FILE",
    is_everyday=True, help="What was really billed, beside the list: FOCUS, Google's billing export, AWS' CUR 2.0, Azure's cost details "
    "(CSV, Parquet), OpenCost's /allocation (JSON).",
)  # fmt: skip
_WRITE: Final = options_from_settings.option("", "--write-prices", "prices_file", type=FILE, metavar="OUT",
    help="With --actual: write what the bill says an hour of each machine costs, as prices of your own (CSV for --prices): discounts, "
    "reservations and savings plans are in them, and nodes without a price in the list get theirs.",
)  # fmt: skip


_FIX: Final = "Export it with resources: FOCUS' ResourceId, Google's detailed usage cost, CUR 2.0 with resource ids"


def _print_actual(called: Called, bill: ClusterBill) -> None:
    """The line that tells, and where bill and list part; beside tables and JSON on standard error."""
    file, out = called.values["bill_file"], called.values["prices_file"]
    if file is None and out is not None:
        raise click.UsageError("--write-prices takes its prices from a bill: give it with --actual FILE")
    if file is None:
        return
    reconciliation = reconciled(bill, called.snapshots[0].nodes, load_bill(file))
    if out is not None:
        click.echo(_written(reconciliation, out), err=True)
    if called.values["output_format"] != "text":
        click.echo(reconciliation.sentence, err=True)
        return
    terminal.say(f"\n{reconciliation.sentence}")
    if not reconciliation.parts:
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
        for part in reconciliation.parts
    ]
    click.echo()
    terminal.say_rows(rows)


def _written(reconciliation: Reconciled, out: Path) -> str:
    """Writes the bill's prices; how many, and of which nodes there is none."""
    if not reconciliation.prices:
        raise InputError("names none of these nodes clearly: there is no price to write", where="--actual", fix=_FIX)
    write_refreshed(out, price_list(reconciliation))
    remainder_text = (
        f" No price of {listing(reconciliation.unpriceable)}: the bill doesn't name them clearly."
        if reconciliation.unpriceable
        else ""
    )
    return (
        f"{count(len(reconciliation.prices), 'price')} of {count(sum(len(price.nodes) for price in reconciliation.prices), 'node')} written to {out}, as of "
        f"{reconciliation.until}.{remainder_text} Use it with --prices {out}"
    )


command = command_of("costs", Hooks(options=options_from_settings.together(_ACTUAL, _WRITE), beside=_print_actual))
