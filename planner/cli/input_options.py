"""Options for inputs beside CLUSTER, and how they are read: pool limits, prices, use over time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from planner.capacity.what_if_syntax import ChangeKind
from planner.cli import options_from_settings, progress_line, terminal
from planner.ground.errors import InputError
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Node, Snapshot
from planner.pricing.price_book import PriceBook, PricingCategory
from planner.questions.side_event_settings import MeanwhileSettings
from planner.rollout.gate_policy import GatePolicy, read_policy
from planner.sources import bounded_reading

if TYPE_CHECKING:
    from planner.sources.prometheus_usage import Prometheus

T = TypeVar("T")

FILE: Final = click.Path(path_type=Path, dir_okay=False)
THERE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)


# ── node pools ───────────────────────────────────────────────────────────────────────────────────────────────────────
pool_options: Final = options_from_settings.together(
    options_from_settings.option(
        "Node pools",
        "--node-pools", "pool_files", multiple=True, metavar="FILE",
        help="How far node pools may grow: gcloud container node-pools list --format=json, Karpenter NodePools, or the "
        "cluster-autoscaler-status ConfigMap; and the cloud's quotas (gcloud compute regions describe, az vm list-usage, aws "
        "service-quotas list-service-quotas); repeatable.",
    ),
    options_from_settings.option(
        "Node pools",
        "--instance-types", multiple=True, metavar="FILE",
        help="Which machines Karpenter may bring: a JSON list as its kwok provider takes (name, resources, offerings); repeatable.",
    ),
    options_from_settings.option(
        "Node pools",
        "--gke", metavar="CLUSTER", help="The same live: projects/P/locations/L/clusters/C (needs headroom-planner[gke]).",
    ),
)  # fmt: skip


def pool_limits(snapshot: Snapshot, files: tuple[str, ...], gke: str | None) -> tuple[PoolLimits, ...]:
    """What files and the cloud say of node pools."""
    from planner.sources import gcloud_node_pools, node_pool_files

    file_limits = tuple(limits for name in files for limits in node_pool_files.read(name))
    return node_pool_files.stated(snapshot, file_limits + (gcloud_node_pools.read_live(gke) if gke else ()))


# ── the policy of the gate and the webhook ───────────────────────────────────────────────────────────────────────────
POLICY: Final = "headroom.toml"
_LARGEST_POLICY: Final = 2**20  # bytes


policy_option: Final = options_from_settings.option("", "--policy", "policy_file", metavar="FILE",
    is_everyday=True, help=f"What is let through, at the gate and by the webhook; else {POLICY} of the working folder, where it is there.",
)  # fmt: skip


def policy_of(name: str | None) -> GatePolicy:
    """The policy of that file, else of the working folder."""
    path = Path(name or POLICY)
    if name is None and not path.exists():
        return GatePolicy()
    return read_policy(bounded_reading.read_text(path, limit=_LARGEST_POLICY, fix="Give TOML in UTF-8"), str(path))


# ── prices ───────────────────────────────────────────────────────────────────────────────────────────────────────────
price_options: Final = options_from_settings.together(
    options_from_settings.option(
        "Prices",
        "--prices", "own_prices", multiple=True, type=FILE, metavar="FILE", help="A CSV of your own prices; repeatable."
    ),
    options_from_settings.option(
        "Prices",
        "--discount", "discounts", multiple=True, metavar="CATEGORY=SHARE",
        help="Negotiated discount: Standard, Dynamic, Committed or Other, such as Standard=0.15; repeatable.",
    ),
    options_from_settings.option(
        "Prices",
        "--commitments", type=FILE, metavar="FILE", envvar="HEADROOM_COMMITMENTS",
        help="Commitments that the account owns, once for all workloads: CSV, machine_type, region, nodes, term (1y, 3y), and "
        "usd_per_hour of a node and id where known; a savings plan has usd_per_hour, discount and no nodes.",
    ),
)  # fmt: skip


def price_book(
    own: tuple[Path, ...], discounts: tuple[str, ...], commitments: Path | None = None, refreshed: Path | None = None
) -> PriceBook:
    """The book that commands reckon with."""
    from planner.sources.prices import load_book, load_commitments

    book = load_book(own, refreshed=refreshed).with_discounts(read_discounts(discounts))
    return book.with_commitments(load_commitments(commitments)) if commitments else book


def oldest_price(book: PriceBook, snapshots: Iterable[Snapshot]) -> str:
    """The date of the oldest price of the clusters' nodes, as their bills say; the book's where none has a price."""
    from planner.pricing.node_price import price_node

    days = {price_node(book, node).price.as_of for snapshot in snapshots for node in snapshot.nodes}
    return min(filter(None, days), default=book.as_of)


def say_age(as_of: str, nodes: Iterable[Node] = ()) -> None:
    """That prices are old, on standard error, where they are, and the command that reads those of the nodes' clouds."""
    from planner.pricing.node_price import refresh_commands
    from planner.pricing.price_table_parser import age_warning

    if (warning := as_of and age_warning(as_of, time.time())) and not progress_line.is_quiet():
        commands = refresh_commands(nodes) or ("headroom costs --price-list refresh",)
        reads = " and ".join(f'"{command}"' for command in commands)
        terminal.say(f"{warning} Read today's with {reads}.", err=True)


def read_discounts(texts: tuple[str, ...]) -> dict[PricingCategory, float]:
    """``Standard=0.15`` … as categories and shares; "15%" is understood too."""
    discounts: dict[PricingCategory, float] = {}
    for text in texts:
        name, _, share = text.partition("=")
        category = next((candidate for candidate in PricingCategory if candidate.lower() == name.strip().lower()), None)
        try:
            value = float(share.strip().removesuffix("%")) / (100 if share.strip().endswith("%") else 1)
        except ValueError:
            value = -1.0
        if category is None or value < 0:
            raise InputError(
                f'"{text}" is not a discount',
                where="--discount",
                fix=f"Write it like Standard=0.15; categories are {', '.join(PricingCategory)}",
            )
        discounts[category] = value
    return discounts


# ── Prometheus ───────────────────────────────────────────────────────────────────────────────────────────────────────
def prometheus_options(
    what: str = "Use over time from here, instead of the snapshot's one moment of metrics-server.",
    days: int = 7,
) -> options_from_settings.Options:
    """``--prometheus``, ``--prometheus-token-file`` and ``--days``; `what` comes from there, by default of so many days."""
    return options_from_settings.together(
        options_from_settings.option("Prometheus", "--prometheus", "prometheus_url", default="", metavar="URL", is_eager=True, is_everyday=True, help=what),
        options_from_settings.option("Prometheus", "--prometheus-token-file", type=THERE, metavar="FILE", callback=_with_url,
                     help="A file with a bearer token for it."),
        options_from_settings.option("Prometheus", "--days", type=click.IntRange(1, 90), default=days, show_default=True,
                     help="How many days before the snapshot Prometheus is asked for."),
    )  # fmt: skip


def _with_url(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and not context.params.get("prometheus_url"):
        raise options_from_settings.alone(option.opts[0], "--prometheus")
    return path


def ask_prometheus(url: str, token_file: Path | None, ask: Callable[[Prometheus], T]) -> T:
    """What `ask` reads of the server at `url`; its warnings are told."""
    from planner.sources.prometheus_usage import Prometheus

    fix = "Name a file that holds the token only"
    token = bounded_reading.read_text(token_file, limit=2**20, fix=fix).strip() if token_file else ""
    server = Prometheus(url=url, token=token)
    response = ask(server)
    for warning in server.warnings:
        click.echo(f"Prometheus warns: {warning}", err=True)
    return response


def manifests_of(then: Any) -> dict[str, str]:
    """The manifests that the events of ``--then`` apply, as their setting."""
    later_changes = options_from_settings.read(MeanwhileSettings, {"then": then}).then
    files = [later.change.target for later in later_changes if later.change.kind is ChangeKind.APPLY]
    from planner.sources import manifest_files

    return {"then_manifests": json.dumps([manifest_files.read((file,)).text for file in files])} if files else {}
