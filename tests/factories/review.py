"""A letter that three disciplines review at once, with people in a team to answer for them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.projects.models import ReviewTeam, ReviewTeamMember
from saraban.workflow import service as workflow
from saraban.workflow.language.review import ANSWER
from saraban.workflow.runtime.service import review
from saraban.workflow.service import Command
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office

WORDS = {"th": "คำ", "en": "Word"}
BRANCHES = [
    {"name": "structure", "label": {"th": "โครงสร้าง", "en": "Structure"}, "assignee": {"discipline": "STR"}},
    {"name": "electrical", "label": {"th": "ไฟฟ้า", "en": "Electrical"}, "assignee": {"discipline": "ELE"}},
    {"name": "control", "label": {"th": "ควบคุมเอกสาร", "en": "Document control"}, "assignee": {"team": "DESIGN"}},
]
SEATED = {"reviewer.consultant": "STR", "dc.consultant": "ELE", "approver.owner": None}


def reviewed(**changes: Any) -> dict[str, Any]:
    """Return the definition of a letter that is sent, reviewed, and then passed, failed or withdrawn."""
    asked = {
        "branches": BRANCHES,
        "completion": "majority",
        "then": {"for": {"to": "passed"}, "against": {"to": "draft"}},
    }
    states = [
        {
            "name": "draft",
            "label": WORDS,
            "initial": True,
            "editable": True,
            "on": {"submit": {"to": "review", "label": WORDS}},
        },
        {
            "name": "review",
            "label": WORDS,
            "review": asked | changes,
            "on": {"withdraw": {"to": "draft", "label": WORDS, "optional": True, "require": {"party": ["originator"]}}},
        },
        {"name": "passed", "label": WORDS, "terminal": True},
    ]
    return {"workflow": "REVIEWED", "states": states}


async def seat(office: Office, people: dict[str, str | None] = SEATED, *, team: str = "DESIGN") -> None:
    """Make a team of the project with these people in it, each for a discipline."""

    async def fill(session: AsyncSession) -> None:
        row = ReviewTeam(
            project_id=office.project,
            team_code=team,
            name_th="ทีม",
            name_en="Team",
            is_active=True,
            created_at=NOW,
            updated_at=NOW,
        )
        session.add(row)
        await session.flush()
        users = await session.execute(sa.select(User.username, User.user_id).where(User.username.in_(people)))
        for username, user_id in users.all():
            session.add(
                ReviewTeamMember(
                    team_id=row.id,
                    user_id=user_id,
                    discipline_code=people[username],
                    member_role="REVIEWER",
                    created_at=NOW,
                )
            )

    await office.db.transact(fill)


async def under_review(office: Office, letter: Mapping[str, Any] | None = None, **changes: Any) -> UUID:
    """Return a letter that waits for its three answers."""
    await office.define(reviewed(**changes))
    instance = (await office.start(office.letter(**(letter or {})), code="REVIEWED")).instance_public_id
    await office.act(instance, "submit", by="dc.contractor")
    return instance


async def branches(office: Office, instance: UUID, *, by: str = "admin", now: datetime | None = None) -> dict[str, Any]:
    """Return the branches as somebody sees them, by name."""
    caller = await office.person(by)
    async with office.db.reading() as session:
        view = await workflow.find(
            context(caller=caller), session, subjects=office.subjects, public_id=instance, now=now
        )
    return {branch.name: branch for branch in view.branches}


async def answer(
    office: Office,
    instance: UUID,
    branch: UUID,
    code: str = "approve",
    *,
    by: str,
    key: str | None = None,
    **reply: Any,
) -> Any:
    """Answer through the door's own function and give the new envelope as JSON."""
    ctx = context(caller=await office.person(by), now=NOW, address="127.0.0.1", key=key)
    command = Command(ANSWER, response_code=code, **reply)
    done = await review.answer(ctx, office.transitions, public_id=instance, branch_public_id=branch, command=command)
    return (await office.shown(ctx, done))["workflow"]
