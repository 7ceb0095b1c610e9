"""A project file in which every key stands, and the one of the demo."""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.service.first_run import SHIPPED_AT
from saraban.setup import service as setup
from tests.factories.contexts import context

FULL = """\
organizations:
- {code: ทช., name: กรมทางหลวงชนบท}
- {code: ที่ปรึกษา, name: บริษัทที่ปรึกษา, nameEn: Consultant}
- {code: ผรม., name: ผู้รับเหมา}
correspondenceTypes:
- {code: SITE, name: คำสั่งหน้างาน}
project: {code: BRIDGE, name: สะพานข้ามแม่น้ำ, nameEn: River bridge}
members:
- {organization: ทช., role: OWNER}
- {organization: ที่ปรึกษา, role: CONSULTANT}
- {organization: ผรม., role: CONTRACTOR}
contracts:
- code: BR-1
  name: งานสะพาน
  nameEn: Bridge works
  startDate: 2026-01-05
  parties:
    - {organization: ทช., role: OWNER}
    - {organization: ที่ปรึกษา, role: CONSULTANT}
    - {organization: ผรม., role: CONTRACTOR}
  disciplines:
    - {code: STR, nameTh: โครงสร้าง, nameEn: Structure}
    - {code: ROD, nameTh: ถนน, nameEn: Road}
  rfaTypes:
    - {code: SDW, nameTh: แบบขยาย, nameEn: Shop Drawing}
  subTypes:
    - {type: TRANSMITTAL, code: MAT, number: 011, nameTh: วัสดุ, nameEn: Material}
numberFormats:
- {template: "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"}
- {type: RFA, template: "{PROJECT}-RFA-{DISCIPLINE}-{SEQ:4}-{REV}", description: ใบขออนุมัติ}
- {type: RFA, rfaType: SDW, template: "{PROJECT}-SD-{SEQ:5}-{YEAR:A.D.}", resetYearly: false, overflow: refuse}
- {type: SITE, template: "{PROJECT}-SITE-{SEQ:4}"}
assignments:
- {workflow: RFA_APPROVAL, kind: RFA}
- {workflow: RFA_APPROVAL, kind: rfa, type: SDW}
calendar:
  weekend: [SUN]
  days:
    - {date: 2026-12-07, kind: holiday, name: ชดเชยวันพ่อ}
drawingRegisters:
- {kind: contract, revisionScheme: A, takesAddenda: true}
- {kind: shop, revisionScheme: "P01,C01", numberPattern: BR-@@-###, takesAddenda: false}
- {kind: asbuilt, revisionScheme: 0}
reviewTeams:
- code: DESIGN
  name: ทีมตรวจแบบ
  members:
    - {person: somchai, discipline: STR}
people:
- username: somchai
  email: somchai@example.org
  firstName: สมชาย
  lastName: ใจดี
  organization: ที่ปรึกษา
  roles: [{role: Document Control, level: Organization, place: ที่ปรึกษา}]
- username: malee
  email: malee@example.org
  firstName: มาลี
  lastName: ศรีสุข
  organization: ทช.
  roles: [{role: Contract Admin, level: Contract, place: BR-1}]
"""


async def load_demo(session: AsyncSession) -> None:
    """Make the demo project of the file that ships, without its accounts."""
    caller = await identity.system_caller(session)
    await setup.apply(context(caller=caller, now=SHIPPED_AT, address=""), session, content=setup.demo())


LISTS = """
organizations: [{code: O, name: องค์กร}]
project: {code: L, name: รายการ, fileKinds: "PDF,.dwg"}
members: [{organization: O, role: OWNER}]
contracts:
  - code: L-1
    name: สัญญา
    disciplines: [{code: B, nameTh: ข, nameEn: B}, {code: A, nameTh: ก, nameEn: A}]
    subTypes: [{type: LETTER, code: S, number: '1', nameTh: ส}]
tags: [{code: URGENT, nameTh: ด่วน, nameEn: Urgent, color: red}, {code: LATE, nameTh: ล่าช้า}]
contractDrawingVolumes: [{code: V1, nameTh: เล่ม 1}]
contractDrawingCategories: [{code: ST, nameTh: โครงสร้าง}, {code: AR, nameTh: สถาปัตยกรรม}]
contractDrawingSubCategories: [{code: PILE, nameTh: เสาเข็ม, categories: "ST,AR"}]
shopDrawingMainCategories: [{code: TER, nameTh: ท่าเทียบเรือ, nameEn: Terminal}]
"""
