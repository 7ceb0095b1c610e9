"""Which workflow documents start on: chosen by kind and type, for a project or for all, with nothing deployed."""

import json
from typing import Any

import httpx
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.audit.models import AuditLog
from tests.features.documents.conftest import Desk, pointers
from tests.other_project import add_other_project
from tests.workflow_choices import API, HERE, admin, choose, flow, publish

__all__ = ["admin"]


async def started(desk: Desk, **changes: Any) -> str:
    letter = await desk.write("dc.contractor", "correspondences", desk.letter(**changes))
    return str(letter["workflow"]["workflowCode"])


class TestChoice:
    async def test_has_the_next_document_start_on_a_workflow_of_ones_own(
        self, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        before = await started(desk)
        chosen = await choose(admin, "MINE", projectPublicId=desk.project)
        letter = await desk.write("dc.contractor", "correspondences", desk.letter())
        sent = await desk.act("dc.contractor", letter, "submit")

        assert chosen.status_code == 200, chosen.text
        assert chosen.json()["project"] == {"publicId": desk.project, "projectCode": "LCBP3-C2"}
        assert before == "CORRESPONDENCE_FLOW_V1"
        assert letter["workflow"]["workflowCode"] == "MINE"
        assert sent["workflow"]["currentState"] == "checking"

    async def test_counts_the_more_the_more_specific_it_is(self, desk: Desk, admin: httpx.AsyncClient) -> None:
        async def both() -> tuple[str, str]:
            return await started(desk), await started(desk, correspondenceTypeCode="MEMO")

        found = []
        for code, place in (
            ("MINE", {}),
            ("OURS", {"typeCode": "MEMO"}),
            ("THEIRS", {"projectPublicId": desk.project}),
            ("MINE", {"projectPublicId": desk.project, "typeCode": "MEMO"}),
        ):
            await choose(admin, code, **place)
            found.append(await both())

        assert found == [("MINE", "MINE"), ("MINE", "OURS"), ("THEIRS", "THEIRS"), ("THEIRS", "MINE")]

    async def test_of_an_rfi_is_the_shipped_one_unless_the_project_chose_its_own(
        self, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        shipped = await started(desk, correspondenceTypeCode="RFI"), await started(desk)
        await choose(admin, "OURS", projectPublicId=desk.project)

        assert shipped == ("RFI_FLOW_V1", "CORRESPONDENCE_FLOW_V1")
        assert await started(desk, correspondenceTypeCode="RFI") == "OURS"

    async def test_of_another_project_or_kind_says_nothing_here(
        self, app: FastAPI, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        other = await add_other_project(app.state.db)
        await choose(admin, "MINE", projectPublicId=str(other["project"]))
        await choose(admin, "MINE", kind="transmittal")

        assert await started(desk) == "CORRESPONDENCE_FLOW_V1"

    async def test_goes_by_the_type_of_an_rfa(self, desk: Desk, admin: httpx.AsyncClient) -> None:
        report = {"kind": "rfa", "typeCode": "RPT", "projectPublicId": desk.project}
        assert (await choose(admin, "MINE", **report)).status_code == 200

        rfas = [await desk.write("dc.contractor", "rfas", desk.rfa(rfaTypeCode=code)) for code in ("RPT", "MAT")]

        assert [rfa["workflow"]["workflowCode"] for rfa in rfas] == ["MINE", "RFA_APPROVAL"]

    async def test_leaves_what_runs_where_it_is_and_counts_for_the_next_revision(
        self, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        letter = await desk.write("dc.contractor", "correspondences", desk.letter("คคง."))
        await choose(admin, "MINE")
        await desk.act("dc.contractor", letter, "submit")
        back = await desk.act("dc.consultant", letter, "request-revision", comment="page 2")
        client = await desk.as_("dc.contractor")
        address = f"/api/v1/correspondences/{letter['publicId']}"
        revised = await client.post(f"{address}/revisions", json={})

        assert back["workflow"]["workflowCode"] == "CORRESPONDENCE_FLOW_V1"
        assert revised.status_code == 201, revised.text
        assert revised.json()["workflow"]["workflowCode"] == "MINE"

    async def test_is_replaced_listed_and_taken_back(self, desk: Desk, admin: httpx.AsyncClient) -> None:
        for code in ("MINE", "OURS"):
            await choose(admin, code, projectPublicId=desk.project, typeCode="RFI")
        await choose(admin, "THEIRS")
        listed = (await admin.get(f"{API}/choices", params={"projectPublicId": desk.project})).json()["items"]
        place = {"kind": "correspondence", "typeCode": "RFI", "projectPublicId": desk.project}
        gone, again = [await admin.delete(f"{API}/choices", params=place) for _ in range(2)]

        assert [(one["typeCode"], one["workflowCode"], bool(one["project"])) for one in listed] == [
            (None, "THEIRS", False),
            ("RFI", "OURS", True),
        ]
        assert (gone.status_code, again.status_code) == (204, 404)
        assert await started(desk, correspondenceTypeCode="RFI") == "THEIRS"

    async def test_is_in_the_audit_trail_with_what_was_before(
        self, app: FastAPI, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        await choose(admin, "MINE", projectPublicId=desk.project)
        await choose(admin, "OURS", projectPublicId=desk.project)
        await admin.delete(f"{API}/choices", params={"kind": "correspondence", "projectPublicId": desk.project})

        async with app.state.db.reading() as session:
            rows = await session.scalars(
                sa.select(AuditLog).where(AuditLog.entity_type == "workflow_choice").order_by(AuditLog.created_at)
            )
            found = [(row.action, *row.details_json["workflowCode"].values()) for row in rows]
        assert found == [
            ("workflow.choose", None, "MINE"),
            ("workflow.choose", "MINE", "OURS"),
            ("workflow.take_back", "OURS", None),
        ]

    async def test_of_a_workflow_that_went_out_of_force_stops_new_documents_by_name(
        self, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        await choose(admin, "MINE")
        await admin.post(f"{API}/definitions/MINE/versions/1/deactivate")
        await admin.post(f"{API}/definitions/CORRESPONDENCE_FLOW_V1/versions/1/deactivate")
        refused = await (await desk.as_("dc.contractor")).post("/api/v1/correspondences", json=desk.letter())

        assert refused.json()["code"] == "WORKFLOW_NOT_DEFINED"
        assert [one["isInForce"] for one in (await admin.get(f"{API}/choices")).json()["items"]] == [False]
        assert "“MINE”" in refused.json()["userMessage"]
        assert "remove the assignment" in refused.json()["userMessage"]

        await admin.delete(f"{API}/choices", params=HERE)
        shipped = await (await desk.as_("dc.contractor")).post("/api/v1/correspondences", json=desk.letter())
        assert shipped.json()["code"] == "WORKFLOW_NOT_DEFINED"
        assert "“CORRESPONDENCE_FLOW_V1”" in shipped.json()["userMessage"]

    async def test_is_the_project_managers_for_the_project_and_nobody_elses(
        self, app: FastAPI, desk: Desk, admin: httpx.AsyncClient
    ) -> None:
        other = await add_other_project(app.state.db)
        manager, clerk = await desk.as_("padmin"), await desk.as_("dc.contractor")

        allowed = await choose(manager, "MINE", projectPublicId=desk.project)
        everywhere = await choose(manager, "MINE")
        elsewhere = await choose(manager, "MINE", projectPublicId=str(other["project"]))
        by_clerk = await choose(clerk, "MINE", projectPublicId=desk.project)
        read_by_clerk = await clerk.get(f"{API}/choices")

        assert allowed.status_code == 200, allowed.text
        assert [one.status_code for one in (everywhere, by_clerk, read_by_clerk)] == [403, 403, 403]
        assert pointers(elsewhere) == ["/projectPublicId"]
        assert [one["workflowCode"] for one in (await manager.get(f"{API}/choices")).json()["items"]] == ["MINE"]


class TestFit:
    async def test_is_asked_of_whatever_documents_start_on(self, desk: Desk) -> None:
        client, raw = await desk.as_("admin"), flow("ODD", first="start")
        assert (await publish(client, raw)).status_code == 201
        ours = raw | {"workflow": "CORRESPONDENCE_FLOW_V1"}

        chosen = await choose(client, "ODD")
        shipped = await publish(client, ours)
        checked = await client.post(f"{API}/definitions/validate", json={"text": json.dumps(ours, indent=1)})

        assert pointers(chosen) == ["/workflowCode"]
        assert "/states/0/name" in chosen.json()["errors"][0]["detail"]
        assert shipped.json()["code"] == "INVALID_WORKFLOW_DSL"
        assert pointers(shipped) == ["/dsl/states/0/name"]
        assert [(one["pointer"], one["line"]) for one in checked.json()["errors"]] == [("/text/states/0/name", 5)]

    async def test_is_asked_again_of_every_version_while_it_is_chosen(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        odd = flow("MINE", first="start")
        assert (await publish(client, odd, activate=False)).status_code == 201
        assert (await publish(client, flow("MINE"))).status_code == 201
        await choose(client, "MINE", typeCode="MEMO")

        activated = await client.post(f"{API}/definitions/MINE/versions/1/activate")
        published = await publish(client, odd, activate=False)
        await client.delete(f"{API}/choices", params={"kind": "correspondence", "typeCode": "MEMO"})
        free = await client.post(f"{API}/definitions/MINE/versions/1/activate")

        assert pointers(activated) == pointers(published) == ["/dsl/states/0/name"]
        assert free.status_code == 200

    async def test_looks_at_the_type_that_is_chosen_for(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        raw = flow("LETTERS_ONLY")
        rule = {"==": [{"var": "document.documentType"}, "LETTER"]}
        raw["states"][1]["on"]["accept"]["condition"] = {"type": "json-logic", "rule": rule}
        assert (await publish(client, raw)).status_code == 201

        refused = [await choose(client, "LETTERS_ONLY", **place) for place in ({"typeCode": "MEMO"}, {})]
        taken = await choose(client, "LETTERS_ONLY", typeCode="LETTER")
        rule["=="][1] = "MEMO"
        memos = await publish(client, raw)

        assert [pointers(one) for one in refused] == [["/workflowCode"]] * 2
        assert "Memorandum" in refused[0].json()["errors"][0]["detail"]
        assert taken.status_code == 200
        assert pointers(memos) == ["/dsl/states/1"]

    async def test_is_not_all_that_is_asked_of_a_choice(self, desk: Desk) -> None:
        client = await desk.as_("admin")
        await publish(client, flow("RESTING"), activate=False)
        wrong: dict[str, list[dict[str, Any]]] = {
            "/workflowCode": [{"workflowCode": "NO_SUCH"}, {"workflowCode": "RESTING"}],
            "/typeCode": [
                {"typeCode": "RFA"},
                {"kind": "transmittal", "typeCode": "TRANSMITTAL"},
                {"kind": "rfa", "typeCode": "NO_SUCH"},
            ],
            "/projectPublicId": [{"projectPublicId": "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"}],
        }

        for pointer, places in wrong.items():
            for place in places:
                answer = await client.put(f"{API}/choices", json=HERE | {"workflowCode": "RFA_APPROVAL"} | place)
                assert pointers(answer) == [pointer], place
