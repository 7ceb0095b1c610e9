"""No integer key in any page: every address and every attribute that a reader's browser gets is looked at (REQ-IDN-01)."""

import re
from html.parser import HTMLParser

import httpx
import pytest
from fastapi import FastAPI

from saraban.config import Settings
from tests.conftest import SignIn
from tests.features.web.page_html import html_of
from tests.password_reads import password_reads

PAGES = ("/inbox", "/correspondences", "/rfas", "/transmittals", "/circulations", "/drawings/shop", "/notifications")
# Attributes whose numbers say how something looks or is limited.
MEASURES = {
    "tabindex", "width", "height", "rows", "cols", "colspan", "rowspan", "maxlength", "minlength", "min", "max", "size",
    "stroke-width", "cx", "cy", "r", "x", "y", "rx", "ry", "x1", "x2", "y1", "y2", "data-max", "data-delay",
    "aria-valuenow", "aria-valuemin", "aria-valuemax", "content", "d", "step", "data-limit",
}  # fmt: skip
# Fields whose value is a version or a tick.
NO_KEYS = {"clientVersionNo", "version", "versionNo", "limit", "mine", "overdue", "pending", "unread"}


class Reader(HTMLParser):
    """Collects what looks like the key of a row, and the links to follow."""

    def __init__(self) -> None:
        super().__init__()
        self.leaks: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        for name, value in given.items():
            if name in {"href", "src", "action"} or name.startswith("hx-"):
                self.links.append(value)
                if re.search(r"/\d+(?=[/?#]|$)", value):
                    self.leaks.append(f"<{tag} {name}={value}>")
            elif value.isdigit() and name not in MEASURES and given.get("name") not in NO_KEYS:
                self.leaks.append(f"<{tag} {name}={value}>")


async def read(client: httpx.AsyncClient, address: str) -> Reader:
    answer = await client.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == 200, f"{address}: {answer.status_code}"
    reader = Reader()
    reader.feed(html_of(answer))
    return reader


@pytest.fixture
def settings(settings_with_documents: Settings) -> Settings:
    """Of the demo project with its documents, of every kind."""
    return settings_with_documents


class TestEveryPage:
    async def test_shows_public_ids_and_reads_no_password(self, app: FastAPI, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        leaks: list[str] = []
        documents: dict[str, str] = {}
        with password_reads() as passwords:
            for address in PAGES:
                reader = await read(admin, address)
                leaks += [f"{address}: {leak}" for leak in reader.leaks]
                for link in reader.links:
                    if re.fullmatch(r"/\w+/[0-9a-f]{8}-[0-9a-f-]{27}", link):
                        documents.setdefault(link.split("/")[1], link)

            assert documents.keys() >= {"correspondences", "rfas", "transmittals", "circulations"}
            for link in [*documents.values(), *(f"/{kind}/new" for kind in documents)]:
                leaks += [f"{link}: {leak}" for leak in (await read(admin, link)).leaks]
        assert passwords == []
        assert leaks == [], "\n".join(leaks)
