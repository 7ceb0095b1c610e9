"""
Fills in the master data of the product.

It may run any number of times: it adds what is missing and changes nothing that is there.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.service.first_run import SHIPPED_AT, add_missing
from saraban.projects.domain import master_data as shipped
from saraban.projects.domain.master_data import MasterCode
from saraban.projects.models import (
    CirculationStatusCode,
    CorrespondenceStatus,
    CorrespondenceType,
    RfaApproveCode,
    RfaStatusCode,
)

_STAMPS = {"created_at": SHIPPED_AT, "updated_at": SHIPPED_AT}
# The column of the code, what ships, and what its row says beside the code and its place.
_TABLES: Final[tuple[tuple[Any, tuple[MasterCode, ...], Callable[[MasterCode], dict[str, Any]]], ...]] = (
    (CorrespondenceType.type_code, shipped.CORRESPONDENCE_TYPES, lambda one: {"type_name": one.says.en, **_STAMPS}),
    (CorrespondenceStatus.status_code, shipped.CORRESPONDENCE_STATUSES, lambda one: {"status_name": one.says.en}),
    (
        RfaStatusCode.status_code,
        shipped.RFA_STATUSES,
        lambda one: {"status_name": one.says.en, "description": one.says.th},
    ),
    (
        RfaApproveCode.approve_code,
        shipped.RFA_APPROVE_CODES,
        lambda one: {"approve_name": one.says.en, "description": one.says.th},
    ),
    (CirculationStatusCode.code, shipped.CIRCULATION_STATUSES, lambda one: {"description": one.says.en}),
)


async def seed_master_data(session: AsyncSession) -> None:
    """Fill in document types, statuses, approve codes."""
    for code, offers, names in _TABLES:
        rows = (code.class_(**{code.key: one.code, "sort_order": one.order}, **names(one)) for one in offers)
        await add_missing(session, code, rows)
