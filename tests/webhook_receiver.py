"""A receiver of webhooks that keeps what it is sent."""

from collections.abc import Mapping

from saraban.webhooks.domain import NotSent

HOOK = "https://hooks.example.com/saraban"


class Receiver:
    """Takes what is posted and gives the answers it was told to."""

    def __init__(self, *answers: int | NotSent) -> None:
        self.answers = list(answers)
        self.got: list[tuple[str, dict[str, str], bytes]] = []

    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        self.got.append((url, dict(headers), body))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, NotSent):
            raise answer
        return answer
