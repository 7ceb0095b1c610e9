"""Closes what Saraban keeps on the disk to the machine's other accounts."""

from pathlib import Path

import structlog

from saraban.kit.ids import new_id

log = structlog.get_logger(__name__)


def protect_folder(folder: Path) -> None:
    """Make the data folder, and close it and what is in it; other accounts cannot reach what is deeper."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (folder, *folder.iterdir()):
        try:
            path.chmod(path.stat().st_mode & 0o700)
        except FileNotFoundError:
            continue  # another process has just removed it
        except PermissionError:
            log.warning("data_folder.open_to_others", path=str(path))


def probe_folder(folder: Path) -> None:
    """Write a file and remove it again, as what is kept there needs."""
    probe = folder / f".probe-{new_id().hex}"
    try:
        probe.write_bytes(b"saraban")
    finally:
        probe.unlink(missing_ok=True)
