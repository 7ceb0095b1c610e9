"""Resolve public ids and codes of a request; an ambiguous code needs a contract (REQ-FMT-13)."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import party_role
from saraban.kit.db import AnyRow
from saraban.kit.errors import Invalid, invalid, unknown
from saraban.kit.text import fold
from saraban.projects import repository
from saraban.projects.domain.master_data import (
    ContractRef,
    DisciplineRef,
    OrganizationRef,
    Party,
    PrintableCodes,
    ProjectRef,
    RfaTypeRef,
    SubTypeRef,
    TypeRef,
    by_role,
)
from saraban.projects.repository import CodeFilter

CONTRACT_POINTER = "/contractPublicId"


async def find_project(session: AsyncSession, *, public_id: UUID, pointer: str) -> ProjectRef:
    """:raises Invalid:"""
    row = await repository.open_project(session, public_id)
    if row is None:
        raise _unknown_project(pointer, str(public_id))
    return ProjectRef(*row)


async def find_project_by_code(session: AsyncSession, *, code: str, pointer: str = "/projectCode") -> ProjectRef:
    """:raises Invalid:"""
    row = await repository.open_project(session, fold(code))
    if row is None:
        raise _unknown_project(pointer, code)
    return ProjectRef(*row)


async def find_organization(
    session: AsyncSession, *, project: ProjectRef, public_id: UUID, pointer: str, contract_id: int | None = None
) -> OrganizationRef:
    """
    :param contract_id: a party of this contract has its role there
    :raises Invalid:
    """
    row = await repository.participant(session, project_id=project.id, public_id=public_id, contract_id=contract_id)
    if row is None:
        raise unknown(pointer, str(public_id))
    return OrganizationRef(row.id, row.uuid, row.organization_code, row.organization_name, party_role(row.role))


async def find_contract(session: AsyncSession, *, project: ProjectRef, public_id: UUID) -> ContractRef:
    """:raises Invalid:"""
    row = await repository.open_contract(session, project_id=project.id, public_id=public_id)
    if row is None:
        raise unknown(CONTRACT_POINTER, str(public_id))
    return ContractRef(*row)


async def find_type(session: AsyncSession, *, code: str, pointer: str) -> TypeRef:
    """:raises Invalid:"""
    row = await repository.open_type(session, code=fold(code))
    if row is None:
        raise unknown(pointer, code)
    return TypeRef(*row)


async def find_discipline(
    session: AsyncSession, *, project: ProjectRef, contract: ContractRef | None, code: str
) -> DisciplineRef:
    """:raises Invalid: at `/contractPublicId` if ambiguous"""
    row = _single_row(
        await repository.disciplines(session, _code_filter(project, contract, code)), code, "/disciplineCode"
    )
    return DisciplineRef(row.id, row.code, row.contract_id)


async def find_rfa_type(
    session: AsyncSession, *, project: ProjectRef, contract: ContractRef | None, code: str
) -> RfaTypeRef:
    """:raises Invalid: at `/contractPublicId` if ambiguous"""
    row = _single_row(await repository.rfa_types(session, _code_filter(project, contract, code)), code, "/rfaTypeCode")
    return RfaTypeRef(row.id, row.code, row.contract_id, row.items)


async def find_sub_type(
    session: AsyncSession, *, project: ProjectRef, contract: ContractRef | None, type_id: int, code: str
) -> SubTypeRef:
    """:raises Invalid: at `/contractPublicId` if ambiguous"""
    row = _single_row(
        await repository.sub_types(session, _code_filter(project, contract, code), type_id=type_id),
        code,
        "/subTypeCode",
    )
    return SubTypeRef(row.id, row.code, row.number or "", row.contract_id)


async def list_parties(session: AsyncSession, *, project_id: int, contract_id: int | None = None) -> list[Party]:
    """Return parties; with a contract only its parties, with their roles there."""
    rows = await repository.parties(session, project_id=project_id, contract_id=contract_id)
    return [Party(key, public_id, code, party_role(role)) for key, public_id, code, role in rows]


async def list_all_parties(
    session: AsyncSession, *, project_id: int, contract_id: int | None
) -> tuple[list[Party], list[Party]]:
    """Return parties of project and contract; without a contract the project's twice."""
    if contract_id is None:
        parties = await list_parties(session, project_id=project_id)
        return parties, parties
    parties_by_place: tuple[list[Party], list[Party]] = [], []
    rows = await repository.all_parties(session, project_id=project_id, contract_id=contract_id)
    for key, public_id, code, role, place in rows:
        parties_by_place[place].append(Party(key, public_id, code, party_role(role)))
    return parties_by_place


async def parties(session: AsyncSession, *, project_id: int, contract_id: int | None) -> dict[str, frozenset[int]]:
    return by_role(await list_parties(session, project_id=project_id, contract_id=contract_id))


async def contract_keys(session: AsyncSession, *, project_id: int) -> frozenset[int]:
    return frozenset(row.id for row in await repository.contracts(session, project_id=project_id))


async def printable_codes(session: AsyncSession, *, project_id: int) -> PrintableCodes:
    codes: dict[str, set[str]] = {}
    for row in await repository.printable(session, project_id):
        if row.code:
            codes.setdefault(row.kind, set()).add(row.code)
    names = ("organization", "discipline", "rfa_type", "sub_type", "type")
    return PrintableCodes(*(frozenset(codes.get(name, ())) for name in names))


async def sub_type_numbers(session: AsyncSession, *, project_id: int) -> dict[tuple[str, str], frozenset[str]]:
    numbers_of_code: dict[tuple[str, str], set[str]] = {}
    for type_code, code, number in await repository.sub_type_numbers(session, project_id):
        numbers_of_code.setdefault((type_code, code), set()).add(number)
    return {key: frozenset(numbers) for key, numbers in numbers_of_code.items()}


async def require_codes(
    session: AsyncSession, *, project: ProjectRef, type_id: int, sub_type: str, rfa_type: str, discipline: str
) -> None:
    """:raises Invalid: unless a contract of the project has each code that is not empty"""
    key = project.id
    if sub_type and not await repository.sub_types(session, CodeFilter(key, None, sub_type), type_id=type_id):
        raise unknown("/subTypeCode", sub_type)
    if rfa_type and not await repository.rfa_types(session, CodeFilter(key, None, rfa_type)):
        raise unknown("/rfaTypeCode", rfa_type)
    if discipline and not await repository.disciplines(session, CodeFilter(key, None, discipline)):
        raise unknown("/disciplineCode", discipline)


def _code_filter(project: ProjectRef, contract: ContractRef | None, code: str) -> CodeFilter:
    return CodeFilter(project.id, contract.public_id if contract else None, fold(code))


def _single_row(rows: Sequence[AnyRow], code: str, pointer: str) -> AnyRow:
    if not rows:
        raise unknown(pointer, code)
    if len(rows) > 1:
        raise invalid(
            CONTRACT_POINTER,
            "required",
            "รหัส “{value}” มีในหลายสัญญา ต้องระบุสัญญา",
            "Several contracts have the code “{value}”: give the contract.",
            value=code,
        )
    return rows[0]


def _unknown_project(pointer: str, value: str) -> Invalid:
    return invalid(pointer, "unknown", "ไม่พบโครงการ “{value}”", "There is no project “{value}”.", value=value)
