"""What a body may have before a schema looks at it."""

from typing import Any

import pytest

from saraban.kit.errors import Invalid
from saraban.ops.body_limits import DEEPEST, LARGE, STANDARD, WITHOUT_TOKEN, body_limit, check_json


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class TestBodyLimit:
    @pytest.mark.parametrize(
        ("path", "limit"),
        [
            ("/api/v1/auth/login", WITHOUT_TOKEN),
            ("/api/v1/auth/refresh", WITHOUT_TOKEN),
            ("/login", WITHOUT_TOKEN),
            ("/invitations/some-token", WITHOUT_TOKEN),
            ("/setup", STANDARD),
            ("/api/v1/projects", STANDARD),
            ("/api/v1/nothing", STANDARD),
            ("/api/v1/drawings/shop/imports/7/commit", STANDARD),
            ("/api/v1/rfas", LARGE),
            ("/api/v1/users/import", LARGE),
            ("/api/v1/correspondence-types/order", LARGE),
            ("/projects/file", LARGE),
        ],
    )
    def test_belongs_to_the_address(self, path: str, limit: tuple[int, int]) -> None:
        assert body_limit("POST", path, upload_limit=10**9) == limit

    def test_is_that_of_files_where_files_are_sent(self) -> None:
        assert body_limit("POST", "/api/v1/attachments", upload_limit=10**9).size > 10**9
        assert body_limit("PATCH", "/api/v1/attachments", upload_limit=10**9) == STANDARD


class TestCheckJson:
    @pytest.mark.parametrize(
        ("body", "pointer", "code"),
        [
            pytest.param({str(key): 1 for key in range(111)}, "", "too_large", id="keys"),
            pytest.param({"a": [0] * 60, "b": [0] * 60}, "/a", "too_large", id="items"),
            pytest.param({"a": nested(DEEPEST + 1)}, "/a", "too_large", id="depth"),
            pytest.param({"a": [{"b": "x" + "\u0301" * 31}]}, "/a/0/b", "combining_marks", id="text"),
            pytest.param({"a": {"x" + "\u0301" * 31: 1}}, "/a", "combining_marks", id="key"),
            pytest.param("x" + "\u0301" * 31, "", "combining_marks", id="text alone"),
        ],
    )
    def test_refuses_and_names_the_place(self, body: Any, pointer: str, code: str) -> None:
        with pytest.raises(Invalid) as refusal:
            check_json(body, 110)

        assert [(one.pointer, one.code) for one in refusal.value.fields] == [(pointer, code)]

    @pytest.mark.parametrize("body", [None, 1, [0] * 110, {"a": nested(DEEPEST - 1)}, {"k" * 5_000: "ก" * 5_000}])
    def test_passes_what_is_within_the_limits(self, body: Any) -> None:
        check_json(body, 110)
