"""The workflow's addresses, as a client meets them."""

import copy
import json
import time
from typing import Any

import httpx
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.kit.ids import new_id
from saraban.workflow.runtime.models import WorkflowInstance
from tests.conftest import SignIn
from tests.definitions import RFA, shorter
from tests.factories.letterbox import Office, office_in

API = "/api/v1"


@pytest_asyncio.fixture
async def office(app: FastAPI) -> Office:
    """A letterbox beside the documents of the running application."""
    office = await office_in(app.state.db)
    app.state.subjects.register(office.box)
    office.subjects = app.state.subjects
    return office


async def pending(office: Office, signed_in: SignIn) -> str:
    instance = str((await office.start(office.letter())).instance_public_id)
    await act(await signed_in("dc.contractor"), instance, action="submit")
    return instance


async def act(client: httpx.AsyncClient, instance: str, *, headers: Any = None, **body: Any) -> httpx.Response:
    # Escaped, so that a body may hold what UTF-8 cannot.
    return await client.post(
        f"{API}/workflow/instances/{instance}/transitions",
        content=json.dumps(body).encode("ascii"),
        headers={"Content-Type": "application/json", **(headers or {})},
    )


class TestTransitions:
    async def test_answer_with_the_new_envelope_and_its_version(self, office: Office, signed_in: SignIn) -> None:
        instance = await pending(office, signed_in)
        reviewer = await signed_in("reviewer.consultant")

        answer = await act(reviewer, instance, action="approve", clientVersionNo=2, comment="ok")

        assert answer.status_code == 200, answer.text
        assert answer.headers["etag"] == '"3"'
        envelope = answer.json()["workflow"]
        assert (envelope["currentState"], envelope["versionNo"]) == ("pending_approval", 3)
        assert envelope["availableActions"] == []
        assert answer.json()["stepAttachments"] == []
        read = await (await signed_in("approver.owner")).get(f"{API}/workflow/instances/{instance}")
        assert read.headers["etag"] == '"3"'
        assert read.json()["workflow"]["availableActions"] == ["approve", "reject", "request-revision"]
        assert read.json()["data"]["subject"]["title"] == "Soil report"

    async def test_take_the_version_from_if_match(self, office: Office, signed_in: SignIn) -> None:
        instance = await pending(office, signed_in)
        reviewer = await signed_in("reviewer.consultant")

        stale = await act(reviewer, instance, action="approve", headers={"If-Match": '"1"'})
        wrong = await act(reviewer, instance, action="approve", headers={"If-Match": "yesterday"})
        weak = await act(reviewer, instance, action="approve", headers={"If-Match": 'W/"2"'})
        fresh = await act(reviewer, instance, action="approve", headers={"If-Match": 'W/"2", "2"'})

        assert [each.status_code for each in (stale, wrong, weak, fresh)] == [412, 422, 412, 200]
        assert weak.json()["code"] == "ETAG_WEAK"

    async def test_repeat_the_stored_answer(self, office: Office, signed_in: SignIn) -> None:
        instance = await pending(office, signed_in)
        reviewer = await signed_in("reviewer.consultant")
        ask: dict[str, Any] = {"action": "approve", "headers": {"Idempotency-Key": "again"}}

        first, second = await act(reviewer, instance, **ask), await act(reviewer, instance, **ask)
        other = await act(reviewer, instance, **(ask | {"comment": "different"}))

        assert first.json() == second.json()
        assert (second.status_code, second.headers["etag"]) == (200, '"3"')
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")

    async def test_name_the_field_that_is_wrong(self, office: Office, signed_in: SignIn) -> None:
        instance = await pending(office, signed_in)
        for body, pointer in [
            ({}, "/action"),
            ({"action": 5}, "/action"),
            ({"action": "a\u0007b"}, "/action"),
            ({"action": "x" * 51}, "/action"),
            ({"action": "approve", "comment": "x" * 5001}, "/comment"),
            ({"action": "approve", "payload": []}, "/payload"),
            ({"action": "approve", "payload": {"text": "x" * 20_000}}, "/payload"),
            ({"action": "approve", "payload": {"n": 10**30}}, "/payload"),
            ({"action": "approve", "payload": {"half": "\ud800"}}, "/payload"),
            ({"action": "approve", "attachmentPublicIds": ["x"]}, "/attachmentPublicIds/0"),
            ({"action": "approve", "attachmentPublicIds": [str(new_id())] * 21}, "/attachmentPublicIds"),
            ({"action": "approve", "attachmentPublicIds": [str(new_id())]}, "/attachmentPublicIds/0"),
            ({"action": "approve", "clientVersionNo": "2"}, "/clientVersionNo"),
            ({"action": "approve", "clientVersionNo": 0}, "/clientVersionNo"),
            ({"action": "approve", "roles": ["Superadmin"]}, "/roles"),
            ({"action": "approve", "payload": {"actorPublicId": str(new_id())}}, "/payload/actorPublicId"),
            ({"action": "reject"}, "/comment"),
        ]:
            answer = await act(await signed_in("reviewer.consultant"), instance, **body)

            assert answer.status_code == 422, answer.text
            assert pointer in [error["pointer"] for error in answer.json()["errors"]], (body, pointer)
            async with office.db.reading() as session:
                stands = await session.scalar(sa.select(WorkflowInstance.current_state))
            assert stands == "pending_review", (body, pointer)

    async def test_need_a_caller_who_may_see_it(
        self, office: Office, signed_in: SignIn, client: httpx.AsyncClient
    ) -> None:
        instance = await pending(office, signed_in)

        assert (await act(client, instance, action="approve")).status_code == 401
        assert (await act(await signed_in("viewer"), instance, action="approve")).status_code == 403
        office.box.hidden[next(iter(office.box.letters))] = {"dc.contractor"}
        hidden = await signed_in("viewer")
        for address in ("", "/history"):
            assert (await hidden.get(f"{API}/workflow/instances/{instance}{address}")).status_code == 404
        assert (await act(hidden, instance, action="approve")).status_code == 404
        assert (await act(hidden, str(new_id()), action="approve")).status_code == 404


class TestInbox:
    async def test_shows_what_waits_for_me(self, office: Office, signed_in: SignIn) -> None:
        instance = await pending(office, signed_in)

        answer = await (await signed_in("reviewer.consultant")).get(f"{API}/inbox", params={"limit": 5})

        assert answer.status_code == 200, answer.text
        (item,) = answer.json()["items"]
        assert item["workflow"]["instancePublicId"] == instance
        assert item["data"]["subject"]["entityType"] == "letterbox"
        assert answer.json()["nextCursor"] is None

    async def test_refuses_a_cursor_it_did_not_give(self, office: Office, signed_in: SignIn) -> None:
        answer = await (await signed_in("viewer")).get(f"{API}/inbox", params={"cursor": "zzz"})

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "query:cursor"


class TestHistory:
    async def test_puts_the_newest_last(self, office: Office, signed_in: SignIn) -> None:
        instance = await pending(office, signed_in)
        reviewer = await signed_in("reviewer.consultant")
        await act(reviewer, instance, action="reject", comment="ไม่ครบ")

        answer = await reviewer.get(f"{API}/workflow/instances/{instance}/history")

        steps = answer.json()["items"]
        assert [step["action"] for step in steps] == ["submit", "reject"]
        assert steps[-1]["comment"] == "ไม่ครบ"
        assert steps[-1]["actor"]["organizationCode"] == "คคง."
        assert steps[-1]["attachments"] == []


class TestDefinitions:
    async def test_are_validated_without_being_saved(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        broken = copy.deepcopy(RFA)
        broken["states"][0]["on"]["submit"]["to"] = "nowhere"

        good = await admin.post(f"{API}/workflow/definitions/validate", json={"dsl": RFA})
        bad = await admin.post(f"{API}/workflow/definitions/validate", json={"dsl": broken})

        assert good.json() == {"valid": True, "errors": []}
        (fault, *_) = bad.json()["errors"]
        assert fault["pointer"] == "/dsl/states/0/on/submit/to"
        assert "nowhere" in fault["message"]["th"]

    async def test_that_name_something_twice_are_refused_however_they_are_sent(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        lax = '"submit": {"to": "pending_review", "label": {"th": "ส่ง", "en": "Send"}},\n'
        text = json.dumps(RFA, ensure_ascii=False, indent=1).replace('"submit": {', f'{lax}"submit": {{', 1)
        line = text[: text.index('"submit"')].count("\n") + 1
        headers = {"Content-Type": "application/json", "Accept-Language": "th"}

        as_text = await admin.post(f"{API}/workflow/definitions/validate", json={"text": text})
        as_body = await admin.post(
            f"{API}/workflow/definitions/validate", content=f'{{"dsl":{text}}}'.encode(), headers=headers
        )
        published = await admin.post(
            f"{API}/workflow/definitions", content=f'{{"dsl":{text}}}'.encode(), headers=headers
        )

        for answer, root in ((as_text, "/text"), (as_body, "/dsl")):
            (fault,) = answer.json()["errors"]
            assert (fault["pointer"], fault["code"]) == (f"{root}/states/0/on/submit", "duplicate_key")
            assert f"on line {line} and on line {line + 1}" in fault["message"]["en"]
            assert f"บรรทัด {line} และ {line + 1}" in fault["message"]["th"]
        assert (published.status_code, published.json()["code"]) == (422, "INVALID_WORKFLOW_DSL")
        assert f"บรรทัด {line} และ {line + 1}" in published.json()["errors"][0]["message"]

    async def test_publish_once_under_one_key(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        headers = {"Idempotency-Key": "publish-1"}

        async def publish(*, activate: bool = False) -> Any:
            body = {"dsl": shorter(), "activate": activate}
            return await admin.post(f"{API}/workflow/definitions", json=body, headers=headers)

        first, again, other = await publish(), await publish(), await publish(activate=True)

        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert again.headers["idempotent-replay"] == "true"
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")

    async def test_are_published_activated_and_read(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")

        made = await admin.post(f"{API}/workflow/definitions", json={"dsl": shorter()})
        assert (made.status_code, made.json()["version"], made.json()["isActive"]) == (201, 2, False)
        active = await admin.post(f"{API}/workflow/definitions/RFA_APPROVAL/versions/2/activate")
        assert active.json()["isActive"] is True
        read = await admin.get(f"{API}/workflow/definitions/RFA_APPROVAL/versions/2")
        assert read.json()["dsl"] == shorter()
        listed = await admin.get(f"{API}/workflow/definitions", params={"code": "RFA_APPROVAL"})
        assert [(row["version"], row["isActive"]) for row in listed.json()["items"]] == [(2, True), (1, False)]
        in_force = await admin.get(f"{API}/workflow/definitions/RFA_APPROVAL/active")
        assert (in_force.json()["version"], in_force.json()["dsl"]) == (2, shorter())
        off = await admin.post(f"{API}/workflow/definitions/RFA_APPROVAL/versions/2/deactivate")
        assert (await admin.get(f"{API}/workflow/definitions/RFA_APPROVAL/active")).status_code == 404
        assert (await admin.get(f"{API}/workflow/definitions/NOWHERE/active")).status_code == 404
        assert off.json()["isActive"] is False

    async def test_are_refused_with_every_fault(self, signed_in: SignIn) -> None:
        answer = await (await signed_in("admin")).post(f"{API}/workflow/definitions", json={"dsl": {"workflow": "x"}})

        assert answer.status_code == 422
        assert answer.json()["code"] == "INVALID_WORKFLOW_DSL"
        assert {"/dsl/states"} <= {error["pointer"] for error in answer.json()["errors"]}

    async def test_are_for_administrators(self, signed_in: SignIn) -> None:
        clerk, manager = await signed_in("dc.contractor"), await signed_in("padmin")

        assert (await clerk.get(f"{API}/workflow/definitions")).status_code == 403
        # Who chooses the workflows of a project reads them, and publishes none.
        assert (await manager.get(f"{API}/workflow/definitions")).status_code == 200
        assert (await manager.post(f"{API}/workflow/definitions", json={"dsl": RFA})).status_code == 403

    async def test_are_refused_quickly_when_huge_or_deep(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        deep = '{"!":' * 10_000 + "true" + "}" * 10_000
        for dsl in (json.dumps({"workflow": "X", "description": "x" * 1_100_000}), f'{{"states":[{deep}]}}'):
            began = time.process_time()

            answer = await admin.post(
                f"{API}/workflow/definitions",
                content=f'{{"dsl":{dsl}}}',
                headers={"Content-Type": "application/json"},
            )

            assert answer.status_code in {413, 422}, answer.text
            assert time.process_time() - began < 15  # what grows without bound takes minutes, on any machine
