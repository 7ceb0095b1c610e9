"""Dependency that tells whether the installation sends e-mail."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from saraban.kit.http import Wiring, async_dependency, wiring
from saraban.notifications.service import MailSettings


@dataclass(frozen=True, kw_only=True)
class MailWiring(Wiring):
    mail_settings: MailSettings | None


def mail_is_on(request: Request) -> bool:
    return wiring(request, MailWiring).mail_settings is not None


MailIsOn = Annotated[bool, Depends(async_dependency(mail_is_on))]
