"""Whatever a help text or a page of the documentation calls a command is one, with the options that it is shown with."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_tree import commands, program

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")])
NAMED = re.compile(r"`(?:[A-Z_]+=\S+ )*(?:\S*/bin/)?saraban ([^`]+)`")
OWN = "--help"  # every command's


def helps() -> Iterator[tuple[str, str]]:
    for command in commands(program()):
        parts = [command.help, *(getattr(one, "help", None) for one in command.params)]
        yield f"saraban {command.name} --help", "\n".join(part for part in parts if part)


def fault_in(named: str) -> str:
    """What does not exist of a command as it is named: a word of it or an option."""
    command: Any = program()
    for word in named.split():
        children = getattr(command, "commands", {})
        if word.startswith("--"):
            known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {OWN}
            if word.partition("=")[0].rstrip(",.;)") not in known:
                return f"{named}: no option {word}"
        elif children and word[:1].islower():
            names = word.split("|")
            if set(names) - children.keys():
                return f"{named}: no command {word}"
            command = children[names[0]]
    return ""


def faults(text: str) -> list[str]:
    return [fault for named in NAMED.findall(text) if (fault := fault_in(" ".join(named.split())))]


class TestNamed:
    def test_in_a_help_text_exist(self) -> None:
        assert [f"{place}: {fault}" for place, text in helps() for fault in faults(text)] == []

    def test_on_a_page_exist(self) -> None:
        found = [
            f"{page.relative_to(ROOT)}: {one}" for page in PAGES for one in faults(page.read_text(encoding="utf-8"))
        ]

        assert found == []

    def test_in_the_summary_of_a_noun_exist(self) -> None:
        number = program().commands["number"]  # type: ignore[attr-defined]

        assert set(re.findall(r"\w+", number.help.partition(":")[2])) <= number.commands.keys()

    @pytest.mark.parametrize("named", ["number state 5", "user invite-all", "audit verify --loudly"])
    def test_are_noticed_when_they_do_not(self, named: str) -> None:
        assert faults(f"See `saraban {named}`.") != []
