"""
Problem responses (RFC 9457): the one form in which every door that speaks JSON says no.

Pure: an error, a language and a trace id in; a mapping out. The caller sends it.
"""

from saraban.kit.errors import DomainError, ErrorKind
from saraban.kit.json import Json

MEDIA_TYPE = "application/problem+json"
TYPE_ROOT = "/docs/errors#"

STATUS: dict[ErrorKind, int] = {
    ErrorKind.INVALID: 422,
    ErrorKind.UNAUTHENTICATED: 401,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.CONFLICT: 409,
    ErrorKind.GONE: 410,
    ErrorKind.STALE: 412,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.UNSUPPORTED: 415,
    ErrorKind.BEYOND: 416,
    ErrorKind.THROTTLED: 429,
    ErrorKind.BUSY: 503,
    ErrorKind.BROKEN: 500,
    ErrorKind.FULL: 507,
}

TITLES: dict[ErrorKind, str] = {
    ErrorKind.INVALID: "Unprocessable Content",
    ErrorKind.UNAUTHENTICATED: "Unauthorized",
    ErrorKind.FORBIDDEN: "Forbidden",
    ErrorKind.NOT_FOUND: "Not Found",
    ErrorKind.CONFLICT: "Conflict",
    ErrorKind.GONE: "Gone",
    ErrorKind.STALE: "Precondition Failed",
    ErrorKind.TOO_LARGE: "Content Too Large",
    ErrorKind.UNSUPPORTED: "Unsupported Media Type",
    ErrorKind.BEYOND: "Range Not Satisfiable",
    ErrorKind.THROTTLED: "Too Many Requests",
    ErrorKind.BUSY: "Service Unavailable",
    ErrorKind.BROKEN: "Internal Server Error",
    ErrorKind.FULL: "Insufficient Storage",
}


def status_of(error: DomainError) -> int:
    return STATUS[error.kind]


def to_problem(error: DomainError, *, language: str, trace_id: str) -> dict[str, Json]:
    """
    Return the problem document of REQ-ERR-01.

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
