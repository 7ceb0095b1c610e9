"""Rules for names and addresses of accounts, and delivery preferences."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ParamSpec, TypeVar

from saraban.kit.addresses import NOT_MAILBOX, is_mailbox
from saraban.kit.errors import FieldProblem, Invalid, invalid
from saraban.kit.json import JsonObject
from saraban.kit.text import control_character, fold

T = TypeVar("T")
P = ParamSpec("P")

NO_PASSWORD = "!"  # noqa: S105  not a hash, so the account cannot log in


class UserState(StrEnum):
    ACTIVE = "active"
    LOCKED = "locked"
    INVITED = "invited"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class DeliveryPreferences:
    """Hours are in the deployment's zone; webhooks are off unless chosen in `channels`."""

    by_mail: bool = True
    digest: bool = False
    digest_hour: int = 8
    quiet_from: int | None = None
    quiet_until: int | None = None
    channels: Mapping[str, JsonObject] = field(default_factory=dict)

    def chose(self, kind: str, channel: str) -> bool:
        return bool(self.channels.get(kind, {}).get(channel, channel != "webhook"))


_BROWSERS = ("Line/", "Edg", "OPR", "SamsungBrowser", "Firefox", "FxiOS", "CriOS", "Chrome", "Safari")
_SYSTEMS = ("iPhone", "iPad", "Android", "Windows", "Mac OS X", "Linux")
_NAMES = {"Line/": "LINE", "Edg": "Edge", "OPR": "Opera", "FxiOS": "Firefox", "CriOS": "Chrome", "Mac OS X": "Mac"}


def device_name(user_agent: str) -> str:
    marks = [next((mark for mark in group if mark in user_agent), "") for group in (_BROWSERS, _SYSTEMS)]
    return " · ".join(_NAMES.get(mark, mark) for mark in marks if mark) or user_agent.partition("/")[0][:40]


@dataclass(slots=True)
class FieldChecks:
    faults: list[FieldProblem] = field(default_factory=list)

    def run(self, check: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return None if the check raises `Invalid`."""
        try:
            return check(*args, **kwargs)
        except Invalid as fault:
            self.faults += fault.fields
            return None

    def require_none(self) -> None:
        """:raises Invalid:"""
        if self.faults:
            raise Invalid(fields=self.faults)


def canonical_username(username: str) -> str:
    return fold(username.strip(), "/username").casefold()


def acceptable_username(username: str) -> str:
    """:raises Invalid:"""
    name = canonical_username(username)
    if not 2 <= len(name) <= 50 or any(map(str.isspace, name)) or control_character(name) is not None:
        raise invalid(
            "/username",
            "malformed",
            "ชื่อผู้ใช้ต้องมี 2 ถึง 50 ตัวอักษรและไม่มีช่องว่าง",
            "A user name has 2 to 50 characters and no blanks.",
        )
    return name


def acceptable_address(email: str) -> str:
    """:raises Invalid:"""
    mail = fold(email.strip(), "/email").casefold()
    if len(mail) > 100 or not is_mailbox(mail):
        raise invalid("/email", "malformed", NOT_MAILBOX.th, NOT_MAILBOX.en)
    return mail


def acceptable_name(pointer: str, name: str) -> str:
    """:raises Invalid:"""
    folded = fold(name.strip(), pointer)
    if len(folded) > 50 or control_character(folded) is not None:
        raise invalid(
            pointer,
            "malformed",
            "ชื่อและนามสกุลต้องไม่เกินส่วนละ 50 ตัวอักษร และไม่มีอักขระควบคุม",
            "First and last name have at most 50 characters each, and no control characters.",
        )
    return folded
