"""The dashboard's server process, which ``headroom app`` starts, with the limits of the server of reviews."""

from __future__ import annotations

import importlib.util
import os
import sys
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from planner.ground import errors
from planner.serve.http_server import Server


def load(place: Path) -> Any:
    """``app`` of app.py, in the folder where Streamlit finds its .streamlit/config.toml."""
    os.chdir(place)
    module_spec = importlib.util.spec_from_file_location("headroom_app", place / "app.py")
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module.app


def run(application: Callable[[], Any], host: str, port: int, *, browser: bool) -> int:
    """Serve what `application` gives until it is told to stop."""
    say = partial(click.echo, err=True)
    base = os.environ.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
    place = f"http://{host}:{port}" + (f"/{base}" if base else "")

    def there() -> None:
        click.echo(f"The dashboard is on {place}")
        if browser:
            webbrowser.open(place)

    try:
        server = Server(application(), host=host, port=port, certificate=None, key=None, is_dashboard=True)
        server.when_there = there
        server.load()
    except errors.HeadroomError as error:
        say(f"headroom: {error}")
        return 1
    server.run_saying(say)
    return 0


if __name__ == "__main__":
    sys.exit(run(partial(load, Path.cwd()), sys.argv[1], int(sys.argv[2]), browser=sys.argv[3:] == ["browser"]))
