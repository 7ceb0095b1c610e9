"""
Every address that reads what the set-up made, of the API and of the pages, asked by every kind of caller: one table, one world.

Denied by default, and not there where existence is not theirs to know. A route that reads and stands neither here nor among
the rooms that have tables of their own fails.
"""

import re
from typing import Final

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from saraban.events.models import OutboxEvent
from saraban.identity.dependencies import PUBLIC_PATHS
from saraban.setup.domain.master_kinds import CONTRACT, KINDS, PROJECT, Owner
from tests.conftest import SignIn
from tests.project_callers import CALLERS, SUPER, add_callers, everybody, statuses

API: Final = "/api/v1"
# Documents, their numbers and workflows, and what is everybody's own: older than the set-up, with callers in tests of their own.
ELSEWHERE: Final = re.compile(
    r"/api/v1/(attachments|auth|circulations|correspondences|delegations|document-numbering/(?!logs/audit)|drawings|inbox|notifications"
    r"|rfas|transmittals|webhooks|workflow)"
    r"|/api/v1/projects/{publicId}/(calendar|drawing-registers/{kind}|reminders|review-teams|webhooks)$"
    r"|/(account|calendar|circulations|correspondences|delegations|documents|drawings|files|find|inbox|notifications|review-teams|rfas"
    r"|transmittals|webhooks|workflows|{path})|/numbers(?!/audit)|/$"
)

Statuses = dict[str, int]
_HIDDEN: Final = {"anonymous": 401, "outsider": 404, "other_manager": 404}
ALL: Final = everybody(200, anonymous=401)
MEMBERS: Final = everybody(200, **_HIDDEN)
MANAGERS: Final = everybody(403, **_HIDDEN, admin=200, padmin=200)
OPERATORS: Final = everybody(403, anonymous=401, admin=200)
ADMINISTRATORS: Final = everybody(403, anonymous=401, admin=200, org_admin=200)
AUDITORS: Final = ADMINISTRATORS | {"dc.contractor": 200}
# The person who is asked about belongs to คคง., and the administrator of an organization is one of ผรม.2.
OF_A_PERSON: Final = everybody(404, anonymous=401, admin=200)
# Who gives roles in a project sees the people of its organizations; คคง. is in both projects.
OF_A_MEMBER: Final = OF_A_PERSON | {"padmin": 200, "other.manager": 200}
# In some place: project administrators, document controllers and administrators of organizations.
WHO_GIVES_ROLES: Final = everybody(200, anonymous=401, **{"reviewer.consultant": 403}, viewer=403, outsider=403)
OF_NUMBERS: Final = everybody(403, **_HIDDEN, admin=200, padmin=200)


def page(found: Statuses, answer: int = 200) -> Statuses:
    """The same of a page, which sends strangers to the log-in and may answer with another page."""
    return {name: answer if one == 200 else one for name, one in found.items()} | {"anonymous": 303}


def _lists() -> dict[str, Statuses]:
    """The list, the workbook and one row of every kind of the set-up."""
    found = {}
    for kind in KINDS:
        owner = "" if kind.owner is Owner.INSTALLATION else f"/{kind.owner}s/{{publicId}}"
        one = f"/{kind.path}/{{publicId}}" if kind.has_public_id else f"{owner}/{kind.path}/{{code}}"
        of_owner = ALL if kind.owner is Owner.INSTALLATION else MEMBERS
        found |= {f"{API}{owner}/{kind.path}": of_owner, f"{API}{owner}/{kind.path}/export": of_owner}
        found[f"{API}{one}"] = MEMBERS if kind in {PROJECT, CONTRACT} else of_owner
    return {path: row for path, row in found.items() if path != f"{API}/projects/export"}  # there is no such workbook


TABLE: Final[dict[str, Statuses]] = {
    **_lists(),
    **{
        f"{API}/projects/{{publicId}}/{name}": MEMBERS
        for name in ("disciplines", "rfa-types", "sub-types", "organizations")
    },
    f"{API}/contracts/{{publicId}}/organizations": MEMBERS,
    f"{API}/projects/{{publicId}}/checklist": MANAGERS,
    f"{API}/projects/{{publicId}}/file": MANAGERS,
    f"{API}/access": OF_A_MEMBER,
    f"{API}/audit": AUDITORS,
    f"{API}/audit/export": AUDITORS,
    f"{API}/document-numbering/logs/audit": OF_NUMBERS,
    f"{API}/events": OPERATORS,
    f"{API}/events/{{publicId}}": OPERATORS,
    f"{API}/roles": WHO_GIVES_ROLES,
    f"{API}/roles/{{publicId}}": WHO_GIVES_ROLES,
    f"{API}/search": ALL,
    f"{API}/search/suggestions": ALL,
    f"{API}/system": OPERATORS,
    f"{API}/users": WHO_GIVES_ROLES,
    f"{API}/users/{{publicId}}": OF_A_MEMBER,
    f"{API}/users/{{publicId}}/roles": OF_A_MEMBER,
    "/audit": page(AUDITORS),
    "/docs/api": page(ALL),
    "/events": page(OPERATORS),
    "/events/{public_id}": page(OPERATORS),
    "/master": page(ALL),
    "/master/{kind}": page(ALL),
    "/master/{kind}/export": page(ALL),
    "/master/{kind}/line": page(ALL, 303),
    # Whoever sees the numbers of another project is shown those.
    "/numbers/audit": page(everybody(403, admin=200, padmin=200, other_manager=200)),
    "/organizations": page(ALL),
    "/organizations/export": page(ALL),
    "/organizations/line": page(ALL, 303),
    "/people": page(WHO_GIVES_ROLES),
    "/people/import": page(ADMINISTRATORS),
    "/people/import/template": page(ADMINISTRATORS),
    "/people/new": page(ADMINISTRATORS),
    "/people/{publicId}": page(OF_A_MEMBER),
    "/project-setup": page(ALL, 303),
    "/projects": page(ALL),
    "/projects/file": page(OPERATORS),
    "/projects/new": page(OPERATORS),
    "/projects/{place}/file": page(MANAGERS),
    "/projects/{place}/file/download": page(MANAGERS),
    "/projects/{project}/setup": page(MEMBERS),
    "/projects/{project}/setup/{kind}/offers": page(MANAGERS),
    "/projects/{project}/setup/{kind}": page(MEMBERS),
    "/projects/{project}/setup/{kind}/export": page(MEMBERS),
    "/projects/{project}/setup/{kind}/line": page(MEMBERS, 303),
    # The reviewer of the demo administers this contract, too.
    "/projects/{project}/setup/contracts/{contract}/{kind}/offers": page(MANAGERS | {"reviewer.consultant": 200}),
    "/projects/{project}/setup/contracts/{contract}/{kind}": page(MEMBERS),
    "/projects/{project}/setup/contracts/{contract}/{kind}/export": page(MEMBERS),
    "/projects/{project}/setup/contracts/{contract}/{kind}/line": page(MEMBERS, 303),
    "/roles": page(WHO_GIVES_ROLES),
    "/search": page(ALL),
    "/search/facets": page(ALL),
    "/search/suggestions": page(ALL),
    "/system": page(OPERATORS),
    "/why": page(ALL),
}
ASKED: Final = {
    f"{API}/access": "?userPublicId={user}&permission=rfa.create",
    f"{API}/document-numbering/logs/audit": "?projectPublicId={project}",
    f"{API}/search": "?q=RFA",
    f"{API}/search/suggestions": "?q=RFA",
    "/numbers/audit": "?project={project}",
}


def _reads(app: FastAPI) -> set[str]:
    return {
        str(one.path).replace(":path}", "}") for one in iter_route_contexts(app.routes) if "GET" in (one.methods or ())
    }


def test_every_route_that_reads_is_in_a_table(app: FastAPI) -> None:
    reads = {path for path in _reads(app) - PUBLIC_PATHS if ELSEWHERE.match(path) is None}

    assert reads == TABLE.keys()


async def _world(app: FastAPI, admin: httpx.AsyncClient) -> dict[str, str]:
    """Names of what there is: a row of each kind, a person, a role and an event."""
    await add_callers(app.state.db)
    project = (await admin.get(f"{API}/projects", params={"search": "LCBP3-C2"})).json()["items"][0]["publicId"]
    detail = (await admin.get(f"{API}/projects/{project}")).json()
    known = {"project": project, "place": project, "contract": detail["contracts"][0]["publicId"], "code": "ROW9"}
    owners = {
        Owner.INSTALLATION: "",
        Owner.PROJECT: f"/projects/{project}",
        Owner.CONTRACT: f"/contracts/{known['contract']}",
    }
    for kind in (one for one in KINDS if not one.has_public_id):
        row = {"code": "ROW9", "nameTh": "แถว", "nameEn": "Row"}
        row |= {one.name: "77" for one in kind.fields if one.name == "number"}
        assert (await admin.post(f"{API}{owners[kind.owner]}/{kind.path}", json=row)).status_code == 201
    known["user"] = (await admin.get(f"{API}/users", params={"search": "dc.consultant"})).json()["items"][0]["publicId"]
    known["role"] = (await admin.get(f"{API}/roles")).json()["items"][0]["publicId"]
    async with app.state.db.reading() as session:
        known["event"] = str(await session.scalar(sa.select(OutboxEvent.public_id).limit(1)))
    known["organization"] = next(
        one["publicId"] for one in detail["organizations"] if one["organizationCode"] == "คคง."
    )
    return known


def _address(path: str, known: dict[str, str]) -> str:
    room = path.removeprefix(API).split("/")[1]
    of_room = {"people": "user", "users": "user"}.get(room, room.removesuffix("s"))
    kind = "disciplines" if "{contract}" in path else "tags" if "{project}" in path else "correspondence-types"
    if path.endswith("/offers"):  # to the lists of members
        kind = "parties" if "{contract}" in path else "members"
    named = known | {"kind": kind, "publicId": known.get(of_room, ""), "public_id": known["event"]}
    return (path + ASKED.get(path, "")).format(**named)


@pytest.mark.faults  # `test_access_matrix.py` asks every route, too
async def test_every_address_is_read_by_those_who_may(
    app: FastAPI, signed_in: SignIn, client: httpx.AsyncClient
) -> None:
    known = await _world(app, await signed_in(SUPER))
    headers = {True: {}, False: {"Accept": "text/html"}}
    found = {}
    for path in TABLE:
        address = _address(path, known)

        async def ask(one: httpx.AsyncClient, address: str = address) -> httpx.Response:
            return await one.get(address, headers=headers[address.startswith(API)])

        found[path] = await statuses(ask, signed_in, client)

    differs = [
        f"{path}, {caller}: {status}, not {TABLE[path][caller]}"
        for path, row in found.items()
        for caller, status in row.items()
        if status != TABLE[path][caller]
    ]
    assert not differs, "\n".join(differs)
    assert len(found) * len(CALLERS) > 900
