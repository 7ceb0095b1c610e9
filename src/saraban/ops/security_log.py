"""Audit refused requests and file accesses."""

from typing import Final
from urllib.parse import unquote

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Scope

from saraban.audit import service as audit
from saraban.audit.service import AuditEntry, AuditOrigin, Severity
from saraban.identity.dependencies import IdentityWiring
from saraban.identity.domain.context import Caller
from saraban.kit.http import client_address, wiring
from saraban.kit.rate_limits import RateLimitRule

log = structlog.get_logger(__name__)

REFUSALS_PER_MINUTE: Final = 20  # rows of one user; the access log contains all
VIEW_MINUTES: Final = 10  # further ranges of a file within this time belong to the recorded view
_LONGEST: Final = 500  # characters of a path or a query
_FILES: Final = "/api/v1/attachments/"


async def record_access(scope: Scope, message: Message) -> None:
    """Audit before the response starts; a file without its row is not sent (N20)."""
    caller: Caller | None = scope.get("state", {}).get("caller")
    if caller is None:
        return
    status, headers = message["status"], Headers(raw=message["headers"])
    if status < 400 and "content-disposition" in headers:
        await _record_file(scope, caller, headers["content-disposition"])
    elif status == 403 or (status == 404 and scope.get("path_params")):  # 404 may hide an existing object
        await _record_refusal(scope, caller, status)


async def _record_refusal(scope: Scope, caller: Caller, status: int) -> None:
    rule = RateLimitRule("refusals", str(caller.public_id), REFUSALS_PER_MINUTE)
    if (await _wired(scope).limiter.take([rule])).refused:
        return
    details = {**_request_facts(scope), "status": status, **scope["state"].get("refusal", {})}
    try:
        await _write(scope, caller, AuditEntry("access.refused", "access", _reference(scope), details, Severity.WARN))
    except SQLAlchemyError as fault:  # the refusal itself must reach the caller
        log.warning("security_log.row_lost", error=type(fault).__name__)


async def _record_file(scope: Scope, caller: Caller, disposition: str) -> None:
    """Record each view once: PDF readers request further ranges."""
    byte_range = Headers(scope=scope).get("range", "bytes=0-")
    rule = RateLimitRule("file_views", f"{caller.public_id}:{scope['path']}", 1, VIEW_MINUTES)
    limiter = _wired(scope).limiter
    if not byte_range.startswith("bytes=0-") and (await limiter.usage([rule]))[0].used:
        return
    _, encoded, name = disposition.rpartition("''")
    name = unquote(name) if encoded else disposition.partition('filename="')[2].rstrip('"')
    details = {**_request_facts(scope), "fileName": name}
    if scope["path"].startswith(_FILES):
        action = "attachment.view" if disposition.startswith("inline") else "attachment.download"
        entry = AuditEntry(action, "attachment", _reference(scope), details)
    else:
        entry = AuditEntry("export.download", "export", _reference(scope) or name[:50], details)
    await _write(scope, caller, entry)
    await limiter.take([rule])


def _request_facts(scope: Scope) -> dict[str, object]:
    facts: dict[str, object] = {"method": scope["method"], "path": scope["path"][:_LONGEST]}
    query = unquote(scope["query_string"].decode("ascii", "replace"))
    return facts | ({"query": query[:_LONGEST]} if query else {})


def _reference(scope: Scope) -> str:
    parameters = scope.get("path_params") or {}
    return str(parameters.get("publicId") or parameters.get("public_id") or next(iter(parameters.values()), ""))[:50]


async def _write(scope: Scope, caller: Caller, entry: AuditEntry) -> None:
    wired = _wired(scope)
    origin = AuditOrigin(caller, wired.clock.now(), client_address(Request(scope)))
    await wired.db.transact(audit.record, origin, entry)


def _wired(scope: Scope) -> IdentityWiring:
    return wiring(Request(scope), IdentityWiring)
