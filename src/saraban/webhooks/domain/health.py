"""How a webhook fares: since when its receiver takes nothing, and when it is left alone."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

Off = Literal["gone", "failing", "address"]

# A receiver may be down over a weekend and lose nothing but those days' messages.
LONG: Final = timedelta(days=3)
FEW: Final = 3
# A busy one would fill the dead letters long before that.
SOON: Final = timedelta(hours=6)
MANY: Final = 100


@dataclass(frozen=True, slots=True)
class WebhookHealth:
    """
    :param failing_since: of the first attempt that failed after the last that did not; None while all is well
    :param given_up: messages in a row that were given up since then
    """

    failing_since: datetime | None = None
    given_up: int = 0

    def after(self, *, delivered: bool, gave_up: bool, now: datetime) -> "WebhookHealth":
        """Return what it is after one more attempt."""
        if delivered:
            return WebhookHealth()
        return WebhookHealth(self.failing_since or now, self.given_up + gave_up)

    def is_hopeless(self, *, now: datetime) -> bool:
        """Return whether nothing has got through for so long that the webhook is switched off."""
        if self.failing_since is None:
            return False
        age = now - self.failing_since
        return (age >= LONG and self.given_up >= FEW) or (age >= SOON and self.given_up >= MANY)
