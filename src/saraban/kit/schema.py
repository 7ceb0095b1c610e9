"""Base of all request and response schemas, and their common text fields, without HTTP."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, ClassVar, Final, Generic, Self, TypeVar
from uuid import UUID

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from saraban.kit.addresses import NOT_MAILBOX, is_mailbox
from saraban.kit.dates import read_date
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.text import DANGEROUS, MOST_MARKS, TOO_MANY_MARKS, control_character, fold_bounded, has_mark_run

T = TypeVar("T")

CODE_LIKE_FORMULA: Final = Text(
    "รหัสขึ้นต้นด้วย = + - @ ไม่ได้ เพราะโปรแกรมตารางจะถือเป็นสูตร",
    "A code cannot begin with = + - @: a spreadsheet would take it for a formula.",
)
# Used by the JSON parser and by pydantic, whichever refuses the body first.
TOO_DEEP: Final = Text("ข้อมูลซ้อนกันลึกเกินไป", "This is nested too deep.")


class Schema(BaseModel):
    """camelCase names; unknown fields are refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", from_attributes=True)

    @classmethod
    def from_object(cls, source: object, **values: object) -> Self:
        """Return the values, and for the other fields what an object has under their names."""
        others = (name for name in cls.model_fields if name not in values and hasattr(source, name))
        return cls.model_validate({name: getattr(source, name) for name in others} | values)


class GenericSchema(Schema, Generic[T]):
    """A generic schema whose OpenAPI name begins with the inner schema's: `UserPage`."""

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return str(params[0].__name__).removesuffix("Out") + cls.__name__.removeprefix("Workflow").removesuffix("Out")


class Items(GenericSchema[T]):
    """A complete list."""

    items: list[T]


class ShortList(Items[T]):
    next_cursor: None = Field(None, description="Always null: the list is short and comes whole.")


class PageOut(Items[T]):
    next_cursor: str | None = Field(description="Cursor of the next page, null on the last one.")


def _fold_within(most: int) -> Callable[[object], object]:
    def fold_text(value: object) -> object:
        if not isinstance(value, str):
            return value
        if len(value) > 4 * most + 100:  # NFC joins at most four characters; 100 allows for outer blanks
            raise PydanticKnownError("string_too_long", {"max_length": most})
        if has_mark_run(value):
            th = TOO_MANY_MARKS.say("th", {"most": MOST_MARKS})
            raise _refuse(th, TOO_MANY_MARKS.en, "combining_marks", most=MOST_MARKS)
        return fold_bounded(value)

    return fold_text


def _refuse(th: str, en: str, code: str, **values: object) -> PydanticCustomError:
    # `kit.problem` reads the Thai message from the context.
    return PydanticCustomError(code, en, {**values, "th": th})


def _check(*, multiline: bool) -> Callable[[str], str]:
    def check(value: str) -> str:
        position = control_character(value, multiline=multiline)
        if position is None:
            return value
        raise _refuse(
            f"มีอักขระควบคุมที่ใช้ไม่ได้ ที่ตำแหน่ง {position + 1}",
            "There is a character at position {position} that cannot be used.",
            "control_character",
            position=position + 1,
        )

    return check


@dataclass(frozen=True)
class SingleLine:
    """`Annotated[str, SingleLine(500)]`: one folded line without control characters."""

    length: int
    shortest: int = 1
    multiline: ClassVar[bool] = False

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(strip_whitespace=True, min_length=self.shortest, max_length=self.length)
        printable = core_schema.no_info_after_validator_function(_check(multiline=self.multiline), text)
        return core_schema.no_info_before_validator_function(_fold_within(self.length), printable)


# Validation context for data that is already stored: rules for new codes do not apply.
STORED: Final = {"stored": True}


# Path segments after a list or a row: a code with such a name would have no address.
_IN_ADDRESSES: Final = re.compile(r"export|import|order|.*/(close|reopen)|(.*/)?\.{1,2}(/.*)?")


def _acceptable_code(value: str, info: ValidationInfo) -> str:
    if info.context and info.context.get("stored"):
        return value
    if value.startswith(DANGEROUS):
        raise _refuse(CODE_LIKE_FORMULA.th, CODE_LIKE_FORMULA.en, "formula")
    if _IN_ADDRESSES.fullmatch(value):
        raise _refuse(
            "รหัสนี้ซ้ำกับคำที่ระบบใช้ในที่อยู่เว็บ", "This is a word of the product's addresses: choose another code.", "reserved"
        )
    return value


@dataclass(frozen=True)
class CodeLine(SingleLine):
    """`Annotated[str, CodeLine(50)]`: a new code, neither a formula nor a path segment in use."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        line = super().__get_pydantic_core_schema__(source, handler)
        return core_schema.with_info_after_validator_function(_acceptable_code, line)


@dataclass(frozen=True)
class MultiLine(SingleLine):
    shortest: int = 0
    multiline: ClassVar[bool] = True


def _single_mailbox(value: str) -> str:
    if not is_mailbox(value):
        raise _refuse(NOT_MAILBOX.th, NOT_MAILBOX.en, "malformed")
    return value.casefold()


Mailbox = Annotated[str, SingleLine(100), AfterValidator(_single_mailbox)]


def _day(value: object) -> date:
    # Pydantic would read 0 as 1 January 1970, and the day of a datetime depends on an unknown zone.
    try:
        return read_date(value.isoformat() if isinstance(value, date) else value if isinstance(value, str) else "")
    except Invalid as fault:
        (problem,) = fault.fields
        raise _refuse(problem.text.th, problem.text.en, problem.code) from None


Day = Annotated[date, BeforeValidator(_day)]


class WarningOut(Schema):
    """A warning about a field of a request that was carried out."""

    code: str = Field(examples=["DUE_DATE_FAR"])
    field: str = Field(description="JSON pointer into the body; empty for all of it.", examples=["/dueDate"])
    message: str = Field(
        description="In the language of the request.",
        examples=["The due date is more than 5 years away. Check the year."],
    )
    public_id: UUID | None = Field(description="Of the document or revision that the message names.")

    @classmethod
    def of(cls, warning: FieldProblem, language: str) -> Self:
        message = warning.text.say(language, warning.values)
        return cls(code=warning.code, field=warning.pointer, message=message, public_id=warning.public_id)


class PeriodQuery(Schema):
    """Filter of a list of events by days. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    since: Day | None = Field(None, alias="from", description="On this day or later, in the deployment's zone.")
    until: Day | None = Field(None, description="On this day or earlier.")


MAX_PAYLOAD = 16_000


def storable(value: dict[str, Any]) -> dict[str, Any]:
    # Half surrogates, numbers beyond 64 bits and deep nesting pass the JSON parser and fail in the database.
    try:
        orjson.dumps(value)
    except TypeError as fault:
        if "Recursion" in str(fault):  # orjson has no separate exception
            raise PydanticCustomError("too_large", TOO_DEEP.en, {"th": TOO_DEEP.th}) from fault
        th = "มีค่าที่จัดเก็บไม่ได้"
        raise PydanticCustomError("malformed", "This holds a value that cannot be stored.", {"th": th}) from fault
    return value


def small(value: dict[str, Any]) -> dict[str, Any]:
    if len(orjson.dumps(value)) > MAX_PAYLOAD:
        th = f"ต้องไม่เกิน {MAX_PAYLOAD} ไบต์"
        raise PydanticCustomError("too_large", "This may have at most {most} bytes.", {"most": MAX_PAYLOAD, "th": th})
    return value


Storable = Annotated[dict[str, Any], AfterValidator(storable)]
Payload = Annotated[dict[str, Any], AfterValidator(storable), AfterValidator(small)]
