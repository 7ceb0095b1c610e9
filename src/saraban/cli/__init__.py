"""
Door 2: the command line, one file per noun. `saraban --help` starts here.

Every command loads what it needs when it runs, so that help and version come at once.
"""

import sys

from saraban.cli.root import app

__all__ = ["main"]


def main() -> None:
    """The entry point: an expected outcome becomes one line on stderr and an exit code, never a traceback."""
    from saraban.cli.output import run_app

    sys.exit(run_app(app))
