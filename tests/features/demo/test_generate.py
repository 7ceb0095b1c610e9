"""`saraban demo generate`: what it writes is what people would have written, at any moment whole, and there once."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from saraban.bootstrap import carriers
from saraban.documents.core.models import DocumentReach
from saraban.documents.demo.domain import DemoRegister
from saraban.documents.demo.service import KINDS, PROJECT
from saraban.kit.text import key_text, sort_key
from saraban.numbering import service as numbering
from saraban.numbering.series.models import LedgerEntry, NumberCounter
from saraban_tools import documents as generation
from saraban_tools.copies import LEDGER, RENDERINGS, REVISIONS, CopiedDocument, rows_of
from saraban_tools.mix import Choices, GeneratedScript, office_moment, revision_shares, subject
from tests import killed
from tests.row_counts import row_counts

if TYPE_CHECKING:
    from saraban.bootstrap import System

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
# Nobody is told of a repeated document, and it came by no request; search hears of either once for each act.
_TOLD = {"outbox_events", "idempotency_keys", "document_number_counters", "search_changes"}


async def run_on(system: "System") -> generation.GenerationRun:
    stage, now = system.demo.services, system.clock.now()
    async with system.db.reading() as session:
        place = await generation.survey(session, stage, PROJECT, 1.4, now)
    return generation.GenerationRun(stage, place, now, 0, Choices(0))


async def dumped(system: "System", where: DemoRegister, public_id: UUID) -> dict[str, list[dict[str, Any]]]:
    """All rows of a document, its own keys, ids and number replaced by what they are."""
    async with system.db.writing() as session:
        rows = await rows_of(session, public_id)
        key = next(iter(rows.values()))[0]["id"]
        mine = DocumentReach.document_id == key, DocumentReach.kind == KINDS[where].rules.register
        reach = (
            sa.select(DocumentReach.__table__).where(*mine).order_by(DocumentReach.reader_kind, DocumentReach.reader_id)
        )
        before = (await session.execute(reach)).all()
        await KINDS[where].index.renew(session, documents=[key])
        assert before in ([], (await session.execute(reach)).all())
        seen = [dict(row) for row in (await session.execute(reach)).mappings()]
    names: dict[str, str] = {}
    ledger = rows[LEDGER][0]
    own = {ledger["base_number"]: "NUMBER"}
    own |= {row["document_number"]: f"NUMBER {row['revision_label']}" for row in rows[RENDERINGS]}
    forms = {form(number) for number in own for form in (key_text, sort_key)}
    keys = {row["id"]: f"revision {place}" for place, row in enumerate(rows.get(REVISIONS, []))}

    def shown(name: str, value: Any) -> Any:
        if name.startswith("item_") and value is not None:
            return "another document"
        if name in ("id", "audit_id", "correspondence_id", "document_id", "transmittal_id", "circulation_id"):
            return "head" if value == key else keys.get(value, "key")
        if name in ("reservation_id", "sequence_number", "lock_wait_ms"):
            return name
        if name.endswith("revision_id"):
            return keys.get(value, "key")
        if isinstance(value, UUID | dict | list):
            value = str(value)
        if not isinstance(value, str):
            return value
        if name == "number_sort" or name.endswith("number_key"):
            return value in forms
        for text in sorted(own, key=len, reverse=True):
            value = value.replace(text, own[text])
        return _UUID.sub(lambda found: names.setdefault(found.group().replace("-", ""), f"id {len(names)}"), value)

    told = {
        table.name: [{name: shown(name, one) for name, one in row.items()} for row in those]
        for table, those in rows.items()
    }
    told["document_reach"] = [{name: shown(name, one) for name, one in row.items()} for row in seen]
    for row in told.get("transmittal_items", []):
        row |= {name: row[name] is not None for name in ("document_number", "subject")}
    return told


def sort_named(scripts: list[GeneratedScript], where: DemoRegister, acts: tuple[str, ...]) -> int:
    return next(
        place
        for place, one in enumerate(scripts)
        if one.script.where is where and tuple(act.action for act in one.script.acts) == acts
    )


_TWINS = [
    (DemoRegister.RFA, ()),
    (DemoRegister.RFA, ("cancel",)),
    (DemoRegister.RFA, ("submit",)),
    (DemoRegister.RFA, ("submit", "approve")),
    (DemoRegister.RFA, ("submit", "approve", "approve")),
    (DemoRegister.RFA, ("submit", "reject")),
    (
        DemoRegister.RFA,
        ("submit", "approve", "request-revision", "revise", "submit", "approve", "approve"),
    ),
    (DemoRegister.CORRESPONDENCE, ("submit", "acknowledge")),
    (DemoRegister.CORRESPONDENCE, ("submit", "request-revision", "revise", "submit", "acknowledge")),
    (DemoRegister.CORRESPONDENCE, ("submit",)),
    (DemoRegister.TRANSMITTAL, ()),
    (DemoRegister.TRANSMITTAL, ("submit", "acknowledge")),
    (DemoRegister.CIRCULATION, ("start",)),
    (DemoRegister.CIRCULATION, ("start", "respond", "complete")),
]


def few(run: generation.GenerationRun) -> None:
    """Keep one sort of each register."""
    run.place.scripts = killed.few(run.place.scripts)
    run.__post_init__()


async def held(system: "System") -> int:
    async with system.db.reading() as session:
        count = sa.select(sa.func.count()).where(LedgerEntry.holder_public_id.is_not(None))
        return await session.scalar(count) or 0


async def discrepancies(system: "System") -> list[numbering.Discrepancy]:
    return [one async for one in numbering.check_consistency(system.db, carriers=carriers())]


class TestTwin:
    @pytest.mark.parametrize(("where", "acts"), _TWINS, ids=lambda one: str(one))
    @pytest.mark.sampled(
        "rfa-('submit', 'approve', 'request-revision'",
        "transmittal-('submit'",
        "circulation-('start', 'respond'",
        "correspondence-('submit', 'request-revision'",
    )
    async def test_equals_what_people_write(self, system: "System", where: DemoRegister, acts: tuple[str, ...]) -> None:
        run = await run_on(system)
        scripts = run.place.scripts
        early = run.now - timedelta(days=300)
        if where is DemoRegister.TRANSMITTAL:
            await generation.begin_sort(run, sort_named(scripts, DemoRegister.RFA, _TWINS[4][1]), "TER", early)
        place = sort_named(scripts, where, acts)
        discipline = "TER" if where is DemoRegister.RFA else None
        await generation.begin_sort(run, place, discipline, early)
        other = "ROW" if discipline else None
        # A Friday evening in another year, so that a day and an hour that were kept would show.
        at = office_moment(0.3456, until=run.now.date(), zone=run.stage.zone)
        one: CopiedDocument = await generation.copy(run, place, other, at, scripts[place].script.subject)

        assert await generation.write_batch(run, [one])
        before = await row_counts(system.db)
        theirs = await generation.play(run, replace(scripts[place].script, discipline=other), at)
        after = await row_counts(system.db)

        copied = await dumped(system, where, one.public_id)
        assert copied == await dumped(system, where, theirs)
        assert {name for name in after if after[name] != before[name]} <= copied.keys() | _TOLD


class TestProject:
    async def test_has_as_many_as_asked_and_everything_adds_up(self, system: "System") -> None:
        run = await run_on(system)
        few(run)

        assert [written async for written in generation.fill(run, 150)] == [150]
        assert await held(system) == 150
        assert await discrepancies(system) == []
        again = [
            one async for one in generation.generate(run.stage, code=PROJECT, documents=150, revisions=1.4, now=run.now)
        ]
        assert [(one.found, one.written) for one in again] == [(150, 0)]

    async def test_the_next_number_people_get_follows(self, system: "System") -> None:
        run = await run_on(system)
        place = sort_named(run.place.scripts, DemoRegister.RFA, ())
        at = run.now - timedelta(days=2)
        await generation.begin_sort(run, place, "TER", at)
        await generation.write_batch(run, [await generation.copy(run, place, "TER", at, "เรื่อง") for _ in range(5)])

        theirs = await generation.play(run, replace(run.place.scripts[place].script, discipline="TER"), at)

        async with system.db.reading() as session:
            entry = (await session.scalars(sa.select(LedgerEntry).where(LedgerEntry.holder_public_id == theirs))).one()
        assert entry.sequence_number == 7

    async def test_sorts_have_the_shares_that_were_asked_for(self, system: "System") -> None:
        project = (await run_on(system)).place

        def share(code: str) -> float:
            return sum(one.weight for one in project.scripts if code in project.seers(one))

        assert share("ผรม.2") == pytest.approx(0.6, abs=0.03)
        assert share("ผรม.1") == pytest.approx(0.001, abs=0.0005)
        running = sum(one.weight for one in project.scripts if one.running and one.script.acts)
        assert running == pytest.approx(0.1)
        assert sum(one.weight for one in project.scripts) == pytest.approx(1)

    async def test_steps_over_a_number_that_somebody_has_stated(self, system: "System") -> None:
        run = await run_on(system)
        place = sort_named(run.place.scripts, DemoRegister.RFA, ("submit", "approve", "approve"))
        at = run.now - timedelta(days=90)
        await generation.begin_sort(run, place, "TER", at)
        copies = [await generation.copy(run, place, "TER", at, f"เรื่องที่ {number}") for number in range(3)]
        plan = copies[0].request.plan
        async with system.db.writing() as session:
            row = (await session.scalars(sa.select(LedgerEntry))).one()
            values = {
                one.name: getattr(row, one.name, None)
                for one in LedgerEntry.__table__.columns
                if one.name not in ("id", "uuid", "range") and not one.name.endswith("number_key")
            }
            values |= {"sequence_number": 3, "base_number": plan.base(3), "document_number": plan.number(3)}
            values |= {
                "holder_public_id": None,
                "holder_kind": None,
                "token": run.place.found.project,
                "uuid": run.place.found.project,
            }
            await session.execute(sa.insert(LEDGER).values(range=0, **values))

        assert await generation.write_batch(run, copies)

        async with system.db.reading() as session:
            counter = await session.scalar(
                sa.select(NumberCounter.last_number).where(NumberCounter.series == plan.series)
            )
        assert counter == 5
        assert run.searches


class TestMix:
    def test_subjects_differ(self) -> None:
        found = {subject(kind, None, ordinal) for kind in ("rfa", "transmittal") for ordinal in range(20_000)}

        assert len(found) > 30_000
        assert max(map(len, found)) < 200

    @pytest.mark.parametrize("mean", [1, 1.4, 3, 4])
    def test_revisions_have_their_mean(self, mean: float) -> None:
        shares = revision_shares(mean)

        assert sum(share * count for share, count in zip(shares, (1, 2, 4, 8), strict=True)) == pytest.approx(
            mean, abs=0.01
        )

    def test_moments_rise_within_office_hours(self, system: "System") -> None:
        zone = system.clock.zone
        moments: list[datetime] = [
            office_moment(place / 5000, until=system.clock.now().date(), zone=zone) for place in range(5000)
        ]

        assert moments == sorted(moments)
        assert {moment.weekday() for moment in moments} == set(range(6))
        assert {moment.hour for moment in moments} == set(range(8, 17))
