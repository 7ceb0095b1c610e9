"""Who may read the files of documents and of workflow steps; `bootstrap` registers the rules with attachments."""

from functools import partial

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.service import AccessRule
from saraban.documents.core.repository import links
from saraban.documents.core.service.presentation import reach
from saraban.identity.domain.caller import Caller
from saraban.workflow import service as workflow
from saraban.workflow.service import Subjects


async def document_files(session: AsyncSession, caller: Caller, attachment_id: int) -> bool:
    """Return whether a file hangs on a revision that the caller may see."""
    return await links.reaches_file(session, reach=reach(caller), attachment_id=attachment_id)


def step_files(subjects: Subjects) -> AccessRule:
    """Return the rule for files that came with a workflow step: whoever sees its subject may read them."""
    return partial(workflow.may_read_step_file, subjects=subjects)
