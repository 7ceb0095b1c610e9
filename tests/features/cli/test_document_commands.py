"""`saraban document`: the index that lists are read from is compared with the documents, and mended."""

import sqlite3
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from saraban.bootstrap import closing, wire
from saraban.config import Settings
from saraban.documents.core import service as core
from saraban.documents.correspondence import CORRESPONDENCE, NewCorrespondence
from saraban.identity import service as identity
from saraban.identity.models import Organization
from saraban.projects.models import Project
from tests.conftest import run_apart
from tests.factories.contexts import context

Command = Callable[..., tuple[int, str, str]]
CANNOT_TELL = 2


@pytest.fixture
def number(settings: Settings) -> str:
    """The number of a draft letter."""
    return run_apart(_letter(settings))  # type: ignore[no-any-return]


async def _letter(settings: Settings) -> str:
    async with closing(wire(settings)) as system:
        async with system.db.reading() as session:
            person = await identity.find_caller(session, username="dc.contractor")
            project = await session.scalar(sa.select(Project.public_id).where(Project.project_code == "LCBP3-C2"))
            to = await session.scalar(sa.select(Organization.public_id).where(Organization.organization_code == "คคง."))
        order = NewCorrespondence(
            project_public_id=project,
            correspondence_type_code="LETTER",
            recipients=[{"organizationPublicId": to, "recipientType": "TO"}],
            subject="ขอเชิญประชุม",
        )
        assert person is not None
        ctx = context(person, system.clock.now(), system.clock.zone, "")
        receipt = await core.create(ctx, system.documents, CORRESPONDENCE, order)
        async with system.db.reading() as session:
            return (await core.show(ctx, session, CORRESPONDENCE, receipt)).data.document_number


def lose_rows(settings: Settings) -> None:
    with sqlite3.connect(settings.data_dir / "saraban.db") as rows:
        rows.execute("DELETE FROM document_reach WHERE reader_kind = 1")
    rows.close()


@pytest.mark.parametrize("where", [(), ("--project", "LCBP3-C2")])
class TestReach:
    def test_that_agrees_ends_with_zero(self, command: Command, number: str, where: tuple[str, ...]) -> None:
        code, out, err = command("document", "reach", "verify", *where)

        assert (code, out, err) == (0, "1 documents compared; everything agrees.\n", ""), number

    def test_that_differs_is_a_finding_until_it_is_rebuilt(
        self, command: Command, settings: Settings, number: str, where: tuple[str, ...]
    ) -> None:
        lose_rows(settings)

        code, out, err = command("document", "reach", "verify", *where)

        assert (code, err) == (1, f"saraban: correspondence {number}: differs\n")
        assert "`saraban document reach rebuild`" in out
        assert command("document", "reach", "rebuild", *where)[:2] == (
            0,
            "1 documents compared; the index of 1 was mended.\n",
        )
        assert command("document", "reach", "verify", *where)[0] == 0


class TestReachOfAnUnknownProject:
    def test_is_not_told(self, command: Command) -> None:
        code, _, err = command("document", "reach", "verify", "--project", "NOWHERE")

        assert (code, err.count("\n")) == (CANNOT_TELL, 1)


def test_the_index_of_search_says_what_waits_and_what_is_lost_and_is_made_anew(
    command: Command, settings: Settings, number: str
) -> None:
    code, out, _ = command("search", "verify")
    assert (code, "is not built yet" in out) == (1, True), out

    code, out, _ = command("search", "rebuild")
    assert (code, "has been built" in out) == (0, True), out
    code, out, _ = command("search", "verify")
    assert (code, out) == (0, "The index of search agrees with everything.\n")

    with sqlite3.connect(settings.data_dir / "saraban.db") as rows:
        rows.execute("UPDATE correspondence_revisions SET subject = 'another'")
    rows.close()
    code, _, err = command("search", "verify")
    assert (code, number in err) == (1, True), err

    with sqlite3.connect(settings.data_dir / "saraban.db") as rows:
        rows.execute("INSERT INTO search_changes (kind, head_uuid) SELECT 1, uuid FROM correspondences")
    rows.close()
    code, out, _ = command("search", "verify")
    assert (code, "wait for the worker: 1" in out) == (0, True), out
