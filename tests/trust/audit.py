"""``python -m tests.trust.audit REPORT``: what pip-audit found, where its data could be reached."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["dependencies"]
    asked = [one for one in found if "skip_reason" not in one]
    bad = [one for one in asked if one["vulns"]]
    for one in bad:
        known = ", ".join(vuln["id"] for vuln in one["vulns"])
        print(f"{one['name']} {one['version']}: {known}")
    if not asked:
        print(f"pip-audit's data can't be reached from here: none of {len(found)} packages was asked for")
    else:
        print(f"{len(asked)} of {len(found)} packages asked for, {len(bad)} with known vulnerabilities")
    sys.exit(bool(bad))
