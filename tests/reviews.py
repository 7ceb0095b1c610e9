"""Reviews: definitions that ask for answers, and what is read of them."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from saraban.events.models import OutboxEvent
from saraban.events.service import Event, Handlers
from saraban.identity import service as identity
from saraban.identity.models import User
from saraban.workflow import service as workflow
from saraban.workflow.runtime.models import WorkflowWorkItem
from saraban.workflow.runtime.service import assignment
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office
from tests.factories.review import WORDS

CONTROLS = {"roles": ["Document Control"]}

CONTROL = {"grant": identity.RoleGrant("Document Control", "คคง.")}


def asking(require: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A letter that is sent, and then waits for what `require` says."""
    states = [
        {
            "name": "draft",
            "label": WORDS,
            "initial": True,
            "editable": True,
            "on": {"submit": {"to": "deciding", "label": WORDS, "require": {"permissions": ["correspondence.submit"]}}},
        },
        {"name": "deciding", "label": WORDS, "on": {"close": {"to": "closed", "label": WORDS, "require": require}}},
        {"name": "closed", "label": WORDS, "terminal": True},
    ]
    return {"workflow": "ASKING", "states": states, **more}


async def rows(office: Office, model: Any) -> list[Any]:
    async with office.db.reading() as session:
        return list((await session.scalars(sa.select(model))).all())


async def waited_for(office: Office) -> set[str]:
    async with office.db.reading() as session:
        statement = sa.select(User.username).join(WorkflowWorkItem, WorkflowWorkItem.user_id == User.user_id)
        return set((await session.scalars(statement)).all())


async def history(office: Office, instance: UUID, *, by: str = "admin") -> list[Any]:
    caller = await office.person(by)
    async with office.db.reading() as session:
        return list(
            await workflow.history(context(caller=caller), session, subjects=office.subjects, public_id=instance)
        )


async def inbox(office: Office, *, by: str, now: datetime | None = None) -> list[Any]:
    caller = await office.person(by)
    async with office.db.reading() as session:
        page = await workflow.list_tasks(
            context(caller=caller), session, subjects=office.subjects, cursor=None, limit=20, now=now
        )
    return list(page.items)


async def spread(office: Office) -> None:
    """Deliver what was told of accounts, twice: an event may come again."""
    handlers = Handlers()
    assignment.AssignmentRenewal(office.subjects).subscribe(handlers)
    (react,) = handlers.of("account.changed")
    told = [
        Event(row.public_id, row.name, row.aggregate_type, row.aggregate_id, row.payload, NOW)
        for row in await rows(office, OutboxEvent)
        if row.name == "account.changed"
    ]
    assert told
    for _ in range(2):
        await office.db.transact(lambda session: react(session, told))


async def change(office: Office, verb: Any, username: str, **given: Any) -> None:
    """Change an account or its roles as the command line does, and tell it."""
    ctx = context(await office.person("system"), NOW)
    await office.db.transact(lambda session: verb(ctx, session, username=username, **given))
    await spread(office)
