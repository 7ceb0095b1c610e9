"""Reads the schema of a context, and checks contexts against it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import jsonschema_rs

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.json import Json, JsonObject
from saraban.workflow.language.schema import grammar, words
from saraban.workflow.language.schema.size import Size, excess

SCHEMA_SIZE = Size(depth=32, parts=2_000, characters=50_000)
CONTEXT_SIZE = Size(depth=32, parts=20_000, characters=1_000_000)
MOST = 20
# Keywords that may say more about a property than `properties` does.
OPEN = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})

NO_OBJECT = Text("สคีมาต้องเป็นออบเจกต์", "A schema here is an object.")
UNUSABLE = Text("สคีมานี้ใช้ไม่ได้: {fault}", "This schema cannot be used: {fault}")
META = jsonschema_rs.Draft202012Validator({"$ref": grammar.DIALECT}, offline=True)


class SchemaRefused(Exception):
    """A schema cannot be published; `problems` say where and why, each pointer counted from the schema."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        first = problems[0]
        super().__init__(f"{first.pointer or '/'}: {first.text.say('en', first.values)}")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ContextSchema:
    """A schema that was accepted, ready to be asked any number of times."""

    raw: JsonObject
    _validator: jsonschema_rs.Draft202012Validator = field(repr=False, compare=False)

    def problems(self, context: Json) -> tuple[FieldProblem, ...]:
        """List what is wrong with a context, at most 20 faults; empty when it fits."""
        too_much = excess(context, CONTEXT_SIZE)
        if too_much is not None:
            return (too_much,)
        return _listed(self._validator.iter_errors(context))

    def may_hold(self, path: Sequence[str]) -> bool:
        """Return whether a context that fits can have something at a path; where the schema leaves it open, it can."""
        place: Json = self.raw
        for key in path:
            if not isinstance(place, dict) or not place.keys().isdisjoint(OPEN):
                return place is not False
            properties = place.get("properties", {})
            if key not in properties:
                # A list has indexes and a length, a text too; only a closed object has nothing but its properties.
                return place.get("type") != "object" or place.get("additionalProperties") is not False
            place = properties[key]
        return place is not False


def read(raw: Json) -> ContextSchema:
    """
    Check a schema before it is published.

    :raises SchemaRefused: with what is wrong, at most 20 faults, in both languages
    """
    wrong = tuple(islice(_faults(raw), MOST))
    if wrong or not isinstance(raw, dict):
        raise SchemaRefused(wrong)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            raw, pattern_options=grammar.PATTERNS, validate_formats=True, offline=True
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as fault:
        # Nothing that passed the grammar is known to come here; if something does, it is refused and not an accident.
        raise SchemaRefused((FieldProblem("", "schema", UNUSABLE, {"fault": str(fault)[:200]}),)) from fault
    return ContextSchema(raw, validator)


def _faults(raw: Json) -> Iterator[FieldProblem]:
    """Each step relies on the one before: size, shape, then what the schema says."""
    too_much = excess(raw, SCHEMA_SIZE)
    if too_much is not None:
        yield too_much
        return
    if not isinstance(raw, dict):
        yield FieldProblem("", "type", NO_OBJECT)
        return
    misshapen = _listed(META.iter_errors(raw))
    yield from misshapen or grammar.faults(raw)


def _listed(errors: Iterable[jsonschema_rs.ValidationError]) -> tuple[FieldProblem, ...]:
    """One fault of a kind at a place: alternatives of the same schema say the same again and again."""
    found = {
        (problem.pointer, problem.code): problem
        for error in islice(errors, 10 * MOST)
        for problem in words.problems(error)
    }
    return tuple(islice(found.values(), MOST))
