"""Colours of the style sheet, held to WCAG 2.2 AA: text 4.5 to 1, edges of controls and marks of focus 3 to 1."""

import colorsys
import re
from functools import cache

import pytest

from saraban.web.shell import assets, labels

Colour = tuple[float, float, float]

WHITE: Colour = (1, 1, 1)
BODY: Colour = (0xF4 / 255, 0xF6 / 255, 0xF9 / 255)
DARK = (".topbar", ".brand", ".project-name", ".switcher", ".marker")
TONES = sorted({tone for _, tone in (*labels.STATES.values(), *labels.PRIORITIES.values())} | {"indigo"})

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_MIX = re.compile(r"color-mix\(in srgb, (.+) (\d+)%, (#\w+)\)")
_HSL = re.compile(r"hsl\((\d+) (\d+)% (\d+)%\)")


@cache
def rules() -> dict[str, dict[str, str]]:
    """Return the declarations of every plain selector of the sheet; later ones win."""
    text = re.sub(r"/\*.*?\*/", "", (assets.FOLDER / "saraban.css").read_text("utf-8"), flags=re.DOTALL)
    found: dict[str, dict[str, str]] = {}
    for selectors, body in _RULE.findall(text):
        pairs = dict(part.split(":", 1) for part in body.split(";") if ":" in part)
        declared = {name.strip(): value.replace("!important", "").strip() for name, value in pairs.items()}
        for selector in selectors.split(","):
            found.setdefault(selector.strip(), {}).update(declared)
    return found


def colour(text: str, names: dict[str, str]) -> Colour | None:
    """Read a colour as the sheet writes it; None for what depends on the place, such as `inherit`."""
    if named := re.fullmatch(r"var\((--[\w-]+)\)", text):
        return colour(names[named[1]], names)
    if mixed := _MIX.fullmatch(text):
        one, other = colour(mixed[1], names), colour(mixed[3], names)
        share = int(mixed[2]) / 100
        assert one is not None
        assert other is not None
        return tuple(a * share + b * (1 - share) for a, b in zip(one, other, strict=True))  # type: ignore[return-value]
    if hsl := _HSL.fullmatch(text):
        hue, saturation, light = int(hsl[1]) / 360, int(hsl[2]) / 100, int(hsl[3]) / 100
        return colorsys.hls_to_rgb(hue, light, saturation)
    if not re.fullmatch(r"#([0-9a-f]{3}|[0-9a-f]{6})", text):
        return None
    digits = text[1:] if len(text) == 7 else "".join(one * 2 for one in text[1:])
    return (int(digits[:2], 16) / 255, int(digits[2:4], 16) / 255, int(digits[4:], 16) / 255)


def luminance(given: Colour) -> float:
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in given)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def names_of(selector: str) -> dict[str, str]:
    return rules()[":root"] | {name: value for name, value in rules()[selector].items() if name.startswith("--")}


def test_the_formula_is_the_standards() -> None:
    assert contrast((0, 0, 0), WHITE) == pytest.approx(21)
    assert contrast((0x77 / 255,) * 3, WHITE) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("tone", TONES)
def test_badges_can_be_read(tone: str) -> None:
    names = names_of(f".tone-{tone}")
    behind = colour(rules()[".badge-state"]["background"], names)
    ink = colour(names["--ink"], names)
    assert behind is not None
    assert ink is not None

    assert contrast(ink, behind) >= 4.5


def texts() -> list[tuple[str, Colour, Colour]]:
    """Every rule that colours text: on its own background, or on both that a page has."""
    found = []
    for selector, declared in rules().items():
        names = names_of(selector)
        ink = colour(declared.get("color", ""), names)
        if ink is None or selector.startswith((*DARK, ".badge")):
            continue
        resting = rules().get(
            selector.partition(":")[0], {}
        )  # what a hovered thing stands on when nothing else is said
        behind = colour((resting | declared).get("background", ""), names)
        found += [(selector, ink, one) for one in ([behind] if behind else [WHITE, BODY])]
    return found


def test_every_text_can_be_read() -> None:
    measured = [(selector, round(contrast(ink, behind), 2)) for selector, ink, behind in texts()]

    assert len(measured) > 60
    assert [(selector, ratio) for selector, ratio in measured if ratio < 4.5] == []


@pytest.mark.parametrize(
    "selector", [".alert-danger", ".alert-warning", ".alert-success", ".alert-secondary", ".note.is-unread"]
)
def test_muted_text_can_be_read_on_tinted_grounds(selector: str) -> None:
    muted, behind = colour("var(--muted)", names_of(selector)), colour(rules()[selector]["background"], {})
    assert muted is not None
    assert behind is not None

    assert contrast(muted, behind) >= 4.5


@pytest.mark.parametrize("selector", [".topbar", ".topbar .topbar-button:hover"])
def test_the_top_bar_can_be_read(selector: str) -> None:
    behind = colour(rules()[selector]["background"], names_of(":root"))
    assert behind is not None
    for text in (".topbar .topbar-button", ".project-name", ".brand"):
        ink = colour(rules()[text]["color"], {})
        assert ink is not None
        assert contrast(ink, behind) >= 4.5


def test_controls_and_focus_can_be_seen() -> None:
    names = names_of(":root")
    ring, on_dark = rules()[":focus-visible"]["outline"].split()[-1], rules()[".topbar :focus-visible"]["outline-color"]
    navy = colour("var(--navy)", names)
    assert navy is not None
    for text, behind in (("var(--edge)", WHITE), ("var(--edge)", BODY), (ring, WHITE), (ring, BODY), (on_dark, navy)):
        seen = colour(text, names)
        assert seen is not None
        assert contrast(seen, behind) >= 3, text
