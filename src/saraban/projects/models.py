"""Tables of projects, contracts, their parties and master data."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, public_id_index
from saraban.kit.keys import keyed

NOW = sa.text("CURRENT_TIMESTAMP")


@keyed("project_code")
class Project(HasPublicId, Base):
    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_code: Mapped[str] = mapped_column(Code(50), unique=True)
    project_name: Mapped[str] = mapped_column(sa.String(255))
    project_name_en: Mapped[str | None] = mapped_column(sa.String(255))
    file_kinds: Mapped[str | None] = mapped_column(sa.String(255))  # extensions, separated by commas
    is_active: Mapped[bool] = mapped_column(default=True, server_default=sa.true())
    is_sandbox: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    deleted_at: Mapped[datetime | None]


class ProjectOrganization(Base):
    __tablename__ = "project_organizations"

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True)
    organization_id: Mapped[int] = mapped_column(sa.ForeignKey("organizations.id"), primary_key=True)
    role_in_project: Mapped[str] = mapped_column(Code(20), server_default="OTHER")


@keyed("contract_code")
class Contract(HasPublicId, Base):
    __tablename__ = "contracts"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    contract_code: Mapped[str] = mapped_column(Code(50), unique=True)
    contract_name: Mapped[str] = mapped_column(sa.String(255))
    contract_name_en: Mapped[str | None] = mapped_column(sa.String(255))
    description: Mapped[str | None] = mapped_column(sa.Text)
    start_date: Mapped[date | None]
    end_date: Mapped[date | None]
    is_active: Mapped[bool] = mapped_column(default=True, server_default=sa.true())
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    deleted_at: Mapped[datetime | None]

    __table_args__ = public_id_index(__tablename__, sa.Index("idx_contracts_project", "project_id"))


class ContractOrganization(Base):
    __tablename__ = "contract_organizations"

    contract_id: Mapped[int] = mapped_column(sa.ForeignKey("contracts.id"), primary_key=True)
    organization_id: Mapped[int] = mapped_column(sa.ForeignKey("organizations.id"), primary_key=True)
    role_in_contract: Mapped[str | None] = mapped_column(sa.String(100))

    __table_args__ = (sa.Index("idx_contract_organizations_organization", "organization_id"),)


class _Ordered:
    """A row of an ordered list; it is closed, never deleted."""

    id: Mapped[int] = mapped_column(primary_key=True)
    sort_order: Mapped[int] = mapped_column(default=0, server_default="0")
    is_active: Mapped[bool] = mapped_column(default=True, server_default=sa.true())


@keyed("contract_id", "discipline_code")
class Discipline(_Ordered, Base):
    __tablename__ = "disciplines"

    contract_id: Mapped[int] = mapped_column(sa.ForeignKey("contracts.id"))
    discipline_code: Mapped[str] = mapped_column(Code(10))
    code_name_th: Mapped[str | None] = mapped_column(sa.String(255))
    code_name_en: Mapped[str | None] = mapped_column(sa.String(255))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        sa.UniqueConstraint("contract_id", "discipline_code", name="uk_discipline_contract"),
        sa.Index("idx_disciplines_order", "contract_id", "sort_order", "discipline_code"),
    )


@keyed("type_code")
class CorrespondenceType(_Ordered, Base):
    __tablename__ = "correspondence_types"

    type_code: Mapped[str] = mapped_column(Code(50), unique=True)
    type_name: Mapped[str] = mapped_column(sa.String(255))
    type_name_en: Mapped[str | None] = mapped_column(sa.String(255))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    deleted_at: Mapped[datetime | None]


@keyed("contract_id", "correspondence_type_id", "sub_type_code")
class CorrespondenceSubType(_Ordered, Base):
    """`{SUB_TYPE}` prints its number (REQ-FMT-13)."""

    __tablename__ = "correspondence_sub_types"

    contract_id: Mapped[int] = mapped_column(sa.ForeignKey("contracts.id"))
    correspondence_type_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_types.id"))
    sub_type_code: Mapped[str] = mapped_column(Code(20))
    sub_type_name: Mapped[str | None] = mapped_column(sa.String(255))
    sub_type_name_en: Mapped[str | None] = mapped_column(sa.String(255))
    sub_type_number: Mapped[str | None] = mapped_column(Code(10))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)

    __table_args__ = (
        sa.UniqueConstraint(
            "contract_id", "correspondence_type_id", "sub_type_code", name="uk_sub_types_contract_type_code"
        ),
        sa.Index("idx_correspondence_sub_types_order", "contract_id", "sort_order", "sub_type_code"),
    )


@keyed("status_code")
class CorrespondenceStatus(_Ordered, Base):
    __tablename__ = "correspondence_status"

    status_code: Mapped[str] = mapped_column(Code(50), unique=True)
    status_name: Mapped[str] = mapped_column(sa.String(255))
    status_name_en: Mapped[str | None] = mapped_column(sa.String(255))


@keyed("contract_id", "type_code")
class RfaType(_Ordered, Base):
    __tablename__ = "rfa_types"

    contract_id: Mapped[int] = mapped_column(sa.ForeignKey("contracts.id"))
    type_code: Mapped[str] = mapped_column(Code(20))
    type_name_th: Mapped[str] = mapped_column(sa.String(100))
    type_name_en: Mapped[str] = mapped_column(sa.String(100))
    items: Mapped[str] = mapped_column(sa.String(10), default="optional", server_default="optional")
    remark: Mapped[str | None] = mapped_column(sa.Text)

    __table_args__ = (
        sa.UniqueConstraint("contract_id", "type_code", name="uk_rfa_types_contract_code"),
        sa.Index("idx_rfa_types_order", "contract_id", "sort_order", "type_code"),
    )


@keyed("status_code")
class RfaStatusCode(_Ordered, Base):
    __tablename__ = "rfa_status_codes"

    status_code: Mapped[str] = mapped_column(Code(20), unique=True)
    status_name: Mapped[str] = mapped_column(sa.String(100))
    status_name_en: Mapped[str | None] = mapped_column(sa.String(100))
    description: Mapped[str | None] = mapped_column(sa.Text)


@keyed("approve_code")
class RfaApproveCode(_Ordered, Base):
    __tablename__ = "rfa_approve_codes"

    approve_code: Mapped[str] = mapped_column(Code(20), unique=True)
    approve_name: Mapped[str] = mapped_column(sa.String(100))
    approve_name_en: Mapped[str | None] = mapped_column(sa.String(100))
    description: Mapped[str | None] = mapped_column(sa.Text)


@keyed("code")
class CirculationStatusCode(_Ordered, Base):
    __tablename__ = "circulation_status_codes"

    code: Mapped[str] = mapped_column(Code(20), unique=True)
    description: Mapped[str] = mapped_column(sa.String(50))
    description_en: Mapped[str | None] = mapped_column(sa.String(50))


class _ListEntry(_Ordered):
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    description: Mapped[str | None] = mapped_column(sa.Text)
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)


@keyed("project_id", "tag_code")
class Tag(_ListEntry, Base):
    __tablename__ = "tags"

    tag_code: Mapped[str] = mapped_column(Code(50))
    tag_name: Mapped[str] = mapped_column(Code(100))
    tag_name_en: Mapped[str | None] = mapped_column(sa.String(100))
    color_code: Mapped[str] = mapped_column(sa.String(30), default="default", server_default="default")

    __table_args__ = (
        sa.UniqueConstraint("project_id", "tag_code", name="uq_tag_project_code"),
        sa.UniqueConstraint("project_id", "tag_name", name="uq_tag_project"),
        sa.Index("idx_tags_order", "project_id", "sort_order", "tag_code"),
    )


@keyed("project_id", "volume_code")
class ContractDrawingVolume(_ListEntry, Base):
    __tablename__ = "contract_drawing_volumes"

    volume_code: Mapped[str] = mapped_column(Code(50))
    volume_name: Mapped[str] = mapped_column(sa.String(255))
    volume_name_en: Mapped[str | None] = mapped_column(sa.String(255))

    __table_args__ = (sa.UniqueConstraint("project_id", "volume_code", name="ux_volume_project"),)


@keyed("project_id", "cat_code")
class ContractDrawingCategory(_ListEntry, Base):
    __tablename__ = "contract_drawing_cats"

    cat_code: Mapped[str] = mapped_column(Code(50))
    cat_name: Mapped[str] = mapped_column(sa.String(255))
    cat_name_en: Mapped[str | None] = mapped_column(sa.String(255))

    __table_args__ = (sa.UniqueConstraint("project_id", "cat_code", name="ux_cat_project"),)


@keyed("project_id", "sub_cat_code")
class ContractDrawingSubCategory(_ListEntry, Base):
    __tablename__ = "contract_drawing_sub_cats"

    sub_cat_code: Mapped[str] = mapped_column(Code(50))
    sub_cat_name: Mapped[str] = mapped_column(sa.String(255))
    sub_cat_name_en: Mapped[str | None] = mapped_column(sa.String(255))

    __table_args__ = (sa.UniqueConstraint("project_id", "sub_cat_code", name="ux_subcat_project"),)


class ContractDrawingCategoryPair(Base):
    """A contract drawing references a pair of category and sub category."""

    __tablename__ = "contract_drawing_subcat_cat_maps"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    sub_cat_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawing_sub_cats.id"))
    cat_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawing_cats.id"))

    __table_args__ = (sa.UniqueConstraint("project_id", "sub_cat_id", "cat_id", name="ux_map_unique"),)


@keyed("project_id", "main_category_code")
class ShopDrawingMainCategory(_ListEntry, Base):
    __tablename__ = "shop_drawing_main_categories"

    main_category_code: Mapped[str] = mapped_column(Code(50))
    main_category_name: Mapped[str] = mapped_column(sa.String(255))
    main_category_name_en: Mapped[str | None] = mapped_column(sa.String(255))

    __table_args__ = (sa.UniqueConstraint("project_id", "main_category_code", name="ux_main_category_project"),)


@keyed("project_id", "sub_category_code")
class ShopDrawingSubCategory(_ListEntry, Base):
    __tablename__ = "shop_drawing_sub_categories"

    sub_category_code: Mapped[str] = mapped_column(Code(50))
    sub_category_name: Mapped[str] = mapped_column(sa.String(255))
    sub_category_name_en: Mapped[str | None] = mapped_column(sa.String(255))

    __table_args__ = (sa.UniqueConstraint("project_id", "sub_category_code", name="ux_sub_category_project"),)


class ProjectCalendar(Base):
    """A weekend that differs from Saturday and Sunday: names of weekdays, separated by commas."""

    __tablename__ = "project_calendars"

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True, autoincrement=False)
    weekend: Mapped[str] = mapped_column(sa.String(100))
    updated_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_at: Mapped[datetime]


class ProjectDay(Base):
    """A day that differs from weekend and public holidays."""

    __tablename__ = "project_days"

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    is_working: Mapped[bool]
    name_th: Mapped[str] = mapped_column(sa.String(200))
    name_en: Mapped[str] = mapped_column(sa.String(200))
    created_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    created_at: Mapped[datetime]


@keyed("project_id", "team_code")
class ReviewTeam(Base):
    __tablename__ = "review_teams"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    team_code: Mapped[str] = mapped_column(Code(50))
    name_th: Mapped[str] = mapped_column(sa.String(200))
    name_en: Mapped[str] = mapped_column(sa.String(200))
    is_active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (sa.UniqueConstraint("project_id", "team_code", name="uk_review_team_project_code"),)


class ReviewTeamMember(Base):
    __tablename__ = "review_team_members"

    team_id: Mapped[int] = mapped_column(sa.ForeignKey("review_teams.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"), primary_key=True)
    discipline_code: Mapped[str | None] = mapped_column(Code(10))
    member_role: Mapped[str] = mapped_column(sa.String(20))
    created_at: Mapped[datetime]


class DrawingSettingsRow(Base):
    """Without a row the defaults of `domain.drawing_settings` count."""

    __tablename__ = "drawing_settings"

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(Code(10), primary_key=True)
    revision_scheme: Mapped[str] = mapped_column(Code(100))
    number_pattern: Mapped[str | None] = mapped_column(Code(100))
    addenda: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    own_workflow: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    updated_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_at: Mapped[datetime]
