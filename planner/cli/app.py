"""``headroom app``: the dashboard, from wherever Headroom is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

import planner
from planner.cli import waiting
from planner.errors import InputError
from planner.sources.cluster import CLUSTER_VARIABLE, CONTEXT_PREFIX, EMBEDDED


def folder() -> Path:
    """Where app.py, pages/ and .streamlit/ are: inside the package when installed, beside it in a checkout."""
    package = Path(planner.__file__).parent
    installed = package / "_app"
    return installed if installed.is_dir() else package.parent


@click.command("app")
@click.argument("cluster", default="demo")
@click.option("--host", default="localhost", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8501, show_default=True, help="The port to listen on.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open a browser.")
def command(cluster: str, host: str, port: int, *, browser: bool) -> int:
    """The dashboard on that cluster, else on the demo.

    Everybody who opens it sees that cluster. A live one (context:NAME) is watched; any other is read once, when the first page
    is opened: start anew to read it anew.
    """
    environment = {**os.environ, CLUSTER_VARIABLE: absolute(cluster)}
    os.chdir(folder())  # Streamlit reads .streamlit/config.toml there
    options = {
        "server.address": host, "server.port": port, "server.headless": str(not browser).lower(),
        "browser.gatherUsageStats": "false",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    waiting.end()
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", "streamlit", "run", "app.py", *words], environment)  # noqa: S606 - no shell, our own words


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
            raise InputError("is read once, and the dashboard may have to again", where=place, mend="Name a file")
        if not Path(place).exists():
            raise InputError("there is no such file or folder", where=place, mend="Check the path")
    return ",".join(str(Path(place).resolve()) for place in places)
