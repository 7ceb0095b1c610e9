"""Imports in the API: how far an import is, and the faults of its file."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from pydantic import Field

from saraban.imports.domain import ImportState
from saraban.kit.schema import Schema


class ImportFaultOut(Schema):
    """What is wrong with a cell."""

    line: int = Field(description="Of the file, as a spreadsheet program counts.", examples=[3])
    column: str = Field(examples=["originator"])
    code: str = Field(examples=["unknown"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มี “ผรม.9” ในโครงการนี้"])


class ImportProblemOut(Schema):
    """Why the file could not be worked on."""

    code: str = Field(examples=["VALIDATION_ERROR"])
    message: str = Field(description="In the language asked for.", examples=["ไม่มีคอลัมน์ เลขที่เอกสาร / Document number"])


class ImportStatusOut(Schema):
    """How far an import is."""

    public_id: UUID
    project_public_id: UUID
    file_name: str = Field(examples=["register-2567.xlsx"])
    file_sha256: str
    state: ImportState = Field(
        description="CHECKING and IMPORTING are a worker's; CHECKED waits for a commit.", examples=["CHECKED"]
    )
    rows_total: int = Field(examples=[417])
    rows_done: int = Field(examples=[417])
    rows_refused: int = Field(examples=[5])
    username: str = Field(examples=["padmin"])
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


_OF_ROW: Final = ImportStatusOut.model_fields.keys() - {"project_public_id", "username"}


def status_values(row: object, project: UUID, username: str) -> dict[str, object]:
    of_row = {name: getattr(row, name) for name in _OF_ROW}
    return of_row | {"project_public_id": project, "username": username}


def faults_of(report: Mapping[str, Any], language: str) -> list[ImportFaultOut]:
    return [
        ImportFaultOut(line=fault["line"], column=fault["column"], code=fault["code"], message=fault[language])
        for fault in report.get("faults", [])
    ]


def problem_of(report: Mapping[str, Any], language: str) -> ImportProblemOut | None:
    problem = report.get("problem")
    return ImportProblemOut(code=problem["code"], message=problem[language]) if problem else None
