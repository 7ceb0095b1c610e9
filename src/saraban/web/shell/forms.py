"""Convert typed forms to service requests, and their errors to messages at the fields."""

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
MOST_WAITS: Final = 40  # quarters of a second that a second click waits for the first
NOT_JSON: Final = Text("ไม่ใช่ JSON ที่บรรทัด {line} ตัวอักษรที่ {column}", "Not valid JSON: line {line}, character {column}.")
TOO_DEEP: Final = Text("ข้อมูลซ้อนลึกเกินไป", "This is too deeply nested.")
ShowAgain = Callable[Concatenate[PageRequest, AsyncSession, FormState, P], Awaitable[Response]]
_ELSEWHERE = frozenset({ErrorKind.NOT_FOUND, ErrorKind.UNAUTHENTICATED, ErrorKind.BROKEN, ErrorKind.FULL})


class FormRefused(Exception):
    """Carries the page of a refused form; `PageRoute` sends it."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


class WarningsUnconfirmed(DomainError):
    """The form has warnings. Send it again with `detail` as `accepts` to save it anyway."""

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
        """The form's key makes a second click a repeat of the first."""
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
        """Do keyed work; a second click waits for the first one's result."""
        for _ in range(MOST_WAITS):
            try:
                return await work(self.keyed_context, *args, **kwargs)
            except KeyInUse:
                with slot_released():
                    await asyncio.sleep(0.25)
        return await work(self.keyed_context, *args, **kwargs)

    @asynccontextmanager
    async def show_on_refusal(self, again: ShowAgain[P], *subject: P.args, **options: P.kwargs) -> AsyncIterator[None]:
        """
        If the block is refused, show the form again with its values and errors.
        :raises DomainError: when the refusal has its own page
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
        """:raises WarningsUnconfirmed: unless the form confirms exactly these warnings"""
        async with self.db.reading() as session:
            problems = await warnings(self.context, session, *args, **kwargs)
        digest = hashlib.sha256(repr(problems).encode()).hexdigest()
        if problems and self.text("accepts") != digest:
            raise WarningsUnconfirmed(digest, fields=problems)

    @property
    def project(self) -> UUID:
        return project_in(self.values)

    def text(self, name: str) -> str | None:
        return text(self.values, name)

    def filled(self, *names: str) -> dict[str, str]:
        return {name: typed for name in names if (typed := self.text(name))}

    def order(self, schema: type[Order], payload: Mapping[str, object]) -> Order:
        """:raises Invalid:"""
        return checked_values(schema, payload)


async def sent_form(page: CurrentPage, db: Db, request: Request) -> SentForm:
    return SentForm(page, db, await read_form(request))


CurrentForm = Annotated[SentForm, Depends(sent_form)]


async def shown_state(done: Annotated[str, Query(max_length=20)] = "") -> FormState:
    return FormState(done=done)


# `done` in the address is the key of the completed action.
Shown = Annotated[FormState, Depends(shown_state)]


def new_key() -> str:
    return str(new_id())


class AddressFilters(BaseModel):
    """Filters as typed in the address."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    @property
    def given(self) -> dict[str, str]:
        typed = self.model_dump(by_alias=True, exclude={"project"})
        return {name: value.strip() for name, value in typed.items() if value.strip()}

    @property
    def query(self) -> str:
        return urlencode(self.given)


def form_with(**values: str) -> FormValues:
    return ImmutableMultiDict(values)


async def read_form(request: Request) -> FormData:
    """Files are uploaded separately, so the form may contain none."""
    return check_form(await request.form(max_files=0, max_fields=MOST_FIELDS))


def text(form: FormValues, name: str) -> str | None:
    value = form.get(name)
    typed = value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""
    return typed or None


def number_or_text(typed: str) -> int | str:
    """Return a whole number, or the text for the schema to refuse."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 12 else typed


def project_in(form: FormValues) -> UUID:
    """:raises NotFound: without a valid id"""
    project = id_of(text(form, "project"))
    if project is None:
        raise NotFound("There is no such project.")
    return project


def has_own_page(error: DomainError) -> bool:
    """Return whether an error needs its own page, because its form cannot be shown again."""
    return error.kind in _ELSEWHERE or isinstance(error, FileReadersBusy)


def texts(form: FormValues, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str) and value]


def uploaded(form: FormValues) -> list[tuple[str, str]]:
    """Return ids and names of the files uploaded for a form."""
    return list(zip(texts(form, "attachment"), texts(form, "attachmentName"), strict=False))


def usable_query(page: PageRequest, schema: type[Order], given: Mapping[str, object]) -> tuple[Order, FormErrors]:
    """Return the query without its invalid fields, and their errors."""
    try:
        return checked_values(schema, given), NO_ERRORS
    except Invalid as error:
        faults = FormErrors(fields=form_errors(error, page.language).fields)
        return checked_values(schema, {key: value for key, value in given.items() if key not in faults.fields}), faults


def read_json(typed: str, pointer: str) -> tuple[Any, FieldProblem | None]:
    """Parse typed JSON, or return its error."""
    try:
        return definition_text.read(typed).value, None
    except definition_text.InvalidJson as fault:
        return None, FieldProblem(pointer, "not_json", NOT_JSON, {"line": fault.line, "column": fault.column})
    except definition_text.JsonTooDeep:
        return None, FieldProblem(pointer, "too_deep", TOO_DEEP)
