"""``headroom costs --price-list``: shows the price book, and refreshes its prices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from planner.cli import terminal
from planner.cli.input_options import FILE, price_book, price_options, say_age
from planner.cli.output import output_option, write_document, write_rows
from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.table_formats import alike
from planner.pricing.cloud_price_lists import format_list
from planner.pricing.price_book import PriceBook, Provisioning
from planner.pricing.price_book_listing import WAYS, PriceLine, list_prices
from planner.pricing.price_refresh_rules import apply_refresh, check_coverage, compare_catalogue
from planner.pricing.price_table_parser import format_units
from planner.sources import gcp_billing
from planner.sources.cloud_prices import read_prices
from planner.sources.prices import (
    LISTED,
    REFRESH_SOURCE,
    embedded_book,
    list_file,
    load_book,
    read_list_file,
    refreshed_file,
    write_refreshed,
)

_SHOWN_DISAGREEMENTS = 20
PRICES_FORMAT = "headroom.prices/v1"


class _Shows(click.Group):
    """A group that shows prices where no command of it is named: ``headroom costs --price-list --gpu T4``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = bool(args) and (args[0] in self.commands or not args[0].startswith("-"))
        is_help = bool(args) and args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_named or is_help else [show.name or "", *args])


@click.group(name="prices", cls=_Shows, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Prices of machines and GPUs: list prices in US dollars an hour, before tax."""


@command.command()
@click.option("--region", "region_id", default="", metavar="R", help="One region, such as asia-northeast3.")
@click.option("--machine-type", default="", metavar="T", help="Such as g2-standard-12, or custom-8-32768.")
@click.option("--gpu", default="", metavar="G", help="Such as T4 or nvidia-tesla-t4; attached to an N1 machine type.")
@click.option("--gpu-count", default=1, show_default=True, type=click.IntRange(1, 16), help="GPUs attached.")
@price_options
@click.option("--refreshed", type=FILE, metavar="FILE", help="A file written by refresh, instead of the usual one.")
@output_option
def show(
    region_id: str,
    machine_type: str,
    gpu: str,
    gpu_count: int,
    refreshed: Path | None,
    output_format: str,
    **values: Any,
) -> None:
    """Show prices; with nothing named, of one GPU of each model in each region that was read."""
    book = price_book(values["own_prices"], values["discounts"], values["commitments"], refreshed)
    lines = list_prices(book, region_id=region_id, machine_type=machine_type, gpu=gpu, gpu_count=gpu_count)
    if output_format in ("json", "yaml"):
        lines_by_place = {
            "format": PRICES_FORMAT,
            "as_of": book.as_of,
            "source": book.source,
            "billing_currency": book.billing_currency,
            "discounts": dict(book.discounts),
            "prices": [_row(line) for line in lines],
        }
        write_document(output_format, lines_by_place)
    elif output_format in ("csv", "markdown"):
        write_rows(output_format, [_row(line) for line in lines])
    else:
        terminal.say(
            f"{words.count(len(lines), 'price')} in US dollars an hour, before tax: list prices less your discounts.\n"
        )
        terminal.say_rows([_table_row(line) for line in lines], unknown="no price")
        terminal.say(f"\n{book.source}.")
        for (note, first), *more in alike(
            [(note, line) for line in lines for note in line.notes], lambda noted_line: noted_line[0]
        ):
            others = f" and {len(more)} more" if more else ""
            click.echo(f"  {note} [{first.name}, {first.region_id}{others}]")
    say_age(book.as_of)


@command.command()
@click.option("--api-key", default="", envvar="HEADROOM_BILLING_API_KEY", show_envvar=True, metavar="KEY",
              help="Any API key of a project with the Cloud Billing API; else your Google credentials are used.")  # fmt: skip
@click.option("--out", type=FILE, metavar="FILE", help="Where to write; a file in your cache folder otherwise.")
@click.option("--endpoint", default="", metavar="URL", help="Another server that speaks the price list's API.")
@click.option("--cloud", "cloud_name", type=click.Choice([cloud.prices for cloud in LISTED]),
              help="Another cloud's list instead, of the regions named; without a key.")  # fmt: skip
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="R",
    help="A region of that cloud, such as westeurope; may be repeated.",
)
def refresh(api_key: str, out: Path | None, endpoint: str, cloud_name: str | None, regions: tuple[str, ...]) -> None:
    """Read today's list prices from the Cloud Billing Catalog into a CSV file, checked against those known."""
    if cloud_name or regions:
        _refresh_list(cloud_name, regions, out, endpoint)
        return
    path = out or refreshed_file()
    book = _known_prices(path, is_named=out is not None)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    skus = gcp_billing.list_skus(api_key=api_key, endpoint=endpoint)
    comparison = compare_catalogue(book, skus, as_of=today, source=REFRESH_SOURCE)
    check_coverage(book, comparison)
    newer = apply_refresh(book, comparison.units, as_of=today, source=REFRESH_SOURCE)
    refreshed_units = [unit for unit in newer.units.values() if unit.source == REFRESH_SOURCE]
    write_refreshed(path, format_units(refreshed_units))
    click.echo(
        f"{words.count(comparison.sku_count, 'SKU')} read, {words.count(len(comparison.units), 'price')} taken, written to {path}"
    )
    doubtful = [disagreement for disagreement in comparison.disagreements if disagreement.doubt.keeps_old]
    taken = len(comparison.disagreements) - len(doubtful)
    if comparison.disagreements:
        click.echo(f"{words.count(taken, 'price')} taken with a doubt and {len(doubtful)} not taken:")
    # What was taken with a doubt changes figures from now on, what was kept changes none: it comes first.
    _print_doubts(
        [
            str(disagreement.sentence)
            for disagreement in sorted(comparison.disagreements, key=lambda disagreement: disagreement.doubt.keeps_old)
        ]
    )
    if comparison.missing:
        click.echo(
            f"{words.count(len(comparison.missing), 'price of the book is', 'prices of the book are')} not in the catalogue; {words.plural(len(comparison.missing), 'it keeps its', 'they keep their')} date."
        )
    if comparison.unknown:
        click.echo(
            f"{words.count(len(comparison.unknown), 'description')} not understood, such as: {'; '.join(comparison.unknown[:3])}"
        )


def _refresh_list(name: str | None, regions: tuple[str, ...], out: Path | None, endpoint: str) -> None:
    cloud = next((listed_cloud for listed_cloud in LISTED if listed_cloud.prices == name), None)
    if cloud is None or not regions:
        fix = f"Write it like --cloud {LISTED[-1].prices} --region westeurope"
        raise InputError("a cloud and its regions belong together", fix=fix)
    path = out or list_file(cloud)
    written = read_list_file(path, cloud) if path.is_file() else None
    price_lists = (*embedded_book().lists, *([written] if written else []))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    price_list = read_prices(cloud, dict.fromkeys(regions), price_lists, as_of=today, endpoint=endpoint)
    write_refreshed(path, format_list(price_list.rows, written))
    click.echo(
        f"{words.count(sum(len(row.usd_per_hour) for row in price_list.rows), 'price')} of {words.count(len(price_list.rows), 'machine type')} taken, written to {path}"
    )
    _print_doubts([str(doubt) for doubt in price_list.doubts])


def _print_doubts(doubts: list[str]) -> None:
    for doubt in doubts[:_SHOWN_DISAGREEMENTS]:
        click.echo(f"  {doubt}")
    if len(doubts) > _SHOWN_DISAGREEMENTS:
        click.echo(f"  and {len(doubts) - _SHOWN_DISAGREEMENTS} more")


def _known_prices(path: Path, *, is_named: bool) -> PriceBook:
    """What a refresh is checked against: the snapshot under the last refresh, if that was written to the same file.

    A damaged file in the cache folder is as good as none. A file of another kind that was named is not written over.
    """
    if not path.is_file():
        return embedded_book()
    try:
        return load_book(refreshed=path)
    except InputError as error:
        if is_named:
            raise InputError(error.what, where=error.where, fix="Name another file, or remove this one") from error
        click.echo(f"{error}. It is written anew.", err=True)
        return embedded_book()


# ── output ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _row(line: PriceLine) -> dict[str, Any]:
    prices = {f"{way.value.replace('-', '_')}_usd_per_hour": line.prices[way.value].usd_per_hour for way in WAYS}
    demand = line.prices[WAYS[0].value]
    dates = sorted({price.as_of for price in line.prices.values() if price.as_of})
    return {
        "name": line.name,
        "region_id": line.region_id,
        "vcpus": line.vcpus or None,
        "memory_gib": line.memory_gib or None,
        "gpu_model": line.gpu_model,
        "gpu_count": line.gpu_count,
        **prices,
        "on_demand_usd_per_month": demand.usd_per_month,
        "spot_discount": line.spot_discount,
        "is_sold_on_demand": demand.is_sold and demand.usd_per_hour is not None,
        "as_of": dates[0] if dates else "",
        "notes": list(line.notes),
    }


def _table_row(line: PriceLine) -> dict[str, object]:
    def price(way: Provisioning) -> str | None:
        model_price = line.prices[way.value]
        return (
            None
            if model_price.usd_per_hour is None
            else f"{'~' if model_price.is_estimate else ''}{model_price.usd_per_hour:,.4f}"
        )

    demand, spot, flex_start, one_year, three_years = map(price, WAYS)
    month = line.prices[WAYS[0].value].usd_per_month
    return {
        "": line.name,
        "region": line.region_id,
        "on demand": demand,
        "$/month": f"{month:,.2f}" if month else "",
        "spot": spot,
        "off": "" if line.spot_discount is None else f"{line.spot_discount:.0%}",
        "flex-start": flex_start,
        "1 year": one_year,
        "3 years": three_years,
    }
