"""Formats over HTTP: taken apart, shown before they are saved, their history, deleted while unused."""

from typing import Any

import pytest
import sqlalchemy as sa

from saraban.kit.db import Database
from saraban.numbering.series.models import NumberAudit
from tests.conftest import SignIn
from tests.numbering_requests import CONFIGS, GENERATE, PREVIEW, WHY, Project, read_project


@pytest.fixture
def db(app: Any) -> Database:
    return app.state.db  # type: ignore[no-any-return]


def memo(project: Project, template: str, **more: Any) -> dict[str, Any]:
    return {"projectPublicId": project.id, "correspondenceTypeCode": "MEMO", "template": template, **more}


class TestParse:
    async def test_tells_tokens_with_their_places_and_meanings(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")

        answer = await padmin.post(f"{CONFIGS}/parse", json={"template": "{ORIGINATOR}-{SEQ:4}"})

        body = answer.json()
        assert (answer.status_code, body["valid"], body["printsPeriod"]) == (200, True, False)
        assert [(one["start"], one["end"], one["kind"]) for one in body["pieces"]] == [
            (0, 12, "token"),
            (12, 13, "literal"),
            (13, 20, "token"),
        ]
        assert body["pieces"][0]["meaning"] == "Originator code"

    async def test_answers_for_what_is_wrong_too(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")

        answer = await padmin.post(
            f"{CONFIGS}/parse", json={"template": "{COLOUR}-{SEQ:4}"}, headers={"Accept-Language": "th"}
        )

        body = answer.json()
        assert (answer.status_code, body["valid"]) == (200, False)
        assert body["faults"] == ["ไม่รู้จัก {COLOUR} ที่ตำแหน่ง 1"]
        assert body["pieces"][0]["kind"] == "fault"


class TestPreview:
    async def test_shows_the_next_three_before_and_after(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        number = {**project.letter(), "correspondenceTypeCode": "MEMO"}
        await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))
        for _ in range(2):
            await padmin.post(GENERATE, json=number)

        answer = await padmin.post(f"{CONFIGS}/preview", json=memo(project, "{ORIGINATOR}-M-{SEQ:4}"))

        (example,) = answer.json()["examples"]
        assert example["before"] == ["คคง.-M-003", "คคง.-M-004", "คคง.-M-005"]
        assert example["after"] == ["คคง.-M-0003", "คคง.-M-0004", "คคง.-M-0005"]
        assert (example["lastNumber"], example["steppedOver"], example["refusal"]) == (2, 0, None)
        assert (await padmin.post(PREVIEW, json=number)).json()["documentNumber"] == "คคง.-M-003"

    async def test_shows_what_it_would_step_over_and_meet(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        number = {**project.letter(), "correspondenceTypeCode": "MEMO"}
        await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}/{SEQ:3}"))
        for _ in range(2):
            await padmin.post(GENERATE, json=number)
        other = memo(project, "{ORIGINATOR}/0{SEQ:2}") | {"correspondenceTypeCode": "RFI"}
        await padmin.put(CONFIGS, json=other)
        await padmin.post(GENERATE, json=number | {"correspondenceTypeCode": "RFI"})  # takes 003, after 001 and 002

        answer = await padmin.post(f"{CONFIGS}/preview", json=other)

        body = answer.json()
        assert body["examples"][0]["after"][0] == "คคง./004"
        assert [one["code"] for one in body["warnings"]] == ["FORMATS_CAN_MEET"]

    async def test_shows_why_a_format_could_print_none(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:1}"))
        number = {**project.letter(), "correspondenceTypeCode": "MEMO"}
        for _ in range(8):
            await padmin.post(GENERATE, json=number)

        refusing = memo(project, "{ORIGINATOR}-M-{SEQ:1}", overflow="refuse")
        exhausted = await padmin.post(f"{CONFIGS}/preview", json=refusing)
        lacking = await padmin.post(f"{CONFIGS}/preview", json=memo(project, "{RFA_TYPE}-M-{SEQ:1}"))

        assert exhausted.json()["examples"][0]["refusal"]
        assert "{RFA_TYPE}" in lacking.json()["examples"][0]["refusal"]

    async def test_gives_an_rfa_a_recipient_and_a_drawing_a_category(self, signed_in: SignIn) -> None:
        padmin, admin = await signed_in("padmin"), await signed_in("admin")
        project = await read_project(padmin)
        contract = next(iter(project.contracts.values()))
        request = {"correspondenceTypeCode": "RFA", "rfaTypeCode": "SDW", "disciplineCode": "STR"}
        drawn = await admin.post(GENERATE, json=project.letter() | request | {"contractPublicId": contract})
        rfa = memo(project, "{ORIGINATOR}/{RECIPIENT}-{SEQ:3}") | {"correspondenceTypeCode": "RFA"}
        drawing = memo(project, "{CATEGORY}-{SEQ:3}") | {"correspondenceTypeCode": "DRAWING"}

        answers = [await padmin.post(f"{CONFIGS}/preview", json=body) for body in (rfa, drawing)]

        assert drawn.status_code == 201
        for answer in answers:
            (example,) = answer.json()["examples"]
            assert (len(example["before"]), len(example["after"]), example["refusal"]) == (3, 3, None)

    async def test_takes_any_parties_before_the_first_number(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)

        answer = await padmin.post(f"{CONFIGS}/preview", json=memo(project, "{ORIGINATOR}-{MM}-{YY:B.E.}-{SEQ:2}"))

        (example,) = answer.json()["examples"]
        assert len(example["after"]) == 3
        assert example["after"][0].endswith("-01")

    async def test_of_a_types_first_format_compares_with_the_projects_default(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        default = memo(project, "{ORIGINATOR}.{SEQ:5}", reason=WHY) | {"correspondenceTypeCode": None}
        await padmin.put(CONFIGS, json=default)
        await padmin.post(GENERATE, json={**project.letter(), "correspondenceTypeCode": "MEMO"})

        answer = await padmin.post(f"{CONFIGS}/preview", json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))

        (example,) = answer.json()["examples"]
        assert (example["before"][0], example["after"][0]) == ("คคง..00002", "คคง.-M-001")

    async def test_refuses_what_saving_would_refuse(self, signed_in: SignIn) -> None:
        padmin, viewer = await signed_in("padmin"), await signed_in("viewer")
        project = await read_project(padmin)

        answers = [
            await padmin.post(f"{CONFIGS}/preview", json=memo(project, "{COLOUR}")),
            await padmin.post(f"{CONFIGS}/preview", json=memo(project, "{SEQ:4}-{MM}")),
            await viewer.post(f"{CONFIGS}/preview", json=memo(project, "{SEQ:4}")),
        ]

        assert [answer.status_code for answer in answers] == [422, 422, 403]
        assert answers[1].json()["errors"][0]["code"] == "month_without_year"


class TestPeriods:
    async def test_that_would_be_printed_again_are_refused(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)

        alone = await padmin.put(CONFIGS, json=memo(project, "{SEQ:4}-{MM}"))
        counting_on = await padmin.put(CONFIGS, json=memo(project, "{SEQ:4}-{MM}", resetSequenceYearly=False))

        assert (alone.status_code, counting_on.status_code) == (422, 200)
        assert alone.json()["errors"][0]["pointer"] == "/template"


class TestChange:
    @pytest.mark.parametrize(
        ("before", "counts_on", "after", "resets"),
        [
            ("{SEQ:4}/{YEAR:B.E.}", True, "{SEQ:5}/{YEAR:B.E.}", False),
            ("{SEQ:4}/{YEAR:B.E.}", False, "{SEQ:5}/{YY:B.E.}", True),
            ("{SEQ:4}", False, "{SEQ:4}/{YEAR:B.E.}", True),
            ("{SEQ:4}/{YEAR:B.E.}", False, "{SEQ:4}", False),
            ("{SEQ:4}/{YEAR:B.E.}", True, "{SEQ:4}", False),
        ],
    )
    async def test_of_the_template_keeps_counting_on_where_that_was_said(
        self, signed_in: SignIn, *, before: str, counts_on: bool, after: str, resets: bool
    ) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        flag = {"resetSequenceYearly": False} if counts_on else {}
        saved = (await padmin.put(CONFIGS, json=memo(project, before) | flag)).json()

        changed = await padmin.put(f"{CONFIGS}/{saved['publicId']}", json={"template": after, "reason": WHY})

        assert (changed.status_code, changed.json()["resetSequenceYearly"]) == (200, resets)


class TestHistory:
    async def test_tells_who_changed_what_and_why(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))).json()
        address = f"{CONFIGS}/{saved['publicId']}"
        await padmin.put(address, json={"template": "{ORIGINATOR}-M-{SEQ:4}", "reason": WHY})

        items = (await padmin.get(f"{address}/history")).json()["items"]

        assert [(one["version"], one["template"]) for one in items] == [
            (2, "{ORIGINATOR}-M-{SEQ:4}"),
            (1, "{ORIGINATOR}-M-{SEQ:3}"),
        ]
        assert (items[0]["reason"], items[0]["username"]) == (WHY, "padmin")

    async def test_begins_with_what_stood_there_before_changes_were_recorded(
        self, db: Database, signed_in: SignIn
    ) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))).json()
        address = f"{CONFIGS}/{saved['publicId']}"
        async with db.engine.begin() as connection:  # formats older than the history have no row of their beginning
            await connection.execute(sa.update(NumberAudit).values(format_uuid=None))
        (alone,) = (await padmin.get(f"{address}/history")).json()["items"]
        await padmin.put(address, json={"template": "{ORIGINATOR}-M-{SEQ:4}", "reason": WHY})

        items = (await padmin.get(f"{address}/history")).json()["items"]

        assert (alone["template"], alone["version"], alone["username"]) == ("{ORIGINATOR}-M-{SEQ:3}", 1, None)
        assert [(one["version"], one["template"], one["username"]) for one in items] == [
            (2, "{ORIGINATOR}-M-{SEQ:4}", "padmin"),
            (1, "{ORIGINATOR}-M-{SEQ:3}", None),
        ]

    async def test_asks_for_the_reason_of_a_change(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{SEQ:3}"))).json()

        answers = [
            await padmin.put(f"{CONFIGS}/{saved['publicId']}", json={"template": "{SEQ:4}"}),
            await padmin.put(CONFIGS, json=memo(project, "{SEQ:4}")),
        ]

        assert [answer.status_code for answer in answers] == [422, 422]
        assert [answer.json()["errors"][0]["pointer"] for answer in answers] == ["/reason", "/reason"]


class TestDelete:
    async def test_takes_away_what_printed_nothing(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))).json()
        number = {**project.letter(), "correspondenceTypeCode": "MEMO"}

        gone = await padmin.delete(f"{CONFIGS}/{saved['publicId']}", params={"reason": WHY})
        drawn = await padmin.post(PREVIEW, json=number)

        assert gone.status_code == 204
        assert (await padmin.get(f"{CONFIGS}/{saved['publicId']}")).status_code == 404
        assert drawn.json()["documentNumber"].startswith("คคง.-ผรม.1-0001-")  # the project's default again

    async def test_keeps_what_printed_a_number_and_names_it(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))).json()
        await padmin.post(GENERATE, json={**project.letter(), "correspondenceTypeCode": "MEMO"})

        answer = await padmin.delete(f"{CONFIGS}/{saved['publicId']}", params={"reason": WHY})

        assert (answer.status_code, answer.json()["code"]) == (409, "FORMAT_IN_USE")
        assert "คคง.-M-001" in answer.json()["userMessage"]

    async def test_remembers_what_an_earlier_version_printed(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))).json()
        address = f"{CONFIGS}/{saved['publicId']}"
        await padmin.post(GENERATE, json={**project.letter(), "correspondenceTypeCode": "MEMO"})
        await padmin.put(address, json={"template": "{ORIGINATOR}-M-{SEQ:4}", "reason": WHY})

        answer = await padmin.delete(address, params={"reason": WHY})

        assert (answer.status_code, answer.json()["code"]) == (409, "FORMAT_IN_USE")

    async def test_is_for_those_who_run_the_project_and_needs_a_reason(self, signed_in: SignIn) -> None:
        padmin, viewer = await signed_in("padmin"), await signed_in("viewer")
        project = await read_project(padmin)
        saved = (await padmin.put(CONFIGS, json=memo(project, "{ORIGINATOR}-M-{SEQ:3}"))).json()

        answers = [
            await viewer.delete(f"{CONFIGS}/{saved['publicId']}", params={"reason": WHY}),
            await padmin.delete(f"{CONFIGS}/{saved['publicId']}"),
            await padmin.delete(f"{CONFIGS}/{saved['publicId']}", params={"reason": "x"}),
        ]

        assert [answer.status_code for answer in answers] == [404, 422, 422]


class TestNarrowed:
    async def test_numbers_the_documents_it_names_and_no_others(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        materials = transmittal(project, "{ORIGINATOR}-MAT-{SEQ:3}", subTypeCode="MAT")
        structure = transmittal(project, "{ORIGINATOR}-MAT-STR-{SEQ:3}", subTypeCode="MAT", disciplineCode="STR")
        saved = [await admin.put(CONFIGS, json=body) for body in (materials, structure)]

        numbers = []
        for codes in ({"subTypeCode": "SHP"}, {"subTypeCode": "MAT"}, {"subTypeCode": "MAT", "disciplineCode": "STR"}):
            answer = await admin.post(GENERATE, json=sent(project) | codes)
            numbers.append(answer.json()["documentNumber"])

        assert [answer.status_code for answer in saved] == [200, 200]
        assert (saved[1].json()["subTypeCode"], saved[1].json()["rfaTypeCode"]) == ("MAT", None)
        assert numbers[0].startswith("คคง.-ผรม.1-12-0001-")
        assert numbers[1:] == ["คคง.-MAT-001", "คคง.-MAT-STR-001"]

    async def test_is_followed_by_a_server_that_has_drawn_already(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        number = sent(project) | {"subTypeCode": "MAT"}
        before = await admin.post(GENERATE, json=number)
        saved = await admin.put(CONFIGS, json=transmittal(project, "{ORIGINATOR}-MAT-{SEQ:3}", subTypeCode="MAT"))
        during = await admin.post(GENERATE, json=number)
        address = f"{CONFIGS}/{saved.json()['publicId']}"

        assert before.json()["documentNumber"].startswith("คคง.-ผรม.1-11-0001-")
        assert during.json()["documentNumber"] == "คคง.-MAT-001"
        assert (await admin.delete(address, params={"reason": WHY})).status_code == 409

    async def test_stands_beside_the_formats_that_name_less(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        narrowed = transmittal(project, "{ORIGINATOR}-MAT-{SEQ:3}", subTypeCode="MAT")
        first = await admin.put(CONFIGS, json=narrowed)
        again = await admin.put(CONFIGS, json=narrowed | {"template": "{ORIGINATOR}-MAT-{SEQ:4}", "reason": WHY})

        listed = (await admin.get(CONFIGS, params={"projectPublicId": project.id})).json()["items"]

        transmittals = [one for one in listed if one["correspondenceTypeCode"] == "TRANSMITTAL"]
        assert again.json()["publicId"] == first.json()["publicId"]
        assert {one["subTypeCode"] for one in transmittals} == {None, "MAT"}

    @pytest.mark.parametrize(
        ("fields", "pointer", "code"),
        [
            ({"subTypeCode": "NONE"}, "/subTypeCode", "unknown"),
            ({"disciplineCode": "NONE"}, "/disciplineCode", "unknown"),
            ({"correspondenceTypeCode": "RFA", "rfaTypeCode": "NONE"}, "/rfaTypeCode", "unknown"),
            ({"rfaTypeCode": "SDW"}, "/rfaTypeCode", "not_of_this_type"),
            ({"correspondenceTypeCode": "LETTER", "subTypeCode": "MAT"}, "/subTypeCode", "unknown"),
            ({"correspondenceTypeCode": None, "disciplineCode": "STR"}, "/correspondenceTypeCode", "required"),
        ],
    )
    async def test_is_refused_for_a_code_that_the_type_or_the_project_has_not(
        self, signed_in: SignIn, *, fields: dict[str, Any], pointer: str, code: str
    ) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        body = transmittal(project, "{ORIGINATOR}-X-{SEQ:3}") | fields

        answers = [await padmin.put(CONFIGS, json=body), await padmin.post(f"{CONFIGS}/preview", json=body)]

        for answer in answers:
            assert answer.status_code == 422
            assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [(pointer, code)]

    async def test_warns_of_those_it_can_meet_by_what_it_is_narrowed_to(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        await padmin.put(CONFIGS, json=transmittal(project, "T-{SUB_TYPE}-{SEQ:4}", subTypeCode="MAT"))

        apart = await padmin.put(CONFIGS, json=transmittal(project, "T-12-{SEQ:5}", subTypeCode="SHP"))
        meeting = await padmin.put(CONFIGS, json=transmittal(project, "T-11-{SEQ:5}", subTypeCode="DWG"))

        assert apart.json()["warnings"] == []
        (warning,) = meeting.json()["warnings"]
        assert "TRANSMITTAL, sub type MAT" in warning["message"]

    async def test_is_shown_with_the_numbers_of_its_own_documents(self, signed_in: SignIn) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        for code in ("SHP", "MAT"):
            await admin.post(GENERATE, json=sent(project) | {"subTypeCode": code})
        body = transmittal(project, "{ORIGINATOR}-MAT-{SEQ:3}", subTypeCode="MAT")

        fresh = (await admin.post(f"{CONFIGS}/preview", json=body)).json()["examples"]
        await admin.put(CONFIGS, json=body)
        whole = transmittal(project, "{ORIGINATOR}/{SUB_TYPE}/{SEQ:3}")
        others = (await admin.post(f"{CONFIGS}/preview", json=whole)).json()["examples"]

        assert [one["after"][0] for one in fresh] == ["คคง.-MAT-001"]
        assert fresh[0]["before"][0].startswith("คคง.-ผรม.1-11-0002-")
        assert [one["after"][0] for one in others] == ["คคง./12/001"]


def transmittal(project: Project, template: str, **more: Any) -> dict[str, Any]:
    return memo(project, template) | {"correspondenceTypeCode": "TRANSMITTAL"} | more


def sent(project: Project) -> dict[str, Any]:
    """A request for a transmittal's number."""
    return {
        **project.letter(),
        "correspondenceTypeCode": "TRANSMITTAL",
        "contractPublicId": project.contracts["LCBP3-C2"],
    }
