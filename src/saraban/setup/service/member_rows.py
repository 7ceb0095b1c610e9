"""Members and parties, as rows with the interface of `master_data`."""

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
_MAX_NAMES: Final = 3  # administrators that a message names
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
    include_closed: bool = True,  # noqa: ARG001  closed organizations stay members until they are removed
    cursor: str | None = None,
    limit: int = 50,
) -> Page[MasterRow]:
    """:raises NotFound:"""
    place = await master_data.find_place(ctx, session, kind.owner, owner)
    rows = await repository.rows(
        session,
        ORGANIZATION,
        owner=None,
        only=repository.participant_keys(kind.owner, place.key),
        search=fold(search) if search else None,
        after=master_data.position_after(cursor, kind),
        limit=limit + 1,
    )
    page = master_data.row_page(rows, kind, limit=limit)
    roles = await repository.participant_roles(session, kind.owner, place.key, [row.key for row in page.items])
    return replace(page, items=[_row(kind, row, party_role(roles[row.key])) for row in page.items])


async def read(ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress) -> MasterRow:
    """:raises NotFound:"""
    place = await master_data.find_place(ctx, session, kind.owner, address.owner)
    row = await repository.by_public_id(session, ORGANIZATION, _organization_id(address))
    roles = await repository.participant_roles(session, kind.owner, place.key, [row.key]) if row else {}
    if row is None or row.key not in roles:
        raise NotFound(f"{address.public_id} takes no part.")
    return _row(kind, row, party_role(roles[row.key]))


def _row(kind: MasterKind, organization: MasterRow, role: PartyRole) -> MasterRow:
    return replace(organization, kind=kind, values={**organization.values, "role": role.value})


def _organization_id(address: MasterAddress) -> UUID:
    if address.public_id is None:
        raise NotFound("No organization is named.")
    return address.public_id


async def create(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, *, owner: UUID | None = None, new: MasterRowNew
) -> MasterRow:
    """
    Add an organization, which is also registered if it is unknown.

    :raises MasterCodeTaken, Invalid, NoMemberOfTheProject:
    """
    place = await _require_manager(ctx, session, kind, owner)
    values = new.model_dump(mode="json", by_alias=True)
    code = str(values["organizationCode"])
    organization = next(iter(await repository.rows_by_code(session, ORGANIZATION, owner=None, code=code)), None)
    _require_registered(
        values, organization, administrators=None if organization else await _name_administrators(ctx, session)
    )
    if organization is not None and await repository.participant_roles(
        session, kind.owner, place.key, [organization.key]
    ):
        raise MasterCodeTaken.at("organizationCode", code)
    return await _add_organization(ctx, session, kind, owner, values, organization)


async def _require_manager(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None, *, lock: bool = True
) -> MasterPlace:
    """Return the place; `lock` holds changes of roles until the transaction ends."""
    place = await master_data.find_place(ctx, session, kind.owner, owner)
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
    """:raises MasterRowChanged:"""
    row = await _lock_row(ctx, session, kind, address, if_match)
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
    Remove an organization, and return its last row.

    :raises NotFound: when `active`, because a removed organization must be added again
    :raises MasterRowChanged, MemberInUse:
    """
    row = await _lock_row(ctx, session, kind, address, if_match)
    if active:
        raise NotFound("Who was taken out is added again.")
    assert address.owner is not None
    await members.remove_member(
        ctx, session, kind.owner, owner=address.owner, organization_public_id=_organization_id(address)
    )
    return row


async def _lock_row(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress, if_match: str | None
) -> MasterRow:
    await _require_manager(ctx, session, kind, address.owner)
    row = await read(ctx, session, kind, address)
    require_match(if_match, row.etag, MasterRowChanged)
    return row


@dataclass(frozen=True, slots=True)
class _StoredRows:
    """
    :param outside: codes that are not in the project, if the caller cannot add them there
    :param administrators: names for the message, if the caller cannot register organizations
    """

    kind: MasterKind
    register: Mapping[str, MasterRow]
    there: Mapping[str, MasterRow]
    outside: frozenset[str]
    administrators: str | None

    def decide(self, row: SheetRow) -> tuple[ImportedRow, Values]:
        """:raises Invalid:"""
        values = master_workbook.checked(row, new_row(self.kind))
        code = str(values["organizationCode"])
        registered, participant = self.register.get(code), self.there.get(code)
        if not row.cells.get("role"):
            source = participant or registered
            values["role"] = source.values["role"] if source else PartyRole.CONTRACTOR
        verdict: Verdict = "add" if participant is None else "change"
        if participant is not None and participant.values["role"] == values["role"]:
            verdict = "same"
        _require_registered(values, registered, administrators=self.administrators, is_same=verdict == "same")
        if verdict == "add" and registered is not None and registered.code in self.outside:
            message = NoMemberOfTheProject.says
            raise invalid("/organizationCode", "outside", message.th, message.en, value=code)
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
    Save the rows of a sheet, all or nothing.

    A row without a role keeps the current role; a new row gets the role of the register.

    :raises Invalid: with every fault, at `/row/field`
    """
    place = await _require_manager(ctx, session, kind, owner, lock=not dry_run)
    left_out, rows = ImportedRow.of_left_out(rows), [row for row in rows if not row.is_left_out]
    faults = master_workbook.check_repeated(kind, rows)
    current = await _read_stored_rows(ctx, session, kind, owner, place)
    decisions = []
    for row in rows:
        with faults.at(row.number):
            decisions.append(current.decide(row))
    faults.require_none(master_workbook.MOST_FAULTS)
    for imported, values in () if dry_run else decisions:
        if imported.change != "same":
            await _add_organization(ctx, session, kind, owner, values, current.register.get(imported.code))
    return MasterImport([*left_out, *(imported for imported, _ in decisions)], applied=not dry_run)


async def _read_stored_rows(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None, place: MasterPlace
) -> _StoredRows:
    register = Spellings({row.code: row for row in await repository.rows(session, ORGANIZATION, owner=None)})
    page = await list_rows(ctx, session, kind, owner=owner, limit=master_data.EVERY)
    participants = Spellings({row.code: row for row in page.items})
    outside: frozenset[str] = frozenset()
    if kind is PARTY and not _may_fill_project(ctx, place):
        project_roles = await repository.participant_roles(
            session, Owner.PROJECT, place.scope.project, [row.key for row in register.values()]
        )
        outside = frozenset(code for code, row in register.items() if row.key not in project_roles)
    return _StoredRows(kind, Spellings(register), participants, outside, await _name_administrators(ctx, session))


def _may_fill_project(ctx: RequestContext, place: MasterPlace) -> bool:
    return ctx.caller.may(OF_PROJECT, Scope(project=place.scope.project))


async def _name_administrators(ctx: RequestContext, session: AsyncSession) -> str | None:
    """Return None if the caller can register organizations."""
    if ctx.caller.may(ORGANIZATION.create, Scope()):
        return None
    subject = await access.load_subject(ctx, session)
    explanation = await access.explain_permission(session, subject, permission=ORGANIZATION.create, scope=Scope())
    return ", ".join(person.display_name for person in explanation.givers[:_MAX_NAMES]) or "–"


def _require_registered(
    values: Values, organization: MasterRow | None, *, administrators: str | None, is_same: bool = False
) -> None:
    """
    :param is_same: the row changes nothing, so a closed organization is allowed
    :raises Invalid:
    """
    if organization is None:
        if administrators is not None:
            raise invalid(
                "/organizationCode",
                "unknown",
                *_NOT_REGISTERED,
                typed=values["organizationCode"],
                asked=administrators,
            )
        if not values.get("organizationName"):
            raise invalid("/organizationName", "unknown", *_NAMELESS, typed=values["organizationCode"])
        return
    if not (organization.is_active or is_same):
        raise invalid("/organizationCode", "closed", *_CLOSED)
    thai, english = organization.values["organizationName"], organization.values["organizationNameEn"]
    if values.get("organizationName") not in {None, thai}:
        raise invalid("/organizationCode", "taken", *_TAKEN, name=thai)
    if values.get("organizationNameEn") not in {None, english}:
        raise invalid("/organizationNameEn", "taken", *_OTHERWISE, name=english or "–")


async def _add_organization(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    owner: UUID | None,
    values: Values,
    organization: MasterRow | None,
) -> MasterRow:
    if organization is None:
        new = new_row(ORGANIZATION).model_validate(values)
        organization = await master_data.create(ctx, session, ORGANIZATION, new=new)
    role = PartyRole(str(values["role"]))
    await _save(ctx, session, kind, MasterAddress(owner=owner, public_id=organization.public_id), role)
    return _row(kind, organization, role)


async def _save(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, address: MasterAddress, role: PartyRole
) -> None:
    owner, organization = address.owner, _organization_id(address)
    assert owner is not None
    try:
        await members.save_member(ctx, session, kind.owner, owner=owner, organization_public_id=organization, role=role)
    except NoMemberOfTheProject:
        # A party must be a member of the project.
        if not _may_fill_project(ctx, await master_data.find_place(ctx, session, kind.owner, owner)):
            raise
        contract = await repository.find_contract(session, owner)
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
