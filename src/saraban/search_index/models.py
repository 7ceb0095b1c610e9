"""What waits for the index of search, what it compares with (one row for each revision that somebody may be shown), and what leads there."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code
from saraban.search_index.domain.postings import GRAM

LongText = sa.Text().with_variant(mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_nopad_bin"), "mysql", "mariadb")
_Bytes = sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


class SearchPending(Base):
    """
    Something whose text the index of search does not have yet: written with it, taken away once the index has it.

    :param kind: as in `document_reach`; drawings have kinds of their own, and so has an organization or a person with another
        name, whose row gives way to those of what bears it
    :param head_uuid: public id of the document, the circulation, the drawing, the organization or the person
    """

    __tablename__ = "search_pending"

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger)
    head_uuid: Mapped[UUID]


class SearchEntry(Base):
    """
    A revision of a document as search knows it; a circulation and a drawing have one entry each.

    :param kind: as in `search_pending`
    :param head_id: key of the document, the circulation or the drawing; `revision_id` 0 for what has one entry
    :param number: its numbers, folded, with separators and without
    :param text: everything else of it, folded, each part ended by `postings.END`
    :param is_posted: whether the index leads to it
    :param has_file_text: whether it has a `SearchFileText`
    """

    __tablename__ = "search_entries"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger)
    head_id: Mapped[int]
    revision_id: Mapped[int]
    is_posted: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    number: Mapped[str] = mapped_column(LongText)
    text: Mapped[str] = mapped_column(LongText)
    has_file_text: Mapped[bool] = mapped_column(default=False, server_default=sa.false())

    __table_args__ = (
        sa.UniqueConstraint("kind", "head_id", "revision_id", name="uq_search_entries_revision"),
        sa.Index("ix_search_entries_posted", "is_posted"),
    )


class SearchFileText(Base):
    """What is written in the files of an entry, folded: apart, so that entries stay narrow."""

    __tablename__ = "search_file_texts"

    entry_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(LongText)


class SearchPosting(Base):
    """
    Which entries of one chunk have three characters in a row; `domain.postings` says how.

    :param entries: how many it names
    """

    __tablename__ = "search_postings"

    gram: Mapped[str] = mapped_column(Code(GRAM), primary_key=True)
    chunk: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    entries: Mapped[int]
    places: Mapped[bytes] = mapped_column(_Bytes)


class SearchIndex(Base):
    """One row, which whoever writes postings holds: two at once would each lose what the other adds."""

    __tablename__ = "search_index"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


def says(word: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition that an entry has a folded word somewhere. Columns compare byte for byte, and INSTR knows no wildcards."""
    in_files = sa.exists().where(
        SearchFileText.entry_id == SearchEntry.id, sa.func.instr(SearchFileText.text, word) > 0
    )
    return sa.or_(
        sa.func.instr(SearchEntry.number, word) > 0,
        sa.func.instr(SearchEntry.text, word) > 0,
        sa.and_(SearchEntry.has_file_text == sa.true(), in_files.correlate(SearchEntry)),
    )
