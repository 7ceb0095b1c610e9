"""Issues and reads access tokens, and makes refresh tokens. The signing key is handed in by `bootstrap`."""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from uuid import UUID

import jwt

from saraban.identity.domain import token
from saraban.kit.clock import Clock
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.ids import new_id, new_secret
from saraban.kit.json import JsonObject

_ALGORITHM = "HS256"
_SIGN_IN = Text("เข้าสู่ระบบอีกครั้ง", "Sign in again.")


class NotSignedIn(DomainError):
    """There is no token, or it is forged, expired or of an account that is closed."""

    kind, code = ErrorKind.UNAUTHENTICATED, "UNAUTHORIZED"
    says = Text("กรุณาเข้าสู่ระบบ", "Please sign in.")
    recovery = (_SIGN_IN,)


class SessionEnded(DomainError):
    """The refresh token is unknown, expired, or was used before."""

    kind, code = ErrorKind.UNAUTHENTICATED, "SESSION_ENDED"
    says = Text("เซสชันหมดอายุ กรุณาเข้าสู่ระบบใหม่", "The session has ended. Please sign in again.")
    recovery = (_SIGN_IN,)


@dataclass(frozen=True)
class TokenIssuer:
    """One key, one algorithm; the algorithm a token names is never believed."""

    secret: str = field(repr=False)
    access_minutes: int
    refresh_days: int
    clock: Clock

    @property
    def access_seconds(self) -> int:
        return self.access_minutes * 60

    @property
    def refresh_life(self) -> timedelta:
        return timedelta(days=self.refresh_days)

    def access(self, subject: UUID) -> str:
        claims = token.claims_for(subject, token_id=new_id(), now=self.clock.now(), seconds=self.access_seconds)
        return jwt.encode(claims, self.secret, algorithm=_ALGORITHM)

    def subject(self, access_token: str) -> UUID:
        """
        Return the public id of the user a token speaks for.

        :raises NotSignedIn: when it is forged, expired, or not an access token
        """
        try:
            claims = _claims(access_token, self.secret)
        except jwt.InvalidTokenError as fault:
            raise NotSignedIn(f"The access token is not acceptable: {type(fault).__name__}.") from fault
        subject = token.subject_of(claims, self.clock.now())
        if subject is None:
            raise NotSignedIn("The access token has expired or is not meant for this server.")
        return subject


@lru_cache(maxsize=2048)
def _claims(access_token: str, secret: str) -> JsonObject:
    """Remembered, because a client shows the same token a thousand times: a signature that was right stays right."""
    # The times are checked by `domain.token` each time, with our own clock, so that a test can hold it still.
    unchecked = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False}
    return jwt.decode(access_token, secret, algorithms=[_ALGORITHM], options=unchecked)  # type: ignore[arg-type]


def new_refresh_token() -> str:
    return new_secret(48)


def digest(refresh_token: str) -> str:
    """Return what is stored of a refresh token; 384 random bits need no salt."""
    return hashlib.sha256(refresh_token.encode("utf-8", "surrogatepass")).hexdigest()
