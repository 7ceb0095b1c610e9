"""Delegation of a person's own steps during an absence."""

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
    lent: tuple[tuple[Delegation, Caller], ...] = ()

    def of(self, workflow_code: str, project_id: int | None) -> tuple[Caller, ...]:
        seats = {seat.user_id: seat for given, seat in self.lent if given.reaches(workflow_code, project_id)}
        return tuple(seats.values())

    @property
    def user_ids(self) -> frozenset[int]:
        return frozenset(seat.user_id for _, seat in self.lent)


NO_DELEGATED_RIGHTS = DelegatedRights()


async def delegated_rights_of(ctx: RequestContext, session: AsyncSession) -> DelegatedRights:
    rows = await delegation_rows.to_person(session, user_id=ctx.caller.user_id, moment=ctx.now)
    if not rows:
        return NO_DELEGATED_RIGHTS
    people = await identity.load_callers(session, [row.delegator for row in rows])
    people_by_key = {person.user_id: person for person in people.values()}
    return DelegatedRights(
        delegation.standing(ctx.caller, [delegation_of(row) for row in rows], people_by_key, moment=ctx.now)
    )


async def delegators_of(
    ctx: RequestContext, session: AsyncSession, *, workflow_code: str, project_id: int | None
) -> Sequence[Caller]:
    """
    Return the delegators on whose behalf the caller may act now, each with their delegated rights.

    Neither person may be the submitter where a step excludes the submitter.
    """
    return (await delegated_rights_of(ctx, session)).of(workflow_code, project_id)


@dataclass(frozen=True, slots=True)
class Delegates:
    lent: tuple[tuple[Delegation, UUID | None, Caller], ...] = ()

    def of(
        self, user_ids: Collection[int], *, workflow_code: str, project: UUID | None, moment: datetime
    ) -> dict[UUID, Caller]:
        return {
            delegate.public_id: delegate
            for given, project_limit, delegate in self.lent
            if given.delegator in user_ids
            and given.counts_at(moment)
            and (not given.workflows or workflow_code in given.workflows)
            and project_limit in {None, project}
        }


async def delegates_of(
    session: AsyncSession, user_ids: Collection[int], *, first: datetime, last: datetime
) -> Delegates:
    rows = await delegation_rows.lent_by(session, user_ids=user_ids, first=first, last=last) if user_ids else []
    if not rows:
        return Delegates()
    people = await identity.load_callers(session, {key for _, *both, _ in rows for key in both})
    delegates = []
    for row, absent, present, project in rows:
        delegator, delegate = people.get(absent), people.get(present)
        if delegator is not None and delegate is not None and delegation.lent(delegator, delegate) is not None:
            delegates.append((delegation_of(row), project, delegate))
    return Delegates(tuple(delegates))


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
    Delegate the caller's own steps to a colleague.

    Locks both people in the order of their keys: of two delegations that cross at once, one is refused.

    :raises Invalid: naming the field: days, person, workflow or project
    :raises DelegateAway, DelegationChained, DelegationOverlaps: for a conflict with another delegation of either person
    """
    delegation.check_days(wanted.starts_on, wanted.ends_on, today=local_date(ctx.now, ctx.zone))
    colleague = await _find_colleague(session, ctx.caller, wanted.delegate_public_id)
    codes = await _check_codes(session, wanted.workflow_codes)
    project = await _find_project(ctx, session, wanted.project_public_id)
    row = _build_row(ctx, wanted, colleague, codes, project)
    await _check_conflicts(session, row, now=ctx.now)
    session.add(row)
    await session.flush()
    await _record_audit(ctx, session, "create", row, (ctx.caller.public_id, colleague.public_id))
    return Receipt("delegation", row.public_id)


async def revoke(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, if_match: str | None) -> None:
    """
    Revoke a delegation from now on; one that has ended or was revoked stays as it is.

    :raises NotFound: unless the caller is the delegator or manages that account
    :raises DelegationChanged: when `if_match` names another version
    """
    named = await delegation_rows.one(session, public_id=public_id, locked=True)
    if named is None or not await _may_revoke(session, ctx.caller, named):
        raise NotFound(f"There is no delegation {public_id}.")
    row = named.row
    require_match(if_match, f'"{row.version}"', DelegationChanged)
    if row.revoked_at is not None or row.ends_before <= ctx.now:
        return
    row.revoked_at, row.revoked_by_user_id = ctx.now, ctx.caller.user_id
    row.version, row.updated_at = row.version + 1, ctx.now
    people = (named.delegator.public_id, named.delegate.public_id)
    await _record_audit(ctx, session, "revoke", row, people)


async def read(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> DelegationOut:
    """:raises NotFound: unless the delegation concerns the caller, or the caller manages the delegator"""
    named = await delegation_rows.one(session, public_id=public_id)
    is_delegate = named is not None and named.delegate.user_id == ctx.caller.user_id
    if named is None or not (is_delegate or await _may_revoke(session, ctx.caller, named)):
        raise NotFound(f"There is no delegation {public_id}.")
    return _delegation_out(named, ctx.now)


async def listing(
    ctx: RequestContext, session: AsyncSession, *, person: UUID | None = None, cursor: str | None, limit: int
) -> Page[DelegationOut]:
    """
    List delegations to and from a person, newest first.

    :raises NotFound: when the caller does not manage `person`
    """
    user_id = ctx.caller.user_id
    if person is not None and person != ctx.caller.public_id:
        other = (await identity.load_callers(session, [person])).get(person)
        if other is None or not _manages(ctx.caller, other):
            raise NotFound(f"There is no person {person}.")
        user_id = other.user_id
    rows = await delegation_rows.page(session, user_id=user_id, cursor=cursor, limit=limit)
    page = page_of(rows, limit=limit, key=lambda named: (named.row.created_at, named.row.public_id))
    return Page([_delegation_out(named, ctx.now) for named in page.items], page.next_cursor)


async def colleagues(ctx: RequestContext, session: AsyncSession, *, text: str = "") -> tuple[OrganizationMember, ...]:
    folded = text.strip().casefold()
    people = await identity.users_of(session, ctx.caller.organization_ids)
    matches = [person for person in people if person.user_id != ctx.caller.user_id and folded in _search_text(person)]
    return tuple(sorted(matches, key=lambda person: person.display_name)[:MOST_COLLEAGUES])


async def known_workflows(session: AsyncSession) -> tuple[str, ...]:
    return tuple(await delegation_rows.codes(session))


def _search_text(person: OrganizationMember) -> str:
    return f"{person.display_name} {person.username}".casefold()


async def _find_colleague(session: AsyncSession, caller: Caller, public_id: UUID) -> OrganizationMember:
    delegation.check_people(caller.public_id, public_id)
    people = await identity.users_of(session, caller.organization_ids)
    colleague = next((person for person in people if person.public_id == public_id), None)
    if colleague is None:
        th, en = "ต้องเป็นผู้ใช้ที่ยังใช้งานอยู่ในองค์กรของคุณ", "This must be an active person of one of your organizations."
        raise invalid("/delegatePublicId", "not_a_colleague", th, en)
    return colleague


async def _check_codes(session: AsyncSession, wanted: Sequence[str] | None) -> list[str]:
    if wanted is None:
        return []
    if not wanted:
        raise invalid("/workflowCodes", "required", *_NONE_CHOSEN)
    active_codes = set(await delegation_rows.codes(session))
    for position, code in enumerate(wanted):
        if code not in active_codes:
            th, en = "ไม่มีกระบวนงาน “{value}”", "There is no workflow “{value}”."
            raise invalid(f"/workflowCodes/{position}", "unknown", th, en, value=code)
    return sorted(set(wanted))


async def _find_project(ctx: RequestContext, session: AsyncSession, public_id: UUID | None) -> ProjectRef | None:
    if public_id is None:
        return None
    visible = await projects.projects_of(ctx, session)
    project = next((candidate for candidate in visible if candidate.public_id == public_id), None)
    if project is None:
        th, en = "ไม่พบโครงการ “{value}”", "There is no project “{value}”."
        raise invalid("/projectPublicId", "unknown", th, en, value=str(public_id))
    return project


async def _check_conflicts(session: AsyncSession, row: DelegationRow, *, now: datetime) -> None:
    people = (row.delegator_user_id, row.delegate_user_id)
    await delegation_rows.hold_people(session, people)
    others = await delegation_rows.of_people(session, user_ids=people, after=now)
    delegation.check_against(delegation_of(row), [delegation_of(other) for other in others])


def _build_row(
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


async def _may_revoke(session: AsyncSession, caller: Caller, named: NamedRow) -> bool:
    if named.delegator.user_id == caller.user_id:
        return True
    if not caller.may_anywhere(MANAGES):
        return False
    # A closed account has no organization, so only the right over everybody counts.
    other = (await identity.load_callers(session, [named.delegator.public_id])).get(named.delegator.public_id)
    return _manages(caller, other) if other is not None else caller.may(MANAGES, Scope())


def _manages(caller: Caller, other: Caller) -> bool:
    return caller.may(MANAGES, Scope(other.organization_ids))


def _delegation_out(named: NamedRow, now: datetime) -> DelegationOut:
    row, project = named.row, named.project
    return DelegationOut(
        public_id=row.public_id,
        delegator=PersonRef(public_id=named.delegator.public_id, display_name=display_name(named.delegator)),
        delegate=PersonRef(public_id=named.delegate.public_id, display_name=display_name(named.delegate)),
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


async def _record_audit(
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
