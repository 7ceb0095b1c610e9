"""`saraban file verify`: what is missing, altered or unnamed on the disk."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from saraban.attachments.service import verification
from saraban.config import Settings
from tests.conftest import SignIn
from tests.features.documents.conftest import desk_of
from tests.terminal import Command, commands_of
from tests.uploaded_files import upload


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    monkeypatch.setattr(verification, "PAGE", 2)
    with commands_of("file", settings, monkeypatch, capfd) as run:
        yield run


def places(settings: Settings) -> dict[str, Path]:
    """Return the stored files by their public ids."""
    folder = settings.data_dir / "files" / "files"
    return {path.name: path for path in folder.rglob("*") if path.is_file()}


async def test_names_each_file_that_is_missing_or_altered_with_its_documents(
    app: FastAPI, settings: Settings, signed_in: SignIn, command: Command
) -> None:
    desk = await desk_of(signed_in)
    client = await desk.as_("dc.contractor")
    gone, altered, intact, temporary = [(await upload(client, f"{name}.pdf"))["publicId"] for name in "abcd"]
    rfa = await desk.write("dc.contractor", "rfas", desk.rfa(attachmentPublicIds=[gone, altered, intact]))
    before = await asyncio.to_thread(command, "verify")
    stored = places(settings)
    stored[gone].unlink()
    stored[altered].write_bytes(stored[altered].read_bytes()[:-1] + b"?")
    (stored[intact].parent / "left.part").touch()

    code, out, err = await asyncio.to_thread(command, "verify", "--json")
    told = await asyncio.to_thread(command, "verify")

    assert before[:2] == (0, "3 files verified; 0 not intact.\n")
    missing, other, unnamed = map(json.loads, out.splitlines())
    documents = f"rfa/{rfa['publicId']}"
    assert (missing["fault"], missing["publicId"], missing["documents"]) == ("missing", gone, documents)
    assert (other["fault"], other["publicId"], other["documents"]) == ("altered", altered, documents)
    assert (unnamed["fault"], unnamed["key"].rpartition("/")[2]) == ("unnamed", "left.part")
    assert (code, err.endswith("3 files verified; 2 not intact.\n")) == (1, True)
    assert told[1].splitlines()[0].startswith(f"missing  {gone}  files/")
    assert rfa["publicId"] in told[1]
    assert temporary not in told[1]


async def test_cannot_tell_without_the_database(settings: Settings, command: Command) -> None:
    (settings.data_dir / "saraban.db").write_text("not a database" * 100)

    assert (await asyncio.to_thread(command, "verify"))[0] == 2
