"""For whom the log is written: programs, unless a person is looking."""

import io
import json
from collections.abc import Iterator

import pytest
import structlog

from saraban.ops import logs
from tests.log_capture import kept_logging


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    with kept_logging():
        yield


def line_of(form: str, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    logs.configure(level="INFO", form=form)
    structlog.get_logger("saraban.test").info("hello", password="hunter2", number="คคง.-0001")
    return stream.getvalue()


class TestForm:
    @pytest.mark.parametrize(("form", "stream"), [("auto", io.StringIO), ("json", Terminal)])
    def test_is_json_for_programs(self, form: str, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
        said = json.loads(line_of(form, stream(), monkeypatch))

        assert (said["event"], said["number"], said["password"]) == ("hello", "คคง.-0001", "(hidden)")

    @pytest.mark.parametrize(("form", "stream"), [("auto", Terminal), ("console", io.StringIO)])
    def test_is_a_line_to_read_for_people(
        self, form: str, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said = line_of(form, stream(), monkeypatch)

        assert "hello" in said
        assert not said.startswith("{")
        assert "hunter2" not in said
