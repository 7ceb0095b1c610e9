"""The trace id of the request or job at hand: in every log line and every problem response."""

from contextvars import ContextVar

from saraban.kit.ids import new_id

_trace: ContextVar[str] = ContextVar("trace_id", default="")


def begin_trace(given: str | None = None) -> str:
    """
    Take the trace id of a W3C `traceparent` header if there is a valid one, otherwise make a new one.

    :returns: 32 lower-case hexadecimal digits
    """
    parts = (given or "").split("-")
    valid = (
        len(parts) == 4 and len(parts[1]) == 32 and set(parts[1]) <= set("0123456789abcdef") and set(parts[1]) != {"0"}
    )
    trace_id = parts[1] if valid else new_id().hex
    _trace.set(trace_id)
    return trace_id


def trace_id() -> str:
    return _trace.get()
