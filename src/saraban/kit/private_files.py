"""Permissions of the data folder."""

from pathlib import Path

import structlog

from saraban.kit.ids import new_id

log = structlog.get_logger(__name__)


def protect_folder(folder: Path) -> None:
    """Create the folder, and remove the access of other accounts to it and its direct entries."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (folder, *folder.iterdir()):
        try:
            path.chmod(path.stat().st_mode & 0o700)
        except FileNotFoundError:
            continue  # another process removed it
        except PermissionError:
            log.warning("data_folder.open_to_others", path=str(path))


def probe_folder(folder: Path) -> None:
    probe = folder / f".probe-{new_id().hex}"
    try:
        probe.write_bytes(b"saraban")
    finally:
        probe.unlink(missing_ok=True)
