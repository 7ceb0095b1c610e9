"""Dependencies of the endpoints for definitions."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from saraban.kit.errors import FieldProblem
from saraban.kit.http import Wiring, async_dependency, wiring
from saraban.workflow.administration.domain import definition_text
from saraban.workflow.administration.service.definition_cache import DefinitionCache


@dataclass(frozen=True, kw_only=True)
class DefinitionWiring(Wiring):
    definition_cache: DefinitionCache


def definition_cache(request: Request) -> DefinitionCache:
    return wiring(request, DefinitionWiring).definition_cache


async def duplicate_keys(request: Request) -> tuple[FieldProblem, ...]:
    """Report duplicate keys of the body: the JSON parser keeps only the last one."""
    return definition_text.twice_in(await request.body())


Definitions = Annotated[DefinitionCache, Depends(async_dependency(definition_cache))]
DuplicateKeys = Annotated[tuple[FieldProblem, ...], Depends(duplicate_keys)]
