"""Saraban (สารบรรณ): document control for construction projects."""

from contextlib import suppress
from pathlib import Path

__version__ = "0.1.0"


def commit_name() -> str:
    """Return `saraban 0.1.0 (9f8e7d6c5b4a)`: the commit that a wheel was built from, or that the source tree is at."""
    import subprocess

    package = Path(__file__).resolve().parent
    built, tree, commit = package / "commit.txt", package.parents[1], ""
    if built.exists():
        commit = built.read_text(encoding="ascii").strip()
    elif (tree / ".git").exists():
        # The tree may belong to another account than the one that runs Saraban.
        git = ["git", "-c", "safe.directory=*", "-C", str(tree), "rev-parse", "--short=12", "HEAD"]
        with suppress(OSError):  # git may not be installed
            commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return f"saraban {__version__}" + (f" ({commit})" if commit else "")
