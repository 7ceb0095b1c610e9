"""Events in, notices out."""

from typing import Any
from uuid import UUID

import pytest

from saraban.notifications.domain.notices import TEMPLATES, Audience, notices, render_notice

ACTOR, DOCUMENT = UUID(int=1), UUID(int=2)
CONSULTANT, CONTRACTOR, SOMEBODY = UUID(int=3), UUID(int=4), UUID(int=5)


def transition(**changes: Any) -> dict[str, Any]:
    return {
        "documentPublicId": str(DOCUMENT),
        "documentKind": "rfa",
        "number": "LCBP3-C2-RFA-TER-RPT-0001-A",
        "title": "Soil report",
        "to": "consultant_review",
        "stateLabel": {"th": "ที่ปรึกษาตรวจ", "en": "Consultant review"},
        "action": "submit",
        "actionLabel": {"th": "ส่ง", "en": "Submit"},
        "actor": {"publicId": str(ACTOR), "displayName": "สมชาย"},
        "comment": None,
        "terminal": False,
        "waiting": {"organizations": [{"publicId": str(CONSULTANT), "code": "คคง."}], "users": []},
        "notify": {"organizations": [], "users": []},
    } | changes


class TestNotices:
    def test_tells_those_who_have_to_act_now(self) -> None:
        (notice,) = notices("workflow.transitioned", transition())

        assert notice.template == "waiting"
        assert notice.audience == Audience(organizations=frozenset({CONSULTANT}), acts=True)
        assert (notice.entity_type, notice.entity_id, notice.actor) == ("rfa", str(DOCUMENT), ACTOR)

    def test_tells_whoever_the_workflow_names_after_those(self) -> None:
        told = {"organizations": [{"publicId": str(CONTRACTOR), "code": "ผรม.1"}], "users": [str(SOMEBODY)]}

        first, second = notices("workflow.transitioned", transition(notify=told, comment="ขาดแบบ"))

        assert first.template == "waiting"
        assert second.template == "moved_with_comment"
        assert second.audience == Audience(frozenset({CONTRACTOR}), frozenset({SOMEBODY}))

    def test_says_nothing_to_nobody_at_the_end(self) -> None:
        nobody = {"organizations": [], "users": []}

        assert notices("workflow.transitioned", transition(terminal=True, waiting=nobody)) == []

    @pytest.mark.parametrize(
        ("name", "template"),
        [("document.created", "created"), ("document.revised", "revised"), ("document.cancelled", "cancelled")],
    )
    def test_knows_the_events_of_documents(self, name: str, template: str) -> None:
        payload = {
            "documentPublicId": str(DOCUMENT),
            "kind": "rfa",
            "subject": "Soil report",
            "documentNumber": "N-1",
            "actorPublicId": str(ACTOR),
            "revision": "B",
            "reason": "Wrong type",
        }

        (notice,) = notices(name, payload)

        assert notice.template == template
        assert notice.actor == ACTOR

    def test_passes_over_events_of_others(self) -> None:
        assert notices("number.reserved", {}) == []


class TestRendered:
    def test_speaks_both_languages(self) -> None:
        (notice,) = notices("workflow.transitioned", transition())

        assert render_notice(notice.template, notice.values, language="en") == (
            "LCBP3-C2-RFA-TER-RPT-0001-A awaits your action",
            "“Soil report” now has the status Consultant review.",
        )
        assert render_notice(notice.template, notice.values, language="th")[1] == "“Soil report” อยู่ในสถานะ ที่ปรึกษาตรวจ"

    def test_prints_a_subject_that_looks_like_a_template_as_it_is(self) -> None:
        _, message = render_notice("waiting", {"subject": "{state} $& {number}", "state": "S"}, language="en")

        assert message == "“{state} $& {number}” now has the status S."

    @pytest.mark.parametrize("template", TEMPLATES)
    @pytest.mark.parametrize("language", ["th", "en"])
    def test_never_leaves_a_place_open(self, template: str, language: str) -> None:
        title, message = render_notice(template, {"number": "N" * 400}, language=language)

        assert "{" not in title + message
        assert len(title) <= 255
