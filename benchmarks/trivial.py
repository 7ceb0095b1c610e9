"""What the framework alone costs: one route that checks a body and answers; nothing of the product is imported."""

from uuid import UUID

from fastapi import FastAPI
from pydantic import BaseModel, Field


class NumberOrder(BaseModel):
    """The fields that a number is asked for with."""

    project: UUID = Field(alias="projectPublicId")
    type_code: str = Field(alias="correspondenceTypeCode", max_length=50)
    originator: UUID = Field(alias="originatorOrganizationPublicId")
    recipient: UUID = Field(alias="recipientOrganizationPublicId")


def served() -> FastAPI:
    app = FastAPI()

    @app.post("/trivial", status_code=201)
    async def answer(body: NumberOrder) -> dict[str, object]:
        return {"publicId": body.project, "documentNumber": "คคง.-ผรม.2-0001-2569", "sequence": 1, "year": 2026}

    return app
