"""Tables of circulations."""

from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.documents.circulation.domain import RoutingKind, RoutingStatus
from saraban.documents.core.models import priority_type
from saraban.documents.drawing.models import CarriedDrawing, carried_once
from saraban.kit.db import Base, Code, HasPublicId, public_id_index
from saraban.kit.keys import sort_key_of

NOW = sa.text("CURRENT_TIMESTAMP")


class Circulation(HasPublicId, Base):
    __tablename__ = "circulations"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    correspondence_id: Mapped[int | None] = mapped_column(sa.ForeignKey("correspondences.id"))
    organization_id: Mapped[int] = mapped_column(sa.ForeignKey("organizations.id"))
    circulation_no: Mapped[str] = mapped_column(Code(255))
    number_sort: Mapped[str] = sort_key_of("circulation_no")
    number_uuid: Mapped[UUID | None]
    circulation_subject: Mapped[str] = mapped_column(sa.String(500))
    circulation_status_code: Mapped[str] = mapped_column(Code(20), sa.ForeignKey("circulation_status_codes.code"))
    priority: Mapped[str] = mapped_column(priority_type(), default="MEDIUM", server_default="MEDIUM")
    remarks: Mapped[str | None] = mapped_column(sa.Text)
    created_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    submitted_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
    deadline_date: Mapped[date | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    cancelled_at: Mapped[datetime | None]
    cancelled_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    cancel_reason: Mapped[str | None] = mapped_column(sa.Text)
    version: Mapped[int] = mapped_column(default=1, server_default="1")

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("project_id", "circulation_no", name="uq_circulation_no_per_project"),
        sa.UniqueConstraint("correspondence_id", "organization_id", name="uq_circulation_per_organization"),
        sa.Index("idx_circulations_deadline", "deadline_date"),
        sa.Index("idx_circulations_page", "project_id", "created_at", "uuid"),
        sa.Index("idx_circulations_organization", "organization_id"),
    )


class CirculationRouting(HasPublicId, Base):
    __tablename__ = "circulation_routings"

    id: Mapped[int] = mapped_column(primary_key=True)
    circulation_id: Mapped[int] = mapped_column(sa.ForeignKey("circulations.id"))
    step_number: Mapped[int]
    organization_id: Mapped[int] = mapped_column(sa.ForeignKey("organizations.id"))
    assigned_to: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    kind: Mapped[str] = mapped_column(
        sa.Enum(*(kind.value for kind in RoutingKind), name="routing_kind", native_enum=False, length=20),
        default=RoutingKind.ACTION,
        server_default="ACTION",
    )
    status: Mapped[str] = mapped_column(
        sa.Enum(*(status.value for status in RoutingStatus), name="routing_status", native_enum=False, length=20),
        default=RoutingStatus.PENDING,
        server_default="PENDING",
    )
    due_date: Mapped[date | None]
    comments: Mapped[str | None] = mapped_column(sa.Text)
    completed_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = public_id_index(
        __tablename__,
        sa.Index("idx_circulation_routing_circulation", "circulation_id"),
        sa.Index("idx_circulation_routing_assignee", "assigned_to", "status"),
    )


class CirculationAttachment(Base):
    __tablename__ = "circulation_attachments"

    circulation_id: Mapped[int] = mapped_column(sa.ForeignKey("circulations.id"), primary_key=True)
    attachment_id: Mapped[int] = mapped_column(sa.ForeignKey("attachments.id"), primary_key=True)
    is_main_document: Mapped[bool] = mapped_column(default=False, server_default=sa.false())

    __table_args__ = (sa.Index("idx_circulation_att_attachment", "attachment_id"),)


class CirculationDrawing(CarriedDrawing):
    __tablename__ = "circulation_drawings"
    CARRIER = "circulation_id"

    circulation_id: Mapped[int] = mapped_column(sa.ForeignKey("circulations.id"))

    __table_args__ = carried_once(__tablename__, CARRIER)
