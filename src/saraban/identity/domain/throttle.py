"""
Decide which log-ins are delayed or refused, before the password is checked.

An address waits after its own failures. Failures of others at the same name delay a log-in by a few seconds and never
refuse it. A browser in which the account has logged in before is counted separately.
"""

import ipaddress
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ThrottleRules:
    """
    :param attempts: failures of one address at one name, in `minutes`, after which it waits; from the same number of
        failures, from all addresses, a name is delayed
    :param of_address: failures of one address per minute, at any names, after which it waits; 0: no limit
    :param longest: maximum delay of a name in seconds
    :param least: minimum seconds of the response to a failure, because only an existing name is written to the audit
        trail
    """

    attempts: int = 5
    minutes: int = 15
    of_address: int = 10
    longest: float = 4.0
    least: float = 0.3

    def shared_by(self, processes: int) -> "ThrottleRules":
        """Return the rules for each of several processes that do not share counts."""
        return replace(self, attempts=ceil(self.attempts / processes), of_address=ceil(self.of_address / processes))


class FailedLogIns(NamedTuple):
    """
    Counts of failed log-ins.

    :param here: of this address at this name
    :param name: of all addresses at this name
    :param address: of this address at any name, in the last minute
    :param known: the account has logged in in this browser before: `here` counts the browser, and the failures of
        others do not count
    """

    here: int
    name: int
    address: int
    known: bool = False


def must_wait(failures: FailedLogIns, rules: ThrottleRules) -> bool:
    many_names = not failures.known and 0 < rules.of_address <= failures.address
    return failures.here >= rules.attempts or many_names


def delay(failures: FailedLogIns, rules: ThrottleRules) -> float:
    """Return the seconds to wait before the password is checked: 1, 2, 4, …"""
    over = failures.name - rules.attempts
    return min(2.0 ** min(over, 16), rules.longest) if over >= 0 and not failures.known else 0.0


def password_check_timeout(failures: FailedLogIns) -> float:
    """Return the seconds that a log-in may wait for argon2; in a flood, known browsers last."""
    if failures.known:
        return 3.0
    return 1.0 if failures.here or failures.address else 2.0


def network_of(address: str) -> str:
    """Return the network that counts as one address: an IPv6 client can choose from a /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
