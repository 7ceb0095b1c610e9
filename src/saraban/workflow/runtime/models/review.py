"""The branches of a parallel review: who is asked in a state, and what was answered."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code
from saraban.kit.ids import new_id
from saraban.workflow.language.review import BranchStatus
from saraban.workflow.runtime.models import UuidText


class WorkflowBranch(Base):
    """
    One branch of one round. `opened_version` is the instance's at the moment its state was entered, so that a state which
    is entered twice asks twice; `version_no` is the branch's own, and rises when it is answered or closed.
    """

    __tablename__ = "workflow_branches"
    __table_args__ = (
        sa.UniqueConstraint("instance_id", "opened_version", "name", name="uk_wf_branch_round_name"),
        sa.Index("idx_wf_branch_open", "status", "assignee_kind", "assignee_name"),
    )

    id: Mapped[UUID] = mapped_column(UuidText(), primary_key=True, default=new_id)
    instance_id: Mapped[UUID] = mapped_column(
        UuidText(), sa.ForeignKey("workflow_instances.id", ondelete="RESTRICT", name="fk_wf_branch_inst")
    )
    state: Mapped[str] = mapped_column(Code(50))
    opened_version: Mapped[int]
    position: Mapped[int]
    name: Mapped[str] = mapped_column(Code(50))
    assignee_kind: Mapped[str] = mapped_column(sa.String(20))
    assignee_name: Mapped[str] = mapped_column(Code(100))
    status: Mapped[str] = mapped_column(sa.String(20), default=BranchStatus.PENDING)
    answer: Mapped[str | None] = mapped_column(Code(20))
    comment: Mapped[str | None] = mapped_column(sa.Text())
    answered_by_user_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("users.user_id", name="fk_wf_branch_answered_by")
    )
    answered_by_user_uuid: Mapped[str | None] = mapped_column(sa.String(36))
    on_behalf_of_user_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("users.user_id", name="fk_wf_branch_on_behalf")
    )
    on_behalf_of_user_uuid: Mapped[str | None] = mapped_column(sa.String(36))
    history_id: Mapped[UUID | None] = mapped_column(
        UuidText(), sa.ForeignKey("workflow_histories.id", name="fk_wf_branch_history")
    )
    answered_at: Mapped[datetime | None]
    version_no: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
