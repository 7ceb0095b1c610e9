"""What other features know of projects, parties and master data: keys for their joins, codes for their prints."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from saraban.identity.domain.catalogue import PartyRole


@dataclass(frozen=True, slots=True)
class ProjectRef:
    id: int
    public_id: UUID
    code: str
    name: str
    name_en: str | None = None


@dataclass(frozen=True, slots=True)
class OrganizationRef:
    """An organization that takes part in the project; `role` is OWNER, DESIGNER, CONSULTANT, CONTRACTOR or OTHER."""

    id: int
    public_id: UUID
    code: str
    name: str
    role: PartyRole


@dataclass(frozen=True, slots=True)
class Party:
    """An organization in a project or contract, with the role that it has there."""

    id: int
    public_id: UUID
    code: str
    role: PartyRole


def by_role(parties: Iterable[Party]) -> dict[str, frozenset[int]]:
    """Return the keys of the organizations by the role that they have."""
    found: dict[str, set[int]] = {}
    for party in parties:
        found.setdefault(party.role, set()).add(party.id)
    return {part: frozenset(keys) for part, keys in found.items()}


@dataclass(frozen=True, slots=True)
class ContractRef:
    id: int
    public_id: UUID
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class TypeRef:
    id: int
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class DisciplineRef:
    id: int
    code: str
    contract_id: int


@dataclass(frozen=True, slots=True)
class RfaTypeRef:
    id: int
    code: str
    contract_id: int


@dataclass(frozen=True, slots=True)
class SubTypeRef:
    """`number` is what `{SUB_TYPE}` prints (REQ-FMT-13)."""

    id: int
    code: str
    number: str
    contract_id: int


@dataclass(frozen=True, slots=True)
class PrintableCodes:
    """Each code that a document number of one project may print."""

    organizations: frozenset[str]
    disciplines: frozenset[str]
    rfa_types: frozenset[str]
    sub_type_numbers: frozenset[str]
    types: frozenset[str]
