"""Copies the front-end files that the pages use from node_modules into the package, with no address of elsewhere in them."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
VENDOR = ROOT / "src" / "saraban" / "web" / "static" / "vendor"

FILES = {
    "@dagrejs/dagre/dist/dagre.esm.js": "dagre.esm.js",
    "htmx.org/dist/htmx.min.js": "htmx.min.js",
    "@tabler/core/dist/css/tabler.min.css": "tabler.min.css",
    "@tabler/core/dist/js/tabler.min.js": "tabler.min.js",
    "swagger-ui-dist/swagger-ui-bundle.js": "swagger-ui.js",
    "swagger-ui-dist/swagger-ui.css": "swagger-ui.css",
}
FONTS = {"sarabun": ("400", "600", "700"), "noto-sans-thai": ("400", "600", "700")}
LICENCES = (
    "@dagrejs/dagre",
    "@dagrejs/graphlib",  # part of dagre's file
    "htmx.org",
    "@tabler/core",
    "swagger-ui-dist",
    "@fontsource/sarabun",
    "@fontsource/noto-sans-thai",
)

_SOURCE_MAP = re.compile(r"/[/*][#@] sourceMappingURL=[^\s*]+(?: ?\*/)?")
_WOFF = re.compile(r",\s*url\([^)]*\.woff\)\s*format\('woff'\)")
_FONT_FILE = re.compile(r"url\(\./files/([^)]+\.woff2)\)")


def main() -> None:
    shutil.rmtree(VENDOR, ignore_errors=True)
    (VENDOR / "fonts").mkdir(parents=True)
    for source, target in FILES.items():
        text = (MODULES / source).read_text(encoding="utf-8")
        (VENDOR / target).write_text(_SOURCE_MAP.sub("", text), encoding="utf-8")
    sheets = [sheet(family, weight) for family, weights in FONTS.items() for weight in weights]
    (VENDOR / "fonts.css").write_text("\n".join(sheets), encoding="utf-8")
    (VENDOR / "LICENCES.txt").write_text("\n\n".join(map(licence, LICENCES)), encoding="utf-8")


def sheet(family: str, weight: str) -> str:
    """Return one weight's rules, WOFF2 only, and copy the files they name."""
    folder = MODULES / "@fontsource" / family
    css = _WOFF.sub("", (folder / f"{weight}.css").read_text(encoding="utf-8"))
    for name in _FONT_FILE.findall(css):
        shutil.copy(folder / "files" / name, VENDOR / "fonts" / name)
    return _FONT_FILE.sub(r"url(fonts/\1)", css)


def licence(package: str) -> str:
    found = sorted((MODULES / package).glob("LICEN[CS]E*"))
    return f"{package}\n\n{found[0].read_text(encoding='utf-8') if found else 'See its package.json.'}"


if __name__ == "__main__":
    main()
