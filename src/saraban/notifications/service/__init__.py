"""Whom an event concerns, in the application and by e-mail; written when events arrive, read in the reader's language."""

from saraban.notifications.service.mailing import GIVEN_UP, MailWork, Post, purge_mails
from saraban.notifications.service.plans import read_reminders, set_reminders
from saraban.notifications.service.preferences import read_preferences, save_preferences
from saraban.notifications.service.reading import NotificationView, listing, read, read_all, settle, unread_count
from saraban.notifications.service.reminding import remind
from saraban.notifications.service.telling import EVENTS, react, react_all, subscribe

__all__ = [
    "EVENTS",
    "GIVEN_UP",
    "MailWork",
    "NotificationView",
    "Post",
    "listing",
    "purge_mails",
    "react",
    "react_all",
    "read",
    "read_all",
    "read_preferences",
    "read_reminders",
    "remind",
    "save_preferences",
    "set_reminders",
    "settle",
    "subscribe",
    "unread_count",
]
