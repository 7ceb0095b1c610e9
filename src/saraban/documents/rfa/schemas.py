"""Requests for approval, in and out."""

from datetime import date

from pydantic import Field

from saraban.documents.core.schemas import (
    CodeAnswer,
    DocumentAnswer,
    DocumentSummary,
    MasterCode,
    NewDocument,
    RegisterAnswer,
)
from saraban.kit.schema import Schema
from saraban.workflow.runtime.schemas import WorkflowItem


class NewRfa(NewDocument):
    """An RFA names its type and discipline: a reviewer is found by them, and its number prints them."""

    rfa_type_code: MasterCode = Field(examples=["RPT"])
    discipline_code: MasterCode = Field(examples=["TER"])


class RfaTypeAnswer(Schema):
    code: str = Field(examples=["RPT"])
    name: str = Field(examples=["Report"])
    name_th: str = Field(examples=["รายงาน"])


class RfaSummary(DocumentSummary):
    rfa_type: RfaTypeAnswer
    approve_code: CodeAnswer | None
    document_number: str = Field(examples=["LCBP3-C2-RFA-TER-RPT-0001-A"])
    document_type: str = Field(examples=["RFA"])
    kind: str = Field(examples=["rfa"])


class RfaAnswer(RfaSummary, DocumentAnswer):
    approved_date: date | None


class RfaPage(RegisterAnswer):
    items: list[WorkflowItem[RfaSummary]]
