"""Reads of a project's ledger; every read is a keyset page of an index."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from saraban.identity.models import Organization, User
from saraban.kit.keys import spelled
from saraban.numbering.register.domain import (
    ExportedNumber,
    Gap,
    GapReason,
    MainCounter,
    NumberRow,
)
from saraban.numbering.series.domain.counter import SequenceRange
from saraban.numbering.series.domain.states import RANGE_RELEASED, NumberSource, OperationCode, RangeKind
from saraban.numbering.series.domain.template import Narrowing
from saraban.numbering.series.models import (
    COUNTER_OF_RANGE,
    LedgerEntry,
    NumberAudit,
    NumberCounter,
    NumberFormat,
    NumberOperation,
    NumberRange,
    NumberRendering,
)
from saraban.projects.models import CorrespondenceType, Project

_replacement = aliased(LedgerEntry, name="replacement")
_replaced = aliased(LedgerEntry, name="replaced")
_organization_entry = aliased(LedgerEntry, name="own")
_originator = aliased(Organization, name="originator")
_recipient = aliased(Organization, name="recipient")
_NUMBER_COLUMNS = (
    LedgerEntry.id,
    LedgerEntry.sequence_number,
    LedgerEntry.range,
    LedgerEntry.public_id,
    LedgerEntry.document_number,
    LedgerEntry.document_number_status,
    LedgerEntry.source,
    LedgerEntry.originator_organization_id,
    LedgerEntry.holder_kind,
    LedgerEntry.holder_public_id,
    LedgerEntry.reason,
    User.username,
    LedgerEntry.created_at,
    sa.func.coalesce(LedgerEntry.voided_at, LedgerEntry.cancelled_at, type_=LedgerEntry.voided_at.type),
    _replaced.document_number,
    _replacement.document_number,
)
_EXPORT_COLUMNS = (
    LedgerEntry.id,
    LedgerEntry.document_number,
    CorrespondenceType.type_code,
    _originator.organization_code,
    _recipient.organization_code,
    LedgerEntry.series,
    LedgerEntry.sequence_number,
    LedgerEntry.revision_label,
    LedgerEntry.document_number_status,
    LedgerEntry.source,
    LedgerEntry.holder_kind,
    LedgerEntry.holder_public_id,
    LedgerEntry.reason,
    User.username,
    sa.case((LedgerEntry.source == NumberSource.IMPORT, LedgerEntry.confirmed_at), else_=LedgerEntry.created_at),
    LedgerEntry.confirmed_at,
    LedgerEntry.cancelled_at,
    LedgerEntry.voided_at,
    LedgerEntry.public_id,
    LedgerEntry.replaces_uuid,
    LedgerEntry.replaced_by_uuid,
    LedgerEntry.format_template,
    LedgerEntry.format_source,
    NumberFormat.sub_type_code,
    NumberFormat.rfa_type_code,
    NumberFormat.discipline_code,
)


@dataclass(frozen=True, slots=True)
class RegisterPlace:
    """:param organizations: originators; None for all"""

    project: int
    organizations: frozenset[int] | None = None

    def of(self, originator: InstrumentedAttribute[int]) -> list[sa.ColumnElement[bool]]:
        return [] if self.organizations is None else [originator.in_(sorted(self.organizations))]

    def has_number_in(self, series: InstrumentedAttribute[str] | str) -> sa.ColumnElement[bool]:
        # One EXISTS per organization: for an IN list MariaDB reads all series.
        conditions = (
            _organization_entry.originator_organization_id == organization
            for organization in sorted(self.organizations or ())
        )
        matches = (
            sa.exists().where(
                issued, _organization_entry.project_id == self.project, _organization_entry.series == series
            )
            for issued in conditions
        )
        return sa.or_(sa.false(), *matches)

    def with_series(
        self, originator: InstrumentedAttribute[int], series: InstrumentedAttribute[str]
    ) -> list[sa.ColumnElement[bool]]:
        """Begun for one of the organizations, or containing their numbers."""
        return [sa.or_(begun_for, self.has_number_in(series)) for begun_for in self.of(originator)]


async def main_counter(session: AsyncSession, *, project_id: int, series: str) -> MainCounter | None:
    statement = sa.select(
        NumberCounter.last_number, NumberCounter.before_ledger, NumberCounter.originator_organization_id
    ).where(NumberCounter.project_id == project_id, NumberCounter.series == series, NumberCounter.range == 0)
    row = (await session.execute(statement)).first()
    return MainCounter(*row) if row else None


async def has_number_in(session: AsyncSession, place: RegisterPlace, series: str) -> bool:
    return bool(await session.scalar(sa.select(place.has_number_in(series))))


async def first_originator(session: AsyncSession, *, project_id: int, series: str) -> int | None:
    statement = (
        sa.select(LedgerEntry.originator_organization_id)
        .where(LedgerEntry.project_id == project_id, LedgerEntry.series == series)
        .order_by(LedgerEntry.range, LedgerEntry.sequence_number, LedgerEntry.id)
        .limit(1)
    )
    return await session.scalar(statement)


async def ranges_of(session: AsyncSession, *, project_id: int, series: str) -> Sequence[int]:
    rows = await session.scalars(
        sa.select(NumberRange.number)
        .where(NumberRange.project_id == project_id, NumberRange.series == series, NumberRange.kind == RangeKind.KEPT)
        .order_by(NumberRange.number)
    )
    return [0, *rows]


async def numbers_page(
    session: AsyncSession, place: RegisterPlace, *, series: str, ranges: Sequence[int], after: int, limit: int
) -> Sequence[NumberRow]:
    """Merge all ranges by sequence; include linked numbers only if visible."""
    rows: list[NumberRow] = []
    for range_ in ranges:  # one index seek per range; a series has few
        statement = (
            sa.select(*_NUMBER_COLUMNS)
            .outerjoin(
                User, User.user_id == LedgerEntry.user_id
            )  # outer joins, so that every plan starts with the numbers
            .outerjoin(_replaced, _visible_link(place, _replaced, LedgerEntry.replaces_uuid))
            .outerjoin(_replacement, _visible_link(place, _replacement, LedgerEntry.replaced_by_uuid))
            .where(
                LedgerEntry.project_id == place.project,
                LedgerEntry.series == series,
                LedgerEntry.range == range_,
                LedgerEntry.sequence_number > after,
            )
            .order_by(LedgerEntry.sequence_number, LedgerEntry.id)
            .limit(limit)
        )
        rows += starmap(NumberRow, (await session.execute(statement)).all())
    return sorted(rows, key=lambda row: (row.sequence, row.id))[:limit]


def _visible_link(
    place: RegisterPlace, linked: type[LedgerEntry], public_id: InstrumentedAttribute[UUID | None]
) -> sa.ColumnElement[bool]:
    return sa.and_(linked.public_id == public_id, *place.of(linked.originator_organization_id))


async def gaps_of(
    session: AsyncSession,
    *,
    project_id: int,
    series: str,
    counter: int | None = None,
    within: SequenceRange | None = None,
    organizations: Collection[int] | None = None,
) -> tuple[list[Gap], list[int]]:
    """
    Return explanations of missing sequences, most specific first, and the ids of reset audit rows.

    :param counter: of this counter only (0: the main one); None: of the whole series
    :param organizations: disclose reasons and users of these only: ranges by owner, skips by the user's organization
    """
    condition: sa.ColumnElement[bool] = sa.true()
    if within is not None:
        skipped = sa.and_(NumberAudit.sequence_number <= within.last, NumberAudit.skipped_to >= within.first)
        condition = sa.or_(NumberAudit.operation != OperationCode.SKIP, skipped)
    statement = (
        sa.select(NumberAudit, User.username, User.primary_organization_id)
        .outerjoin(User, User.user_id == NumberAudit.user_id)
        .where(
            NumberAudit.series == series,
            NumberAudit.operation.in_([OperationCode.SKIP, OperationCode.RANGE, OperationCode.RESET]),
            NumberAudit.project_id == project_id,
            condition,
        )
        .order_by(NumberAudit.id)
    )
    rows = (await session.execute(statement)).all()
    skips = [
        Gap(
            SequenceRange(row.sequence_number, row.skipped_to),
            GapReason.SKIPPED,
            *((row.reason, username, row.created_at) if organizations is None or employer in organizations else ()),
        )
        for row, username, employer in rows
        if row.operation == OperationCode.SKIP and row.sequence_number and row.skipped_to
    ]
    releases = {
        values["range"]: values.get("counter")
        for row, *_ in rows
        if row.operation == OperationCode.RANGE
        and (values := orjson.loads(row.new_value or "{}")).get("state") == RANGE_RELEASED
    }
    gaps = skips
    if not counter:  # a reserved range contains no ranges, and is younger than the ledger
        gaps += await _range_gaps(
            session, project_id, series, releases, whole=counter == 0, organizations=organizations
        )
        main = await main_counter(session, project_id=project_id, series=series)
        if main and main.before_ledger:
            gaps.append(Gap(SequenceRange(1, main.before_ledger), GapReason.BEFORE_LEDGER))
    return gaps, [] if counter else [row.id for row, *_ in rows if row.operation == OperationCode.RESET]


async def _range_gaps(
    session: AsyncSession,
    project_id: int,
    series: str,
    releases: Mapping[str, int | None],
    *,
    whole: bool,
    organizations: Collection[int] | None,
) -> list[Gap]:
    """:param whole: False leaves out sequences that a range's own counter has passed"""
    statement = (
        sa.select(NumberRange, User.username, Organization.organization_code, NumberCounter.last_number)
        .outerjoin(User, User.user_id == NumberRange.user_id)
        .outerjoin(Organization, Organization.id == NumberRange.organization_id)
        .outerjoin(NumberCounter, COUNTER_OF_RANGE)
        .where(NumberRange.project_id == project_id, NumberRange.series == series)
        .order_by(NumberRange.first_number)
    )
    gaps = []
    for row, username, organization, last in (await session.execute(statement)).all():
        first = row.first_number if whole or last is None else max(row.first_number, last + 1)
        # After the release, the main counter issues what it had not passed.
        end = row.last_number if row.released_at is None else releases.get(str(row.public_id)) or row.last_number
        sequences = SequenceRange(first, min(row.last_number, end))
        if organizations is not None and row.organization_id is not None and row.organization_id not in organizations:
            gaps.append(Gap(sequences, GapReason(row.kind)))
            continue
        reason = f"{organization}: {row.reason}" if organization else row.reason
        gaps.append(Gap(sequences, GapReason(row.kind), reason, username, row.created_at))
    return gaps


async def fullest_series(session: AsyncSession, *, since: datetime, most: int) -> Sequence[sa.Row[str, str, int, str]]:
    """:param since: ignore series unused since then, because those of past years stay full"""
    counter = (
        sa.select(NumberCounter.project_id, NumberCounter.series, NumberCounter.last_number)
        .where(NumberCounter.range == 0, NumberCounter.updated_at >= since, NumberCounter.last_number > 0)
        .order_by(NumberCounter.last_number.desc())
        .limit(most)
        .subquery()
    )
    template = (
        sa.select(LedgerEntry.format_template)
        .where(
            LedgerEntry.project_id == counter.c.project_id,
            LedgerEntry.series == counter.c.series,
            LedgerEntry.range == 0,
            LedgerEntry.sequence_number <= counter.c.last_number,
        )
        .order_by(LedgerEntry.sequence_number.desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = sa.select(Project.project_code, counter.c.series, counter.c.last_number, template).join_from(
        counter, Project, Project.id == counter.c.project_id
    )
    return (await session.execute(statement)).all()


async def export_page(
    session: AsyncSession, place: RegisterPlace, *, type_code: str | None, series: str | None, after: int, limit: int
) -> Sequence[ExportedNumber]:
    """In order of issue, in any state."""
    statement = (
        sa.select(*_EXPORT_COLUMNS)
        .outerjoin(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
        .outerjoin(_originator, _originator.id == LedgerEntry.originator_organization_id)
        .outerjoin(_recipient, _recipient.id == LedgerEntry.recipient_organization_id)
        .outerjoin(User, User.user_id == LedgerEntry.user_id)
        .outerjoin(NumberFormat, NumberFormat.public_id == LedgerEntry.format_uuid)
        .where(LedgerEntry.project_id == place.project, LedgerEntry.id > after)
        .where(*place.of(LedgerEntry.originator_organization_id))
        .order_by(LedgerEntry.id)
        .limit(limit)
    )
    if type_code is not None:  # by key: with a condition on the joined table MariaDB would start there
        key = spelled(sa.select(CorrespondenceType.id), CorrespondenceType.type_code, type_code).scalar_subquery()
        statement = statement.where(LedgerEntry.correspondence_type_id == key)
    if series is not None:
        statement = statement.where(LedgerEntry.series == series)
    return [
        ExportedNumber(
            row[0],
            row[1:-4],
            row.type_code,
            row.source,
            row.format_source,
            Narrowing(*(str(code or "") for code in row[-3:])),
        )
        for row in (await session.execute(statement)).all()
    ]


async def operations_of_number(session: AsyncSession, number: str) -> list[NumberOperation]:
    """Several projects may share the number."""
    printed = (
        sa.select(LedgerEntry.public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(NumberRendering.document_number == number)
    )
    return await _operations(session, NumberAudit.reservation_uuid.in_(printed))


async def operations_on(session: AsyncSession, public_id: UUID) -> list[NumberOperation]:
    return await _operations(session, NumberAudit.reservation_uuid == public_id)


async def _operations(session: AsyncSession, condition: sa.ColumnElement[bool]) -> list[NumberOperation]:
    statement = (
        sa.select(NumberAudit, User.username, Project.project_code)
        .join(User, User.user_id == NumberAudit.user_id)
        .join(Project, Project.id == NumberAudit.project_id)
        .where(condition)
        .order_by(NumberAudit.id)
    )
    return [NumberOperation(*row) for row in (await session.execute(statement)).all()]


async def renderings(session: AsyncSession, entry: LedgerEntry) -> Sequence[NumberRendering]:
    statement = sa.select(NumberRendering).where(NumberRendering.reservation_id == entry.id)
    return (await session.scalars(statement.order_by(NumberRendering.id))).all()


async def holders_of_number(session: AsyncSession, number: str) -> frozenset[UUID]:
    """Several projects may share the number."""
    statement = (
        sa.select(LedgerEntry.holder_public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(NumberRendering.document_number == number, LedgerEntry.holder_public_id.is_not(None))
    )
    return frozenset(holder for holder in await session.scalars(statement) if holder is not None)
