"""Who acts for whom while away: the days, how far it reaches, and whether it was taken back."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, HasPublicId, TableArguments, public_id_index


class DelegationRow(HasPublicId, Base):
    """
    One person's steps lent to another; a row is taken back, never deleted, because histories name both people.

    The days are what people chose, in the deployment's zone; `starts_at` and `ends_before` are their moments, so that
    whoever asks what counts now needs no zone.
    """

    __tablename__ = "delegations"

    id: Mapped[int] = mapped_column(primary_key=True)
    delegator_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", name="fk_delegations_delegator"))
    delegate_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", name="fk_delegations_delegate"))
    starts_on: Mapped[date]
    ends_on: Mapped[date]
    starts_at: Mapped[datetime]
    ends_before: Mapped[datetime]
    workflow_codes: Mapped[list[str]]
    project_id: Mapped[int | None] = mapped_column(sa.ForeignKey("projects.id", name="fk_delegations_project"))
    reason: Mapped[str] = mapped_column(sa.String(500))
    version: Mapped[int]
    revoked_at: Mapped[datetime | None]
    revoked_by_user_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("users.user_id", name="fk_delegations_revoked_by")
    )
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index(
            "delegations",
            sa.Index("idx_delegations_delegate", "delegate_user_id", "ends_before"),
            sa.Index("idx_delegations_delegator", "delegator_user_id", "ends_before"),
        )
