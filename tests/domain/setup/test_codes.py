"""What may be a code: slashes and blanks may stand in it, what a spreadsheet takes for a formula may not begin it."""

from itertools import product

import pytest
from pydantic import ValidationError

from saraban.kit.errors import Invalid
from saraban.kit.problem import checked_values
from saraban.setup.domain.master_kinds import DISCIPLINE, KINDS, RFA_TYPE, SUB_TYPE, MasterKind
from saraban.setup.domain.project_yaml import read_file, yaml_text
from saraban.setup.schemas.master_data import new_row, row_change
from saraban.setup.schemas.new_project import NewProjectIn

FORMULAS = ("=1+1", "+A", "-A", "@A")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_code_of_master_data_begins_a_formula(kind: MasterKind) -> None:
    example = {one.name: one.example for one in kind.fields if one.example}

    for code, (schema, values) in product(FORMULAS, ((new_row(kind), example), (row_change(kind), {}))):
        with pytest.raises(Invalid) as refused:
            checked_values(schema, {**values, kind.code.name: code})

        (fault,) = refused.value.fields
        assert (fault.pointer, fault.code) == (f"/{kind.code.name}", "formula"), code
        assert fault.text.th.startswith("รหัสขึ้นต้นด้วย")
        assert fault.text.en.startswith("A code cannot begin")


@pytest.mark.parametrize("code", ["Volume-1/7", "Volume-6/7-1", "S R", "ก/ข", "A=B"])
def test_other_characters_are_taken(code: str) -> None:
    values = {"code": code, "nameTh": "=1+1", "nameEn": "@x"}
    kind = next(one for one in KINDS if one.name == "contract_drawing_volume")

    assert checked_values(new_row(kind), values).model_dump(by_alias=True)["code"] == code


@pytest.mark.parametrize("code", ["export", "import", "order", ".", "..", "A/../B", "A/close", "A/reopen"])
def test_no_code_is_a_word_of_its_own_address(code: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_values(new_row(DISCIPLINE), {"code": code, "nameTh": "ก", "nameEn": "A"})

    assert [(one.pointer, one.code) for one in refused.value.fields] == [("/code", "reserved")]


def test_nor_does_the_code_of_a_new_project() -> None:
    with pytest.raises(ValidationError, match="cannot begin"):
        NewProjectIn.model_validate({"projectCode": "=P", "projectName": "P"})


def test_a_project_file_is_refused_where_a_code_does() -> None:
    text = """
        project: {code: =P, name: P}
        organizations: [{code: +O, name: O}]
        tags: [{code: "@T", nameTh: T}]
        contracts: [{code: -C, name: C, disciplines: [{code: =D, nameTh: D, nameEn: D}]}]
    """

    with pytest.raises(Invalid) as refused:
        read_file(text.encode())

    assert {one.pointer for one in refused.value.fields if one.code == "formula"} == {
        *("/project/code", "/organizations/0/code", "/tags/0/code"),
        *("/contracts/0/code", "/contracts/0/disciplines/0/code"),
    }


def test_a_code_that_was_stored_before_the_rule_is_still_written() -> None:
    assert "code: =P" in yaml_text({"project": {"code": "=P", "name": "P"}})


class TestANumberOfTheContract:
    """`POST contracts/{publicId}/disciplines | rfa-types | sub-types {code, nameTh, nameEn, number?}`."""

    @pytest.mark.parametrize(("given", "number"), [("012", "012"), (12, "12"), (None, None)])
    def test_of_a_sub_type_is_text_or_a_whole_number(self, given: object, number: str | None) -> None:
        values = {"code": "A", "nameTh": "ก", "nameEn": "A", "number": given}

        assert new_row(SUB_TYPE).model_validate(values).model_dump(by_alias=True)["number"] == number

    @pytest.mark.parametrize("given", [1.5, True, -1, "", [1]])
    def test_is_nothing_else(self, given: object) -> None:
        with pytest.raises(ValidationError):
            new_row(SUB_TYPE).model_validate({"code": "A", "nameTh": "ก", "nameEn": "A", "number": given})

    @pytest.mark.parametrize("kind", [DISCIPLINE, RFA_TYPE], ids=lambda kind: kind.name)
    def test_of_the_other_lists_is_none(self, kind: MasterKind) -> None:
        values = {"code": "A", "nameTh": "ก", "nameEn": "A"}

        assert "number" not in new_row(kind).model_validate(values | {"number": None}).model_dump(by_alias=True)
        with pytest.raises(Invalid) as refused:
            checked_values(new_row(kind), values | {"number": "12"})
        assert [one.pointer for one in refused.value.fields] == ["/number"]
