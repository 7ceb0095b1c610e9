"""The page that takes old registers, and the one that shows how far an import is."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from saraban.imports.service.worker import ImportWorker
from saraban.numbering.service import NUMBER_IMPORTER
from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of
from tests.number_imports import letter, written

FRAGMENT = {"HX-Request": "true"}
FORM = re.compile(r'action="(/numbers/imports\?project=[^"]+)"')


async def work(app: FastAPI) -> None:
    assert await ImportWorker(app.state.db, app.state.storage, NUMBER_IMPORTER, clock=app.state.clock).round()


async def send(browser: httpx.AsyncClient, path: Path) -> httpx.Response:
    (action,) = FORM.findall(html_of(await browser.get("/numbers/imports")))
    return await browser.post(action, files={"file": (path.name, await asyncio.to_thread(path.read_bytes))})


class TestList:
    @pytest.mark.parametrize(("language", "words"), [("th", "ยังไม่เคยนำเข้า"), ("en", "No imports yet")])
    async def test_says_when_nothing_was_imported(self, sit: Sit, language: str, words: str) -> None:
        browser = await sit("padmin", language)

        page = html_of(await browser.get("/numbers/imports"))

        assert words in page
        assert 'href="/numbers/imports?project=' in html_of(await browser.get("/numbers"))

    async def test_leads_to_each_import(self, sit: Sit, tmp_path: Path) -> None:
        browser = await sit("padmin")
        sent = await send(browser, written(tmp_path / "old.csv", letter(1)))

        assert f'href="{sent.headers["location"]}"' in html_of(await browser.get("/numbers/imports"))

    async def test_goes_on_page_by_page(self, sit: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("saraban.web.shell.imports.ROWS", 1)
        browser = await sit("padmin")
        for name in ("first.csv", "second.csv"):
            await send(browser, written(tmp_path / name, letter(1)))

        first = html_of(await browser.get("/numbers/imports"))
        (more,) = re.findall(r'hx-get="([^"]+)" hx-target="closest', first)
        second = html_of(await browser.get(more.replace("&amp;", "&"), headers=FRAGMENT))

        assert "second.csv" in first
        assert "first.csv" not in first
        assert "first.csv" in second
        assert "<form" not in second

    async def test_is_closed_to_who_does_not_manage_numbers(self, sit: Sit) -> None:
        browser = await sit("dc.contractor")

        assert (await browser.get("/numbers/imports")).status_code == 403

    @pytest.mark.parametrize(("language", "words"), [("th", "อ่านไฟล์ไม่ได้"), ("en", "The file must be XLSX")])
    async def test_names_what_is_wrong_with_a_file(self, sit: Sit, tmp_path: Path, language: str, words: str) -> None:
        browser = await sit("padmin", language)
        (tmp_path / "a.xlsx").write_bytes(b"nothing of the kind")

        answer = await send(browser, tmp_path / "a.xlsx")

        assert answer.status_code == 422
        assert words in html_of(answer)
        assert 'id="e-file"' in html_of(answer)


class TestImport:
    async def test_is_watched_until_it_is_checked_and_again_until_it_is_done(
        self, sit: Sit, app: FastAPI, tmp_path: Path
    ) -> None:
        browser = await sit("padmin", "en")
        sent = await send(browser, written(tmp_path / "old.xlsx", letter(1), letter(7), letter(7)))
        address = sent.headers["location"]

        waiting = html_of(await browser.get(address))
        await work(app)
        checked = html_of(await browser.get(address, headers=FRAGMENT))
        (box,) = re.findall(r'name="move" value="([^"]+)"', checked)
        answer = await browser.post(f"{address}/commit", data={"move": box})
        importing = html_of(await browser.get(address, headers=FRAGMENT))
        await work(app)
        done = html_of(await browser.get(address, headers=FRAGMENT))

        assert (sent.status_code, answer.status_code) == (303, 303)
        assert 'hx-trigger="every 1s"' in waiting
        assert "<progress" in waiting
        assert "hx-trigger" not in checked
        assert "Import 2 numbers" in checked
        assert "Already on row 3 of this file." in checked
        assert 'hx-trigger="every 1s"' in importing
        assert "2 numbers were imported." in done
        assert "Counters moved forward" in done
        assert "<html" not in done

    async def test_moves_all_counters_with_one_box(self, sit: Sit, app: FastAPI, tmp_path: Path) -> None:
        browser = await sit("padmin")
        other = ["คคง.-ผรม.1-0004-2566", *letter(4)[1:4], "2566", ""]
        address = (await send(browser, written(tmp_path / "old.csv", letter(3), other))).headers["location"]
        await work(app)

        assert 'name="all"' in html_of(await browser.get(address))
        await browser.post(f"{address}/commit", data={"all": "1"})
        await work(app)

        done = html_of(await browser.get(address))
        assert len(re.findall(r'href="/numbers/account\?', done)) == 2

    async def test_that_was_started_by_somebody_else_says_so(self, sit: Sit, app: FastAPI, tmp_path: Path) -> None:
        browser = await sit("padmin", "en")
        address = (await send(browser, written(tmp_path / "old.csv", letter(1)))).headers["location"]
        await work(app)

        answers = [await browser.post(f"{address}/commit") for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 409]
        assert "its import has already started" in html_of(answers[1])

    @pytest.mark.parametrize(("language", "words"), [("th", "ไม่มีคอลัมน์"), ("en", "is missing")])
    @pytest.mark.sampled("[th")
    async def test_that_failed_says_why(
        self, sit: Sit, app: FastAPI, tmp_path: Path, language: str, words: str
    ) -> None:
        browser = await sit("padmin", language)
        (tmp_path / "a.csv").write_text("number,type\nA,B\n")
        address = (await send(browser, tmp_path / "a.csv")).headers["location"]
        await work(app)

        page = html_of(await browser.get(address))

        assert words in page
        assert "hx-trigger" not in page.partition('id="import"')[2]

    async def test_is_nobody_elses(self, sit: Sit, tmp_path: Path) -> None:
        browser, other = await sit("padmin"), await sit("dc.contractor")
        address = (await send(browser, written(tmp_path / "old.csv", letter(1)))).headers["location"]

        assert (await other.get(address)).status_code == 404
