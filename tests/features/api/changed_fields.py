"""What is changed for each field of each PATCH and PUT: resources of the demo project, and another valid value for every field."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from saraban.kit.clock import SystemClock
from saraban.setup.domain import master_kinds
from saraban.setup.domain.master_kinds import MasterKind, Owner
from tests.circulations import order, person
from tests.conftest import unwrapped
from tests.features.documents.conftest import Desk
from tests.workflow_choices import flow, publish

API: Final = "/api/v1"
Values = Mapping[str, Any]
Prepared = Awaitable["Resource"]


@dataclass
class Resource:
    """
    Something that one operation changes.

    :param address: of the request
    :param values: another valid value of each field, in the order in which they are sent
    :param base: what a PUT states besides
    :param headings: how the audit row names a field, where that is not the field's own name
    :param searched: fields that the index of search must hear of
    :param head: public id that waits for the index
    :param tag: where its ETag is read; None for a resource without one
    :param excused: fields that are not changed or not recorded, each with the reason
    :param refused: fields that are always refused, each with the status
    """

    address: str
    values: Values
    base: Values = field(default_factory=dict)
    headings: Mapping[str, str] = field(default_factory=dict)
    searched: frozenset[str] = frozenset()
    head: str | None = None
    tag: str | None = None
    excused: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)

    @property
    def fields(self) -> set[str]:
        return {*self.values, *self.excused, *self.refused}


async def made(desk: Desk, path: str, body: Values) -> dict[str, Any]:
    client = await desk.as_("admin")
    answer = await client.post(API + path, json=body)
    assert answer.status_code == 201, answer.text
    return unwrapped(answer) if "data" in answer.json() else answer.json()


async def read(desk: Desk, path: str) -> dict[str, Any]:
    return (await (await desk.as_("admin")).get(API + path)).json()  # type: ignore[no-any-return]


async def contract_of(desk: Desk) -> str:
    return str((await read(desk, f"/projects/{desk.project}"))["contracts"][0]["publicId"])


async def user(desk: Desk) -> Resource:
    public_id = await person(desk, "svc.loadtest")
    values = {
        "email": "another@example.com",
        "firstName": "วิภา",
        "lastName": "อ่านมาก",
        "organizationPublicId": desk.organizations["คคง."],
        "drawsPerMinute": 5,
    }
    return Resource(
        f"/users/{public_id}",
        values,
        headings={"organizationPublicId": "organization"},
        searched=frozenset({"firstName", "lastName"}),
        head=public_id,
        tag=f"/users/{public_id}",
    )


async def role(desk: Desk) -> Resource:
    body = {"copyOf": "Contract Admin", "level": "Contract", "name": "ผู้ตรวจแบบ", "nameEn": "Drawing checker"}
    address = f"/roles/{(await made(desk, '/roles', body))['publicId']}"
    values = {"name": "ผู้ตรวจแบบ 2", "nameEn": "Checker", "description": "ตรวจ", "permissions": ["document.view"]}
    return Resource(address, values, tag=address)


CONFIRMS: Final = {"confirmSeries": "Confirms that a printed code changes; it is no field of the resource."}
OF_MASTER_DATA: Final = {
    "code": "ZX",
    "nameTh": "ชื่ออื่น",
    "nameEn": "Another name",
    "description": "คำอธิบายอื่น",
    "number": "78",
    "items": "required",
    "color": "teal",
    "categories": "",
}


def master_lists(kind: MasterKind) -> Mapping[str, Callable[[Desk], Prepared]]:
    """The operations of a list: one row, and their order."""
    below = {Owner.INSTALLATION: "", Owner.PROJECT: "/projects/{publicId}", Owner.CONTRACT: "/contracts/{publicId}"}
    template = f"{below[kind.owner]}/{kind.path}"

    async def rows(desk: Desk) -> str:
        owner = {Owner.PROJECT: desk.project, Owner.CONTRACT: await contract_of(desk)}.get(kind.owner, "")
        path = template.replace("{publicId}", owner)
        given = {"nameTh": "ชื่อ", "nameEn": "Name", "number": "77", "typeCode": "TRANSMITTAL"}
        for number, code in enumerate(("ZZ", "ZY")):
            body = {name: value for name, value in given.items() if name in {one.name for one in kind.fields}}
            await made(
                desk,
                path,
                body | {"code": code, "nameTh": f"ชื่อ {code}"} | ({"number": f"7{number}"} if "number" in body else {}),
            )
        if "categories" in {one.name for one in kind.fields}:
            await made(desk, path.replace("sub-categories", "categories"), {"code": "ZC", "nameTh": "หมวด"})
        return path

    async def row(desk: Desk) -> Resource:
        address = f"{await rows(desk)}/ZZ"
        names = [one.name for one in kind.fields if one.name not in {kind.within, kind.code.name}]
        values = {name: OF_MASTER_DATA[name] for name in names} | {"code": "ZX"}
        if "categories" in values:
            values["categories"] = "ZC"
        return Resource(address, values, tag=address, excused=CONFIRMS)

    async def places(desk: Desk) -> Resource:
        return Resource(f"{await rows(desk)}/order", {"codes": ["ZY", "ZZ"]}, headings={"codes": ""})

    return {f"PATCH {template}/{{code}}": row, f"PUT {template}/order": places}


async def project(desk: Desk) -> Resource:
    address = f"/projects/{desk.project}"
    values = {
        "projectName": "ชื่ออื่น",
        "projectNameEn": "Another name",
        "projectCode": "LCBP3-C9",
        "fileKinds": "dwg, pdf",
    }
    return Resource(address, values, tag=address, excused=CONFIRMS)


async def contract(desk: Desk) -> Resource:
    values = {
        "contractName": "ชื่ออื่น",
        "contractNameEn": "Another name",
        "description": "คำอธิบาย",
        "startDate": "2026-01-05",
        "endDate": "2029-01-05",
        "contractCode": "C-99",
    }
    address = f"/contracts/{await contract_of(desk)}"
    return Resource(address, values, tag=address, excused=CONFIRMS)


async def organization(desk: Desk) -> Resource:
    public_id = desk.organizations["คคง."]
    names = {"organizationName": "ชื่ออื่น", "organizationNameEn": "Another name", "organizationCode": "คคง.9"}
    address = f"/organizations/{public_id}"
    return Resource(
        address,
        names | {"role": "OTHER"},
        searched=frozenset(names),
        head=public_id,
        tag=address,
        excused=CONFIRMS,
    )


async def project_party(desk: Desk) -> Resource:
    return Resource(f"/projects/{desk.project}/organizations/{desk.organizations['คคง.']}", {"role": "OTHER"})


async def contract_party(desk: Desk) -> Resource:
    address = f"/contracts/{await contract_of(desk)}/organizations/{desk.organizations['คคง.']}"
    return Resource(address, {"role": "OTHER"})


async def weekend(desk: Desk) -> Resource:
    return Resource(f"/projects/{desk.project}/calendar/weekend", {"weekend": ["SUNDAY"]})


async def day(desk: Desk) -> Resource:
    base = {"kind": "HOLIDAY", "nameTh": "วันหยุด", "nameEn": "Holiday"}
    values = {"kind": "WORKING", "nameTh": "วันทำงาน", "nameEn": "Working day"}
    return Resource(f"/projects/{desk.project}/calendar/days/2026-09-07", values, base=base)


async def team(desk: Desk) -> Resource:
    base = {"nameTh": "ทีม", "nameEn": "Team", "isActive": True}
    values = {"nameTh": "ทีมอื่น", "nameEn": "Another team", "isActive": False}
    return Resource(f"/projects/{desk.project}/review-teams/DESIGN", values, base=base)


async def team_member(desk: Desk) -> Resource:
    address = f"/projects/{desk.project}/review-teams/DESIGN"
    await (await desk.as_("admin")).put(API + address, json={"nameTh": "ทีม", "nameEn": "Team"})
    base = {"disciplineCode": None, "role": "REVIEWER"}
    member = await person(desk, "reviewer.consultant")
    return Resource(f"{address}/members/{member}", {"disciplineCode": "TER", "role": "LEAD"}, base=base)


FORMAT: Final = {
    "template": "{ORIGINATOR}-M-{SEQ:5}-{YEAR:B.E.}",
    "description": "คำอธิบายอื่น",
    "resetSequenceYearly": False,
    "overflow": "refuse",
}
REASON: Final = {"reason": "The reason of the change; the row keeps it."}


async def saved_format(desk: Desk) -> Resource:
    base = {
        "projectPublicId": desk.project,
        "correspondenceTypeCode": "MEMO",
        "template": "{ORIGINATOR}-M-{SEQ:4}-{YEAR:B.E.}",
        "reason": "ทดสอบ",
    }
    names = ("projectPublicId", "correspondenceTypeCode", "subTypeCode", "rfaTypeCode", "disciplineCode")
    return Resource(
        "/document-numbering/configs",
        FORMAT,
        base=base,
        excused=REASON | dict.fromkeys(names, "Names the format that is saved."),
    )


async def own_format(desk: Desk) -> Resource:
    client = await desk.as_("admin")
    saved = await client.put(f"{API}/document-numbering/configs", json=(await saved_format(desk)).base)
    address = f"/document-numbering/configs/{saved.json()['publicId']}"
    return Resource(address, FORMAT, base={"reason": "ทดสอบ"}, tag=address, excused=REASON)


TODAY: Final = SystemClock(ZoneInfo("Asia/Bangkok")).now().date()
DAYS: Final = {
    name: (TODAY - timedelta(days=days)).isoformat()
    for name, days in (("documentDate", 3), ("senderDate", 2), ("receivedDate", 1), ("dueDate", -30))
}
PRINTED: Final = (
    *("projectPublicId", "originatorOrganizationPublicId", "correspondenceTypeCode", "disciplineCode"),
    *("contractPublicId", "subTypeCode", "rfaTypeCode"),
)


async def document(desk: Desk, path: str, body: Values, own: Values, headings: Values) -> Resource:
    """A draft with a file; what its number prints is refused."""
    files = [await desk.upload("dc.contractor"), await desk.upload("admin")]
    other = await desk.write("dc.contractor", "correspondences", desk.letter(subject="อ้างอิง"))
    draft = await desk.write("dc.contractor", path, {**body, "attachmentPublicIds": files[:1]})
    to = body["recipients"]
    values = {
        **{name: f"{name} อื่น" for name in ("subject", "body", "description", "remarks", "senderNumber")},
        **DAYS,
        "priority": "HIGH",
        "addAttachmentPublicIds": files[1:],
        "removeAttachmentPublicIds": files[:1],
        "recipients": [*to, {"organizationPublicId": desk.organizations["กทท."], "recipientType": "CC"}],
        "referencePublicIds": [other["publicId"]],
        **own,
    }
    address = f"/{path}/{draft['publicId']}"
    return Resource(
        address,
        values,
        headings={
            "addAttachmentPublicIds": "attachmentPublicIds",
            "removeAttachmentPublicIds": "attachmentPublicIds",
            **headings,
        },
        searched=frozenset(values),
        head=draft["publicId"],
        tag=address,
        refused=dict.fromkeys(PRINTED, 409),
    )


async def letter(desk: Desk) -> Resource:
    return await document(desk, "correspondences", desk.letter(), {}, {})


async def carried(desk: Desk) -> str:
    """The revision of a drawing that documents may carry."""
    by = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
    return str((await desk.register("dc.contractor", "shop", "CARRIED-1", **by))["revision"]["publicId"])


async def rfa(desk: Desk) -> Resource:
    items = [{"drawingRevisionPublicId": await carried(desk)}]
    return await document(
        desk, "rfas", desk.rfa(rfaTypeCode="SDW", contractPublicId=await contract_of(desk)), {"items": items}, {}
    )


async def transmittal(desk: Desk) -> Resource:
    sent = await desk.approved_rfa()
    own = {
        "purpose": "FOR_APPROVAL",
        "items": [{"documentPublicId": sent["publicId"], "quantity": 2}],
        "drawingRevisionPublicIds": [await carried(desk)],
    }
    body = desk.transmittal(sent["publicId"])
    return await document(desk, "transmittals", body, own, {"drawingRevisionPublicIds": "drawings"})


async def circulation(desk: Desk) -> Resource:
    client = await desk.as_("dc.consultant")
    drawing = (await desk.register("admin", "shop", "CARRIED-2"))["revision"]["publicId"]
    sheet = unwrapped(await client.post(f"{API}/circulations", json=await order(desk)))
    values = {
        "subject": "เรื่องอื่น",
        "remarks": "หมายเหตุอื่น",
        "deadlineDate": (TODAY + timedelta(days=20)).isoformat(),
        "priority": "HIGH",
        "assignees": [{"userPublicId": await person(desk, "reviewer.consultant"), "kind": "MAIN"}],
        "drawingRevisionPublicIds": [drawing],
    }
    address = f"/circulations/{sheet['publicId']}"
    return Resource(
        address,
        values,
        headings={"drawingRevisionPublicIds": "drawings"},
        searched=frozenset(values),
        head=sheet["publicId"],
        tag=address,
    )


CATEGORIES: Final = {
    "contract": ("contract-volumes", "contract-categories", "contract-sub-categories"),
    "shop": ("shop-main-categories", "shop-sub-categories"),
    "asbuilt": (),  # it has those of shop drawings
}
CODES: Final = {
    "contract-volumes": ("ZV",),
    "contract-categories": ("ZC", "ZD"),
    "contract-sub-categories": ("ZS", "ZT"),
    "shop-main-categories": ("ZC", "ZD"),
    "shop-sub-categories": ("ZS", "ZT"),
}


async def drawing(desk: Desk, kind: str) -> Resource:
    for path in CATEGORIES[kind]:
        for code in CODES[path]:
            pairs = {"categories": "ZC, ZD"} if path == "contract-sub-categories" else {}
            body = {"code": code, "nameTh": f"หมวด {code}", **pairs}
            await made(desk, f"/projects/{desk.project}/drawing-categories/{path}", body)
    tag = f"TAG-{kind}"
    await made(desk, f"/projects/{desk.project}/tags", {"code": tag, "nameTh": tag, "color": "red"})
    place = {"contractPublicId": await contract_of(desk), "categoryCode": "ZC", "subCategoryCode": "ZS"}
    row = await desk.register("admin", kind, "ZZ-1", **place)
    values = {
        "scale": "1:50",
        "sheetSize": "A3",
        "zone": "Zone 9",
        "disciplineCode": "TER",
        "tags": [tag],
        "categoryCode": "ZD",
        "subCategoryCode": "ZT",
    }
    address = f"/drawings/{kind}/{row['publicId']}"
    whole = kind == "contract"
    refused: dict[str, int] = {}
    if whole:
        values |= {"volumeCode": "ZV", "volumePage": 7}
    else:
        refused = {"volumeCode": 422, "volumePage": 422}
    return Resource(address, values, searched=frozenset(values), head=row["publicId"], tag=address, refused=refused)


async def drawing_revision(desk: Desk, kind: str) -> Resource:
    row = await desk.register("admin", kind, "ZZ-1")
    values = {
        "date": DAYS["documentDate"],
        "title": "ชื่อแบบอื่น",
        "titleEn": "Another title",
        "reason": "เหตุผลอื่น",
        "statusCode": "S3",
        "legacyNumber": "OLD-9",
        "attachmentPublicIds": [await desk.upload("admin")],
    }
    address = f"/drawings/{kind}/{row['publicId']}"
    return Resource(
        f"/drawings/{kind}/revisions/{row['revision']['publicId']}",
        values,
        headings={"attachmentPublicIds": "files"},
        searched=frozenset(values),
        head=row["publicId"],
        tag=address,
    )


async def register(desk: Desk, kind: str) -> Resource:
    base = {"revisionScheme": "A", "numberPattern": None, "takesAddenda": False, "approval": "rfa"}
    values: dict[str, Any] = {"revisionScheme": "P01, C01", "numberPattern": "LP3-*-@@-###"}
    whole = kind == "contract"
    values |= {"takesAddenda": True} if whole else {"approval": "workflow"}
    refused = {"approval": 422} if whole else {"takesAddenda": 422}
    return Resource(f"/projects/{desk.project}/drawing-registers/{kind}", values, base=base, refused=refused)


async def workflow_choice(desk: Desk) -> Resource:
    for code in ("MINE", "OURS"):
        await publish(await desk.as_("admin"), flow(code))
    names = ("kind", "typeCode", "projectPublicId")
    return Resource(
        "/workflow/choices",
        {"workflowCode": "OURS"},
        base={"kind": "correspondence", "projectPublicId": desk.project, "workflowCode": "MINE"},
        excused=dict.fromkeys(names, "Names the documents that the choice is for."),
    )


async def preferences(desk: Desk) -> Resource:
    own = "A person's own choice of messages: it changes nothing that others see, and is no act on a record."
    names = ("email", "digest", "digestHour", "quietFrom", "quietUntil", "channels")
    return Resource("/notifications/preferences", {}, excused=dict.fromkeys(names, own))


# Details of an audit row have `before` and `after` for something else.
COLUMNS: Final = {"before": "days_before", "after": "days_after", "every": "every_days", "hour": "at_hour"}


async def reminders(desk: Desk) -> Resource:
    base = {"before": [3, 1], "after": [1, 3], "every": 5, "hour": 8}
    values = {"before": [2], "after": [4], "every": None, "hour": 9}
    return Resource(f"/projects/{desk.project}/reminders", values, base=base, headings=COLUMNS)


async def webhook(desk: Desk) -> Resource:
    body = {"url": "https://hooks.example.com/saraban", "events": ["workflow.transitioned", "workflow.webhook"]}
    address = f"/webhooks/{(await made(desk, f'/projects/{desk.project}/webhooks', body))['publicId']}"
    values = {
        "url": "https://hooks.example.com/other",
        "description": "อื่น",
        "topics": ["drawings.approved"],
        "isActive": False,
        "events": ["workflow.webhook"],
    }
    return Resource(address, values, tag=address)


def for_kinds(make: Callable[[Desk, str], Prepared]) -> Callable[[Desk], Awaitable[list[Resource]]]:
    async def every(desk: Desk) -> list[Resource]:
        return [await make(desk, kind) for kind in CATEGORIES]

    return every


# By method and path, as the description of the API has them.
RESOURCES: Final[dict[str, Callable[[Desk], Awaitable[Any]]]] = {
    "PATCH /users/{publicId}": user,
    "PATCH /roles/{publicId}": role,
    "PATCH /projects/{publicId}": project,
    "PATCH /contracts/{publicId}": contract,
    "PATCH /organizations/{publicId}": organization,
    "PUT /projects/{publicId}/organizations/{organizationPublicId}": project_party,
    "PUT /contracts/{publicId}/organizations/{organizationPublicId}": contract_party,
    **{name: make for kind in master_kinds.KINDS if kind.ordered for name, make in master_lists(kind).items()},
    "PUT /projects/{publicId}/calendar/weekend": weekend,
    "PUT /projects/{publicId}/calendar/days/{day}": day,
    "PUT /projects/{publicId}/review-teams/{code}": team,
    "PUT /projects/{publicId}/review-teams/{code}/members/{userPublicId}": team_member,
    "PUT /document-numbering/configs": saved_format,
    "PUT /document-numbering/configs/{publicId}": own_format,
    "PATCH /correspondences/{publicId}": letter,
    "PATCH /rfas/{publicId}": rfa,
    "PATCH /transmittals/{publicId}": transmittal,
    "PATCH /circulations/{publicId}": circulation,
    "PATCH /drawings/{kind}/{publicId}": for_kinds(drawing),
    "PATCH /drawings/{kind}/revisions/{publicId}": for_kinds(drawing_revision),
    "PUT /projects/{publicId}/drawing-registers/{kind}": for_kinds(register),
    "PUT /workflow/choices": workflow_choice,
    "PUT /notifications/preferences": preferences,
    "PUT /projects/{publicId}/reminders": reminders,
    "PATCH /webhooks/{publicId}": webhook,
}
