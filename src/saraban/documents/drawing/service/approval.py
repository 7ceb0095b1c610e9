"""Approval of drawing revisions by workflow instead of RFA."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.domain import Reach, approve_code, reach
from saraban.documents.drawing.domain import ASBUILT, REVISE, SHOP, AudienceKind, DrawingKind
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.registers import DrawingRow
from saraban.documents.drawing.repository.tables import tables_of
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.projects import service as projects
from saraban.projects.domain.master_data import Party
from saraban.workflow import service as workflow

KINDS: Final[tuple[DrawingKind, ...]] = (SHOP, ASBUILT)
CODE: Final = "SHOP_DRAWING_FLOW_V1"
_SUPERSEDED: Final = "Superseded by revision {label}."


class ApprovalStarted(DomainError):
    """The revision has a workflow already: a revision goes through its workflow once. After a rejection, issue the next revision."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_APPROVAL_STARTED"
    says = Text("ฉบับแก้ไขนี้มีกระบวนงานอยู่แล้ว", "This revision has its workflow already.")
    recovery = (Text("เปิดหน้าแบบเพื่อดูสถานะ", "Open the drawing to see where it stands."),)


class ApprovedByRfa(DomainError):
    """The project approves the revisions of this register by RFA, or the drawing has no originator to submit it."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_APPROVED_BY_RFA"
    says = Text(
        "แบบนี้ไม่ได้อนุมัติด้วยกระบวนงานของแบบเอง",
        "The revisions of this drawing are not approved by a workflow of their own.",
    )
    recovery = (Text("ยื่นขออนุมัติด้วย RFA", "Submit the drawing in an RFA."),)


class RevisionInRfa(DomainError):
    """An open RFA already asks for the approval of this revision; the response of one would overwrite the other."""

    kind, code = ErrorKind.CONFLICT, "DRAWING_APPROVAL_IN_RFA"
    says = Text("ฉบับแก้ไขนี้อยู่ใน RFA ที่ยังไม่ได้รับผล", "This revision is in an RFA that has not been answered yet.")
    recovery = (Text("รอผลของ RFA นั้น หรือยกเลิก RFA", "Wait for the answer of that RFA, or cancel it."),)


def entity_type(kind: DrawingKind) -> str:
    return f"{kind.entity_type}_revision"


@dataclass(frozen=True, slots=True)
class RevisionContext:
    """:param parties: of the contract, else of the project"""

    row: DrawingRow
    kind: DrawingKind
    parties: Sequence[Party]

    @property
    def concerned(self) -> frozenset[int]:
        head = self.row.head
        originators = {head.originator_id} if head.originator_id is not None else set()
        if head.audience_kind == AudienceKind.ORGANIZATION:
            return frozenset(originators)
        return frozenset(originators | {party.id for party in self.parties})

    def is_shown(self, person: Reach) -> bool:
        head = self.row.head
        if person.everything or head.project_id in person.projects or head.contract_id in person.contracts:
            return True
        return bool(person.organizations & self.concerned)


def facts_in(context: RevisionContext, zone: ZoneInfo) -> workflow.SubjectFacts:
    row, concerned = context.row, context.concerned
    head, revision, originator = row.head, row.revision, row.originator
    assert originator is not None  # `_revision_contexts` omits the others
    return workflow.SubjectFacts(
        entity_id=str(revision.public_id),
        scope=Scope(concerned, head.project_id, head.contract_id),
        originator_organization_id=originator.id,
        recipient_organization_ids=frozenset(),
        parties=projects.by_role(context.parties),
        submitter_user_id=revision.created_by,
        assignee_user_ids=frozenset(),
        kind=context.kind.entity_type,
        public_id=head.public_id,
        number=row.number,
        title=revision.title,
        priority="MEDIUM",
        context={
            "documentType": "DRAWING",
            "projectPublicId": str(row.project.public_id),
            "projectCode": row.project.project_code,
            "originatorCode": originator.organization_code,
            "revision": revision.revision_label,
            "discipline": row.discipline.discipline_code if row.discipline else None,
        },
        organizations={
            **{party.id: (party.public_id, party.code) for party in context.parties},
            originator.id: (originator.public_id, originator.organization_code),
        },
        edit_permission=REVISE,
        zone=zone,
        seen_by=lambda person, _state: context.is_shown(reach(person)),
        open_to=lambda organization, _state: organization in concerned,
        source=context,
    )


async def _revision_contexts(
    session: AsyncSession, kind: DrawingKind, revisions: Collection[UUID]
) -> dict[str, RevisionContext]:
    """Return contexts by public id, without drawings that have no originator."""
    if not revisions:
        return {}
    rows = await repository.history(session, kind, tables_of(kind).revision.public_id.in_(revisions))
    places = {(row.head.project_id, row.head.contract_id) for row in rows}
    parties = {
        place: await projects.list_parties(session, project_id=place[0], contract_id=place[1])
        for place in sorted(places, key=str)
    }
    return {
        str(row.revision.public_id): RevisionContext(row, kind, parties[row.head.project_id, row.head.contract_id])
        for row in rows
        if row.originator is not None
    }


@dataclass(frozen=True)
class DrawingSubject:
    kind: DrawingKind
    zone: ZoneInfo

    @property
    def entity_type(self) -> str:
        return entity_type(self.kind)

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, workflow.SubjectFacts]:
        contexts, reader = await _revision_contexts(session, self.kind, core.ids_of(entity_ids)), reach(caller)
        return {key: facts_in(context, self.zone) for key, context in contexts.items() if context.is_shown(reader)}

    async def apply(self, session: AsyncSession, step: workflow.SubjectStep) -> bool:
        code = approve_code(step.meaning, answered=step.step.response_code) if step.step.terminal else None
        if code is not None:
            context = step.facts.source
            assert isinstance(context, RevisionContext)
            await writes.save_response_code(session, self.kind, context.row.revision.id, code=code)
        return False


async def start(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, revision: UUID) -> None:
    """:raises ApprovedByRfa: for a drawing without an originator"""
    context = (await _revision_contexts(session, kind, [revision])).get(str(revision))
    if context is None:
        raise ApprovedByRfa
    await workflow.start(ctx, session, code=CODE, entity_type=entity_type(kind), facts=facts_in(context, ctx.zone))


async def supersede(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, revision: UUID, *, by: str | None
) -> None:
    """Cancel the revision's workflow, unless it has ended."""
    reason = _SUPERSEDED.format(label=by or "-")
    await workflow.cancel(
        ctx, session, entity_type=entity_type(kind), entity_id=str(revision), reason=reason, even_ended=False
    )


async def require_unclaimed(session: AsyncSession, kind: DrawingKind, key: int) -> None:
    """:raises RevisionInRfa: the revision stays locked against RFAs"""
    await writes.lock_revisions(session, kind, [key])
    if await writes.is_claimed(session, kind, key):
        raise RevisionInRfa


async def supersede_many(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, by: Mapping[UUID, str]) -> None:
    """:param by: superseding label by revision"""
    unfinished = await unfinished_approvals(session, kind, by)
    for revision in (revision for revision in by if revision in unfinished):
        await supersede(ctx, session, kind, revision, by=by[revision])


async def hold(session: AsyncSession, kind: DrawingKind, *revisions: UUID) -> None:
    """Lock workflows. Do it before locking their drawings, as steps do, or the two deadlock."""
    await workflow.lock(session, entity_type=entity_type(kind), entity_ids=sorted(map(str, revisions)))


async def states(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, rows: Sequence[DrawingRow]
) -> dict[str, workflow.InstanceState]:
    """
    Return states by public id, without revisions that have no workflow.

    :param rows: visible to the caller: nothing is checked here
    """
    if kind not in KINDS:
        return {}
    ids = [row.revision.public_id for row in rows]
    contexts = await _revision_contexts(session, kind, ids)
    facts = {key: facts_in(context, ctx.zone) for key, context in contexts.items()}
    return await workflow.states_of(
        ctx, session, entity_type=entity_type(kind), entity_ids=list(map(str, ids)), facts=facts, now=ctx.now
    )


async def any_approvals(session: AsyncSession, kind: DrawingKind) -> bool:
    """Return whether any revision of the register, in any project, had a workflow."""
    return await workflow.has_instances(session, entity_type(kind))


async def unfinished_approvals(session: AsyncSession, kind: DrawingKind, public_ids: Collection[UUID]) -> set[UUID]:
    """Return the revisions with a running workflow."""
    ids = {str(public_id): public_id for public_id in public_ids}
    return {ids[key] for key in await workflow.running(session, entity_type=entity_type(kind), entity_ids=ids)}
