"""What the endpoints of drawings ask of what carries them."""

from typing import Annotated

from fastapi import Depends, Request

from saraban.documents.drawing.service import Submitted
from saraban.kit.http import async_dependency


def submitted_drawings(request: Request) -> Submitted:
    return request.app.state.submitted_drawings  # type: ignore[no-any-return]


SubmittedDrawings = Annotated[Submitted, Depends(async_dependency(submitted_drawings))]
