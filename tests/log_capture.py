"""What one module logs, whatever was configured in this process before: a logger that was used once keeps what it then knew."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture


@contextmanager
def lines_of(module: ModuleType, logger: str = "log") -> Iterator[list[Any]]:
    """Return the lines of a module's logger as they come, each with its `event` and `log_level`."""
    capture = LogCapture()
    listening = structlog.wrap_logger(None, processors=[capture], wrapper_class=structlog.BoundLogger)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, logger, listening)
        yield capture.entries


@contextmanager
def kept_logging() -> Iterator[None]:
    """Put the configuration of logging back afterwards."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.configure(**before)
