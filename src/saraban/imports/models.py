"""Rows of imports: what was asked, how far it is, what came of it; each kind of import has a table of its own."""

from datetime import datetime
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, HasPublicId


class FileImport(HasPublicId, Base):
    """
    One file to be imported.

    :param file_key: where an uploaded file lies; a worker does the work and holds `lease` meanwhile
    :param report: what the dry run found, and what the import did; as the kind of import has it
    """

    __abstract__ = True
    entity: ClassVar[str]  # what the audit trail and receipts call it

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    file_name: Mapped[str] = mapped_column(sa.String(255))
    file_sha256: Mapped[str] = mapped_column(sa.String(64))
    state: Mapped[str] = mapped_column(sa.String(10))
    rows_total: Mapped[int] = mapped_column(default=0)
    rows_done: Mapped[int] = mapped_column(default=0)
    rows_refused: Mapped[int] = mapped_column(default=0)
    rows_written: Mapped[int] = mapped_column(default=0, server_default="0")
    report: Mapped[dict[str, Any] | None]
    file_key: Mapped[str | None] = mapped_column(sa.String(100))
    lease: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    leases_lost: Mapped[int] = mapped_column(default=0, server_default="0")
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]

    @property
    def sheet(self) -> str | None:
        """The one to read, where several have the headings."""
        return (self.report or {}).get("sheet")


OneImport = TypeVar("OneImport", bound=FileImport)


class ImportRow(NamedTuple, Generic[OneImport]):
    """An import with its project and the account that asked for it."""

    row: OneImport
    project: UUID
    username: str
    user: UUID


AnyImportRow = ImportRow[Any]
