"""Choices of workflows on each database: which counts, and that none is made of what is just becoming unfit."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from saraban.kit.db import Database
from saraban.kit.errors import Invalid
from saraban.projects import service as projects
from saraban.workflow import service as workflow
from saraban.workflow.administration.schemas import DefinitionDetailOut
from saraban.workflow.administration.service import workflow_assignment
from saraban.workflow.administration.service.workflow_assignment import AssignmentTarget
from saraban.workflow.language.registers import Matter
from saraban.workflow.runtime.models import WorkflowAssignment
from saraban.workflow.runtime.service import definitions
from tests.factories.contexts import context
from tests.factories.letterbox import new_office

pytestmark = pytest.mark.sampled("mariadb")

LATER = datetime(2026, 11, 21, 3, tzinfo=UTC)
ROUNDS = 3


def flow(code: str, first: str = "draft") -> dict[str, Any]:
    label = {"th": "คำ", "en": "Word"}
    states = [
        {"name": first, "label": label, "initial": True, "on": {"send": {"to": "approved", "label": label}}},
        {"name": "approved", "label": label, "terminal": True},
    ]
    return {"workflow": code, "states": states}


class TestChoosing:
    async def test_is_read_by_place_and_never_of_what_does_not_fit(self, any_db: Database) -> None:
        office = await new_office(any_db)
        caller = await office.person("admin")
        async with any_db.reading() as session:
            (project,) = [
                one for one in await projects.projects_of(context(caller=caller), session) if one.id == office.project
            ]

        async def choose(code: str, place: AssignmentTarget) -> None:
            await any_db.transact(
                lambda session: workflow_assignment.assign(
                    context(caller=caller, now=LATER, address=""), session, place=place, workflow_code=code
                )
            )

        async def activate(code: str, version: int) -> None:
            await any_db.transact(
                lambda session: workflow.set_active(
                    context(caller=caller, now=LATER, address=""), session, code=code, version=version, is_active=True
                )
            )

        async def starts(type_code: str) -> str:
            matter = Matter("correspondence", office.project, type_code)
            async with any_db.reading() as session:
                return (
                    await definitions.starting(session, code="CORRESPONDENCE_FLOW_V1", matter=matter)
                ).definition.code

        places = [
            AssignmentTarget("correspondence"),
            AssignmentTarget("correspondence", "MEMO"),
            AssignmentTarget("correspondence", None, project.public_id),
            AssignmentTarget("correspondence", "MEMO", project.public_id),
        ]
        found = [(await starts("LETTER"), await starts("MEMO"))]
        for number, place in enumerate(places):
            await office.define(flow(f"FLOW_{number}"))
            # Twice at once, and the later is the same choice again.
            await asyncio.gather(choose(f"FLOW_{number}", place), choose(f"FLOW_{number}", place))
            found.append((await starts("LETTER"), await starts("MEMO")))

        shipped = "CORRESPONDENCE_FLOW_V1"
        assert found == [
            (shipped, shipped),
            ("FLOW_0", "FLOW_0"),
            ("FLOW_0", "FLOW_1"),
            ("FLOW_2", "FLOW_2"),
            ("FLOW_2", "FLOW_3"),
        ]
        for number in range(ROUNDS):
            code = f"TURN_{number}"
            await office.define(flow(code))
            await office.define(flow(code, first="start"), activate=False)
            outcomes = await asyncio.gather(choose(code, places[0]), activate(code, 2), return_exceptions=True)
            refused = [one for one in outcomes if one is not None and not isinstance(one, DefinitionDetailOut)]
            assert [type(one) for one in refused] in ([Invalid], [workflow.WorkflowNotValid]), outcomes
        async with any_db.reading() as session:
            assert await session.scalar(sa.select(sa.func.count()).select_from(WorkflowAssignment)) == len(places)
