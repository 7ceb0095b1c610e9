"""
Move the numbers of drawings that `generate` and `reserve` issued among documents to the register of shop drawings.

A number that the shop drawings have already stays where it is. The audit is sealed and keeps the former names of series.
Each statement may run again: the rows that have moved no longer match.

A downgrade leaves the numbers in the register of shop drawings.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0080"
down_revision = "0079"

FORMER, NEW, PREFIX = "document", "shop", "shop:"
LONGEST = 255 - len(PREFIX)  # a series that is longer cannot count drawings any more
BATCH = 1000

TYPES = sa.table("correspondence_types", sa.column("id"), sa.column("type_code"))
LEDGER = sa.table(
    "document_number_reservations",
    *map(sa.column, ("id", "project_id", "register", "correspondence_type_id", "originator_organization_id", "range")),
    *map(sa.column, ("sequence_number", "base_number", "issue_year", "source")),
    sa.column("series", sa.String()),
    sa.column("created_at", sa.DateTime()),
)
RENDERINGS = sa.table(
    "document_number_renderings",
    *map(sa.column, ("id", "project_id", "register", "reservation_id", "document_number")),
)
RANGES = sa.table(
    "document_number_ranges",
    *map(sa.column, ("id", "project_id", "number", "released_at")),
    sa.column("series", sa.String()),
)
COUNTERS = sa.table(
    "document_number_counters",
    *map(sa.column, ("project_id", "range", "originator_organization_id", "recipient_organization_id")),
    *map(sa.column, ("correspondence_type_id", "sub_type_id", "rfa_type_id", "discipline_id", "current_year")),
    *map(sa.column, ("last_number", "version", "range_count", "before_ledger")),
    sa.column("series", sa.String()),
    sa.column("updated_at", sa.DateTime()),
)
_DRAWING = sa.select(TYPES.c.id).where(TYPES.c.type_code == "DRAWING").scalar_subquery()
_OLD_COUNTERS = (COUNTERS.c.correspondence_type_id.in_(_DRAWING), COUNTERS.c.series.not_like("%:%"))

Key = tuple[int, str, int]  # project, series, range


def upgrade() -> None:
    """Raise the counters first: whenever this is killed, no number that has moved is ahead of its counter."""
    _raise_counters()
    _move_ranges()
    _move_numbers()
    _remove_counters()
    _count_ranges()


def downgrade() -> None:
    """Change nothing: the numbers stay in the register of shop drawings."""


def _movable() -> tuple[sa.ColumnElement[bool], ...]:
    """Numbers of drawings among the documents, unless a shop drawing has the number or one of its printed forms."""
    shop, own, other = LEDGER.alias("shop"), RENDERINGS.alias("own"), RENDERINGS.alias("other")
    numbered = (
        sa.exists()
        .correlate(LEDGER)
        .where(
            shop.c.project_id == LEDGER.c.project_id, shop.c.base_number == LEDGER.c.base_number, shop.c.register == NEW
        )
    )
    printed = (
        sa.exists()
        .correlate(LEDGER)
        .where(
            own.c.reservation_id == LEDGER.c.id,
            other.c.project_id == own.c.project_id,
            other.c.document_number == own.c.document_number,
            other.c.register == NEW,
            other.c.reservation_id != LEDGER.c.id,
        )
    )
    return (
        LEDGER.c.correspondence_type_id.in_(_DRAWING),
        LEDGER.c.register == FORMER,
        sa.func.char_length(LEDGER.c.series) <= LONGEST,
        ~numbered,
        ~printed,
    )


def _raise_counters() -> None:
    """Create the counters of the shop series, or raise those that exist to the greater number."""
    bind = op.get_bind()
    present = {
        (row.project_id, row.series, row.range): row
        for row in bind.execute(sa.select(COUNTERS).where(COUNTERS.c.series.startswith(PREFIX)))
    }
    ranges = {tuple(row) for row in bind.execute(sa.select(RANGES.c.project_id, RANGES.c.series, RANGES.c.number))}
    for key, counter in _wanted_counters(bind).items():
        if key not in present:
            if key not in ranges:
                bind.execute(sa.insert(COUNTERS).values(counter))
        elif counter["range"] == 0:
            raised = {
                name: max(counter[name], getattr(present[key], name)) for name in ("last_number", "before_ledger")
            }
            same = dict(zip(("project_id", "series", "range"), key, strict=True))
            bind.execute(sa.update(COUNTERS).where(*(COUNTERS.c[name] == same[name] for name in same)).values(raised))


def _wanted_counters(bind: sa.Connection) -> dict[Key, dict[str, Any]]:
    """Counters of drawings, and the greatest drawn number of each series, which documents may have begun."""
    wanted: dict[Key, dict[str, Any]] = {}
    old = sa.select(COUNTERS).where(*_OLD_COUNTERS, sa.func.char_length(COUNTERS.c.series) <= LONGEST)
    for row in bind.execute(old):
        counter = {**row._asdict(), "series": PREFIX + row.series}
        wanted[row.project_id, PREFIX + row.series, row.range] = counter
    # A number that was stated or imported may be far ahead: its series steps over it, as before.
    drawn = (
        sa.select(
            LEDGER.c.project_id,
            LEDGER.c.series,
            sa.func.min(LEDGER.c.correspondence_type_id).label("type"),
            sa.func.min(LEDGER.c.originator_organization_id).label("originator"),
            sa.func.max(LEDGER.c.issue_year).label("year"),
            sa.func.max(LEDGER.c.sequence_number).label("last"),
            sa.func.max(LEDGER.c.created_at).label("at"),
        )
        .where(*_movable(), LEDGER.c.range == 0, LEDGER.c.source == "DRAW")
        .group_by(LEDGER.c.project_id, LEDGER.c.series)
    )
    for row in bind.execute(drawn):
        begun = {
            "project_id": row.project_id,
            "series": PREFIX + row.series,
            "range": 0,
            "originator_organization_id": row.originator,
            "recipient_organization_id": -1,
            "correspondence_type_id": row.type,
            "sub_type_id": 0,
            "rfa_type_id": 0,
            "discipline_id": 0,
            "current_year": row.year,
            "last_number": 0,
            "version": 0,
            "range_count": 0,
            "before_ledger": 0,
            "updated_at": row.at,
        }
        counter = wanted.setdefault((row.project_id, PREFIX + row.series, 0), begun)
        counter["last_number"] = max(counter["last_number"], row.last)
    return wanted


def _move_ranges() -> None:
    """Ranges of series in which drawings alone count, unless the shop series has a range of that number."""
    bind = op.get_bind()
    counted = (
        sa.exists()
        .correlate(RANGES)
        .where(*_OLD_COUNTERS, COUNTERS.c.project_id == RANGES.c.project_id, COUNTERS.c.series == RANGES.c.series)
    )
    shared = (
        sa.exists()
        .correlate(RANGES)
        .where(
            LEDGER.c.project_id == RANGES.c.project_id,
            LEDGER.c.series == RANGES.c.series,
            LEDGER.c.correspondence_type_id.not_in(_DRAWING),
        )
    )
    shop = RANGES.alias("shop")
    taken = (
        sa.exists()
        .correlate(RANGES)
        .where(
            shop.c.project_id == RANGES.c.project_id,
            shop.c.series == PREFIX + RANGES.c.series,
            shop.c.number == RANGES.c.number,
        )
    )
    fits = sa.func.char_length(RANGES.c.series) <= LONGEST
    keys = bind.scalars(sa.select(RANGES.c.id).where(counted, ~shared, ~taken, fits)).all()
    for part in _parts(keys):
        moved = {"series": PREFIX + RANGES.c.series}
        bind.execute(sa.update(RANGES).where(RANGES.c.id.in_(part), RANGES.c.series.not_like("%:%")).values(moved))


def _move_numbers() -> None:
    bind = op.get_bind()
    for part in _parts(bind.scalars(sa.select(LEDGER.c.id).where(*_movable()).order_by(LEDGER.c.id)).all()):
        bind.execute(sa.update(RENDERINGS).where(RENDERINGS.c.reservation_id.in_(part)).values(register=NEW))
        moved = {"series": PREFIX + LEDGER.c.series, "register": NEW}
        bind.execute(sa.update(LEDGER).where(LEDGER.c.id.in_(part), LEDGER.c.register == FORMER).values(moved))


def _remove_counters() -> None:
    """Remove the former counters of series that have moved as a whole."""
    numbers = (
        sa.exists()
        .correlate(COUNTERS)
        .where(LEDGER.c.project_id == COUNTERS.c.project_id, LEDGER.c.series == COUNTERS.c.series)
    )
    ranges = (
        sa.exists()
        .correlate(COUNTERS)
        .where(RANGES.c.project_id == COUNTERS.c.project_id, RANGES.c.series == COUNTERS.c.series)
    )
    fits = sa.func.char_length(COUNTERS.c.series) <= LONGEST
    op.get_bind().execute(sa.delete(COUNTERS).where(*_OLD_COUNTERS, ~numbers, ~ranges, fits))


def _count_ranges() -> None:
    open_ranges = sa.select(sa.func.count()).where(
        RANGES.c.project_id == COUNTERS.c.project_id,
        RANGES.c.series == COUNTERS.c.series,
        RANGES.c.released_at.is_(None),
    )
    op.get_bind().execute(
        sa.update(COUNTERS)
        .where(COUNTERS.c.series.startswith(PREFIX), COUNTERS.c.range == 0)
        .values(range_count=open_ranges.correlate(COUNTERS).scalar_subquery())
    )


def _parts(keys: Any) -> list[Any]:
    return [keys[start : start + BATCH] for start in range(0, len(keys), BATCH)]
