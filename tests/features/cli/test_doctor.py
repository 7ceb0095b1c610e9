"""`saraban doctor`: real faults, each in one line that states what to do, in both languages and without a password."""

import asyncio
import json
import re
import shutil
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from saraban import config
from saraban.config import Settings
from saraban.kit.clock import SystemClock
from tests.servers import HOST, free_port
from tests.smtp import HANG_UP, SmtpServer
from tests.terminal import commands_of

THAI = re.compile("[\u0e00-\u0e7f]")
Doctor = Callable[..., dict[str, tuple[str, str]]]


@pytest.fixture
def doctor(settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Doctor]:
    """`doctor(PORT=…)` gives state and text of each check, after it was asked in Thai too."""
    settings.data_dir.chmod(0o700)
    (settings.data_dir / "signing.key").write_text("of-this-test-" * 3)
    with commands_of("doctor", settings, monkeypatch, capfd) as command:

        def run(**changes: object) -> dict[str, tuple[str, str]]:
            for name, value in changes.items():
                monkeypatch.setenv(f"SARABAN_{name}", str(value))
            monkeypatch.setenv("SARABAN_LANG", "th")
            config.load.cache_clear()
            _, out, _ = command()
            lines = [line for line in out.splitlines() if line.startswith("ขัดข้อง")]
            assert all(THAI.search(line.partition(": ")[2]) for line in lines)
            monkeypatch.setenv("SARABAN_LANG", "en")
            config.load.cache_clear()
            code, out, err = command("--json")
            checks = {one["check"]: (one["state"], one["text"]) for one in json.loads(out)}
            states = [state for state, _ in checks.values()]
            assert (code, states.count("fault")) == (1 if lines else 0, len(lines)), err
            assert "s3cret" not in out + err
            assert "Traceback" not in err
            return checks

        yield run


def beat(settings: Settings) -> None:
    """What a worker writes."""
    engine = sa.create_engine(settings.sqlalchemy_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO worker_heartbeats (uuid, host, process_id, started_at, beat_at) VALUES"
            " (hex(randomblob(16)), 'here', 1, CURRENT_TIMESTAMP, strftime('%Y-%m-%d %H:%M:%f000', 'now'))"
        )
    engine.dispose()


@contextmanager
def web_server(*headers: tuple[str, str]) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            for header in headers:
                self.send_header(*header)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer((HOST, 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def mail_server(context: ssl.SSLContext | None = None, **answers: str) -> Iterator[int]:
    """A mail server on a loop of its own; `answers` come once for each connection, four at most."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # a client that speaks TLS to it hangs up
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = SmtpServer(tls=context)
    for verb, answer in answers.items():
        server.answers[verb] = [answer] * 4
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        yield server.port
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def self_signed(path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*form) + certificate.public_bytes(serialization.Encoding.PEM))
    return path


class TestHealthyInstallation:
    def test_has_no_fault_and_the_exit_code_0(self, doctor: Doctor, settings: Settings) -> None:
        beat(settings)
        with web_server(("X-Trace-Id", "1")) as url, mail_server() as port:
            checks = doctor(PUBLIC_URL=url, MAIL="smtp", SMTP_HOST=HOST, SMTP_PORT=port, SMTP_SECURITY="none")

        assert {name: state for name, (state, _) in checks.items()} == {
            **dict.fromkeys(("settings", "data_folder", "database", "migrations", "storage", "worker"), "ok"),
            **dict.fromkeys(("database_server", "clock", "mail", "public_url"), "ok"),
            "redis": "off",
        }
        assert "saraban 0." in checks["settings"][1]


class TestFault:
    def test_of_a_misspelt_setting(self, doctor: Doctor) -> None:
        checks = doctor(DATABASE_ULR="mysql://u:s3cret@h/n")

        assert [state for state, _ in checks.values()] == ["fault"]
        assert "did you mean SARABAN_DATABASE_URL?" in checks["settings"][1]

    def test_of_a_setting_that_is_missing_in_production(self, doctor: Doctor) -> None:
        state, text = doctor(ENV="production", PUBLIC_URL="https://saraban.example.org")["settings"]

        assert state == "fault"
        assert "SARABAN_DATABASE_URL" in text

    def test_is_no_unknown_setting(self, doctor: Doctor, settings: Settings) -> None:
        beat(settings)

        state, text = doctor(VERSION="7")["settings"]

        assert state == "warning"
        assert "SARABAN_VERSION" in text

    def test_of_a_file_in_the_place_of_the_data_folder(self, doctor: Doctor, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        checks = doctor(DATA_DIR=tmp_path / "file")

        assert {name: state for name, (state, _) in checks.items()} == {"settings": "ok", "data_folder": "fault"}
        assert str(tmp_path / "file") in checks["data_folder"][1]

    def test_of_a_damaged_signing_key(self, doctor: Doctor, settings: Settings) -> None:
        (settings.data_dir / "signing.key").write_bytes(bytes(range(200, 256)))

        state, text = doctor()["data_folder"]

        assert state == "fault"
        assert "openssl rand" in text

    def test_of_a_folder_that_other_accounts_can_read_leaves_its_rights(
        self, doctor: Doctor, settings: Settings
    ) -> None:
        settings.data_dir.chmod(0o755)

        state, text = doctor()["data_folder"]

        assert state == "fault"
        assert str(settings.data_dir) in text and "chmod" in text
        assert settings.data_dir.stat().st_mode & 0o777 == 0o755

    @pytest.mark.parametrize("name", ["", "signing.key", "saraban.db"])
    def test_of_something_that_is_missing_makes_nothing(self, doctor: Doctor, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "new"
        if name:
            folder.mkdir(mode=0o700)
        if name == "saraban.db":
            (folder / "signing.key").write_text("k" * 48)
        before = sorted(tmp_path.rglob("*"))

        state, text = doctor(DATA_DIR=folder, SECRET_KEY="")["data_folder"]

        assert state == "fault"
        assert str(folder / name) in text
        assert sorted(tmp_path.rglob("*")) == before

    def test_of_a_full_disk(self, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
        usage = shutil.disk_usage("/")
        monkeypatch.setattr("shutil.disk_usage", lambda _path: usage._replace(free=10 * 1024**2))

        state, text = doctor()["data_folder"]

        assert state == "fault"
        assert "make room" in text

    def test_of_a_database_that_is_behind(self, doctor: Doctor, settings: Settings) -> None:
        (settings.data_dir / "saraban.db").write_bytes(b"")

        state, text = doctor()["migrations"]

        assert state == "fault"
        assert "saraban migrate" in text

    def test_of_a_database_that_is_away_is_stated_once(self, doctor: Doctor) -> None:
        checks = doctor(DATABASE_URL=f"mysql://u:s3cret@{HOST}:{free_port()}/n", RETRY_PAUSE=0.01)

        assert [name for name, (state, _) in checks.items() if state == "fault"] == ["database"]
        assert "SARABAN_DATABASE_URL" in checks["database"][1]

    def test_of_a_clock_that_is_wrong(self, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
        now = SystemClock.now
        monkeypatch.setattr(SystemClock, "now", lambda clock: now(clock) + timedelta(minutes=3))

        state, text = doctor()["clock"]

        assert state == "fault"
        assert re.search(r"differ by 1[78]\d\.\d s", text)

    def test_of_a_redis_that_is_away(self, doctor: Doctor) -> None:
        state, text = doctor(REDIS_URL=f"redis://u:s3cret@{HOST}:{free_port()}/0")["redis"]

        assert state == "fault"
        assert "SARABAN_REDIS_URL" in text

    @pytest.mark.parametrize(
        ("security", "answers", "words"),
        [
            ("starttls", {}, "STARTTLS"),
            ("tls", {}, "SSLError"),
            ("none", {"AUTH": "535 no"}, "SMTP"),
            ("none", {"EHLO": HANG_UP}, "SMTPServerDisconnected"),
        ],
    )
    def test_of_a_mail_server(self, doctor: Doctor, security: str, answers: dict[str, str], words: str) -> None:
        with mail_server(**answers) as port:
            state, text = doctor(
                MAIL="smtp",
                SMTP_HOST=HOST,
                SMTP_PORT=port,
                SMTP_SECURITY=security,
                SMTP_USER="u",
                SMTP_PASSWORD="s3cret",
            )["mail"]

        assert state == "fault"
        assert words in text

    def test_of_a_mail_server_whose_certificate_nobody_signed(self, doctor: Doctor, tmp_path: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self_signed(tmp_path / "server.pem"))

        with mail_server(context) as port:
            state, text = doctor(MAIL="smtp", SMTP_HOST=HOST, SMTP_PORT=port, SMTP_SECURITY="tls")["mail"]

        assert state == "fault"
        assert "SSLCertVerificationError" in text and "certificate" in text

    def test_of_an_address_where_another_program_answers(self, doctor: Doctor) -> None:
        with web_server() as url:
            state, text = doctor(PUBLIC_URL=url)["public_url"]

        assert state == "fault"
        assert "HTTP 200" in text

    @pytest.mark.parametrize("url", ["http://saraban.invalid", "http://{host}:{port}"])
    def test_of_an_address_where_nobody_answers(self, doctor: Doctor, url: str) -> None:
        state, text = doctor(PUBLIC_URL=url.format(host=HOST, port=free_port()))["public_url"]

        assert state == "fault"
        assert "SARABAN_PUBLIC_URL" in text

    def test_of_a_worker_that_was_forgotten(self, doctor: Doctor) -> None:
        state, text = doctor()["worker"]

        assert state == "fault"
        assert "start `saraban worker`" in text


def commands(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *verbs: str
) -> Iterator[tuple[int, str, str]]:
    for verb in verbs:
        with commands_of(verb, settings, monkeypatch, capfd) as command:
            yield command()


def test_a_server_that_cannot_start_prints_the_same_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (settings.data_dir / "signing.key").write_bytes(bytes(range(200, 256)))
    settings.data_dir.joinpath("saraban.db").unlink()
    monkeypatch.setenv("SARABAN_PORT", str(free_port()))

    (_, out, _), *starts = commands(settings, monkeypatch, capfd, "doctor", "serve")

    stated = re.search("^fault data_folder: (.+)$", out, flags=re.MULTILINE)
    assert stated
    assert [(code, err) for code, _, err in starts] == [(3, f"saraban: {stated[1]}\n")]


def test_a_folder_that_cannot_be_written_ends_every_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, _content: bytes) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    monkeypatch.setenv("SARABAN_PORT", str(free_port()))

    for code, _, err in commands(settings, monkeypatch, capfd, "serve", "worker", "migrate"):
        assert (code, err.count("\n")) == (4, 1), err
        assert "SARABAN_DATA_DIR" in err
