"""A letter that was received is answered from its page, and says by which number."""

import re

import pytest
import pytest_asyncio

from saraban.web.documents.document_forms import reply_subject
from tests.conftest import SignIn
from tests.features.documents.conftest import Desk, desk_of
from tests.features.web.conftest import Sit
from tests.features.web.forms import selected
from tests.features.web.page_html import html_of


@pytest_asyncio.fixture
async def desk(signed_in: SignIn) -> Desk:
    return await desk_of(signed_in)


class TestReply:
    @pytest.mark.parametrize(("language", "subject"), [("th", "อ้างถึง ขอเชิญประชุม"), ("en", "Re: ขอเชิญประชุม")])
    @pytest.mark.sampled("[th")
    async def test_opens_the_form_with_the_parties_turned_round(
        self, sit: Sit, desk: Desk, language: str, subject: str
    ) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง.", subject="ขอเชิญประชุม"))
        await desk.act("dc.contractor", letter, "submit")
        reader, writer = await sit("dc.consultant", language), await sit("dc.contractor", language)
        address = f"/correspondences/{letter['publicId']}"
        link = re.search(r'href="([^"]*)" data-reply', html_of(await reader.get(address)))
        assert link
        form = html_of(await reader.get(link[1].replace("&amp;", "&")))

        assert "data-reply" not in html_of(await writer.get(address))
        assert f'value="{subject}"' in form
        assert (selected(form, "originatorOrganizationPublicId"), selected(form, "to")) == (
            desk.organizations["คคง."],
            desk.organizations["ผรม.2"],
        )
        assert f'name="reference" value="{letter["publicId"]}"' in form

        names = ("key", "projectPublicId", "originatorOrganizationPublicId", "to", "reference")
        typed = {name: selected(form, name) for name in names} | {
            "subject": subject,
            "correspondenceTypeCode": "LETTER",
        }
        written = await reader.post("/correspondences/new", data=typed)
        answer = written.headers["location"].partition("?")[0]
        in_draft = html_of(await reader.get(address))
        reply = (await reader.get(f"/api/v1{answer}")).json()
        await desk.act("dc.consultant", reply, "submit")
        shown = html_of(await writer.get(address)).split('id="s-references"')[1].split("</section>")[0]

        answered, replies = ("ตอบโดย", "ตอบหนังสือ") if language == "th" else ("answered by", "in reply to")
        assert answered not in in_draft
        assert answered in shown
        assert reply["data"]["documentNumber"] in shown
        assert replies in html_of(await reader.get(answer)).split('id="s-references"')[1]

    def test_says_once_what_it_refers_to(self) -> None:
        assert [reply_subject(one, "en") for one in ("Piles", "Re: Piles", "อ้างถึง Piles")] == [
            "Re: Piles",
            "Re: Piles",
            "อ้างถึง Piles",
        ]
        assert len(reply_subject("x" * 500, "th")) == 500
