"""What a project decides for a register of drawings: revision schemes and the form of numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.errors import Invalid
from saraban.projects.domain.drawing_settings import NumberPattern
from saraban.projects.domain.revision_scheme import RevisionNotForward, RevisionScheme


class TestRevisionScheme:
    @pytest.mark.parametrize(
        ("scheme", "after", "offered"),
        [
            ("0", None, ["0"]),
            ("0", "9", ["10"]),
            ("A", "Z", ["AA"]),
            ("A", "AZ", ["BA"]),
            ("01", "09", ["10"]),
            ("P01, C01", None, ["P01", "C01"]),
            ("P01, C01", "P02", ["P03", "C01"]),
            ("P01, C01", "C01", ["C02"]),
            ("A,0", "C", ["D", "0"]),
            ("A", "H", ["J"]),
            ("A", "N", ["P"]),
            ("A", "HZ", ["JA"]),
            ("A-Z", "H", ["I"]),
            ("A-HJ-NPRT-WY", "R", ["T"]),
            ("P01.01, C01", None, ["P01.01", "C01"]),
            ("P01.01, C01", "P01.09", ["P01.10", "P01", "P02.01", "C01"]),
            ("P01.01, C01", "P01", ["P02.01", "C01"]),
            ("P01.01, C01", "C01", ["C02"]),
            ("1.0", "1.0", ["1.1", "1", "2.0"]),
            ("0", "Z9", ["0"]),  # what an older register had is no hindrance
        ],
    )
    def test_offers_what_comes_next(self, scheme: str, after: str | None, offered: list[str]) -> None:
        assert RevisionScheme.parse(scheme).next_labels(after) == offered

    @pytest.mark.parametrize(
        ("scheme", "label", "after"),
        [
            ("0", "7", None),
            ("0", "2", "0"),
            ("A", "C", "A"),
            ("P01, C01", "C01", "P01"),
            ("P01, C01", "C09", None),
            ("P01.01", "P01", "P01.07"),
            ("P01.01", "P02.03", "P01"),
            ("A-Z", "I", "H"),
            ("A", "J", "H"),
        ],
    )
    def test_begins_anywhere_and_leaves_out_what_it_likes(self, scheme: str, label: str, after: str | None) -> None:
        RevisionScheme.parse(scheme).require_next(label, after=after, pointer="/label")

    @pytest.mark.parametrize(
        ("scheme", "label", "after"),
        [
            ("0", "1", "1"),
            ("0", "0", "3"),
            ("A", "A", "B"),
            ("P01, C01", "P09", "C01"),
            ("A", "Z", "AA"),
            ("P01.01", "P01.09", "P01"),
            ("P01.01", "P01.09", "P01.10"),
        ],
    )
    def test_never_goes_backwards(self, scheme: str, label: str, after: str) -> None:
        with pytest.raises(RevisionNotForward) as refused:
            RevisionScheme.parse(scheme).require_next(label, after=after, pointer="/label")
        assert refused.value.values == {"value": label, "current": after}

    @pytest.mark.parametrize(
        ("scheme", "label"),
        [
            ("0", "A"),
            ("A", "0"),
            ("A", "a"),
            ("01", "1"),
            ("P01, C01", "D01"),
            ("P01, C01", "P1"),
            ("0", "๑"),
            ("1", "0"),
            ("A", "I"),
            ("A", "AO"),
            ("A-HJ-NPRT-WY", "Q"),
            ("P01.01, C01", "P01.1"),
            ("P01.01, C01", "P01.00"),
            ("P01.01, C01", "C01.01"),
            ("P01", "P01.01"),
        ],
    )
    def test_knows_its_own_labels(self, scheme: str, label: str) -> None:
        with pytest.raises(Invalid) as refused:
            RevisionScheme.parse(scheme).require_next(label, after=None, pointer="/label")
        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/label", "not_in_scheme")]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "P",
            "AB",
            "P0001",
            "0,1",
            "A,B",
            "P01,P02",
            "a",
            "P-1",
            "0,A,B0,C0,D0,E0",
            "I",
            "O",
            "Z-A",
            "A-CB-D",
            "AB-",
            "A-C-E",
            "P01.",
            "P01.001",
            "P01,P01.01",
            "A,A-Z",
            ".1",
            "P๐๑",
        ],
    )
    def test_is_refused_where_it_says_nothing_or_two_things(self, text: str) -> None:
        if text == "P":
            assert RevisionScheme.parse(text).next_labels(None) == ["P"]
            return
        with pytest.raises(Invalid):
            RevisionScheme.parse(text)

    @given(
        st.sampled_from(["0", "A", "1", "P01, C01", "A, 0", "01", "P01.01, C01", "A-HJ-NPRT-WY"]),
        st.lists(st.integers(0, 1), min_size=1, max_size=60),
    )
    def test_counts_on_in_one_order(self, text: str, choices: list[int]) -> None:
        """Whatever of the offered labels is taken, each comes after all before it, and says where it stands."""
        scheme, label, places = RevisionScheme.parse(text), None, []
        for choice in choices:
            offered = scheme.next_labels(label)
            label = offered[min(choice, len(offered) - 1)]
            places.append(scheme.place(label))
        assert None not in places
        assert places == sorted(places)  # type: ignore[type-var]
        assert len(set(places)) == len(places)

    @given(st.sampled_from(["0", "A", "P01, C01", "A, 0", "01", "P01.01, C01", "A-HJ-NPRT-WY, C1.0"]))
    def test_reads_back_what_it_writes(self, text: str) -> None:
        assert str(RevisionScheme.parse(text)) == text


class TestNumberPattern:
    @pytest.mark.parametrize("number", ["LP3-HW-ST-001", "LP3-WS-FE-ST-102"[:4] + "HW-ST-102", "LP3-OP12.1-ST-003"])
    def test_takes_numbers_of_its_form(self, number: str) -> None:
        NumberPattern.parse("LP3-*-@@-###").require(number)

    @pytest.mark.parametrize(
        "number", ["LP3-HW-ST-01", "lp3-HW-ST-001", "LP3-HW-S1-001", "LP3-HW-X-ST-001", "LP3-HW-ST-001 "]
    )
    def test_refuses_others(self, number: str) -> None:
        with pytest.raises(Invalid) as refused:
            NumberPattern.parse("LP3-*-@@-###").require(number)
        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/drawingNumber", "not_in_pattern")]

    @pytest.mark.parametrize("pattern", ["", "*", " - ", "**-1", "*-*-*-*-*-*-*-9"])
    def test_is_refused_where_it_takes_anything(self, pattern: str) -> None:
        with pytest.raises(Invalid):
            NumberPattern.parse(pattern)
