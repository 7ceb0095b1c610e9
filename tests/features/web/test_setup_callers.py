"""Who may change the lists of the set-up: every kind of caller at every address. Who may read them stands in tests/features/api/test_readers.py."""

import httpx
from fastapi import FastAPI

from tests.conftest import SignIn
from tests.features.web.grid_pages import contract_of
from tests.project_callers import add_callers, everybody, statuses

HTML = {"Accept": "text/html"}
# Nobody of another project may know of this one.
OF_PROJECT = {"anonymous": 303, "outsider": 404, "other_manager": 404}
ROW = {"code": "NEW", "nameTh": "ใหม่", "nameEn": "New"}
# Whoever may has 303 the first time, and 409 where the code is there already.
ADDED = everybody(403, anonymous=303, admin=303)
BY_MANAGER = everybody(403, **OF_PROJECT, admin=303, padmin=409)
CHANGED = everybody(403, **OF_PROJECT, admin=303, padmin=303)
CHECKED = everybody(403, **OF_PROJECT, admin=200, padmin=200)
TAKEN = everybody(403, **OF_PROJECT, admin=409, padmin=409)
MEMBER = {"organizationCode": "คคง.", "role": "CONSULTANT"}
FORMS = {
    "/organizations/save": ({"organizationCode": "NEW", "organizationName": "ใหม่"}, ADDED),
    "/organizations/check": ({"pasted": "NEW\tใหม่"}, everybody(403, anonymous=303, admin=200)),
    "/master/correspondence-types/save": (ROW, ADDED),
    "/master/correspondence-types/move": ({"ref": "LETTER", "step": "down"}, ADDED),
    "{project}/tags/save": (ROW, BY_MANAGER),
    "{contract}/disciplines/save": (ROW, BY_MANAGER),
    "{contract}/disciplines/close": ({"ref": "STR"}, CHANGED),
    "{contract}/disciplines/reopen": ({"ref": "STR"}, CHANGED),
    "{contract}/disciplines/move": ({"ref": "STR", "step": "up"}, CHANGED),
    "{contract}/disciplines/check": ({"pasted": "NEW\tใหม่\tNew"}, CHECKED),
    "{project}/members/save": (MEMBER, TAKEN),
    "{project}/members/check": ({"pasted": "คคง."}, CHECKED),
    "{project}/members/close": ({"ref": "x"}, everybody(404, anonymous=303)),
    "{project}/members/reopen": ({"ref": "x"}, everybody(404, anonymous=303)),
    "{contract}/parties/save": (MEMBER, TAKEN | {"reviewer.consultant": 409}),
    "{contract}/parties/check": ({"pasted": "คคง."}, CHECKED | {"reviewer.consultant": 200}),
}


async def places(app: FastAPI, signed_in: SignIn) -> dict[str, str]:
    contract = await contract_of(await signed_in("admin"))
    await add_callers(app.state.db)
    return {"project": contract.partition("/contracts/")[0], "contract": contract}


async def test_lists_are_changed_by_those_who_may(app: FastAPI, signed_in: SignIn, client: httpx.AsyncClient) -> None:
    known, found = await places(app, signed_in), {}

    for path, (form, _) in FORMS.items():
        url = path.format(**known)
        found[path] = await statuses(
            lambda one, url=url, form=form: one.post(url, data=form, headers=HTML), signed_in, client
        )

    assert found == {path: expected for path, (_, expected) in FORMS.items()}
