"""What every request meets at the HTTP door, whichever endpoint it goes to."""

import re
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
import pytest
import pytest_asyncio
import sqlalchemy as sa
from fastapi import FastAPI

from saraban.events.models import WorkerHeartbeat
from saraban.kit.ids import trace_id
from saraban.ops.health import Dependency
from saraban.worker.timers import Heartbeat
from tests.conftest import SignIn

LOGIN = "/api/v1/auth/login"
PROBLEM = "application/problem+json"


def assert_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    body: dict[str, Any] = answer.json()
    assert body["code"] == code
    assert body["type"] == f"/docs/errors#{code.lower()}"
    assert body["traceId"] == answer.headers["x-trace-id"]
    assert body["userMessage"]
    return body


class TestProblems:
    async def test_an_unknown_address_is_not_found(self, client: httpx.AsyncClient) -> None:
        assert_problem(await client.get("/api/v1/nothing"), 404, "NOT_FOUND")

    async def test_a_wrong_method_is_named_with_those_that_work(self, client: httpx.AsyncClient) -> None:
        answer = await client.delete("/health/live")

        body = assert_problem(answer, 405, "METHOD_NOT_ALLOWED")
        assert body["status"] == 405
        assert answer.headers["allow"] == "GET"

    async def test_a_body_that_is_no_json_is_refused(self, client: httpx.AsyncClient) -> None:
        answer = await client.post(LOGIN, content=b"{", headers={"Content-Type": "application/json"})

        assert assert_problem(answer, 422, "VALIDATION_ERROR")["errors"][0]["code"] == "malformed"

    @pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 4_000])
    async def test_a_body_that_cannot_be_read_is_refused(self, client: httpx.AsyncClient, content: bytes) -> None:
        answer = await client.post(LOGIN, content=content, headers={"Content-Type": "application/json"})

        assert_problem(answer, 422, "VALIDATION_ERROR")

    async def test_a_body_of_another_content_type_is_not_taken(self, client: httpx.AsyncClient) -> None:
        for kind in ("text/plain", "application/xml", "nonsense"):
            answer = await client.post(LOGIN, content=b"{}", headers={"Content-Type": kind, "Accept-Language": "th"})

            body = assert_problem(answer, 415, "BODY_NOT_JSON")
            assert (body["status"], body["userMessage"]) == (415, "ต้องส่งข้อมูลเป็น application/json")
        answer = await client.post(LOGIN, content=b"{}", headers={"Content-Type": "application/merge-patch+json"})
        assert_problem(answer, 422, "VALIDATION_ERROR")

    @pytest.mark.parametrize("query", [b"q=\xff", b"q=%FF", b"q=%ED%A0%80", b"\xff=\xfe", b"\xe0\xb8\x81=1"])
    async def test_a_query_that_is_no_text_is_refused_at_its_name(self, app: FastAPI, query: bytes) -> None:
        # httpx quotes what it is given: this is what a client without manners sends.
        sent: list[dict[str, Any]] = []
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": "/api/v1/rfas",
            "root_path": "",
            "scheme": "http",
            "query_string": query,
            "headers": [],
            "client": None,
            "server": None,
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)

        assert sent[0]["status"] == 422
        assert orjson.loads(sent[1]["body"])["errors"][0]["pointer"].startswith("query:")

    async def test_every_bad_field_is_named_in_the_callers_language(self, client: httpx.AsyncClient) -> None:
        answer = await client.post(LOGIN, json={"username": 5, "more": 1}, headers={"Accept-Language": "th"})

        errors = {error["pointer"]: error for error in assert_problem(answer, 422, "VALIDATION_ERROR")["errors"]}
        assert {pointer: error["code"] for pointer, error in errors.items()} == {
            "/username": "wrong_type",
            "/password": "required",
            "/more": "unknown_field",
        }
        assert errors["/password"]["message"] == "จำเป็นต้องระบุ"
        assert errors["/password"]["detail"] == "Required"

    async def test_a_body_over_two_megabytes_is_refused_unread(self, client: httpx.AsyncClient) -> None:
        answer = await client.post(LOGIN, content=b" " * (2 * 1024 * 1024 + 1))

        assert_problem(answer, 413, "REQUEST_TOO_LARGE")

    async def test_a_body_of_unknown_length_is_counted(self, client: httpx.AsyncClient) -> None:
        async def endless() -> Any:
            for _ in range(40):
                yield b" " * 64 * 1024

        answer = await client.post(LOGIN, content=endless(), headers={"Content-Type": "application/json"})

        assert_problem(answer, 413, "REQUEST_TOO_LARGE")

    async def test_a_fault_of_ours_shows_nothing_of_itself(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        @app.get("/api/v1/broken-for-a-test")
        async def broken() -> None:
            raise RuntimeError("secret detail")

        answer = await client.get("/api/v1/broken-for-a-test")

        assert_problem(answer, 500, "UNEXPECTED_ERROR")
        assert "secret detail" not in answer.text

    async def test_a_lost_database_is_told_in_the_words_of_the_specification(
        self, app: FastAPI, client: httpx.AsyncClient
    ) -> None:
        @app.get("/api/v1/lost-for-a-test")
        async def lost() -> None:
            raise ConnectionResetError

        answer = await client.get("/api/v1/lost-for-a-test", headers={"Accept-Language": "th"})

        body = assert_problem(answer, 503, "DATABASE_ERROR")
        assert answer.headers["Retry-After"] == "3"
        assert body["userMessage"] == "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ"


class TestMeasurement:
    async def test_knows_no_method_that_a_stranger_made_up(self, client: httpx.AsyncClient) -> None:
        for method in ("BREW", "X" * 200, "get"):
            await client.request(method, "/api/v1/rfas")
        await client.request("GET", "/api/v1/made-up-by-a-stranger")

        exposed = (await client.get("/metrics")).text
        labels = set(re.findall(r'saraban_http_request_seconds_count\{method="([^"]*)"', exposed))
        assert "OTHER" in labels
        assert labels <= {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "OTHER"}
        assert "stranger" not in exposed


class TestFrame:
    async def test_every_answer_carries_the_security_headers(self, client: httpx.AsyncClient) -> None:
        headers = (await client.get("/health/live")).headers

        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin"

    async def test_no_cache_keeps_an_answer_of_the_api(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/api/v1/auth/me")).headers["cache-control"] == "no-store"

    async def test_a_given_trace_is_continued(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        seen: list[str] = []

        @app.get("/api/v1/traced-for-a-test")
        async def traced() -> None:
            seen.append(trace_id())

        trace = "0af7651916cd43dd8448eb211c80319c"
        answer = await client.get(
            "/api/v1/traced-for-a-test", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        )

        assert seen == [trace]
        assert answer.headers["x-trace-id"] == trace

    async def test_requests_without_a_trace_get_one_each(self, client: httpx.AsyncClient) -> None:
        first, second = [(await client.get("/health/live")).headers["x-trace-id"] for _ in range(2)]

        assert first != second


class TestHealth:
    async def test_live_answers(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/health/live")).json() == {"status": "alive"}

    async def test_ready_names_each_dependency(self, client: httpx.AsyncClient) -> None:
        answer = await client.get("/health/ready")

        body = answer.json()
        assert answer.status_code == 200, body
        assert {name: report["status"] for name, report in body["dependencies"].items()} == {
            "database": "up",
            "migrations": "up",
            "storage": "up",
            "redis": "off",
            "worker": "down",
        }
        assert body["status"] == "degraded"

    async def test_ready_is_degraded_until_a_worker_beats(
        self, app: FastAPI, client: httpx.AsyncClient, signed_in: SignIn
    ) -> None:
        async def worker() -> tuple[str, str]:
            body = (await client.get("/health/ready")).json()
            return body["status"], body["dependencies"]["worker"]["reason"]

        assert await worker() == ("degraded", "no heartbeat of any worker yet; start `saraban worker`")

        await Heartbeat(app.state.db).beat()
        status, reason = await worker()
        assert status == "ready"
        assert re.fullmatch(r"last heartbeat \d+ s ago", reason)

        await app.state.db.transact(
            lambda session: session.execute(sa.update(WorkerHeartbeat).values(beat_at=datetime(2026, 1, 1, tzinfo=UTC)))
        )
        status, reason = await worker()
        assert status == "degraded"
        assert re.fullmatch(r"no heartbeat of any worker for \d+ s; start `saraban worker`", reason)
        admin = await signed_in("admin")
        page = await admin.get("/system", headers={"Accept": "text/html", "Accept-Language": "th"})
        assert "งานเบื้องหลังไม่ส่งสัญญาณมา" in page.text

    @pytest.mark.parametrize(
        ("revision", "said"),
        [("9999", "newer than this program"), ("0071", "tagged pre-1.0"), ("0004", "run `saraban migrate`")],
    )
    async def test_ready_says_what_a_database_of_another_revision_needs(
        self, app: FastAPI, client: httpx.AsyncClient, revision: str, said: str
    ) -> None:
        async with app.state.db.engine.execution_options(saraban_writes=True).begin() as connection:
            await connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'"))

        answer = await client.get("/health/ready")

        assert answer.status_code == 503
        assert said in answer.json()["dependencies"]["migrations"]["reason"]

    async def test_ready_says_which_dependency_is_down(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        folder = app.state.settings.data_dir / "files"
        folder.mkdir(exist_ok=True)
        (folder / ".").rename(folder.with_name("moved"))
        folder.write_text("a file where the folder should be")

        answer = await client.get("/health/ready")

        assert answer.status_code == 503
        assert answer.json()["dependencies"]["storage"]["status"] == "down"
        assert answer.json()["status"] == "down"

    async def test_ready_tells_no_address_of_what_is_down(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        async def fails() -> str:
            raise ConnectionRefusedError(111, "Connect call failed ('10.1.2.3', 6379) for user saraban")

        app.state.dependencies.append(Dependency("somewhere", fails, essential=True))
        answer = await client.get("/health/ready")

        assert answer.status_code == 503
        assert answer.json()["dependencies"]["somewhere"] == {"status": "down", "reason": "fails (connection)"}
        assert "10.1.2.3" not in answer.text

    async def test_ready_tells_no_folder(self, app: FastAPI, client: httpx.AsyncClient) -> None:
        assert str(app.state.settings.data_dir) not in (await client.get("/health/ready")).text


class TestMetrics:
    async def test_counts_requests_by_route_and_not_by_path(self, client: httpx.AsyncClient) -> None:
        await client.get("/health/live")
        await client.get("/api/v1/nothing/0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c")

        text = (await client.get("/metrics")).text

        assert 'saraban_http_request_seconds_count{method="GET",route="/health/live",status="200"}' in text
        assert 'route="(unknown)"' in text
        assert "0190a7c4" not in text
        assert "saraban_db_pool_connections" in text


class TestErrorPage:
    async def test_the_type_of_a_problem_leads_to_its_explanation(self, client: httpx.AsyncClient) -> None:
        problem = (await client.get("/api/v1/nothing")).json()
        path, _, anchor = problem["type"].partition("#")

        assert f'id="{anchor}"' in (await client.get(path)).text


class TestAPage:
    @pytest.mark.parametrize("accept", ["*/*", "text/html", "text/html,application/xhtml+xml,*/*;q=0.8"])
    @pytest.mark.parametrize(("path", "target"), [("/", "/login"), ("/rfas", "/login?next=/rfas")])
    async def test_leads_to_the_log_in_whoever_takes_anything(
        self, client: httpx.AsyncClient, path: str, target: str, accept: str
    ) -> None:
        answer = await client.get(path, headers={"Accept": accept})

        assert (answer.status_code, answer.headers["location"]) == (303, target)

    async def test_answers_a_program_as_a_program(self, client: httpx.AsyncClient) -> None:
        assert_problem(await client.get("/rfas", headers={"Accept": "application/json"}), 401, "UNAUTHORIZED")
        assert_problem(await client.get("/api/v1/rfas"), 401, "UNAUTHORIZED")
        assert_problem(await client.get("/no/such/address/here"), 404, "NOT_FOUND")
        assert_problem(await client.get("/static/nothing.js"), 404, "NOT_FOUND")


@pytest_asyncio.fixture
async def owner(signed_in: SignIn) -> httpx.AsyncClient:
    return await signed_in("admin")


class TestCompression:
    @pytest.mark.parametrize("accepted", ["gzip", "br, gzip;q=0.5", "*"])
    async def test_is_of_json_and_pages(self, owner: httpx.AsyncClient, accepted: str) -> None:
        for path in ("/api/v1/organizations", "/docs/errors"):
            answer = await owner.get(path, headers={"Accept-Encoding": accepted})

            assert answer.headers["content-encoding"] == "gzip", path
            assert "Accept-Encoding" in answer.headers["vary"]
            assert int(answer.headers["content-length"]) < len(answer.content)

    @pytest.mark.parametrize("refused", ["identity", "gzip;q=0", "br", "gzip; q=0.0, *", "*;q=0"])
    async def test_is_left_out_for_clients_that_do_not_take_it(self, owner: httpx.AsyncClient, refused: str) -> None:
        answer = await owner.get("/api/v1/organizations", headers={"Accept-Encoding": refused})

        assert "content-encoding" not in answer.headers
        assert "Accept-Encoding" in answer.headers["vary"]

    async def test_leaves_tagged_small_and_posted_answers_as_they_are(self, owner: httpx.AsyncClient) -> None:
        project = (await owner.get("/api/v1/projects")).json()["items"][0]["publicId"]
        tagged = await owner.get(f"/api/v1/projects/{project}", headers={"Accept-Encoding": "gzip"})
        small = await owner.get("/health/live", headers={"Accept-Encoding": "gzip"})

        assert [one.headers.get("content-encoding") for one in (tagged, small)] == [None, None]
        tag = {"If-Match": tagged.headers["etag"]}
        changed = await owner.patch(f"/api/v1/projects/{project}", json={"projectName": "สะพาน"}, headers=tag)
        assert changed.status_code == 200, changed.text


class TestHead:
    @pytest.mark.parametrize("path", ["/api/v1/organizations", "/health/live", "/docs/errors"])
    async def test_answers_as_get_does_without_the_body(self, owner: httpx.AsyncClient, path: str) -> None:
        read, head = await owner.get(path), await owner.head(path)

        assert (head.status_code, head.content) == (read.status_code, b"")
        for name in ("content-type", "content-length", "etag", "vary", "content-encoding"):
            assert head.headers.get(name) == read.headers.get(name), name

    async def test_of_what_is_not_there_is_not_found(self, owner: httpx.AsyncClient) -> None:
        assert (await owner.head("/api/v1/nothing")).status_code == 404


class TestContentLanguage:
    @pytest.mark.parametrize("language", ["th", "en"])
    async def test_is_named_on_problems_answers_and_pages(
        self, client: httpx.AsyncClient, owner: httpx.AsyncClient, language: str
    ) -> None:
        wish = {"Accept-Language": language}
        answers = [
            *[await client.get(path, headers=wish) for path in ("/api/v1/nothing", "/login")],
            await owner.delete("/api/v1/search", headers=wish),
            await owner.get("/api/v1/organizations", headers=wish),
        ]

        assert [answer.status_code for answer in answers] == [404, 200, 405, 200]
        assert {answer.headers["content-language"] for answer in answers} == {language}
