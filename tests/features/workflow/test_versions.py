"""Versions over HTTP: faults with their lines, differences, diagrams, rehearsals, and finished work played again."""

import copy
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from saraban.workflow import service as workflow
from tests.conftest import SignIn
from tests.definitions import CONTRACTOR, RFA, shorter
from tests.factories.letterbox import NOW, Office
from tests.factories.review import WORDS, branches, reviewed, seat, under_review
from tests.factories.review import answer as answer_for

URL = "/api/v1/workflow/definitions"
CONSULTANT = {
    "roles": ["Editor"],
    "permissions": ["workflow.action_review"],
    "party": ["recipient"],
    "organizationRoles": ["CONSULTANT"],
}


@pytest.fixture
async def admin(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("admin")


class TestText:
    async def test_has_the_line_of_each_fault(self, admin: httpx.AsyncClient) -> None:
        raw = copy.deepcopy(RFA)
        raw["states"][0]["on"]["submit"]["to"] = "nowhere"
        text = json.dumps(raw, indent=1, ensure_ascii=False)

        answer = await admin.post(f"{URL}/validate", json={"text": text})

        (fault, *_) = answer.json()["errors"]
        assert fault["pointer"] == "/text/states/0/on/submit/to"
        assert '"nowhere"' in text.splitlines()[fault["line"] - 1]

    async def test_that_is_no_json_is_told_where(self, admin: httpx.AsyncClient) -> None:
        answer = await admin.post(f"{URL}/validate", json={"text": '{\n "workflow": }'})

        (fault,) = answer.json()["errors"]
        assert (fault["code"], fault["line"]) == ("not_json", 2)
        assert "บรรทัด 2" in fault["message"]["th"]

    @pytest.mark.parametrize("body", [{}, {"dsl": {}, "text": "{}"}])
    async def test_or_definition_and_not_both(self, admin: httpx.AsyncClient, body: dict[str, Any]) -> None:
        assert (await admin.post(f"{URL}/validate", json=body)).status_code == 422


class TestDifference:
    async def test_names_what_changed(self, admin: httpx.AsyncClient) -> None:
        await admin.post(URL, json={"dsl": shorter()})

        answer = await admin.get(f"{URL}/RFA_APPROVAL/difference", params={"before": 1, "after": 2})

        changes = {change["place"]: change for change in answer.json()["changes"]}
        assert changes["/states/pending_review/on/approve/to"]["after"] == "approved"
        assert changes["/states/pending_approval"]["what"] == "removed"

    async def test_of_a_version_that_is_not_there_is_not_found(self, admin: httpx.AsyncClient) -> None:
        answer = await admin.get(f"{URL}/RFA_APPROVAL/difference", params={"before": 1, "after": 9})

        assert answer.status_code == 404


class TestDiagram:
    @pytest.mark.parametrize(("language", "label"), [("th", "ส่งเอกสาร"), ("en", "Submit")])
    async def test_is_drawn_in_either_language(self, admin: httpx.AsyncClient, language: str, label: str) -> None:
        answer = await admin.get(f"{URL}/RFA_APPROVAL/versions/1/diagram", params={"language": language})

        assert f": {label}" in answer.json()["mermaid"]


class TestRehearsal:
    async def test_plays_a_story_and_keeps_nothing(self, admin: httpx.AsyncClient) -> None:
        steps = [
            {"actor": CONSULTANT, "action": "submit"},
            {"actor": CONTRACTOR, "action": "submit"},
            {"actor": CONSULTANT, "action": "reject"},
            {"actor": CONSULTANT, "action": "reject", "comment": "ไม่ครบ"},
        ]

        answer = await admin.post(f"{URL}/RFA_APPROVAL/versions/1/rehearse", json={"steps": steps})

        told = [(one["state"], one["nextState"], one["code"]) for one in answer.json()["steps"]]
        assert told == [
            ("draft", "draft", "WORKFLOW_ACTION_FORBIDDEN"),
            ("draft", "pending_review", None),
            ("pending_review", "pending_review", "VALIDATION_ERROR"),
            ("pending_review", "rejected", None),
        ]
        last = answer.json()["steps"]
        assert last[-1]["terminal"] is True
        assert last[1]["availableActions"] == ["submit"]
        assert last[2]["message"]["th"] == "จำเป็นต้องระบุเหตุผลหรือความเห็น"

    async def test_reads_the_document_it_is_given(self, admin: httpx.AsyncClient) -> None:
        raw = shorter()
        rule = {"==": [{"var": "document.priority"}, "HIGH"]}
        raw["states"][0]["on"]["submit"]["condition"] = {"type": "json-logic", "rule": rule}
        raw["examples"] = [{"state": "draft", "action": "submit", "facts": {"document": {"priority": "HIGH"}}}]
        await admin.post(URL, json={"dsl": raw})
        body: dict[str, Any] = {"steps": [{"actor": CONTRACTOR, "action": "submit"}]}

        answers = [
            await admin.post(
                f"{URL}/RFA_APPROVAL/versions/2/rehearse", json=body | {"document": {"priority": priority}}
            )
            for priority in ("LOW", "HIGH")
        ]

        assert [answer.json()["steps"][0]["code"] for answer in answers] == ["WORKFLOW_CONDITION_NOT_MET", None]

    async def test_is_for_administrators(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")

        for what in ("rehearse", "replay"):
            answer = await padmin.post(f"{URL}/RFA_APPROVAL/versions/1/{what}", json={"steps": []})
            assert answer.status_code == 403


class TestReplay:
    async def test_names_finished_instances_that_would_differ(self, office: Office) -> None:
        await office.define(shorter(), activate=True)
        instance = await office.pending()
        await office.act(instance, "approve", by="reviewer.consultant")
        (facts,) = office.box.letters.values()
        raw = shorter()
        raw["states"][0]["on"]["submit"]["comment"] = "required"
        await office.define(raw, activate=False)

        same = await self._replay(office, 2)
        changed = await self._replay(office, 3)

        assert (same.looked_at, same.same, same.differing) == (1, 1, [])
        (one,) = changed.differing
        assert (one.number, one.parting.step, one.parting.reason.code) == (facts.number, 1, "comment_required")

    @pytest.mark.parametrize("hidden", [False, True])
    async def test_knows_the_comments_of_answers_and_what_had_files(self, office: Office, hidden: bool) -> None:
        await seat(office)
        first = {"approve": {"label": WORDS, "counts": "for"}, "reject": {"label": WORDS, "counts": "against"}}
        asked: dict[str, Any] = {"completion": "any", "answers": first, "hidden": hidden}
        instance = await under_review(office, **asked)
        found = await branches(office, instance)
        await answer_for(office, instance, found["structure"].public_id, by="reviewer.consultant")
        more = first | {"approve": first["approve"] | {"comment": "required"}}
        await office.define(reviewed(**asked | {"answers": more}), activate=False)
        raw = reviewed(**asked)
        raw["states"][0]["on"]["submit"]["attachments"] = "required"
        await office.define(raw, activate=False)

        told = [await self._replay(office, version, code="REVIEWED") for version in (1, 2, 3)]

        parted = [[(one.parting.step, one.parting.reason.code) for one in each.differing] for each in told]
        assert parted == [[], [(2, "comment_required")], [(1, "files_required")]]

    @pytest.mark.parametrize("code", ["approve", "reject"])
    async def test_does_not_ask_what_was_answered_in_hiding_and_never_told(self, office: Office, code: str) -> None:
        await seat(office)
        said = {"approve": {"label": WORDS, "counts": "for"}, "reject": {"label": WORDS, "counts": "against"}}
        asked: dict[str, Any] = {"completion": {"atLeast": 2}, "answers": said, "hidden": True}
        instance = await under_review(office, **asked)
        found = await branches(office, instance)
        await answer_for(office, instance, found["structure"].public_id, code, by="reviewer.consultant", comment="p. 3")
        await office.act(instance, "withdraw", by="dc.contractor")
        await office.act(instance, "submit", by="dc.contractor")
        found = await branches(office, instance)
        for name, by in (("structure", "reviewer.consultant"), ("electrical", "dc.consultant")):
            await answer_for(office, instance, found[name].public_id, by=by)
        other = {"approve": said["approve"], "decline": said["reject"]}
        later = {"approve": said["approve"] | {"comment": "required"}, "reject": said["reject"]}
        for answers in (other, later):
            await office.define(reviewed(**asked | {"answers": answers}), activate=False)

        told = [await self._replay(office, version, code="REVIEWED") for version in (2, 3)]

        # The second round came to its verdict, and is known.
        parted = [[(one.parting.step, one.parting.reason.code) for one in each.differing] for each in told]
        assert parted == [[], [(5, "comment_required")]]

    async def test_asks_what_the_record_knows_of_values_and_people(self, office: Office) -> None:
        schema: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "number"}}}
        priced = shorter() | {"context_schema": {"type": "object", "properties": {"payload": schema}}}
        await office.define(priced)
        writer = (await office.person("dc.contractor")).user_id
        instance = (await office.start(office.letter(submitter_user_id=writer))).instance_public_id
        await office.act(instance, "submit", by="dc.contractor", payload={"amount": 450})
        await office.act(instance, "approve", by="reviewer.consultant")
        versions = []
        for change in ({"maximum": 100}, {}, {}, {}):
            raw = copy.deepcopy(priced)
            raw["context_schema"]["properties"]["payload"]["properties"]["amount"] |= change
            versions.append(raw)
        versions[1]["context_schema"]["properties"]["payload"]["required"] = ["round"]
        versions[2]["states"][0]["on"]["submit"]["require"] = {"notSubmitter": True}
        versions[3]["states"][1]["on"]["approve"]["require"] = {"organizationRoles": ["OWNER"]}
        for raw in versions:
            await office.define(raw, activate=False)

        told = [await self._replay(office, version) for version in (2, 3, 4, 5, 6)]

        assert [[(one.parting.step, one.parting.reason.code) for one in each.differing] for each in told] == [
            [],
            [(1, "context")],
            [(1, "context")],
            [(1, "not_submitter")],
            [(2, "party")],
        ]
        assert [fault.pointer for fault in told[1].differing[0].parting.reason.faults] == ["/payload/amount"]

    async def test_knows_to_whom_a_step_was_given(self, office: Office) -> None:
        reviewer, owner = [await office.person(name) for name in ("reviewer.consultant", "approver.owner")]
        given = shorter()
        given["states"][0]["on"]["submit"]["events"] = [{"type": "assign", "target": str(reviewer.public_id)}]
        finished = []
        for raw in (given, shorter()):
            await office.define(raw)
            finished.append(await office.pending())
            await office.act(finished[-1], "approve", by="reviewer.consultant")
        named = shorter()
        named["states"][1]["on"]["approve"]["require"] = {"user": str(owner.public_id)}
        await office.define(named, activate=False)

        told = await self._replay(office, 4)

        assert [(one.instance_public_id, one.parting.reason.code) for one in told.differing] == [(finished[1], "user")]

    async def test_goes_on_behind_the_last_and_says_how_many_are_left(self, office: Office) -> None:
        await office.define(shorter(), activate=True)
        for minute in (1, 2, 3, 3, 4):
            instance = (await office.start(office.letter())).instance_public_id
            await office.act(instance, "submit", by="dc.contractor")
            await office.act(instance, "approve", by="reviewer.consultant", now=NOW + timedelta(minutes=minute))
        raw = shorter()
        raw["states"][0]["on"]["submit"]["comment"] = "required"
        await office.define(raw, activate=False)
        seen: list[Any] = []
        parts, after = [], None
        for _ in range(4):
            part = await self._replay(office, 3, limit=2, after=after)
            parts.append((part.looked_at, part.left_out))
            seen += [one.instance_public_id for one in part.differing]
            after = part.next_after
            if after is None:
                break

        assert parts == [(2, 3), (2, 1), (1, 0)]
        assert len(set(seen)) == 5

    async def test_is_answered_with_what_was_left_out(self, admin: httpx.AsyncClient) -> None:
        address = f"{URL}/RFA_APPROVAL/versions/1/replay"

        answer = await admin.post(address, json={"limit": 5})
        wrong = await admin.post(address, json={"after": "yesterday"})

        assert answer.json() == {
            "lookedAt": 0,
            "same": 0,
            "unknown": 0,
            "leftOut": 0,
            "nextAfter": None,
            "differing": [],
        }
        assert wrong.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert [fault["pointer"] for fault in wrong.json()["errors"]] == ["/after"]

    async def _replay(
        self, office: Office, version: int, *, code: str = "RFA_APPROVAL", limit: int = 10, after: str | None = None
    ) -> Any:
        async with office.db.reading() as session:
            return await workflow.replay(
                session, subjects=office.subjects, code=code, version=version, limit=limit, after=after
            )
