"""Which field of a JSON body is nested deeper than its reader follows; told by counting brackets, without reading it."""

import re
from typing import Final

from saraban.kit.errors import FieldProblem
from saraban.kit.schema import TOO_DEEP

# Half of what the reader follows. Nothing that any field takes is nested a tenth of it.
DEEPEST: Final = 500
# Whoever hides the depth behind more than this is told of the body as a whole: counting must stay cheap.
_MOST_MARKS: Final = 100_000
_MARK: Final = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)
# As our fields are called. Anything else is the sender's own text, which is not repeated.
_FIELD: Final = re.compile(rb"[A-Za-z][A-Za-z0-9]{0,63}")


def too_deep(body: bytes) -> FieldProblem:
    """Name the member of the outermost object in which a body is too deep, and the body where none can be named."""
    return FieldProblem(_pointer(body), "too_large", TOO_DEEP)


def _pointer(body: bytes) -> str:
    depth, quoted, since, name = 0, False, 0, b""
    for count, found in enumerate(_MARK.finditer(body)):
        mark = found[0]
        if mark == b'"':
            if quoted and depth == 1:  # a member's name, or a text, which no bracket follows
                name = body[since : found.start()]
            quoted, since = not quoted, found.end()
        elif quoted or mark.startswith(b"\\"):
            continue
        else:
            depth += 1 if mark in b"{[" else -1
        if depth > DEEPEST:
            return f"/{name.decode()}" if _FIELD.fullmatch(name) else ""
        if count > _MOST_MARKS:
            break
    return ""
