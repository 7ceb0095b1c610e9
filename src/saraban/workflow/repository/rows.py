"""How rows of instances leave a session."""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.workflow.models import Instance, WorkflowInstance


def detached(session: AsyncSession, row: WorkflowInstance) -> Instance:
    """Take a row out of the session, which must not write it, and return it as it stands."""
    session.expunge(row)
    return Instance.of(row)
