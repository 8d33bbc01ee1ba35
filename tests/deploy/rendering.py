"""Renders the chart with Helm's own library; run by the interpreter of an environment that has it (`helm.py`)."""

from __future__ import annotations

import json
import sys


def rendered(chart: str, values: str, namespace: str) -> str:
    """What a release called ``headroom`` would apply, file → text, and what lint finds, as JSON."""
    import helm_python  # type: ignore[import-not-found,unused-ignore] # of that environment

    with helm_python.Chart.load(chart) as loaded:
        made = loaded.render(json.loads(values), name="headroom", namespace=namespace)
    return json.dumps({"made": made, "lint": helm_python.lint(chart)["errors"]})


if __name__ == "__main__":
    sys.stdout.write(rendered(*sys.argv[1:]))
