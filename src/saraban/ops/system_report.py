"""The state of an installation for operators; it contains no secrets or passwords."""

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, SecretStr

import saraban
from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity.dependencies import Context
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.addresses import split_url
from saraban.kit.db import Database
from saraban.kit.errors import Text
from saraban.kit.http import wiring
from saraban.kit.redis import sentinel_address
from saraban.kit.schema import Schema
from saraban.ops import metrics
from saraban.ops.health import DependencyReport, OpsWiring, check_all, database_version

router = APIRouter(tags=["Operations"])
SEES: Final = "system.view_logs"
_VERIFY_FAILURES: Final = "saraban_audit_verify_failures_total"

# Parts that may be off: title and consequence.
_OFF: Final[dict[str, tuple[Text, Text]]] = {
    "redis": (
        Text("Redis", "Redis"),
        Text(
            "เลขที่ยังไม่ซ้ำเพราะฐานข้อมูลเป็นผู้ล็อก แต่เพดานอัตราการใช้งานนับแยกในแต่ละโปรเซส และงานเบื้องหลังเริ่มช้าลงเล็กน้อย",
            "The database alone keeps numbers unique. Rate limits are counted in each process apart, and the worker hears of "
            "new work a little later.",
        ),
    ),
    "mail": (
        Text("อีเมล", "E-mail"),
        Text(
            "ไม่มีผู้ใดได้รับอีเมล การแจ้งเตือนอยู่ในระบบเท่านั้น ลิงก์คำเชิญต้องส่งให้ผู้ใช้เอง",
            "Nobody gets e-mail: notices stay inside Saraban, and links of invitations must be handed over.",
        ),
    ),
    "mail_console": (
        Text("อีเมล", "E-mail"),
        Text("อีเมลถูกเขียนลงบันทึกของระบบเท่านั้น ไม่ถึงผู้รับ", "E-mail is written to the log and reaches nobody."),
    ),
    "public_url": (
        Text("ที่อยู่สำหรับลิงก์", "Address for links"),
        Text(
            "ยังไม่ได้ตั้ง SARABAN_PUBLIC_URL จึงส่งลิงก์คำเชิญทางอีเมลไม่ได้",
            "SARABAN_PUBLIC_URL is not set, so invitations cannot be sent by e-mail.",
        ),
    ),
    "antivirus": (
        Text("โปรแกรมตรวจไวรัส", "Antivirus"),
        Text(
            "ไฟล์ที่อัปโหลดตรวจเฉพาะชนิดและขนาด ไม่ได้ตรวจไวรัส ให้เครื่องของผู้ใช้ตรวจเมื่อเปิดไฟล์",
            "Uploaded files are checked by type and size, not for viruses: the machines that open them have to.",
        ),
    ),
    "ops_webhook": (
        Text("การแจ้งผู้ดูแลระบบ", "Alert webhook"),
        Text(
            "เหตุการณ์ที่ส่งไม่สำเร็จจะอยู่ในหน้าเหตุการณ์และบันทึกของระบบ ไม่มีการแจ้งออกไปภายนอก",
            "Events that were given up stand on the page of events and in the log; nobody outside is told.",
        ),
    ),
    "production": (
        Text("โหมดใช้งานจริง", "Production mode"),
        Text(
            "SARABAN_ENV ไม่ใช่ production บัญชีสาธิตยังใช้ได้ ห้ามใช้กับงานจริง",
            "SARABAN_ENV is not `production`: demo accounts are let in. Not for real documents.",
        ),
    ),
}


class OffOut(Schema):
    """A part that is not set up, and the consequence."""

    name: str = Field(examples=["mail"])
    title: Text
    means: Text


class DatabaseOut(Schema):
    kind: str = Field(examples=["mariadb"])
    version: str = Field(examples=["10.11.6-MariaDB"])
    address: str = Field(description="Without user and password.", examples=["mysql://db.example.org:3306/saraban"])
    connections: dict[str, int] = Field(description="Of this process: in use, size, overflow, limit.")


class QueueOut(Schema):
    name: str = Field(examples=["inside"])
    waiting: int
    oldest_seconds: float | None = Field(description="Age of the oldest that waits; null when nothing does.")


class StorageOut(Schema):
    free_bytes: int
    total_bytes: int


class SealOut(Schema):
    """The sealed part of a journal; the head proves each earlier block."""

    journal: str = Field(examples=["deeds"])
    block: int
    sealed_at: datetime | None
    head: str | None
    unsealed_rows: int
    unsealed_since: datetime | None
    verify_failures: int | None = Field(
        description="Blocks that were found changed since the server started; null where the worker runs apart."
    )


class SettingOut(Schema):
    """A setting that differs from its default; secrets are not shown, addresses without passwords."""

    name: str = Field(examples=["SARABAN_DB_POOL_SIZE"])
    value: str = Field(examples=["20"])
    default: str = Field(examples=["10"])
    says: str = Field(description="What it is for.")


class SystemOut(Schema):
    """The installation at this moment, as this server sees it."""

    version: str
    at: datetime
    dependencies: dict[str, DependencyReport]
    database: DatabaseOut
    queues: list[QueueOut]
    dead_letters: int
    storage: StorageOut
    audit: list[SealOut]
    off: list[OffOut]
    settings: list[SettingOut]


@router.get("/system", summary="Read the state of the installation")
async def system(request: Request, ctx: Context) -> SystemOut:
    """
    Database, Redis, worker, queues, storage, the audit seal, parts that are off and the consequences. For operators.
    """
    return await read_system(ctx, wiring(request, OpsWiring))


async def read_system(ctx: RequestContext, wired: OpsWiring) -> SystemOut:
    """:raises Forbidden:"""
    ctx.caller.require(SEES, Scope())
    reports, database, (queues, dead), seals, storage = await asyncio.gather(
        check_all(wired.dependencies),
        _read_database(wired.db),
        _read_queues(wired.db, wired.handlers, ctx.now),
        _read_seals(wired.db),
        asyncio.to_thread(_storage, wired.storage_folder),
    )
    return SystemOut(
        version=saraban.__version__,
        at=ctx.now,
        dependencies=reports,
        database=database,
        queues=queues,
        dead_letters=dead,
        storage=storage,
        audit=seals,
        off=[
            OffOut(name=name, title=_OFF[name][0], means=_OFF[name][1]) for name in _parts_off(wired.settings, reports)
        ],
        settings=list(changed_settings(wired.settings)),
    )


async def _read_database(db: Database) -> DatabaseOut:
    return DatabaseOut(
        kind="sqlite" if db.is_sqlite else "mariadb",
        version=await database_version(db),
        address=without_password(db.url.render_as_string(hide_password=False)),
        connections=db.pool_status(),
    )


async def _read_queues(db: Database, handlers: events.Handlers, now: datetime) -> tuple[list[QueueOut], int]:
    queues, dead = [], 0
    async with db.reading() as session:
        for name in ("inside", "outside"):
            backlog = await events.backlog(session, lane=handlers.lane(outside=name == "outside"))
            age = max(0.0, (now - backlog.oldest).total_seconds()) if backlog.oldest else None
            queues.append(QueueOut(name=name, waiting=backlog.waiting, oldest_seconds=age))
            dead = backlog.dead
    return queues, dead


async def _read_seals(db: Database) -> list[SealOut]:
    failures = metrics.measured(_VERIFY_FAILURES)
    return [
        SealOut(
            journal=journal.journal,
            block=journal.block,
            sealed_at=journal.sealed_at,
            head=journal.head,
            unsealed_rows=journal.count,
            unsealed_since=journal.since,
            verify_failures=int(failures[(journal.journal,)]) if (journal.journal,) in failures else None,
        )
        for journal in await audit.unsealed(db)
    ]


def _storage(folder: Path) -> StorageOut:
    usage = shutil.disk_usage(folder)
    return StorageOut(free_bytes=usage.free, total_bytes=usage.total)


def _parts_off(settings: BaseModel, reports: Mapping[str, DependencyReport]) -> Iterator[str]:
    values = {name: getattr(settings, name) for name in type(settings).model_fields}
    yield from (name for name, report in reports.items() if report.status == "off" and name in _OFF)
    if values["mail"] != "smtp":
        yield "mail" if values["mail"] == "off" else "mail_console"
    elif not values["public_url"]:
        yield "public_url"
    yield "antivirus"  # not supported yet
    if not values["ops_webhook_url"]:
        yield "ops_webhook"
    if values["env"] != "production":
        yield "production"


def changed_settings(settings: BaseModel) -> Iterator[SettingOut]:
    for name, field in sorted(type(settings).model_fields.items()):
        value, default = getattr(settings, name), field.get_default()
        if value != default:
            yield SettingOut(
                name=field.alias or f"SARABAN_{name.upper()}",
                value=_display_value(name, value),
                default=_display_value(name, default),
                says=field.description or "",
            )


def _display_value(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        return "•••" if value.get_secret_value() else ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if name.endswith("urls"):
        return ", ".join(map(without_password, text.split(",")))
    return without_password(text) if name.endswith("url") else text


def without_password(address: str) -> str:
    """Return scheme, host and port; a path only if it names a database."""
    if sentinels := sentinel_address(address):
        return f"redis+sentinel://{','.join(f'{host}:{port}' for host, port in sentinels.servers)}/{sentinels.service}"
    parts = split_url(address.strip())
    if parts is None:
        return "…"
    if not parts.scheme:
        return address.strip()
    host = parts.netloc.rpartition("@")[2]
    scheme = parts.scheme.partition("+")[0]
    named = scheme in {"mysql", "mariadb", "redis", "rediss", "sqlite", "unix"}
    path = parts.path if named else "/…" if parts.path.strip("/") else ""
    return f"{scheme}://{host}{path}"
