"""
What a page of a register is compared with, by the bare driver, in rows that `demo generate` has written.

Every side returns the same columns of the same documents: those that a register's row is made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.dialects import mysql

from benchmarks.load import Operation
from benchmarks.number_baselines import Pool
from saraban.documents.core.domain import RegisterCode
from saraban.documents.core.repository.rows import summary_select
from saraban.kit.db import AnySelect
from saraban.projects.models import CorrespondenceType

PAGE = 20
_RFA = int(RegisterCode.RFA)
# Of one reader: what the keys of the product's reader open, written out.
_SEEN = f"""
SELECT DISTINCT r.created_at, r.document_id, r.revision_id FROM document_reach r
WHERE r.kind = {_RFA} AND NOT (r.behind AND r.originator_id = {{organization}})
  AND (r.reader_kind = 3 AND r.reader_id = {{organization}}
    OR r.reader_kind = 2 AND r.reader_id IN
      (SELECT contract_id FROM contract_organizations WHERE organization_id = {{organization}}))
"""
# As django-guardian makes its tables, with their indexes; `whose` is a user or a group.
_PERMISSION = """
CREATE OR REPLACE TABLE baseline_{whose}_permission (
  id INT AUTO_INCREMENT PRIMARY KEY, object_pk VARCHAR(255) NOT NULL, content_type_id INT NOT NULL,
  {whose}_id INT NOT NULL, permission_id INT NOT NULL, UNIQUE ({whose}_id, permission_id, object_pk),
  KEY (content_type_id, object_pk), KEY (permission_id, {whose}_id, content_type_id, object_pk))
"""
# The ideal: all that this reader sees and nothing else, in the order of the page.
_OF_READER = f"""
CREATE OR REPLACE TABLE baseline_reader
  (created_at DATETIME(6), document_id INT, revision_id INT, PRIMARY KEY (created_at, document_id)) AS {_SEEN}
"""
_USER_GROUP = """
CREATE OR REPLACE TABLE baseline_user_group
  (id INT AUTO_INCREMENT PRIMARY KEY, user_id INT, group_id INT, UNIQUE (user_id, group_id))
"""
# An organization is a group that may view what it sees; of the others, what they wrote or received.
_GRANTED = f"""
INSERT INTO baseline_group_permission (object_pk, content_type_id, group_id, permission_id)
  SELECT document_id, 7, {{organization}}, 28 FROM baseline_reader
  UNION ALL SELECT document_id, 7, reader_id, 28 FROM document_reach
  WHERE reader_kind = 3 AND reader_id <> {{organization}} AND kind = {_RFA}
"""
_TABLES = (
    _OF_READER,
    _PERMISSION.replace("{whose}", "group"),
    _PERMISSION.replace("{whose}", "user"),
    _USER_GROUP,
    "INSERT INTO baseline_user_group (user_id, group_id) VALUES ({user}, {organization})",
    _GRANTED,
    "ANALYZE TABLE baseline_reader, baseline_group_permission, baseline_user_permission, baseline_user_group",
)
# A subquery is read once: left alone, MariaDB asks it again for every document, and the page takes minutes.
_READ_ONCE = "SET SESSION optimizer_switch = 'in_to_exists=off'"
_GUARDIAN = (
    "(correspondences.created_by = {user} OR correspondences.id IN (SELECT CAST(u.object_pk AS SIGNED) "
    "FROM baseline_user_permission u WHERE u.user_id = {user} AND u.content_type_id = 7 AND u.permission_id = 28) "
    "OR correspondences.id IN (SELECT CAST(g.object_pk AS SIGNED) FROM baseline_group_permission g "
    "INNER JOIN baseline_user_group m ON m.group_id = g.group_id "
    "WHERE m.user_id = {user} AND g.content_type_id = 7 AND g.permission_id = 28))"
)
# What most lists do: parties are asked of each document.
_PARTIES = (
    "(correspondences.originator_id = {organization} OR correspondence_revisions.issued_date IS NOT NULL AND ("
    "EXISTS (SELECT 1 FROM correspondence_recipients r WHERE r.correspondence_id = correspondences.id "
    "AND r.recipient_organization_id = {organization}) OR correspondences.contract_id IN "
    "(SELECT contract_id FROM contract_organizations WHERE organization_id = {organization})))"
)
_ORDER = "ORDER BY correspondences.created_at DESC, correspondences.id DESC"


@dataclass(frozen=True, slots=True)
class Reader:
    """One who reads for one organization, by their keys."""

    user: int
    organization: int

    def in_words(self, text: str) -> str:
        return text.format(user=self.user, organization=self.organization)


async def prepare(pool: Pool, reader: Reader) -> int:
    """Write what the baselines read, for one reader, and return how many documents that one sees."""
    async with pool.transaction() as cursor:
        for statement in _TABLES:
            await cursor.execute(reader.in_words(statement))
        await cursor.execute("SELECT COUNT(*) FROM baseline_reader")
        return int((await cursor.fetchone())[0])


def _wide(statement: AnySelect) -> str:
    return str(statement.compile(dialect=mysql.dialect(), compile_kwargs={"literal_binds": True}))


def ideal(pool: Pool) -> Operation:
    """The hand-written query on an ideal index: a page of keys from one range, and the rows behind them."""
    page = f"(SELECT * FROM baseline_reader ORDER BY created_at DESC, document_id DESC LIMIT {PAGE + 1}) page"
    begins = "FROM correspondence_revisions INNER JOIN"
    joined = _wide(summary_select().prefix_with("STRAIGHT_JOIN")).replace("\n", "")
    assert begins in joined
    revision = "INNER JOIN correspondence_revisions ON correspondence_revisions.id = page.revision_id INNER JOIN"
    joined = joined.replace(begins, f"FROM {page} {revision}")
    return _sending(pool, [f"{joined} ORDER BY page.created_at DESC, page.document_id DESC"])


def guardian(pool: Pool, reader: Reader, *, offset: int) -> Operation:
    """A page by permissions of single documents, as Paperless-ngx asks for it, with OFFSET and the whole count."""
    return _listing(pool, reader.in_words(_GUARDIAN), offset, first=[_READ_ONCE])


def offset_and_count(pool: Pool, reader: Reader, *, offset: int) -> Operation:
    """A page by the parties of each document, with OFFSET and the whole count."""
    return _listing(pool, reader.in_words(_PARTIES), offset)


def _listing(pool: Pool, condition: str, offset: int, first: Sequence[str] = ()) -> Operation:
    wanted = f"correspondence_revisions.is_current = 1 AND {condition}"
    counted = (
        "SELECT COUNT(*) FROM correspondences INNER JOIN correspondence_revisions "
        "ON correspondence_revisions.correspondence_id = correspondences.id INNER JOIN correspondence_types "
        "ON correspondence_types.id = correspondences.correspondence_type_id "
        f"WHERE correspondences.deleted_at IS NULL AND correspondence_types.type_code = 'RFA' AND {wanted}"
    )
    listed = _wide(summary_select().where(CorrespondenceType.type_code == "RFA"))
    return _sending(pool, [*first, counted, f"{listed} AND {wanted} {_ORDER} LIMIT {PAGE} OFFSET {offset}"])


def _sending(pool: Pool, statements: Sequence[str]) -> Operation:
    """Return what sends them one after the other, and gives the rows of the last."""

    async def operation() -> Any:
        async with pool.transaction() as cursor:
            for statement in statements:
                await cursor.execute(statement)
                rows = await cursor.fetchall()
            return rows

    return operation
