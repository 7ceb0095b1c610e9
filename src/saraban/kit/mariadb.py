"""What a connection to MariaDB states when it begins, and the proof that the server took it: the quoting of `kit.bulk` rests on it."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from saraban.kit.errors import DomainError, ErrorKind, Text

# The greeting names a character set too, which a server may be told to overlook (`skip-character-set-client-handshake`).
SESSION = (
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, SESSION time_zone='+00:00', SESSION sql_mode='STRICT_ALL_TABLES,"
    "NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO', SESSION innodb_lock_wait_timeout=10"
)
_STATED = "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@sql_mode"
_CHANGES_QUOTING = {"NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ANSI"}


class DatabaseConnectionChanged(DomainError):
    """Something between Saraban and MariaDB, such as a proxy, changes the character set or `sql_mode` of connections."""

    kind, code = ErrorKind.BROKEN, "DATABASE_CONNECTION_CHANGED"
    says = Text(
        "การเชื่อมต่อฐานข้อมูลไม่เป็น utf8mb4 หรือ sql_mode ไม่เป็นไปตามที่ตั้ง ({found}) ให้ต่อตรงกับ MariaDB หรือแก้พร็อกซีที่เปลี่ยนค่า",
        "A connection to the database is not in utf8mb4 and the sql_mode that was set ({found}): connect to MariaDB itself, or "
        "mend the proxy that changes them.",
    )
    recovery = (Text("ต่อตรงกับ MariaDB หรือแก้พร็อกซี", "Connect to MariaDB itself, or mend the proxy."),)


def check_connections(engine: sa.Engine) -> None:
    """Have every new connection asked what it is, before a value is sent over it."""

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(_STATED)
        *charsets, modes = cursor.fetchone()
        cursor.close()
        stated = set(modes.split(","))
        if set(charsets) != {"utf8mb4"} or "STRICT_ALL_TABLES" not in stated or stated & _CHANGES_QUOTING:
            raise DatabaseConnectionChanged(values={"found": f"{', '.join(sorted(set(charsets)))}; {modes}"})
