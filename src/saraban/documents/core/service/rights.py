"""Who may change a document: the people of its originator, and the few who may after it has been issued."""

from saraban.documents.core.domain.kind import KindRules
from saraban.documents.core.models import Document
from saraban.identity.domain.context import RequestContext
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import Forbidden

ADMIN_EDIT = "document.admin_edit"
ORG_ADMIN = "Org Admin"


def home_scope(ctx: RequestContext, document: Document) -> Scope:
    """
    Return the scope in which a right over the originator's own document counts.

    A role at the contract counts for the originator's people only: the consultant's contract administrator does not
    write the contractor's documents.
    """
    contract = document.contract_id if document.originator_id in ctx.caller.organization_ids else None
    return Scope(frozenset({document.originator_id}), document.project_id, contract)


def require_edit(ctx: RequestContext, rules: KindRules, document: Document) -> None:
    """
    :raises Forbidden: when the caller does not write this kind for the originator
    """
    ctx.caller.require(rules.edit, home_scope(ctx, document))


def require_create(ctx: RequestContext, rules: KindRules, document: Document) -> None:
    """
    :raises Forbidden: when the caller does not issue this kind for the originator
    """
    ctx.caller.require(rules.create, home_scope(ctx, document))


def require_withdraw(ctx: RequestContext, document: Document) -> None:
    """
    :raises Forbidden: when the caller may not withdraw what the originator has issued
    """
    scope = home_scope(ctx, document)
    by_role = any(grant.role == ORG_ADMIN and grant.covers(scope) for grant in ctx.caller.grants)
    if not (by_role or ctx.caller.may(ADMIN_EDIT, scope)):
        raise Forbidden(f"The permission {ADMIN_EDIT} is needed here.")
