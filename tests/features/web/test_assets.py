"""The pages' own files: small on the way, kept by browsers, new with every release."""

import gzip
import re

import httpx
import pytest

from saraban.web.shell import assets
from tests.features.web.page_html import html_of

NAMES = ("saraban.css", "saraban.js", "icon.svg", "vendor/htmx.min.js", "vendor/tabler.min.css")


async def fetched(client: httpx.AsyncClient, address: str, **headers: str) -> httpx.Response:
    return await client.get(address, headers={"Accept-Encoding": "identity"} | headers)


class TestFiles:
    async def test_are_kept_for_ever_under_the_address_of_a_release(self, client: httpx.AsyncClient) -> None:
        for name in NAMES:
            answer = await fetched(client, f"{assets.address()}/{name}")
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]

    @pytest.mark.parametrize("address", ["/static", "/static/0123456789ab"])
    async def test_are_asked_for_again_elsewhere(self, client: httpx.AsyncClient, address: str) -> None:
        answer = await fetched(client, f"{address}/saraban.css")
        again = await fetched(client, f"{address}/saraban.css", **{"If-None-Match": answer.headers["etag"]})

        assert answer.headers["cache-control"] == "public, no-cache"
        assert (again.status_code, again.content) == (304, b"")

    @pytest.mark.parametrize("name", ["saraban.js", "vendor/tabler.min.css"])
    async def test_come_packed_to_who_can_unpack(self, client: httpx.AsyncClient, name: str) -> None:
        plain = await fetched(client, f"{assets.address()}/{name}")
        async with client.stream(
            "GET", f"{assets.address()}/{name}", headers={"Accept-Encoding": "br, gzip"}
        ) as packed:
            raw = b"".join([part async for part in packed.aiter_raw()])

        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["content-type"] == plain.headers["content-type"]
        assert packed.headers["vary"] == "Accept-Encoding"
        assert gzip.decompress(raw) == plain.content

    async def test_make_a_light_first_visit(self, client: httpx.AsyncClient) -> None:
        page = html_of(await client.get("/login"))
        sizes = {}
        for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
            answer = await fetched(client, address, **{"Accept-Encoding": "gzip"})
            sizes[address.rpartition("/")[2]] = int(answer.headers["content-length"])

        assert {"saraban.css", "saraban.js", "tabler.min.css", "htmx.min.js"} <= sizes.keys()
        assert sum(sizes.values()) < 250_000

    async def test_are_nothing_but_the_folder(self, client: httpx.AsyncClient) -> None:
        for path in ("nothing.css", "%2e%2e/pages.py", "0123456789ab/%2e%2e/%2e%2e/pages.py", "a%00.css", "a" * 300):
            assert (await client.get(f"/static/{path}")).status_code == 404, path

    def test_name_nothing_of_elsewhere(self) -> None:
        elsewhere = re.compile(r"""url\(["']?(?:https?:)?//""")

        assert [one.name for one in assets.FOLDER.rglob("*.css") if elsewhere.search(one.read_text("utf-8"))] == []
