"""The state of a form: typed values, errors, and the completed action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from starlette.datastructures import ImmutableMultiDict, UploadFile

from saraban.kit.errors import DomainError
from saraban.kit.ids import trace_id
from saraban.kit.problem import to_problem

FormValues = ImmutableMultiDict[str, UploadFile | str]
EMPTY_FORM: Final[FormValues] = ImmutableMultiDict()
# The first part of a pointer is the field's name, except for these.
_FIELD_OF: Final = {
    "recipients": "to",
    "recipientOrganizationPublicId": "to",
    "currentPassword": "current",
    "newPassword": "password",
}


@dataclass(frozen=True, slots=True)
class FormErrors:
    problem: Mapping[str, object] | None = None
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def at(self, name: str) -> Sequence[str]:
        return self.fields.get(name, ())

    def any_of(self, names: Sequence[str]) -> bool:
        return not self.fields.keys().isdisjoint(names)

    @property
    def status(self) -> int:
        return 200 if self.problem is None else int(str(self.problem["status"]))

    def __bool__(self) -> bool:
        return self.problem is not None


NO_ERRORS: Final = FormErrors()


def form_errors(error: DomainError | None, language: str) -> FormErrors:
    if error is None:
        return NO_ERRORS
    messages: dict[str, list[str]] = {}
    for fault in error.fields:
        message = fault.text.say(language, fault.values)
        name = field_of(fault.pointer)
        if message not in messages.setdefault(name, []):
            messages[name].append(message)
    return FormErrors(to_problem(error, language=language, trace_id=trace_id()), messages)


def error_messages(error: DomainError, language: str) -> list[str]:
    """Return the messages of the fields, or the error's own message."""
    return [fault.text.say(language, fault.values) for fault in error.fields] or [
        error.words.say(language, error.values)
    ]


def field_of(pointer: str) -> str:
    """Return the form field of a pointer. Each value of a step's payload is one field."""
    name, *rest = pointer.removeprefix("/").split("/")
    if name == "payload" and rest:
        return "payload." + rest[0].replace("~1", "/").replace("~0", "~")
    return _FIELD_OF.get(name, name)


@dataclass(frozen=True, slots=True)
class FormState:
    """:param done: key of the completed action"""

    form: FormValues = field(default_factory=ImmutableMultiDict)
    error: DomainError | None = None
    done: str = ""

    def or_stored(self, stored: FormValues) -> Self:
        """Fill the form with stored values, unless it was refused."""
        return self if self.error is not None else replace(self, form=stored)


NEW_FORM: Final = FormState()
