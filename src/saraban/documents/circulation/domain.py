"""
Circulations: states, parts, permissions and readers, without a database.

`documents.circulation.repository` expresses `may_see` in SQL, and a test compares the two.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from saraban.documents.core.domain import KindRules, ReaderKind, RegisterCode
from saraban.documents.core.domain.registers import Places, ReaderKey
from saraban.identity.domain.context import EVERYTHING, Caller, Grant, Scope, allows
from saraban.workflow.language.outcome import Outcome

KIND = "circulation"
ENTITY_TYPE = "circulation"
TYPE_CODE = "CIRCULATION"

CREATE = "circulation.create"
CLOSE = "circulation.close"
RESPOND = "circulation.respond"
ACKNOWLEDGE = "circulation.acknowledge"

DRAFT, ROUTING, COMPLETED, CANCELLED = "draft", "routing", "completed", "cancelled"
TERMINATED = "terminated"
STATUSES = {
    DRAFT: "OPEN",
    ROUTING: "IN_REVIEW",
    COMPLETED: "COMPLETED",
    CANCELLED: "CANCELLED",
    TERMINATED: "TERMINATED",
}
# Codes of the statuses in `document_reach`.
STATUS_PLACES = {code: place for place, code in enumerate(STATUSES.values(), start=1)}

CIRCULATION_RULES = KindRules(
    name=KIND,
    register=RegisterCode.CIRCULATION,
    path="circulations",
    entity_type=ENTITY_TYPE,
    type_codes=frozenset({TYPE_CODE}),
    statuses=STATUSES,
    create=CREATE,
    edit=CREATE,
    finished=frozenset({COMPLETED, CANCELLED, TERMINATED}),
)

# Statuses in which open parts need no answer any more.
WITHOUT_ANSWERS = frozenset({STATUSES[CANCELLED], STATUSES[TERMINATED]})


def status_code(state: str, *, ended: bool, outcome: Outcome | None = None) -> str:
    usual = (CANCELLED if outcome == "withdrawn" else COMPLETED) if ended else ROUTING
    return STATUSES.get(state, STATUSES[usual])


class RoutingKind(StrEnum):
    MAIN = "MAIN"
    ACTION = "ACTION"
    INFORMATION = "INFORMATION"


class RoutingStatus(StrEnum):
    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    REJECTED = "REJECTED"


MUST_ANSWER = frozenset({RoutingKind.MAIN, RoutingKind.ACTION})
WAITING = frozenset({RoutingStatus.PENDING, RoutingStatus.IN_PROGRESS})


def is_open(status: str) -> bool:
    return status in WAITING


def still_to_answer(parts: Iterable[tuple[str, str]]) -> int:
    """Count the MAIN and ACTION parts without an answer."""
    return sum(1 for kind, status in parts if kind in MUST_ANSWER and is_open(status))


def rights_to_answer(kind: str) -> tuple[str, ...]:
    """Return the permissions of which one is needed."""
    return (RESPOND,) if kind in MUST_ANSWER else (ACKNOWLEDGE, RESPOND)


VIEW = "circulation.view"


@dataclass(frozen=True, slots=True)
class CirculationReach:
    everything: bool
    organizations: frozenset[int]
    projects: frozenset[int]
    member_of: frozenset[int]


def reach_of(grants: Iterable[Grant], member_of: frozenset[int]) -> CirculationReach:
    useful = [grant for grant in grants if grant.gives(VIEW)]
    organizations = frozenset(key for key in member_of if allows(useful, VIEW, Scope(frozenset({key}))))
    projects = frozenset(grant.project for grant in useful if grant.project and not grant.organization)
    return CirculationReach(allows(useful, EVERYTHING, Scope()), organizations, projects, member_of)


def reach(caller: Caller) -> CirculationReach:
    return reach_of(caller.grants, caller.organization_ids)


def may_see(reach: CirculationReach, *, organization: int, project: int) -> bool:
    in_project = organization in reach.member_of and project in reach.projects
    return reach.everything or organization in reach.organizations or in_project


def keys_of(reach: CirculationReach, places: Places) -> list[ReaderKey]:
    """Return the keys of `document_reach`; each gives only what `may_see` allows."""
    keys = []
    for project in sorted(places.projects):
        if reach.everything:
            keys.append(ReaderKey(project, ReaderKind.PROJECT))
        else:
            organizations = reach.organizations | (reach.member_of if project in reach.projects else frozenset())
            keys += [ReaderKey(project, ReaderKind.ORGANIZATION, key) for key in sorted(organizations)]
    return keys
