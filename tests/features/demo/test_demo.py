"""The demo project's documents and the story, played on a copy of the demo database."""

import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import orjson
import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban import bootstrap, config
from saraban.attachments.models import Attachment
from saraban.cli.output import EXIT_CODES
from saraban.config import Settings
from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import Document
from saraban.documents.demo import service as demo
from saraban.documents.demo.domain import pdf_page, png_picture
from saraban.documents.demo.service import DemoMissing, WalkthroughDocument, find_demo_project, load, walk_through
from saraban.documents.demo.service.scripts import demo_scripts
from saraban.documents.drawing.models import AsbuiltDrawing, ContractDrawing, ShopDrawing, ShopDrawingRevision
from saraban.documents.rfa.models import RfaItem
from saraban.identity.models import User
from saraban.kit.clock import local_date
from saraban.kit.dates import BUDDHIST_OFFSET
from saraban.kit.errors import ErrorKind
from saraban.numbering.series.models import LedgerEntry, NumberCounter
from saraban.workflow.runtime.models import WorkflowInstance
from tests.command_tree import run_program
from tests.factories.contexts import context

if TYPE_CHECKING:
    from saraban.bootstrap import System


@pytest_asyncio.fixture
async def loaded(settings_with_documents: Settings) -> "AsyncIterator[System]":
    """Everything wired on the demo project with its documents."""
    async with bootstrap.closing(bootstrap.wire(settings_with_documents)) as system:
        yield system


async def told_once(system: "System") -> tuple[int, list[WalkthroughDocument]]:
    scenes = [scene async for scene in walk_through(system.demo.services, clock=system.clock)]
    return len(scenes), [scene.chapter for scene in scenes if scene.chapter is not None]


def numbers_of(chapters: list[WalkthroughDocument]) -> list[str]:
    return [chapter.document["data"]["documentNumber"] for chapter in chapters]


class TestDocuments:
    async def test_carry_drawings_of_three_registers(self, loaded: "System") -> None:
        async with loaded.db.reading() as session:
            many = [
                await session.scalar(sa.select(sa.func.count()).select_from(model))
                for model in (ContractDrawing, ShopDrawing, AsbuiltDrawing)
            ]
            codes = set(await session.scalars(sa.select(RfaItem.rfa_approve_code_id)))
            current = await session.scalars(
                sa.select(ShopDrawingRevision.revision_label).where(ShopDrawingRevision.is_current == sa.true())
            )
            labels = sorted(current)

        assert many == [5, 8, 1]
        assert labels == ["0"] * 4 + ["1"] * 4
        assert len(codes) > 1

    async def test_stand_in_many_states(self, loaded: "System") -> None:
        async with loaded.db.reading() as session:
            states = set(await session.scalars(sa.select(WorkflowInstance.current_state)))
            heads = await session.scalar(sa.select(sa.func.count()).select_from(Document))
            sheets = await session.scalar(sa.select(sa.func.count()).select_from(Circulation))

        assert heads + sheets == len(demo_scripts().documents) >= 20
        assert states >= {
            "draft", "in_review", "pending_review", "pending_approval", "approved", "rejected",
            "revision_requested", "submitted", "completed", "routing",
        }  # fmt: skip

    async def test_hold_a_number_each(self, loaded: "System") -> None:
        async with loaded.db.reading() as session:
            held = set(await session.scalars(sa.select(LedgerEntry.holder_public_id)))
            documents = set(await session.scalars(sa.select(Document.public_id)))
            sheets = set(await session.scalars(sa.select(Circulation.public_id)))
            drawn = {
                one
                for head in (ContractDrawing, ShopDrawing, AsbuiltDrawing)
                for one in await session.scalars(sa.select(head.public_id))
            }

        assert held == documents | sheets | drawn

    async def test_leave_the_series_of_the_story_alone(self, loaded: "System") -> None:
        async with loaded.db.reading() as session:
            used = set(await session.scalars(sa.select(NumberCounter.series)))

        kept_free = ("LCBP3-C2-RFA-TER-RPT", "คคง.-สคฉ.3-", "-21-", "คคง.-CIR", "คคง.-ผรม.1", "ผรม.1-คคง.")
        assert not [series for series in used for part in kept_free if part in series]

    async def test_lie_in_the_past_and_are_partly_overdue(self, loaded: "System") -> None:
        now = loaded.clock.now()
        async with loaded.db.reading() as session:
            moments = set(await session.scalars(sa.select(Document.created_at)))
            entries = set(await session.scalars(sa.select(LedgerEntry.created_at)))

        assert max(moments) < now
        assert min(moments) < now - timedelta(days=50)
        assert entries >= moments

    async def test_have_files_that_are_what_their_names_say(self, loaded: "System") -> None:
        async with loaded.db.reading() as session:
            rows = (await session.scalars(sa.select(Attachment))).all()

        assert {row.mime_type for row in rows} == {"application/pdf", "image/png"}
        assert not [row.original_filename for row in rows if row.is_temporary]

    async def test_loaded_again_add_nothing(self, loaded: "System") -> None:
        assert await loaded.demo.load_documents() == 0

    @pytest.mark.parametrize("acts", [0, 2])
    @pytest.mark.sampled("[2]")
    async def test_go_on_where_they_were_broken_off(self, system: "System", acts: int) -> None:
        stage, first, now = system.demo.services, demo_scripts().documents[0], system.clock.now()
        async with system.db.reading() as session:
            found = await find_demo_project(session, now, stage.zone)
        document = await demo.write(stage, found, first, now=now - timedelta(days=first.age), known={})
        for act in first.acts[:acts]:
            document = await demo.take_action(stage, found, first, document, act, now - timedelta(days=first.age))

        assert await load(stage, now=now, scripts=demo_scripts().documents[:2]) == 1

        public_id = UUID(document["data"]["publicId"])
        whole = await demo.read(context(caller=found.looker, now=now), stage, public_id, first.where)
        assert whole["workflow"]["currentState"] == "approved"

    async def test_are_left_out_where_a_demo_account_is_closed(self, system: "System") -> None:
        await close_account(system, "dc.contractor")

        assert await system.demo.load_documents() == 0


async def close_account(system: "System", username: str) -> None:
    async with system.db.writing() as session:
        await session.execute(sa.update(User).where(User.username == username).values(is_active=False))


class TestStory:
    async def test_draws_the_numbers_of_the_specification_and_remembers_each_step(self, system: "System") -> None:
        year = local_date(system.clock.now(), system.clock.zone).year + BUDDHIST_OFFSET

        scenes, chapters = await told_once(system)

        assert scenes == demo_scripts().steps
        assert numbers_of(chapters) == [
            "LCBP3-C2-RFA-TER-RPT-0001-A",
            f"คคง.-สคฉ.3-0001-{year}",
            f"คคง.-สคฉ.3-21-0001-{year}",
            f"คคง.-CIR-0001-{year}",
        ]

        assert [chapter.document["workflow"]["currentState"] for chapter in chapters] == [
            "approved",
            "approved",
            "completed",
            "completed",
        ]
        for chapter in chapters:
            assert [step.action for step in chapter.steps] == [act.action for act in chapter.script.acts]
            assert chapter.trail[0].action == f"{chapter.script.where}.create"
            assert len(chapter.trail) >= 1 + len(chapter.steps)

    async def test_told_again_goes_on_with_the_next_numbers(self, loaded: "System") -> None:
        """It begins at one beside the demo documents too."""
        first = numbers_of((await told_once(loaded))[1])
        second = numbers_of((await told_once(loaded))[1])

        assert all("-0001" in number for number in first)
        assert second == [number.replace("-0001", "-0002") for number in first]

    async def test_needs_its_people(self, system: "System") -> None:
        await close_account(system, "reviewer.consultant")

        with pytest.raises(DemoMissing):
            await told_once(system)


class TestCommand:
    @pytest.fixture(autouse=True)
    def terminal(self, settings_with_documents: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("SARABAN_DATA_DIR", str(settings_with_documents.data_dir))
        monkeypatch.setenv("SARABAN_LANG", "en")
        monkeypatch.setenv("COLUMNS", "120")
        config.load.cache_clear()
        yield
        config.load.cache_clear()

    def test_prints_documents_histories_and_the_trail(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["saraban", "demo", "--lang", "th"])

        assert run_program() == 0

        printed = capsys.readouterr().out
        assert "LCBP3-C2-RFA-TER-RPT-0001-A" in printed
        assert "ประวัติของ" in printed
        assert "rfa.create" in printed

    def test_prints_json_without_integer_keys(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["saraban", "demo", "--json"])

        assert run_program() == 0

        story = orjson.loads(capsys.readouterr().out)
        assert story["continued"] is False
        assert [document["state"] for document in story["documents"]] == [
            "approved",
            "approved",
            "completed",
            "completed",
        ]

    def test_is_refused_in_production(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("SARABAN_ENV", "production")
        monkeypatch.setenv("SARABAN_DATABASE_URL", "sqlite:////nowhere/saraban.db")
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org")
        monkeypatch.setattr(sys, "argv", ["saraban", "demo"])

        assert run_program() == EXIT_CODES[ErrorKind.CONFLICT]
        assert "production" in capsys.readouterr().err


class TestFiles:
    def test_a_page_has_a_table_that_finds_its_objects(self) -> None:
        page = pdf_page("ผล (test) report.pdf")

        start = int(page.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
        places = [int(line[:10]) for line in page[start:].split(b"\n")[3:8]]
        assert page[start:].startswith(b"xref")
        assert [page[place:].split(b" ")[0] for place in places] == [b"1", b"2", b"3", b"4", b"5"]

    def test_a_picture_is_a_whole_png(self) -> None:
        picture = png_picture()

        assert picture.startswith(b"\x89PNG\r\n\x1a\n")
        assert picture[-8:-4] == b"IEND"
