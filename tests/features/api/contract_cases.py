"""
What schemathesis tries of the API, and what it holds against it; only the test that needs it imports it, which takes seconds.

What it tries is worked out from the description with a fixed seed. It could send some ten thousand requests; of those that
differ in nothing but the value, the first is sent.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from itertools import islice
from typing import Any

import schemathesis
from fastapi import FastAPI
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.generation.meta import CoverageScenario
from schemathesis.python import asgi

from saraban.kit.http import MEDIA
from tests.conftest import PASSWORD
from tests.features.api.demo_examples import Demo, filled

# 422 names a field whose form is right and whose meaning is not: an id that nobody knows, a day that has passed. Of 410,
# 412 and 416 the schema of the request knows nothing either.
MEANT_NOT_KNOWN = ["2xx", "3xx", "401", "403", "404", "409", "410", "412", "416", "422", "429"]
schemathesis.serializer.alias(MEDIA["xlsx"], "application/octet-stream")
SETTINGS: dict[str, Any] = {
    "seed": 2569,
    "continue-on-failure": True,
    "generation": {"deterministic": True, "no-shrink": True, "with-security-parameters": False},
    "checks": {"positive_data_acceptance": {"expected-statuses": MEANT_NOT_KNOWN}},
    "phases": {
        "coverage": {"enabled": True, "unexpected-methods": ["delete", "options", "put"]},
        "fuzzing": {"enabled": False},
        "stateful": {"enabled": False},
    },
}
Case = schemathesis.Case


def by_place(case: Case) -> Hashable:
    """The kind of a value and the parameter that has it; wrong types have a test of their own for each field."""
    said: Any = case.meta and case.meta.phase.data
    kind, place = getattr(said, "scenario", None), getattr(said, "parameter_location", None)
    return kind, None if kind is CoverageScenario.INCORRECT_TYPE else (place, getattr(said, "parameter", None))


def by_location(case: Case) -> Hashable:
    """Whether it is the path, the query, a header or the body."""
    return getattr(case.meta and case.meta.phase.data, "parameter_location", None)


ALIKE = {"place": by_place, "location": by_location}


def headers_of(client: Any, account: str | None) -> dict[str, str]:
    if account is None:
        return {"Accept-Language": "en"}
    answer = client.post("/api/v1/auth/login", json={"username": account, "password": PASSWORD})
    return {"Accept-Language": "en", "Authorization": f"Bearer {answer.json()['accessToken']}"}


def first_of_each(cases: Iterable[Case], alike: Callable[[Case], Hashable]) -> Iterator[Case]:
    met: set[Hashable] = set()
    for case in cases:
        kind = (alike(case), case.meta and case.meta.generation.mode, case.method)
        if kind not in met:
            met.add(kind)
            yield case


def tried(
    app: FastAPI, account: str | None, alike: str, *, most: int | None, addresses: Collection[str]
) -> Iterator[Any]:
    """
    Each finished scenario of each operation at the addresses.

    :param alike: which requests differ in nothing but the value: `place` or `location`
    :param most: requests of one operation; to work out all that could be sent takes longer than to send it
    """
    # A method that an address does not have is refused before anybody is asked who they are: one caller is enough.
    coverage = SETTINGS["phases"]["coverage"] | ({} if most is None else {"unexpected-methods": []})
    phases = SETTINGS["phases"] | {"examples": {"enabled": most is None}, "coverage": coverage}
    document = app.openapi()
    with asgi.get_client(app) as client:
        client.headers.update(headers := headers_of(client, account))
        if account is not None:
            document = filled(document, Demo(client, document).know())
    document = document | {"paths": {path: document["paths"][path] for path in addresses}}
    settings = SETTINGS | {"headers": headers, "phases": phases}
    schema = schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(settings))
    schema.app = app
    every = schema.iter_coverage_cases
    schema.iter_coverage_cases = lambda *args, **named: islice(first_of_each(every(*args, **named), ALIKE[alike]), most)  # type: ignore[method-assign]
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.FatalError), event.exception
        assert not isinstance(event, events.NonFatalError), (event.label, event.info)
        if isinstance(event, events.ScenarioFinished):
            yield event.recorder


def faults_in(scenario: Any) -> Iterator[str]:
    for checks in scenario.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{scenario.label}: {check.name}: {failure.message}\n{check.failure_info.code_sample}"
