"""API, search and export of the audit trail."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response, StreamingResponse

from saraban.audit import service as audit
from saraban.audit.domain.changes import changes_in, shown_details
from saraban.identity import service as identity
from saraban.identity.dependencies import Context
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.dates import moments_of_days
from saraban.kit.db import Database
from saraban.kit.errors import Text
from saraban.kit.http import BINARY, MEDIA, Db, PageCursor, PageLimit, ReadSession, WorkbookFormat, written_file
from saraban.kit.json import Json, JsonObject
from saraban.kit.schema import PageOut, PeriodQuery, Schema, SingleLine
from saraban.kit.workbooks import SheetWriter, csv_line
from saraban.numbering import service as numbering
from saraban.ops.audit_words import SECURITY, action_words, kind_words

SEES_ALL, SEES_OWN = "audit.view_all", "audit.view_own"
_EXPORT_PAGE_ROWS: Final = 1000
MOST_IN_WORKBOOK: Final = 1_000_000  # a sheet ends at 1,048,576 rows
_DIRECTORY_KINDS: Final = ("user", "organization", "project", "contract")
_NAME_FIELDS: Final = ("documentNumber", "number", "fileName", "workflowCode", "username", "code", "name", "project")
# Entries about roles also contain a user name, which is not the role's name.
_OWN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {"role": ("role",)}


class AuditQuery(PeriodQuery):
    """Filters of the audit trail; a filter that is left out selects all."""

    person: Annotated[str, SingleLine(100)] | None = Field(None, description="Who did it: `publicId` or user name.")
    object: Annotated[str, SingleLine(255)] | None = Field(
        None, description="What it was done to: a `publicId`, a document number, a code, or a user name."
    )
    kind: str | None = Field(None, max_length=50, description="The kind of that thing, such as `rfa` or `user`.")
    action: str | None = Field(
        None,
        max_length=100,
        description="Only this action, such as `rfa.create`; `security` for sign-ins, refusals and downloads.",
    )


class AuditPersonOut(Schema):
    public_id: UUID
    username: str = Field(examples=["dc.contractor"])
    display_name: str = Field(examples=["ดวงใจ เอกสารครบ"])


class AuditObjectOut(Schema):
    """:param reference: its public id; without one, its name"""

    kind: str = Field(examples=["rfa"])
    label: Text
    reference: str | None = Field(examples=["01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"])
    name: str | None = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])


class AuditChangeOut(Schema):
    field: str = Field(examples=["subject"])
    before: Json = Field(examples=["ขออนุมัติแบบ"])
    after: Json = Field(examples=["ขออนุมัติแบบโครงสร้าง"])


class AuditEntryOut(Schema):
    """An action of a person or of the system."""

    public_id: UUID
    created_at: datetime
    action: str = Field(examples=["rfa.edit"])
    label: Text
    severity: audit.Severity
    person: AuditPersonOut | None = Field(description="null: nobody had signed in.")
    object: AuditObjectOut | None
    changes: list[AuditChangeOut] = Field(description="Each field that was changed, with what it was before.")
    details: dict[str, Json] = Field(description="What else is known of it.")
    address: str | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class AuditReading:
    """:param names: of people and places in the details, by public id"""

    page: PageOut[AuditEntryOut]
    names: Mapping[str, str]


async def read_trail(
    ctx: RequestContext, session: AsyncSession, asked: AuditQuery, *, cursor: str | None, limit: int
) -> AuditReading:
    """:raises Forbidden, Invalid:"""
    search = await _build_search(ctx, session, asked)
    page = await audit.search_records(session, search, cursor=cursor, limit=limit)
    names = {str(entry.public_id): entry for entry in await _load_names(session, page.items)}
    items = [_entry(record, names) for record in page.items]
    return AuditReading(
        PageOut[AuditEntryOut](items=items, next_cursor=page.next_cursor),
        {key: entry.name for key, entry in names.items()},
    )


async def _build_search(ctx: RequestContext, session: AsyncSession, asked: AuditQuery) -> audit.AuditSearch:
    people = await _visible_people(ctx, session)
    since, until = moments_of_days(asked.since, asked.until, ctx.zone)
    if asked.person is not None:
        named = await _find_accounts(session, asked.person)
        people = named if people is None else named & people
    objects = await _object_ids(session, asked.object) if asked.object is not None else ()
    return audit.AuditSearch(
        objects=objects,
        kind=asked.kind or None,
        actions=SECURITY if asked.action == "security" else (asked.action,) if asked.action else (),
        people=people,
        since=since,
        until=until,
    )


async def _visible_people(ctx: RequestContext, session: AsyncSession) -> frozenset[int] | None:
    """Return None for all."""
    caller = ctx.caller
    if sees_all(ctx):
        return None
    organizations = [key for key in caller.organization_ids if caller.may(SEES_OWN, Scope(frozenset({key})))]
    if not organizations:
        caller.require(SEES_ALL, Scope())
    return await identity.accounts_of(session, organizations)


def sees_all(ctx: RequestContext) -> bool:
    return ctx.caller.may(SEES_ALL, Scope())


def may_read(ctx: RequestContext) -> bool:
    scopes = (Scope(frozenset({organization})) for organization in ctx.caller.organization_ids)
    return sees_all(ctx) or any(ctx.caller.may(SEES_OWN, scope) for scope in scopes)


async def _find_accounts(session: AsyncSession, text: str) -> frozenset[int]:
    entries = await _look_up(session, text)
    return frozenset(entry.key for entry in entries if entry.kind == "user")


async def _object_ids(session: AsyncSession, text: str) -> tuple[str, ...]:
    public_id = _uuid(text)
    if public_id is not None:
        return (str(public_id),)
    holders = await numbering.holders_of_number(session, number=text)
    entry_ids = {entry.public_id for entry in await _look_up(session, text)}
    return (text[:50], *sorted(map(str, holders | entry_ids)))


async def _look_up(session: AsyncSession, text: str) -> list[identity.DirectoryEntry]:
    public_id = _uuid(text)
    if public_id is not None:
        return await identity.look_up(session, public_ids=[public_id])
    return await identity.look_up(session, codes=[text])


def _uuid(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None


async def _load_names(session: AsyncSession, records: Sequence[audit.AuditRecord]) -> list[identity.DirectoryEntry]:
    ids = {record.actor_public_id for record in records}
    ids |= {_uuid(record.entity_id) for record in records if record.entity_type in _DIRECTORY_KINDS}
    ids |= {public_id for record in records for public_id in _ids_in(record.details)}
    requested = sorted((public_id for public_id in ids if public_id), key=str)
    return await identity.look_up(session, public_ids=requested) if requested else []


def _ids_in(value: Json) -> Iterator[UUID]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _ids_in(item)
    elif isinstance(value, str) and len(value) == 36 and (public_id := _uuid(value)) is not None:
        yield public_id


def _entry(record: audit.AuditRecord, names: Mapping[str, identity.DirectoryEntry]) -> AuditEntryOut:
    details = shown_details(record.details)
    changes, facts = changes_in(details)
    actor = names.get(str(record.actor_public_id))
    return AuditEntryOut(
        public_id=record.public_id,
        created_at=record.created_at,
        action=record.action,
        label=action_words(record.action, details.get("section")),
        severity=audit.Severity(record.severity),
        person=None
        if actor is None
        else AuditPersonOut(public_id=actor.public_id, username=actor.code, display_name=actor.name),
        object=_object(record, details, names),
        changes=[AuditChangeOut(field=change.field, before=change.before, after=change.after) for change in changes],
        details=dict(facts),
        address=record.address,
        request_id=record.request_id,
    )


def _object(
    record: audit.AuditRecord, details: JsonObject, names: Mapping[str, identity.DirectoryEntry]
) -> AuditObjectOut | None:
    if record.entity_type is None:
        return None
    entry = names.get(record.entity_id or "")
    name_fields = _OWN_NAMES.get(record.entity_type, _NAME_FIELDS)
    text = next((details[name] for name in name_fields if isinstance(details.get(name), str)), None)
    name = entry.code if entry is not None and record.entity_type in _DIRECTORY_KINDS else str(text) if text else None
    label = kind_words(record.entity_type)
    return AuditObjectOut(kind=record.entity_type, label=label, reference=record.entity_id, name=name)


HEADINGS: Final = (
    "เวลา / Time",
    "ผู้ใช้ / User",
    "ชื่อ / Name",
    "การดำเนินการ / Action",
    "รหัส / Code",
    "ชนิด / Kind",
    "เลขที่หรือชื่อ / Number or name",
    "Object publicId",
    "สิ่งที่เปลี่ยน / Changes",
    "รายละเอียด / Details",
    "ที่อยู่ / Address",
    "Request",
    "publicId",
)


async def exported_rows(ctx: RequestContext, db: Database, asked: AuditQuery) -> AsyncIterator[list[object]]:
    """Check permissions first; hold no connection between pages."""
    async with db.reading() as session:
        await _build_search(ctx, session, asked)
    return _pages(ctx, db, asked)


async def _pages(ctx: RequestContext, db: Database, asked: AuditQuery) -> AsyncIterator[list[object]]:
    cursor: str | None = None
    while True:
        async with db.reading() as session:
            page = (await read_trail(ctx, session, asked, cursor=cursor, limit=_EXPORT_PAGE_ROWS)).page
        for item in page.items:
            yield _cells(item, ctx.zone)
        cursor = page.next_cursor
        if cursor is None:
            return


def _cells(entry: AuditEntryOut, zone: ZoneInfo) -> list[object]:
    person, thing = entry.person, entry.object
    return [
        entry.created_at.astimezone(zone).replace(tzinfo=None),
        person.username if person else None,
        person.display_name if person else None,
        f"{entry.label.th} / {entry.label.en}",
        entry.action,
        f"{thing.label.th} / {thing.label.en}" if thing else None,
        thing.name if thing else None,
        thing.reference if thing else None,
        "\n".join(f"{change.field}: {_text(change.before)} → {_text(change.after)}" for change in entry.changes),
        _text(entry.details) if entry.details else None,
        entry.address,
        entry.request_id,
        str(entry.public_id),
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


router = APIRouter(prefix="/audit", tags=["Audit"])
Asked = Annotated[AuditQuery, Query()]
_MORE = ("ยังมีแถวเก่ากว่านี้ ให้ส่งออกเป็น CSV หรือย่นช่วงวันที่", "There are older rows: export as CSV, or narrow the period.")


@router.get("", summary="Read the audit trail")
async def listing(
    ctx: Context, session: ReadSession, asked: Asked, cursor: PageCursor = None, limit: PageLimit = 50
) -> PageOut[AuditEntryOut]:
    """
    Newest first. With `audit.view_all` everywhere the whole trail, with `audit.view_own` the actions of that
    organization's accounts.

    Days are in the deployment's zone.
    """
    return (await read_trail(ctx, session, asked, cursor=cursor, limit=limit)).page


@router.get("/export", response_class=Response, responses=BINARY, summary="Export the audit trail")
async def export(ctx: Context, db: Db, asked: Asked, form: WorkbookFormat = "xlsx") -> Response:
    """
    The rows of the same filters, newest first; times are in the deployment's zone.

    CSV is streamed, however long it is; a workbook ends after a million rows and says so.
    """
    return await sent_trail(await exported_rows(ctx, db, asked), form)


async def sent_trail(rows: AsyncIterator[list[object]], form: WorkbookFormat) -> Response:
    name = f"audit.{form}"
    if form == "csv":
        headers = {"Cache-Control": "private, no-store", "Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(_lines(rows), media_type=MEDIA[form], headers=headers)
    return await written_file(name, lambda path: _write(path, rows))


async def _lines(rows: AsyncIterator[list[object]]) -> AsyncIterator[bytes]:
    yield b"\xef\xbb\xbf" + csv_line(HEADINGS)
    async for row in rows:
        yield csv_line(row)


async def _write(path: Path, rows: AsyncIterator[list[object]]) -> None:
    count = 0
    with SheetWriter(path, HEADINGS, "Audit") as sheet:
        async for row in rows:
            count += 1
            if count > MOST_IN_WORKBOOK:
                sheet.add(_MORE)
                return
            sheet.add(row)
