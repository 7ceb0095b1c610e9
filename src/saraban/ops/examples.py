"""
One example for each JSON body that goes in or comes out, in the words of the demo project.

An example that stands at a schema is taken as it is; the rest is put together field by field. `_FIELDS` knows a field by
its name, or by schema and name where the name alone does not say enough.
"""

from typing import Any, Final

_JSON = "application/json"
_ID = "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"
_MOMENT = "2026-03-02T03:15:00Z"
_DAY = "2026-03-16"
_CHECKSUM = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_FILE = f"/api/v1/attachments/{_ID}/content"
_DSL: Final[dict[str, Any]] = {
    "workflow": "SITE_MEMO",
    "description": {"th": "บันทึกถึงอีกฝ่ายหนึ่ง", "en": "A memo that one party sends to another."},
    "states": [
        {
            "name": "draft",
            "label": {"th": "ฉบับร่าง", "en": "Draft"},
            "initial": True,
            "editable": True,
            "on": {
                "submit": {
                    "to": "submitted",
                    "label": {"th": "ส่ง", "en": "Submit"},
                    "require": {"party": ["originator"], "permissions": ["document.create"]},
                }
            },
        },
        {"name": "submitted", "label": {"th": "ส่งแล้ว", "en": "Submitted"}, "terminal": True},
    ],
}

_DRAFT: Final[dict[str, Any]] = {
    "instancePublicId": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e11",
    "workflowCode": "CORRESPONDENCE_FLOW_V1",
    "status": "ACTIVE",
    "currentState": "draft",
    "stateLabel": {"th": "ฉบับร่าง", "en": "Draft"},
    "terminal": False,
    "availableActions": ["submit"],
    "actions": [
        {"code": "submit", "label": {"th": "ส่ง", "en": "Submit"}, "commentRequired": False, "attachments": False}
    ],
    "canEdit": True,
    "lastTransitionAt": _MOMENT,
    "versionNo": 1,
}
_SUBMITTED: Final = _DRAFT | {
    "currentState": "submitted",
    "stateLabel": {"th": "ส่งแล้ว", "en": "Submitted"},
    "availableActions": [],
    "actions": [],
    "canEdit": False,
    "versionNo": 2,
}

_FIELDS: Final[dict[str, Any]] = {
    "action": "submit",
    "actionLabel": {"th": "ส่ง", "en": "Submit"},
    "Alive.status": "alive",
    "approveCode": None,
    "approvedDate": None,
    "body": "ขอส่งรายงานผลการทดสอบเสาเข็มเพื่อโปรดพิจารณา",
    "cancelReason": None,
    "Cancellation.reason": "ออกซ้ำกับฉบับก่อน",
    "cancelledAt": None,
    "cancelledBy": None,
    "checksum": _CHECKSUM,
    "CirculationAnswer.kind": "circulation",
    "CirculationSummary.kind": "circulation",
    "CirculationAnswer.documentType": "CIRCULATION",
    "CirculationSummary.documentType": "CIRCULATION",
    "closedAt": None,
    "code": "TER",
    "CodeAnswer.name": "Terminal",
    "CodeAnswer.nameTh": "ท่าเทียบเรือ",
    "comment": "โปรดพิจารณา",
    "completedAt": None,
    "contractCode": "LCBP3-C2",
    "contractName": "สัญญางานอาคารและท่าเทียบเรือ",
    "correspondenceTypeCode": "LETTER",
    "createdAt": _MOMENT,
    "deadlineDate": _DAY,
    "DefinitionDetailOut.code": "SITE_MEMO",
    "DefinitionDetailOut.description": _DSL["description"],
    "DefinitionFault.code": "unknown_state",
    "DefinitionFault.message": {"th": "ไม่มีสถานะนี้", "en": "There is no such state."},
    "DefinitionOut.code": "SITE_MEMO",
    "DefinitionOut.description": _DSL["description"],
    "dependencies": {"database": {"status": "up", "reason": "answers"}},
    "description": None,
    "details": {},
    "disciplineCode": "TER",
    "displayName": "ดวงใจ เอกสารครบ",
    "documentDate": "2026-03-02",
    "documentNumber": "คคง.-สคฉ.3-0001-2569",
    "documentType": "LETTER",
    "downloadUrl": _FILE,
    "dsl": _DSL,
    "dueDate": _DAY,
    "en": "Approved",
    "entityType": "correspondence_revision",
    "fileName": "รายการคำนวณโครงสร้าง.pdf",
    "formatSource": "specific",
    "fromLabel": {"th": "ฉบับร่าง", "en": "Draft"},
    "fromState": "draft",
    "GenerateIn.correspondenceTypeCode": "LETTER",
    "GenerateIn.recipientOrganizationPublicId": _ID,
    "HistoryEntry.source": "workflow",
    "isActive": True,
    "isCancelled": False,
    "isCurrent": True,
    "isMain": True,
    "isOverdue": False,
    "issuedAt": None,
    "kind": "correspondence",
    "Assignee.kind": "ACTION",
    "PartAnswer.kind": "ACTION",
    "message": "Two formats can print the same number.",
    "mimeType": "application/pdf",
    "mustAnswer": 2,
    "answered": 1,
    "nextCursor": None,
    "number": "คคง.-สคฉ.3-0001-2569",
    "organizationCode": "คคง.",
    "organizationName": "ที่ปรึกษาควบคุมงานก่อสร้าง",
    "originatorOrganizationPublicId": _ID,
    "overflow": "widen",
    "pointer": "/dsl/states/0/on/submit/to",
    "priority": "MEDIUM",
    "projectCode": "LCBP3-C2",
    "projectName": "ท่าเรือแหลมฉบัง ระยะที่ 3 ส่วนที่ 2",
    "quantity": 1,
    "recipientType": "TO",
    "recipientOrganizationPublicId": _ID,
    "referencedBy": [],
    "remarks": None,
    "Readiness.status": "ready",
    "resetSequenceYearly": True,
    "reason": "ปรับตามข้อกำหนดของโครงการ",
    "Response.status": "COMPLETED",
    "PartAnswer.status": "PENDING",
    "revisionLabel": "A",
    "RevisionAnswer.revisionNumber": 0,
    "rfaTypeCode": "RPT",
    "RfaAnswer.documentNumber": "LCBP3-C2-RFA-TER-RPT-0001-A",
    "RfaSummary.documentNumber": "LCBP3-C2-RFA-TER-RPT-0001-A",
    "RfaAnswer.documentType": "RFA",
    "RfaSummary.documentType": "RFA",
    "RfaAnswer.kind": "rfa",
    "RfaSummary.kind": "rfa",
    "RfaTypeAnswer.code": "RPT",
    "RfaTypeAnswer.name": "Report",
    "RfaTypeAnswer.nameTh": "รายงาน",
    "sequence": 1,
    "size": 184320,
    "status": {"code": "DRAFT", "name": "Draft", "nameTh": "ฉบับร่าง"},
    "stepCode": "submitted",
    "subject": "รายงานผลการทดสอบเสาเข็ม",
    "submittedAt": None,
    "subType": None,
    "subTypeCode": None,
    "template": "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}",
    "th": "อนุมัติแล้ว",
    "title": "รายงานผลการทดสอบเสาเข็ม",
    "toLabel": {"th": "ส่งแล้ว", "en": "Submitted"},
    "toState": "submitted",
    "TransmittalAnswer.documentType": "TRANSMITTAL",
    "TransmittalSummary.documentType": "TRANSMITTAL",
    "TransmittalAnswer.kind": "transmittal",
    "TransmittalSummary.kind": "transmittal",
    "TransitionIn.action": "submit",
    "TransitionIn.clientVersionNo": 1,
    "TransitionIn.comment": "โปรดพิจารณา",
    "unreadCount": 1,
    "ValidationOut.errors": [],
    "valid": True,
    "version": 1,
    "warnings": [],
    "workflow": _DRAFT,
    "InstanceOutEnvelope.workflow": _SUBMITTED,
    "stepAttachments": [],
    "year": 2026,
}
# Fields of a request that another kind of request needs, so that one example stands for one case.
_LEFT_OUT: Final = {f"GenerateIn.{name}" for name in ("rfaTypeCode", "categoryCode", "revision", "subTypeCode")}
_OF_TYPE: Final[dict[str, Any]] = {"string": "text", "integer": 1, "number": 1.0, "boolean": False, "object": {}}
_OF_FORM: Final = {"uuid": _ID, "date": _DAY, "date-time": _MOMENT}


def add(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Give the operation's JSON bodies their examples."""
    sent = operation.get("requestBody", {}).get("content", {}).get(_JSON)
    if sent is not None:
        sent.setdefault("example", _Maker(schemas, asked=True).value(sent["schema"]))
    for status, response in operation["responses"].items():
        given = response.get("content", {}).get(_JSON)
        if status < "300" and given is not None:
            given.setdefault("example", _Maker(schemas, asked=False).value(given["schema"]))


class _Maker:
    """
    Puts an example together.

    :param asked: for a request, where only what is required or known by heart is sent
    """

    def __init__(self, schemas: dict[str, Any], *, asked: bool) -> None:
        self._schemas = schemas
        self._asked = asked

    def value(self, schema: dict[str, Any], owner: str = "", name: str = "") -> Any:
        own = [schema["example"]] if "example" in schema else schema.get("examples")
        if own:
            return self._completed(schema, own[0])
        for known in (f"{owner}.{name}", name):
            if known in _FIELDS and self._fits(schema, _FIELDS[known]):
                return _FIELDS[known]
        if "$ref" in schema:
            called = schema["$ref"].rpartition("/")[2]
            return self.value(self._schemas[called], called)
        if "anyOf" in schema:
            return self.value(schema["anyOf"][0])
        return self._plain(schema, owner)

    def _completed(self, schema: dict[str, Any], value: Any) -> Any:
        """FastAPI leaves nulls out of the examples that stand at a schema; what is required and missing was null."""
        schema = self._resolved(schema)
        if isinstance(value, list) and "items" in schema:
            return [self._completed(schema["items"], item) for item in value]
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        kinds = schema["properties"]
        told = {name: self._completed(kinds[name], item) for name, item in value.items() if name in kinds}
        return told | {name: None for name in schema.get("required", ()) if name not in told}

    def _is_shown(self, known: str, schema: dict[str, Any]) -> bool:
        return known not in _LEFT_OUT and (known in _FIELDS or "examples" in schema)

    def _plain(self, schema: dict[str, Any], owner: str) -> Any:
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        if "properties" in schema:
            return self._object(schema, owner.rpartition("__")[2])
        if schema.get("type") == "array":
            return [self.value(schema["items"])]
        return _OF_FORM.get(schema.get("format", ""), _OF_TYPE.get(schema.get("type", "")))

    def _object(self, schema: dict[str, Any], owner: str) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        return {
            name: self.value(kind, owner, name)
            for name, kind in schema["properties"].items()
            if not self._asked or name in required or self._is_shown(f"{owner}.{name}", kind)
        } or {name: self.value(kind, owner, name) for name, kind in list(schema["properties"].items())[:1]}

    def _fits(self, schema: dict[str, Any], value: Any) -> bool:
        """Two schemas use one name for different things: a status is a code here and an object there."""
        options = [self._resolved(option) for option in schema.get("anyOf", [schema])]
        return any(_takes(option, value) for option in options)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        return self._schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _takes(schema: dict[str, Any], value: Any) -> bool:
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kinds: dict[str, type] = {
        "null": type(None),
        "string": str,
        "integer": int,
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    kind = kinds.get(schema.get("type", ""))
    if kind is None or not isinstance(value, kind):
        return False
    return not isinstance(value, dict) or set(schema.get("required", ())) <= set(value)
