"""Two projects with no organization in common, the same things in both, and an account of every kind beside them."""

from typing import Any, Final

import httpx
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.identity import service as identity
from saraban.identity.models import User
from saraban.identity.service import NewAccount, RoleGrant
from saraban.setup import service as setup
from tests.factories.contexts import context

API: Final = "/api/v1"
OWN, FOREIGN = "own", "foreign"
OWN_CODE: Final = "LCBP3-C2"
FOREIGN_CODE: Final = "QZX9-OTHER"
FOREIGN_WORD: Final = "qzxforeign"  # in every text of the other project
RENAMED: Final = {
    "กทท.": "QZX1.",
    "สคฉ.3": "QZX2.",
    "คคง.": "QZX3.",
    "ผรม.1": "QZX4.",
    "ผรม.2": "QZX5.",
    OWN_CODE: FOREIGN_CODE,
}
PDF: Final = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

# Kind of caller -> account; what the demo lacks is opened with its role.
CALLERS: Final = {
    "nobody": None,
    "closed": "m.closed",
    "outsider": "m.outsider",
    "viewer": "viewer",
    "editor": "m.editor",
    "control": "dc.contractor",
    "contract": "m.contract",
    "orgadmin": "m.orgadmin",
    "manager": "padmin",
    "service": "m.service",
    "super": "admin",
}
ADDED: Final = (
    ("m.closed", "ผรม.2", RoleGrant("Document Control", organization_code="ผรม.2")),
    ("m.outsider", "QZX1.", RoleGrant("Viewer", organization_code="QZX1.")),
    ("m.editor", "ผรม.2", RoleGrant("Editor", organization_code="ผรม.2")),
    ("m.contract", "กทท.", RoleGrant("Contract Admin", contract_code=OWN_CODE)),
    ("m.orgadmin", "ผรม.2", RoleGrant("Org Admin", organization_code="ผรม.2")),
    ("m.service", "ผรม.2", RoleGrant("Document Control", organization_code="ผรม.2")),
)


async def add_foreign_project(app: FastAPI) -> None:
    content = setup.demo().decode()
    for old, new in RENAMED.items():
        content = content.replace(old, new)
    organizations, rest = content.split("\nproject:", 1)  # everybody may know of an organization
    rest = rest.replace("name: ", f"name: {FOREIGN_WORD} ").replace(
        f"name: {FOREIGN_WORD} '", f"name: '{FOREIGN_WORD} "
    )
    content = f"{organizations}\nproject:{rest}"

    async def work(session: Any) -> None:
        ctx = context(caller=await identity.system_caller(session))
        await setup.apply(ctx, session, content=content.encode())
        for name, organization, grant in ADDED:
            account = NewAccount(
                name, f"{name}@example.org", organization_code=organization, is_service=name == "m.service"
            )
            await identity.create_user(ctx, session, account, password="Correct-Horse-7")
            await identity.grant_role(ctx, session, name, grant)

    await app.state.db.transact(work)


async def close_account(app: FastAPI, username: str) -> None:
    async with app.state.db.writing() as session:
        await session.execute(sa.update(User).where(User.username == username).values(is_active=False))


class Builder:
    """Makes the same things in one of the projects, over the API, as the superadmin."""

    def __init__(self, admin: httpx.AsyncClient, side: str) -> None:
        self.admin, self.side = admin, side
        self.word = FOREIGN_WORD if side == FOREIGN else "ทดสอบ"
        self.values: dict[str, Any] = {}
        self.author = self.owner = ""

    def code(self, own: str) -> str:
        return RENAMED[own] if self.side == FOREIGN else own

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.admin.get(API + path, params=query)
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()

    async def send(self, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        answer = await self.admin.request(method, API + path, json=body, **more)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found.get("data", found) | {name: found[name] for name in ("workflow",) if name in found}

    async def build(self) -> dict[str, Any]:
        """Return the values of the project by the name of a field or parameter; `/room` is the id of that room's things."""
        project = (await self.get("/projects", search=self.code(OWN_CODE)))["items"][0]["publicId"]
        detail = await self.get(f"/projects/{project}")
        organizations = {one["organizationCode"]: one["publicId"] for one in detail["organizations"]}
        contract = detail["contracts"][0]["publicId"]
        self.author, self.owner = organizations[self.code("ผรม.2")], organizations[self.code("กทท.")]
        self.values = {
            **dict.fromkeys(
                ("projectPublicId", "project", "place", "/projects", "/project-setup", "/calendar"), project
            ),
            **dict.fromkeys(("contractPublicId", "contract", "/contracts"), contract),
            **dict.fromkeys(("organizationPublicId", "placePublicId", "/organizations"), self.author),
            "originatorOrganizationPublicId": self.author,
            "recipientOrganizationPublicId": self.owner,
            "categoryCode": "ACC",
            "disciplineCode": "GEN",
            "startsOn": "2099-01-04",
            "endsOn": "2099-01-09",
        }
        await self._people()
        await self._documents()
        await self._numbers()
        await self._settings()
        return self.values

    async def _people(self) -> None:
        values, word = self.values, self.word
        account = {
            "username": f"t.{self.side}",
            "email": f"t.{self.side}@example.org",
            "password": "Correct-Horse-7-Battery",
        }
        user = await self.send(
            "POST", "/users", account | {"firstName": word, "lastName": word, "organizationPublicId": self.author}
        )
        values |= dict.fromkeys(("userPublicId", "delegatePublicId", "person", "/users", "/people"), user["publicId"])
        grant = {"role": "Document Control", "level": "Organization", "placePublicId": self.author}
        await self.send("POST", f"/users/{user['publicId']}/roles", grant)
        values["rolePublicId"] = (await self.get(f"/users/{user['publicId']}/roles"))["items"][0]["publicId"]
        role = {"name": f"{word} role", "copyOf": "Viewer", "level": "Project", "projectPublicId": values["project"]}
        values["/roles"] = (await self.send("POST", "/roles", role))["publicId"]

    async def _documents(self) -> None:
        values, word = self.values, self.word
        upload = await self.admin.post(f"{API}/attachments", files={"file": ("a.pdf", PDF, "application/pdf")})
        file = upload.json()["publicId"]
        draft = {
            "projectPublicId": values["project"],
            "originatorOrganizationPublicId": self.author,
            "recipients": [{"organizationPublicId": self.owner, "recipientType": "TO"}],
            "subject": f"{word} subject",
        }
        letter = draft | {"correspondenceTypeCode": "LETTER"}
        issued = await self.send("POST", "/correspondences", letter | {"attachmentPublicIds": [file]})
        instance = issued["workflow"]["instancePublicId"]
        await self.send("POST", f"/workflow/instances/{instance}/transitions", {"action": "submit"})
        unissued = await self.send("POST", "/correspondences", letter)
        types = (await self.get(f"/contracts/{values['contract']}/rfa-types"))["items"]
        rfa = draft | {"contractPublicId": values["contract"], "disciplineCode": "GEN", "rfaTypeCode": types[0]["code"]}
        circulation = {
            "projectPublicId": values["project"],
            "organizationPublicId": self.author,
            "subject": f"{word} circulation",
            "assignees": [{"userPublicId": values["userPublicId"], "kind": "MAIN"}],
        }
        items = [{"documentPublicId": issued["publicId"]}]
        sub_types = (await self.get(f"/contracts/{values['contract']}/sub-types"))["items"]
        fitting = next(one for one in sub_types if one.get("correspondenceTypeCode", "TRANSMITTAL") == "TRANSMITTAL")
        sub_type = {"subTypeCode": fitting["code"], "contractPublicId": values["contract"]}
        volume = {"code": "ACC", "nameTh": word}
        await self.send("POST", f"/projects/{values['project']}/drawing-categories/shop-main-categories", volume)
        drawing = {
            "projectPublicId": values["project"],
            "originatorOrganizationPublicId": self.author,
            "drawingNumber": "ACC-0001",
            "title": f"{word} drawing",
            "categoryCode": "ACC",
            "disciplineCode": "GEN",
        }
        drawn = await self.send("POST", "/drawings/shop", drawing)
        await self.send("POST", f"/drawings/shop/{drawn['publicId']}/revisions", {"date": "2026-03-02", "label": "1"})
        revisions = await self.get(f"/drawings/shop/{drawn['publicId']}/revisions")
        revisions = revisions.get("items") or revisions["revisions"]
        values |= {
            **dict.fromkeys(("documentPublicId", "document", "/correspondences", "/documents"), issued["publicId"]),
            **dict.fromkeys(("instancePublicId", "/workflow/instances"), instance),
            **dict.fromkeys(("/attachments", "/files", "/drawings/files"), file),
            "/drafts": unissued["publicId"],
            "/rfas": (await self.send("POST", "/rfas", rfa))["publicId"],
            "/transmittals": (await self.send("POST", "/transmittals", draft | sub_type | {"items": items}))[
                "publicId"
            ],
            "/circulations": (await self.send("POST", "/circulations", circulation))["publicId"],
            **dict.fromkeys(("/drawings/{kind}", "/drawings/{name}"), drawn["publicId"]),
            **dict.fromkeys(("/drawings/{kind}/revisions", "revision"), revisions[0]["data"]["publicId"]),
            "number": issued["documentNumber"],
        }

    async def _numbers(self) -> None:
        values, base = self.values, "/document-numbering"
        wanted = {
            "projectPublicId": values["project"],
            "correspondenceTypeCode": "LETTER",
            "originatorOrganizationPublicId": self.author,
            "recipientOrganizationPublicId": self.owner,
        }
        number = await self.send("POST", f"{base}/generate", wanted)
        reserved = await self.send("POST", f"{base}/reserve", wanted)
        kept = {"kind": "KEPT", "firstNumber": 500, "lastNumber": 509, "reason": "A reason that is long enough."}
        await self.send("POST", f"{base}/ranges", wanted | kept)
        held = (await self.get(f"{base}/ranges", projectPublicId=values["project"]))["items"]
        formats = (await self.get(f"{base}/configs", projectPublicId=values["project"]))["items"]
        series = (await self.get(f"{base}/series", projectPublicId=values["project"]))["items"]
        values |= {
            "/numbers": number["publicId"],
            f"{base}/void": number["publicId"],
            "reservationToken": reserved["reservationToken"],
            **dict.fromkeys((f"{base}/ranges", "/numbers/ranges"), held[0]["publicId"]),
            **dict.fromkeys((f"{base}/configs", "/numbers/formats"), formats[0]["publicId"]),
            "series": series[0]["series"],
        }

    async def _settings(self) -> None:
        values, word = self.values, self.word
        project = f"/projects/{values['project']}"
        webhook = {"url": f"https://hooks.example.com/{self.side}", "events": ["document.created"], "description": word}
        values["/webhooks"] = (await self.send("POST", f"{project}/webhooks", webhook))["publicId"]
        await self.send("PUT", f"{project}/review-teams/ACC", {"nameTh": word, "nameEn": word})
        member = f"{project}/review-teams/ACC/members/{values['userPublicId']}"
        await self.send("PUT", member, {})
        await self.send("POST", f"{project}/tags", {"code": "ACC", "nameTh": word})
