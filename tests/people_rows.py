"""Rows of a sheet of people, read as the reader of spreadsheets reads them."""

from saraban.identity.domain.people_workbook import COLUMNS
from saraban.kit.sheet_columns import CellReader, SheetRow


def people_rows(*rows: list[str]) -> list[SheetRow]:
    """Return rows below the headings, from the cells of their first columns."""
    reader = CellReader(COLUMNS, range(len(COLUMNS)))
    return [reader.read(number, [*row, *[""] * (len(COLUMNS) - len(row))]) for number, row in enumerate(rows, 2)]
