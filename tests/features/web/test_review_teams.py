"""The review teams of a project in the browser."""

import re

import httpx
import pytest

from tests.features.web.conftest import Sit
from tests.features.web.page_html import html_of

HOME = "/review-teams"
DESIGN = {"code": "design", "nameTh": "ทีมตรวจแบบ", "nameEn": "Design review"}


async def project_of(browser: httpx.AsyncClient) -> dict[str, str]:
    found = re.search(r'name="project" value="([^"]+)"', html_of(await browser.get(HOME)))
    assert found
    return {"project": found[1]}


def choice(page: str, name: str) -> str:
    """Return the public id of somebody whom the page offers."""
    found = re.search(rf'<option value="([^"]+)"[^>]*>{name}', page)
    assert found, f"{name} cannot be chosen"
    return found[1]


def faults(page: str) -> set[str]:
    return set(re.findall(r'class="fault" id="e-(\w+)"', page))


class TestTeams:
    @pytest.mark.parametrize(
        ("language", "empty", "filled"),
        [
            ("th", "โครงการนี้ยังไม่มีทีมพิจารณา", ("ทีมตรวจแบบ", "อนันต์ เห็นชอบ", "หัวหน้าทีม", "ทีมพิจารณา")),
            ("en", "This project has no review teams", ("Design review", "อนันต์ เห็นชอบ", "Lead", "Review teams")),
        ],
    )
    @pytest.mark.sampled("[th")
    async def test_are_made_filled_changed_and_removed(
        self, sit: Sit, language: str, empty: str, filled: tuple[str, ...]
    ) -> None:
        browser = await sit("padmin", language)
        key = await project_of(browser)
        assert empty in html_of(await browser.get(HOME))
        assert f'href="{HOME}"' in html_of(await browser.get("/inbox"))

        made = await browser.post(HOME, data=key | DESIGN)
        team = made.headers["location"]
        alone = html_of(await browser.get(team))
        person = choice(alone, "อนันต์ เห็นชอบ")
        member = key | {"userPublicId": person, "disciplineCode": "STR", "role": "LEAD"}
        placed = await browser.post(f"{HOME}/DESIGN/members", data=member)
        full = html_of(await browser.get(placed.headers["location"]))
        listed = html_of(await browser.get(HOME))
        renamed = await browser.post(f"{HOME}/DESIGN", data=key | {"nameTh": "ทีมใหม่", "nameEn": "Renamed"})
        asleep = html_of(await browser.get(renamed.headers["location"]))
        await browser.post(f"{HOME}/DESIGN/members/remove", data=key | {"userPublicId": person})
        left = html_of(await browser.get(team))
        gone = await browser.post(f"{HOME}/DESIGN/remove", data=key)

        assert team.startswith(f"{HOME}/DESIGN?")
        assert all(word in full for word in filled)
        assert "อนันต์ เห็นชอบ (STR)" in listed
        assert not re.search(r'id="f-isActive"[^>]*checked', asleep)
        assert f'value="{person}"><button' not in left
        assert empty in html_of(await browser.get(gone.headers["location"]))
        assert (await browser.get(team)).status_code == 404

    async def test_name_the_fields_that_are_wrong_and_keep_what_was_typed(self, sit: Sit) -> None:
        browser = await sit("padmin", "en")
        key = await project_of(browser)

        nameless = await browser.post(HOME, data=key | {"code": "two words", "nameTh": "ทีม"})
        made = await browser.post(HOME, data=key | DESIGN)
        twice = await browser.post(HOME, data=key | DESIGN)
        nobody = await browser.post(f"{HOME}/DESIGN/members", data=key | {"disciplineCode": "STR"})
        page = html_of(await browser.get(made.headers["location"]))
        person = choice(page, "อนันต์ เห็นชอบ")
        wrong = await browser.post(
            f"{HOME}/DESIGN/members", data=key | {"userPublicId": person, "disciplineCode": "XXX"}
        )
        stranger = await browser.post(f"{HOME}/DESIGN/members", data=key | {"userPublicId": key["project"]})
        unnamed = await browser.post(f"{HOME}/DESIGN", data=key | {"nameTh": "ทีมใหม่", "isActive": "yes"})

        answers = [nameless, twice, nobody, wrong, stranger, unnamed]
        assert [one.status_code for one in answers] == [422] * 6
        assert [faults(one.text) for one in answers] == [
            {"code", "nameEn"}, {"code"}, {"userPublicId"}, {"disciplineCode"}, {"userPublicId"}, {"nameEn"},
        ]  # fmt: skip
        assert 'value="two words"' in html_of(nameless)
        assert f'value="{person}" selected' in html_of(wrong)
        assert 'value="ทีมใหม่"' in html_of(unnamed)

    async def test_are_read_by_those_of_the_project_and_changed_by_who_manages_it(self, sit: Sit) -> None:
        admin, reader = await sit("padmin", "en"), await sit("viewer", "en")
        key = await project_of(admin)
        await admin.post(HOME, data=key | DESIGN)

        pages = [html_of(await reader.get(address)) for address in (HOME, f"{HOME}/DESIGN")]
        refused = [
            await reader.post(address, data=key | DESIGN)
            for address in (HOME, f"{HOME}/DESIGN", f"{HOME}/DESIGN/remove")
        ]

        assert all("Design review" in page and "data-submit" not in page for page in pages)
        assert [one.status_code for one in refused] == [403] * 3
        assert f'href="{HOME}"' not in html_of(await reader.get("/inbox"))

    async def test_find_people_by_a_part_of_the_name(self, sit: Sit) -> None:
        browser = await sit("padmin")
        key = await project_of(browser)

        found, none = [
            html_of(await browser.get(f"{HOME}/people", params=key | {"q": text}, headers={"HX-Request": "true"}))
            for text in ("อนันต์", "zzz")
        ]

        assert re.findall(r">([^<]+ [^<]+)</option>", found) == ["อนันต์ เห็นชอบ"]
        assert "option value=" in none
        assert none.count("<option") == 1
