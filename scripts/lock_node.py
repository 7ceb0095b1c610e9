"""Takes addresses out of package-lock.json: `npm ci` needs none, and a lock must work behind any registry."""

import json
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "package-lock.json"


def main() -> None:
    lock = json.loads(LOCK.read_text(encoding="utf-8"))
    for package in lock["packages"].values():
        package.pop("funding", None)
        package.pop("resolved", None)
    LOCK.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
