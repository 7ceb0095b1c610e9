"""What conditions are said to read of documents is what documents of every register say of themselves."""

from typing import Any

import jsonschema_rs
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.documents.core import models
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.web.workflows.simulation import CHOICES, NAMES
from saraban.workflow.engine import decisions
from saraban.workflow.language import registers
from saraban.workflow.language.registers import REGISTERS
from saraban.workflow.runtime.models import WorkflowInstance
from tests.circulations import order
from tests.features.documents.conftest import Desk


def test_priorities_are_those_of_documents() -> None:
    assert registers.PRIORITIES == models.PRIORITIES
    assert set(CHOICES["priority"]) == set(registers.PRIORITIES)


def test_a_rehearsal_asks_for_nothing_else() -> None:
    assert NAMES.keys() == registers.DOCUMENT.keys() - {"projectPublicId"}
    assert set(CHOICES["kind"]) == set(registers.KINDS) == REGISTERS.keys()


async def test_documents_say_no_other_words_and_no_other_values(desk: Desk, app: FastAPI, demo_db: Database) -> None:
    await desk.write("dc.contractor", "correspondences", desk.letter(dueDate="2026-12-31", priority="URGENT"))
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
    await desk.act("dc.contractor", rfa, "submit")
    await desk.write("dc.contractor", "transmittals", desk.transmittal(rfa["publicId"]))
    await desk.write("dc.consultant", "circulations", await order(desk))
    said: dict[str, set[str]] = {}
    async with demo_db.reading() as session:
        system = await identity.system_caller(session)
        instances = (await session.execute(sa.select(WorkflowInstance.entity_type, WorkflowInstance.entity_id))).all()
        for entity_type, entity_id in instances:
            port = app.state.subjects.port(entity_type)
            subject = (await port.facts(session, caller=system, entity_ids=[entity_id]))[entity_id]
            read = decisions.conditional_facts(decisions.Facts(system, subject), "draft")
            for known in (registers.OF_A_DOCUMENT, registers.of_a_document(subject.kind)):
                fits = jsonschema_rs.Draft202012Validator(jsonable(known), validate_formats=True, offline=True)
                assert [str(each) for each in fits.iter_errors(read["document"])] == []
            assert read["actor"].keys() == set(registers.ACTOR)
            assert read.keys() == set(registers.TOP)
            said.setdefault(subject.kind, set()).update(read["document"])

    assert said.keys() == set(registers.KINDS)
    for kind, names in said.items():
        assert names == registers.of_a_document(kind)["properties"].keys()


def jsonable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    return {key: jsonable(each) for key, each in value.items()} if hasattr(value, "items") else value
