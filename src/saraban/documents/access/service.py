"""
Why somebody may, or may not, do something with a document: what the real guards say of them, with the reason.

Sight, edits, permissions and the actions of the workflow are each asked where they are decided; nothing is decided here.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.access.domain import AccessQuestion, counts_for_a_member, counts_in_a_contract
from saraban.documents.circulation.domain import ACKNOWLEDGE, RESPOND
from saraban.documents.circulation.domain import VIEW as VIEW_CIRCULATION
from saraban.documents.circulation.service import CIRCULATION
from saraban.documents.core import service as core
from saraban.documents.core.domain import VIEW
from saraban.documents.core.schemas import RegisterQuery
from saraban.documents.core.service.drafts import ADMIN_EDIT, home_scope, require_withdraw
from saraban.documents.core.service.kind import AnyKind
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.drawing.domain import KINDS as DRAWING_KINDS
from saraban.documents.drawing.service.registers import find as find_drawing
from saraban.documents.rfa.service import RFA
from saraban.documents.transmittal.service import TRANSMITTAL
from saraban.identity.domain.access import Guard, Reason, enough
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.schemas import PersonRef
from saraban.identity.service.access import (
    Explanation,
    Subject,
    explain_guard,
    explain_permission,
    load_subject,
    place_scope,
)
from saraban.kit.errors import Forbidden, NotFound, Text
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.workflow.engine import decisions
from saraban.workflow.engine.decisions import Obstacle
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import ANSWER
from saraban.workflow.language.subject import InstanceStatus, SubjectFacts
from saraban.workflow.runtime.domain import delegation, interventions
from saraban.workflow.runtime.service import assignees, branches
from saraban.workflow.runtime.service.subjects import InstanceState

KINDS: Final[tuple[AnyKind, ...]] = (CORRESPONDENCE, RFA, TRANSMITTAL, CIRCULATION)
WRITES: Final = {"drawing.create", *(one for kind in KINDS for one in (kind.rules.create, kind.rules.edit))}
SEE, EDIT = "view", "edit"
OWN_ACTIONS: Final[dict[str, Text]] = {
    SEE: Text("เปิดดูเอกสาร", "Open the document"),
    EDIT: Text("แก้ไขฉบับร่าง", "Change the draft"),
}
REVIEW: Final = Text("ตอบการพิจารณา", "Answer the review")
# A state that a document comes to once it is issued: whoever would see it then is kept out by its being a draft alone.
_ISSUED = "issued"
_OF_OBSTACLE: Final = {
    Obstacle.NO_ACTION: Reason.NO_ACTION,
    Obstacle.ASSIGNED: Reason.ASSIGNED,
    Obstacle.SUBMITTER: Reason.SUBMITTER,
    Obstacle.NAMED: Reason.NAMED,
    Obstacle.ROLE: Reason.ROLE,
    Obstacle.SEAT: Reason.SEAT,
    Obstacle.CONDITION: Reason.CONDITION,
    Obstacle.NOT_EDITABLE: Reason.NOT_EDITABLE,
}
_ROLES_DECIDE = frozenset({Reason.UPCOMING, Reason.ENDED, Reason.ROLE_CLOSED})


@dataclass(frozen=True, slots=True)
class Answer:
    """:param document: the number of the one that it is about"""

    subject: Subject
    explanation: Explanation
    document: str | None = None


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """Something that can be asked about one document; `now` where its workflow offers it to somebody at present."""

    code: str
    says: Text
    now: bool


@dataclass(frozen=True, slots=True)
class _Standing:
    """A document as its asker sees it, and where the workflow of that revision stands for the one whom it is about."""

    ctx: RequestContext
    kind: AnyKind
    row: Any
    facts: SubjectFacts
    one: InstanceState | None

    @property
    def state(self) -> str:
        return self.one.row.current_state if self.one else _ISSUED

    @property
    def view(self) -> str:
        return VIEW_CIRCULATION if self.kind is CIRCULATION else VIEW

    def runs(self) -> bool:
        return self.one is not None and self.one.row.status == InstanceStatus.ACTIVE and not self.one.state.terminal

    def is_seen_by(self, person: Caller) -> bool:
        return self.facts.seen_by(person, self.state)

    def may_withdraw(self, person: Caller) -> bool:
        try:
            require_withdraw(replace(self.ctx, caller=person), self.row.document)
        except Forbidden:
            return False
        return True

    def may_edit(self, person: Caller) -> bool:
        try:
            self.kind.require_edit(replace(self.ctx, caller=person), self.row)
        except Forbidden:
            return False
        return self.one is not None and decisions.can_edit(self.one.state, person, self.facts)


async def explain(ctx: RequestContext, session: AsyncSession, asked: AccessQuestion) -> Answer:
    """
    :raises NotFound: for a person, a document or a place of which the caller may not know
    :raises Invalid: naming the parameter that cannot be used
    """
    subject = await load_subject(ctx, session, public_id=asked.person, username=asked.username)
    if asked.document is None:
        scope = await _place(ctx, session, asked)
        return Answer(subject, await explain_in_place(session, subject, permission=asked.wanted, scope=scope))
    kind, row = await find_document(ctx, session, asked.document)
    if subject.caller is None:
        return Answer(subject, Explanation(allowed=False, reason=Reason.ACCOUNT_CLOSED), row.number)
    there = await _standing(replace(ctx, caller=subject.caller), session, kind, row)
    return Answer(subject, await _explain(session, subject, there, asked), row.number)


async def explain_in_place(session: AsyncSession, subject: Subject, *, permission: str, scope: Scope) -> Explanation:
    """
    Say whether somebody has a permission in a place, or for an organization or a contract of the project that is asked about.

    :raises Invalid: at `query:permission`, when there is none of that name
    """
    if scope.project is None or subject.caller is None or not counts_for_a_member(permission):
        return await explain_permission(session, subject, permission=permission, scope=scope)
    guard, members = await _project_guard(session, permission, scope)
    here = replace(scope, organizations=subject.caller.organization_ids & members)
    found = await explain_guard(session, subject, guard, permissions=(permission,), scope=here)
    if not found.allowed or subject.caller.may(permission, scope):
        return found
    return replace(found, reason=Reason.GRANTED_WITHIN, roles=enough(subject.caller, subject.held, guard))


async def _project_guard(session: AsyncSession, permission: str, scope: Scope) -> tuple[Guard, frozenset[int]]:
    assert scope.project is not None
    parties = await projects.parties(session, project_id=scope.project, contract_id=None)
    members = frozenset[int]().union(*parties.values())
    contracts: frozenset[int | None] = frozenset({scope.contract})
    if scope.contract is None and counts_in_a_contract(permission):
        contracts |= await projects.contract_keys(session, project_id=scope.project)

    return _MemberGuard(permission, scope.project, members, contracts), members


@dataclass(frozen=True, slots=True)
class _MemberGuard:
    permission: str
    project: int
    members: frozenset[int]
    contracts: frozenset[int | None]

    def __call__(self, person: Caller) -> bool:
        permission, own = self.permission, person.organization_ids & self.members
        if permission not in WRITES:
            return any(person.may(permission, Scope(own, self.project, one)) for one in self.contracts)
        each = [Scope(frozenset({one}), self.project, contract) for one in own for contract in self.contracts]
        return person.may(permission, Scope(project=self.project)) or any(
            numbering.may_create(person, permission, one) for one in each
        )


async def find_document(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> tuple[AnyKind, Any]:
    """
    Return a document of whatever kind, as the caller sees it.

    :raises NotFound: when there is none that the caller may know of
    """
    for kind in KINDS:
        try:
            return kind, await kind.find(ctx, session, public_id)
        except NotFound:
            continue
    raise NotFound(f"There is no document {public_id}.")


async def can_see(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> bool:
    """Return whether the caller may see a document or drawing; False also where there is none."""
    with suppress(NotFound):
        return bool(await find_document(ctx, session, public_id))
    for kind in DRAWING_KINDS.values():
        with suppress(NotFound):
            return bool(await find_drawing(ctx, session, kind, public_id))
    return False


async def document_numbered(ctx: RequestContext, session: AsyncSession, number: str) -> UUID:
    """
    :raises NotFound: when the caller may know of none that bears this number
    """
    for kind in KINDS:
        page = await core.listing(ctx, session, kind, search=RegisterQuery(q=number))
        for item in page.items:
            if item.data.document_number == number:
                return item.data.public_id  # type: ignore[no-any-return]
    raise NotFound(f"There is no document {number}.")


async def offered_actions(
    ctx: RequestContext, session: AsyncSession, document: UUID
) -> tuple[str, list[OfferedAction]]:
    """
    Return the number of a document, and what can be asked about it, what its workflow offers now first.

    :raises NotFound: when there is none that the caller may know of
    """
    kind, row = await find_document(ctx, session, document)
    there = await _standing(ctx, session, kind, row)
    found = {code: OfferedAction(code, says, now=True) for code, says in OWN_ACTIONS.items()}
    if there.one is not None:
        if there.one.state.review is not None:
            found[ANSWER] = OfferedAction(ANSWER, REVIEW, now=True)
        now = there.one.state.on if there.runs() else {}
        found |= {code: OfferedAction(code, step.label, now=True) for code, step in now.items()}
        for state in there.one.definition.states.values():
            for code, step in state.on.items():
                found.setdefault(code, OfferedAction(code, step.label, now=False))
    return row.number, list(found.values())


async def _place(ctx: RequestContext, session: AsyncSession, asked: AccessQuestion) -> Scope:
    """Everybody may know of an organization; a project and its contracts are for those who take part."""
    if asked.level is None or asked.place is None:
        return Scope()
    scope = await place_scope(session, asked.level, asked.place)
    if scope is not None and scope.project is not None:
        seen = await projects.projects_of(ctx, session)
        scope = scope if scope.project in {one.id for one in seen} else None
    if scope is None:
        raise NotFound("There is no such place.")
    return scope


async def _standing(ctx: RequestContext, session: AsyncSession, kind: AnyKind, row: Any) -> _Standing:
    facts = (await kind.facts(session, [row], zone=ctx.zone))[row.entity_id]
    states = await kind.states(ctx, session, [row], now=ctx.now)
    return _Standing(ctx, kind, row, facts, states.get(row.entity_id))


async def _explain(session: AsyncSession, subject: Subject, there: _Standing, asked: AccessQuestion) -> Explanation:
    sight = await _explain_sight(session, subject, there)
    if not sight.allowed or asked.wanted in {SEE, there.view}:
        return sight
    if there.one is not None and asked.wanted in there.one.definition.actions:
        return await _explain_action(session, subject, there, there.one, asked.wanted)
    if there.one is not None and asked.wanted == ANSWER:
        return await _explain_review(session, there, there.one)
    if asked.wanted == EDIT:
        return await _explain_edit(session, subject, there)
    return await _explain_permission(session, subject, there, asked.wanted)


async def _explain_sight(session: AsyncSession, subject: Subject, there: _Standing) -> Explanation:
    scope = there.facts.scope
    found = await explain_guard(session, subject, there.is_seen_by, permissions=(there.view,), scope=scope)
    if found.allowed or found.reason in _ROLES_DECIDE or subject.caller is None:
        return found
    if there.facts.seen_by(subject.caller, _ISSUED):
        return replace(found, reason=Reason.NOT_ISSUED, missing=(), carriers=(), givers=())
    # Whoever may look at documents elsewhere lacks no permission: their organizations have no part in this one.
    return replace(found, reason=Reason.NO_PARTY) if found.reason is Reason.ELSEWHERE else found


async def _explain_permission(
    session: AsyncSession, subject: Subject, there: _Standing, permission: str
) -> Explanation:
    """A right over the originator's document counts where the real guard looks for it; any other where the document is."""
    ctx, kind, row, facts = there.ctx, there.kind, there.row, there.facts
    scope = Scope(ctx.caller.organization_ids & facts.scope.organizations, facts.scope.project, facts.scope.contract)
    if permission == interventions.PERMISSION and there.one is not None:
        waiting = assignees.pending_by_definition(there.one)
        return await explain_guard(
            session,
            subject,
            lambda person: interventions.may_push(person, facts, waiting),
            permissions=(permission,),
            scope=facts.scope,
        )
    if kind is CIRCULATION:
        if permission in {RESPOND, ACKNOWLEDGE} and ctx.caller.user_id not in facts.assignee_user_ids:
            return Explanation(allowed=False, reason=Reason.SEAT, asked=await _asked(session, there))
        return await explain_permission(session, subject, permission=permission, scope=scope)
    if permission == ADMIN_EDIT:
        return await explain_guard(
            session, subject, there.may_withdraw, permissions=(permission,), scope=home_scope(ctx, row.document)
        )
    if permission in {kind.rules.edit, kind.rules.create}:
        return await explain_guard(
            session,
            subject,
            lambda person: person.may(permission, home_scope(replace(ctx, caller=person), row.document)),
            permissions=(permission,),
            scope=home_scope(ctx, row.document),
        )
    return await explain_permission(session, subject, permission=permission, scope=scope)


async def _explain_edit(session: AsyncSession, subject: Subject, there: _Standing) -> Explanation:
    if there.one is None or not there.runs():
        return Explanation(allowed=False, reason=Reason.FINISHED)
    facts, scope = there.facts, decisions.originators_scope(there.facts)
    found = await explain_guard(session, subject, there.may_edit, permissions=(facts.edit_permission,), scope=scope)
    obstacle = decisions.obstacle_to_edit(there.one.state, there.ctx.caller, facts)
    return await _with_obstacle(session, there, found, obstacle)


async def _explain_action(
    session: AsyncSession, subject: Subject, there: _Standing, one: InstanceState, action: str
) -> Explanation:
    if not there.runs():
        return Explanation(allowed=False, reason=Reason.FINISHED)
    state, person = one.row.current_state, there.ctx.caller
    own = decisions.Facts(person, one.facts, context=one.row.context or {}, assigned_user_id=one.row.assigned_user_id)
    guard = _ActionGuard(one.definition, state, action, own)
    step = one.state.on.get(action)
    scope = (decisions.seat_scope(step.require, own) if step else None) or one.facts.scope
    asked = step.require.permissions if step else frozenset[str]()
    found = await explain_guard(session, subject, guard, permissions=asked, scope=scope)
    if found.allowed:
        return found
    offered = delegation.choices(one.definition, state, own, one.seats)
    lent = next((choice for choice in offered if choice.code == action and choice.on_behalf_of), None)
    if lent is not None:
        people = tuple(PersonRef.model_validate(who) for who in lent.on_behalf_of)
        return Explanation(allowed=True, reason=Reason.DELEGATED, on_behalf_of=people)
    obstacle = decisions.obstacle_to(one.definition, state, action, own)
    found = await _with_obstacle(session, there, found, obstacle)
    wanted = step.require.roles if step is not None and found.reason is Reason.ROLE else ()
    return replace(found, role_names=tuple(sorted(wanted)))


@dataclass(frozen=True, slots=True)
class _ActionGuard:
    definition: Definition
    state: str
    action: str
    facts: decisions.Facts

    def __call__(self, person: Caller) -> bool:
        facts = replace(self.facts, caller=person)
        return decisions.obstacle_to(self.definition, self.state, self.action, facts) is None


async def _with_obstacle(
    session: AsyncSession, there: _Standing, found: Explanation, obstacle: Obstacle | None
) -> Explanation:
    """What the guard itself names comes before permissions, but for a role that would be enough at another time."""
    if found.allowed or found.reason in _ROLES_DECIDE or obstacle in {None, Obstacle.PERMISSION}:
        return found
    assert obstacle is not None
    return Explanation(allowed=False, reason=_OF_OBSTACLE[obstacle], asked=await _asked(session, there))


async def _explain_review(session: AsyncSession, there: _Standing, one: InstanceState) -> Explanation:
    if not there.runs() or one.state.review is None:
        return Explanation(allowed=False, reason=Reason.NO_ACTION if there.runs() else Reason.FINISHED)
    seen = (await branches.visible_branches(there.ctx, session, [one])).get(one.row.id, ())
    mine = [branch for branch in seen if branch.may_answer]
    if any(branch.in_own_right for branch in mine):
        return Explanation(allowed=True, reason=Reason.NO_ROLE_NEEDED)
    if mine:
        people = tuple(PersonRef.model_validate(who) for each in mine for who in each.in_place_of)
        return Explanation(allowed=True, reason=Reason.DELEGATED, on_behalf_of=people)
    names = tuple(dict.fromkeys(branch.assignee.display_name for branch in seen))
    return Explanation(allowed=False, reason=Reason.SEAT, asked=names)


async def _asked(session: AsyncSession, there: _Standing) -> tuple[str, ...]:
    if there.one is None or not there.runs():
        return ()
    waits = await assignees.pending_with_exactly(session, there.one)
    return (*(one.code for one in waits.organizations), *(one.display_name for one in waits.people))
