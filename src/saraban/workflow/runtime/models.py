"""Workflow tables, with the specification's names and keys (`CHAR(36)`)."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, TableArguments, public_id_index
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.workflow.language.review import BranchStatus
from saraban.workflow.language.subject import InstanceStatus

_TICK = timedelta(microseconds=1)


class UuidText(sa.TypeDecorator[UUID]):
    """A UUID in Python, `CHAR(36)` in both databases."""

    impl = sa.CHAR(36)
    cache_ok = True

    def process_bind_param(self, value: UUID | str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002  SQLAlchemy's signature
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> UUID | None:  # noqa: ARG002  the same
        return None if value is None else UUID(value)


class WorkflowDefinition(Base):
    """One immutable version of a workflow; only `is_active` and the description change."""

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
    """`due_on` and `assigned_user_id` belong to the present state."""

    __tablename__ = "workflow_instances"
    __table_args__ = (
        sa.Index("idx_wf_inst_version", "id", "version_no"),
        sa.Index("idx_wf_inst_entity", "entity_type", "entity_id"),
        # Running instances of a version by state, for changes of accounts.
        sa.Index("idx_wf_inst_definition", "definition_id", "status", "current_state"),
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
        sa.Enum(*(member.value for member in InstanceStatus), name="workflow_instance_status"),
        default=InstanceStatus.ACTIVE,
    )
    context: Mapped[dict[str, Json] | None]
    version_no: Mapped[int] = mapped_column(
        default=1,
        server_default="1",
        comment="Optimistic lock counter — incremented on every successful transition (ADR-001 v1.1 FR-002)",
    )
    started_by_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    due_on: Mapped[date | None]
    assigned_user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id", name="fk_wf_inst_assigned"))
    last_transition_at: Mapped[datetime]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


@dataclass(slots=True)
class Instance:
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

    def not_before(self, now: datetime) -> datetime:
        """Return `now`, or just after the last update: clocks differ, and a request may wait for the lock."""
        return now if now >= self.updated_at else self.updated_at + _TICK

    @classmethod
    def of(cls, row: WorkflowInstance) -> "Instance":
        return cls(**{name: getattr(row, name) for name in cls.__slots__})

    @classmethod
    def detached(cls, session: AsyncSession, row: WorkflowInstance) -> "Instance":
        """Expunge a row, so that the session does not flush it, and return its values."""
        session.expunge(row)
        return cls.of(row)


class WorkflowHistory(Base):
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
    action_by_user_uuid: Mapped[str | None] = mapped_column(
        sa.String(36),
        comment="UUID ของ User ผู้ดำเนินการ — ใช้ใน API Response (ADR-019). "
        "INT FK action_by_user_id ยังคงอยู่สำหรับ Internal use",
    )
    # The delegator on whose behalf the actor acted.
    on_behalf_of_user_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("users.user_id", name="fk_wf_hist_on_behalf")
    )
    on_behalf_of_user_uuid: Mapped[str | None] = mapped_column(sa.String(36))
    # The organization of the actor at that time. None before migration 0083.
    acting_organization_id: Mapped[int | None]
    comment: Mapped[str | None] = mapped_column(sa.Text())
    details: Mapped[dict[str, Json] | None] = mapped_column("metadata", sa.JSON())
    created_at: Mapped[datetime]


class WorkflowWorkItem(Base):
    """One row for each organization and person that an instance awaits in its present state."""

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


class WorkflowAssignment(Base):
    """`reach` is the project key or 0, and `type_code` may be empty: a unique key does not compare nulls."""

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


class DelegationRow(HasPublicId, Base):
    """Revoked, never deleted, because histories name both people."""

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


class WorkflowBranch(Base):
    """
    One branch of one round of a review.

    `opened_version` is the version of the instance when it entered the state, `version_no` that of the branch.
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
