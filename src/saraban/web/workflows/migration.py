"""Page to move running documents to another version."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.domain.context import Scope
from saraban.kit.errors import DomainError, Text
from saraban.kit.http import ReadSession
from saraban.web.shell.form_state import FormState
from saraban.web.shell.forms import CurrentForm, SentForm, has_own_page
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.web.workflows.definitions import MANAGE, Code, Version
from saraban.workflow import service as workflow
from saraban.workflow.administration.domain.migration import WORDS, MigrationOutcome
from saraban.workflow.administration.service import migration
from saraban.workflow.administration.service.migration import MigratedInstance, MigrationPlan
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition
from saraban.workflow.runtime.dependencies import RegisteredSubjects

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/workflows/{code}/v{version}/migration")

# Documents per request, because the reader waits for the page.
AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class OccupiedState:
    """A state with documents on other versions, labelled by the newest version that has it."""

    state: str
    label: Text
    count: int
    is_known: bool


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """:param lines: documents that stay"""

    moved: bool
    going: int
    looked_at: int
    counts: Sequence[tuple[Text, int]]
    lines: Sequence[tuple[MigratedInstance, Text]]


class MigrationPage(PageModel, template="workflows/migration.html"):
    definition: Definition
    number: int
    places: Sequence[OccupiedState]
    running: int
    mapping: Mapping[str, str]
    result: MigrationResult | None
    most: int


@router.get("")
async def show(code: Code, version: Version, page: CurrentPage, session: ReadSession) -> Response:
    page.caller.require(MANAGE, Scope())
    return await _show(page, session, MigrationPlan(code, version))


@router.post("")
async def migrate(code: Code, version: Version, form: CurrentForm, subjects: RegisteredSubjects) -> Response:
    """Preview the migration; `do=move` moves the documents that can continue."""
    page, moves = form.page, form.text("do") == "move"
    page.caller.require(MANAGE, Scope())
    mapping = await _mapping(form, code)
    plan = MigrationPlan(code, version, mapping, dry_run=not moves)
    result, fault = None, None
    try:
        batches = migration.migrate(page.context, form.db, subjects=subjects, plan=plan, most=AT_ONCE)
        result = _result([batch async for batch in batches], moved=moves)
    except DomainError as error:
        if has_own_page(error):
            raise
        fault = error
    async with form.db.reading() as session:
        return await _show(page, session, plan, result, fault)


async def _mapping(form: SentForm, code: str) -> dict[str, str]:
    async with form.db.reading() as session:
        instances = await migration.running_instances(session, code=code)
    chosen = {state: form.text(f"to-{state}") for group in instances for state in group.states}
    return {name: to for name, to in sorted(chosen.items()) if to}


def _result(batches: Sequence[migration.MigrationBatch], *, moved: bool) -> MigrationResult:
    lines = [line for batch in batches for line in batch.lines]
    counts = Counter(line.found.outcome for line in lines)
    return MigrationResult(
        moved,
        sum(line.found.goes for line in lines),
        sum(batch.looked_at for batch in batches),
        [(WORDS[outcome], counts[outcome]) for outcome in MigrationOutcome if counts[outcome]],
        [(line, WORDS[line.found.outcome]) for line in lines if not line.found.goes],
    )


async def _show(
    page: PageRequest,
    session: AsyncSession,
    plan: MigrationPlan,
    result: MigrationResult | None = None,
    error: DomainError | None = None,
) -> Response:
    definition = dsl.read((await workflow.find_definition(session, code=plan.code, version=plan.version)).dsl)
    places = await _places(session, definition, plan.code, plan.version)
    return page.show(
        MigrationPage(
            definition=definition,
            number=plan.version,
            places=places,
            running=sum(place.count for place in places),
            mapping=plan.mapping,
            result=result,
            most=AT_ONCE,
            state=FormState(error=error),
        )
    )


async def _places(session: AsyncSession, definition: Definition, code: str, version: int) -> list[OccupiedState]:
    counts: Counter[str] = Counter()
    labels: dict[str, Text] = {}
    for group in sorted(await migration.running_instances(session, code=code), key=lambda candidate: candidate.version):
        if group.version == version or not group.states:
            continue
        counts.update(group.states)
        other_definition = dsl.read((await workflow.find_definition(session, code=code, version=group.version)).dsl)
        labels |= {state: other_definition.state(state).label for state in group.states}
    return [
        OccupiedState(state, labels[state], count, state in definition.states)
        for state, count in sorted(counts.items())
    ]
