"""
Marks the browser in which an account logged in, so that its log-ins are told from those of everybody else at the address.

The cookie is signed, bound to the name and good for a year. It opens nothing: it only says whose failures are whose.
"""

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final

from saraban.kit.ids import new_secret

DEVICE_COOKIE_LIFE: Final = timedelta(days=365)


class DeviceCookies:
    """
    :param key: what the cookies are signed with is derived from it
    """

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"device cookies", hashlib.sha256)

    def issue(self, name: str, *, now: datetime) -> str:
        stated = f"{new_secret(12)}.{int((now + DEVICE_COOKIE_LIFE).timestamp())}"
        return f"{stated}.{self._seal(stated, name)}"

    def device(self, cookie: str, *, name: str, now: datetime) -> str | None:
        """Return the device that a cookie of this name marks; None when it is forged, of another name or too old."""
        stated, _, seal = cookie.rpartition(".")
        if not hmac.compare_digest(seal.encode(errors="replace"), self._seal(stated, name).encode()):
            return None
        device, _, expires = stated.partition(".")
        return device if now.timestamp() < int(expires) else None

    def _seal(self, stated: str, name: str) -> str:
        text = f"{stated}\n{name}".encode(errors="surrogatepass")
        return hmac.digest(self._key, text, hashlib.sha256).hex()
