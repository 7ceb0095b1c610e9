"""Parse the `review` of a state."""

import re
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from saraban.kit.json import Json
from saraban.workflow.language.dsl import actions, parts
from saraban.workflow.language.faults import Faults, below
from saraban.workflow.language.review import (
    AGAINST,
    FOR,
    USUAL_ANSWERS,
    AnswerOption,
    Assignee,
    Branch,
    Counts,
    Kind,
    Review,
    Verdict,
    most,
)

SideEffects = tuple[dict[str, str], ...]

MOST_BRANCHES = 50
MOST_ANSWERS = 30
BRANCH = re.compile(r"[a-z][a-z0-9_-]{0,49}")
TEAM = re.compile(r"[A-Z0-9][A-Z0-9_-]{0,49}")
DISCIPLINE = re.compile(r"[A-Z0-9][A-Z0-9_-]{0,9}")
_ALLOWED = frozenset({"answers", "completion", "veto", "hidden"})


def read(raw: Json, at: str, faults: Faults) -> Review | None:
    part = faults.keys(raw, at, needed={"branches", "then"}, allowed=_ALLOWED)
    if part is None:
        return None
    faults_before = len(faults.problems)
    branches = _branches(part["branches"], f"{at}/branches", faults)
    answers = _answers(part["answers"], f"{at}/answers", faults) if "answers" in part else USUAL_ANSWERS
    completion = _completion(part.get("completion", "all"), f"{at}/completion", len(branches), faults)
    veto = _veto(part.get("veto", False), f"{at}/veto", answers, faults)
    hidden = parts.flag(part, "hidden", at, faults)
    then, events = _read_verdicts(part["then"], f"{at}/then", faults)
    if len(faults.problems) > faults_before:
        return None
    return Review(branches, answers, completion, then, veto, hidden, events)


def _branches(raw: Json, at: str, faults: Faults) -> dict[str, Branch]:
    branches: dict[str, Branch] = {}
    for index, raw_branch in enumerate(faults.list_of(raw, at, most=MOST_BRANCHES)):
        place = f"{at}/{index}"
        part = faults.keys(raw_branch, place, needed={"name", "label", "assignee"})
        if part is None:
            continue
        name = parts.name(part["name"], f"{place}/name", BRANCH, faults)
        label = parts.label(part["label"], f"{place}/label", faults)
        assignee = _assignee(part["assignee"], f"{place}/assignee", faults)
        if name in branches:
            th, en = "มีสายพิจารณาชื่อ “{name}” ซ้ำกัน", "There are two branches named “{name}”."
            faults.add(f"{place}/name", "duplicate", th, en, name=name)
        if name is not None and label is not None and assignee is not None:
            branches[name] = Branch(name, label, assignee)
    return branches


def _assignee(raw: Json, at: str, faults: Faults) -> Assignee | None:
    part = faults.keys(raw, at, allowed=set(get_args(Kind)))
    if part is None:
        return None
    kinds = [kind for kind in get_args(Kind) if kind in part]
    if len(kinds) != 1:
        th, en = "ต้องระบุหนึ่งอย่างจาก user, role, team, discipline", "This names one of user, role, team, discipline."
        faults.add(at, "one_of", th, en)
        return None
    name = _READERS[kinds[0]](part[kinds[0]], f"{at}/{kinds[0]}", faults)
    return Assignee(kinds[0], str(name)) if name is not None else None


def _role(raw: Json, at: str, faults: Faults) -> str | None:
    if not isinstance(raw, str) or not 0 < len(raw) <= 100:
        faults.add(at, "type", "ต้องเป็นชื่อบทบาท", "This must be the name of a role.")
        return None
    if faults.known.roles is not None and raw not in faults.known.roles:
        faults.add(at, "unknown", "ไม่รู้จัก “{name}”", "“{name}” is not known.", name=raw)
    return raw


_READERS: Mapping[str, Callable[[Json, str, Faults], object]] = {
    "user": parts.person,
    "role": _role,
    "team": lambda raw, at, faults: parts.name(raw, at, TEAM, faults),
    "discipline": lambda raw, at, faults: parts.name(raw, at, DISCIPLINE, faults),
}


def _answers(raw: Json, at: str, faults: Faults) -> dict[str, AnswerOption]:
    answers: dict[str, AnswerOption] = {}
    for code, body in faults.object_of(raw, at, most=MOST_ANSWERS).items():
        place = below(at, code)
        parts.name(code, place, parts.RESPONSE, faults)
        part = faults.keys(body, place, needed={"label", "counts"}, allowed={"comment"})
        if part is None:
            continue
        label = parts.label(part["label"], f"{place}/label", faults)
        counts_name = parts.choice(part["counts"], f"{place}/counts", get_args(Counts), faults)
        counts = next((option for option in get_args(Counts) if option == counts_name), None)
        comment = parts.comment(part, place, faults)
        if counts is not None and label is not None:
            answers[code] = AnswerOption(label, counts, comment)
    _check_both_ways(answers, at, faults)
    return answers


def _check_both_ways(answers: Mapping[str, AnswerOption], at: str, faults: Faults) -> None:
    for way in (FOR, AGAINST):
        if way not in {choice.counts for choice in answers.values()}:
            th, en = "ต้องมีคำตอบที่นับเป็น {way}", "There must be an answer that counts `{way}`."
            faults.add(at, "one_sided", th, en, way=way)


def _completion(raw: Json, at: str, branches: int, faults: Faults) -> Literal["all"] | int:
    if raw == "all":
        return "all"
    if raw == "majority":
        return most(branches)
    if raw == "any":
        return 1
    if isinstance(raw, Mapping) and set(raw) == {"atLeast"}:
        least = raw["atLeast"]
        if type(least) is int and 1 <= least <= max(branches, 1):
            return least
        th, en = (
            "ต้องเป็นจำนวนเต็ม 1 ถึงจำนวนสายพิจารณา ({most})",
            "This is a whole number from 1 to that of the branches ({most}).",
        )
        faults.add(f"{at}/atLeast", "range", th, en, most=branches)
        return 1
    th = "ต้องเป็น all, majority, any หรือ atLeast กับจำนวน"
    faults.add(at, "choice", th, "This is `all`, `majority`, `any`, or `atLeast` with a number.")
    return "all"


def _veto(raw: Json, at: str, answers: Mapping[str, AnswerOption], faults: Faults) -> frozenset[str]:
    against = frozenset(code for code, choice in answers.items() if choice.counts == AGAINST)
    if raw is False:
        return frozenset()
    if raw is True:
        return against
    codes = faults.list_of(raw, at, most=MOST_ANSWERS)
    for index, code in enumerate(codes):
        if not isinstance(code, str) or code not in against:
            th, en = "ต้องเป็นคำตอบที่นับเป็น against", "This must be an answer that counts `against`."
            faults.add(f"{at}/{index}", "choice", th, en)
    return against & {code for code in codes if isinstance(code, str)}


def _read_verdicts(raw: Json, at: str, faults: Faults) -> tuple[dict[Verdict, str], dict[Verdict, SideEffects]]:
    then: dict[Verdict, str] = {}
    events: dict[Verdict, SideEffects] = {}
    part = faults.keys(raw, at, needed={FOR, AGAINST})
    for way in (FOR, AGAINST):
        outcome = faults.keys(part[way], f"{at}/{way}", needed={"to"}, allowed={"events"}) if part is not None else None
        if outcome is None:
            continue
        to = parts.name(outcome["to"], f"{at}/{way}/to", parts.STATE, faults)
        events[way] = actions.read_events(outcome.get("events", []), f"{at}/{way}/events", faults)
        if to is not None:
            then[way] = to
    return then, events
