"""
What a document is, decided without a database: its register and statuses, its dates and parties, who may see it, and what an
edit changed.

One `KindRules` per subtype, as data: `core` works from it and never asks which subtype it has in hand.
"""

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
_UNSPOKEN: Final = re.compile(r"^(?:เลข)?ที่\.?(?=[ก-ฮ]*[\s\d./-])|\s|(?<=[^\W\d_])\.")
CANCELLED = "cancelled"
TERMINATED = "terminated"  # its workflow was ended without an outcome

UNDER_WAY, CLOSED = "IN_REVIEW", "CLOSED"
_ROLE_SUFFIX = {"OWNER": "OWN", "DESIGNER": "DSN", "CONSULTANT": "CSC", "CONTRACTOR": "CON"}


# What an end shows by what it means; `*` stands for the role that decided.
ENDINGS: Mapping[str, str] = {
    "approved": "CLB*",
    "approved_with_comments": "CLB*",
    "revise_resubmit": "REP*",
    "rejected": "REJECTED",
    "withdrawn": "CANCELLED",
}


def counts_as_issued(state: str, outcome: Outcome | None = None) -> bool:
    """Whether a revision that comes to a workflow state has been issued, if it was not before."""
    return state not in {DRAFT, CANCELLED, TERMINATED} and outcome != "withdrawn"


class RegisterCode(IntEnum):
    """The registers as rows of `document_reach` name them; a value is never given to another one."""

    CORRESPONDENCE = 1
    RFA = 2
    TRANSMITTAL = 3
    CIRCULATION = 4


class ReaderKind(IntEnum):
    """Through what a row of `document_reach` lets a document be seen; nobody sees one by being a certain person."""

    PROJECT = 1
    CONTRACT = 2
    ORGANIZATION = 3


# What stands in `document_reach` for no day, so that it comes last in the order of days.
NO_DATE = date(9999, 12, 31)
NO_DUE = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class KindRules:
    """
    :param name: the word in audit actions, events and the number's holder: `rfa`
    :param path: the collection under `/api/v1`
    :param type_codes: correspondence types that are kept in this register
    :param statuses: workflow state to correspondence status code; `*` stands for a role, see `status_code`
    :param finished: states in which nobody is waited for, so that nothing can be overdue
    :param answered: states that go on although what was due by the due date is there, so that nothing is overdue either
    :param deciders: the role that decides in a workflow state, where it is not the recipient's and the step names none
    :param sent: what is shown of a document that waits for organizations of one role
    :param closes: what is shown of one that is over without a verdict
    :param carries_items: the steps of its workflow may answer each of its items
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
        Return the code of `correspondence_status` that a workflow state shows.

        What the definition says of the state counts; its name where that says nothing. One of which neither says anything
        shows that it is under way, or closed.

        :param left: the state it was reached from
        :param meaning: what the definition says; where it names no role that decided, that is the one of the state left, or
            the recipient's
        """
        role = self.deciders.get(left or "", recipient_role)
        outcome = meaning.outcome or (None if state in self.statuses else BY_NAME.get(state))
        if ended and outcome is not None:
            return _of(ENDINGS.get(outcome, self.closes), meaning.decided_by or role)
        if meaning.asks is not None and not ended:
            return _of(self.sent, recipient_role if meaning.asks == "recipient" else meaning.asks)
        if state not in self.statuses:
            return CLOSED if ended else UNDER_WAY
        return _of(self.statuses[state], role)

    def status_codes(self, state: str) -> frozenset[str]:
        """Return every code that the state may show, whoever the recipient is."""
        outcome = BY_NAME.get(state) if state in self.finished else None
        ending = _every(ENDINGS.get(outcome, self.closes)) if outcome is not None else frozenset()
        return _every(self.statuses[state]) | ending

    @property
    def finished_codes(self) -> frozenset[str]:
        """The status codes of what can be overdue no more; none of them is shown by a state that can."""
        shown = {ENDINGS.get(outcome, self.closes) for outcome in OUTCOMES}
        return frozenset({CLOSED}).union(
            *(_every(pattern) for pattern in shown),
            *(self.status_codes(state) for state in self.finished | self.answered),
        )


def _of(pattern: str, role: str | None) -> str:
    return pattern.replace("*", _ROLE_SUFFIX.get(role or "", "OTH"))


def _every(pattern: str) -> frozenset[str]:
    return frozenset(pattern.replace("*", suffix) for suffix in (*_ROLE_SUFFIX.values(), "OTH"))


def is_overdue(due: date | None, *, today: date, closed: bool) -> bool:
    return due is not None and not closed and today > due


def earliest_due(document_date: date | None, *, today: date, incoming: bool, sent: date | None) -> date | None:
    """Return the first acceptable due date: of an incoming document the day it was sent, else its own date or today, the later one."""
    return sent if incoming else max(document_date or today, today)


def sender_number_key(number: str | None) -> str | None:
    """Return the normal form of a number in digits 0 to 9, without blanks, dots behind letters, and ที่ before it."""
    return _UNSPOKEN.sub("", ascii_digits(normal_form(number or "")))[:255] or None


AHEAD = timedelta(days=366)  # a document may be dated ahead, but no typing error of a year is a date

Fault = Literal["too_late", "before_sender"]


def date_faults(*, document: date | None, sent: date | None, received: date | None, today: date) -> dict[str, Fault]:
    """Give what is wrong with the dates of a document, by the field."""
    found: dict[str, Fault] = {}
    if document is not None and document > today + AHEAD:
        found["documentDate"] = "too_late"
    if sent is not None and sent > today:
        found["senderDate"] = "too_late"
    if received is not None and received > today:
        found["receivedDate"] = "too_late"
    elif received is not None and sent is not None and received < sent:
        found["receivedDate"] = "before_sender"
    return found


def day_of(moment: datetime | None, zone: ZoneInfo) -> date | None:
    return None if moment is None else local_date(moment, zone)


def start_of_day(day: date | None, zone: ZoneInfo) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), zone)


def end_of_day(day: date | None, zone: ZoneInfo) -> datetime | None:
    """Return the last second on which something due on `day` is in time (EC-CIRC-003)."""
    return None if day is None else datetime.combine(day, time(23, 59, 59), zone)


# These stand above the single contracts of a project: what they write may concern any of them.
ABOVE = ("OWNER", "CONSULTANT")


def may_write_in(
    organization: int, *, of_contract: Mapping[str, frozenset[int]], of_project: Mapping[str, frozenset[int]]
) -> bool:
    """Return whether an organization writes in a contract: all its parties see that, so it is not for strangers to it."""
    if any(organization in members for members in of_contract.values()):
        return True
    return any(organization in of_project.get(role, frozenset()) for role in ABOVE)


@dataclass(frozen=True, slots=True)
class Correspondents:
    originator: int
    recipients: Collection[int]


def is_reply(reply: Correspondents, original: Correspondents) -> bool:
    """Say whether a document that refers to another one is the answer to it, by who wrote to whom."""
    return reply.originator in original.recipients and original.originator in reply.recipients


# Who may see a document: `may_see` is the rule in plain words, `documents.core.repository` says the same in SQL, and a test
# holds the two against each other. What was never issued belongs to the originator's people and to those who hold the right
# over the whole project. What was issued is also open to its recipients, to the parties of its contract and to holders of the
# right at the contract.
VIEW = "document.view"


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a caller holds the right to view; `member_of` are the organizations the caller belongs to."""

    everything: bool
    projects: frozenset[int]
    contracts: frozenset[int]
    organizations: frozenset[int]
    member_of: frozenset[int]


@dataclass(frozen=True, slots=True)
class Placement:
    """What decides about one revision of a document; `parties` are those of its contract, empty without one."""

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


# The approve code that a final answer stands for, where none was answered.
APPROVE_CODES: Mapping[Outcome, str] = MappingProxyType(
    {"approved": "1A", "approved_with_comments": "1N", "revise_resubmit": "3R", "rejected": "4X", "closed": "5N"}
)
APPROVED_BY_CONSULTANT = "1C"


def approve_code(meaning: Meaning, *, answered: str | None) -> str | None:
    """
    Return the approve code that an end leaves on what was asked approval for; None for an end that says nothing of it.

    :param answered: the response code of the last step; one that is no approve code says nothing
    """
    if answered in {offer.code for offer in RFA_APPROVE_CODES}:
        return answered
    if meaning.outcome == "approved" and meaning.decided_by == "CONSULTANT":
        return APPROVED_BY_CONSULTANT
    return APPROVE_CODES.get(meaning.outcome) if meaning.outcome else None


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """
    A new document or revision as its workflow, its event and its audit row are told of it; it is not read back for them.

    :param type_code: by what documents of its kind differ in the workflow they start on: the document type, or the RFA's
    """

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
    A workflow state that revisions have come to, and how.

    :param response_code: what was answered with the step that led there
    :param automatic: the engine took that step, which says nothing of its own
    :param ended: it is final
    :param issued: they left their draft with this step, for the first time
    :param meaning: what the definition says of it
    :param item_results: what was answered with the step to single items
    """

    state: str
    day: date
    response_code: str | None = None
    automatic: bool = False
    ended: bool = False
    meaning: Meaning = NOTHING
    issued: bool = False
    item_results: tuple[ItemResult, ...] = ()
