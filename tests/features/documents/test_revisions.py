"""What was sent back stays as it was read; what comes next is the next revision, which can be withdrawn as a draft."""

from typing import Any

import pytest

from tests.features.documents.conftest import Desk

LETTER = ("correspondences", "request-revision", "revision_requested", "REPCSC")
TRANSMITTAL = ("transmittals", "return", "returned", "REPCSC")


async def sent_back(desk: Desk, path: str, action: str) -> dict[str, Any]:
    """A document of ผรม.2 that คคง. has read and sent back."""
    if path == "transmittals":
        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        await desk.act("dc.contractor", rfa, "submit")
        body = desk.transmittal(rfa["publicId"])
    else:
        body = desk.letter("คคง.")
    document = await desk.write("dc.contractor", path, body)
    await desk.act("dc.contractor", document, "submit")
    await desk.act("dc.consultant", document, action, comment="หน้า 2 ไม่ครบ")
    return document


@pytest.mark.parametrize(("path", "action", "state", "status"), [LETTER, TRANSMITTAL], ids=["letter", "transmittal"])
class TestSentBack:
    async def test_stays_with_those_who_read_it(
        self, desk: Desk, path: str, action: str, state: str, status: str
    ) -> None:
        document = await sent_back(desk, path, action)

        read = await desk.read("dc.consultant", path, document["publicId"])
        history = await desk.read("dc.consultant", path, f"{document['publicId']}/history")

        assert read.status_code == 200, read.text
        assert (read.json()["workflow"]["currentState"], read.json()["status"]["code"]) == (state, status)
        assert read.json()["issuedAt"] is not None
        steps = [step for step in history.json()["items"] if step["source"] == "workflow"]
        assert (steps[0]["action"], steps[0]["comment"]) == (action, "หน้า 2 ไม่ครบ")

    async def test_cannot_be_overwritten_and_is_answered_by_the_next_revision(
        self, desk: Desk, path: str, action: str, state: str, status: str
    ) -> None:
        document = await sent_back(desk, path, action)
        client, address = await desk.as_("dc.contractor"), f"/api/v1/{path}/{document['publicId']}"

        changed = await client.patch(address, json={"subject": "เขียนทับ"})
        revised = await client.post(f"{address}/revisions", json={"subject": "ฉบับแก้ไข"})
        seen = (await desk.read("dc.consultant", path, document["publicId"])).json()

        assert (changed.status_code, changed.json()["code"]) == (409, "DOCUMENT_NOT_DRAFT")
        assert revised.status_code == 201, revised.text
        assert revised.json()["revision"]["revisionLabel"] == "B"
        assert (seen["subject"], seen["revision"]["revisionLabel"]) == (document["subject"], "A")
        assert seen["workflow"]["currentState"] == state
        assert [row["publicId"] for row in await desk.listed("dc.consultant", path, status=state)] == [
            document["publicId"]
        ], status
