"""What the page of the number audit says of each operation and of each refusal, in both languages."""

from datetime import UTC, datetime
from typing import Any

import pytest

from saraban.kit.errors import Text
from saraban.numbering.series.domain.states import OperationCode
from saraban.numbering.series.models import NumberAudit, NumberError, NumberErrorRow, NumberOperation
from saraban.web.operations.number_audit import refusal, sentence

AT = datetime(2026, 3, 2, 5, tzinfo=UTC)
RANGE = '{"state": "%s"}'
# An operation with what it leaves behind, and what the page says of it.
OPERATIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"operation": "GENERATE", "generated_number": "A-1"}, "สมชาย ออกเลขที่ [A-1]", "สมชาย issued [A-1]"),
    ({"operation": "RESERVE", "generated_number": "A-1"}, "สมชาย จองเลขที่ [A-1]", "สมชาย reserved [A-1]"),
    ({"operation": "CONFIRM", "generated_number": "A-1"}, "สมชาย ยืนยันเลขที่ [A-1]", "สมชาย confirmed [A-1]"),
    ({"operation": "CANCEL", "generated_number": "A-1"}, "สมชาย ยกเลิกการจองเลขที่ [A-1]", "สมชาย released [A-1]"),
    (
        {"operation": "EXPIRE", "generated_number": "A-1"},
        "การจองเลขที่ [A-1] หมดอายุ",
        "The reservation of [A-1] expired",
    ),
    ({"operation": "VOID", "generated_number": "A-1"}, "สมชาย ยกเลิกเลขที่ [A-1]", "สมชาย voided [A-1]"),
    (
        {"operation": "VOID", "generated_number": "A-1", "new_value": "A-2"},
        "สมชาย ยกเลิกเลขที่ [A-1] และออก A-2 แทน",
        "สมชาย voided [A-1] and issued A-2 in its place",
    ),
    (
        {"operation": "OVERRIDE", "generated_number": "A-1"},
        "สมชาย บันทึกเลขที่ออกนอกระบบ [A-1]",
        "สมชาย registered [A-1], issued outside the system",
    ),
    ({"operation": "IMPORT", "generated_number": "A-1"}, "สมชาย นำเข้าเลขที่ [A-1]", "สมชาย imported [A-1]"),
    (
        {"operation": "REVISE", "old_value": "A-1-A", "new_value": "A-1-B"},
        "สมชาย พิมพ์เลขที่ [A-1-B] สำหรับฉบับแก้ไข ต่อจาก A-1-A",
        "สมชาย printed [A-1-B] for a revision, after A-1-A",
    ),
    (
        {"operation": "SKIP", "sequence_number": 3, "skipped_to": 5},
        "สมชาย ข้ามลำดับที่ 3–5 ในชุด A-…",
        "สมชาย skipped 3–5 in A-…",
    ),
    (
        {"operation": "SKIP", "sequence_number": 3, "skipped_to": 3},
        "สมชาย ข้ามลำดับที่ 3 ในชุด A-…",
        "สมชาย skipped 3 in A-…",
    ),
    (
        {"operation": "RANGE", "sequence_number": 1, "skipped_to": 9, "new_value": RANGE % "KEPT"},
        "สมชาย จองช่วงเลข 1–9 ในชุด A-…",
        "สมชาย reserved the range 1–9 in A-…",
    ),
    (
        {"operation": "RANGE", "sequence_number": 1, "skipped_to": 9, "new_value": RANGE % "BARRED"},
        "สมชาย ระงับช่วงเลข 1–9 ในชุด A-…",
        "สมชาย blocked the range 1–9 in A-…",
    ),
    (
        {"operation": "RANGE", "sequence_number": 1, "skipped_to": 9, "new_value": RANGE % "RELEASED"},
        "สมชาย ปลดช่วงเลข 1–9 ในชุด A-…",
        "สมชาย released the range 1–9 in A-…",
    ),
    (
        {"operation": "RESET", "old_value": "9", "new_value": "4"},
        "สมชาย ปรับตัวนับของชุด A-… จาก 9 เป็น 4",
        "สมชาย reset the counter of A-… from 9 to 4",
    ),
    (
        {"operation": "FORMAT_CHANGE", "template_used": "{SEQ}", "new_value": "{SEQ}"},
        "สมชาย กำหนดรูปแบบเลขที่ของเอกสารทุกประเภท เป็น {SEQ}",
        "สมชาย set the number format of all types to {SEQ}",
    ),
    (
        {"operation": "FORMAT_CHANGE", "template_used": "{SEQ}", "old_value": "x", "new_value": "{SEQ}"},
        "สมชาย เปลี่ยนรูปแบบเลขที่ของเอกสารทุกประเภท เป็น {SEQ}",
        "สมชาย changed the number format of all types to {SEQ}",
    ),
    (
        {"operation": "FORMAT_CHANGE", "template_used": "{SEQ}", "old_value": "{SEQ}"},
        "สมชาย ลบรูปแบบเลขที่ของเอกสารทุกประเภท {SEQ}",
        "สมชาย deleted the number format {SEQ} of all types",
    ),
]
SAYS = {"NUMBER_RANGE_TAKEN": Text("ช่วง {range} มีผู้จองแล้ว", "The range {range} is taken.")}
REFUSALS: list[tuple[dict[str, Any], str | None, str, str]] = [
    (
        {"error_type": "VALIDATION_ERROR", "context_data": {"code": "NUMBER_RANGE_TAKEN"}},
        "viewer",
        "viewer ไม่ได้ดำเนินการ: ช่วง … มีผู้จองแล้ว",
        "viewer was refused: The range … is taken.",
    ),
    (
        {"error_type": "VALIDATION_ERROR", "error_message": "No such thing."},
        None,
        "ผู้ที่ไม่ทราบชื่อ ไม่ได้ดำเนินการ: No such thing.",
        "somebody unknown was refused: No such thing.",
    ),
    (
        {"error_type": "LOCK_TIMEOUT", "error_message": "Waited 5 s."},
        "viewer",
        "คำขอของ viewer ไม่สำเร็จ: Waited 5 s.",
        "A request of viewer failed: Waited 5 s.",
    ),
    (
        {"error_type": "REDIS_ERROR", "context_data": {"numbers": 312}},
        None,
        "Redis ไม่ตอบ จึงออกเลข 312 เลขด้วยล็อกของฐานข้อมูล",
        "Redis did not answer; the lock of the database was used (numbers: 312)",
    ),
]


@pytest.mark.parametrize(("kept", "th", "en"), OPERATIONS)
def test_an_operation_is_a_sentence(kept: dict[str, Any], th: str, en: str) -> None:
    row = NumberOperation(NumberAudit(series="A-{SEQ}", created_at=AT, **kept), "somchai", "LCBP3-C2", "สมชาย")

    said = [sentence(language, row) for language in ("th", "en")]

    assert [one.before + (f"[{one.number}]" if one.number else "") + one.after for one in said] == [th, en]


def test_no_operation_goes_without_a_sentence() -> None:
    assert {kept["operation"] for kept, *_ in OPERATIONS} == set(OperationCode)


@pytest.mark.parametrize(("kept", "username", "th", "en"), REFUSALS)
def test_a_refusal_is_a_sentence(kept: dict[str, Any], username: str | None, th: str, en: str) -> None:
    row = NumberErrorRow(NumberError(created_at=AT, **kept), username)

    assert [refusal(language, row, SAYS).says.before for language in ("th", "en")] == [th, en]
