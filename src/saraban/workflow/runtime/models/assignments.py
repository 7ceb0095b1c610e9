"""Which workflow documents start on, where somebody chose one."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code


class WorkflowAssignment(Base):
    """
    One choice for a kind of document; a place has one, so that it is changed and taken back under its own name.

    `reach` is the project's key again, 0 where there is none, and `type_code` is empty where every type is meant: a
    database counts no two nulls as one place.
    """

    __tablename__ = "workflow_choices"
    __table_args__ = (
        sa.UniqueConstraint("kind", "reach", "type_code", name="uk_wf_choice_place"),
        sa.Index("idx_wf_choice_code", "workflow_code"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int | None] = mapped_column(sa.ForeignKey("projects.id", name="fk_wf_choice_project"))
    reach: Mapped[int]
    kind: Mapped[str] = mapped_column(Code(20))
    type_code: Mapped[str] = mapped_column(Code(50))
    workflow_code: Mapped[str] = mapped_column(Code(50))
    chosen_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id", name="fk_wf_choice_chosen_by"))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
