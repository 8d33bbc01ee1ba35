"""``python -m tests.trust.crowded_app PORT``: the dashboard with the crowded cluster (208 copies of the demo) in the place of the large
example."""

import os
import sys
from functools import partial
from pathlib import Path

from planner.cli import dashboard_server
from planner.cli.app import STREAMLIT
from planner.sources import demo
from tests.bench import crowd

PROGRAM = ("-m", "tests.trust.crowded_app")

if __name__ == "__main__":
    os.environ.update(STREAMLIT)
    demo.EMBEDDED[demo.LARGE_NAME] = lambda: crowd.snapshot(208)
    sys.exit(
        dashboard_server.run(partial(dashboard_server.load, Path.cwd()), "localhost", int(sys.argv[1]), browser=False)
    )
