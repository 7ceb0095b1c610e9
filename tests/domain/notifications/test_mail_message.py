"""What e-mail says, for each template in both languages."""

from datetime import UTC, date, datetime
from html import unescape
from uuid import UUID

import pytest

from saraban.notifications.domain.mail_message import SUBJECT_LENGTH, MailItem, MailMessage, compose
from saraban.notifications.domain.notices import TEMPLATES, render_notice

KEY = UUID("019505a1-7c3e-7000-8000-abc123def456")
LINK = "https://dms.example.org/rfas/1?a=1&b=2"
VALUES = {
    "number": "คคง.-สคฉ.3-0001-2569",
    "subject": "รายงานดิน <ชั้น 2>",
    "state": {"th": "ที่ปรึกษาตรวจ", "en": "Consultant review"},
    "action": {"th": "ส่ง", "en": "Submit"},
    "actor": "สมชาย",
    "comment": "โปรดพิจารณา",
    "revision": "B",
    "reason": "ออกซ้ำ",
    "days": 3,
    "due": {"th": "27 พ.ย. 2569", "en": "27 Nov 2026"},
    "title": "หัวเรื่อง",
    "message": "ข้อความ",
}


def letter(*lines: MailItem, language: str = "th", digest: bool = False) -> MailMessage:
    return compose(
        key=KEY,
        to="somchai@example.org",
        name="สมชาย ใจดี",
        language=language,
        lines=lines,
        digest=digest,
        choices_link="",
        at=datetime(2026, 11, 20, tzinfo=UTC),
    )


class TestCompose:
    @pytest.mark.parametrize("language", ["th", "en"])
    @pytest.mark.parametrize("template", TEMPLATES)
    def test_says_each_template_whole_in_both_forms(self, template: str, language: str) -> None:
        title, message = render_notice(template, VALUES, language=language)
        written = letter(MailItem(title, message, "N-1", LINK), language=language)

        assert written.subject == f"[{'สารบรรณ' if language == 'th' else 'Saraban'}] {title}"
        assert title in written.text
        assert message in written.text
        assert LINK in written.text
        assert "<ชั้น 2>" not in written.html
        assert 'href="https://dms.example.org/rfas/1?a=1&amp;b=2"' in written.html
        assert f'<html lang="{language}">' in written.html
        assert "{" not in written.text + written.html

    def test_has_no_link_where_there_is_no_address(self) -> None:
        written = letter(MailItem("a", "b", "N-1", ""))

        assert "href" not in written.html

    @pytest.mark.parametrize(
        ("language", "facts"),
        [
            ("th", "กำหนดตอบ: 1 ธ.ค. 2569 · จาก: คคง. · โครงการ: &lt;P&gt;"),
            ("en", "Due date: 1 Dec 2026 · From: คคง. · Project: &lt;P&gt;"),
        ],
    )
    def test_names_due_date_sender_and_project_in_both_forms(self, language: str, facts: str) -> None:
        line = MailItem("a", "b", "N-1", "", due=date(2026, 12, 1), sender="คคง.", project="<P>")
        written = letter(line, language=language)

        assert facts in written.html
        assert unescape(facts) in written.text
        assert "·" not in letter(MailItem("a", "b", "N-1", "")).text

    def test_belongs_to_the_thread_of_its_only_document(self) -> None:
        first, second = (MailItem("a", "b", "N-1", "", entity_id=one) for one in ("1", "2"))

        assert [letter(*lines).thread for lines in ((first,), (first, first), (first, second))] == ["1", "1", ""]

    def test_names_the_document_that_changed_several_times(self) -> None:
        lines = [MailItem("a", "b", "N-1", ""), MailItem("c", "d", "N-1", "")]

        assert letter(*lines).subject == "[สารบรรณ] เอกสาร N-1 มี 2 การเปลี่ยนแปลง"
        assert letter(*lines, language="en").subject == "[Saraban] N-1: 2 changes"
        assert letter(*lines, digest=True, language="en").subject == "[Saraban] Your daily digest: 2 notifications"

    def test_has_a_subject_of_one_short_line(self) -> None:
        written = letter(MailItem("ก\r\nBcc: x\t" + "ข" * 300, "b", "N-1", ""))

        assert len(written.subject) == SUBJECT_LENGTH
        assert written.subject.startswith("[สารบรรณ] ก Bcc: x ข")
        assert written.subject.isprintable()
