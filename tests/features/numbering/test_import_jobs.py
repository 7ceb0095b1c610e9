"""Legacy numbers over HTTP: a sheet is sent in, a worker checks it, somebody tells it to go on, a worker imports it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlalchemy.exc import DBAPIError

from saraban.attachments.adapters import FolderStorage
from saraban.audit.models import AuditLog
from saraban.imports.service import run, uploads
from saraban.kit.db import Database
from saraban.numbering.series.models import LedgerEntry, NumberCounter, NumberImport
from tests.conftest import SignIn
from tests.number_imports import URL, Desk, letter, sheet_of, work_of
from tests.numbering_requests import read_project

SERIES = "คคง.-ผรม.1-{SEQ}-2567"


async def count(db: Database) -> int:
    async with db.reading() as session:
        statement = sa.select(sa.func.count()).select_from(LedgerEntry).where(LedgerEntry.source == "IMPORT")
        return int(await session.scalar(statement) or 0)


@pytest.fixture
def nobody() -> list[object]:
    return [*letter(4)[:2], "NOBODY", *letter(4)[3:]]


@pytest.fixture
async def desk(app: FastAPI, signed_in: SignIn, tmp_path: Path) -> Desk:
    client = await signed_in("padmin")
    return Desk(client, app, (await read_project(client)).id, tmp_path)


class TestUpload:
    async def test_is_accepted_and_waits_for_a_worker(self, desk: Desk) -> None:
        answer = await desk.send(letter(1))

        body = answer.json()
        assert answer.status_code == 202
        assert answer.headers["Location"] == f"{URL}/{body['publicId']}"
        assert (body["state"], body["fileName"], body["report"], body["uploaded"]) == (
            "CHECKING",
            "old.csv",
            None,
            True,
        )
        listed = (await desk.client.get(URL, params={"projectPublicId": desk.project})).json()
        assert [one["publicId"] for one in listed["items"]] == [body["publicId"]]

    @pytest.mark.parametrize(
        ("name", "content", "code"),
        [
            ("a.pdf", b"%PDF-1.7", "unreadable"),
            ("a.xlsx", b"no workbook", "unreadable"),
            ("a.csv", b"PK\x00\x00", "unreadable"),
            ("a.csv", b"", "empty"),
            ("a\ue000.csv", b"x", "control_character"),
        ],
    )
    async def test_of_what_is_no_sheet_is_refused_and_kept_nowhere(
        self, desk: Desk, name: str, content: bytes, code: str
    ) -> None:
        answer = await desk.send_bytes(content, name)

        assert answer.status_code == 422, answer.text
        assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [("/file", code)]
        assert [path for path in (desk.app.state.settings.data_dir / "files").rglob("*") if path.is_file()] == []

    async def test_that_is_too_large_is_broken_off(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.imports.service.uploads.MOST_BYTES", 100)

        answer = await desk.send(*[letter(n) for n in range(1, 20)])

        assert (answer.status_code, answer.json()["code"]) == (413, "FILE_TOO_LARGE")

    async def test_may_be_larger_than_other_requests(self, desk: Desk) -> None:
        padding = b"\n" * (3 * 1024 * 1024)

        answer = await desk.send_bytes(b"number,type,originator\n" + padding, "a.csv")

        assert answer.status_code == 202, answer.text

    async def test_is_for_who_manages_the_numbers(self, desk: Desk, signed_in: SignIn) -> None:
        desk.client = await signed_in("dc.consultant")

        answer = await desk.send(letter(1))

        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
        assert (await desk.client.get(URL, params={"projectPublicId": desk.project})).status_code == 403

    async def test_repeated_with_its_key_is_kept_once(self, desk: Desk) -> None:
        key = {"Idempotency-Key": "import-of-old-letters"}

        first, second = await desk.send(letter(1), **key), await desk.send(letter(1), **key)
        third = await desk.send(letter(2), **key)

        assert second.json() == first.json()
        assert second.headers["Idempotent-Replay"] == "true"
        assert (third.status_code, third.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
        async with desk.app.state.db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(NumberImport)) == 1

    async def test_whose_commit_was_not_answered_keeps_its_file(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = {"Idempotency-Key": "import-of-old-letters"}
        received = uploads._save

        async def lost(*given: Any) -> None:
            await received(*given)
            await given[1].commit()
            raise DBAPIError("COMMIT", None, ConnectionResetError(), connection_invalidated=True)

        with monkeypatch.context() as once:
            once.setattr(uploads, "_save", lost)
            first = await desk.send(letter(1), **key)
        again = await desk.send(letter(1), **key)

        assert (first.status_code, again.status_code) == (503, 202)
        assert await work_of(desk.app).round()
        assert (await desk.read(again.json()["publicId"]))["state"] == "CHECKED"

    async def test_that_is_broken_off_while_it_is_committed_keeps_its_file(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        received, arrived = uploads._save, asyncio.Event()

        async def held(*given: Any) -> None:
            await received(*given)
            await given[1].commit()
            arrived.set()
            await asyncio.Event().wait()

        with monkeypatch.context() as once:
            once.setattr(uploads, "_save", held)
            sending = asyncio.create_task(desk.send(letter(1)))
            await arrived.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending

        assert await work_of(desk.app).round()
        (listed,) = (await desk.client.get(URL, params={"projectPublicId": desk.project})).json()["items"]
        assert listed["state"] == "CHECKED"


class TestCheck:
    @pytest.mark.parametrize("name", ["old.csv", "old.xlsx"])
    async def test_tells_what_would_happen_and_imports_nothing(
        self, desk: Desk, nobody: list[object], name: str
    ) -> None:
        respelled = [letter(7)[0], "letter", "คคง．", "ผรม．1", *letter(7)[4:]]
        found = await desk.checked(letter(1), respelled, nobody, letter(1), name=name)

        report = found["report"]
        assert (found["state"], found["rowsTotal"], found["rowsDone"], found["rowsRefused"]) == ("CHECKED", 4, 4, 2)
        assert (report["ready"], report["there"], report["refused"], report["imported"]) == (2, 0, 2, None)
        assert [(one["line"], one["column"], one["code"]) for one in report["faults"]] == [
            (4, "originator", "unknown"),
            (5, "number", "twice"),
        ]
        assert report["series"] == [{"series": SERIES, "highest": 7, "counter": 0, "jump": 7}]
        assert await count(desk.app.state.db) == 0

    async def test_names_faults_in_the_language_asked_for(self, desk: Desk) -> None:
        found = await desk.checked(letter(1), letter(1))

        thai = await desk.client.get(f"{URL}/{found['publicId']}", headers={"Accept-Language": "th"})

        assert found["report"]["faults"][0]["message"] == "Already on row 2 of this file."
        assert thai.json()["report"]["faults"][0]["message"] == "ซ้ำกับแถว 2 ในไฟล์นี้"

    async def test_of_a_sheet_that_lacks_a_column_says_which(self, desk: Desk) -> None:
        sent = await desk.send_bytes(b"number,originator\nA,B\n", "a.csv")
        await work_of(desk.app).round()

        found = await desk.read(sent.json()["publicId"])

        assert (found["state"], found["report"]) == ("FAILED", None)
        assert found["problem"]["message"] == (
            "The column ประเภท / Type is missing. The headings were looked for in the first 20 rows of the file."
        )

    async def test_shows_the_first_faults_and_has_all_in_the_workbook(
        self, desk: Desk, nobody: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "MOST_FAULTS", 2)
        found = await desk.checked(letter(1), *[[f"X-{n}", *nobody[1:]] for n in range(5)])

        answer = await desk.client.get(f"{URL}/{found['publicId']}/result")

        assert (len(found["report"]["faults"]), found["report"]["refused"]) == (2, 5)
        (tmp_path / "r.xlsx").write_bytes(answer.content)
        results = [row[-3] for row in sheet_of(tmp_path / "r.xlsx")[1:]]
        assert results == ["นำเข้าได้ / can be imported", *["ไม่ผ่าน / rejected"] * 5]

    async def test_that_is_not_done_has_no_workbook(self, desk: Desk) -> None:
        sent = await desk.send(letter(1))

        answer = await desk.client.get(f"{URL}/{sent.json()['publicId']}/result")

        assert (answer.status_code, answer.json()["code"]) == (409, "IMPORT_UNDER_WAY")


class TestCommit:
    async def test_imports_the_good_lines_and_leaves_counters_alone(
        self, desk: Desk, nobody: list[object], tmp_path: Path
    ) -> None:
        found = await desk.checked(letter(1), letter(7), nobody)

        answer = await desk.commit(found["publicId"])
        assert (answer.status_code, answer.json()["state"]) == (202, "IMPORTING")
        await work_of(desk.app).round()

        done = await desk.read(found["publicId"])
        result = await desk.client.get(f"{URL}/{found['publicId']}/result")
        (tmp_path / "r.xlsx").write_bytes(result.content)
        assert [row[-3] for row in sheet_of(tmp_path / "r.xlsx")[1:3]] == ["นำเข้าแล้ว / imported"] * 2
        assert (done["state"], done["report"]["imported"], done["report"]["refused"]) == ("DONE", 2, 1)
        assert done["finishedAt"] is not None
        assert await count(desk.app.state.db) == 2
        async with desk.app.state.db.reading() as session:
            assert await session.scalar(sa.select(NumberCounter).where(NumberCounter.series == SERIES)) is None

    async def test_moves_the_counters_that_were_ticked(self, desk: Desk) -> None:
        found = await desk.checked(letter(3), letter(9))

        await desk.commit(found["publicId"], (SERIES, 9))
        await work_of(desk.app).round()

        done = await desk.read(found["publicId"])
        assert done["report"]["moved"] == [{"series": SERIES, "before": 0, "after": 9}]
        async with desk.app.state.db.reading() as session:
            counter = await session.scalar(sa.select(NumberCounter).where(NumberCounter.series == SERIES))
        assert counter is not None
        assert counter.last_number == 9

    @pytest.mark.parametrize(
        ("move", "pointer", "code"),
        [(("X-{SEQ}", 9), "/moves/0/series", "not_offered"), ((SERIES, 10), "/moves/0/to", "not_as_shown")],
    )
    async def test_to_what_was_not_shown_is_refused(
        self, desk: Desk, move: tuple[str, int], pointer: str, code: str
    ) -> None:
        found = await desk.checked(letter(9))

        answer = await desk.commit(found["publicId"], move)

        assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [(pointer, code)]
        assert (await desk.read(found["publicId"]))["state"] == "CHECKED"

    async def test_before_the_check_and_twice_is_refused(self, desk: Desk) -> None:
        early = await desk.send(letter(1))
        too_early = await desk.commit(early.json()["publicId"])
        await work_of(desk.app).round()

        answers = [await desk.commit(early.json()["publicId"]) for _ in range(2)]

        assert [answer.status_code for answer in (too_early, *answers)] == [409, 202, 409]
        assert too_early.json()["code"] == "IMPORT_NOT_CHECKED"

    async def test_repeated_with_its_key_gives_the_same_answer(self, desk: Desk) -> None:
        found = await desk.checked(letter(1))

        answers = [await desk.commit(found["publicId"], **{"Idempotency-Key": "go-on-1"}) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [202, 202]
        assert answers[1].headers["Idempotent-Replay"] == "true"

    async def test_again_with_the_same_file_changes_nothing(self, desk: Desk) -> None:
        for _ in range(2):
            found = await desk.checked(letter(1), letter(2))
            await desk.commit(found["publicId"])
            await work_of(desk.app).round()

        last = await desk.read(found["publicId"])
        assert (last["report"]["imported"], last["report"]["there"]) == (0, 2)
        assert await count(desk.app.state.db) == 2

    async def test_is_not_seen_by_who_does_not_manage_the_numbers(self, desk: Desk, signed_in: SignIn) -> None:
        found = await desk.checked(letter(1))
        desk.client = await signed_in("dc.consultant")

        answers = [await desk.commit(found["publicId"]), await desk.client.get(f"{URL}/{found['publicId']}")]

        assert [answer.status_code for answer in answers] == [404, 404]

    async def test_by_an_account_that_was_closed_since_imports_nothing(self, desk: Desk) -> None:
        found = await desk.checked(letter(1))
        await desk.commit(found["publicId"])
        async with desk.app.state.db.writing() as session:
            await session.execute(sa.text("UPDATE users SET is_active = 0 WHERE username = 'padmin'"))

        await work_of(desk.app).round()

        async with desk.app.state.db.reading() as session:
            row = await session.scalar(sa.select(NumberImport))
        assert row is not None
        assert (row.state, await count(desk.app.state.db)) == ("FAILED", 0)

    async def test_leaves_who_sent_and_who_started_in_the_trail(self, desk: Desk) -> None:
        found = await desk.checked(letter(1))
        await desk.commit(found["publicId"])

        async with desk.app.state.db.reading() as session:
            trail = (
                await session.scalars(sa.select(AuditLog.action).where(AuditLog.entity_id == found["publicId"]))
            ).all()
        assert list(trail) == ["number_import.uploaded", "number_import.started"]


class TestWork:
    async def test_ends_at_once_where_nothing_waits(self, app: FastAPI) -> None:
        assert await work_of(app).round() is False

    async def test_leaves_imports_at_a_terminal_alone(self, desk: Desk) -> None:
        sent = await desk.send(letter(1))
        async with desk.app.state.db.writing() as session:
            await session.execute(sa.update(NumberImport).values(file_key=None, state="IMPORTING"))

        assert await work_of(desk.app).round() is False
        assert (await desk.read(sent.json()["publicId"]))["uploaded"] is False

    async def test_shows_how_far_it_is(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        reached, go_on = asyncio.Event(), asyncio.Event()
        store = FolderStorage.write

        async def slow(self: FolderStorage, key: str, chunks: Any) -> None:
            reached.set()
            await go_on.wait()
            await store(self, key, chunks)

        sent = await desk.send(letter(1), letter(2), letter(2))
        monkeypatch.setattr(FolderStorage, "write", slow)
        task = asyncio.create_task(work_of(desk.app, beat=0.01).round())
        await reached.wait()
        await asyncio.sleep(0.1)

        found = await desk.read(sent.json()["publicId"])
        go_on.set()
        await task

        assert (found["state"], found["rowsTotal"], found["rowsDone"], found["rowsRefused"]) == ("CHECKING", 3, 3, 1)

    async def test_that_is_broken_off_is_given_back_at_once(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        sent = await desk.send(letter(1))

        async def forever(*_: Any) -> None:
            await asyncio.sleep(60)

        with monkeypatch.context() as patch:
            patch.setattr(FolderStorage, "write", forever)
            task = asyncio.create_task(work_of(desk.app).round())
            await asyncio.sleep(0.3)
            task.cancel()
            await asyncio.wait([task])

        assert task.cancelled()
        assert await work_of(desk.app).round()
        assert (await desk.read(sent.json()["publicId"]))["state"] == "CHECKED"

    async def test_of_a_bug_ends_the_import_and_is_told_to_the_worker(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = await desk.send(letter(1))

        async def broken(*_: Any) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(FolderStorage, "write", broken)
        with pytest.raises(ZeroDivisionError):
            await work_of(desk.app).round()

        found = await desk.read(sent.json()["publicId"])
        assert (found["state"], found["problem"]["code"]) == ("FAILED", "UNEXPECTED_ERROR")
