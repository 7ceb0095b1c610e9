"""Which document answers another one: it refers to it, and goes from one that received it back to where it came from."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Correspondents:
    """Who wrote a document, and whom it is sent to, copies too."""

    originator: int
    recipients: Collection[int]


def is_reply(reply: Correspondents, original: Correspondents) -> bool:
    """Say whether a document that refers to another one is the answer to it, by who wrote to whom."""
    return reply.originator in original.recipients and original.originator in reply.recipients
