"""
Definitions, running instances, their histories and what they wait for, under the specification's table names.

Keys are UUID text (`CHAR(36)`), so a workflow's own key is its public id; integer keys here point at other features.
"""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.workflow.language.subject import InstanceStatus


class UuidText(sa.TypeDecorator[UUID]):
    """A UUID in Python, 36 characters of text in both databases, as the specification has these keys."""

    impl = sa.CHAR(36)
    cache_ok = True

    def process_bind_param(self, value: UUID | str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002  SQLAlchemy's signature
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> UUID | None:  # noqa: ARG002  the same
        return None if value is None else UUID(value)


class WorkflowDefinition(Base):
    """One immutable version of a workflow; only `is_active` and the description ever change."""

    __tablename__ = "workflow_definitions"
    __table_args__ = (
        sa.UniqueConstraint("workflow_code", "version", name="uq_workflow_version"),
        sa.Index("idx_workflow_active", "workflow_code", "is_active", "version"),
    )

    id: Mapped[UUID] = mapped_column(UuidText(), primary_key=True, default=new_id)
    workflow_code: Mapped[str] = mapped_column(Code(50))
    version: Mapped[int] = mapped_column(default=1)
    description: Mapped[str | None] = mapped_column(sa.Text())
    dsl: Mapped[dict[str, Json]]
    compiled: Mapped[dict[str, Json]]
    is_active: Mapped[bool] = mapped_column(default=False)
    created_by_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class WorkflowInstance(Base):
    """
    The run of one definition version for one subject; `version_no` rises with every transition.

    `due_on` and `assigned_user_id` are of the present state: the day by which somebody has to act, and who, if it is
    one person's alone.
    """

    __tablename__ = "workflow_instances"
    __table_args__ = (
        sa.Index("idx_wf_inst_version", "id", "version_no"),
        sa.Index("idx_wf_inst_entity", "entity_type", "entity_id"),
        sa.Index("idx_wf_inst_state", "current_state"),
        sa.Index("idx_wf_inst_contract", "contract_id", "entity_type", "status"),
        sa.Index("idx_wf_inst_due", "due_on"),
    )

    id: Mapped[UUID] = mapped_column(UuidText(), primary_key=True, default=new_id)
    definition_id: Mapped[UUID] = mapped_column(
        UuidText(), sa.ForeignKey("workflow_definitions.id", ondelete="RESTRICT", name="fk_wf_inst_def")
    )
    contract_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("contracts.id", ondelete="SET NULL", name="fk_wf_inst_contract")
    )
    entity_type: Mapped[str] = mapped_column(Code(50))
    entity_id: Mapped[str] = mapped_column(Code(50))
    current_state: Mapped[str] = mapped_column(Code(50))
    status: Mapped[str] = mapped_column(
        sa.Enum(*(one.value for one in InstanceStatus), name="workflow_instance_status"), default=InstanceStatus.ACTIVE
    )
    context: Mapped[dict[str, Json] | None]
    version_no: Mapped[int] = mapped_column(default=1, server_default="1")
    started_by_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    due_on: Mapped[date | None]
    assigned_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id", name="fk_wf_inst_assigned"))
    last_transition_at: Mapped[datetime]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


@dataclass(slots=True)
class Instance:
    """
    A row of `workflow_instances` as it was read, or as it stands after a step.

    It belongs to no session: an instance changes by compare-and-set alone.
    """

    id: UUID
    definition_id: UUID
    contract_id: int | None
    entity_type: str
    entity_id: str
    current_state: str
    status: str
    context: dict[str, Json] | None
    version_no: int
    started_by_user_id: int | None
    due_on: date | None
    assigned_user_id: int | None
    last_transition_at: datetime
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: WorkflowInstance) -> "Instance":
        return cls(**{name: getattr(row, name) for name in cls.__slots__})

    @classmethod
    def detached(cls, session: AsyncSession, row: WorkflowInstance) -> "Instance":
        """Take a row out of the session, which must not write it, and return it as it stands."""
        session.expunge(row)
        return cls.of(row)


class WorkflowHistory(Base):
    """One step that was taken; the integer actor is for joins, the UUID beside it is what answers show."""

    __tablename__ = "workflow_histories"
    __table_args__ = (
        sa.Index("idx_wf_hist_instance", "instance_id"),
        sa.Index("idx_wf_hist_user", "action_by_user_id"),
    )

    id: Mapped[UUID] = mapped_column(UuidText(), primary_key=True, default=new_id)
    instance_id: Mapped[UUID] = mapped_column(
        UuidText(), sa.ForeignKey("workflow_instances.id", ondelete="RESTRICT", name="fk_wf_hist_inst")
    )
    from_state: Mapped[str] = mapped_column(Code(50))
    to_state: Mapped[str] = mapped_column(Code(50))
    action: Mapped[str] = mapped_column(Code(50))
    action_by_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    action_by_user_uuid: Mapped[str | None] = mapped_column(sa.String(36))
    # In whose place the actor acted, while that person was away.
    on_behalf_of_user_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("users.user_id", name="fk_wf_hist_on_behalf")
    )
    on_behalf_of_user_uuid: Mapped[str | None] = mapped_column(sa.String(36))
    comment: Mapped[str | None] = mapped_column(sa.Text())
    details: Mapped[dict[str, Json] | None] = mapped_column("metadata", sa.JSON())
    created_at: Mapped[datetime]


class WorkflowWorkItem(Base):
    """
    Whom an instance waits for in its present state: one row for each organization and each named person.

    Written at every transition, so that an inbox is an indexed keyset read, whatever the number of running instances.
    """

    __tablename__ = "workflow_work_items"
    __table_args__ = (
        sa.Index("idx_wf_item_organization", "organization_id", "created_at", "instance_id"),
        sa.Index("idx_wf_item_user", "user_id", "created_at", "instance_id"),
        sa.Index("idx_wf_item_instance", "instance_id"),
    )

    id: Mapped[UUID] = mapped_column(UuidText(), primary_key=True, default=new_id)
    instance_id: Mapped[UUID] = mapped_column(
        UuidText(), sa.ForeignKey("workflow_instances.id", ondelete="RESTRICT", name="fk_wf_item_inst")
    )
    state: Mapped[str] = mapped_column(Code(50))
    organization_id: Mapped[int | None] = mapped_column(sa.ForeignKey("organizations.id"))
    user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    created_at: Mapped[datetime]
