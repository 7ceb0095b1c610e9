"""The HTML of an answer as a browser takes it: how the lines of a template are broken is nobody's concern."""

import re

import httpx

_BLOCKS = (
    "article|aside|body|br|button|caption|col|datalist|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header"
    "|hr|html|label|legend|li|link|main|meta|nav|noscript|ol|optgroup|option|p|script|section|select|summary|table|tbody|td|th|thead|title|tr|ul"
)
_KEPT = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_AROUND_BLOCKS = re.compile(rf"\s*(</?(?:{_BLOCKS})\b[^<>]*>)\s*")


def html_of(answer: httpx.Response) -> str:
    """Return the page with one space where it has any, and none beside what stands on lines of its own."""
    return "".join(
        _tag(part) if index % 2 else _AROUND_BLOCKS.sub(r"\1", re.sub(r"\s+", " ", part))
        for index, part in enumerate(_KEPT.split(answer.text))
    )


def _tag(kept: str) -> str:
    """The attributes of a text area may stand on several lines; its content is what was typed."""
    return _TAG.sub(lambda found: re.sub(r"\s+", " ", found[0]), kept, count=1)
