"""Revision labels: A to Z, then AA, AB, … (REQ-NUM-07)."""

_LETTERS = 26


def revision_label(number: int) -> str:
    """Return the label of the revision with this number, the first being 0."""
    if number < 0:
        raise ValueError("revisions are counted from 0")
    letters = ""
    rest = number + 1
    while rest:
        rest, letter = divmod(rest - 1, _LETTERS)
        letters = chr(ord("A") + letter) + letters
    return letters
