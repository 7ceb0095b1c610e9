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


class TestErrorsOfAnOperation:
    @pytest.mark.parametrize(
        ("operation", "code"),
        [
            ("correspondences_create", "RESERVATION_EXPIRED"),  # by a method of a field of a dependency
            ("workflow_take_step", "CIRCULATION_NOT_ASSIGNED"),  # by a kind behind a protocol
            ("roles_close", "ROLE_CHANGED"),  # as the argument of a shared check
        ],
    )
    def test_contain_what_its_functions_raise(self, operation: str, code: str) -> None:
        assert code in error_catalogue.by_operation()[operation]

    @pytest.mark.parametrize(
        ("operation", "code"),
        [
            ("workflow_list_delegations", "DELEGATION_OVERLAPS"),  # raised by a method of the same name
            ("projects_apply", "FORMAT_IN_USE"),  # caught on the way
            ("document_numbering_reserve", "RESERVATION_EXPIRED"),  # the request names no reservation
            ("organizations_close_organization", "MASTER_CODE_TAKEN"),
        ],
    )
    def test_leave_out_what_cannot_occur(self, operation: str, code: str) -> None:
        assert code not in error_catalogue.by_operation()[operation]


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
