"""What the workflow endpoints fetch from the application: subjects, steps, the definition cache, and versions from `If-Match`."""

from typing import Annotated

from fastapi import Depends, Header, Request

from saraban.kit import etags
from saraban.kit.errors import FieldProblem, invalid
from saraban.kit.http import async_dependency
from saraban.workflow.domain import lines
from saraban.workflow.service import Steps, Subjects
from saraban.workflow.service.definition_cache import DefinitionCache


def subjects(request: Request) -> Subjects:
    return request.app.state.subjects  # type: ignore[no-any-return]


def steps(request: Request) -> Steps:
    return request.app.state.steps  # type: ignore[no-any-return]


def definition_cache(request: Request) -> DefinitionCache:
    return request.app.state.definition_cache  # type: ignore[no-any-return]


async def written_twice(request: Request) -> tuple[FieldProblem, ...]:
    """Name the keys that the body of the request has twice, which its reader does not see any more."""
    return lines.twice_in(await request.body())


def if_match(
    if_match: Annotated[
        str | None,
        Header(
            max_length=200,
            description="`versionNo` of the workflow in quotes, which is the `ETag` of the instance. "
            "The `ETag` of a document is another thing, and refused.",
            examples=['"3"'],
        ),
    ] = None,
) -> frozenset[str] | None:
    """
    Return the version numbers of an `If-Match` header, `*` among them if it is there.

    A weak tag keeps its `W/`, so that it is no version's and the answer is 412 (RFC 9110 compares strongly here).
    """
    if if_match is None:
        return None
    tags = frozenset(tag.replace('"', "") for tag in etags.tags_in(if_match))
    numbers = {tag.removeprefix("W/") for tag in tags - {etags.ANY}}
    if not all(tag.isascii() and tag.isdigit() for tag in numbers):
        raise invalid(
            "header:If-Match",
            "malformed",
            'If-Match ที่นี่คือ versionNo ของ Workflow ในเครื่องหมายคำพูด เช่น "3" ไม่ใช่ ETag ของเอกสาร',
            'If-Match here is the versionNo of the workflow in quotes, such as "3", not the ETag of a document.',
        )
    return tags


Definitions = Annotated[DefinitionCache, Depends(async_dependency(definition_cache))]
TakesSteps = Annotated[Steps, Depends(async_dependency(steps))]
RegisteredSubjects = Annotated[Subjects, Depends(async_dependency(subjects))]
WrittenTwice = Annotated[tuple[FieldProblem, ...], Depends(written_twice)]
IfMatch = Annotated[frozenset[str] | None, Depends(async_dependency(if_match))]
