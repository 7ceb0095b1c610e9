"""
Forms as people fill them in, turned into the orders that services take, and refusals turned back into words at the fields.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from uuid import UUID

from fastapi import Request
from pydantic import BaseModel, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import FormData, ImmutableMultiDict, UploadFile
from starlette.responses import RedirectResponse, Response

from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, NotFound, Text
from saraban.kit.idempotency import KeyInUse
from saraban.kit.problem import to_problem
from saraban.kit.schema import TYPED
from saraban.kit.trace import trace_id
from saraban.workflow.administration.domain import json_text

T = TypeVar("T")
Order = TypeVar("Order", bound=BaseModel)
MOST_FIELDS = 300
MOST_WAITS: Final = 40  # quarters of a second that the second of two equal requests waits for the first
NOT_JSON: Final = Text("ไม่ใช่ JSON ที่บรรทัด {line} ตัวอักษรที่ {column}", "Not valid JSON: line {line}, character {column}.")
TOO_DEEP: Final = Text("ข้อมูลซ้อนลึกเกินไป", "This is too deeply nested.")
FormValues = ImmutableMultiDict[str, UploadFile | str]
EMPTY_FORM: Final[FormValues] = ImmutableMultiDict()
Work = Callable[[AsyncSession], Awaitable[None]]
_ELSEWHERE = frozenset({ErrorKind.NOT_FOUND, ErrorKind.UNAUTHENTICATED, ErrorKind.BROKEN, ErrorKind.FULL})

# A pointer's first part is the name of the field, except where one field of the request is several of the form.
_FIELD_OF = {
    "recipients": "to",
    "recipientOrganizationPublicId": "to",
    "currentPassword": "current",
    "newPassword": "password",
}


@dataclass(frozen=True, slots=True)
class FormErrors:
    """What is wrong with a form: at its fields, and above it."""

    problem: Mapping[str, object] | None = None
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def at(self, name: str) -> Sequence[str]:
        return self.fields.get(name, ())

    def any_of(self, names: Sequence[str]) -> bool:
        """Whether something is wrong at one of these fields."""
        return not self.fields.keys().isdisjoint(names)

    @property
    def status(self) -> int:
        """The status of the page that shows the form."""
        return 200 if self.problem is None else int(str(self.problem["status"]))

    def __bool__(self) -> bool:
        return self.problem is not None


NO_ERRORS: Final = FormErrors()


def form_with(**values: str) -> FormValues:
    """Return a form in which some fields are filled in."""
    return ImmutableMultiDict(values)


async def read_form(request: Request) -> FormData:
    """Read the form; files never come this way, they are uploaded before."""
    return await request.form(max_files=0, max_fields=MOST_FIELDS)


def text(form: FormValues, name: str) -> str | None:
    """Return what was typed, None for nothing."""
    value = form.get(name)
    typed = value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""
    return typed or None


def number_or_text(typed: str) -> int | str:
    """Return a whole number as one, and anything else as it was typed, for the order to refuse by name."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 12 else typed


def id_of(typed: str | None) -> UUID | None:
    """Return a public id, None for what is none."""
    try:
        return UUID(typed or "")
    except ValueError:
        return None


def project_in(form: FormValues) -> UUID:
    """
    Return the project that a form is about, which no person types.

    :raises NotFound: when it names none
    """
    found = id_of(text(form, "project"))
    if found is None:
        raise NotFound("There is no such project.")
    return found


def has_own_page(error: DomainError) -> bool:
    """Return whether a refusal has a page of its own, because the form it came from cannot be shown again."""
    return error.kind in _ELSEWHERE


async def submit(
    db: Database, work: Work, again: Callable[[AsyncSession, DomainError], Awaitable[Response]], back: str
) -> Response:
    """
    Do what a form asks for, and go on to the next page.

    :param again: the same page with what is wrong when it did not work, and nothing lost
    """
    try:
        await db.transact(work)
    except DomainError as error:
        if has_own_page(error):
            raise
        async with db.reading() as session:
            return await again(session, error)
    return RedirectResponse(back, status_code=303)


def texts(form: FormValues, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str) and value]


def validated(request: Request, schema: type[Order], payload: Mapping[str, object]) -> Order:
    """
    Give the order that a payload stands for; its dates may be typed in either era.

    :raises Invalid: naming every field, in both languages
    """
    try:
        return schema.model_validate(dict(payload), context=TYPED)
    except ValidationError as fault:
        errors = [{**error, "loc": ("body", *error["loc"])} for error in fault.errors()]
        problems: list[FieldProblem] = request.app.state.explain(errors)
        raise Invalid("The form is not complete.", fields=problems) from fault


def form_errors(error: DomainError | None, language: str) -> FormErrors:
    """Return a refusal as words for each field of the form."""
    if error is None:
        return NO_ERRORS
    found: dict[str, list[str]] = {}
    for one in error.fields:
        words = one.text.say(language, one.values)
        name = field_of(one.pointer)
        if words not in found.setdefault(name, []):
            found[name].append(words)
    return FormErrors(to_problem(error, language=language, trace_id=trace_id()), found)


def field_of(pointer: str) -> str:
    """Name the field of a form; of what comes with a step each value has its own, whatever is inside it."""
    name, *inside = pointer.removeprefix("/").split("/")
    if name == "payload" and inside:
        return "payload." + inside[0].replace("~1", "/").replace("~0", "~")
    return _FIELD_OF.get(name, name)


async def await_first_answer(work: Callable[[], Awaitable[T]]) -> T:
    """A second click waits for the first one's answer instead of being refused."""
    for _ in range(MOST_WAITS):
        try:
            return await work()
        except KeyInUse:
            await asyncio.sleep(0.25)
    return await work()


def read_json(typed: str, pointer: str) -> tuple[Any, FieldProblem | None]:
    """Read what somebody typed as JSON, or say where it is none."""
    try:
        return json_text.read(typed)[0], None
    except json_text.InvalidJson as fault:
        return None, FieldProblem(pointer, "not_json", NOT_JSON, {"line": fault.line, "column": fault.column})
    except json_text.JsonTooDeep:
        return None, FieldProblem(pointer, "too_deep", TOO_DEEP)
