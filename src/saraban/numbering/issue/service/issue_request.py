"""Requests to issue a number, and issued numbers."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import stopwatch
from saraban.kit.fastlane import Packet
from saraban.kit.idempotency import Claim
from saraban.kit.ids import new_id
from saraban.kit.operation import Receipt
from saraban.numbering.issue.domain import Attempts
from saraban.numbering.issue.service.number_plan import Plan
from saraban.numbering.series.domain.counter import CounterState
from saraban.numbering.series.domain.states import NumberState
from saraban.numbering.series.models import LedgerEntry

NUMBER = "number"
Outcome = Mapping[str, str | int | None]
Write = Callable[[AsyncSession, "Issued"], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True)
class Holder:
    """The owner of a number: opaque here, resolved by `documents`."""

    kind: str
    public_id: UUID


@dataclass(frozen=True, slots=True)
class Issued:
    """:param repeated: an earlier attempt of this request had issued it"""

    public_id: UUID
    number: str
    base_number: str
    sequence: int
    year: int
    template: str
    revision: str
    status: str = NumberState.CONFIRMED
    expires_at: datetime | None = None
    holder: Holder | None = None
    repeated: bool = field(default=False, compare=False)

    def receipt(self) -> Receipt:
        return Receipt(NUMBER, self.public_id, {"number": self.number}, repeated=self.repeated)


@dataclass(frozen=True, slots=True)
class IssueRequest:
    """
    :param token: a repeated request with the same token finds its number
    :param write: writes the holder's rows; must do no I/O elsewhere, because it runs again after a rollback
    :param lasts: duration of a reservation; None for a final number
    :param reservation: the reserved number to use instead
    :param fields: pointers of the holder's schema where they differ from the number's
    """

    ctx: RequestContext
    plan: Plan
    token: UUID = field(default_factory=new_id)
    claim: Claim | None = None
    holder: Holder | None = None
    write: Write | None = None
    outcome: Outcome = field(default_factory=dict)
    lasts: timedelta | None = None
    reservation: UUID | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_keyed(self) -> bool:
        return self.claim is not None and self.claim.row is not None

    def queue_receipt(self, packet: Packet, issued: Issued, *, refusal: Exception) -> None:
        """:param refusal: raised when another request took the key over"""
        if self.claim is not None:
            self.claim.queue_receipt(packet, self.receipt(issued), refusal=refusal)

    def receipt(self, issued: Issued) -> Receipt:
        """Return the receipt of the document if there is one, else of the number."""
        outcome = {"number": issued.number, **self.outcome}
        holder = issued.holder if self.holder is not None else None
        kind, public_id = (holder.kind, holder.public_id) if holder is not None else (NUMBER, issued.public_id)
        return Receipt(kind, public_id, outcome, repeated=issued.repeated)


@dataclass(slots=True)
class PendingIssue:
    """
    :param uncertain: may be committed already, so its token is looked up first. A new claim excludes a former commit,
        except for a key more than a day old; the ledger refuses that token
    :param unseen: the connection was lost during a COMMIT of this process
    :param waited: seconds until the transaction began
    """

    request: IssueRequest
    plan: Plan
    attempts: Attempts
    uncertain: bool = False
    unseen: bool = False
    waited: float = 0.0
    arrived: float = field(default_factory=stopwatch)

    @property
    def elapsed(self) -> float:
        return stopwatch() - self.arrived


@dataclass(slots=True)
class LockPath:
    """
    :param locks_row: `FOR UPDATE`
    :param searches: look up taken numbers before choosing
    """

    kind: str
    locks_row: bool = False
    searches: bool = False
    remembered: CounterState | None = None


def issued_of(entry: LedgerEntry) -> Issued:
    return Issued(
        entry.public_id,
        entry.document_number,
        entry.base_number,
        entry.sequence_number,
        entry.issue_year,
        entry.format_template,
        entry.revision_label,
        entry.document_number_status,
        entry.expires_at,
        Holder(entry.holder_kind, entry.holder_public_id) if entry.holder_kind and entry.holder_public_id else None,
    )
