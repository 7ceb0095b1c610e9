"""
Who sees which document, told in words, and a machine that does everything that could change it.

The words stand here a second time on purpose: nothing of the product's own rule, its reach table or its statements is used. What a
register shows is compared with them after each act, for every person, whatever was done in whatever order.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from pydantic import ValidationError

from saraban.bootstrap import System, closing, wire
from saraban.config import Settings
from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.models import Circulation
from saraban.documents.core import service as core
from saraban.documents.core.models import Document, DocumentRevision
from saraban.documents.core.schemas import NewRevision
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.identity.models import Organization, Permission, Role, RolePermission, User, UserAssignment
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, NotFound
from saraban.kit.text import sort_key
from saraban.projects.models import Contract, ContractOrganization, CorrespondenceStatus, Project
from saraban.search.service.indexing import index_next
from saraban.search.service.search import Found, SearchQuestion, search
from saraban.setup import service as setup
from saraban.workflow import service as workflow
from saraban.workflow.administration.service import interventions
from tests.factories.contexts import BANGKOK, context
from tests.reach import differences

T = TypeVar("T")
START = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
REASON = "A reason that is long enough."
SHEET = "circulation"
KINDS: Mapping[str, core.AnyKind] = {
    "correspondence": CORRESPONDENCE,
    "rfa": rfas.RFA,
    "transmittal": transmittals.TRANSMITTAL,
    SHEET: circulations.CIRCULATION,
}
PORT, BRIDGE = "LCBP3-C2", "BRIDGE"
# Of each contract its project, and a contractor who may ask for approval in it; the last one has no parties.
CONTRACTS = {
    "LCBP3-C2": (PORT, "ผรม.2"),
    "LCBP3-C2-M": (PORT, "ผรม.1"),
    "BR-1": (BRIDGE, "ผรม.1"),
    "BR-2": (BRIDGE, "คคง."),
}
ORGANIZATIONS = ("กทท.", "สคฉ.3", "คคง.", "ผรม.1", "ผรม.2")
PEOPLE = tuple(f"person{number}" for number in range(7))
ROOT = "root"
# What a role lets see: documents, sheets; one that may do everything sees both.
ROLES = {
    "Reader": {"document.view"},
    "Sheets": {"circulation.view"},
    "Everything": {"system.manage_all"},
    "Neither": {"audit.view_own"},
    "Controller": {
        *("document.view", "document.edit", "document.admin_edit", "correspondence.create", "correspondence.edit"),
        *("correspondence.submit", "circulation.view", "circulation.create", "transmittal.create", "transmittal.edit"),
        *("rfa.create", "rfa.edit", "rfa.submit", "workflow.action_review"),
    },
}
BRIDGE_FILE = """\
project: {code: BRIDGE, name: สะพานข้ามแม่น้ำ}
members:
- {organization: กทท., role: OWNER}
- {organization: สคฉ.3, role: OWNER}
- {organization: คคง., role: CONSULTANT}
- {organization: ผรม.1, role: CONTRACTOR}
- {organization: ผรม.2, role: CONTRACTOR}
contracts:
- code: BR-1
  name: งานสะพาน
  parties: [{organization: กทท., role: OWNER}, {organization: ผรม.1, role: CONTRACTOR}]
  disciplines: [{code: STR, nameTh: โครงสร้าง, nameEn: Structure}]
  rfaTypes: [{code: SDW, nameTh: แบบขยาย, nameEn: Shop Drawing}]
  subTypes: [{type: TRANSMITTAL, code: GEN, number: '21', nameTh: ทั่วไป}]
- {code: BR-2, name: งานอื่น}
"""


# The words ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grant:
    """A role at one level (everywhere, project, contract, organization) in one place."""

    role: str
    level: str
    place: str = ""


@dataclass
class Person:
    home: str | None = None
    grants: frozenset[Grant] = frozenset()

    @property
    def works_for(self) -> set[str]:
        return {grant.place for grant in self.grants if grant.level == "organization"} | ({self.home} - {None})  # type: ignore[return-value]

    def holds(self, permission: str, level: str, place: str | None = "") -> bool:
        return any(
            {permission, "system.manage_all"} & ROLES[grant.role] and (grant.level, grant.place) == (level, place)
            for grant in self.grants
        )


@dataclass
class Revision:
    """As it stands: what of it a register shows, and whether it was ever issued or has been withdrawn."""

    label: str | None
    number: str
    subject: str
    issued: bool
    withdrawn: bool
    status: int
    code: str
    due: datetime | None
    dated: date | None
    author: str

    @property
    def due_day(self) -> date | None:
        return self.due.astimezone(BANGKOK).date() if isinstance(self.due, datetime) else self.due


@dataclass
class Paper:
    kind: str
    project: str
    contract: str | None
    originator: str
    recipients: set[str]
    created_at: datetime
    revisions: list[Revision] = field(default_factory=list)
    cancelled: bool = False
    ended: bool = False
    state: str = "draft"
    assignees: frozenset[str] = frozenset()
    type: str | None = None
    discipline: str | None = None


def shown(who: Person, paper: Paper, parties: Mapping[str, set[str]]) -> Revision | None:
    """Say which revision of a document somebody is shown, in the words of the requirement."""
    standing = [revision for revision in paper.revisions if not revision.withdrawn]
    if paper.kind == SHEET:
        return standing[-1] if _sees_sheet(who, paper) else None
    if _at_home(who, paper):
        return standing[-1] if standing else None
    issued = [revision for revision in standing if revision.issued]
    return issued[-1] if issued and _is_told(who, paper, parties) else None


def _sees_sheet(who: Person, paper: Paper) -> bool:
    if who.holds("system.manage_all", "everywhere"):
        return True
    if paper.originator not in who.works_for:
        return False
    return (
        who.holds("circulation.view", "organization", paper.originator)
        or who.holds("circulation.view", "everywhere")
        or who.holds("circulation.view", "project", paper.project)
    )


def _at_home(who: Person, paper: Paper) -> bool:
    """The originator's people, those who see the whole project, and who belongs to it and sees its contract: drafts too."""
    return (
        who.holds("document.view", "everywhere")
        or who.holds("document.view", "project", paper.project)
        or who.holds("document.view", "organization", paper.originator)
        or (who.holds("document.view", "contract", paper.contract) and paper.originator in who.works_for)
    )


def _is_told(who: Person, paper: Paper, parties: Mapping[str, set[str]]) -> bool:
    """The recipients' people, those of the contract's parties, and who sees the contract: what was issued."""
    concerned = paper.recipients | (parties[paper.contract] if paper.contract else set())
    return who.holds("document.view", "contract", paper.contract) or any(
        who.holds("document.view", "organization", one) for one in concerned
    )


# The product ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Template:
    """What each run of the machine begins with, beside a copy of its database."""

    papers: dict[UUID, Paper]
    now: datetime


async def prepare(db: Database) -> None:
    """Add to the demo project a second one, the roles of the words, and people without any right."""
    async with db.writing() as session:
        system = await identity.system_caller(session)
        await setup.apply(context(system, START), session, content=BRIDGE_FILE.encode())
        known = {row.permission_name: row.permission_id for row in await session.scalars(sa.select(Permission))}
        moments = {"created_at": START, "updated_at": START}
        for name, permissions in ROLES.items():
            role = Role(role_name=f"Reach {name}", scope="Global", **moments)
            session.add(role)
            await session.flush()
            session.add_all(RolePermission(role_id=role.role_id, permission_id=known[one]) for one in permissions)
        for name in (ROOT, *PEOPLE):
            session.add(User(username=name, password_hash="-", email=f"{name}@example.org", first_name=name, **moments))


class World:
    """The services of one database, the people by name, and what the tests need to write a document."""

    def __init__(self, system: System) -> None:
        self.system, self.db, self.now = system, system.db, START
        self.organizations: dict[str, Any] = {}
        self.callers: dict[str, Caller] = {}

    async def open(self) -> None:
        async with self.db.reading() as session:
            self.organizations = {row.organization_code: row for row in await session.scalars(sa.select(Organization))}
            self.projects = {row.project_code: row for row in await session.scalars(sa.select(Project))}
            self.contracts = {row.contract_code: row for row in await session.scalars(sa.select(Contract))}
            self.users = {row.username: row for row in await session.scalars(sa.select(User))}
            roles = {row.role_name: row.role_id for row in await session.scalars(sa.select(Role))}
            parties = (await session.execute(sa.select(ContractOrganization))).scalars().all()
        self.roles = {name: roles[f"Reach {name}"] for name in ROLES}
        names = {row.id: code for code, row in self.organizations.items()}
        self.parties: dict[str, set[str]] = {
            code: {names[one.organization_id] for one in parties if one.contract_id == row.id}
            for code, row in self.contracts.items()
        }
        await self.regrant(ROOT, Person(None, frozenset({Grant("Everything", "everywhere")})))
        for name in PEOPLE:
            await self.load(name)

    async def regrant(self, name: str, person: Person) -> None:
        """What a person may do is not under test: the rows are put there."""
        user = self.users[name].user_id
        places = {"organization": self.organizations, "project": self.projects, "contract": self.contracts}
        async with self.db.writing() as session:
            await session.execute(sa.delete(UserAssignment).where(UserAssignment.user_id == user))
            home = self.organizations[person.home].id if person.home else None
            await session.execute(sa.update(User).where(User.user_id == user).values(primary_organization_id=home))
            for grant in sorted(person.grants, key=repr):
                where = {f"{grant.level}_id": places[grant.level][grant.place].id} if grant.place else {}
                session.add(UserAssignment(user_id=user, role_id=self.roles[grant.role], assigned_at=START, **where))
        await self.load(name)

    async def load(self, name: str) -> None:
        async with self.db.reading() as session:
            found = await identity.find_caller(session, username=name)
        assert found is not None
        self.callers[name] = found

    async def set_party(self, contract: str, organization: str, *, is_one: bool) -> None:
        keys = {
            "contract_id": self.contracts[contract].id,
            "organization_id": self.organizations[organization].id,
        }
        table = ContractOrganization
        async with self.db.writing() as session:
            await session.execute(sa.delete(table).filter_by(**keys))
            if is_one:
                session.add(table(role_in_contract="CONTRACTOR", **keys))

    @property
    def today(self) -> date:
        return self.now.astimezone(BANGKOK).date()

    def ctx(self, name: str) -> RequestContext:
        return RequestContext(self.callers[name], self.now, BANGKOK, "test")

    # Acts

    async def create(self, by: str, kind: str, fields: Mapping[str, Any]) -> UUID:
        new = KINDS[kind].new.model_validate(fields)
        receipt = await core.create(self.ctx(by), self.system.documents, KINDS[kind], new)
        assert receipt.public_id is not None
        return receipt.public_id

    async def edit(self, by: str, kind: str, public_id: UUID, fields: Mapping[str, Any]) -> None:
        changes = KINDS[kind].changes.model_validate(fields)
        await core.edit(self.ctx(by), self.system.documents, KINDS[kind], public_id, changes)

    async def step(self, by: str, kind: str, public_id: UUID, choice: int) -> None:
        """Take one of the actions that the workflow offers."""
        found = await self.read(by, kind, public_id)
        assert found.workflow is not None
        if not found.workflow.available_actions:
            raise NotFound("There is nothing to do.")
        action = found.workflow.available_actions[choice % len(found.workflow.available_actions)]
        await self._take(by, found, action)

    async def _take(self, by: str, found: Any, action: str) -> None:
        command = workflow.Command(action, REASON, client_version_no=found.workflow.version_no)
        await self.system.transitions.take(self.ctx(by), public_id=found.workflow.instance_public_id, command=command)

    async def submit(self, by: str, kind: str, public_id: UUID) -> None:
        found = await self.read(by, kind, public_id)
        await self._take(by, found, "start" if kind == SHEET else "submit")

    async def end(self, by: str, kind: str, public_id: UUID) -> None:
        """Put it into a final state of its workflow by force."""
        found = await self.read(by, kind, public_id)
        to = {"RFI_FLOW_V1": "closed", "TRANSMITTAL_FLOW_V1": "returned", "CIRCULATION_FLOW_V1": "completed"}
        await interventions.force(
            self.ctx(by),
            self.system.transitions,
            public_id=found.workflow.instance_public_id,
            command=workflow.Command("force", REASON, client_version_no=found.workflow.version_no),
            action=None,
            to=to.get(found.workflow.workflow_code, "revision_requested"),
        )

    async def terminate(self, by: str, kind: str, public_id: UUID) -> None:
        found = await self.read(by, kind, public_id)
        command = workflow.Command("terminate", REASON, client_version_no=found.workflow.version_no)
        await interventions.terminate(
            self.ctx(by), self.system.transitions, public_id=found.workflow.instance_public_id, command=command
        )

    async def revise(self, by: str, kind: str, public_id: UUID) -> None:
        revisioned = KINDS[kind]
        if not isinstance(revisioned, core.RevisionedKind):
            raise NotFound("Sheets have no revisions.")
        order = NewRevision(subject=f"แก้ไขเมื่อ {self.now.isoformat()}")
        await core.revise(self.ctx(by), self.system.documents, revisioned, public_id, order)

    async def withdraw(self, by: str, kind: str, public_id: UUID) -> None:
        revisioned = KINDS[kind]
        if not isinstance(revisioned, core.RevisionedKind):
            raise NotFound("Sheets have no revisions.")
        await core.withdraw_revision(self.ctx(by), self.system.documents, revisioned, public_id, REASON)

    async def cancel(self, by: str, kind: str, public_id: UUID) -> None:
        await core.cancel(self.ctx(by), self.system.documents, KINDS[kind], public_id, REASON)

    async def renumber(self, by: str, kind: str, public_id: UUID) -> None:
        await core.renumber(self.ctx(by), self.system.documents, KINDS[kind], public_id, REASON)

    # What is shown

    async def read(self, by: str, kind: str, public_id: UUID) -> Any:
        async with self.db.reading() as session:
            return await core.read(self.ctx(by), session, KINDS[kind], public_id=public_id)

    async def may_open(self, by: str, kind: str, public_id: UUID) -> bool:
        try:
            async with self.db.reading() as session:
                await KINDS[kind].find(self.ctx(by), session, public_id=public_id)
        except NotFound:
            return False
        return True

    async def listed(self, by: str, kind: str, *, limit: int = 100, **asked: Any) -> list[Any]:
        """All pages of a register, one after the other."""
        cursor: str | None = None
        rows: list[Any] = []
        while True:
            search = KINDS[kind].search.model_validate({**asked, "limit": limit, "cursor": cursor})
            async with self.db.reading() as session:
                page = await KINDS[kind].page(self.ctx(by), session, search=search, counted=True)
            rows += page.items
            assert len(page.items) <= limit
            cursor = page.next_cursor
            if cursor is None:
                assert page.count == len(rows)
                return rows

    async def found(self, by: str, text: str) -> Found:
        async with self.db.reading() as session:
            return await search(self.ctx(by), session, SearchQuestion(text, limit=1_000, with_facets=True))

    async def revisions(self, kind: str, public_id: UUID) -> list[Revision]:
        """What the document's own rows say of each revision, oldest first."""
        names = {row.user_id: name for name, row in self.users.items()}
        statement = _SHEET if kind == SHEET else _REVISIONS
        async with self.db.reading() as session:
            found = (await session.execute(statement, {"document": public_id})).all()
        order = {
            code: place for place, code in enumerate(("OPEN", "IN_REVIEW", "COMPLETED", "CANCELLED", "TERMINATED"))
        }
        return [
            Revision(
                label=row.label,
                number=row.number,
                subject=row.subject,
                issued=row.issued is not None,
                withdrawn=row.withdrawn is not None,
                status=order[row.code] if kind == SHEET else row.status,
                code=row.code,
                due=row.due,
                dated=row.dated,
                author=names[row.author],
            )
            for row in found
        ]


_HEAD, _ISSUE, _FORM = Document, DocumentRevision, CorrespondenceStatus
_REVISIONS = (
    sa.select(
        _ISSUE.revision_label.label("label"),
        _ISSUE.correspondence_number.label("number"),
        _ISSUE.subject,
        _ISSUE.issued_date.label("issued"),
        _ISSUE.withdrawn_at.label("withdrawn"),
        _FORM.id.label("status"),
        _FORM.status_code.label("code"),
        _ISSUE.due_date.label("due"),
        _ISSUE.document_date.label("dated"),
        _HEAD.created_by.label("author"),
        _HEAD.cancelled_at.label("cancelled"),
    )
    .join(_HEAD, _HEAD.id == _ISSUE.correspondence_id)
    .join(_FORM, _FORM.id == _ISSUE.correspondence_status_id)
    .where(_HEAD.public_id == sa.bindparam("document"))
    .order_by(_ISSUE.revision_number)
)
_SHEET = sa.select(
    sa.null().label("label"),
    Circulation.circulation_no.label("number"),
    Circulation.circulation_subject.label("subject"),
    Circulation.submitted_at.label("issued"),
    sa.null().label("withdrawn"),
    sa.null().label("status"),
    Circulation.circulation_status_code.label("code"),
    Circulation.deadline_date.label("due"),
    sa.null().label("dated"),
    Circulation.created_by_user_id.label("author"),
    Circulation.cancelled_at.label("cancelled"),
).where(Circulation.public_id == sa.bindparam("document"))

# The filters: what is asked, and which documents that leaves.
Holds = Callable[[Paper, Revision], bool]
Filter = Callable[[World, str, str, int], tuple[dict[str, Any], Holds]]


def _all(_world: World, _name: str, _kind: str, _place: int) -> tuple[dict[str, Any], Holds]:
    return {}, lambda _paper, _revision: True


def _project(world: World, _name: str, _kind: str, place: int) -> tuple[dict[str, Any], Holds]:
    code = (PORT, BRIDGE)[place % 2]
    return {"projectPublicId": world.projects[code].public_id}, lambda paper, _revision: paper.project == code


def _status(_world: World, _name: str, kind: str, place: int) -> tuple[dict[str, Any], Holds]:
    rules = KINDS[kind].rules
    state = sorted(rules.statuses)[place % len(rules.statuses)]
    codes = {rules.statuses[state]} if kind == SHEET else rules.status_codes(state)
    return {"status": state}, lambda _paper, revision: revision.code in codes


def _mine(world: World, name: str, _kind: str, _place: int) -> tuple[dict[str, Any], Holds]:
    return {"mine": True}, lambda paper, revision: revision.author == name or name in paper.assignees


def _party(world: World, _name: str, _kind: str, place: int) -> tuple[dict[str, Any], Holds]:
    code = ORGANIZATIONS[place % len(ORGANIZATIONS)]
    asked = {"party": world.organizations[code].public_id}
    return asked, lambda paper, _revision: code == paper.originator or code in paper.recipients


def _person(world: World, _name: str, _kind: str, place: int) -> tuple[dict[str, Any], Holds]:
    name = (ROOT, *PEOPLE)[place % (1 + len(PEOPLE))]
    asked = {"person": world.users[name].public_id}
    return asked, lambda paper, revision: revision.author == name or name in paper.assignees


def _due(world: World, _name: str, _kind: str, place: int) -> tuple[dict[str, Any], Holds]:
    first = world.today + timedelta(days=place % 5)
    last = first + timedelta(days=place % 3)
    asked = {"dueFrom": first, "dueUntil": last}
    return asked, lambda _paper, revision: revision.due_day is not None and first <= revision.due_day <= last


def _overdue(world: World, _name: str, kind: str, _place: int) -> tuple[dict[str, Any], Holds]:
    over = {"COMPLETED", "CANCELLED", "TERMINATED"} if kind == SHEET else KINDS[kind].rules.finished_codes
    today = world.today
    return {
        "overdue": True
    }, lambda _paper, revision: revision.due_day is not None and revision.due_day < today and revision.code not in over


def _registered(world: World, _name: str, _kind: str, place: int) -> tuple[dict[str, Any], Holds]:
    first = START.astimezone(BANGKOK).date() + timedelta(days=place % 4)
    last = first + timedelta(days=place % 3)
    asked = {"from": first, "until": last}
    return asked, lambda paper, _revision: first <= paper.created_at.astimezone(BANGKOK).date() <= last


FILTERS: dict[str, Filter] = {
    "all": _all,
    "due": _due,
    "mine": _mine,
    "overdue": _overdue,
    "party": _party,
    "person": _person,
    "project": _project,
    "registered": _registered,
    "status": _status,
}
# What a register is sorted by; what has no day stands last.
LAST = date(9999, 12, 31)
SORTS: dict[str, Callable[[Paper, Revision], Any]] = {
    "created": lambda paper, _revision: paper.created_at,
    "number": lambda _paper, revision: sort_key(revision.number),
    "date": lambda paper, revision: (revision.dated or LAST) if paper.kind != SHEET else paper.created_at,
    "due": lambda _paper, revision: revision.due_day or LAST,
    "status": lambda _paper, revision: revision.status,
}

# The machine ----------------------------------------------------------------------------------------------------------

somebody = st.sampled_from(PEOPLE)
organizations = st.sampled_from(ORGANIZATIONS)
which = st.integers(0, 1000)
grants = st.one_of(
    st.builds(Grant, st.sampled_from(sorted(ROLES)), st.just("organization"), organizations),
    st.builds(Grant, st.sampled_from(sorted(ROLES)), st.just("contract"), st.sampled_from(sorted(CONTRACTS))),
    st.builds(Grant, st.sampled_from(sorted(ROLES)), st.just("project"), st.sampled_from([PORT, BRIDGE])),
    st.builds(Grant, st.sampled_from(sorted(ROLES)), st.just("everywhere")),
)
# What a document has behind it when it is first looked at.
LIVES = (
    (),
    ("submit",),
    ("submit", "step"),
    ("submit", "end"),
    ("submit", "end", "revise"),
    ("submit", "end", "revise", "submit"),
    ("submit", "end", "revise", "withdraw"),
    ("submit", "end", "revise", "withdraw", "revise"),
    ("terminate",),
    ("terminate", "revise"),
    ("cancel",),
    ("submit", "cancel"),
)
ACTS = ("submit", "step", "end", "terminate", "revise", "withdraw", "cancel", "renumber")


def first_people() -> dict[str, Person]:
    """Every shape of grant, the awkward ones first; each may change later."""
    shapes = [
        Person("คคง.", frozenset({Grant("Reader", "contract", "LCBP3-C2"), Grant("Neither", "organization", "ผรม.2")})),
        Person(
            "ผรม.2",
            frozenset({Grant("Controller", "organization", "ผรม.2"), Grant("Controller", "organization", "ผรม.1")}),
        ),
        Person("กทท.", frozenset({Grant("Reader", "organization", "กทท.")})),
        Person("คคง.", frozenset({Grant("Controller", "organization", "คคง."), Grant("Sheets", "project", PORT)})),
        Person("สคฉ.3", frozenset({Grant("Controller", "project", BRIDGE)})),
        Person(None, frozenset({Grant("Everything", "organization", "ผรม.1"), Grant("Sheets", "everywhere")})),
        Person("กทท."),
    ]
    return dict(zip(PEOPLE, shapes, strict=True))


class Desk:
    """The product on one side, the words on the other; each act is done to both."""

    def __init__(self, world: World, papers: dict[UUID, Paper]) -> None:
        self.world, self.papers, self.people = world, papers, first_people()

    # What is compared

    def expected(self, name: str, kind: str) -> dict[UUID, Revision]:
        seen = {
            public_id: shown(self.people[name], paper, self.world.parties)
            for public_id, paper in self.papers.items()
            if paper.kind == kind
        }
        return {public_id: revision for public_id, revision in seen.items() if revision is not None}

    async def look_at_all(self, names: Iterable[str], kinds: Iterable[str]) -> None:
        for name in names:
            for kind in kinds:
                self.compare(name, kind, await self.world.listed(name, kind), self.expected(name, kind))

    async def search_all(self, names: Iterable[str]) -> None:
        """Have everybody search for what every subject says: they find what they are shown, and no facet tells of more."""
        while await index_next(self.world.db):
            pass
        for name in names:
            found = await self.world.found(name, "เมื่อ")
            told = {
                (one.kind.name.lower(), one.public_id, one.number, "".join(piece.text for piece in one.subject))
                for one in found.items
            }
            words = {
                (kind, public_id, revision.number, revision.subject)
                for kind in KINDS
                for public_id, revision in self.expected(name, kind).items()
            }
            assert told == words, f"{name} finds {told - words} too much and {words - told} too little"
            assert found.count == len(words)
            assert found.facets is not None
            assert sum(one.count for one in found.facets.kind) == len(words)

    def compare(self, name: str, kind: str, rows: Sequence[Any], wanted: Mapping[UUID, Revision]) -> None:
        told = [
            (row.public_id, row.number, row.revision_label, row.subject, row.cancelled_at is not None) for row in rows
        ]
        words = {
            (public_id, revision.number, revision.label, revision.subject, self.papers[public_id].cancelled)
            for public_id, revision in wanted.items()
        }
        assert len(told) == len(set(told)), f"{name} is shown a {kind} twice"
        assert set(told) == words, (
            f"{name} sees of {kind} {set(told) - words} too much and {words - set(told)} too little"
        )

    async def _observe(self, public_id: UUID) -> list[Revision]:
        return await self.world.revisions(self.papers[public_id].kind, public_id)

    # Acts

    async def act(self, by: str, act: str, public_id: UUID, *more: Any) -> bool:
        """Do it to the product and to the words; what is refused must have changed nothing."""
        paper = self.papers[public_id]
        before = paper.revisions
        try:
            await getattr(self.world, act)(by, paper.kind, public_id, *more)
        except DomainError:
            assert await self._observe(public_id) == before, f"{act} was refused, and changed something"
            return False
        paper.revisions = await self._observe(public_id)
        assert await differences(self.world.db) == [], f"{act} left the index of reach behind"
        if paper.kind != SHEET:
            self._check_life(act, paper, before)
        if act == "cancel":
            paper.cancelled = True
        return True

    def _check_life(self, act: str, paper: Paper, before: Sequence[Revision]) -> None:
        """Whether a revision counts as issued or withdrawn follows from what was done, not from a column."""
        issued = [revision.issued for revision in before]
        withdrawn = [revision.withdrawn for revision in before]
        newest = max((place for place, gone in enumerate(withdrawn) if not gone), default=0)
        if act in {"submit", "step", "end"}:
            issued[newest] = True
        if act == "withdraw":
            withdrawn[newest] = True
        if act == "revise":
            issued, withdrawn = [*issued, False], [*withdrawn, False]
        assert [revision.issued for revision in paper.revisions] == issued, act
        assert [revision.withdrawn for revision in paper.revisions] == withdrawn, act

    def _fields(self, paper: Paper, to: Sequence[str], due: int | None) -> dict[str, Any]:
        world, day = self.world, self.world.now.astimezone(BANGKOK).date()
        due_on = None if due is None else day + timedelta(days=due)
        project = world.projects[paper.project].public_id
        if paper.kind == SHEET:
            colleagues = [name for name in PEOPLE if _may_be_asked(self.people[name], paper)]
            paper.assignees = frozenset(colleagues)
            return {
                "projectPublicId": project,
                "organizationPublicId": world.organizations[paper.originator].public_id,
                "subject": f"เวียนเมื่อ {world.now.isoformat()}",
                "deadlineDate": due_on,
                "assignees": [{"userPublicId": world.callers[name].public_id, "kind": "MAIN"} for name in colleagues],
            }
        kinds = ("TO", "CC", "CC")
        fields: dict[str, Any] = {
            "projectPublicId": project,
            "originatorOrganizationPublicId": world.organizations[paper.originator].public_id,
            "recipients": [
                {"organizationPublicId": world.organizations[code].public_id, "recipientType": kind}
                for code, kind in zip(to, kinds, strict=False)
            ],
            "subject": f"เรื่องเมื่อ {world.now.isoformat()}",
            "documentDate": day - timedelta(days=len(self.papers) % 3),
            "dueDate": due_on,
            "contractPublicId": world.contracts[paper.contract].public_id if paper.contract else None,
        }
        if paper.kind == "rfa":
            return fields | {"rfaTypeCode": "SDW", "disciplineCode": "STR"}
        if paper.kind == "transmittal":
            return fields | {"subTypeCode": "GEN", "items": [{"documentPublicId": self._item(paper)}]}
        return fields | {"correspondenceTypeCode": ("LETTER", "RFI", "MEMO")[len(self.papers) % 3]}

    def _item(self, paper: Paper) -> UUID:
        """Something issued that can be sent with a transmittal; of nothing there is none."""
        fitting = (
            public_id
            for public_id, one in self.papers.items()
            if one.kind == "correspondence" and one.project == paper.project and not one.cancelled
            if one.originator == paper.originator and any(revision.issued for revision in one.revisions)
        )
        return next(fitting, UUID(int=0))

    async def create(self, by: str, paper: Paper, to: Sequence[str], due: int | None) -> UUID | None:
        try:
            public_id = await self.world.create(by, paper.kind, self._fields(paper, to, due))
        except (DomainError, ValidationError):
            return None
        self.papers[public_id] = paper
        paper.revisions = await self._observe(public_id)
        assert await differences(self.world.db) == [], "create left the index of reach behind"
        return public_id

    async def live(self, paper: Paper, to: Sequence[str], due: int | None, life: Iterable[str], by: str = ROOT) -> None:
        """Write a document, and let happen to it what is to have happened."""
        public_id = await self.create(by, paper, to, due)
        if public_id is not None:
            for act in life:
                await self.act(ROOT, act, public_id, *([len(self.papers)] if act == "step" else []))

    async def edit(self, public_id: UUID, people: Sequence[str], copies: int, due: int | None) -> None:
        paper = self.papers[public_id]
        day = self.world.now.astimezone(BANGKOK).date()
        due_on = None if due is None else day + timedelta(days=due)
        if paper.kind == SHEET:
            await self.act(ROOT, "edit", public_id, {"deadlineDate": due_on})
            return
        found = await self.world.read(ROOT, paper.kind, public_id)
        first = found.data.recipients[0].organization_code
        codes = [one for one in people if one not in {paper.originator, first}][:copies]
        recipients = [
            {"organizationPublicId": self.world.organizations[code].public_id, "recipientType": kind}
            for code, kind in [(first, "TO"), *((code, "CC") for code in codes)]
        ]
        fields = {"dueDate": due_on, "documentDate": day, "recipients": recipients}
        if await self.act(ROOT, "edit", public_id, fields):
            paper.recipients = {first, *codes}

    async def write_the_first(self) -> None:
        """Write documents of every kind and life, so that what is hard to see is there at once."""
        for place, life in enumerate(LIVES):
            contract = sorted(CONTRACTS)[place % len(CONTRACTS)]
            project, contractor = CONTRACTS[contract]
            to = [one for one in ORGANIZATIONS[place % 3 :] if one != contractor][: 1 + place % 2]
            await self.live(
                Paper("correspondence", project, contract if place % 3 else None, contractor, set(to), self.world.now),
                to,
                place % 4 or None,
                life,
            )
            self.world.now += timedelta(minutes=place % 2)
        for place, life in enumerate(LIVES[2:7]):
            contract = ("LCBP3-C2", "LCBP3-C2-M", "BR-1")[place % 3]
            project, contractor = CONTRACTS[contract]
            to = ["กทท.", "ผรม.2"] if contractor != "ผรม.2" else ["กทท.", "ผรม.1"]
            for kind in ("rfa", "transmittal"):
                await self.live(Paper(kind, project, contract, contractor, set(to), self.world.now), to, 7, life)
        for place, life in enumerate(((), ("submit",), ("submit", "end"), ("cancel",))):
            project, organization = (PORT, BRIDGE)[place % 2], ("คคง.", "ผรม.2")[place // 2]
            await self.live(Paper(SHEET, project, None, organization, set(), self.world.now), [], 3, life)
        for place, public_id in enumerate(list(self.papers)):
            if place % 3 == 0 or self.papers[public_id].kind == SHEET:
                await self.edit(public_id, ORGANIZATIONS, 2, 5)
            if place % 4 == 0 or self.papers[public_id].kind == SHEET:
                await self.act(ROOT, "renumber", public_id)


async def stage(settings: Settings) -> Template:
    """Fill a database that has the demo project."""
    async with closing(wire(settings)) as system:
        await prepare(system.db)
        world = World(system)
        await world.open()
        for name, person in first_people().items():
            await world.regrant(name, person)
        desk = Desk(world, {})
        await desk.write_the_first()
        await desk.look_at_all(PEOPLE, KINDS)
        return Template(desk.papers, world.now)


class Reach(RuleBasedStateMachine):
    """Everything people do to documents, contracts and rights, in any order."""

    make: Callable[[], tuple[Settings, "Template", Callable[[], None]]]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        settings, template, self.forget = type(self).make()
        self.stack = AsyncExitStack()
        self.desk = self.do(self._open(settings, template))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _open(self, settings: Settings, template: "Template") -> Desk:
        world = World(await self.stack.enter_async_context(closing(wire(settings))))
        await world.open()
        world.now = template.now
        return Desk(world, deepcopy(template.papers))

    def teardown(self) -> None:
        try:
            self.do(self.desk.look_at_all(PEOPLE, KINDS))
            self.do(self.desk.search_all(PEOPLE))
        finally:
            self.do(self.stack.aclose())
            self.runner.close()
            self.forget()

    @property
    def papers(self) -> dict[UUID, Paper]:
        return self.desk.papers

    def _some(self, place: int) -> UUID:
        return list(self.papers)[place % len(self.papers)]

    @rule(
        by=st.sampled_from([ROOT, ROOT, *PEOPLE]),
        kind=st.sampled_from([*KINDS, "rfa", "correspondence"]),
        place=st.sampled_from([*sorted(CONTRACTS), *sorted(CONTRACTS), PORT, BRIDGE]),
        people=st.permutations(ORGANIZATIONS),
        copies=st.integers(0, 2),
        due=st.sampled_from([None, 0, 1, 7]),
        life=st.sampled_from(LIVES),
        later=st.booleans(),
    )
    def write(
        self,
        by: str,
        kind: str,
        place: str,
        people: list[str],
        copies: int,
        due: int | None,
        life: tuple[str, ...],
        *,
        later: bool,
    ) -> None:
        """Perhaps in the same microsecond as the one before."""
        if later:
            self.desk.world.now += timedelta(minutes=1)
        project, contractor = CONTRACTS.get(place, (place, people[0]))
        contract = place if place in CONTRACTS and kind != SHEET else None
        originator = contractor if kind == "rfa" else people[0]
        to = [one for one in people if one != originator][: 1 + copies]
        paper = Paper(kind, project, contract, originator, set(to) if kind != SHEET else set(), self.desk.world.now)

        self.do(self.desk.live(paper, to, due, life, by))
        self.do(self.desk.look_at_all(PEOPLE, [kind]))

    @rule(by=st.sampled_from([ROOT, ROOT, *PEOPLE]), act=st.sampled_from(ACTS), place=which, choice=which)
    def act(self, by: str, act: str, place: int, choice: int) -> None:
        public_id = self._some(place)

        async def run() -> None:
            await self.desk.act(by, act, public_id, *([choice] if act == "step" else []))
            await self.desk.look_at_all(PEOPLE, [self.papers[public_id].kind])

        self.do(run())

    @rule(
        place=which, people=st.permutations(ORGANIZATIONS), copies=st.integers(0, 2), due=st.sampled_from([None, 0, 3])
    )
    def edit(self, place: int, people: list[str], copies: int, due: int | None) -> None:
        """Other copies, another due date; the first recipient stands in the number and stays."""
        public_id = self._some(place)
        self.do(self.desk.edit(public_id, people, copies, due))
        self.do(self.desk.look_at_all(PEOPLE, [self.papers[public_id].kind]))

    @rule(contract=st.sampled_from(sorted(CONTRACTS)), organization=organizations)
    def let_a_party_in_or_out(self, contract: str, organization: str) -> None:
        parties = self.desk.world.parties[contract]
        parties.symmetric_difference_update({organization})
        self.do(self.desk.world.set_party(contract, organization, is_one=organization in parties))
        self.do(self.desk.look_at_all(PEOPLE, KINDS))

    @rule(name=somebody, home=st.sampled_from([None, *ORGANIZATIONS]), given=st.frozensets(grants, max_size=3))
    def give_other_rights(self, name: str, home: str | None, given: frozenset[Grant]) -> None:
        self.desk.people[name] = Person(home, given)
        self.do(self.desk.world.regrant(name, self.desk.people[name]))
        self.do(self.desk.look_at_all([name], KINDS))

    @rule(days=st.integers(1, 9))
    def wait(self, days: int) -> None:
        self.desk.world.now += timedelta(days=days)

    @rule(
        name=somebody,
        kind=st.sampled_from(sorted(KINDS)),
        limit=st.integers(1, 3),
        asked=st.lists(st.tuples(st.sampled_from(sorted(FILTERS)), which), min_size=1, max_size=2),
        sort=st.sampled_from([f"{sign}{name}" for name in SORTS for sign in ("", "-")]),
    )
    def look(self, name: str, kind: str, limit: int, asked: list[tuple[str, int]], sort: str) -> None:
        """One register through one or two filters, in small pages, in any order."""
        words: dict[str, Any] = {}
        wanted = self.desk.expected(name, kind)
        for one, place in dict(asked).items():
            more, holds = FILTERS[one](self.desk.world, name, kind, place)
            words |= more
            wanted = {key: revision for key, revision in wanted.items() if holds(self.papers[key], revision)}
        rows = self.do(self.desk.world.listed(name, kind, limit=limit, sort=sort, **words))
        self.desk.compare(name, kind, rows, wanted)
        by = SORTS[sort.removeprefix("-")]
        order = [
            (by(self.papers[row.public_id], wanted[row.public_id]), self.papers[row.public_id].created_at)
            for row in rows
        ]
        assert order == sorted(order, reverse=sort.startswith("-")), sort

    @rule(place=which)
    def open_one(self, place: int) -> None:
        """A document opens for those who find it in the register, and for nobody else."""
        public_id = self._some(place)
        kind = self.papers[public_id].kind
        for name in PEOPLE:
            opens = self.do(self.desk.world.may_open(name, kind, public_id))
            assert opens == (public_id in self.desk.expected(name, kind)), name


def _may_be_asked(person: Person, paper: Paper) -> bool:
    return person.home == paper.originator and _sees_sheet(person, paper)
