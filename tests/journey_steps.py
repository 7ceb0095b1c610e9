"""Steps that several journeys in the browser begin with."""

from tests.journeys.conftest import Person


async def a_draft(person: Person) -> str:
    """Write an RFA through the API and give the address of its page."""
    api = f"{person.site}/api/v1"
    ask = person.page.request
    project = (await (await ask.get(f"{api}/projects")).json())["items"][0]["publicId"]
    detail = await (await ask.get(f"{api}/projects/{project}")).json()
    consultant = next(one["publicId"] for one in detail["organizations"] if one["role"] == "CONSULTANT")
    order = {
        "projectPublicId": project,
        "recipients": [{"organizationPublicId": consultant, "recipientType": "TO"}],
        "subject": "ขออนุมัติแบบขยายเหล็กเสริมฐานรากอาคารสำนักงานปฏิบัติการท่าเรือ ระหว่างเส้นกริด A ถึง F",
        "body": "รายละเอียดตามแบบเลขที่ S-101 ถึง S-118",
        "disciplineCode": "BUD",
        "rfaTypeCode": "SDW",
        "contractPublicId": next(
            one["publicId"] for one in detail["contracts"] if one["contractCode"] == detail["projectCode"]
        ),
    }
    answer = await ask.post(f"{api}/rfas", data=order)
    assert answer.status == 201, await answer.text()
    return f"/rfas/{(await answer.json())['data']['publicId']}"
