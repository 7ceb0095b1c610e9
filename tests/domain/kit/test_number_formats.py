"""What a spreadsheet program shows for a number in a format, and where that is not certain."""

import pytest

from saraban.kit.number_formats import NumberKind, kind_of, shown_number


@pytest.mark.parametrize(
    ("stored", "code", "shown"),
    [
        ("831921", "0000000", "0831921"),
        ("7.1", "0.00", "7.10"),
        ("7.0999999999999996", "General", "7.1"),
        ("2567", "@", "2567"),
        ("0.125", "0.0%", "12.5%"),
        ("1234567.5", "#,##0.00", "1,234,567.50"),
        ("-5", "#,##0;(#,##0)", "(5)"),
        ("-5", "0", "-5"),
        ("0", '0;-0;"-"', "-"),
        ("5", '"A-"000', "A-005"),
        ("5", r"\A\-00", "A-05"),
        ("3", "[$฿-41E]#,##0.00", "฿3.00"),
        ("3", '0" m"', "3 m"),
        ("12", "0.0##", "12.0"),
        ("1.005", "0.00", "1.01"),
        ("0.0763888888888889", "h:mm", "1:50"),
        ("0.0763888888888889", "hh:mm:ss;@", "01:50:00"),
    ],
)
def test_shows_a_number(stored: str, code: str, shown: str) -> None:
    assert shown_number(stored, code) == shown


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        ("0.5", "# ?/?"),
        ("0.1", "0.00E+00"),
        ("123456789012", "General"),
        ("0.00001", "General"),
        ("1e20", "0"),
        ("3", "[$-D07041E]0"),  # Thai digits
        ("5", "[>3]0;0"),
        ("12345", "0,"),
        ("5", ";;;"),
        ("5", 'General" m"'),
        ("46000", "dd/mm/yyyy"),
        ("0.111111111111111", "[h]:mm"),
        ("0.0764", "h:mm AM/PM"),
        ("1.5", "h:mm"),
        ("5", ""),
        ("5", "0" * 300),
    ],
)
def test_is_not_certain(stored: str, code: str) -> None:
    assert shown_number(stored, code) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("General", NumberKind.NUMBER),
        ('0" days"', NumberKind.NUMBER),
        ("[Red]0.00", NumberKind.NUMBER),
        ("[$-107041E]d mmm yyyy", NumberKind.DAY),
        ("mmmm", NumberKind.DAY),
        ("yyyy-mm-dd h:mm", NumberKind.DAY),
        ("mm:ss", NumberKind.TIME),
        ("[h]:mm", NumberKind.TIME),
    ],
)
def test_knows_days_and_times(code: str, kind: NumberKind) -> None:
    assert kind_of(code) == kind
