"""Statements about circulations."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.attachments.models import Attachment
from saraban.documents.circulation.domain import STATUS_PLACES, WAITING, CirculationReach
from saraban.documents.circulation.models import Circulation, CirculationAttachment, CirculationRouting
from saraban.documents.core.domain.registers import NarrowRow
from saraban.documents.core.models import Document, DocumentReach
from saraban.identity.models import Organization, User, UserAssignment, UserName, in_force, named
from saraban.kit.db import AnyRow, AnySelect, table_of
from saraban.projects.models import CirculationStatusCode, Project

_canceller = aliased(User, name="canceller")


@dataclass(frozen=True, slots=True)
class AssigneeRow:
    """
    :param user: None without a person
    :param is_active: the account is open and belongs to the circulation's organization
    """

    routing: CirculationRouting
    user: UserName | None
    is_active: bool


@dataclass(frozen=True, slots=True)
class CirculationRow:
    circulation: Circulation
    project: Project
    organization: Organization
    status: CirculationStatusCode
    author: UserName
    canceller: UserName | None
    correspondence: UUID | None
    assignees: Sequence[AssigneeRow] = ()

    @property
    def public_id(self) -> UUID:
        return self.circulation.public_id

    @property
    def entity_id(self) -> str:
        return str(self.circulation.public_id)

    @property
    def number(self) -> str:
        return self.circulation.circulation_no

    @property
    def number_uuid(self) -> UUID | None:
        return self.circulation.number_uuid

    @property
    def revision_label(self) -> str | None:
        return None

    @property
    def subject(self) -> str:
        return self.circulation.circulation_subject

    @property
    def cancelled_at(self) -> datetime | None:
        return self.circulation.cancelled_at

    @property
    def version(self) -> int:
        return self.circulation.version


def _to_row(values: AnyRow) -> CirculationRow:
    sheet, project, organization, status, author, canceller, correspondence = values
    return CirculationRow(
        sheet, project, organization, status, UserName._make(author), _to_name(canceller), correspondence
    )


def _to_name(values: AnyRow) -> UserName | None:
    return None if values.public_id is None else UserName._make(values)


@lru_cache(maxsize=256)
def _select(reach: CirculationReach | None) -> AnySelect:
    """:param reach: None for the system itself"""
    tables = (Circulation, Project, Organization, CirculationStatusCode)
    statement = (
        sa.select(*tables, named("author", User), named("cancelled_by", _canceller), Document.public_id)
        .join(Project, Project.id == Circulation.project_id)
        .join(Organization, Organization.id == Circulation.organization_id)
        .join(CirculationStatusCode, CirculationStatusCode.code == Circulation.circulation_status_code)
        .join(User, User.user_id == Circulation.created_by_user_id)
        .outerjoin(_canceller, _canceller.user_id == Circulation.cancelled_by)
        .outerjoin(Document, Document.id == Circulation.correspondence_id)
        .execution_options(populate_existing=True)
    )
    if reach is None or reach.everything:
        return statement
    in_project = sa.and_(Circulation.organization_id.in_(reach.member_of), Circulation.project_id.in_(reach.projects))
    return statement.where(sa.or_(Circulation.organization_id.in_(reach.organizations), in_project))


def is_involved(name: str) -> sa.ColumnElement[bool]:
    """Select sheets in `document_reach` that a person wrote or has a part in."""
    reach, routing = table_of(DocumentReach), table_of(CirculationRouting)
    person = sa.bindparam(name, type_=sa.Integer())
    has_part = sa.exists().where(routing.c.circulation_id == reach.c.document_id, routing.c.assigned_to == person)
    return sa.or_(reach.c.author_id == person, has_part.correlate(reach))


ABOUT = (
    sa.select(Circulation.id)
    .join(Document, Document.id == Circulation.correspondence_id)
    .where(Document.public_id == sa.bindparam("about"))
)


async def circulations_for(session: AsyncSession, rows: Sequence[NarrowRow]) -> list[CirculationRow]:
    wide_rows = await _rows(session, _select(None).where(Circulation.id.in_([row.document_id for row in rows])))
    circulations = {row.circulation.id: row for row in wide_rows}
    return [circulations[row.document_id] for row in rows if row.document_id in circulations]


async def _rows(session: AsyncSession, statement: AnySelect) -> list[CirculationRow]:
    return await _load_assignees(session, [_to_row(row) for row in await session.execute(statement)])


async def _load_assignees(session: AsyncSession, rows: Sequence[CirculationRow]) -> list[CirculationRow]:
    if not rows:
        return []
    assignees_by_circulation = await assignees(session, circulation_ids=[row.circulation.id for row in rows])
    return [replace(row, assignees=assignees_by_circulation[row.circulation.id]) for row in rows]


async def visible(
    session: AsyncSession, *, reach: CirculationReach | None, public_ids: Collection[UUID]
) -> list[CirculationRow]:
    return await _rows(session, _select(reach).where(Circulation.public_id.in_(public_ids)))


async def lock(session: AsyncSession, *, circulation_id: int) -> None:
    await session.execute(sa.select(Circulation.id).where(Circulation.id == circulation_id).with_for_update())


_place = CirculationRouting.organization_id
_role_here = sa.exists().where(
    UserAssignment.user_id == User.user_id, UserAssignment.organization_id == _place, in_force()
)
_ASSIGNEES = (
    sa.select(
        CirculationRouting,
        named("person", User),
        sa.and_(User.is_active, sa.or_(User.primary_organization_id == _place, _role_here)).label("is_active"),
    )
    .outerjoin(User, User.user_id == CirculationRouting.assigned_to)
    .where(CirculationRouting.circulation_id.in_(sa.bindparam("circulations", expanding=True)))
    .order_by(CirculationRouting.circulation_id, CirculationRouting.step_number)
    .execution_options(populate_existing=True)
)


async def assignees(session: AsyncSession, *, circulation_ids: Collection[int]) -> dict[int, list[AssigneeRow]]:
    rows: dict[int, list[AssigneeRow]] = {circulation_id: [] for circulation_id in circulation_ids}
    for routing, person, active in await session.execute(_ASSIGNEES, {"circulations": list(circulation_ids)}):
        rows[routing.circulation_id].append(AssigneeRow(routing, _to_name(person), bool(active)))
    return rows


_FILES = (
    sa.select(Attachment, CirculationAttachment.is_main_document)
    .join(CirculationAttachment, CirculationAttachment.attachment_id == Attachment.id)
    .where(CirculationAttachment.circulation_id == sa.bindparam("circulation"))
    .order_by(CirculationAttachment.is_main_document.desc(), Attachment.created_at, Attachment.public_id)
)


async def files(session: AsyncSession, *, circulation_id: int) -> Sequence[tuple[Attachment, bool]]:
    return [(row[0], row[1]) for row in await session.execute(_FILES, {"circulation": circulation_id})]


async def reaches_file(session: AsyncSession, *, reach: CirculationReach, attachment_id: int) -> bool:
    statement = (
        _select(reach)
        .join(CirculationAttachment, CirculationAttachment.circulation_id == Circulation.id)
        .where(CirculationAttachment.attachment_id == attachment_id)
    )
    return (await session.execute(statement.limit(1))).first() is not None


async def reaches_any(session: AsyncSession, *, reach: CirculationReach, circulation_ids: Collection[int]) -> bool:
    statement = _select(reach).where(Circulation.id.in_(circulation_ids))
    return (await session.execute(statement.limit(1))).first() is not None


async def has_circulation(session: AsyncSession, *, correspondence_id: int, organization_id: int) -> bool:
    statement = sa.select(Circulation.id).where(
        Circulation.correspondence_id == correspondence_id, Circulation.organization_id == organization_id
    )
    return await session.scalar(statement) is not None


async def open_circulations_of(session: AsyncSession, *, document: UUID) -> list[CirculationRow]:
    return await _rows(session, _select(None).where(Document.public_id == document, Circulation.closed_at.is_(None)))


async def add(session: AsyncSession, circulation: Circulation, routings: Sequence[CirculationRouting]) -> None:
    session.add(circulation)
    await session.flush()
    for routing in routings:
        routing.circulation_id = circulation.id
    await add_assignees(session, routings)


async def add_assignees(session: AsyncSession, routings: Iterable[CirculationRouting]) -> None:
    session.add_all(routings)
    await session.flush()


async def replace_assignees(session: AsyncSession, *, circulation_id: int, rows: Iterable[CirculationRouting]) -> None:
    await session.execute(sa.delete(CirculationRouting).where(CirculationRouting.circulation_id == circulation_id))
    await add_assignees(session, rows)


async def link_files(session: AsyncSession, *, circulation_id: int, attachment_ids: Sequence[int]) -> None:
    session.add_all(
        CirculationAttachment(circulation_id=circulation_id, attachment_id=attachment_id, is_main_document=place == 0)
        for place, attachment_id in enumerate(attachment_ids)
    )
    await session.flush()


async def change(session: AsyncSession, *, circulation_id: int, values: Mapping[str, object]) -> None:
    await session.execute(
        sa.update(Circulation)
        .where(Circulation.id == circulation_id)
        .values({**values, "version": Circulation.version + 1})
    )


async def answer(session: AsyncSession, *, routing_ids: Collection[int], values: Mapping[str, object]) -> int:
    """Close the open ones of these parts, and return their number."""
    is_open = CirculationRouting.status.in_(sorted(WAITING))
    statement = sa.update(CirculationRouting).where(CirculationRouting.id.in_(routing_ids), is_open).values(values)
    return int((await session.execute(statement)).rowcount)  # type: ignore[attr-defined]


NUMBERED = sa.select(Circulation.id, Circulation.circulation_no)
# Columns of `document_reach`; a day is stored as its first moment.
REACH = {
    "project_id": Circulation.project_id,
    "created_at": Circulation.created_at,
    "is_open": Circulation.closed_at.is_(None),
    "status": sa.case(STATUS_PLACES, value=Circulation.circulation_status_code, else_=0),
    "originator_id": Circulation.organization_id,
    "author_id": Circulation.created_by_user_id,
    "due_date": sa.type_coerce(Circulation.deadline_date, sa.String()) + " 00:00:00.000000",
    "document_number": Circulation.circulation_no,
    "number_sort": Circulation.number_sort,
}
REACH_STATUS = sa.case(STATUS_PLACES, value=sa.bindparam("code", type_=sa.String()), else_=0)
