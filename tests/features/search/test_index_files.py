"""The index of a node by itself: short words, damaged files, and a folder that was lost."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import orjson
import pytest
from tantivy import Document

from saraban.kit.ids import new_id
from saraban.search_index.domain.grams import grams, short_grams
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.service.reading import SCHEMA, IndexQuery, IndexState, SearchIndex, head_of, open_folder

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
CONTINUATIONS = [f"กา{one}{other}" for one in LETTERS for other in ("x", "y", "z")]


def index_of(folder: Path, texts: Sequence[str]) -> SearchIndex:
    index = SearchIndex(folder)
    state = IndexState(new_id(), "first", 0, 0)
    (index.folder / state.generation).mkdir(parents=True)
    writer = open_folder(index.folder / state.generation).writer(15_000_000, 1)
    for key, text in enumerate(texts, 1):
        split = grams(text)
        fields = {"text": split, "text_short": short_grams(split), "head": head_of(int(SearchKind.CORRESPONDENCE), key)}
        writer.add_document(
            Document.from_dict(
                {**fields, "kind": int(SearchKind.CORRESPONDENCE), "created": key, "revision": key}, SCHEMA
            )
        )
    writer.commit()
    writer.wait_merging_threads()
    (index.folder / "state.json").write_bytes(orjson.dumps(asdict(state)))
    return index


class TestShortWords:
    @pytest.mark.parametrize("word", ["ก", "กา"])
    def test_are_found_before_any_number_of_other_characters(self, tmp_path: Path, word: str) -> None:
        index = index_of(tmp_path, [*CONTINUATIONS, "beam"])

        assert index.count(IndexQuery(words=[word]), needed=1_000) == len(CONTINUATIONS)

    def test_are_excluded_from_all(self, tmp_path: Path) -> None:
        index = index_of(tmp_path, [*CONTINUATIONS, "beam"])

        assert index.count(IndexQuery(excluded=["กา"]), needed=1_000) == 1


class TestDamage:
    def test_of_files_gives_an_empty_answer_and_asks_for_another_index(self, tmp_path: Path) -> None:
        index = index_of(tmp_path, CONTINUATIONS)
        assert index.is_complete
        for path in (index.folder / "first").iterdir():
            if path.suffix in {".idx", ".fast", ".term", ".pos"}:
                path.write_bytes(bytes(byte ^ 0xFF for byte in path.read_bytes()))
        again = SearchIndex(tmp_path)

        assert again.pairs(IndexQuery(words=["กาax"]), most=100) == set()
        assert again.digests([head_of(int(SearchKind.CORRESPONDENCE), 1)]) == {}
        assert not again.is_complete
        assert again.rebuild_request.exists()
