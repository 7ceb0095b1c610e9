"""Sends e-mail over SMTP, or writes it to the log."""

import asyncio
import smtplib
import ssl
from collections.abc import Callable
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr, parseaddr
from typing import Literal

import structlog

from saraban.kit.addresses import is_mailbox
from saraban.notifications.domain.mail_message import MailMessage, MailRefused

log = structlog.get_logger(__name__)

Security = Literal["starttls", "tls", "none"]


class SmtpMailer:
    """:param timeout: seconds for each step of the connection"""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        sender: str,
        security: Security = "starttls",
        user: str = "",
        password: str = "",
        timeout: float = 10.0,
    ) -> None:
        self._host, self._port, self._security, self._timeout = host, port, security, timeout
        self._user, self._password = user, password
        self.report: Callable[[str], None] = lambda _step: None
        name, address = parseaddr(sender)
        self._sender = formataddr((name or "Saraban", address))
        self._domain = address.rpartition("@")[2] or "localhost"

    async def send(self, mail: MailMessage) -> None:
        """:raises MailRefused:"""
        await asyncio.to_thread(self._send, mail)

    async def check(self) -> None:
        await asyncio.to_thread(lambda: self._connect().quit())

    def _send(self, mail: MailMessage) -> None:
        if not is_mailbox(mail.to):  # old accounts were not checked for it
            raise MailRefused("the address is not a single mailbox", for_good=True)
        try:
            message = self._message(mail)
            with self._connect() as server:
                server.send_message(message)
                self.report("accepted")
        except smtplib.SMTPRecipientsRefused as refusal:
            codes = [code for code, _ in refusal.recipients.values()]
            raise MailRefused(f"recipient refused: {codes}", for_good=all(map(_is_final, codes))) from refusal
        except smtplib.SMTPDataError as refusal:
            raise MailRefused(f"refused: {refusal.smtp_code}", for_good=_is_final(refusal.smtp_code)) from refusal
        except (OSError, smtplib.SMTPException) as fault:
            # The operator must fix a wrong password, a refused sender or an unreachable server: the mail waits.
            raise MailRefused(type(fault).__name__, for_good=False) from fault
        except ValueError as fault:
            raise MailRefused(f"no header can say this: {fault}", for_good=True) from fault

    def _connect(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self._security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=self._timeout, context=context)
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._timeout)
        try:
            self.report("connected")
            if self._security == "starttls":
                server.starttls(context=context)
            if self._security != "none":
                self.report("encrypted")
            if self._user:
                server.login(self._user, self._password)
                self.report("logged_in")
        except BaseException:
            server.close()
            raise
        return server

    def _message(self, mail: MailMessage) -> EmailMessage:
        message = EmailMessage(policy=SMTP)
        message["From"] = self._sender
        name, _, domain = mail.to.rpartition("@")
        message["To"] = Address(username=name, domain=domain)
        message["Subject"] = mail.subject
        message["Date"] = format_datetime(mail.at)
        message["Message-ID"] = f"<{mail.key.hex}@{self._domain}>"
        if mail.thread:  # mail programs group by this id, so the first mail has it, too
            message["References"] = message["In-Reply-To"] = f"<document.{mail.thread}@{self._domain}>"
        if mail.choices_link:  # a page, so one-click unsubscription (List-Unsubscribe-Post) does not apply
            message["List-Unsubscribe"] = f"<{mail.choices_link}>"
        message["Auto-Submitted"] = "auto-generated"  # stops out-of-office replies (RFC 3834)
        message.set_content(mail.text)
        message.add_alternative(mail.html, subtype="html")
        message["Content-Language"] = mail.language  # last, because adding contents moves it into a part
        return message


def _is_final(code: int) -> bool:
    return 500 <= code < 600


class ConsoleMailer:
    async def send(self, mail: MailMessage) -> None:
        log.info("mail", to=mail.to, subject=mail.subject, text=mail.text, message_id=str(mail.key))

    async def check(self) -> None:
        pass
