"""Which permissions of the catalogue decide about something, and where: what the catalogue says of it is compared with the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import saraban
from saraban.identity.domain.catalogue import PERMISSIONS, ShippedPermission

SOURCE = Path(saraban.__file__).parent
NAMES = frozenset(offer.name for offer in PERMISSIONS)
# They tell of permissions and ask for none.
TELLING = re.compile(r"(^|/)(catalogue|examples|schemas)(/|\.py$)")


def _texts(path: Path) -> Iterator[str]:
    """Yield the strings of a module, or of a workflow definition that ships."""
    if path.suffix == ".json":
        yield from re.findall(r'"([^"]*)"', path.read_text("utf-8"))
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def asked() -> dict[str, set[str]]:
    """Return the packages in which each permission is asked for."""
    found: dict[str, set[str]] = {name: set() for name in NAMES}
    for path in (*SOURCE.rglob("*.py"), *SOURCE.rglob("shipped/*.json")):
        place = path.relative_to(SOURCE)
        if not TELLING.search(place.as_posix()):
            for name in NAMES.intersection(_texts(path)):
                found[name].add(place.parts[0])
    return found


@pytest.mark.parametrize("offer", PERMISSIONS, ids=lambda offer: offer.name)
def test_a_permission_is_asked_for_where_the_catalogue_says(
    offer: ShippedPermission, asked: dict[str, set[str]]
) -> None:
    if offer.asked_in is None:
        assert asked[offer.name] == set(), "it is asked for: the catalogue should say where"
    else:
        assert offer.asked_in in asked[offer.name], "nobody there asks for it"
