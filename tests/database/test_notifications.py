"""Notifications in a table that MariaDB keeps in partitions, and that has no unique public id there."""

from datetime import timedelta

import pytest

from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.notifications import service as notifications
from tests.factories.contexts import context
from tests.notified_accounts import NEW_YEAR, open_account, told

pytestmark = pytest.mark.sampled("mariadb")


class TestNotifications:
    async def test_are_found_across_the_turn_of_the_year(self, any_db: Database) -> None:
        reader, other = await open_account(any_db, "reader"), await open_account(any_db, "other")
        moments = [NEW_YEAR + timedelta(seconds=offset) for offset in (-1, 0, 1)]
        for number, at in enumerate(moments):
            event = told(reader.public_id, f"N-{number}", at)
            for _ in range(2):
                await any_db.transact(lambda session, event=event: notifications.react_all(session, [event]))

        async with any_db.reading() as session:
            first = await notifications.listing(context(caller=reader), session, language="en", limit=2)
            rest = await notifications.listing(
                context(caller=reader), session, language="en", limit=2, cursor=first.next_cursor
            )
            assert (await notifications.listing(context(caller=other), session, language="en")).items == []
        views = first.items + rest.items
        assert [view.title for view in views] == [f"N-{number} awaits your action" for number in (2, 1, 0)]
        assert views[0].message == "“น้ำหนักบรรทุก” now has the status Review."

        await any_db.transact(
            lambda session: notifications.read(context(caller=reader), session, public_id=views[2].public_id)
        )
        async with any_db.reading() as session:
            assert await notifications.unread_count(context(caller=reader), session) == 2
        await any_db.transact(lambda session: notifications.read_all(context(caller=reader, now=NEW_YEAR), session))
        async with any_db.reading() as session:
            assert await notifications.unread_count(context(caller=reader), session) == 1
        with pytest.raises(NotFound):
            await any_db.transact(
                lambda session: notifications.read(context(caller=other), session, public_id=views[0].public_id)
            )
