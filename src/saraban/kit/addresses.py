"""Parse URLs and e-mail addresses from clients and settings, without exceptions."""

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from saraban.kit.errors import Text
from saraban.kit.text import INVISIBLE, control_character, has_mark_run

NOT_MAILBOX: Final = Text(
    "อีเมลไม่ถูกต้อง ต้องเป็นที่อยู่เดียว เช่น name@example.org",
    "The e-mail address is not valid. Enter a single address such as name@example.org.",
)
_ATOMS: Final = r'[^\s@,;:<>()\[\]\\".]+(?:\.[^\s@,;:<>()\[\]\\".]+)*'
_MAILBOX: Final = re.compile(f"{_ATOMS}@{_ATOMS}")


def split_url(address: str) -> SplitResult | None:
    """Return None for a malformed URL. Reading `port` of the result cannot raise."""
    try:
        parts = None if has_mark_run(address) else urlsplit(address)
        _ = parts and parts.port
    except ValueError:
        return None
    return parts


def is_mailbox(address: str) -> bool:
    domain = address.rpartition("@")[2]  # a host of the local network has no dot, and ASCII letters only
    is_visible = control_character(address) is None and not INVISIBLE.search(address)
    return is_visible and _MAILBOX.fullmatch(address) is not None and (domain.isascii() or "." in domain)
