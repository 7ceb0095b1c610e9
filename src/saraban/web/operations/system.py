"""The system page for operators, and the API reference."""

import re
from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from saraban.kit.errors import Text
from saraban.kit.http import wiring
from saraban.ops import system_report
from saraban.ops.health import OpsWiring
from saraban.ops.system_report import SystemOut
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

PARTS: Final[Mapping[str, Text]] = {
    "database": Text("ฐานข้อมูล", "Database"),
    "migrations": Text("โครงสร้างฐานข้อมูล", "Database schema"),
    "storage": Text("ที่เก็บไฟล์", "File storage"),
    "redis": Text("Redis", "Redis"),
    "worker": Text("งานเบื้องหลัง", "Worker"),
    "inside": Text("ภายในระบบ", "Inside Saraban"),
    "outside": Text("ส่งออกภายนอก", "To receivers outside"),
    "numbers": Text("เลขที่เอกสาร", "Document numbers"),
    "deeds": Text("การดำเนินการอื่น", "Everything else"),
}
STATUSES: Final[Mapping[str, tuple[Text, str]]] = {
    "up": (Text("ปกติ", "Working"), "green"),
    "down": (Text("ขัดข้อง", "Down"), "red"),
    "off": (Text("ไม่ได้ใช้", "Off"), "grey"),
}
# Messages of `/health/ready`; others stay in English.
_REASONS: Final[Mapping[str, str]] = {
    "answers": "ตอบสนอง",
    "takes writes": "เขียนได้",
    "can be written": "เขียนได้",
    "it has stopped; restart the server": "หยุดทำงานแล้ว ให้เริ่มเซิร์ฟเวอร์ใหม่",
    "less than 50 MB are free": "เหลือที่ว่างน้อยกว่า 50 MB",
    "not set up; the database alone keeps numbers unique": "ไม่ได้ตั้งค่า ฐานข้อมูลเป็นผู้ทำให้เลขที่ไม่ซ้ำ",
}
# Messages with values.
_PATTERNS: Final = (
    (r"at (\w+)", r"เวอร์ชัน \1"),
    (
        r"the database stands at (\w+), this version needs (\w+): .*",
        r"ฐานข้อมูลอยู่ที่รุ่น \1 โปรแกรมนี้ต้องใช้ \2 ให้สั่ง `saraban migrate`",
    ),
    (r"it takes no writes \((.*)\)", r"เขียนไม่ได้ (\1)"),
    (r"lock master (\d+) takes no writes \((\w+)\)", r"เซิร์ฟเวอร์ล็อกที่ \1 เขียนไม่ได้ (\2)"),
    (r"the folder cannot be written \((.*)\)", r"เขียนในโฟลเดอร์ไม่ได้ (\1)"),
    (r"runs inside this server; last heartbeat (\d+) s ago", r"ทำงานในเซิร์ฟเวอร์นี้ สัญญาณล่าสุดเมื่อ \1 วินาทีก่อน"),
    (r"last heartbeat (\d+) s ago", r"สัญญาณล่าสุดเมื่อ \1 วินาทีก่อน"),
    (r"no heartbeat of any worker for (\d+) s; .*", r"งานเบื้องหลังไม่ส่งสัญญาณมา \1 วินาที ให้เริ่ม `saraban worker`"),
    (r"no heartbeat of any worker yet; .*", r"ยังไม่มีงานเบื้องหลังทำงาน ให้เริ่ม `saraban worker`"),
)

# Thai descriptions of the settings; a test requires all of them.
SETTINGS: Final[Mapping[str, str]] = {
    "env": "ในโหมด production บัญชีสาธิตเข้าสู่ระบบไม่ได้",
    "host": "ที่อยู่ที่เซิร์ฟเวอร์รอรับการเชื่อมต่อ",
    "port": "พอร์ตที่เซิร์ฟเวอร์รอรับการเชื่อมต่อ",
    "workers": "จำนวนโปรเซสของเซิร์ฟเวอร์",
    "max_connections": "จำนวนการเชื่อมต่อสูงสุดต่อโปรเซส รวมที่ว่างอยู่ (น้อยกว่านี้หากระบบจำกัดจำนวนไฟล์ที่เปิด)",
    "header_timeout": "วินาทีที่ผู้ใช้ต้องส่งส่วนหัวของคำขอถัดไปให้ครบ การเชื่อมต่อที่ว่างเกินเวลานี้จะถูกปิด",
    "body_timeout": "วินาทีที่เนื้อหาของคำขอหยุดส่งได้ และต้องส่งเร็วเฉลี่ยอย่างน้อย 1 KB ต่อวินาที มิฉะนั้นตอบ 408",
    "max_requests_in_progress": "จำนวนคำขอที่หนึ่งโปรเซสทำพร้อมกัน (น้อยกว่านี้เมื่อตอบช้ากว่า 0.7 วินาที) คำขอที่รอเกินหนึ่งวินาทีได้รับ 503",
    "data_dir": "โฟลเดอร์ของไฟล์ SQLite ไฟล์ที่อัปโหลด และกุญแจลงนาม",
    "database_url": "ที่อยู่ฐานข้อมูล หรือเว้นว่างเพื่อใช้ SQLite ในโฟลเดอร์ข้อมูล (โหมด production ต้องระบุ)",
    "redis_url": "ที่อยู่ Redis หรือ redis+sentinel:// ของ Sentinel หรือเว้นว่างเพื่อล็อกในโปรเซส หรือในฐานข้อมูลเมื่อใช้ MariaDB",
    "timezone": "เขตเวลาที่ใช้กำหนดวันและปีของเลขที่",
    "secret_key": "กุญแจลงนามโทเค็น 32 ไบต์ขึ้นไป เว้นว่างเพื่อใช้กุญแจที่เก็บในโฟลเดอร์ข้อมูล",
    "access_token_minutes": "อายุของ access token เป็นนาที ขณะที่เซสชันยังใช้ได้",
    "refresh_token_days": "จำนวนวันนับจากเข้าสู่ระบบที่เซสชันสิ้นสุด แม้จะใช้งานอยู่",
    "session_idle_minutes": "จำนวนนาทีที่ไม่มีการต่ออายุแล้วเซสชันสิ้นสุด",
    "lockout_attempts": "จำนวนครั้งที่เข้าสู่ระบบไม่สำเร็จด้วยชื่อเดียวจากที่อยู่เดียว ก่อนต้องรอ",
    "login_limit_address": "จำนวนครั้งที่เข้าสู่ระบบไม่สำเร็จของหนึ่งที่อยู่ต่อนาที ก่อนต้องรอ; 0 คือไม่จำกัด",
    "lockout_minutes": "การเข้าสู่ระบบที่ไม่สำเร็จนับอยู่นานกี่นาที",
    "log_level": "ระดับต่ำสุดที่เขียนลงบันทึกของระบบ",
    "log_format": "รูปแบบบันทึกของระบบ: console สำหรับคนอ่าน json สำหรับโปรแกรม",
    "run_worker": "ให้งานเบื้องหลังทำงานในเซิร์ฟเวอร์นี้ ปิดเมื่อ `saraban worker` ทำงานแยก",
    "event_lease": "วินาทีก่อนที่งานเบื้องหลังอื่นจะส่งเหตุการณ์แทนตัวที่หยุดไป",
    "import_lease": "วินาทีก่อนที่งานเบื้องหลังอื่นจะนำเข้าเลขที่ต่อจากตัวที่หยุดไป",
    "event_retry_pause": "วินาทีก่อนส่งเหตุการณ์ที่ไม่สำเร็จอีกครั้ง ครั้งต่อไปรอนานเป็นสองเท่า",
    "webhook_retry_pause": "วินาทีก่อนส่งข้อความถึงเว็บฮุกอีกครั้ง ครั้งต่อไปรอนานเป็นสองเท่า",
    "outbound_limit": "จำนวนอีเมลและข้อความถึงเว็บฮุกรวมกันต่อนาที ที่เกินจะรอ; 0 คือไม่จำกัด เมื่อไม่มี Redis แต่ละโปรเซสนับส่วนของตน",
    "webhook_limit_each": "จำนวนข้อความต่อนาทีของเว็บฮุกหนึ่งรายการ; 0 คือไม่จำกัด",
    "trusted_proxies": "ที่อยู่ของพร็อกซีที่เชื่อถือ X-Forwarded-For ได้ คั่นด้วยจุลภาค ไม่รับ *",
    "metrics_token": "โทเค็นที่ Prometheus ส่งเป็น Bearer เพื่ออ่าน /metrics เว้นว่าง: เฉพาะจากเครื่องนี้",
    "db_pool_size": "จำนวนการเชื่อมต่อฐานข้อมูลที่เก็บไว้ต่อโปรเซส สำหรับเขียน และอีกเท่ากันสำหรับอ่าน",
    "db_pool_timeout": "วินาทีที่รอการเชื่อมต่อว่าง",
    "db_read_timeout": "วินาทีก่อนถือว่าฐานข้อมูลที่ไม่ตอบขาดการเชื่อมต่อ",
    "db_sync_wait": "ค่า wsrep_sync_wait ของทุกการเชื่อมต่อ สำหรับ Galera ที่อ่านจากหลายโหนด 1 คือการอ่านรอข้อมูลที่โหนดอื่นบันทึกแล้ว 0 คือตามที่เซิร์ฟเวอร์ตั้งไว้",
    "lock_redis_urls": "Redis หลักที่เป็นอิสระต่อกันสำหรับล็อกชุดเลข (Redlock) เป็นจำนวนคี่ คั่นด้วยจุลภาค",
    "lock_ttl": "วินาทีที่ล็อกของชุดเลขอยู่ใน Redis",
    "lock_timeout": "วินาทีที่รอล็อกของชุดเลขในแต่ละครั้ง",
    "lock_retries": "จำนวนครั้งที่ลองใหม่เมื่อรอล็อกไม่ทัน",
    "retry_pause": "วินาทีก่อนลองออกเลข หรือต่อฐานข้อมูลที่ขาด อีกครั้ง ครั้งต่อไปรอนานเป็นสองเท่า",
    "lock_deadline": "วินาทีสูงสุดที่รอล็อก ก่อนตอบ 503",
    "conflict_retries": "จำนวนครั้งที่ลองใหม่ทันที เมื่อตัวนับถูกเปลี่ยนระหว่างออกเลข",
    "database_retries": "จำนวนครั้งที่ทุกคำขอลองใหม่ เมื่อการเชื่อมต่อฐานข้อมูลขาด 0 คือไม่ลองใหม่",
    "reservation_minutes": "เลขที่จองไว้รอการยืนยันกี่นาที",
    "number_error_days": "จำนวนวันที่เก็บคำขอเลขที่ซึ่งถูกปฏิเสธหรือไม่สำเร็จ อย่างน้อยเจ็ดปี",
    "collision_retries": "จำนวนครั้งที่ลองใหม่ทันที เมื่อฐานข้อมูลล็อกชนกัน",
    "draw_limit_user": "จำนวนเลขที่ที่หนึ่งบัญชีออกได้ต่อนาที; 0 คือไม่จำกัด",
    "draw_limit_address": "จำนวนเลขที่ที่หนึ่งที่อยู่ออกได้ต่อนาที; 0 คือไม่จำกัด",
    "draw_limit_all": "จำนวนเลขที่ที่ทุกคนรวมกันออกได้ต่อนาที; 0 คือไม่จำกัด",
    "preview_limit_user": "จำนวนครั้งที่หนึ่งบัญชีดูตัวอย่าง หรืออ่านเลขที่ ได้ต่อนาที; 0 คือไม่จำกัด",
    "search_limit_user": "จำนวนครั้งที่หนึ่งบัญชีค้นหาได้ต่อนาที; 0 คือไม่จำกัด",
    "export_limit_user": "จำนวนครั้งที่หนึ่งบัญชีส่งออกหรือดาวน์โหลดแผ่นงานได้ต่อชั่วโมง; 0 คือไม่จำกัด",
    "upload_limit_user": "จำนวนไบต์ที่หนึ่งบัญชีอัปโหลดได้ต่อวัน; 0 คือไม่จำกัด",
    "refresh_limit_user": "จำนวนครั้งที่หนึ่งบัญชีต่ออายุโทเค็นได้ต่อนาที; 0 คือไม่จำกัด",
    "redis_timeout": "วินาทีก่อนถือว่า Redis ที่ไม่ตอบขัดข้อง",
    "redis_breaker": "วินาทีที่เว้นการใช้ Redis ที่ขัดข้อง",
    "upload_max_bytes": "ขนาดไฟล์สูงสุด",
    "upload_keep_hours": "ชั่วโมงที่เก็บไฟล์อัปโหลดซึ่งยังไม่ได้แนบ",
    "file_kinds": "นามสกุลของไฟล์ที่รับ คั่นด้วยจุลภาค เช่น pdf, dwg; ว่างคือทุกชนิด โครงการกำหนดให้น้อยลงได้",
    "file_text_seconds": "วินาทีประมวลผลสูงสุดในการอ่านข้อความในไฟล์หนึ่งไฟล์เพื่อการค้นหา; 0 คือไม่อ่าน",
    "file_text_memory": "หน่วยความจำสูงสุดในการอ่านข้อความในไฟล์ (เมกะไบต์)",
    "audit_syslog": "เซิร์ฟเวอร์ syslog (host:port หรือ /dev/log) ที่ได้รับหัวบล็อกของบันทึกการใช้งานด้วย",
    "audit_retention_years": "จำนวนปีที่เก็บประวัติการใช้งานก่อนลบได้ อย่างน้อย 7",
    "public_url": "ที่อยู่เว็บที่ผู้ใช้เปิด สำหรับลิงก์ในอีเมล",
    "mail": "วิธีส่งอีเมล: console เขียนลงบันทึกของระบบ off แจ้งในระบบเท่านั้น",
    "mail_from": "ผู้ส่งอีเมล",
    "smtp_host": "เซิร์ฟเวอร์อีเมล",
    "smtp_port": "พอร์ตของเซิร์ฟเวอร์อีเมล",
    "smtp_security": "การเข้ารหัสอีเมล: tls สำหรับพอร์ต 465; none เฉพาะเซิร์ฟเวอร์ในเครื่องเดียวกัน",
    "smtp_user": "ชื่อผู้ใช้ของเซิร์ฟเวอร์อีเมล เว้นว่างเมื่อไม่ต้องใช้",
    "smtp_password": "รหัสผ่านของเซิร์ฟเวอร์อีเมล",
    "smtp_timeout": "วินาทีที่รอเซิร์ฟเวอร์อีเมลตอบ",
    "mail_gather_seconds": "วินาทีที่รอการเปลี่ยนแปลงอื่นของเอกสาร เพื่อรวมในอีเมลเดียว",
    "mail_retry_hours": "ชั่วโมงที่ลองส่งอีเมลซ้ำ ก่อนเลิกส่ง",
    "ops_webhook_url": "ที่อยู่ที่แจ้งเมื่อเหตุการณ์ส่งไม่สำเร็จ",
}


class SystemPage(PageModel, template="operations/system.html"):
    report: SystemOut
    parts: Mapping[str, Text]
    statuses: Mapping[str, tuple[Text, str]]
    reasons: Mapping[str, str]
    settings: Mapping[str, str]


@router.get("/system")
async def system(page: CurrentPage, request: Request) -> Response:
    report = await system_report.read_system(page.context, wiring(request, OpsWiring))
    reasons = {dependency.reason: reason_in_thai(dependency.reason) for dependency in report.dependencies.values()}
    return page.show(
        SystemPage(
            report=report,
            parts=PARTS,
            statuses=STATUSES,
            reasons=reasons if page.language == "th" else {},
            settings=SETTINGS if page.language == "th" else {},
        )
    )


def reason_in_thai(reason: str) -> str:
    for pattern, thai in _PATTERNS:
        if match := re.fullmatch(pattern, reason):
            return match.expand(thai)
    return _REASONS.get(reason, reason)


class ApiReferencePage(PageModel, template="operations/api_reference.html"):
    pass


@router.get("/docs/api")
async def api_reference(page: CurrentPage) -> Response:
    return page.show(ApiReferencePage())
