"""Reads the definitions of instances."""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, as_published
from saraban.workflow.language.registers import Matter
from saraban.workflow.runtime import repository

_CACHED = 512
_cache: OrderedDict[UUID, Definition] = OrderedDict()


class WorkflowNotDefined(DomainError):
    """No version of this workflow is active."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_NOT_DEFINED"
    says = Text("ยังไม่มี Workflow ที่เปิดใช้งานสำหรับเอกสารประเภทนี้", "No workflow is active for this kind of document.")
    recovery = (
        Text("แจ้งผู้ดูแลระบบให้เปิดใช้งาน Workflow", "Ask the administrator to activate one."),
        Text(
            "ถ้ากำหนด Workflow อื่นไว้สำหรับเอกสารประเภทนี้ ผู้ดูแลยกเลิกการกำหนดได้",
            "If another workflow is assigned to such documents, the assignment can be removed.",
        ),
    )


_SHIPPED = Text("กระบวนงาน “{workflow}” ไม่มีเวอร์ชันที่ใช้งานอยู่", "No version of the workflow “{workflow}” is active.")
_CHOSEN = Text(
    "กระบวนงาน “{workflow}” ที่กำหนดไว้สำหรับเอกสารประเภทนี้ไม่มีเวอร์ชันที่ใช้งานอยู่ ต้องเปิดใช้เวอร์ชันหนึ่ง หรือยกเลิกการกำหนด",
    "No version of the workflow “{workflow}”, which is assigned to such documents, is active; activate one, or remove the assignment.",
)


async def load(session: AsyncSession, definition_id: UUID) -> Definition:
    definition = _cache.get(definition_id)
    if definition is None:
        row = await repository.definition(session, definition_id)
        if row is None:
            raise NotFound("The definition is gone.")
        definition = _cache[definition_id] = as_published(dsl.read(row.dsl), row.compiled)
        while len(_cache) > _CACHED:
            _cache.popitem(last=False)
    return definition


@dataclass(frozen=True, slots=True)
class StartingWorkflow:
    """:param matter: the workflow chosen for it comes before `code`"""

    definition_id: UUID
    definition: Definition
    code: str
    matter: Matter | None = None


async def starting(session: AsyncSession, *, code: str, matter: Matter | None = None) -> StartingWorkflow:
    """:raises WorkflowNotDefined: when no version is active"""
    definition_id = await repository.starting_id(session, matter, otherwise=code)
    if definition_id is None:
        chosen = await repository.chosen_code(session, matter) if matter is not None else None
        raise WorkflowNotDefined(words=_CHOSEN if chosen else _SHIPPED, values={"workflow": chosen or code})
    return StartingWorkflow(definition_id, await load(session, definition_id), code, matter)
