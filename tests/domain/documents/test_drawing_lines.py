"""What the lines of one drawing come to beside its history, whatever order they stand in."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.documents.drawing.domain import SHOP
from saraban.documents.drawing.domain.register_import import RevisionEntry, columns_of, judge_history
from saraban.documents.drawing.schemas import DrawingImportReport
from saraban.imports.domain import READY, REFUSED, THERE
from saraban.imports.schemas import ImportReport
from saraban.kit.sheet_columns import match_headings, repeated_headings
from saraban.numbering.imports.schemas import ImportReportOut
from saraban.projects.domain.revision_scheme import RevisionScheme

SCHEME = RevisionScheme.parse("P01, C01")
LABELS = [f"{stage}{count:02d}" for stage in "PC" for count in range(1, 6)]
histories = st.lists(st.sampled_from(LABELS), unique=True, max_size=5).map(
    lambda found: sorted(found, key=LABELS.index)
)
stated = st.lists(st.sampled_from([*LABELS, "X"]), max_size=8)


def entries(labels: list[str]) -> list[RevisionEntry]:
    return [RevisionEntry(label, "แปลน", date(2026, 2, 28), line) for line, label in enumerate(labels, 2)]


class TestJudgeHistory:
    @given(there=histories, lines=stated)
    def test_never_goes_backwards_and_takes_a_label_once(self, there: list[str], lines: list[str]) -> None:
        judged = judge_history(SCHEME, entries(there), entries(lines))
        after = there + [one.entry.label for one in judged if one.state == READY]

        assert [LABELS.index(label) for label in after] == sorted({LABELS.index(label) for label in after})
        assert sorted(one.entry.line for one in judged) == list(range(2, len(lines) + 2))
        assert all(bool(one.faults) == (one.state == REFUSED) for one in judged)

    @given(there=histories, lines=stated)
    def test_finds_everything_there_the_second_time(self, there: list[str], lines: list[str]) -> None:
        first = judge_history(SCHEME, entries(there), entries(lines))
        after = there + [one.entry.label for one in first if one.state == READY]
        again = judge_history(SCHEME, entries(after), entries(lines))

        taken = {one.entry.line for one in first if one.state in {READY, THERE}}
        assert {one.entry.line for one in again if one.state == THERE} == taken
        assert not [one for one in again if one.state == READY]

    @given(there=histories, lines=stated, order=st.randoms())
    def test_is_the_same_in_any_order(self, there: list[str], lines: list[str], order: object) -> None:
        shuffled = list(dict.fromkeys(lines))
        order.shuffle(shuffled)  # type: ignore[attr-defined]
        plain, mixed = [
            {one.entry.label: one.state for one in judge_history(SCHEME, entries(there), entries(some))}
            for some in (list(dict.fromkeys(lines)), shuffled)
        ]

        assert plain == mixed

    def test_takes_no_second_revision_where_a_register_has_one(self) -> None:
        judged = judge_history(SCHEME, [], entries(["P02", "P01"]), takes_more=False)

        assert [(one.entry.label, one.state) for one in judged] == [("P01", READY), ("P02", REFUSED)]


@pytest.mark.parametrize(
    "headings",
    [
        {"Sheet Number": "drawing_number", "Sheet Name": "title", "Current Revision": "revision"},
        {"Number": "drawing_number", "Description": "title", "Issuance date": "revision_date"},
        {"No": None, "แบบเลขที่": "drawing_number", "รายการ": "title", "ครั้งที่": "revision", "วันที่": "revision_date"},
        {"Document No": "drawing_number", "Doc. Title": "title", "Status": None, "Description": None},
        {"Drawing No": "drawing_number", "Drawing Title (English)": "title_en", "Drawing Title (Thai)": "title"},
        {"Drawing No": "drawing_number", "Title (English)": "title", "Date": None, "Rev. Date": "revision_date"},
    ],
)
def test_headings_of_other_programs_are_known(headings: dict[str, str | None]) -> None:
    columns = columns_of(SHOP)
    names = [column.names for column in columns]
    places = match_headings(names, [*headings])

    matched = {column.key: place for column, place in zip(columns, places, strict=True) if place is not None}
    assert matched == {key: place for place, key in enumerate(headings.values()) if key is not None}
    assert repeated_headings(names, [*headings], places) == []


@pytest.mark.parametrize("schema", [DrawingImportReport, ImportReportOut])
def test_an_import_that_failed_after_its_check_still_shows_its_report(schema: type[ImportReport]) -> None:
    text = {"code": "MASTER_CODE_TAKEN", "th": "มีอยู่แล้ว", "en": "It exists already.", "message": "It exists already."}
    missing: dict[str, list[str]] = {"volumes": ["VX2"], "categories": [], "subCategories": [], "pairs": []}
    counts = {"ready": 0, "there": 0, "waiting": 1, "refused": 1, "series": [], "seriesTotal": 0}
    fault = {**text, "line": 2, "column": "title"}

    report = schema.model_validate({**counts, "missing": missing, "faults": [fault], "problem": text})

    assert [fault.message for fault in report.faults] == ["It exists already."]
