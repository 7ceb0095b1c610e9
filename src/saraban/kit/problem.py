"""
Problem responses (RFC 9457): the one form in which every door that speaks JSON says no.

Pure: an error, a language and a trace id in; a mapping out. The caller sends it.
"""

from typing import Any

from saraban.kit.errors import DomainError, Kind

MEDIA_TYPE = "application/problem+json"
TYPE_ROOT = "/docs/errors#"

STATUS: dict[Kind, int] = {
    Kind.INVALID: 422,
    Kind.UNAUTHENTICATED: 401,
    Kind.FORBIDDEN: 403,
    Kind.NOT_FOUND: 404,
    Kind.CONFLICT: 409,
    Kind.GONE: 410,
    Kind.STALE: 412,
    Kind.TOO_LARGE: 413,
    Kind.UNSUPPORTED: 415,
    Kind.BEYOND: 416,
    Kind.THROTTLED: 429,
    Kind.BUSY: 503,
    Kind.BROKEN: 500,
    Kind.FULL: 507,
}

TITLES: dict[Kind, str] = {
    Kind.INVALID: "Unprocessable Content",
    Kind.UNAUTHENTICATED: "Unauthorized",
    Kind.FORBIDDEN: "Forbidden",
    Kind.NOT_FOUND: "Not Found",
    Kind.CONFLICT: "Conflict",
    Kind.GONE: "Gone",
    Kind.STALE: "Precondition Failed",
    Kind.TOO_LARGE: "Content Too Large",
    Kind.UNSUPPORTED: "Unsupported Media Type",
    Kind.BEYOND: "Range Not Satisfiable",
    Kind.THROTTLED: "Too Many Requests",
    Kind.BUSY: "Service Unavailable",
    Kind.BROKEN: "Internal Server Error",
    Kind.FULL: "Insufficient Storage",
}


def status_of(error: DomainError) -> int:
    return STATUS[error.kind]


def to_problem(error: DomainError, *, language: str, trace_id: str) -> dict[str, Any]:
    """
    Return the problem document of ruling E1.

    :param language: `th` or `en`; `userMessage`, `recovery` and each field's `message` are in it
    """
    return {
        "type": TYPE_ROOT + error.code.lower(),
        "title": TITLES[error.kind],
        "status": STATUS[error.kind],
        "detail": error.detail,
        "code": error.code,
        "userMessage": error.words.say(language, error.values),
        "recovery": [step.say(language, error.values) for step in error.recovery],
        "errors": [
            {
                "pointer": field.pointer,
                "code": field.code,
                "detail": field.text.say("en", field.values),
                "message": field.text.say(language, field.values),
            }
            for field in error.fields
        ],
        "traceId": trace_id,
    }
