"""
Door 2: the command line, one file per noun. `saraban --help` starts here.

Every command loads what it needs when it runs, so that help and version come at once.
"""

import os
import sys
from importlib import import_module

import typer

import saraban

app = typer.Typer(
    name="saraban",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
Saraban (สารบรรณ): numbers, approval paths and proof for the documents of construction projects.

Begin your own: `saraban serve` prints a link to the set-up page; `saraban setup` asks at the terminal. A first look:

    saraban serve --demo    a server with a demo project
    saraban demo            the story of four documents, in the terminal

Settings come from SARABAN_… variables or a file .env; docs/settings.md lists them.
SARABAN_LANG=th changes the language of messages.

Exit codes: 0 done, 1 not possible here, 2 wrong usage, 3 bad input, 4 not allowed,
5 not found, 6 against a rule, 7 busy, 8 broken. For `number verify`, `audit verify`,
`document reach verify`, `search verify` and `file verify` 1 is a finding and 2 that it could not tell.
""",
)


@app.callback()
def root() -> None:
    """Without this, a single command would swallow its own name."""


COMMANDS = ("serve", "worker", "setup", "migrate", "doctor")
MASTER = ("organization", "contract")  # lists of `master` that have a noun of their own
GROUPS = (
    *("demo", "user", "role", "project", *MASTER, "master"),
    *("document", "file", "search", "number", "workflow", "events", "mail", "webhook", "audit"),
)

for name in COMMANDS:
    app.command()(getattr(import_module(f"saraban.cli.{name}"), name))
for name in GROUPS:
    room = import_module(f"saraban.cli.{'master' if name in MASTER else name}")
    app.add_typer(getattr(room, name if name in MASTER else "group"), name=name)


@app.command()
def version() -> None:
    """Print the version of Saraban and the commit that it was built from.

    Example: `saraban version`
    """
    typer.echo(saraban.commit_name())


def main() -> None:
    """The entry point: an expected outcome becomes one line on stderr and an exit code, never a traceback."""
    from saraban.cli.output import run_app

    os.umask(0o077)  # what Saraban writes is for its own account
    sys.exit(run_app(app))
