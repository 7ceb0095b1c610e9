"""Signatures as Standard Webhooks has them, held against an implementation written down here from its text."""

import base64
import hashlib
import hmac

from saraban.webhooks.domain import encoded, message, signature
from tests.features.webhooks.standard_receiver import verified

BODY = b'{"test": 2432232314}'


class TestSignature:
    def test_is_that_of_the_example_in_the_standards_libraries(self) -> None:
        signed = signature(
            ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
            message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp=1614265330,
            body=BODY,
        )

        assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    def test_has_one_for_each_secret_and_both_verify(self) -> None:
        secrets = [encoded(bytes([number] * 32)) for number in (1, 2)]
        signed = signature(secrets, message_id="id", timestamp=7, body=BODY)

        headers = {"webhook-id": "id", "webhook-timestamp": "7", "webhook-signature": signed}
        assert len(signed.split(" ")) == 2
        assert all(verified(secret, headers, BODY) for secret in secrets)
        assert not verified(encoded(b"3" * 32), headers, BODY)
        assert not verified(secrets[0], headers, BODY + b" ")
        assert not verified(secrets[0], headers | {"webhook-id": "other"}, BODY)

    def test_uses_the_bytes_of_the_secret(self) -> None:
        key = hashlib.sha256(b"key").digest()
        expected = base64.b64encode(hmac.new(key, b"a.1.b", hashlib.sha256).digest()).decode()

        assert signature([encoded(key)], message_id="a", timestamp=1, body=b"b") == f"v1,{expected}"


class TestMessage:
    def test_says_ids_and_steps_and_nothing_of_what_a_document_says(self) -> None:
        from datetime import UTC, datetime

        payload = {
            "number": "คคง.-0001",
            "action": "submit",
            "title": "ความลับ",
            "subject": "ความลับ",
            "comment": "ความลับ",
            "actor": {"publicId": "p", "displayName": "ความลับ"},
        }
        said = message("workflow.transitioned", payload, at=datetime(2026, 11, 20, 3, tzinfo=UTC))

        assert said == {
            "type": "workflow.transitioned",
            "timestamp": "2026-11-20T03:00:00Z",
            "data": {"number": "คคง.-0001", "action": "submit", "actorPublicId": "p"},
        }

    def test_says_what_was_answered_in_a_review_unless_it_is_hidden(self) -> None:
        from datetime import UTC, datetime

        at = datetime(2026, 11, 20, 3, tzinfo=UTC)
        payload = {
            "branch": "structure",
            "branchPublicId": "b",
            "hidden": False,
            "answer": "reject",
            "comment": "ความลับ",
            "actor": {"publicId": "p", "displayName": "ความลับ", "onBehalfOf": {"publicId": "q"}},
        }
        kept = {"hidden": True, "answer": None, "comment": None, "actor": None}
        branch = {"branch": "structure", "branchPublicId": "b"}

        said = message("workflow.answered", payload, at=at)["data"]
        hidden = message("workflow.answered", payload | kept, at=at)["data"]

        who = {"actorPublicId": "p", "onBehalfOfPublicId": "q"}
        assert said == {**branch, "hidden": False, "answer": "reject", **who}
        assert hidden == {**branch, "hidden": True}
