"""How many numbers somebody may draw in a minute (ruling N13). Looking at what would come has a wide count of its own."""

from dataclasses import dataclass

from prometheus_client import Counter

from saraban.identity.domain.caller import Caller
from saraban.kit.errors import DomainError, Kind, Text
from saraban.kit.limits import Charge, Limiter, Tally

REFUSED = Counter("docnum_rate_limited_total", "Operations refused because somebody asked too often", ["policy"])


class RateLimited(DomainError):
    """The caller, its address, or everybody together has used up the operations of this minute."""

    kind, code = Kind.THROTTLED, "RATE_LIMITED"
    says = Text(
        "มีคำขอมากเกินไป กรุณารอ {seconds} วินาทีแล้วลองใหม่",
        "Too many requests. Please wait {seconds} seconds and try again.",
    )
    recovery = (
        Text("รอแล้วลองใหม่ ระบบยังไม่ได้ออกเลขที่", "Wait and try again; no number was drawn."),
        Text("ระบบที่ออกเลขจำนวนมากควรใช้บัญชีบริการ", "A program that draws many numbers should use a service account."),
    )


@dataclass(frozen=True, slots=True)
class Rates:
    """
    Operations a minute; 0 is no limit.

    :param user: draws of one account
    :param address: draws from one client address
    :param everybody: draws of all together
    :param looks: previews and reads of one account
    """

    limiter: Limiter
    user: int
    address: int
    everybody: int
    looks: int

    async def draw(self, caller: Caller, address: str) -> Tally | None:
        """
        Charge a draw to its caller; an account with a limit of its own has that one alone.

        :returns: None for who is exempt
        """
        whom = str(caller.public_id)
        if caller.draws_per_minute is not None:
            charges = [Charge("account", whom, caller.draws_per_minute)]
        else:
            charges = [
                Charge("user", whom, self.user),
                Charge("address", address, self.address),
                Charge("all", "", self.everybody),
            ]
        return await self._take(charges)

    async def look(self, caller: Caller) -> Tally | None:
        """Charge a preview or a read: typing in a form must not use up the numbers. Who is exempt is so here too."""
        if caller.draws_per_minute == 0:
            return None
        return await self._take([Charge("looks", str(caller.public_id), self.looks)])

    async def _take(self, charges: list[Charge]) -> Tally | None:
        counted = [charge for charge in charges if charge.most]
        if not counted:
            return None
        tally = await self.limiter.take(counted)
        if tally.refused is not None:
            REFUSED.labels(policy=tally.refused.policy).inc()
        return tally


def check(tally: Tally | None) -> None:
    """
    :raises RateLimited: when a charge is used up
    """
    if tally is not None and tally.refused is not None:
        raise RateLimited(values={"seconds": tally.reset}, retry_after=tally.reset)
