"""A word is found where its text contains it, and nowhere else."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tantivy import Document

from saraban.search_index.domain.grams import END, grams, short_grams
from saraban.search_index.service.reading import SCHEMA, IndexQuery, open_folder

TEXT = st.text("กขิ่a1 -.+*[", min_size=1, max_size=12)


@given(st.lists(st.lists(TEXT, min_size=1, max_size=3), min_size=1, max_size=4), st.lists(TEXT, min_size=1, max_size=5))
def test_words_are_found_exactly(texts: list[list[str]], words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = open_folder(Path(folder))
        writer = index.writer(15_000_000, 1)
        for place, parts in enumerate(texts):
            text = " ".join(map(grams, parts))
            entry = {"text": text, "text_short": short_grams(text), "head": place, "created": place}
            writer.add_document(Document.from_dict(entry, SCHEMA))
        writer.commit()
        index.reload()
        searcher = index.searcher()
        for word in words:
            hits = searcher.search(IndexQuery([word]).build(), limit=10).hits
            found = {*searcher.fast_field_values("head", [address for _, address in hits])}
            assert found == {place for place, parts in enumerate(texts) if any(word in part for part in parts)}, word


def test_a_long_text_is_split_like_a_short_one() -> None:
    text = "กข" * 60_000
    assert grams(text).split(" ") == [f"{END}{text}{END}{END}"[place : place + 3] for place in range(len(text) + 1)]
