"""Files follow their document: whoever sees the revision may read them, nobody else knows of them."""

from typing import Any

import sqlalchemy as sa

from tests.conftest import unwrapped
from tests.features.documents.conftest import PDF, Desk


class TestFile:
    async def test_is_read_by_whoever_sees_the_revision(self, desk: Desk) -> None:
        file = await desk.upload("dc.contractor")
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[file]))
        address = rfa["attachments"][0]["downloadUrl"]
        reviewer, own = await desk.as_("reviewer.consultant"), await desk.as_("dc.contractor")

        before = await reviewer.get(address)
        await desk.act("dc.contractor", rfa, "submit")
        after = await reviewer.get(address)

        assert (await own.get(address)).content == PDF
        assert before.status_code == 404
        assert (after.status_code, after.content) == (200, PDF)

    async def test_of_a_step_is_read_by_whoever_sees_the_document(self, desk: Desk) -> None:
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        file = await desk.upload("reviewer.consultant")
        await desk.act("reviewer.consultant", rfa, "approve", attachmentPublicIds=[file])

        seen = unwrapped(await desk.read("dc.contractor", "rfas", rfa["publicId"]))
        answer = await (await desk.as_("dc.contractor")).get(f"/api/v1/attachments/{file}/content")

        assert [one["publicId"] for one in seen["stepAttachments"]] == [file]
        assert answer.status_code == 200

    async def test_belongs_to_one_document(self, desk: Desk) -> None:
        file = await desk.upload("dc.contractor")
        await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[file]))
        client = await desk.as_("dc.contractor")

        answer = await client.post("/api/v1/rfas", json=desk.rfa(attachmentPublicIds=[file]))

        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/attachmentPublicIds/0"


class TestRegister:
    async def test_asks_the_database_no_more_for_many_rows_than_for_few(self, desk: Desk, app: Any) -> None:
        for _ in range(7):
            await desk.write("dc.contractor", "rfas", desk.rfa())
        statements: list[str] = []

        def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
            statements.append(statement)

        engine = app.state.db.engine.sync_engine
        sa.event.listen(engine, "before_cursor_execute", note)
        counts = []
        for limit in (2, 2, 6):
            statements.clear()
            assert len(await desk.listed("dc.contractor", "rfas", limit=limit)) == limit
            counts.append(len(statements))

        assert counts[1] == counts[2]
