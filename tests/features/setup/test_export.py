"""A project exported, applied where it comes from and elsewhere; the templates that are shipped."""

import pytest
import yaml

from saraban.cli.run import request_in_codes
from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.kit.errors import Invalid, NotFound
from saraban.numbering import service as numbering
from saraban.setup import service as setup
from saraban.setup.domain.project_yaml import read_file, yaml_text
from tests.factories.contexts import context
from tests.factories.projects import FULL, LISTS
from tests.project_files import NOW, applied, said


async def exported(db: Database, code: str) -> str:
    async with db.reading() as session:
        return await setup.export(context(caller=await identity.system_caller(session)), session, code=code)


class TestExport:
    async def test_has_the_lists_of_a_project_in_their_order(self, empty_db: Database) -> None:
        await applied(empty_db, LISTS)
        text = await exported(empty_db, "L")

        assert yaml.safe_load(text)["project"]["fileKinds"] == "dwg, pdf"
        assert [one["code"] for one in yaml.safe_load(text)["tags"]] == ["URGENT", "LATE"]
        assert [one["code"] for one in yaml.safe_load(text)["contracts"][0]["disciplines"]] == ["B", "A"]
        assert said(await applied(empty_db, text, prune=True)) == []

    def test_is_written_and_read_whatever_the_length_of_its_lists(self) -> None:
        tags = [{"code": f"T{number}", "nameTh": f"ป้าย {number}"} for number in range(5_001)]
        text = yaml_text({"project": {"code": "P", "name": "ยาว"}, "tags": tags})

        assert len(read_file(text.encode()).file.tags or ()) == 5_001

    async def test_applied_where_it_comes_from_changes_nothing(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        text = await exported(empty_db, "BRIDGE")

        assert said(await applied(empty_db, text, prune=True)) == []

    async def test_of_the_demo_changes_nothing(self, demo_db: Database) -> None:
        assert said(await applied(demo_db, await exported(demo_db, "LCBP3-C2"), prune=True)) == []

    async def test_applied_elsewhere_gives_the_same_file(self, demo_db: Database, empty_db: Database) -> None:
        text = await exported(demo_db, "LCBP3-C2")
        await applied(empty_db, text)

        assert await exported(empty_db, "LCBP3-C2") == text

    async def test_keeps_the_order_of_the_keys(self, empty_db: Database) -> None:
        await applied(empty_db, FULL)
        keys = [
            line.partition(":")[0] for line in (await exported(empty_db, "BRIDGE")).splitlines() if line[0] not in " -"
        ]

        assert keys == [line.partition(":")[0] for line in FULL.splitlines() if line[0] not in " -"]

    async def test_leaves_out_roles_that_count_everywhere(self, demo_db: Database) -> None:
        people = yaml.safe_load(await exported(demo_db, "LCBP3-C2"))["people"]

        assert {one["username"] for one in people} == {
            *("padmin", "dc.contractor", "dc.consultant", "reviewer.consultant", "approver.owner", "viewer"),
        }
        assert all(role["level"] != "Global" for one in people for role in one["roles"])

    async def test_of_no_project_is_refused(self, empty_db: Database) -> None:
        with pytest.raises(NotFound):
            await exported(empty_db, "NOPE")


class TestTemplate:
    @pytest.mark.parametrize("name", setup.TEMPLATES)
    async def test_applies_as_it_is_to_an_empty_installation(self, empty_db: Database, name: str) -> None:
        text = setup.template(name)
        found = await applied(empty_db, text)

        sections = {path.split("/")[-2] for _, path in said(found)}
        assert {"organizations", "members", "disciplines", "rfaTypes", "subTypes", "numberFormats"} <= sections
        assert 15 <= sum("/disciplines/" in path for _, path in said(found)) <= 30
        assert ("add", "/numberFormats/RFI") in said(found)
        assert said(await applied(empty_db, text, prune=True)) == []

    def test_of_another_name_is_refused(self) -> None:
        with pytest.raises(Invalid):
            setup.template("../demo")


SENT: tuple[tuple[str, dict[str, str]], ...] = (
    ("LETTER", {}),
    ("RFA", {"discipline_code": "TER", "rfa_type_code": "RPT"}),
    ("TRANSMITTAL", {"sub_type_code": "MAT"}),
)


async def test_an_exported_project_numbers_the_same_documents_alike(demo_db: Database, empty_db: Database) -> None:
    await applied(empty_db, await exported(demo_db, "LCBP3-C2"))

    assert await numbers(empty_db) == await numbers(demo_db)


async def numbers(db: Database) -> list[str]:
    """What the next documents of the contractor would be called."""
    async with db.reading() as session:
        ctx = context(await identity.system_caller(session), NOW)
        places = ("LCBP3-C2", "ผรม.2", "คคง.", "LCBP3-C2")
        requests = [await request_in_codes(ctx, session, places, kind, codes) for kind, codes in SENT]
        plans = [await numbering.plan(ctx, session, request=one) for one in requests]
        return [(await numbering.preview(session, plan=plan)).number for plan in plans]
