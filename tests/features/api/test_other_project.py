"""Ids that are real, but of another project: refused at their field, and nothing is written (REQ-IDN-09)."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.core.models import Document
from saraban.kit.db import Database
from saraban.numbering.series.models import LedgerEntry
from tests.conftest import SignIn
from tests.numbering_requests import GENERATE, PREVIEW, read_project
from tests.other_project import add_other_project

Body = dict[str, Any]


@pytest_asyncio.fixture
async def other(app: FastAPI) -> dict[str, str]:
    return {name: str(value) for name, value in (await add_other_project(app.state.db)).items()}


async def written(db: Database) -> tuple[int, int]:
    async with db.reading() as session:
        numbers = await session.scalar(sa.select(sa.func.count()).select_from(LedgerEntry))
        documents = await session.scalar(sa.select(sa.func.count()).select_from(Document))
        return int(numbers or 0), int(documents or 0)


def pointers(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [error["pointer"] for error in answer.json()["errors"]]


NUMBERS: list[tuple[str, Callable[[dict[str, str]], Body]]] = [
    ("/originatorOrganizationPublicId", lambda other: {"originatorOrganizationPublicId": other["organization"]}),
    ("/recipientOrganizationPublicId", lambda other: {"recipientOrganizationPublicId": other["organization"]}),
    ("/contractPublicId", lambda other: {"contractPublicId": other["contract"]}),
    ("/disciplineCode", lambda _other: {"disciplineCode": "XYZ"}),
]


class TestNumber:
    @pytest.mark.parametrize(("pointer", "change"), NUMBERS, ids=[pointer for pointer, _ in NUMBERS])
    @pytest.mark.parametrize("address", [GENERATE, PREVIEW])
    async def test_is_not_drawn_with_ids_of_another_project(
        self,
        app: FastAPI,
        signed_in: SignIn,
        other: dict[str, str],
        address: str,
        pointer: str,
        change: Callable[[dict[str, str]], Body],
    ) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        before = await written(app.state.db)

        answer = await admin.post(address, json=project.letter() | change(other))

        assert pointers(answer) == [pointer]
        assert await written(app.state.db) == before


class TestDocument:
    async def test_is_not_written_with_ids_of_another_project(
        self, app: FastAPI, signed_in: SignIn, other: dict[str, str]
    ) -> None:
        admin, consultant = await signed_in("admin"), await signed_in("dc.consultant")
        project = await read_project(admin)
        letter = {
            "projectPublicId": project.id,
            "correspondenceTypeCode": "LETTER",
            "recipients": [{"organizationPublicId": project.organizations["ผรม.1"], "recipientType": "TO"}],
            "subject": "ขอเชิญประชุม",
        }
        elsewhere = await consultant.post(
            "/api/v1/correspondences",
            json=letter
            | {
                "projectPublicId": other["project"],
                "recipients": [{"organizationPublicId": other["organization"], "recipientType": "TO"}],
            },
        )
        assert elsewhere.status_code == 201, elsewhere.text
        before = await written(app.state.db)
        stranger = [{"organizationPublicId": other["organization"], "recipientType": "TO"}]

        wrong = {
            "/recipients/0/organizationPublicId": {"recipients": stranger},
            "/contractPublicId": {"contractPublicId": other["contract"]},
            "/disciplineCode": {"disciplineCode": "XYZ"},
            "/referencePublicIds/0": {"referencePublicIds": [elsewhere.json()["data"]["publicId"]]},
        }
        for pointer, change in wrong.items():
            assert pointers(await consultant.post("/api/v1/correspondences", json=letter | change)) == [pointer]

        assert await written(app.state.db) == before

    async def test_of_another_project_cannot_be_seen_from_this_one(
        self, signed_in: SignIn, other: dict[str, str]
    ) -> None:
        consultant, contractor = await signed_in("dc.consultant"), await signed_in("dc.contractor")
        written_there = await consultant.post(
            "/api/v1/correspondences",
            json={
                "projectPublicId": other["project"],
                "correspondenceTypeCode": "LETTER",
                "recipients": [{"organizationPublicId": other["organization"], "recipientType": "TO"}],
                "subject": "เรื่องของอีกโครงการ",
            },
        )
        address = written_there.headers["Location"]

        seen = [(await client.get(address)).status_code for client in (consultant, contractor)]

        assert seen == [200, 404]
        listed = (await contractor.get("/api/v1/projects")).json()["items"]
        assert other["project"] not in [one["publicId"] for one in listed]
