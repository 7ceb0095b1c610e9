"""What a spreadsheet program shows for a number in a format, and where that is not certain."""

import pytest

from saraban.kit.number_formats import NumberKind, kind_of, shown_number, shown_text


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
        ("12017", r"00\-000", "12-017"),
        ("12345", r"0\-0\-0", "123-4-5"),
        ("200", r"1\:0", "1:200"),
        ("18", "[$-D00041E]0000", "๐๐๑๘"),
        ("3", "[$-D07041E]0", "๓"),
        ("12345", '#,##0,"k"', "12k"),
        ("5", "??0", "5"),
        ("5", '"A"?0', "A 5"),
        ("-5", 'General" ม."', "-5 ม."),
        ("1234567890123", "General", "1234567890123"),
        ("19", '"LP3-SD-"@', "LP3-SD-19"),
        ("5", ";;;", ""),
        ("0", "#,##0;-#,##0;", ""),
        ("0.25", "#.##", ".25"),
    ],
)
def test_shows_a_number(stored: str, code: str, shown: str) -> None:
    assert shown_number(stored, code) == shown


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        ("0.5", "# ?/?"),
        ("0.1", "0.00E+00"),
        ("0.0763888888888889", "General"),
        ("0.00001", "General"),
        ("5", "[$-2000401]0"),  # Arabic digits
        ("5", "0,000"),
        ("5", "#,00-0"),
        ("0.4", "0"),
        ("1e20", "0"),
        ("5", "[>3]0;0"),
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
    ("stored", "code", "shown"),
    [
        ("ST-019", '"LP3-SD-"@', "LP3-SD-ST-019"),
        ("ST-020", '0;-0;0;"LP3-SD-"@', "LP3-SD-ST-020"),
        ("แบบเดิม", '@" (ยกเลิก)"', "แบบเดิม (ยกเลิก)"),
        ("ลับ", "0;-0;0;", ""),
        ("x", "0.00", "x"),
        ("x", "0;-0;0;0", None),
    ],
)
def test_shows_a_text(stored: str, code: str, shown: str | None) -> None:
    assert shown_text(stored, code) == shown


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
