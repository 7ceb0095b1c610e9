"""Paths in archives."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.kit.file_names import archive_paths

_RESERVED = re.compile(r"(con|prn|aux|nul|(com|lpt)\d)\s*(\.|$)", re.IGNORECASE)
_LETTERS = st.text(st.one_of(st.sampled_from("aA.: /\\*ก่ำ้🇹🏽\u200d\x07CONcon1"), st.characters()), max_size=300)


class TestArchivePaths:
    @pytest.mark.parametrize(
        ("name", "kept"),
        [
            ("ผังพื้น.pdf", "ผังพื้น.pdf"),
            ("แบบ: ชั้น 2?.pdf", "แบบ- ชั้น 2-.pdf"),
            ('a<b>"c"|d*.dwg', "a-b-c-d-.dwg"),
            ("a\tb\x7f.pdf", "a-b-.pdf"),
            ("CON.pdf", "_CON.pdf"),
            ("con .pdf", "_con .pdf"),
            ("Lpt1", "_Lpt1"),
            ("com¹.tar.gz", "_com¹.tar.gz"),
            ("CONTRACT.pdf", "CONTRACT.pdf"),
            ("COM10.pdf", "COM10.pdf"),
            ("report. . ", "report"),
            ("...", "_"),
            ("", "_"),
            ("?", "-"),
            ("CON" + " " * 250 + "x", "_CON"),
            ("ก" * 200 + ".pdf", "ก" * 83 + ".pdf"),
            ("ที่" * 60 + ".pdf", "ที่" * 27 + ".pdf"),
            ("น้ำ" * 60 + ".pdf", "น้ำ" * 27 + ".pdf"),
            ("👷🏽" * 60 + ".pdf", "👷🏽" * 31 + ".pdf"),
            ("a\u200db\u202egpj.pdf", "abgpj.pdf"),
            ("a" * 300 + ".pdf", "a" * 235 + ".pdf"),
        ],
    )
    def test_names_a_file_so_that_every_system_can_make_it(self, name: str, kept: str) -> None:
        assert list(archive_paths([(0, "", name)])) == [kept]

    def test_gives_each_owner_a_folder(self) -> None:
        wanted = [("Z/01", "a.pdf"), ("Z-01", "a.pdf"), ("Z-01a", "a.pdf"), ("Z-01A", "a.pdf"), ("Z-01", "A.PDF")]

        assert list(archive_paths([(folder, folder, name) for folder, name in wanted])) == [
            "Z-01/a.pdf",
            "Z-01 (2)/a.pdf",
            "Z-01a/a.pdf",
            "Z-01A (2)/a.pdf",
            "Z-01 (2)/A (2).PDF",
        ]

    def test_numbers_what_would_be_called_the_same(self) -> None:
        names = ["a.pdf", "a (2).pdf", "A.pdf", "a.pdf", "ก" * 90 + ".pdf", "ก" * 91 + ".pdf"]

        assert list(archive_paths([(0, "", name) for name in names])) == [
            "a.pdf",
            "a (2).pdf",
            "A (3).pdf",
            "a (4).pdf",
            "ก" * 83 + ".pdf",
            "ก" * 82 + " (2).pdf",
        ]

    @given(st.lists(st.tuples(st.integers(0, 3), _LETTERS, _LETTERS), max_size=8))
    def test_can_be_unpacked_anywhere(self, files: list[tuple[int, str, str]]) -> None:
        paths = list(archive_paths(files))

        assert len({unicodedata.normalize("NFC", path.casefold()) for path in paths}) == len(files)
        owners: dict[str, int] = {}
        for path, (owner, folder, _) in zip(paths, files, strict=True):
            assert len(path.encode("utf-16-le")) <= 480
            parts = path.split("/")
            assert len(parts) == (2 if folder else 1)
            if folder:
                assert owners.setdefault(parts[0].casefold(), owner) == owner
            for part in parts:
                assert 0 < len(part.encode()) <= 255
                assert not re.search(r'[\x00-\x1f<>:"|?*\\]', part)
                assert part.rstrip(". ") == part
                assert not _RESERVED.match(part)
