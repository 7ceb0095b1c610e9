"""Master data of every kind: one service, asked once with each kind for what they share."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.audit.models import AuditLog
from saraban.bootstrap import System
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import find_caller, system_context
from saraban.kit.errors import DomainError, Forbidden, Invalid, NotFound
from saraban.kit.sheet_columns import SheetRow
from saraban.numbering.series.models import NumberCounter
from saraban.projects.models import Contract, Discipline, Project
from saraban.setup.domain import master_kinds as kinds
from saraban.setup.domain.master_kinds import MasterKind, Owner
from saraban.setup.domain.master_rows import (
    CodeOfTheProduct,
    MasterAddress,
    MasterCodeTaken,
    MasterRow,
    MasterRowChanged,
    PrintedCodeChanges,
)
from saraban.setup.schemas.master_data import new_row, row_change
from saraban.setup.service import master_data, master_import

every_kind = pytest.mark.parametrize(
    "kind", [one for one in kinds.KINDS if one is not kinds.PROJECT], ids=lambda kind: kind.name
)
of_lists = pytest.mark.parametrize("kind", [one for one in kinds.KINDS if one.ordered], ids=lambda kind: kind.name)


class Desk:
    """Somebody who works on master data of the demo project."""

    def __init__(self, system: System, places: dict[Owner, UUID | None], who: str | None = None) -> None:
        self.system, self.places, self.who = system, places, who

    async def do(self, work: Callable[..., Awaitable[Any]], *args: Any, **more: Any) -> Any:
        async def step(session: Any) -> Any:
            ctx = await system_context(session, self.system.clock)
            if self.who is not None:
                caller = await find_caller(session, username=self.who)
                assert caller is not None
                ctx = RequestContext(caller, ctx.now, ctx.zone)
            return await work(ctx, session, *args, **more)

        return await self.system.db.transact(step)

    def owner(self, kind: MasterKind) -> UUID | None:
        return self.places[kind.owner]

    async def add(self, kind: MasterKind, **values: Any) -> MasterRow:
        stated = {one.name: one.example for one in kind.fields if one.example} | values
        new = new_row(kind).model_validate(stated)
        return await self.do(master_data.create, kind, owner=self.owner(kind), new=new)  # type: ignore[no-any-return]

    def address(self, row: MasterRow) -> MasterAddress:
        if row.public_id:
            return MasterAddress(public_id=row.public_id)
        return MasterAddress(row.code, self.owner(row.kind), row.within or None)

    async def change(self, row: MasterRow, *, if_match: str | None = None, **values: Any) -> MasterRow:
        wanted = row_change(row.kind).model_validate(values)
        return await self.do(  # type: ignore[no-any-return]
            master_data.change, row.kind, self.address(row), wanted=wanted, if_match=if_match
        )

    async def codes(self, kind: MasterKind, **wanted: Any) -> list[str]:
        page = await self.do(master_data.list_rows, kind, owner=self.owner(kind), limit=100, **wanted)
        return [row.code for row in page.items]

    async def audited(self, action: str) -> list[dict[str, Any]]:
        async with self.system.db.reading() as session:
            rows = await session.scalars(sa.select(AuditLog.details_json).where(AuditLog.action == action))
            return list(rows)


@pytest.fixture
async def desk(system: System) -> Desk:
    async with system.db.reading() as session:
        project = await session.scalar(sa.select(Project.public_id))
        contract = await session.scalar(sa.select(Contract.public_id))
    return Desk(system, {Owner.INSTALLATION: None, Owner.PROJECT: project, Owner.CONTRACT: contract})


class TestARow:
    @every_kind
    async def test_is_added_read_changed_closed_and_reopened(self, desk: Desk, kind: MasterKind) -> None:
        row = await desk.add(kind)
        name = kind.fields[2].name

        changed = await desk.change(row, **{name: "Another name"})
        closed = await desk.do(master_data.set_active, kind, desk.address(row), active=False)

        read = await desk.do(master_data.read, kind, desk.address(row))
        assert read.values == {**row.values, name: "Another name"}
        assert (row.is_active, changed.is_active, closed.is_active, read.is_active) == (True, True, False, False)
        assert row.code not in await desk.codes(kind)
        assert row.code in await desk.codes(kind, include_closed=True)
        await desk.do(master_data.set_active, kind, desk.address(row), active=True)
        assert row.code in await desk.codes(kind)

    @every_kind
    async def test_is_audited_with_before_and_after(self, desk: Desk, kind: MasterKind) -> None:
        row = await desk.add(kind)
        name = kind.fields[2].name

        await desk.change(row, **{name: "Another name"})

        (made,) = await desk.audited(f"{kind.name}.create")
        (changed,) = await desk.audited(f"{kind.name}.change")
        assert made["after"] == dict(row.values)
        assert changed["before"] == {name: row.values[name]}
        assert changed["after"] == {name: "Another name"}

    @of_lists
    async def test_has_a_code_that_looks_like_no_other(self, desk: Desk, kind: MasterKind) -> None:
        row = await desk.add(kind)

        for twin in (row.code.lower(), f" {row.code[0]}\u2060{row.code[1:].lower()}"):
            with pytest.raises(MasterCodeTaken) as refused:
                await desk.add(kind, **{kind.code.name: twin})

            assert [(one.pointer, one.code) for one in refused.value.fields] == [(f"/{kind.code.name}", "collides")]
            assert refused.value.values["other"] == row.code
        assert (await desk.change(row, **{kind.code.name: row.code.lower()})).code == row.code.lower()

    @every_kind
    async def test_has_a_code_of_its_own(self, desk: Desk, kind: MasterKind) -> None:
        await desk.add(kind)

        with pytest.raises(MasterCodeTaken) as refused:
            await desk.add(kind)

        assert refused.value.fields[0].pointer in {f"/{kind.code.name}", f"/{kind.unique}"}

    @every_kind
    async def test_is_not_changed_by_who_saw_another_version(self, desk: Desk, kind: MasterKind) -> None:
        row = await desk.add(kind)
        name = kind.fields[2].name
        await desk.change(row, if_match=row.etag, **{name: "First"})

        with pytest.raises(MasterRowChanged):
            await desk.change(row, if_match=row.etag, **{name: "Second"})

    @of_lists
    async def test_stands_where_people_put_it(self, desk: Desk, kind: MasterKind) -> None:
        row = await desk.add(kind)
        before = await desk.codes(kind)

        await desk.do(master_data.reorder, kind, owner=desk.owner(kind), codes=[row.code])

        assert before[-1] == row.code
        assert await desk.codes(kind) == [row.code, *before[:-1]]

    @every_kind
    async def test_is_kept_from_those_without_the_permission(self, desk: Desk, kind: MasterKind) -> None:
        viewer = Desk(desk.system, desk.places, "viewer")

        with pytest.raises(Forbidden):
            await viewer.add(kind)


class TestACodeOfTheProduct:
    @pytest.mark.parametrize(
        ("kind", "code"),
        [
            (kinds.CORRESPONDENCE_TYPE, "RFA"),
            (kinds.CORRESPONDENCE_STATUS, "DRAFT"),
            (kinds.RFA_STATUS, "FAP"),
            (kinds.RFA_APPROVE_CODE, "1A"),
            (kinds.CIRCULATION_STATUS, "OPEN"),
        ],
        ids=lambda value: getattr(value, "name", value),
    )
    async def test_is_neither_closed_nor_renamed(self, desk: Desk, kind: MasterKind, code: str) -> None:
        row = await desk.do(master_data.read, kind, MasterAddress(code))

        with pytest.raises(CodeOfTheProduct):
            await desk.do(master_data.set_active, kind, MasterAddress(code), active=False)
        with pytest.raises(CodeOfTheProduct):
            await desk.change(row, code="NEW")
        assert (await desk.change(row, nameEn="Named otherwise")).values["nameEn"] == "Named otherwise"


class TestAPrintedCode:
    async def test_changes_only_once_the_series_that_end_are_known(self, desk: Desk) -> None:
        row = await desk.do(master_data.read, kinds.DISCIPLINE, MasterAddress("TER", desk.places[Owner.CONTRACT]))
        await desk.system.db.transact(lambda session: _counted(session, row.key))

        with pytest.raises(PrintedCodeChanges) as refused:
            await desk.change(row, code="TRM")

        assert [(one.series, one.last_number) for one in refused.value.series] == [("C2-TER-{SEQ}", 7)]
        assert refused.value.fields[0].pointer == "/code"
        assert (await desk.change(row, code="TRM", confirmSeries=True)).code == "TRM"

    async def test_that_no_series_prints_needs_no_confirmation(self, desk: Desk) -> None:
        row = await desk.add(kinds.DISCIPLINE)

        assert (await desk.change(row, code="ELX")).code == "ELX"


async def _counted(session: Any, discipline: int) -> None:
    project = await session.scalar(sa.select(Project))
    for series in ("C2-TER-{SEQ}", "C2-OTHER-{SEQ}"):
        session.add(
            NumberCounter(
                project_id=project.id,
                series=series,
                originator_organization_id=1,
                correspondence_type_id=1,
                discipline_id=discipline,
                current_year=2026,
                last_number=7,
                updated_at=project.created_at,
            )
        )


class TestATag:
    async def test_has_a_name_of_its_own(self, desk: Desk) -> None:
        await desk.add(kinds.TAG)

        with pytest.raises(MasterCodeTaken) as refused:
            await desk.add(kinds.TAG, code="OTHER")

        assert refused.value.fields[0].pointer == "/nameTh"


class TestASubType:
    async def test_is_one_of_a_type_and_named_with_it_where_two_have_the_code(self, desk: Desk) -> None:
        of_transmittals = await desk.add(kinds.SUB_TYPE, code="TWO")
        of_letters = await desk.add(kinds.SUB_TYPE, code="TWO", typeCode="LETTER")

        with pytest.raises(Invalid) as refused:
            await desk.do(master_data.read, kinds.SUB_TYPE, MasterAddress("TWO", desk.places[Owner.CONTRACT]))

        assert refused.value.fields[0].pointer == "query:typeCode"
        assert [
            await desk.do(master_data.read, kinds.SUB_TYPE, desk.address(one)) for one in (of_transmittals, of_letters)
        ]

    async def test_belongs_to_a_type_that_there_is(self, desk: Desk) -> None:
        with pytest.raises(Invalid) as refused:
            await desk.add(kinds.SUB_TYPE, typeCode="NONE")

        assert refused.value.fields[0].pointer == "/typeCode"


class TestASubCategory:
    async def test_goes_with_the_categories_that_it_names(self, desk: Desk) -> None:
        _, category, sub_category, *_ = kinds.DRAWING_CATEGORIES
        for code in ("ST", "AR"):
            await desk.add(category, code=code)
        row = await desk.add(sub_category, categories="ST,AR , ST")

        changed = await desk.change(row, categories="ST")
        with pytest.raises(Invalid) as refused:
            await desk.change(changed, categories="ST, NONE")
        with pytest.raises(Invalid) as not_imported:
            await desk.do(
                master_import.import_rows,
                sub_category,
                owner=desk.owner(sub_category),
                rows=[SheetRow(2, {"code": row.code, "nameTh": "เสาเข็ม", "categories": "NONE"})],
                dry_run=True,
            )
        await desk.do(
            master_import.import_rows,
            sub_category,
            owner=desk.owner(sub_category),
            rows=[
                SheetRow(2, {"code": row.code, "nameTh": "เสาเข็ม", "categories": "AR"}),
                SheetRow(3, {"code": "NEW", "nameTh": "ใหม่", "categories": "AR, ST"}),
            ],
        )

        page = await desk.do(master_data.list_rows, sub_category, owner=desk.owner(sub_category))
        assert (row.values["categories"], changed.values["categories"]) == ("AR, ST", "ST")
        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/categories", "unknown")]
        assert [one.pointer for one in not_imported.value.fields] == ["/2/categories"]
        assert {one.code: one.values["categories"] for one in page.items} == {row.code: "AR", "NEW": "AR, ST"}


class TestAContract:
    async def test_does_not_end_before_it_begins(self, desk: Desk) -> None:
        with pytest.raises(Invalid) as refused:
            await desk.add(kinds.CONTRACT, startDate="2027-01-02", endDate="2027-01-01")

        assert refused.value.fields[0].pointer == "/endDate"


class TestAList:
    async def test_is_read_page_by_page_in_its_order(self, desk: Desk) -> None:
        kind, owner = kinds.CORRESPONDENCE_STATUS, None
        whole = await desk.codes(kind)
        found: list[str] = []
        cursor = None
        while True:
            page = await desk.do(master_data.list_rows, kind, owner=owner, cursor=cursor, limit=7)
            found += [row.code for row in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break

        assert found == whole

    async def test_finds_part_of_a_name(self, desk: Desk) -> None:
        assert await desk.codes(kinds.RFA_APPROVE_CODE, search="Remarks") == ["1R"]

    async def test_of_a_project_that_one_may_not_see_is_not_there(self, desk: Desk) -> None:
        nobody = UUID(int=7)

        with pytest.raises(NotFound):
            await desk.do(master_data.list_rows, kinds.TAG, owner=nobody)

    async def test_refuses_a_cursor_it_did_not_give(self, desk: Desk) -> None:
        with pytest.raises(DomainError):
            await desk.codes(kinds.TAG, cursor="no-cursor")


async def test_a_renamed_discipline_keeps_its_places_in_review_teams(desk: Desk) -> None:
    row = await desk.add(kinds.DISCIPLINE)

    await desk.change(row, code="ELC")

    async with desk.system.db.reading() as session:
        assert await session.scalar(sa.select(Discipline.id).where(Discipline.discipline_code == "ELC")) == row.key
