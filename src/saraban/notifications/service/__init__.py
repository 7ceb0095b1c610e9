"""Functions of `notifications` that other features use."""

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
