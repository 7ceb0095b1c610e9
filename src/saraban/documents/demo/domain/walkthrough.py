"""
The story that `saraban demo` tells: one request for approval, and what is written about it.

Its series are left unused by the other demo documents, so the first telling begins every one of them at 0001.
"""

from saraban.documents.demo.domain.demo_data import DemoAction, DemoDocument, DemoRegister

WALKTHROUGH = (
    DemoDocument(
        key="rfa",
        where=DemoRegister.RFA,
        by="dc.contractor",
        originator="ผรม.2",
        to=("คคง.",),
        cc=("สคฉ.3",),
        contract="LCBP3-C2",
        discipline="TER",
        rfa_type="RPT",
        subject="ขออนุมัติรายงานผลทดสอบกำลังรับน้ำหนักเสาเข็มท่าเทียบเรือ",
        body="ผลทดสอบเสาเข็ม 6 ต้นในแนวหน้าท่า พร้อมกราฟการทรุดตัวและภาพถ่ายขณะทดสอบ",
        age=0,
        due=14,
        priority="HIGH",
        files=("pile-load-test.pdf", "pile-load-test-site.png"),
        acts=(
            DemoAction("dc.contractor", "submit"),
            DemoAction("reviewer.consultant", "approve", comment="ตรวจผลทดสอบแล้ว เป็นไปตามข้อกำหนด"),
            DemoAction("approver.owner", "approve"),
        ),
    ),
    DemoDocument(
        key="letter",
        where=DemoRegister.CORRESPONDENCE,
        type="LETTER",
        by="dc.consultant",
        originator="คคง.",
        to=("สคฉ.3",),
        subject="แจ้งผลการตรวจรายงานทดสอบเสาเข็มท่าเทียบเรือ",
        age=0,
        due=7,
        about=("rfa",),
        acts=(DemoAction("dc.consultant", "submit"), DemoAction("approver.owner", "approve", comment="รับทราบ")),
    ),
    DemoDocument(
        key="transmittal",
        where=DemoRegister.TRANSMITTAL,
        by="dc.consultant",
        originator="คคง.",
        to=("สคฉ.3",),
        contract="LCBP3-C2",
        sub_type="GEN",
        purpose="FOR_INFORMATION",
        subject="นำส่งรายงานทดสอบเสาเข็มฉบับอนุมัติ",
        age=0,
        about=("rfa",),
        acts=(DemoAction("dc.consultant", "submit"), DemoAction("approver.owner", "acknowledge", comment="ได้รับครบถ้วน")),
    ),
    DemoDocument(
        key="circulation",
        where=DemoRegister.CIRCULATION,
        by="dc.consultant",
        originator="คคง.",
        subject="เวียนผลการอนุมัติรายงานทดสอบเสาเข็มให้ผู้ควบคุมงาน",
        age=0,
        due=3,
        about=("rfa",),
        assignees=("reviewer.consultant",),
        acts=(
            DemoAction("dc.consultant", "start"),
            DemoAction("reviewer.consultant", "respond", comment="แจ้งผู้ควบคุมงานหน้าท่าแล้ว"),
            DemoAction("dc.consultant", "complete"),
        ),
    ),
)

# One step for each document and for each thing done with it.
STEPS = sum(1 + len(script.acts) for script in WALKTHROUGH)
