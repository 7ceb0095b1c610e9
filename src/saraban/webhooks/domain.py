"""
Where a webhook may lead, what it says, with which secrets that is signed, and how its receiver fares.

It may lead to public addresses alone, however they are written. An address inside another one (IPv4 in IPv6, 6to4,
Teredo, NAT64) counts as the one it leads to.
"""

import base64
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, Literal, Protocol, get_args

from saraban.kit.addresses import split_url
from saraban.kit.json import Json, JsonObject, as_object

PORTS = frozenset({443, 8443})
_LONGEST = 253
_LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# What ends like this is read as an IPv4 address by the system, in whatever base and however many parts.
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_NAT64 = ip_network("64:ff9b::/96")
_COMPATIBLE = ip_network("::/96")
# What `is_global` has not always known, or means for more than one machine.
_CLOSED = [
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"),
        *("64:ff9b:1::/48", "100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fec0::/10"),
    )
]


class InvalidWebhookAddress(ValueError):
    """The text is no address that a webhook may have; `reason` is one word for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """An address taken apart; `path` has the query with it."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 443 else f"{host}:{self.port}"


def target_of(
    url: str, *, schemes: Collection[str] = ("https",), ports: Collection[int] | None = PORTS
) -> WebhookTarget:
    """
    :param ports: None for any
    :raises BadAddress: when a webhook may not lead there, as far as the text alone tells
    """
    parts = split_url(url)
    if parts is None or not url.isascii():
        raise InvalidWebhookAddress("malformed")
    port = parts.port or 443
    try:
        host = (parts.hostname or "").encode("idna").decode() if ":" not in (parts.hostname or "") else parts.hostname
    except (ValueError, UnicodeError):
        raise InvalidWebhookAddress("malformed") from None
    if parts.scheme not in schemes:
        raise InvalidWebhookAddress("not_https")
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        raise InvalidWebhookAddress("malformed")
    if any(letter.isspace() or letter == "\\" for letter in url):
        raise InvalidWebhookAddress("malformed")
    if ports is not None and port not in ports:
        raise InvalidWebhookAddress("port")
    host = host.lower().removesuffix(".")
    _check_host(host)
    path = parts.path or "/"
    return WebhookTarget(parts.scheme, host, port, f"{path}?{parts.query}" if parts.query else path)


def _check_host(host: str) -> None:
    """An address is either a name of the internet or an IP address in its usual form; both say where they lead."""
    address = _literal(host)
    if address is not None and (str(address) == host or ":" in host) and "%" not in host:
        if not is_public(host):
            raise InvalidWebhookAddress("private")
        return
    labels = host.split(".")
    if ":" in host or _NUMERIC.fullmatch(labels[-1]):
        raise InvalidWebhookAddress("private" if address is not None and not is_public(host) else "notation")
    if len(host) > _LONGEST or not all(_LABEL.fullmatch(label) and _is_what_it_seems(label) for label in labels):
        raise InvalidWebhookAddress("malformed")
    if len(labels) == 1 or host.endswith(_LOCAL_NAMES):
        raise InvalidWebhookAddress("private")


def _is_what_it_seems(label: str) -> bool:
    """A label in Punycode must stand for something that plain letters could not say."""
    if not label.startswith("xn--"):
        return True
    try:
        meant = label.removeprefix("xn--").encode().decode("punycode")
    except UnicodeError:
        return False
    return not unicodedata.normalize("NFKC", meant).isascii()


def is_public(text: str) -> bool:
    address = _literal(text)
    if address is None:
        return False
    for inner in _inside(address):
        if not inner.is_global or inner.is_multicast or inner.is_reserved or inner.is_loopback or inner.is_link_local:
            return False
        if any(inner in network for network in _CLOSED if network.version == inner.version):
            return False
    return True


def _literal(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _inside(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return the addresses that packets to this one may end at."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address in _NAT64 or address in _COMPATIBLE:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    if address.teredo is not None:
        return [address, *address.teredo]
    return [address]


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
    said = {key: payload[key] for key in _SAID if payload.get(key) is not None}
    actor = payload.get("actor")
    if isinstance(actor, Mapping) and actor.get("publicId"):
        said["actorPublicId"] = actor["publicId"]
        if actor.get("onBehalfOf"):
            said["onBehalfOfPublicId"] = as_object(actor["onBehalfOf"])["publicId"]
    return {"type": name, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": said}


PREFIX = "whsec_"


def encoded(key: bytes) -> str:
    """Return a secret in the form that receivers are handed."""
    return PREFIX + base64.b64encode(key).decode()


def signature(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: while a secret is being changed it has one for each."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join("v1," + _signed(secret, signed) for secret in secrets)


def _signed(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


OVERLAP: Final = timedelta(hours=24)  # in which an earlier secret goes on signing after it was replaced
MOST_EARLIER: Final = 3  # at a time: each is a signature more in every message


@dataclass(frozen=True, slots=True)
class EarlierSecret:
    """A secret that was replaced; it signs until `until`."""

    secret: str
    until: datetime

    @property
    def kept(self) -> dict[str, str]:
        return {"secret": self.secret, "until": self.until.isoformat()}


def valid_secrets(kept: Iterable[Mapping[str, str]] | None, now: datetime) -> list[EarlierSecret]:
    """Return the earlier secrets that still sign, the latest first."""
    found = [EarlierSecret(one["secret"], datetime.fromisoformat(one["until"])) for one in kept or ()]
    return sorted((one for one in found if one.until > now), key=lambda one: one.until, reverse=True)


class OffReason(StrEnum):
    """Why a webhook was switched off by itself: its receiver is gone, nothing gets through, or nothing may be sent there."""

    GONE = "gone"
    FAILING = "failing"
    ADDRESS = "address"


# A receiver may be down over a weekend and lose nothing but those days' messages.
LONG: Final = timedelta(days=3)
FEW: Final = 3
# A busy one would fill the dead letters long before that.
SOON: Final = timedelta(hours=6)
MANY: Final = 100


@dataclass(frozen=True, slots=True)
class WebhookHealth:
    """
    :param failing_since: of the first attempt that failed after the last that did not; None while all is well
    :param given_up: messages in a row that were given up since then
    """

    failing_since: datetime | None = None
    given_up: int = 0

    def after(self, *, delivered: bool, gave_up: bool, now: datetime) -> "WebhookHealth":
        if delivered:
            return WebhookHealth()
        return WebhookHealth(self.failing_since or now, self.given_up + gave_up)

    def is_hopeless(self, *, now: datetime) -> bool:
        """Return whether nothing has got through for so long that the webhook is switched off."""
        if self.failing_since is None:
            return False
        age = now - self.failing_since
        return (age >= LONG and self.given_up >= FEW) or (age >= SOON and self.given_up >= MANY)
