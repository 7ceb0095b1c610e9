"""The four registers: paths, permissions, texts and form fields."""

from dataclasses import dataclass
from typing import Final

from saraban.kit.errors import Text


@dataclass(frozen=True, slots=True)
class WebKind:
    """
    :param path: of the register, both here and under `/api/v1`
    :param states: workflow states to filter by
    :param types: document types to choose from; empty for a register with one type
    :param asks: form fields besides the common ones
    """

    name: str
    path: str
    icon: str
    create: str
    plural: Text
    singular: Text
    new: Text
    type_code: str
    states: tuple[str, ...]
    types: tuple[str, ...] = ()
    asks: frozenset[str] = frozenset()

    @property
    def is_sheet(self) -> bool:
        """Whether documents stay in one organization, with assignees instead of recipients."""
        return "assignees" in self.asks

    @property
    def due_field(self) -> str:
        return "deadlineDate" if self.is_sheet else "dueDate"

    @property
    def organization_field(self) -> str:
        return "organizationPublicId" if self.is_sheet else "originatorOrganizationPublicId"

    @property
    def url(self) -> str:
        return f"/{self.path}"


KINDS: Final[dict[str, WebKind]] = {
    kind.path: kind
    for kind in (
        WebKind(
            name="correspondence",
            path="correspondences",
            icon="mail",
            create="correspondence.create",
            plural=Text("หนังสือรับ–ส่ง", "Correspondence"),
            singular=Text("หนังสือ บันทึก RFI", "Letter, memo, RFI"),
            new=Text("สร้างหนังสือรับ–ส่ง", "New correspondence"),
            type_code="LETTER",
            states=(
                "draft",
                "in_review",
                "responded",
                "approved",
                "rejected",
                "revision_requested",
                "closed",
                "cancelled",
                "terminated",
            ),
            types=("LETTER", "MEMO", "RFI"),
            asks=frozenset({"type", "recipients", "discipline"}),
        ),
        WebKind(
            name="rfa",
            path="rfas",
            icon="stamp",
            create="rfa.create",
            plural=Text("คำขออนุมัติ (RFA)", "RFAs"),
            singular=Text("RFA", "RFA"),
            new=Text("สร้าง RFA", "New RFA"),
            type_code="RFA",
            states=(
                "draft",
                "pending_review",
                "pending_approval",
                "approved",
                "rejected",
                "revision_requested",
                "cancelled",
                "terminated",
            ),
            asks=frozenset({"recipients", "discipline", "rfa_type", "drawings"}),
        ),
        WebKind(
            name="transmittal",
            path="transmittals",
            icon="package",
            create="transmittal.create",
            plural=Text("ใบนำส่ง", "Transmittals"),
            singular=Text("ใบนำส่ง", "Transmittal"),
            new=Text("สร้างใบนำส่ง", "New transmittal"),
            type_code="TRANSMITTAL",
            states=("draft", "submitted", "completed", "returned", "cancelled", "terminated"),
            asks=frozenset({"recipients", "sub_type", "purpose", "items", "carried_drawings"}),
        ),
        WebKind(
            name="circulation",
            path="circulations",
            icon="users",
            create="circulation.create",
            plural=Text("ใบเวียน", "Circulations"),
            singular=Text("ใบเวียน", "Circulation"),
            new=Text("สร้างใบเวียน", "New circulation"),
            type_code="CIRCULATION",
            states=("draft", "routing", "completed", "cancelled", "terminated"),
            asks=frozenset({"document", "assignees", "carried_drawings"}),
        ),
    )
}

BY_NAME: Final = {kind.name: kind for kind in KINDS.values()}
