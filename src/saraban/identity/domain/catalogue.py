"""
What the product ships with about people: permissions, the seven roles and what each may do, the roles of organizations, and the
demo accounts. Data, no rules.

Further requirements (REQ-NUM-16, REQ-NUM-17) add to the matrix; `ADDED` is the one place that says what and why.
"""

from dataclasses import dataclass
from enum import StrEnum

from saraban.kit.errors import Text

SYSTEM_USERNAME = "system"

SUPERADMIN = "Superadmin"
ORG_ADMIN = "Org Admin"
DOCUMENT_CONTROL = "Document Control"
EDITOR = "Editor"
VIEWER = "Viewer"
PROJECT_MANAGER = "Project Manager"
CONTRACT_ADMIN = "Contract Admin"

GLOBAL, ORGANIZATION, PROJECT, CONTRACT = "Global", "Organization", "Project", "Contract"

ORGANIZATION_ROLES = ("OWNER", "DESIGNER", "CONSULTANT", "CONTRACTOR", "THIRD PARTY", "GUEST")


class PartyRole(StrEnum):
    """In the order in which people name them."""

    OWNER = "OWNER"
    DESIGNER = "DESIGNER"
    CONSULTANT = "CONSULTANT"
    CONTRACTOR = "CONTRACTOR"
    OTHER = "OTHER"


def party_role(role_name: str | None) -> PartyRole:
    """Return the role for its name; third parties, guests and free text are OTHER."""
    try:
        return PartyRole((role_name or "").strip().upper())
    except ValueError:
        return PartyRole.OTHER


def role_names_of(role: str) -> tuple[str, ...]:
    """Return the role names that count as `role`."""
    return ("OTHER", "THIRD PARTY", "GUEST") if party_role(role) is PartyRole.OTHER else (role,)


@dataclass(frozen=True, slots=True)
class ShippedRole:
    """A role that can be assigned, what it is called, and the level it is assigned at."""

    name: str
    called: Text
    scope: str
    says: Text


@dataclass(frozen=True, slots=True)
class ShippedPermission:
    """
    A permission, `module.action`, in words.

    :param asked_in: the package in which it is asked for, so that it decides about something; None: not yet
    """

    name: str
    says: Text
    asked_in: str | None

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]


ROLES = (
    ShippedRole(
        SUPERADMIN,
        Text("ผู้ดูแลระบบ", "Superadmin"),
        GLOBAL,
        Text("ดูแลทั้งระบบ ทุกองค์กร ทุกโครงการ", "Administers the whole system."),
    ),
    ShippedRole(
        ORG_ADMIN,
        Text("ผู้ดูแลองค์กร", "Org Admin"),
        ORGANIZATION,
        Text("ดูแลผู้ใช้และรายงานขององค์กรตน", "Administers the users of one organization."),
    ),
    ShippedRole(
        DOCUMENT_CONTROL,
        Text("เจ้าหน้าที่ควบคุมเอกสาร", "Document Control"),
        ORGANIZATION,
        Text("ออกเลข ส่ง และกำกับเอกสารขององค์กรตน", "Numbers, submits and controls the documents of one organization."),
    ),
    ShippedRole(
        EDITOR,
        Text("ผู้จัดทำเอกสาร", "Editor"),
        ORGANIZATION,
        Text("จัดทำและแก้ไขเอกสารขององค์กรตน", "Creates and edits the documents of one organization."),
    ),
    ShippedRole(
        VIEWER,
        Text("ผู้อ่านเอกสาร", "Viewer"),
        ORGANIZATION,
        Text("อ่านเอกสารขององค์กรตนเท่านั้น", "Reads the documents of one organization."),
    ),
    ShippedRole(
        PROJECT_MANAGER,
        Text("ผู้จัดการโครงการ", "Project Manager"),
        PROJECT,
        Text("ดูแลสมาชิก รูปแบบเลขที่ และภาพรวมของโครงการ", "Administers the members and number formats of one project."),
    ),
    ShippedRole(
        CONTRACT_ADMIN,
        Text("ผู้ดูแลสัญญา", "Contract Admin"),
        CONTRACT,
        Text("ดูแลสัญญา ตรวจและอนุมัติเอกสารในสัญญานั้น", "Administers one contract, and reviews and approves its documents."),
    ),
)

_SHORT = {
    "OA": ORG_ADMIN,
    "DC": DOCUMENT_CONTROL,
    "ED": EDITOR,
    "VI": VIEWER,
    "PM": PROJECT_MANAGER,
    "CA": CONTRACT_ADMIN,
}
_ALL = "OA DC ED VI PM CA"
_READ = "DC ED VI PM CA"
_WRITE = "DC ED PM CA"

# Permission, roles besides Superadmin (who has each), Thai, English.
_MATRIX: tuple[tuple[str, str, str, str], ...] = (
    ("system.manage_all", "", "ทำได้ทุกอย่าง", "Do everything"),
    ("system.impersonate", "", "ใช้งานแทนผู้อื่นเพื่อช่วยแก้ปัญหา", "Act as another user to help"),
    ("system.maintenance_mode", "", "เปิดหรือปิดโหมดบำรุงรักษา", "Switch maintenance mode"),
    ("system.view_logs", "", "ดูบันทึกการทำงานของระบบ", "Read the system's logs"),
    ("system.manage_cache", "", "ล้างข้อมูลที่พักไว้ในแคช", "Clear caches"),
    ("organization.create", "", "เพิ่มองค์กร", "Add organizations"),
    ("organization.view", "OA", "ดูทะเบียนองค์กรทั้งหมด", "See the register of organizations"),
    ("organization.edit", "", "แก้ไของค์กร", "Change organizations"),
    ("organization.delete", "", "เลิกใช้องค์กร", "Retire organizations"),
    ("organization.manage_members", "", "จัดคนเข้าออกองค์กร", "Manage who belongs to an organization"),
    ("user.create", "OA", "เพิ่มบัญชีผู้ใช้", "Add accounts"),
    ("user.view", "OA", "ดูบัญชีผู้ใช้", "See accounts"),
    ("user.edit", "OA", "แก้ไขบัญชีผู้ใช้", "Change accounts"),
    ("user.delete", "OA", "ปิดบัญชีผู้ใช้", "Close accounts"),
    ("user.manage_assignments", "OA DC", "มอบบทบาทให้ผู้ใช้", "Give roles to users"),
    ("role.create", "", "เพิ่มบทบาท", "Add roles"),
    ("role.view", "", "ดูบทบาท", "See roles"),
    ("role.edit", "", "แก้ไขบทบาท", "Change roles"),
    ("role.delete", "", "เลิกใช้บทบาท", "Retire roles"),
    ("role.assign_permissions", "", "กำหนดสิทธิ์ของบทบาท", "Choose what a role may do"),
    ("master_data.view", "DC VI", "ดูข้อมูลหลัก", "See master data"),
    ("master_data.manage", "DC", "จัดการข้อมูลหลัก", "Manage master data"),
    ("master_data.correspondence_type.manage", "DC", "จัดการประเภทเอกสาร", "Manage document types"),
    ("master_data.document_status.manage", "DC", "จัดการสถานะเอกสาร", "Manage document statuses"),
    ("master_data.drawing_category.manage", "DC", "จัดการหมวดของแบบ", "Manage drawing categories"),
    ("master_data.tag.manage", "OA DC", "จัดการป้ายกำกับ", "Manage tags"),
    ("master_data.discipline.manage", "DC", "จัดการสาขางาน", "Manage disciplines"),
    ("master_data.number_format.manage", "DC", "จัดการข้อมูลหลักของรูปแบบเลขที่", "Manage master data of number formats"),
    ("document.view", _ALL, "ดูเอกสาร", "See documents"),
    ("document.create", _WRITE, "ร่างเอกสาร", "Draft documents"),
    ("document.edit", _WRITE, "แก้ไขเอกสาร", "Change documents"),
    ("document.delete", "DC", "ลบเอกสารร่าง", "Delete drafts"),
    ("document.submit", _WRITE, "ส่งเอกสาร", "Submit documents"),
    ("document.admin_edit", "DC", "แก้ไข ถอน หรือยกเลิกเอกสารที่ส่งแล้ว", "Change, withdraw or cancel what was submitted"),
    ("document.attach_files", _WRITE, "แนบไฟล์", "Attach files"),
    ("document.manage_references", "DC", "จัดการการอ้างอิงระหว่างเอกสาร", "Manage references between documents"),
    ("correspondence.create", _WRITE, "สร้างหนังสือรับ–ส่ง", "Create correspondence"),
    ("correspondence.view", _READ, "ดูหนังสือรับ–ส่ง", "See correspondence"),
    ("correspondence.edit", _WRITE, "แก้ไขหนังสือรับ–ส่ง", "Change correspondence"),
    ("correspondence.delete", "DC", "ลบหนังสือรับ–ส่ง", "Delete correspondence"),
    ("correspondence.submit", _WRITE, "ส่งหนังสือรับ–ส่ง", "Submit correspondence"),
    ("rfa.create", _WRITE, "สร้าง RFA", "Create RFAs"),
    ("rfa.view", _READ, "ดู RFA", "See RFAs"),
    ("rfa.edit", _WRITE, "แก้ไข RFA", "Change RFAs"),
    ("rfa.delete", "DC", "ลบ RFA", "Delete RFAs"),
    ("rfa.submit", _WRITE, "ส่ง RFA เข้าสายอนุมัติ", "Submit RFAs for approval"),
    ("rfa.manage_items", _WRITE, "จัดการแบบที่แนบใน RFA", "Manage the drawings of an RFA"),
    ("drawing.view", _READ, "ดูแบบ", "See drawings"),
    ("drawing.create", _WRITE, "ขึ้นทะเบียนและแก้ไขแบบ", "Register and change drawings"),
    ("drawing.delete", "DC CA", "ลบแบบ", "Delete drawings"),
    ("drawing.manage_revisions", _WRITE, "จัดการฉบับแก้ไขของแบบ", "Manage revisions of drawings"),
    ("drawing.link_contract", "DC CA", "ผูกแบบขยายกับแบบสัญญา", "Link shop drawings to contract drawings"),
    ("circulation.create", _WRITE, "สร้างใบเวียน", "Create circulations"),
    ("circulation.view", _READ, "ดูใบเวียน", "See circulations"),
    ("circulation.respond", _WRITE, "ตอบใบเวียน", "Answer circulations"),
    ("circulation.acknowledge", _READ, "รับทราบใบเวียน", "Acknowledge circulations"),
    ("circulation.close", "DC", "ปิดใบเวียน", "Close circulations"),
    ("transmittal.create", _WRITE, "สร้างใบนำส่ง", "Create transmittals"),
    ("transmittal.view", _READ, "ดูใบนำส่ง", "See transmittals"),
    ("transmittal.edit", _WRITE, "แก้ไขใบนำส่ง", "Change transmittals"),
    ("transmittal.delete", "DC", "ลบใบนำส่ง", "Delete transmittals"),
    ("transmittal.print", "DC", "พิมพ์ใบนำส่ง", "Print transmittals"),
    ("workflow.view_definitions", "", "ดูกระบวนงาน", "See workflow definitions"),
    ("workflow.manage_definitions", "", "จัดการกระบวนงาน", "Manage workflow definitions"),
    ("workflow.action_review", "DC CA", "ตัดสินใจในขั้นตอนปัจจุบัน", "Decide in the current step"),
    ("workflow.force_proceed", "DC", "บังคับเปลี่ยนขั้นตอน ยุติ หรือมอบหมายให้ผู้อื่น", "Override, terminate or reassign a workflow"),
    ("workflow.revert", "DC", "ย้อนกลับไปขั้นตอนก่อน", "Take a workflow back one step"),
    ("numbering.view_formats", "", "ดูรูปแบบเลขที่เอกสาร", "See number formats"),
    ("numbering.manage_formats", "", "แก้ไขรูปแบบเลขที่เอกสาร", "Change number formats"),
    ("numbering.view_counters", "", "ดูตัวนับเลขที่", "See counters"),
    ("numbering.reset_counter", "", "ตั้งตัวนับเลขที่ใหม่", "Reset counters"),
    ("search.basic", _ALL, "ค้นหา", "Search"),
    ("search.advanced", "OA DC ED PM CA", "ค้นหาแบบละเอียด", "Search in detail"),
    ("search.export", "DC", "ส่งออกผลการค้นหา", "Export what was found"),
    ("report.view", "OA DC PM", "ดูรายงาน", "See reports"),
    ("report.generate", "OA DC PM", "จัดทำรายงาน", "Make reports"),
    ("report.schedule", "", "ตั้งเวลาทำรายงาน", "Schedule reports"),
    ("notification.view", _ALL, "ดูการแจ้งเตือนของตน", "See one's own notifications"),
    ("notification.manage_all", "", "จัดการการแจ้งเตือนของทุกคน", "Manage everybody's notifications"),
    ("dashboard.view_own", _ALL, "ดูแดชบอร์ดของตน", "See one's own dashboard"),
    ("dashboard.view_all", "DC", "ดูแดชบอร์ดของทุกคน", "See everybody's dashboard"),
    ("dashboard.view_analytics", "PM", "ดูสถิติ", "See statistics"),
    ("json_schema.view", "", "ดูสคีมาของข้อมูลเพิ่มเติม", "See schemas of extra fields"),
    ("json_schema.manage", "", "จัดการสคีมาของข้อมูลเพิ่มเติม", "Manage schemas of extra fields"),
    ("json_schema.migrate_data", "", "ย้ายข้อมูลไปสคีมารุ่นใหม่", "Move data to a newer schema"),
    ("monitoring.view_health", "", "ดูสุขภาพของระบบ", "See the system's health"),
    ("monitoring.view_metrics", "", "ดูตัวชี้วัดของระบบ", "See the system's metrics"),
    ("monitoring.manage_maintenance", "", "จัดการช่วงบำรุงรักษา", "Manage maintenance windows"),
    ("audit.view_own", "OA", "ดูประวัติการใช้งานขององค์กรตน", "Read the audit trail of one's own organization"),
    ("audit.view_all", "", "ดูประวัติการใช้งานทั้งหมด", "Read the whole audit trail"),
    ("project.create", "PM", "เพิ่มโครงการ", "Add projects"),
    ("project.view", "OA VI PM", "ดูโครงการ", "See projects"),
    ("project.edit", "PM", "แก้ไขโครงการ", "Change projects"),
    ("project.delete", "PM", "เลิกใช้โครงการ", "Retire projects"),
    ("project.manage_members", "PM", "จัดการสมาชิกโครงการ", "Manage members of a project"),
    ("contract.create", "CA", "เพิ่มสัญญา", "Add contracts"),
    ("contract.view", "OA CA", "ดูสัญญา", "See contracts"),
    ("contract.edit", "CA", "แก้ไขสัญญา", "Change contracts"),
    ("contract.delete", "CA", "เลิกใช้สัญญา", "Retire contracts"),
    ("contract.manage_members", "CA", "จัดการสมาชิกสัญญา", "Manage members of a contract"),
)

# Where the product gives more than the matrix does:
# - A Project Admin (our Project Manager) edits the number formats of that project and may look at its counters;
#   an Org Admin may read formats. Resetting a counter stays with the Superadmin.
# - A document controller sees the number series of the organization.
# - Who chooses on which workflow the documents of a project start has to be able to read workflows.
ADDED: dict[str, frozenset[str]] = {
    PROJECT_MANAGER: frozenset(
        {
            *("numbering.view_formats", "numbering.manage_formats", "numbering.view_counters"),
            "workflow.view_definitions",
        }
    ),
    ORG_ADMIN: frozenset({"numbering.view_formats"}),
    DOCUMENT_CONTROL: frozenset({"numbering.view_counters"}),
}

# Which package asks for a permission. The others stand in the catalogue for what the product does not do yet: whoever has
# one may do nothing more. A test compares this with the code.
_ASKED_IN: dict[str, tuple[str, ...]] = {
    "attachments": ("document.attach_files",),
    "documents": (
        *("document.view", "document.admin_edit", "correspondence.create", "correspondence.edit"),
        *("rfa.create", "rfa.edit", "transmittal.create", "transmittal.edit"),
        *("circulation.create", "circulation.view", "circulation.respond", "circulation.acknowledge"),
        "circulation.close",
    ),
    "identity": (
        *("system.manage_all", "organization.view", "user.create", "user.edit", "user.delete"),
        "user.manage_assignments",
    ),
    "numbering": (
        *("system.view_logs", "drawing.create", "numbering.view_formats", "numbering.manage_formats"),
        *("numbering.view_counters", "numbering.reset_counter"),
    ),
    "projects": ("project.edit",),
    "workflow": (
        *(
            "document.edit",
            "correspondence.submit",
            "rfa.submit",
            "drawing.manage_revisions",
            "workflow.view_definitions",
        ),
        *("workflow.manage_definitions", "workflow.action_review", "workflow.force_proceed"),
    ),
}
_PACKAGE_OF = {name: package for package, names in _ASKED_IN.items() for name in names}

PERMISSIONS = tuple(ShippedPermission(name, Text(th, en), _PACKAGE_OF.get(name)) for name, _roles, th, en in _MATRIX)


_ROLE_WORDS = {offer.name: offer.called for offer in ROLES}
_PERMISSION_WORDS = {offer.name: offer.says for offer in PERMISSIONS}


def role_words(name: str) -> Text:
    """Return what a role is called; one that did not ship is called by its name."""
    return _ROLE_WORDS.get(name, Text(name, name))


def permission_words(name: str) -> Text:
    """Return what a permission lets somebody do, as in “ดูเอกสาร”, “See documents”."""
    return _PERMISSION_WORDS.get(name, Text(name, name))


def permissions_of(role: str) -> frozenset[str]:
    """Return what a role may do, the additions included."""
    if role == SUPERADMIN:
        return frozenset(offer.name for offer in PERMISSIONS)
    matrix = {name for name, roles, _th, _en in _MATRIX if role in {_SHORT[short] for short in roles.split()}}
    return frozenset(matrix) | ADDED.get(role, frozenset())


DEMO_PASSWORD = "saraban-demo"  # noqa: S105  told to everybody; production refuses to start with these accounts

_DEMO = "LCBP3-C2"  # the code of its project and of its contract


@dataclass(frozen=True, slots=True)
class DemoAssignment:
    """A role and the code of the one place where it is given; none means everywhere."""

    role: str
    organization: str | None = None
    project: str | None = None
    contract: str | None = None


@dataclass(frozen=True, slots=True)
class DemoAccount:
    username: str
    first_name: str
    last_name: str
    organization: str
    placings: tuple[DemoAssignment, ...]
    is_service: bool = False

    @property
    def display_name(self) -> str:
        return f"{self.first_name} {self.last_name}"


DEMO_ACCOUNTS = (
    DemoAccount("admin", "อารีย์", "ดูแลระบบ", "กทท.", (DemoAssignment(SUPERADMIN),)),
    DemoAccount("padmin", "ปกรณ์", "คุมโครงการ", "กทท.", (DemoAssignment(PROJECT_MANAGER, project=_DEMO),)),
    DemoAccount(
        "dc.contractor",
        "ดวงใจ",
        "เอกสารครบ",
        "ผรม.2",
        (
            DemoAssignment(DOCUMENT_CONTROL, organization="ผรม.2"),
            DemoAssignment(DOCUMENT_CONTROL, organization="ผรม.1"),
        ),
    ),
    DemoAccount("dc.consultant", "เดชา", "รับส่งดี", "คคง.", (DemoAssignment(DOCUMENT_CONTROL, organization="คคง."),)),
    DemoAccount(
        "reviewer.consultant",
        "ระวี",
        "ตรวจละเอียด",
        "คคง.",
        (
            DemoAssignment(CONTRACT_ADMIN, contract=_DEMO),
            DemoAssignment(EDITOR, organization="คคง."),
        ),
    ),
    # Decides about RFAs as the owner, and about letters to the owner and to its office.
    DemoAccount(
        "approver.owner",
        "อนันต์",
        "เห็นชอบ",
        "กทท.",
        (
            DemoAssignment(CONTRACT_ADMIN, contract=_DEMO),
            DemoAssignment(DOCUMENT_CONTROL, organization="กทท."),
            DemoAssignment(DOCUMENT_CONTROL, organization="สคฉ.3"),
        ),
    ),
    DemoAccount("viewer", "วิไล", "อ่านอย่างเดียว", "กทท.", (DemoAssignment(VIEWER, organization="กทท."),)),
    DemoAccount(
        "svc.loadtest",
        "บัญชีบริการ",
        "ทดสอบโหลด",
        "ผรม.2",
        (
            DemoAssignment(DOCUMENT_CONTROL, organization="ผรม.2"),
            DemoAssignment(DOCUMENT_CONTROL, organization="คคง."),
        ),
        is_service=True,
    ),
)
