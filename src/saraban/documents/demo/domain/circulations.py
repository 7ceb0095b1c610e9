"""
Transmittals and circulation sheets of the demo project.

Transmittals of sub type 21, and circulation sheets of คคง. and สคฉ.3, are left to the story.
"""

from saraban.documents.demo.domain.demo_data import DemoAction, DemoDocument, DemoRegister

CIRCULATIONS = (
    DemoDocument(
        key="road-transmittal",
        where=DemoRegister.TRANSMITTAL,
        by="dc.contractor",
        originator="ผรม.2",
        to=("คคง.",),
        subject="นำส่งแบบขยายทางเข้าท่าเรือฉบับอนุมัติเพื่อใช้ก่อสร้าง",
        contract="LCBP3-C2",
        sub_type="SHP",
        purpose="FOR_INFORMATION",
        age=52,
        due=7,
        about=("road-drawing",),
        acts=(DemoAction("dc.contractor", "submit"), DemoAction("dc.consultant", "acknowledge", 2, "ได้รับครบ 3 ชุด")),
    ),
    DemoDocument(
        key="cable-transmittal",
        where=DemoRegister.TRANSMITTAL,
        by="dc.contractor",
        originator="ผรม.2",
        to=("คคง.",),
        subject="นำส่งตัวอย่างสายไฟฟ้าและใบรับรองผลทดสอบจากโรงงาน",
        contract="LCBP3-C2",
        sub_type="MAT",
        purpose="FOR_REVIEW",
        age=14,
        due=10,
        about=("power-cable",),
        files=("mill-certificate.pdf",),
        acts=(DemoAction("dc.contractor", "submit"),),
    ),
    DemoDocument(
        key="safety-circulation",
        where=DemoRegister.CIRCULATION,
        by="dc.contractor",
        originator="ผรม.2",
        subject="เวียนแจ้งมาตรการความปลอดภัยใหม่ให้หน่วยงานสนาม",
        age=40,
        due=5,
        priority="URGENT",
        about=("safety-measures",),
        assignees=("dc.contractor",),
        acts=(
            DemoAction("dc.contractor", "start"),
            DemoAction("dc.contractor", "respond", 1, "แจ้งหัวหน้างานทุกกะแล้ว"),
            DemoAction("dc.contractor", "complete", 2),
        ),
    ),
    DemoDocument(
        key="progress-circulation",
        where=DemoRegister.CIRCULATION,
        by="admin",
        originator="กทท.",
        subject="เวียนพิจารณาสรุปความก้าวหน้าประจำไตรมาส",
        age=50,
        due=10,
        about=("progress-summary",),
        assignees=("approver.owner", "padmin"),
        acts=(
            DemoAction("admin", "start"),
            DemoAction("approver.owner", "respond", 3, "เห็นควรติดตามงานเสาเข็มเป็นรายสัปดาห์"),
        ),
    ),
)
