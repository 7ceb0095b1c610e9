"""Base table of imports; each kind of import has its own table."""

from datetime import datetime
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, HasPublicId


class FileImport(HasPublicId, Base):
    """:param file_key: of an uploaded file; its worker holds `lease`"""

    __abstract__ = True
    entity: ClassVar[str]  # name in the audit trail and in receipts

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
        return (self.report or {}).get("sheet")


OneImport = TypeVar("OneImport", bound=FileImport)


class ImportRow(NamedTuple, Generic[OneImport]):
    row: OneImport
    project: UUID
    username: str
    user: UUID


AnyImportRow = ImportRow[Any]
