"""
Decide which log-ins wait, before the password is checked.

Failures of other addresses delay a name by seconds and never refuse it.
"""

import ipaddress
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ThrottleRules:
    """
    :param of_address: failures of one address per minute at any names; 0: no limit
    :param least: minimum seconds of a refusal, because only known names are audited
    """

    attempts: int = 5
    minutes: int = 15
    of_address: int = 10
    longest: float = 4.0
    least: float = 0.3

    def shared_by(self, processes: int) -> "ThrottleRules":
        """Return the rules for one of several processes that do not share counts."""
        return replace(self, attempts=ceil(self.attempts / processes), of_address=ceil(self.of_address / processes))


class FailedLogIns(NamedTuple):
    """Failures of this address at this name, of all at this name, of this address per minute."""

    here: int
    name: int
    address: int
    known: bool = False


def must_wait(failures: FailedLogIns, rules: ThrottleRules) -> bool:
    many_names = not failures.known and 0 < rules.of_address <= failures.address
    return failures.here >= rules.attempts or many_names


def delay(failures: FailedLogIns, rules: ThrottleRules) -> float:
    """Return seconds: 1, 2, 4, …"""
    over = failures.name - rules.attempts
    return min(2.0 ** min(over, 16), rules.longest) if over >= 0 and not failures.known else 0.0


def password_check_timeout(failures: FailedLogIns) -> float:
    if failures.known:
        return 3.0
    return 1.0 if failures.here or failures.address else 2.0


def network_of(address: str) -> str:
    """Return the address; for IPv6 its /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
