"""`SubjectPort` of the kinds of documents with revisions."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import KindRules, Placement, ReachedState, counts_as_issued, may_see, reach
from saraban.documents.core.repository import workflow_subject as repository
from saraban.documents.core.repository.documents import RecipientRow
from saraban.documents.core.repository.reach import ReachIndex
from saraban.documents.core.repository.workflow_subject import MAIN, Subject, SubjectRow
from saraban.identity.domain.context import Caller, Scope
from saraban.kit.clock import local_date
from saraban.projects import service as projects
from saraban.workflow.language.subject import ItemResult, SubjectFacts
from saraban.workflow.runtime.service.subjects import SubjectStep

OwnStatuses = Callable[[AsyncSession, int, ReachedState], Awaitable[None]]
OwnItems = Callable[[AsyncSession, int, Sequence[ItemResult]], Awaitable[None]]
Parties = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class SubjectContext:
    row: SubjectRow
    recipients: Sequence[RecipientRow]
    parties: Parties
    taking_part: Sequence[projects.Party]

    @cached_property
    def sent_to(self) -> frozenset[int]:
        return frozenset(one.organization.id for one in self.recipients)

    @cached_property
    def of_contract(self) -> frozenset[int]:
        return frozenset[int]().union(*self.parties.values()) if self.row.contract_id is not None else frozenset()

    @property
    def main_role(self) -> str | None:
        """Return the role of the main recipient in the project or contract."""
        main = next((one.organization.id for one in self.recipients if one.recipient_type == MAIN), None)
        return next((role for role, members in sorted(self.parties.items()) if main in members), None)

    def placement(self, state: str) -> Placement:
        """Return the placement in a state; an issued revision stays issued in every state."""
        row = self.row
        issued = row.issued_date is not None or counts_as_issued(state)
        return Placement(row.project_id, row.contract_id, row.originator_id, self.sent_to, self.of_contract, issued)

    def is_seen_by(self, person: Caller, state: str) -> bool:
        return may_see(reach(person), self.placement(state))

    def is_open_to(self, organization: int, state: str) -> bool:
        place = self.placement(state)
        taking_part = place.issued and (organization in place.recipients or organization in place.parties)
        return taking_part or organization == place.originator


async def subject_contexts(session: AsyncSession, subjects: Sequence[Subject]) -> dict[str, SubjectContext]:
    parties: dict[tuple[int, int | None], list[projects.Party]] = {}
    contexts = {}
    for row, recipients in subjects:
        place = (row.project_id, row.contract_id)
        if place not in parties:
            parties[place] = await projects.list_parties(session, project_id=place[0], contract_id=place[1])
        by_role = projects.by_role(parties[place])
        contexts[str(row.revision_public_id)] = SubjectContext(row, recipients, by_role, parties[place])
    return contexts


def facts_in(kind: KindRules, around: SubjectContext, *, zone: ZoneInfo) -> SubjectFacts:
    row, parties = around.row, around.parties
    concerned = around.sent_to | around.of_contract | {row.originator_id}
    return SubjectFacts(
        entity_id=str(row.revision_public_id),
        scope=Scope(concerned, row.project_id, row.contract_id),
        originator_organization_id=row.originator_id,
        recipient_organization_ids=frozenset(
            one.organization.id for one in around.recipients if one.recipient_type == MAIN
        ),
        parties=parties,
        submitter_user_id=row.author_id,
        assignee_user_ids=frozenset(),
        kind=kind.name,
        public_id=row.public_id,
        number=row.number,
        title=row.subject,
        due_date=local_date(row.due_date, zone) if row.due_date else None,
        priority=row.priority,
        context={
            "documentType": row.type_code,
            "projectPublicId": str(row.project_public_id),
            "projectCode": row.project_code,
            "originatorCode": row.originator_code,
            "revision": row.label,
            "discipline": row.discipline_code,
        },
        organizations={
            **{party.id: (party.public_id, party.code) for party in around.taking_part},
            **{one.id: (one.public_id, one.organization_code) for one, _ in around.recipients},
            row.originator_id: (row.originator_public_id, row.originator_code),
        },
        edit_permission=kind.edit,
        carries_items=kind.carries_items,
        zone=zone,
        seen_by=around.is_seen_by,
        open_to=around.is_open_to,
        source=around,
    )


def recipients_in(facts: SubjectFacts) -> Sequence[RecipientRow]:
    assert isinstance(facts.source, SubjectContext)
    return facts.source.recipients


def ids_of(entity_ids: Collection[str]) -> list[UUID]:
    ids = []
    for text in entity_ids:
        try:
            ids.append(UUID(text))
        except ValueError:
            continue
    return ids


@dataclass(frozen=True)
class DocumentSubject:
    rules: KindRules
    index: ReachIndex
    own_statuses: OwnStatuses
    zone: ZoneInfo
    own_items: OwnItems | None = None

    @property
    def entity_type(self) -> str:
        return self.rules.entity_type

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, SubjectFacts]:
        subjects = await repository.list_subjects(
            session, reach=reach(caller), revision_ids=ids_of(entity_ids), type_codes=self.rules.type_codes
        )
        contexts = await subject_contexts(session, subjects)
        return {key: facts_in(self.rules, context, zone=self.zone) for key, context in contexts.items()}

    async def apply(self, session: AsyncSession, step: SubjectStep) -> bool:
        """Set the status; an issued revision is visible to its recipients from now on."""
        context = step.facts.source
        assert isinstance(context, SubjectContext)  # it was this port that gave the facts
        row, (reached, code) = context.row, self._next_state(step, context)
        issued_at = step.now if reached.issued else None
        await repository.set_status(session, revision_id=row.revision_id, code=code, issued_at=issued_at)
        await self.own_statuses(session, row.revision_id, reached)
        if issued_at is not None:
            await self.index.issue(session, documents=[row.document_id])
            return False
        await self.index.follow(
            session,
            documents=[row.document_id],
            revisions=[row.revision_id],
            code=code,
            is_open=code not in self._finished_codes,
        )
        return False

    async def answer_items(self, session: AsyncSession, facts: SubjectFacts, results: Sequence[ItemResult]) -> None:
        context = facts.source
        assert isinstance(context, SubjectContext)
        assert self.own_items is not None  # of kinds that carry items
        await self.own_items(session, context.row.revision_id, results)

    @cached_property
    def _finished_codes(self) -> frozenset[str]:
        return self.rules.finished_codes

    def _next_state(self, subject_step: SubjectStep, context: SubjectContext) -> tuple[ReachedState, str]:
        """Return the state after the step, as kinds receive it, and the code of the shown status."""
        step, meaning = subject_step.step, subject_step.meaning
        code = self.rules.status_code(
            step.next_state, context.main_role, left=step.state, ended=step.terminal, meaning=meaning
        )
        issued = counts_as_issued(step.next_state, meaning.outcome) and context.row.issued_date is None
        day = local_date(subject_step.now, self.zone)
        reached = ReachedState(
            step.next_state,
            day,
            step.response_code,
            step.automatic,
            step.terminal,
            meaning,
            issued,
            subject_step.item_results,
        )
        return reached, code
