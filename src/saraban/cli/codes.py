"""The command line names things by code where the API takes public ids."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from saraban.kit.errors import unknown

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.caller import Caller
    from saraban.numbering.service import NumberRequest


async def request_in_codes(
    session: "AsyncSession",
    caller: "Caller",
    places: tuple[str, str, str | None, str | None],
    kind: str,
    codes: dict[str, str | None],
) -> "NumberRequest":
    """The command takes codes where the API takes public ids."""
    from saraban.numbering.service import NumberRequest
    from saraban.projects import service as projects

    project_code, originator, recipient, contract = places
    project = await projects.find_project_by_code(session, code=project_code, pointer="/project")
    read = await projects.read_project(session, caller=caller, public_id=project.public_id)
    members = {one.organization_code: one.public_id for one in read.organizations}
    contracts = {one.contract_code: one.public_id for one in read.contracts}
    values: dict[str, Any] = codes
    return NumberRequest(
        project_public_id=project.public_id,
        correspondence_type_code=kind,
        originator_organization_public_id=_named(members, originator, "from"),
        recipient_organization_public_id=_named(members, recipient, "to") if recipient else None,
        contract_public_id=_named(contracts, contract, "contract") if contract else None,
        **values,
    )


def _named(known: dict[str, UUID], code: str, option: str) -> UUID:
    if code not in known:
        raise unknown(f"/{option}", code)
    return known[code]
