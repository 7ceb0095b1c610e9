"""
Every error code that this product can answer with, collected from the classes themselves, and which operation gives which.

What every operation shares is told by its form (`openapi` asks it); what is its own stands in `BY_OPERATION`, by operation id.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from html import escape
from typing import Any, Final

import saraban
from saraban.identity.dependencies import policies_of
from saraban.kit.errors import REQUIRED, DomainError, FieldProblem
from saraban.kit.problem import STATUS
from saraban.setup.domain.master_kinds import CONTRACT, KINDS, ORGANIZATION, PROJECT, MasterKind, Owner

# A part of the API description; FastAPI makes it, and gives it no other type.
OpenApi = dict[str, Any]

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


# Not given by any operation of the API: by the command line alone, by the server's start, or by every address.
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

_PRINT = ("NUMBER_UNPRINTABLE", "SEQUENCE_EXHAUSTED")
_DRAW = (*_PRINT, "RATE_LIMITED", "NUMBERING_BUSY", "NUMBERING_CONFLICT", "NUMBERING_DATABASE_ERROR")
_RENUMBER = ("DOCUMENT_CANCELLED", "NOT_YOUR_ORGANIZATION", "NUMBER_STATE_CONFLICT")
_RESERVATION = ("RESERVATION_EXPIRED", "NUMBER_STATE_CONFLICT", "NOT_FOUND")
_VOID = ("NUMBER_HELD", "NUMBER_STATE_CONFLICT", "NOT_FOUND")
_WRITE = (
    *_DRAW,
    *_RESERVATION,
    "NOT_YOUR_ORGANIZATION",
    "CORRESPONDENCE_TO_SELF",
    "WORKFLOW_NOT_DEFINED",
)
_EDIT = (
    "DOCUMENT_NOT_DRAFT",
    "DOCUMENT_CANCELLED",
    "NUMBER_ALREADY_DRAWN",
    "DOCUMENT_ALREADY_ISSUED",
    "CORRESPONDENCE_TO_SELF",
    "DOCUMENT_CHANGED",
)
_REVISE = (
    *("REVISION_PENDING", "DOCUMENT_CANCELLED", "WORKFLOW_NOT_DEFINED"),
    *("NUMBER_NOT_HELD", "NUMBER_TAKEN", "NUMBER_UNPRINTABLE"),
)
_CANCEL = ("CANCEL_ONLY_DRAFT", "WITHDRAW_REVISION_FIRST", "DOCUMENT_CANCELLED", "NUMBER_NOT_HELD")
_WITHDRAW = ("NO_DRAFT_REVISION", "DOCUMENT_CANCELLED", "NUMBER_NOT_HELD")
_OF_DOCUMENTS = {
    "create": _WRITE,
    "edit": _EDIT,
    "revise": _REVISE,
    "cancel": _CANCEL,
    "withdraw_revision": _WITHDRAW,
    "renumber": (*_DRAW, *_RENUMBER),
}

_STEER = (
    *("WORKFLOW_STEERING_FORBIDDEN", "WF_INVALID_TRANSITION"),
    *("WORKFLOW_VERSION_CONFLICT", "WORKFLOW_PRECONDITION_FAILED"),
)

BY_OPERATION: Final[dict[str, tuple[str, ...]]] = {
    "auth_log_in": ("INVALID_CREDENTIALS", "LOGIN_THROTTLED", "PASSWORDS_BUSY"),
    "auth_refresh": ("SESSION_ENDED", "USER_LIMIT_REACHED"),
    "auth_change_password": ("TOO_MANY_PASSWORDS", "PASSWORDS_BUSY"),
    "users_create_user": ("USERNAME_TAKEN", "PASSWORDS_BUSY"),
    "users_change_user": ("USERNAME_TAKEN", "ACCOUNT_CHANGED"),
    "users_close_user": ("LAST_SUPER_ADMIN",),
    "users_set_password": ("PASSWORDS_BUSY",),
    "users_give_role": ("ROLE_SCOPE_MISMATCH", "ROLE_ALREADY_GIVEN"),
    "users_take_role": ("LAST_SUPER_ADMIN",),
    "projects_apply": (
        *("PROJECT_FILE_NOT_YAML", "PROJECT_FILE_TOO_LARGE", "PROJECT_FILE_CONFLICT"),
        *("NUMBER_TEMPLATE_INVALID", "FORMAT_IN_USE"),
    ),
    "operations_measurements": ("METRICS_NOT_ALLOWED",),
    "document_numbering_generate": (*_DRAW, "NOT_YOUR_ORGANIZATION"),
    "document_numbering_preview": (*_PRINT, "RATE_LIMITED", "NOT_YOUR_ORGANIZATION"),
    "document_numbering_reserve": (*_DRAW, "NOT_YOUR_ORGANIZATION"),
    "document_numbering_confirm": _RESERVATION,
    "document_numbering_cancel": _RESERVATION,
    "document_numbering_void": _VOID,
    "document_numbering_void_and_replace": (*_DRAW, *_VOID, "NOT_YOUR_ORGANIZATION"),
    "document_numbering_preview_override": (*_PRINT, "RATE_LIMITED", "NOT_YOUR_ORGANIZATION"),
    "document_numbering_override": (
        *_PRINT,
        *("RATE_LIMITED", "NOT_YOUR_ORGANIZATION", "NUMBER_TAKEN", "NUMBER_IN_RANGE"),
    ),
    "document_numbering_resolve": ONE_THING,
    "document_numbering_list_operations": ONE_THING,
    "document_numbering_upload_import": ("FILE_TOO_LARGE",),
    "document_numbering_commit_import": ("IMPORT_NOT_CHECKED",),
    "document_numbering_import_result": ("IMPORT_UNDER_WAY",),
    "document_numbering_account": ONE_THING,
    "document_numbering_create_range": (
        *_PRINT,
        *("NOT_YOUR_ORGANIZATION", "NUMBER_RANGE_OVERLAPS", "NUMBER_RANGE_PASSED"),
    ),
    "document_numbering_preview_range": (
        *_PRINT,
        *("RATE_LIMITED", "NOT_YOUR_ORGANIZATION", "NUMBER_RANGE_OVERLAPS", "NUMBER_RANGE_PASSED"),
    ),
    "document_numbering_release_range": ("NUMBER_RANGE_RELEASED",),
    "document_numbering_save_format": ("NUMBER_TEMPLATE_INVALID",),
    "document_numbering_parse_format": ("RATE_LIMITED",),
    "document_numbering_preview_format": ("NUMBER_TEMPLATE_INVALID", "RATE_LIMITED"),
    "document_numbering_delete_format": ("FORMAT_IN_USE",),
    "document_numbering_change_format": ("NUMBER_TEMPLATE_INVALID", "NUMBER_FORMAT_STALE"),
    **{
        f"{kind}_{verb}": codes
        for kind in ("correspondences", "rfas", "transmittals")
        for verb, codes in _OF_DOCUMENTS.items()
    },
    "transmittals_create": (*_WRITE, "TRANSMITTAL_ITEM_DRAFT", "TRANSMITTAL_ITEM_CANCELLED"),
    "transmittals_edit": (*_EDIT, "TRANSMITTAL_ITEM_DRAFT", "TRANSMITTAL_ITEM_CANCELLED"),
    "circulations_create": (
        *_DRAW,
        *_RESERVATION,
        *("NOT_YOUR_ORGANIZATION", "WORKFLOW_NOT_DEFINED", "CIRCULATION_EXISTS"),
    ),
    "circulations_edit": ("DOCUMENT_NOT_DRAFT", "DOCUMENT_CANCELLED", "DOCUMENT_CHANGED"),
    "circulations_respond": (
        *("CIRCULATION_NOT_ASSIGNED", "CIRCULATION_NOT_ROUTING", "CIRCULATION_ANSWERED", "DOCUMENT_CANCELLED"),
    ),
    "circulations_renumber": (*_DRAW, *_RENUMBER),
    "circulations_cancel": ("CIRCULATION_CLOSED", "DOCUMENT_CANCELLED", "NUMBER_NOT_HELD"),
    "workflow_publish_definition": ("INVALID_WORKFLOW_DSL", "WORKFLOW_DEFINITION_CONFLICT"),
    "workflow_activate_definition": ("INVALID_WORKFLOW_DSL",),
    "workflow_take_step": (
        *("WF_INVALID_TRANSITION", "WORKFLOW_ACTION_FORBIDDEN", "WORKFLOW_CONDITION_NOT_MET"),
        *("WORKFLOW_VERSION_CONFLICT", "WORKFLOW_PRECONDITION_FAILED", "INVALID_ATTACHMENTS"),
        *("CIRCULATION_NOT_ASSIGNED", "TRANSMITTAL_ITEM_DRAFT", "TRANSMITTAL_ITEM_CANCELLED"),
    ),
    "workflow_answer_branch": (
        *("WORKFLOW_BRANCH_CLOSED", "WORKFLOW_ACTION_FORBIDDEN", "INVALID_ATTACHMENTS"),
        *("WORKFLOW_VERSION_CONFLICT", "WORKFLOW_PRECONDITION_FAILED"),
        *("CIRCULATION_NOT_ASSIGNED", "TRANSMITTAL_ITEM_DRAFT", "TRANSMITTAL_ITEM_CANCELLED"),
    ),
    "workflow_force_step": _STEER,
    "workflow_terminate_instance": _STEER,
    "workflow_reassign_instance": (*_STEER, "WORKFLOW_BRANCH_CLOSED"),
    "workflow_take_back_choice": ONE_THING,
    "workflow_list_delegations": ONE_THING,
    "workflow_delegate": ("DELEGATE_AWAY", "DELEGATION_CHAINED", "DELEGATION_OVERLAPS"),
    "workflow_revoke_delegation": ("DELEGATION_CHANGED",),
    "attachments_upload": ("FILE_TOO_LARGE", "FILE_TYPE_MISMATCH"),
    "rfas_create": (*_WRITE, "DRAWING_REVISION_IN_RFA", "DRAWING_REVISION_SUPERSEDED"),
    "rfas_edit": (*_EDIT, "DRAWING_REVISION_IN_RFA", "DRAWING_REVISION_SUPERSEDED"),
    "drawings_create": (*_DRAW, *_RESERVATION, "DRAWING_NUMBER_TAKEN", "NOT_YOUR_ORGANIZATION", "WORKFLOW_NOT_DEFINED"),
    "drawings_change": ("DRAWING_CHANGED",),
    "drawings_correct": ("DRAWING_CHANGED", "DRAWING_REVISION_SUBMITTED"),
    "drawings_export": ("DRAWING_EXPORT_TOO_LARGE",),
    "drawings_commit_import": ("IMPORT_NOT_CHECKED",),
    "drawings_import_result": ("IMPORT_UNDER_WAY",),
    "drawings_revise": ("DRAWING_REVISION_NOT_FORWARD", "DRAWING_TAKES_NO_ADDENDA", "WORKFLOW_NOT_DEFINED"),
    "drawings_start_approval": (
        *("DRAWING_APPROVAL_STARTED", "DRAWING_APPROVED_BY_RFA", "DRAWING_APPROVAL_IN_RFA", "WORKFLOW_NOT_DEFINED"),
    ),
    "users_import_users": ("NOT_A_WORKBOOK",),
    "roles_access": ONE_THING,
    "roles_create": ("ROLE_NAME_TAKEN",),
    "roles_change": ("ROLE_NAME_TAKEN", "ROLE_NAMED_BY_WORKFLOW", "ROLE_SHIPPED", "ROLE_CHANGED"),
    "roles_close": ("ROLE_SHIPPED", "ROLE_CHANGED"),
    "roles_reopen": ("ROLE_SHIPPED", "ROLE_CHANGED"),
    "webhooks_create": ("WEBHOOKS_TOO_MANY",),
    "webhooks_create_own": ("WEBHOOKS_TOO_MANY_OWN",),
    "webhooks_change": ("WEBHOOK_CHANGED",),
    "webhooks_rotate": ("WEBHOOK_CHANGED", "WEBHOOK_SECRETS_TOO_MANY"),
    "events_requeue": ("EVENT_NOT_DEAD",),
    "events_drop": ("EVENT_NOT_DEAD",),
    "attachments_content": ("FILE_UNAVAILABLE", "RANGE_NOT_SATISFIABLE"),
}

_ROOMS = {ORGANIZATION.name: "organizations", PROJECT.name: "projects", CONTRACT.name: "contracts"}


def _of_master_data(kind: MasterKind) -> dict[str, tuple[str, ...]]:
    """What the operations of one kind refuse."""
    room = _ROOMS.get(kind.name, "master_data")
    fixed = ("MASTER_CODE_OF_THE_PRODUCT",) if kind.written else ()
    series = ("PRINTED_CODE_CHANGES",) if kind.printed else ()
    closed = () if kind.owner is Owner.INSTALLATION else ("MASTER_PLACE_CLOSED",)
    made = {
        f"{room}_create_{kind.name}": ("MASTER_CODE_TAKEN", *closed),
        f"{room}_import_{kind.name}": ("NOT_A_WORKBOOK", "MASTER_CODE_TAKEN", *closed, *series),
    }
    return ({} if kind is PROJECT else made) | {
        f"{room}_change_{kind.name}": ("MASTER_ROW_CHANGED", "MASTER_CODE_TAKEN", *closed, *fixed, *series),
        f"{room}_close_{kind.name}": ("MASTER_ROW_CHANGED", *closed, *fixed),
        f"{room}_reopen_{kind.name}": ("MASTER_ROW_CHANGED", *closed),
    }


for _kind in KINDS:
    BY_OPERATION.update(_of_master_data(_kind))
BY_OPERATION.update(
    {
        "projects_save_member": ("MASTER_PLACE_CLOSED",),
        "projects_remove_member": ("MEMBER_IN_USE", "MASTER_PLACE_CLOSED"),
        "contracts_save_party": ("PARTY_NOT_IN_PROJECT", "MASTER_PLACE_CLOSED"),
        "contracts_remove_party": ("MEMBER_IN_USE", "MASTER_PLACE_CLOSED"),
    }
)

# What fills the sentences of the examples: as a caller of the demo project would read them.
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
_LIMITS: Final[dict[str, dict[str, object]]] = {
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
    """Return one such refusal as it might come, without the circumstances that its own constructor asks for."""
    refusal = error.__new__(error)
    values = _VALUES | _LIMITS.get(error.code, {})
    pointer = _POINTERS.get(error.code)
    text = REQUIRED if error.code == "VALIDATION_ERROR" else error.says
    fields = [FieldProblem(pointer[0], pointer[1], text, values)] if pointer else []
    DomainError.__init__(refusal, fields=fields, values=values, retry_after=_RETRY.get(error.code))
    return refusal


def codes_of(operation: OpenApi, path: str, method: str, *, needs_caller: bool) -> Iterator[str]:
    """Return every code that an operation can answer with, each once."""
    takes = {parameter["name"] for parameter in operation.get("parameters", [])}
    own = BY_OPERATION.get(operation["operationId"], ())
    groups: list[tuple[str, ...]] = [own, ALWAYS, WRITES if method != "get" else ()]
    if path.startswith("/api/"):
        groups.append(INPUT)
    if "/document-numbering" in path:
        groups += [NUMBERING, NUMBERS_READ if method == "get" else ()]
    if needs_caller:
        groups += [SIGNED_IN, WITH_COOKIE if method != "get" else ()]
    forms = operation.get("requestBody", {}).get("content", {})
    groups.append(("USER_LIMIT_REACHED",) if policies_of(method.upper(), path, takes, next(iter(forms), "")) else ())
    groups.append(("FILE_READERS_BUSY",) if path.endswith("/import") else ())
    if "{" in path:
        groups.append(ONE_THING)
    if "application/json" in forms:
        groups.append(OF_JSON)
    if "Idempotency-Key" in takes:
        groups.append(ONCE)
    if "If-Match" in takes:
        groups.append(("ETAG_WEAK",))
    yield from dict.fromkeys(code for group in groups for code in group)
