"""The role catalogue, lock-out, passwords, and what a token must claim."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from saraban.identity.domain import catalogue, throttle, token
from saraban.identity.domain.catalogue import DEMO_ACCOUNTS, party_role
from saraban.identity.domain.context import EVERYTHING
from saraban.identity.domain.throttle import ThrottleRules

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
SOMEBODY = UUID("01930b5e-0000-7000-8000-0000000000f1")


class TestCatalogue:
    def test_names_each_permission_once(self) -> None:
        names = [offer.name for offer in catalogue.PERMISSIONS]

        assert len(names) == len(set(names)) == 59

    def test_says_each_in_both_languages(self) -> None:
        assert all(offer.says.th and offer.says.en for offer in (*catalogue.PERMISSIONS, *catalogue.ROLES))

    @pytest.mark.parametrize(
        ("role", "shipped"),
        [
            ("Superadmin", 59),
            ("Org Admin", 9),
            ("Document Control", 27),
            ("Editor", 17),
            ("Viewer", 3),
            ("Project Manager", 21),
            ("Contract Admin", 22),
        ],
    )
    def test_gives_each_role_its_matrix_and_the_named_additions(self, role: str, shipped: int) -> None:
        added = catalogue.ADDED.get(role, frozenset())

        assert len(catalogue.permissions_of(role) - added) == shipped
        assert added <= catalogue.permissions_of(role)

    @pytest.mark.parametrize(
        ("permission", "roles"),
        [
            ("numbering.manage_formats", {"Superadmin", "Project Manager"}),
            ("numbering.override", {"Superadmin", "Project Manager", "Org Admin"}),
            ("numbering.view_formats", {"Superadmin", "Project Manager", "Org Admin"}),
            ("numbering.reset_counter", {"Superadmin"}),
            ("workflow.action_review", {"Superadmin", "Document Control", "Contract Admin"}),
            (EVERYTHING, {"Superadmin"}),
        ],
    )
    def test_gives_what_decides_to_these_roles_only(self, permission: str, roles: set[str]) -> None:
        assert {offer.name for offer in catalogue.ROLES if permission in catalogue.permissions_of(offer.name)} == roles

    def test_places_the_demo_accounts_at_the_level_of_their_roles(self) -> None:
        levels = {offer.name: offer.scope for offer in catalogue.ROLES}
        for account in DEMO_ACCOUNTS:
            for placing in account.placings:
                given = [
                    level
                    for level, value in (
                        (catalogue.ORGANIZATION, placing.organization),
                        (catalogue.PROJECT, placing.project),
                        (catalogue.CONTRACT, placing.contract),
                    )
                    if value
                ] or [catalogue.GLOBAL]
                assert given == [levels[placing.role]], account.username


class TestThrottle:
    RULES = ThrottleRules(attempts=5, of_address=10, longest=5)

    @pytest.mark.parametrize(
        ("here", "name", "address", "waits", "seconds"),
        [
            (0, 0, 0, False, 0),
            (4, 4, 4, False, 0),
            (5, 5, 5, True, 1),
            (0, 5, 0, False, 1),  # what others did delays
            (0, 6, 0, False, 2),
            (0, 7, 9, False, 4),
            (0, 8, 0, False, 5),
            (0, 9, 0, False, 5),
            (0, 10_000, 0, False, 5),  # and never refuses
            (0, 0, 10, True, 0),  # many names from one address
            (1, 1, 12, True, 0),
        ],
    )
    def test_makes_an_address_wait_for_its_own_failures_only(
        self, here: int, name: int, address: int, waits: bool, seconds: float
    ) -> None:
        failures = throttle.FailedLogIns(here, name, address)

        assert (throttle.must_wait(failures, self.RULES), throttle.delay(failures, self.RULES)) == (waits, seconds)

    @pytest.mark.parametrize(
        ("failures", "waits"),
        [
            (throttle.FailedLogIns(0, 10_000, 10_000, known=True), False),
            (throttle.FailedLogIns(4, 4, 0, known=True), False),
            (throttle.FailedLogIns(5, 5, 0, known=True), True),  # its own
        ],
    )
    def test_counts_a_browser_that_is_known_by_itself(self, failures: throttle.FailedLogIns, waits: bool) -> None:
        assert (throttle.must_wait(failures, self.RULES), throttle.delay(failures, self.RULES)) == (waits, 0)

    def test_sheds_those_who_failed_first_and_known_browsers_last(self) -> None:
        of = throttle.FailedLogIns
        shed = [of(1, 1, 0), of(0, 0, 1), of(0, 9, 0), of(0, 0, 0), of(2, 2, 0, known=True)]

        assert [throttle.password_check_timeout(one) for one in shed] == [1, 1, 2, 2, 3]

    @pytest.mark.parametrize(("processes", "attempts", "of_address"), [(1, 5, 10), (2, 3, 5), (3, 2, 4), (64, 1, 1)])
    def test_is_shared_by_processes_that_count_apart(self, processes: int, attempts: int, of_address: int) -> None:
        shared = self.RULES.shared_by(processes)

        assert (shared.attempts, shared.of_address, shared.minutes) == (attempts, of_address, self.RULES.minutes)
        assert ThrottleRules(of_address=0).shared_by(processes).of_address == 0

    def test_may_leave_addresses_alone(self) -> None:
        assert not throttle.must_wait(throttle.FailedLogIns(0, 0, 1), ThrottleRules(of_address=0))

    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("", ""),
            ("testclient", "testclient"),
        ],
    )
    def test_takes_a_network_of_ipv6_for_one_address(self, address: str, network: str) -> None:
        assert throttle.network_of(address) == network


class TestClaims:
    access = token.AccessClaims(SOMEBODY, SOMEBODY, "digest")
    claims = token.claims_for(access, token_id=SOMEBODY, now=NOW, seconds=900)

    def test_speak_for_the_public_id_and_name_no_role(self) -> None:
        assert set(self.claims) == {"sub", "sid", "rts", "iss", "aud", "typ", "iat", "exp", "jti"}
        assert token.read_claims(self.claims, NOW) == self.access

    @pytest.mark.parametrize("seconds", [0, 1, 899])
    def test_count_while_they_last(self, seconds: int) -> None:
        assert token.read_claims(self.claims, NOW + timedelta(seconds=seconds)) == self.access

    @pytest.mark.parametrize("seconds", [-60, 900, 86_400])
    def test_do_not_count_before_or_after(self, seconds: int) -> None:
        assert token.read_claims(self.claims, NOW + timedelta(seconds=seconds)) is None

    @pytest.mark.parametrize(
        "change",
        [
            {"iss": "elsewhere"},
            {"aud": "another"},
            {"aud": ["saraban-api"]},
            {"typ": "refresh"},
            {"sub": "1"},
            {"sub": None},
            {"sub": 7},
            {"sid": "1"},
            {"sid": None},
            {"exp": None},
            {"exp": "9999999999"},
            {"exp": True},
            {"iat": None},
            {"jti": None},
        ],
    )
    def test_must_all_be_there_and_of_their_kind(self, change: dict[str, Any]) -> None:
        assert token.read_claims({**self.claims, **change}, NOW) is None

    @pytest.mark.parametrize("missing", ["sub", "sid", "rts", "iss", "aud", "typ", "iat", "exp", "jti"])
    def test_are_not_usable_with_one_missing(self, missing: str) -> None:
        rest = {name: value for name, value in self.claims.items() if name != missing}

        assert token.read_claims(rest, NOW) is None


class TestPart:
    @pytest.mark.parametrize(
        ("name", "part"),
        [
            ("OWNER", "OWNER"),
            ("Consultant", "CONSULTANT"),
            (" contractor ", "CONTRACTOR"),
            ("DESIGNER", "DESIGNER"),
            ("THIRD PARTY", "OTHER"),
            ("GUEST", "OTHER"),
            ("", "OTHER"),
            (None, "OTHER"),
        ],
    )
    def test_maps_every_role_name(self, name: str | None, part: str) -> None:
        assert party_role(name) == part
