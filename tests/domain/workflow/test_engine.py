"""What the engine offers, whom it waits for and what it lets a condition see."""

from typing import Any
from uuid import UUID

import pytest

from saraban.kit.errors import Invalid
from saraban.kit.problem import to_problem
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.engine import decisions, pending_assignees
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, Require
from saraban.workflow.verification import definition_checks
from tests.domain.workflow.actors import CONTRACT, SUBMITTER, person, subject

RFA = next(definition_checks.verify(raw) for raw in shipped() if raw["workflow"] == "RFA_APPROVAL")
CIRCULATION = next(definition_checks.verify(raw) for raw in shipped() if raw["workflow"] == "CIRCULATION_FLOW_V1")
REVIEW = (("Contract Admin", ["workflow.action_review"], {"contract": CONTRACT}),)


def with_action(context_schema: Any = None, **step: Any) -> Definition:
    words = {"th": "คำ", "en": "Word"}
    schema = {} if context_schema is None else {"context_schema": context_schema}
    action = {"to": "closed", "label": words, **step}
    return dsl.read(
        {
            **schema,
            "workflow": "LETTERBOX",
            "states": [
                {"name": "open", "label": words, "initial": True, "editable": True, "on": {"close": action}},
                {"name": "closed", "label": words, "terminal": True},
            ],
        },  # whatever its condition: what is tested is the engine
    )


def offered(definition: Definition, facts: decisions.Facts) -> list[str]:
    return [choice.code for choice in decisions.available(definition, "open", facts)]


SCHEMA = {
    "type": "object",
    "properties": {
        "round": {"type": "integer"},
        "payload": {"type": "object", "properties": {"amount": {"type": "number", "minimum": 1}}},
    },
    "additionalProperties": False,
}


class TestContextSchema:
    def faults(self, **facts: Any) -> list[tuple[str, str]]:
        definition = with_action(context_schema=SCHEMA, fields=["amount"])
        try:
            decisions.advance(definition, "open", "close", decisions.Facts(person(3), subject(), **facts))
        except Invalid as refused:
            return [(problem.pointer, problem.code) for problem in refused.fields]
        return []

    def test_lets_a_step_pass_whose_context_fits(self) -> None:
        assert self.faults() == []
        assert self.faults(context={"round": 1, "payload": {"amount": 2}}, payload={"amount": 5}) == []

    def test_names_a_fault_of_the_payload_as_the_client_sent_it(self) -> None:
        assert self.faults(payload={"amount": 0}) == [("/payload/amount", "minimum")]

    def test_names_a_fault_of_what_is_remembered(self) -> None:
        assert self.faults(context={"round": "one", "payloads": 1}) == [
            ("/context/round", "type"),
            ("/context/payloads", "unknown_key"),
        ]

    def test_judges_the_payload_that_will_be_remembered(self) -> None:
        assert self.faults(context={"payload": {"amount": 0}}, payload={"amount": 5}) == []
        assert self.faults(context={"payload": {"amount": 0}}) == [("/payload/amount", "minimum")]


class TestAvailable:
    def test_offers_what_this_person_may_do(self) -> None:
        reviewer = decisions.Facts(person(2, grants=REVIEW), subject())

        choices = decisions.available(RFA, "pending_review", reviewer)

        assert [choice.code for choice in choices] == ["approve", "reject", "request-revision"]
        assert [choice.comment_required for choice in choices] == [False, True, True]

    def test_offers_nothing_to_those_who_wait(self) -> None:
        assert decisions.available(RFA, "pending_review", decisions.Facts(person(3, grants=REVIEW), subject())) == ()

    def test_offers_nothing_at_the_end(self) -> None:
        assert decisions.available(RFA, "approved", decisions.Facts(person(2, grants=REVIEW), subject())) == ()

    def test_hides_an_action_whose_condition_does_not_hold(self) -> None:
        rule = {"==": [{"var": "document.priority"}, "URGENT"]}
        definition = with_action(condition={"type": "json-logic", "rule": rule})

        assert offered(definition, decisions.Facts(person(3), subject(priority="LOW"))) == []
        assert offered(definition, decisions.Facts(person(3), subject(priority="URGENT"))) == ["close"]

    def test_shows_an_action_that_asks_for_what_the_client_will_send(self) -> None:
        rule = {"==": [{"var": "payload.code"}, "1A"]}
        definition = with_action(condition={"type": "json-logic", "rule": rule})
        asked = decisions.Facts(person(3), subject())

        assert offered(definition, asked) == ["close"]
        with pytest.raises(decisions.ConditionNotMet):
            decisions.advance(definition, "open", "close", asked)

    def test_says_what_is_missing_in_the_words_of_the_definition(self) -> None:
        closer = person(3, grants=(("Document Control", ["circulation.close"], {"organization": 3}),))
        facts = decisions.Facts(closer, subject(context={"openRoutings": 2}))

        with pytest.raises(decisions.ConditionNotMet) as refused:
            decisions.advance(CIRCULATION, "routing", "complete", facts)

        said = [to_problem(refused.value, language=each, trace_id="")["userMessage"] for each in ("th", "en")]
        assert said[0] == "ยังขาดคำตอบอีก 2 ราย จึงปิดใบเวียนไม่ได้"
        assert said[1] == "Answers still missing: 2. The circulation cannot be completed yet."


class TestRequire:
    def test_keeps_the_submitter_from_approving_even_an_administrator(self) -> None:
        definition = with_action(require={"notSubmitter": True})
        admin = (("Superadmin", ["system.manage_all"], {}),)

        assert offered(definition, decisions.Facts(person(3, grants=admin), subject())) == []
        assert offered(definition, decisions.Facts(person(3, user=SUBMITTER + 1), subject())) == ["close"]

    def test_lets_nobody_answer_for_an_assignee_not_even_an_administrator(self) -> None:
        admin = (("Superadmin", ["system.manage_all"], {}),)
        asked = subject(assignee_user_ids=frozenset({70}), context={"openRoutings": 1})

        def open_to(user: int) -> list[str]:
            facts = decisions.Facts(person(3, user=user, grants=admin), asked)
            return [choice.code for choice in decisions.available(CIRCULATION, "routing", facts)]

        assert open_to(70) == ["respond", "force-close"]
        assert open_to(71) == ["force-close"]
        with pytest.raises(decisions.ActionForbidden):
            decisions.advance(
                CIRCULATION, "routing", "respond", decisions.Facts(person(3, user=71, grants=admin), asked)
            )

    def test_knows_a_named_person(self) -> None:
        definition = with_action(require={"user": str(UUID(int=61))})

        assert offered(definition, decisions.Facts(person(3, user=61), subject())) == ["close"]
        assert offered(definition, decisions.Facts(person(3, user=62), subject())) == []

    def test_counts_a_role_only_where_it_was_given(self) -> None:
        definition = with_action(require={"roles": ["Editor", "Viewer"]})
        here, elsewhere = (("Editor", [], {"contract": CONTRACT}),), (("Editor", [], {"contract": 8}),)

        assert offered(definition, decisions.Facts(person(3, grants=here), subject())) == ["close"]
        assert offered(definition, decisions.Facts(person(3, grants=elsewhere), subject())) == []

    def test_takes_party_and_organization_role_from_one_organization(self) -> None:
        definition = with_action(require={"party": ["originator"], "organizationRoles": ["CONSULTANT"]})
        both = person(3, also=(2,))

        assert offered(definition, decisions.Facts(both, subject())) == []
        assert offered(definition, decisions.Facts(both, subject(originator_organization_id=2))) == ["close"]


class TestPayload:
    @pytest.mark.parametrize("forged", ["roles", "actor", "user"])
    def test_never_says_who_acts(self, forged: str) -> None:
        rule = {"in": ["Superadmin", {"var": "actor.roles"}]}
        definition = with_action(condition={"type": "json-logic", "rule": rule})
        payload = {forged: ["Superadmin"], "actor": {"roles": ["Superadmin"]}}

        with pytest.raises(decisions.ConditionNotMet):
            decisions.advance(definition, "open", "close", decisions.Facts(person(3), subject(), payload=payload))


class TestWaiting:
    def test_names_the_organizations_of_the_next_step(self) -> None:
        assert pending_assignees.assignees_of(RFA, "pending_review", subject()).organizations == {2}
        assert pending_assignees.assignees_of(RFA, "pending_approval", subject()).organizations == {1, 5}
        assert pending_assignees.assignees_of(RFA, "approved", subject()) == pending_assignees.PendingAssignees()

    def test_names_the_assignees(self) -> None:
        ahead = pending_assignees.assignees_of(CIRCULATION, "routing", subject(assignee_user_ids=frozenset({70, 71})))

        assert ahead.users == {70, 71}

    def test_waits_for_nobody_because_of_an_optional_action(self) -> None:
        definition = with_action(require={"party": ["recipient"]}, optional=True)

        assert pending_assignees.assignees_of(definition, "open", subject()) == pending_assignees.PendingAssignees()


class TestCanEdit:
    EDIT = (("Document Control", ["document.edit"], {"organization": 3}),)

    def test_is_for_the_originator_while_the_state_allows_it(self) -> None:
        author = person(3, grants=self.EDIT)

        assert decisions.can_edit(RFA.states["draft"], author, subject())
        assert not decisions.can_edit(RFA.states["pending_review"], author, subject())
        assert not decisions.can_edit(RFA.states["draft"], person(3), subject())
        assert not decisions.can_edit(RFA.states["draft"], author, subject(originator_organization_id=4))


class TestFiles:
    def test_are_refused_where_the_step_takes_none(self) -> None:
        definition = with_action(attachments=False)

        with pytest.raises(Exception, match="takes no files"):
            decisions.advance(definition, "open", "close", decisions.Facts(person(3), subject(), with_files=True))


class TestAnOrganizationThatItDoesNotConcern:
    """Whoever reviews elsewhere does not review here, though no party is asked for."""

    @pytest.mark.parametrize(("organization", "may"), [(2, True), (3, True), (4, False), (6, False)])
    def test_gives_no_permission(self, organization: int, may: bool) -> None:
        grant = ("Reviewer", ["workflow.action_review"], {"organization": organization})
        asked = decisions.Facts(person(organization, user=70, grants=(grant,)), subject())

        assert decisions.permitted(Require(permissions=frozenset({"workflow.action_review"})), asked) is may
