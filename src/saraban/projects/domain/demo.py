"""The demo project: contract 2 of a port, with the codes its people really use."""

from dataclasses import dataclass

Named = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class DemoContract:
    code: str
    name: str
    parties: tuple[tuple[str, str], ...]
    disciplines: tuple[Named, ...]
    rfa_types: tuple[Named, ...]
    # Type, code, name, number.
    sub_types: tuple[tuple[str, str, str, str], ...]


PROJECT = ("LCBP3-C2", "ท่าเรือแหลมฉบัง ระยะที่ 3 ส่วนที่ 2: อาคาร ท่าเทียบเรือ ถนน และสาธารณูปโภค")

ORGANIZATIONS = (
    ("กทท.", "การท่าเรือแห่งประเทศไทย", "OWNER"),
    ("สคฉ.3", "สำนักงานโครงการพัฒนาท่าเรือแหลมฉบัง ระยะที่ 3", "OWNER"),
    ("คคง.", "ที่ปรึกษาควบคุมการก่อสร้าง", "CONSULTANT"),
    ("ผรม.1", "ผู้รับเหมางานทางทะเล", "CONTRACTOR"),
    ("ผรม.2", "ผู้รับเหมางานก่อสร้าง", "CONTRACTOR"),
)

_DISCIPLINES: tuple[Named, ...] = (
    ("GEN", "บริหารโครงการ", "Project Management"),
    ("COD", "สัญญาและข้อพิพาท", "Contracts and Disputes"),
    ("QSB", "สำรวจปริมาณและควบคุมงบประมาณ", "Quantity Survey and Budget Control"),
    ("PPM", "แผนงานและความก้าวหน้า", "Planning and Progress"),
    ("ODC", "ควบคุมเอกสาร", "Document Control Office"),
    ("LAW", "กฎหมาย", "Law"),
    ("TRF", "จราจร", "Traffic"),
    ("BIM", "แบบจำลองสารสนเทศอาคาร", "Building Information Modeling"),
    ("SRV", "สำรวจ", "Survey"),
    ("SFT", "ความปลอดภัย", "Safety"),
    ("BST", "โครงสร้างอาคาร", "Building Structure"),
    ("UTL", "สาธารณูปโภค", "Public Utilities"),
    ("EPW", "ไฟฟ้ากำลัง", "Electrical Power"),
    ("ECM", "ไฟฟ้าสื่อสาร", "Electrical Communication"),
    ("ENV", "สิ่งแวดล้อม", "Environment"),
    ("AQV", "คุณภาพอากาศและความสั่นสะเทือน", "Air Quality and Vibration"),
    ("WAB", "คุณภาพน้ำและชีววิทยาทางน้ำ", "Water Quality and Aquatic Biology"),
    ("ONS", "วิศวกรรมชายฝั่ง", "Coastal Engineering"),
    ("PPR", "มวลชนและประชาสัมพันธ์", "Public Relations"),
    ("OFW", "ก่อสร้างทางทะเล", "Marine Construction"),
    ("EXR", "ขุดและถมทะเล", "Excavation and Reclamation"),
    ("GEO", "ธรณีเทคนิค", "Geotechnical"),
    ("CRW", "โยธา งานหิน", "Civil Rock Works"),
    ("DVW", "นักประดาน้ำ", "Diving"),
    ("MTT", "ทดสอบวัสดุ", "Materials Testing"),
    ("ARC", "สถาปัตยกรรม", "Architecture"),
    ("STR", "โครงสร้าง", "Structure"),
    ("SAN", "สุขาภิบาล", "Sanitation"),
    ("DRA", "ระบายน้ำ", "Drainage"),
    ("TER", "ท่าเทียบเรือ", "Terminal"),
    ("BUD", "อาคาร", "Building"),
    ("ROW", "ถนนและสะพาน", "Road and Bridge"),
    ("MEC", "เครื่องกล", "Mechanical"),
    ("OTH", "อื่น ๆ", "Other"),
)

_RFA_TYPES: tuple[Named, ...] = (
    ("GEN", "ทั่วไป", "General"),
    ("CON", "สัญญา", "Contract"),
    ("INS", "ประกันภัยและหลักประกัน", "Insurance, Bond, Guarantee"),
    ("SCH", "แผนงาน", "Schedule and Program"),
    ("PMA", "การจ่ายเงินและประมาณการ", "Payment, Invoice, Retention, Estimate"),
    ("VRO", "งานเปลี่ยนแปลง", "Variation Request, Instruction, Order"),
    ("VEN", "ผู้ขาย", "Vendor"),
    ("WTY", "การรับประกันผลงาน", "Warranty"),
    ("DRW", "แบบก่อสร้าง", "Drawings"),
    ("DDW", "แบบร่าง", "Draft Drawing"),
    ("SDW", "แบบขยาย", "Shop Drawing"),
    ("ADW", "แบบสร้างจริง", "As Built Drawing"),
    ("DDS", "ข้อมูลการออกแบบ", "Design Data Submission"),
    ("DSN", "งานออกแบบ รายการคำนวณ คู่มือ", "Design, Calculation, Manual"),
    ("NDS", "ข้อมูลอื่นนอกงานออกแบบ", "Non-Design Data Submission"),
    ("PRD", "ระเบียบปฏิบัติ", "Procedure"),
    ("MST", "วิธีก่อสร้างหรือติดตั้ง", "Method Statement"),
    ("QMS", "เอกสารคุณภาพ", "Quality Document"),
    ("INR", "รายงานตรวจสอบ", "Inspection, Audit, Surveillance Report"),
    ("ITP", "แผนตรวจสอบและทดสอบ", "Inspection and Test Plan"),
    ("MAT", "วัสดุ อุปกรณ์ โรงงาน", "Materials, Equipment, Plant"),
    ("SPE", "ข้อกำหนด", "Specification"),
    ("MAN", "คู่มือ", "Manual"),
    ("CER", "ใบรับรอง", "Certificates"),
    ("SAR", "รายงานรอบหกเดือน", "Semi-Annual Report"),
    ("JSA", "วิเคราะห์งานเพื่อความปลอดภัย", "Job Safety Analysis"),
    ("MOM", "รายงานการประชุม", "Minutes of Meeting"),
    ("MPR", "รายงานความก้าวหน้าประจำเดือน", "Monthly Progress Report"),
    ("ICR", "รายงานอุบัติเหตุ", "Incident Report"),
    ("PRG", "ภาพความก้าวหน้างานก่อสร้าง", "Progress of Construction"),
    ("RPT", "รายงาน", "Report"),
    ("TNR", "รายงานการฝึกอบรม", "Training Report"),
)

_SUB_TYPES = (
    ("TRANSMITTAL", "MAT", "Material Approval", "11"),
    ("TRANSMITTAL", "SHP", "Shop Drawing Submittal", "12"),
    ("TRANSMITTAL", "DWG", "Document Approval", "13"),
    ("TRANSMITTAL", "GEN", "General", "21"),
    ("RFA", "MAT", "Material Approval", "21"),
    ("RFA", "SHP", "Shop Drawing Submittal", "22"),
    ("RFA", "DWG", "Document Approval", "23"),
    ("RFA", "MET", "Engineering Document Submittal", "24"),
)

# The second contract shares a few codes with the first, as real ones do: STR alone does not say whose it is.
CONTRACTS = (
    DemoContract(
        code="LCBP3-C2",
        name="สัญญางานอาคาร ท่าเทียบเรือ ถนน และสาธารณูปโภค",
        parties=(("กทท.", "Owner"), ("สคฉ.3", "Owner"), ("คคง.", "Consultant"), ("ผรม.2", "Contractor")),
        disciplines=_DISCIPLINES,
        rfa_types=_RFA_TYPES,
        sub_types=_SUB_TYPES,
    ),
    DemoContract(
        code="LCBP3-C2-M",
        name="สัญญางานทางทะเลและเครื่องหมายช่วยเดินเรือ",
        parties=(("กทท.", "Owner"), ("สคฉ.3", "Owner"), ("คคง.", "Consultant"), ("ผรม.1", "Contractor")),
        disciplines=(
            ("STR", "โครงสร้างทางทะเล", "Marine Structure"),
            ("GEO", "ธรณีเทคนิคใต้ทะเล", "Offshore Geotechnical"),
            ("NAV", "เครื่องหมายช่วยเดินเรือ", "Navigation Aids"),
            ("DVR", "นักประดาน้ำ", "Diving"),
        ),
        rfa_types=(
            ("SDW", "แบบขยาย", "Shop Drawing"),
            ("MST", "วิธีก่อสร้างหรือติดตั้ง", "Method Statement"),
            ("BM", "หมุดหลักฐาน", "Benchmark"),
        ),
        sub_types=(),
    ),
)
