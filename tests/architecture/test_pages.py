"""Pages made from the code say what the code says, and every refusal is explained in both languages."""

import re
from collections import Counter
from collections.abc import Callable
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


def codes(wrong: Callable[[type[DomainError]], bool]) -> list[str]:
    return [error.code for error in ERRORS if wrong(error)]


class TestEveryError:
    def test_has_a_code_that_reads_as_one(self) -> None:
        assert codes(lambda error: not re.fullmatch(r"[A-Z0-9_]*[A-Z0-9][A-Z0-9_]*", error.code)) == []

    def test_speaks_thai_and_english(self) -> None:
        assert codes(lambda error: not is_thai(error.says.th)) == []
        assert codes(lambda error: not error.says.en or is_thai(error.says.en)) == []

    def test_fills_the_same_places_in_both_languages(self) -> None:
        place = re.compile(r"\{\w+\}")

        assert codes(lambda error: set(place.findall(error.says.th)) != set(place.findall(error.says.en))) == []

    def test_says_its_cause(self) -> None:
        assert codes(lambda error: not error_catalogue.cause(error)) == []

    def test_says_what_to_do_next(self) -> None:
        assert codes(lambda error: not error.recovery) == []


def is_thai(text: str) -> bool:
    return any(ord(character) in THAI for character in text)
