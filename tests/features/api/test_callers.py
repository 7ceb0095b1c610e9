"""Every write over the API that administrates projects and people, asked by somebody who has no part in them: none gets past the door."""

from typing import Any, Final

from fastapi import FastAPI

from saraban.ops.openapi import operations
from tests.conftest import SignIn
from tests.features.api.demo_examples import JSON, replaced
from tests.project_callers import OTHER_MANAGER, OUTSIDER, READER, SUPER, add_callers

ADMINISTRATION: Final = (
    *("organizations", "contracts", "users", "roles", "events", "audit", "system", "projects"),
    *("correspondence-types", "correspondence-statuses", "rfa-statuses", "rfa-approve-codes", "circulation-statuses"),
)


class TestOutsiders:
    async def test_change_nothing_that_administrates_a_project(self, app: FastAPI, signed_in: SignIn) -> None:
        await add_callers(app.state.db)
        admin = await signed_in(SUPER)
        project = (await admin.get("/api/v1/projects", params={"search": "LCBP3-C2"})).json()["items"][0]["publicId"]
        detail = (await admin.get(f"/api/v1/projects/{project}")).json()
        organization = detail["organizations"][0]["publicId"]
        user = (await admin.get("/api/v1/users", params={"search": "viewer"})).json()["items"][0]["publicId"]
        places = {"projects": project, "organizations": organization, "users": user}
        places["contracts"] = detail["contracts"][0]["publicId"]
        let_in = []
        asked = 0
        for path, method, operation in operations(app.openapi()):
            room = path.removeprefix("/api/v1/").split("/")[0]
            if method == "get" or room not in ADMINISTRATION:
                continue
            known: dict[str, Any] = {"organizationPublicId": organization, "placePublicId": organization}
            address = path.replace("{publicId}", places.get(room, project)).replace(
                "{organizationPublicId}", organization
            )
            address = address.replace("{code}", "TER").replace("{userPublicId}", user).replace("{rolePublicId}", user)
            address = address.replace("{day}", "2099-01-05").replace("{kind}", "shop")
            body = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("example")
            for name in (OUTSIDER, READER, OTHER_MANAGER):
                client = await signed_in(name)
                answer = await client.request(method, address, json=replaced(body, known) if body else None)
                asked += 1
                if answer.status_code not in {403, 404}:
                    let_in.append((name, method, path, answer.status_code))

        assert let_in == []
        assert asked > 200
