"""Checks that items of a project file are unique and their references exist."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from saraban.identity.domain.catalogue import CONTRACT, GLOBAL, ORGANIZATION, PROJECT
from saraban.kit.errors import REQUIRED, FieldProblem
from saraban.kit.text import normal_form
from saraban.setup.domain.comparison import Codes, FileItem, ProjectItems
from saraban.setup.domain.master_rows import LOOKS_ALIKE
from saraban.setup.domain.project_yaml import ReadFile

_NOUNS: Final = {
    "organization": "องค์กร (organizations)",
    "project": "โครงการ (project)",
    "contract": "สัญญา (contracts)",
    "document type": "ประเภทเอกสาร (correspondenceTypes)",
    "RFA type": "ประเภท RFA (rfaTypes)",
    "discipline": "สาขางาน (disciplines)",
    "sub type": "ประเภทย่อย (subTypes)",
    "person": "ผู้ใช้งาน (people)",
    "role": "บทบาท",
    "workflow in force": "กระบวนงานที่ใช้งานอยู่",
}

Code = tuple[str, str]


@dataclass(frozen=True, slots=True)
class KnownCodes:
    """
    :param accounts: e-mail addresses by user name
    :param codes: (kind as in `code_kind`, code) of all rows, including closed ones
    """

    organizations: AbstractSet[str]
    types: AbstractSet[str]
    roles: Mapping[str, str]
    workflows: AbstractSet[str]
    accounts: Mapping[str, str]
    codes: AbstractSet[Code] = frozenset()


def reference_faults(
    read: ReadFile, wanted: ProjectItems, current: ProjectItems, known: KnownCodes
) -> list[FieldProblem]:
    th, en = "รหัสนี้ซ้ำกับที่ระบุไว้ก่อนหน้าในไฟล์", "This is already in the file."
    faults = [read.fault(at, "duplicate", th, en) for at in wanted.duplicates]
    faults += _collisions(read, wanted, known.codes)
    check = _ReferenceCheck(read, wanted, known)
    for path in (*wanted.by_path, *current.by_path):
        if len(path) == 2:
            check.top[path[0]].add(path[1])
        elif path[0] == "contracts":
            check.of_contracts[path[2]].add(path[3])
    for path, item in wanted.by_path.items():
        faults += check.item_faults(path, item)
    return [*faults, *_taken_addresses(read, wanted, known)]


@dataclass(frozen=True)
class _ReferenceCheck:
    read: ReadFile
    wanted: ProjectItems
    known: KnownCodes
    top: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    of_contracts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def item_faults(self, path: Codes, item: FileItem) -> Iterator[FieldProblem]:
        match path:
            case ("members", _) | ("people", _):
                yield from self._reference(item, "organization", "organization", self._organizations())
            case ("contracts", _, "parties", _):
                yield from self._reference(item, "organization", "member", self.top["members"])
            case ("contracts", _, "subTypes", _):
                yield from self._reference(item, "type", "document type", self._types())
            case ("numberFormats", _):
                yield from self._format(item)
            case ("assignments", _):
                yield from self._assignment(item)
            case ("reviewTeams", _, "members", _):
                yield from self._reference(item, "person", "person", self.top["people"] | self.known.accounts.keys())
                yield from self._reference(item, "discipline", "discipline", self.of_contracts["disciplines"])
            case ("people", _, "roles", _):
                yield from self._role(item)

    def _format(self, item: FileItem) -> Iterator[FieldProblem]:
        yield from self._reference(item, "type", "document type", self._types())
        yield from self._reference(item, "rfaType", "RFA type", self.of_contracts["rfaTypes"])
        yield from self._reference(item, "discipline", "discipline", self.of_contracts["disciplines"])
        kind, code = item.values.get("type"), item.values.get("subType")
        if code is not None and f"{kind} {code}" not in self.of_contracts["subTypes"]:
            yield self._unknown(item, "subType", "sub type")

    def _assignment(self, item: FileItem) -> Iterator[FieldProblem]:
        yield from self._reference(item, "workflow", "workflow in force", self.known.workflows)
        if item.values["kind"] == "RFA":
            yield from self._reference(item, "type", "RFA type", self.of_contracts["rfaTypes"])

    def _role(self, item: FileItem) -> Iterator[FieldProblem]:
        level, place, role = item.values["level"], item.values.get("place"), item.values["role"]
        if role not in self.known.roles:
            yield self._unknown(item, "role", "role")
        elif self.known.roles[role] != level:
            th, en = "บทบาทนี้มอบได้ที่ระดับ {scope} เท่านั้น", "This role is given at the level {scope} only."
            yield self.read.fault((*item.at, "level"), "does_not_fit", th, en, scope=self.known.roles[role])
        if level == GLOBAL and place is not None:
            th, en = "ระดับ Global ไม่มี place", "The level Global has no place."
            yield self.read.fault((*item.at, "place"), "not_needed", th, en)
        elif level != GLOBAL and place is None:
            yield self.read.fault((*item.at, "place"), "required", REQUIRED.th, REQUIRED.en)
        yield from self._reference(item, "place", level.lower(), self._places(level))

    def _places(self, level: str) -> AbstractSet[str]:
        if level == PROJECT:
            return {self.wanted.by_path["project",].values["code"]}
        if level == CONTRACT:
            return self.top["contracts"]
        return self._organizations() if level == ORGANIZATION else {""}

    def _reference(self, item: FileItem, key: str, noun: str, known: Collection[str]) -> Iterator[FieldProblem]:
        value = item.values.get(key)
        if value is not None and value not in known and not (key == "place" and known == {""}):
            yield self._unknown(item, key, noun)

    def _unknown(self, item: FileItem, key: str, noun: str) -> FieldProblem:
        th = f"ไม่มี{_NOUNS.get(noun, noun)} “{{value}}” ทั้งในไฟล์และในระบบ"
        en = f"There is no {noun} “{{value}}”, neither in the file nor in the database."
        if noun == "member":
            th = "องค์กร “{value}” ยังไม่อยู่ในโครงการ เพิ่มใน `members`"
            en = "The organization “{value}” is no member of the project: add it to `members`."
        return self.read.fault((*item.at, key), "unknown", th, en, value=item.values[key])

    def _organizations(self) -> AbstractSet[str]:
        return self.top["organizations"] | self.known.organizations

    def _types(self) -> AbstractSet[str]:
        return self.top["correspondenceTypes"] | self.known.types


def _collisions(read: ReadFile, wanted: ProjectItems, codes: AbstractSet[Code]) -> Iterator[FieldProblem]:
    """Find codes that differ only in case: readers would confuse their numbers."""
    codes_by_form = {(kind, normal_form(code)): code for kind, code in codes}
    for path, item in wanted.by_path.items():
        kind = code_kind(path)
        if kind is None:
            continue
        code = item.values["code"] if path[0] == "project" else path[-1]
        other = codes_by_form.setdefault((kind, normal_form(code)), code)
        if other != code and (kind, code) not in codes:
            key = "username" if kind == "people" else "code"
            yield read.fault((*item.at, key), "collides", LOOKS_ALIKE.th, LOOKS_ALIKE.en, value=code, other=other)


def code_kind(path: Codes) -> str | None:
    match path:
        case ("project",) | (("organizations" | "correspondenceTypes" | "contracts" | "reviewTeams" | "people"), _):
            return path[0]
        case ("contracts", _, ("disciplines" | "rfaTypes" | "subTypes") as kind, _):
            return kind
    return None


def _taken_addresses(read: ReadFile, wanted: ProjectItems, known: KnownCodes) -> Iterator[FieldProblem]:
    owners: dict[str, str] = {email: name for name, email in known.accounts.items()}
    for path, item in wanted.by_path.items():
        if path[0] == "people" and "email" in item.values:
            owner = owners.setdefault(item.values["email"], path[1])
            if owner != path[1]:
                th, en = "อีเมลนี้เป็นของบัญชี “{value}”", "This address belongs to the account “{value}”."
                yield read.fault((*item.at, "email"), "taken", th, en, value=owner)
