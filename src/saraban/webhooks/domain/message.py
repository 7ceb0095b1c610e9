"""What a webhook says, and through what it is said."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, Protocol, get_args

from saraban.kit.json import Json, JsonObject, as_object

ProjectEvent = Literal[
    "document.created",
    "document.revised",
    "document.cancelled",
    "workflow.transitioned",
    "workflow.answered",
    "workflow.webhook",
]
EventName = Literal[ProjectEvent, "notification.created"]
EVENTS: Final[tuple[ProjectEvent, ...]] = get_args(ProjectEvent)
NAMED: Final = "workflow.webhook"  # the one that a definition names, with a topic
NOTICE: Final = "notification.created"  # the one that people are told of who set up a webhook of their own
TEST = "webhook.tested"

# It leaves the house: ids, numbers and steps, and no word of what a document says.
_SAID = (
    *("projectPublicId", "documentPublicId", "documentKind", "kind", "number", "documentNumber", "revision"),
    *("instancePublicId", "historyPublicId", "workflowCode", "versionNo", "from", "to", "action", "terminal"),
    *("branch", "branchPublicId", "hidden", "answer"),
    *("actorPublicId", "topic", "responseCode", "userPublicId", "aboutPublicId", "event", "notice", "says"),
)


class NotSent(Exception):  # an expected outcome
    """
    There was no answer; `reason` is one word for why, `private_address` among them.

    :param never: whether the address itself is at fault, so that there can never be one
    """

    def __init__(self, reason: str, *, never: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.never = reason, never


class WebhookTransport(Protocol):
    """Two ship: the guarded one of `adapters`, and whatever a test puts in its place."""

    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        """
        :returns: the status of the answer
        :raises NotSent: when there was none
        """
        ...


def message(name: str, payload: JsonObject, *, at: datetime) -> dict[str, Json]:
    """Return the body of a webhook: type, timestamp and data."""
    said = {key: payload[key] for key in _SAID if payload.get(key) is not None}
    actor = payload.get("actor")
    if isinstance(actor, Mapping) and actor.get("publicId"):
        said["actorPublicId"] = actor["publicId"]
        if actor.get("onBehalfOf"):
            said["onBehalfOfPublicId"] = as_object(actor["onBehalfOf"])["publicId"]
    return {"type": name, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": said}
