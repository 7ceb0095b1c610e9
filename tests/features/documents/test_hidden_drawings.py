"""Whoever is not shown a drawing learns nothing of it, by whatever route: it is answered like one that there is not."""

from io import BytesIO
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
from fastapi import FastAPI

from saraban.documents.drawing.endpoints import registers
from saraban.kit.ids import new_id
from tests.conftest import SignIn, unwrapped
from tests.features.documents.conftest import PDF, Desk
from tests.project_callers import MANAGER, SIGNED_IN, SUPER, add_callers

TITLE, NUMBER = "ความลับของหน่วยงานเดียว", "SECRET-001"
SHOWN = (SUPER, MANAGER)  # who reads the whole project
HIDDEN_FROM = tuple(name for name in SIGNED_IN if name not in SHOWN)

# Routes that name a drawing: method, path, body; `{id}` is the drawing's and `{revision}` its revision's.
OF_ONE = (
    ("GET", "/api/v1/drawings/{kind}/{id}", None),
    ("GET", "/api/v1/drawings/{kind}/{id}/revisions", None),
    ("GET", "/api/v1/drawings/{kind}/revisions/{revision}", None),
    ("PATCH", "/api/v1/drawings/{kind}/{id}", {"zone": "2"}),
    ("PATCH", "/api/v1/drawings/{kind}/revisions/{revision}", {"title": "2"}),
    ("POST", "/api/v1/drawings/{kind}/{id}/revisions", {"label": "1"}),
    ("POST", "/api/v1/drawings/{kind}/{id}/approval", None),
)
PAGES_OF_ONE = (
    ("GET", "/drawings/{kind}/{id}", None),
    ("GET", "/drawings/{kind}/{id}/edit", None),
    ("POST", "/drawings/{kind}/{id}/edit", {"version": '"1"', "zone": "2"}),
    ("POST", "/drawings/{kind}/{id}/revisions", {"label": "1"}),
    ("POST", "/drawings/{kind}/{id}/revisions/{revision}", {"title": "2"}),
    ("POST", "/drawings/{kind}/{id}/approval", {}),
    ("POST", "/drawings/{kind}/{id}/actions", {"action": "submit"}),
)
# Routes that list.
OF_ALL = (
    "/api/v1/drawings/{kind}?projectPublicId={project}",
    "/api/v1/drawings/{kind}?projectPublicId={project}&q=SECRET",
    "/api/v1/drawings/{kind}?projectPublicId={project}&asOf=2200-01-01",
    "/api/v1/drawings/current-set?projectPublicId={project}&kind={kind}",
    "/api/v1/drawings/{kind}/export?projectPublicId={project}&format=csv",
    "/api/v1/drawings/{kind}/export?projectPublicId={project}&format=zip",
    "/drawings/{kind}?project={project}",
    "/drawings/{kind}?project={project}&q=SECRET",
)
# Those that name no drawing and list none.
OTHERS = {("POST", "/drawings/{kind}")}


@pytest.fixture(params=["contract", "shop", "asbuilt"])
async def hidden(request: pytest.FixtureRequest, desk: Desk, app: FastAPI) -> dict[str, str]:
    """A drawing of an organization that none of the callers belongs to."""
    await add_callers(app.state.db)
    kind = request.param
    client = await desk.as_(SUPER)
    sheet = (await client.post("/api/v1/attachments", files={"file": (f"{NUMBER}.pdf", PDF)})).json()["publicId"]
    made = await desk.register(
        SUPER,
        kind,
        NUMBER,
        title=TITLE,
        originatorOrganizationPublicId=desk.organizations["สคฉ.3"],
        revision={"attachmentPublicIds": [sheet]},
    )
    revision = made["revision"]["publicId"]
    return {"kind": kind, "project": desk.project, "id": made["publicId"], "revision": revision, "file": sheet}


async def told(client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, str]:
    """What somebody is answered, without what differs each time."""
    if path.startswith("/api"):
        answer = await client.request(method, path, json=body)
        return answer.status_code, answer.json()["code"]
    answer = await client.request(method, path, data=body, headers={"Accept": "text/html"})
    return answer.status_code, ""


def secrets(answer: httpx.Response, names: dict[str, str]) -> list[str]:
    """Return what of the drawing stands in an answer."""
    text = answer.text
    if answer.content[:2] == b"PK":
        with ZipFile(BytesIO(answer.content)) as packed:
            text = " ".join(packed.namelist())
    # What was asked for is said again by a page's own form.
    known = (TITLE, NUMBER, names["id"], names["revision"], names["file"])
    return [one for one in known if one in text]


@pytest.mark.sampled("shop")
async def test_is_answered_like_one_that_is_not_there(hidden: dict[str, str], signed_in: SignIn) -> None:
    nothing = hidden | {"id": str(new_id()), "revision": str(new_id())}
    for name in HIDDEN_FROM:
        client = await signed_in(name)
        for method, path, body in (*OF_ONE, *PAGES_OF_ONE):
            found = await told(client, method, path.format(**hidden), body)
            assert found == await told(client, method, path.format(**nothing), body), (name, method, path)
            assert found[0] in {403, 404}, (name, method, path)
        assert (await client.get(f"/api/v1/attachments/{hidden['file']}/content")).status_code == httpx.codes.NOT_FOUND
    admin = await signed_in(SUPER)
    whole = unwrapped(await admin.get(OF_ONE[0][1].format(**hidden)))
    assert (len(whole["revisions"]), whole["zone"]) == (1, None)
    by_revision = await admin.get(OF_ONE[2][1].format(**hidden))
    assert (unwrapped(by_revision), by_revision.headers["ETag"]) == (whole, '"1"')


@pytest.mark.sampled("shop")
async def test_is_in_no_list_and_in_no_file(hidden: dict[str, str], signed_in: SignIn) -> None:
    for path in OF_ALL:
        asked = path.format(**hidden)
        shown = [secrets(await (await signed_in(name)).get(asked), hidden) != [] for name in SHOWN]
        assert shown == [True, True], asked
        for name in HIDDEN_FROM:
            assert secrets(await (await signed_in(name)).get(asked), hidden) == [], (name, asked)


async def test_goes_along_with_nothing(hidden: dict[str, str], desk: Desk) -> None:
    """A revision that somebody names without being shown it is unknown to RFAs, transmittals and other drawings."""
    client, revision = await desk.as_("dc.contractor"), hidden["revision"]
    own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"]}
    derived = {"revision": {"derivedFromPublicIds": [hidden["id"] if hidden["kind"] == "contract" else revision]}}
    other = "asbuilt" if hidden["kind"] == "shop" else "shop"
    number = {"projectPublicId": desk.project, "drawingNumber": "N-1", "title": "แปลน"}
    sent = {
        "/items/0/drawingRevisionPublicId": (
            "/api/v1/rfas",
            desk.rfa(items=[{"drawingRevisionPublicId": revision}]),
        ),
        "/drawingRevisionPublicIds/0": (
            "/api/v1/transmittals",
            desk.transmittal() | {"drawingRevisionPublicIds": [revision]},
        ),
        "/revision/derivedFromPublicIds/0": (f"/api/v1/drawings/{other}", number | own | derived),
    }
    found = {}
    for pointer, (path, body) in sent.items():
        answer = await client.post(path, json=body)
        found[pointer] = (answer.status_code, [(one["pointer"], one["code"]) for one in answer.json()["errors"]])
        assert not {TITLE, NUMBER} & set(answer.text.split('"'))

    assert found == {pointer: (422, [(pointer, "unknown")]) for pointer in sent}


def test_every_route_of_the_registers_is_tried() -> None:
    tried = {(method, path.removeprefix("/api/v1")) for method, path, _ in OF_ONE}
    tried = {(method, path.replace("{id}", "{publicId}").replace("{revision}", "{publicId}")) for method, path in tried}
    tried |= {("GET", path.partition("?")[0].removeprefix("/api/v1")) for path in OF_ALL if path.startswith("/api")}

    routes = {(method, route.path) for route in registers.router.routes for method in route.methods}

    assert routes - OTHERS == tried
