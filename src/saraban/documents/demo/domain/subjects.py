"""Subjects of generated documents, as they are written on a site of a port: what is asked, of which thing, where, and how much."""

from collections.abc import Mapping, Sequence

_OPENINGS: Mapping[str, Sequence[str]] = {
    "rfa": ("ขออนุมัติ", "ขอความเห็นชอบ", "ขออนุมัติใช้", "ขอส่งเพื่อพิจารณา"),
    "correspondence": ("แจ้ง", "ขอหารือเรื่อง", "ขอข้อมูลเพิ่มเติมเกี่ยวกับ", "ติดตาม", "ขอให้ดำเนินการแก้ไข", "รายงาน"),
    "transmittal": ("นำส่ง", "ส่งมอบ", "นำส่งเพิ่มเติม"),
    "circulation": ("เวียนเพื่อทราบ", "เวียนเพื่อดำเนินการ", "เวียนขอความเห็น"),
}
_WORK = (
    "แบบขยายเหล็กเสริมเสาเข็ม",
    "รายการคำนวณคานรางปั้นจั่น",
    "ผลทดสอบกำลังอัดคอนกรีต",
    "แผนงานเทคอนกรีตพื้นลาน",
    "รายงานผลเจาะสำรวจชั้นดิน",
    "การติดตั้งยางกันกระแทกเรือ",
    "แนวท่อระบายน้ำฝน",
    "วัสดุถมหลังท่า",
    "ตู้สวิตช์แรงสูง",
    "ระบบดับเพลิง",
    "งานปูแอสฟัลต์ผิวทาง",
    "ผลตรวจวัดคุณภาพอากาศ",
    "แผนจัดการจราจรระหว่างก่อสร้าง",
    "การเบิกจ่ายงวดงาน",
    "งานเปลี่ยนแปลงตามคำสั่ง",
    "ผลสำรวจระดับท้องทะเล",
)
# What an RFA is about agrees with its type.
_BY_TYPE: Mapping[str, Sequence[str]] = {
    "SDW": ("แบบขยายเหล็กเสริมเสาเข็ม", "แบบขยายคานทางเดินรางปั้นจั่น", "แบบขยายบ่อพักสายไฟฟ้า", "แบบขยายโครงหลังคาเหล็ก"),
    "MST": ("วิธีการตอกเสาเข็มท่อเหล็ก", "วิธีการเทคอนกรีตใต้น้ำ", "วิธีการติดตั้งคานสำเร็จรูป", "วิธีการบดอัดวัสดุถม"),
    "MAT": ("วัสดุเหล็กเสริม SD40", "วัสดุแผ่นใยสังเคราะห์", "วัสดุท่อ HDPE", "วัสดุยางกันกระแทกเรือ"),
}
_PLACES = (
    *(f"ลานวางตู้สินค้า {letter}" for letter in "ABCDEF"),
    *(f"คันหินกันคลื่น ช่วง กม. {km}+{metre:03}" for km in range(3) for metre in (0, 200, 500, 850)),
    *(f"หน้าท่าช่วงที่ {number}" for number in range(1, 9)),
    "อาคารสถานีไฟฟ้าย่อยที่ 2",
    "อาคารสำนักงานท่าเรือ",
    "ถนนทางเข้าท่าเรือ",
    "สะพานข้ามคลองระบายน้ำ",
)
_EXTENTS = ("ครั้งที่ {n}", "แผ่นที่ {n}", "ชุดที่ {n}", "งวดที่ {n}", "ตำแหน่งที่ {n}")


def subject(kind: str, code: str | None, ordinal: int) -> str:
    """
    Return the subject of one document; the same for the same ordinal.

    :param kind: of which register it is
    :param code: its RFA type
    """
    openings, things = _OPENINGS[kind], _BY_TYPE.get(code or "", _WORK)
    rest, opening = divmod(ordinal * 2_654_435_761 % (1 << 32), len(openings))
    rest, thing = divmod(rest, len(things))
    rest, place = divmod(rest, len(_PLACES))
    rest, extent = divmod(rest, len(_EXTENTS))
    amount = _EXTENTS[extent].format(n=1 + rest % 240)
    return f"{openings[opening]}{things[thing]} {_PLACES[place]} {amount}"
