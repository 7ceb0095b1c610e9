"""The project file of a new project, made from a template or another project."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from saraban.identity.domain.catalogue import CONTRACT, PROJECT

Data = dict[str, Any]  # part of a project file, as `ProjectFile` defines it

_NOT_COPIED: Final = frozenset({"organizations", "people", "project", "members", "contracts", "reviewTeams"})


@dataclass(frozen=True, slots=True)
class NewProject:
    """:param party: first organization, and its role in the project and in copied contracts"""

    code: str
    name: str
    name_en: str | None = None
    party: tuple[str, str] | None = None
    takes_parties: bool = False
    takes_people: bool = False


def project_data(new: NewProject, source: Data | None) -> Data:
    """Return the data without a template's organizations and people, which are examples."""
    project = {"code": new.code, "name": new.name, **({"nameEn": new.name_en} if new.name_en else {})}
    if source is None:
        return {"project": project, "members": _parties(new, ())}
    old = source["project"]["code"]
    codes = {contract["code"]: contract_code(contract["code"], old, new.code) for contract in source["contracts"]}
    places = {(PROJECT, old): new.code} | {(CONTRACT, old_code): code for old_code, code in codes.items()}
    people = source.get("people") or () if new.takes_people else ()
    return {
        **{key: part for key, part in source.items() if key not in _NOT_COPIED},
        "project": project,
        "members": _parties(new, source.get("members") or ()),
        "contracts": [
            {**contract, "code": codes[contract["code"]], "parties": _parties(new, contract.get("parties") or ())}
            for contract in source["contracts"]
        ],
        "reviewTeams": [
            {**team, "members": team.get("members") or [] if new.takes_people else []}
            for team in source.get("reviewTeams") or ()
        ],
        "people": [_move_roles(person, places) for person in people],
    }


def contract_code(code: str, project: str, new: str) -> str:
    """Return the code of a copied contract: `TOWER-MC` of TOWER becomes `NEW-MC` in NEW."""
    rest = code.removeprefix(project)
    return new + rest if rest != code and not rest[:1].isalnum() else f"{new}-{code}"


def _parties(new: NewProject, parties: Iterable[Data]) -> list[Data]:
    if new.party is None:
        return [*parties] if new.takes_parties else []
    code, role = new.party
    others = [party for party in parties if new.takes_parties and party["organization"] != code]
    return [*others, {"organization": code, "role": role}]


def _move_roles(person: Data, places: Mapping[tuple[str, str | None], str]) -> Data:
    """Keep only roles in the project and its contracts."""
    roles = [(role, (role["level"], role.get("place"))) for role in person.get("roles") or ()]
    return {**person, "roles": [{**role, "place": places[key]} for role, key in roles if key in places]}
