"""Addresses, messages, signatures and health of webhooks."""

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
# The system reads names that end like this as IPv4 addresses, in any base and with any number of parts.
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_NAT64 = ip_network("64:ff9b::/96")
_COMPATIBLE = ip_network("::/96")
# Networks that `is_global` of some Python versions misses, or that are not single hosts.
_CLOSED = [
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"),
        *("64:ff9b:1::/48", "100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fec0::/10"),
    )
]


class InvalidWebhookAddress(ValueError):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WebhookTarget:
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
    """:raises InvalidWebhookAddress: as far as the text shows"""
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
    address = _parse_address(host)
    if address is not None and (str(address) == host or ":" in host) and "%" not in host:
        if not is_public(host):
            raise InvalidWebhookAddress("private")
        return
    labels = host.split(".")
    if ":" in host or _NUMERIC.fullmatch(labels[-1]):
        raise InvalidWebhookAddress("private" if address is not None and not is_public(host) else "notation")
    if len(host) > _LONGEST or not all(_LABEL.fullmatch(label) and _is_genuine_label(label) for label in labels):
        raise InvalidWebhookAddress("malformed")
    if len(labels) == 1 or host.endswith(_LOCAL_NAMES):
        raise InvalidWebhookAddress("private")


def _is_genuine_label(label: str) -> bool:
    """Refuse Punycode for plain letters."""
    if not label.startswith("xn--"):
        return True
    try:
        name = label.removeprefix("xn--").encode().decode("punycode")
    except UnicodeError:
        return False
    return not unicodedata.normalize("NFKC", name).isascii()


def is_public(text: str) -> bool:
    address = _parse_address(text)
    if address is None:
        return False
    for inner in _reachable_addresses(address):
        if not inner.is_global or inner.is_multicast or inner.is_reserved or inner.is_loopback or inner.is_link_local:
            return False
        if any(inner in network for network in _CLOSED if network.version == inner.version):
            return False
    return True


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _reachable_addresses(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Unwrap IPv4 in IPv6, NAT64, 6to4 and Teredo."""
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
NAMED: Final = "workflow.webhook"  # requested by a workflow definition, with a topic
NOTICE: Final = "notification.created"  # the only event of people's own webhooks
TEST = "webhook.tested"

# Messages leave the installation: they contain ids, numbers and steps, but no contents of documents.
_MESSAGE_KEYS = (
    *("projectPublicId", "documentPublicId", "documentKind", "kind", "number", "documentNumber", "revision"),
    *("instancePublicId", "historyPublicId", "workflowCode", "versionNo", "from", "to", "action", "terminal"),
    *("branch", "branchPublicId", "hidden", "answer"),
    *("actorPublicId", "topic", "responseCode", "userPublicId", "aboutPublicId", "event", "notice", "says"),
)


class NotSent(Exception):  # an expected outcome
    """:param never: the address itself is at fault, so a further attempt is useless"""

    def __init__(self, reason: str, *, never: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.never = reason, never


class WebhookTransport(Protocol):
    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        """:raises NotSent: when there was no response"""
        ...


def message(name: str, payload: JsonObject, *, at: datetime) -> dict[str, Json]:
    data = {key: payload[key] for key in _MESSAGE_KEYS if payload.get(key) is not None}
    actor = payload.get("actor")
    if isinstance(actor, Mapping) and actor.get("publicId"):
        data["actorPublicId"] = actor["publicId"]
        if actor.get("onBehalfOf"):
            data["onBehalfOfPublicId"] = as_object(actor["onBehalfOf"])["publicId"]
    return {"type": name, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": data}


PREFIX = "whsec_"


def encoded(key: bytes) -> str:
    return PREFIX + base64.b64encode(key).decode()


def signature(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    content = f"{message_id}.{timestamp}.".encode() + body
    return " ".join("v1," + _sign(secret, content) for secret in secrets)


def _sign(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


OVERLAP: Final = timedelta(hours=24)  # an earlier secret still signs for so long
MOST_EARLIER: Final = 3  # each earlier secret adds a signature to every message


@dataclass(frozen=True, slots=True)
class EarlierSecret:
    secret: str
    until: datetime

    @property
    def as_json(self) -> dict[str, str]:
        return {"secret": self.secret, "until": self.until.isoformat()}


def valid_secrets(stored: Iterable[Mapping[str, str]] | None, now: datetime) -> list[EarlierSecret]:
    """Return the earlier secrets that still sign, newest first."""
    secrets = [EarlierSecret(row["secret"], datetime.fromisoformat(row["until"])) for row in stored or ()]
    return sorted((secret for secret in secrets if secret.until > now), key=lambda secret: secret.until, reverse=True)


class OffReason(StrEnum):
    GONE = "gone"
    FAILING = "failing"
    ADDRESS = "address"


# A receiver may be down for a weekend.
FAILING_TIME: Final = timedelta(days=3)
FAILING_MESSAGES: Final = 3
# A busy webhook fills the dead letters earlier.
BUSY_FAILING_TIME: Final = timedelta(hours=6)
BUSY_FAILING_MESSAGES: Final = 100


@dataclass(frozen=True, slots=True)
class WebhookHealth:
    """:param failing_since: first failed attempt after the last delivery"""

    failing_since: datetime | None = None
    given_up: int = 0

    def after(self, *, delivered: bool, gave_up: bool, now: datetime) -> "WebhookHealth":
        if delivered:
            return WebhookHealth()
        return WebhookHealth(self.failing_since or now, self.given_up + gave_up)

    def is_hopeless(self, *, now: datetime) -> bool:
        if self.failing_since is None:
            return False
        age = now - self.failing_since
        is_dead = age >= FAILING_TIME and self.given_up >= FAILING_MESSAGES
        return is_dead or (age >= BUSY_FAILING_TIME and self.given_up >= BUSY_FAILING_MESSAGES)
