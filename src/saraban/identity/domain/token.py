"""Claims of an access token, which never contains roles."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from saraban.kit.json import Json, JsonObject

ISSUER = "saraban"
AUDIENCE = "saraban-api"
KIND = "access"
LEEWAY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class AccessClaims:
    subject: UUID
    session: UUID
    rights: str


def claims_for(access: AccessClaims, *, token_id: UUID, now: datetime, seconds: int) -> dict[str, Json]:
    issued = int(now.timestamp())
    return {
        "sub": str(access.subject),
        "sid": str(access.session),
        "rts": access.rights,
        "iss": ISSUER,
        "aud": AUDIENCE,
        "typ": KIND,
        "iat": issued,
        "exp": issued + seconds,
        "jti": str(token_id),
    }


def read_claims(claims: JsonObject, now: datetime) -> AccessClaims | None:
    """Return None if the claims are not valid now."""
    moment = now.timestamp()
    issued, expires = claims.get("iat"), claims.get("exp")
    if claims.get("iss") != ISSUER or claims.get("aud") != AUDIENCE or claims.get("typ") != KIND:
        return None
    if type(issued) is not int or type(expires) is not int or not isinstance(claims.get("jti"), str):
        return None
    if expires <= moment or issued > moment + LEEWAY_SECONDS:
        return None
    try:
        return AccessClaims(UUID(str(claims["sub"])), UUID(str(claims["sid"])), str(claims["rts"]))
    except (KeyError, ValueError, AttributeError, TypeError):
        return None
