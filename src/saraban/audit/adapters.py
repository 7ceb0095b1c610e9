"""Sends the heads of the audit trail to a syslog server."""

import logging
from collections.abc import Sequence
from contextlib import closing
from logging.handlers import SysLogHandler

import structlog

log = structlog.get_logger(__name__)


class _RaisingHandler(SysLogHandler):
    def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802  the library's name
        raise  # noqa: PLE0704  called while the error is handled


def send_to_syslog(target: str, lines: Sequence[str]) -> None:
    """Send each line to `host:port` or a local socket."""
    host, _, port = target.rpartition(":")
    try:
        address = (host.strip("[]"), int(port)) if host else target
        with closing(_RaisingHandler(address, SysLogHandler.LOG_AUTH)) as handler:
            for line in lines:
                handler.emit(logging.makeLogRecord({"msg": f"saraban-audit: {line}", "levelname": "INFO"}))
    except OSError as fault:
        log.warning("audit_syslog_failed", error=str(fault))
