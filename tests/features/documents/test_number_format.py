"""A document shows which format numbered it, and why that one."""

import pytest

from tests.circulations import order
from tests.features.documents.conftest import Desk

CONFIGS = "/api/v1/document-numbering/configs"
RESOLVE = "/api/v1/document-numbering/resolve"


class TestNumberFormat:
    async def test_is_the_narrowed_one_with_its_reason_in_both_languages(self, desk: Desk) -> None:
        admin = await desk.as_("padmin")
        body = {"projectPublicId": desk.project, "correspondenceTypeCode": "RFA", "rfaTypeCode": "RPT"}
        saved = await admin.put(CONFIGS, json=body | {"template": "{ORIGINATOR}-RPT-{SEQ:4}"})

        rfa = await desk.write("dc.contractor", "rfas", desk.rfa())
        found = await admin.get(RESOLVE, params={"projectPublicId": desk.project, "number": rfa["documentNumber"]})

        shown = rfa["numberFormat"]
        assert saved.status_code == 200, saved.text
        assert (shown["publicId"], shown["rfaTypeCode"], shown["reason"]) == (
            saved.json()["publicId"],
            "RPT",
            "NARROWED",
        )
        assert (shown["reasonTh"], shown["reasonEn"]) == ("รูปแบบของประเภท RFA RPT", "format of the RFA type RPT")
        assert found.json()["numberFormat"] == shown

    @pytest.mark.parametrize(
        ("register", "reason", "words"),
        [
            ("rfas", "TYPE", "format of the type RFA"),
            ("correspondences", "DEFAULT", "project's default"),
        ],
    )
    async def test_is_the_types_or_the_projects(self, desk: Desk, *, register: str, reason: str, words: str) -> None:
        body = desk.rfa() if register == "rfas" else desk.letter("คคง.")

        shown = (await desk.write("dc.contractor", register, body))["numberFormat"]

        assert (shown["reason"], shown["reasonEn"]) == (reason, words)

    async def test_is_there_for_circulation_sheets_too(self, desk: Desk) -> None:
        sheet = await desk.write("dc.consultant", "circulations", await order(desk))

        assert sheet["numberFormat"]["reason"] == "TYPE"
