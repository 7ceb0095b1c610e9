"""Writes each e-mail to the log, for a workstation and for looking at the texts."""

import structlog

from saraban.notifications.domain.mail_message import MailMessage

log = structlog.get_logger(__name__)


class ConsoleMailer:
    """Takes everything."""

    async def send(self, mail: MailMessage) -> None:
        log.info("mail", to=mail.to, subject=mail.subject, text=mail.text, message_id=str(mail.key))
