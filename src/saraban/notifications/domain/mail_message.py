"""The text and HTML of an e-mail, in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from typing import Final, Protocol
from uuid import UUID

from saraban.kit.dates import date_in_words
from saraban.kit.errors import Text

SUBJECT_LENGTH: Final = 200
_PRODUCT = Text("[สารบรรณ] ", "[Saraban] ")
_HELLO = Text("เรียน {name}", "Dear {name},")
_SEVERAL = Text("เอกสาร {number} มี {count} การเปลี่ยนแปลง", "{number}: {count} changes")
_DIGEST = Text("สรุปประจำวัน {count} รายการ", "Your daily digest: {count} notifications")
_OPEN = Text("เปิดเอกสาร", "Open the document")
_DUE, _FROM, _PROJECT = Text("กำหนดตอบ", "Due date"), Text("จาก", "From"), Text("โครงการ", "Project")
_WHY = Text(
    "ระบบส่งอีเมลนี้โดยอัตโนมัติ เปลี่ยนเรื่องที่จะรับทางอีเมลได้ที่ตั้งค่าการแจ้งเตือน",
    "This e-mail was sent automatically. Change what you receive in Notification settings.",
)


class MailRefused(Exception):
    """:param for_good: a further attempt would be useless"""

    def __init__(self, reason: str, *, for_good: bool) -> None:
        super().__init__(reason)
        self.for_good = for_good


@dataclass(frozen=True, slots=True)
class MailItem:
    title: str
    message: str
    number: str
    link: str
    due: date | None = None
    sender: str = ""
    project: str = ""
    entity_id: str = ""

    def facts(self, language: str) -> str:
        due = date_in_words(self.due, language) if self.due else ""
        pairs = ((_DUE, due), (_FROM, self.sender), (_PROJECT, self.project))
        return " · ".join(f"{label.say(language)}: {value}" for label, value in pairs if value)


@dataclass(frozen=True, slots=True)
class MailMessage:
    """
    :param key: the same for every attempt, so that mail programs show a repeated mail once
    :param thread: public id of the document, if the mail is about a single one
    """

    key: UUID
    to: str
    language: str
    subject: str
    text: str
    html: str
    at: datetime
    thread: str = ""
    choices_link: str = ""


class Mailer(Protocol):
    async def send(self, mail: MailMessage) -> None:
        """:raises MailRefused:"""

    async def check(self) -> None:
        """Raise the errors of the library."""


def compose(
    *,
    key: UUID,
    to: str,
    name: str,
    language: str,
    lines: Sequence[MailItem],
    digest: bool,
    choices_link: str,
    at: datetime,
) -> MailMessage:
    return MailMessage(
        key=key,
        to=to,
        language=language,
        subject=_subject(lines, language, digest=digest),
        text=_text(name, lines, language, choices_link),
        html=_html(name, lines, language, choices_link),
        at=at,
        thread=lines[0].entity_id if len({line.entity_id for line in lines}) == 1 else "",
        choices_link=choices_link,
    )


def _subject(lines: Sequence[MailItem], language: str, *, digest: bool) -> str:
    if digest:
        subject = _DIGEST.say(language, {"count": len(lines)})
    elif len(lines) > 1:
        subject = _SEVERAL.say(language, {"count": len(lines), "number": lines[-1].number})
    else:
        subject = lines[0].title
    # A header is one line; the mail server would refuse a line break at every attempt.
    subject = " ".join((_PRODUCT.say(language) + subject).split())
    return subject if len(subject) <= SUBJECT_LENGTH else subject[: SUBJECT_LENGTH - 1] + "…"


def _text(name: str, lines: Sequence[MailItem], language: str, choices_link: str) -> str:
    parts = [_HELLO.say(language).replace("{name}", name)]
    parts += [
        "\n".join(part for part in (line.title, line.message, line.facts(language), line.link) if part)
        for line in lines
    ]
    parts.append("-- \n" + "\n".join(part for part in (_WHY.say(language), choices_link) if part))
    return "\n\n".join(parts) + "\n"


def _html(name: str, lines: Sequence[MailItem], language: str, choices_link: str) -> str:
    why = escape(_WHY.say(language))
    if choices_link:
        why = f'<a href="{escape(choices_link)}">{why}</a>'
    return (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8"><title></title></head><body>\n'
        f"<p>{escape(_HELLO.say(language).replace('{name}', name))}</p>\n"
        + "".join(_html_line(line, language) for line in lines)
        + f"<hr><p><small>{why}</small></p>\n</body></html>\n"
    )


def _html_line(line: MailItem, language: str) -> str:
    link = f'<br><a href="{escape(line.link)}">{_OPEN.say(language)}</a>' if line.link else ""
    facts = f"<br><small>{escape(line.facts(language))}</small>" if line.facts(language) else ""
    return f"<p><strong>{escape(line.title)}</strong><br>{escape(line.message)}{facts}{link}</p>\n"


INVITATION, PASSWORD_RESET = "invited", "password_reset"
_INVITED: Final = "[สารบรรณ / Saraban] คำเชิญเข้าใช้งาน / Your invitation"
_INVITATION: Final = Text(
    "เรียน {name}\nคุณได้รับเชิญให้ใช้ระบบสารบรรณ ชื่อผู้ใช้ของคุณคือ {username} "
    "เปิดลิงก์นี้เพื่อตั้งรหัสผ่าน ใช้ได้ครั้งเดียวภายใน 7 วันนับจากวันที่เชิญ หากหมดอายุให้ขอใหม่จากผู้ดูแลระบบ",
    "Dear {name},\nYou are invited to Saraban. Your user name is {username}. Open this link to set your password. It works once, for 7 days from the invitation; after that, ask your administrator for a new one.",
)

_RESET: Final = Text(
    "เรียน {name}\nมีผู้ขอตั้งรหัสผ่านใหม่ของบัญชี {username} เปิดลิงก์นี้เพื่อตั้งรหัสผ่าน ใช้ได้ครั้งเดียวภายใน 30 นาที หากคุณไม่ได้ขอ ไม่ต้องทำสิ่งใด",
    "Dear {name},\nA new password was requested for the account {username}. Open this link to choose it. It works once, for 30 minutes. If you did not ask for it, do nothing: your password stays as it is.",
)
_RESET_SUBJECT: Final = "[สารบรรณ / Saraban] ตั้งรหัสผ่านใหม่ / Reset your password"
LINK_MAILS: Final = {INVITATION: (_INVITED, _INVITATION), PASSWORD_RESET: (_RESET_SUBJECT, _RESET)}


def link_message(
    template: str, *, key: UUID, to: str, link: str, at: datetime, values: Mapping[str, str]
) -> MailMessage:
    """Write in both languages, because an invited person has not chosen one."""
    subject, text = LINK_MAILS[template]
    parts = [text.say(language, values) for language in ("th", "en")]
    address = escape(link)
    return MailMessage(
        key=key,
        to=to,
        language="th",
        subject=subject,
        text="\n\n".join(f"{words}\n{link}" for words in parts) + "\n",
        html='<!doctype html>\n<html lang="th"><head><meta charset="utf-8"><title></title></head><body>\n'
        + "".join(
            f'<p lang="{language}">{escape(words).replace(chr(10), "<br>")}<br><a href="{address}">{address}</a></p>\n'
            for language, words in zip(("th", "en"), parts, strict=True)
        )
        + "</body></html>\n",
        at=at,
    )
