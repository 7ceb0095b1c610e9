"""The README's tour and the page about the API, pasted into a shell: what they print is what they say they print."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.servers import program

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(bash|text)\n(.*?)```", re.DOTALL)
SERIAL = re.compile(r"-\d{4}-A")  # others have written RFAs on this server too


def test_the_tour_prints_what_it_says(site: str, tmp_path: Path) -> None:
    tour = (ROOT / "README.md").read_text("utf-8").partition("## A tour of the API")[2].partition("\n## ")[0]

    shell = pasted(tour, site, tmp_path)

    assert SERIAL.sub("-0001-A", shell.stdout) == said(tour), shell.stderr


@pytest.mark.slow
def test_a_project_over_the_api_prints_what_it_says(site: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/api.md").read_text("utf-8")

    shell = pasted(page, site, tmp_path)

    assert shell.stdout == said(page), shell.stderr


def said(page: str) -> str:
    return "".join(text for kind, text in BLOCK.findall(page) if kind == "text")


def pasted(page: str, site: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program("curl", package="curl")
    commands = "".join(text for kind, text in BLOCK.findall(page) if kind == "bash")
    return subprocess.run(
        [program("bash", package="bash"), "-c", commands.replace("http://127.0.0.1:8000", site)],
        cwd=folder,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
