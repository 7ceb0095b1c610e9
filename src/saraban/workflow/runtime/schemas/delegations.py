"""What the delegation endpoints take and give."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Day, Schema, SingleLine


class DelegationPersonOut(Schema):
    public_id: UUID
    display_name: str = Field(examples=["เดชา รับส่งดี"])


class DelegatedProjectOut(Schema):
    public_id: UUID
    project_code: str = Field(examples=["LCBP3-C2"])


class DelegationIn(Schema):
    """The days are whole days of the deployment's zone, the first and the last included."""

    delegate_public_id: UUID = Field(description="An active person of one of your organizations.")
    starts_on: Day = Field(examples=["2026-12-01"])
    ends_on: Day = Field(description="At most 366 days.", examples=["2026-12-07"])
    workflow_codes: list[Annotated[str, SingleLine(50)]] | None = Field(
        None,
        max_length=50,
        description="One at least; left out, or null, for every workflow.",
        examples=[["RFA_APPROVAL"]],
    )
    project_public_id: UUID | None = Field(None, description="Null for every project.")
    reason: Annotated[str, SingleLine(500)] | None = Field(None, examples=["ลาพักร้อน"])


class DelegationOut(Schema):
    """One person's steps lent to another."""

    public_id: UUID
    delegator: DelegationPersonOut
    delegate: DelegationPersonOut
    starts_on: date = Field(examples=["2026-12-01"])
    ends_on: date = Field(examples=["2026-12-07"])
    workflow_codes: list[str] | None = Field(description="Null for every workflow.", examples=[["RFA_APPROVAL"]])
    project: DelegatedProjectOut | None
    reason: str | None = Field(examples=["ลาพักร้อน"])
    status: Literal["upcoming", "active", "ended", "revoked"] = Field(examples=["upcoming"])
    revoked_at: datetime | None = Field(examples=[None])
    created_at: datetime


class DelegationPage(Schema):
    items: list[DelegationOut]
    next_cursor: str | None


class ColleagueList(Schema):
    items: list[DelegationPersonOut]
