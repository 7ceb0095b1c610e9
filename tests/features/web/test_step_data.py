"""The values that a step can be given, on the page of a document: fields after the schema, faults at them, what was typed kept."""

import copy
import html
import json
import re
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.datastructures import FormData

from saraban.kit.errors import Invalid
from saraban.web.documents.step_form import payload_of_step, step_form
from saraban.workflow.language import dsl
from saraban.workflow.runtime.service.step_data import StepData
from saraban.workflow.verification import definition_checks
from tests.conftest import SignIn
from tests.definitions import RFA
from tests.features.web.conftest import Sit
from tests.features.web.forms import hidden, new_rfa
from tests.features.web.page_html import html_of

PROPERTIES: dict[str, Any] = {
    "amount": {
        "type": "number",
        "minimum": 1,
        "maximum": 1000,
        "label": {"th": "จำนวนเงิน", "en": "Amount"},
        "help": {"th": "เป็นบาท", "en": "In baht"},
    },
    "grade": {"enum": ["A", "B"], "title": "Grade"},
    "from": {"type": "string", "format": "date"},
    "code": {"type": "string", "pattern": "^[A-Z]{2}$", "maxLength": 2},
    "urgent": {"type": "boolean"},
    "lots": {"type": "array", "items": {"type": "integer"}},
}


def priced(properties: dict[str, Any] = PROPERTIES) -> dict[str, Any]:
    """An RFA that is submitted with an amount."""
    raw = copy.deepcopy(RFA)
    payload = {"type": "object", "properties": properties, "required": ["amount"]}
    raw["context_schema"] = {"type": "object", "properties": {"payload": payload}}
    raw["states"][0]["on"]["submit"]["condition"] = {
        "type": "json-logic",
        "rule": {"<=": [{"var": "payload.amount"}, 500]},
        "message": {"th": "ไม่เกิน 500", "en": "At most 500 here"},
    }
    return raw


def values(properties: dict[str, Any] = PROPERTIES) -> StepData:
    definition = dsl.read(priced(properties))
    return StepData(definition, {}, definition.initial)


def sent(*pairs: tuple[str, str], **more: str) -> FormData:
    return FormData(
        [("takes", json.dumps([*PROPERTIES])), *((f"payload.{name}", typed) for name, typed in pairs), *more.items()]
    )


def remembering(fields: list[str] | None, **known: Any) -> StepData:
    """What can be given once some of it was stated."""
    raw = priced()
    if fields is not None:
        raw["states"][1]["on"]["approve"]["fields"] = fields
    return StepData(definition_checks.verify(raw), {"payload": known}, "pending_review")


class TestPayload:
    def test_has_each_value_in_the_type_that_the_schema_wants(self) -> None:
        form = sent(
            ("amount", "12.5"), ("grade", '"B"'), ("from", "2026-11-21"), ("urgent", "true"), ("lots", "[1,\n 2]")
        )

        assert payload_of_step(values(), form) == {
            "amount": 12.5,
            "grade": "B",
            "from": "2026-11-21",
            "urgent": True,
            "lots": [1, 2],
        }

    def test_is_nothing_when_nothing_was_said(self) -> None:
        assert payload_of_step(values(), sent(("amount", " "), ("grade", ""))) == {}

    def test_says_no_for_a_box_that_was_left_beside_what_was_filled_in(self) -> None:
        assert payload_of_step(values(), sent(("amount", "5"))) == {"amount": 5, "urgent": False}

    def test_is_what_the_document_does_not_remember_already(self) -> None:
        remembered = '{"amount": 5, "more": [1], "urgent": true}'

        assert payload_of_step(values(), sent(("amount", "5.0"), ("urgent", "true"), remembered=remembered)) == {}
        assert payload_of_step(values(), sent(("amount", "6"), remembered=remembered)) == {"amount": 6, "urgent": False}
        assert payload_of_step(values(), sent(("amount", "5"), remembered=remembered, judged="1"))["amount"] == 5

    def test_takes_back_what_was_emptied(self) -> None:
        known = remembering(["amount", "code"], amount=5, code="AB", **{"from": "2026-11-21"})
        remembered = '{"amount": 5, "code": "AB"}'
        form = FormData({"takes": '["amount", "code"]', "payload.amount": "5", "remembered": remembered})

        assert payload_of_step(known, form) == {"code": None}

    def test_has_nothing_that_was_not_asked_for(self) -> None:
        form = FormData({"takes": '["code"]', "payload.amount": "5", "payload.code": "AB"})

        assert payload_of_step(remembering(["code"], amount=9), form) == {"code": "AB"}

    def test_is_whole_in_a_version_from_before(self) -> None:
        whole = values()
        assert whole.definition is not None
        old = replace(whole, definition=replace(whole.definition, merges=False))
        remembered = '{"amount": 5, "more": [1]}'

        assert payload_of_step(old, sent(("amount", "5.0"), remembered=remembered)) == {}
        assert payload_of_step(old, sent(("amount", "6"), remembered=remembered)) == {
            "amount": 6,
            "more": [1],
            "urgent": False,
        }

    @pytest.mark.parametrize(
        ("form", "faults"),
        [
            (sent(("amount", "many")), [("/payload/amount", "type")]),
            (sent(("amount", "2000")), [("/payload/amount", "maximum")]),
            (sent(("grade", '"A"')), [("/payload/amount", "required")]),
            (sent(judged="1"), [("/payload/amount", "required")]),
            (sent(("amount", ""), remembered='{"amount": 5}'), [("/payload/amount", "required")]),
            (sent(("amount", "5"), ("code", "abc")), [("/payload/code", "max_length"), ("/payload/code", "pattern")]),
            (sent(("amount", "5"), ("lots", "[1,\n2")), [("/payload/lots", "not_json")]),
            (sent(("amount", "5"), ("lots", "[" * 100_000)), [("/payload/lots", "too_deep")]),
            (sent(("amount", "5"), ("lots", "[NaN]")), [("/payload/lots/0", "not_json")]),
            (sent(("amount", "5"), ("grade", '"C"')), [("/payload/grade", "enum")]),
        ],
    )
    def test_is_refused_at_the_value(self, form: FormData, faults: list[tuple[str, str]]) -> None:
        with pytest.raises(Invalid) as refused:
            payload_of_step(values(), form)

        assert sorted((one.pointer, one.code) for one in refused.value.fields) == faults

    def test_is_left_to_programs_where_there_are_too_many_values(self) -> None:
        many = values({"amount": {"type": "number"}} | {f"v{index}": {"type": "string"} for index in range(60)})

        assert step_form(many, {}, "submit").too_many
        assert payload_of_step(many, FormData({"takes": json.dumps([one.name for one in many.fields])})) == {}


class TestAsked:
    def test_is_what_the_action_takes(self) -> None:
        stated, named, none = (remembering(fields, amount=5) for fields in (None, ["code", "amount"], []))

        assert [one.field.name for one in step_form(stated, {}, "approve").rows] == [
            *(name for name in PROPERTIES if name != "amount")
        ]
        assert [one.field.name for one in step_form(named, {}, "approve").rows] == ["amount", "code"]
        assert step_form(none, {}, "approve").rows == []

    def test_has_what_was_stated_beside_it(self) -> None:
        (one,) = step_form(remembering([], amount=42_000), {}, "approve").stated

        assert (one.label.th, one.text.en) == ("จำนวนเงิน", "42,000")

    def test_is_folded_where_it_was_stated_before(self) -> None:
        assert step_form(remembering(["amount"], amount=5), {}, "approve").folded
        assert not step_form(remembering(["amount"], code="AB"), {}, "approve").folded


async def published(signed_in: SignIn) -> httpx.AsyncClient:
    admin = await signed_in("admin")
    made = await admin.post("/api/v1/workflow/definitions", json={"dsl": priced(), "activate": True})
    assert made.status_code == httpx.codes.CREATED, made.text
    return admin


def dialog(page: str, action: str) -> str:
    return page.split(f'<dialog class="sheet" id="act-{action}"')[1].split("</dialog>", 1)[0]


def shown(form: dict[str, str]) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in form.items()}


class TestPage:
    async def test_asks_for_them_in_the_readers_language(self, sit: Sit, signed_in: SignIn) -> None:
        await published(signed_in)
        thai, english = await sit("dc.contractor"), await sit("dc.contractor", "en")
        address = await new_rfa(thai)

        shown = [dialog(html_of(await one.get(address)), "submit") for one in (thai, english)]

        for page, words in zip(shown, (("จำนวนเงิน", "เป็นบาท"), ("Amount", "In baht")), strict=True):
            assert all(word in page for word in words)
            assert re.search(
                r'<input class="form-control" type="number"[^>]* required[^>]* step="any" min="1" max="1000"', page
            )
            assert re.search(r'<option value="&#34;B&#34;">B</option>', page)
            assert re.search(r'name="payload.from"[^>]* data-date', page)
            assert 'pattern=".*(?:^[A-Z]{2}$).*"' in page
            assert re.search(r'type="checkbox"[^>]*name="payload.urgent"', page)
            assert re.search(r'<textarea[^>]*name="payload.lots"', page)

    async def test_takes_them_and_shows_them_to_who_comes_next(self, sit: Sit, signed_in: SignIn) -> None:
        await published(signed_in)
        contractor, reviewer = await sit("dc.contractor", "en"), await sit("reviewer.consultant", "en")
        address = await new_rfa(contractor)
        form = shown(hidden(html_of(await contractor.get(address)), "act-submit"))
        typed = {"payload.amount": "2000", "payload.lots": "[1, x]", "payload.code": '"<b>'}

        unread = await contractor.post(f"{address}/actions", data=form | typed)
        refused = await contractor.post(f"{address}/actions", data=form | typed | {"payload.lots": "[1, 2]"})
        judged = await contractor.post(f"{address}/actions", data=form | {"payload.amount": "600"})
        good = form | {"payload.amount": "420", "payload.urgent": "true", "key": "another"}
        taken = [await contractor.post(f"{address}/actions", data=good) for _ in range(2)]
        before = dialog(html_of(await reviewer.get(address)), "approve")

        assert (unread.status_code, refused.status_code, judged.status_code) == (422, 422, 409)
        assert "Not valid JSON: line 1, character 5." in dialog(html_of(unread), "submit")
        told = dialog(html_of(refused), "submit")
        assert 'data-reopen="act-submit"' in html_of(refused)
        assert re.search(
            r'value="2000".*?<div class="fault" id="e-v-submit-1">This must be at most 1000.', told, re.DOTALL
        )
        assert 'value="&#34;&lt;b&gt;"' in told
        assert 'data-reopen="act-submit"' in html_of(judged)
        assert '<div class="fault">At most 500 here</div>' in dialog(html_of(judged), "submit")
        assert [answer.status_code for answer in taken] == [303, 303]
        assert "<strong>Amount</strong>: 420 · <strong>urgent</strong>: Yes</p>" in before
        assert 'name="payload.amount"' not in before
        assert 'name="payload.code"' in before
        told = html_of(await reviewer.get(address)).split('<ol class="history">')[1].split("</ol>")[0]
        assert "Amount: <strong>420</strong>" in told
        reader = await sit("viewer", "en")
        assert '<div data-stated="amount"><dt>Amount</dt><dd>420</dd></div>' in html_of(await reader.get(address))
