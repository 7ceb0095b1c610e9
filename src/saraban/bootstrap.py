"""The only place that connects all parts. Only the entry points call it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import structlog
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.adapters import FolderStorage
from saraban.attachments.service import AccessRules, UploadRules
from saraban.audit.adapters import send_to_syslog
from saraban.audit.service import HeadFile, Sealer
from saraban.config import Settings
from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as documents
from saraban.documents.core.service import DocumentServices
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import ASBUILT, SHOP
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.events.service import Handlers
from saraban.identity import service as identity
from saraban.identity.dependencies import LinkRules, UserLimits
from saraban.identity.service import CallerLoader, FirstRun, LogInThrottle, ThrottleRules, TokenIssuer
from saraban.identity.service import first_run as identity_seed
from saraban.kit import encryption
from saraban.kit.admission import Admission
from saraban.kit.clock import Clock, SystemClock
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import new_secret
from saraban.kit.locks import DatabaseLocks, RedisLocks
from saraban.kit.private_files import protect_folder
from saraban.kit.rate_limits import RateLimiter
from saraban.kit.reconnection import Reconnection
from saraban.kit.redis import WorkerNotifier, redis_pool
from saraban.kit.signatures import Signer
from saraban.notifications import service as notifications
from saraban.notifications.adapters import ConsoleMailer, SmtpMailer
from saraban.notifications.dependencies import MailWiring
from saraban.notifications.service import MailSettings
from saraban.numbering.issue.dependencies import NumberRateLimits, NumberWiring
from saraban.numbering.issue.service.monitoring import count_reconnection
from saraban.numbering.service import Allocator, NumberedDocuments, RetryBudget
from saraban.ops.health import OpsWiring, Probes
from saraban.projects.service import seed as projects_seed
from saraban.search_index.service import attach_index, release_index
from saraban.web.projects.first_run import FirstRunWiring
from saraban.web.shell.document_kinds import BY_NAME
from saraban.webhooks import service as webhooks
from saraban.webhooks.adapters import GuardedTransport
from saraban.workflow import service as workflow
from saraban.workflow.administration.dependencies import DefinitionWiring
from saraban.workflow.administration.service.definition_cache import DefinitionCache
from saraban.workflow.runtime.service.assignment import AssignmentRenewal, refill
from saraban.workflow.service import Subjects, Transitions

log = structlog.get_logger(__name__)


HEADS = "audit-heads.log"
LEAST_KEY_BYTES = 32


class DemoInProduction(DomainError):
    """`SARABAN_ENV` is `production`, and demo accounts with a public password are open."""

    kind, code = ErrorKind.CONFLICT, "DEMO_IN_PRODUCTION"
    says = Text(
        "ฐานข้อมูลนี้มีบัญชีสาธิต จึงเริ่มระบบในโหมด production ไม่ได้",
        "This database has demo accounts, so it cannot be served with SARABAN_ENV=production.",
    )
    recovery = (Text("ปิดบัญชีสาธิตด้วย `saraban user disable`", "Disable the demo accounts with `saraban user disable`."),)


class SecretKeyTooShort(DomainError):
    """
    `SARABAN_SECRET_KEY`, or the key in the data folder, has less than 32 bytes.

    A guessed key can forge tokens. Make a key with `openssl rand -base64 48`. A damaged `signing.key` may be deleted;
    the server creates a new one.
    """

    kind, code = ErrorKind.INVALID, "SECRET_KEY_TOO_SHORT"
    says = Text(
        "{name} มี {bytes} ไบต์ ต้องมีอย่างน้อย {least} ไบต์ สร้างได้ด้วยคำสั่ง `openssl rand -base64 48`",
        "{name} has {bytes} bytes and needs at least {least}: make one with `openssl rand -base64 48`.",
    )
    recovery = (Text("ตั้งค่า SARABAN_SECRET_KEY ใหม่แล้วเริ่มระบบอีกครั้ง", "Set SARABAN_SECRET_KEY anew and start again."),)


@dataclass(frozen=True, kw_only=True)
class System(FirstRunWiring, NumberWiring, DefinitionWiring, MailWiring, OpsWiring):
    """All objects of a running process."""

    settings: Settings
    admission: Admission
    sealer: Sealer
    worker_notifier: WorkerNotifier
    redis: Redis | None
    lock_masters: list[Redis]


@dataclass(frozen=True, slots=True)
class Connections:
    db: Database
    redis: Redis | None
    lock_masters: list[Redis]
    notifier: WorkerNotifier
    limiter: RateLimiter


def wire(settings: Settings, *, clock: Clock | None = None, admission: Admission | None = None) -> System:
    protect_folder(settings.data_dir)
    encryption.use_key(signing_key(settings))
    clock = clock or SystemClock(settings.zone)
    connections = _connect(settings)
    db, idempotency, allocator = connections.db, Idempotency(connections.db), _allocator(settings, connections)
    subjects, mail_settings = _subjects(settings.zone), _mail_settings(settings)
    return System(
        settings=settings,
        db=db,
        redis=connections.redis,
        lock_masters=connections.lock_masters,
        worker_notifier=connections.notifier,
        limiter=connections.limiter,
        clock=clock,
        idempotency=idempotency,
        admission=admission or Admission(1),
        tokens=_tokens(settings, clock),
        callers=CallerLoader(db),
        throttle=_throttle(settings, connections.limiter),
        user_limits=_user_limits(settings),
        links=LinkRules(settings.public_url, settings.mails_invitations),
        first_run=FirstRun(db),
        allows_demo=settings.env != "production",
        storage=FolderStorage(settings.data_dir / "files"),
        uploads=UploadRules(settings.upload_max_bytes, settings.upload_keep_hours, settings.file_kinds),
        readers=_readers(subjects),
        allocator=allocator,
        rates=_rates(settings, connections.limiter),
        reservation_life=timedelta(minutes=settings.reservation_minutes),
        sealer=_sealer(settings, db, clock),
        subjects=subjects,
        transitions=Transitions(db, subjects, idempotency),
        definition_cache=DefinitionCache(db, connections.redis, rest=settings.redis_breaker),
        documents=DocumentServices(db, idempotency, allocator, followers=[circulations.OpenCirculations()]),
        handlers=_handlers(settings, connections, clock, mail_settings, subjects),
        mail_settings=mail_settings,
        metrics_token=settings.metrics_token.get_secret_value(),
        storage_folder=settings.data_dir,
        dependencies=_probes(settings, connections).dependencies(),
    )


def _connect(settings: Settings) -> Connections:
    redis = _redis(settings, settings.redis_url) if settings.redis_url else None
    masters = [_redis(settings, url.strip()) for url in settings.lock_redis_urls.split(",") if url.strip()]
    notifier = WorkerNotifier(redis, rest=settings.redis_breaker)
    db = _database(settings)
    db.commit_listener = notifier.notify
    attach_index(db, settings.data_dir / "search")
    limiter = RateLimiter(settings.redis_url, timeout=settings.redis_timeout, rest=settings.redis_breaker)
    return Connections(db, redis, masters, notifier, limiter)


def _probes(settings: Settings, connections: Connections) -> Probes:
    return Probes(connections.db, connections.redis, connections.lock_masters, settings.data_dir / "files")


def _user_limits(settings: Settings) -> UserLimits:
    return UserLimits(
        searches=settings.search_limit_user,
        previews=settings.preview_limit_user,
        refreshes=settings.refresh_limit_user,
        exports_per_hour=settings.export_limit_user,
        upload_bytes_per_day=settings.upload_limit_user,
        largest_upload=settings.upload_max_bytes,
    )


def _database(settings: Settings) -> Database:
    return Database(
        settings.sqlalchemy_url,
        pool_size=settings.db_pool_size,
        pool_timeout=settings.db_pool_timeout,
        read_timeout=settings.db_read_timeout,
        sync_wait=settings.db_sync_wait,
        reconnection=Reconnection(settings.database_retries, settings.retry_pause, listener=count_reconnection),
    )


def _sealer(settings: Settings, db: Database, clock: Clock) -> Sealer:
    signer = Signer(signing_key(settings), purpose="audit")
    heads = HeadFile(
        settings.data_dir / HEADS,
        own_key=signer.public_key,
        send=partial(send_to_syslog, settings.audit_syslog) if settings.audit_syslog else None,
    )
    return Sealer(db, clock=clock, heads=heads, signer=signer)


@asynccontextmanager
async def closing(system: System) -> AsyncIterator[System]:
    """Close what `wire` opened."""
    try:
        yield system
    finally:
        await system.worker_notifier.close()
        release_index(system.db)
        await system.allocator.close()
        await system.limiter.close()
        for redis in (system.redis, *system.lock_masters):
            if redis is not None:
                await redis.aclose()
        await system.db.close()


def signing_key(settings: Settings) -> str:
    """
    Return the configured key, or the one in the data folder.
    :raises SecretKeyTooShort:
    """
    key = settings.secret_key.get_secret_value()
    if key:
        return _require_key_length(key, "SARABAN_SECRET_KEY")
    path = settings.data_dir / "signing.key"
    if not path.exists():
        _write_once(path, new_secret(48))
    return _require_key_length(path.read_text(encoding="ascii", errors="ignore").strip(), str(path))


def _require_key_length(key: str, name: str) -> str:
    size = len(key.encode())
    if size < LEAST_KEY_BYTES:
        raise SecretKeyTooShort(values={"name": name, "bytes": size, "least": LEAST_KEY_BYTES})
    return key


def _write_once(path: Path, text: str) -> None:
    """Two processes may start at once: the file appears complete, and the first one stays."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(text)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _throttle(settings: Settings, limiter: RateLimiter) -> LogInThrottle:
    rules = ThrottleRules(settings.lockout_attempts, settings.lockout_minutes, settings.login_limit_address)
    if not settings.redis_url:
        rules = rules.shared_by(settings.workers)
    return LogInThrottle(limiter, rules, key=signing_key(settings))


def _tokens(settings: Settings, clock: Clock) -> TokenIssuer:
    return TokenIssuer(
        signing_key(settings),
        access_minutes=settings.access_token_minutes,
        refresh_days=settings.refresh_token_days,
        idle_minutes=settings.session_idle_minutes,
        clock=clock,
    )


def _redis(settings: Settings, url: str) -> Redis:
    pool = redis_pool(url, timeout=settings.redis_timeout, connections=50)
    return Redis.from_pool(pool)  # so that closing the client closes the pool


def _allocator(settings: Settings, connections: Connections) -> Allocator:
    masters = connections.lock_masters or ([connections.redis] if connections.redis else [])
    budget = RetryBudget(
        lock=settings.lock_retries,
        conflict=settings.conflict_retries,
        connection=settings.database_retries,
        collision=settings.collision_retries,
        pause=settings.retry_pause,
        deadline=settings.lock_deadline,
    )
    locks = RedisLocks(*masters, ttl=settings.lock_ttl, rest=settings.redis_breaker) if masters else DatabaseLocks()
    return Allocator(connections.db, locks, budget=budget, lock_timeout=settings.lock_timeout)


def _rates(settings: Settings, limiter: RateLimiter) -> NumberRateLimits:
    return NumberRateLimits(
        limiter,
        user=settings.draw_limit_user,
        address=settings.draw_limit_address,
        everybody=settings.draw_limit_all,
        looks=settings.preview_limit_user,
    )


def document_kinds() -> list[documents.AnyKind]:
    return [CORRESPONDENCE, rfas.RFA, transmittals.TRANSMITTAL, circulations.CIRCULATION]


def carriers() -> list[NumberedDocuments]:
    return [documents.DOCUMENT_NUMBERS, circulations.CIRCULATION_NUMBERS, *drawings.DRAWING_NUMBERS]


def _subjects(zone: ZoneInfo) -> Subjects:
    return Subjects(
        CORRESPONDENCE.subject(zone),
        rfas.RFA.subject(zone),
        transmittals.TRANSMITTAL.subject(zone),
        circulations.CIRCULATION.subject(),
        *(drawings.DrawingSubject(kind, zone) for kind in (SHOP, ASBUILT)),
    )


def _readers(subjects: Subjects) -> AccessRules:
    rules = AccessRules()
    rules.add(documents.document_files)
    rules.add(circulations.reads_file)
    rules.add(drawings.reads_file)
    rules.add(rfas.reads_file)
    rules.add(transmittals.reads_file)
    rules.add(partial(workflow.may_read_step_file, subjects=subjects))
    return rules


def _handlers(
    settings: Settings,
    connections: Connections,
    clock: Clock,
    mail_settings: MailSettings | None,
    subjects: Subjects,
) -> Handlers:
    handlers = Handlers(first_delay=timedelta(seconds=settings.event_retry_pause))
    notifications.subscribe(handlers, subjects=subjects, mail_settings=mail_settings)
    sender = webhooks.WebhookSender(
        connections.db,
        clock=clock,
        transport=GuardedTransport(),
        limiter=connections.limiter,
        per_minute=_outbound_limit(settings),
        each_per_minute=settings.webhook_limit_each,
    )
    webhooks.subscribe(handlers, sender, first_delay=timedelta(seconds=settings.webhook_retry_pause))
    AssignmentRenewal(subjects).subscribe(handlers)
    return handlers


def _outbound_limit(settings: Settings) -> int:
    """Without Redis, each process with a worker gets a part of the limit."""
    counters = 1 if settings.redis_url or not settings.run_worker else settings.workers
    return settings.outbound_limit and max(1, settings.outbound_limit // counters)


def smtp_mailer(settings: Settings) -> SmtpMailer:
    return SmtpMailer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        sender=settings.mail_from,
        security=settings.smtp_security,
        user=settings.smtp_user,
        password=settings.smtp_password.get_secret_value(),
        timeout=settings.smtp_timeout,
    )


def _mail_settings(settings: Settings) -> MailSettings | None:
    if settings.mail == "off":
        return None
    home = settings.public_url.rstrip("/")

    def address_of(kind: str | None, public_id: str | None) -> str:
        web = BY_NAME.get(kind or "")
        return f"{home}{web.url}/{public_id}" if home and web and public_id else ""

    return MailSettings(
        mailer=smtp_mailer(settings) if settings.mail == "smtp" else ConsoleMailer(),
        zone=settings.zone,
        gather=timedelta(seconds=settings.mail_gather_seconds),
        per_minute=_outbound_limit(settings),
        attempts=settings.mail_retry_hours + 6,  # the first six pauses take an hour in total
        address_of=address_of,
        choices_link=f"{home}/notifications/preferences" if home else "",
        home=home,
    )


async def seed(system: System, *, demo: bool) -> None:
    """
    Create the shipped data; existing data stays.
    :raises DemoInProduction:
    """
    if demo and system.settings.env == "production":
        raise DemoInProduction
    await system.db.transact(_seed_shipped_data, system)
    await system.db.transact(webhooks.encrypt_secrets)
    for raw in workflow.shipped():
        await system.definition_cache.delete(code=str(raw["workflow"]))
    await refill(system.db, subjects=system.subjects)
    if demo and not await has_demo(system):
        await system.db.transact(system.demo.load_project)


async def _seed_shipped_data(system: System, session: AsyncSession) -> None:
    await identity_seed.seed_catalogue(session)
    await projects_seed.seed_master_data(session)
    await workflow.seed_definitions(session, now=system.clock.now())


async def has_demo(system: System) -> bool:
    demo = {f"{account.username}@saraban.invalid" for account in identity.DEMO_ACCOUNTS}
    async with system.db.reading() as session:
        return any(account.is_active and account.email in demo for account in await identity.list_users(session))


async def refuse_demo_in_production(system: System) -> None:
    """:raises DemoInProduction:"""
    if system.settings.env == "production" and await has_demo(system):
        raise DemoInProduction
