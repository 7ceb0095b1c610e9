"""Circulation sheets: one organization passes a document round among its own people and collects their answers."""

from zoneinfo import ZoneInfo

from saraban.documents.circulation.service.answering import AlreadyAnswered, NotAssigned, NotRouting, respond
from saraban.documents.circulation.service.carrying import CARRIED
from saraban.documents.circulation.service.changing import CirculationClosed, OpenCirculations, cancel, edit
from saraban.documents.circulation.service.creating import CirculationExists, create
from saraban.documents.circulation.service.offers import CirculationActions, offers
from saraban.documents.circulation.service.presenting import etag
from saraban.documents.circulation.service.reading import CirculationSearch, history, listing, read, reads_file
from saraban.documents.circulation.service.renumbering import renumber
from saraban.documents.circulation.service.subject import CirculationSubject

__all__ = [
    "CARRIED",
    "AlreadyAnswered",
    "CirculationActions",
    "CirculationClosed",
    "CirculationExists",
    "CirculationSearch",
    "CirculationSubject",
    "NotAssigned",
    "NotRouting",
    "OpenCirculations",
    "cancel",
    "create",
    "edit",
    "etag",
    "follower",
    "history",
    "listing",
    "offers",
    "read",
    "reads_file",
    "renumber",
    "respond",
    "subject",
]


def subject(_zone: ZoneInfo) -> CirculationSubject:
    """Return the port that `bootstrap` registers with the workflow."""
    return CirculationSubject()


def follower() -> OpenCirculations:
    """Return what ends with a cancelled document; `bootstrap` registers it."""
    return OpenCirculations()
