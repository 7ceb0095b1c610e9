"""The queue of changes, and the nodes that follow it."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base


class SearchChange(Base):
    """Rows stay until every node has read them. `kind` is a value of `SearchKind` or `NameOf`."""

    __tablename__ = "search_changes"
    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger)
    head_uuid: Mapped[UUID]

    __table_args__ = ({"sqlite_autoincrement": True},)


class SearchNode(Base):
    """:param position: its index contains each change up to this `id`"""

    __tablename__ = "search_nodes"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(sa.BigInteger)
    seen_at: Mapped[datetime]
