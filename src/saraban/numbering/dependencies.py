"""What the numbering endpoints are given by the application."""

from typing import Annotated

from fastapi import Depends, Request

from saraban.numbering.service import Allocator


def allocator(request: Request) -> Allocator:
    return request.app.state.allocator  # type: ignore[no-any-return]


Numbers = Annotated[Allocator, Depends(allocator)]
