"""What the wheel holds: one package, headroom_planner, with all of planner/, data/, app.py and pages/ inside.

`planner` is a name that others have too: two wheels with a package of that name overwrite each other in silence. So the wheel's
copies import ``headroom_planner.planner``; in the repository, and where it is installed with ``pip install -e``, it is ``planner``
(docs/decisions/0017-one-package-in-the-wheel.md).
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "headroom_planner"
_IMPORT = re.compile(r"^(\s*)(from|import) planner(?=[. ])", re.MULTILINE)
_APP = ("app.py", "pages", ".streamlit/config.toml")


def inside(source: str) -> str:
    """The source with its imports of ``planner`` as the wheel has them."""
    return _IMPORT.sub(rf"\1\2 {PACKAGE}.planner", source)


class Inside(BuildHookInterface[Any]):
    """Puts everything into the one package."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copies what is to be renamed, and says where it all goes; an editable wheel points at the repository as it is."""
        if version == "editable":
            return
        root = Path(self.root)
        self._copies = tempfile.TemporaryDirectory(prefix="headroom-wheel-")
        files = [
            *(root / "planner").rglob("*"),
            *(root / PACKAGE).rglob("*.py*"),
            root / "app.py",
            *(root / "pages").rglob("*"),
        ]
        for path in (one for one in files if one.is_file() and one.suffix != ".pyc"):
            place = Path(self._copies.name) / path.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(
                inside(path.read_text(encoding="utf-8")).encode()
                if path.suffix in (".py", ".pyi")
                else path.read_bytes()
            )
        copies = Path(self._copies.name)
        included = {
            copies / "planner": "planner",
            root / "data": "planner/_data",
            copies / PACKAGE / "__init__.py": "__init__.py",
        }
        included |= {(root if one.startswith(".") else copies) / one: f"planner/_app/{one}" for one in _APP}
        build_data["force_include"].update({str(path): f"{PACKAGE}/{place}" for path, place in included.items()})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._copies.cleanup()
