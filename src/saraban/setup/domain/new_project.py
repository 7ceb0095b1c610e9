"""
A new project as the data of a project file: of a template or of another project, under codes of its own.

What a template says of organizations and people are examples, which nobody wants to have; what another project says of them
is so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from saraban.identity.domain.catalogue import CONTRACT, PROJECT

Data = dict[str, Any]  # as a project file has it: `ProjectFile` says what is in it

_OWN: Final = frozenset({"organizations", "people", "project", "members", "contracts", "reviewTeams"})


@dataclass(frozen=True, slots=True)
class NewProject:
    """
    :param party: the organization that begins, with its role in the project and in the contracts that come along
    :param takes_parties: of a copy, members and parties are the source's
    :param takes_people: so are the roles of people and their places in teams
    """

    code: str
    name: str
    name_en: str | None = None
    party: tuple[str, str] | None = None
    takes_parties: bool = False
    takes_people: bool = False


def project_data(new: NewProject, source: Data | None) -> Data:
    """Give the file of a new project; without a source it is empty and has the shipped number formats."""
    project = {"code": new.code, "name": new.name, **({"nameEn": new.name_en} if new.name_en else {})}
    if source is None:
        return {"project": project, "members": _parties(new, ())}
    old = source["project"]["code"]
    codes = {one["code"]: contract_code(one["code"], old, new.code) for one in source["contracts"]}
    places = {(PROJECT, old): new.code} | {(CONTRACT, code): own for code, own in codes.items()}
    people = source.get("people") or () if new.takes_people else ()
    return {
        **{key: part for key, part in source.items() if key not in _OWN},
        "project": project,
        "members": _parties(new, source.get("members") or ()),
        "contracts": [
            {**one, "code": codes[one["code"]], "parties": _parties(new, one.get("parties") or ())}
            for one in source["contracts"]
        ],
        "reviewTeams": [
            {**team, "members": team.get("members") or [] if new.takes_people else []}
            for team in source.get("reviewTeams") or ()
        ],
        "people": [_moved(person, places) for person in people],
    }


def contract_code(code: str, project: str, new: str) -> str:
    """
    Give a contract's code in another project: `TOWER-MC` of TOWER is `NEW-MC` in NEW.

    One that does not begin with the code of its project comes after the new one: no two contracts share a code.
    """
    rest = code.removeprefix(project)
    return new + rest if rest != code and not rest[:1].isalnum() else f"{new}-{code}"


def _parties(new: NewProject, there: Iterable[Data]) -> list[Data]:
    if new.party is None:
        return [*there] if new.takes_parties else []
    code, role = new.party
    others = [one for one in there if new.takes_parties and one["organization"] != code]
    return [*others, {"organization": code, "role": role}]


def _moved(person: Data, places: Mapping[tuple[str, str | None], str]) -> Data:
    """With the roles in the project and its contracts; those in an organization are there already."""
    held = [(role, (role["level"], role.get("place"))) for role in person.get("roles") or ()]
    return {**person, "roles": [{**role, "place": places[key]} for role, key in held if key in places]}
