"""
The organizations of a project and the parties of a contract, each with its role there, as rows of a list: the functions are called
as those of master data. Whoever is not in the register yet is put there with the same row: on the first day that is what people do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import PartyRole, party_role
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.service import access, lock_rights
from saraban.kit.errors import NotFound, Text, invalid
from saraban.kit.etags import require_match
from saraban.kit.pagination import Page
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.text import Spellings, fold
from saraban.setup.domain import master_workbook
from saraban.setup.domain.master_kinds import ORGANIZATION, MasterKind, Owner
from saraban.setup.domain.master_rows import (
    ImportedRow,
    MasterAddress,
    MasterCodeTaken,
    MasterImport,
    MasterRow,
    MasterRowChanged,
    Values,
    Verdict,
)
from saraban.setup.repository import master_rows as repository
from saraban.setup.schemas.master_data import MasterRowChange, MasterRowNew, new_row
from saraban.setup.service import master_data, members
from saraban.setup.service.master_data import MasterPlace
from saraban.setup.service.members import OF_CONTRACT, OF_PROJECT, NoMemberOfTheProject

_CODE, _THAI, _ENGLISH, _ROLE = ORGANIZATION.fields
MEMBER: Final = replace(
    ORGANIZATION,
    name="member",
    path="members",
    called=Text("องค์กรในโครงการ", "organizations of the project"),
    owner=Owner.PROJECT,
    fields=(
        _CODE,
        replace(_THAI, required=False),
        _ENGLISH,
        replace(_ROLE, label=Text("บทบาท", "Role"), default=PartyRole.CONTRACTOR, reference=None),
    ),
    create=OF_PROJECT,
    change=OF_PROJECT,
    close=OF_PROJECT,
)
PARTY: Final = replace(
    MEMBER,
    name="party",
    path="parties",
    called=Text("คู่สัญญา", "parties"),
    owner=Owner.CONTRACT,
    create=OF_CONTRACT,
    change=OF_CONTRACT,
    close=OF_CONTRACT,
)
_NAMED: Final = 3  # people to ask
_NOT_REGISTERED: Final = (
    "ไม่มีรหัส “{typed}” ในทะเบียนองค์กร ผู้ดูแลระบบเท่านั้นที่เพิ่มองค์กรได้ ติดต่อ {asked}",
    "“{typed}” is not in the register. Only a Super Admin adds organizations: ask {asked}.",
)
_NAMELESS: Final = (
    "ไม่มีรหัส “{typed}” ในทะเบียน หากเป็นองค์กรใหม่ให้พิมพ์ชื่อด้วย",
    "“{typed}” is new to the register: type its name, too.",
)
_CLOSED: Final = ("องค์กรนี้ปิดใช้แล้ว เปิดใช้ในทะเบียนองค์กรก่อน", "It is out of use: reopen it in the register first.")
_TAKEN: Final = ("รหัสนี้เป็นของ “{name}”", "This is the code of “{name}”.")
_OTHERWISE: Final = ("ในทะเบียนคือ “{name}”", "The register says “{name}”.")


async def list_rows(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    *,
    owner: UUID | None = None,
    search: str | None = None,
    include_closed: bool = True,  # noqa: ARG001  those that are closed take part until they are taken out
    cursor: str | None = None,
    limit: int = 50,
) -> Page[MasterRow]:
    """:raises NotFound: for a project or contract that the caller may not see"""
    place = await master_data.place_of(ctx, session, kind.owner, owner)
    found = await repository.rows(
        session,
        ORGANIZATION,
        owner=None,
        only=repository.taking_part(kind.owner, place.key),
        search=fold(search) if search else None,
        after=master_data.position_after(cursor, kind),
        limit=limit + 1,
    )
    page = master_data.row_page(found, kind, limit=limit)
    roles = await repository.roles_of(session, kind.owner, place.key, [row.key for row in page.items])
    return replace(page, items=[_row(kind, row, party_role(roles[row.key])) for row in page.items])


async def read(ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress) -> MasterRow:
    """:raises NotFound: for a project or contract that the caller may not see, and an organization that takes no part"""
    place = await master_data.place_of(ctx, session, kind.owner, address.owner)
    row = await repository.by_public_id(session, ORGANIZATION, _id(address))
    roles = await repository.roles_of(session, kind.owner, place.key, [row.key]) if row else {}
    if row is None or row.key not in roles:
        raise NotFound(f"{address.public_id} takes no part.")
    return _row(kind, row, party_role(roles[row.key]))


def _row(kind: MasterKind, organization: MasterRow, role: PartyRole) -> MasterRow:
    return replace(organization, kind=kind, values={**organization.values, "role": role.value})


def _id(address: MasterAddress) -> UUID:
    if address.public_id is None:
        raise NotFound("No organization is named.")
    return address.public_id


async def create(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID | None = None, new: MasterRowNew
) -> MasterRow:
    """
    Take an organization in; one that is new is put into the register.

    :raises MasterCodeTaken: when it is in the list
    :raises Invalid: for what the register says otherwise, and for a new code of somebody who may not put it there
    :raises NoMemberOfTheProject: for a party of somebody who may not make it a member
    """
    place = await _managed(ctx, session, kind, owner)
    values = new.model_dump(mode="json", by_alias=True)
    code = str(values["organizationCode"])
    known = next(iter(await repository.coded(session, ORGANIZATION, owner=None, code=code)), None)
    _require_registered(values, known, asked=None if known else await _who_adds(ctx, session))
    if known is not None and await repository.roles_of(session, kind.owner, place.key, [known.key]):
        raise MasterCodeTaken.at("organizationCode", code)
    return await _take_in(ctx, session, kind, owner, values, known)


async def _managed(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None, *, lock: bool = True
) -> MasterPlace:
    """Hold the roles of everybody until the end of the transaction: of two who saw the same, the second is told."""
    place = await master_data.place_of(ctx, session, kind.owner, owner)
    ctx.caller.require(kind.change, place.scope)
    place.require_open()
    if lock:
        await lock_rights(session)
    return place


async def change(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    *,
    wanted: MasterRowChange,
    if_match: str | None = None,
) -> MasterRow:
    """:raises MasterRowChanged: when `if_match` names another version"""
    row = await _to_change(ctx, session, kind, address, if_match)
    role = PartyRole(str(wanted.values.get("role", row.values["role"])))
    if role != row.values["role"]:
        await _save(ctx, session, kind, address, role)
    return _row(kind, row, role)


async def set_active(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    *,
    active: bool,
    if_match: str | None = None,
) -> MasterRow:
    """
    Take an organization out of the list, and return what it was.

    :raises NotFound: when it is to be active: who was taken out is added again
    :raises MasterRowChanged: when `if_match` names another version
    :raises MemberInUse: when something needs it
    """
    row = await _to_change(ctx, session, kind, address, if_match)
    if active:
        raise NotFound("Who was taken out is added again.")
    assert address.owner is not None
    await members.remove_member(ctx, session, kind.owner, owner=address.owner, organization_public_id=_id(address))
    return row


async def _to_change(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress, if_match: str | None
) -> MasterRow:
    await _managed(ctx, session, kind, address.owner)
    row = await read(ctx, session, kind, address)
    require_match(if_match, row.etag, MasterRowChanged)
    return row


@dataclass(frozen=True, slots=True)
class _Present:
    """
    What a sheet is held against.

    :param outside: those who are no members of the project, where the caller cannot make them members
    :param asked: who puts organizations into the register, where the caller may not
    """

    kind: MasterKind
    register: Mapping[str, MasterRow]
    there: Mapping[str, MasterRow]
    outside: frozenset[str]
    asked: str | None

    def decide(self, row: SheetRow) -> tuple[ImportedRow, Values]:
        """:raises Invalid: for what is wrong with the row"""
        values = master_workbook.checked(row, new_row(self.kind))
        code = str(values["organizationCode"])
        known, there = self.register.get(code), self.there.get(code)
        if not row.cells.get("role"):
            said = there or known
            values["role"] = said.values["role"] if said else PartyRole.CONTRACTOR
        verdict: Verdict = "add" if there is None else "change"
        if there is not None and there.values["role"] == values["role"]:
            verdict = "same"
        _require_registered(values, known, asked=self.asked, is_same=verdict == "same")
        if verdict == "add" and known is not None and known.code in self.outside:
            says = NoMemberOfTheProject.says
            raise invalid("/organizationCode", "outside", says.th, says.en, value=code)
        return ImportedRow(row.number, code, verdict, {**row.cells, **values}), values


async def import_rows(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    *,
    owner: UUID | None = None,
    rows: Sequence[SheetRow],
    dry_run: bool = False,
    confirm_series: bool = False,  # noqa: ARG001  no number prints a role
) -> MasterImport:
    """
    Take in and change what a sheet says, all of it or nothing; who is left out stays. A row without a role keeps the one it has
    here, and a new one has that of the register.

    :raises Invalid: with every fault, at `/row/field`
    """
    place = await _managed(ctx, session, kind, owner, lock=not dry_run)
    left_out, rows = ImportedRow.of_left_out(rows), [row for row in rows if not row.is_left_out]
    faults = master_workbook.check_repeated(kind, rows)
    present = await _present(ctx, session, kind, owner, place)
    decided = []
    for row in rows:
        with faults.at(row.number):
            decided.append(present.decide(row))
    faults.require_none(master_workbook.MOST_FAULTS)
    for told, values in () if dry_run else decided:
        if told.change != "same":
            await _take_in(ctx, session, kind, owner, values, present.register.get(told.code))
    return MasterImport([*left_out, *(told for told, _ in decided)], applied=not dry_run)


async def _present(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None, place: MasterPlace
) -> _Present:
    register = Spellings({one.code: one for one in await repository.rows(session, ORGANIZATION, owner=None)})
    page = await list_rows(ctx, session, kind, owner=owner, limit=master_data.EVERY)
    there = Spellings({one.code: one for one in page.items})
    outside: frozenset[str] = frozenset()
    if kind is PARTY and not _may_fill_project(ctx, place):
        inside = await repository.roles_of(
            session, Owner.PROJECT, place.scope.project, [one.key for one in register.values()]
        )
        outside = frozenset(code for code, one in register.items() if one.key not in inside)
    return _Present(kind, Spellings(register), there, outside, await _who_adds(ctx, session))


def _may_fill_project(ctx: RequestContext, place: MasterPlace) -> bool:
    return ctx.caller.may(OF_PROJECT, Scope(project=place.scope.project))


async def _who_adds(ctx: RequestContext, session: AsyncSession) -> str | None:
    """Name those who put organizations into the register; None when the caller is one of them."""
    if ctx.caller.may(ORGANIZATION.create, Scope()):
        return None
    subject = await access.load_subject(ctx, session)
    found = await access.explain_permission(session, subject, permission=ORGANIZATION.create, scope=Scope())
    return ", ".join(one.display_name for one in found.givers[:_NAMED]) or "–"


def _require_registered(values: Values, known: MasterRow | None, *, asked: str | None, is_same: bool = False) -> None:
    """
    :param is_same: it takes part as it is: one that is closed may stay
    :raises Invalid: for what the register says otherwise, and for a new code that has no name or is not to be put there
    """
    if known is None:
        if asked is not None:
            raise invalid(
                "/organizationCode", "unknown", *_NOT_REGISTERED, typed=values["organizationCode"], asked=asked
            )
        if not values.get("organizationName"):
            raise invalid("/organizationName", "unknown", *_NAMELESS, typed=values["organizationCode"])
        return
    if not (known.is_active or is_same):
        raise invalid("/organizationCode", "closed", *_CLOSED)
    thai, english = known.values["organizationName"], known.values["organizationNameEn"]
    if values.get("organizationName") not in {None, thai}:
        raise invalid("/organizationCode", "taken", *_TAKEN, name=thai)
    if values.get("organizationNameEn") not in {None, english}:
        raise invalid("/organizationNameEn", "taken", *_OTHERWISE, name=english or "–")


async def _take_in(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    owner: UUID | None,
    values: Values,
    known: MasterRow | None,
) -> MasterRow:
    """Give an organization its role here; one that is new goes into the register, with the role as its usual one."""
    if known is None:
        new = new_row(ORGANIZATION).model_validate(values)
        known = await master_data.create(ctx, session, ORGANIZATION, new=new)
    role = PartyRole(str(values["role"]))
    await _save(ctx, session, kind, MasterAddress(owner=owner, public_id=known.public_id), role)
    return _row(kind, known, role)


async def _save(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress, role: PartyRole
) -> None:
    owner, organization = address.owner, _id(address)
    assert owner is not None
    try:
        await members.save_member(ctx, session, kind.owner, owner=owner, organization_public_id=organization, role=role)
    except NoMemberOfTheProject:
        # Who takes part in a contract takes part in its project.
        if not _may_fill_project(ctx, await master_data.place_of(ctx, session, kind.owner, owner)):
            raise
        contract = await repository.contract_of(session, owner)
        assert contract is not None
        await members.save_member(
            ctx,
            session,
            Owner.PROJECT,
            owner=contract.project_public_id,
            organization_public_id=organization,
            role=role,
        )
        await members.save_member(ctx, session, kind.owner, owner=owner, organization_public_id=organization, role=role)
