"""Public interface of the search index."""

from saraban.search_index.repository import note_changes, note_keys, queue_renamed
from saraban.search_index.service.reading import (
    Hit,
    IndexQuery,
    NewestHits,
    SearchIndex,
    attach_index,
    attached_index,
    head_of,
    index_of,
    key_of,
)
from saraban.search_index.service.writing import SearchWriter, release_index, unsettled, waiting, writer_of

__all__ = [
    "Hit",
    "IndexQuery",
    "NewestHits",
    "SearchIndex",
    "SearchWriter",
    "attach_index",
    "attached_index",
    "head_of",
    "index_of",
    "key_of",
    "note_changes",
    "note_keys",
    "queue_renamed",
    "release_index",
    "unsettled",
    "waiting",
    "writer_of",
]
