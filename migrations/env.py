"""
How Alembic runs the scripts: on the connection that `saraban.kit.migrations` hands over.

The models are not imported here: a script says itself what it changes. What the models want beyond the newest script is
told by a test.
"""

from alembic import context
from saraban_history.rerun import allow_reruns

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("Run migrations with `saraban migrate`; it prepares the connection as each database needs it.")

allow_reruns(connection)
context.configure(connection=connection, transactional_ddl=connection.dialect.name == "sqlite")
with context.begin_transaction():
    context.run_migrations()
