"""How a kept answer goes out."""

from starlette.responses import Response as RawResponse

from saraban.kit.http import OrjsonResponse
from saraban.kit.idempotency import Answer


def sent(answer: Answer) -> RawResponse:
    headers = dict(answer.headers) | ({"Idempotent-Replay": "true"} if answer.replayed else {})
    return OrjsonResponse(answer.body, status_code=answer.status, headers=headers)
