"""The examples of docs/workflow.md are published and played, and its table of words is the reader's own: the page stays true."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.attachments.models import Attachment
from saraban.kit.errors import Invalid
from saraban.kit.ids import new_id
from saraban.workflow.domain import dsl
from saraban.workflow.domain.faults import Faults
from saraban.workflow.service import ActionForbidden, ConditionNotMet
from tests.factories.letterbox import NOW, Office
from tests.factories.review import answer, branches, seat

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "workflow.md").read_text("utf-8")
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
EXAMPLES: dict[str, dict[str, Any]] = {block["workflow"]: block for block in BLOCKS if "workflow" in block}

CONTRACTOR, CONSULTANT, OWNER = "dc.contractor", "reviewer.consultant", "approver.owner"
Story = Callable[[Office], Awaitable[None]]


async def memo_two_steps(office: Office) -> None:
    memo = (await office.start(office.letter(), code="MEMO_TWO_STEPS")).instance_public_id
    await office.act(memo, "submit", by=CONTRACTOR)
    with pytest.raises(Invalid):
        await office.act(memo, "return", by=CONSULTANT)
    returned = await office.act(memo, "return", by=CONSULTANT, comment="page 2")
    await office.act(memo, "submit", by=CONTRACTOR)
    with pytest.raises(ActionForbidden):
        await office.act(memo, "pass-on", by=OWNER)
    await office.act(memo, "pass-on", by=CONSULTANT)
    decided = await office.act(memo, "approve", by=OWNER)

    assert returned["currentState"] == "draft"
    assert decided["status"] == "COMPLETED"


async def purchase_limit(office: Office) -> None:
    async def asked(amount: Any, priority: str = "LOW") -> Any:
        order = (await office.start(office.letter(priority=priority), code="PURCHASE_LIMIT")).instance_public_id
        await office.act(order, "submit", by=CONTRACTOR, payload={"amount": amount})
        return order

    small, large, urgent = await asked(420_000), await asked(2_000_000), await asked(1, "URGENT")
    with pytest.raises(Invalid) as refused:
        await asked(900_000_000)
    silent = (await office.start(office.letter(), code="PURCHASE_LIMIT")).instance_public_id
    with pytest.raises(ConditionNotMet) as nothing:
        await office.act(silent, "submit", by=CONTRACTOR)
    with pytest.raises(ConditionNotMet) as too_much:
        await office.act(large, "approve", by=CONSULTANT)
    with pytest.raises(ConditionNotMet) as pressing:
        await office.act(urgent, "return", by=CONSULTANT, comment="page 2")
    await office.act(large, "pass-on", by=CONSULTANT)
    ends = [await office.act(small, "approve", by=CONSULTANT), await office.act(large, "approve", by=OWNER)]

    assert nothing.value.words.en == "Please state the amount."
    assert too_much.value.words.en.startswith("Above 500,000 the owner approves.")
    assert pressing.value.words.th == "เรื่องด่วนที่สุดส่งกลับไม่ได้"
    assert [field.pointer for field in refused.value.fields] == ["/payload/amount"]
    assert [end["status"] for end in ends] == ["COMPLETED", "COMPLETED"]


async def material_review(office: Office) -> None:
    async def submitted(priority: str) -> tuple[UUID, Any]:
        material = (await office.start(office.letter(priority=priority), code="MATERIAL_REVIEW")).instance_public_id
        with pytest.raises(Invalid) as bare:
            await office.act(material, "submit", by=CONTRACTOR)
        sheet = await data_sheet(office)
        assert [field.pointer for field in bare.value.fields] == ["/attachmentPublicIds"]
        return material, await office.act(material, "submit", by=CONTRACTOR, attachment_public_ids=(sheet,))

    _, with_owner = await submitted("URGENT")
    material, with_consultant = await submitted("LOW")
    for nothing in ({}, {"response_code": "3"}, {"response_code": "9"}):
        with pytest.raises(Invalid):
            await office.act(material, "respond", by=CONSULTANT, **nothing)
    back = await office.act(material, "respond", by=CONSULTANT, response_code="3", comment="page 2")
    await office.act(material, "submit", by=CONTRACTOR, attachment_public_ids=(await data_sheet(office),))
    approved = await office.act(material, "respond", by=CONSULTANT, response_code="1A")

    # Counted from Friday, 20 November.
    assert (with_owner["currentState"], with_owner["dueOn"]) == ("with_owner", "2026-11-23")
    assert (with_consultant["currentState"], with_consultant["dueOn"]) == ("with_consultant", "2026-11-27")
    assert (back["currentState"], approved["currentState"]) == ("draft", "approved")


async def data_sheet(office: Office) -> UUID:
    """A file that the contractor has just uploaded."""
    owner, public_id = await office.person(CONTRACTOR), new_id()
    values = {
        "public_id": public_id,
        "original_filename": "วัสดุ.pdf",
        "stored_filename": f"{public_id}.pdf",
        "file_path": f"{public_id}.pdf",
        "mime_type": "application/pdf",
        "file_size": 9,
        "checksum": "0" * 64,
        "uploaded_by_user_id": owner.user_id,
        "created_at": NOW,
        "expires_at": NOW + timedelta(hours=24),
    }
    await office.db.transact(lambda session: session.execute(sa.insert(Attachment).values(values)))
    return public_id


async def design_review(office: Office) -> None:
    await seat(office, {CONSULTANT: "STR", OWNER: "ARC"})

    async def asked() -> tuple[UUID, dict[str, UUID]]:
        design = (await office.start(office.letter(), code="DESIGN_REVIEW")).instance_public_id
        await office.act(design, "submit", by=CONTRACTOR)
        return design, {name: branch.public_id for name, branch in (await branches(office, design)).items()}

    split, of = await asked()
    await answer(office, split, of["structure"], "agree", by=CONSULTANT)
    with pytest.raises(Invalid):
        await answer(office, split, of["architecture"], "object", by=OWNER)
    await answer(office, split, of["architecture"], "object", by=OWNER, comment="page 2")
    unseen = await branches(office, split, by=CONSULTANT)
    with pytest.raises(ActionForbidden):
        await answer(office, split, of["control"], "agree", by="viewer")
    decided = await answer(office, split, of["control"], "agree", by="dc.consultant")
    seen = await branches(office, split, by=CONSULTANT)
    stopped, of = await asked()
    back = await answer(office, stopped, of["structure"], "veto", by=CONSULTANT, comment="cracks")

    assert (unseen["architecture"].status, unseen["architecture"].answer) == ("ANSWERED", None)
    assert (decided["currentState"], seen["architecture"].answer) == ("accepted", "object")
    assert back["currentState"] == "draft"


STORIES: dict[str, Story] = {
    "MEMO_TWO_STEPS": memo_two_steps,
    "PURCHASE_LIMIT": purchase_limit,
    "MATERIAL_REVIEW": material_review,
    "DESIGN_REVIEW": design_review,
}


class TestExamples:
    def test_have_a_story_each(self) -> None:
        assert EXAMPLES.keys() == STORIES.keys()

    @pytest.mark.parametrize("code", sorted(EXAMPLES))
    async def test_do_what_the_page_says(self, office: Office, code: str) -> None:
        await office.define(EXAMPLES[code])

        await STORIES[code](office)


# Where a word stands, by the end of its pointer; what has only `th` and `en` is said once, at `label`.
PLACES = (
    ("definition", r""),
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
        def keys(self, raw: Any, at: str, *, needed: set[str], allowed: set[str]) -> Mapping[str, Any] | None:
            found.update((place_of(at), word) for word in (needed | allowed) - BOTH_LANGUAGES)
            return super().keys(raw, at, needed=needed, allowed=allowed)

    monkeypatch.setattr(dsl, "Faults", Recorder)
    for example in EXAMPLES.values():
        dsl.read(example)
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
