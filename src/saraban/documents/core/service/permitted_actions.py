"""What a page may offer a reader besides the workflow's actions; each verb checks again when it is used."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain.kind import DRAFT
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.service.checks import require_create, require_edit, require_withdraw
from saraban.documents.core.service.presentation import envelopes
from saraban.documents.core.service.revisioned_kind import RevisionedKind
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import Forbidden


@dataclass(frozen=True, slots=True)
class PermittedActions:
    edit: bool = False
    cancel: bool = False
    revise: bool = False


async def permitted_actions(
    ctx: RequestContext, session: AsyncSession, kind: RevisionedKind, *, public_id: UUID
) -> PermittedActions:
    """
    Return which of edit, cancel and revise are open to the caller now.

    :raises NotFound: also when the caller may not know of the document
    """
    row = await kind.find(ctx, session, public_id=public_id)
    if row.document.cancelled_at is not None or not row.revision.is_current:
        return PermittedActions()
    found = await envelopes(ctx, session, kind, rows=[row])
    envelope = found.get(str(row.revision.public_id))
    in_draft = envelope is not None and envelope.current_state == DRAFT
    never_issued = in_draft and not await repository.ever_issued(session, document_id=row.document.id)
    may_edit = _allowed(lambda: require_edit(ctx, kind.rules, row.document))
    if never_issued:
        may_cancel = may_edit
    elif in_draft and row.revision.issued_date is None:
        may_cancel = False
    else:
        may_cancel = kind.rules.cancel_after_issue and _allowed(lambda: require_withdraw(ctx, row.document))
    ended = envelope is not None and envelope.terminal
    # Who asked has closed the matter with the answer: there is nothing to ask anew.
    settled = envelope is not None and envelope.outcome == "closed" and row.type.type_code == "RFI"
    may_revise = ended and not settled and _allowed(lambda: require_create(ctx, kind.rules, row.document))
    # Whether a state may be edited is its definition's word, whatever the state is called.
    return PermittedActions(
        edit=envelope is not None and envelope.can_edit and may_edit, cancel=may_cancel, revise=may_revise
    )


def _allowed(require: Callable[[], None]) -> bool:
    try:
        require()
    except Forbidden:
        return False
    return True
