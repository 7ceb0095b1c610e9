"""A line of an old register, read without a database."""

from datetime import date

import pytest

from saraban.numbering.imports.domain import COLUMN_KEYS, LegacyRow, literal_template, parse_row


def cells(**values: object) -> list[object]:
    known = {"number": "คคง.-ผรม.1-0042-2567", "type": "LETTER", "originator": "คคง."} | values
    return [known.get(key) for key in COLUMN_KEYS]


def faults(**values: object) -> list[tuple[str, str]]:
    found = parse_row(cells(**values))
    assert isinstance(found, list)
    return [(one.pointer, one.code) for one in found]


class TestRead:
    def test_takes_what_a_sheet_gives(self) -> None:
        line = parse_row(cells(recipient=" ผรม.1 ", year=2567.0, issued=date(2024, 5, 31), sequence="42"))

        assert isinstance(line, LegacyRow)
        assert (line.codes.recipient, line.year, line.issued, line.sequence) == ("ผรม.1", 2024, date(2024, 5, 31), 42)

    def test_joins_the_two_spellings_of_sara_am(self) -> None:
        line = parse_row(cells(number="ท\u0e4d\u0e32-1"))

        assert isinstance(line, LegacyRow)
        assert line.number == "ท\u0e33-1"

    def test_says_everything_that_is_wrong_with_a_line(self) -> None:
        assert faults(number=None, type="", contract="x" * 51) == [
            ("/number", "required"),
            ("/type", "required"),
            ("/contract", "too_long"),
        ]

    @pytest.mark.parametrize(
        ("column", "value", "code"),
        [
            ("number", "1\u00002", "character"),
            ("issued", "31/05/2567", "malformed"),
            ("issued", "2567-05-31", "malformed"),
            ("year", "12", "out_of_range"),
            ("year", "next", "out_of_range"),
            ("sequence", "0", "malformed"),
            ("sequence", "1.5", "malformed"),
            ("sequence", "9999999999", "malformed"),
        ],
    )
    def test_refuses(self, column: str, value: str, code: str) -> None:
        assert faults(**{column: value}) == [(f"/{column}", code)]

    def test_a_short_line_lacks_what_it_does_not_have(self) -> None:
        found = parse_row(["1"])

        assert isinstance(found, list)
        assert [one.pointer for one in found] == ["/type", "/originator"]


class TestLiteral:
    @pytest.mark.parametrize(
        ("number", "sequence", "text"),
        [
            ("OLD/2017/0042", 42, "OLD/2017/{SEQ:4}"),
            ("7-7/7", 7, "7-7/{SEQ:1}"),
            ("ที่ คค 0012/ว 5", 12, "ที่ คค {SEQ:4}/ว 5"),
        ],
    )
    def test_prints_the_number_again(self, number: str, sequence: int, text: str) -> None:
        template = literal_template(number, sequence)

        assert template is not None
        assert template.text == text
        assert template.render({}, sequence=sequence, revision="A") == number

    def test_needs_the_sequence_in_the_number(self) -> None:
        assert literal_template("OLD/0042", 43) is None
