"""
Forms as people fill them in, turned into the orders that services take, and refusals turned back into words at the fields.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import Depends, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import FormData, ImmutableMultiDict, UploadFile
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.admission import slot_released
from saraban.kit.child_processes import FileReadersBusy
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, NotFound, Text
from saraban.kit.http import Db, check_form
from saraban.kit.idempotency import KeyInUse
from saraban.kit.ids import trace_id
from saraban.kit.problem import checked_values, to_problem
from saraban.web.shell.page import NO_ERRORS, CurrentPage, FormErrors, PageRequest, id_of
from saraban.workflow.administration.domain import definition_text

T = TypeVar("T")
Order = TypeVar("Order", bound=BaseModel)
MOST_FIELDS = 1200  # 500 items of an RFA, each with its answer and a comment
MOST_WAITS: Final = 40  # quarters of a second that the second of two equal requests waits for the first
NOT_JSON: Final = Text("ไม่ใช่ JSON ที่บรรทัด {line} ตัวอักษรที่ {column}", "Not valid JSON: line {line}, character {column}.")
TOO_DEEP: Final = Text("ข้อมูลซ้อนลึกเกินไป", "This is too deeply nested.")
FormValues = ImmutableMultiDict[str, UploadFile | str]
EMPTY_FORM: Final[FormValues] = ImmutableMultiDict()
Work = Callable[["SentForm", AsyncSession], Awaitable[str]]
ShowAgain = Callable[[PageRequest, AsyncSession, "FormState"], Awaitable[Response]]
_ELSEWHERE = frozenset({ErrorKind.NOT_FOUND, ErrorKind.UNAUTHENTICATED, ErrorKind.BROKEN, ErrorKind.FULL})

# A pointer's first part is the name of the field, except where one field of the request is several of the form.
_FIELD_OF = {
    "recipients": "to",
    "recipientOrganizationPublicId": "to",
    "currentPassword": "current",
    "newPassword": "password",
}


class WarningsUnconfirmed(DomainError):
    """A page shows what is doubtful in its form, and saves it anyway when the form is sent with `detail` as `accepts`."""

    kind, code = ErrorKind.INVALID, "WARNINGS_UNCONFIRMED"
    says = Text("โปรดตรวจสอบก่อนบันทึก", "Check this before you save.")
    recovery = (Text("แก้ไข หรือกดบันทึกต่อไป", "Correct it, or save anyway."),)


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form as it was sent, and by whom."""

    page: PageRequest
    db: Database
    values: FormValues

    @property
    def context(self) -> RequestContext:
        return self.page.context

    @property
    def keyed_context(self) -> RequestContext:
        """With the key of the form, for what is done under a claim: a second click is the first one again."""
        key = self.text("key")
        return self.page.context.with_key(key[:128] if key else None)

    async def once(self, work: Callable[[RequestContext], Awaitable[T]]) -> T:
        """Do what is claimed under the form's key; a second click waits for the first one's answer."""
        return await await_first_answer(lambda: work(self.keyed_context))

    async def confirm(
        self, warnings: Callable[[RequestContext, AsyncSession], Awaitable[Sequence[FieldProblem]]]
    ) -> None:
        """
        :raises WarningsUnconfirmed: unless these warnings were shown, and the form was sent again to be saved anyway
        """
        async with self.db.reading() as session:
            found = await warnings(self.context, session)
        digest = hashlib.sha256(repr(found).encode()).hexdigest()
        if found and self.text("accepts") != digest:
            raise WarningsUnconfirmed(digest, fields=found)

    @property
    def project(self) -> UUID:
        return project_in(self.values)

    def text(self, name: str) -> str | None:
        return text(self.values, name)

    def filled(self, *names: str) -> dict[str, str]:
        """Return what was typed at these fields, without those that were left empty."""
        return {name: typed for name in names if (typed := self.text(name))}

    def order(self, schema: type[Order], payload: Mapping[str, object]) -> Order:
        """:raises Invalid: naming every field, in both languages"""
        return checked_values(schema, payload)


async def sent_form(page: CurrentPage, db: Db, request: Request) -> SentForm:
    return SentForm(page, db, await read_form(request))


CurrentForm = Annotated[SentForm, Depends(sent_form)]


@dataclass(frozen=True, slots=True)
class FormState:
    """
    A form as its page shows it: empty, with what was typed and refused, or just carried out.

    :param done: what was carried out, which the page says
    """

    form: FormValues = field(default_factory=ImmutableMultiDict)
    error: DomainError | None = None
    done: str = ""


NEW_FORM: Final = FormState()


def form_with(**values: str) -> FormValues:
    return ImmutableMultiDict(values)


async def read_form(request: Request) -> FormData:
    """Read the form; files never come this way, they are uploaded before."""
    return check_form(await request.form(max_files=0, max_fields=MOST_FIELDS))


def text(form: FormValues, name: str) -> str | None:
    """Return what was typed, None for nothing."""
    value = form.get(name)
    typed = value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""
    return typed or None


def number_or_text(typed: str) -> int | str:
    """Return a whole number as one, and anything else as it was typed, for the order to refuse by name."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 12 else typed


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
    return error.kind in _ELSEWHERE or isinstance(error, FileReadersBusy)


async def submit(form: SentForm, work: Work, again: ShowAgain) -> Response:
    """
    Do what a form asks for, and go where that leads.

    :param again: the same page with what is wrong when it did not work, and nothing lost
    """
    try:
        address = await form.db.transact(partial(work, form))
    except DomainError as error:
        return await show_again(form, error, again)
    return RedirectResponse(address, status_code=303)


async def show_again(form: SentForm, error: DomainError, again: ShowAgain) -> Response:
    """
    Show the page of a form that was refused.

    :raises DomainError: when the refusal has a page of its own
    """
    if has_own_page(error):
        raise error
    async with form.db.reading() as session:
        return await again(form.page, session, FormState(form.values, error))


def texts(form: FormValues, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str) and value]


def uploaded(form: FormValues) -> list[tuple[str, str]]:
    """Return public ids and names of the files that have been uploaded for a form."""
    return list(zip(texts(form, "attachment"), texts(form, "attachmentName"), strict=False))


def usable_query(page: PageRequest, schema: type[Order], given: Mapping[str, str]) -> tuple[Order, FormErrors]:
    """Return what can be asked, and what is wrong with the rest, by its field."""
    try:
        return checked_values(schema, given), NO_ERRORS
    except Invalid as error:
        faults = FormErrors(fields=form_errors(error, page.language).fields)
        return checked_values(schema, {key: one for key, one in given.items() if key not in faults.fields}), faults


def form_errors(error: DomainError | None, language: str) -> FormErrors:
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
            with slot_released():
                await asyncio.sleep(0.25)
    return await work()


def read_json(typed: str, pointer: str) -> tuple[Any, FieldProblem | None]:
    """Read what somebody typed as JSON, or say where it is none."""
    try:
        return definition_text.read(typed).value, None
    except definition_text.InvalidJson as fault:
        return None, FieldProblem(pointer, "not_json", NOT_JSON, {"line": fault.line, "column": fault.column})
    except definition_text.JsonTooDeep:
        return None, FieldProblem(pointer, "too_deep", TOO_DEEP)
