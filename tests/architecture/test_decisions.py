"""The pages of people's decisions: each has its four headings, and what is said to check it exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
HEADINGS = ["Context", "Decision", "Consequences", "Checked by"]
_PATH = re.compile(r"`([\w./-]*/[\w.-]+|\.importlinter|package-lock\.json)`")
_NAME = re.compile(r"`((?:Test|test_)\w+)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_says_what_checks_it(page: Path) -> None:
    text = page.read_text("utf-8")
    checked = text.partition("## Checked by")[2]

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert len(text.splitlines()) <= 60
    named = [ROOT / path for path in _PATH.findall(checked)]
    assert named
    assert [path for path in named if not path.exists()] == []
    tests = "".join(path.read_text("utf-8") for path in named if path.suffix == ".py")
    assert [name for name in _NAME.findall(checked) if name not in tests] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "decisions" / "README.md"], ids=str)
def test_a_link_leads_somewhere(page: Path) -> None:
    links = _LINK.findall(page.read_text("utf-8"))

    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_word_of_the_glossary_is_in_both_languages() -> None:
    rows = [line for line in (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    words = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if not row.startswith("| ---")]

    assert len(words) >= 60
    assert [row for row in words if len(row) != 3 or not all(row)] == []
