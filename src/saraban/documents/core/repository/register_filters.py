"""Keys of the filters of registers, and conditions outside `document_reach`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from saraban.documents.core.domain import Reach
from saraban.documents.core.domain.registers import FEW, Index, Places
from saraban.documents.core.models import Document, DocumentReach, DocumentRecipient, DocumentRevision
from saraban.kit.db import AnySelect, table_of
from saraban.kit.keys import is_spelled
from saraban.numbering.series.models import LedgerEntry, NumberRendering
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceStatus,
    CorrespondenceType,
    Discipline,
    Project,
)
from saraban.search_index.domain.folding import THAI_DIGITS
from saraban.workflow.runtime.models import WorkflowInstance, WorkflowWorkItem

_table = table_of(DocumentReach)
_reach = _table.c
_head, _revision, _recipient = map(table_of, (Document, DocumentRevision, DocumentRecipient))
Condition = sa.ColumnElement[bool]
Column = sa.SQLColumnExpression[Any]


def contains(column: Column, name: str) -> Condition:
    """Match folded text. INSTR has no wildcards; databases fold case and Thai digits alone."""
    for thai, digit in THAI_DIGITS:
        column = sa.func.replace(column, thai, digit)
    return sa.func.instr(sa.func.lower(column), sa.func.lower(sa.bindparam(name, type_=sa.String()))) > 0


def was_numbered(heads: sa.Table, name: str) -> Condition:
    """Match every number that a document ever had (REQ-NUM-32)."""
    return (
        sa.exists()
        .where(
            heads.c.id == _reach.document_id,
            LedgerEntry.holder_public_id == heads.c.uuid,
            LedgerEntry.replaced_by_uuid.is_not(None),
            NumberRendering.reservation_id == LedgerEntry.id,
            contains(NumberRendering.document_number, name),
        )
        .correlate(_table)
    )


class _UuidText(FunctionElement[str]):
    type = sa.String()
    inherit_cache = True


class TextUuid(FunctionElement[UUID]):
    """The text of `entity_id` as a UUID, which an index contains."""

    type = sa.Uuid()
    inherit_cache = True


@compiles(TextUuid)
def _text_as_uuid(element: TextUuid, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS UUID)"


@compiles(TextUuid, "sqlite")
def _text_as_sqlite_uuid(element: TextUuid, compiler: SQLCompiler, **options: Any) -> str:
    return f"REPLACE({compiler.process(element.clauses, **options)}, '-', '')"


@compiles(_UuidText)
def _uuid_as_text(element: _UuidText, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS CHAR(36))"


@compiles(_UuidText, "sqlite")
def _uuid_as_sqlite_text(element: _UuidText, compiler: SQLCompiler, **options: Any) -> str:
    column = compiler.process(element.clauses, **options)
    return " || '-' || ".join(
        f"substr({column}, {start}, {length})" for start, length in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    )


_AWAITS_CALLER = WorkflowWorkItem.user_id == sa.bindparam("caller", type_=sa.Integer())
_AWAITS_ORGANIZATION = WorkflowWorkItem.organization_id.in_(
    sa.bindparam("member_of", expanding=True, type_=sa.Integer())
)


def pending(subjects: sa.Table, key: Column) -> Condition:
    """Match what awaits the caller or their organizations; `key` is the column of the subjects."""
    return (
        sa.select(sa.literal_column("1"))
        .where(
            subjects.c.id == key,
            WorkflowInstance.entity_type == sa.bindparam("entity_type", type_=sa.String()),
            WorkflowInstance.entity_id == _UuidText(subjects.c.uuid),
            WorkflowWorkItem.instance_id == WorkflowInstance.id,
            sa.or_(_AWAITS_CALLER, _AWAITS_ORGANIZATION),
        )
        # SQLite would otherwise read all work items of the caller for each row.
        .with_hint(table_of(WorkflowWorkItem), "INDEXED BY idx_wf_item_instance", "sqlite")
        .correlate(_table)
        .exists()
    )


def waiting(subjects: sa.Table, key: Column) -> AnySelect:
    """
    Select the documents that await the caller: all of them, or more than `FEW`.

    Only distinct instances of this register count towards the limit, so that a cut list never looks complete.
    """
    items = [
        sa.select(WorkflowWorkItem.instance_id)
        .distinct()
        .join(WorkflowInstance, WorkflowInstance.id == WorkflowWorkItem.instance_id)
        .where(is_assigned, WorkflowInstance.entity_type == sa.bindparam("entity_type", type_=sa.String()))
        .limit(FEW + 1)
        .subquery()
        for is_assigned in (_AWAITS_CALLER, _AWAITS_ORGANIZATION)
    ]
    instances = sa.union(*(sa.select(part.c.instance_id) for part in items)).subquery()
    return (
        sa.select(key)
        .select_from(instances)
        .join(WorkflowInstance, WorkflowInstance.id == instances.c.instance_id)
        .join(subjects, subjects.c.uuid == TextUuid(WorkflowInstance.entity_id))
        # MariaDB would otherwise begin with all instances.
        .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
    )


@dataclass(frozen=True, slots=True, eq=False)
class RegisterTables:
    """
    :param heads: the table of `document_id` and of the cursor
    :param text: returns the condition that the shown columns contain a word
    :param conditions: by the names of their parameters
    :param documents: selects of a few documents from outside `document_reach`
    """

    heads: sa.Table
    text: Callable[[str], Condition]
    conditions: Mapping[str, Condition]
    documents: Mapping[Index, AnySelect]


def _document_text(name: str) -> Condition:
    contains_word = sa.or_(*(contains(_revision.c[column], name) for column in ("subject", "sender_number")))
    shows_word = sa.exists().where(_revision.c.id == _reach.revision_id, contains_word).correlate(_table)
    return sa.or_(contains(_reach.document_number, name), shows_word, was_numbered(_head, name))


_originated = _reach.originator_id == sa.bindparam("party")
_receipts: AnySelect = (
    sa.select(sa.literal_column("1"))
    .where(
        _recipient.c.correspondence_id == _reach.document_id,
        _recipient.c.recipient_organization_id == sa.bindparam("party"),
    )
    .correlate(_table)
)


def _limit_few(statement: AnySelect) -> AnySelect:
    return statement.limit(FEW + 1)


def _documents_by_author(name: str) -> AnySelect:
    return _limit_few(sa.select(_head.c.id).where(_head.c.created_by == sa.bindparam(name)))


_documents_of_party = sa.union(
    *(
        sa.select(part.c.id)
        for part in (
            _limit_few(sa.select(_head.c.id).where(_head.c.originator_id == sa.bindparam("party"))).subquery(),
            _limit_few(
                sa.select(_recipient.c.correspondence_id.label("id"))
                .distinct()
                .where(_recipient.c.recipient_organization_id == sa.bindparam("party"))
            ).subquery(),
        )
    )
).subquery()


DOCUMENTS: Final = RegisterTables(
    heads=_head,
    text=_document_text,
    conditions={
        "mine": _reach.author_id == sa.bindparam("mine"),
        "person": _reach.author_id == sa.bindparam("person"),
        # MariaDB may materialize all receipts of the organization for an EXISTS.
        "party": sa.or_(_originated, _receipts.limit(1).scalar_subquery().is_not(None)),
        "caller": pending(_revision, _reach.revision_id),
    },
    documents={
        Index.PERSON: _documents_by_author("person"),
        Index.MINE: _documents_by_author("mine"),
        Index.PARTY: _limit_few(sa.select(_documents_of_party.c.id)),
        Index.PENDING: waiting(_revision, _revision.c.correspondence_id),
    },
)


def register_of_sheets(
    heads: sa.Table, subject: str, involves: Callable[[str], Condition], about: AnySelect
) -> RegisterTables:
    """:param about: selects the keys of those about one document"""

    def text(name: str) -> Condition:
        shows_word = (
            sa.exists().where(heads.c.id == _reach.document_id, contains(heads.c[subject], name)).correlate(_table)
        )
        return sa.or_(contains(_reach.document_number, name), shows_word, was_numbered(heads, name))

    return RegisterTables(
        heads=heads,
        text=text,
        conditions={
            "mine": involves("mine"),
            "person": involves("person"),
            "party": _originated,
            "caller": pending(heads, _reach.document_id),
            "about": _reach.document_id.in_(about),
        },
        documents={Index.PENDING: waiting(heads, heads.c.id), Index.ABOUT: about},
    )


def many(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, expanding=True)


NOBODY: Final = -1  # a key that no row has


_project, _contract, _party = map(table_of, (Project, Contract, ContractOrganization))
_OPEN_CONTRACTS = (
    sa.select(_contract.c.project_id, _contract.c.id).where(_contract.c.id.in_(many("contracts"))),
    sa.select(_contract.c.project_id, _contract.c.id)
    .join(_party, _party.c.contract_id == _contract.c.id)
    .where(_party.c.organization_id.in_(many("organizations"))),
)
_EVERY_PROJECT = sa.select(_project.c.id, sa.null().label("contract_id"))
_PLACES = sa.union_all(_EVERY_PROJECT, *_OPEN_CONTRACTS)
_PLACES_OF_PROJECT = sa.union_all(_EVERY_PROJECT.where(_project.c.uuid == sa.bindparam("project")), *_OPEN_CONTRACTS)


async def find_places(session: AsyncSession, reach: Reach | None, project: UUID | None) -> Places:
    """Return the projects, or one, and the contracts that open something to a reader; without `reach` no contracts."""
    statement = _PLACES if project is None else _PLACES_OF_PROJECT
    is_limited = reach is not None and not reach.everything
    values = {
        "project": project,
        "contracts": sorted(reach.contracts) if reach is not None and is_limited else [],
        "organizations": sorted(reach.organizations) if reach is not None and is_limited else [],
    }
    rows = (await session.execute(statement, values)).all()
    contracts = {contract: place for place, contract in rows if contract is not None}
    return Places([place for place, contract in rows if contract is None], contracts)


async def status_keys(session: AsyncSession) -> dict[str, int]:
    return dict((await session.execute(sa.select(CorrespondenceStatus.status_code, CorrespondenceStatus.id))).all())


async def type_keys(session: AsyncSession, code: str) -> dict[int, int | None]:
    keys = await session.scalars(
        sa.select(CorrespondenceType.id).where(is_spelled(CorrespondenceType.type_code, [code]))
    )
    return dict.fromkeys(keys)


async def discipline_keys(session: AsyncSession, code: str) -> dict[int, int | None]:
    statement = sa.select(Discipline.id, Contract.project_id).join(Contract, Contract.id == Discipline.contract_id)
    return dict((await session.execute(statement.where(is_spelled(Discipline.discipline_code, [code])))).all())


async def key_of(session: AsyncSession, key: Column, public_id: Column, value: UUID) -> int:
    return await session.scalar(sa.select(key).where(public_id == value)) or NOBODY
