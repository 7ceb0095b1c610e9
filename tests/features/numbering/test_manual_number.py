"""What is done to numbers and series by hand: reasons, ranges that cannot serve, slips of the finger, what the audit keeps."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest
import sqlalchemy as sa

from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.kit.errors import Invalid
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.issue.domain import checked_reason
from saraban.numbering.series.models import NumberAudit, NumberCounter
from tests.conftest import SignIn
from tests.factories.contexts import context
from tests.numbering_requests import (
    BASE,
    CONFIGS,
    GENERATE,
    REASON,
    Project,
    audited,
    count,
    db,
    present,
    read_project,
    without_originator,
)

__all__ = ["db"]

LONG_AGO = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


async def counters(db: Database) -> list[NumberCounter]:
    async with db.reading() as session:
        return list(await session.scalars(sa.select(NumberCounter)))


async def set_counter(db: Database, **values: Any) -> None:
    await db.transact(lambda session: session.execute(sa.update(NumberCounter).values(**values)))


def stretch(project: Project, first: int, last: int, **more: Any) -> dict[str, Any]:
    return project.letter(**({"kind": "BARRED", "firstNumber": first, "lastNumber": last, "reason": REASON} | more))


class TestSavedFormat:
    async def test_leaves_the_moment_a_series_was_drawn_from(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await admin.post(GENERATE, json=project.letter())
        await set_counter(db, updated_at=LONG_AGO)
        (before,) = await counters(db)

        await without_originator(admin, project)

        (after,) = await counters(db)
        assert (after.updated_at, after.version) == (LONG_AGO, before.version + 1)

    @pytest.mark.parametrize("version", ['"²"', "٣", '"1.0"', "latest"])
    async def test_is_not_changed_by_a_version_that_is_none(self, signed_in: SignIn, version: str) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await without_originator(admin, project)
        listed = (await admin.get(CONFIGS, params={"projectPublicId": project.id})).json()["items"]

        answer = await admin.put(
            f"{CONFIGS}/{listed[0]['publicId']}",
            json={"template": "{PROJECT}-M-{SEQ:4}", "reason": REASON},
            headers={"If-Match": version.encode()},
        )

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "header:If-Match")


class TestReason:
    @pytest.mark.parametrize(
        ("reason", "code"),
        [
            ("", "required"),
            (" \u200a ", "required"),
            ("abc ", "too_short"),
            ("x" * 501, "too_long"),
            ("a bell\x07 rings", "control_character"),
        ],
    )
    def test_that_tells_nothing_is_refused(self, reason: str, code: str) -> None:
        with pytest.raises(Invalid) as refused:
            checked_reason(reason)

        assert [(one.pointer, one.code) for one in refused.value.fields] == [("/reason", code)]

    @pytest.mark.parametrize("verb", ["void", "override", "close", "reset", "cancel"])
    async def test_is_asked_for_whoever_calls(self, signed_in: SignIn, db: Database, verb: str) -> None:
        """The terminal and the pages pass no schema of the API."""
        admin = await signed_in("padmin")
        project = await read_project(admin)
        drawn = (await admin.post(f"{BASE}/reserve", json=project.letter())).json()
        rows = await count(db, NumberAudit)

        async def step(session: Any) -> None:
            caller = await identity.find_caller(session, username="admin" if verb == "reset" else "padmin")
            assert caller is not None
            ctx = context(caller, now=present())
            wanted = numbering.NumberRequest(
                project_public_id=UUID(project.id),
                correspondence_type_code="LETTER",
                originator_organization_public_id=UUID(project.organizations["คคง."]),
                recipient_organization_public_id=UUID(project.organizations["ผรม.1"]),
            )
            plan = await numbering.plan(ctx, session, request=wanted)
            if verb == "void":
                await numbering.void_number(ctx, session, public_id=UUID(drawn["publicId"]), reason="x")
            elif verb == "cancel":
                await numbering.cancel_reservation(ctx, session, token=UUID(drawn["publicId"]), reason="x")
            elif verb == "override":
                await numbering.issue_manually(
                    ctx,
                    session,
                    plan=plan,
                    statement=numbering.ManualNumber(None, 7),
                    moves_counter=False,
                    confirmed_jump=None,
                    token=new_id(),
                    reason="x",
                )
            elif verb == "close":
                draft = numbering.RangeDraft(numbering.RangeKind.BARRED, 9, 9, reason="x")
                await numbering.create_range(ctx, session, plan, draft)
            else:
                await numbering.reset_counter(
                    ctx,
                    session,
                    project_public_id=UUID(project.id),
                    series=plan.series,
                    to=0,
                    reason="x",
                )

        with pytest.raises(Invalid) as refused:
            await db.transact(step)

        assert [one.pointer for one in refused.value.fields] == ["/reason"]
        assert await count(db, NumberAudit) == rows


class TestRange:
    async def test_for_an_organization_that_never_draws_there_is_refused(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        owner = {"kind": "KEPT", "organizationPublicId": project.organizations["ผรม.2"]}

        answers = [
            await admin.post(f"{BASE}/ranges{tail}", json=body)
            for tail, body in (
                ("", stretch(project, 100, 199, **owner)),
                ("/preview", project.letter(firstNumber=100, lastNumber=199, **owner)),
            )
        ]

        for answer in answers:
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/organizationPublicId")
            assert "คคง." in answer.json()["errors"][0]["message"]
        assert await audited(db, "RANGE") == []

    @pytest.mark.parametrize(("first", "last"), [(1, 999_999_999), (5, 1005), (9999, 10_000)])
    async def test_that_may_be_a_slip_is_shown_and_confirmed(
        self, signed_in: SignIn, db: Database, first: int, last: int
    ) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        asked, size = stretch(project, first, last), last - first + 1
        bare = project.letter(kind="BARRED", firstNumber=first, lastNumber=last)

        shown = await admin.post(f"{BASE}/ranges/preview", json=bare)
        refused = [await admin.post(f"{BASE}/ranges", json=asked | more) for more in ({}, {"confirmedSize": size - 1})]
        untouched = (await admin.post(GENERATE, json=project.letter())).json()["sequence"] if first > 1 else None
        done = await admin.post(f"{BASE}/ranges", json=asked | {"confirmedSize": size})

        following = f"-{last + 1:04}-" if first == 1 else "-0001-"
        assert (shown.json()["size"], shown.json()["mustConfirm"]) == (size, True)
        assert following in shown.json()["nextNumber"]
        for answer in refused:
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/confirmedSize")
        assert untouched in {None, 1}
        assert done.status_code == 201, done.text

    async def test_over_very_many_sequences_keeps_nobody_waiting(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        wide = stretch(project, 1, 900_000_000, confirmedSize=900_000_000)
        assert (await admin.post(f"{BASE}/ranges", json=wide)).status_code == 201
        # A number that is taken has the next draw search.
        stated = project.letter(sequence=900_000_001, reason=REASON)
        assert (await admin.post(f"{BASE}/manual-override", json=stated)).status_code == 201

        shown = await admin.get(f"{BASE}/series", params={"projectPublicId": project.id})
        foretold = await admin.post(f"{BASE}/preview", json=project.letter())
        drawn = await admin.post(GENERATE, json=project.letter())

        assert shown.status_code == 200
        assert foretold.json()["documentNumber"] == drawn.json()["documentNumber"]
        assert drawn.json()["sequence"] == 900_000_002

    async def test_that_is_small_needs_no_second_look(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)

        shown = await admin.post(
            f"{BASE}/ranges/preview", json=project.letter(kind="KEPT", firstNumber=1, lastNumber=1000)
        )
        passed = await admin.post(f"{BASE}/ranges", json=stretch(project, 1, 1000))
        again = await admin.post(
            f"{BASE}/ranges/preview", json=project.letter(kind="KEPT", firstNumber=1000, lastNumber=1001)
        )

        assert (shown.json()["mustConfirm"], shown.json()["counter"]) == (False, 0)
        assert "-1001-" in shown.json()["nextNumber"]
        assert passed.status_code == 201
        assert (again.status_code, again.json()["code"]) == (409, "NUMBER_RANGE_OVERLAPS")


class TestOverride:
    async def test_in_a_range_names_it_and_is_refused_where_that_is_somebody_elses(self, signed_in: SignIn) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await without_originator(admin, project)
        ours, theirs = project.organizations["คคง."], project.organizations["ผรม.2"]
        ranges = {
            13: stretch(project, 13, 13),
            150: stretch(project, 100, 199, kind="KEPT", organizationPublicId=theirs),
            250: stretch(project, 200, 299, kind="KEPT", organizationPublicId=ours),
            350: stretch(project, 300, 399, kind="KEPT"),
        }
        for body in ranges.values():
            assert (await admin.post(f"{BASE}/ranges", json=body)).status_code == 201

        found = {}
        for sequence in ranges:
            asked = project.letter(sequence=sequence, reason=REASON)
            shown = (await admin.post(f"{BASE}/manual-override/preview", json=asked)).json()["range"]
            done = await admin.post(f"{BASE}/manual-override", json=asked)
            found[sequence] = (shown["kind"], shown["firstNumber"], shown["refuses"], done.json().get("code", 201))

        assert found == {
            13: ("BARRED", 13, True, "NUMBER_IN_RANGE"),
            150: ("KEPT", 100, True, "NUMBER_IN_RANGE"),
            250: ("KEPT", 200, False, 201),
            350: ("KEPT", 300, False, 201),
        }
        free = project.letter(sequence=14, reason=REASON)
        assert (await admin.post(f"{BASE}/manual-override/preview", json=free)).json()["range"] is None


class TestLastSequence:
    async def test_that_the_books_can_hold_is_followed_by_a_refusal(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        await admin.post(GENERATE, json=project.letter())
        await set_counter(db, last_number=2**31 - 2, version=50)

        answers = [await admin.post(GENERATE, json=project.letter()) for _ in range(2)]
        shown = await admin.post(f"{BASE}/preview", json=project.letter())

        assert answers[0].json()["sequence"] == 2**31 - 1
        assert [(one.status_code, one.json()["code"]) for one in (answers[1], shown)] == [
            (409, "SEQUENCE_EXHAUSTED")
        ] * 2


class TestAudit:
    async def test_keeps_one_shape_of_key_for_every_operation(self, signed_in: SignIn, db: Database) -> None:
        admin, root = await signed_in("padmin"), await signed_in("admin")
        project = await read_project(admin)
        token = (await admin.post(f"{BASE}/reserve", json=project.letter())).json()["publicId"]
        await admin.post(f"{BASE}/confirm", json={"reservationToken": token})
        await admin.post(f"{BASE}/void", json={"publicId": token, "reason": REASON})
        await admin.post(GENERATE, json=project.letter())
        stated = project.letter(sequence=7, reason=REASON, moveCounter=True, confirmedJump=5)
        assert (await admin.post(f"{BASE}/manual-override", json=stated)).status_code == 201
        assert (await admin.post(f"{BASE}/ranges", json=stretch(project, 9, 9))).status_code == 201
        (counter,) = await counters(db)
        await root.post(
            f"{BASE}/reset-counter",
            json={"projectPublicId": project.id, "series": counter.series, "lastNumber": 7, "reason": REASON},
        )

        operations = ("RESERVE", "CONFIRM", "VOID", "GENERATE", "OVERRIDE", "SKIP", "RANGE", "RESET")
        keys = {name: [orjson.loads(row.counter_key or "{}") for row in await audited(db, name)] for name in operations}
        types = {row.document_type for name in operations if name != "SKIP" for row in await audited(db, name)}

        (drawn_for,) = keys["GENERATE"]
        assert drawn_for["originator"] == "คคง."
        assert keys == {name: [drawn_for] for name in operations}
        assert types == {"LETTER"}

    async def test_lets_the_page_replace_a_number_that_was_stated(self, signed_in: SignIn, db: Database) -> None:
        admin = await signed_in("padmin")
        project = await read_project(admin)
        stated = (await admin.post(f"{BASE}/manual-override", json=project.letter(sequence=7, reason=REASON))).json()

        async with db.reading() as session:
            caller = await identity.find_caller(session, username="padmin")
            assert caller is not None
            life = await numbering.number_history(context(caller=caller), session, public_id=UUID(stated["publicId"]))
            again = await numbering.request_like(context(caller=caller), session, public_id=UUID(stated["publicId"]))

        assert life.may_replace
        assert again.originator_organization_public_id == UUID(project.organizations["คคง."])
