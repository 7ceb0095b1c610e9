"""Shipped permissions, roles, roles of organizations, and demo accounts."""

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


class PartyRole(StrEnum):  # lists of parties are sorted in this order
    OWNER = "OWNER"
    DESIGNER = "DESIGNER"
    CONSULTANT = "CONSULTANT"
    CONTRACTOR = "CONTRACTOR"
    OTHER = "OTHER"


def party_role(role_name: str | None) -> PartyRole:
    try:
        return PartyRole((role_name or "").strip().upper())
    except ValueError:
        return PartyRole.OTHER


def role_names_of(role: str) -> tuple[str, ...]:
    return ("OTHER", "THIRD PARTY", "GUEST") if party_role(role) is PartyRole.OTHER else (role,)


@dataclass(frozen=True, slots=True)
class ShippedRole:
    name: str
    called: Text
    scope: str
    says: Text


@dataclass(frozen=True, slots=True)
class ShippedPermission:
    name: str
    says: Text

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
    ("system.view_logs", "", "ดูบันทึกการทำงานของระบบ", "Read the system's logs"),
    ("organization.create", "", "เพิ่มองค์กร", "Add organizations"),
    ("organization.view", "OA", "ดูทะเบียนองค์กรทั้งหมด", "See the register of organizations"),
    ("organization.edit", "", "แก้ไของค์กร", "Change organizations"),
    ("organization.delete", "", "ปิดใช้องค์กร", "Retire organizations"),
    ("user.create", "OA", "เพิ่มบัญชีผู้ใช้", "Add accounts"),
    ("user.view", "OA", "ดูบัญชีผู้ใช้", "See accounts"),
    ("user.edit", "OA", "แก้ไขบัญชีผู้ใช้", "Change accounts"),
    ("user.delete", "OA", "ปิดบัญชีผู้ใช้", "Close accounts"),
    ("user.manage_assignments", "OA DC", "มอบบทบาทให้ผู้ใช้", "Give roles to users"),
    ("role.create", "", "เพิ่มบทบาท", "Add roles"),
    ("role.view", "", "ดูบทบาท", "See roles"),
    ("role.edit", "", "แก้ไขบทบาท", "Change roles"),
    ("role.delete", "", "ปิดใช้บทบาท", "Retire roles"),
    ("role.assign_permissions", "", "กำหนดสิทธิ์ของบทบาท", "Choose what a role may do"),
    ("master_data.correspondence_type.manage", "DC", "จัดการประเภทเอกสาร", "Manage document types"),
    ("master_data.document_status.manage", "DC", "จัดการสถานะเอกสาร", "Manage document statuses"),
    ("master_data.drawing_category.manage", "DC", "จัดการหมวดของแบบ", "Manage drawing categories"),
    ("master_data.tag.manage", "OA DC", "จัดการป้ายกำกับ", "Manage tags"),
    (
        "master_data.discipline.manage",
        "DC",
        "จัดการสาขางาน ประเภท RFA และประเภทย่อย",
        "Manage disciplines, RFA types and sub types",
    ),
    ("document.view", _ALL, "ดูเอกสาร", "See documents"),
    ("document.edit", _WRITE, "แก้ไขเอกสาร", "Change documents"),
    ("document.admin_edit", "DC", "แก้ไข ถอน หรือยกเลิกเอกสารที่ส่งแล้ว", "Change, withdraw or cancel what was submitted"),
    ("document.attach_files", _WRITE, "แนบไฟล์", "Attach files"),
    ("correspondence.create", _WRITE, "สร้างหนังสือรับ–ส่ง", "Create correspondence"),
    ("correspondence.edit", _WRITE, "แก้ไขหนังสือรับ–ส่ง", "Change correspondence"),
    ("correspondence.submit", _WRITE, "ส่งหนังสือรับ–ส่ง", "Submit correspondence"),
    ("rfa.create", _WRITE, "สร้าง RFA", "Create RFAs"),
    ("rfa.edit", _WRITE, "แก้ไข RFA", "Change RFAs"),
    ("rfa.submit", _WRITE, "ส่ง RFA เข้าสายอนุมัติ", "Submit RFAs for approval"),
    ("drawing.create", _WRITE, "ขึ้นทะเบียนและแก้ไขแบบ", "Register and change drawings"),
    ("drawing.manage_revisions", _WRITE, "จัดการฉบับแก้ไขของแบบ", "Manage revisions of drawings"),
    ("circulation.create", _WRITE, "สร้างใบเวียน", "Create circulations"),
    ("circulation.view", _READ, "ดูใบเวียน", "See circulations"),
    ("circulation.respond", _WRITE, "ตอบใบเวียน", "Answer circulations"),
    ("circulation.acknowledge", _READ, "รับทราบใบเวียน", "Acknowledge circulations"),
    ("circulation.close", "DC", "ปิดใบเวียน", "Close circulations"),
    ("transmittal.create", _WRITE, "สร้างใบนำส่ง", "Create transmittals"),
    ("transmittal.edit", _WRITE, "แก้ไขใบนำส่ง", "Change transmittals"),
    ("workflow.view_definitions", "", "ดูกระบวนงาน", "See workflow definitions"),
    ("workflow.manage_definitions", "", "จัดการกระบวนงาน", "Manage workflow definitions"),
    ("workflow.action_review", "DC CA", "ตัดสินใจในขั้นตอนปัจจุบัน", "Decide in the current step"),
    ("workflow.force_proceed", "DC", "บังคับเปลี่ยนขั้นตอน ยุติ หรือมอบหมายให้ผู้อื่น", "Override, terminate or reassign a workflow"),
    ("numbering.view_formats", "", "ดูรูปแบบเลขที่เอกสาร", "See number formats"),
    ("numbering.manage_formats", "", "แก้ไขรูปแบบเลขที่เอกสาร", "Change number formats"),
    (
        "numbering.override",
        "",
        "ทำเลขที่เป็นโมฆะ ระบุหรือนำเข้าเลขที่เอง และใช้ปีอื่น",
        "Void numbers, enter or import numbers by hand, use another year",
    ),
    ("numbering.view_counters", "", "ดูตัวนับเลขที่", "See counters"),
    ("numbering.reset_counter", "", "ตั้งตัวนับเลขที่ใหม่", "Reset counters"),
    ("audit.view_own", "OA", "ดูประวัติการใช้งานขององค์กรตน", "Read the audit trail of one's own organization"),
    ("audit.view_all", "", "ดูประวัติการใช้งานทั้งหมด", "Read the whole audit trail"),
    ("project.create", "PM", "เพิ่มโครงการ", "Add projects"),
    ("project.edit", "PM", "แก้ไขโครงการ", "Change projects"),
    ("project.delete", "PM", "ปิดใช้โครงการ", "Retire projects"),
    ("project.manage_members", "PM", "จัดการองค์กรในโครงการ", "Manage members of a project"),
    ("contract.create", "CA", "เพิ่มสัญญา", "Add contracts"),
    ("contract.edit", "CA", "แก้ไขสัญญา", "Change contracts"),
    ("contract.delete", "CA", "ปิดใช้สัญญา", "Retire contracts"),
    ("contract.manage_members", "CA", "จัดการคู่สัญญา", "Manage members of a contract"),
)

# Permissions beyond the matrix:
# - A Project Manager edits the number formats of the project and sees its counters; an Org Admin sees formats. Both may
#   override numbers. Only a Superadmin resets a counter.
# - A document controller sees the number series and the audit trail of the organization.
# - A Project Manager sees workflows, because they choose those on which the project's documents start.
# - A Project Manager manages the project's contracts, their members and master data, tags and drawing categories.
# - A Project Manager makes and gives roles in the project, within the permissions that they hold. They do not decide about
#   documents: a person who appoints people must not decide through them.
ADDED: dict[str, frozenset[str]] = {
    PROJECT_MANAGER: frozenset(
        {
            *("numbering.view_formats", "numbering.manage_formats", "numbering.override", "numbering.view_counters"),
            "workflow.view_definitions",
            *("contract.create", "contract.edit", "contract.delete", "contract.manage_members"),
            *("master_data.discipline.manage", "master_data.drawing_category.manage", "master_data.tag.manage"),
            *("role.view", "role.create", "role.edit", "role.delete", "role.assign_permissions"),
            "user.manage_assignments",
        }
    ),
    ORG_ADMIN: frozenset({"numbering.view_formats", "numbering.override"}),
    DOCUMENT_CONTROL: frozenset({"numbering.view_counters", "audit.view_own"}),
}

# Names of the modules of permissions, in the order of the matrix.
MODULES: dict[str, Text] = {
    "system": Text("ระบบ", "System"),
    "organization": Text("องค์กร", "Organizations"),
    "user": Text("ผู้ใช้", "People"),
    "role": Text("บทบาท", "Roles"),
    "master_data": Text("ข้อมูลหลัก", "Master data"),
    "project": Text("โครงการ", "Projects"),
    "contract": Text("สัญญา", "Contracts"),
    "document": Text("เอกสารทุกประเภท", "All documents"),
    "correspondence": Text("หนังสือรับ–ส่ง", "Correspondence"),
    "rfa": Text("RFA", "RFAs"),
    "drawing": Text("แบบ", "Drawings"),
    "circulation": Text("ใบเวียน", "Circulations"),
    "transmittal": Text("ใบนำส่ง", "Transmittals"),
    "workflow": Text("กระบวนงาน", "Workflows"),
    "numbering": Text("เลขที่เอกสาร", "Numbers"),
    "audit": Text("ประวัติการใช้งาน", "Audit trail"),
}
LEVELS: dict[str, Text] = {
    GLOBAL: Text("ทั้งระบบ", "Everywhere"),
    ORGANIZATION: Text("องค์กร", "Organization"),
    PROJECT: Text("โครงการ", "Project"),
    CONTRACT: Text("สัญญา", "Contract"),
}

PERMISSIONS = tuple(ShippedPermission(name, Text(th, en)) for name, _roles, th, en in _MATRIX)


_ROLE_WORDS = {offer.name: offer.called for offer in ROLES}
_PERMISSION_WORDS = {offer.name: offer.says for offer in PERMISSIONS}


def role_words(name: str) -> Text:
    return _ROLE_WORDS.get(name, Text(name, name))


def permission_words(name: str) -> Text:
    return _PERMISSION_WORDS.get(name, Text(name, name))


def permissions_of(role: str) -> frozenset[str]:
    if role == SUPERADMIN:
        return frozenset(offer.name for offer in PERMISSIONS)
    matrix = {name for name, roles, _th, _en in _MATRIX if role in {_SHORT[short] for short in roles.split()}}
    return frozenset(matrix) | ADDED.get(role, frozenset())


DEMO_PASSWORD = "saraban-demo"  # noqa: S105  public; production refuses to start with these accounts

_DEMO = "LCBP3-C2"  # the code of its project and of its contract


@dataclass(frozen=True, slots=True)
class DemoAssignment:
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
