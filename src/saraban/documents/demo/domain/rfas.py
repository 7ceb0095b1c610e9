"""
Requests for approval of the demo project.

The series of the story (discipline TER, type RPT) and everything between คคง. and ผรม.1 stay unused.
"""

from saraban.documents.demo.domain.demo_data import DemoAction, DemoDocument, DemoRegister

_DC, _REVIEWER, _OWNER = "dc.contractor", "reviewer.consultant", "approver.owner"
_SENT = DemoAction(_DC, "submit")


def _rfa(
    key: str,
    discipline: str,
    rfa_type: str,
    subject: str,
    *acts: DemoAction,
    age: int,
    due: int | None = None,
    priority: str = "MEDIUM",
    body: str | None = None,
    files: tuple[str, ...] = (),
) -> DemoDocument:
    return DemoDocument(
        key=key,
        where=DemoRegister.RFA,
        by=_DC,
        originator="ผรม.2",
        to=("คคง.",),
        cc=("สคฉ.3",),
        contract="LCBP3-C2",
        subject=subject,
        body=body,
        discipline=discipline,
        rfa_type=rfa_type,
        age=age,
        due=due,
        priority=priority,
        files=files,
        acts=acts,
    )


RFAS = (
    _rfa(
        "road-drawing",
        "ROW",
        "SDW",
        "ขออนุมัติแบบขยายโครงสร้างทางเข้าท่าเรือ ช่วง กม. 0+000 ถึง กม. 1+200",
        _SENT,
        DemoAction(_REVIEWER, "approve", 4, "ตรวจระดับและแนวทางแล้ว ถูกต้องตามแบบสัญญา"),
        DemoAction(_OWNER, "approve", 7),
        age=62,
        due=14,
        body="แบบขยายแสดงโครงสร้างชั้นทาง ความลาดตามขวาง และจุดเชื่อมกับถนนเดิม จำนวน 12 แผ่น",
        files=("road-shop-drawing.pdf", "access-road.png"),
    ),
    _rfa(
        "environment-report",
        "ENV",
        "MPR",
        "ขออนุมัติรายงานผลติดตามตรวจสอบคุณภาพสิ่งแวดล้อมประจำเดือน",
        _SENT,
        DemoAction(_REVIEWER, "approve", 3),
        DemoAction(_OWNER, "request-revision", 6, "ขาดผลตรวจวัดตะกอนแขวนลอยของสถานีที่ 4 โปรดเพิ่มและส่งใหม่"),
        DemoAction(_DC, "revise", 9),
        DemoAction(_DC, "submit", 9),
        DemoAction(_REVIEWER, "approve", 11, "เพิ่มข้อมูลครบแล้ว"),
        DemoAction(_OWNER, "approve", 13),
        age=55,
        due=21,
        files=("monthly-environment.pdf",),
    ),
    _rfa(
        "drain-method",
        "DRA",
        "MST",
        "ขออนุมัติวิธีการก่อสร้างรางระบายน้ำคอนกรีตเสริมเหล็กหลังท่า",
        _SENT,
        DemoAction(_REVIEWER, "approve", 5),
        DemoAction(_OWNER, "reject", 9, "แนวรางทับแนวท่อประปาเดิม ต้องเสนอแนวใหม่ทั้งช่วง"),
        age=48,
        due=14,
        files=("drain-method-statement.pdf",),
    ),
    _rfa(
        "office-rebar",
        "BUD",
        "SDW",
        "ขออนุมัติแบบขยายเหล็กเสริมฐานรากอาคารสำนักงานปฏิบัติการท่าเรือ",
        _SENT,
        DemoAction(_REVIEWER, "request-revision", 6, "ระยะทาบเหล็กในแผ่นที่ 7 ไม่เป็นไปตามข้อกำหนด"),
        DemoAction(_DC, "revise", 10),
        DemoAction(_DC, "submit", 10, "แก้ไขแผ่นที่ 7 และ 8 แล้ว"),
        age=18,
        due=21,
        priority="HIGH",
        files=("foundation-rebar.pdf",),
    ),
    _rfa(
        "power-cable",
        "EPW",
        "MAT",
        "ขออนุมัติวัสดุสายไฟฟ้าแรงดันปานกลาง 22 kV สำหรับสถานีไฟฟ้าย่อยที่ 2",
        _SENT,
        DemoAction(_REVIEWER, "approve", 8, "ผลทดสอบจากโรงงานครบถ้วน เห็นควรอนุมัติ"),
        age=24,
        due=14,
        priority="URGENT",
        files=("cable-data-sheet.pdf", "cable-sample.png"),
    ),
    _rfa(
        "concrete-itp",
        "MTT",
        "ITP",
        "ขออนุมัติแผนตรวจสอบและทดสอบคอนกรีตแผ่นพื้นลานวางตู้สินค้า",
        _SENT,
        age=5,
        due=12,
        priority="HIGH",
        files=("itp-yard-slab.pdf",),
    ),
    _rfa(
        "diving-jsa",
        "SFT",
        "JSA",
        "ขออนุมัติผลวิเคราะห์งานเพื่อความปลอดภัย งานติดตั้งยางกันกระแทกหน้าท่า",
        DemoAction(_DC, "cancel", 2, "ส่งผิดสัญญา จะจัดทำใหม่ในชุดงานทางทะเล"),
        age=15,
    ),
    _rfa(
        "water-main",
        "UTL",
        "SDW",
        "ขออนุมัติแบบขยายท่อประปาหลักและหัวดับเพลิงบริเวณลานหลังท่า",
        age=2,
        due=16,
        body="อยู่ระหว่างรวบรวมแบบจากผู้รับเหมาช่วง",
    ),
)
