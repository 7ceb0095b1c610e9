"""API schemas of master data, generated from the kinds."""

from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, create_model

from saraban.attachments.domain.kinds import KindList
from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.schema import CodeLine, Day, MultiLine, Schema, SingleLine
from saraban.projects.schemas import ContractSummary
from saraban.setup.domain.master_kinds import DISCIPLINE, RFA_TYPE, FieldForm, MasterField, MasterKind
from saraban.setup.domain.master_rows import MOST, MasterImport, MasterRow


class MasterRowNew(Schema):
    """A new row. Its fields depend on its kind."""


class MasterRowChange(Schema):
    """Fields that are left out stay unchanged."""

    confirm_series: bool = Field(
        default=False, strict=True, description="Change what document numbers print, although series begin anew at 1."
    )

    @property
    def values(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"confirm_series"})


class MasterRowOut(Schema):
    is_active: bool = Field(description="False once it is closed: it stays on documents and leaves the forms.")


class MasterOrder(Schema):
    codes: list[Annotated[str, SingleLine(101)]] = Field(
        max_length=MOST,
        description="In the order wanted; the others follow as they stand. Where a code stands under two types, "
        "`code type`.",
        examples=[["TER", "STR"]],
    )


class PartyIn(Schema):
    role: PartyRole = Field(description="What it is in this project or contract.", examples=["CONTRACTOR"])


class MemberOut(PartyIn):
    organization_public_id: UUID


class ContractDetail(ContractSummary):
    description: str | None = None


class ImportedRowOut(Schema):
    row: int = Field(description="Of the sheet; the headings are row 1.")
    code: str
    change: Literal["add", "change", "same", "leave_out"]
    reason: str | None = Field(None, description="Why the row is left out: it is no record.")


class MasterImportOut(Schema):
    applied: bool = Field(description="False for a dry run.")
    added: int
    changed: int
    same: int
    rows: list[ImportedRowOut]


def _to_text(value: object) -> object:
    return str(value) if type(value) is int and value >= 0 else value


def _field_type(kind: MasterKind, field: MasterField) -> Any:
    if field is kind.code:
        return Annotated[str, CodeLine(field.length)]
    if field.name == "number":
        stated = Annotated[str, Field(max_length=field.length)] | int
        return Annotated[str, SingleLine(field.length), BeforeValidator(_to_text, json_schema_input_type=stated)]
    if field.name == "fileKinds":
        return KindList
    match field.form:
        case FieldForm.DAY:
            return Day
        case FieldForm.CHOICE:
            return Literal[field.choices]
        case FieldForm.TEXT:
            return Annotated[str, MultiLine(field.length)]
    return Annotated[str, SingleLine(field.length)]


def _field_info(field: MasterField, default: Any) -> Any:
    note = " Document numbers print it." if field.printed else ""
    examples = [field.example] if field.example else None
    return Field(default, alias=field.name, description=f"{field.label.en}.{note}", examples=examples)


def _pascal(kind: MasterKind) -> str:
    return "".join(word.capitalize() for word in kind.name.split("_"))


@cache
def new_row(kind: MasterKind) -> type[MasterRowNew]:
    fields: dict[str, Any] = {}
    for field in kind.fields:
        if field.required:
            fields[field.name] = (_field_type(kind, field), _field_info(field, ...))
        else:
            fields[field.name] = (_field_type(kind, field) | None, _field_info(field, field.default))
    if kind in {DISCIPLINE, RFA_TYPE}:  # one request body must fit the three lists of a contract
        fields["number"] = (None, Field(None, exclude=True, description="Sub types have one."))
    return create_model(f"New{_pascal(kind)}", __base__=MasterRowNew, __doc__=f"A new {kind.singular.en}.", **fields)


@cache
def row_change(kind: MasterKind) -> type[MasterRowChange]:
    fields: dict[str, Any] = {}
    for field in kind.fields:
        if field.name != kind.within:
            # A required field can be left out, but not set to null.
            shape = (
                _field_type(kind, field)
                if field.required or field.default is not None
                else _field_type(kind, field) | None
            )
            fields[field.name] = (shape, _field_info(field, None))
    return create_model(f"{_pascal(kind)}Change", __base__=MasterRowChange, __doc__="What is left out stays.", **fields)


@cache
def row_out(kind: MasterKind) -> type[MasterRowOut]:
    fields: dict[str, Any] = {}
    if kind.has_public_id:
        fields["publicId"] = (UUID, Field(alias="publicId"))
    for field in kind.fields:
        fields[field.name] = (
            str if field.required else str | None,
            _field_info(field, ... if field.required else None),
        )
    if kind.ordered:
        fields["sortOrder"] = (int, Field(alias="sortOrder", description="Its place in the list."))
    return create_model(f"{_pascal(kind)}Row", __base__=MasterRowOut, __doc__=f"A row: {kind.singular.en}.", **fields)


@cache
def row_page(kind: MasterKind) -> type[Schema]:
    item: Any = row_out(kind)
    cursor = Field(alias="nextCursor", description="Cursor of the next page, null on the last one.")
    fields: dict[str, Any] = {"items": (list[item], ...), "nextCursor": (str | None, cursor)}
    return create_model(f"{_pascal(kind)}Page", __base__=Schema, **fields)


def shown(row: MasterRow) -> MasterRowOut:
    kind = row.kind
    values: dict[str, Any] = {**row.values, "isActive": row.is_active}
    if kind.ordered:
        values["sortOrder"] = row.sort_order
    if kind.has_public_id:
        values["publicId"] = row.public_id
    return row_out(kind).model_validate(values)


def imported(done: MasterImport, language: str) -> MasterImportOut:
    return MasterImportOut(
        applied=done.applied,
        added=done.count("add"),
        changed=done.count("change"),
        same=done.count("same"),
        rows=[
            ImportedRowOut(row=row.line, code=row.code, change=row.change, reason=row.explain(language))
            for row in done.rows
        ],
    )
