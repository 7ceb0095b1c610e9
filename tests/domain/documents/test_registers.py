"""What the workflow knows of the registers of documents is what they say of themselves, and what ships fits them."""

import pytest

from saraban.documents.circulation import domain as circulation
from saraban.documents.core.domain.kind import CANCELLED, DRAFT, TERMINATED, Kind
from saraban.documents.correspondence.domain import CORRESPONDENCE
from saraban.documents.rfa.domain import RFA
from saraban.documents.transmittal.domain import TRANSMITTAL
from saraban.web.kinds import BY_NAME
from saraban.workflow.domain import dsl
from saraban.workflow.domain.registers import DRAFT as FIRST
from saraban.workflow.domain.registers import REGISTERS, misfits
from saraban.workflow.service.definitions import shipped

EVERYWHERE = {CANCELLED, TERMINATED}


class TestRegisters:
    @pytest.mark.parametrize("kind", [CORRESPONDENCE, RFA, TRANSMITTAL], ids=lambda kind: kind.name)
    def test_are_known_as_they_say_of_themselves(self, kind: Kind) -> None:
        register = REGISTERS[kind.name]

        assert register.code == kind.workflow_code
        assert set(register.types) in ({*()}, set(kind.type_codes))
        assert register.ends == kind.finished - EVERYWHERE
        assert register.open == kind.statuses.keys() - kind.finished

    def test_know_where_sheets_are_answered(self) -> None:
        register = REGISTERS[circulation.KIND]

        assert register.code == circulation.WORKFLOW_CODE
        assert register.needs == {circulation.ROUTING}
        assert register.open | register.ends | EVERYWHERE == circulation.STATUSES.keys()

    def test_begin_where_documents_are_written(self) -> None:
        assert {FIRST} == {DRAFT, circulation.DRAFT}

    def test_have_a_page_each(self) -> None:
        assert REGISTERS.keys() == BY_NAME.keys()

    def test_fit_what_ships_for_them(self) -> None:
        flows = {raw["workflow"]: dsl.read(raw) for raw in shipped()}

        assert {one.name: misfits(flows[one.code], [one]) for one in REGISTERS.values()} == dict.fromkeys(REGISTERS, ())
