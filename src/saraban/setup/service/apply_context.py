"""
What the parts of a project file are saved with. A refusal of the services behind them gets the line and key of the file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.identity.models import Organization
from saraban.identity.service import Invitation
from saraban.kit.errors import DomainError, FieldProblem
from saraban.kit.problem import pointer_of
from saraban.projects.models import (
    Contract,
    Project,
)
from saraban.setup.domain.comparison import ProjectItems, Values
from saraban.setup.domain.project_yaml import ReadFile, YamlPath, located

REASON: Final = "ตามไฟล์โครงการ / Project file"


@dataclass
class ApplyContext:
    """What the parts of a file are saved with; the rows are those of the project, by their codes."""

    ctx: RequestContext
    session: AsyncSession
    read: ReadFile
    wanted: ProjectItems
    project: Project | None
    organizations: dict[str, Organization] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    contracts: dict[str, Contract] = field(default_factory=dict)
    people: dict[str, UUID] = field(default_factory=dict)
    invitations: list[Invitation] = field(default_factory=list)

    @property
    def project_row(self) -> Project:
        assert self.project is not None
        return self.project

    @property
    def project_public_id(self) -> UUID:
        return self.project_row.public_id

    @contextmanager
    def placed(self, at: YamlPath, names: Mapping[str, str] | None = None) -> Iterator[None]:
        """
        Have a refusal name line and key of the file.

        :param names: keys of the file by the fields of the service
        """
        try:
            yield
        except DomainError as error:
            own = FieldProblem("", error.code.lower(), error.words, error.values)
            error.fields = tuple(self._located(one, at, names or {}) for one in error.fields or (own,))
            raise

    def _located(self, problem: FieldProblem, at: YamlPath, names: Mapping[str, str]) -> FieldProblem:
        key = problem.pointer.strip("/").split("/")[0]
        place = (*at, names.get(key, key)) if key else at
        return located(self.read.lines, replace(problem, pointer=pointer_of(("body", *place))), place)


def fill(row: object, values: Values, columns: Mapping[str, str]) -> None:
    for key, column in columns.items():
        if key in values:
            setattr(row, column, values[key])
