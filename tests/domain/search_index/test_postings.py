"""Postings name exactly the entries that have been put into them, however they are stored."""

import asyncio
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.search_index.domain import postings

PLACES = st.sets(st.integers(0, postings.CHUNK - 1), min_size=1, max_size=60)


def packed(places: set[int]) -> bytes:
    return postings.packed(array("H", sorted(places)))


class TestPostings:
    @given(PLACES, PLACES)
    def test_grow_by_what_is_merged(self, before: set[int], more: set[int]) -> None:
        found = postings.merged(packed(before), array("H", sorted(more)))

        assert list(postings.newest_first(postings.bits(found))) == sorted(before | more, reverse=True)

    @pytest.mark.parametrize("count", [1, 4_095, 4_096, 60_000])
    def test_take_no_more_room_than_a_bitmap(self, count: int) -> None:
        found = packed(set(range(count)))

        assert len(found) <= postings.CHUNK // 8
        assert postings.bits(found) == (1 << count) - 1
        assert postings.bits(postings.merged(found, array("H", [65_535]))) == (1 << count) - 1 | 1 << 65_535

    @given(st.text("กขคabc", min_size=3, max_size=20), st.integers(0, 17), st.integers(3, 8))
    def test_have_what_any_part_of_a_text_is_made_of(self, text: str, start: int, length: int) -> None:
        part = text[start : start + length]
        if len(part) >= postings.GRAM:
            assert postings.grams_of_word(part) <= postings.grams_of_word(text)

    def test_have_the_last_two_characters_of_a_text(self) -> None:
        assert "ข็" + postings.END in postings.grams_of_word("เสาข็" + postings.END)

    async def test_of_a_long_text_give_the_event_loop_its_turns(self) -> None:
        """A thread would hold the interpreter, and a text may have three million letters."""
        turns = 0

        async def other_requests() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        others = asyncio.create_task(other_requests())
        found = await postings.by_gram({1: "".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) * 10})
        others.cancel()

        assert len(found) > 19_000
        assert turns >= 200_000 // postings.TURN - 1

    @given(st.dictionaries(st.integers(0, 9), st.lists(st.text("กขa", max_size=5), max_size=4), max_size=6))
    def test_are_gathered_of_each_part_of_each_text(self, parts: dict[int, list[str]]) -> None:
        gathered = asyncio.run(postings.by_gram({key: postings.END.join(some) for key, some in parts.items()}))

        wanted: dict[str, list[int]] = {}
        for key in sorted(parts):
            for gram in set().union(*(postings.grams_of_word(part + postings.END) for part in parts[key])):
                wanted.setdefault(gram, []).append(key)
        assert {gram: list(postings.joined(places)) for gram, places in gathered.items()} == wanted
