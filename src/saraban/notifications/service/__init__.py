"""Whom an event concerns, in the application and by e-mail; written when events arrive, read in the reader's language."""

from saraban.notifications.service.event_handlers import EVENTS, react_all, subscribe
from saraban.notifications.service.inbox import (
    listing,
    read,
    read_all,
    read_preferences,
    save_preferences,
    settle,
    unread_count,
)
from saraban.notifications.service.mail_queue import MailJob, MailSettings, purge_mails
from saraban.notifications.service.reminders import read_reminders, send_reminders, set_reminders
