"""The index of a node by itself: short words, damaged files, and a folder that was lost."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from tantivy import Document

from saraban.kit.ids import new_id
from saraban.search.service.search import COUNTED, SearchQuestion, _matches
from saraban.search_index.domain.grams import grams, short_grams
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.service import reading
from saraban.search_index.service.reading import SCHEMA, IndexQuery, IndexState, SearchIndex, head_of, open_folder

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
CONTINUATIONS = [f"กา{one}{other}" for one in LETTERS for other in ("x", "y", "z")]


def index_of(folder: Path, texts: Sequence[str], parties: int = 0, numbered: Collection[int] = ()) -> SearchIndex:
    """
    :param parties: of each entry, which no other entry has
    :param numbered: keys of entries that have their text as their number
    """
    index = SearchIndex(folder)
    state = IndexState(new_id(), "first", 0, 0)
    (index.folder / state.generation).mkdir(parents=True)
    writer = open_folder(index.folder / state.generation).writer(15_000_000, 1)
    for key, text in enumerate(texts, 1):
        split = grams(text)
        fields: dict[str, Any] = {
            "text": split,
            "text_short": short_grams(split),
            "head": head_of(int(SearchKind.CORRESPONDENCE), key),
        }
        if key in numbered:
            fields["number"] = split
        fields |= {"kind": int(SearchKind.CORRESPONDENCE), "created": key, "revision": key}
        fields["party"] = list(range(key * parties, (key + 1) * parties))
        writer.add_document(Document.from_dict(fields, SCHEMA))
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

    @pytest.mark.parametrize(
        "refusal",
        [
            "Aborting aggregation because memory limit was exceeded. Limit: 500000000, Current: 500000001",
            "An IO error occurred: 'Too many open files (os error 24)'",
            "Failed to open file for read: 'IoError { io_error: Os { code: 28, kind: StorageFull, message: \"No space\" } }'",
        ],
    )
    def test_is_not_what_the_library_or_the_system_refuses_for_now(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: str
    ) -> None:
        def refuse(*_args: object) -> None:
            raise ValueError(refusal)

        index = index_of(tmp_path, CONTINUATIONS)
        monkeypatch.setattr(reading, "_facets", refuse)

        answer = index.newest(IndexQuery(words=["กา"]), skip=0, limit=5, needed=10, facets=100)

        assert (len(answer.hits), answer.total, answer.facets) == (5, len(CONTINUATIONS), {})
        assert index.is_complete
        assert not index.rebuild_request.exists()


class TestFacets:
    def test_beyond_the_bucket_limit_of_the_library_count_the_most_frequent(self, tmp_path: Path) -> None:
        index = index_of(tmp_path, ["beam"] * 70, parties=1_000)

        answer = index.newest(IndexQuery(words=["beam"]), skip=0, limit=5, needed=10, facets=100)

        assert answer.facets["kind"] == {int(SearchKind.CORRESPONDENCE): 70}
        assert 20 <= len(answer.facets["party"]) < 65_000
        assert index.is_complete
        assert not index.rebuild_request.exists()


class TestBestFirst:
    @pytest.mark.parametrize("size", [20, 30, 250])
    def test_pages_beyond_a_block_repeat_and_lose_no_match(self, tmp_path: Path, size: int) -> None:
        index = index_of(tmp_path, ["beam"] * 450, numbered=range(50, 450, 60))
        asked = SearchQuestion("beam", best_first=True, limit=size)

        keys = [
            hit.head_id
            for skipped in range(0, 450, size)
            for hit in _matches(index, IndexQuery(words=["beam"]), replace(asked, skipped=skipped), {}).hits
        ]

        newest_first = list(range(450, 0, -1))
        assert sorted(keys, reverse=True) == newest_first
        assert keys[:5] == [410, 350, 290, 450, 449]  # numbers of the first block, then the others
        assert set(keys[:COUNTED]) == set(newest_first[:COUNTED])

    def test_counts_facets(self, tmp_path: Path) -> None:
        index = index_of(tmp_path, ["beam"] * 3)
        asked = SearchQuestion("beam", best_first=True, with_facets=True)

        answer = _matches(index, IndexQuery(words=["beam"]), asked, {})

        assert answer.facets["kind"] == {int(SearchKind.CORRESPONDENCE): 3}
