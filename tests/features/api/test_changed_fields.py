"""Each field of each PATCH and PUT, changed alone: the audit trail names it, its ETag is another, and search hears of it."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.app import create_app
from saraban.audit.domain.changes import FieldChange, changes_in
from saraban.audit.models import AuditLog
from saraban.kit.db import Database
from saraban.numbering.series.models import NumberAudit
from saraban.ops.openapi import operations
from saraban.search_index.models import SearchChange
from tests.conftest import settings_in
from tests.features.api.changed_fields import API, RESOURCES, Resource
from tests.features.api.demo_examples import JSON
from tests.features.documents.conftest import Desk, desk  # noqa: F401  a fixture

ALIKE = re.compile(r"drawing-categories/(?!contract-sub)|statuses|rfa-approve-codes|rfa-types")


@cache
def changing_operations() -> dict[str, set[str]]:
    """Return the operations that change something, each with the fields of its body."""
    document = create_app(settings_in(Path())).openapi()
    fields_of: dict[str, set[str]] = {}
    for path, method, operation in operations(document):
        if method in {"patch", "put"}:
            schema = operation["requestBody"]["content"][JSON]["schema"]["$ref"].rpartition("/")[2]
            fields = document["components"]["schemas"][schema]["properties"]
            fields_of[f"{method.upper()} {path.removeprefix(API)}"] = set(fields)
    return fields_of


async def newest(db: Database) -> tuple[int, int]:
    async with db.reading() as session:
        return (
            await session.scalar(sa.select(sa.func.max(AuditLog.audit_id))) or 0,
            await session.scalar(sa.select(sa.func.max(NumberAudit.id))) or 0,
        )


async def recorded(db: Database, after: tuple[int, int]) -> list[FieldChange]:
    """Read the changes that the rows after these keys record."""
    async with db.reading() as session:
        rows = await session.scalars(sa.select(AuditLog).where(AuditLog.audit_id > after[0]))
        found = [change for row in rows for change in changes_in(row.details_json or {})[0]]
        numbers = await session.scalars(sa.select(NumberAudit).where(NumberAudit.id > after[1]))
        for row in numbers:
            old, new = (orjson.loads(value or "{}") for value in (row.old_value, row.new_value))
            found += [FieldChange(name, old.get(name), new[name]) for name in new if old.get(name) != new[name]]
    return found


async def waits_for_index(db: Database, head: str | None) -> bool:
    async with db.reading() as session:
        heads = set(await session.scalars(sa.select(SearchChange.head_uuid)))
    return head is not None and UUID(head) in heads


async def forget_waiting(db: Database) -> None:
    async with db.writing() as session:
        await session.execute(sa.delete(SearchChange))


def plain(name: str) -> str:
    return name.rpartition(" · ")[2].replace("_", "").lower()


async def tag_of(client: Any, resource: Resource) -> str | None:
    if resource.tag is None:
        return None
    tag: str | None = (await client.get(API + resource.tag)).headers.get("etag")
    assert tag is not None, f"{resource.tag} has no ETag"
    return tag


async def faults_of(app: FastAPI, client: Any, method: str, resource: Resource) -> list[str]:
    """Change each field alone, and say what does not follow."""
    db, faults, address = app.state.db, [], resource.address
    if method == "PUT" and resource.base.keys() & resource.values.keys():
        assert (await client.put(API + address, json=resource.base)).is_success
    for name, value in resource.values.items():
        before, tag = await newest(db), await tag_of(client, resource)
        await forget_waiting(db)
        answer = await client.request(method, API + address, json={**resource.base, name: value})
        if not answer.is_success:
            faults.append(f"{address} {name}: {answer.status_code} {answer.text}")
            continue
        if name == "code":  # the row has another address from now on
            address = f"{address.rpartition('/')[0]}/{value}"
            resource.tag = address
        changes = [
            one for one in await recorded(db, before) if plain(one.field) == plain(resource.headings.get(name, name))
        ]
        if not any(one.before != one.after for one in changes):
            faults.append(f"{address} {name}: no audit row has its old and new value")
        elif isinstance(value, str | int) and name not in resource.headings:
            faults += [f"{address} {name}: the row says {one}" for one in changes if str(one.after) != str(value)]
        if tag is not None and await tag_of(client, resource) == tag:
            faults.append(f"{address} {name}: the ETag stays")
        if name in resource.searched and not await waits_for_index(db, resource.head):
            faults.append(f"{address} {name}: search does not hear of it")
        if method == "PUT":
            await client.put(API + address, json=resource.base)
    for name, status in resource.refused.items():
        answer = await client.request(method, API + address, json={**resource.base, name: _some(name)})
        if answer.status_code != status:
            faults.append(f"{address} {name}: {answer.status_code} {answer.text}")
    return faults


def _some(name: str) -> Any:
    others = {"volumePage": 1, "takesAddenda": True, "approval": "workflow"}
    return others.get(name, "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10" if name.endswith("PublicId") else "TER")


def test_every_operation_and_field_has_an_example() -> None:
    assert changing_operations().keys() == RESOURCES.keys()


def operations_to_try() -> Iterator[Any]:
    """Yield each operation; of the lists of codes, which share their code, `make faults` tries the others."""
    for name in RESOURCES:
        yield pytest.param(name, marks=pytest.mark.faults if ALIKE.search(name) else ())


@pytest.mark.parametrize("operation", [*operations_to_try()])
async def test_a_changed_field_is_recorded(app: FastAPI, desk: Desk, operation: str) -> None:  # noqa: F811
    prepared = await RESOURCES[operation](desk)
    resources = prepared if isinstance(prepared, list) else [prepared]
    client = await desk.as_("dc.consultant" if "circulations" in operation else "admin")
    method = operation.partition(" ")[0]
    faults = [fault for one in resources for fault in await faults_of(app, client, method, one)]

    assert faults == [], "\n".join(faults)
    fields = changing_operations()[operation]
    assert [one.fields for one in resources] == [fields] * len(resources)
