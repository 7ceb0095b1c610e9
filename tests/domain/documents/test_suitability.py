"""Suitability codes are those of ISO 19650, in the API, in forms and in imported sheets."""

import unicodedata

import pytest
from pydantic import ValidationError

from saraban.documents.drawing.schemas import DrawingSheetLine, NewDrawingRevision


@pytest.mark.parametrize("code", ["S0", "S7", "D4", "A1", "B9", "CR", "AB", "s2", "Ｓ2"])
def test_a_known_code_is_taken(code: str) -> None:
    taken = unicodedata.normalize("NFKC", code).upper()
    assert NewDrawingRevision.model_validate({"statusCode": code}).status_code == taken


@pytest.mark.parametrize("code", ["S9", "X1", "s9", "IFC"])
def test_another_code_is_refused_with_those_that_are_known(code: str) -> None:
    for schema in (NewDrawingRevision, DrawingSheetLine):
        with pytest.raises(ValidationError) as refused:
            schema.model_validate({"statusCode": code, "drawingNumber": "N-1"})
        (fault,) = [one for one in refused.value.errors() if one["loc"][-1] == "statusCode"]
        assert (fault["type"], "S0–S7" in fault["msg"]) == ("not_in_list", True)
