"""Pages of the import of legacy numbers, with the counters to advance."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.imports.models import AnyImportRow
from saraban.numbering.imports.schemas import CounterMoveIn, ImportCommitIn
from saraban.numbering.service import NUMBER_IMPORTER
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import OVERRIDE
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import texts
from saraban.web.shell.imports import ImportPage, ImportPages, ImportPlace, ImportsPage, import_router
from saraban.web.shell.page import PageRequest, id_of


class NumberImportsPage(ImportsPage, template="numbers/imports.html"):
    places: Sequence[ProjectRef]


class NumberImportPage(ImportPage, template="numbers/import.html", fragments=("numbers/parts/import_state.html",)):
    place: UUID


class NumberImportPages(ImportPages):
    importer, address, permission = NUMBER_IMPORTER, "/numbers/imports", OVERRIDE

    async def list_page(
        self, page: PageRequest, session: AsyncSession, query: ImportPlace
    ) -> tuple[ProjectRef, Callable[..., ImportsPage]]:
        chosen = await page.choose_project(session, id_of(query.project), OVERRIDE)
        return chosen.place, partial(NumberImportsPage, places=chosen.places)

    def import_page(self, page: PageRequest, import_row: AnyImportRow) -> Callable[..., ImportPage]:  # noqa: ARG002
        return partial(NumberImportPage, place=import_row.project)

    def choice(self, values: FormValues, import_row: AnyImportRow) -> ImportCommitIn:
        """Each box contains a series and its highest number; the box `all` stands for all series."""
        if values.get("all") == "1":
            series_rows = (import_row.row.report or {}).get("series", [])
            moves = [(row["series"], row["highest"]) for row in series_rows if row["jump"]]
        else:
            boxes = [box.partition("|") for box in texts(values, "move")]
            moves = [(series, int(to) if to.isdecimal() else 0) for to, _, series in boxes]
        return ImportCommitIn.model_construct(
            moves=[CounterMoveIn.model_construct(series=series, to=to) for series, to in moves]
        )


async def number_pages() -> ImportPages:
    return NumberImportPages()


router = import_router("/numbers/imports", number_pages)
