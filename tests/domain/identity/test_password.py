"""Which new passwords are accepted: long ones that nobody guesses, whatever they are composed of."""

import pytest

from saraban.identity.domain.password import password_weakness
from saraban.identity.service import passwords
from saraban.kit.errors import Invalid

NAMES = (
    *("somchai.j", "สมชาย", "Jaidee", "LCBP3-C2", "โครงการก่อสร้างท่าเรือแหลมฉบัง ระยะที่ 3", "กทท."),
    "Port Authority of Thailand",
)


def reason(password: str) -> str | None:
    """Return the reason in English, with the shipped list; None for a password that is accepted."""
    why = password_weakness(password, names=NAMES, common=passwords._common_passwords())
    assert why is None or why.th
    return None if why is None else why.en


class TestPassword:
    @pytest.mark.parametrize(
        "password",
        [
            "correct horse battery",
            "gravelwharfmonsoon",
            "839201745612",
            "แมวดำนอนบนหลังคา",
            "ฝนตกที่หน้าบ้านตอนเย็น",
            "somchai.j-839201745612",
            "saraban harbour gravel",
            "x7K2!jaidee9@3#5Q8",
            "ก\u0e4d\u0e32ลังเดินทางไกล",
            "x" * 3 + "Kp2 " * 3 + "z" * 113,
        ],
    )
    def test_accepts_what_is_long_and_no_name_word_or_sequence(self, password: str) -> None:
        assert reason(password) is None

    @pytest.mark.parametrize("password", ["", "Ab1", "Harbour-61x", "ฝนตกหนักมาก", "gravel wharf " * 10])
    def test_refuses_what_is_too_short_or_too_long(self, password: str) -> None:
        assert reason(password) == "A password has 12 to 128 characters."

    @pytest.mark.parametrize(
        "password",
        [
            "password1234",
            "Passw0rd1234",
            "!!Password2026",
            "qwertyuiop12",
            "1q2w3e4r5t6y",
            "ยฟหหไนพก1234",
            "ＰＡＳＳＷＯＲＤ1234",
        ],
    )
    def test_refuses_a_common_one_with_digits_and_marks_around_it(self, password: str) -> None:
        assert reason(password) == "This password is common and easy to guess."

    @pytest.mark.parametrize(
        "password",
        [
            *("aaaaaaaaaaaa", "abcabcabcabc", "PasswordPassword", "monkey-monkey-monkey", "word1word2word3"),
            *("กขกขกขกขกขกข", "112233112233", "harbourharbour2026"),
        ],
    )
    def test_refuses_one_word_or_character_again_and_again(self, password: str) -> None:
        assert reason(password) == "This password repeats one word or character."

    @pytest.mark.parametrize(
        "password", ["123456789012", "abcdefghijkl", "uvwxyztsrqpo", "ฟหกดเ้่าสวงผ", "กขฃคฅฆงจฉชซฌ", "๑๒๓๔๕๖๗๘๙๐๑๒"]
    )
    def test_refuses_a_sequence_of_letters_digits_or_keys(self, password: str) -> None:
        assert reason(password) == "This password is a sequence of letters, digits or keys."

    @pytest.mark.parametrize(
        "password",
        [
            *("somchai.j-2026", "SOMCHAIJ123456", "1234somchai.j5", "สมชาย-jaidee", "password-jaidee", "abcd-jaidee-1"),
            *("lcbp3c2-2026", "LCBP3-C2-2569", "โครงการก่อสร้าง", "portauthority1", "saraban-2026", "saraban-demo"),
            "สารบรรณ123456",
        ],
    )
    def test_refuses_names_of_the_person_the_project_and_the_product(self, password: str) -> None:
        assert reason(password) == "This password is only a name of you, a company or a project."

    def test_ships_twenty_thousand_common_passwords(self) -> None:
        assert len(passwords._common_passwords()) == 20_000

    def test_says_the_reason_at_the_field(self) -> None:
        with pytest.raises(Invalid) as caught:
            passwords.require_strong("password1234", (), pointer="/newPassword")

        assert [one.pointer for one in caught.value.fields] == ["/newPassword"]
