"""
Fills in the master data of the product.

It may run any number of times: it adds what is missing and changes nothing that is there.
"""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.service.first_run import SHIPPED_AT, add_missing
from saraban.projects.domain import master_data as shipped
from saraban.projects.models import (
    CirculationStatusCode,
    CorrespondenceStatus,
    CorrespondenceType,
    RfaApproveCode,
    RfaStatusCode,
)

_STAMPS = {"created_at": SHIPPED_AT, "updated_at": SHIPPED_AT}


async def seed_master_data(session: AsyncSession) -> None:
    """Fill in document types, statuses, approve codes."""
    await add_missing(
        session,
        CorrespondenceType.type_code,
        (
            CorrespondenceType(type_code=one.code, type_name=one.says.en, sort_order=one.order, **_STAMPS)
            for one in shipped.CORRESPONDENCE_TYPES
        ),
    )
    await add_missing(
        session,
        CorrespondenceStatus.status_code,
        (
            CorrespondenceStatus(status_code=one.code, status_name=one.says.en, sort_order=one.order)
            for one in shipped.CORRESPONDENCE_STATUSES
        ),
    )
    await _rfa_codes(session)
    await add_missing(
        session,
        CirculationStatusCode.code,
        (
            CirculationStatusCode(code=one.code, description=one.says.en, sort_order=one.order)
            for one in shipped.CIRCULATION_STATUSES
        ),
    )


async def _rfa_codes(session: AsyncSession) -> None:
    await add_missing(
        session,
        RfaStatusCode.status_code,
        (
            RfaStatusCode(status_code=one.code, status_name=one.says.en, description=one.says.th, sort_order=one.order)
            for one in shipped.RFA_STATUSES
        ),
    )
    await add_missing(
        session,
        RfaApproveCode.approve_code,
        (
            RfaApproveCode(
                approve_code=one.code, approve_name=one.says.en, description=one.says.th, sort_order=one.order
            )
            for one in shipped.RFA_APPROVE_CODES
        ),
    )
