"""The README's tour, pasted into a shell: what it prints is what the README says it prints."""

import os
import re
import subprocess
from pathlib import Path

from tests.servers import program

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"```(bash|text)\n(.*?)```", re.DOTALL)
SERIAL = re.compile(r"-\d{4}-A")  # others have written RFAs on this server too


def test_the_tour_prints_what_it_says(site: str, tmp_path: Path) -> None:
    tour = README.read_text("utf-8").partition("## A tour of the API")[2].partition("\n## ")[0]
    blocks = BLOCK.findall(tour)
    pasted = "".join(text for kind, text in blocks if kind == "bash").replace("http://127.0.0.1:8000", site)
    printed = "".join(text for kind, text in blocks if kind == "text")
    program("curl", package="curl")

    shell = subprocess.run(
        [program("bash", package="bash"), "-c", pasted],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert SERIAL.sub("-0001-A", shell.stdout) == printed, shell.stderr
