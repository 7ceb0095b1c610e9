"""What the API answers about a project file."""

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from saraban.kit.json import Json
from saraban.kit.schema import Schema

_ADDED: JsonDict = {
    "path": "/contracts/C1/disciplines/STR",
    "change": "add",
    "before": None,
    "after": {"code": "STR", "nameTh": "โครงสร้าง", "nameEn": "Structure"},
}


class ProjectChangeOut(Schema):
    model_config = ConfigDict(json_schema_extra={"examples": [_ADDED]})

    path: str = Field(description="Codes that name the thing, as a JSON pointer.")
    change: Literal["add", "change", "close", "keep", "conflict"] = Field(
        description="`keep`: left out of the file, and in use. `conflict`: only in a dry run, which nothing follows."
    )
    before: dict[str, Json] | None = Field(description="What differs, as it is there; null where there is nothing.")
    after: dict[str, Json] | None = Field(description="The same as the file states it; null where it is closed.")


class AppliedOut(Schema):
    model_config = ConfigDict(json_schema_extra={"examples": [{"changes": [_ADDED], "applied": True}]})

    changes: list[ProjectChangeOut]
    applied: bool = Field(description="False for a dry run.")
