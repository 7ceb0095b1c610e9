"""File names: what is kept of the one that was sent, and how it is told to a browser again."""

import re
import unicodedata
from urllib.parse import quote

from saraban.kit.text import control_character, fold

MAX_NAME = 255


class UnacceptableName(ValueError):
    """The name cannot be kept; `reason` is a code for the field problem."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def clean_name(sent: str) -> str:
    """
    Return the last part of a path, in the one spelling of `kit.text`.

    :raises UnfitName: `required`, `control_character` or `too_long`
    """
    name = fold(re.split(r"[/\\]", sent)[-1]).strip().rstrip(".")
    if not name.strip("."):
        raise UnacceptableName("required")
    if control_character(name) is not None:
        raise UnacceptableName("control_character")
    if len(name) > MAX_NAME:
        raise UnacceptableName("too_long")
    return name


def content_disposition(name: str, *, inline: bool) -> str:
    """Return the header of RFC 6266: an ASCII name for old clients, the real one after RFC 5987."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r'["\\%;]', "_", plain).strip()
    if not plain.rpartition(".")[0].strip("-_ ."):
        plain = "file" + plain[plain.rfind(".") :] if "." in plain else "file"
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
