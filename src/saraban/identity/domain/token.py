"""What an access token must claim. Never roles: those are read for each request."""

from datetime import datetime
from uuid import UUID

from saraban.kit.json import Json, JsonObject

ISSUER = "saraban"
AUDIENCE = "saraban-api"
KIND = "access"
LEEWAY_SECONDS = 5


def claims_for(subject: UUID, *, token_id: UUID, now: datetime, seconds: int) -> dict[str, Json]:
    issued = int(now.timestamp())
    return {
        "sub": str(subject),
        "iss": ISSUER,
        "aud": AUDIENCE,
        "typ": KIND,
        "iat": issued,
        "exp": issued + seconds,
        "jti": str(token_id),
    }


def subject_of(claims: JsonObject, now: datetime) -> UUID | None:
    """Return the public id that a token with a good signature speaks for, or None when it is not usable now."""
    moment = now.timestamp()
    issued, expires = claims.get("iat"), claims.get("exp")
    if claims.get("iss") != ISSUER or claims.get("aud") != AUDIENCE or claims.get("typ") != KIND:
        return None
    if type(issued) is not int or type(expires) is not int or not isinstance(claims.get("jti"), str):
        return None
    if expires <= moment or issued > moment + LEEWAY_SECONDS:
        return None
    try:
        return UUID(str(claims["sub"]))
    except (KeyError, ValueError, AttributeError, TypeError):
        return None
