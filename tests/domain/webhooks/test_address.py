"""Where a webhook may not lead, however the address is written."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saraban.webhooks.domain import InvalidWebhookAddress, is_public, target_of

PRIVATE = [
    *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254"),
    *("0.0.0.0", "0.1.2.3", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "fe80::1", "fe80::1%eth0"),
    *("fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "2001:db8::1", "100::1", "nonsense", ""),
]


class TestIsPublic:
    @pytest.mark.parametrize("address", PRIVATE)
    def test_is_false_of_whatever_leads_inside(self, address: str) -> None:
        assert not is_public(address)

    @pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])
    def test_is_true_of_the_open_internet(self, address: str) -> None:
        assert is_public(address)

    @given(st.ip_addresses(v=4))
    def test_says_the_same_of_an_address_inside_another(self, address: object) -> None:
        assert is_public(f"::ffff:{address}") == is_public(str(address))


class TestTarget:
    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("http://example.com/", "not_https"),
            ("ftp://example.com/", "not_https"),
            ("https://example.com:22/", "port"),
            ("https://example.com:80/", "port"),
            ("https://example.com:99999/", "malformed"),
            ("https://user@example.com/", "malformed"),
            ("https://user:word@example.com/", "malformed"),
            ("https://example.com/#part", "malformed"),
            ("https://exa mple.com/", "malformed"),
            ("https://example.com\\@10.0.0.1/", "malformed"),
            ("https:///path", "malformed"),
            ("https://[::1", "malformed"),
            ("https://localhost/", "private"),
            ("https://LOCALHOST./", "private"),
            ("https://metadata.google.internal/", "private"),
            ("https://169.254.169.254/latest", "private"),
            ("https://[::ffff:127.0.0.1]/", "private"),
            ("https://[fd00::1]:8443/", "private"),
            ("https://127.0.0.1./", "private"),
            ("https://intranet/", "private"),
            ("https://127.1/", "notation"),
            ("https://127.1./", "notation"),
            ("https://127.0.0.01/", "notation"),
            ("https://0x7f000001/", "notation"),
            ("https://0X7F.1/", "notation"),
            ("https://2130706433/", "notation"),
            ("https://017700000001/", "notation"),
            ("https://134744072/", "notation"),
            ("https://hooks.example.com.1/", "notation"),
            ("https://[2606:4700::1111%25eth0]/", "notation"),
            ("https://%31%32%37.0.0.1/", "notation"),
            ("https://%6cocalhost/", "malformed"),
            ("https://hooks..example.com/", "malformed"),
            ("https://hooks.example.com../", "malformed"),
            ("https://-hooks.example.com/", "malformed"),
            ("https://１２７.0.0.1/", "malformed"),
            ("https://ตัวอย่าง.example/", "malformed"),
            ("https://xn--hooks-.example.com/", "malformed"),
            ("https://xn--\u0e00.example.com/", "malformed"),
        ],
    )
    def test_refuses_and_says_why(self, url: str, reason: str) -> None:
        with pytest.raises(InvalidWebhookAddress) as caught:
            target_of(url)

        assert caught.value.reason == reason

    def test_takes_an_address_apart(self) -> None:
        target = target_of("https://Hooks.example.com:8443/a/b?c=d")

        assert (target.host, target.port, target.path) == ("hooks.example.com", 8443, "/a/b?c=d")
        assert target.authority == "hooks.example.com:8443"

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("https://8.8.8.8/", "8.8.8.8"),
            ("https://[2606:4700:0::1111]/", "2606:4700:0::1111"),
            ("https://hooks.example.com./", "hooks.example.com"),
            ("https://7-eleven.example/", "7-eleven.example"),
            ("https://xn--12c1b8cd0e.example/", "xn--12c1b8cd0e.example"),
        ],
    )
    def test_takes_what_says_where_it_leads(self, url: str, host: str) -> None:
        assert target_of(url).host == host

    @given(st.integers(min_value=0, max_value=2**32 - 1), st.sampled_from(["{}", "{:#x}", "0{:o}", "{:#x}."]))
    def test_refuses_every_number_as_an_address(self, number: int, form: str) -> None:
        with pytest.raises(InvalidWebhookAddress):
            target_of(f"https://{form.format(number)}/")

    @given(st.text(max_size=60))
    def test_never_fails_otherwise(self, text: str) -> None:
        with suppress(InvalidWebhookAddress):
            target_of("https://" + text)
