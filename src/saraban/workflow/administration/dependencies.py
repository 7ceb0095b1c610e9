"""What the endpoints of definitions fetch from the application: the definition cache, and keys that a body has twice."""

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


async def written_twice(request: Request) -> tuple[FieldProblem, ...]:
    """Name the keys that the body of the request has twice, which its reader does not see any more."""
    return definition_text.twice_in(await request.body())


Definitions = Annotated[DefinitionCache, Depends(async_dependency(definition_cache))]
WrittenTwice = Annotated[tuple[FieldProblem, ...], Depends(written_twice)]
