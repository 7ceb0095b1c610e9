"""Dependencies of the endpoints of instances."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError

from saraban.kit import etags
from saraban.kit.errors import invalid
from saraban.kit.http import Wiring, async_dependency, wiring
from saraban.workflow.runtime.service.subjects import Subjects
from saraban.workflow.runtime.service.transition_metrics import count_unread
from saraban.workflow.runtime.service.transitions import Transitions


class CountedRoute(APIRoute):
    """Counts steps that failed before the instance or the caller was read (REQ-WFL-15)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def count(request: Request) -> Response:
            try:
                return await handle(request)
            except DBAPIError as error:
                if request.method == "POST" and "/workflow/instances/" in self.path:
                    count_unread(error)
                raise

        return count


@dataclass(frozen=True, kw_only=True)
class InstanceWiring(Wiring):
    subjects: Subjects
    transitions: Transitions


def subjects(request: Request) -> Subjects:
    return wiring(request, InstanceWiring).subjects


def transitions(request: Request) -> Transitions:
    return wiring(request, InstanceWiring).transitions


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
    Return the version numbers of an `If-Match` header, `*` included.

    A weak tag keeps its `W/`, so that it matches no version: RFC 9110 requires the strong comparison here.
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


InstanceTransitions = Annotated[Transitions, Depends(async_dependency(transitions))]
RegisteredSubjects = Annotated[Subjects, Depends(async_dependency(subjects))]
IfMatch = Annotated[frozenset[str] | None, Depends(async_dependency(if_match))]
