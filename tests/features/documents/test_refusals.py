"""A tour of refusals: whatever an operation was seen to refuse with, the API description lists for that operation."""

from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI

from saraban.kit.problem import MEDIA_TYPE
from saraban.ops import openapi
from tests.features.documents.conftest import Desk

API = "/api/v1"
NOBODY = "0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c"


@dataclass
class Tour:
    """Sends a request that must be refused, and looks the refusal up in the description."""

    declared: dict[str, set[tuple[str, str]]]

    async def meets(
        self, code: str, operation: str, client: httpx.AsyncClient, method: str, path: str, **more: Any
    ) -> None:
        answer = await client.request(method, f"{API}{path}", **more)
        assert answer.headers["content-type"] == MEDIA_TYPE, answer.text
        assert answer.json()["code"] == code, answer.text
        assert (str(answer.status_code), code) in self.declared[operation], f"{operation}: {code} is not declared"


def declared(app: FastAPI) -> dict[str, set[tuple[str, str]]]:
    document = app.openapi()
    return {
        operation["operationId"]: {
            (status, name.rpartition(".")[0])
            for status, response in operation["responses"].items()
            for name in openapi.resolve_response(document, response)
            .get("content", {})
            .get(MEDIA_TYPE, {})
            .get("examples", {})
        }
        for *_, operation in openapi.operations(document)
    }


def transition(document: dict[str, Any]) -> str:
    return f"/workflow/instances/{document['workflow']['instancePublicId']}/transitions"


class TestTour:
    async def test_of_the_door(self, app: FastAPI, client: httpx.AsyncClient, desk: Desk) -> None:
        tour = Tour(declared(app))
        viewer, writer, admin = [await desk.as_(name) for name in ("viewer", "dc.consultant", "admin")]
        wrong = {"username": "nobody", "password": "wrong"}

        await tour.meets("INVALID_CREDENTIALS", "auth_log_in", client, "POST", "/auth/login", json=wrong)
        for _ in range(4):
            await client.post(f"{API}/auth/login", json=wrong)
        await tour.meets("LOGIN_THROTTLED", "auth_log_in", client, "POST", "/auth/login", json=wrong)
        stale = {"refreshToken": "nonsense"}
        await tour.meets("SESSION_ENDED", "auth_refresh", client, "POST", "/auth/refresh", json=stale)
        await tour.meets("UNAUTHORIZED", "auth_me", client, "GET", "/auth/me")
        body = desk.letter()
        await tour.meets("PERMISSION_DENIED", "correspondences_create", viewer, "POST", "/correspondences", json=body)
        await tour.meets("NOT_FOUND", "rfas_read", viewer, "GET", f"/rfas/{NOBODY}")
        await tour.meets("VALIDATION_ERROR", "rfas_create", writer, "POST", "/rfas", json={})
        await tour.meets("VALIDATION_ERROR", "rfas_listing", writer, "GET", "/rfas?state=x")
        sent = {"files": {"file": ("a.pdf", b"MZ")}}
        await tour.meets("FILE_TYPE_MISMATCH", "attachments_upload", writer, "POST", "/attachments", **sent)
        text = {"dsl": {"workflow": "x"}}
        path = "/workflow/definitions"
        await tour.meets("INVALID_WORKFLOW_DSL", "workflow_publish_definition", admin, "POST", path, json=text)
        saved = {"projectPublicId": desk.project, "template": "{NOTHING}"}
        path = "/document-numbering/configs"
        await tour.meets("NUMBER_TEMPLATE_INVALID", "document_numbering_save_format", admin, "PUT", path, json=saved)

    async def test_of_a_letters_creation(self, app: FastAPI, desk: Desk) -> None:
        tour = Tour(declared(app))
        writer = await desk.as_("dc.consultant")

        async def refused(code: str, body: dict[str, Any], **more: Any) -> None:
            await tour.meets(code, "correspondences_create", writer, "POST", "/correspondences", json=body, **more)

        key = {"Idempotency-Key": "a-letter"}
        made = await writer.post(f"{API}/correspondences", json=desk.letter(), headers=key)
        assert made.status_code == httpx.codes.CREATED
        await refused("IDEMPOTENCY_KEY_REUSED", desk.letter(subject="อีกเรื่อง"), headers=key)
        await refused("CORRESPONDENCE_TO_SELF", desk.letter("คคง."))
        other = desk.organizations["ผรม.2"]
        await refused("NOT_YOUR_ORGANIZATION", desk.letter(originatorOrganizationPublicId=other))

    async def test_of_a_letters_life(self, app: FastAPI, desk: Desk) -> None:
        tour = Tour(declared(app))
        writer = await desk.as_("dc.consultant")
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        path = f"/correspondences/{letter['publicId']}"

        async def edit(code: str, body: dict[str, Any], **more: Any) -> None:
            await tour.meets(code, "correspondences_edit", writer, "PATCH", path, json=body, **more)

        async def step(code: str, body: dict[str, Any], **more: Any) -> None:
            await tour.meets(code, "workflow_take_step", writer, "POST", transition(letter), json=body, **more)

        await edit("DOCUMENT_CHANGED", {"subject": "ใหม่"}, headers={"If-Match": '"0"'})
        await edit("NUMBER_ALREADY_DRAWN", {"recipients": desk.to("กทท.")})
        await tour.meets("REVISION_PENDING", "correspondences_revise", writer, "POST", f"{path}/revisions", json={})
        await step("WORKFLOW_VERSION_CONFLICT", {"action": "submit", "clientVersionNo": 99})
        await step("WORKFLOW_PRECONDITION_FAILED", {"action": "submit"}, headers={"If-Match": '"99"'})
        await step("INVALID_ATTACHMENTS", {"action": "submit", "attachmentPublicIds": [NOBODY]})
        await step("WF_INVALID_TRANSITION", {"action": "fly"})
        await desk.act("dc.consultant", letter, "submit")
        await edit("DOCUMENT_NOT_DRAFT", {"subject": "ใหม่"})
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        contractor = await desk.as_("dc.contractor")
        reason = {"reason": "ออกซ้ำกับฉบับก่อน"}
        at = f"/rfas/{rfa['publicId']}/cancel"
        await tour.meets("CANCEL_ONLY_DRAFT", "rfas_cancel", contractor, "POST", at, json=reason)

    async def test_of_what_was_cancelled_and_of_bytes_that_are_gone(self, app: FastAPI, desk: Desk) -> None:
        tour = Tour(declared(app))
        writer = await desk.as_("dc.consultant")
        letter = await desk.write("dc.consultant", "correspondences", desk.letter())
        path = f"/correspondences/{letter['publicId']}"
        assert (await writer.post(f"{API}{path}/cancel", json={"reason": "ออกซ้ำกับฉบับก่อน"})).is_success
        await tour.meets("DOCUMENT_CANCELLED", "correspondences_edit", writer, "PATCH", path, json={"subject": "ใหม่"})

        file = await desk.upload("dc.consultant")
        for stored in (app.state.settings.data_dir / "files").rglob("*"):
            if stored.is_file():
                stored.unlink()
        await tour.meets("FILE_UNAVAILABLE", "attachments_content", writer, "GET", f"/attachments/{file}/content")
