"""The names in the header of one part of a form."""

from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from saraban.attachments.dependencies import SentFile, sent_names
from saraban.kit.errors import Invalid

THAI = "แบบขยายเสาเข็ม.pdf"
STAR = quote(THAI).encode()


class TestSentNames:
    @pytest.mark.parametrize(
        ("sent", "name"),
        [
            (b'filename="' + THAI.encode() + b'"', THAI),
            (b"filename=plan.pdf", "plan.pdf"),
            (b"filename*=utf-8''" + STAR, THAI),
            (b"filename*=UTF-8'th'" + STAR + b'; filename="x.pdf"', THAI),
            (b"filename=\"x.pdf\"; filename*=UTF-8''" + STAR, THAI),
            (b"FileName=\"x.pdf\"; FileName*=utf-8''" + STAR, THAI),
            (b"filename*=iso-8859-1''caf%E9.pdf", "café.pdf"),
            (b"filename*=windows-874''%E1%BA%BA.pdf", "แบบ.pdf"),
            (b"filename*0*=utf-8''" + STAR[:36] + b"; filename*1*=" + STAR[36:], THAI),
            (b'filename="=?utf-8?B?4LmB4Lia4LiaLnBkZg==?="', "แบบ.pdf"),
            (b'filename="=?UTF-8?Q?=E0=B9=81=E0=B8=9A=E0=B8=9A_1.pdf?="', "แบบ 1.pdf"),
            (b'filename="=?utf-8?B?4LmB?= =?utf-8?B?4LiaLnBkZg==?="', "แบ.pdf"),
            (b'filename="=?windows-874?B?4brKLnBkZg==?="', "แบส.pdf"),
            (b'filename="plan =?utf-8?B?4LmB?=.pdf"', "plan แ.pdf"),
            (b'filename="=?nonsense?B?4LmB?=.pdf"', "=?nonsense?B?4LmB?=.pdf"),
            (b'filename="=?what.pdf"', "=?what.pdf"),
            (rb'filename="a\"b; filename*=x.pdf"', 'a"b; filename*=x.pdf'),
            (b'filename=""', ""),
        ],
    )
    def test_reads_what_clients_send(self, sent: bytes, name: str) -> None:
        assert sent_names(b'form-data; name="file"; ' + sent) == ("file", name)

    @pytest.mark.parametrize(("sent", "field"), [(b'form-data; name="file"', "file"), (b"form-data", ""), (b"", "")])
    def test_tells_a_field_without_a_file(self, sent: bytes, field: str) -> None:
        assert sent_names(sent) == (field, None)

    @pytest.mark.parametrize(
        "sent", [b'filename="\xe1\xba.pdf"', b"filename*=utf-8''%E1%BA.pdf", b"filename*=klingon''a.pdf"]
    )
    def test_refuses_a_name_in_no_known_encoding(self, sent: bytes) -> None:
        with pytest.raises(Invalid):
            sent_names(b"form-data; name=file; " + sent)


async def test_a_part_before_the_file_names_the_sheet() -> None:
    parts = ('form-data; name="sheet"\r\n\r\nใหม่ ', 'form-data; name="file"; filename="a.xlsx"\r\n\r\nPK')
    body = "".join(f"--B\r\nContent-Disposition: {part}\r\n" for part in parts) + "--B--\r\n"

    async def stream() -> AsyncIterator[bytes]:
        for byte in body.encode():
            yield bytes([byte])

    sent = SentFile(b"B", stream())
    await sent.open()

    assert (sent.sheet, sent.name) == ("ใหม่", "a.xlsx")
    assert b"".join([chunk async for chunk in sent.chunks()]) == b"PK"
