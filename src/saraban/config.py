"""Settings from `SARABAN_…` variables and `.env`; `docs/settings.md` lists them."""

import logging
import multiprocessing
import os
import sys
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from dotenv import dotenv_values
from pydantic import AfterValidator, Field, SecretStr, ValidationInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from saraban.attachments.domain.kinds import kind_list
from saraban.kit.addresses import split_url
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text

_ENV_FILE = ".env"
_CLOSE = 0.88  # of 1; SARABAN_PROT is as close as 0.92, SARABAN_DATABASE 0.89
_RETIRED = dict.fromkeys(("SARABAN_WEBHOOK_LIMIT", "SARABAN_MAIL_PER_MINUTE"), "SARABAN_OUTBOUND_LIMIT")
_RETIRED |= dict.fromkeys(("SARABAN_MAIL_ATTEMPTS", "SARABAN_MAIL_RETRY_SECONDS"), "SARABAN_MAIL_RETRY_HOURS")


class SettingMisspelt(DomainError):
    """A variable's name is close to the name of a setting, or is the name of a retired setting."""

    kind, code = ErrorKind.INVALID, "SETTING_MISSPELT"
    says = Text(
        "ไม่มีค่าชื่อนี้ หมายถึง {near} หรือไม่ แก้ชื่อตัวแปรหรือไฟล์ .env",
        "There is no such setting; did you mean {near}? Correct the variable or the file .env.",
    )
    recovery = (Text("แก้ชื่อตัวแปรหรือไฟล์ .env", "Correct the name of the variable, or the file .env."),)


UNKNOWN_SETTING = Text(
    "ไม่มีค่าชื่อ {name} จึงไม่มีผล รายชื่อทั้งหมดอยู่ใน docs/settings.md",
    "There is no setting {name}, so it has no effect; docs/settings.md lists them all.",
)


def _refused(th: str, en: str) -> PydanticCustomError:
    return PydanticCustomError("malformed", en, {"th": th})


def _database_url(text: str, info: ValidationInfo) -> str:
    """Never repeat the URL, which contains a password."""
    if not text and info.data.get("env") == "production":
        raise _refused(
            "ในโหมด production ต้องระบุ: mysql://… หรือไฟล์ SQLite เช่น sqlite:////var/lib/saraban/saraban.db",
            "Production requires it: mysql://…, or the file of SQLite, such as sqlite:////var/lib/saraban/saraban.db.",
        )
    if not text:
        return text
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    backend = url.get_backend_name() if url else ""
    if url and (backend == "sqlite" or (backend in {"mysql", "mariadb"} and url.database)):
        return text
    raise _refused(
        "ต้องเป็น mysql://user:password@host:port/name โดยเขียนอักขระพิเศษในรหัสผ่านเป็น %40 %2F เป็นต้น หรือเว้นว่างเพื่อใช้ SQLite",
        "This must be mysql://user:password@host:port/name, with special characters of the password written as %40, %2F, …; "
        "or empty for SQLite.",
    )


def _redis_server(text: str) -> tuple[str, int] | None:
    """Return what distinguishes Redis servers, or None for a malformed address."""
    url = split_url(text)
    if url is not None and url.scheme == "unix":
        return url.path, 0
    has_host = bool(url and url.hostname and url.port != 0 and (url.path.strip("/") or "0").isdecimal())
    return (url.hostname or "", url.port or 6379) if url and url.scheme in {"redis", "rediss"} and has_host else None


def _redis_url(text: str) -> str:
    from saraban.kit.redis import sentinel_address

    if text and _redis_server(text) is None and sentinel_address(text) is None:
        raise _refused(
            "ต้องเป็น redis://host:port/0 หรือ redis+sentinel://host:26379,host:26379/ชื่อเซอร์วิส/0 หรือเว้นว่าง",
            "This must be redis://host:port/0, redis+sentinel://host:26379,host:26379/service-name/0, or empty.",
        )
    return text


def _lock_redis_urls(text: str) -> str:
    masters = [_redis_server(part.strip()) for part in text.split(",") if part.strip()]
    if None in masters or len(set(masters)) < len(masters) or (masters and len(masters) % 2 == 0):
        raise _refused(
            "ต้องเป็น redis://host:port/0 ของเซิร์ฟเวอร์ที่ไม่ซ้ำกัน จำนวนคี่ (1, 3 หรือ 5) คั่นด้วยจุลภาค หรือเว้นว่าง และใช้ redis+sentinel:// ไม่ได้",
            "This must be redis://host:port/0 of an odd number (1, 3 or 5) of different servers, commas between, or empty; "
            "redis+sentinel:// is for SARABAN_REDIS_URL only.",
        )
    return text


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise _refused("ไม่มีเขตเวลานี้ ตัวอย่าง Asia/Bangkok", "There is no such time zone; one is Asia/Bangkok.") from None
    return name


def _log_level(name: str) -> str:
    if name.upper() not in logging.getLevelNamesMapping():
        raise _refused("ต้องเป็น DEBUG, INFO, WARNING หรือ ERROR", "This must be DEBUG, INFO, WARNING or ERROR.")
    return name


def _trusted_proxies(text: str) -> str:
    if any(part.strip() == "*" or part.strip().endswith("/0") for part in text.split(",")):
        raise _refused(
            "ระบุที่อยู่ของ proxy เอง ไม่ใช่ * หรือทั้งอินเทอร์เน็ต มิฉะนั้นใครก็ปลอมที่อยู่ของตนได้",
            "Name the addresses of the proxies, not * or every network: any client could then choose its own address.",
        )
    return text


def _public_url(text: str, info: ValidationInfo) -> str:
    url = split_url(text)
    is_usable = url is not None and (not text or (url.scheme in {"http", "https"} and bool(url.hostname)))
    is_safe = url is not None and (url.scheme == "https" or url.hostname in {"localhost", "127.0.0.1"})
    if not is_usable or (info.data.get("env") == "production" and not is_safe):
        raise _refused(
            "ต้องเป็นที่อยู่ที่ผู้ใช้เปิด เช่น https://saraban.example.org ในโหมด production ต้องระบุ และต้องเป็น https://",
            "This must be the address that people open, such as https://saraban.example.org. "
            "Production requires it, and https://: browsers send the cookies over TLS only.",
        )
    return text


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="SARABAN_", env_file=_ENV_FILE, extra="ignore")

    env: Literal["development", "test", "production"] = Field(
        "development", description="Demo accounts are refused in production."
    )
    host: str = Field("127.0.0.1", description="Address the server listens on.")
    port: int = Field(8000, ge=1, le=65535, description="Port the server listens on.")
    workers: int = Field(1, ge=1, le=64, description="Server processes.")
    max_connections: int = Field(
        4096, ge=64, description="Connections per process, idle ones too; lower where the limit of open files is lower."
    )
    header_timeout: int = Field(
        15,
        ge=1,
        le=60,
        description="Seconds in which a client must send the header of its next request; then an idle connection is closed too.",
    )
    body_timeout: float = Field(
        20.0,
        gt=0,
        description="Seconds that the body of a request may pause; all of it must come at 1 KB/s or more. Then 408 is answered.",
    )
    max_requests_in_progress: int = Field(
        128,
        ge=1,
        description="Requests that one process works on at the same time; fewer while answers take longer than 0.7 s. A request "
        "that waits a second for its slot is answered 503.",
    )
    data_dir: Path = Field(
        Path("data"), description="Folder of the SQLite file, the uploaded files and the signing key."
    )
    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        "",
        validate_default=True,
        description="`mysql://user:password@host/name`, or empty for SQLite in the data folder; production requires it, "
        "for SQLite too: `sqlite:////var/lib/saraban/saraban.db`.",
    )
    redis_url: Annotated[str, AfterValidator(_redis_url)] = Field(
        "",
        description="`redis://host:port/0`, or `redis+sentinel://user:password@host:26379,host:26379,host:26379/service-name/0`; "
        "empty: locks in process, or in the database on MariaDB.",
    )
    timezone: Annotated[str, AfterValidator(_timezone)] = Field(
        "Asia/Bangkok", description="Zone that decides the day and the year of a number."
    )
    secret_key: SecretStr = Field(
        SecretStr(""),
        description="Signs tokens, 32 bytes or more (`openssl rand -base64 48`); empty: a key kept in the data folder.",
    )
    access_token_minutes: int = Field(15, ge=1, description="Life of an access token, while its session lives.")
    refresh_token_days: int = Field(7, ge=1, description="Days after sign-in when a session ends, however it is used.")
    session_idle_minutes: int = Field(
        480, ge=5, description="Minutes without a refresh after which a session ends: one working day."
    )
    lockout_attempts: int = Field(
        5,
        ge=1,
        description="Failed log-ins of one address at one name, after which it waits; more from anywhere delay a name. "
        "Without Redis each process counts to its part of it.",
    )
    login_limit_address: int = Field(
        10,
        ge=0,
        description="Failed log-ins of one address (IPv6: of its /64) in a minute, after which it waits; 0: no limit.",
    )
    lockout_minutes: int = Field(15, ge=1, description="How long a failed log-in counts for that.")
    log_level: Annotated[str, AfterValidator(_log_level)] = Field(
        "INFO", description="Least severe level that is logged."
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="`console` is for people, `json` for programs; `auto`: `console` when stderr is a terminal."
    )
    run_worker: bool = Field(
        default=True, description="Run the event worker inside the server; off when `saraban worker` runs apart."
    )
    event_lease: float = Field(
        60.0, gt=0, description="Seconds after which the events of a worker that died are delivered by another."
    )
    import_lease: float = Field(
        30.0, ge=3, description="Seconds after which another worker goes on with the number import of one that died."
    )
    event_retry_pause: float = Field(
        0.5, gt=0, description="Seconds before an event that failed is tried again; the next pause is twice as long."
    )
    webhook_retry_pause: float = Field(5.0, gt=0, description="The same for messages to webhooks.")
    outbound_limit: int = Field(
        50,
        ge=0,
        description="E-mails and messages to webhooks, together, that leave in a minute; more wait. 0: no limit. Without Redis "
        "each process counts to its part of it.",
    )
    webhook_limit_each: int = Field(
        25,
        ge=0,
        description="Messages that leave in a minute to one webhook, so that a busy one leaves room for the others; 0: no limit.",
    )
    trusted_proxies: Annotated[str, AfterValidator(_trusted_proxies)] = Field(
        "", description="Comma-separated addresses whose X-Forwarded-For is believed; `*` is refused."
    )
    metrics_token: SecretStr = Field(
        SecretStr(""),
        description="`/metrics` answers to `Authorization: Bearer` with it; empty: to this machine alone, past any proxy.",
    )
    db_pool_size: int = Field(
        10,
        ge=1,
        description="Connections kept per process for what is written, and as many for what is read; twice that under load: "
        "40 as it ships, all processes together below MariaDB's `max_connections`. On SQLite one pool does both.",
    )
    db_pool_timeout: float = Field(2.0, gt=0, description="Seconds to wait for a free connection.")
    db_read_timeout: float = Field(15.0, gt=0, description="Seconds until a silent database connection counts as lost.")
    db_sync_wait: int = Field(
        0,
        ge=0,
        le=15,
        description="`wsrep_sync_wait` of each connection, for a Galera cluster whose nodes are read in turn: 1 has a read wait for "
        "what other nodes have committed. 0: as the server is set.",
    )
    lock_redis_urls: Annotated[str, AfterValidator(_lock_redis_urls)] = Field(
        "",
        description="Independent Redis masters for the series locks, commas between, an odd number: the lock is then held "
        "with a majority of them (Redlock). Empty: `SARABAN_REDIS_URL` alone.",
    )
    lock_ttl: float = Field(5.0, gt=0, description="Seconds a series lock lives in Redis.")
    lock_timeout: float = Field(10.0, gt=0, description="Seconds one attempt waits for a series lock.")
    lock_retries: int = Field(5, ge=0, description="Further attempts after a lock timeout (1, 2, 4, 8, 16 s apart).")
    retry_pause: float = Field(
        1.0,
        gt=0,
        description="Seconds before the first further attempt at a number, or at what the database lost; each next pause is twice as long.",
    )
    lock_deadline: float = Field(
        35.0,
        gt=0,
        description="Seconds after which waiting for a lock ends with 503; with 35 a request meets three attempts, each of which waits too.",
    )
    conflict_retries: int = Field(2, ge=0, description="Further attempts, at once, after a lost compare-and-set.")
    database_retries: int = Field(
        3,
        ge=0,
        description="Further attempts after a lost database connection (1, 2, 4 s apart), of every request; 0: none.",
    )
    reservation_minutes: int = Field(5, ge=1, le=1440, description="How long a reserved number waits to be confirmed.")
    number_error_days: int = Field(
        2557, ge=2557, description="Days that refused and failed calls about numbers are kept; seven years at least."
    )
    collision_retries: int = Field(10, ge=0, description="Further attempts after a deadlock, at once.")
    draw_limit_user: int = Field(10, ge=0, description="Numbers that one account may draw in a minute; 0: no limit.")
    draw_limit_address: int = Field(50, ge=0, description="The same for one client address.")
    draw_limit_all: int = Field(5000, ge=0, description="The same for everybody together.")
    preview_limit_user: int = Field(
        600, ge=0, description="Previews, and reads of numbers, that one account may ask for in a minute; 0: no limit."
    )
    search_limit_user: int = Field(120, ge=0, description="Searches of one account in a minute; 0: no limit.")
    export_limit_user: int = Field(
        120, ge=0, description="Exports and templates of one account in an hour; 0: no limit."
    )
    upload_limit_user: int = Field(20 * 1024**3, ge=0, description="Bytes one account uploads in a day; 0: no limit.")
    refresh_limit_user: int = Field(
        30, ge=0, description="Token refreshes of one account in a minute, unknown tokens: of one address; 0: no limit."
    )
    redis_timeout: float = Field(0.5, gt=0, description="Seconds until a silent Redis counts as down.")
    redis_breaker: float = Field(5.0, gt=0, description="Seconds a Redis that failed is left alone.")
    upload_max_bytes: int = Field(50 * 1024 * 1024, ge=1, description="Largest file.")
    upload_keep_hours: int = Field(24, ge=1, description="How long an uploaded file waits to be attached.")
    file_kinds: Annotated[str, AfterValidator(kind_list)] = Field(
        "",
        description="Extensions of the files that are taken, such as `pdf, dwg`; empty: every kind. A project can take fewer.",
    )
    file_text_seconds: int = Field(
        30,
        ge=0,
        le=600,
        description="Seconds of processor time in which the text of a file is read for the search; it may take three times as long "
        "by the clock. 0: the text inside files is not read.",
    )
    file_text_memory: int = Field(512, ge=128, description="Megabytes of memory in which that is done.")
    audit_retention_years: int = Field(
        7,
        ge=7,
        le=100,
        description="Years that audit rows are kept before `saraban audit purge` may delete them; at least 7.",
    )
    audit_syslog: str = Field(
        "",
        pattern=r"^(\S+:[0-9]{1,5}|/\S+)?$",
        description="`host:port` (UDP) or a socket such as `/dev/log` that gets the heads of the audit trail too.",
    )
    public_url: Annotated[str, AfterValidator(_public_url)] = Field(
        "",
        validate_default=True,
        description="Address that people open, for every link: `https://saraban.example.org`. Production requires it.",
    )
    mail: Literal["off", "console", "smtp"] = Field(
        "off", description="How e-mail leaves; `console` writes it to the log. Off: all stays in the application."
    )
    mail_from: str = Field("Saraban <saraban@localhost>", description="Sender of e-mail.")
    smtp_host: str = Field("localhost", description="Mail server.")
    smtp_port: int = Field(587, ge=1, le=65535, description="Its port.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        "starttls", description="`tls` for port 465; `none` only for a server on the same machine."
    )
    smtp_user: str = Field("", description="Name for the mail server; empty: none is asked for.")
    smtp_password: SecretStr = Field(SecretStr(""), description="Password for the mail server.")
    smtp_timeout: float = Field(10.0, gt=0, description="Seconds that the mail server may be silent.")
    mail_gather_seconds: int = Field(
        240, ge=0, description="How long further changes of a document are waited for, to go into the same e-mail."
    )
    mail_retry_hours: int = Field(24, ge=1, description="Hours of attempts before an e-mail becomes a dead letter.")
    ops_webhook_url: str = Field(
        "", alias="N8N_WEBHOOK_URL", description="Told of every dead event; read without the prefix."
    )

    @property
    def sqlalchemy_url(self) -> str:
        return self.database_url or f"sqlite:///{self.data_dir / 'saraban.db'}"

    @property
    def is_over_tls(self) -> bool:
        return self.env == "production" or self.public_url.startswith("https://")

    @property
    def mails_invitations(self) -> bool:
        """A mailed link needs the public address."""
        return self.mail != "off" and bool(self.public_url)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


def unknown_settings() -> dict[str, str]:
    """Return unknown `SARABAN_…` names, each with a similar setting if any."""
    setting_names = {field.alias or f"SARABAN_{name.upper()}" for name, field in Settings.model_fields.items()} | {
        "SARABAN_LANG"
    }
    names = {name.upper() for name in (*os.environ, *dotenv_values(_ENV_FILE, interpolate=False))}
    unknown = sorted(name for name in names - setting_names if name.startswith("SARABAN_"))
    return {name: _RETIRED.get(name) or "".join(get_close_matches(name, setting_names, 1, _CLOSE)) for name in unknown}


@lru_cache
def load() -> Settings:
    """:raises SettingMisspelt: for names close to a setting; others are a warning on stderr"""
    unknown = unknown_settings()
    if close := {name: near for name, near in unknown.items() if near}:
        says = SettingMisspelt.says
        raise SettingMisspelt(fields=[FieldProblem(name, "misspelt", says, {"near": close[name]}) for name in close])
    for name in unknown if multiprocessing.parent_process() is None else ():  # not again in each server process
        sys.stderr.write(f"saraban: {UNKNOWN_SETTING.say(language(), {'name': name})}\n")
    return Settings()


def language() -> str:
    """Return the terminal's language: `SARABAN_LANG`, then the locale, then English."""
    for name in ("SARABAN_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if chosen := os.environ.get(name, ""):
            return "th" if chosen.lower().startswith("th") else "en"
    return "en"
