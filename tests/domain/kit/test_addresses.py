"""URLs that cannot be taken apart, and e-mail addresses that are several."""

import pytest

from saraban.identity.domain.account import acceptable_address
from saraban.kit.addresses import is_mailbox, split_url
from saraban.kit.errors import Invalid


class TestSplitUrl:
    @pytest.mark.parametrize(
        "address",
        ["//[", "http://[", "http://]", "http://[::1", "http://a:99999/", "http://a:b/", "//a\u2100b", "//a" + "\u0301\u0316" * 16],
    )  # fmt: skip
    def test_returns_nothing_for_what_is_malformed(self, address: str) -> None:
        assert split_url(address) is None

    def test_returns_the_parts_of_the_others(self) -> None:
        parts = split_url("https://a.example:8443/x?y=1")

        assert parts is not None
        assert (parts.scheme, parts.netloc, parts.port, parts.query) == ("https", "a.example:8443", 8443, "y=1")
        assert split_url("") is not None


class TestMailbox:
    @pytest.mark.parametrize(
        "address",
        [
            "a@x,b@y", "a@x;b@y", "a@x b@y", "<a@x>", "A <a@x>", '"a@x,b"@y', "a(b)@x", "a@[127.0.0.1]", "a@x@y", "a@", "@x", "a",
            "", "a\n@x", "a@x\r\nBcc: b@y", "a..b@x", ".a@x", "a@x..y", "a@x.", "a:b@x", "a\\@x", "a\x00@x", "สมชาย@ตัวอย่าง",
        ],
    )  # fmt: skip
    def test_is_one_address_and_nothing_else(self, address: str) -> None:
        assert not is_mailbox(address)
        if address == address.strip():
            with pytest.raises(Invalid) as refusal:
                acceptable_address(address)
            assert [(one.pointer, one.code) for one in refusal.value.fields] == [("/email", "malformed")]

    @pytest.mark.parametrize("address", ["a\u200b@x", "a@x\u202e"])
    def test_has_nothing_invisible(self, address: str) -> None:
        assert not is_mailbox(address)
        assert acceptable_address(address) == "a@x"

    @pytest.mark.parametrize("address", ["a@x", "first.last+tag@mail.example.org", "o'neil_1@x-y.org", "สมชาย@ไทย.ไทย"])
    def test_may_be_plain(self, address: str) -> None:
        assert is_mailbox(address)
        assert acceptable_address(f" {address.upper()} ") == address
