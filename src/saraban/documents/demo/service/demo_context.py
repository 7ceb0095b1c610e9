"""What the demo needs to act: the parts of the system, the people, and the codes of the demo project."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain.storage import Storage
from saraban.attachments.service import UploadRules
from saraban.documents.core.service import DocumentServices
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.identity.service import DEMO_ACCOUNTS
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.projects import service as projects
from saraban.workflow.service import Subjects, Transitions

PROJECT = "LCBP3-C2"
ADDRESS = "demo"


class DemoMissing(DomainError):
    """Somebody who plays in the demo has no open account."""

    kind, code = ErrorKind.CONFLICT, "DEMO_MISSING"
    says = Text("ไม่พบบัญชีสาธิต {username} หรือบัญชีถูกปิด", "The demo account {username} is missing or disabled.")
    recovery = (
        Text("เปิดบัญชีด้วย `saraban user enable`", "Enable the account with `saraban user enable`."),
        Text("หรือใช้โฟลเดอร์ข้อมูลใหม่ (SARABAN_DATA_DIR)", "Or use a new data folder (SARABAN_DATA_DIR)."),
    )


@dataclass(frozen=True, slots=True)
class DemoServices:
    """The parts of the running system that the demo acts on; `bootstrap` hands them in."""

    documents: DocumentServices
    storage: Storage
    uploads: UploadRules
    subjects: Subjects
    steps: Transitions
    zone: ZoneInfo

    @property
    def db(self) -> Database:
        return self.documents.db

    def context(self, caller: Caller, now: datetime) -> RequestContext:
        return RequestContext(caller, now, self.zone, ADDRESS)


@dataclass(frozen=True, slots=True)
class DemoProject:
    """
    Where it plays and who plays: public ids by code, callers by user name.

    :param looker: sees everything, to find what is there already
    :param people: those whose accounts are open
    """

    project: UUID
    organizations: Mapping[str, UUID]
    contracts: Mapping[str, UUID]
    looker: Caller
    people: Mapping[str, Caller]

    def person(self, username: str) -> Caller:
        """
        :raises DemoMissing: when the account is not there or closed
        """
        if username not in self.people:
            raise DemoMissing(values={"username": username})
        return self.people[username]


async def find_demo_project(session: AsyncSession, now: datetime, zone: ZoneInfo) -> DemoProject:
    """Find the demo project and its people."""
    project = await projects.find_project_by_code(session, code=PROJECT)
    ctx = RequestContext(await identity.system_caller(session), now, zone, ADDRESS)
    members = await projects.organizations(ctx, session, project_public_id=project.public_id)
    contracts = await projects.contracts(ctx, session, project_public_id=project.public_id)
    still_open = {account.username for account in await identity.list_users(session) if account.is_active}
    return DemoProject(
        project=project.public_id,
        organizations={member.organization_code: member.public_id for member in members},
        contracts={contract.contract_code: contract.public_id for contract in contracts},
        looker=ctx.caller,
        people={
            account.username: found
            for account in DEMO_ACCOUNTS
            if account.username in still_open
            and (found := await identity.find_caller(session, username=account.username))
        },
    )
