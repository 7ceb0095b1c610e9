"""A certificate that a test's own server shows, and that clients trust who are told to."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.servers import program


class Certificate(NamedTuple):
    chain: Path
    key: Path


def make_certificate(folder: Path, *names: str) -> Certificate:
    """
    :param names: that it is for, such as `IP:127.0.0.1`
    """
    made = Certificate(folder / "server.pem", folder / "server.key")
    command = [
        program("openssl", package="openssl"),
        "req",
        "-x509",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=saraban.test",
    ]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-addext", f"subjectAltName={','.join(names)}", "-keyout", str(made.key), "-out", str(made.chain)]
    subprocess.run(command, check=True, capture_output=True)
    return made
