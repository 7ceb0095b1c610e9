"""Map addresses of grids to lists, owners and permissions."""

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

# Addresses contain the last part of a list's API path.
LISTS: Final[Mapping[tuple[Owner, str], MasterKind]] = {
    (kind.owner, kind.path.rpartition("/")[2]): kind for kind in (MEMBER, PARTY, *KINDS) if kind is not ORGANIZATION
}
APART: Final = "\t"  # between a code and `within`; no code contains it
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


# With and without the permission to create organizations.
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
    The list of a grid.
    :param project: None for a list of the installation
    :param contract: None for a list of a project
    :param scope: for permissions
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
        """Whether rows are members: they are removed, not closed, and only their roles change."""
        return self.kind in {MEMBER, PARTY}

    @property
    def fixed(self) -> Collection[str | None]:
        """Fields that are set for a new row only."""
        return (
            [field.name for field in self.kind.fields if field.name != "role"]
            if self.has_members
            else [self.kind.within]
        )

    @property
    def closed(self) -> MasterRow | None:
        """The closed project or contract, if any."""
        return next((row for row in (self.project, self.contract) if row and not row.is_active), None)

    def about(self, caller: Caller) -> Text:
        if self.closed:
            message = MasterPlaceClosed.says
            return Text(message.th.format(value=self.closed.code), message.en.format(value=self.closed.code))
        if self.has_members and self.may_add(caller):
            return HOW_TO_ADD[caller.may(ORGANIZATION.create, Scope())]
        return ABOUT.get(self.kind.name, DRAWINGS)

    def may_add(self, caller: Caller) -> bool:
        return self.kind is not PROJECT and not self.closed and caller.may(self.kind.create, self.scope)

    def may_reorder(self, caller: Caller) -> bool:
        return self.kind.ordered and not self.closed and caller.may(self.kind.change, self.scope)

    def may(self, caller: Caller, permission: str, row: MasterRow) -> bool:
        """Permissions may also come from the organization, project or contract of the row."""
        scope = self.scope
        if self.kind is ORGANIZATION:
            scope = Scope(frozenset({row.key}))
        elif self.kind is PROJECT:
            scope = Scope(project=row.key)
        elif self.kind is CONTRACT:
            scope = Scope(project=self.scope.project, contract=row.key)
        return not self.closed and caller.may(permission, scope)

    def address(self, ref: str) -> MasterAddress:
        """:raises NotFound: for an invalid reference"""
        if self.kind.has_public_id:
            public_id = id_of(ref)
            if public_id is None:
                raise NotFound(f"There is no {self.kind.name} {ref}.")
            return MasterAddress(owner=self.owner, public_id=public_id)
        code, _, within = ref.partition(APART)
        return MasterAddress(code, self.owner, within or None)


async def grid_place(page: CurrentPage, db: Db, request: Request) -> GridPlace:
    """:raises NotFound: when the reader sees no such list"""
    parameters = request.path_params
    async with db.reading() as session:
        if "project" not in parameters:
            kind = ORGANIZATION if "kind" not in parameters else _kind(Owner.INSTALLATION, parameters["kind"])
            return GridPlace(
                kind, f"/master/{parameters['kind']}" if "kind" in parameters else "/organizations", Scope()
            )
        project, contract = await owners(page.context, session, parameters)
    kind = _kind(Owner.CONTRACT if contract else Owner.PROJECT, parameters["kind"])
    url = f"/projects/{project.public_id}/setup/"
    if contract is None:
        return GridPlace(kind, url + parameters["kind"], Scope(project=project.key), project)
    url += f"contracts/{contract.public_id}/{parameters['kind']}"
    return GridPlace(kind, url, Scope(project=project.key, contract=contract.key), project, contract)


CurrentGrid = Annotated[GridPlace, Depends(grid_place)]


async def owners(
    ctx: RequestContext, session: AsyncSession, named: Mapping[str, str]
) -> tuple[MasterRow, MasterRow | None]:
    """
    Return the project and contract of an address.
    :raises NotFound: when the reader does not see one
    """
    project = await _entity(ctx, session, PROJECT, named["project"])
    if "contract" not in named:
        return project, None
    contract = await _entity(ctx, session, CONTRACT, named["contract"])
    if contract.owner != project.key:
        raise NotFound(f"The project has no contract {contract.public_id}.")
    return project, contract


async def _entity(ctx: RequestContext, session: AsyncSession, kind: MasterKind, public_id: str) -> MasterRow:
    entity_id = id_of(public_id)
    if entity_id is None:
        raise NotFound(f"There is no {kind.name} {public_id}.")
    return await setup.read(ctx, session, kind, MasterAddress(public_id=entity_id))


def _kind(owner: Owner, name: str) -> MasterKind:
    if (owner, name) not in LISTS:
        raise NotFound(f"There is no list {name}.")
    return LISTS[owner, name]
