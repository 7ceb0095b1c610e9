"""Legacy numbers from a sheet: which series go on after the highest number of the file is ticked."""

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
        self, page: PageRequest, session: AsyncSession, asked: ImportPlace
    ) -> tuple[ProjectRef, Callable[..., ImportsPage]]:
        chosen = await page.choose_project(session, id_of(asked.project), OVERRIDE)
        return chosen.place, partial(NumberImportsPage, places=chosen.places)

    def import_page(self, page: PageRequest, found: AnyImportRow) -> Callable[..., ImportPage]:  # noqa: ARG002
        return partial(NumberImportPage, place=found.project)

    def choice(self, values: FormValues, found: AnyImportRow) -> ImportCommitIn:
        """Each box holds the series and the number that was shown beside it; the first one stands for all of them."""
        if values.get("all") == "1":
            offered = (found.row.report or {}).get("series", [])
            moves = [(one["series"], one["highest"]) for one in offered if one["jump"]]
        else:
            boxes = [box.partition("|") for box in texts(values, "move")]
            moves = [(series, int(to) if to.isdecimal() else 0) for to, _, series in boxes]
        return ImportCommitIn.model_construct(
            moves=[CounterMoveIn.model_construct(series=series, to=to) for series, to in moves]
        )


async def number_pages() -> ImportPages:
    return NumberImportPages()


router = import_router("/numbers/imports", number_pages)
