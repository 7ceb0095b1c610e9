"""Which registers a workflow has to fit: those that start on it where nobody chose, and those for which it is chosen."""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.errors import FieldProblem
from saraban.workflow.domain.definition import Definition
from saraban.workflow.domain.dsl import WorkflowNotValid
from saraban.workflow.domain.registers import REGISTERS, misfits, starting_on
from saraban.workflow.repository import choices as repository


async def unfit(
    session: AsyncSession, definition: Definition, *, root: str = "/dsl", published: bool = False
) -> tuple[FieldProblem, ...]:
    """Return why the documents that start on this workflow could not run on a version of it."""
    chosen = await repository.matters_of(session, definition.code)
    registers = starting_on(definition.code)
    registers += [REGISTERS[kind].of_type(type_code) for kind, type_code in chosen]
    return misfits(definition, list(dict.fromkeys(registers)), root=root, published=published)


async def check_fit(session: AsyncSession, definition: Definition, *, published: bool = False) -> None:
    """
    :raises WorkflowNotValid: naming each place that does not fit the documents which start on it
    """
    faults = await unfit(session, definition, published=published)
    if faults:
        raise WorkflowNotValid(fields=faults)
