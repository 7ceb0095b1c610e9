"""The contracts of `.importlinter`, and what import-linter cannot say: which files of a feature its neighbours may import."""

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
PRIVATE = {"repository", "endpoints", "tasks"}
# Features whose rooms share their private floors; which room may look into which is said in `.importlinter`.
OF_ROOMS = ("saraban.numbering", "saraban.workflow")
# They gather the endpoints of others into one router.
COMPOSITION_ROOTS = {"saraban.app", "saraban.bootstrap", "saraban.documents.endpoints"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("saraban", cache_dir=None)


def floor_of(module: str) -> tuple[str, str] | None:
    """The feature and the private floor that a module belongs to; a floor may be a folder."""
    parts = module.split(".")
    for place, part in enumerate(parts):
        if part in PRIVATE:
            feature = ".".join(parts[:2])
            return feature if feature in OF_ROOMS else ".".join(parts[:place]), part
    return None


def test_every_import_contract_is_kept() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run([str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_neighbours_use_only_the_public_files_of_a_feature(graph: grimp.ImportGraph) -> None:
    trespasses = [
        f"{importer} -> {module}"
        for module in graph.modules
        if (place := floor_of(module))
        for importer in graph.find_modules_that_directly_import(module)
        if not importer.startswith(f"{place[0]}.") and importer not in COMPOSITION_ROOTS
    ]

    assert trespasses == []
