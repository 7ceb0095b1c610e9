"""`/document-numbering` over HTTP: who may, what is refused, what is kept."""

from typing import Any

import httpx
import orjson
import pytest
import sqlalchemy as sa

from saraban.identity.models import User, UserAssignment
from saraban.kit.db import Database
from saraban.kit.idempotency import IdempotencyKey
from saraban.numbering.series.models import LedgerEntry, NumberCounter, NumberError
from tests.conftest import SignIn
from tests.numbering_requests import CONFIGS, GENERATE, PREVIEW, WHY, count, db, read_project

__all__ = ["db"]

ID = "019505a1-7c3e-7000-8000-abc123def456"


class TestGenerate:
    async def test_answers_the_number_its_sequence_year_and_template(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)

        answer = await client.post(GENERATE, json=project.letter())

        assert answer.status_code == 201
        body = answer.json()
        assert body.keys() == {"publicId", "documentNumber", "sequence", "year", "template"}
        assert body["documentNumber"] == f"คคง.-ผรม.1-0001-{body['year'] + 543}"
        assert (body["sequence"], body["template"]) == (1, "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}")

    async def test_gives_the_same_answer_for_the_same_key(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        headers = {"Idempotency-Key": "letter-1"}

        first = await client.post(GENERATE, json=project.letter(), headers=headers)
        second = await client.post(GENERATE, json=project.letter(), headers=headers)
        other = await client.post(GENERATE, json=project.letter(recipient="ผรม.2"), headers=headers)

        assert (first.status_code, first.json()) == (second.status_code, second.json())
        assert second.headers["Idempotent-Replay"] == "true"
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")

    async def test_is_repeated_to_nobody_who_may_not_see_it_any_more(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        headers = {"Idempotency-Key": "letter-1"}
        await client.post(GENERATE, json=project.letter(), headers=headers)
        async with db.writing() as session:
            left = sa.select(User.user_id).where(User.username == "dc.consultant").scalar_subquery()
            await session.execute(sa.delete(UserAssignment).where(UserAssignment.user_id == left))
            leaves = sa.update(User).where(User.username == "dc.consultant")
            await session.execute(leaves.values(primary_organization_id=None))

        again = await client.post(GENERATE, json=project.letter(), headers=headers)

        assert again.status_code == 404
        assert await count(db, LedgerEntry) == 1

    async def test_keeps_a_receipt_and_not_the_answer(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        drawn = await client.post(GENERATE, json=project.letter(), headers={"Idempotency-Key": "letter-1"})

        async with db.reading() as session:
            (kept,) = (await session.scalars(sa.select(IdempotencyKey))).all()

        assert (kept.resource_kind, str(kept.resource_uuid)) == ("number", drawn.json()["publicId"])
        assert orjson.loads(kept.outcome or "") == {"number": drawn.json()["documentNumber"]}

    async def test_keeps_two_users_keys_apart(self, signed_in: SignIn) -> None:
        consultant, tester = await signed_in("dc.consultant"), await signed_in("svc.loadtest")
        project = await read_project(consultant)
        headers = {"Idempotency-Key": "same"}

        first = await consultant.post(GENERATE, json=project.letter(), headers=headers)
        second = await tester.post(GENERATE, json=project.letter(), headers=headers)

        assert (first.json()["sequence"], second.json()["sequence"]) == (1, 2)

    @pytest.mark.parametrize("stated", [0, 543])
    async def test_takes_the_current_year_in_either_era(self, signed_in: SignIn, stated: int) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        year = (await client.post(PREVIEW, json=project.letter())).json()["year"]

        answer = await client.post(GENERATE, json=project.letter(year=year + stated))

        assert (answer.status_code, answer.json()["year"]) == (201, year)

    async def test_of_another_year_needs_the_permission_and_a_reason(self, signed_in: SignIn) -> None:
        consultant, admin = await signed_in("dc.consultant"), await signed_in("admin")
        project = await read_project(consultant)

        refused = await consultant.post(GENERATE, json=project.letter(year=2568))
        without = await admin.post(GENERATE, json=project.letter(year=2568))
        given = await admin.post(GENERATE, json=project.letter(year=2568, yearReason="Letter of last year."))

        assert refused.status_code == 403
        assert (without.status_code, without.json()["errors"][0]["pointer"]) == (422, "/yearReason")
        assert (given.status_code, given.json()["documentNumber"]) == (201, "คคง.-ผรม.1-0001-2568")

    async def test_is_refused_to_who_may_not_create_the_document(self, signed_in: SignIn, db: Database) -> None:
        viewer, contractor = await signed_in("viewer"), await signed_in("dc.contractor")
        project = await read_project(contractor)

        answers = [
            await viewer.post(GENERATE, json=project.letter()),
            await contractor.post(GENERATE, json=project.letter(originator="คคง.")),
        ]

        assert [answer.status_code for answer in answers] == [403, 403]
        assert await count(db, NumberError) == 2

    async def test_is_refused_in_the_name_of_somebody_elses_organization(self, signed_in: SignIn, db: Database) -> None:
        # The reviewer's role at the contract reaches the contractor's documents, and not the contractor's numbers.
        reviewer = await signed_in("reviewer.consultant")
        project = await read_project(reviewer)
        contract = {"contractPublicId": project.contracts["LCBP3-C2"]}

        others = await reviewer.post(GENERATE, json=project.letter("ผรม.2", "คคง.", **contract))
        own = await reviewer.post(GENERATE, json=project.letter("คคง.", "ผรม.2", **contract))

        assert (others.status_code, others.json()["code"]) == (403, "NOT_YOUR_ORGANIZATION")
        assert others.json()["errors"][0]["pointer"] == "/originatorOrganizationPublicId"
        assert own.status_code == 201
        assert await count(db, LedgerEntry) == 1

    @pytest.mark.parametrize("account", ["padmin", "admin", "svc.loadtest"])
    async def test_is_open_to_whoever_holds_the_project_or_acts_for_the_originator(
        self, signed_in: SignIn, account: str
    ) -> None:
        client = await signed_in(account)
        project = await read_project(client)

        assert (await client.post(GENERATE, json=project.letter("ผรม.2", "คคง."))).status_code == 201

    async def test_is_refused_to_strangers(self, client: httpx.AsyncClient) -> None:
        answer = await client.post(GENERATE, json={})

        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")

    async def test_names_the_field_that_is_wrong_and_touches_nothing(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("admin")
        project = await read_project(client)
        counters = await count(db, NumberCounter)
        numbers = await count(db, LedgerEntry)
        for change, pointer in [
            ({"projectPublicId": ID}, "/projectPublicId"),
            ({"projectPublicId": "x"}, "/projectPublicId"),
            ({"projectPublicId": 1}, "/projectPublicId"),
            ({"projectPublicId": None}, "/projectPublicId"),
            ({"correspondenceTypeCode": "NOPE"}, "/correspondenceTypeCode"),
            ({"correspondenceTypeCode": "x" * 51}, "/correspondenceTypeCode"),
            ({"correspondenceTypeCode": ""}, "/correspondenceTypeCode"),
            ({"correspondenceTypeCode": "LET\u0000TER"}, "/correspondenceTypeCode"),
            ({"correspondenceTypeCode": 7}, "/correspondenceTypeCode"),
            ({"originatorOrganizationPublicId": ID}, "/originatorOrganizationPublicId"),
            ({"recipientOrganizationPublicId": ID}, "/recipientOrganizationPublicId"),
            ({"recipientOrganizationPublicId": None}, "/recipientOrganizationPublicId"),
            ({"recipientType": "OWNER"}, "/recipientType"),
            ({"recipientType": "BOSS"}, "/recipientType"),
            ({"contractPublicId": ID}, "/contractPublicId"),
            ({"disciplineCode": "ZZZ"}, "/disciplineCode"),
            ({"rfaTypeCode": "ZZZ"}, "/rfaTypeCode"),
            ({"subTypeCode": "ZZZ"}, "/subTypeCode"),
            ({"categoryCode": "ZZZ"}, "/categoryCode"),
            ({"year": 0}, "/year"),
            ({"year": 99999}, "/year"),
            ({"year": 2399}, "/year"),
            ({"year": "soon"}, "/year"),
            ({"year": "2569"}, "/year"),
            ({"year": 2569.0}, "/year"),
            ({"year": True}, "/year"),
            ({"rfaTypeCode": "RPT"}, "/rfaTypeCode"),
            ({"categoryCode": "DRW"}, "/categoryCode"),
            ({"revision": "a"}, "/revision"),
            ({"revision": "ABCD"}, "/revision"),
            ({"colour": "red"}, "/colour"),
        ]:
            answer = await client.post(GENERATE, json=project.letter() | change)

            assert answer.status_code == 422, answer.text
            problem = answer.json()
            assert pointer in [error["pointer"] for error in problem["errors"]], (change, pointer)
            assert problem["userMessage"] and all(error["message"] for error in problem["errors"]), (change, pointer)
            assert (await count(db, NumberCounter), await count(db, LedgerEntry)) == (counters, numbers), (
                change,
                pointer,
            )

    async def test_has_two_sides(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)

        answer = await client.post(GENERATE, json=project.letter(recipient="คคง."))

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/recipientOrganizationPublicId")

    async def test_of_a_key_that_was_forgotten_is_another_one_for_another_request(
        self, signed_in: SignIn, db: Database
    ) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        headers = {"Idempotency-Key": "reused"}
        first = await client.post(GENERATE, json=project.letter(), headers=headers)
        async with db.writing() as session:
            await session.execute(sa.delete(IdempotencyKey))

        again = await client.post(GENERATE, json=project.letter(), headers=headers)
        async with db.writing() as session:
            await session.execute(sa.delete(IdempotencyKey))
        other = await client.post(GENERATE, json=project.letter(recipient="ผรม.2"), headers=headers)

        assert (again.status_code, again.json()) == (201, first.json())
        assert again.headers["Idempotent-Replay"] == "true"
        assert other.status_code == 201
        assert other.json()["documentNumber"] != first.json()["documentNumber"]

    @pytest.mark.parametrize("key", ["", " ", "x" * 129, "a\tb", "clé".encode("latin-1"), "กุญแจ".encode()])
    async def test_is_refused_with_a_key_that_protects_nothing(self, signed_in: SignIn, key: str | bytes) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)

        answer = await client.post(GENERATE, json=project.letter(), headers=[(b"Idempotency-Key", key)])

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "header:Idempotency-Key")

    async def test_that_is_refused_is_kept_whoever_refuses_it(self, signed_in: SignIn, db: Database) -> None:
        viewer = await signed_in("viewer")
        project = await read_project(viewer)

        await viewer.post(PREVIEW, json=project.letter())
        await viewer.post(GENERATE, json={"colour": "red"})
        await viewer.put(CONFIGS, json={"projectPublicId": project.id, "template": "{SEQ:4}"})

        async with db.reading() as session:
            kept = list(await session.scalars(sa.select(NumberError)))
        assert len(kept) == 3
        assert {row.error_type for row in kept} == {"VALIDATION_ERROR"}
        assert all(row.user_id and row.context_data and row.context_data["request"] for row in kept)

    async def test_wants_the_contract_where_a_code_is_in_several(self, signed_in: SignIn) -> None:
        client = await signed_in("admin")
        project = await read_project(client)
        body = project.letter() | {"correspondenceTypeCode": "RFA", "rfaTypeCode": "SDW", "disciplineCode": "STR"}

        vague = await client.post(GENERATE, json=body)
        exact = [
            await client.post(GENERATE, json=body | {"contractPublicId": contract})
            for contract in project.contracts.values()
        ]

        assert (vague.status_code, vague.json()["errors"][0]["pointer"]) == (422, "/contractPublicId")
        numbers = [answer.json()["documentNumber"] for answer in exact]
        assert len(set(numbers)) == len(numbers) >= 2

    async def test_prints_a_drawing_number(self, signed_in: SignIn) -> None:
        client = await signed_in("admin")
        project = await read_project(client)
        body = project.letter(recipient=None) | {
            "correspondenceTypeCode": "DRAWING",
            "disciplineCode": "STR",
            "categoryCode": "DRW",
            "contractPublicId": project.contracts["LCBP3-C2"],
        }

        answer = await client.post(GENERATE, json=body)

        assert answer.json()["documentNumber"] == "LCBP3-C2-STR-DRW-0001-A"


class TestPreview:
    async def test_consumes_nothing(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        before = await count(db, LedgerEntry), await count(db, NumberCounter)

        shown = [(await client.post(PREVIEW, json=project.letter())).json()["documentNumber"] for _ in range(3)]
        drawn = (await client.post(GENERATE, json=project.letter())).json()["documentNumber"]

        assert set(shown) == {drawn}
        assert (await count(db, LedgerEntry), await count(db, NumberCounter)) == (before[0] + 1, before[1] + 1)


class TestFormats:
    async def test_are_listed_for_those_who_run_the_project(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)

        listed = (await padmin.get(CONFIGS, params={"projectPublicId": project.id})).json()

        assert {one["correspondenceTypeCode"] for one in listed["items"]} >= {None, "RFA", "TRANSMITTAL", "CIRCULATION"}
        assert listed["nextCursor"] is None

    async def test_are_changed_by_the_project_admin_and_by_nobody_below(self, signed_in: SignIn) -> None:
        padmin, controller = await signed_in("padmin"), await signed_in("dc.consultant")
        project = await read_project(padmin)
        body = {"projectPublicId": project.id, "correspondenceTypeCode": "MEMO", "template": "{ORIGINATOR}-M-{SEQ:3}"}

        refused = await controller.put(CONFIGS, json=body)
        saved = await padmin.put(CONFIGS, json=body)
        drawn = await padmin.post(PREVIEW, json=project.letter() | {"correspondenceTypeCode": "MEMO"})

        assert refused.status_code == 403
        assert (saved.status_code, saved.json()["version"], saved.json()["resetSequenceYearly"]) == (200, 1, False)
        assert drawn.json()["documentNumber"] == "คคง.-M-001"

    async def test_refuse_to_overwrite_somebody_elses_change(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        items = (await padmin.get(CONFIGS, params={"projectPublicId": project.id})).json()["items"]
        config = next(one for one in items if one["correspondenceTypeCode"] is None)
        address = f"{CONFIGS}/{config['publicId']}"
        tag = (await padmin.get(address)).headers["ETag"]

        weak = await padmin.put(
            address, json={"template": "{ORIGINATOR}-{SEQ:5}", "reason": WHY}, headers={"If-Match": f"W/{tag}"}
        )
        first = await padmin.put(
            address, json={"template": "{ORIGINATOR}-{SEQ:5}", "reason": WHY}, headers={"If-Match": tag}
        )
        second = await padmin.put(
            address, json={"template": "{ORIGINATOR}-{SEQ:6}", "reason": WHY}, headers={"If-Match": tag}
        )

        assert (weak.status_code, first.status_code, second.status_code) == (412, 200, 412)
        assert (weak.json()["code"], second.json()["code"]) == ("ETAG_WEAK", "NUMBER_FORMAT_STALE")

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"template": "{PROJECT}-{COLOUR}-{SEQ:4}"}, "/template"),
            ({"template": "{PROJECT}"}, "/template"),
            ({"template": ""}, "/template"),
            ({"template": "{CATEGORY}-{SEQ:4}"}, "/template"),
            ({"template": "x" * 256}, "/template"),
            ({"template": "{SEQ:4}", "resetSequenceYearly": True}, "/resetSequenceYearly"),
            ({"overflow": "explode"}, "/overflow"),
            ({"correspondenceTypeCode": "NOPE"}, "/correspondenceTypeCode"),
            ({"projectPublicId": ID}, "/projectPublicId"),
        ],
    )
    async def test_name_what_is_wrong(self, signed_in: SignIn, change: dict[str, Any], pointer: str) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        body = {"projectPublicId": project.id, "correspondenceTypeCode": "MEMO", "template": "{SEQ:4}"}

        answer = await padmin.put(CONFIGS, json=body | change)

        assert answer.status_code == 422
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]

    async def test_warn_of_another_that_could_print_the_same_number(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        body = {"projectPublicId": project.id, "correspondenceTypeCode": "MEMO"}

        meets = await padmin.put(CONFIGS, json=body | {"template": "{ORIGINATOR}-{RECIPIENT}-{SEQ:6}-{YEAR:B.E.}"})
        apart = await padmin.put(CONFIGS, json=body | {"template": "MEMO/{ORIGINATOR}/{SEQ:6}", "reason": WHY})

        assert [one["code"] for one in meets.json()["warnings"]] == ["FORMATS_CAN_MEET"]
        assert apart.json()["warnings"] == []

    async def test_warn_of_one_that_prints_alike_and_counts_apart(self, signed_in: SignIn) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        body = {"projectPublicId": project.id, "template": "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"}

        apart = await padmin.put(CONFIGS, json=body | {"correspondenceTypeCode": "RFI", "resetSequenceYearly": False})
        together = await padmin.put(CONFIGS, json=body | {"correspondenceTypeCode": "MEMO"})

        assert {one["code"] for one in apart.json()["warnings"]} == {"FORMATS_CAN_MEET"}
        assert (
            len(together.json()["warnings"]) == 1
        )  # the one that counts apart, not the default it shares a series with

    async def test_may_refuse_to_widen(self, signed_in: SignIn, db: Database) -> None:
        padmin = await signed_in("padmin")
        project = await read_project(padmin)
        body = {"projectPublicId": project.id, "correspondenceTypeCode": "MEMO", "template": "{ORIGINATOR}.{SEQ:1}"}
        await padmin.put(CONFIGS, json=body | {"overflow": "refuse"})
        memo = project.letter() | {"correspondenceTypeCode": "MEMO"}

        answers = [await padmin.post(GENERATE, json=memo) for _ in range(10)]

        assert [answer.status_code for answer in answers] == [201] * 9 + [409]
        assert answers[-1].json()["code"] == "SEQUENCE_EXHAUSTED"
        async with db.reading() as session:
            counter = await session.scalar(sa.select(NumberCounter).where(NumberCounter.series == "คคง..{SEQ}"))
        assert counter is not None
        assert counter.last_number == 9
