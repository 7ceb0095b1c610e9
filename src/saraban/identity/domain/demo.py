"""The demo accounts: invented people, one for each kind of caller."""

from dataclasses import dataclass

from saraban.identity.domain import catalogue

PASSWORD = "saraban-demo"  # noqa: S105  told to everybody; production refuses to start with these accounts

PROJECT = "LCBP3-C2"
CONTRACT = "LCBP3-C2"


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
    DemoAccount("admin", "อารีย์", "ดูแลระบบ", "กทท.", (DemoAssignment(catalogue.SUPERADMIN),)),
    DemoAccount("padmin", "ปกรณ์", "คุมโครงการ", "กทท.", (DemoAssignment(catalogue.PROJECT_MANAGER, project=PROJECT),)),
    DemoAccount(
        "dc.contractor",
        "ดวงใจ",
        "เอกสารครบ",
        "ผรม.2",
        (
            DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="ผรม.2"),
            DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="ผรม.1"),
        ),
    ),
    DemoAccount(
        "dc.consultant", "เดชา", "รับส่งดี", "คคง.", (DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="คคง."),)
    ),
    DemoAccount(
        "reviewer.consultant",
        "ระวี",
        "ตรวจละเอียด",
        "คคง.",
        (
            DemoAssignment(catalogue.CONTRACT_ADMIN, contract=CONTRACT),
            DemoAssignment(catalogue.EDITOR, organization="คคง."),
        ),
    ),
    # Decides about RFAs as the owner, and about letters to the owner and to its office.
    DemoAccount(
        "approver.owner",
        "อนันต์",
        "เห็นชอบ",
        "กทท.",
        (
            DemoAssignment(catalogue.CONTRACT_ADMIN, contract=CONTRACT),
            DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="กทท."),
            DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="สคฉ.3"),
        ),
    ),
    DemoAccount("viewer", "วิไล", "อ่านอย่างเดียว", "กทท.", (DemoAssignment(catalogue.VIEWER, organization="กทท."),)),
    DemoAccount(
        "svc.loadtest",
        "บัญชีบริการ",
        "ทดสอบโหลด",
        "ผรม.2",
        (
            DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="ผรม.2"),
            DemoAssignment(catalogue.DOCUMENT_CONTROL, organization="คคง."),
        ),
        is_service=True,
    ),
)
