"""Limits of request bodies in bytes, JSON values and depth."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from saraban.identity.dependencies import PUBLIC_PATHS
from saraban.kit.errors import Text, invalid
from saraban.kit.json import Json
from saraban.kit.problem import escape_pointer
from saraban.kit.schema import TOO_DEEP
from saraban.kit.text import check_marks

_UPLOAD: Final = re.compile(
    r"(/api/v1)?/(attachments|drawings/(contract|shop|asbuilt)/imports)|/(api/v1/document-numbering|numbers)/imports"
)
MULTIPART_ROOM: Final = 64 * 1024  # boundaries and part headers around the file itself
DEEPEST: Final = 100  # a condition of a workflow may be 64 deep, inside its definition
_TOO_MANY: Final = Text("มีค่ามากเกินไป (สูงสุด {most} ค่า)", "There are too many values (at most {most} in a body).")


class BodyLimit(NamedTuple):
    size: int  # bytes
    values: int  # of JSON: members of objects and items of lists, at any depth


WITHOUT_TOKEN: Final = BodyLimit(4 * 1024, 100)
STANDARD: Final = BodyLimit(256 * 1024, 8_000)
LARGE: Final = BodyLimit(2 * 1024 * 1024, 40_000)
# Forms with passwords are small with a token too; the set-up form is larger.
_WITHOUT_TOKEN: Final = re.compile(
    "|".join(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) for path in sorted(PUBLIC_PATHS - {"/setup"}))
)
_STANDARD: Final = re.compile("/setup|/api/.*")
# Documents with their items, steps with their data, definitions, sheets, the order of a whole list.
_LARGE: Final = re.compile(
    r"/api/v1/(correspondences|rfas|transmittals|circulations|workflow|document-numbering/imports)(/.*)?"
    r"|/api/v1/projects/apply|/api/.*/(order|import)"
)


def body_limit(method: str, path: str, *, upload_limit: int = 0) -> BodyLimit:
    if method == "POST" and _UPLOAD.fullmatch(path):
        return BodyLimit(upload_limit + MULTIPART_ROOM, LARGE.values)
    if _WITHOUT_TOKEN.fullmatch(path):
        return WITHOUT_TOKEN
    return STANDARD if _STANDARD.fullmatch(path) and not _LARGE.fullmatch(path) else LARGE


def check_json(body: Json, most: int) -> None:
    """:raises Invalid:"""
    stack: list[tuple[Json, str, int]] = [(body, "", 0)]
    count = 0
    while stack:
        value, pointer, depth = stack.pop()
        if depth > DEEPEST:
            raise invalid("/".join(pointer.split("/", 2)[:2]), "too_large", TOO_DEEP.th, TOO_DEEP.en)
        inner: Iterable[tuple[int | str, Json]] = ()
        if isinstance(value, str):
            check_marks(value, pointer)
        elif isinstance(value, dict):
            inner, count = value.items(), count + len(value)
        elif isinstance(value, list):
            inner, count = enumerate(value), count + len(value)
        if count > most:
            raise invalid("/".join(pointer.split("/", 2)[:2]), "too_large", _TOO_MANY.th, _TOO_MANY.en, most=most)
        for name, member in inner:
            check_marks(str(name), pointer)
            # At most four parts: full paths in a deep body would exhaust the memory.
            place = pointer if depth > 3 else f"{pointer}/{escape_pointer(name)}"
            stack.append((member, place, depth + 1))
