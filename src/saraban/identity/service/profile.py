"""What the signed-in user is told about itself."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.repository import callers, organizations
from saraban.identity.schemas import HeldRole, HeldRoleScope, Profile
from saraban.identity.service.organizations import organization_summary


async def profile(session: AsyncSession, *, caller: Caller) -> Profile:
    rows = {row.id: organization_summary(row) for row in await organizations.many(session, ids=caller.organization_ids)}
    held = await callers.assignments_of(session, user_id=caller.user_id)
    return Profile(
        public_id=caller.public_id,
        username=caller.username,
        display_name=caller.display_name,
        organization=rows.get(caller.organization_id) if caller.organization_id else None,
        organizations=list(rows.values()),
        roles=[HeldRole(role=row.role_name, level=row.scope, place=_place(row)) for row in held],
        permissions=sorted(caller.permissions),
        language="en" if caller.language == "en" else "th",
        is_service=caller.is_service,
    )


def _place(row: Any) -> HeldRoleScope | None:
    for public_id, code in (
        (row.organization_public_id, row.organization_code),
        (row.project_public_id, row.project_code),
        (row.contract_public_id, row.contract_code),
    ):
        if public_id is not None:
            return HeldRoleScope(public_id=public_id, code=code)
    return None
