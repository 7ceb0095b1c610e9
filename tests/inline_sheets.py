"""Sheets read where their test runs: to start a child for each of hundreds takes longer than to read them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from saraban.kit import sheet_files, spreadsheets
from saraban.kit.sheet_columns import SheetColumn

in_child = spreadsheets._child_lines


@contextmanager
def inline_sheets() -> Iterator[None]:
    """Read as the child does, without its limits; `tests/features/kit/test_spreadsheets.py` has the child itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spreadsheets, "_child_lines", _lines)
        yield


def _lines(path: Path, columns: int, rows: int, options: dict[str, Any], named: Sequence[SheetColumn]) -> Iterator[Any]:
    lines = sheet_files._lines(path.resolve(), columns, rows, options)
    while True:
        try:
            line = next(lines)
        except StopIteration:
            return
        except sheet_files.Problem as problem:
            code, values = problem.values["problem"], {**problem.values}
            del values["problem"]
            raise spreadsheets._problem(str(code), named, **values) from None
        except MemoryError:
            raise spreadsheets._problem("packed") from None
        except Exception:  # noqa: BLE001  the child would end with it
            raise spreadsheets.unreadable() from None
        yield orjson.loads(orjson.dumps(line))
