"""Who may change a document: the people of its originator, and the few who may after it has been issued."""

from saraban.documents.core.domain.kind import KindRules
from saraban.documents.core.models import Document
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import Forbidden

ADMIN_EDIT = "document.admin_edit"
ORG_ADMIN = "Org Admin"


def home_scope(caller: Caller, head: Document) -> Scope:
    """
    Return the scope in which a right over the originator's own document counts.

    A role at the contract counts for the originator's people only: the consultant's contract administrator does not
    write the contractor's documents.
    """
    contract = head.contract_id if head.originator_id in caller.organization_ids else None
    return Scope(frozenset({head.originator_id}), head.project_id, contract)


def require_edit(caller: Caller, kind: KindRules, head: Document) -> None:
    """
    :raises Forbidden: when the caller does not write this kind for the originator
    """
    caller.require(kind.edit, home_scope(caller, head))


def require_create(caller: Caller, kind: KindRules, head: Document) -> None:
    """
    :raises Forbidden: when the caller does not issue this kind for the originator
    """
    caller.require(kind.create, home_scope(caller, head))


def require_withdraw(caller: Caller, head: Document) -> None:
    """
    :raises Forbidden: when the caller may not withdraw what the originator has issued
    """
    scope = home_scope(caller, head)
    by_role = any(grant.role == ORG_ADMIN and grant.covers(scope) for grant in caller.grants)
    if not (by_role or caller.may(ADMIN_EDIT, scope)):
        raise Forbidden(f"The permission {ADMIN_EDIT} is needed here.")
