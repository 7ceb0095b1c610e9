"""`saraban version`."""

import typer

import saraban


def register(app: typer.Typer) -> None:
    app.command()(version)


def version() -> None:
    """Print the version of Saraban.

    Example: `saraban version`
    """
    typer.echo(f"saraban {saraban.__version__}")
