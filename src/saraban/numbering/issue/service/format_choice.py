"""Which format numbered a document, and why that one: kept with the number, whatever becomes of the formats."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.errors import Text
from saraban.numbering.issue.repository import ledger_entries
from saraban.numbering.issue.schemas import NumberFormatOut
from saraban.numbering.issue.service.number_plan import Plan
from saraban.numbering.series.domain.format_selection import FormatReason, Narrowing, reason_text
from saraban.numbering.series.domain.states import FormatSource, NumberSource

_STATED: dict[str, FormatReason] = {
    NumberSource.OVERRIDE: FormatReason.STATED,
    NumberSource.IMPORT: FormatReason.IMPORTED,
}
_CHOSEN: dict[str, FormatReason] = {
    FormatSource.DEFAULT: FormatReason.DEFAULT,
    FormatSource.FALLBACK: FormatReason.FALLBACK,
}


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """
    The format of one number.

    :param public_id: None for the system's fallback, and where it was not recorded
    :param narrowing: what that format is narrowed to
    """

    template: str
    reason: FormatReason
    type_code: str
    public_id: UUID | None = None
    narrowing: Narrowing = Narrowing()  # noqa: RUF009  a tuple

    @property
    def words(self) -> Text:
        return reason_text(self.reason, type_code=self.type_code, narrowing=self.narrowing)

    def shown(self) -> NumberFormatOut:
        return NumberFormatOut(
            public_id=self.public_id,
            template=self.template,
            sub_type_code=self.narrowing.sub_type or None,
            rfa_type_code=self.narrowing.rfa_type or None,
            discipline_code=self.narrowing.discipline or None,
            reason=self.reason,
            reason_th=self.words.th,
            reason_en=self.words.en,
        )

    @classmethod
    def of_plan(cls, plan: Plan) -> "FormatChoice":
        """The format that would number a document now."""
        reason = reason_of(NumberSource.DRAW, plan.source, plan.narrowing)
        return cls(plan.template.text, reason, plan.type.code, plan.format_public_id, plan.narrowing)


async def format_choice(session: AsyncSession, public_id: UUID) -> FormatChoice | None:
    """Give the format of a number of the ledger; None where there is no such number."""
    row = await ledger_entries.format_of_number(session, public_id)
    if row is None:
        return None
    template, source, chosen, type_code, format_id, *codes = row
    narrowing = Narrowing(*(code or "" for code in codes))
    return FormatChoice(template, reason_of(source, chosen, narrowing), type_code, format_id, narrowing)


def reason_of(source: str, chosen: str | None, narrowing: Narrowing) -> FormatReason:
    """
    :param source: of the number: `DRAW`, `OVERRIDE`, `IMPORT`, `MIGRATED`
    :param chosen: `specific`, `default` or `fallback`; None where it was not kept
    """
    if source in _STATED:
        return _STATED[source]
    if chosen == FormatSource.SPECIFIC:
        return FormatReason.NARROWED if any(narrowing) else FormatReason.TYPE
    return _CHOSEN.get(chosen or "", FormatReason.NOT_RECORDED)
