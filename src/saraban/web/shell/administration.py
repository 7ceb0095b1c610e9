"""The administration pages in the menu."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from saraban.identity.domain.context import Caller, allows_somewhere
from saraban.kit.errors import Text
from saraban.setup.domain.checklist import Missing


@dataclass(frozen=True, slots=True)
class AdministrationPage:
    """
    :param permissions: one of these anywhere opens the page
    :param whole_projects: a permission that opens it only for a whole project, not in one organization
    """

    url: str
    icon: str
    says: Text
    permissions: tuple[str, ...]
    whole_projects: str | None = None

    def is_open_to(self, caller: Caller) -> bool:
        wide = [grant for grant in caller.grants if grant.project is not None or grant.is_global]
        of_projects = self.whole_projects is not None and allows_somewhere(wide, self.whole_projects)
        return of_projects or any(map(caller.may_anywhere, self.permissions))

    def is_at(self, path: str) -> bool:
        """Set-up lists are below the project's path, and belong to the set-up page."""
        if path.startswith("/projects/") and "/setup" in path:
            return self.url == SETUP
        return path == self.url or path.startswith(f"{self.url}/")


@dataclass(frozen=True, slots=True)
class MenuGroup:
    heading: Text
    pages: tuple[AdministrationPage, ...]


SETUP: Final = "/project-setup"
_LISTS: Final = ("master_data.discipline.manage", "master_data.tag.manage", "master_data.drawing_category.manage")
GROUPS: Final = (
    MenuGroup(
        Text("ตั้งค่าโครงการ", "Project administration"),
        (
            AdministrationPage(
                SETUP, "check", Text("ภาพรวมการตั้งค่า", "Project set-up"), ("project.edit", "contract.edit", *_LISTS)
            ),
            AdministrationPage(
                "/numbers/formats", "pencil", Text("รูปแบบเลขที่", "Number formats"), ("numbering.view_formats",)
            ),
            AdministrationPage(
                "/numbers/audit",
                "history",
                Text("ประวัติการออกเลขที่", "Number audit"),
                ("system.view_logs",),
                whole_projects="numbering.view_counters",
            ),
            AdministrationPage("/workflows", "flow", Text("กระบวนงาน", "Workflows"), ("workflow.view_definitions",)),
            AdministrationPage("/review-teams", "users", Text("ทีมพิจารณา", "Review teams"), ("project.edit",)),
            AdministrationPage("/calendar", "clock", Text("ปฏิทินวันทำการ", "Project calendar"), ("project.edit",)),
            AdministrationPage("/webhooks", "arrow", Text("การแจ้งเหตุการณ์ (webhook)", "Webhooks"), ("project.edit",)),
        ),
    ),
    MenuGroup(
        Text("ผู้ดูแลระบบ", "Administration"),
        (
            AdministrationPage("/projects", "package", Text("โครงการ", "Projects"), ("project.edit", "project.create")),
            AdministrationPage(
                "/organizations", "users", Text("องค์กร", "Organizations"), ("organization.create", "organization.edit")
            ),
            AdministrationPage("/people", "user", Text("ผู้ใช้งาน", "People"), ("user.view", "user.manage_assignments")),
            AdministrationPage(
                "/roles", "eye", Text("บทบาทและสิทธิ์", "Roles and permissions"), ("role.view", "user.manage_assignments")
            ),
            AdministrationPage(
                "/master",
                "list",
                Text("ข้อมูลหลัก", "Master data"),
                ("master_data.correspondence_type.manage", "master_data.document_status.manage"),
            ),
            AdministrationPage(
                "/audit", "history", Text("ประวัติการใช้งาน", "Audit trail"), ("audit.view_all", "audit.view_own")
            ),
            AdministrationPage("/events", "refresh", Text("เหตุการณ์", "Events"), ("system.view_logs",)),
            AdministrationPage("/system", "info", Text("สถานะระบบ", "System"), ("system.view_logs",)),
        ),
    ),
)


def setup_page(project: UUID, kind: str, contract: UUID | None = None) -> str:
    return f"/projects/{project}/setup/" + (f"contracts/{contract}/{kind}" if contract else kind)


def checklist_page(missing: Missing, project: UUID, contract: UUID | None) -> str:
    """Return where a missing part of a project is added; a contract comes first."""
    of_contract = {Missing.CONTRACTS: "parties", Missing.DISCIPLINES: "disciplines", Missing.TYPES: "rfa-types"}
    if missing in of_contract:
        return setup_page(project, of_contract[missing] if contract else "contracts", contract)
    return {
        Missing.ORGANIZATIONS: setup_page(project, "members"),
        Missing.FORMATS: f"/numbers/formats?project={project}",
        Missing.PEOPLE: "/people",
        Missing.WORKFLOWS: f"/workflows/choices?kind=rfa&project={project}",
    }[missing]


def menu_for(caller: Caller) -> list[MenuGroup]:
    groups = [
        MenuGroup(group.heading, tuple(page for page in group.pages if page.is_open_to(caller))) for group in GROUPS
    ]
    return [group for group in groups if group.pages]
