"""The mail to somebody who is invited, in both languages: nobody knows yet in which of them that person reads."""

from datetime import datetime
from html import escape
from typing import Final
from uuid import UUID

from saraban.kit.errors import Text
from saraban.notifications.domain.mail_message import MailMessage

TEMPLATE: Final = "invited"
_SUBJECT: Final = "[สารบรรณ / Saraban] คำเชิญเข้าใช้งาน / Your invitation"
_WORDS: Final = Text(
    "เรียน {name}\nคุณได้รับเชิญให้ใช้ระบบสารบรรณ ชื่อผู้ใช้ของคุณคือ {username} "
    "เปิดลิงก์นี้เพื่อตั้งรหัสผ่าน ใช้ได้ครั้งเดียวภายใน 7 วันนับจากวันที่เชิญ หากหมดอายุให้ขอใหม่จากผู้ดูแลระบบ",
    "Dear {name},\nYou are invited to Saraban. Your user name is {username}. Open this link to set your password. It works once, for 7 days from the invitation; after that, ask your administrator for a new one.",
)


def invitation_message(*, key: UUID, to: str, name: str, username: str, link: str, at: datetime) -> MailMessage:
    """Write the mail; the link stands in it once for each language."""
    values = {"name": name, "username": username}
    parts = [_WORDS.say(language, values) for language in ("th", "en")]
    shown = escape(link)
    return MailMessage(
        key=key,
        to=to,
        language="th",
        subject=_SUBJECT,
        text="\n\n".join(f"{words}\n{link}" for words in parts) + "\n",
        html='<!doctype html>\n<html lang="th"><head><meta charset="utf-8"><title></title></head><body>\n'
        + "".join(
            f'<p lang="{language}">{escape(words).replace(chr(10), "<br>")}<br><a href="{shown}">{shown}</a></p>\n'
            for language, words in zip(("th", "en"), parts, strict=True)
        )
        + "</body></html>\n",
        at=at,
    )
