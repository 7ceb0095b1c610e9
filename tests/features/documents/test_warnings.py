"""Answers to writes name what is doubtful, and change nothing about what is saved."""

from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx

from saraban.kit.clock import SystemClock
from tests.features.documents.conftest import Desk, pointers

TODAY = SystemClock(ZoneInfo("Asia/Bangkok")).now().date()
FAR = date(TODAY.year + 6, 1, 1).isoformat()
EARLIER = [(TODAY - timedelta(days=days)).isoformat() for days in (20, 10, 5)]


def warned(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.is_success, answer.text
    return [(one["code"], one["field"]) for one in answer.json()["warnings"]]


async def test_a_due_date_far_away_is_doubtful_wherever_it_is_stated(desk: Desk) -> None:
    client = await desk.as_("dc.consultant")
    written = await client.post(
        "/api/v1/correspondences", json=desk.letter(dueDate=FAR), headers={"Accept-Language": "th"}
    )
    address = f"/api/v1/correspondences/{written.json()['data']['publicId']}"
    answers = [
        written,
        await client.patch(address, json={"dueDate": f"1 มกราคม {TODAY.year + 6 + 543}"}),
        await client.patch(address, json={"subject": "ไม่มีกำหนด"}),
        await client.get(address),
    ]

    assert [warned(one) for one in answers] == [[("DUE_DATE_FAR", "/dueDate")]] * 2 + [[]] * 2
    assert "เกิน 5 ปี" in written.json()["warnings"][0]["message"]
    assert answers[1].json()["data"]["dueDate"] == FAR


async def test_the_deadline_of_a_sheet_is_a_due_date(desk: Desk) -> None:
    client = await desk.as_("dc.contractor")
    me = (await client.get("/api/v1/auth/me")).json()["publicId"]
    person = {"userPublicId": me, "kind": "MAIN", "dueDate": FAR}
    body = {"projectPublicId": desk.project, "subject": "เวียน", "deadlineDate": FAR, "assignees": [person]}
    answer = await client.post("/api/v1/circulations", json=body)

    assert warned(answer) == [("DUE_DATE_FAR", "/deadlineDate"), ("DUE_DATE_FAR", "/assignees/0/dueDate")]


async def test_what_came_in_late_may_be_overdue(desk: Desk) -> None:
    client = await desk.as_("dc.consultant")
    incoming = {
        "senderNumber": "คค 1/2569",
        "senderDate": EARLIER[0],
        "receivedDate": EARLIER[2],
        "dueDate": EARLIER[1],
    }
    written = await client.post("/api/v1/correspondences", json=desk.letter(**incoming))
    address = f"/api/v1/correspondences/{written.json()['data']['publicId']}"
    refused = [
        await client.post("/api/v1/correspondences", json=desk.letter(**incoming | {"receivedDate": None})),
        await client.post(
            "/api/v1/correspondences", json=desk.letter(**incoming | {"senderDate": EARLIER[1], "dueDate": EARLIER[0]})
        ),
        await client.patch(address, json={"senderNumber": None}),
    ]
    changed = await client.patch(address, json={"dueDate": EARLIER[2]})

    assert (warned(written), written.json()["data"]["isOverdue"]) == ([], True)
    assert [(one.status_code, pointers(one)) for one in refused] == [(422, ["/dueDate"])] * 3
    assert changed.json()["data"]["dueDate"] == EARLIER[2]


async def test_a_sender_number_that_is_registered_names_its_first_document(desk: Desk) -> None:
    async def write(account: str, number: str, **more: Any) -> httpx.Response:
        client = await desk.as_(account)
        letter = desk.letter("กทท.", senderNumber=number, receivedDate=EARLIER[2], **more)
        return await client.post("/api/v1/correspondences", json=letter, headers={"Accept-Language": "en"})

    first = await write("dc.consultant", "ที่ คค 77/2569", senderDate=EARLIER[2])
    again = await write("dc.consultant", "คค. ๗๗/๒๕๖๙", senderDate=EARLIER[2])
    other_year = await write("dc.consultant", "ที่ คค 77/2569", senderDate="2020-01-01")
    third = await write("dc.consultant", "ที่ คค 77/2569")
    other_desk = await write("dc.contractor", "ที่ คค 77/2569")
    known = first.json()["data"]

    assert [warned(one) for one in (first, other_year, other_desk)] == [[], [], []]
    for answer in (again, third):
        (warning,) = answer.json()["warnings"]
        assert (warning["code"], warning["field"], warning["publicId"]) == (
            "SENDER_NUMBER_REPEATED",
            "/senderNumber",
            known["publicId"],
        )
        assert known["documentNumber"] in warning["message"]
    client = await desk.as_("dc.consultant")
    own = await client.patch(f"/api/v1/correspondences/{known['publicId']}", json={"senderNumber": "คค 77/2569"})
    assert [one["publicId"] for one in own.json()["warnings"]] == [again.json()["data"]["publicId"]]


async def test_the_file_of_an_earlier_revision_is_named(desk: Desk) -> None:
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[await desk.upload("dc.contractor")]))
    await desk.act("dc.contractor", rfa, "submit")
    await desk.act("reviewer.consultant", rfa, "reject", comment="ผลทดสอบไม่ครบ")
    own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
    drawing = await desk.register(
        "dc.contractor", "shop", "N-1", **own, revision={"attachmentPublicIds": [await desk.upload("dc.contractor")]}
    )
    client = await desk.as_("dc.contractor")
    for address, label in ((f"rfas/{rfa['publicId']}", "A"), (f"drawings/shop/{drawing['publicId']}", "0")):
        body = {"attachmentPublicIds": [await desk.upload("dc.contractor")]}
        revised = await client.post(f"/api/v1/{address}/revisions", json=body, headers={"Accept-Language": "en"})

        assert warned(revised) == [("FILE_REPEATED", "/attachmentPublicIds/0")]
        assert f"is the same file as in revision {label}." in revised.json()["warnings"][0]["message"]
    revision = revised.json()["data"]["revision"]["publicId"]
    body = {"attachmentPublicIds": [await desk.upload("dc.contractor")]}
    corrected = await client.patch(f"/api/v1/drawings/shop/revisions/{revision}", json=body)
    assert warned(corrected) == [("FILE_REPEATED", "/attachmentPublicIds/0")]
