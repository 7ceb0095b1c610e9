"""Ed25519 signatures; keys and signatures are lower-case hexadecimal text."""

import hmac

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class Signer:
    """Signs with a key derived from the installation's secret, a different one per purpose."""

    def __init__(self, secret: str, *, purpose: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(hmac.digest(secret.encode(), purpose.encode(), "sha256"))
        self.public_key = self._key.public_key().public_bytes_raw().hex()

    def sign(self, text: str) -> str:
        return self._key.sign(text.encode()).hex()


def is_signed_by(public_key: str, signature: str, text: str) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True
