"""Build hook: a wheel or source archive contains the pages' assets and names its commit, or it is not built."""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelContents(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # `make install` fetches the assets afterwards
            return
        root = Path(self.root)
        missing = missing_assets(root)
        if missing:
            self.app.abort(
                f"The pages' assets are missing ({', '.join(missing)}): run `make install`, then build again."
            )
        package = root / "src" / "saraban"
        if (package / "commit.txt").exists():  # of the source archive that is built from
            return
        commit = runpy.run_path(str(package / "__init__.py"))["commit_name"]().partition("(")[2].rstrip(")")
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / "commit.txt"
        file.write_text(f"{commit}\n", encoding="ascii")
        inside = "saraban" if self.target_name == "wheel" else "src/saraban"
        build_data["force_include"][str(file)] = f"{inside}/commit.txt"


def missing_assets(root: Path) -> list[str]:
    assets = runpy.run_path(str(root / "scripts" / "vendor_assets.py"))
    folder = root / "src" / "saraban" / "web" / "static" / "vendor"
    names = (*assets["FILES"].values(), "fonts.css", "fonts", "LICENCES.txt")
    return [name for name in names if not (folder / name).exists()]
