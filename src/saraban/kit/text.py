"""One spelling for each Thai or English text, so that what looks alike compares alike (REQ-FMT-05)."""

import unicodedata

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text for a formula that begins like this
FORMULA = "\0"  # before the value of a cell that has one: no text of a sheet begins like this
_DECOMPOSED_SARA_AM = "\u0e4d\u0e32"
_SARA_AM = "\u0e33"


def fold(text: str) -> str:
    """Return the NFC form with the decomposed sara am (U+0E4D U+0E32) joined to U+0E33."""
    folded = unicodedata.normalize("NFC", text)
    if _DECOMPOSED_SARA_AM in folded:
        folded = folded.replace(_DECOMPOSED_SARA_AM, _SARA_AM)
    return folded


def control_character(text: str, *, multiline: bool = False) -> int | None:
    """
    Return the position of the first character that must not be stored, or None.

    Controls, surrogates, unassigned and private code points, and bidirectional overrides are refused: each can make
    two different texts look the same. Zero-width joiners are kept out for the same reason.
    """
    if text.isprintable():  # most are, and it costs little to know
        return None
    allowed = "\n\r\t" if multiline else ""
    for position, character in enumerate(text):
        if character in allowed:
            continue
        if unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}:
            return position
        if character in "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff":
            return position
    return None
