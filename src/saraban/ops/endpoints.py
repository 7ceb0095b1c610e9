"""What operators and their machines ask: is it alive, is it ready, how is it doing, what does that error mean."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from pydantic import Field
from starlette.responses import Response

from saraban.kit.db import database_fault
from saraban.kit.http import Db, OrjsonResponse, async_dependency
from saraban.kit.schema import Schema
from saraban.ops import error_catalogue, metrics
from saraban.ops.readiness import Dependency, DependencyDown, DependencyOff

router = APIRouter(tags=["operations"])

PATIENCE = 3.0


class DependencyReport(Schema):
    status: Literal["up", "down", "off"]
    reason: str = Field(examples=["answers"])


class Readiness(Schema):
    status: Literal["ready", "degraded", "down"]
    dependencies: dict[str, DependencyReport] = Field(examples=[{"database": {"status": "up", "reason": "answers"}}])


class Alive(Schema):
    status: Literal["alive"] = "alive"


def dependencies_of(request: Request) -> list[Dependency]:
    return request.app.state.dependencies  # type: ignore[no-any-return]


@router.get("/health/live", summary="Is the process alive")
async def live() -> Alive:
    """Answers as long as the event loop turns; it asks nothing else."""
    return Alive()


@router.get("/health/ready", summary="Can it serve, and which dependency is down", response_model=Readiness)
async def ready(dependencies: Annotated[list[Dependency], Depends(async_dependency(dependencies_of))]) -> Response:
    """503 while the database, its migrations or the file storage is down; without Redis it is degraded and still serves."""
    reports = await asyncio.gather(*(_ask(dependency) for dependency in dependencies))
    down = {
        dependency.name for dependency, report in zip(dependencies, reports, strict=True) if report.status == "down"
    }
    essential = {dependency.name for dependency in dependencies if dependency.essential}
    status: Literal["ready", "degraded", "down"] = "down" if down & essential else "degraded" if down else "ready"
    named = {dependency.name: report for dependency, report in zip(dependencies, reports, strict=True)}
    answer = Readiness(status=status, dependencies=named)
    return OrjsonResponse(answer.model_dump(by_alias=True), status_code=503 if status == "down" else 200)


async def _ask(dependency: Dependency) -> DependencyReport:
    try:
        async with asyncio.timeout(PATIENCE):
            return DependencyReport(status="up", reason=await dependency.check())
    except DependencyDown as absence:
        return DependencyReport(status="down", reason=str(absence))
    except DependencyOff as absence:
        return DependencyReport(status="off", reason=str(absence))
    except TimeoutError:
        return DependencyReport(status="down", reason=f"no answer within {PATIENCE:g} seconds")
    except Exception as fault:  # noqa: BLE001  a probe reports whatever it is
        # Which fault exactly may name hosts and users; the kind is enough for a probe.
        return DependencyReport(status="down", reason=f"fails ({database_fault(fault) or type(fault).__name__})")


@router.get("/metrics", summary="Measurements for Prometheus", response_class=Response)
async def measurements(db: Db) -> Response:
    body, form = metrics.exposition(db)
    return Response(body, media_type=form)


@router.get("/docs/errors", summary="What each error code means", include_in_schema=False)
async def errors() -> HTMLResponse:
    return HTMLResponse(error_catalogue.as_html(error_catalogue.loaded_errors()))
