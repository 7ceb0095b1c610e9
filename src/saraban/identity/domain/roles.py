"""Rules for custom roles, which never exceed their maker's permissions."""

from collections.abc import Collection, Iterable
from typing import Final

from saraban.identity.domain import catalogue
from saraban.identity.domain.context import EVERYTHING, Caller, Scope
from saraban.kit.errors import FieldProblem, Forbidden, Invalid, Text, invalid
from saraban.kit.text import fold

OF_A_PROJECT: Final = (catalogue.PROJECT, catalogue.CONTRACT)
_SHIPPED_WORDS: Final = {
    fold(word).casefold() for offer in catalogue.ROLES for word in (offer.name, offer.called.th, offer.called.en)
}


def home_of(project_id: int | None) -> Scope:
    return Scope(project=project_id)


def check_names(name: str, name_en: str | None) -> None:
    """:raises Invalid:"""
    says = Text("ชื่อนี้เป็นชื่อบทบาทของระบบ", "This is the name of a shipped role.")
    faults = [
        FieldProblem(pointer, "shipped", says)
        for pointer, text in (("/name", name), ("/nameEn", name_en))
        if text is not None and text.casefold() in _SHIPPED_WORDS
    ]
    if faults:
        raise Invalid(fields=faults)


def check_level(level: str, *, of_project: bool) -> None:
    """:raises Invalid:"""
    if of_project and level not in OF_A_PROJECT:
        th, en = "บทบาทของโครงการอยู่ที่ระดับโครงการหรือสัญญา", "A role of a project is given in the project or in a contract."
        raise invalid("/level", "above_the_project", th, en)


def check_permissions(names: Collection[str], known: Collection[str]) -> None:
    """:raises Invalid:"""
    faults = [
        FieldProblem(f"/permissions/{place}", *fault)
        for place, name in enumerate(names)
        if (fault := _permission_fault(name, known))
    ]
    if faults:
        raise Invalid(fields=faults)


def _permission_fault(name: str, existing: Collection[str]) -> tuple[str, Text, dict[str, str]] | None:
    if name == EVERYTHING:
        return "superadmin_only", Text("สิทธิ์นี้เป็นของผู้ดูแลระบบเท่านั้น", "Only a Superadmin has this."), {}
    if name not in existing:
        return "unknown", Text("ไม่มีสิทธิ์ “{value}”", "There is no permission “{value}”."), {"value": name}
    return None


def within(names: Iterable[str], by: Caller, scope: Scope) -> frozenset[str]:
    """Return the permissions that the maker holds there."""
    return frozenset(name for name in names if name != EVERYTHING and by.may(name, scope))


def require_held(names: Collection[str], by: Caller, scope: Scope) -> None:
    """:raises Forbidden:"""
    missing = sorted(frozenset(names) - within(names, by, scope))
    if missing:
        raise Forbidden(f"The role would change in what the one who changes it may not do, for example {missing[0]}.")
