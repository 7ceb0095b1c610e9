"""Seed the shipped master data; it may run repeatedly."""

from collections.abc import Mapping
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
# Column of the code, shipped rows, columns of both names, further values.
_TABLES: Final[tuple[tuple[Any, tuple[MasterCode, ...], tuple[str, str], Mapping[str, Any]], ...]] = (
    (CorrespondenceType.type_code, shipped.CORRESPONDENCE_TYPES, ("type_name", "type_name_en"), _STAMPS),
    (CorrespondenceStatus.status_code, shipped.CORRESPONDENCE_STATUSES, ("status_name", "status_name_en"), {}),
    (RfaStatusCode.status_code, shipped.RFA_STATUSES, ("status_name", "status_name_en"), {}),
    (RfaApproveCode.approve_code, shipped.RFA_APPROVE_CODES, ("approve_name", "approve_name_en"), {}),
    (CirculationStatusCode.code, shipped.CIRCULATION_STATUSES, ("description", "description_en"), {}),
)


async def seed_master_data(session: AsyncSession) -> None:
    for code, offers, (thai, english), more in _TABLES:
        rows = (
            code.class_(
                **{code.key: offer.code, thai: offer.says.th, english: offer.says.en, "sort_order": offer.order}, **more
            )
            for offer in offers
        )
        await add_missing(session, code, rows)
