"""What the workflow endpoints fetch from the application: subjects, steps, kept definitions, and versions from `If-Match`."""

from typing import Annotated

from fastapi import Depends, Header, Request

from saraban.kit.errors import invalid
from saraban.kit.http import at_once
from saraban.workflow.service import Steps, Subjects
from saraban.workflow.service.kept import KeptDefinitions


def subjects(request: Request) -> Subjects:
    return request.app.state.subjects  # type: ignore[no-any-return]


def steps(request: Request) -> Steps:
    return request.app.state.steps  # type: ignore[no-any-return]


def kept_definitions(request: Request) -> KeptDefinitions:
    return request.app.state.definitions  # type: ignore[no-any-return]


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
    """This will give the version numbers of an `If-Match` header, `*` among them if it is there."""
    if if_match is None:
        return None
    tags = frozenset(part.strip().removeprefix("W/").strip('"') for part in if_match.split(","))
    if not all(tag == "*" or (tag.isascii() and tag.isdigit()) for tag in tags):
        raise invalid(
            "header:If-Match",
            "malformed",
            'If-Match ที่นี่คือ versionNo ของ Workflow ในเครื่องหมายคำพูด เช่น "3" ไม่ใช่ ETag ของเอกสาร',
            'If-Match here is the versionNo of the workflow in quotes, such as "3", not the ETag of a document.',
        )
    return tags


Kept = Annotated[KeptDefinitions, Depends(at_once(kept_definitions))]
TakesSteps = Annotated[Steps, Depends(at_once(steps))]
RegisteredSubjects = Annotated[Subjects, Depends(at_once(subjects))]
IfMatch = Annotated[frozenset[str] | None, Depends(at_once(if_match))]
