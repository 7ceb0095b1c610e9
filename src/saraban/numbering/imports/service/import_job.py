"""What a worker does with a file of legacy numbers."""

from collections.abc import Mapping
from pathlib import Path

from saraban.identity.domain.context import RequestContext
from saraban.imports.domain import DONE_OUTCOMES, OUTCOMES, REFUSED
from saraban.imports.service import ImportTurn
from saraban.kit.db import Database
from saraban.kit.workbooks import ResultWorkbook
from saraban.numbering.imports.domain import COLUMNS
from saraban.numbering.imports.service import legacy_import
from saraban.numbering.imports.service.legacy_import import (
    ImportLease,
    ImportObserver,
    ImportOutcome,
    SourceFile,
)
from saraban.numbering.imports.service.rows import CheckedRow
from saraban.numbering.series.models import NumberImport

MOST_SERIES = 1000

Turn = ImportTurn[NumberImport]


class NumberImportJob:
    model = NumberImport

    def count(self, path: Path) -> int:
        return sum(1 for _ in legacy_import.rows_of(path))

    async def check(
        self, ctx: RequestContext, db: Database, turn: Turn, path: Path, result: Path
    ) -> Mapping[str, object]:
        with ResultWorkbook(result, COLUMNS, OUTCOMES) as sheet:
            outcome = await legacy_import.dry_run(
                ctx,
                db,
                project_public_id=turn.found.project,
                rows=legacy_import.rows_of(path),
                observer=_observer(turn, sheet),
            )
        return _report(turn, outcome)

    async def run(self, ctx: RequestContext, db: Database, turn: Turn, path: Path, result: Path) -> None:
        with ResultWorkbook(result, COLUMNS, DONE_OUTCOMES) as sheet:
            await legacy_import.import_rows(
                ctx,
                db,
                project_public_id=turn.found.project,
                rows=legacy_import.rows_of(path),
                file=SourceFile(turn.row.file_name, turn.row.file_sha256),
                moves=turn.row.moves,
                ticket=ImportLease(turn.row.id, turn.lease),
                observer=_observer(turn, sheet),
            )


def _observer(turn: Turn, sheet: ResultWorkbook) -> ImportObserver:
    def each(read: CheckedRow, state: str) -> None:
        if state == REFUSED:
            turn.refuse(read.row.number, read.faults)
        sheet.add(read.row, state, read.faults)

    return ImportObserver(each, turn.count)


def _report(turn: Turn, outcome: ImportOutcome) -> dict[str, object]:
    series = sorted(outcome.highest.values(), key=lambda one: one.series)
    return {
        "ready": outcome.ready,
        "there": outcome.there,
        "refused": outcome.refused,
        "faults": turn.faults,
        "series": [
            {"series": one.series, "highest": one.sequence, "counter": one.counter, "jump": one.jump}
            for one in series[:MOST_SERIES]
        ],
        "seriesTotal": len(series),
    }
