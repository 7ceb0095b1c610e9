"""Explains permissions with the guards that decide them; nothing is decided here."""

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
WRITES: Final = {"drawing.create", *(name for kind in KINDS for name in (kind.rules.create, kind.rules.edit))}
SEE, EDIT = "view", "edit"
OWN_ACTIONS: Final[dict[str, Text]] = {
    SEE: Text("เปิดดูเอกสาร", "Open the document"),
    EDIT: Text("แก้ไขฉบับร่าง", "Change the draft"),
}
REVIEW: Final = Text("ตอบการพิจารณา", "Answer the review")
# Any state after issue, to find people who cannot see a document only because it is a draft.
_ISSUED = "issued"
_REASON_BY_OBSTACLE: Final = {
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
    subject: Subject
    explanation: Explanation
    document: str | None = None


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """:param now: whether the current state offers it"""

    code: str
    says: Text
    now: bool


@dataclass(frozen=True, slots=True)
class _DocumentState:
    ctx: RequestContext
    kind: AnyKind
    row: Any
    facts: SubjectFacts
    instance: InstanceState | None

    @property
    def state(self) -> str:
        return self.instance.row.current_state if self.instance else _ISSUED

    @property
    def view(self) -> str:
        return VIEW_CIRCULATION if self.kind is CIRCULATION else VIEW

    def runs(self) -> bool:
        instance = self.instance
        return instance is not None and instance.row.status == InstanceStatus.ACTIVE and not instance.state.terminal

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
        return self.instance is not None and decisions.can_edit(self.instance.state, person, self.facts)


async def explain(ctx: RequestContext, session: AsyncSession, question: AccessQuestion) -> Answer:
    """:raises NotFound, Invalid:"""
    subject = await load_subject(ctx, session, public_id=question.person, username=question.username)
    if question.document is None:
        scope = await _find_scope(ctx, session, question)
        return Answer(subject, await explain_in_place(session, subject, permission=question.wanted, scope=scope))
    kind, row = await find_document(ctx, session, question.document)
    if subject.caller is None:
        return Answer(subject, Explanation(allowed=False, reason=Reason.ACCOUNT_CLOSED), row.number)
    document = await _load_state(replace(ctx, caller=subject.caller), session, kind, row)
    return Answer(subject, await _explain(session, subject, document, question), row.number)


async def explain_in_place(session: AsyncSession, subject: Subject, *, permission: str, scope: Scope) -> Explanation:
    """
    Explain a permission in a place, or in an organization or contract of the project.

    :raises Invalid: at `query:permission`
    """
    if scope.project is None or subject.caller is None or not counts_for_a_member(permission):
        return await explain_permission(session, subject, permission=permission, scope=scope)
    guard, members = await _project_guard(session, permission, scope)
    here = replace(scope, organizations=subject.caller.organization_ids & members)
    explanation = await explain_guard(session, subject, guard, permissions=(permission,), scope=here)
    if not explanation.allowed or subject.caller.may(permission, scope):
        return explanation
    return replace(explanation, reason=Reason.GRANTED_WITHIN, roles=enough(subject.caller, subject.held, guard))


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
        permission, organizations = self.permission, person.organization_ids & self.members
        if permission not in WRITES:
            return any(person.may(permission, Scope(organizations, self.project, key)) for key in self.contracts)
        scopes = [
            Scope(frozenset({key}), self.project, contract) for key in organizations for contract in self.contracts
        ]
        return person.may(permission, Scope(project=self.project)) or any(
            numbering.may_create(person, permission, scope) for scope in scopes
        )


async def find_document(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> tuple[AnyKind, Any]:
    """
    Return a document of any kind, as the caller sees it.

    :raises NotFound:
    """
    for kind in KINDS:
        try:
            return kind, await kind.find(ctx, session, public_id)
        except NotFound:
            continue
    raise NotFound(f"There is no document {public_id}.")


async def can_see(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> bool:
    with suppress(NotFound):
        return bool(await find_document(ctx, session, public_id))
    for kind in DRAWING_KINDS.values():
        with suppress(NotFound):
            return bool(await find_drawing(ctx, session, kind, public_id))
    return False


async def document_numbered(ctx: RequestContext, session: AsyncSession, number: str) -> UUID:
    """:raises NotFound:"""
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
    Return a document's number, and its actions with those of the current state first.

    :raises NotFound:
    """
    kind, row = await find_document(ctx, session, document)
    document_state = await _load_state(ctx, session, kind, row)
    actions = {code: OfferedAction(code, says, now=True) for code, says in OWN_ACTIONS.items()}
    if (instance := document_state.instance) is not None:
        if instance.state.review is not None:
            actions[ANSWER] = OfferedAction(ANSWER, REVIEW, now=True)
        now = instance.state.on if document_state.runs() else {}
        actions |= {code: OfferedAction(code, step.label, now=True) for code, step in now.items()}
        for state in instance.definition.states.values():
            for code, step in state.on.items():
                actions.setdefault(code, OfferedAction(code, step.label, now=False))
    return row.number, list(actions.values())


async def _find_scope(ctx: RequestContext, session: AsyncSession, question: AccessQuestion) -> Scope:
    if question.level is None or question.place is None:
        return Scope()
    scope = await place_scope(session, question.level, question.place)
    if scope is not None and scope.project is not None:
        visible = await projects.projects_of(ctx, session)
        scope = scope if scope.project in {project.id for project in visible} else None
    if scope is None:
        raise NotFound("There is no such place.")
    return scope


async def _load_state(ctx: RequestContext, session: AsyncSession, kind: AnyKind, row: Any) -> _DocumentState:
    facts = (await kind.facts(session, [row], zone=ctx.zone))[row.entity_id]
    states = await kind.states(ctx, session, [row], now=ctx.now)
    return _DocumentState(ctx, kind, row, facts, states.get(row.entity_id))


async def _explain(
    session: AsyncSession, subject: Subject, document: _DocumentState, question: AccessQuestion
) -> Explanation:
    sight = await _explain_sight(session, subject, document)
    if not sight.allowed or question.wanted in {SEE, document.view}:
        return sight
    if document.instance is not None and question.wanted in document.instance.definition.actions:
        return await _explain_action(session, subject, document, document.instance, question.wanted)
    if document.instance is not None and question.wanted == ANSWER:
        return await _explain_review(session, document, document.instance)
    if question.wanted == EDIT:
        return await _explain_edit(session, subject, document)
    return await _explain_permission(session, subject, document, question.wanted)


async def _explain_sight(session: AsyncSession, subject: Subject, document: _DocumentState) -> Explanation:
    scope = document.facts.scope
    explanation = await explain_guard(session, subject, document.is_seen_by, permissions=(document.view,), scope=scope)
    if explanation.allowed or explanation.reason in _ROLES_DECIDE or subject.caller is None:
        return explanation
    if document.facts.seen_by(subject.caller, _ISSUED):
        return replace(explanation, reason=Reason.NOT_ISSUED, missing=(), carriers=(), givers=())
    # A person with the permission elsewhere lacks only a part in this document.
    return replace(explanation, reason=Reason.NO_PARTY) if explanation.reason is Reason.ELSEWHERE else explanation


async def _explain_permission(
    session: AsyncSession, subject: Subject, document: _DocumentState, permission: str
) -> Explanation:
    """Use the scope of the real guard for permissions over the originator's document."""
    ctx, kind, row, facts = document.ctx, document.kind, document.row, document.facts
    scope = Scope(ctx.caller.organization_ids & facts.scope.organizations, facts.scope.project, facts.scope.contract)
    if permission == interventions.PERMISSION and document.instance is not None:
        waiting = assignees.pending_by_definition(document.instance)
        return await explain_guard(
            session,
            subject,
            lambda person: interventions.may_push(person, facts, waiting),
            permissions=(permission,),
            scope=facts.scope,
        )
    if kind is CIRCULATION:
        if permission in {RESPOND, ACKNOWLEDGE} and ctx.caller.user_id not in facts.assignee_user_ids:
            return Explanation(allowed=False, reason=Reason.SEAT, asked=await _list_assignees(session, document))
        return await explain_permission(session, subject, permission=permission, scope=scope)
    if permission == ADMIN_EDIT:
        return await explain_guard(
            session, subject, document.may_withdraw, permissions=(permission,), scope=home_scope(ctx, row.document)
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


async def _explain_edit(session: AsyncSession, subject: Subject, document: _DocumentState) -> Explanation:
    if document.instance is None or not document.runs():
        return Explanation(allowed=False, reason=Reason.FINISHED)
    facts, scope = document.facts, decisions.originators_scope(document.facts)
    explanation = await explain_guard(
        session, subject, document.may_edit, permissions=(facts.edit_permission,), scope=scope
    )
    obstacle = decisions.obstacle_to_edit(document.instance.state, document.ctx.caller, facts)
    return await _explain_obstacle(session, document, explanation, obstacle)


async def _explain_action(
    session: AsyncSession, subject: Subject, document: _DocumentState, instance: InstanceState, action: str
) -> Explanation:
    if not document.runs():
        return Explanation(allowed=False, reason=Reason.FINISHED)
    state, person = instance.row.current_state, document.ctx.caller
    facts = decisions.Facts(
        person, instance.facts, context=instance.row.context or {}, assigned_user_id=instance.row.assigned_user_id
    )
    guard = _ActionGuard(instance.definition, state, action, facts)
    step = instance.state.on.get(action)
    scope = (decisions.seat_scope(step.require, facts) if step else None) or instance.facts.scope
    permissions = step.require.permissions if step else frozenset[str]()
    explanation = await explain_guard(session, subject, guard, permissions=permissions, scope=scope)
    if explanation.allowed:
        return explanation
    choices = delegation.choices(instance.definition, state, facts, instance.seats)
    delegated = next((choice for choice in choices if choice.code == action and choice.on_behalf_of), None)
    if delegated is not None:
        people = tuple(PersonRef.model_validate(delegator) for delegator in delegated.on_behalf_of)
        return Explanation(allowed=True, reason=Reason.DELEGATED, on_behalf_of=people)
    obstacle = decisions.obstacle_to(instance.definition, state, action, facts)
    explanation = await _explain_obstacle(session, document, explanation, obstacle)
    role_names = step.require.roles if step is not None and explanation.reason is Reason.ROLE else ()
    return replace(explanation, role_names=tuple(sorted(role_names)))


@dataclass(frozen=True, slots=True)
class _ActionGuard:
    definition: Definition
    state: str
    action: str
    facts: decisions.Facts

    def __call__(self, person: Caller) -> bool:
        facts = replace(self.facts, caller=person)
        return decisions.obstacle_to(self.definition, self.state, self.action, facts) is None


async def _explain_obstacle(
    session: AsyncSession, document: _DocumentState, explanation: Explanation, obstacle: Obstacle | None
) -> Explanation:
    """Prefer the guard's obstacle, except to a role that is enough at another time."""
    if explanation.allowed or explanation.reason in _ROLES_DECIDE or obstacle in {None, Obstacle.PERMISSION}:
        return explanation
    assert obstacle is not None
    return Explanation(
        allowed=False, reason=_REASON_BY_OBSTACLE[obstacle], asked=await _list_assignees(session, document)
    )


async def _explain_review(session: AsyncSession, document: _DocumentState, instance: InstanceState) -> Explanation:
    if not document.runs() or instance.state.review is None:
        return Explanation(allowed=False, reason=Reason.NO_ACTION if document.runs() else Reason.FINISHED)
    visible = (await branches.visible_branches(document.ctx, session, [instance])).get(instance.row.id, ())
    answerable = [branch for branch in visible if branch.may_answer]
    if any(branch.in_own_right for branch in answerable):
        return Explanation(allowed=True, reason=Reason.NO_ROLE_NEEDED)
    if answerable:
        people = tuple(PersonRef.model_validate(person) for branch in answerable for person in branch.in_place_of)
        return Explanation(allowed=True, reason=Reason.DELEGATED, on_behalf_of=people)
    names = tuple(dict.fromkeys(branch.assignee.display_name for branch in visible))
    return Explanation(allowed=False, reason=Reason.SEAT, asked=names)


async def _list_assignees(session: AsyncSession, document: _DocumentState) -> tuple[str, ...]:
    if document.instance is None or not document.runs():
        return ()
    pending = await assignees.pending_with_exactly(session, document.instance)
    codes, names = (each.code for each in pending.organizations), (person.display_name for person in pending.people)
    return (*codes, *names)
