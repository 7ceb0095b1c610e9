"""
A project with as many documents as one has after years, for whoever wants to see how the product bears them.

Each sort of document is written once through the services that people use; the others repeat its rows (`copies`), with numbers
drawn from their series as everybody's are. Nobody is told of a repeated one: it has no events, receipts and notifications.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Concatenate, ParamSpec
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import VIEW
from saraban.documents.demo.domain import DemoAction, DemoDocument, DemoRegister
from saraban.documents.demo.service import (
    ADDRESS,
    KINDS,
    DemoProject,
    DemoServices,
    DocumentJson,
    ProjectTooSmall,
    take_action,
    write,
)
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.clock import local_date
from saraban.kit.errors import DomainError, ErrorKind
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.schemas import ContractSummary
from saraban_tools import copies as copying
from saraban_tools.copies import CarriedDocument, CopiedDocument, DocumentPattern
from saraban_tools.mix import (
    RECENT,
    SHORTEST_PAST,
    Choices,
    GeneratedContract,
    GeneratedScript,
    office_moment,
    scripts_of,
    subject,
)

P = ParamSpec("P")
BATCH = 1000
_DISCIPLINES = 6


@dataclass(frozen=True, slots=True)
class GenerationProgress:
    """
    :param found: documents that were there before
    :param written: by now
    :param seen: by organization code, how many of those written it sees
    """

    found: int
    written: int
    seen: dict[str, int]


@dataclass(slots=True)
class GeneratedProject:
    """
    The project, its people, and what there is to be in it.

    :param people: those of each organization who may view its documents
    :param parties: the organizations of each contract
    """

    project_id: int
    found: DemoProject
    scripts: list[GeneratedScript]
    people: dict[str, list[str]]
    parties: dict[str, frozenset[str]]

    def seers(self, one: GeneratedScript) -> frozenset[str]:
        """Return the organizations that see such a document; a draft is its originator's alone."""
        script = one.script
        if not script.acts or script.acts[0].action == "cancel" or script.where is DemoRegister.CIRCULATION:
            return frozenset({script.originator})
        return self.parties.get(script.contract or "", frozenset()) | {script.originator, *script.to, *script.cc}


@dataclass(slots=True)
class GenerationRun:
    """
    :param first: how many documents there were; it decides which ones there will be
    :param known: by contract, an approved document that a transmittal can carry
    :param carried: the same as the next transmittal writes it down
    """

    stage: DemoServices
    place: GeneratedProject
    now: datetime
    first: int
    chance: Choices
    system: RequestContext = field(init=False)
    searches: bool = False
    patterns: dict[int, DocumentPattern] = field(default_factory=dict)
    planners: dict[tuple[int, str | None], Callable[[datetime], numbering.Plan]] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)
    known: dict[str, UUID] = field(default_factory=dict)
    carried: dict[str, CarriedDocument] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    choices: dict[bool, tuple[list[int], list[float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.system = self.stage.context(self.place.found.looker, self.now)
        for running in (True, False):
            places = [place for place, one in enumerate(self.place.scripts) if one.running is running]
            self.choices[running] = places, list(accumulate(self.place.scripts[place].weight for place in places))

    def choose(self, at: datetime, *, recent: bool) -> int:
        """Return a sort of documents for a moment; what is not over by now is running still."""
        running = recent and self.chance.share() * RECENT < self.choices[True][1][-1]
        place = self._one_of(running=running)
        chosen = self.place.scripts[place]
        if at + timedelta(days=chosen.days + 1) > self.now:
            place = self._one_of(running=True)
            chosen = self.place.scripts[place]
        if chosen.script.about and chosen.script.contract not in self.known:  # a transmittal carries what was approved
            return next(place for place, one in enumerate(self.place.scripts) if carriable(one))
        return place

    def _one_of(self, *, running: bool) -> int:
        places, weights = self.choices[running]
        return self.chance.weighed(places, weights)


def carriable(one: GeneratedScript) -> bool:
    """Whether a transmittal may carry such documents: requests that were approved."""
    last = one.script.acts[-1].action if one.script.acts else ""
    return one.script.where is DemoRegister.RFA and not one.running and last == "approve"


async def generate(
    stage: DemoServices, *, code: str, documents: int, revisions: float, now: datetime
) -> AsyncIterator[GenerationProgress]:
    """
    Write documents into a project until it has so many, and say after each batch how far it is.

    What is there stays, so that it can be broken off at any moment and run again.

    :raises ProjectTooSmall: when there is nobody to write to
    """
    async with stage.db.reading() as session:
        place = await survey(session, stage, code, revisions, now)
        found = await copying.count_documents(session, place.project_id)
    run = GenerationRun(stage, place, now, found, Choices(found))
    missing = max(documents - found, 0)
    yield GenerationProgress(found, 0, run.seen)
    async for written in fill(run, missing):
        yield GenerationProgress(found, written, run.seen)


async def fill(run: GenerationRun, missing: int) -> AsyncIterator[int]:
    """Write so many documents, and say after each batch how many there are by now."""
    written = 0
    while written < missing:
        upto = min(written + BATCH, missing)
        nexts = [await _next(run, ordinal, missing) for ordinal in range(written, upto)]
        batch = [one for one in nexts if one is not None]
        written = upto if not batch or await write_batch(run, batch) else upto - len(batch)
        yield written


# What there is to be.


async def survey(
    session: AsyncSession, stage: DemoServices, code: str, revisions: float, now: datetime
) -> GeneratedProject:
    project = await projects.find_project_by_code(session, code=code, pointer="/project")
    system = await identity.system_caller(session)
    ctx = RequestContext(system, now, stage.zone, ADDRESS)
    members = await projects.list_parties(session, project_id=project.id, contract_id=None)
    contracts = await projects.contracts(ctx, session, project_public_id=project.public_id)
    callers: dict[str, Caller] = {system.username: system}
    people: dict[str, list[str]] = {}
    for member in members:
        those = await identity.users_of(session, frozenset({member.id}))
        loaded = await identity.load_callers(session, [one.public_id for one in those])
        own = {one.username: one for one in loaded.values() if one.may(VIEW, Scope(frozenset({member.id}), project.id))}
        callers |= own
        people[member.code] = sorted(own)
    complete = await complete_contracts(ctx, session, project.public_id)
    above = {one.code: next(iter(people[one.code]), None) for one in members if one.role in ("OWNER", "CONSULTANT")}
    if not complete or len(above) < 2:
        raise ProjectTooSmall
    return GeneratedProject(
        project_id=project.id,
        found=DemoProject(
            project=project.public_id,
            organizations={one.code: one.public_id for one in members},
            contracts={one.contract_code: one.public_id for one in contracts},
            looker=system,
            people=callers,
        ),
        scripts=scripts_of(complete, above, revisions=revisions),
        people=people,
        parties={
            one.contract_code: frozenset(party.organization_code for party in one.organizations) for one in contracts
        },
    )


async def complete_contracts(ctx: RequestContext, session: AsyncSession, project: UUID) -> list[GeneratedContract]:
    """Return the contracts in which nobody is missing, the one with the most parties first."""
    contracts = await projects.contracts(ctx, session, project_public_id=project)
    described = [
        await _contract(ctx, session, project, contract)
        for contract in sorted(contracts, key=lambda one: (-len(one.organizations), one.contract_code))
    ]
    return [one for one in described if one is not None]


async def _contract(
    ctx: RequestContext, session: AsyncSession, project: UUID, contract: ContractSummary
) -> GeneratedContract | None:
    """Return a contract as far as documents are generated in it; None where somebody is missing."""
    by_role: dict[str, str] = {party.role: party.organization_code for party in reversed(contract.organizations)}
    if not {"CONTRACTOR", "CONSULTANT", "OWNER"} <= by_role.keys():
        return None
    of = {"project_public_id": project, "contract_public_id": contract.public_id}
    disciplines = [one.code for one in await projects.disciplines(ctx, session, **of)]
    rfa_types = [one.code for one in await projects.rfa_types(ctx, session, **of)]
    usual = [code for code in ("SDW", "MST", "MAT") if code in rfa_types]
    sub_types = await projects.sub_types(ctx, session, type_code="TRANSMITTAL", **of)
    return GeneratedContract(
        code=contract.contract_code,
        contractor=by_role["CONTRACTOR"],
        consultant=by_role["CONSULTANT"],
        owner=by_role["OWNER"],
        disciplines=tuple(disciplines[:: max(1, len(disciplines) // _DISCIPLINES)][:_DISCIPLINES]),
        rfa_types=tuple(usual or rfa_types),
        sub_types=tuple(one.code for one in sub_types),
    )


# One document.


async def _next(run: GenerationRun, ordinal: int, total: int) -> CopiedDocument | None:
    """Return the next document to copy; None where it is the first of its sort, which is written as people do it."""
    until = local_date(run.now - SHORTEST_PAST, run.stage.zone)
    at = office_moment(ordinal / total, until=until, zone=run.stage.zone)
    place = run.choose(at, recent=ordinal / total >= 1 - RECENT)
    chosen = run.place.scripts[place]
    discipline = run.chance.one_of(chosen.disciplines)
    for organization in run.place.seers(chosen):
        run.seen[organization] = run.seen.get(organization, 0) + 1
    if place not in run.patterns:
        await begin_sort(run, place, discipline, at)
        return None
    text = subject(chosen.script.where, chosen.script.rfa_type, run.first + ordinal)
    return await copy(run, place, discipline, at, text)


async def copy(run: GenerationRun, place: int, discipline: str | None, at: datetime, text: str) -> CopiedDocument:
    """Return a document like the first of its sort, with another moment and subject; its number comes with its batch."""
    chosen = run.place.scripts[place]
    request = numbering.IssueRequest(run.system, await _plan(run, place, discipline, at))
    script, pattern = chosen.script, run.patterns[place]
    return CopiedDocument(pattern, script.where, request, at, text, script.contract or "", carriable=carriable(chosen))


async def begin_sort(run: GenerationRun, place: int, discipline: str | None, at: datetime) -> UUID:
    """Write the first document of a sort, as people do, and take it apart for the others."""
    chosen = run.place.scripts[place]
    public_id = await play(run, replace(chosen.script, discipline=discipline), at)
    async with run.stage.db.reading() as session:
        rows = await copying.rows_of(session, public_id)
    pattern = run.patterns[place] = DocumentPattern(rows, public_id, run.stage.zone)
    contract = chosen.script.contract
    if carriable(chosen) and contract and (original := pattern.original()) is not None:
        run.carried[contract] = original
        run.known[contract] = public_id
    return public_id


async def _plan(run: GenerationRun, place: int, discipline: str | None, at: datetime) -> numbering.Plan:
    """Plan the number of a document as for whoever writes it at that moment, by the formats of today."""
    key = (place, discipline)
    if key not in run.planners:
        script, found = run.place.scripts[place].script, run.place.found
        request = numbering.NumberRequest(
            project_public_id=found.project,
            correspondence_type_code=script.type or script.where.upper(),
            originator_organization_public_id=found.organizations[script.originator],
            recipient_organization_public_id=found.organizations[script.to[0]] if script.to else None,
            contract_public_id=found.contracts[script.contract] if script.contract else None,
            sub_type_code=script.sub_type,
            rfa_type_code=script.rfa_type,
            discipline_code=discipline,
        )
        async with run.stage.db.reading() as session:
            run.planners[key] = await numbering.planner(run.system, session, request)
    return run.planners[key](at)


async def play(run: GenerationRun, script: DemoDocument, at: datetime) -> UUID:
    """Write a document as people do, with whatever they do with it later: each thing by the first who may."""
    found = run.place.found
    involved = (script.originator, *script.to, *script.cc)
    who = [*dict.fromkeys(name for code in involved for name in run.place.people[code]), found.looker.username]
    document = await _first_who_may([script.by, *who] if script.by else who, _write, run, script, at)
    for place, act in enumerate(script.acts, start=1):
        when = at + timedelta(days=act.day, minutes=place)
        names = [*script.assignees, *who] if act.action == "respond" else who
        document = await _first_who_may(names, _take, run, script, document, act, when)
    return UUID(document["data"]["publicId"])


async def _write(name: str, run: GenerationRun, script: DemoDocument, at: datetime) -> DocumentJson:
    return await write(run.stage, run.place.found, replace(script, by=name), now=at, known=run.known)


async def _take(
    name: str, run: GenerationRun, script: DemoDocument, document: DocumentJson, act: DemoAction, when: datetime
) -> DocumentJson:
    return await take_action(run.stage, run.place.found, script, document, replace(act, by=name), when)


async def _first_who_may(
    names: Sequence[str],
    do: Callable[Concatenate[str, P], Coroutine[object, object, DocumentJson]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> DocumentJson:
    """The last of them is the user `system`, who may do everything but answer for a person."""
    for name in names[:-1]:
        try:
            return await do(name, *args, **kwargs)
        except DomainError as refusal:
            if refusal.kind not in (ErrorKind.FORBIDDEN, ErrorKind.NOT_FOUND):
                raise
    return await do(names[-1], *args, **kwargs)


# Many documents.


async def write_batch(run: GenerationRun, batch: Sequence[CopiedDocument]) -> bool:
    """
    Write a batch in one transaction.

    A number that somebody has stated by hand breaks a constraint; from then on it is looked for which are taken.

    :returns: False where a format was changed meanwhile: nothing was written, and what is known of the sorts is out of date
    """
    for one in batch:
        one.carried = run.carried.get(one.contract)
    fresh = [one.request.plan for one in batch if one.request.plan.series not in run.opened]
    if fresh:
        await run.stage.db.transact(numbering.open_series, fresh, now=run.now)
        run.opened |= {plan.series for plan in fresh}
    try:
        done = await run.stage.db.transact(_write_once, run, batch)
    except IntegrityError:
        if run.searches:
            raise
        run.searches = True
        done = await run.stage.db.transact(_write_once, run, batch)
    if done:
        run.carried |= {one.contract: one.as_carried() for one in batch if one.carriable}
    else:
        run.planners.clear()
        run.patterns.clear()
    return done


async def _write_once(run: GenerationRun, session: AsyncSession, batch: Sequence[CopiedDocument]) -> bool:
    issued = await numbering.draw(session, [one.request for one in batch], searches=run.searches)
    if issued is None:
        return False
    await copying.write(session, batch, issued)
    for where, kind in KINDS.items():
        written = [one.keys[0] for one in batch if one.where is where]
        if written:
            await kind.index.renew(session, documents=written)
    return True
