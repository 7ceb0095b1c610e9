"""
Lending one's own steps while away: who, to whom, from when to when, about what; and in whose place a person may act now.

Everybody lends for themselves. Who stands in for whom is asked only when one's own rights do not do: one statement when
nobody has delegated to them, two when somebody has, however many.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.schemas import PersonRef
from saraban.identity.service import OrganizationMember
from saraban.identity.service.callers import display_name
from saraban.kit.dates import local_date
from saraban.kit.errors import NotFound, Text, invalid
from saraban.kit.etags import Stale, require_match
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.kit.pagination import Page, page_of
from saraban.projects import service as projects
from saraban.projects.schemas import ProjectCode
from saraban.projects.service import ProjectRef
from saraban.workflow.runtime.domain import delegation
from saraban.workflow.runtime.domain.delegation import Delegation, DelegationStatus
from saraban.workflow.runtime.models import DelegationRow
from saraban.workflow.runtime.repository import delegation_rows
from saraban.workflow.runtime.repository.delegation_rows import NamedRow, StandingRow
from saraban.workflow.runtime.schemas import DelegationIn, DelegationOut


@dataclass(frozen=True, slots=True)
class DelegatedRights:
    """Everybody for whom one person stands in at one moment, read once; ask it for each matter."""

    lent: tuple[tuple[Delegation, Caller], ...] = ()

    def of(self, workflow_code: str, project_id: int | None) -> tuple[Caller, ...]:
        found = {seat.user_id: seat for one, seat in self.lent if one.reaches(workflow_code, project_id)}
        return tuple(found.values())

    @property
    def user_ids(self) -> frozenset[int]:
        return frozenset(seat.user_id for _, seat in self.lent)


NO_DELEGATED_RIGHTS = DelegatedRights()


async def delegated_rights_of(ctx: RequestContext, session: AsyncSession) -> DelegatedRights:
    rows = await delegation_rows.to_person(session, user_id=ctx.caller.user_id, moment=ctx.now)
    if not rows:
        return NO_DELEGATED_RIGHTS
    people = await identity.load_callers(session, [row.delegator for row in rows])
    known = {person.user_id: person for person in people.values()}
    return DelegatedRights(delegation.standing(ctx.caller, [delegation_of(row) for row in rows], known, moment=ctx.now))


async def delegators_of(
    ctx: RequestContext, session: AsyncSession, *, workflow_code: str, project_id: int | None
) -> Sequence[Caller]:
    """
    Return those in whose place the caller may act now in one matter, each with what of their rights is lent.

    A permission or a seat of theirs is as good as the caller's own, with two exceptions that the engine knows: neither of
    both may be the submitter where a step says so, and nobody lends the right to everything.
    """
    return (await delegated_rights_of(ctx, session)).of(workflow_code, project_id)


@dataclass(frozen=True, slots=True)
class Delegates:
    """Who stands in for some people over a stretch of time: for those who tell people of things."""

    lent: tuple[tuple[Delegation, UUID | None, Caller], ...] = ()

    def of(
        self, user_ids: Collection[int], *, workflow_code: str, project: UUID | None, moment: datetime
    ) -> dict[UUID, Caller]:
        return {
            delegate.public_id: delegate
            for one, place, delegate in self.lent
            if one.delegator in user_ids
            and one.counts_at(moment)
            and (not one.workflows or workflow_code in one.workflows)
            and place in {None, project}
        }


async def delegates_of(
    session: AsyncSession, user_ids: Collection[int], *, first: datetime, last: datetime
) -> Delegates:
    """Read who stands in for any of these people from `first` to `last`; one statement when nobody does."""
    rows = await delegation_rows.lent_by(session, user_ids=user_ids, first=first, last=last) if user_ids else []
    if not rows:
        return Delegates()
    people = await identity.load_callers(session, {key for _, *both, _ in rows for key in both})
    found = []
    for row, absent, present, project in rows:
        delegator, delegate = people.get(absent), people.get(present)
        if delegator is not None and delegate is not None and delegation.lent(delegator, delegate) is not None:
            found.append((delegation_of(row), project, delegate))
    return Delegates(tuple(found))


def delegation_of(row: DelegationRow | StandingRow) -> Delegation:
    return Delegation(
        delegator=row.delegator_user_id,
        delegate=row.delegate_user_id,
        starts_at=row.starts_at,
        ends_before=row.ends_before,
        workflows=frozenset(row.workflow_codes),
        project=row.project_id,
        revoked=row.revoked_at is not None,
    )


MANAGES = "user.edit"
MOST_COLLEAGUES = 100
_NONE_CHOSEN = (
    "เลือกกระบวนงานอย่างน้อยหนึ่งรายการ หรือไม่ต้องส่งฟิลด์นี้เพื่อมอบหมายทั้งหมด",
    "Name one workflow at least, or leave this out to delegate all of them.",
)


class DelegationChanged(Stale):
    """`If-Match` names a version that is not the present one."""

    code = "DELEGATION_CHANGED"
    says = Text("การมอบหมายนี้เปลี่ยนไปแล้ว", "This delegation has changed in the meantime.")


async def delegate(ctx: RequestContext, session: AsyncSession, wanted: DelegationIn) -> Receipt:
    """
    Lend the caller's own steps to a colleague.

    Both people are locked, in one order for everybody: of two delegations that cross at once, one is refused.

    :raises Invalid: naming the field: days, person, workflow or project
    :raises DelegateAway, DelegationChained, DelegationOverlaps: held against what either has lent or was lent
    """
    delegation.check_days(wanted.starts_on, wanted.ends_on, today=local_date(ctx.now, ctx.zone))
    colleague = await _colleague(session, ctx.caller, wanted.delegate_public_id)
    codes = await _codes(session, wanted.workflow_codes)
    project = await _project(ctx, session, wanted.project_public_id)
    row = _row(ctx, wanted, colleague, codes, project)
    await _check(session, row, now=ctx.now)
    session.add(row)
    await session.flush()
    await _note(ctx, session, "create", row, (ctx.caller.public_id, colleague.public_id))
    return Receipt("delegation", row.public_id)


async def revoke(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, if_match: str | None) -> None:
    """
    Take a delegation back, from this moment on; what is over or was taken back stays as it is.

    :raises NotFound: when there is none of the caller's own, nor of anybody whose account they manage
    :raises DelegationChanged: when `if_match` names another version
    """
    found = await delegation_rows.one(session, public_id=public_id, locked=True)
    if found is None or not await _may_revoke(session, ctx.caller, found):
        raise NotFound(f"There is no delegation {public_id}.")
    row = found.row
    require_match(if_match, f'"{row.version}"', DelegationChanged)
    if row.revoked_at is not None or row.ends_before <= ctx.now:
        return
    row.revoked_at, row.revoked_by_user_id = ctx.now, ctx.caller.user_id
    row.version, row.updated_at = row.version + 1, ctx.now
    people = (found.delegator.public_id, found.delegate.public_id)
    await _note(ctx, session, "revoke", row, people)


async def read(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> DelegationOut:
    """
    :raises NotFound: when there is none that concerns the caller, or somebody whose account they manage
    """
    found = await delegation_rows.one(session, public_id=public_id)
    concerned = found is not None and found.delegate.user_id == ctx.caller.user_id
    if found is None or not (concerned or await _may_revoke(session, ctx.caller, found)):
        raise NotFound(f"There is no delegation {public_id}.")
    return _view(found, ctx.now)


async def listing(
    ctx: RequestContext, session: AsyncSession, *, person: UUID | None = None, cursor: str | None, limit: int
) -> Page[DelegationOut]:
    """
    Return what a person has lent and was lent, newest first: the caller's own, or those of somebody they manage.

    :raises NotFound: when the caller does not manage `person`
    """
    user_id = ctx.caller.user_id
    if person is not None and person != ctx.caller.public_id:
        other = (await identity.load_callers(session, [person])).get(person)
        if other is None or not _manages(ctx.caller, other):
            raise NotFound(f"There is no person {person}.")
        user_id = other.user_id
    rows = await delegation_rows.page(session, user_id=user_id, cursor=cursor, limit=limit)
    found = page_of(rows, limit=limit, key=lambda one: (one.row.created_at, one.row.public_id))
    return Page([_view(one, ctx.now) for one in found.items], found.next_cursor)


async def colleagues(ctx: RequestContext, session: AsyncSession, *, text: str = "") -> tuple[OrganizationMember, ...]:
    """Return whom the caller can delegate to, by a part of the name; the first hundred."""
    wanted = text.strip().casefold()
    people = await identity.users_of(session, ctx.caller.organization_ids)
    found = [one for one in people if one.user_id != ctx.caller.user_id and wanted in _words(one)]
    return tuple(sorted(found, key=lambda one: one.display_name)[:MOST_COLLEAGUES])


async def known_workflows(session: AsyncSession) -> tuple[str, ...]:
    """Return the codes that a delegation can be limited to."""
    return tuple(await delegation_rows.codes(session))


def _words(one: OrganizationMember) -> str:
    return f"{one.display_name} {one.username}".casefold()


async def _colleague(session: AsyncSession, caller: Caller, public_id: UUID) -> OrganizationMember:
    delegation.check_people(caller.public_id, public_id)
    people = await identity.users_of(session, caller.organization_ids)
    found = next((one for one in people if one.public_id == public_id), None)
    if found is None:
        th, en = "ต้องเป็นผู้ใช้ที่ยังใช้งานอยู่ในองค์กรของคุณ", "This must be an active person of one of your organizations."
        raise invalid("/delegatePublicId", "not_a_colleague", th, en)
    return found


async def _codes(session: AsyncSession, wanted: Sequence[str] | None) -> list[str]:
    """An empty choice is a slip of a program; it must not lend everything."""
    if wanted is None:
        return []
    if not wanted:
        raise invalid("/workflowCodes", "required", *_NONE_CHOSEN)
    known = set(await delegation_rows.codes(session))
    for place, code in enumerate(wanted):
        if code not in known:
            th, en = "ไม่มีกระบวนงาน “{value}”", "There is no workflow “{value}”."
            raise invalid(f"/workflowCodes/{place}", "unknown", th, en, value=code)
    return sorted(set(wanted))


async def _project(ctx: RequestContext, session: AsyncSession, public_id: UUID | None) -> ProjectRef | None:
    if public_id is None:
        return None
    seen = await projects.projects_of(ctx, session)
    found = next((one for one in seen if one.public_id == public_id), None)
    if found is None:
        th, en = "ไม่พบโครงการ “{value}”", "There is no project “{value}”."
        raise invalid("/projectPublicId", "unknown", th, en, value=str(public_id))
    return found


async def _check(session: AsyncSession, row: DelegationRow, *, now: datetime) -> None:
    people = (row.delegator_user_id, row.delegate_user_id)
    await delegation_rows.hold_people(session, people)
    known = await delegation_rows.of_people(session, user_ids=people, after=now)
    delegation.check_against(delegation_of(row), [delegation_of(one) for one in known])


def _row(
    ctx: RequestContext,
    wanted: DelegationIn,
    colleague: OrganizationMember,
    codes: list[str],
    project: ProjectRef | None,
) -> DelegationRow:
    starts_at, ends_before = delegation.moments(wanted.starts_on, wanted.ends_on, ctx.zone)
    return DelegationRow(
        public_id=new_id(),
        delegator_user_id=ctx.caller.user_id,
        delegate_user_id=colleague.user_id,
        starts_on=wanted.starts_on,
        ends_on=wanted.ends_on,
        starts_at=starts_at,
        ends_before=ends_before,
        workflow_codes=codes,
        project_id=project.id if project else None,
        reason=wanted.reason or "",
        version=1,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def _may_revoke(session: AsyncSession, caller: Caller, found: NamedRow) -> bool:
    if found.delegator.user_id == caller.user_id:
        return True
    if not caller.may_anywhere(MANAGES):
        return False
    # An account that is closed by now works for nobody: then only who manages everybody may.
    other = (await identity.load_callers(session, [found.delegator.public_id])).get(found.delegator.public_id)
    return _manages(caller, other) if other is not None else caller.may(MANAGES, Scope())


def _manages(caller: Caller, other: Caller) -> bool:
    return caller.may(MANAGES, Scope(other.organization_ids))


def _view(found: NamedRow, now: datetime) -> DelegationOut:
    row, project = found.row, found.project
    return DelegationOut(
        public_id=row.public_id,
        delegator=PersonRef(public_id=found.delegator.public_id, display_name=display_name(found.delegator)),
        delegate=PersonRef(public_id=found.delegate.public_id, display_name=display_name(found.delegate)),
        starts_on=row.starts_on,
        ends_on=row.ends_on,
        workflow_codes=row.workflow_codes or None,
        project=ProjectCode.model_validate(project) if project else None,
        reason=row.reason or None,
        status=_status(row, now),
        revoked_at=row.revoked_at,
        created_at=row.created_at,
        version=row.version,
    )


def _status(row: DelegationRow, now: datetime) -> DelegationStatus:
    if row.revoked_at is not None:
        return DelegationStatus.REVOKED
    if now < row.starts_at:
        return DelegationStatus.UPCOMING
    return DelegationStatus.ACTIVE if now < row.ends_before else DelegationStatus.ENDED


async def _note(
    ctx: RequestContext, session: AsyncSession, action: str, row: DelegationRow, people: tuple[UUID, UUID]
) -> None:
    details = {
        "delegatorPublicId": str(people[0]),
        "delegatePublicId": str(people[1]),
        "startsOn": row.starts_on.isoformat(),
        "endsOn": row.ends_on.isoformat(),
        "workflowCodes": row.workflow_codes,
        "allProjects": row.project_id is None,
        "reason": row.reason,
    }
    await audit.record(
        ctx, session, audit.AuditEntry(f"delegation.{action}", "delegation", str(row.public_id), details)
    )
