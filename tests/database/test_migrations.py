"""The migration history on both databases: each step up and down with rows in place (REQ-IDN-06)."""

import asyncio
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError

import saraban
from saraban.kit import migration_lock, migrations, revisions
from saraban.kit.db import Base, Database
from saraban.numbering.series.domain.template import Template
from tests.database import first_schema_rows
from tests.migrating import OldDatabases, apart, on, rows
from tests.reach import differences
from tests.servers import MariaDb

SPECIFIED = ["0001", "0002", "0003", "0004"]
PUBLIC = [
    *("users", "organizations", "projects", "contracts", "correspondences", "correspondence_revisions", "circulations"),
    *("shop_drawings", "shop_drawing_revisions", "contract_drawings", "asbuilt_drawings", "asbuilt_drawing_revisions"),
    *("attachments", "notifications"),
]
pytestmark = pytest.mark.servers


def whole_metadata() -> sa.MetaData:
    for module in pkgutil.walk_packages(saraban.__path__, "saraban."):
        if ".models" in module.name or module.name.endswith(".idempotency"):
            importlib.import_module(module.name)
    return Base.metadata


Old = Callable[[str], OldDatabases]


@pytest.fixture(params=["sqlite", "mariadb"], scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def copied(old_databases: Old, kind: str, revision: str, folder: Path) -> Iterator[str]:
    databases = old_databases(kind)
    url = databases.copy(revision, folder / f"{folder.name}_{revision}")
    yield url
    databases.remove(url)


@pytest.fixture
def old(old_databases: Old, kind: str, tmp_path: Path) -> Iterator[str]:
    """A database at the first schema with rows in its tables."""
    with copied(old_databases, kind, "0001", tmp_path) as url:
        yield url


@pytest.fixture(scope="module")
def specified(old_databases: Old, kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An old database that was brought to the end of the specified steps; the tests that share it only look."""
    with copied(old_databases, kind, "0004", tmp_path_factory.mktemp("specified")) as url:
        yield url


@pytest.fixture(scope="module")
def moved(old_databases: Old, kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An old database that was brought to the head; the tests that share it only look."""
    with copied(old_databases, kind, "head", tmp_path_factory.mktemp("moved")) as url:
        yield url


def _same_type(
    _context: Any, _inspected: Any, _column: Any, there: sa.types.TypeEngine[Any], wanted: sa.types.TypeEngine[Any]
) -> bool | None:
    """A long `Text` becomes the MEDIUMTEXT or LONGTEXT that holds it."""
    return False if isinstance(there, mysql.MEDIUMTEXT | mysql.LONGTEXT) and isinstance(wanted, sa.Text) else None


def _of_the_product(_thing: Any, name: str | None, kind: str, _reflected: bool, _wanted: Any) -> bool:
    return (kind, name) != ("table", "migration_lock")


class TestModels:
    def test_want_nothing_beyond_the_newest_revision(self, any_url: str) -> None:
        metadata = whole_metadata()

        def differences(connection: sa.Connection) -> list[Any]:
            options = {"compare_type": _same_type, "target_metadata": metadata, "include_object": _of_the_product}
            return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

        assert on(any_url, differences) == []

    def test_have_codes_that_compare_byte_for_byte(self, mariadb_url: str) -> None:
        dialect = mysql.dialect()
        wanted = {
            (table.name, column.name)
            for table in whole_metadata().sorted_tables
            for column in table.columns
            if "nopad_bin" in str(column.type.compile(dialect=dialect))
        }
        exact = rows(
            mariadb_url,
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND collation_name = 'utf8mb4_nopad_bin'",
        )

        assert {tuple(row) for row in exact} == wanted

    def test_have_moments_with_microseconds(self, mariadb_url: str) -> None:
        coarse = rows(
            mariadb_url,
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() "
            "AND data_type IN ('datetime', 'timestamp') AND datetime_precision < 6",
        )

        assert coarse == []


class TestMariaDb:
    def test_keeps_notifications_in_yearly_partitions_with_an_open_end(self, mariadb_url: str) -> None:
        parts = rows(
            mariadb_url,
            "SELECT partition_description FROM information_schema.partitions "
            "WHERE table_schema = DATABASE() AND table_name = 'notifications' ORDER BY partition_ordinal_position",
        )

        assert parts[-1][0] == "MAXVALUE"
        assert [row[0] for row in parts[:-1]] == [str(year) for year in range(2025, 2032)]

    def test_has_native_public_ids_with_a_default(self, mariadb_url: str) -> None:
        public = rows(
            mariadb_url,
            "SELECT table_name, data_type, column_default, is_nullable FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND column_name = 'uuid'",
        )

        assert {row[0] for row in public} >= set(PUBLIC)
        assert {tuple(row[1:]) for row in public} == {("uuid", "uuid()", "NO")}

    def test_keeps_the_comments_of_the_specification(self, mariadb_url: str) -> None:
        """Word for word: for every public id, for the version of an instance, and for who acted."""
        commented = rows(
            mariadb_url,
            "SELECT table_name, column_name, column_type, is_nullable, column_default, column_comment "
            "FROM information_schema.columns WHERE table_schema = DATABASE() AND column_comment <> ''",
        )
        columns = {(row[0], row[1]): tuple(row[2:]) for row in commented}

        assert columns.pop(("workflow_instances", "version_no")) == (
            *("int(11)", "NO", "1"),
            "Optimistic lock counter — incremented on every successful transition (ADR-001 v1.1 FR-002)",
        )
        assert columns.pop(("workflow_histories", "action_by_user_uuid")) == (
            *("varchar(36)", "YES", "NULL"),
            "UUID ของ User ผู้ดำเนินการ — ใช้ใน API Response (ADR-019). INT FK action_by_user_id ยังคงอยู่สำหรับ Internal use",
        )
        assert {table for table, _ in columns} >= set(PUBLIC)
        assert set(columns.values()) == {("uuid", "NO", "uuid()", "UUID Public Identifier (ADR-019)")}

    def test_lets_no_deletion_reach_a_number(self, mariadb_url: str) -> None:
        rules = rows(
            mariadb_url,
            "SELECT constraint_name FROM information_schema.referential_constraints WHERE constraint_schema = "
            "DATABASE() AND (table_name LIKE 'document_number%' OR table_name LIKE 'corr%' OR table_name LIKE '%rfa%' "
            "OR table_name LIKE 'circ%' OR table_name LIKE 'trans%') AND delete_rule <> 'RESTRICT'",
        )

        assert rules == []


class TestTheWayToTheHead:
    def test_ends_there_and_the_driver_warns_of_nothing(self, old_databases: Old, kind: str, moved: str) -> None:
        assert apart(migrations.current, moved) == revisions.newest()
        assert old_databases(kind).warnings == ""  # the operator would see it


class TestAnUnknownRevision:
    @pytest.mark.parametrize(
        ("revision", "problem", "words"),
        [
            ("0005", revisions.DatabaseBeforeRelease, "tagged pre-1.0"),
            ("0071", revisions.DatabaseBeforeRelease, "tagged pre-1.0"),
            ("9999", revisions.DatabaseNewer, "newer than this program"),
        ],
    )
    def test_is_refused_with_what_to_install(
        self, sqlite_url: str, revision: str, problem: type[Exception], words: str
    ) -> None:
        on(sqlite_url, lambda c: c.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'")))

        with pytest.raises(problem, match=words):
            apart(migrations.upgrade, sqlite_url)

        assert apart(migrations.current, sqlite_url) == revision


class TestTheLock:
    def test_lets_two_processes_migrate_at_once(self, mariadb_server: MariaDb) -> None:
        mariadb_server.drop("locked")
        url = mariadb_server.create("locked")
        with ThreadPoolExecutor(2) as threads:
            for done in [threads.submit(migrations.upgrade, url, "0002") for _ in range(2)]:
                done.result()

        assert apart(migrations.current, url) == "0002"
        mariadb_server.drop("locked")

    @pytest.fixture
    def url(self, old_databases: Old, tmp_path: Path) -> Iterator[str]:
        """At the end of the specified steps, on MariaDB."""
        with copied(old_databases, "mariadb", "0004", tmp_path) as url:
            yield url

    def test_of_another_node_is_waited_for_while_it_beats(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(migration_lock, "PATIENCE", 2.0)
        claim_elsewhere(url)

        with pytest.raises(migration_lock.MigrationUnderWay):
            apart(migrations.downgrade, url, "0003")

        assert apart(migrations.current, url) == "0004"

    def test_of_a_node_that_is_gone_expires(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(migration_lock, "EXPIRY", 1.0)
        claim_elsewhere(url)

        apart(migrations.downgrade, url, "0003")

        assert apart(migrations.current, url) == "0003"

    def test_that_another_took_ends_the_migration(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(migration_lock, "BEAT", 0.05)
        monkeypatch.setattr(
            migrations, "_take_step", lambda c, _: (claim_elsewhere(url), c.execute(sa.text("DO SLEEP(30)")))
        )

        with pytest.raises(migration_lock.MigrationUnderWay):
            apart(migrations.downgrade, url, "0003")

    def test_keeps_an_interrupted_downgrade_which_is_finished_first(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on(url, lambda c: c.execute(sa.text("UPDATE migration_lock SET movement = 'downgrade 0002'")))
        taken: list[str] = []
        take_step = migrations._take_step
        monkeypatch.setattr(migrations, "_take_step", lambda c, step: (taken.append(step), take_step(c, step)))

        apart(migrations.upgrade, url, "0003")

        assert taken == ["downgrade 0002", "upgrade 0003"]
        assert apart(migrations.current, url) == "0003"


def claim_elsewhere(url: str) -> None:
    claimed = "UPDATE migration_lock SET owner = 'another', node = 'elsewhere:3306', beat = beat + 1"
    apart(migrations._run_read, url, lambda connection: connection.execute(sa.text(claimed)))


class TestTheSpecifiedSteps:
    def test_go_up_and_down_with_rows_in_place(self, old: str) -> None:
        for before, after in pairwise(SPECIFIED):
            there, keys = on(old, _everything)

            apart(migrations.upgrade, old, after)
            above, keys_above = on(old, _everything)
            apart(migrations.downgrade, old, before)
            again, keys_again = on(old, _everything)
            apart(migrations.upgrade, old, after)

            assert _counts(above) == _counts(there)
            assert keys_above == keys
            assert (again, keys_again) == (there, keys)


class TestTheWholeSchema:
    def test_takes_the_rows_of_the_specification_and_gives_them_back(
        self, old_databases: Old, kind: str, specified: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        there, keys = on(specified, _everything)
        with copied(old_databases, kind, "head", tmp_path) as url:
            above, _ = on(url, _everything)
            assert on(url, _orphans) == []
            apart(migrations.downgrade, url, "0004")
            again, keys_again = on(url, _everything)
            apart(migrations.downgrade, url, "0001")
            numbers = rows(
                url, "SELECT token, document_number, document_id FROM document_number_reservations ORDER BY id"
            )
            apart(migrations.downgrade, url, "base")
            left = set(on(url, lambda connection: sa.inspect(connection).get_table_names()))

        # Those of a transmittal are of a revision above: the draft that follows has its own.
        further = {"correspondence_types", "contract_drawing_attachments", "transmittal_items"}
        kept = there.keys() - NUMBERING - further
        assert {table: len(above[table]) for table in kept} == {table: len(there[table]) for table in kept}
        changed = {table for table in there if again[table] != there[table]}
        assert changed <= NUMBERING | {"correspondence_types"}
        assert keys_again == keys
        assert [tuple(row) for row in numbers[:2]] == [
            (first_schema_rows.TOKENS[0], first_schema_rows.LETTER, 1),
            (first_schema_rows.TOKENS[1], "คคง.-สคฉ.3-0002-2568", None),
        ]
        assert {row[1] for row in numbers} >= {
            first_schema_rows.RFI,
            first_schema_rows.RFA,
            first_schema_rows.TRANSMITTAL,
        }
        assert left <= {"alembic_version", "migration_lock"}
        assert caplog.messages == []


NUMBERING = {f"document_number_{name}" for name in ("formats", "counters", "reservations", "audit", "errors")}


def _counts(contents: dict[str, list[Any]]) -> dict[str, int]:
    return {table: len(rows) for table, rows in contents.items()}


def _everything(connection: sa.Connection) -> tuple[dict[str, list[dict[str, Any]]], set["Key"]]:
    return first_schema_rows.contents(connection), _foreign_keys(connection)


class Key(NamedTuple):
    table: str
    columns: tuple[str, ...]
    referred: str
    parents: tuple[str, ...]


# Asked of the database in one statement: SQLAlchemy reads every table for it, which took most of the test.
_KEYS = {
    "sqlite": (
        'SELECT t.name, k.id, k."from", k."table", k."to" FROM sqlite_master AS t, pragma_foreign_key_list(t.name) AS k '
        "WHERE t.type = 'table' ORDER BY t.name, k.id, k.seq"
    ),
    "mysql": (
        "SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name "
        "FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL "
        "ORDER BY table_name, constraint_name, ordinal_position"
    ),
}


def _foreign_keys(connection: sa.Connection) -> set[Key]:
    kind = "sqlite" if connection.dialect.name == "sqlite" else "mysql"
    columns = connection.execute(sa.text(_KEYS[kind])).all()
    keys = [list(group) for _, group in groupby(columns, key=lambda row: (row[0], row[1]))]
    assert keys or "users" not in sa.inspect(connection).get_table_names()
    return {Key(key[0][0], tuple(row[2] for row in key), key[0][3], tuple(row[4] for row in key)) for key in keys}


def _orphans(connection: sa.Connection) -> list[tuple[str, str]]:
    found = []
    for key in _foreign_keys(connection):
        child, parent = key.columns[0], key.parents[0]
        lost = connection.scalar(
            sa.text(
                f"SELECT count(*) FROM {key.table} AS c LEFT JOIN {key.referred} AS p ON p.{parent} = c.{child} "
                f"WHERE c.{child} IS NOT NULL AND p.{parent} IS NULL"
            )
        )
        if lost:
            found.append((key.table, child))
    return found


class TestPublicIds:
    def test_are_different_for_every_row_that_was_there(self, specified: str) -> None:
        given = [row[0] for table in PUBLIC for row in rows(specified, f"SELECT uuid FROM {table}")]

        revised = 1
        assert len(given) == sum(len(first_schema_rows.ROWS[table]) for table in PUBLIC) + revised
        assert len({UUID(str(value)) for value in given}) == len(given)

    def test_are_given_to_rows_that_come_without_one(self, old_databases: Old, tmp_path: Path) -> None:
        with copied(old_databases, "mariadb", "0004", tmp_path) as url:
            for statement in (
                "INSERT INTO organization_roles (role_name) VALUES ('X')",
                "INSERT INTO organizations (organization_code, organization_name) VALUES ('a', 'a'), ('b', 'b')",
            ):
                on(url, lambda connection, statement=statement: connection.execute(sa.text(statement)))

            given = rows(url, "SELECT uuid FROM organizations WHERE organization_code IN ('a', 'b')")
            assert len(set(given)) == 2


class TestItemsOfATransmittal:
    def test_go_to_its_newest_issue_and_begin_the_draft_that_follows(self, moved: str) -> None:
        listed = "SELECT transmittal_revision_id, document_number, quantity FROM transmittal_items ORDER BY id"
        assert rows(moved, listed) == [(5, first_schema_rows.RFA, 2), (50, None, 2)]


class TestReach:
    def test_is_whole_for_documents_that_were_there(self, moved: str) -> None:
        found = "SELECT kind, reader_kind, document_id, revision_id, behind FROM document_reach WHERE document_id = 4 ORDER BY 1, 2, 3"
        assert apart(_differences, moved) == []
        assert (3, 1, 4, 50, 0) in [tuple(row) for row in rows(moved, found)]


def _differences(url: str) -> list[str]:
    async def compare() -> list[str]:
        database = Database(url)
        try:
            return await differences(database)
        finally:
            await database.close()

    return asyncio.run(compare())


class TestRolesInProjects:
    def test_begin_as_the_roles_that_the_organizations_had(self, moved: str) -> None:
        found = rows(
            moved, "SELECT organization_id, role_in_project FROM project_organizations ORDER BY organization_id"
        )

        assert [tuple(row) for row in found] == [(1, "CONSULTANT"), (2, "OWNER")]


class TestWorkflowColumns:
    def test_begin_at_version_one_and_without_an_actor(self, specified: str) -> None:
        assert rows(specified, "SELECT version_no FROM workflow_instances") == [(1,)]
        assert rows(specified, "SELECT action_by_user_uuid FROM workflow_histories") == [(None,)]


class TestLedger:
    def test_counts_together_what_prints_alike(self, moved: str) -> None:
        found = rows(moved, "SELECT series, last_number FROM document_number_counters ORDER BY last_number")

        assert [tuple(row) for row in found] == [
            ("คคง.-สคฉ.3-{SEQ}-2568", 5),
            ("LCBP3-C2-RFA-STR-RPT-{SEQ}-", 7),
        ]

    def test_names_the_series_as_the_product_does(self, moved: str) -> None:
        values = {"ORIGINATOR": "คคง.", "RECIPIENT": "สคฉ.3", "YEAR:B.E.": "2568"}
        template = rows(moved, "SELECT format_template FROM document_number_formats WHERE id = 1")[0][0]

        series = Template.parse(template).series(values, resets=True)

        assert rows(moved, f"SELECT last_number FROM document_number_counters WHERE series = '{series}'") == [(5,)]

    def test_knows_up_to_where_it_counted_before_the_ledger(self, moved: str) -> None:
        highest = rows(
            moved,
            "SELECT c.before_ledger, max(r.sequence_number) FROM document_number_counters AS c "
            "JOIN document_number_reservations AS r ON r.project_id = c.project_id AND r.series = c.series "
            "WHERE r.source = 'MIGRATED' GROUP BY c.series, c.before_ledger",
        )

        assert highest
        assert all(before == last for before, last in highest)

    def test_has_a_row_for_every_number_in_use(self, moved: str) -> None:
        found = rows(
            moved,
            "SELECT document_number, base_number, sequence_number, document_number_status, holder_kind "
            "FROM document_number_reservations WHERE register = 'document' ORDER BY id",
        )

        assert [tuple(row) for row in found] == [
            (first_schema_rows.LETTER, first_schema_rows.LETTER, 3, "CONFIRMED", "correspondence"),
            ("คคง.-สคฉ.3-0002-2568", "คคง.-สคฉ.3-0002-2568", 2, "CANCELLED", None),
            (first_schema_rows.RFI, first_schema_rows.RFI, 5, "CONFIRMED", "correspondence"),
            (first_schema_rows.RFA, "LCBP3-C2-RFA-STR-RPT-0001-", 1, "CONFIRMED", "rfa"),
            (first_schema_rows.TRANSMITTAL, first_schema_rows.TRANSMITTAL, 117, "CONFIRMED", "transmittal"),
            (first_schema_rows.SHEET, first_schema_rows.SHEET, 1, "CONFIRMED", "circulation"),
        ]

    def test_has_the_numbers_of_drawings_each_in_its_register(self, moved: str) -> None:
        found = rows(
            moved,
            "SELECT l.register, l.document_number, r.document_number, l.source, l.holder_kind "
            "FROM document_number_reservations AS l "
            "JOIN document_number_renderings AS r ON r.reservation_id = l.id AND r.register = l.register "
            "WHERE l.register <> 'document' ORDER BY l.id",
        )
        held = [
            rows(
                moved,
                f"SELECT count(*) FROM {table} AS d JOIN document_number_reservations AS l ON l.uuid = d.number_uuid "
                "AND l.holder_public_id = d.uuid",
            )
            for table in ("contract_drawings", "shop_drawings", "asbuilt_drawings")
        ]

        assert [tuple(row) for row in found] == [
            ("contract", "CD-1", "CD-1", "MIGRATED", "contract_drawing"),
            ("shop", "SD-1", "SD-1", "MIGRATED", "shop_drawing"),
            ("asbuilt", "AB-1", "AB-1", "MIGRATED", "asbuilt_drawing"),
        ]
        assert held == [[(1,)]] * 3

    def test_keeps_the_tokens_and_binds_the_documents(self, moved: str) -> None:
        tokens = {UUID(str(row[0])) for row in rows(moved, "SELECT token FROM document_number_reservations")}
        bound = rows(
            moved,
            "SELECT count(*) FROM correspondences JOIN document_number_reservations AS r "
            "ON r.uuid = correspondences.number_uuid AND r.holder_public_id = correspondences.uuid",
        )

        assert tokens >= {UUID(token) for token in first_schema_rows.TOKENS}
        assert bound == [(4,)]

    def test_prints_each_number_again_from_what_it_stored(self, moved: str) -> None:
        def reprinted(connection: sa.Connection) -> list[tuple[str, str]]:
            ledger = Base.metadata.tables["document_number_reservations"].c
            columns = ledger.document_number, ledger.format_template, ledger.format_values
            printed = sa.select(*columns, ledger.sequence_number, ledger.revision_label)
            stored = connection.execute(printed.where(ledger.register == "document")).all()
            return [(row[0], Template.parse(row[1]).render(row[2], sequence=row[3], revision=row[4])) for row in stored]

        whole_metadata()
        assert all(number == printed for number, printed in on(moved, reprinted))

    def test_keeps_the_audit_with_its_number(self, moved: str) -> None:
        found = rows(
            moved,
            "SELECT a.operation, a.generated_number, a.sequence_number FROM document_number_audit AS a "
            "JOIN document_number_reservations AS r ON r.uuid = a.reservation_uuid",
        )

        assert [tuple(row) for row in found] == [("GENERATE", first_schema_rows.LETTER, 3)]


class TestAnOldDatabase:
    @pytest.mark.parametrize(
        "broken",
        [
            "UPDATE correspondence_revisions SET is_current = 1 WHERE id = 3",
            "UPDATE user_assignments SET project_id = 1",
            "UPDATE document_number_counters SET last_number = -1",
            "UPDATE document_number_audit SET sequence_number = NULL",
        ],
    )
    def test_keeps_its_generated_columns_and_checks(self, moved: str, broken: str) -> None:
        with pytest.raises(DBAPIError):
            on(moved, lambda connection: connection.execute(sa.text(broken)))

    def test_has_its_files_read_for_the_search(self, moved: str) -> None:
        found = rows(moved, "SELECT mime_type, text_due_at = created_at FROM attachments WHERE text_due_at IS NOT NULL")
        readable = rows(moved, "SELECT id FROM attachments WHERE mime_type = 'application/pdf'")

        assert [tuple(row) for row in found] == [("application/pdf", 1)] * len(readable)

    def test_has_notifications_that_speak_of_documents_by_public_id(self, moved: str) -> None:
        document = UUID(str(rows(moved, "SELECT uuid FROM correspondences WHERE id = 3")[0][0]))
        found = rows(moved, "SELECT entity_id, template FROM notifications")
        assert {tuple(row) for row in found} == {(str(document), "plain")}
