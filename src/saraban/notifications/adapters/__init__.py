"""How e-mail leaves: over SMTP, or into the log where nobody has a mail server."""

from saraban.notifications.adapters.console import ConsoleMailer
from saraban.notifications.adapters.smtp import SmtpMailer

__all__ = ["ConsoleMailer", "SmtpMailer"]
