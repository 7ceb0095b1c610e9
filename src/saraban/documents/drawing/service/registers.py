"""Reading drawings: pages of a register as it stands or stood on a day, one drawing with its history, and who may read its files."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.core.domain import ABOVE, Reach, reach
from saraban.documents.core.domain.registers import FEW
from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing.domain import CREATE, KINDS, REVISE, Audience, AudienceKind, DrawingKind, drawing_reach
from saraban.documents.drawing.models import Drawing
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository.registers import DrawingPlace, DrawingRow, DrawingSearch
from saraban.documents.drawing.schemas import (
    DrawingAnswer,
    DrawingEnvelope,
    DrawingQuery,
    DrawingReferenceAnswer,
    DrawingSummary,
    FullRevisionAnswer,
    TagAnswer,
)
from saraban.documents.drawing.service import approval
from saraban.documents.drawing.service.presentation import file_shown, revision_answer, summary, tag_answer
from saraban.identity.domain.catalogue import party_role
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.errors import NotFound, unknown
from saraban.kit.pagination import Page, decode_cursor, encode_cursor, list_mark
from saraban.kit.schema import PageOut
from saraban.kit.text import fold
from saraban.projects import service as projects
from saraban.search_index import service as search_index
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.query import parse_words
from saraban.search_index.service import IndexQuery
from saraban.workflow import service as workflow
from saraban.workflow.runtime.schemas import WorkflowItem, WorkflowOut

_DAY = timedelta(days=1)
_LISTS = ("category", "sub_category", "volume")


@dataclass(frozen=True, slots=True)
class DrawingReader:
    """
    What somebody is shown of the drawings of one project.

    :param audiences: None for who reads the whole project
    """

    audiences: tuple[Audience, ...] | None

    def sees(self, audience: Audience) -> bool:
        return self.audiences is None or audience in self.audiences


async def reader_of(ctx: RequestContext, session: AsyncSession, project_id: int) -> DrawingReader:
    held: Reach = reach(ctx.caller)
    if held.everything or project_id in held.projects:
        return DrawingReader(None)
    contracts = await repository.reader_contracts(
        session, project_id=project_id, contracts=held.contracts, organizations=held.organizations
    )
    members = await repository.members(session, project_id=project_id, organizations=held.organizations)
    audiences = [(AudienceKind.CONTRACT, key) for key in sorted(contracts)]
    audiences += [(AudienceKind.ORGANIZATION, key) for key in sorted(held.organizations)]
    if members or contracts:
        audiences.append((AudienceKind.PROJECT, 0))
    return DrawingReader(tuple(audiences))


async def readers_of(
    ctx: RequestContext, session: AsyncSession, project_ids: Collection[int]
) -> dict[int, DrawingReader]:
    """Return what the caller is shown in each of these projects that they may know of, by its key."""
    if not project_ids:
        return {}
    visible = await projects.visible_keys(ctx, session)
    return {key: await reader_of(ctx, session, key) for key in sorted(visible.intersection(project_ids))}


async def scope_of(ctx: RequestContext, session: AsyncSession, place: Drawing) -> Scope:
    """
    Return the scope in which a right to write a drawing counts: the originator's; of a drawing that names none, that of the owner
    and the consultants of its project.

    A role at the contract counts for the originator's people only, as with documents.
    """
    if place.originator_id is not None:
        own = place.originator_id in ctx.caller.organization_ids
        return Scope(frozenset({place.originator_id}), place.project_id, place.contract_id if own else None)
    members = await repository.members(session, project_id=place.project_id, organizations=ctx.caller.organization_ids)
    above = frozenset(key for key, role in members.items() if party_role(role) in ABOVE)
    return Scope(above, place.project_id, place.contract_id)


async def list_drawings(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, query: DrawingQuery
) -> Page[DrawingSummary]:
    """
    Return a page of a register as it is shown.

    :raises Invalid: as `find_page` does
    """
    found = await find_page(ctx, session, kind, query)
    tags = await repository.tags(session, kind, [row.head.id for row in found.items])
    return Page([summary(kind, row, tags[row.head.id]) for row in found.items], found.next_cursor)


async def list_items(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, query: DrawingQuery
) -> PageOut[WorkflowItem[DrawingSummary]]:
    """
    Return the same, each with the workflow of its revision; of a day that is over without it, as without the answer.

    :raises Invalid: as `find_page` does
    """
    found = await find_page(ctx, session, kind, query)
    tags = await repository.tags(session, kind, [row.head.id for row in found.items])
    is_past = (_end_of(ctx, query) or ctx.now) < ctx.now
    states = {} if is_past or not found.items else await approval.states(ctx, session, kind, found.items)
    envelopes = await workflow.envelopes(ctx, session, states)
    items = [
        WorkflowItem[DrawingSummary].around(
            summary(kind, row, tags[row.head.id]), envelopes.get(str(row.revision.public_id))
        )
        for row in found.items
    ]
    return PageOut[WorkflowItem[DrawingSummary]](items=items, next_cursor=found.next_cursor)


async def find_page(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, query: DrawingQuery
) -> Page[DrawingRow]:
    """
    Return a page of a register in the order of numbers, each drawing at the revision that is current, or was on a day: of a day
    that is over without the answer, which may have been given since.

    :raises Invalid: for a project that the caller may not see, and a cursor of another list
    """
    search, text = await _search(ctx, session, kind, query)
    mark = list_mark("drawings", kind.path, query.model_dump_json(exclude={"cursor", "limit"}))
    after = decode_cursor(query.cursor, mark, str)[0] if query.cursor else None
    places = await _find_places(session, kind, replace(search, after=after), text, limit=query.limit + 1)
    shown = places[: query.limit]
    items = await repository.rows(session, kind, shown)
    if search.moment is not None and search.moment < ctx.now:
        items = [row.unanswered() for row in items]
    return Page(items, encode_cursor(mark, shown[-1].number) if len(places) > query.limit else None)


async def list_numbers(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, query: DrawingQuery, *, most: int
) -> tuple[list[str], bool]:
    """
    Return the numbers of a register that fit, in their order, and whether there are more than `most`.

    :raises Invalid: for a project that the caller may not see
    """
    search, text = await _search(ctx, session, kind, query)
    places = await _find_places(session, kind, search, text, limit=most + 1)
    return [one.number for one in places[:most]], len(places) > most


async def _find_places(
    session: AsyncSession, kind: DrawingKind, search: DrawingSearch, text: IndexQuery | None, *, limit: int
) -> list[DrawingPlace]:
    """:param text: where the index finds many drawings, with which each page of rows is compared"""
    index = search_index.index_of(session)
    if text is None or index is None:
        return await repository.find_places(session, kind, search, limit=limit)
    found: list[DrawingPlace] = []
    size, plain = 2 * limit, replace(search, words=(), excluded=())
    while True:
        places = await repository.find_places(session, kind, plain, limit=size)
        drawings = [place.drawing_id for place in places]
        heads = [search_index.head_of(kind.searched_as, key) for key in drawings]
        asked = replace(text, reach=None, values={"head": heads})
        matched = {key for key, _ in await asyncio.to_thread(index.pairs, asked, most=len(heads)) or ()}
        matched |= await repository.shown_drawings(session, kind, replace(search, matched=()), drawings)
        found += [place for place in places if place.drawing_id in matched]
        if len(found) >= limit or len(places) < size:
            return found[:limit]
        plain = replace(plain, after=places[-1].number)
        size = min(4 * size, FEW)


async def _search(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, query: DrawingQuery
) -> tuple[DrawingSearch, IndexQuery | None]:
    try:
        project = await projects.visible_project(ctx, session, query.project, closed=True)
    except NotFound:
        raise unknown("query:projectPublicId", str(query.project)) from None
    reader = await reader_of(ctx, session, project.id)
    said = parse_words(query.text or "")
    search = DrawingSearch(
        project.id,
        reader.audiences,
        moment=_end_of(ctx, query),
        disciplines=await repository.discipline_keys(session, project_id=project.id, code=fold(query.discipline))
        if query.discipline is not None
        else None,
        tag=fold(query.tag) if query.tag is not None else None,
        contract=query.contract,
        originator=query.originator,
        codes={name: code for name in _LISTS if (code := getattr(query, name)) is not None},
        words=said.words,
        excluded=said.excluded,
    )
    index = search_index.index_of(session)
    if not said.words or search.moment is not None or index is None or not index.is_complete:
        return search, None
    of = SearchKind(kind.searched_as)
    waits = [change.head_uuid for change in await search_index.waiting(session, limit=FEW + 1) if change.kind == of]
    if len(waits) <= FEW:
        search = replace(search, waiting=await repository.drawing_keys(session, kind, waits))
    found = IndexQuery(said.words, said.excluded, reach=drawing_reach(project.id, reader.audiences), kinds=[int(of)])
    pairs = await asyncio.to_thread(index.pairs, found, most=FEW)
    if pairs is None:
        return search, found
    return replace(search, matched={key for key, _ in pairs}), None


def _end_of(ctx: RequestContext, query: DrawingQuery) -> datetime | None:
    """A day that is not over yet ends now."""
    if query.as_of is None:
        return None
    return min(datetime.combine(query.as_of + _DAY, time(), ctx.zone), ctx.now)


async def find(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, *, by_revision: bool = False
) -> list[DrawingRow]:
    """
    Return a drawing with each of its revisions, newest first.

    :param by_revision: `public_id` is that of a revision
    :raises NotFound: also when the caller may not know of it
    """
    named = repository.of_revision if by_revision else repository.named
    rows = await repository.history(session, kind, named(kind, public_id))
    if rows:
        readers = await readers_of(ctx, session, [rows[0].head.project_id])
        if any(reader.sees(rows[0].audience) for reader in readers.values()):
            return rows
    raise NotFound(f"There is no {kind.singular.en} with {public_id}.")


async def read(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, *, by_revision: bool = False
) -> tuple[DrawingEnvelope, str]:
    """
    Return a drawing with its history and the workflow of its current revision, and its `ETag`.

    :param by_revision: `public_id` is that of a revision
    :raises NotFound: also when the caller may not know of it
    """
    rows = await find(ctx, session, kind, public_id, by_revision=by_revision)
    newest = rows[0]
    head = newest.head
    settings = await projects.drawing_settings(session, project_id=head.project_id, register=kind.path)
    scope = await scope_of(ctx, session, head)
    tags = await repository.tags(session, kind, [head.id])
    takes_more = kind.derives_from is not None or settings.addenda
    labels = [row.revision.revision_label for row in rows]
    scheme = settings.scheme_of(labels)
    states = await approval.states(ctx, session, kind, rows)
    current = str(newest.revision.public_id)
    envelopes = await workflow.envelopes(ctx, session, states, alone=current)
    is_missing = settings.own_workflow and current not in states
    may_revise = newest.project.is_active and ctx.caller.may(REVISE, scope)
    answer = DrawingAnswer(
        **summary(kind, newest, tags[head.id]).model_dump(),
        next_labels=scheme.next_labels(scheme.latest(labels)) if takes_more else [],
        can_change=newest.project.is_active and ctx.caller.may(CREATE, scope),
        can_revise=takes_more and may_revise,
        can_start_approval=is_missing and may_revise and head.originator_id is not None,
        revisions=await _full_revisions(ctx, session, kind, rows, envelopes),
    )
    return DrawingEnvelope.around(answer, envelopes.get(current)), version_tag(newest)


def version_tag(row: DrawingRow) -> str:
    return f'"{row.head.version}"'


async def list_revisions(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID
) -> list[FullRevisionAnswer]:
    """
    :raises NotFound: also when the caller may not know of the drawing
    """
    rows = await find(ctx, session, kind, public_id)
    states = await approval.states(ctx, session, kind, rows)
    return await _full_revisions(ctx, session, kind, rows, await workflow.envelopes(ctx, session, states))


async def _full_revisions(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    rows: Sequence[DrawingRow],
    envelopes: Mapping[str, workflow.Envelope],
) -> list[FullRevisionAnswer]:
    keys = [row.revision.id for row in rows]
    files = await repository.files(session, kind, keys)
    reader = await reader_of(ctx, session, rows[0].head.project_id)
    derived = await _derived_from(session, kind, reader, keys)
    recorded = await _recorded_by(session, kind, reader, rows)
    return [
        FullRevisionAnswer(
            **revision_answer(row).model_dump(),
            reason=row.revision.description,
            legacy_number=row.revision.legacy_drawing_number,
            created_at=row.revision.created_at,
            attachments=[file_shown(file) for file in files[row.revision.id]],
            derived_from=derived[row.revision.id],
            recorded_by=recorded[row.revision.id],
            workflow=WorkflowOut.model_validate(one) if (one := envelopes.get(str(row.revision.public_id))) else None,
        )
        for row in rows
    ]


async def steps_taken(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID
) -> tuple[workflow.HistoryStep, ...]:
    """
    Return the steps of the workflows of a drawing's revisions, oldest first.

    :raises NotFound: also when the caller may not know of the drawing
    """
    rows = await find(ctx, session, kind, public_id)
    return await workflow.steps_of(session, (await approval.states(ctx, session, kind, rows)).values())


References = defaultdict[int, list[DrawingReferenceAnswer]]


async def _derived_from(
    session: AsyncSession, kind: DrawingKind, reader: DrawingReader, revisions: Sequence[int]
) -> References:
    """Return what each revision refers to, by its key, as far as the reader is shown it."""
    found: References = defaultdict(list)
    if kind.derives_from is None:
        return found
    other = KINDS[kind.derives_from]
    pairs = await repository.links(session, kind, sources=revisions)
    targets = await _references(session, other, reader, {target for _, target in pairs})
    for source, target in pairs:
        found[source] += targets[target]
    return found


async def _recorded_by(
    session: AsyncSession, kind: DrawingKind, reader: DrawingReader, rows: Sequence[DrawingRow]
) -> References:
    """Return what refers to each revision; what refers to a contract drawing stands with its current one."""
    found: References = defaultdict(list)
    other = next((one for one in KINDS.values() if one.derives_from == kind.path), None)
    if other is None:
        return found
    own = {rows[0].head.id: rows[0].revision.id} if kind.whole else {row.revision.id: row.revision.id for row in rows}
    pairs = await repository.links(session, other, targets=own)
    sources = await _references(session, other, reader, {source for source, _ in pairs})
    for source, target in pairs:
        found[own[target]] += sources[source]
    return found


async def _references(session: AsyncSession, kind: DrawingKind, reader: DrawingReader, keys: set[int]) -> References:
    """:param keys: of revisions, or of drawings where those are referred to as a whole"""
    found: References = defaultdict(list)
    for row in await repository.referred(session, kind, keys) if keys else []:
        if reader.sees(row.audience):
            found[row.head.id if kind.whole else row.revision.id].append(reference(kind, row))
    return found


def reference(kind: DrawingKind, row: DrawingRow) -> DrawingReferenceAnswer:
    return DrawingReferenceAnswer(
        kind=kind.path,
        public_id=row.head.public_id,
        revision_public_id=row.revision.public_id,
        drawing_number=row.number,
        revision_label=row.revision.revision_label,
        is_current=bool(row.revision.is_current),
        superseded_by=row.superseded_by,
        title=row.revision.title,
        title_en=row.revision.title_en,
    )


async def classifications(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, *, project_public_id: UUID
) -> dict[str, list[CodeAnswer]]:
    """
    Return the open rows of the lists that drawings of a kind are classified by: `category`, `sub_category` and `volume`.

    :raises NotFound: for a project that the caller may not know of
    """
    project = await projects.visible_project(ctx, session, project_public_id)
    lists = await repository.open_lists(session, kind, project_id=project.id)
    return {name: [core.coded(one.code, one.name_en, one.name) for one in rows] for name, rows in lists.items()}


async def open_tags(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> list[TagAnswer]:
    """
    Return the tags that drawings of a project can be given.

    :raises NotFound: for a project that the caller may not know of
    """
    project = await projects.visible_project(ctx, session, project_public_id)
    return [tag_answer(one) for one in await repository.open_tags(session, project_id=project.id)]


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Say whether a file hangs on a drawing that the caller is shown."""
    for kind in KINDS.values():
        holders = await repository.holders_of_file(session, kind, attachment_id)
        readers = await readers_of(ctx, session, {project_id for project_id, _, _ in holders})
        for project_id, audience_kind, audience_id in holders:
            if project_id in readers and readers[project_id].sees((AudienceKind(audience_kind), audience_id)):
                return True
    return False
