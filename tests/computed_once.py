"""
What every application and every database of one test process would work out anew, and always with the same outcome:
here it is worked out once. A server works it out once as well, when it starts; only tests start a thousand times.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi import routing
from fastapi.routing import APIRoute, _EffectiveRouteContext, _IncludedRouter
from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import LRUCache

from saraban.kit import db
from saraban.ops import openapi, route_index

STATEMENTS = 3000  # more than the product has


@contextmanager
def one_table_of_routes() -> Iterator[None]:
    """FastAPI works out the routes of each application, which takes longer than most tests; a test may add some of its own."""
    make = _EffectiveRouteContext.from_api_route
    known: dict[tuple[int, str], tuple[APIRoute, _EffectiveRouteContext]] = {}

    def make_once(*, original_route: APIRoute, include_context: Any) -> _EffectiveRouteContext:
        key = id(original_route), include_context.prefix
        if key not in known:
            context = make(original_route=original_route, include_context=include_context)
            known[key] = (original_route, context)  # the route stays, so that no id comes again
        return known[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_EffectiveRouteContext, "from_api_route", make_once)
        patch.setattr(routing, "_merge_lifespan_context", _merged_lifespan)
        patch.setattr(route_index, "build_index", _kept(route_index.build_index, lambda routes: routes))
        yield


@contextmanager
def one_description(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Iterator[None]:
    """
    Applications with the same routes have the same OpenAPI description; each is given a copy of its own.

    :param made_once: keeps that of the product's own routes for all processes of the run
    """
    describe = openapi._describe

    def described(app: Any) -> bytes:
        if any(isinstance(route, APIRoute) for route in app.routes):  # a test has added some
            return orjson.dumps(describe(app))
        make = lambda folder: (folder / "openapi.json").write_bytes(orjson.dumps(describe(app)))
        return (made_once("description", make) / "openapi.json").read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        text = _kept(described, lambda app: app.routes)
        patch.setattr(openapi, "_describe", lambda app: orjson.loads(text(app)))
        yield


@contextmanager
def one_store_of_statements() -> Iterator[None]:
    """A statement is compiled for its dialect, which all databases of a kind share, and not for each database anew."""
    stores: dict[type, Any] = {}
    make = db.create_async_engine
    with pytest.MonkeyPatch.context() as patch:

        def create(*args: Any, **options: Any) -> AsyncEngine:
            made = make(*args, **options)
            engine = made.sync_engine
            kind = type(engine.dialect)
            if kind not in stores:
                # The dialect is part of each statement's key, and every engine makes one.
                patch.setattr(kind, "__eq__", lambda one, other: type(one) is type(other), raising=False)
                patch.setattr(kind, "__hash__", lambda one: hash(type(one)), raising=False)
                stores[kind] = LRUCache(STATEMENTS)
            engine._compiled_cache = stores[kind]
            return made

        patch.setattr(db, "create_async_engine", create)
        yield


@contextmanager
def one_metric_at_a_time() -> Iterator[None]:
    """The library collects every metric of the process to give a sample of one."""

    def sample_of(registry: CollectorRegistry, name: str, labels: dict[str, str] | None = None) -> float | None:
        samples = (one for metric in registry.restricted_registry([name]).collect() for one in metric.samples)
        return next((one.value for one in samples if one.name == name and one.labels == (labels or {})), None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CollectorRegistry, "get_sample_value", sample_of)
        yield


def _merged_lifespan(original: Any, nested: Any) -> Any:
    """Eighty routers that have nothing to begin, each within the other, take longer to begin than the application."""
    is_nothing = isinstance(nested, routing._DefaultLifespan) or nested.__qualname__.startswith(_merge.__qualname__)
    return original if is_nothing else _merge(original, nested)


_merge = routing._merge_lifespan_context


def _kept(work: Callable[[Any], Any], routes_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    known: dict[Any, tuple[Any, Any]] = {}

    def once(given: Any) -> Any:
        routes = list(routes_of(given))
        key = tuple(_place(route) for route in routes)
        if key not in known:
            known[key] = (routes, work(given))  # the routes stay, so that no id comes again
        return known[key][1]

    return once


def _place(route: Any) -> tuple[Any, Any]:
    if isinstance(route, _IncludedRouter):
        return id(route.original_router), route.include_context.prefix
    return type(route).__name__, getattr(route, "path", "")
