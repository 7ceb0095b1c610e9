"""`saraban mail test`: whether this installation can send e-mail."""

import asyncio
from typing import Annotated, Final

import typer

from saraban import config
from saraban.cli.output import language, say, stop, tell

group = typer.Typer(no_args_is_help=True, help="E-mail: test the mail server.")
_STEPS: Final = {
    "connected": ("เชื่อมต่อแล้ว", "Connected."),
    "encrypted": ("เข้ารหัสด้วย TLS และใบรับรองถูกต้อง", "The connection uses TLS, and the certificate is valid."),
    "logged_in": ("เข้าสู่ระบบแล้ว", "Logged in."),
    "accepted": ("เซิร์ฟเวอร์รับจดหมายแล้ว", "The server accepted the e-mail."),
}


@group.command()
def test(address: Annotated[str, typer.Argument(help="Where the test mail goes.")]) -> None:
    """Send a test mail with the settings of this installation, and print each step. Exit code 1 when a step fails.

    Example: `saraban mail test somsri@example.org`
    """
    from saraban.bootstrap import smtp_mailer
    from saraban.kit.clock import SystemClock
    from saraban.kit.ids import new_id
    from saraban.notifications.domain.mail_message import MailMessage, MailRefused

    settings = config.load()
    if settings.mail != "smtp":
        raise stop(f"ไม่ได้ส่งอีเมล: SARABAN_MAIL={settings.mail}", f"e-mail is not sent: SARABAN_MAIL={settings.mail}.")
    text = say("[สารบรรณ] อีเมลทดสอบ", "[Saraban] Test mail")
    mail = MailMessage(new_id(), address, language(), text, text, text, SystemClock(settings.zone).now())
    mailer = smtp_mailer(settings)
    mailer.report = lambda step: tell(*_STEPS[step])
    try:
        asyncio.run(mailer.send(mail))
    except MailRefused as refusal:
        reason = " ".join(repr(refusal.__cause__ or refusal).split())
        raise stop(f"ส่งผ่าน {settings.smtp_host} ไม่สำเร็จ: {reason}", f"{settings.smtp_host}: {reason}") from None
