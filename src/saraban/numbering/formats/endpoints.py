"""`/document-numbering/configs`: number formats of projects."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.dependencies import Context, CurrentCaller
from saraban.kit import etags
from saraban.kit.errors import invalid
from saraban.kit.http import (
    Db,
    Language,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    read_after_commit,
)
from saraban.kit.schema import Items, PageOut, SingleLine
from saraban.numbering.formats import service
from saraban.numbering.formats.domain import TOKEN_MEANINGS, TemplatePiece, parse_template
from saraban.numbering.formats.schemas import (
    FormatChange,
    FormatIn,
    FormatOut,
    FormatPreviewIn,
    FormatPreviewOut,
    FormatTextIn,
    FormatVersionOut,
    FormatWarning,
    ParsedTemplateOut,
    TemplatePieceOut,
)
from saraban.numbering.issue.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.series.models import FormatRow

router = APIRouter(route_class=RecordedRoute)


@router.get("/configs", dependencies=READ_LIMIT, summary="List number formats")
async def list_formats(
    session: ReadSession,
    ctx: Context,
    project_public_id: Annotated[UUID | None, Query(alias="projectPublicId")] = None,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> PageOut[FormatOut]:
    """The formats of one project, or of every project whose formats the caller may read."""
    page = await service.list_formats(ctx, session, project_public_id=project_public_id, cursor=cursor, limit=limit)
    return PageOut[FormatOut](items=[_format_out(row) for row in page.items], next_cursor=page.next_cursor)


@router.post("/configs/parse", dependencies=READ_LIMIT, summary="Take a template apart")
async def parse_format(body: FormatTextIn, _caller: CurrentCaller, language: Language) -> ParsedTemplateOut:
    """For an editor: tokens and faults with their positions. An invalid template is a normal response."""
    parsed = parse_template(body.template, drawing=body.drawing)
    return ParsedTemplateOut(
        template=parsed.text,
        valid=parsed.template is not None,
        pieces=[_piece_out(piece, language) for piece in parsed.pieces],
        faults=[fault.text.say(language, fault.values) for fault in parsed.faults],
        prints_period=parsed.template is not None and parsed.template.prints_period,
    )


@router.post("/configs/preview", dependencies=READ_LIMIT, summary="Show what saving a format would do")
async def preview_format(
    body: FormatPreviewIn, session: ReadSession, ctx: Context, language: Language
) -> FormatPreviewOut:
    """The next three numbers of recent series, before and after, and the formats that could collide."""
    effect = await service.format_effect(ctx, session, body.target, body.draft)
    return FormatPreviewOut(
        template=effect.template.text,
        reset_sequence_yearly=effect.resets,
        examples=effect.examples,
        warnings=[_warning(other, language) for other in effect.meets],
    )


@router.get("/configs/{publicId}/history", dependencies=READ_LIMIT, summary="Read what a format was")
async def format_history(public_id: PathId, session: ReadSession, ctx: Context) -> Items[FormatVersionOut]:
    """Newest first, with who changed it and why."""
    return Items[FormatVersionOut](items=await service.format_history(ctx, session, public_id=public_id))


@router.delete("/configs/{publicId}", status_code=204, summary="Delete a format that was never used")
async def delete_format(
    public_id: PathId,
    db: Db,
    ctx: Context,
    reason: Annotated[str, SingleLine(500, shortest=5), Query(description="Kept in the audit.")],
) -> None:
    """Its documents then take the next matching format: of the type, the default of the project, or of the system."""
    await db.transact(service.delete_format, ctx, public_id=public_id, reason=reason)


@router.get("/configs/{publicId}", dependencies=READ_LIMIT, summary="Read a number format")
async def read_format(
    public_id: PathId, session: ReadSession, ctx: Context, response: Response, language: Language
) -> FormatOut:
    """With the formats of the project that could print the same number, as `warnings`."""
    row = await service.read_format(ctx, session, public_id=public_id)
    return await _respond_with_format(session, row, response, language)


@router.put("/configs", summary="Save the format of a project for a type, or for some of its documents")
async def save_format(body: FormatIn, db: Db, ctx: Context, response: Response, language: Language) -> FormatOut:
    """Creates or replaces the format; issued numbers keep theirs."""
    row = await db.transact(service.save_format, ctx, body.target, body.draft)
    async with read_after_commit(db) as session:
        return await _respond_with_format(session, row, response, language)


@router.put("/configs/{publicId}", summary="Change a number format")
async def change_format(
    public_id: PathId,
    body: FormatChange,
    db: Db,
    ctx: Context,
    response: Response,
    language: Language,
    if_match: Annotated[str | None, Header(max_length=40)] = None,
) -> FormatOut:
    """Omitted fields stay. `If-Match` with the format's version refuses to overwrite another user's change."""
    version = _version(if_match)
    row = await db.transact(service.change_format, ctx, public_id=public_id, version=version, changes=body)
    async with read_after_commit(db) as session:
        return await _respond_with_format(session, row, response, language)


async def _respond_with_format(session: AsyncSession, row: FormatRow, response: Response, language: str) -> FormatOut:
    response.headers["ETag"] = f'"{row.format.version}"'
    return _format_out(row, await service.colliding_formats(session, row), language)


def _format_out(row: FormatRow, colliding: list[FormatRow] | None = None, language: str = "th") -> FormatOut:
    return FormatOut.from_object(
        row.format,
        **{name: code or None for name, code in service.narrowed_columns(row.format.narrowing).items()},
        project_public_id=row.project_public_id,
        project_code=row.project_code,
        correspondence_type_code=row.type_code,
        template=row.format.format_template,
        warnings=[_warning(other, language) for other in colliding or []],
    )


def _piece_out(piece: TemplatePiece, language: str) -> TemplatePieceOut:
    meaning, sample = TOKEN_MEANINGS.get(piece.token or "", (None, None))
    return TemplatePieceOut.from_object(
        piece,
        kind="fault" if piece.fault else "token" if piece.token else "literal",
        meaning=meaning.say(language) if meaning else None,
        sample=sample,
        fault=piece.fault.text.say(language, piece.fault.values) if piece.fault else None,
    )


def _warning(other: FormatRow, language: str) -> FormatWarning:
    name = other.type_code or ("ค่าเริ่มต้น" if language == "th" else "the default")
    if narrowed := other.format.narrowing.say(language):
        name = f"{name}, {narrowed}"
    message = (
        f"รูปแบบนี้อาจพิมพ์เลขที่เหมือนรูปแบบของ {name} ({other.format.format_template})"
        if language == "th"
        else f"This format could print a number that the format of {name} ({other.format.format_template}) prints too."
    )
    at = other.format.public_id
    return FormatWarning(code="FORMATS_CAN_MEET", field="/template", message=message, public_id=at, config_public_id=at)


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip()
    etags.require_strong([text])
    text = text.strip('"')
    if not (text.isascii() and text.isdigit()):
        raise invalid("header:If-Match", "malformed", "If-Match ไม่ถูกต้อง", "If-Match is not a version of this format.")
    return int(text)
