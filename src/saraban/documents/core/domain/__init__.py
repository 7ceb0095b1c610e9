import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum
from types import MappingProxyType
from typing import Final, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.identity.domain.context import EVERYTHING, Caller, Grant
from saraban.kit.dates import local_date
from saraban.kit.text import ascii_digits, normal_form
from saraban.projects.domain.master_data import RFA_APPROVE_CODES, ProjectRef
from saraban.workflow.language.outcome import BY_NAME, OUTCOMES, Outcome
from saraban.workflow.language.subject import NOTHING, ItemResult, Meaning, SubjectFacts

DRAFT = "draft"
_IGNORED_IN_NUMBERS: Final = re.compile(r"^(?:เลข)?ที่\.?(?=[ก-ฮ]*[\s\d./-])|\s|(?<=[^\W\d_])\.")
CANCELLED = "cancelled"
TERMINATED = "terminated"  # its workflow was ended without an outcome

UNDER_WAY, CLOSED = "IN_REVIEW", "CLOSED"
_ROLE_SUFFIX = {"OWNER": "OWN", "DESIGNER": "DSN", "CONSULTANT": "CSC", "CONTRACTOR": "CON"}


# Status code of a final state by its outcome; `*` is the role that decided.
ENDINGS: Mapping[str, str] = {
    "approved": "CLB*",
    "approved_with_comments": "CLB*",
    "revise_resubmit": "REP*",
    "rejected": "REJECTED",
    "withdrawn": "CANCELLED",
}


def counts_as_issued(state: str, outcome: Outcome | None = None) -> bool:
    return state not in {DRAFT, CANCELLED, TERMINATED} and outcome != "withdrawn"


class RegisterCode(IntEnum):
    """Stored in `document_reach`; never reuse a value."""

    CORRESPONDENCE = 1
    RFA = 2
    TRANSMITTAL = 3
    CIRCULATION = 4


class ReaderKind(IntEnum):
    """Stored in `document_reach`; never reuse a value."""

    PROJECT = 1
    CONTRACT = 2
    ORGANIZATION = 3


# Stored in `document_reach` instead of null, to sort last.
NO_DATE = date(9999, 12, 31)
NO_DUE = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class KindRules:
    """
    :param name: in audit actions, events and number holders
    :param path: the collection under `/api/v1`
    :param statuses: status code by state; `*` is a role, see `status_code`
    :param finished: states without a pending action: never overdue
    :param answered: states with a response: never overdue
    :param deciders: deciding role by state, if not the recipient's
    :param sent: status pattern while pending with organizations of one role
    :param closes: status pattern after an outcome that `ENDINGS` lacks
    :param carries_items: workflow steps may answer single items
    """

    name: str
    register: RegisterCode
    path: str
    entity_type: str
    type_codes: frozenset[str]
    statuses: Mapping[str, str]
    create: str
    edit: str
    finished: frozenset[str]
    answered: frozenset[str] = frozenset()
    cancel_after_issue: bool = True
    deciders: Mapping[str, str] = field(default_factory=dict)
    sent: str = "SUB*"
    closes: str = CLOSED
    carries_items: bool = False

    def status_code(
        self,
        state: str,
        recipient_role: str | None,
        *,
        left: str | None = None,
        ended: bool = False,
        meaning: Meaning = NOTHING,
    ) -> str:
        """
        The meaning counts before the state's name; without either: in review or closed.

        :param left: the previous state
        :param meaning: without a role that decided, `deciders` of `left` or the recipient's counts
        """
        role = self.deciders.get(left or "", recipient_role)
        outcome = meaning.outcome or (None if state in self.statuses else BY_NAME.get(state))
        if ended and outcome is not None:
            return _fill_role(ENDINGS.get(outcome, self.closes), meaning.decided_by or role)
        if meaning.asks is not None and not ended:
            return _fill_role(self.sent, recipient_role if meaning.asks == "recipient" else meaning.asks)
        if state not in self.statuses:
            return CLOSED if ended else UNDER_WAY
        return _fill_role(self.statuses[state], role)

    def status_codes(self, state: str) -> frozenset[str]:
        """Return the codes of the state for any recipient."""
        outcome = BY_NAME.get(state) if state in self.finished else None
        ending = _expand_roles(ENDINGS.get(outcome, self.closes)) if outcome is not None else frozenset()
        return _expand_roles(self.statuses[state]) | ending

    @property
    def finished_codes(self) -> frozenset[str]:
        """Status codes that are never overdue."""
        patterns = {ENDINGS.get(outcome, self.closes) for outcome in OUTCOMES}
        return frozenset({CLOSED}).union(
            *(_expand_roles(pattern) for pattern in patterns),
            *(self.status_codes(state) for state in self.finished | self.answered),
        )


def _fill_role(pattern: str, role: str | None) -> str:
    return pattern.replace("*", _ROLE_SUFFIX.get(role or "", "OTH"))


def _expand_roles(pattern: str) -> frozenset[str]:
    return frozenset(pattern.replace("*", suffix) for suffix in (*_ROLE_SUFFIX.values(), "OTH"))


def is_overdue(due: date | None, *, today: date, closed: bool) -> bool:
    return due is not None and not closed and today > due


def earliest_due(document_date: date | None, *, today: date, incoming: bool, sent: date | None) -> date | None:
    """Return the sent date if incoming, else the later of document date and today."""
    return sent if incoming else max(document_date or today, today)


def sender_number_key(number: str | None) -> str | None:
    """Return the normal form: digits 0 to 9, no blanks, dots after letters, or leading ที่."""
    return _IGNORED_IN_NUMBERS.sub("", ascii_digits(normal_form(number or "")))[:255] or None


AHEAD = timedelta(days=366)  # refuses mistyped years

Fault = Literal["too_late", "before_sender"]


def date_faults(*, document: date | None, sent: date | None, received: date | None, today: date) -> dict[str, Fault]:
    faults: dict[str, Fault] = {}
    if document is not None and document > today + AHEAD:
        faults["documentDate"] = "too_late"
    if sent is not None and sent > today:
        faults["senderDate"] = "too_late"
    if received is not None and received > today:
        faults["receivedDate"] = "too_late"
    elif received is not None and sent is not None and received < sent:
        faults["receivedDate"] = "before_sender"
    return faults


def day_of(moment: datetime | None, zone: ZoneInfo) -> date | None:
    return None if moment is None else local_date(moment, zone)


def start_of_day(day: date | None, zone: ZoneInfo) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), zone)


def end_of_day(day: date | None, zone: ZoneInfo) -> datetime | None:
    """Return the last second of `day` (EC-CIRC-003)."""
    return None if day is None else datetime.combine(day, time(23, 59, 59), zone)


# These roles write documents in every contract of the project.
ABOVE = ("OWNER", "CONSULTANT")


def may_write_in(
    organization: int, *, of_contract: Mapping[str, frozenset[int]], of_project: Mapping[str, frozenset[int]]
) -> bool:
    if any(organization in members for members in of_contract.values()):
        return True
    return any(organization in of_project.get(role, frozenset()) for role in ABOVE)


@dataclass(frozen=True, slots=True)
class Correspondents:
    originator: int
    recipients: Collection[int]


def is_reply(reply: Correspondents, original: Correspondents) -> bool:
    """Return whether originator and recipients are swapped."""
    return reply.originator in original.recipients and original.originator in reply.recipients


# `may_see` and `documents.core.repository` implement one rule, and a test compares them. A document that was never issued is
# visible to the originator's people and to readers of the project. An issued document is also visible to its recipients, to
# the parties of its contract and to readers of the contract.
VIEW = "document.view"


@dataclass(frozen=True, slots=True)
class Reach:
    """Scopes of a caller's right to view; `member_of`: the caller's organizations."""

    everything: bool
    projects: frozenset[int]
    contracts: frozenset[int]
    organizations: frozenset[int]
    member_of: frozenset[int]


@dataclass(frozen=True, slots=True)
class Placement:
    """The facts that decide which readers see a revision."""

    project: int
    contract: int | None
    originator: int | None
    recipients: frozenset[int]
    parties: frozenset[int]
    issued: bool


def reach_of(grants: Iterable[Grant], member_of: frozenset[int]) -> Reach:
    useful = [grant for grant in grants if {VIEW, EVERYTHING} & grant.permissions]
    return Reach(
        everything=any(not (grant.organization or grant.project or grant.contract) for grant in useful),
        projects=frozenset(grant.project for grant in useful if grant.project),
        contracts=frozenset(grant.contract for grant in useful if grant.contract),
        organizations=frozenset(grant.organization for grant in useful if grant.organization),
        member_of=member_of,
    )


def reach(caller: Caller) -> Reach:
    return reach_of(caller.grants, caller.organization_ids)


def may_see(reach: Reach, place: Placement) -> bool:
    if reach.everything or place.project in reach.projects or place.originator in reach.organizations:
        return True
    at_contract = place.contract in reach.contracts
    if not place.issued:
        return at_contract and place.originator in reach.member_of
    return at_contract or bool(reach.organizations & (place.recipients | place.parties))


# Approve code of an outcome whose step has no response code.
APPROVE_CODES: Mapping[Outcome, str] = MappingProxyType(
    {"approved": "1A", "approved_with_comments": "1N", "revise_resubmit": "3R", "rejected": "4X", "closed": "5N"}
)
APPROVED_BY_CONSULTANT = "1C"


def approve_code(meaning: Meaning, *, answered: str | None) -> str | None:
    """:param answered: response code of the last step; ignored unless an approve code"""
    if answered in {offer.code for offer in RFA_APPROVE_CODES}:
        return answered
    if meaning.outcome == "approved" and meaning.decided_by == "CONSULTANT":
        return APPROVED_BY_CONSULTANT
    return APPROVE_CODES.get(meaning.outcome) if meaning.outcome else None


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """:param type_code: selects the workflow: document type or RFA type"""

    facts: SubjectFacts
    project: ProjectRef
    type_code: str
    revision_label: str | None = None

    @property
    def public_id(self) -> UUID:
        return self.facts.public_id

    @property
    def entity_id(self) -> str:
        return self.facts.entity_id

    @property
    def number(self) -> str:
        return self.facts.number

    @property
    def subject(self) -> str:
        return self.facts.title


@dataclass(frozen=True, slots=True)
class ReachedState:
    """
    :param response_code: of the step that led there
    :param automatic: the engine took the step
    :param ended: the state is final
    :param issued: the step issued the revisions
    """

    state: str
    day: date
    response_code: str | None = None
    automatic: bool = False
    ended: bool = False
    meaning: Meaning = NOTHING
    issued: bool = False
    item_results: tuple[ItemResult, ...] = ()
