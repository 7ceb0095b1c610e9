"""API of files: upload, metadata and content."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from pydantic import ConfigDict
from starlette.responses import Response, StreamingResponse

from saraban.attachments import service as attachments
from saraban.attachments.dependencies import MULTIPART, Files, FileStorage, OneFile, Readers
from saraban.attachments.domain import (
    AttachmentRow,
    ByteSpan,
    RangeNotSatisfiable,
    byte_range,
    content_disposition,
    same_tag,
)
from saraban.attachments.domain.kinds import BY_MIME_TYPE
from saraban.identity.dependencies import Context, KeyedContext, guarded
from saraban.kit.http import Idempotent, PathId, ReadSession, problem_response, read_after_commit, respond
from saraban.kit.schema import Schema

router = APIRouter(prefix="/attachments", tags=["Attachments"])

# A file must not run anything in our name; the browser's viewers of PDF and images work with this policy.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox"

_CONTENT = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in sorted(BY_MIME_TYPE)}
_BINARY: dict[int | str, dict[str, Any]] = {
    200: {"description": "The whole file.", "content": _CONTENT},
    206: {"description": "The range that was asked for.", "content": _CONTENT},
    304: {"description": "The file is what the client has."},
}
_EXAMPLE: dict[str, Any] = {
    "publicId": "019505a1-7c3e-7000-8000-abc123def456",
    "fileName": "รายการคำนวณโครงสร้าง.pdf",
    "mimeType": "application/pdf",
    "size": 184320,
    "checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "expiresAt": "2026-11-21T03:00:00Z",
}


class UploadedFile(Schema):
    """
    A temporary file: name its `publicId` in a document before `expiresAt`, which is null once a document holds it.
    """

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    public_id: UUID
    file_name: str
    mime_type: str
    size: int
    checksum: str
    expires_at: datetime | None


class AttachmentDetail(UploadedFile):
    """Metadata of a file; `expiresAt` is null once a document holds it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": _EXAMPLE
            | {
                "expiresAt": None,
                "isTemporary": False,
                "createdAt": "2026-11-20T03:00:00Z",
                "downloadUrl": f"/api/v1/attachments/{_EXAMPLE['publicId']}/content",
            }
        }
    )

    is_temporary: bool
    created_at: datetime
    download_url: str


@router.post(
    "",
    status_code=201,
    response_model=UploadedFile,
    dependencies=[guarded("document.attach_files")],
    summary="Upload a file for a later document",
    openapi_extra=MULTIPART,
)
async def upload(ctx: KeyedContext, sent: OneFile, idempotency: Idempotent, store: Files, readers: Readers) -> Response:
    """
    Accepts the kinds of `SARABAN_FILE_KINDS`, recognized by content; a project may accept fewer. Only the uploader sees
    the file until a document or a workflow step names its `publicId`; without that it is removed at `expiresAt`. With
    an `Idempotency-Key` the same file sent again is stored once, and the response shows its present state; another file
    under that key is refused.
    """
    receipt = await attachments.upload_once(ctx, store, idempotency, name=sent.name, chunks=sent.chunks())
    async with read_after_commit(store.db) as session:
        row = await attachments.find(ctx, session, public_id=receipt.resource_id, rules=readers)
    return respond(UploadedFile.model_validate(row), status=201, receipt=receipt)


@router.get("/{publicId}", summary="What is known of a file")
async def metadata(public_id: PathId, ctx: Context, session: ReadSession, readers: Readers) -> AttachmentDetail:
    """The uploader sees a temporary file; readers of its document or workflow step see a permanent one."""
    return AttachmentDetail.model_validate(await attachments.find(ctx, session, public_id=public_id, rules=readers))


@router.get("/{publicId}/content", response_class=Response, responses=_BINARY, summary="Download a file, or show it")
async def content(
    public_id: PathId,
    request: Request,
    ctx: Context,
    session: ReadSession,
    readers: Readers,
    storage: FileStorage,
    inline: Annotated[bool, Query(description="Show it in the browser; PDF and images only.")] = False,
    range_header: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
) -> Response:
    """Supports `If-None-Match` (304) and a single `Range` (206)."""
    row = await attachments.find(ctx, session, public_id=public_id, rules=readers)
    await session.close()  # a slow download must not hold a connection
    headers = _headers(row, inline=inline and row.shows_inline)
    if same_tag(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if not await storage.holds(row.storage_key):
        raise attachments.FileUnavailable
    if_range = request.headers.get("if-range")
    requested_range = range_header if if_range is None or same_tag(if_range, headers["ETag"]) else None
    try:
        span = byte_range(requested_range, size=row.size)
    except RangeNotSatisfiable as error:
        refusal = problem_response(request, error)
        refusal.headers["Content-Range"] = f"bytes */{row.size}"
        return refusal
    sent_span = span or ByteSpan(0, row.size)
    headers["Content-Length"] = str(sent_span.length)
    if span is not None:
        headers["Content-Range"] = span.content_range(row.size)
    return StreamingResponse(
        storage.read(row.storage_key, start=sent_span.start, length=sent_span.length),
        status_code=200 if span is None else 206,
        headers=headers,
        media_type=row.mime_type,
    )


def _headers(row: AttachmentRow, *, inline: bool) -> dict[str, str]:
    return {
        "ETag": f'"{row.checksum}"',
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
        "Content-Disposition": content_disposition(row.file_name, inline=inline),
        "Content-Security-Policy": _POLICY,
    }
