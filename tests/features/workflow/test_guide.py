"""The examples of docs/workflow.md are published, chosen and played by the demo project's people; its words are the reader's own."""

import re
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from saraban.kit.clock import local_date
from saraban.projects import service as projects
from saraban.projects.domain.calendar import working_days_after
from saraban.workflow.language import dsl
from saraban.workflow.language.faults import Faults
from saraban.workflow.verification import definition_checks
from tests.conftest import SignIn, unwrapped
from tests.definitions import EXAMPLES, GUIDE
from tests.factories.letterbox import office_in
from tests.factories.review import seat
from tests.features.documents.conftest import Desk, desk_of

API = "/api/v1"
CONTRACTOR, CONSULTANT, OWNER = "dc.contractor", "dc.consultant", "approver.owner"
ENGINEER = "reviewer.consultant"
# For which documents a story has its example chosen: kind and type.
CARRIED = {
    "MEMO_TWO_STEPS": ("correspondence", "MEMO"),
    "PURCHASE_LIMIT": ("correspondence", "OTHER"),
    "MATERIAL_REVIEW": ("rfa", "MAT"),
    "DESIGN_REVIEW": ("rfa", "DSN"),
}


@dataclass
class Site:
    """The demo project, whose documents of one type start on one example."""

    app: FastAPI
    desk: Desk
    code: str

    async def write(self, **changes: Any) -> dict[str, Any]:
        """Have the contractor draft a document that starts on the example."""
        kind, type_code = CARRIED[self.code]
        if kind == "rfa":
            body = self.desk.rfa(rfaTypeCode=type_code, **changes)
        else:
            body = self.desk.letter("คคง.", correspondenceTypeCode=type_code, **changes)
        made = await self.desk.write(CONTRACTOR, f"{kind}s", body)
        assert made["workflow"]["workflowCode"] == self.code
        return made

    async def act(self, account: str, document: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        """Take a step that the page offers to this person, and return the envelope after it."""
        kind, _ = CARRIED[self.code]
        seen = await self.desk.read(account, f"{kind}s", document["publicId"])
        assert action in seen.json()["workflow"]["availableActions"], (account, action, seen.text)
        return (await self.desk.act(account, document, action, **more))["workflow"]  # type: ignore[no-any-return]

    async def refused(self, account: str, document: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        """Try a step, and return the problem that it meets."""
        client = await self.desk.as_(account)
        address = f"{API}/workflow/instances/{document['workflow']['instancePublicId']}/transitions"
        answer = await client.post(address, json={"action": action, **more})
        assert answer.status_code >= httpx.codes.BAD_REQUEST, answer.text
        return answer.json()  # type: ignore[no-any-return]

    async def waits_for(self, document: dict[str, Any]) -> set[str]:
        """Return those of the three in whose inbox the document is."""
        found = set()
        for account in (CONTRACTOR, CONSULTANT, ENGINEER, OWNER):
            items = (await (await self.desk.as_(account)).get(f"{API}/inbox")).json()["items"]
            if any(one["workflow"]["instancePublicId"] == document["workflow"]["instancePublicId"] for one in items):
                found.add(account)
        return found

    async def answer(
        self, account: str, document: dict[str, Any], branch: str, code: str, **more: Any
    ) -> httpx.Response:
        of = {one["name"]: one for one in await self.branches(document)}
        address = (
            f"{API}/workflow/instances/{document['workflow']['instancePublicId']}/branches/{of[branch]['publicId']}"
        )
        client = await self.desk.as_(account)
        return await client.post(f"{address}/answers", json={"answer": code, **more})

    async def branches(self, document: dict[str, Any], account: str = CONTRACTOR) -> list[dict[str, Any]]:
        read = await self.desk.read(account, f"{CARRIED[self.code][0]}s", document["publicId"])
        return read.json()["workflow"]["branches"]  # type: ignore[no-any-return]

    async def working_day(self, count: int) -> str:
        """Return the day so many working days from today."""
        clock, office = self.app.state.clock, await office_in(self.app.state.db)
        async with self.app.state.db.reading() as session:
            calendar = await projects.work_calendar(session, project_id=office.project)
        return working_days_after(calendar, local_date(clock.now(), clock.zone), count).isoformat()


Story = Callable[[Site], Awaitable[None]]


async def memo_two_steps(site: Site) -> None:
    memo = await site.write(recipients=site.desk.to("คคง.", cc=("กทท.",)))
    await site.act(CONTRACTOR, memo, "submit")
    checking = await site.waits_for(memo)
    bare = await site.refused(CONSULTANT, memo, "return")
    returned = await site.act(CONSULTANT, memo, "return", comment="page 2")
    back = await site.waits_for(memo)
    await site.act(CONTRACTOR, memo, "submit")
    too_early = await site.refused(OWNER, memo, "pass-on")
    await site.act(CONSULTANT, memo, "pass-on")
    deciding = await site.waits_for(memo)
    decided = await site.act(OWNER, memo, "approve")

    assert (checking, back, deciding) == ({CONSULTANT}, {CONTRACTOR}, {OWNER})
    assert [one["pointer"] for one in bare["errors"]] == ["/comment"]
    assert too_early["code"] == "WORKFLOW_ACTION_FORBIDDEN"
    assert (returned["currentState"], decided["status"]) == ("draft", "COMPLETED")


async def memo_without_the_owner(site: Site) -> None:
    """What the page warns of: who decides has to be able to see it."""
    memo = await site.write()
    await site.act(CONTRACTOR, memo, "submit")
    await site.act(CONSULTANT, memo, "pass-on")

    assert (await site.desk.read(OWNER, "correspondences", memo["publicId"])).status_code == httpx.codes.NOT_FOUND
    assert await site.waits_for(memo) == set()
    instance = f"{API}/workflow/instances/{memo['workflow']['instancePublicId']}"
    history = (await (await site.desk.as_(CONTRACTOR)).get(f"{instance}/history")).json()["items"]
    assert [one["nobody"] for one in history] == [False, True]


async def purchase_limit(site: Site) -> None:
    async def asked(amount: Any, **changes: Any) -> Any:
        order = await site.write(recipients=site.desk.to("คคง.", cc=("กทท.",)), **changes)
        await site.act(CONTRACTOR, order, "submit", payload={"amount": amount})
        return order

    small, large, urgent = await asked(420_000), await asked(2_000_000), await asked(1, priority="URGENT")
    silent = await site.write()
    too_large = await site.refused(CONTRACTOR, silent, "submit", payload={"amount": 900_000_000})
    nothing = await site.refused(CONTRACTOR, silent, "submit")
    too_much = await site.refused(CONSULTANT, large, "approve")
    pressing = await site.refused(CONSULTANT, urgent, "return", comment="page 2")
    await site.act(CONSULTANT, large, "pass-on")
    ends = [await site.act(CONSULTANT, small, "approve"), await site.act(OWNER, large, "approve")]

    assert nothing["userMessage"] == "Please state the amount."
    assert too_much["userMessage"].startswith("Above 500,000 the owner approves.")
    assert pressing["userMessage"] == "What is urgent is not sent back."
    assert [one["pointer"] for one in too_large["errors"]] == ["/payload/amount"]
    assert [end["status"] for end in ends] == ["COMPLETED", "COMPLETED"]


async def material_review(site: Site) -> None:
    async def submitted(**changes: Any) -> tuple[dict[str, Any], Any]:
        material = await site.write(**changes)
        bare = await site.refused(CONTRACTOR, material, "submit")
        assert [one["pointer"] for one in bare["errors"]] == ["/attachmentPublicIds"]
        return material, await sent(material)

    async def sent(material: dict[str, Any]) -> dict[str, Any]:
        return await site.act(CONTRACTOR, material, "submit", attachmentPublicIds=[await site.desk.upload(CONTRACTOR)])

    _, with_owner = await submitted(priority="URGENT")
    material, with_consultant = await submitted()
    for nothing in ({}, {"responseCode": "3"}, {"responseCode": "9"}):
        assert (await site.refused(ENGINEER, material, "respond", **nothing))["status"] == 422
    back = await site.act(ENGINEER, material, "respond", responseCode="3", comment="page 2")
    await sent(material)
    approved = await site.act(ENGINEER, material, "respond", responseCode="1A")
    shown = unwrapped(await site.desk.read(CONTRACTOR, "rfas", material["publicId"]))

    assert (with_owner["currentState"], with_owner["dueOn"]) == ("with_owner", await site.working_day(1))
    assert (with_consultant["currentState"], with_consultant["dueOn"]) == ("with_consultant", await site.working_day(5))
    assert (back["currentState"], approved["currentState"]) == ("draft", "approved")
    assert shown["approveCode"]["code"] == "1A"


async def design_review(site: Site) -> None:
    await seat(await office_in(site.app.state.db), {ENGINEER: "STR", OWNER: "ARC"})

    async def asked() -> dict[str, Any]:
        design = await site.write()
        await site.act(CONTRACTOR, design, "submit")
        return design

    split = await asked()
    waited = await site.waits_for(split)
    assert (await site.answer(ENGINEER, split, "structure", "agree")).status_code == httpx.codes.OK
    bare = await site.answer(OWNER, split, "architecture", "object")
    assert (await site.answer(OWNER, split, "architecture", "object", comment="page 2")).status_code == httpx.codes.OK
    unseen = {one["name"]: one for one in await site.branches(split, ENGINEER)}["architecture"]
    stranger = await site.answer("viewer", split, "control", "agree")
    decided = await site.answer(CONSULTANT, split, "control", "agree")
    seen = {one["name"]: one for one in await site.branches(split, ENGINEER)}["architecture"]
    stopped = await asked()
    back = await site.answer(ENGINEER, stopped, "structure", "veto", comment="cracks")

    assert {ENGINEER, OWNER, CONSULTANT} <= waited
    assert [one["pointer"] for one in bare.json()["errors"]] == ["/comment"]
    assert stranger.status_code == httpx.codes.FORBIDDEN
    assert (unseen["status"], unseen["answer"]) == ("ANSWERED", None)
    assert (decided.json()["workflow"]["currentState"], seen["answer"]) == ("accepted", "object")
    assert back.json()["workflow"]["currentState"] == "draft"


STORIES: tuple[tuple[str, Story], ...] = (
    ("MEMO_TWO_STEPS", memo_two_steps),
    ("MEMO_TWO_STEPS", memo_without_the_owner),
    ("PURCHASE_LIMIT", purchase_limit),
    ("MATERIAL_REVIEW", material_review),
    ("DESIGN_REVIEW", design_review),
)


class TestExamples:
    def test_have_a_story_each(self) -> None:
        assert EXAMPLES.keys() == {code for code, _ in STORIES}

    @pytest.mark.parametrize(("code", "story"), STORIES, ids=[story.__name__ for _, story in STORIES])
    async def test_are_published_chosen_and_do_what_the_page_says(
        self, app: FastAPI, signed_in: SignIn, code: str, story: Story
    ) -> None:
        desk, admin, manager = await desk_of(signed_in), await signed_in("admin"), await signed_in("padmin")
        kind, type_code = CARRIED[code]
        made = await admin.post(f"{API}/workflow/definitions", json={"dsl": EXAMPLES[code], "activate": True})
        order = {"kind": kind, "typeCode": type_code, "projectPublicId": desk.project, "workflowCode": code}
        chosen = await manager.put(f"{API}/workflow/choices", json=order)
        assert (made.status_code, chosen.status_code) == (201, 200), made.text + chosen.text

        await story(Site(app, desk, code))


# Where a word stands, by the end of its pointer; what has only `th` and `en` is said once, at `label`.
PLACES = (
    ("definition", r""),
    ("example", r"/examples/\d+"),
    ("facts", r"/examples/\d+/facts"),
    ("state", r"/states/\d+"),
    ("due", r"/states/\d+/due"),
    ("action", r"/states/\d+/on/[^/]+"),
    ("require", r".*/require"),
    ("condition", r".*/condition"),
    ("response", r".*/responses/[^/]+"),
    ("event", r".*/events/\d+"),
    ("review", r".*/review"),
    ("verdict", r".*/review/then"),
    ("outcome", r".*/review/then/\w+"),
    ("branch", r".*/branches/\d+"),
    ("assignee", r".*/assignee"),
    ("answer", r".*/answers/[^/]+"),
)
BOTH_LANGUAGES = {"th", "en"}


def place_of(pointer: str) -> str:
    return next((name for name, pattern in PLACES if re.fullmatch(pattern, pointer)), pointer)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Every (place, word) that the reader asks for while it reads the examples."""
    found: set[tuple[str, str]] = set()

    class Recorder(Faults):
        def keys(
            self, raw: Any, at: str, *, needed: AbstractSet[str] = frozenset(), allowed: AbstractSet[str] = frozenset()
        ) -> Mapping[str, Any] | None:
            found.update((place_of(at), word) for word in (needed | allowed) - BOTH_LANGUAGES)
            return super().keys(raw, at, needed=needed, allowed=allowed)

    monkeypatch.setattr(dsl, "Faults", Recorder)
    for example in EXAMPLES.values():
        definition_checks.verify(example)
    return found


def table() -> set[tuple[str, str]]:
    section = GUIDE.split("## Every word of a definition")[1].split("\n## ")[0]
    return set(re.findall(r"^\| (\w+) \| `(\w+)` \|", section, re.MULTILINE))


class TestWords:
    def test_of_the_table_are_those_that_the_reader_knows(self, words: set[tuple[str, str]]) -> None:
        assert table() == words

    def test_have_a_link_to_every_section_in_the_contents(self) -> None:
        headings = re.findall(r"^## (.+)$", GUIDE, re.MULTILINE)
        linked = re.findall(r"^- \[(.+)\]\(#.+\)$", GUIDE, re.MULTILINE)

        assert linked == headings
