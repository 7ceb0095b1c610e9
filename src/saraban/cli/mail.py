"""`saraban mail test`: whether this installation can send e-mail."""

import smtplib
from html import escape
from typing import TYPE_CHECKING, Annotated, Final

import typer

from saraban import config
from saraban.cli.output import language, say, stop, tell

if TYPE_CHECKING:
    from saraban.notifications.adapters import SmtpStep

group = typer.Typer(no_args_is_help=True, help="E-mail: test the mail server.")

_STEPS: "Final[dict[SmtpStep, tuple[str, str]]]" = {
    "connected": ("เชื่อมต่อ {server} แล้ว", "Connected to {server}."),
    "encrypted": ("เข้ารหัสด้วย TLS และใบรับรองถูกต้อง", "The connection uses TLS, and the certificate is valid."),
    "logged_in": ("เข้าสู่ระบบในชื่อ {user} แล้ว", "Logged in as {user}."),
    "accepted": ("เซิร์ฟเวอร์รับจดหมายถึง {to} แล้ว", "The server accepted the e-mail to {to}."),
}


@group.callback()
def root() -> None:
    """Without this, a single command would swallow its own name."""


@group.command()
def test(address: Annotated[str, typer.Argument(help="Where the test mail goes.")]) -> None:
    """Send a test mail with the settings of this installation, and print each step. Exit code 1 when a step fails.

    Example: `saraban mail test somsri@example.org`
    """
    from saraban.bootstrap import smtp_mailer
    from saraban.kit.addresses import is_mailbox
    from saraban.kit.clock import SystemClock
    from saraban.kit.ids import new_id
    from saraban.notifications.domain.mail_message import MailMessage

    settings = config.load()
    if settings.mail != "smtp":
        raise stop(
            f"ไม่ได้ส่งอีเมล: SARABAN_MAIL={settings.mail}",
            f"E-mail is not sent: SARABAN_MAIL={settings.mail}. Set it to smtp.",
        )
    if not is_mailbox(address):
        raise typer.BadParameter(say("ต้องเป็นที่อยู่อีเมล", "an e-mail address is needed"))
    subject = say("[สารบรรณ] อีเมลทดสอบ", "[Saraban] Test mail")
    text = say("เซิร์ฟเวอร์นี้ส่งอีเมลได้", "This installation can send e-mail.")
    mail = MailMessage(
        new_id(), address, language(), subject, text, f"<p>{escape(text)}</p>", SystemClock(settings.zone).now()
    )
    names = {"server": f"{settings.smtp_host}:{settings.smtp_port}", "user": settings.smtp_user, "to": address}

    def print_step(step: "SmtpStep") -> None:
        th, en = _STEPS[step]
        tell(th.format(**names), en.format(**names))

    try:
        smtp_mailer(settings).deliver(mail, print_step)
    except (OSError, smtplib.SMTPException, ValueError) as fault:
        raise stop(
            f"ส่งอีเมลผ่าน {names['server']} ไม่สำเร็จ: {_reason(fault)}",
            f"sending through {names['server']} failed: {_reason(fault)}",
        ) from None


def _reason(fault: Exception) -> str:
    """Return the server's own words where there are any, on one line."""
    if isinstance(fault, smtplib.SMTPRecipientsRefused):
        code, words = next(iter(fault.recipients.values()))
        text = words.decode(errors="replace")
    elif isinstance(fault, smtplib.SMTPResponseException):
        code, answer = fault.smtp_code, fault.smtp_error
        text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    else:
        return " ".join(f"{type(fault).__name__}: {fault}".split())
    return " ".join(f"{code} {text}".split())
