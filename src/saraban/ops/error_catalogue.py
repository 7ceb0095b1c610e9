"""Every error code that this product can answer with, collected from the classes themselves."""

import importlib
import pkgutil
from html import escape

import saraban
from saraban.kit.errors import DomainError
from saraban.kit.problem import STATUS

_STATUS_OF_ITS_OWN = {"METHOD_NOT_ALLOWED": 405}


def every_error() -> list[type[DomainError]]:
    """Load every module and give the error classes, sorted by code."""
    for module in pkgutil.walk_packages(saraban.__path__, "saraban."):
        importlib.import_module(module.name)
    return loaded_errors()


def loaded_errors() -> list[type[DomainError]]:
    """Return the error classes of the modules that are loaded: in a running server, all of them."""
    return sorted(_below(DomainError), key=lambda error: (error.code, error.__qualname__))


def status_of_class(error: type[DomainError]) -> int:
    return _STATUS_OF_ITS_OWN.get(error.code, STATUS[error.kind])


def _below(parent: type[DomainError]) -> set[type[DomainError]]:
    children: set[type[DomainError]] = set()
    for child in parent.__subclasses__():
        is_ours = child.__module__.startswith("saraban.") and not child.__name__.startswith("_")
        children |= {child} if is_ours and "code" in vars(child) else set()
        children |= _below(child)
    return children


def cause(error: type[DomainError]) -> str:
    """Return the docstring of a class without what it says of parameters."""
    return " ".join((vars(error).get("__doc__") or "").partition(":param")[0].split())


def as_markdown(errors: list[type[DomainError]]) -> str:
    """Return the text of docs/errors.md."""
    return _PREFACE + "".join(_section(error) for error in errors)


_PREFACE = """# Errors

What the API answers when it does not do what it was asked: `application/problem+json` (RFC 9457) with `type`, `title`,
`status`, `detail`, `code`, `userMessage` (in the caller's language), `recovery`, `errors` (pointer, code and sentence of
each field) and `traceId`, which the log has too. A page shows the same facts; the command line prints one line.

`make errors` writes this page from the classes; a test keeps the two the same.
"""


def _section(error: type[DomainError]) -> str:
    lines = [f"## {error.code}", "", f"Status {status_of_class(error)}.", ""]
    lines += [f"- Thai: {error.says.th}", f"- English: {error.says.en}"]
    lines += [f"- Cause: {cause(error)}"]
    lines += [f"- Cure: {_cure(error)}"] if error.recovery else []
    for other in error.__subclasses__():
        if "says" in vars(other) and "code" not in vars(other):
            lines += [f"- Or: {other.says.en} ({other.says.th}) Cause: {cause(other)} Cure: {_cure(other)}"]
    return "\n" + "\n".join(lines) + "\n"


def _cure(error: type[DomainError]) -> str:
    return " ".join(f"{step.en} ({step.th})" for step in error.recovery)


def as_html(errors: list[type[DomainError]]) -> str:
    """Return the page that the `type` of a problem leads to."""
    body = "".join(_article(error) for error in errors)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Saraban: errors</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f"<body><main><h1>Errors</h1>{body}</main></body></html>"
    )


def _article(error: type[DomainError]) -> str:
    def line(label: str, text: str, language: str = "en") -> str:
        return f'<dt>{label}</dt><dd lang="{language}">{escape(text)}</dd>'

    parts: list[str] = [
        line("ภาษาไทย", error.says.th, "th"),
        line("English", error.says.en),
        line("Cause", cause(error)),
    ]
    parts += [line("Cure", f"{step.en} ({step.th})") for step in error.recovery]
    name = error.code.lower()
    return f'<h2 id="{name}">{error.code} ({status_of_class(error)})</h2><dl>{"".join(parts)}</dl>'
