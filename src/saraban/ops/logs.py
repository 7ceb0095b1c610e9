"""Structured logs on stderr with trace ids."""

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from saraban.kit.error_text import traceback_text, without_values
from saraban.kit.ids import trace_id

# Their lines would repeat ours, or contain values from callers.
_QUIET = ("granian.access", "httpx", "httpcore", "aiosqlite", "asyncio", "asyncmy", "python_multipart", "alembic")
_SECRETS = frozenset({"password", "access_token", "refresh_token", "token", "authorization", "cookie", "secret_key"})


def configure(*, level: str, form: str) -> None:
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
        _hide_secrets_and_values,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,  # first, because it is cheap
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = _Stderr()
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_renderers(form)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Stderr(logging.StreamHandler[Any]):
    """Write to the present `sys.stderr`: a replaced stream may be closed."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr


def _renderers(form: str) -> list[Processor]:
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    errors = structlog.processors.ExceptionRenderer(lambda exc_info: traceback_text(exc_info[1]))
    if form == "console" or (form == "auto" and sys.stderr.isatty()):
        plain = structlog.dev.plain_traceback
        return [strip, errors, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
    return [strip, errors, structlog.processors.JSONRenderer(ensure_ascii=False)]


def _add_trace(_logger: object, _name: str, event: EventDict) -> EventDict:
    if trace := trace_id():
        event.setdefault("trace_id", trace)
    return event


def _hide_secrets_and_values(_logger: object, _name: str, event: EventDict) -> EventDict:
    if event.get("logger") in {"asyncmy", "asyncio"}:
        event["event"] = without_values(event["event"].partition("\n")[0])
    for name in _SECRETS & event.keys():
        event[name] = "(hidden)"
    return event
