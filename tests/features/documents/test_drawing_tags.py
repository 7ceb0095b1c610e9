"""Drawings have tags of their project: given, changed, filtered by, and never of use to learn of a hidden drawing."""

from typing import Any

import httpx
import pytest

from saraban.documents.drawing.domain import KINDS
from tests.conftest import unwrapped, unwrapped_items
from tests.features.documents.conftest import Desk, pointers


@pytest.fixture(autouse=True)
async def tags(desk: Desk) -> None:
    client = await desk.as_("admin")
    for code, color in (("URGENT", "red"), ("SITE", "teal")):
        body = {"code": code, "nameTh": f"ป้าย {code}", "nameEn": code.title(), "color": color}
        await client.post(f"/api/v1/projects/{desk.project}/tags", json=body)


async def tagged(desk: Desk, account: str, kind: str, tag: str) -> list[str]:
    client = await desk.as_(account)
    query = {"projectPublicId": desk.project, "tag": tag}
    pages = [
        await client.get(f"/api/v1/drawings/{path}", params=query | more)
        for path, more in ((kind, {}), ("current-set", {"kind": kind}))
    ]
    listed, current = ([one["drawingNumber"] for one in unwrapped_items(page)] for page in pages)
    assert listed == current
    return listed


def codes(drawing: dict[str, Any]) -> list[str]:
    return [one["code"] for one in drawing["tags"]]


@pytest.mark.parametrize("kind", KINDS)
class TestTags:
    async def test_are_given_taken_away_and_filtered_by(self, desk: Desk, kind: str) -> None:
        drawing = await desk.register("admin", kind, "N-1", tags=["URGENT", "SITE", "URGENT"])
        await desk.register("admin", kind, "N-2")
        address, client = f"/api/v1/drawings/{kind}/{drawing['publicId']}", await desk.as_("admin")
        kept = unwrapped(await client.patch(address, json={"zone": "2"}))
        changed = unwrapped(await client.patch(address, json={"tags": ["ｓite"]}))
        found = [await tagged(desk, "admin", kind, tag) for tag in ("SITE", "URGENT", "NONE")]
        emptied = unwrapped(await client.patch(address, json={"tags": None}))

        assert sorted(codes(drawing)) == sorted(codes(kept)) == ["SITE", "URGENT"]
        assert changed["tags"] == [{"code": "SITE", "name": "Site", "nameTh": "ป้าย SITE", "color": "teal"}]
        assert found == [["N-1"], [], []]
        assert emptied["tags"] == []

    async def test_are_the_projects(self, desk: Desk, kind: str) -> None:
        client = await desk.as_("admin")
        drawing = await desk.register("admin", kind, "N-1", tags=["SITE"])
        address = f"/api/v1/drawings/{kind}/{drawing['publicId']}"
        body = {"projectPublicId": desk.project, "drawingNumber": "N-2", "title": "แปลน", "tags": ["SITE", "NONE"]}
        wrong = [
            await client.post(f"/api/v1/drawings/{kind}", json=body),
            await client.patch(address, json={"tags": ["SITE", "NONE"]}),
        ]

        assert [(one.status_code, pointers(one)) for one in wrong] == [(422, ["/tags/1"])] * 2
        assert codes(unwrapped(await client.get(address))) == ["SITE"]

    async def test_find_nothing_that_the_reader_is_not_shown(self, desk: Desk, kind: str) -> None:
        own = {"originatorOrganizationPublicId": desk.organizations["ผรม.2"], "tags": ["SITE"]}
        await desk.register("dc.contractor", kind, "N-1", **own)

        assert await tagged(desk, "dc.contractor", kind, "SITE") == ["N-1"]
        assert await tagged(desk, "dc.consultant", kind, "SITE") == []


async def test_a_tag_that_was_closed_stays_and_is_given_to_no_other(desk: Desk) -> None:
    client = await desk.as_("admin")
    drawing = await desk.register("admin", "shop", "N-1", tags=["SITE"])
    other = await desk.register("admin", "shop", "N-2")
    closed = await client.post(f"/api/v1/projects/{desk.project}/tags/SITE/close")
    answers = [
        await client.patch(f"/api/v1/drawings/shop/{one['publicId']}", json={"tags": ["SITE"]})
        for one in (drawing, other)
    ]

    assert closed.status_code == httpx.codes.OK, closed.text
    assert [one.status_code for one in answers] == [200, 422]
    assert codes(unwrapped(answers[0])) == ["SITE"]
