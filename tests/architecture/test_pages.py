"""Pages made from the code say what the code says, and every refusal is explained in both languages."""

import re
from collections import Counter
from pathlib import Path

import pytest
import write_pages

from saraban.kit.errors import DomainError
from saraban.ops import error_catalogue

ROOT = Path(__file__).resolve().parents[2]
ERRORS = error_catalogue.every_error()
THAI = range(0x0E00, 0x0E80)


@pytest.mark.parametrize("name", sorted(write_pages.PAGES))
def test_the_page_is_what_the_code_says(name: str) -> None:
    page = write_pages.FILES[name].read_text("utf-8")

    assert page == write_pages.PAGES[name](), f"run: make {name}"


def test_no_two_errors_share_a_code() -> None:
    counts = Counter(error.code for error in ERRORS)

    assert [code for code, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
class TestEveryError:
    def test_has_a_code_that_reads_as_one(self, error: type[DomainError]) -> None:
        assert error.code == error.code.upper()
        assert error.code.replace("_", "").isalnum()

    def test_speaks_thai_and_english(self, error: type[DomainError]) -> None:
        assert any(ord(character) in THAI for character in error.says.th)
        assert error.says.en
        assert not any(ord(character) in THAI for character in error.says.en)

    def test_fills_the_same_places_in_both_languages(self, error: type[DomainError]) -> None:
        place = re.compile(r"\{\w+\}")
        assert set(place.findall(error.says.th)) == set(place.findall(error.says.en))

    def test_says_its_cause(self, error: type[DomainError]) -> None:
        assert error_catalogue.cause(error)

    def test_says_what_to_do_next(self, error: type[DomainError]) -> None:
        assert error.recovery
