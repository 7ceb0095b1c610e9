"""
Forms as people fill them in, turned into the orders that services take, and refusals turned back into words at the fields.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import FormData, ImmutableMultiDict
from starlette.responses import Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.admission import slot_released
from saraban.kit.child_processes import FileReadersBusy
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, NotFound, Text
from saraban.kit.http import Db, check_form
from saraban.kit.idempotency import KeyInUse
from saraban.kit.ids import new_id
from saraban.kit.problem import checked_values
from saraban.web.shell.form_state import NO_ERRORS, FormErrors, FormState, FormValues, form_errors
from saraban.web.shell.page import CurrentPage, PageRequest, id_of
from saraban.workflow.administration.domain import definition_text

T = TypeVar("T")
P = ParamSpec("P")
Order = TypeVar("Order", bound=BaseModel)
MOST_FIELDS = 1200  # 500 items of an RFA, each with its answer and a comment
MOST_WAITS: Final = 40  # quarters of a second that the second of two equal requests waits for the first
NOT_JSON: Final = Text("ไม่ใช่ JSON ที่บรรทัด {line} ตัวอักษรที่ {column}", "Not valid JSON: line {line}, character {column}.")
TOO_DEEP: Final = Text("ข้อมูลซ้อนลึกเกินไป", "This is too deeply nested.")
ShowAgain = Callable[Concatenate[PageRequest, AsyncSession, FormState, P], Awaitable[Response]]
_ELSEWHERE = frozenset({ErrorKind.NOT_FOUND, ErrorKind.UNAUTHENTICATED, ErrorKind.BROKEN, ErrorKind.FULL})


class FormRefused(Exception):
    """The answer to a refused form: its page, with what is wrong. `PageRoute` sends it."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


class WarningsUnconfirmed(DomainError):
    """A page shows what is doubtful in its form, and saves it anyway when the form is sent with `detail` as `accepts`."""

    kind, code = ErrorKind.INVALID, "WARNINGS_UNCONFIRMED"
    says = Text("โปรดตรวจสอบก่อนบันทึก", "Check this before you save.")
    recovery = (Text("แก้ไข หรือกดบันทึกต่อไป", "Correct it, or save anyway."),)


@dataclass(frozen=True, slots=True)
class SentForm:
    page: PageRequest
    db: Database
    values: FormValues

    @property
    def context(self) -> RequestContext:
        return self.page.context

    @property
    def keyed_context(self) -> RequestContext:
        """Return the context with the key of the form: a second click is the first one again."""
        key = self.text("key")
        return self.page.context.with_key(key[:128] if key else None)

    async def transact(
        self,
        work: Callable[Concatenate[RequestContext, AsyncSession, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return await self.db.transact(work, self.context, *args, **kwargs)

    async def once(
        self, work: Callable[Concatenate[RequestContext, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do what is claimed under the form's key; a second click waits for the first one's answer."""
        for _ in range(MOST_WAITS):
            try:
                return await work(self.keyed_context, *args, **kwargs)
            except KeyInUse:
                with slot_released():
                    await asyncio.sleep(0.25)
        return await work(self.keyed_context, *args, **kwargs)

    @asynccontextmanager
    async def shown_again(self, again: ShowAgain[P], *subject: P.args, **options: P.kwargs) -> AsyncIterator[None]:
        """
        Answer with the page of the form, what is wrong and all that was typed, when the block is refused.

        :raises DomainError: when the refusal has a page of its own
        """
        try:
            yield
        except DomainError as error:
            if has_own_page(error):
                raise
            async with self.db.reading() as session:
                answer = await again(self.page, session, FormState(self.values, error), *subject, **options)
            raise FormRefused(answer) from error

    async def confirm(
        self,
        warnings: Callable[Concatenate[RequestContext, AsyncSession, P], Awaitable[Sequence[FieldProblem]]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """
        :raises WarningsUnconfirmed: unless these warnings were shown, and the form was sent again to be saved anyway
        """
        async with self.db.reading() as session:
            found = await warnings(self.context, session, *args, **kwargs)
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


async def shown_state(done: Annotated[str, Query(max_length=20)] = "") -> FormState:
    return FormState(done=done)


# A page with a form; `done` in its address names what was carried out.
Shown = Annotated[FormState, Depends(shown_state)]


def new_key() -> str:
    """Return a key for a form of a page, so that a second click is the first one again."""
    return str(new_id())


class AddressFilters(BaseModel):
    """The filters in the address, as they were typed."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    @property
    def given(self) -> dict[str, str]:
        """Return the filters that are not empty, without the project."""
        typed = self.model_dump(by_alias=True, exclude={"project"})
        return {name: value.strip() for name, value in typed.items() if value.strip()}

    @property
    def query(self) -> str:
        return urlencode(self.given)


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


def texts(form: FormValues, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str) and value]


def uploaded(form: FormValues) -> list[tuple[str, str]]:
    """Return public ids and names of the files that have been uploaded for a form."""
    return list(zip(texts(form, "attachment"), texts(form, "attachmentName"), strict=False))


def usable_query(page: PageRequest, schema: type[Order], given: Mapping[str, object]) -> tuple[Order, FormErrors]:
    """Return what can be asked, and what is wrong with the rest, by its field."""
    try:
        return checked_values(schema, given), NO_ERRORS
    except Invalid as error:
        faults = FormErrors(fields=form_errors(error, page.language).fields)
        return checked_values(schema, {key: one for key, one in given.items() if key not in faults.fields}), faults


def read_json(typed: str, pointer: str) -> tuple[Any, FieldProblem | None]:
    """Read what somebody typed as JSON, or say where it is none."""
    try:
        return definition_text.read(typed).value, None
    except definition_text.InvalidJson as fault:
        return None, FieldProblem(pointer, "not_json", NOT_JSON, {"line": fault.line, "column": fault.column})
    except definition_text.JsonTooDeep:
        return None, FieldProblem(pointer, "too_deep", TOO_DEEP)
