"""
What a client asks of an instance, and whether it has seen what it asks about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid
from saraban.workflow.language.vocabulary import reserved


class VersionConflict(DomainError):
    """The version that the client saw is not the present one any more."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_VERSION_CONFLICT"
    says = Text(
        "เอกสารถูกอนุมัติโดยผู้อื่นแล้ว กรุณารีเฟรช", "Somebody else has acted on this document in the meantime. Refresh the page."
    )
    recovery: ClassVar[tuple[Text, ...]] = (REFRESH,)


class VersionLost(VersionConflict):
    """Another step was written between the lock and the update."""

    says = Text("เกิด Conflict กรุณารีเฟรชและลองใหม่", "Somebody else acted at the same moment. Refresh and try again.")
    recovery = (Text("รีเฟรชหน้า", "Refresh the page."), Text("ลองดำเนินการอีกครั้ง", "Try the action again."))


class StaleInstance(DomainError):
    """`If-Match` names another version than the present one."""

    kind, code = ErrorKind.STALE, "WORKFLOW_PRECONDITION_FAILED"
    says = Text(
        "สถานะเอกสารเปลี่ยนไปแล้ว กรุณารีเฟรช",
        "The status of the document has changed since you opened it. Refresh the page.",
    )
    recovery = (REFRESH,)


@dataclass(frozen=True, slots=True)
class Command:
    """
    What a client asks for; nothing in it says who asks.

    :param client_version_no: the `versionNo` the client saw; when it is old the answer is 409
    :param if_match: version numbers from `If-Match`; when none is the present one the answer is 412
    :param on_behalf_of: the person in whose place the caller means to act; the caller himself for his own right alone
    """

    action: str
    comment: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    attachment_public_ids: tuple[UUID, ...] = ()
    client_version_no: int | None = None
    if_match: frozenset[str] | None = None
    response_code: str | None = None
    on_behalf_of: UUID | None = None

    @property
    def names_a_version(self) -> bool:
        return self.client_version_no is not None or self.if_match is not None


def check_payload(command: Command) -> None:
    """
    :raises Invalid: at the first name that would read like the server's own word about who acts
    """
    for name in command.payload:
        if reserved(name):
            th, en = "ชื่อนี้สงวนไว้สำหรับระบบ", "This name is reserved: who acts is known to the server."
            raise invalid(f"/payload/{name}", "reserved", th, en)


def check_version(command: Command, version_no: int) -> None:
    """
    :raises VersionConflict: when the body names another version
    :raises StaleInstance: when `If-Match` names another version
    """
    if command.client_version_no is not None and command.client_version_no != version_no:
        raise VersionConflict(f"The client saw version {command.client_version_no}, the present one is {version_no}.")
    if command.if_match is not None and not command.if_match & {str(version_no), "*"}:
        raise StaleInstance(f"If-Match does not name the present version {version_no}.")
