"""All error codes, and the codes of each operation."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import resources
from typing import Any, Final

import saraban
from saraban.identity.dependencies import policies_of
from saraban.kit.errors import REQUIRED, DomainError, FieldProblem
from saraban.kit.problem import STATUS

# A part of FastAPI's API description, which has no other type.
OpenApi = dict[str, Any]

_STATUS_BY_CODE = {"METHOD_NOT_ALLOWED": 405}


def every_error() -> list[type[DomainError]]:
    """Import all modules and return the error classes."""
    for module in pkgutil.walk_packages(saraban.__path__, "saraban."):
        importlib.import_module(module.name)
    return loaded_errors()


def loaded_errors() -> list[type[DomainError]]:
    """Return the classes of imported modules: in a server, all of them."""
    return sorted(_subclasses(DomainError), key=lambda error: (error.code, error.__qualname__))


def status_of_class(error: type[DomainError]) -> int:
    return _STATUS_BY_CODE.get(error.code, STATUS[error.kind])


def _subclasses(parent: type[DomainError]) -> set[type[DomainError]]:
    children: set[type[DomainError]] = set()
    for child in parent.__subclasses__():
        is_ours = child.__module__.startswith("saraban.") and not child.__name__.startswith("_")
        children |= {child} if is_ours and "code" in vars(child) else set()
        children |= _subclasses(child)
    return children


def cause(error: type[DomainError]) -> str:
    return " ".join((vars(error).get("__doc__") or "").partition(":param")[0].split())


def as_markdown(errors: list[type[DomainError]]) -> str:
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
    body = "".join(_html_section(error) for error in errors)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Saraban: errors</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f"<body><main><h1>Errors</h1>{body}</main></body></html>"
    )


def _html_section(error: type[DomainError]) -> str:
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


# Errors of commands, pages, the server's start or all addresses, not of operations of the API.
NOT_FROM_THE_API: Final = {
    "ALREADY_SET_UP": "saraban setup",
    "DATABASE_CONNECTION_CHANGED": "the server's start, and every command",
    "DATABASE_BEFORE_RELEASE": "the server's start, saraban worker, saraban migrate",
    "DATABASE_NEWER": "the server's start, saraban worker, saraban migrate",
    "DATABASE_NOT_UTF8MB4": "saraban migrate, saraban setup",
    "DEMO_IN_PRODUCTION": "the server's start",
    "DEMO_MISSING": "saraban demo",
    "DEMO_NOT_FOR_PRODUCTION": "saraban demo, saraban serve --demo",
    "DEMO_NOT_IN_INBOX": "saraban demo",
    "DEMO_PROJECT_TOO_SMALL": "saraban demo generate",
    "HTTP_ERROR": "a request that is no operation, such as one whose head cannot be read",
    "INVITATION_ENDED": "the page on which an invited person sets the password",
    "METHOD_NOT_ALLOWED": "an address of an operation, with a method that makes it none",
    "MIGRATION_UNDER_WAY": "saraban migrate, saraban setup",
    "NOT_SET_UP": "every address until `saraban setup`",
    "IMPORT_INTERRUPTED": "the outcome of an import, in its answer",
    "ORGANIZATION_NAMES_DIFFER": "saraban setup",
    "PROJECT_CHANGED_MEANWHILE": "the page on which a project file is applied",
    "RFA_WITHOUT_FILES": "the page of an RFA, which asks first",
    "SECRET_KEY_TOO_SHORT": "the server's start, and every command",
    "SETTING_MISSPELT": "the server's start, and every command",
    "SETUP_TOKEN_EXPIRED": "the set-up page",
    "SETUP_TOKEN_WRONG": "the set-up page",
    "WARNINGS_UNCONFIRMED": "the page of a form, which asks first",
}

ALWAYS: Final = ("UNEXPECTED_ERROR", "DATABASE_ERROR", "DATABASE_BUSY", "SERVER_OVERLOADED")
WRITES: Final = ("DISK_FULL", "DONE_BUT_NOT_SHOWN", "DATABASE_COMMIT_UNKNOWN")
INPUT: Final = ("VALIDATION_ERROR", "REQUEST_TOO_LARGE", "BODY_TIMEOUT")
SIGNED_IN: Final = ("UNAUTHORIZED", "PERMISSION_DENIED", "PASSWORD_CHANGE_REQUIRED")
WITH_COOKIE: Final = ("CROSS_SITE_REQUEST",)
OF_JSON: Final = ("BODY_NOT_JSON",)
ONE_THING: Final = ("NOT_FOUND",)
ONCE: Final = ("IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_KEY_IN_USE")
NUMBERING: Final = ("NUMBERING_DATABASE_ERROR",)
NUMBERS_READ: Final = ("RATE_LIMITED",)

FILES_READ: Final = ("FILE_READERS_BUSY",)
COUNTED: Final = ("USER_LIMIT_REACHED",)
WEAK_TAG: Final = ("ETAG_WEAK",)
# Codes that `codes_of` derives from the form of an operation.
OF_FORM: Final = frozenset(
    code
    for group in (
        *(ALWAYS, WRITES, INPUT, SIGNED_IN, WITH_COOKIE, OF_JSON, ONE_THING, ONCE, NUMBERING, FILES_READ, COUNTED),
        *(WEAK_TAG, tuple(NOT_FROM_THE_API)),
    )
    for code in group
)


@cache
def by_operation() -> dict[str, list[str]]:
    """Return what `scripts/operation_errors.py` derived."""
    text = resources.files("saraban.ops").joinpath("operation_errors.json").read_text(encoding="utf-8")
    codes: dict[str, list[str]] = json.loads(text)
    return codes


# Sample values of the messages in examples.
_VALUES: Final[dict[str, object]] = {
    "found": "latin1; ANSI_QUOTES",
    "code": "คคง.",
    "role": "Document Control",
    "scope": "Organization",
    "value": "somchai",
    "current": "2",
    "given": "ที่ปรึกษา",
    "stated": "ที่ปรึกษาควบคุมการก่อสร้าง",
    "minutes": 15,
    "size": 1024,
    "limit": 50,
    "number": "คคง.-สคฉ.3-0001-2569",
    "kind": "Shop Drawing",
    "rfa": " (LCBP3-C2-RFA-TER-RPT-0001-A)",
    "revision": "0",
    "count": 2,
    "seconds": 12,
    "first": 100,
    "last": 120,
}
_VALUES_BY_CODE: Final[dict[str, dict[str, object]]] = {
    "NOT_A_WORKBOOK": {"known": "XLSX"},
    "REQUEST_TOO_LARGE": {"limit": 2 * 1024 * 1024},
    "DRAWING_EXPORT_TOO_LARGE": {"most": 2},
    "WEBHOOK_SECRETS_TOO_MANY": {"most": 3, "until": "2026-03-03T03:15:00Z"},
}
_RETRY: Final = {
    "LOGIN_THROTTLED": 900.0,
    "DATABASE_BUSY": 2.0,
    "RATE_LIMITED": 12.0,
    "USER_LIMIT_REACHED": 12.0,
    "FILE_READERS_BUSY": 10.0,
    "WEBHOOK_SECRETS_TOO_MANY": 86_400.0,
}
_POINTERS: Final[dict[str, tuple[str, str]]] = {
    "VALIDATION_ERROR": ("/subject", "required"),
    "IDEMPOTENCY_KEY_REUSED": ("header:Idempotency-Key", "reused"),
    "FILE_TYPE_MISMATCH": ("/file", "type_not_allowed"),
    "INVALID_ATTACHMENTS": ("/attachmentPublicIds/0", "unknown"),
    "NUMBER_ALREADY_DRAWN": ("/recipients", "printed_in_number"),
    "NUMBER_TEMPLATE_INVALID": ("/template", "token_unknown"),
    "MASTER_CODE_TAKEN": ("/code", "taken"),
    "PRINTED_CODE_CHANGES": ("/code", "series_begins_anew"),
    "INVALID_WORKFLOW_DSL": ("/dsl/states/0/on/submit/to", "unknown_state"),
}


def error_classes() -> dict[str, type[DomainError]]:
    return {error.code: error for error in loaded_errors()}


def sample_error(error: type[DomainError]) -> DomainError:
    """Return an error without calling the class's own constructor."""
    refusal = error.__new__(error)
    values = _VALUES | _VALUES_BY_CODE.get(error.code, {})
    pointer = _POINTERS.get(error.code)
    text = REQUIRED if error.code == "VALIDATION_ERROR" else error.says
    fields = [FieldProblem(pointer[0], pointer[1], text, values)] if pointer else []
    DomainError.__init__(refusal, fields=fields, values=values, retry_after=_RETRY.get(error.code))
    return refusal


def codes_of(operation: OpenApi, path: str, method: str, *, needs_caller: bool) -> Iterator[str]:
    parameters = {parameter["name"] for parameter in operation.get("parameters", [])}
    operation_codes = tuple(by_operation().get(operation["operationId"], ()))
    groups: list[tuple[str, ...]] = [operation_codes, ALWAYS, WRITES if method != "get" else ()]
    if path.startswith("/api/"):
        groups.append(INPUT)
    if "/document-numbering" in path:
        groups += [NUMBERING, NUMBERS_READ if method == "get" else ()]
    if needs_caller:
        groups += [SIGNED_IN, WITH_COOKIE if method != "get" else ()]
    media_types = operation.get("requestBody", {}).get("content", {})
    groups.append(COUNTED if policies_of(method.upper(), path, parameters, next(iter(media_types), "")) else ())
    groups.append(FILES_READ if path.endswith("/import") else ())
    if "{" in path:
        groups.append(ONE_THING)
    if "application/json" in media_types:
        groups.append(OF_JSON)
    if "Idempotency-Key" in parameters:
        groups.append(ONCE)
    if "If-Match" in parameters:
        groups.append(WEAK_TAG)
    yield from dict.fromkeys(code for group in groups for code in group)
