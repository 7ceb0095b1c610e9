"""`saraban doctor`: checks the installation, one line for each check; a fault states what to do."""

import asyncio
import os
import platform
import re
import shutil
import smtplib
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from saraban import commit_name, config
from saraban.cli.output import FAILED, language, with_system
from saraban.kit.errors import Text
from saraban.kit.private_files import probe_folder

if TYPE_CHECKING:
    from saraban.bootstrap import System
    from saraban.ops.health import Dependency

Check = Callable[[], Awaitable[str | None]]
Finding = tuple[str, str, Text]  # the check, its state, and the text
_LEAST_ROOM: Final = 1024**3
_CLOCK_DIFFERENCE: Final = timedelta(seconds=2)
_STATES: Final = {
    "ok": Text("ปกติ", "ok"),
    "off": Text("ไม่ได้ใช้", "off"),
    "warning": Text("เตือน", "warning"),
    "fault": Text("ขัดข้อง", "fault"),
}


class CheckFault(Exception):
    """What is wrong and what to do, in both languages."""

    def __init__(self, th: str, en: str, *, state: str = "fault") -> None:
        super().__init__(en)
        self.state, self.text = state, Text(th, en)


async def check_settings() -> str:
    env = config.load().env
    if names := ", ".join(config.unknown_settings()):
        raise CheckFault(*(config.UNKNOWN_SETTING.say(to, {"name": names}) for to in ("th", "en")), state="warning")
    return f"SARABAN_ENV={env}, {commit_name()}, Python {platform.python_version()}"


async def check_data_folder() -> str:
    from saraban.bootstrap import signing_key

    settings = config.load()
    folder = settings.data_dir
    if os.stat(f"{folder}/").st_mode & 0o077:  # noqa: PTH116  a Path loses the slash, which refuses a file
        raise CheckFault(
            f"บัญชีอื่นในเครื่องอ่าน {folder} ได้ สั่ง chmod -R go= {folder} ด้วยบัญชีเจ้าของ",
            f"Other accounts of this machine can read {folder}: run chmod -R go= {folder} as the owner.",
        )
    probe_folder(folder)
    if not settings.secret_key.get_secret_value():
        (folder / "signing.key").stat()  # raises where the key is missing; signing_key() would create it
    signing_key(settings)
    if database_file := settings.sqlalchemy_url.partition(":///")[2].partition("?")[0]:
        Path(database_file).stat()  # noqa: ASYNC240  a command, which has nothing else to do
    if (free := shutil.disk_usage(folder).free) < _LEAST_ROOM:
        raise CheckFault(
            f"ดิสก์ของ {folder} เหลือ {free // 1024**2} MB ให้เพิ่มพื้นที่",
            f"The disk of {folder} has {free // 1024**2} MB left: make room.",
        )
    return f"{folder.resolve()}, {free / 1024**3:,.0f} GB"


async def check_dependency(dependency: "Dependency") -> str | None:
    from redis.exceptions import RedisError

    from saraban.ops.health import DependencyDown, DependencyOff
    from saraban.web.operations.system import reason_in_thai

    try:
        return await dependency.check()
    except DependencyOff:
        return None
    except (DependencyDown, RedisError) as error:
        th, en = reason_in_thai(str(error)), str(error)
        if dependency.name == "redis":
            cure = "SARABAN_REDIS_URL, SARABAN_LOCK_REDIS_URLS"
            th = f"ใช้ Redis ไม่ได้ ให้เริ่ม Redis หรือแก้ {cure} ({th})"
            en = f"Redis cannot be used: start it, or correct {cure} ({en})."
        raise CheckFault(th, en) from error


async def check_database_server(system: "System") -> str:
    from saraban.ops.health import connection_limit, database_version

    version = await database_version(system.db)
    if system.db.is_sqlite:
        return f"SQLite {version}"
    if "MariaDB" not in version or tuple(map(int, re.findall(r"\d+", version)[:2])) < (10, 11):
        raise CheckFault(
            f"ไม่รองรับฐานข้อมูลรุ่น {version} ต้องใช้ MariaDB 10.11 ขึ้นไป",
            f"The database {version} is not supported: install MariaDB 10.11 or newer.",
        )
    processes = system.settings.workers + (not system.settings.run_worker)
    wanted = processes * (2 * system.db.pool_status()["limit"] + 2)  # those who write, who read, and who look
    if wanted >= (limit := await connection_limit(system.db)):
        raise CheckFault(
            f"{processes} โปรเซสใช้การเชื่อมต่อได้ถึง {wanted} แต่ MariaDB มี max_connections={limit} เพิ่มค่านั้น หรือลด SARABAN_DB_POOL_SIZE",
            f"{processes} processes may open {wanted} connections, and MariaDB has max_connections={limit}: raise it, or "
            "lower SARABAN_DB_POOL_SIZE.",
        )
    return f"{version}, {wanted} < max_connections={limit}"


async def check_clock(system: "System") -> str:
    from saraban.kit.statements import database_now

    async with system.db.reading() as session:
        asked, told = system.clock.now(), await database_now(session)
    difference = max(asked - told, told - system.clock.now(), timedelta())
    seconds = f"{difference.total_seconds():.1f} s"
    if difference > _CLOCK_DIFFERENCE:
        raise CheckFault(
            f"นาฬิกาของเครื่องนี้กับฐานข้อมูลต่างกัน {seconds} ให้ทั้งสองเครื่องใช้ NTP",
            f"The clocks of this machine and of the database differ by {seconds}: run NTP on both.",
        )
    return seconds


async def check_mail(system: "System") -> str | None:
    settings, mail = system.settings, system.mail_settings
    if mail is None:
        return None
    server = f"{settings.smtp_host}:{settings.smtp_port} {settings.smtp_security}"
    try:
        await mail.mailer.check()
    except (OSError, smtplib.SMTPException) as error:
        raise CheckFault(
            f"ใช้เซิร์ฟเวอร์อีเมลไม่ได้ แก้ SARABAN_SMTP_… หรือใบรับรองของเซิร์ฟเวอร์ ({server}, {_reason(error)})",
            f"The mail server cannot be used: correct SARABAN_SMTP_…, or its certificate ({server}, {_reason(error)}).",
        ) from error
    return server if settings.mail == "smtp" else settings.mail


async def check_public_url(system: "System") -> str | None:
    import httpx

    url, reason = system.settings.public_url.rstrip("/"), ""
    try:
        async with httpx.AsyncClient(timeout=5.0) as client:
            answer = await client.get(f"{url}/login") if url else None
        if answer and "x-trace-id" not in answer.headers:  # of another program, or of the proxy itself
            reason = f"HTTP {answer.status_code}"
    except (httpx.HTTPError, OSError) as error:
        reason = _reason(error)
    if reason:
        raise CheckFault(
            f"Saraban ไม่ตอบที่ {url} ตรวจ SARABAN_PUBLIC_URL ชื่อเครื่อง ใบรับรอง พร็อกซี และเซิร์ฟเวอร์ ({reason})",
            f"Saraban does not answer at {url}: check SARABAN_PUBLIC_URL, DNS, certificate, proxy and server ({reason}).",
        )
    return url or None


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:120]


async def examine_system(system: "System") -> list[Finding]:
    from saraban.ops.health import WorkerProbe

    asked = [*system.dependencies, WorkerProbe(system.db, None).dependency()]
    checks: dict[str, Check] = {dependency.name: partial(check_dependency, dependency) for dependency in asked}
    for check in (check_database_server, check_clock, check_mail, check_public_url):
        checks[check.__name__.removeprefix("check_")] = partial(check, system)
    return await run_checks(checks)


async def run_checks(checks: Mapping[str, Check]) -> list[Finding]:
    """Run the checks at once; a fault that fails several of them is stated once."""
    findings: list[Finding] = []
    for found in await asyncio.gather(*(_findings(name, check) for name, check in checks.items())):
        stated = {text for _, state, text in findings if state == "fault"}
        findings += [finding for finding in found if finding[2] not in stated]
    return findings


async def _findings(name: str, check: Check) -> list[Finding]:
    from saraban.ops.operator_messages import operator_message

    try:
        fact = await check()
    except CheckFault as fault:
        return [(name, fault.state, fault.text)]
    except Exception as error:  # noqa: BLE001  the door: what keeps a server from its start, in the same words
        message = operator_message(error)
        lines = message.lines if message else (Text(_reason(error), _reason(error)),)
        return [(name, "fault", line) for line in lines]
    return [(name, "off" if fact is None else "ok", Text(fact or "", fact or ""))]


def doctor(*, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False) -> None:
    """Check settings, folder, database, Redis, mail, address and worker; print one line for each.

    Run it with the settings of the server, while the server runs. A fault states what to do, and the exit code is 1.

    Examples:

        saraban doctor
        saraban doctor --json    for a monitor
    """
    findings = asyncio.run(run_checks({"settings": check_settings, "data_folder": check_data_folder}))
    if all(state != "fault" for _, state, _ in findings):
        findings += with_system(examine_system)
    if as_json:
        import orjson

        checks = [{"check": name, "state": state, "text": text.say(language())} for name, state, text in findings]
        typer.echo(orjson.dumps(checks, option=orjson.OPT_INDENT_2).decode())
    else:
        for name, state, text in findings:
            typer.echo(f"{_STATES[state].say(language())} {name}: {text.say(language())}".removesuffix(": "))
    if any(state == "fault" for _, state, _ in findings):
        raise typer.Exit(FAILED)
