"""Every page, on a desk and on a phone: nothing sticks out, fonts are ours, every text can be read."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import FilePayload, Route, ViewportSize, expect

from tests.journey_steps import a_draft
from tests.journeys.conftest import DESK, LANGUAGES, Person, Sit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]

PAGES = (
    "/inbox",
    "/correspondences",
    "/rfas/new",
    "/transmittals/new",
    "/circulations/new",
    "/drawings/shop",
    "/notifications",
    "/account/sessions",
    "/nowhere",
)
# What the project's administrator sees besides.
ADMINISTRATION = (
    "/numbers",
    "/numbers/ranges",
    "/numbers/by-hand",
    "/numbers/imports",
    "/numbers/formats",
    "/numbers/formats/new",
    "/calendar",
    "/webhooks",
    "/review-teams",
    "/organizations",
    "/master",
    "/master/rfa-approve-codes",
    "/project-setup",
)
# What those see who manage workflows.
WORKFLOWS = (
    "/workflows",
    "/workflows/choices?kind=rfa",
    "/workflows/new",
    "/workflows/RFA_APPROVAL/v1",
    "/workflows/RFA_APPROVAL/v1/rehearsal",
    "/workflows/RFA_APPROVAL/v1/replay",
    "/workflows/RFA_APPROVAL/v1/migration",
)
# What a Super Admin sees besides.
OPERATIONS = (
    *("/projects", "/projects/new", "/projects/file", "/people", "/people/new", "/people/import", "/roles"),
    *("/why", "/audit", "/numbers/audit", "/events", "/system"),
)
SIZES: dict[str, ViewportSize] = {
    "desk": DESK,
    "tablet": {"width": 1024, "height": 768},
    "phone": {"width": 390, "height": 844},
}
FAULTS = (Path(__file__).parent / "faults.js").read_text("utf-8")
PDF = b"%PDF-1.4\n%%EOF\n"


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.faults)])
async def test_pages_fit_desk_tablet_and_phone(sit: Sit, is_whole: bool) -> None:
    readers = {language: await sit("dc.contractor", language=language) for language in ("th", "en")}
    draft = await a_draft(readers["th"])
    pages = (*PAGES, draft, f"{draft}/edit")
    if is_whole:
        await asyncio.gather(*(look_at_all(person, language, pages, draft) for language, person in readers.items()))
    else:
        await look_in_turn(readers, pages, draft)


@pytest.mark.faults
async def test_pages_of_the_administration_fit_too(sit: Sit) -> None:
    admins = {language: await sit("padmin", language=language) for language in ("th", "en")}
    await a_draft(await sit("dc.contractor"))
    account = await an_account(admins["th"])
    pages = (*ADMINISTRATION, account, await a_number(admins["th"], account))
    await look_in_turn(admins, pages, account)


@pytest.mark.faults
async def test_pages_of_workflows_fit_too(sit: Sit) -> None:
    admins = {language: await sit("admin", language=language) for language in ("th", "en")}
    await look_in_turn(admins, WORKFLOWS)


@pytest.mark.faults
async def test_pages_of_the_installation_fit_too(sit: Sit) -> None:
    admins = {language: await sit("admin", language=language) for language in ("th", "en")}
    await look_in_turn(admins, OPERATIONS)


@pytest.mark.faults
async def test_the_reference_of_the_api_sends_what_is_tried_as_its_reader(sit: Sit) -> None:
    reader = await sit("viewer")
    page = reader.page
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    await reader.goto("/docs/api#/Auth/auth_me")
    tried = page.locator("#operations-Auth-auth_me")
    await tried.locator(".execute").click(timeout=60_000)  # the description of the API is 2 MB

    await expect(tried.locator(".live-responses-table .response .response-col_status")).to_contain_text("200")
    await expect(tried.locator(".live-responses-table")).to_contain_text('"username": "viewer"')
    assert asked == {urlsplit(reader.site).netloc}
    assert [said for said in reader.complaints if "Deprecated" not in said] == []  # the library's own, of its links


async def an_account(person: Person) -> str:
    """Return the address of the account of the first series that has counted."""
    await person.goto("/numbers")
    return str(await person.page.locator(".row-link").first.get_attribute("href"))


async def a_number(person: Person, account: str) -> str:
    """Return the address of the first number of an account."""
    await person.goto(account)
    return str(await person.page.locator("td a.number").first.get_attribute("href"))


async def found_by_search(person: Person, address: str) -> str:
    """Return the number of a document once the worker has indexed it."""
    ask, api = person.page.request, f"{person.site}/api/v1"
    number = (await (await ask.get(f"{api}{address}")).json())["data"]["documentNumber"]
    for _ in range(200):
        if (await (await ask.get(f"{api}/search/suggestions", params={"q": number})).json())["documents"]:
            return str(number)
        await asyncio.sleep(0.1)
    pytest.fail(f"{number} is not in the index")


async def look_at_all(person: Person, language: str, pages: tuple[str, ...], draft: str = "/nothing") -> None:
    for path in pages:
        await person.goto(path)
        assert await person.page.get_attribute("html", "lang") == language
        name = path.replace(draft, "draft").strip("/").replace("/", "-")
        for device, size in SIZES.items():
            await person.page.set_viewport_size(size)
            assert await person.page.evaluate(FAULTS) == [], f"{path} on a {device}"
            if device == "desk" or (device == "phone" and language == "th"):
                await person.picture(f"{device}-{language}-{name}", whole=device == "phone")
    assert [said for said in person.complaints if "404" not in said] == []


async def look_in_turn(people: dict[str, Person], pages: tuple[str, ...], draft: str = "/nothing") -> None:
    """Every page in one of the languages, the next page in the other."""
    shares = zip(people.items(), (pages[::2], pages[1::2]), strict=True)
    await asyncio.gather(*(look_at_all(person, language, share, draft) for (language, person), share in shares))


class TestKeyboard:
    async def test_is_enough_to_go_anywhere(self, sit: Sit) -> None:
        person = await sit()
        page = person.page
        await person.goto("/login")
        # A frame after the page is there: keys before it are lost.
        await expect(page.locator("#username")).to_be_focused()
        await page.keyboard.type("dc.contractor")
        await person.press("Tab")
        await page.keyboard.type("saraban-demo")
        await person.press("Enter")
        await page.wait_for_url("**/inbox")
        await person.press("Tab")
        await expect(page.locator(".skip-link")).to_be_focused()
        await person.press("g", "r")
        await page.wait_for_url("**/rfas")
        await person.press("/")
        await expect(page.locator("#q")).to_be_focused()
        await page.locator("#main").focus()
        await person.press("?")
        await expect(page.locator("#help")).to_be_visible()
        await person.press("Escape")
        await expect(page.locator("#help")).to_be_hidden()
        await person.press("n")
        await page.wait_for_url("**/rfas/new")
        assert person.complaints == []

    async def test_walks_through_a_register_into_a_document_and_its_dialogs(self, sit: Sit) -> None:
        person = await sit("dc.contractor")
        page = person.page
        draft = await a_draft(person)
        await person.goto("/rfas")
        await person.press("j", "Enter")
        await page.wait_for_url(f"**{draft}")
        cancel = page.locator("[data-dialog=cancel]")
        await cancel.focus()
        await person.press("Enter")
        await expect(page.locator("#reason")).to_be_focused()
        await person.press("Escape")
        await expect(cancel).to_be_focused()
        await person.press("e")
        await page.wait_for_url("**/edit")
        await page.fill("[name=subject]", "แก้ด้วยแป้นพิมพ์")
        await person.press("Control+Enter")
        await page.wait_for_url(f"**{draft}")
        await expect(page.locator("h1")).to_have_text("แก้ด้วยแป้นพิมพ์")

    @pytest.mark.parametrize("language", LANGUAGES)
    async def test_opens_what_the_box_in_the_header_suggests(self, sit: Sit, language: str) -> None:
        person = await sit("dc.contractor", language=language)
        page, draft = person.page, await a_draft(person)
        number = await found_by_search(person, draft)
        await person.goto("/inbox")
        box, listed = page.locator("#search-all"), page.locator("#suggestions")
        await person.press("Control+k")
        await page.keyboard.type(number.lower())
        await expect(listed.locator("[role=option]").first).to_contain_text(number)
        await person.picture(f"desk-{language}-suggestions")
        assert await page.evaluate(FAULTS) == []
        await person.press("Escape")
        await expect(listed).to_be_hidden()
        await expect(box).to_have_value(number.lower())
        await person.press("ArrowUp", "ArrowDown")
        first = await listed.locator("[role=option]").first.get_attribute("id")
        await expect(box).to_have_attribute("aria-activedescendant", str(first))
        await person.press("Enter")
        await page.wait_for_url(f"**{draft}")

        await person.press("Control+k")
        await page.keyboard.type("ดวงใจ")
        await expect(listed.locator("[role=option]").last).to_have_text("ดวงใจ เอกสารครบ")
        await person.press("Enter")
        await page.wait_for_url("**/search?q=*")
        await expect(page.locator("#q")).to_have_value("ดวงใจ")
        assert person.complaints == []

    @pytest.mark.parametrize("language", LANGUAGES)
    async def test_narrows_a_search_by_what_was_found(self, sit: Sit, language: str) -> None:
        person = await sit("dc.contractor", language=language)
        page, draft = person.page, await a_draft(person)
        number = await found_by_search(person, draft)
        await person.goto("/inbox")
        await person.press("Control+k")
        await page.keyboard.type(f"{number[-10:]} แบบ -ยกเลิก")
        await person.press("Enter")
        await page.wait_for_url("**/search?q=*")
        rfas = page.locator(".facets a[href*='kind=rfas']")
        await expect(page.locator("#list .row-link", has_text=number)).to_be_visible()
        if await rfas.count():  # what tells nothing apart is not offered
            await rfas.click()
        assert await page.evaluate(FAULTS) == []
        await person.picture(f"desk-{language}-search")
        await person.goto("/rfas")
        await person.press("/")
        await page.keyboard.type(f"แบบ {number.lower()}")
        await expect(page.locator("#list .row-link")).to_have_count(1)
        await expect(page.locator("#list .row-link")).to_have_text(number)
        assert person.complaints == []

    async def test_is_enough_to_correct_a_workflow_and_publish_it(self, sit: Sit) -> None:
        person = await sit("admin", language="en")
        page = person.page
        await person.goto("/workflows")
        await person.press("n")
        await page.wait_for_url("**/workflows/new")
        text = page.locator("#f-text")
        await expect(text).to_be_focused()
        await expect(page.locator("[data-verdict=good]")).to_be_visible()
        broken = (await text.input_value()).replace('"to": "sent"', '"to": "nowhere"').replace("NEW_", "KEYBOARD_")
        await text.fill(broken)
        line = page.locator("#verdict [data-line]").first
        await expect(line).to_be_visible()
        await line.focus()
        await person.press("Enter")
        await expect(text).to_be_focused()
        chosen = await text.evaluate("(area) => area.value.slice(area.selectionStart, area.selectionEnd)")
        assert "nowhere" in chosen
        await page.keyboard.type(chosen.replace("nowhere", "sent"))
        await expect(page.locator("[data-verdict=good]")).to_be_visible()
        await person.press("Control+Enter")
        await page.wait_for_url("**/workflows/KEYBOARD_WORKFLOW/v1*")
        assert person.complaints == []

    async def test_finds_a_code_by_its_name_in_either_language(self, sit: Sit) -> None:
        person = await sit("dc.contractor")
        page = person.page
        await person.goto("/rfas/new")
        for typed, field, value in (("shop", "rfaTypeCode", "SDW"), ("ท่าเทียบ", "disciplineCode", "TER")):
            box = page.locator(f"#f-{field}")
            await box.focus()
            await page.keyboard.type(typed)
            await expect(page.locator(f"#f-{field}-list [role=option]").first).to_contain_text(value)
            await person.press("Tab")
            assert await page.input_value(f"[name={field}]") == value
        await expect(page.locator("#number [data-number]")).to_contain_text("-TER-SDW-")
        await page.focus("#f-disciplineCode")
        await page.keyboard.type("ไม่มีคำนี้")
        await person.press("Escape")
        await expect(page.locator("#f-disciplineCode")).to_have_value("TER – ท่าเทียบเรือ")


async def test_a_format_shows_its_next_numbers_while_it_is_typed(sit: Sit) -> None:
    person = await sit("padmin", language="en")
    page = person.page
    await person.goto("/numbers/formats/new")
    await expect(page.locator("#f-template")).to_be_focused()
    await page.keyboard.type("M-{SEQ:4")
    await expect(page.locator("#effect .is-fault")).to_have_text("M-{SEQ:4")
    await page.keyboard.type("}-")
    await expect(page.locator("#effect")).to_contain_text("M-0001-, M-0002-, M-0003-")
    await page.locator("summary", has_text="Fields").focus()
    await person.press("Enter")
    await page.locator("[data-insert='{FY:B.E.}']").focus()
    await person.press("Enter")
    await expect(page.locator("#f-template")).to_be_focused()
    await expect(page.locator("#f-template")).to_have_value("M-{SEQ:4}-{FY:B.E.}")
    await expect(page.locator("#effect .is-token")).to_have_text(["{SEQ:4}", "{FY:B.E.}"])
    assert person.complaints == []


async def test_a_number_stated_by_hand_is_shown_while_it_is_typed(sit: Sit) -> None:
    person = await sit("padmin", language="en")
    page = person.page
    await person.goto("/numbers/by-hand")
    await page.select_option("#f-correspondenceTypeCode", "CIRCULATION")
    await page.fill("#f-sequence", "4242")
    await expect(page.locator("#effect .number")).to_contain_text("-CIR-4242-")
    await page.fill("#f-issuedOn", "2024-08-14")
    await expect(page.locator("#effect .number")).to_contain_text("-CIR-4242-2567")
    await expect(page.locator("#effect [name=confirmedJump]")).to_have_value("4242")
    await page.fill("#f-reason", "From the paper register")
    await page.check("[name=moveCounter]")
    await person.picture("desk-en-number-by-hand-filled", whole=True)
    await page.click("[data-submit]")
    await expect(page.locator(".alert-success")).to_contain_text("Number registered.")
    assert person.complaints == []


@pytest.mark.faults
@pytest.mark.parametrize("language", ["th", "en"])
async def test_an_old_register_is_watched_on_its_way_in(sit: Sit, language: str) -> None:
    person = await sit("padmin", language=language)
    page = person.page
    year = {"th": "2560", "en": "2561"}[language]
    lines = [f"คคง.-ผรม.1-{n:04}-{year},LETTER,คคง.,ผรม.1,{year}" for n in (*range(1, 400), 7)]
    sheet = "\n".join(["number,type,originator,recipient,year", *lines, f"X-1,LETTER,NOBODY,ผรม.1,{year}"])
    await person.goto("/numbers/imports")
    await page.set_input_files(
        "#f-file", {"name": f"register-{year}.csv", "mimeType": "text/csv", "buffer": sheet.encode()}
    )
    await page.click("[data-submit]")

    await expect(page.locator("[name=move]")).to_be_visible()
    await page.check("[name=move]")
    for size, shape in SIZES.items():
        await page.set_viewport_size(shape)
        await person.picture(f"{size}-{language}-import-checked", whole=True)
        assert await page.evaluate(FAULTS) == []
    await page.set_viewport_size(SIZES["desk"])
    await page.click("[data-submit]")

    await expect(page.locator("[role=status] .tone-green")).to_be_visible()
    await expect(page.locator("#import")).to_contain_text("399")
    await person.picture(f"desk-{language}-import-done", whole=True)
    assert await page.evaluate(FAULTS) == []
    assert person.complaints == []


async def test_the_number_is_asked_for_only_when_it_may_change(sit: Sit) -> None:
    person = await sit("dc.contractor")
    page = person.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/new/number") else None)
    await person.goto("/rfas/new")
    await expect(page.locator("#number")).to_contain_text("ยังต้องระบุ")
    await page.select_option("[name=rfaTypeCode]", "RPT")
    await expect(page.locator("#number")).to_have_text("ยังต้องระบุ: สาขางาน")
    await page.fill("[name=subject]", "เรื่องที่ไม่เปลี่ยนเลขที่")
    await page.select_option("[name=priority]", "HIGH")
    await page.select_option("[name=disciplineCode]", "TER")
    await expect(page.locator("#number [data-number]")).to_contain_text("-TER-RPT-")

    assert len(asked) == 3
    assert await page.get_attribute("#number", "aria-live") == "polite"


async def test_a_date_is_told_in_the_readers_era(sit: Sit) -> None:
    for language, words, figures in (("th", "5 ธ.ค. 2569", "05/12/2569"), ("en", "5 Dec 2026", "05/12/2026")):
        person = await sit("dc.contractor", language=language)
        await person.goto("/rfas/new")
        await person.page.fill("#f-dueDate", "5/12/2569" if language == "th" else "2026-12-05")
        await person.page.focus("#f-subject")
        await expect(person.page.locator("[for=f-dueDate][data-date-words]")).to_have_text(words)
        assert await person.page.input_value("#f-dueDate") == figures


async def test_the_language_switches_back_and_forth(sit: Sit) -> None:
    person = await sit("viewer")
    for heading in ("งานของฉัน", "My tasks", "งานของฉัน"):
        await expect(person.page.locator("h1")).to_have_text(heading)
        await person.page.click("[data-language-switch]")


class TestFiles:
    async def test_that_are_wrong_say_so_where_they_were_dropped(self, sit: Sit) -> None:
        person = await sit("dc.contractor")
        page = person.page
        await person.goto("/rfas/new")
        data = await page.evaluate_handle(
            """() => {
                const data = new DataTransfer();
                data.items.add(new File(["MZ"], "virus.exe"));
                return data;
            }"""
        )
        for kind in ("dragover", "drop"):
            await page.dispatch_event("form#create .dropzone", kind, {"dataTransfer": data})
        row = page.locator(".upload-row.is-failed")
        await expect(row).to_contain_text("ไม่ใช่ไฟล์ชนิดที่รับ")
        await row.locator("[data-remove-row]").press("Enter")
        await expect(row).to_have_count(0)
        await expect(page.locator("form#create input[type=file]")).to_be_focused()

    async def test_that_did_not_arrive_are_sent_again(self, sit: Sit) -> None:
        person = await sit("dc.contractor", language="en")
        page = person.page
        await person.goto("/rfas/new")
        cut = "**/api/v1/attachments"
        await page.route(cut, lambda route: route.abort())
        await page.set_input_files(
            "form#create input[type=file]", FilePayload(name="a.pdf", mimeType="application/pdf", buffer=PDF)
        )
        row = page.locator(".upload-row")
        await expect(row).to_contain_text("The server cannot be reached.")
        await page.unroute(cut)
        await row.get_by_role("button", name="Try again").click()
        await expect(page.locator(".upload-row.is-done")).to_contain_text("Uploaded")

    async def test_are_waited_for(self, sit: Sit) -> None:
        person = await sit("dc.contractor")
        page = person.page
        await person.goto("/rfas/new")
        waiting: list[Route] = []
        await page.route("**/api/v1/attachments", lambda route: waiting.append(route))
        await page.set_input_files(
            "form#create input[type=file]", FilePayload(name="a.pdf", mimeType="application/pdf", buffer=PDF)
        )
        await page.click("form#create [data-submit]")
        await expect(page.locator("#toasts")).to_contain_text("กรุณารอให้อัปโหลดไฟล์เสร็จก่อน")
        assert page.url.endswith("/rfas/new")
        await page.locator(".upload-row [data-remove-row]").click()
        await expect(page.locator(".upload-row")).to_have_count(0)
