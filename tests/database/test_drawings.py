"""Drawings on each database: two who write at once, and pages in the order of numbers whoever reads them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.bootstrap import carriers
from saraban.documents.core.service import DocumentServices
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import CONTRACT, KINDS, SHOP, AudienceKind, DrawingKind
from saraban.documents.drawing.domain.register_import import columns_of
from saraban.documents.drawing.models import ShopDrawing, ShopDrawingRevision
from saraban.documents.drawing.repository import registers as register_rows
from saraban.documents.drawing.repository.registers import DrawingSearch
from saraban.documents.drawing.schemas import DrawingChanges, DrawingQuery, NewDrawing, NewDrawingRevision
from saraban.documents.drawing.service.import_lines import by_drawing
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.identity.models import Organization
from saraban.imports.service.run import import_batch
from saraban.kit.clock import SystemClock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError
from saraban.kit.idempotency import Idempotency
from saraban.kit.locks import DatabaseLocks
from saraban.kit.operation import Receipt
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.text import sort_key
from saraban.numbering import service as numbering
from saraban.numbering.issue.endpoints import request_of
from saraban.numbering.issue.schemas import GenerateIn
from saraban.numbering.series.models import LedgerEntry
from saraban.projects import service as projects
from saraban.projects.models import Discipline, Project, ShopDrawingMainCategory, Tag
from saraban.projects.schemas import RegisterSettings
from tests.drawing_imports import begun_import
from tests.factories.contexts import context

pytestmark = pytest.mark.sampled("mariadb")

CLOCK = SystemClock(ZoneInfo("Asia/Bangkok"))


@dataclass
class Register:
    db: Database
    project: Project
    organizations: dict[str, Organization]

    async def as_(self, account: str) -> RequestContext:
        async with self.db.reading() as session:
            caller = await identity.find_caller(session, username=account)
        assert caller is not None
        return context(caller=caller, now=CLOCK.now())

    async def create(
        self,
        account: str,
        kind: DrawingKind,
        number: str,
        originator: str | None = None,
        *,
        title: str = "แปลนฐานราก",
    ) -> Receipt:
        ctx = await self.as_(account)
        new = NewDrawing(
            project_public_id=self.project.public_id,
            originator_organization_public_id=self.organizations[originator].public_id if originator else None,
            drawing_number=number,
            title=title,
        )
        return await self.db.transact(lambda session: drawings.register(ctx, session, kind, new))

    async def issue(self, services: DocumentServices) -> Receipt:
        """Register a shop drawing with the next number of the format."""
        ctx = await self.as_("admin")
        new = NewDrawing(project_public_id=self.project.public_id, category_code="FND", title="แปลนฐานราก")
        return await drawings.create(ctx, services, SHOP, new)

    async def print_letters(self, kind: DrawingKind) -> None:
        """Number drawings by a format that prints the revision, of registers that count A, B, C."""
        ctx, project = await self.as_("admin"), self.project.public_id
        target = numbering.FormatTarget(project, "DRAWING")
        wanted = numbering.FormatDraft(template="{PROJECT}-{SEQ:4}-{REV}", reason="For the test of numbers")
        settings = RegisterSettings(revision_scheme="A", number_pattern=None)

        async def save(session: AsyncSession) -> None:
            await numbering.save_format(ctx, session, target, wanted)
            await projects.save_drawing_settings(
                ctx, session, project_public_id=project, register=kind.path, wanted=settings
            )

        await self.db.transact(save)

    async def revise(self, account: str, kind: DrawingKind, receipt: Receipt, label: str | None = None) -> Receipt:
        ctx = await self.as_(account)
        new = NewDrawingRevision(label=label)
        return await self.db.transact(lambda session: drawings.revise(ctx, session, kind, receipt.resource_id, new))

    async def pages(self, account: str, kind: DrawingKind, *, limit: int, **asked: str) -> list[str]:
        """Every number of a register, page by page."""
        ctx, found, cursor = await self.as_(account), [], None
        while True:
            query = DrawingQuery.model_validate(
                {"projectPublicId": self.project.public_id, "limit": limit, "cursor": cursor, **asked}
            )
            async with self.db.reading() as session:
                page = await drawings.list_drawings(ctx, session, kind, query)
            found += [one.drawing_number for one in page.items]
            if (cursor := page.next_cursor) is None:
                return found

    async def import_lines(self, *lines: Sequence[object]) -> None:
        """Import lines of shop drawings, as a worker does it in one turn."""
        ctx = await self.as_("admin")
        run, turn = await begun_import(self.db, ctx, self.project)
        names = [column.key for column in columns_of(SHOP)]
        rows = [
            SheetRow(number, dict(zip(names, (str(cell or "") for cell in line), strict=False)))
            for number, line in enumerate(lines, 2)
        ]
        await import_batch(self.db, run, turn, by_drawing(rows, SHOP))


@pytest_asyncio.fixture
async def register(any_people_db: Database) -> Register:
    async with any_people_db.reading() as session:
        project = (await session.scalars(sa.select(Project).where(Project.project_code == "LCBP3-C2"))).one()
        found = await session.scalars(sa.select(Organization))
        return Register(any_people_db, project, {one.organization_code: one for one in found})


async def insert(session: AsyncSession, row: object) -> None:
    session.add(row)


async def told(*those: Any) -> list[str]:
    found = await asyncio.gather(*those, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, DomainError):
            raise one
    return sorted(one.code if isinstance(one, DomainError) else "" for one in found)


class TestAtOnce:
    async def test_one_of_several_has_the_number(self, register: Register) -> None:
        several = (register.create("admin", SHOP, "N-1") for _ in range(4))

        assert await told(*several) == ["", *["DRAWING_NUMBER_TAKEN"] * 3]
        assert await register.pages("admin", SHOP, limit=10) == ["N-1"]

    async def test_imports_and_registering_by_hand_agree(self, register: Register) -> None:
        lines = [[f"N-{place}", "", "", label, "", "แปลน"] for place in (1, 2) for label in ("0", "1")]
        other = [[f"N-{place}", "", "", label, "", "แปลน"] for place in (2, 1) for label in ("0", "1")]
        by_hand = [register.create("admin", SHOP, "N-1"), register.import_lines(*lines), register.import_lines(*other)]

        assert set(await told(*by_hand)) <= {"", "DRAWING_NUMBER_TAKEN"}
        async with register.db.reading() as session:
            rows = list(await session.scalars(sa.select(ShopDrawingRevision)))
        histories: dict[int, list[ShopDrawingRevision]] = {}
        for row in sorted(rows, key=lambda one: one.revision_number):
            histories.setdefault(row.shop_drawing_id, []).append(row)
        assert [[row.revision_label for row in found] for found in histories.values()] == [["0", "1"]] * 2
        assert all([row.is_current for row in found] == [None, True] for found in histories.values())
        assert all(found[0].current_until == found[1].current_from for found in histories.values())

    async def test_each_register_has_it_for_itself(self, register: Register) -> None:
        assert await told(register.create("admin", SHOP, "N-1"), register.create("admin", CONTRACT, "N-1")) == ["", ""]

    async def test_numbers_of_the_format_step_over_those_from_outside(self, register: Register) -> None:
        allocator = numbering.Allocator(
            register.db, DatabaseLocks(), budget=numbering.RetryBudget(deadline=60), lock_timeout=60
        )
        services = DocumentServices(register.db, Idempotency(register.db), allocator, ())
        category = ShopDrawingMainCategory(
            project_id=register.project.id, main_category_code="FND", main_category_name="ฐานราก"
        )
        await register.db.transact(lambda session: insert(session, category))
        stated = [f"LCBP3-C2-GEN-FND-000{place}-0" for place in (2, 4)]
        try:
            told_of = await told(
                *(register.issue(services) for _ in range(4)),
                *(register.create("admin", SHOP, number) for number in stated),
            )
        finally:
            await allocator.close()

        found = await register.pages("admin", SHOP, limit=10)
        assert len(found) == 6 - told_of.count("DRAWING_NUMBER_TAKEN")
        assert len(set(found)) == len(found)
        assert [one async for one in numbering.check_consistency(register.db, carriers=carriers())] == []

    @pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
    @pytest.mark.sampled("mariadb-shop")
    async def test_generate_reserve_and_drawings_give_each_number_once(
        self, register: Register, kind: DrawingKind
    ) -> None:
        await register.print_letters(kind)
        asked = {} if kind is SHOP else {"register": kind.path}  # shop drawings when left out
        body = GenerateIn.model_validate(
            {
                "projectPublicId": register.project.public_id,
                "correspondenceTypeCode": "DRAWING",
                "originatorOrganizationPublicId": register.organizations["กทท."].public_id,
                **asked,
            }
        )
        ctx, new = await register.as_("admin"), NewDrawing(project_public_id=register.project.public_id, title="แปลน")
        allocator = numbering.Allocator(
            register.db, DatabaseLocks(), budget=numbering.RetryBudget(deadline=60), lock_timeout=60
        )
        services = DocumentServices(register.db, Idempotency(register.db), allocator, ())

        async def issue(lasts: timedelta | None = None) -> numbering.Issued:
            async with register.db.reading() as session:
                plan = await numbering.plan(ctx, session, request_of(body))
            return await allocator.issue(numbering.IssueRequest(ctx, plan, lasts=lasts))

        try:
            *_, reserved = await asyncio.gather(
                *(issue() for _ in range(4)),
                *(drawings.create(ctx, services, kind, new) for _ in range(4)),
                *(issue(timedelta(minutes=5)) for _ in range(4)),
            )
            await drawings.create(ctx, services, kind, new.model_copy(update={"reservation_token": reserved.public_id}))
        finally:
            await allocator.close()

        async with register.db.reading() as session:
            entries = list(await session.scalars(sa.select(LedgerEntry)))
        numbers = sorted(one.document_number for one in entries)
        assert numbers == [f"LCBP3-C2-{place:04}-A" for place in range(1, 13)]
        assert {one.register for one in entries} == {kind.path}
        listed = await register.pages("admin", kind, limit=10)
        assert len(listed) == 5
        assert reserved.number in listed
        assert [one async for one in numbering.check_consistency(register.db, carriers=carriers())] == []

    async def test_revisions_follow_each_other(self, register: Register) -> None:
        drawing = await register.create("admin", SHOP, "N-1")

        assert await told(*(register.revise("admin", SHOP, drawing) for _ in range(4))) == [""] * 4
        assert await told(*(register.revise("admin", SHOP, drawing, "9") for _ in range(2))) == [
            "",
            "DRAWING_REVISION_NOT_FORWARD",
        ]
        async with register.db.reading() as session:
            shown = await drawings.list_revisions(await register.as_("admin"), session, SHOP, drawing.resource_id)
        assert [one.revision_label for one in shown] == ["9", "4", "3", "2", "1", "0"]
        assert [one.is_current for one in shown] == [True, *[False] * 5]
        assert all(later.current_from == one.current_until for later, one in pairwise(shown))


@pytest.mark.sampled("mariadb-shop")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_a_register_is_filtered_by_a_tag(register: Register, kind: DrawingKind) -> None:
    async with register.db.writing() as session:
        session.add(Tag(project_id=register.project.id, tag_code="SITE", tag_name="หน้างาน"))
    ctx = await register.as_("admin")
    for place in range(1, 4):
        made = await register.create("admin", kind, f"N-{place}")
        if place != 2:
            await register.db.transact(partial(_tagged, ctx, kind, made))
    query = DrawingQuery.model_validate({"projectPublicId": register.project.public_id, "tag": "SITE"})
    async with register.db.reading() as session:
        page = await drawings.list_drawings(ctx, session, kind, query)

    assert [(one.drawing_number, [tag.code for tag in one.tags]) for one in page.items] == [
        ("N-1", ["SITE"]),
        ("N-3", ["SITE"]),
    ]


async def _tagged(ctx: RequestContext, kind: DrawingKind, made: Receipt, session: AsyncSession) -> Receipt:
    return await drawings.change(ctx, session, kind, made.resource_id, DrawingChanges(tags=["SITE"]), None)


async def test_pages_are_in_one_order_for_each_reader(register: Register) -> None:
    """What concerns everybody and what is one's own are two ranges of the index, merged by number."""
    for place in range(1, 8):
        await register.create("admin", SHOP, f"n-{place}" if place % 2 else f"N-{place}")
        await register.create("dc.contractor", SHOP, f"N-{place}a", "ผรม.2")

    every = [f"n-{place}" if place % 2 else f"N-{place}" for place in range(1, 8)]
    own = sorted([*every, *(f"N-{place}a" for place in range(1, 8))], key=sort_key)

    assert await register.pages("admin", SHOP, limit=3) == own
    assert await register.pages("dc.contractor", SHOP, limit=3) == own
    assert await register.pages("dc.consultant", SHOP, limit=3) == every


@pytest.mark.parametrize("asked", [{}, {"asOf": "2200-01-01"}])
async def test_what_the_index_of_search_has_not_read_is_found_as_people_type_it(
    register: Register, asked: dict[str, str]
) -> None:
    await register.create("admin", SHOP, "ANS-1 ก", title="แปลนชั้น ๒ Pump")
    await register.create("admin", SHOP, "ANS-2 ก")

    for text in ("ans-1", "ANS-1 ก", "ANS-๑", "ชั้น ๒", "ชั้น 2", "pump", "1 -ans-2"):
        assert await register.pages("admin", SHOP, limit=5, q=text, **asked) == ["ANS-1 ก"], text


@pytest.mark.parametrize("contracts", [26, 200], ids=["merged", "more than are merged"])
async def test_a_page_of_a_discipline_for_a_party_to_many_contracts(register: Register, contracts: int) -> None:
    """The drawings are numbered by what they are of; who is shown them is a pair of numbers without rows."""
    project, others = register.project.id, {10_000 + place: 10_000 + place for place in range(contracts)}
    async with register.db.writing() as session:
        discipline = (await session.scalars(sa.select(Discipline).order_by(Discipline.id).limit(1))).one()
        for number, (kind, key, of) in {
            "N-1 contract": (AudienceKind.CONTRACT, discipline.contract_id, discipline.id),
            "N-2 contract, no discipline": (AudienceKind.CONTRACT, discipline.contract_id, None),
            "N-3 hidden contract": (AudienceKind.CONTRACT, 9_999, discipline.id),
            "N-4 organization": (AudienceKind.ORGANIZATION, 900_001, discipline.id),
            "N-5 project": (AudienceKind.PROJECT, 0, discipline.id),
        }.items():
            head = ShopDrawing(
                project_id=project, audience_kind=kind, audience_id=key, discipline_id=of, drawing_number=number
            )
            session.add(head)
            await session.flush()
            first = {"revision_number": 0, "is_current": True, "title": "แปลน", "current_from": CLOCK.now()}
            session.add(ShopDrawingRevision(shop_drawing_id=head.id, **first))
        await session.commit()
    own = ((AudienceKind.ORGANIZATION, 900_001), (AudienceKind.PROJECT, 0))
    keys = [discipline.contract_id, *others.values()]
    search = DrawingSearch(
        project,
        (*((AudienceKind.CONTRACT, key) for key in keys), *own),
        disciplines={discipline.id: discipline.contract_id, **others},
    )

    async with register.db.reading() as session:
        found = await register_rows.find_places(session, SHOP, search, limit=10)

    assert [one.number for one in found] == ["N-1 contract", "N-4 organization", "N-5 project"]
