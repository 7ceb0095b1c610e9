"""
Whom instances wait for, as people read it: organizations by their codes, people by their names, and whether it is nobody.

A state that asks organizations which may see the document costs no query; others cost a fixed number for all of a list.
Only for one that is read by itself are the people of such organizations looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import AnyRow
from saraban.workflow.engine import pending_assignees
from saraban.workflow.engine.pending_assignees import PendingAssignees, assignees_of
from saraban.workflow.language.definition import Definition
from saraban.workflow.language.review import BranchView, Person
from saraban.workflow.language.subject import NOBODY_ASKED, AskedOrganization, InstanceStatus, SubjectFacts, WaitingFor
from saraban.workflow.runtime import repository as instances_repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.repository import assignees as repository
from saraban.workflow.runtime.service import assignees

MOST = 10


@dataclass(frozen=True, slots=True)
class InstanceState:
    """An instance with what it is judged by."""

    row: Instance
    definition: Definition
    facts: SubjectFacts


def pending_by_definition(row: Instance, definition: Definition, facts: SubjectFacts) -> PendingAssignees:
    """Return whom an instance waits for by its definition; what was given to one person waits for him alone."""
    if row.assigned_user_id is not None:
        return PendingAssignees(users=frozenset({row.assigned_user_id}))
    if assignees.is_first_draft(row, definition):
        return PendingAssignees(frozenset({facts.originator_organization_id}))
    return assignees_of(definition, row.current_state, facts)


def pending_without_query(standing: InstanceState, ahead: PendingAssignees | None = None) -> WaitingFor | None:
    """
    Return whom an instance waits for where that needs no query, or None: where it is organizations alone, whose codes
    are known, and one of them is sure to see it.

    :param ahead: whom it waits for, where that was just asked
    """
    row, facts = standing.row, standing.facts
    state = standing.definition.state(row.current_state)
    if state.terminal or row.status != InstanceStatus.ACTIVE:
        return NOBODY_ASKED
    if row.assigned_user_id is not None or state.review is not None:
        return None
    found = ahead or pending_by_definition(row, standing.definition, facts)
    if found.users or found.named or found.holders:
        return None
    known, open_ = facts.organizations, _open(standing, found)
    asked = [AskedOrganization(*known[key]) for key in open_ if key in known]
    if len(asked) < len(open_) or not open_:
        return None
    return WaitingFor(tuple(asked if len(asked) == 1 else sorted(asked, key=_code)))


def _open(standing: InstanceState, ahead: PendingAssignees) -> list[int]:
    """Those of the organizations that are sure to see it: nobody is said to be waited for who could not open it."""
    return [key for key in ahead.organizations if standing.facts.open_to(key, standing.row.current_state)]


def _code(asked: AskedOrganization) -> str:
    return asked.code


async def pending_with(session: AsyncSession, standing: Iterable[InstanceState]) -> dict[UUID, WaitingFor]:
    """Return whom each instance waits for; one that has ended waits for nobody."""
    told: dict[UUID, WaitingFor] = {}
    found: dict[UUID, tuple[InstanceState, PendingAssignees]] = {}
    for one in standing:
        plainly = pending_without_query(one)
        if plainly is not None:
            told[one.row.id] = plainly
        else:
            found[one.row.id] = (one, pending_by_definition(one.row, one.definition, one.facts))
    return told | (await _looked_up(session, found) if found else {})


async def pending_with_exactly(session: AsyncSession, one: InstanceState) -> WaitingFor:
    """
    Tell the same of one instance, and look besides among the people of organizations that see it for one who may
    act: what a step, and a list of many, do not look for.
    """
    found = (await pending_with(session, [one]))[one.row.id]
    reviewed = one.definition.state(one.row.current_state).review is not None  # its branches say it
    plainly = found.nobody or found.people_count or reviewed or assignees.is_first_draft(one.row, one.definition)
    if plainly or not found.organizations:
        return found
    state = one.row.current_state
    places = pending_by_definition(one.row, one.definition, one.facts).organizations
    acts = await assignees.act_for(session, places, definition=one.definition, state=state, facts=one.facts)
    return replace(found, nobody=not acts)


async def _looked_up(
    session: AsyncSession, found: Mapping[UUID, tuple[InstanceState, PendingAssignees]]
) -> dict[UUID, WaitingFor]:
    people = await _people(session, [key for key, (one, ahead) in found.items() if _by_person(one, ahead)])
    known = {key: words for one, _ in found.values() for key, words in one.facts.organizations.items()}
    unknown = {key for _, ahead in found.values() for key in ahead.organizations} - known.keys()
    if unknown:
        known |= await instances_repository.organizations(session, sorted(unknown))
    able = await _able(session, found, people)
    stuck = {key for key, those in able.items() if not those}
    return {
        key: WaitingFor(
            tuple(
                sorted(
                    (AskedOrganization(*known[each]) for each in able.get(key) or _open(one, ahead) if each in known),
                    key=_code,
                )
            ),
            *_shown(one, people.get(key, ())),
            nobody=key in stuck,
        )
        for key, (one, ahead) in found.items()
    }


def with_branches(found: WaitingFor, branches: Sequence[BranchView]) -> WaitingFor:
    """Tell of an instance under review that it waits for nobody when one of its branches does."""
    return replace(found, nobody=True) if any(one.nobody for one in branches) else found


def _by_person(one: InstanceState, ahead: PendingAssignees) -> bool:
    reviewed = one.definition.state(one.row.current_state).review is not None
    return reviewed or bool(ahead.users or ahead.named or ahead.holders)


async def _people(session: AsyncSession, asking: Sequence[UUID]) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = {}
    for row in await repository.asked_people(session, asking, most=MOST) if asking else ():
        found.setdefault(row.instance_id, []).append(row)
    return found


def _shown(one: InstanceState, rows: Sequence[Any]) -> tuple[tuple[Person, ...], int]:
    review = one.definition.state(one.row.current_state).review
    if not rows or (review is not None and review.hidden):
        return (), 0
    return tuple(Person(row.public_id, name_of(row)) for row in rows), rows[0].count


def name_of(row: AnyRow) -> str:
    return " ".join(part for part in (row.first_name, row.last_name) if part) or str(row.username)


async def _able(
    session: AsyncSession,
    found: Mapping[UUID, tuple[InstanceState, PendingAssignees]],
    people: Mapping[UUID, Sequence[Any]],
) -> dict[UUID, list[int]]:
    """
    The organizations with somebody who may see it and act, for those instances that no organization is sure to see.

    For organizations that are sure to see it nobody is looked for.
    """
    doubtful = {
        key: (one, ahead)
        for key, (one, ahead) in found.items()
        if key not in people
        and not _open(one, ahead)
        and pending_assignees.expects(one.definition, one.row.current_state)
        and one.definition.state(one.row.current_state).review is None  # its branches say it
    }
    places = {each for _, ahead in doubtful.values() for each in ahead.organizations}
    members = await assignees.members_of(session, places) if places else {}
    return {
        key: [
            each
            for each in ahead.organizations
            if any(
                pending_assignees.may_act(one.definition, one.row.current_state, person, one.facts)
                for person in members[each]
            )
        ]
        for key, (one, ahead) in doubtful.items()
    }
