"""`saraban mail test`: each step of handing a mail over, and the fault."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from saraban import config
from saraban.config import Settings
from tests.certificates import make_certificate
from tests.smtp import SmtpServer
from tests.terminal import Command, commands_of

TO = "somsri@example.org"


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    with commands_of("mail", settings, monkeypatch, capfd) as run:
        yield run


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server shows whose certificate this process trusts."""
    made = make_certificate(tmp_path, "IP:127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.chain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.chain, made.key)
    return context


async def send_test(command: Command, monkeypatch: pytest.MonkeyPatch, port: int, **more: str) -> tuple[int, str, str]:
    chosen = {"mail": "smtp", "smtp_host": "127.0.0.1", "smtp_port": str(port), "smtp_security": "none"} | more
    for name, value in chosen.items():
        monkeypatch.setenv(f"SARABAN_{name.upper()}", value)
    config.load.cache_clear()
    return await asyncio.to_thread(command, "test", TO)


async def test_prints_each_step(command: Command, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext) -> None:
    async with SmtpServer(tls=tls) as server:
        server.answers |= {"EHLO": ["250-saraban.test\r\n250 AUTH PLAIN"], "AUTH": ["235 welcome"]}
        account = {"smtp_user": "saraban", "smtp_password": "secret"}
        code, out, err = await send_test(command, monkeypatch, server.port, smtp_security="tls", **account)

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Connected.",
        "The connection uses TLS, and the certificate is valid.",
        "Logged in.",
        "The server accepted the e-mail.",
    ]
    (message,) = server.messages
    assert (message["To"], message["Subject"]) == (TO, "[Saraban] Test mail")


async def test_says_it_in_thai(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARABAN_LANG", "th")
    async with SmtpServer() as server:
        code, out, _ = await send_test(command, monkeypatch, server.port)

    assert (code, out.splitlines()[-1]) == (0, "เซิร์ฟเวอร์รับจดหมายแล้ว")


async def test_ends_with_the_words_of_the_server_that_refuses(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SmtpServer() as server:
        server.answers["RCPT"] = ["550 5.1.1 No such user"]
        code, out, err = await send_test(command, monkeypatch, server.port)

    assert (code, out) == (1, "Connected.\n")
    assert err.startswith("saraban: 127.0.0.1: SMTPRecipientsRefused(")
    assert "550, b'5.1.1 No such user'" in err


async def test_refuses_a_certificate_that_is_not_trusted(
    command: Command, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    async with SmtpServer(tls=tls) as server:
        code, out, err = await send_test(command, monkeypatch, server.port, smtp_security="tls")

    assert (code, out, "certificate verify failed" in err) == (1, "", True)


async def test_of_a_server_that_is_away_fails(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SmtpServer() as server:
        port = server.port
    code, out, err = await send_test(command, monkeypatch, port)

    assert (code, out, "Connection refused" in err) == (1, "", True)


@pytest.mark.parametrize("mail", ["off", "console"])
async def test_says_that_mail_is_off(command: Command, monkeypatch: pytest.MonkeyPatch, mail: str) -> None:
    code, out, err = await send_test(command, monkeypatch, 1, mail=mail)

    assert (code, out) == (1, "")
    assert err == f"saraban: e-mail is not sent: SARABAN_MAIL={mail}.\n"
