"""What is installed from a wheel: the pages' assets, the migrations, and the commit that it was built from."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import saraban

ROOT = Path(saraban.__file__).parents[2]
VENDOR = Path("src/saraban/web/static/vendor")
ASSETS = ("htmx.min.js", "tabler.min.css", "tabler.min.js", "dagre.esm.js", "swagger-ui.js", "swagger-ui.css")


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *author, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone: what a wheel is built from, without what `make install` fetches."""
    folder = tmp_path / "clone"
    unwanted = shutil.ignore_patterns("vendor", "__pycache__")
    for name in ("src", "migrations", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "As it was")
    return folder


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("hatchling")), "build", "-t", "wheel"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
class TestWheel:
    def test_of_a_fresh_clone_is_not_built_without_the_assets(self, clone: Path) -> None:
        done = build(clone)

        assert done.returncode != 0
        assert "run `make install`" in done.stderr + done.stdout
        assert not list(clone.glob("dist/*.whl"))

    def test_contains_assets_and_migrations_and_names_its_commit(self, clone: Path, tmp_path: Path) -> None:
        (clone / VENDOR / "fonts").mkdir(parents=True)
        for name in (*ASSETS, "fonts.css", "LICENCES.txt", "fonts/sarabun.woff2"):
            (clone / VENDOR / name).touch()

        done = build(clone)

        assert done.returncode == 0, done.stderr + done.stdout
        with ZipFile(next(clone.glob("dist/*.whl"))) as wheel:
            names = set(wheel.namelist())
            wheel.extractall(tmp_path / "site")
        assert {f"saraban/web/static/vendor/{name}" for name in (*ASSETS, "fonts/sarabun.woff2")} <= names
        assert "saraban/migrations/env.py" in names
        assert any(name.startswith("saraban/migrations/versions/") for name in names)
        named = "import saraban; print(saraban.commit_name())"
        shown = subprocess.run(
            [sys.executable, "-c", named], cwd=tmp_path / "site", capture_output=True, text=True, check=True
        )
        assert shown.stdout == f"saraban {saraban.__version__} ({git(clone, 'rev-parse', '--short=12', 'HEAD')})\n"


class TestSourceTree:
    def test_names_the_commit_that_it_is_at(self) -> None:
        assert (
            saraban.commit_name() == f"saraban {saraban.__version__} ({git(ROOT, 'rev-parse', '--short=12', 'HEAD')})"
        )
