"""People and subjects for tests of the pure engine, made from plain values."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from saraban.identity.domain.context import Caller, Grant, Scope
from saraban.workflow.language.subject import SubjectFacts

PARTIES = {"OWNER": frozenset({1, 5}), "CONSULTANT": frozenset({2}), "CONTRACTOR": frozenset({3, 4})}
PROJECT, CONTRACT = 7, 9
SUBMITTER = 50


def person(
    organization: int | None = None,
    *,
    user: int = SUBMITTER,
    also: tuple[int, ...] = (),
    grants: tuple[tuple[str, list[str], Mapping[str, int]], ...] = (),
) -> Caller:
    own = frozenset({organization} if organization is not None else set())
    return Caller(
        user_id=user,
        public_id=UUID(int=user),
        username=f"user{user}",
        display_name=f"User {user}",
        organization_id=organization,
        organization_ids=own | frozenset(also),
        grants=tuple(Grant(role, frozenset(names), **where) for role, names, where in grants),
    )


def subject(**changes: Any) -> SubjectFacts:
    """A document from contractor 3 to consultant 2, under contract 9 of project 7."""
    known: dict[str, Any] = {
        "entity_id": "r1",
        "scope": Scope(frozenset({2, 3}), PROJECT, CONTRACT),
        "originator_organization_id": 3,
        "recipient_organization_ids": frozenset({2}),
        "parties": PARTIES,
        "submitter_user_id": SUBMITTER,
        "assignee_user_ids": frozenset(),
        "kind": "rfa",
        "public_id": UUID(int=1),
        "number": "LCBP3-C2-RFA-TER-RPT-0001-A",
        "title": "Report",
    }
    return SubjectFacts(**(known | changes))
