"""Legacy numbers as rows of the ledger and the audit."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.ids import new_id
from saraban.numbering.domain.counter import NO_RECIPIENT
from saraban.numbering.repository import importing as rows
from saraban.numbering.service.lines import REASON, ImportedNumber, ImportTarget


class RowWriter:
    """Turns numbers into the rows of the ledger and the audit."""

    def __init__(self, place: ImportTarget, *, caller: Caller, now: datetime, address: str) -> None:
        self.place, self.now = place, now
        self.user = caller.user_id
        self.address = address[:45] or None

    async def write(self, session: AsyncSession, numbers: Sequence[ImportedNumber]) -> None:
        ids = [new_id() for _ in numbers]
        await rows.insert_imported(
            session,
            project_id=self.place.project.id,
            entries=[self._entry(key, number) for key, number in zip(ids, numbers, strict=True)],
            audits=[self._audit(key, number) for key, number in zip(ids, numbers, strict=True)],
        )

    def _entry(self, key: UUID, number: ImportedNumber) -> tuple[object, ...]:
        """In the order of `repository.LEDGER_COLUMNS`."""
        parties, plan = number.group.parties, number.group.plan
        recipient = parties.recipient.id if parties.recipient else NO_RECIPIENT
        return (
            key,
            number.token,
            self.place.project.id,
            parties.type.id,
            parties.originator.id,
            plan.key.recipient_organization_id if plan else recipient,
            number.series,
            0,
            number.sequence,
            number.base,
            number.number,
            number.revision,
            "CONFIRMED",
            "IMPORT",
            None,
            None,
            number.template,
            number.values,
            plan.format_public_id if plan and not number.is_literal else None,
            plan.source if plan and not number.is_literal else None,
            number.group.year,
            self.user,
            self.address,
            REASON,
            None,
            None,
            number.issued or self.now,
            self.now,
        )

    def _audit(self, key: UUID, number: ImportedNumber) -> tuple[object, ...]:
        """In the order of `repository.AUDIT_COLUMNS`."""
        return (
            new_id(),
            "IMPORT",
            self.place.project.id,
            key,
            number.number,
            number.group.parties.type.code,
            None,
            number.series,
            number.group.codes_text,
            number.template,
            number.sequence,
            None,
            REASON,
            self.user,
            self.address,
            None,
            0,
            0,
            None,
            self.now,
        )
