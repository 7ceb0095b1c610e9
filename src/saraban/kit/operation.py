"""Keyed operations and their receipts (REQ-NUM-10), without I/O."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, Self
from uuid import UUID

import orjson
from pydantic import BaseModel

from saraban.kit.ids import derived_id, new_id

NAME_LENGTH = 80  # characters, which the column holds
OUTCOME_LENGTH = 2000  # characters of JSON, which the column holds


class _Requester(Protocol):
    @property
    def public_id(self) -> UUID: ...


class OperationContext(Protocol):
    @property
    def caller(self) -> _Requester: ...

    @property
    def now(self) -> datetime: ...

    @property
    def key(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Operation:
    """
    :param name: method and route, such as `POST /rfas`; ids belong to the payload
    :param payload_hash: identifies a repeated request; empty without a key
    :param token: identifies the work: equal for repetitions of a keyed request, new without a key
    """

    user: UUID
    key: str | None
    name: str
    payload_hash: str
    token: UUID
    now: datetime

    @classmethod
    def of(cls, ctx: OperationContext, name: str, payload: BaseModel | object) -> Self:
        """:raises ValueError: when `name` is longer than its column"""
        if len(name) > NAME_LENGTH:
            raise ValueError(f"The operation has more than {NAME_LENGTH} characters: {name}")
        user = ctx.caller.public_id
        if ctx.key is None:
            return cls(user, None, name, "", new_id(), ctx.now)
        data = payload.model_dump(mode="json", by_alias=True) if isinstance(payload, BaseModel) else payload
        digest = hashlib.sha256(name.encode() + b"\0" + orjson.dumps(data, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return cls(user, ctx.key, name, digest, derived_id(name, str(user), ctx.key, digest), ctx.now)


@dataclass(frozen=True, slots=True)
class Receipt:
    """
    Stored result of an operation, from which responses are made with the caller's rights.
    :param outcome: public ids, codes and versions; no free text, no secret
    :param repeated: an earlier request with the same key did the work
    """

    kind: str
    public_id: UUID | None = None
    outcome: Mapping[str, str | int | None] = field(default_factory=dict)
    repeated: bool = False

    @property
    def resource_id(self) -> UUID:
        assert self.public_id is not None
        return self.public_id

    def outcome_text(self) -> str:
        """:raises ValueError: when the JSON is longer than its column"""
        text = orjson.dumps(dict(self.outcome)).decode()
        if len(text) > OUTCOME_LENGTH:
            raise ValueError(f"The outcome of {self.kind} has more than {OUTCOME_LENGTH} characters.")
        return text
