"""
What the demo documents are and what became of them: requests for approval, letters, transmittals and circulations of the past
weeks, and the story that `saraban demo` tells.

The series of the story (discipline TER, type RPT) and everything between คคง. and ผรม.1 stay unused by the others, so the first
telling begins every one of them at 0001.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial


class DemoRegister(StrEnum):
    """The register a document stands in."""

    CORRESPONDENCE = "correspondence"
    RFA = "rfa"
    TRANSMITTAL = "transmittal"
    CIRCULATION = "circulation"


@dataclass(frozen=True, slots=True)
class DemoAction:
    """
    One thing somebody did with a document.

    :param by: user name
    :param action: an action of the workflow, or `revise` or `cancel`
    :param day: days after the document was written
    """

    by: str
    action: str
    day: int = 0
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """
    One demo document.

    :param key: how other scripts name it
    :param age: days since it was written
    :param due: days after that on which an answer is due
    :param files: names; the extension decides what is made
    :param about: keys of documents: references, items of a transmittal, the subject of a circulation sheet
    :param drawings: numbers of shop drawings, of an RFA; with its next revision they are drawn anew
    :param assignees: user names, of a circulation sheet
    """

    key: str
    where: DemoRegister
    by: str
    originator: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    subject: str
    body: str | None = None
    age: int
    due: int | None = None
    type: str | None = None
    priority: str = "MEDIUM"
    contract: str | None = None
    discipline: str | None = None
    rfa_type: str | None = None
    sub_type: str | None = None
    purpose: str | None = None
    files: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    drawings: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    acts: tuple[DemoAction, ...] = ()


_CONTRACTOR, _CONSULTANT = "dc.contractor", "dc.consultant"
_REVIEWER, _OWNER = "reviewer.consultant", "approver.owner"
_SENT = DemoAction(_CONTRACTOR, "submit")

_rfa = partial(
    DemoDocument,
    where=DemoRegister.RFA,
    by=_CONTRACTOR,
    originator="ผรม.2",
    to=("คคง.",),
    cc=("สคฉ.3",),
    contract="LCBP3-C2",
)
_letter = partial(DemoDocument, where=DemoRegister.CORRESPONDENCE, type="LETTER")
_transmittal = partial(DemoDocument, where=DemoRegister.TRANSMITTAL, contract="LCBP3-C2")
_circulation = partial(DemoDocument, where=DemoRegister.CIRCULATION)

_PAST = (
    _rfa(
        key="road-drawing",
        drawings=("RD-101-S1", "RD-101-S2", "RD-102-S1"),
        discipline="ROW",
        rfa_type="SDW",
        subject="ขออนุมัติแบบขยายโครงสร้างทางเข้าท่าเรือ ช่วง กม. 0+000 ถึง กม. 1+200",
        acts=(
            _SENT,
            DemoAction(_REVIEWER, "approve", 4, "ตรวจระดับและแนวทางแล้ว ถูกต้องตามแบบสัญญา"),
            DemoAction(_OWNER, "approve", 7),
        ),
        age=62,
        due=14,
        body="แบบขยายแสดงโครงสร้างชั้นทาง ความลาดตามขวาง และจุดเชื่อมกับถนนเดิม จำนวน 12 แผ่น",
        files=("road-shop-drawing.pdf", "access-road.png"),
    ),
    _rfa(
        key="environment-report",
        discipline="ENV",
        rfa_type="MPR",
        subject="ขออนุมัติรายงานผลติดตามตรวจสอบคุณภาพสิ่งแวดล้อมประจำเดือน",
        acts=(
            _SENT,
            DemoAction(_REVIEWER, "approve", 3),
            DemoAction(_OWNER, "request-revision", 6, "ขาดผลตรวจวัดตะกอนแขวนลอยของสถานีที่ 4 โปรดเพิ่มและส่งใหม่"),
            DemoAction(_CONTRACTOR, "revise", 9),
            DemoAction(_CONTRACTOR, "submit", 9),
            DemoAction(_REVIEWER, "approve", 11, "เพิ่มข้อมูลครบแล้ว"),
            DemoAction(_OWNER, "approve", 13),
        ),
        age=55,
        due=21,
        files=("monthly-environment.pdf",),
    ),
    _rfa(
        key="drain-method",
        discipline="DRA",
        rfa_type="MST",
        subject="ขออนุมัติวิธีการก่อสร้างรางระบายน้ำคอนกรีตเสริมเหล็กหลังท่า",
        acts=(
            _SENT,
            DemoAction(_REVIEWER, "approve", 5),
            DemoAction(_OWNER, "reject", 9, "แนวรางทับแนวท่อประปาเดิม ต้องเสนอแนวใหม่ทั้งช่วง"),
        ),
        age=48,
        due=14,
        files=("drain-method-statement.pdf",),
    ),
    _rfa(
        key="office-rebar",
        drawings=("OF-201-S1", "OF-201-S2"),
        discipline="BUD",
        rfa_type="SDW",
        subject="ขออนุมัติแบบขยายเหล็กเสริมฐานรากอาคารสำนักงานปฏิบัติการท่าเรือ",
        acts=(
            _SENT,
            DemoAction(_REVIEWER, "request-revision", 6, "ระยะทาบเหล็กในแผ่นที่ 7 ไม่เป็นไปตามข้อกำหนด"),
            DemoAction(_CONTRACTOR, "revise", 10),
            DemoAction(_CONTRACTOR, "submit", 10, "แก้ไขแผ่นที่ 7 และ 8 แล้ว"),
        ),
        age=18,
        due=21,
        priority="HIGH",
        files=("foundation-rebar.pdf",),
    ),
    _rfa(
        key="power-cable",
        discipline="EPW",
        rfa_type="MAT",
        subject="ขออนุมัติวัสดุสายไฟฟ้าแรงดันปานกลาง 22 kV สำหรับสถานีไฟฟ้าย่อยที่ 2",
        acts=(_SENT, DemoAction(_REVIEWER, "approve", 8, "ผลทดสอบจากโรงงานครบถ้วน เห็นควรอนุมัติ")),
        age=24,
        due=14,
        priority="URGENT",
        files=("cable-data-sheet.pdf", "cable-sample.png"),
    ),
    _rfa(
        key="concrete-itp",
        discipline="MTT",
        rfa_type="ITP",
        subject="ขออนุมัติแผนตรวจสอบและทดสอบคอนกรีตแผ่นพื้นลานวางตู้สินค้า",
        acts=(_SENT,),
        age=5,
        due=12,
        priority="HIGH",
        files=("itp-yard-slab.pdf",),
    ),
    _rfa(
        key="diving-jsa",
        discipline="SFT",
        rfa_type="JSA",
        subject="ขออนุมัติผลวิเคราะห์งานเพื่อความปลอดภัย งานติดตั้งยางกันกระแทกหน้าท่า",
        acts=(DemoAction(_CONTRACTOR, "cancel", 2, "ส่งผิดสัญญา จะจัดทำใหม่ในชุดงานทางทะเล"),),
        age=15,
    ),
    _rfa(
        key="water-main",
        drawings=("WT-301-S1", "WT-301-S2"),
        discipline="UTL",
        rfa_type="SDW",
        subject="ขออนุมัติแบบขยายท่อประปาหลักและหัวดับเพลิงบริเวณลานหลังท่า",
        age=2,
        due=16,
        body="อยู่ระหว่างรวบรวมแบบจากผู้รับเหมาช่วง",
    ),
    _letter(
        key="progress-summary",
        by=_CONSULTANT,
        originator="คคง.",
        to=("กทท.",),
        subject="ขอส่งสรุปความก้าวหน้าและอุปสรรคของงานก่อสร้างประจำไตรมาส",
        acts=(
            DemoAction(_CONSULTANT, "submit"),
            DemoAction(_OWNER, "approve", 6, "รับทราบ ขอให้ติดตามงานเสาเข็มอย่างใกล้ชิด"),
        ),
        age=58,
        due=15,
        cc=("สคฉ.3",),
        contract="LCBP3-C2",
        files=("quarterly-progress.pdf",),
    ),
    _letter(
        key="safety-measures",
        by=_CONSULTANT,
        originator="คคง.",
        to=("ผรม.2",),
        subject="แจ้งให้ปรับปรุงมาตรการความปลอดภัยในการยกชิ้นส่วนคอนกรีตสำเร็จรูป",
        acts=(
            DemoAction(_CONSULTANT, "submit"),
            DemoAction(_CONTRACTOR, "approve", 2, "ปรับแผนการยกและอบรมพนักงานแล้ว"),
        ),
        age=41,
        due=5,
        priority="URGENT",
        cc=("สคฉ.3",),
        files=("lifting-area.png",),
    ),
    _letter(
        key="night-work",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("คคง.",),
        subject="ขออนุญาตทำงานล่วงเวลาในเวลากลางคืน งานเทคอนกรีตคานหน้าท่า",
        acts=(_SENT, DemoAction(_CONSULTANT, "reject", 3, "ยังไม่มีแผนควบคุมเสียงรบกวนชุมชน")),
        age=36,
        due=7,
    ),
    _letter(
        key="speed-up",
        by=_OWNER,
        originator="สคฉ.3",
        to=("คคง.",),
        subject="ขอให้เร่งรัดการตรวจรับงานระบบไฟฟ้าส่องสว่างลานวางตู้สินค้า",
        acts=(DemoAction(_OWNER, "submit"), DemoAction(_CONSULTANT, "approve", 4)),
        age=30,
        due=10,
        cc=("กทท.",),
    ),
    _letter(
        key="time-extension",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("คคง.",),
        subject="ขอขยายระยะเวลาก่อสร้างเนื่องจากคลื่นลมแรงต่อเนื่องในช่วงมรสุม",
        acts=(_SENT,),
        age=22,
        due=10,
        priority="HIGH",
        cc=("สคฉ.3",),
        body="ขอขยายเวลา 18 วัน ตามบันทึกสภาพอากาศและบันทึกการหยุดงานที่แนบมา",
        files=("weather-log.pdf",),
    ),
    _letter(
        key="site-visit",
        by=_OWNER,
        originator="กทท.",
        to=("ผรม.2",),
        subject="แจ้งกำหนดการเข้าตรวจเยี่ยมพื้นที่ก่อสร้างของคณะกรรมการ",
        acts=(DemoAction(_OWNER, "submit"),),
        age=4,
        due=9,
        cc=("คคง.",),
    ),
    _letter(
        key="navigation-light",
        by=_CONTRACTOR,
        originator="ผรม.1",
        to=("สคฉ.3",),
        subject="ขอความเห็นชอบตำแหน่งติดตั้งไฟสัญญาณเดินเรือชั่วคราวปลายเขื่อนกันคลื่น",
        acts=(_SENT,),
        age=12,
        due=21,
        cc=("กทท.",),
        contract="LCBP3-C2-M",
    ),
    _letter(
        key="insurance-notice",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("กทท.",),
        subject="นำส่งสำเนากรมธรรม์ประกันภัยงานก่อสร้างฉบับต่ออายุ",
        acts=(_SENT, DemoAction(_CONTRACTOR, "cancel", 1, "แนบกรมธรรม์ผิดฉบับ จะออกหนังสือใหม่")),
        age=33,
    ),
    _letter(
        key="traffic-diversion",
        type="MEMO",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("สคฉ.3",),
        subject="แจ้งแผนเบี่ยงการจราจรภายในท่าเรือระหว่างวางท่อลอดถนน",
        acts=(_SENT, DemoAction(_OWNER, "approve", 1, "ประสานฝ่ายปฏิบัติการแล้ว")),
        age=20,
        due=5,
        files=("traffic-plan.pdf",),
    ),
    _letter(
        key="meeting-memo",
        type="MEMO",
        by=_CONSULTANT,
        originator="คคง.",
        to=("ผรม.2",),
        subject="ขอเลื่อนประชุมประสานงานระบบสาธารณูปโภค",
        age=1,
    ),
    _letter(
        key="pile-question",
        type="RFI",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("คคง.",),
        subject="ขอข้อมูลระดับหัวเสาเข็มและพิกัดฐานรากเครื่องทดสอบปั้นจั่นหน้าท่า",
        acts=(
            _SENT,
            DemoAction(_CONSULTANT, "respond", 5, "ใช้ระดับตามแบบสัญญาแผ่นที่ 214 ฉบับแก้ไขล่าสุด"),
            DemoAction(_CONTRACTOR, "close", 6),
        ),
        age=44,
        due=7,
        files=("pile-heads.png", "pile-question.pdf"),
    ),
    _letter(
        key="joint-question",
        type="RFI",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("คคง.",),
        subject="สอบถามรายละเอียดรอยต่อเผื่อขยายระหว่างแผ่นพื้นลานกับคานรางปั้นจั่น",
        acts=(_SENT,),
        age=13,
        due=7,
        priority="URGENT",
        about=("pile-question",),
    ),
    _transmittal(
        key="road-transmittal",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("คคง.",),
        subject="นำส่งแบบขยายทางเข้าท่าเรือฉบับอนุมัติเพื่อใช้ก่อสร้าง",
        sub_type="SHP",
        purpose="FOR_INFORMATION",
        age=52,
        due=7,
        about=("road-drawing",),
        acts=(_SENT, DemoAction(_CONSULTANT, "acknowledge", 2, "ได้รับครบ 3 ชุด")),
    ),
    _transmittal(
        key="cable-transmittal",
        by=_CONTRACTOR,
        originator="ผรม.2",
        to=("คคง.",),
        subject="นำส่งตัวอย่างสายไฟฟ้าและใบรับรองผลทดสอบจากโรงงาน",
        sub_type="MAT",
        purpose="FOR_REVIEW",
        age=14,
        due=10,
        about=("power-cable",),
        files=("mill-certificate.pdf",),
        acts=(_SENT,),
    ),
    _circulation(
        key="safety-circulation",
        by=_CONTRACTOR,
        originator="ผรม.2",
        subject="เวียนแจ้งมาตรการความปลอดภัยใหม่ให้หน่วยงานสนาม",
        age=40,
        due=5,
        priority="URGENT",
        about=("safety-measures",),
        assignees=(_CONTRACTOR,),
        acts=(
            DemoAction(_CONTRACTOR, "start"),
            DemoAction(_CONTRACTOR, "respond", 1, "แจ้งหัวหน้างานทุกกะแล้ว"),
            DemoAction(_CONTRACTOR, "complete", 2),
        ),
    ),
    _circulation(
        key="progress-circulation",
        by="admin",
        originator="กทท.",
        subject="เวียนพิจารณาสรุปความก้าวหน้าประจำไตรมาส",
        age=50,
        due=10,
        about=("progress-summary",),
        assignees=(_OWNER, "padmin"),
        acts=(
            DemoAction("admin", "start"),
            DemoAction(_OWNER, "respond", 3, "เห็นควรติดตามงานเสาเข็มเป็นรายสัปดาห์"),
        ),
    ),
)

# Oldest first, so that numbers and dates go the same way.
SCRIPTS: Sequence[DemoDocument] = sorted(_PAST, key=lambda script: -script.age)
PLAYERS = frozenset(name for one in SCRIPTS for name in (one.by, *one.assignees, *(act.by for act in one.acts)))

WALKTHROUGH = (
    _rfa(
        key="rfa",
        discipline="TER",
        rfa_type="RPT",
        subject="ขออนุมัติรายงานผลทดสอบกำลังรับน้ำหนักเสาเข็มท่าเทียบเรือ",
        body="ผลทดสอบเสาเข็ม 6 ต้นในแนวหน้าท่า พร้อมกราฟการทรุดตัวและภาพถ่ายขณะทดสอบ",
        age=0,
        due=14,
        priority="HIGH",
        files=("pile-load-test.pdf", "pile-load-test-site.png"),
        acts=(
            _SENT,
            DemoAction(_REVIEWER, "approve", comment="ตรวจผลทดสอบแล้ว เป็นไปตามข้อกำหนด"),
            DemoAction(_OWNER, "approve"),
        ),
    ),
    _letter(
        key="letter",
        by=_CONSULTANT,
        originator="คคง.",
        to=("สคฉ.3",),
        subject="แจ้งผลการตรวจรายงานทดสอบเสาเข็มท่าเทียบเรือ",
        age=0,
        due=7,
        about=("rfa",),
        acts=(DemoAction(_CONSULTANT, "submit"), DemoAction(_OWNER, "approve", comment="รับทราบ")),
    ),
    _transmittal(
        key="transmittal",
        by=_CONSULTANT,
        originator="คคง.",
        to=("สคฉ.3",),
        sub_type="GEN",
        purpose="FOR_INFORMATION",
        subject="นำส่งรายงานทดสอบเสาเข็มฉบับอนุมัติ",
        age=0,
        about=("rfa",),
        acts=(DemoAction(_CONSULTANT, "submit"), DemoAction(_OWNER, "acknowledge", comment="ได้รับครบถ้วน")),
    ),
    _circulation(
        key="circulation",
        by=_CONSULTANT,
        originator="คคง.",
        subject="เวียนผลการอนุมัติรายงานทดสอบเสาเข็มให้ผู้ควบคุมงาน",
        age=0,
        due=3,
        about=("rfa",),
        assignees=(_REVIEWER,),
        acts=(
            DemoAction(_CONSULTANT, "start"),
            DemoAction(_REVIEWER, "respond", comment="แจ้งผู้ควบคุมงานหน้าท่าแล้ว"),
            DemoAction(_CONSULTANT, "complete"),
        ),
    ),
)

# One step for each document and for each thing done with it.
STEPS = sum(1 + len(script.acts) for script in WALKTHROUGH)
