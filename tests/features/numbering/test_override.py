"""Overriding numbers is a right of its own (N24): formats do not give it, and Document Control does not have it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.identity import service as identity
from saraban.identity.domain.catalogue import permissions_of
from saraban.identity.domain.context import Caller, Forbidden, Grant, RequestContext
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.imports.service.rows import import_target
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.numbering_requests import REASON, Project, db, present, read_project, reserved

__all__ = ["db"]

OVERRIDE, FORMATS = "numbering.override", "numbering.manage_formats"
CREATE = frozenset({"correspondence.create"})


@pytest.fixture
async def project(signed_in: SignIn) -> Project:
    return await read_project(await signed_in("admin"))


async def caller_with(db: Database, *permissions: str) -> Caller:
    async with db.reading() as session:
        caller = await identity.find_caller(session, username="padmin")
    assert caller is not None
    (grant,) = caller.grants
    return replace(caller, grants=(Grant("own", CREATE | frozenset(permissions), project=grant.project),))


def letter(project: Project, **more: Any) -> numbering.NumberRequest:
    return numbering.NumberRequest(
        project_public_id=UUID(project.id),
        correspondence_type_code="LETTER",
        originator_organization_public_id=UUID(project.organizations["คคง."]),
        recipient_organization_public_id=UUID(project.organizations["ผรม.1"]),
        **more,
    )


async def void(ctx: RequestContext, session: AsyncSession, number: UUID, _: Project) -> None:
    await numbering.void_number(ctx, session, public_id=number, reason=REASON)


async def state_by_hand(ctx: RequestContext, session: AsyncSession, _: UUID, project: Project) -> None:
    plan = await numbering.plan(ctx, session, letter(project))
    stated = numbering.ManualNumber(None, 7)
    await numbering.issue_manually(ctx, session, plan=plan, statement=stated, reason=REASON, token=new_id())


async def use_another_year(ctx: RequestContext, session: AsyncSession, _: UUID, project: Project) -> None:
    await numbering.plan(ctx, session, letter(project, year=2568, year_reason=REASON))


async def import_numbers(ctx: RequestContext, session: AsyncSession, _: UUID, project: Project) -> None:
    await import_target(ctx, session, project_public_id=UUID(project.id))


@pytest.mark.parametrize("act", [void, state_by_hand, use_another_year, import_numbers])
async def test_takes_its_own_permission(
    signed_in: SignIn,
    db: Database,
    project: Project,
    act: Callable[[RequestContext, AsyncSession, UUID, Project], Awaitable[None]],
) -> None:
    client = await signed_in("admin")
    number = UUID((await reserved(client, project))["publicId"])
    await client.post("/api/v1/document-numbering/confirm", json={"reservationToken": str(number)})
    former, holder = [context(await caller_with(db, name), present()) for name in (FORMATS, OVERRIDE)]
    former = replace(former, caller=replace(former.caller, organization_ids=frozenset(range(1, 100))))

    with pytest.raises(Forbidden):
        await db.transact(lambda session: act(former, session, number, project))
    await db.transact(lambda session: act(holder, session, number, project))


def test_renumbering_voids_a_number() -> None:
    assert core.RENUMBERS == OVERRIDE
    assert OVERRIDE not in permissions_of("Document Control")


async def test_an_org_admin_voids_numbers_of_the_own_organization(
    signed_in: SignIn, db: Database, project: Project
) -> None:
    client = await signed_in("admin")
    numbers = []
    for originator in ("คคง.", "ผรม.2"):
        number = await reserved(client, project, originator=originator)
        await client.post("/api/v1/document-numbering/confirm", json={"reservationToken": number["reservationToken"]})
        numbers.append(UUID(number["publicId"]))
    async with db.reading() as session:
        caller = await identity.find_caller(session, username="dc.consultant")
    assert caller is not None
    grant = replace(caller.grants[0], role="Org Admin", permissions=permissions_of("Org Admin"))
    ctx = context(replace(caller, grants=(grant,), organization_ids=frozenset(range(1, 100))), present())

    await db.transact(lambda session: void(ctx, session, numbers[0], project))
    with pytest.raises(Forbidden):
        await db.transact(lambda session: void(ctx, session, numbers[1], project))
