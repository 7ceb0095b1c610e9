"""The shapes in which a demo document is written down: who wrote what to whom, how long ago, and what happened then."""

from dataclasses import dataclass
from enum import StrEnum


class DemoRegister(StrEnum):
    """The register a document stands in."""

    CORRESPONDENCE = "correspondence"
    RFA = "rfa"
    TRANSMITTAL = "transmittal"
    CIRCULATION = "circulation"


@dataclass(frozen=True, slots=True)
class DemoAction:
    """
    One thing somebody did with a document.

    :param by: user name
    :param action: an action of the workflow, or `revise` or `cancel`
    :param day: days after the document was written
    """

    by: str
    action: str
    day: int = 0
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """
    One demo document.

    :param key: how other scripts name it
    :param age: days since it was written
    :param due: days after that on which an answer is due
    :param files: names; the extension decides what is made
    :param about: keys of documents: references, items of a transmittal, the subject of a circulation sheet
    :param assignees: user names, of a circulation sheet
    """

    key: str
    where: DemoRegister
    by: str
    originator: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    subject: str
    body: str | None = None
    age: int
    due: int | None = None
    type: str | None = None
    priority: str = "MEDIUM"
    contract: str | None = None
    discipline: str | None = None
    rfa_type: str | None = None
    sub_type: str | None = None
    purpose: str | None = None
    files: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    acts: tuple[DemoAction, ...] = ()
