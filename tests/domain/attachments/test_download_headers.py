"""One range of one file, and the name under which it goes out."""

import pytest

from saraban.attachments.domain import ByteSpan, RangeNotSatisfiable, byte_range, content_disposition, same_tag


class TestByteRange:
    @pytest.mark.parametrize(
        ("header", "span"),
        [
            (None, None),
            ("bytes=0-99", ByteSpan(0, 100)),
            ("bytes=0-", ByteSpan(0, 1000)),
            ("bytes=900-5000", ByteSpan(900, 100)),
            ("bytes=-10", ByteSpan(990, 10)),
            ("bytes=-5000", ByteSpan(0, 1000)),
            ("bytes=5-4", None),
            ("bytes=0-1,5-6", None),
            ("lines=0-1", None),
            ("bytes=-", None),
            ("bytes=๑-๒", None),
        ],
    )
    def test_reads_one_range_and_passes_over_the_rest(self, header: str | None, span: ByteSpan | None) -> None:
        assert byte_range(header, size=1000) == span

    @pytest.mark.parametrize("header", ["bytes=1000-", "bytes=-0"])
    def test_says_when_nothing_of_it_is_there(self, header: str) -> None:
        with pytest.raises(RangeNotSatisfiable):
            byte_range(header, size=1000)


class TestSameTag:
    @pytest.mark.parametrize(
        ("header", "same"),
        [(None, False), ('"a"', True), ('W/"a"', True), ('"b", "a"', True), ("*", True), ('"b"', False), ("a", False)],
    )
    def test_compares_tags(self, header: str | None, same: bool) -> None:
        assert same_tag(header, '"a"') is same


class TestContentDisposition:
    def test_carries_thai_names_after_rfc_5987(self) -> None:
        header = content_disposition("แบบ 1.pdf", inline=False)

        assert header == "attachment; filename=\"1.pdf\"; filename*=UTF-8''%E0%B9%81%E0%B8%9A%E0%B8%9A%201.pdf"

    @pytest.mark.parametrize("name", ['a"; filename=evil.exe; x=".pdf', "a\\b.pdf", "แบบ.pdf", "50%.pdf"])
    def test_lets_no_name_break_out(self, name: str) -> None:
        header = content_disposition(name, inline=True)

        plain = header.removeprefix('inline; filename="').partition('"')[0]
        assert header.isascii()
        assert header.count('"') == 2
        assert plain.endswith(".pdf")
        assert ";" not in plain
