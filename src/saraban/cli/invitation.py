"""How a command hands invitations on: by e-mail where that is set up, printed where it is not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from saraban import config
from saraban.cli.output import say

if TYPE_CHECKING:
    from saraban.identity.service import Invitation


def print_invitations(invitations: "Sequence[Invitation]") -> None:
    """Print each link with whom it is for; what the worker mails has a link of its own."""
    settings = config.load()
    if not invitations:
        return
    if settings.mails_invitations:
        names = ", ".join(one.username for one in invitations)
        typer.echo(say(f"ส่งคำเชิญทางอีเมลถึง {names}", f"Invitations go by e-mail to {names}."))
        return
    home = settings.public_url.rstrip("/")
    for one in invitations:
        typer.echo(f"{one.username}: {home}{one.path}")
    typer.echo(
        say(
            "ส่งลิงก์ให้เจ้าตัวเท่านั้น ใช้ได้ครั้งเดียวภายใน 7 วัน",
            "Give each link to that person alone; it works once, for 7 days.",
        )
    )
    if not home:
        typer.echo(
            say(
                "ตั้ง SARABAN_PUBLIC_URL ไว้ จะได้ลิงก์เต็ม ตอนนี้ให้เติมที่อยู่ของเซิร์ฟเวอร์ไว้ข้างหน้า",
                "Put the server's address before the path; with SARABAN_PUBLIC_URL set, whole links are printed.",
            )
        )
