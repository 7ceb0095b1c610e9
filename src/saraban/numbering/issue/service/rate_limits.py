"""How many numbers somebody may get in a minute (REQ-OPS-01). Previews and reads have a wide limit of their own."""

from dataclasses import dataclass

from prometheus_client import Counter

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.rate_limits import RateLimiter, RateLimitResult, RateLimitRule

REFUSED = Counter("docnum_rate_limited_total", "Operations refused because somebody asked too often", ["policy"])


class RateLimited(DomainError):
    """The caller, its address, or everybody together has used up the operations of this minute."""

    kind, code = ErrorKind.THROTTLED, "RATE_LIMITED"
    says = Text(
        "มีคำขอมากเกินไป กรุณารอ {seconds} วินาทีแล้วลองใหม่",
        "Too many requests. Please wait {seconds} seconds and try again.",
    )
    recovery = (
        Text("รอแล้วลองใหม่ ระบบยังไม่ได้ออกเลขที่", "Wait and try again; no number was issued."),
        Text("ระบบที่ออกเลขจำนวนมากควรใช้บัญชีบริการ", "A program that issues many numbers should use a service account."),
    )


@dataclass(frozen=True, slots=True)
class NumberRateLimits:
    """
    Operations a minute; 0 is no limit.

    :param user: numbers of one account
    :param address: numbers for one client address
    :param everybody: numbers of all together
    :param looks: previews and reads of one account
    """

    limiter: RateLimiter
    user: int
    address: int
    everybody: int
    looks: int

    async def draw(self, ctx: RequestContext) -> RateLimitResult | None:
        """
        Count a number against its caller; an account with a limit of its own has that one alone.

        :returns: None for who is exempt
        """
        whom = str(ctx.caller.public_id)
        if ctx.caller.draws_per_minute is not None:
            rules = [RateLimitRule("account", whom, ctx.caller.draws_per_minute)]
        else:
            rules = [
                RateLimitRule("user", whom, self.user),
                RateLimitRule("address", ctx.address, self.address),
                RateLimitRule("all", "", self.everybody),
            ]
        return await self._take(rules)

    async def look(self, ctx: RequestContext) -> RateLimitResult | None:
        """Count a preview or a read: typing in a form must not use up the numbers. Who is exempt is so here too."""
        if ctx.caller.draws_per_minute == 0:
            return None
        return await self._take([RateLimitRule("looks", str(ctx.caller.public_id), self.looks)])

    async def _take(self, rules: list[RateLimitRule]) -> RateLimitResult | None:
        counted = [rule for rule in rules if rule.limit]
        if not counted:
            return None
        result = await self.limiter.take(counted)
        if result.refused is not None:
            REFUSED.labels(policy=result.refused.policy).inc()
        return result


def require_within_limits(result: RateLimitResult | None) -> None:
    """
    :raises RateLimited: when a rule is used up
    """
    if result is not None and result.refused is not None:
        raise RateLimited(values={"seconds": result.reset}, retry_after=result.reset)
