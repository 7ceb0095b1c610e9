"""A circulation that may be created, and how a reader loses the right to see it."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity.models import Role, User, UserAssignment
from saraban.kit.clock import SystemClock
from tests.features.documents.conftest import Desk

SOON = (SystemClock(ZoneInfo("Asia/Bangkok")).now() + timedelta(days=3)).date().isoformat()


async def person(desk: Desk, account: str) -> str:
    return str((await (await desk.as_(account)).get("/api/v1/auth/me")).json()["publicId"])


async def order(desk: Desk, **changes: Any) -> dict[str, Any]:
    body = {
        "projectPublicId": desk.project,
        "subject": "เวียนเพื่อพิจารณา",
        "deadlineDate": SOON,
        "assignees": [
            {"userPublicId": await person(desk, "dc.consultant"), "kind": "MAIN"},
            {"userPublicId": await person(desk, "reviewer.consultant"), "kind": "ACTION"},
        ],
    }
    return body | changes


async def lose_the_right(app: FastAPI, account: str) -> None:
    """Make somebody an administrator of the organization, who sees its documents and none of its sheets."""
    async with app.state.db.writing() as session:
        user = await session.scalar(sa.select(User.user_id).where(User.username == account))
        role = await session.scalar(sa.select(Role.role_id).where(Role.role_name == "Org Admin"))
        own = sa.update(UserAssignment).where(
            UserAssignment.user_id == user, UserAssignment.organization_id.is_not(None)
        )
        await session.execute(own.values(role_id=role))
