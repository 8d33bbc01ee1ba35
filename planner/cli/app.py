"""``headroom app``: starts the dashboard, wherever Headroom is installed."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from planner.cli import progress_line
from planner.cli.input_options import FILE
from planner.ground.errors import InputError
from planner.sources import dashboard_access
from planner.sources.cluster_argument import CLUSTER_VARIABLE, CONTEXT_PREFIX, EMBEDDED

STREAMLIT: Final = {"STREAMLIT_SERVER_HEADLESS": "true", "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false"}
"""Streamlit's own settings, as its configuration reads them from the environment."""
_ROOT: Final = Path(__file__).parents[__name__.count(".")]


def folder() -> Path:
    """Where app.py, pages/ and .streamlit/ are: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "_app"
    return installed if installed.is_dir() else package.parent


@click.command("app")
@click.argument("cluster", default="demo")
@click.option("--host", default="localhost", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8501, show_default=True, help="The port to listen on.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open a browser.")
@click.option(
    "--sign-in",
    type=FILE,
    metavar="FILE",
    help="TOML with the identity provider and the people to let in (docs/deploy.md).",
)
def command(cluster: str, host: str, port: int, *, browser: bool, sign_in: Path | None) -> int:
    """The dashboard on that cluster, else on the demo.

    Every visitor sees that cluster. A live one (context:NAME) is watched; any other is read once, when the first page
    is opened: start anew to read it anew. Without sign-in it listens on localhost only.
    """
    if sign_in is not None:
        os.environ[dashboard_access.VARIABLE] = str(sign_in.resolve())
    environment = {**os.environ, CLUSTER_VARIABLE: absolute(cluster), **STREAMLIT, "STREAMLIT_SERVER_PORT": str(port)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), environment.get("PYTHONPATH", "")]))
    environment["STREAMLIT_SERVER_ADDRESS"] = host
    os.chdir(folder())  # Streamlit reads .streamlit/ there
    if dashboard_access.configured() is None:
        if not dashboard_access.is_local(host):
            raise InputError(dashboard_access.LOCAL_ONLY, where=f"--host {host}", fix=dashboard_access.HOW_TO)
        click.echo("No sign-in is configured: Headroom listens on localhost only.", err=True)
    words = [host, str(port), *(["browser"] if browser else [])]
    progress_line.end()
    sys.stdout.flush()
    if find_spec("streamlit") is None:
        raise ModuleNotFoundError(name="streamlit")
    os.execve(sys.executable, [sys.executable, "-m", f"{__package__}.dashboard_server", *words], environment)  # noqa: S606 - no shell, our own words


def absolute(cluster: str) -> str:
    """`cluster` as it can be read from another folder.

    Raises
    ------
    InputError
        For what isn't there, and for standard input.
    """
    if cluster in EMBEDDED or cluster.startswith(CONTEXT_PREFIX):
        return cluster
    places = [cluster] if Path(cluster).exists() else cluster.split(",")
    for place in places:
        if place == "-":
            raise InputError("is read once, and the dashboard may have to again", where=place, fix="Name a file")
        if not Path(place).exists():
            raise InputError("there is no such file or folder", where=place, fix="Check the path")
    return ",".join(str(Path(place).resolve()) for place in places)
