"""What the filters and the cursor of a register name, as keys."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from saraban.documents.core.domain import Reach
from saraban.documents.core.repository.register_filters import RegisterTables
from saraban.identity.models import Organization, User
from saraban.kit.statements import PreparedStatement, Query, Rows
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceStatus,
    CorrespondenceType,
    Discipline,
    Project,
)


def _many(name: str) -> Any:
    return sa.bindparam(name, expanding=True)


# What nothing has, and so finds nothing.
NOBODY: Final = -1
_PROJECTS = PreparedStatement(sa.select(Project.id))
_PROJECT = PreparedStatement(sa.select(Project.id).where(Project.public_id == sa.bindparam("public_id")))
_CONTRACTS = PreparedStatement(
    sa.union(
        sa.select(Contract.id, Contract.project_id).where(Contract.id.in_(_many("contracts"))),
        sa.select(Contract.id, Contract.project_id)
        .join(ContractOrganization, ContractOrganization.contract_id == Contract.id)
        .where(ContractOrganization.organization_id.in_(_many("organizations"))),
    )
)
_DISCIPLINES = PreparedStatement(
    sa.select(Discipline.id, Contract.project_id)
    .join(Contract, Contract.id == Discipline.contract_id)
    .where(Discipline.discipline_code == sa.bindparam("code"))
)
_STATUSES = PreparedStatement(sa.select(CorrespondenceStatus.id, CorrespondenceStatus.status_code))
_TYPES = PreparedStatement(sa.select(CorrespondenceType.id).where(CorrespondenceType.type_code == sa.bindparam("code")))
_ORGANIZATION = PreparedStatement(sa.select(Organization.id).where(Organization.public_id == sa.bindparam("public_id")))
_PERSON = PreparedStatement(sa.select(User.user_id).where(User.public_id == sa.bindparam("public_id")))


def _keys(rows: Rows) -> list[int]:
    return [row[0] for row in rows]


def _key(rows: Rows) -> int:
    return int(rows[0][0]) if rows else NOBODY


def projects(public_id: UUID | None) -> Query[list[int]]:
    if public_id is None:
        return Query(_PROJECTS, {}, _keys)
    return Query(_PROJECT, {"public_id": public_id}, _keys)


def contracts(reach: Reach) -> Query[dict[int, int]]:
    """Ask for the contracts that open something to a reader, with their projects."""
    asked = {"contracts": sorted(reach.contracts), "organizations": sorted(reach.organizations)}
    return Query(_CONTRACTS, asked, lambda rows: {row[0]: row[1] for row in rows})


def statuses() -> Query[dict[str, int]]:
    return Query(_STATUSES, {}, lambda rows: {row[1]: row[0] for row in rows})


def types(code: str) -> Query[Mapping[int, int | None]]:
    return Query(_TYPES, {"code": code}, lambda rows: dict.fromkeys(_keys(rows)))


def disciplines(code: str) -> Query[Mapping[int, int | None]]:
    """Ask for the disciplines of this code, each with its project."""
    return Query(_DISCIPLINES, {"code": code}, dict)


def organization(public_id: UUID) -> Query[int]:
    return Query(_ORGANIZATION, {"public_id": public_id}, _key)


def person(public_id: UUID) -> Query[int]:
    return Query(_PERSON, {"public_id": public_id}, _key)


def head(tables: RegisterTables, public_id: UUID) -> Query[int]:
    """Ask for the key of the document that a cursor names; where it is gone, nothing of its moment is passed over."""
    return Query(_head_of(tables), {"public_id": public_id}, _key)


@cache
def _head_of(tables: RegisterTables) -> PreparedStatement:
    heads = tables.heads.c
    return PreparedStatement(sa.select(heads.id).where(heads.uuid == sa.bindparam("public_id")))
