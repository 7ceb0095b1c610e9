"""Carries formats, counters, reservations and audit into the tables of the ledger."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op

from saraban.kit.ids import derived_id, new_id
from saraban_history.columns import BIG, MOMENT
from saraban_history.ledger import printing
from saraban_history.ledger.facts import Codes, Document, Format, rows, write


def formats(old: str, codes: Codes) -> None:
    """Of several defaults of one project, which the old table could not refuse, the newest is kept."""
    found = rows(
        old,
        id=sa.Integer,
        project_id=sa.Integer,
        correspondence_type_id=sa.Integer,
        format_template=sa.String,
        description=sa.Text,
        reset_sequence_yearly=sa.Boolean,
        created_at=MOMENT,
        updated_at=MOMENT,
    )
    kept = {(row.project_id, row.correspondence_type_id): row for row in found}
    for key, row in kept.items():
        codes.formats[key] = Format(printing.respelled(row.format_template), row.reset_sequence_yearly)
    write(
        "document_number_formats",
        [
            row._asdict()
            | {"uuid": new_id(), "format_template": codes.formats[key].template, "overflow": "widen", "version": 1}
            for key, row in kept.items()
        ],
    )


def counters(old: str, codes: Codes) -> None:
    """Counters that print alike become one series, which goes on after the highest of them (REQ-NUM-03)."""
    merged: dict[tuple[int, str], dict[str, Any]] = {}
    for row in rows(
        old,
        project_id=sa.Integer,
        originator_organization_id=sa.Integer,
        recipient_organization_id=sa.Integer,
        correspondence_type_id=sa.Integer,
        sub_type_id=sa.Integer,
        rfa_type_id=sa.Integer,
        discipline_id=sa.Integer,
        current_year=sa.Integer,
        last_number=sa.Integer,
        version=sa.Integer,
        updated_at=MOMENT,
    ):
        values = codes.values(
            row.project_id,
            row.correspondence_type_id,
            row.originator_organization_id,
            row.recipient_organization_id,
            row.sub_type_id,
            row.rfa_type_id,
            row.discipline_id,
        )
        year = printing.christian(row.current_year)
        series = _series(codes, row.project_id, row.correspondence_type_id, values, year)
        one = row._asdict() | {"series": series, "range": 0, "current_year": year}
        other = merged.get((row.project_id, series))
        if other is None or other["last_number"] < one["last_number"]:
            merged[row.project_id, series] = one
    write("document_number_counters", list(merged.values()))


def _series(codes: Codes, project: int, kind: int, values: dict[str, str], year: int) -> str:
    chosen = codes.format(project, kind)
    return printing.series(chosen.template, values | printing.years(year), resets=chosen.resets)


class Ledger:
    """The rows of the ledger as they come together: first what was reserved, then every other number in use."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.entries: list[dict[str, Any]] = []
        self.by_number: dict[tuple[int, str], dict[str, Any]] = {}
        self._bases: set[tuple[int, str]] = set()

    def reservations(self, old: str, held: dict[int, Document], named: dict[tuple[int, str], Document]) -> None:
        for row in rows(
            old,
            id=sa.Integer,
            token=sa.String,
            document_number=sa.String,
            document_number_status=sa.String,
            document_id=sa.Integer,
            project_id=sa.Integer,
            correspondence_type_id=sa.Integer,
            originator_organization_id=sa.Integer,
            recipient_organization_id=sa.Integer,
            user_id=sa.Integer,
            ip_address=sa.String,
            reserved_at=MOMENT,
            expires_at=MOMENT,
            confirmed_at=MOMENT,
            cancelled_at=MOMENT,
        ):
            document = named.get((row.project_id, row.document_number)) or held.get(row.document_id)
            entry = row._asdict()
            del entry["document_id"]
            entry |= {
                "token": _token(row.token),
                "recipient_organization_id": row.recipient_organization_id or -1,
                "created_at": row.reserved_at or row.expires_at,
            }
            self._add(entry, document)

    def documents(self, all_of_them: list[Document]) -> None:
        following = max((entry["id"] for entry in self.entries), default=0)
        for document in all_of_them:
            if (document.project_id, document.number) in self.by_number:
                continue
            following += 1
            moments = {"confirmed_at": document.row.created_at, "created_at": document.row.created_at}
            entry = {
                "id": following,
                "token": derived_id("carried over", document.kind, str(document.public_id)),
                "project_id": document.project_id,
                "correspondence_type_id": document.type_id,
                "originator_organization_id": document.originator_id,
                "recipient_organization_id": document.recipient_id,
                "document_number": document.number,
                "document_number_status": "CONFIRMED",
                "user_id": document.user_id,
                "ip_address": None,
                "reserved_at": None,
                "expires_at": None,
                "cancelled_at": None,
            }
            self._add(entry | moments, document)

    def _add(self, entry: dict[str, Any], document: Document | None) -> None:
        project, kind, number = entry["project_id"], entry["correspondence_type_id"], entry["document_number"]
        known = document.values if document else self._parties(entry)
        reading = printing.read(number, self.codes.format(project, kind).template, known)
        year = _year_of(reading.values, entry["created_at"].year)
        values = known | reading.values
        # `…-0001-A` and `…-0001-B` of two old documents share a base; the later one is known by its whole number.
        base = reading.base if (project, reading.base) not in self._bases else number
        self._bases.add((project, base))
        entry |= {
            "uuid": (document and document.number_uuid) or new_id(),
            "series": _series(self.codes, project, kind, values, year),
            "range": 0,
            "sequence_number": reading.sequence,
            "base_number": base,
            "revision_label": reading.revision,
            "holder_kind": document.kind if document else None,
            "holder_public_id": document.public_id if document else None,
            "format_template": reading.template,
            "format_values": reading.values,
            "issue_year": year,
            "reason": None,
            "source": "MIGRATED",
        }
        self.entries.append(entry)
        self.by_number[project, number] = entry

    def _parties(self, entry: dict[str, Any]) -> dict[str, str]:
        known = self.codes.values(
            entry["project_id"],
            entry["correspondence_type_id"],
            entry["originator_organization_id"],
            entry["recipient_organization_id"],
            0,
            0,
            0,
        )
        return {name: value for name, value in known.items() if name != "DISCIPLINE"}

    def renderings(self) -> list[dict[str, Any]]:
        return [
            {
                "project_id": entry["project_id"],
                "reservation_id": entry["id"],
                "document_number": entry["document_number"],
                "revision_label": entry["revision_label"],
                "kind": "ISSUE",
                "created_at": entry["created_at"],
            }
            for entry in self.entries
        ]


def _token(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return derived_id("carried over", "reservation", text)


def _year_of(values: dict[str, str], otherwise: int) -> int:
    if "YEAR:A.D." in values:
        return int(values["YEAR:A.D."])
    return int(values["YEAR:B.E."]) - printing.BUDDHIST_OFFSET if "YEAR:B.E." in values else otherwise


def audit(old: str, ledger: Ledger, by_row: dict[int, Document]) -> None:
    anywhere = {number: entry for (_, number), entry in ledger.by_number.items()}
    written = []
    for row in rows(
        old,
        id=BIG,
        document_id=sa.Integer,
        generated_number=sa.String,
        counter_key=sa.String,
        template_used=sa.String,
        sequence_number=sa.Integer,
        user_id=sa.Integer,
        ip_address=sa.String,
        retry_count=sa.Integer,
        lock_wait_ms=sa.Integer,
        created_at=MOMENT,
    ):
        values = row._asdict()
        number, document = values.pop("generated_number"), by_row.get(values.pop("document_id"))
        entry = ledger.by_number.get((document.project_id, number)) if document else anywhere.get(number)
        written.append(
            values
            | {
                "uuid": new_id(),
                "operation": "GENERATE",
                "project_id": document.project_id if document else entry and entry["project_id"],
                "reservation_uuid": entry and entry["uuid"],
                "generated_number": number,
                "holder_public_id": document.public_id if document else None,
                "series": entry and entry["series"],
            }
        )
    write("document_number_audit", written)


def mark_drawn() -> None:
    """An entry whose draw is in the audit was drawn; the others were taken over, and a counter keeps the highest of them."""
    op.execute(
        "UPDATE document_number_reservations SET source = 'DRAW' WHERE uuid IN "
        "(SELECT reservation_uuid FROM document_number_audit WHERE operation = 'GENERATE')"
    )
    op.execute(
        "UPDATE document_number_counters SET before_ledger = COALESCE((SELECT MAX(r.sequence_number) "
        "FROM document_number_reservations AS r WHERE r.source = 'MIGRATED' AND r.project_id = document_number_counters.project_id "
        "AND r.series = document_number_counters.series), 0)"
    )


def errors(old: str) -> None:
    """A stack trace joins the context; it has no column any more."""
    written = []
    for row in rows(
        old,
        id=BIG,
        error_type=sa.String,
        error_message=sa.Text,
        stack_trace=sa.Text,
        context_data=sa.JSON,
        user_id=sa.Integer,
        ip_address=sa.String,
        created_at=MOMENT,
        resolved_at=MOMENT,
    ):
        values = row._asdict()
        trace = values.pop("stack_trace")
        if trace:
            values["context_data"] = {**(values["context_data"] or {}), "stackTrace": trace}
        written.append(values | {"uuid": new_id()})
    write("document_number_errors", written)
