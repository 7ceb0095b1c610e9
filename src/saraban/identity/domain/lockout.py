"""When repeated wrong passwords lock an account, and for how long."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class LockoutRules:
    attempts: int = 5
    minutes: int = 15


@dataclass(frozen=True, slots=True)
class Failures:
    """What is remembered of an account's wrong passwords."""

    count: int
    locked_until: datetime | None

    def locked_for(self, now: datetime) -> float:
        """This will give the seconds until the account opens again, 0 when it is open."""
        return max(0.0, (self.locked_until - now).total_seconds()) if self.locked_until else 0.0


def after_failure(failures: Failures, rules: LockoutRules, now: datetime) -> Failures:
    """This will count one wrong password more; a lock that has ended begins the count anew."""
    count = 1 if failures.locked_until and failures.locked_until <= now else failures.count + 1
    return Failures(count, now + timedelta(minutes=rules.minutes) if count >= rules.attempts else None)
