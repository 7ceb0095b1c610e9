"""The life of a number over HTTP: reserved, confirmed, cancelled, expired, void, replaced, stated by hand, kept."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from saraban.bootstrap import carriers
from saraban.kit.db import Database
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry
from tests.conftest import SignIn
from tests.numbering_requests import (
    BASE,
    GENERATE,
    REASON,
    Project,
    audited,
    db,
    let_run_out,
    present,
    read_project,
    reserved,
    without_originator,
)

__all__ = ["db"]


async def entry_of(db: Database, public_id: str) -> LedgerEntry:
    async with db.reading() as session:
        found = await session.scalar(sa.select(LedgerEntry).where(LedgerEntry.public_id == UUID(public_id)))
    assert found is not None
    return found


async def by_month(admin: Any, project: Project) -> None:
    """Have the project's letters print month, year and fiscal year."""
    template = "{MM}/{YEAR:A.D.}-FY{FY:B.E.}-{SEQ:3}"
    wanted = {"projectPublicId": project.id, "correspondenceTypeCode": "LETTER", "template": template, "reason": REASON}
    saved = await admin.put(f"{BASE}/configs", json=wanted)
    assert saved.status_code == 200, saved.text


class TestReserve:
    async def test_keeps_the_next_number_for_five_minutes(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)

        body = await reserved(client, project)

        entry = await entry_of(db, body["reservationToken"])
        left = datetime.fromisoformat(body["expiresAt"]) - present()
        assert (entry.document_number_status, entry.confirmed_at) == ("RESERVED", None)
        assert timedelta(minutes=4) < left <= timedelta(minutes=5)
        assert [row.generated_number for row in await audited(db, "RESERVE")] == [body["documentNumber"]]

    async def test_with_a_key_reserves_once(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        headers = {"Idempotency-Key": "one"}

        answers = [await client.post(f"{BASE}/reserve", json=project.letter(), headers=headers) for _ in range(2)]

        assert answers[0].json() == answers[1].json()
        assert (await reserved(client, project))["sequence"] == 2


class TestConfirm:
    async def test_makes_it_final_and_answers_the_same_again(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        token = {"reservationToken": (await reserved(client, await read_project(client)))["reservationToken"]}

        answers = [await client.post(f"{BASE}/confirm", json=token) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
        assert answers[0].json()["status"] == "CONFIRMED"
        assert len(await audited(db, "CONFIRM")) == 1

    async def test_repeated_with_its_key_shows_what_became_of_it_since(self, signed_in: SignIn) -> None:
        client = await signed_in("padmin")
        token = {"reservationToken": (await reserved(client, await read_project(client)))["reservationToken"]}
        keyed = {"headers": {"Idempotency-Key": "confirm-1"}}
        first = await client.post(f"{BASE}/confirm", json=token, **keyed)
        await client.post(f"{BASE}/void", json={"publicId": token["reservationToken"], "reason": REASON})

        again = await client.post(f"{BASE}/confirm", json=token, **keyed)

        assert (first.json()["status"], again.status_code, again.json()["status"]) == ("CONFIRMED", 200, "VOID")
        assert again.headers["Idempotent-Replay"] == "true"

    async def test_answers_410_after_the_expiry_although_no_timer_ran(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        body = await reserved(client, await read_project(client))
        await let_run_out(db, body["reservationToken"])

        answer = await client.post(f"{BASE}/confirm", json={"reservationToken": body["reservationToken"]})

        assert (answer.status_code, answer.json()["code"]) == (410, "RESERVATION_EXPIRED")
        assert (await entry_of(db, body["reservationToken"])).document_number_status == "RESERVED"

    async def test_of_somebody_elses_token_finds_nothing(self, signed_in: SignIn) -> None:
        client, other = await signed_in("dc.consultant"), await signed_in("admin")
        token = {"reservationToken": (await reserved(client, await read_project(client)))["reservationToken"]}

        answers = [
            await other.post(f"{BASE}/confirm", json=token),
            await other.post(f"{BASE}/cancel", json=token),
        ]

        assert [answer.status_code for answer in answers] == [404, 404]

    async def test_of_a_drawn_number_finds_no_reservation(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        drawn = (await client.post(GENERATE, json=project.letter())).json()

        answer = await client.post(f"{BASE}/confirm", json={"reservationToken": drawn["publicId"]})

        assert answer.status_code == 404


class TestCancel:
    async def test_gives_the_reservation_up_for_good(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        body = await reserved(client, project)
        token = {"reservationToken": body["reservationToken"], "reason": "Not needed."}

        answers = [await client.post(f"{BASE}/cancel", json=token) for _ in range(2)]
        confirmed = await client.post(f"{BASE}/confirm", json={"reservationToken": body["reservationToken"]})

        assert [answer.json()["status"] for answer in answers] == ["CANCELLED", "CANCELLED"]
        assert (confirmed.status_code, confirmed.json()["code"]) == (409, "NUMBER_STATE_CONFLICT")
        assert [row.reason for row in await audited(db, "CANCEL")] == ["Not needed."]
        assert (await reserved(client, project))["sequence"] == 2


class TestTimer:
    async def test_expires_what_is_overdue_as_the_system(self, signed_in: SignIn, db: Database) -> None:
        client = await signed_in("dc.consultant")
        project = await read_project(client)
        late, fresh = await reserved(client, project), await reserved(client, project)
        await let_run_out(db, late["reservationToken"])

        now = present()
        counts = [await db.transact(lambda session: numbering.expire_reservations(session, now=now)) for _ in range(2)]

        assert counts == [1, 0]
        assert (await entry_of(db, late["reservationToken"])).document_number_status == "EXPIRED"
        assert (await entry_of(db, fresh["reservationToken"])).document_number_status == "RESERVED"
        (row,) = await audited(db, "EXPIRE")
        async with db.reading() as session:
            name = await session.scalar(sa.text("SELECT username FROM users WHERE user_id = :id"), {"id": row.user_id})
        assert (row.generated_number, name) == (late["documentNumber"], "system")


class TestVoid:
    async def test_needs_an_administrator_and_happens_once(self, signed_in: SignIn, db: Database) -> None:
        client, admin = await signed_in("dc.consultant"), await signed_in("padmin")
        drawn = (await client.post(GENERATE, json=(await read_project(client)).letter())).json()
        body = {"publicId": drawn["publicId"], "reason": REASON}

        hidden = await (await signed_in("dc.contractor")).post(f"{BASE}/void", json=body)
        refused = await client.post(f"{BASE}/void", json=body)
        first = await admin.post(f"{BASE}/void", json=body)
        second = await admin.post(f"{BASE}/void", json=body)

        assert [hidden.status_code, refused.status_code] == [404, 403]
        assert [first.status_code, second.status_code] == [200, 409]
        assert first.json()["status"] == "VOID"
        assert [row.reason for row in await audited(db, "VOID")] == [REASON]

    async def test_without_a_reason_is_refused(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        drawn = (await admin.post(GENERATE, json=(await read_project(admin)).letter())).json()

        answer = await admin.post(f"{BASE}/void", json={"publicId": drawn["publicId"]})

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/reason")

    async def test_and_replace_links_the_two_both_ways(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        old = (await admin.post(GENERATE, json=project.letter())).json()
        body = {"publicId": old["publicId"], "reason": REASON, "replacement": project.letter(recipient="ผรม.2")}

        answer = await admin.post(f"{BASE}/void-and-replace", json=body)
        again = await admin.post(f"{BASE}/void-and-replace", json=body)

        assert answer.status_code == 201, answer.text
        new = answer.json()["replacement"]
        void, live = await entry_of(db, old["publicId"]), await entry_of(db, new["publicId"])
        assert (void.document_number_status, void.replaced_by_uuid) == ("VOID", live.public_id)
        assert (live.document_number_status, live.replaces_uuid) == ("CONFIRMED", void.public_id)
        assert again.status_code == 409
        following = (await admin.post(GENERATE, json=project.letter(recipient="ผรม.2"))).json()
        assert following["sequence"] == new["sequence"] + 1, "a refused replacement consumed a number"

        found = await admin.get(
            f"{BASE}/resolve", params={"projectPublicId": project.id, "number": old["documentNumber"]}
        )
        assert found.json()["documentNumber"] == new["documentNumber"]
        assert (found.json()["askedStatus"], found.json()["status"]) == ("VOID", "CONFIRMED")


class TestOverride:
    async def test_takes_a_number_of_the_format_and_leaves_the_counter(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        first = (await admin.post(GENERATE, json=project.letter())).json()
        stated = first["documentNumber"].replace("0001", "0042")

        body = project.letter(documentNumber=stated, reason=REASON)
        answer = await admin.post(f"{BASE}/manual-override", json=body)
        again = await admin.post(f"{BASE}/manual-override", json=body)
        following = (await admin.post(GENERATE, json=project.letter())).json()

        assert (answer.status_code, answer.json()["sequence"]) == (201, 42)
        assert (again.status_code, again.json()["code"]) == (409, "NUMBER_TAKEN")
        assert stated in again.json()["detail"]
        assert following["sequence"] == 2
        entry = await entry_of(db, answer.json()["publicId"])
        assert (entry.source, entry.reason) == ("OVERRIDE", REASON)
        assert len(await audited(db, "OVERRIDE")) == 1

    async def test_is_stepped_over_by_the_series(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)

        answer = await admin.post(f"{BASE}/manual-override", json=project.letter(sequence=2, reason=REASON))
        drawn = [(await admin.post(GENERATE, json=project.letter())).json()["sequence"] for _ in range(2)]

        assert answer.status_code == 201
        assert drawn == [1, 3]

    async def test_moves_the_counter_only_by_the_jump_that_was_shown(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await admin.post(GENERATE, json=project.letter())
        body = project.letter(sequence=40, reason=REASON, moveCounter=True)

        shown = await admin.post(f"{BASE}/manual-override/preview", json=body)
        blind = await admin.post(f"{BASE}/manual-override", json=body)
        moved = await admin.post(f"{BASE}/manual-override", json=body | {"confirmedJump": shown.json()["jump"]})
        following = (await admin.post(GENERATE, json=project.letter())).json()

        assert (shown.json()["counter"], shown.json()["jump"], shown.json()["taken"]) == (1, 39, False)
        assert (blind.status_code, blind.json()["errors"][0]["pointer"]) == (422, "/confirmedJump")
        assert moved.status_code == 201, moved.text
        assert following["sequence"] == 41

    @pytest.mark.parametrize("stated", ["ABC", "คคง.-ผรม.1-42-2569", "คคง.-ผรม.2-0042-2569", "คคง.-ผรม.1-๐๐๔๒-2569"])
    async def test_refuses_what_the_format_would_never_print(self, signed_in: SignIn, stated: str) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)

        answer = await admin.post(f"{BASE}/manual-override", json=project.letter(documentNumber=stated, reason=REASON))

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/documentNumber")

    async def test_of_a_day_that_has_passed_prints_its_month(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await by_month(admin, project)
        asked = project.letter(sequence=7, reason=REASON, issuedOn="2024-10-01")

        shown = await admin.post(f"{BASE}/manual-override/preview", json=asked)
        answer = await admin.post(f"{BASE}/manual-override", json=asked)

        assert answer.status_code == 201, answer.text
        assert (answer.json()["documentNumber"], answer.json()["year"]) == ("10/2024-FY2568-007", 2024)
        assert shown.json()["documentNumber"] == answer.json()["documentNumber"]
        entry = await entry_of(db, answer.json()["publicId"])
        assert entry.confirmed_at is not None
        assert entry.confirmed_at.astimezone(ZoneInfo("Asia/Bangkok")).date().isoformat() == "2024-10-01"
        (row,) = await audited(db, "OVERRIDE")
        assert [present() - at < timedelta(minutes=5) for at in (entry.created_at, row.created_at)] == [True, True]
        assert [found async for found in numbering.check_consistency(db, carriers=carriers())] == []

    async def test_of_a_day_moves_only_the_counter_of_its_month(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await by_month(admin, project)
        asked = project.letter(sequence=7, reason=REASON, issuedOn="2024-10-01", moveCounter=True, confirmedJump=7)

        answer = await admin.post(f"{BASE}/manual-override", json=asked)
        next_one = await admin.post(f"{BASE}/manual-override/preview", json=asked | {"sequence": 8})
        drawn = await admin.post(GENERATE, json=project.letter())

        assert answer.status_code == 201, answer.text
        assert (next_one.json()["counter"], drawn.json()["sequence"]) == (7, 1)

    @pytest.mark.parametrize(
        ("more", "pointer"),
        [
            ({"issuedOn": (present() + timedelta(days=2)).date().isoformat()}, "/issuedOn"),
            ({"issuedOn": "01/10/67"}, "/issuedOn"),
            ({"issuedOn": "2024-02-30"}, "/issuedOn"),
            ({"issuedOn": 0}, "/issuedOn"),
            ({"issuedOn": "2024-10-01", "year": 2024, "yearReason": REASON}, "/year"),
        ],
    )
    async def test_of_a_day_that_cannot_be_is_refused(
        self, signed_in: SignIn, db: Database, more: dict[str, Any], pointer: str
    ) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)

        answer = await admin.post(f"{BASE}/manual-override", json=project.letter(sequence=7, reason=REASON, **more))

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
        assert await audited(db, "OVERRIDE") == []

    async def test_is_for_administrators(self, signed_in: SignIn) -> None:
        client = await signed_in("dc.consultant")
        body = (await read_project(client)).letter(sequence=5, reason=REASON)

        assert (await client.post(f"{BASE}/manual-override", json=body)).status_code == 403
        assert (await client.post(f"{BASE}/manual-override/preview", json=body)).status_code == 403


class TestReset:
    async def test_lets_only_free_sequences_be_used(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("admin")
        project = await read_project(admin)
        await admin.post(f"{BASE}/manual-override", json=project.letter(sequence=3, reason=REASON))
        jump = project.letter(sequence=9, reason=REASON, moveCounter=True, confirmedJump=9)
        assert (await admin.post(f"{BASE}/manual-override", json=jump)).status_code == 201
        series = (await admin.post(f"{BASE}/manual-override/preview", json=jump)).json()["series"]
        body = {"projectPublicId": project.id, "series": series, "lastNumber": 1, "reason": REASON}

        answer = await admin.post(f"{BASE}/reset-counter", json=body)
        drawn = [(await admin.post(GENERATE, json=project.letter())).json()["sequence"] for _ in range(3)]
        forward = await admin.post(f"{BASE}/reset-counter", json=body | {"lastNumber": 100})

        assert (answer.json()["lastNumberBefore"], answer.json()["lastNumber"]) == (9, 1)
        assert drawn == [2, 4, 5]
        assert (forward.status_code, forward.json()["errors"][0]["pointer"]) == (422, "/lastNumber")
        (row,) = await audited(db, "RESET")
        assert (row.old_value, row.new_value, row.reason) == ("9", "1", REASON)

    async def test_is_for_super_admins_with_a_long_reason(self, signed_in: SignIn) -> None:
        admin, padmin = await signed_in("admin"), await signed_in("padmin")
        project = await read_project(admin)
        body = {"projectPublicId": project.id, "series": "x-{SEQ}", "reason": REASON}

        refused = await padmin.post(f"{BASE}/reset-counter", json=body)
        short = await admin.post(f"{BASE}/reset-counter", json=body | {"reason": "Too short, this."})
        nowhere = await admin.post(f"{BASE}/reset-counter", json=body)

        assert [refused.status_code, short.status_code, nowhere.status_code] == [403, 422, 422]
        assert short.json()["errors"][0]["pointer"] == "/reason"
        assert nowhere.json()["errors"][0]["pointer"] == "/series"


class TestRange:
    async def test_kept_counts_by_itself_and_the_series_steps_over_it(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        asked = project.letter(kind="KEPT", firstNumber=2, lastNumber=3, reason=REASON)
        assert (await admin.post(GENERATE, json=project.letter())).json()["sequence"] == 1

        kept = await admin.post(f"{BASE}/ranges", json=asked)
        assert kept.status_code == 201, kept.text
        inside = project.letter(rangePublicId=kept.json()["publicId"])
        drawn = [await admin.post(GENERATE, json=body) for body in (project.letter(), inside, inside, inside)]

        assert [answer.json().get("sequence") for answer in drawn] == [4, 2, 3, None]
        assert (drawn[3].status_code, drawn[3].json()["code"]) == (409, "SEQUENCE_EXHAUSTED")
        listed = (await admin.get(f"{BASE}/ranges", params={"projectPublicId": project.id})).json()["items"]
        assert [(one["kind"], one["lastIssued"]) for one in listed] == [("KEPT", 3)]

    async def test_barred_is_never_given_until_released(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        asked = project.letter(kind="BARRED", firstNumber=1, lastNumber=1, reason=REASON)
        far = project.letter(kind="BARRED", firstNumber=3, lastNumber=4, reason=REASON)

        first, second = [await admin.post(f"{BASE}/ranges", json=body) for body in (asked, far)]
        assert (await admin.post(GENERATE, json=project.letter())).json()["sequence"] == 2
        address = f"{BASE}/ranges/{second.json()['publicId']}/release"
        released = [await admin.post(address, json={"reason": REASON}) for _ in range(2)]

        assert first.status_code == 201
        assert [answer.status_code for answer in released] == [200, 409]
        assert (await admin.post(GENERATE, json=project.letter())).json()["sequence"] == 3
        assert len(await audited(db, "RANGE")) == 3

    async def test_refuses_to_overlap_or_to_begin_in_the_past(self, signed_in: SignIn) -> None:
        admin, client = await signed_in("padmin"), await signed_in("dc.consultant")
        project = await read_project(admin)
        await admin.post(GENERATE, json=project.letter())

        async def ask(who: Any, first: int, last: int) -> tuple[int, str]:
            body = project.letter(kind="BARRED", firstNumber=first, lastNumber=last, reason=REASON)
            answer = await who.post(f"{BASE}/ranges", json=body)
            return answer.status_code, answer.json().get("code", "")

        assert await ask(admin, 10, 20) == (201, "")
        assert await ask(admin, 20, 30) == (409, "NUMBER_RANGE_OVERLAPS")
        assert await ask(admin, 1, 5) == (409, "NUMBER_RANGE_PASSED")
        assert await ask(admin, 40, 30) == (422, "VALIDATION_ERROR")
        assert await ask(client, 40, 50) == (403, "PERMISSION_DENIED")

    async def test_kept_for_an_organization_serves_it_and_no_other(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await without_originator(admin, project)
        asked = project.letter(
            kind="KEPT",
            firstNumber=100,
            lastNumber=199,
            reason=REASON,
            organizationPublicId=project.organizations["ผรม.2"],
        )

        kept = (await admin.post(f"{BASE}/ranges", json=asked)).json()
        inside = {"rangePublicId": kept["publicId"]}
        other = await admin.post(GENERATE, json=project.letter(**inside))
        own = await admin.post(GENERATE, json=project.letter("ผรม.2", "คคง.", **inside))

        assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "/rangePublicId")
        assert (own.status_code, own.json()["sequence"]) == (201, 100), own.text
