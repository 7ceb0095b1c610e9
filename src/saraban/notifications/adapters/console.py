"""Writes each e-mail to the log, for a workstation and for looking at the texts."""

import structlog

from saraban.notifications.domain.letters import Letter

log = structlog.get_logger(__name__)


class ConsoleMailer:
    """Takes everything."""

    async def send(self, letter: Letter) -> None:
        log.info("mail", to=letter.to, subject=letter.subject, text=letter.text, message_id=str(letter.key))
