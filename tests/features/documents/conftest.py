"""A desk in the demo project: people by account name, organizations by code, and the requests they make."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest_asyncio
import sqlalchemy as sa

from saraban.identity.models import Organization
from saraban.projects.models import Project
from tests.conftest import SignIn, unwrapped

PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
_names = count(1)


@dataclass
class Desk:
    sign_in: SignIn
    project: str
    organizations: dict[str, str]
    people: dict[str, str] = field(default_factory=dict)

    async def as_(self, account: str) -> httpx.AsyncClient:
        return await self.sign_in(account)

    def to(self, *codes: str, cc: tuple[str, ...] = ()) -> list[dict[str, str]]:
        kinds = [(code, "TO") for code in codes] + [(code, "CC") for code in cc]
        return [{"organizationPublicId": self.organizations[code], "recipientType": kind} for code, kind in kinds]

    def letter(self, *to: str, **changes: Any) -> dict[str, Any]:
        body = {
            "projectPublicId": self.project,
            "correspondenceTypeCode": "LETTER",
            "recipients": self.to(*(to or ("สคฉ.3",))),
            "subject": "ขอเชิญประชุมความก้าวหน้างานก่อสร้าง",
        }
        return body | changes

    def rfa(self, **changes: Any) -> dict[str, Any]:
        body = {
            "projectPublicId": self.project,
            "recipients": self.to("คคง."),
            "subject": "รายงานผลการทดสอบเสาเข็ม",
            "rfaTypeCode": "RPT",
            "disciplineCode": "TER",
        }
        return body | changes

    def transmittal(self, *items: str, **changes: Any) -> dict[str, Any]:
        body = {
            "projectPublicId": self.project,
            "recipients": self.to("คคง."),
            "subject": "นำส่งเอกสาร",
            "subTypeCode": "GEN",
            "contractPublicId": None,
            "items": [{"documentPublicId": one} for one in items],
        }
        return body | changes

    async def write(self, account: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        client = await self.as_(account)
        answer = await client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return unwrapped(answer)

    async def act(self, account: str, document: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        client = await self.as_(account)
        instance = document["workflow"]["instancePublicId"]
        answer = await client.post(
            f"/api/v1/workflow/instances/{instance}/transitions", json={"action": action, **more}
        )
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.json()  # type: ignore[no-any-return]

    async def read(self, account: str, path: str, public_id: str) -> httpx.Response:
        return await (await self.as_(account)).get(f"/api/v1/{path}/{public_id}")

    async def listed(self, account: str, path: str, **query: Any) -> list[dict[str, Any]]:
        answer = await (await self.as_(account)).get(f"/api/v1/{path}", params=query)
        assert answer.status_code == httpx.codes.OK, answer.text
        rows = answer.json()["items"]
        return [one["data"] | {"workflow": one["workflow"]} if "workflow" in one else one for one in rows]

    async def register(self, account: str, kind: str, number: str, **more: Any) -> dict[str, Any]:
        """Register a drawing."""
        body = {"projectPublicId": self.project, "drawingNumber": number, "title": "แปลนฐานราก", **more}
        answer = await (await self.as_(account)).post(f"/api/v1/drawings/{kind}", json=body)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return unwrapped(answer)

    async def upload(self, account: str) -> str:
        client = await self.as_(account)
        file = (f"ผลทดสอบ-{next(_names)}.pdf", PDF, "application/pdf")
        answer = await client.post("/api/v1/attachments", files={"file": file})
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return answer.json()["publicId"]  # type: ignore[no-any-return]

    async def approved_rfa(self) -> dict[str, Any]:
        rfa = await self.write("dc.contractor", "rfas", self.rfa())
        await self.act("dc.contractor", rfa, "submit")
        await self.act("reviewer.consultant", rfa, "approve")
        await self.act("approver.owner", rfa, "approve")
        return rfa


async def desk_of(signed_in: SignIn) -> Desk:
    """Return a desk in the demo project."""
    async with signed_in.app.state.db.reading() as session:  # type: ignore[attr-defined]
        project = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2"))
        organizations = await session.execute(sa.select(Organization.organization_code, Organization.public_id))
    return Desk(signed_in, str(project), {code: str(public_id) for code, public_id in organizations})


@pytest_asyncio.fixture
async def desk(signed_in: SignIn) -> Desk:
    return await desk_of(signed_in)


def pointers(answer: httpx.Response) -> list[str]:
    return [error["pointer"] for error in answer.json()["errors"]]
