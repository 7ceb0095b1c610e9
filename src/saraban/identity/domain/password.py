"""What a password must be like; hashing belongs to `service.passwords`."""

import unicodedata

from saraban.kit.errors import Text

SHORTEST, LONGEST = 8, 128


def canonical(password: str) -> str:
    """Return one spelling for what looks the same, whichever keyboard typed it."""
    return unicodedata.normalize("NFC", password)


def weakness(password: str, *, username: str) -> Text | None:
    """Return why a new password is not acceptable, or None."""
    if not SHORTEST <= len(password) <= LONGEST:
        return Text(f"รหัสผ่านต้องมี {SHORTEST} ถึง {LONGEST} ตัวอักษร", f"A password has {SHORTEST} to {LONGEST} characters.")
    if username and username.casefold() in password.casefold():
        return Text("รหัสผ่านต้องไม่มีชื่อผู้ใช้อยู่ในนั้น", "A password must not contain the user name.")
    kinds = (any(map(str.isupper, password)), any(map(str.islower, password)), any(map(str.isdigit, password)))
    if not all(kinds):
        return Text(
            "รหัสผ่านต้องมีตัวพิมพ์ใหญ่ ตัวพิมพ์เล็ก และตัวเลข",
            "A password needs an upper case letter, a lower case letter and a digit.",
        )
    return None
