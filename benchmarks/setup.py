"""
Setting up: a large project file applied, two thousand people invited from a spreadsheet, and the pages of master data with
5,000 rows beside the same with 50; on MariaDB and on SQLite.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from xlsxwriter import Workbook

from benchmarks import http
from benchmarks.bench import Bench, Suite, demo_databases
from benchmarks.load import Operation
from benchmarks.results import Row
from saraban.identity import service as identity
from saraban.identity.domain.people_workbook import COLUMNS
from saraban.identity.models import Organization, Role, User, UserAssignment
from saraban.kit.db import Base, Database
from saraban.kit.spreadsheets import read_table
from saraban.projects.models import Contract, ContractOrganization, Project, ProjectOrganization
from saraban.setup import service as setup
from saraban.setup.domain.master_kinds import KINDS, ORGANIZATION, PROJECT, MasterKind, Owner
from saraban.setup.domain.project_yaml import yaml_text
from tests.conftest import PASSWORD
from tests.factories.contexts import context

ORGANIZATIONS, CONTRACTS, DISCIPLINES, PEOPLE = 40, 6, 60, 300
INVITED = 2_000
FEW, MANY = 50, 5_000
PAGES_ASKED, SLOW = 30, 1.2
UNMEASURED = 3  # the first times, in which the server makes its statements
NOW: Final = datetime(2026, 11, 20, 5, tzinfo=UTC)
LIST = Path("build/bench-setup-pages.txt")
_NAME = "setup"


async def _timed(b: Bench, what: str, wanted: str, work: Callable[[Database, int], Awaitable[None]]) -> list[Row]:
    """Do it so many rounds on each database, and give the median of its time and of this process's share of it."""
    rows = []
    async with demo_databases(b, what.split(maxsplit=1)[0]) as urls:
        for kind, url in urls.items():
            b.say(f"{what} on {kind}")
            db = Database(url)
            times, processor = [], []
            for number in range(b.rounds):
                begun, worked = time.perf_counter(), time.process_time()
                await work(db, number)
                times.append(time.perf_counter() - begun)
                processor.append(time.process_time() - worked)
            await db.close()
            rows.append(Row(_NAME, f"{what}, {kind}", statistics.median(times), "s", wanted))
            rows.append(Row(_NAME, f"{what}, {kind}: processor, the database apart", statistics.median(processor), "s"))
    return rows


# A project file.


def project_file(number: int) -> bytes:
    """A project of its own, with organizations and people of its own."""
    mark = f"B{number}"
    organizations = [f"{mark}-{one}" for one in range(ORGANIZATIONS)]
    roles = ["OWNER", "CONSULTANT", *["CONTRACTOR"] * (ORGANIZATIONS - 2)]
    parties = [{"organization": code, "role": role} for code, role in zip(organizations, roles, strict=True)]
    people = [
        {
            "username": f"{mark}.{one}".lower(),
            "email": f"{mark}.{one}@example.org".lower(),
            "firstName": "สมชาย",
            "lastName": "ใจดี",
            "organization": (home := organizations[one % ORGANIZATIONS]),
            "roles": [{"role": "Document Control", "level": "Organization", "place": home}],
        }
        for one in range(PEOPLE)
    ]
    contracts = [
        {
            "code": f"{mark}-C{one}",
            "name": "สัญญา",
            "parties": parties[one::CONTRACTS],
            "disciplines": [
                {"code": f"D{each}", "nameTh": "สาขา", "nameEn": "Discipline"}
                for each in range(DISCIPLINES // CONTRACTS)
            ],
        }
        for one in range(CONTRACTS)
    ]
    return yaml_text(
        {
            "organizations": [{"code": code, "name": f"บริษัท {code}"} for code in organizations],
            "project": {"code": mark, "name": "โครงการ"},
            "members": parties,
            "contracts": contracts,
            "people": people,
        }
    ).encode()


async def file(b: Bench) -> list[Row]:
    """Read, compared with what there is, and applied, everybody in it invited."""

    async def apply(db: Database, number: int) -> None:
        content = project_file(number)

        async def work(session: Any) -> setup.AppliedFile:
            caller = await identity.system_caller(session)
            return await setup.apply(context(caller, NOW), session, content=content)

        assert (await db.transact(work)).applied

    people = f"file of {ORGANIZATIONS} organizations, {CONTRACTS} contracts, {DISCIPLINES} disciplines, {PEOPLE} people"
    return await _timed(b, people, "<= 5", apply)


# People from a spreadsheet.


def _sheet(path: Path, number: int) -> None:
    with Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, [column.key for column in COLUMNS])
        for one in range(INVITED):
            name = f"b{number}.{one}"
            who = [name, f"{name}@example.org", "สมชาย", "ใจดี", "คคง."]
            sheet.write_row(one + 1, 0, [*who, "Document Control", "Organization", "คคง."])


async def people(b: Bench) -> list[Row]:
    """From the XLSX: read, tried and taken back, and invited with a role each; they have links and no passwords."""

    async def invite(db: Database, number: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.xlsx"
            await asyncio.to_thread(_sheet, path, number)
            rows = await asyncio.to_thread(lambda: list(read_table(path, COLUMNS, most_rows=INVITED + 1).rows))
        for dry_run in (True, False):

            async def work(session: Any, *, dry_run: bool = dry_run) -> identity.PeopleImport:
                caller = await identity.system_caller(session)
                return await identity.import_people(context(caller, NOW), session, rows=rows, dry_run=dry_run)

            assert len((await db.transact(work)).invitations) == INVITED

    return await _timed(b, f"import of {INVITED:,} people, dry run and commit", "<= 20", invite)


# Pages.


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a database: of the installation, of the demo project and of its largest contract."""

    db: Database
    project: Project
    contract: Contract

    @classmethod
    async def of(cls, url: str) -> "Lists":
        db = Database(url)
        async with db.reading() as session:
            project = await session.scalar(sa.select(Project).where(Project.project_code == "LCBP3-C2"))
            contract = await session.scalar(sa.select(Contract).where(Contract.contract_code == "LCBP3-C2"))
        assert project is not None
        assert contract is not None
        return cls(db, project, contract)

    @property
    def paths(self) -> dict[str, str]:
        """The address of the page of each list."""
        project = f"/projects/{self.project.public_id}/setup"
        contract = f"{project}/contracts/{self.contract.public_id}"
        owners = {Owner.INSTALLATION: "/master", Owner.PROJECT: project, Owner.CONTRACT: contract}
        kinds = {name: f"{owners[kind.owner]}/{kind.path.rpartition('/')[2]}" for name, kind in _KINDS.items()}
        more = {"organization": "/organizations", "people": "/people"}
        return kinds | more | {"members": f"{project}/members", "parties": f"{contract}/parties"}

    async def fill(self, what: str, count: int) -> list[sa.Delete]:
        """Add rows until there are as many as are wanted, and give what takes them out again, the last first."""
        async with self.db.writing() as session:
            if what in _KINDS:
                return [await self._add(session, _KINDS[what], count)]
            if what == "people":
                return await _add_people(session, count)
            of_project: tuple[Any, dict[str, int]] = (ProjectOrganization, {"project_id": self.project.id})
            of_contract: tuple[Any, dict[str, int]] = (ContractOrganization, {"contract_id": self.contract.id})
            table, owner = of_project if what == "members" else of_contract
            there = set(await session.scalars(sa.select(table.organization_id).filter_by(**owner)))
            added = await self._add(session, ORGANIZATION, count)
            free = sa.select(Organization.id).where(Organization.id.not_in(there)).limit(count - len(there))
            keys = list(await session.scalars(free))
            await session.execute(sa.insert(table), [owner | {"organization_id": key} for key in keys])
            return [sa.delete(table).filter_by(**owner).where(table.organization_id.not_in(there)), added]

    async def empty(self, added: Sequence[sa.Delete]) -> None:
        async with self.db.writing() as session:
            for statement in added:
                await session.execute(statement)

    async def _add(self, session: Any, kind: MasterKind, count: int) -> sa.Delete:
        table = Base.metadata.tables[kind.table]
        keys = {Owner.PROJECT: self.project.id, Owner.CONTRACT: self.contract.id}
        owner = {f"{kind.owner}_id": keys[kind.owner]} if kind.owner in keys else {}
        there = await session.scalar(sa.select(sa.func.count()).select_from(table).filter_by(**owner))
        last = await session.scalar(sa.select(sa.func.max(table.c.id))) or 0
        rows = [owner | _row(kind, number) for number in range(there, count)]
        if rows:
            await session.execute(sa.insert(table), rows)
        return sa.delete(table).where(table.c.id > last)


_KINDS: Final = {kind.name: kind for kind in KINDS if kind is not PROJECT}  # every page names each project in its head


def _row(kind: MasterKind, number: int) -> dict[str, Any]:
    table = Base.metadata.tables[kind.table]
    said: dict[str, Any] = {one.column: f"{number:05} {kind.singular.th}" for one in kind.fields if one.required}
    said |= {one.column: str(number) for one in kind.fields if one.name == "number"}
    said |= {one.column: 1 for one in kind.fields if one.reference}
    always = {"created_at": NOW, "updated_at": NOW, "sort_order": number, "is_active": True}
    return said | {kind.code.column: f"B{number:05}"} | {name: one for name, one in always.items() if name in table.c}


async def _add_people(session: Any, count: int) -> list[sa.Delete]:
    """Each has a role in an organization."""
    there = await session.scalar(sa.select(sa.func.count()).select_from(User))
    last = await session.scalar(sa.select(sa.func.max(User.user_id)))
    home = await session.scalar(sa.select(Organization.id).where(Organization.organization_code == "คคง."))
    role = await session.scalar(sa.select(Role.role_id).where(Role.role_name == "Viewer"))
    known = {"password_hash": "!", "first_name": "สมชาย", "last_name": "ใจดี", "primary_organization_id": home}
    known |= {"created_at": NOW, "updated_at": NOW}
    people = [{"username": f"b{one:05}", "email": f"b{one:05}@example.org"} | known for one in range(there, count)]
    await session.execute(sa.insert(User), people)
    keys = await session.scalars(sa.select(User.user_id).where(User.user_id > last))
    held = {"role_id": role, "organization_id": home, "assigned_at": NOW}
    await session.execute(sa.insert(UserAssignment), [held | {"user_id": key} for key in keys])
    return [sa.delete(UserAssignment).where(UserAssignment.user_id > last), sa.delete(User).where(User.user_id > last)]


async def pages(b: Bench) -> list[Row]:
    """Each list of 5,000 rows beside the same of 50, while the other lists are short, and a search in it."""
    rows, told = [], {}
    async with AsyncExitStack() as stack:
        urls = {count: await stack.enter_async_context(demo_databases(b, f"pages_{count}")) for count in (FEW, MANY)}
        for kind in urls[FEW]:
            b.say(f"pages of {FEW} and {MANY:,} rows on {kind}")
            found = await _pages_on(b, {count: of_kind[kind] for count, of_kind in urls.items()})
            told |= {f"{what}, {kind}": times for what, times in found.items()}
            for said, search in (("pages", False), ("searches", True)):
                ratios = {
                    what: many / few for what, (few, many) in found.items() if what.startswith("search") == search
                }
                worst = max(ratios, key=lambda what: ratios[what])
                what = f"{said}, {MANY:,} rows against {FEW}, the worst ({worst}, {found[worst][0]:.1f} ms), {kind}"
                rows.append(Row(_NAME, what, ratios[worst], "x", "<= 1.3"))
    await asyncio.to_thread(_write, told)
    return rows


def _write(told: Mapping[str, tuple[float, float]]) -> None:
    LIST.parent.mkdir(exist_ok=True)
    lines = [f"{many / few:6.2f}x  {many:7.1f} ms  {few:7.1f} ms  {what}" for what, (few, many) in told.items()]
    LIST.write_text("\n".join(sorted(lines, reverse=True)), encoding="utf-8")


async def _pages_on(b: Bench, urls: Mapping[int, str]) -> dict[str, tuple[float, float]]:
    """Return the milliseconds of each page and each search with few rows and with many."""
    found = {}
    async with AsyncExitStack() as stack:
        lists = {count: await Lists.of(url) for count, url in urls.items()}
        asking: dict[int, Callable[[str], Operation]] = {}
        for count, one in lists.items():
            stack.push_async_callback(one.db.close)
            for what in one.paths:
                await one.fill(what, FEW)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            site = await stack.enter_async_context(http.site_on(urls[count], b.redis.url, folder))
            clients = await stack.enter_async_context(http.Clients(site.port, 1))
            asking[count] = partial(_asking, site, clients, await site.token_of("admin", PASSWORD))
        for what in lists[MANY].paths:
            added = await lists[MANY].fill(what, MANY)
            for said, search in (("", ""), ("search in ", "?q=0004")):
                asked = {count: asking[count](one.paths[what] + search) for count, one in lists.items()}
                times = await _compared(asked)
                # A neighbour may have woken up meanwhile: what looks slow is asked for again.
                found[said + what] = times if times[1] / times[0] < SLOW else await _compared(asked)
            await lists[MANY].empty(added)
    return found


def _asking(site: http.Site, clients: http.Clients, token: str, path: str) -> Operation:
    return clients.sending([site.reading(path, as_page=True, token=token)])


async def _compared(asked: Mapping[int, Operation]) -> tuple[float, float]:
    """Ask in turn, and return the milliseconds that a quarter of the answers needed at most."""
    times: dict[int, list[float]] = {FEW: [], MANY: []}
    for turn in range(UNMEASURED + PAGES_ASKED):
        for count, measured in times.items():
            begun = time.perf_counter()
            await asked[count]()
            if turn >= UNMEASURED:
                measured.append((time.perf_counter() - begun) * 1000)
    return statistics.quantiles(times[FEW])[0], statistics.quantiles(times[MANY])[0]


SUITES: dict[str, Suite] = {"setup-file": file, "setup-people": people, "setup-pages": pages}
