"""A project file's text: what it may be, and the line and key of whatever it may not."""

import pytest

from saraban.kit.errors import Invalid
from saraban.setup.domain.project_yaml import LARGEST, ProjectFileTooLarge, read_file

PROJECT = "project: {code: P, name: โครงการ}\n"
DAY = "calendar: {days: [{date: 2026-02-30, kind: holiday, name: a}]}"
PERHAPS = "numberFormats: [{template: a, resetYearly: perhaps}]"
ALIAS = "members:\n- &a {organization: A, role: OWNER}\n- *a"


def faults(text: str | bytes) -> list[tuple[str, str, object]]:
    with pytest.raises(Invalid) as refusal:
        read_file(text if isinstance(text, bytes) else text.encode())
    return [(one.pointer, one.code, one.values["line"]) for one in refusal.value.fields]


class TestReadFile:
    def test_reads_codes_as_they_are_written(self) -> None:
        text = (
            PROJECT
            + "organizations:\n- {code: NO, name: yes}\n- {code: 007, name: 1_000}\n- {code: '12:30', name: 2026-01-01}"
        )

        found = read_file(text.encode()).file.organizations

        assert found is not None
        assert [(one.code, one.name) for one in found] == [("NO", "yes"), ("007", "1_000"), ("12:30", "2026-01-01")]

    def test_reads_one_spelling_of_each_thai_text(self) -> None:
        assert read_file("project: {code: P, name: น\u0e4d\u0e32}".encode()).file.project.name == "นำ"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", [("", "empty", 1)]),
            ("# nothing\n\n", [("", "empty", 1)]),
            ("project", [("", "wrong_type", 1)]),
            ("- a", [("", "wrong_type", 1)]),
            ("organizations: []", [("/project", "required", 1)]),
            (PROJECT + "colour: red", [("/colour", "unknown_field", 2)]),
            ("project:\n  code: P\n  name: a\n  name_en: b", [("/project/name_en", "unknown_field", 4)]),
            (PROJECT + PROJECT, [("/project", "duplicate_key", 2)]),
            ("project:\n  code: P\n  name: a\n  code: Q", [("/project/code", "duplicate_key", 4)]),
            (PROJECT + ALIAS, [("/members/0", "anchor", 3), ("/members/1", "anchor", 4)]),
            ("project: !!python/object:os.system {code: P, name: a}", [("/project", "tag", 1)]),
            ("project: {code: !!str P, name: a}", [("/project/code", "tag", 1)]),
            ("project: {code: P, name: [a]}", [("/project/name", "wrong_type", 1)]),
            ("project:\n  code: P\n  name: |\n    two\n    lines", [("/project/name", "control_character", 3)]),
            ('project:\n  code: P\n  name: "a\\0b"', [("/project/name", "control_character", 3)]),
            ("project:\n  code: P\x07\n  name: a", [("/project/code", "control_character", 2)]),
            ("project:\n  code: P\n  name: a\ue000b", [("/project/name", "control_character", 3)]),
            (PROJECT + "members:\n- organization: A\n  role: BOSS", [("/members/0/role", "not_in_list", 4)]),
            (PROJECT + DAY, [("/calendar/days/0/date", "no_such_day", 2)]),
            (PROJECT + PERHAPS, [("/numberFormats/0/resetYearly", "wrong_type", 2)]),
            (
                PROJECT + "contracts:\n- code: C\n- name: n",
                [("/contracts/0/name", "required", 3), ("/contracts/1/code", "required", 4)],
            ),
            (PROJECT + "---\na: b", [("", "documents", 2)]),
            (PROJECT + "? [a]\n: b", [("", "key", 2)]),
            ("project: {code: P", [("", "yaml", 1)]),
            (PROJECT + "a: " + "[" * 40 + "]" * 40, [("/a" + "/0" * 12, "too_deep", 2)]),
            (b"project: {code: P,\n name: \xff}", [("", "encoding", 2)]),
        ],
    )
    def test_names_line_and_key_of_each_fault(self, text: str | bytes, expected: list[tuple[str, str, object]]) -> None:
        assert faults(text) == expected

    def test_says_the_line_in_both_languages(self) -> None:
        with pytest.raises(Invalid) as refusal:
            read_file((PROJECT + "colour: red").encode())
        (one,) = refusal.value.fields

        assert one.text.say("en", one.values) == "Line 2: Unknown field."
        assert one.text.say("th", one.values) == "บรรทัด 2: ไม่รู้จักฟิลด์นี้"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("project:\n\tcode: P", "Line 2: Indent with blanks instead of tabs."),
            ("project:\n  code: P\n\tname: a", "Line 3: Indent with blanks instead of tabs."),
            ("project:\n  code: P\n name: a", "Line 3: Give this line the same indentation"),
            ("project\n  code: P", "Line 2: Give this line the same indentation"),
            ("project:\n  name: a: b", "Line 2: Put quotes"),
            ("project: {code: @x}", "Line 1: Put quotes"),
            ("project: {code: P}\nmembers\npeople: []", "Line 2: Put a colon"),
            ("project: {code: P,\n name: a\npeople: []", "Line 1: Close the bracket"),
            ("project:\n  name: 'a\n  code: P", "Line 2: Close the quote"),
            ('project: {name: "a\\q"}', "Line 1: Put single quotes"),
            ("", "The file is empty."),
        ],
    )
    def test_says_what_to_do_about_text_that_is_no_yaml(self, text: str, said: str) -> None:
        with pytest.raises(Invalid) as refusal:
            read_file(text.encode())
        (one,) = refusal.value.fields
        thai = one.text.say("th", one.values)

        assert one.text.say("en", one.values).startswith(said)
        assert thai.startswith(said.partition(":")[0].replace("Line", "บรรทัด")) or thai == "ไฟล์ว่างเปล่า"
        assert not {"found", "expected", "mapping"} & set(thai.split())

    def test_refuses_more_than_a_megabyte_unread(self) -> None:
        with pytest.raises(ProjectFileTooLarge):
            read_file(PROJECT.encode() + b"#" * LARGEST)

    def test_names_a_hundred_faults_at_most(self) -> None:
        assert len(faults(PROJECT + "".join(f"key{n}: 1\n" for n in range(300)))) == 100
