"""Scripts, styles and fonts: compressed, and cached for ever below their digest."""

import gzip
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Final

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from saraban.kit.http import accepts_gzip

FOLDER: Final = Path(__file__).parents[1] / "static"
MOUNT: Final = "/static"
TEXT: Final = (".css", ".js", ".svg")

_EDITION: Final = re.compile(r"[0-9a-f]{12}")
_CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
_REVALIDATE: Final = "public, no-cache"


@cache
def release_digest() -> str:
    """Read the files once: they change only with a release."""
    digest = hashlib.sha256()
    for path in sorted(file for file in FOLDER.rglob("*") if file.is_file()):
        digest.update(path.relative_to(FOLDER).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def address() -> str:
    return f"{MOUNT}/{release_digest()}"


@cache
def _compress_file(path: str, _changed: int) -> bytes:
    """Compress once for all readers: it takes longer than the rest of the response."""
    return gzip.compress(Path(path).read_bytes(), compresslevel=9, mtime=0)


class StaticAssets(StaticFiles):
    """Files below the current digest never change; browsers revalidate all others."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        first, _, rest = path.partition("/")
        response = await super().get_response(rest if _EDITION.fullmatch(first) else path, scope)
        response.headers["Cache-Control"] = _CACHE_FOREVER if first == release_digest() else _REVALIDATE
        if not path.endswith(TEXT):
            return response
        response.headers["Vary"] = "Accept-Encoding"
        takes_gzip = accepts_gzip(Headers(scope=scope).get("accept-encoding", ""))
        return await _compressed_response(response) if takes_gzip else response


async def _compressed_response(response: Response) -> Response:
    if not isinstance(response, FileResponse) or response.stat_result is None:
        return response
    body = await anyio.to_thread.run_sync(_compress_file, str(response.path), response.stat_result.st_mtime_ns)
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    # The tag is weak, because it is the same for every compression.
    changed = {"content-encoding": "gzip", "etag": f"W/{response.headers['etag']}"}
    return Response(body, headers=headers | changed, media_type=response.media_type)
