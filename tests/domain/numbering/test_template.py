"""Templates: the grammar, the printing, the series."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.numbering.series.domain.template import (
    FALLBACK,
    LONGEST_NUMBER,
    NumberUnprintable,
    Template,
    TemplateInvalid,
)

VALUES = {
    "PROJECT": "LCBP3-C2",
    "ORIGINATOR": "คคง.",
    "RECIPIENT": "สคฉ.3",
    "CORR_TYPE": "RFA",
    "SUB_TYPE": "21",
    "RFA_TYPE": "RPT",
    "DISCIPLINE": "TER",
    "CATEGORY": "DRW",
    "YEAR:B.E.": "2569",
    "YEAR:A.D.": "2026",
}


class TestRender:
    @pytest.mark.parametrize(
        ("text", "sequence", "expected"),
        [
            ("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}", 1, "คคง.-สคฉ.3-0001-2569"),
            ("{ORIGINATOR}-{RECIPIENT}-{SUB_TYPE}-{SEQ:4}-{YEAR:B.E.}", 117, "คคง.-สคฉ.3-21-0117-2569"),
            ("{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{RFA_TYPE}-{SEQ:4}-{REV}", 1, "LCBP3-C2-RFA-TER-RPT-0001-A"),
            ("{PROJECT}-{DISCIPLINE}-{CATEGORY}-{SEQ:4}-{REV}", 1, "LCBP3-C2-TER-DRW-0001-A"),
            ("{ORIGINATOR}-CIR-{SEQ:4}-{YEAR:B.E.}", 12, "คคง.-CIR-0012-2569"),
            # The older forms of the specification's tests must be expressible (REQ-FMT-12).
            ("{ORIGINATOR}-{RECIPIENT}-03-{SUB_TYPE}-{SEQ:4}-{YEAR:B.E.}", 7, "คคง.-สคฉ.3-03-21-0007-2569"),
            ("LCBP3-C2-RFI-{DISCIPLINE}-{SEQ:4}-{REV}", 29, "LCBP3-C2-RFI-TER-0029-A"),
            ("{SEQ:3}/{YEAR:AD}", 5, "005/2026"),
            ("{SEQ:1}", 123, "123"),
            ("{SEQ:4}", 12345, "12345"),
        ],
    )
    def test_prints_every_token(self, text: str, sequence: int, expected: str) -> None:
        template = Template.parse(text, drawing=True)

        assert template.render(VALUES, sequence=sequence, revision="A") == expected

    @pytest.mark.parametrize("code", ["{SEQ:4}", "$&", "\\1", "{REV}", "%s", "{0}"])
    def test_prints_a_code_that_looks_like_a_token_as_it_is(self, code: str) -> None:
        template = Template.parse("{ORIGINATOR}-{SEQ:4}")

        assert template.render({"ORIGINATOR": code}, sequence=3, revision="A") == f"{code}-0003"

    def test_names_the_field_whose_value_is_missing(self) -> None:
        template = Template.parse("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}")

        with pytest.raises(NumberUnprintable) as caught:
            template.render(VALUES | {"RECIPIENT": ""}, sequence=1, revision="A")

        problem = caught.value.fields[0]
        assert (problem.pointer, problem.values["token"], problem.values["position"]) == (
            "/recipientOrganizationPublicId",
            "{RECIPIENT}",
            14,
        )

    def test_refuses_a_number_longer_than_the_column(self) -> None:
        template = Template.parse("{ORIGINATOR}-{SEQ:4}")

        with pytest.raises(NumberUnprintable):
            template.render({"ORIGINATOR": "x" * LONGEST_NUMBER}, sequence=1, revision="A")


class TestParse:
    @pytest.mark.parametrize(
        ("text", "code", "position", "token"),
        [
            ("{PROJECT}-{COLOUR}-{SEQ:4}", "token_unknown", 11, "{COLOUR}"),
            ("{ORG}-{SEQ:4}", "token_replaced", 1, "{ORG}"),
            ("{TYPE}-{SEQ:4}", "token_replaced", 1, "{TYPE}"),
            ("{CATEGORY}-{SEQ:4}", "token_not_here", 1, "{CATEGORY}"),
            ("{SEQ}-{PROJECT}", "token_replaced", 1, "{SEQ}"),
            ("{SEQ:0}", "token_unknown", 1, "{SEQ:0}"),
            ("{SEQ:10}", "token_unknown", 1, "{SEQ:10}"),
            ("{seq:4}", "token_unknown", 1, "{seq:4}"),
            ("{}-{SEQ:4}", "token_unknown", 1, "{}"),
            ("{PROJECT", "unbalanced", 1, ""),
            ("{SEQ:4}}", "unbalanced", 8, ""),
            ("a\tb{SEQ:4}", "character", 2, ""),
            ("a\nb{SEQ:4}", "character", 2, ""),
            ("a\ue000b{SEQ:4}", "character", 2, ""),
            ("<b>{SEQ:4}", "character", 1, ""),
            (" {SEQ:4}", "outer_blank", 1, ""),
            ("{SEQ:4} ", "outer_blank", 8, ""),
            ("{PROJECT}", "sequence_count", 1, "{SEQ:n}"),
            ("{SEQ:4}{SEQ:4}", "sequence_count", 8, "{SEQ:n}"),
            ("", "sequence_count", 1, "{SEQ:n}"),
            ("x" * 300 + "{SEQ:4}", "too_long", 256, ""),
        ],
    )
    def test_says_where_and_what_is_wrong(self, text: str, code: str, position: int, token: str) -> None:
        with pytest.raises(TemplateInvalid) as caught:
            Template.parse(text)

        problem = caught.value.fields[0]
        assert (problem.code, problem.values["position"], problem.values["token"]) == (code, position, token)
        assert str(position) in problem.text.say("en", problem.values) or code in {"sequence_count", "too_long"}

    def test_reads_the_short_eras_as_the_long_ones(self) -> None:
        assert Template.parse("{SEQ:4}-{YEAR:BE}").text == "{SEQ:4}-{YEAR:B.E.}"
        assert Template.parse("{SEQ:4}-{YEAR:AD}").text == "{SEQ:4}-{YEAR:A.D.}"

    def test_joins_the_decomposed_sara_am(self) -> None:
        assert Template.parse("ท\u0e4d\u0e32-{SEQ:4}") == Template.parse("ทำ-{SEQ:4}")

    def test_takes_the_shipped_fallback(self) -> None:
        assert Template.parse(FALLBACK).width == 4

    @given(st.text(max_size=60))
    def test_accepts_or_refuses_anything_without_breaking(self, text: str) -> None:
        try:
            template = Template.parse(text, drawing=True)
        except TemplateInvalid as refusal:
            assert refusal.fields
        else:
            assert Template.parse(template.text, drawing=True) == template

    @given(st.sampled_from(sorted(VALUES)), st.integers(1, 10**9), st.sampled_from("ABZ"))
    def test_prints_the_base_as_the_number_without_its_revision(self, token: str, sequence: int, label: str) -> None:
        template = Template.parse("{" + token + "}-{SEQ:4}{REV}", drawing=True)

        printed = template.render(VALUES, sequence=sequence, revision=label)

        assert printed == template.base(VALUES, sequence=sequence) + label


class TestSeries:
    def test_is_what_prints_alike(self) -> None:
        letter = Template.parse("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}")
        wider = Template.parse("{ORIGINATOR}-{RECIPIENT}-{SEQ:5}-{YEAR:B.E.}")

        assert letter.series(VALUES, resets=True) == "คคง.-สคฉ.3-{SEQ}-2569"
        assert wider.series(VALUES, resets=True) == letter.series(VALUES, resets=True)

    def test_starts_anew_with_a_printed_year_unless_told_to_count_on(self) -> None:
        template = Template.parse("{ORIGINATOR}-{SEQ:4}-{YEAR:B.E.}")
        next_year = VALUES | {"YEAR:B.E.": "2570"}

        assert template.series(VALUES, resets=True) != template.series(next_year, resets=True)
        assert template.series(VALUES, resets=False) == template.series(next_year, resets=False)

    def test_leaves_the_revision_out(self) -> None:
        template = Template.parse("{PROJECT}-{SEQ:4}-{REV}")

        assert template.series(VALUES, resets=True) == "LCBP3-C2-{SEQ}-"
