"""Which list an address names, whose it is and what the reader may do with them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.errors import NotFound, Text
from saraban.kit.http import Db
from saraban.setup.domain.master_kinds import CONTRACT, KINDS, ORGANIZATION, PROJECT, MasterKind, Owner
from saraban.setup.domain.master_rows import MasterAddress, MasterPlaceClosed, MasterRow
from saraban.setup.service import master_data as setup
from saraban.setup.service.member_rows import MEMBER, PARTY
from saraban.web.shell.page import CurrentPage, id_of

# A list is named in the address by the last part of its path in the API.
LISTS: Final[Mapping[tuple[Owner, str], MasterKind]] = {
    (kind.owner, kind.path.rpartition("/")[2]): kind for kind in (MEMBER, PARTY, *KINDS) if kind is not ORGANIZATION
}
APART: Final = "\t"  # between a code and what tells rows of one code apart; no code has it
# What each list is for, in one sentence, where the names alone do not say it.
ABOUT: Final[Mapping[str, Text]] = {
    "organization": Text(
        "บริษัทและหน่วยงานที่รับส่งเอกสาร รหัสพิมพ์อยู่ในเลขที่เอกสาร",
        "Companies and offices that send and receive documents. Document numbers print the code.",
    ),
    "project": Text("ชื่อโครงการ และชนิดไฟล์ที่แนบได้", "Names of projects, and the kinds of files that they take."),
    "member": Text("บริษัทและหน่วยงานที่รับส่งเอกสารในโครงการ", "Who sends and receives documents of this project."),
    "party": Text("ผู้รับส่งเอกสารในสัญญานี้", "Who sends and receives documents of this contract."),
    "contract": Text(
        "โครงการแบ่งเป็นสัญญา แต่ละสัญญามีคู่สัญญา สาขางาน และประเภทเอกสารของตนเอง",
        "A project is divided into contracts, each with its own parties, disciplines and types.",
    ),
    "discipline": Text(
        "สาขางานวิศวกรรมที่เอกสารของสัญญานี้สังกัด เช่น โครงสร้าง ไฟฟ้า รหัสพิมพ์ในเลขที่ได้",
        "Branches of engineering that documents of this contract belong to. Numbers may print the code.",
    ),
    "rfa_type": Text(
        "สิ่งที่ผู้รับเหมาขออนุมัติ เช่น วัสดุ แบบขยาย วิธีการก่อสร้าง",
        "What contractors ask approval for: materials, shop drawings, method statements.",
    ),
    "sub_type": Text(
        "ประเภทที่ละเอียดขึ้นของเอกสาร เลขที่เอกสารพิมพ์หมายเลขของประเภทย่อย",
        "Finer kinds of a document type. Document numbers print the number of the sub type.",
    ),
    "tag": Text("ป้ายสีที่ช่วยจัดกลุ่มและค้นหาเอกสารของโครงการ", "Coloured labels that group the project's documents."),
    "correspondence_type": Text(
        "ชนิดของหนังสือและเอกสารที่ใช้ทุกโครงการ รหัสพิมพ์ในเลขที่ได้",
        "Kinds of letters and documents that every project uses. Numbers may print the code.",
    ),
    "correspondence_status": Text(
        "ชื่อสถานะของเอกสาร ระบบใช้รหัสที่มีอยู่เดิม จึงเปลี่ยนได้เฉพาะชื่อ",
        "Names of document statuses. Saraban uses the codes that came with it; their names can be changed.",
    ),
    "rfa_status": Text(
        "ชื่อสถานะของ RFA ระบบใช้รหัสที่มีอยู่เดิม จึงเปลี่ยนได้เฉพาะชื่อ",
        "Names of RFA statuses. Saraban uses the codes that came with it; their names can be changed.",
    ),
    "rfa_approve_code": Text(
        "ผลการพิจารณา RFA ตัวเลขแรกบอกกลุ่ม: 1 อนุมัติ 3 แก้ไข 4 ไม่อนุมัติ",
        "How RFAs are answered. The first digit tells the group: 1 approved, 3 revise, 4 rejected.",
    ),
    "circulation_status": Text(
        "ชื่อสถานะของใบเวียน ระบบใช้รหัสที่มีอยู่เดิม จึงเปลี่ยนได้เฉพาะชื่อ",
        "Names of circulation statuses. Saraban uses the codes that came with it; their names can be changed.",
    ),
}
DRAWINGS: Final = Text("ใช้จัดหมวดแบบก่อสร้างของโครงการ", "Groups the drawings of the project.")


# What those are told who take organizations in: with the right to put them into the register, and without it.
HOW_TO_ADD: Final = {
    True: Text(
        "พิมพ์รหัสองค์กรที่มีในทะเบียน หรือพิมพ์รหัสใหม่พร้อมชื่อเพื่อเพิ่มองค์กรในทะเบียนด้วย",
        "Type the code of an organization of the register, or a new code and a name to put it there, too.",
    ),
    False: Text("พิมพ์รหัสหรือชื่อขององค์กรที่มีในทะเบียน", "Type the code or the name of an organization of the register."),
}


@dataclass(frozen=True, slots=True)
class GridPlace:
    """
    The list that a grid shows.

    :param project: and `contract`: whose it is, None for the installation's
    :param scope: where rights to the list count
    """

    kind: MasterKind
    url: str
    scope: Scope
    project: MasterRow | None = None
    contract: MasterRow | None = None

    @property
    def owner(self) -> UUID | None:
        row = self.contract if self.kind.owner is Owner.CONTRACT else self.project
        return row.public_id if row else None

    @property
    def has_members(self) -> bool:
        """Whether the rows take part in a project or contract: they are taken out, not closed, and only their roles change."""
        return self.kind in {MEMBER, PARTY}

    @property
    def fixed(self) -> Collection[str | None]:
        """Fields that are stated of a new row and stay."""
        return [one.name for one in self.kind.fields if one.name != "role"] if self.has_members else [self.kind.within]

    @property
    def closed(self) -> MasterRow | None:
        """The project or contract that takes no changes."""
        return next((one for one in (self.project, self.contract) if one and not one.is_active), None)

    def about(self, caller: Caller) -> Text:
        if self.closed:
            said = MasterPlaceClosed.says
            return Text(said.th.format(value=self.closed.code), said.en.format(value=self.closed.code))
        if self.has_members and self.may_add(caller):
            return HOW_TO_ADD[caller.may(ORGANIZATION.create, Scope())]
        return ABOUT.get(self.kind.name, DRAWINGS)

    def may_add(self, caller: Caller) -> bool:
        return self.kind is not PROJECT and not self.closed and caller.may(self.kind.create, self.scope)

    def may_reorder(self, caller: Caller) -> bool:
        return self.kind.ordered and not self.closed and caller.may(self.kind.change, self.scope)

    def may(self, caller: Caller, permission: str, row: MasterRow) -> bool:
        """Whether somebody may do this with a row; rights to organizations and contracts count in themselves, too."""
        scope = self.scope
        if self.kind is ORGANIZATION:
            scope = Scope(frozenset({row.key}))
        elif self.kind is PROJECT:
            scope = Scope(project=row.key)
        elif self.kind is CONTRACT:
            scope = Scope(project=self.scope.project, contract=row.key)
        return not self.closed and caller.may(permission, scope)

    def address(self, ref: str) -> MasterAddress:
        """:raises NotFound: for what is no address of a row of this kind"""
        if self.kind.has_public_id:
            public_id = id_of(ref)
            if public_id is None:
                raise NotFound(f"There is no {self.kind.name} {ref}.")
            return MasterAddress(owner=self.owner, public_id=public_id)
        code, _, within = ref.partition(APART)
        return MasterAddress(code, self.owner, within or None)


async def grid_place(page: CurrentPage, db: Db, request: Request) -> GridPlace:
    """
    Return the list that the address names.

    :raises NotFound: when there is none that the reader may see
    """
    named = request.path_params
    async with db.reading() as session:
        if "project" not in named:
            kind = ORGANIZATION if "kind" not in named else _kind(Owner.INSTALLATION, named["kind"])
            return GridPlace(kind, f"/master/{named['kind']}" if "kind" in named else "/organizations", Scope())
        project, contract = await owners(page.context, session, named)
    kind = _kind(Owner.CONTRACT if contract else Owner.PROJECT, named["kind"])
    url = f"/projects/{project.public_id}/setup/"
    if contract is None:
        return GridPlace(kind, url + named["kind"], Scope(project=project.key), project)
    url += f"contracts/{contract.public_id}/{named['kind']}"
    return GridPlace(kind, url, Scope(project=project.key, contract=contract.key), project, contract)


CurrentGrid = Annotated[GridPlace, Depends(grid_place)]


async def owners(
    ctx: RequestContext, session: AsyncSession, named: Mapping[str, str]
) -> tuple[MasterRow, MasterRow | None]:
    """
    Return the project of an address, and its contract where it names one.

    :raises NotFound: when there is none that the reader may see
    """
    project = await _entity(ctx, session, PROJECT, named["project"])
    if "contract" not in named:
        return project, None
    contract = await _entity(ctx, session, CONTRACT, named["contract"])
    if contract.owner != project.key:
        raise NotFound(f"The project has no contract {contract.public_id}.")
    return project, contract


async def _entity(ctx: RequestContext, session: AsyncSession, kind: MasterKind, public_id: str) -> MasterRow:
    found = id_of(public_id)
    if found is None:
        raise NotFound(f"There is no {kind.name} {public_id}.")
    return await setup.read(ctx, session, kind, MasterAddress(public_id=found))


def _kind(owner: Owner, name: str) -> MasterKind:
    if (owner, name) not in LISTS:
        raise NotFound(f"There is no list {name}.")
    return LISTS[owner, name]
